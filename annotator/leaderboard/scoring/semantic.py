"""BERTScore and SimCSE of revised responses, if installed: they need packages and model weights that Touchstone neither
ships nor downloads."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

# The package to import, and how to install it.
NEEDED = {"bert_score": "bert-score", "simcse": "simcse"}
SIMCSE_MODEL = "princeton-nlp/sup-simcse-roberta-large"


class SemanticError(RuntimeError):
    """It can't be computed here. The message says what to install."""


def semantic_scores(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Mean BERTScore F1 and mean SimCSE cosine of predicted and gold texts (Factcheck-Bench, Table 6).

    Raises ``SemanticError`` without the packages or their model weights.
    """
    found = {}
    missing = []
    for module, package in NEEDED.items():
        try:
            found[module] = import_module(module)
        except ImportError:
            missing.append(package)
    if missing:
        raise SemanticError(
            f"--semantic needs {' and '.join(missing)} and model weights, which are downloaded on first use: "
            f"pip install {' '.join(missing)} in Touchstone's environment, then run the command again. Without "
            f"--semantic, "
            "edit distance and word overlap are computed."
        )
    predicted, gold = [one for one, _ in pairs], [two for _, two in pairs]
    try:
        *_, f1 = found["bert_score"].score(predicted, gold, lang="en")
        similarity = found["simcse"].SimCSE(SIMCSE_MODEL).similarity(predicted, gold)
    except OSError as error:
        raise SemanticError(f"The model weights of --semantic could not be loaded: {error}") from None
    # Row i compares one prediction with all gold texts; its own is on the diagonal.
    return {
        "bertscore_f1": float(f1.mean()),
        "simcse": sum(float(similarity[place][place]) for place in range(len(pairs))) / len(pairs),
    }
