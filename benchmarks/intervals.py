#!/usr/bin/env python
"""Do 95% intervals cover the truth in 95% of the cases, and do tests find a difference where there is none in 5%?

    python benchmarks/intervals.py [--json] [--simulations 1000] [--documents 47] [--seed 0] [--groups]

Benchmarks are drawn from a known population: documents with one to fifteen items, whose labels hang together (the share
of true claims, and how often raters and systems are right, vary from document to document). Each simulation draws the
documents anew and computes the figures and intervals of the product (1,000 resamples of whole documents); the truth is
the same figure over 60,000 documents. Type I error: two systems that are equally good in the population, by the
approximate randomization of the product, where p < 0.05. "accuracy of 5" and the like are the accuracy of a group of so
many documents, as in breakdowns, and "near 1 of 5" that of a system that is right in 97%: most of its small groups have
no error at all, and resamples that are all alike. "alike" is the share of such groups. ``--groups`` measures the groups
alone. The last column is the Monte-Carlo error of the row.
"""

from __future__ import annotations

import argparse
import json
import sys
from math import sqrt
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from annotator.measures.statistics.breakdowns import PARTS, share  # noqa: E402
from pipeline.metrics.agreement import RatedItem, agreement, mean_estimate  # noqa: E402
from pipeline.metrics.groups import Group, group_estimates  # noqa: E402
from pipeline.metrics.labelling import LabelledSpan, labelling  # noqa: E402
from pipeline.metrics.paired import randomisation  # noqa: E402

LABELS = ("true", "false", "not_enough_evidence")
POPULATION = 60_000
AGREEMENT = ("percent", "fleiss", "alpha", "ac1")
LABELLING = ("accuracy", "precision", "recall", "f1")
GROUPS = (5, 8, 15)  # documents

Ints = NDArray[np.int64]


def drawn(documents: int, random: np.random.Generator) -> tuple[Ints, Ints, list[Ints]]:
    """Items of so many documents: the document of each, its gold label, and what five sources say of it (two raters,
    two systems, and one that is nearly always right): each is right with a share of its own in each document, else
    draws another label."""
    sizes = random.integers(1, 16, size=documents)
    of_document = np.repeat(np.arange(documents), sizes)
    shares = random.dirichlet([3.0, 1.2, 0.5], size=documents)
    gold = (random.random(len(of_document))[:, None] > shares[of_document].cumsum(axis=1)).sum(axis=1)
    said = []
    for right, wrong in ((8.0, 2.0), (8.0, 2.0), (4.2, 1.8), (4.2, 1.8), (19.4, 0.6)):
        share = random.beta(right, wrong, size=documents)[of_document]
        other = (gold + random.integers(1, len(LABELS), size=len(gold))) % len(LABELS)
        said.append(np.where(random.random(len(gold)) < share, gold, other))
    return of_document, gold, said


def figures_of(of_document: Ints, gold: Ints, said: list[Ints], *, resamples: int) -> dict[str, object]:
    items = [
        RatedItem(int(document), {0: LABELS[one], 1: LABELS[two]})
        for document, one, two in zip(of_document, said[0], said[1], strict=True)
    ]
    raters = agreement(items, scale=LABELS, resamples=resamples)
    system = labelling(
        [
            LabelledSpan(int(document), LABELS[one], LABELS[two])
            for document, one, two in zip(of_document, gold, said[2], strict=True)
        ],
        resamples=resamples,
    )
    right = mean_estimate(
        list(zip(of_document.tolist(), (gold == said[2]).astype(float).tolist(), strict=True)), resamples=resamples
    )
    return {
        **{name: getattr(raters, name) for name in AGREEMENT},
        **{f"system {name}": getattr(system, name) for name in LABELLING},
        "mean": right,
        **of_groups(of_document, gold, said, resamples=resamples),
    }


def of_groups(of_document: Ints, gold: Ints, said: list[Ints], *, resamples: int) -> dict[str, object]:
    """The accuracies of the first documents. Their truth is that of all."""
    items = np.bincount(of_document)
    names, groups = [], []
    for name, system in (("accuracy", said[2]), ("near 1", said[4])):
        sums = np.column_stack([np.bincount(of_document, weights=(gold == system).astype(float)), items])
        for size in GROUPS:
            names.append(f"{name} of {size}")
            first = size if resamples else len(sums)
            groups.append(Group(np.arange(first), sums[:first], lambda drawn: [share(drawn[:, 0], drawn[:, 1])]))
    found = group_estimates(groups, len(items), resamples=resamples // PARTS)
    return {name: each for name, [each] in zip(names, found, strict=True)}


def _p(of_document: Ints, gold: Ints, said: list[Ints]) -> float:
    """Of two systems that are equally good."""
    systems = []
    for each in said[2:4]:
        right = np.bincount(of_document, weights=(each == gold).astype(float))
        sizes = np.bincount(of_document).astype(float)
        systems.append({number: [right[number], sizes[number]] for number in range(len(sizes))})
    [found] = randomisation(*systems, lambda sums: [sums[:, 0] / sums[:, 1]], shuffles=500)
    return found.p if found else 1.0


def measure(*, simulations: int, documents: int, seed: int, groups_only: bool = False) -> dict[str, object]:
    random = np.random.default_rng(seed)
    figures = of_groups if groups_only else figures_of
    truth = {
        name: each.value  # type: ignore[attr-defined]
        for name, each in figures(*drawn(POPULATION, random), resamples=0).items()
    }
    alike = dict.fromkeys(truth, 0)
    covered = dict.fromkeys(truth, 0)
    below = dict.fromkeys(truth, 0)
    defined = dict.fromkeys(truth, 0)
    found = 0
    for _ in range(simulations):
        sample = drawn(documents, random)
        for name, each in figures(*sample, resamples=1000).items():
            if each is None or each.low is None:  # type: ignore[attr-defined]
                continue
            defined[name] += 1
            alike[name] += each.value in (0, 1)  # type: ignore[attr-defined]
            covered[name] += each.low <= truth[name] <= each.high  # type: ignore[attr-defined]
            below[name] += each.high < truth[name]  # type: ignore[attr-defined]
        if not groups_only:
            found += _p(*sample) < 0.05
    return {
        "simulations": simulations,
        "documents": documents,
        "seed": seed,
        "coverage": {
            name: {
                "truth": round(truth[name], 4),
                "covered": round(covered[name] / defined[name], 4),
                "truth_above": round(below[name] / defined[name], 4),
                "defined": defined[name],
                "alike": round(alike[name] / defined[name], 4),
                "error": round(sqrt(0.95 * 0.05 / defined[name]), 4),
            }
            for name in truth
        },
    } | (
        {}
        if groups_only
        else {"type_1": {"rate": round(found / simulations, 4), "error": round(sqrt(0.05 * 0.95 / simulations), 4)}}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=47)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--groups", action="store_true", help="small groups alone")
    given = parser.parse_args()
    found = measure(simulations=given.simulations, documents=given.documents, seed=given.seed, groups_only=given.groups)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['simulations']} simulations of {found['documents']} documents")
    for name, row in found["coverage"].items():  # type: ignore[attr-defined]
        print(f"  {name:<18}truth {row['truth']:.3f}  covered {row['covered']:.1%}  ±{row['error']:.1%}")
    if "type_1" in found:
        print(f"  type I error {found['type_1']['rate']:.1%}  ±{found['type_1']['error']:.1%}")  # type: ignore[index]


if __name__ == "__main__":
    main()
