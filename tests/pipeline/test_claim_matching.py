"""Which claims of two people are the same: numbers, names, negations, and what tells a claim from its neighbors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.metrics.alignment import align
from pipeline.metrics.claim_matching import SAME_CLAIM, claim_table, match_claims
from tests.conftest import ROOT


def pairs(first: list[str], second: list[str]) -> list[tuple[int, int]]:
    return [(each.first, each.second) for each in match_claims(first, second)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada was born in London in 1815.", "Ada was born in London in 1851."),
        ("Ada was born in London.", "Ada was not born in London."),
        ("The bridge didn’t open in May.", "The bridge opened in May."),
        ("The first programmer was Ada Lovelace.", "The first programmer was Grace Hopper."),
        ("It has three parts.", "It has 4 parts."),
    ],
)
def test_claims_that_contradict_each_other_are_not_the_same(one: str, other: str) -> None:
    assert align([one], [other], threshold=0.5), "by their words alone they were"
    assert pairs([one], [other]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada was born in London.", "Ada Lovelace was born in London."),
        ("The United States has 50 states.", "The U.S. has 50 states"),
        ("It has three parts.", "It has 3 parts."),
        ("Ada didn't publish notes.", "Ada did not publish notes"),
        ("In 1843, Ada published notes.", "Ada published the notes in 1843."),
        ("The first programmer was Ada Lovelace.", "The first programmer was Ada Lovelase."),
        ("1,000 notes were printed.", "1000 notes were printed."),
    ],
)
def test_claims_in_other_words_are_the_same(one: str, other: str) -> None:
    assert pairs([one], [other]) == [(0, 0)]


def test_neighbors_are_told_apart_by_what_they_do_not_share() -> None:
    one = ["The shop sells snacks.", "The shop sells drinks."]
    other = ["The shop sells snacks.", "The shop sells soap."]
    assert pairs(one, other) == [(0, 0)]
    assert len(align(one, other, threshold=0.5)) == 2, "by their words alone drinks were soap"
    assert pairs(one, []) == []


def test_the_table_is_symmetric() -> None:
    one, other = ["Ada wrote notes.", "Ada wrote 3 poems."], ["Ada wrote the notes", "Ben wrote 3 poems"]
    turned = claim_table(other, one)
    for row, column in zip(claim_table(one, other), zip(*turned, strict=True), strict=True):
        assert row == pytest.approx(column)


def test_the_error_on_released_gold_is_as_documented(data_dir: Path) -> None:
    command = [sys.executable, "benchmarks/matching.py", str(data_dir / "factcheck-bench.dev.jsonl"), "--json"]
    done = subprocess.run([*command, "--rounds", "4"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    ours, before = found["matchers"][f"claim matcher, {SAME_CLAIM:g}"], found["matchers"]["token F1, 0.5"]
    for level in ("sentence", "response"):
        assert ours[level]["false_rate"] < 0.01 and ours[level]["missed_rate"] < 0.03
        assert before[level]["false_rate"] > 2 * ours[level]["false_rate"]
    assert ours["changed"]["rate"] < before["changed"]["rate"] / 3
