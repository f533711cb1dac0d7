"""Agreement on where sentences are cut and how many claims they have, counted twice: by our code, and by NLTK."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pytest
from django.db.models import QuerySet
from nltk.metrics.agreement import AnnotationTask

from annotator.core.models import Annotation, Benchmark, Claim, Document, Sentence
from annotator.core.vocabulary import SentenceType
from annotator.stages.comparison.decomposition import compare, cuts_of
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


# --- claims per sentence --------------------------------------------------------------------------


class Said(NamedTuple):
    """What a person says of one sentence."""

    is_checkworthy: bool
    claims: int
    removed: int = 0


def sentences(said: Sequence[Said], first: int) -> list[Sentence]:
    """Sentences of one person with their claims, as read from the database; ``first`` is the first key of theirs."""
    annotation = Annotation(document=Document(benchmark=Benchmark()))
    found = []
    for number, each in enumerate(said):
        kind = SentenceType.CHECKWORTHY if each.is_checkworthy else SentenceType.OPINION
        row = Sentence(
            pk=first + number, annotation=annotation, text=f"s{number}", start=3 * number, end=3 * number + 2, type=kind
        )
        claims = [
            Claim(
                pk=100 * row.pk + place,
                sentence=row,
                text=f"Claim {place}.",
                removed="" if place < each.claims else "deleted",
            )
            for place in range(each.claims + each.removed)
        ]
        vars(row)["_prefetched_objects_cache"] = {"claims": as_read(claims)}
        found.append(row)
    return found


def as_read(claims: list[Claim]) -> QuerySet[Claim]:
    query = Claim.objects.none()
    query._result_cache = claims
    return query


@pytest.mark.parametrize("seed", range(25))
def test_numbers_of_claims_agree_as_nltk_counts_them(seed: int) -> None:
    """NLTK gets each person's number for the sentences that person calls check-worthy; those with one number are left
    out of both."""
    random = Random(seed)
    people = [
        [Said(random.random() < 0.85, random.choice((0, 1, 1, 2, 3, 9, 12)), random.randrange(2)) for _ in range(12)]
        for _ in range(2)
    ]
    # Both mostly agree.
    people[1] = [mine if random.random() < 0.6 else theirs for mine, theirs in zip(*people, strict=True)]
    compared = compare([sentences(said, first) for first, said in zip((1, 50), people, strict=True)], {})
    items = [
        RatedItem(1, {who: label for who, label in enumerate(said) if label is not None}, times)
        for said, times in compared.units["claim.count"].items()
    ]
    triples = [
        (who, number, min(each.claims, 9))
        for number, both in enumerate(zip(*people, strict=True))
        if all(each.is_checkworthy for each in both)
        for who, each in enumerate(both)
    ]
    found, theirs = agreement(items, resamples=0), AnnotationTask(triples)
    assert found.items == len(triples) // 2
    assert found.percent is not None and found.alpha is not None and found.cohen is not None
    assert found.percent.value == pytest.approx(theirs.avg_Ao())
    assert found.alpha.value == pytest.approx(theirs.alpha())
    assert found.cohen.value == pytest.approx(theirs.kappa())
