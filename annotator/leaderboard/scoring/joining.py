"""Joins predictions to the gold: each row finds its item, and everything else is reported and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from annotator.core.file_problems import BadRow, Problem, RowError
from annotator.leaderboard.predictions.predictions import PredictionRow
from annotator.leaderboard.scoring.items import Gold
from annotator.leaderboard.scoring.labels import Labels
from annotator.leaderboard.scoring.measure import Numbers, TaskMeasure, Unanswered
from annotator.leaderboard.scoring.responses import EndToEnd

# At most this many problems are kept in words; all are counted.
KEPT = 50
SPELLINGS_KEPT = 20


@dataclass(slots=True)
class Joined:
    """The outcome of a file. ``scored`` holds the numbers of each item with exactly one valid answer. ``counts`` has
    the number of each kind of problem (``KINDS``)."""

    measure: TaskMeasure
    rows: int = 0
    scored: dict[str, Numbers] = field(default_factory=dict)
    without_gold: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    respelled: Counter[tuple[str, str]] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    # Rows that matched no item, as (line, id). What their ids refer to can be looked up.
    unknown: list[tuple[int, str]] = field(default_factory=list)

    def answer_of(self, key: str) -> str | None:
        """The label scored for an item; None without one, and for a task whose answers aren't labels. Derived from the
        numbers, so that memory holds one object per item."""
        numbers = self.scored.get(key)
        if numbers is None or not isinstance(self.measure, Labels | EndToEnd):
            return None
        return self.measure.answered(numbers)

    def complain(self, kind: str, *problems: Problem) -> None:
        self.counts[kind] += 1
        self.problem_count += len(problems)
        self.problems += problems[: max(0, KEPT - len(self.problems))]


# The kinds of problems in a file, in the order of the report.
KINDS = {
    "bad": "rows that cannot be read or have an invalid prediction",
    "wrong_task": "rows made for another task",
    "unknown": "rows that match no gold item of this task",
    "duplicate": "duplicate rows",
    "unanswered": "rows with a blank prediction",
    "missing": "gold items without a row",
}


NOT_FOUND = "is not in the gold for this task."
_PLACES = ("a sentence", "a claim", "a passage")


def join(gold: Gold, measure: TaskMeasure, rows: Iterable[PredictionRow | BadRow], *, task: str = "") -> Joined:
    """Reads the rows one by one. Memory grows with the gold, not with the file.

    An item with two rows has no answer that could be scored and counts as a duplicate rather than missing, unless both
    rows were matched by the same text and agree.
    """
    found = Joined(measure)
    lines: dict[str, int] = {}  # the first line for each answered item
    twice: set[str] = set()
    blank: set[str] = set()
    for row in rows:
        found.rows += 1
        if isinstance(row, BadRow):
            found.complain("bad", *row.problems)
            continue
        if row.task and task and row.task != task:
            reason = f"made for the task {row.task[:60]}, but this is {task}. Choose the file’s task."
            found.complain("wrong_task", Problem(row.line, "task", reason))
            continue
        keys = _find(gold, row)
        if not keys:
            _not_found(found, gold, row)
            continue
        try:
            answer = measure.read(row.values)
        except Unanswered:
            blank.update(keys)
            found.complain("unanswered", Problem(row.line, "", f"the prediction for {row.named} is blank. Fill it in."))
            continue
        except RowError as error:
            lines.update((key, row.line) for key in keys if key not in lines)
            found.complain("bad", *error.at(row.line).problems)
            continue
        if answer.respelled and (answer.respelled in found.respelled or len(found.respelled) < SPELLINGS_KEPT):
            found.respelled[answer.respelled] += 1
        elif answer.respelled:
            found.respelled["other spellings", ""] += 1
        for key in keys:
            item = gold.items[key]
            numbers = () if item.gold is None else measure.numbers(item, answer.value)
            if key in lines:
                same_words = bool(row.text) and (item.gold is None or found.scored.get(key) == numbers)
                if not same_words:
                    twice.add(key)
                    reason = f"{row.named} already has a prediction on line {lines[key]}. Keep only one."
                    found.complain("duplicate", Problem(row.line, "", reason))
                continue
            lines[key] = row.line
            if item.gold is None:
                found.without_gold += 1
                continue
            found.scored[key] = numbers
    for key in twice:
        found.scored.pop(key, None)
    _missing(found, gold, lines, blank)
    return found


def _find(gold: Gold, row: PredictionRow) -> Sequence[str]:
    if row.text:
        return gold.by_text(row.text)
    if row.number:
        one = gold.by_number(row.number)
    elif row.key:
        one = gold.by_key(row.key)
    else:
        one = gold.by_place(row.document, row.position)
    return () if one is None else (one,)


def _not_found(found: Joined, gold: Gold, row: PredictionRow) -> None:
    name = row.key or (row.document if not row.position else "")
    if name and len(found.unknown) < KEPT:
        found.unknown.append((row.line, name))
    reason = f"{row.named} {NOT_FOUND}"
    asked, given = (_kind_of_place(each) for each in (next(iter(gold.items.values())).position, row.position))
    if row.position and asked != given:
        reason += f" This position belongs to {given}; the task is about {asked}."
    found.complain("unknown", Problem(row.line, "", reason))


def _kind_of_place(position: str) -> str:
    """The kind of item at a position, by its dots."""
    return _PLACES[min(position.count("."), 2)] if position else "a document"


def _missing(found: Joined, gold: Gold, *named: Container[str]) -> None:
    for key, item in gold.items.items():
        if item.gold is None or any(key in each for each in named):
            continue
        where = f"document {item.external or item.document}" + (f", position {item.position}" if item.position else "")
        found.complain("missing", Problem(0, "", f"no row for {where} (id {key})."))
