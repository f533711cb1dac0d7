"""Agreement on where sentences are cut, counted twice: by our code, and from word numbers by NLTK's alpha."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from nltk.metrics.agreement import AnnotationTask

from annotator.core.models import Sentence
from annotator.stages.comparison.decomposition import cuts_of
from pipeline.metrics.agreement import RatedItem, agreement


def version(text: str, lasts: set[int]) -> list[Sentence]:
    """The sentences of a person who ends one after each of these words, numbered from 0, and after the last one."""
    rows, start, position = [], 0, 0
    words = text.split(" ")
    for number, word in enumerate(words):
        position += len(word)
        if number in lasts or number == len(words) - 1:
            rows.append(Sentence(text=text[start:position], start=start, end=position))
            start = position + 1
        position += 1
    return rows


def by_hand(words: int, people: list[set[int]]) -> float:
    """Each of the places between two words is an item; whoever cuts there says yes."""
    triples = [(who, place, place in lasts) for who, lasts in enumerate(people) for place in range(words - 1)]
    return float(AnnotationTask(triples).alpha())


def rated(counted: Counter[tuple[str | None, ...]]) -> list[RatedItem]:
    """The places of one document as items."""
    return [RatedItem(1, {who: str(label) for who, label in enumerate(said)}, times) for said, times in counted.items()]


@pytest.mark.parametrize("seed", range(25))
def test_cuts_agree_as_counted_from_word_numbers(seed: int) -> None:
    random = Random(seed)
    words = random.randint(8, 60)
    text = " ".join("x" * random.randint(1, 7) + random.choice(["", ",", "."]) for _ in range(words))
    common = {place for place in range(words - 1) if random.random() < 0.2} | {1}
    people = [
        {place for place in range(words - 1) if (place in common) != (random.random() < 0.1)}
        for _ in range(random.randint(2, 4))
    ]
    counted = cuts_of([version(text, lasts) for lasts in people])
    assert sum(counted.values()) == words - 1
    items = rated(counted)
    found = agreement(items, resamples=0).alpha
    assert found is not None
    assert found.value == pytest.approx(by_hand(words, people), abs=1e-9)


def test_one_more_cut_costs_agreement_and_the_same_cuts_cost_none() -> None:
    text = "One two three. Four five six. Seven eight nine."
    same = [version(text, {2, 5}), version(text, {2, 5})]
    whole = agreement(rated(cuts_of(same)), resamples=0).alpha
    less = agreement(rated(cuts_of([version(text, {2, 5}), version(text, {2, 4, 5})])), resamples=0).alpha
    assert whole is not None and whole.value == 1.0 and less is not None and 0.5 < less.value < 1.0
