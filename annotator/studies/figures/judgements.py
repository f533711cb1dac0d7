"""Figures of a study of judgments: agreement on each question, majority labels, and usefulness by rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.metrics.agreement import Agreement, RatedItem, agreement


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer to a question about a record. ``rank`` is the record's place among those of its kind, from 1; 0 for
    the item itself. ``person`` is the rater's number; the first of two gives the rows of the confusion matrix."""

    question: str
    record: Hashable
    item: int
    rank: int
    person: int
    value: str


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """A question: all answers by value, and how many records were ``shared``, that is answered by two or more people.
    ``full``: shared records on which all agree; ``partly``: on which two or more agree, but not all."""

    question: str
    answers: int
    values: Mapping[str, int]
    shared: int
    full: int
    partly: int
    agreement: Agreement | None


@dataclass(frozen=True, slots=True)
class Rank:
    """How many answers about the records of a rank call the record useful."""

    rank: int
    useful: int
    answers: int

    @property
    def share(self) -> float:
        return self.useful / self.answers if self.answers else 0.0


@dataclass(frozen=True, slots=True)
class JudgementFigures:
    """``majority``: items by their final label; ``records``: how many items have one."""

    items: int
    questions: tuple[QuestionFigures, ...]
    majority: Mapping[str, int]
    ranks: tuple[Rank, ...]


def question_figures(
    question: str, answers: Sequence[Judged], *, scale: Sequence[str] = (), resamples: int = 500
) -> QuestionFigures:
    """The figures of one question."""
    by_record: dict[Hashable, dict[int, str]] = {}
    item_of: dict[Hashable, int] = {}
    for each in answers:
        by_record.setdefault(each.record, {})[each.person] = each.value
        item_of[each.record] = each.item
    shared = {record: labels for record, labels in by_record.items() if len(labels) > 1}
    full = sum(len(set(labels.values())) == 1 for labels in shared.values())
    some = sum(1 < len(set(labels.values())) < len(labels) for labels in shared.values())
    rated = (RatedItem(item_of[record], labels) for record, labels in shared.items())
    return QuestionFigures(
        question=question,
        answers=len(answers),
        values=dict(Counter(each.value for each in answers).most_common()),
        shared=len(shared),
        full=full,
        partly=some,
        agreement=agreement(rated, scale=scale, resamples=resamples) if shared else None,
    )


def final_labels(answers: Iterable[Judged], otherwise: str) -> dict[int, str]:
    """The label of each item: the value of more than half of the people, else ``otherwise`` (VeriScore, 3.3)."""
    votes: dict[int, Counter[str]] = {}
    for each in answers:
        votes.setdefault(each.item, Counter())[each.value] += 1
    found = {}
    for item, counts in votes.items():
        value, count = counts.most_common(1)[0]
        found[item] = value if count * 2 > counts.total() else otherwise
    return found


def usefulness(answers: Iterable[Judged], useful: Sequence[str]) -> tuple[Rank, ...]:
    """For each rank, the share of answers with one of the ``useful`` values (VeriScore, 3.3)."""
    total: Counter[int] = Counter()
    count: Counter[int] = Counter()
    for each in answers:
        total[each.rank] += 1
        count[each.rank] += each.value in useful
    return tuple(Rank(rank, count[rank], total[rank]) for rank in sorted(total))
