#!/usr/bin/env python
"""Which learned suggester of stances is best? Three approaches and the constant answer, by nested cross-validation.

    python benchmarks/stance_approaches.py [FILE] [--json] [--folds 10] [--seed 0]

FILE is a released JSONL of Factcheck-Bench (default: as in learned_quality.py). Needs scikit-learn, and for embeddings
"pip install wordllama" (static vectors of 256 numbers, in its wheel). Whole documents are held out. Inside the
other folds five parts choose the strength of the ridge penalty, the temperature and the evening of frequencies; then
the held fold is judged once.

Approaches: "counts" is what the product learns from (words, names, numbers and their units, negations, opposites,
alignment, neighbors). "counts and similarity" adds cosines of embeddings: of claim and passage, and of the claim and
its nearest sentence of the passage. "counts and embeddings" adds the products of the claim's and that sentence's
embeddings, number by number. The interval draws documents; p is of the difference to "counts" (approximate
randomization over documents).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

import numpy as np  # noqa: E402
from learned_quality import read_documents  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from annotator.core.vocabulary import StanceLabel, SuggesterKind  # noqa: E402
from pipeline.learned import fitting  # noqa: E402
from pipeline.learned.evaluation import THREE_LABELS  # noqa: E402
from pipeline.learned.examples import ExampleDocument  # noqa: E402
from pipeline.learned.linear import chosen  # noqa: E402
from pipeline.learned.suggester import examples_of  # noqa: E402
from pipeline.metrics.labelling import LabelledSpan, labelling, scores_of_tables  # noqa: E402
from pipeline.metrics.paired import randomisation  # noqa: E402

STRENGTHS = (0.001, 0.003, 0.01, 0.03)
LABELS = tuple(StanceLabel)
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def embeddings_of(documents: Sequence[ExampleDocument]) -> list[Floats]:
    """For each document its passages' extra numbers: two cosines, then the products of two embeddings."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        sys.exit("Embeddings need wordllama, which is not installed: pip install wordllama")
    folder = Path(spec.origin).parent
    # The files are read directly: wordllama itself looks for its tokenizer on the web.
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    [vectors] = (
        importlib.import_module("safetensors.numpy")
        .load_file(str(folder / "weights" / "l2_supercat_256.safetensors"))
        .values()
    )

    def embed(texts: list[str]) -> Floats:
        """The mean of each text's vectors, of length 1."""
        read = tokenizer.encode_batch(texts, add_special_tokens=False)
        means = np.array([vectors[each.ids or [0]].astype(np.float64).mean(axis=0) for each in read])
        return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9), dtype=np.float64)

    found = []
    for document in documents:
        rows = []
        for claim in document.claims:
            for passage in claim.passages:
                parts = [part for part in re.split(r"(?<=[.!?])\s+", passage.text) if part.strip()] or [" "]
                asked, whole, *sentences = embed([claim.text, passage.text or " ", *parts])
                nearest = max(sentences, key=lambda each: float(asked @ each))
                rows.append(np.concatenate([[asked @ whole, asked @ nearest], asked * nearest * len(asked) ** 0.5]))
        found.append(np.array(rows))
    return found


def predictions(
    documents: Sequence[ExampleDocument], extra: Sequence[Floats], columns: int, merge: dict[str, str], options: Any
) -> tuple[list[LabelledSpan], list[float]]:
    """The held-out predictions of all folds, with as many of the extra numbers, and the strengths that were chosen."""
    spans: list[LabelledSpan] = []
    strengths = []
    names = list(dict.fromkeys(merge.get(label, label) for label in LABELS))
    for training, held in fitting.group_folds(np.arange(len(documents)), options.folds, options.seed):
        learnt = examples_of(SuggesterKind.STANCE, [documents[each] for each in training])
        asked = examples_of(SuggesterKind.STANCE, [documents[each] for each in held], rarity=learnt.rarity)
        matrices = [
            np.hstack(
                [examples.matrix, np.concatenate([extra[each][:, :columns] for each in these if len(extra[each])])]
            )
            for examples, these in ((learnt, training), (asked, held))
        ]
        labels = np.array([names.index(merge.get(label, label)) for label in learnt.labels], dtype=np.intp)
        best, strength = _fitted(matrices[0], labels, np.asarray(learnt.groups, dtype=np.intp), options.seed)
        strengths.append(strength)
        said = chosen(best.model.probabilities(matrices[1]), best.model.shift)
        spans += [
            LabelledSpan(int(held[group]), merge.get(gold, gold), names[place])
            for group, gold, place in zip(asked.groups, asked.labels, said, strict=True)
        ]
    return spans, strengths


def _fitted(matrix: Floats, labels: Ints, groups: Ints, seed: int) -> tuple[fitting.Fitted, float]:
    """The fit whose strength has the best macro-F1 on parts held out of these examples."""
    found = []
    for strength in STRENGTHS:
        fitting.STRENGTH = strength
        fitted = fitting.fit(matrix, labels, groups, seed=seed)
        inner = fitting.macro_f1(labels, chosen(fitted.held_out, fitted.model.shift), int(labels.max()) + 1)
        found.append((inner, fitted, strength))
    _, best, strength = max(found, key=lambda each: each[0])
    return best, strength


def figures(spans: Sequence[LabelledSpan]) -> dict[str, Any]:
    found = labelling(spans)
    assert found.accuracy and found.f1
    by_label = {}
    for label, row in found.confusion.items():
        said = sum(other[label] for other in found.confusion.values())
        by_label[str(label)] = round(2 * row[label] / (sum(row.values()) + said), 3) if row[label] else 0.0
    return {
        name: [round(each.value, 3), *(round(end, 3) for end in each.interval or ())]
        for name, each in (("accuracy", found.accuracy), ("f1_macro", found.f1))
    } | {"f1": by_label}


def p_value(one: Sequence[LabelledSpan], other: Sequence[LabelledSpan]) -> float | None:
    """Of the difference in macro-F1."""
    names = sorted({span.gold for span in one})
    size = len(names)

    def tables(spans: Sequence[LabelledSpan]) -> dict[Any, list[float]]:
        found: dict[Any, list[float]] = {}
        for span in spans:
            row = found.setdefault(span.cluster, [0.0] * size**2)
            row[names.index(span.gold) * size + names.index(span.predicted)] += 1
        return found

    def f1(sums: Floats) -> list[Floats]:
        return [scores_of_tables(np.round(sums.reshape(len(sums), size, size), 6))[3]]

    [found] = randomisation(tables(one), tables(other), f1)
    return found and round(found.p, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("file", nargs="?", type=Path, default=folder / "factcheck-bench.dev.jsonl")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    documents = read_documents(options.file)
    extra = embeddings_of(documents)
    width = max(each.shape[1] for each in extra if len(each))
    approaches = {"counts": 0, "counts and similarity": 2, "counts and embeddings": width}
    report: dict[str, Any] = {"documents": len(documents), "folds": options.folds, "seed": options.seed}
    for space, merge in (("four labels", {}), ("three labels", dict(THREE_LABELS))):
        found = {name: predictions(documents, extra, columns, merge, options) for name, columns in approaches.items()}
        counts = found["counts"][0]
        most = max({span.gold for span in counts}, key=lambda label: sum(span.gold == label for span in counts))
        always = [LabelledSpan(span.cluster, span.gold, most) for span in counts]
        report[space] = {f"always {most}": figures(always)} | {
            name: figures(spans) | {"strengths": strengths, "p": None if spans is counts else p_value(spans, counts)}
            for name, (spans, strengths) in found.items()
        }
    print(json.dumps(report, indent=None if options.json else 1))


if __name__ == "__main__":
    main()
