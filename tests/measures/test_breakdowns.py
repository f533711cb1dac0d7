"""How documents are grouped where scores are broken down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from annotator.measures.statistics.breakdowns import (
    MAX_GROUPS,
    PARTS,
    DocumentTraits,
    groups_of,
    mean_scores,
    order_of,
)
from pipeline.metrics.agreement import RESAMPLES, draws


def traits(**given: object) -> DocumentTraits:
    known = {"source": "", "model": "", "metadata": {}, "words": 10, "claims": 1} | given
    return DocumentTraits(**known)  # type: ignore[arg-type]


def test_documents_are_grouped_by_what_differs() -> None:
    found = groups_of(
        {
            "a": traits(source="web", metadata={"domain": "law"}, words=50, claims=5),
            "b": traits(metadata={"topic": "law", "lang": "de"}, words=51, claims=6),
            "c": traits(metadata={"domain": ["odd"]}, words=201, claims=21),
        }
    )
    assert found == {
        "source": {"a": "web", "b": "not specified", "c": "not specified"},
        "domain": {"a": "law", "b": "law", "c": "not specified"},
        "language": {"a": "not specified", "b": "de", "c": "not specified"},
        "length": {"a": "up to 50", "b": "51 to 100", "c": "over 200"},
        "claims": {"a": "up to 5", "b": "6 to 10", "c": "over 20"},
    }
    assert groups_of({"a": traits(), "b": traits()}) == groups_of({}) == {}


def test_many_groups_become_one() -> None:
    documents = {f"{name}{twice}": traits(model=str(name)) for name in range(MAX_GROUPS) for twice in "ab"}
    found = groups_of(documents | {"x": traits(model="rare"), "y": traits(model="rarer")})["model"]
    assert found["x"] == found["y"] == "other" and len(set(found.values())) == MAX_GROUPS + 1


def test_steps_stand_in_their_order_and_other_groups_by_size() -> None:
    steps = ["51 to 100", "over 200", "up to 50", "101 to 200"]
    assert sorted(steps, key=lambda each: order_of(each, 1)) == ["up to 50", "51 to 100", "101 to 200", "over 200"]
    sizes = {"web": 3, "books": 9}
    assert sorted(sizes, key=lambda each: order_of(each, sizes[each])) == ["books", "web"]


def test_groups_of_all_breakdowns_share_one_draw_of_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def counted(rows: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
        drawn.append((rows, resamples))
        return draws(rows, resamples, seed)

    monkeypatch.setattr("pipeline.metrics.groups.draws", counted)
    groups = {"source": ["web", "books"] * 20, "label": ["true"] * 30 + ["false"] * 10}
    found = mean_scores(groups, [1.0, 0.0] * 20)
    assert [(name, [each["group"] for each in tables]) for name, tables in found.items()] == [
        ("source", ["web", "books"]), ("label", ["true", "false"])
    ]  # fmt: skip
    assert drawn == [(40, RESAMPLES // PARTS)]
