#!/usr/bin/env python
"""Is a sentence check-worthy? The offline rules, three learned approaches and the constant answer, judged alike.

    python benchmarks/checkworthiness_approaches.py [FILE] [--json] [--folds 10] [--seed 0]

FILE is a released JSONL of Factcheck-Bench (default: as in learned_quality.py). Needs scikit-learn. Whole documents are
held out; what is learned or tuned is learned and tuned inside the other folds. "counts" is what the product learns from
(docs/learning.md), the rules' own answer among it; "counts without the rules" leaves that answer out; "words" is a
logistic regression over the words and pairs of words of the sentence, its strength and the evening of frequencies
chosen by five inner folds. The interval draws documents; p is of the difference in macro-F1 to the rules (approximate
randomization over documents).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

import numpy as np  # noqa: E402
from learned_quality import read_documents, with_two_types  # noqa: E402
from stance_approaches import figures, p_value  # noqa: E402

from annotator.core.vocabulary import SentenceType, SuggesterKind  # noqa: E402
from pipeline.checkworthiness.heuristics import sentence_type  # noqa: E402
from pipeline.learned import fitting  # noqa: E402
from pipeline.learned.examples import ExampleDocument  # noqa: E402
from pipeline.learned.linear import chosen  # noqa: E402
from pipeline.learned.suggester import examples_of  # noqa: E402
from pipeline.metrics.labelling import LabelledSpan  # noqa: E402

NAMES = (SentenceType.CHECKWORTHY, SentenceType.OTHER)
Documents = Sequence[ExampleDocument]
# Answers (places in NAMES) for the sentences of the second documents, learned from the first.
Approach = Callable[[Documents, Documents, int], Sequence[int]]


def gold_of(documents: Documents) -> list[int]:
    return [NAMES.index(sentence.type) for document in documents for sentence in document.sentences if sentence.type]


def always(learned: Documents, asked: Documents, seed: int) -> Sequence[int]:
    most = int(np.bincount(gold_of(learned)).argmax())
    return [most] * len(gold_of(asked))


def rules(learned: Documents, asked: Documents, seed: int) -> Sequence[int]:
    sentences = [sentence for document in asked for sentence in document.sentences]
    said = [sentence_type(each.text, each.decontext or each.text) for each in sentences]
    return [int(kind != SentenceType.CHECKWORTHY) for kind in said]


def counts(learned: Documents, asked: Documents, seed: int, *, with_rules: bool = True) -> Sequence[int]:
    known = examples_of(SuggesterKind.SENTENCE_TYPE, learned)
    new = examples_of(SuggesterKind.SENTENCE_TYPE, asked, rarity=known.rarity)
    kept = [place for place, name in enumerate(known.names) if with_rules or not name.startswith("rule: ")]
    labels = np.array([NAMES.index(SentenceType(label)) for label in known.labels], dtype=np.intp)
    fitted = fitting.fit(known.matrix[:, kept], labels, np.asarray(known.groups, dtype=np.intp), seed=seed)
    return [int(each) for each in chosen(fitted.model.probabilities(new.matrix[:, kept]), fitted.model.shift)]


def without_rules(learned: Documents, asked: Documents, seed: int) -> Sequence[int]:
    return counts(learned, asked, seed, with_rules=False)


def words(learned: Documents, asked: Documents, seed: int) -> Sequence[int]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, GroupKFold
    from sklearn.pipeline import make_pipeline

    groups = [place for place, document in enumerate(learned) for _ in document.sentences]
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), LogisticRegression(max_iter=1000)
    )
    choices = {"logisticregression__C": [0.1, 1, 10, 100], "logisticregression__class_weight": [None, "balanced"]}
    search = GridSearchCV(model, choices, scoring="f1_macro", cv=GroupKFold(5))
    search.fit(texts_of(learned), gold_of(learned), groups=groups)
    return [int(each) for each in search.predict(texts_of(asked))]


def texts_of(documents: Documents) -> list[str]:
    return [sentence.text for document in documents for sentence in document.sentences]


APPROACHES: dict[str, Approach] = {
    "always check-worthy": always,
    "rules": rules,
    "counts": counts,
    "counts without the rules": without_rules,
    "words": words,
}


def predictions(documents: Documents, approach: Approach, folds: int, seed: int) -> list[LabelledSpan]:
    """The answers for every sentence, each from the other folds."""
    spans: list[LabelledSpan] = []
    for training, held in fitting.group_folds(np.arange(len(documents)), folds, seed):
        asked = [documents[each] for each in held]
        said = approach([documents[each] for each in training], asked, seed)
        groups = [int(key) for key, document in zip(held, asked, strict=True) for _ in document.sentences]
        spans += [
            LabelledSpan(group, NAMES[gold].value, NAMES[answer].value)
            for group, gold, answer in zip(groups, gold_of(asked), said, strict=True)
        ]
    return spans


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("file", nargs="?", type=Path, default=folder / "factcheck-bench.dev.jsonl")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    documents = [with_two_types(document) for document in read_documents(options.file)]
    found = {name: predictions(documents, each, options.folds, options.seed) for name, each in APPROACHES.items()}
    report: dict[str, Any] = {"documents": len(documents), "sentences": len(gold_of(documents))} | {
        name: figures(spans) | {"p": None if name == "rules" else p_value(spans, found["rules"])}
        for name, spans in found.items()
    }
    print(json.dumps(report, indent=None if options.json else 1))


if __name__ == "__main__":
    main()
