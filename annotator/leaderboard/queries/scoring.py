"""A file of predictions scored against the gold of a benchmark: what the command, the pages and the API do alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeVar

from django.db.models import Count, Max, Sum

from annotator.core.file_problems import Problem
from annotator.core.models import Benchmark
from annotator.core.queries.gold import GoldScope
from annotator.leaderboard.predictions import predictions
from annotator.leaderboard.predictions.predictions_other_tools import READERS
from annotator.leaderboard.queries.gold_items import gold_items, kinds_of
from annotator.leaderboard.scoring.items import Gold
from annotator.leaderboard.scoring.joining import NOT_FOUND, Joined, join
from annotator.leaderboard.scoring.report import SEED, Scorer, told
from annotator.leaderboard.scoring.tasks import Options, Task
from annotator.measures.queries.breakdowns import traits_of
from annotator.measures.queries.statistics import wholesale
from annotator.measures.statistics.breakdowns import groups_of
from pipeline.metrics.agreement import RESAMPLES

# How figures are defined. Scores of another number count as old: they have no place beside new ones.
# 2: macro-averages are over the labels of the gold.
SCORING = 2
FORMATS = (predictions.NAME, *READERS)
# Formats whose rows name a claim by its words.
_BY_WORDS = set(READERS) - {"openfactcheck"}


_Row = TypeVar("_Row")


class NoGoldError(ValueError):
    """There is nothing to score against yet; the message says what makes gold."""


def scorer_of(
    benchmark: Benchmark,
    task: Task,
    options: Options,
    *,
    format: str = predictions.NAME,
    texts: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Scorer:
    """The task on today's gold, all of it in memory. ``texts``: with what the items are about; formats that find claims
    by their words have them anyway. Raises ``NoGoldError``."""
    with wholesale():
        gold = Gold.of(gold_items(benchmark, task, options, texts=texts or format in _BY_WORDS))
    if not gold.scored:
        raise NoGoldError(
            f"“{benchmark.slug}” has no gold for {task.value} yet: a document becomes gold when it is "
            f"adjudicated at all three "
            "stages."
        )
    return Scorer(task, options, gold, resamples=resamples, seed=seed)


def joined_of(
    benchmark: Benchmark,
    scorer: Scorer,
    stream: BinaryIO,
    format: str = predictions.NAME,
    *,
    on_row: Callable[[], None] | None = None,
) -> Joined:
    """The rows of a file beside their items, line by line; ``on_row`` is called for each. Raises ``FileError`` for a
    file that cannot be read."""
    read = READERS.get(format, predictions.read)
    rows = read(stream)
    joined = join(scorer.gold, scorer.measure, _watched(rows, on_row) if on_row else rows, task=scorer.task.value)
    _name_unknown(benchmark, joined)
    return joined


def _watched(rows: Iterable[_Row], on_row: Callable[[], None]) -> Iterator[_Row]:
    for row in rows:
        on_row()
        yield row


def _name_unknown(benchmark: Benchmark, joined: Joined) -> None:
    """Says of unknown rows what their id names instead, where it is an id of this benchmark."""
    if not joined.unknown:
        return
    kinds = kinds_of(benchmark, [key for _, key in joined.unknown])
    instead = {line: kinds[key] for line, key in joined.unknown if key in kinds}
    joined.problems = [
        Problem(
            each.line,
            each.field,
            f"{each.reason[:-1]}: it is the id of {instead[each.line]}, so this file may be for another task.",
        )
        if each.line in instead and each.reason.endswith(NOT_FOUND)
        else each
        for each in joined.problems
    ]


def heading(benchmark: Benchmark, scorer: Scorer) -> dict[str, Any]:
    """How every report begins."""
    return {
        "benchmark": benchmark.slug,
        "task": scorer.task.value,
        "options": {**scorer.options.said(scorer.task), "seed": scorer.seed},
        "gold": scorer.gold.scored,
    }


def report_of(benchmark: Benchmark, scorer: Scorer, joined: Joined) -> dict[str, Any]:
    """The scores of one file with intervals, beside the baselines: what ``manage.py evaluate --json`` gives."""
    return {
        **heading(benchmark, scorer),
        "rows": told(joined),
        "problems": [each.as_dict() for each in joined.problems],
        **scorer.scores(joined.scored),
        "baselines": scorer.baselines(),
        "breakdowns": scorer.breakdowns(joined.scored, groups_of(traits_of(benchmark))),
    }


def gold_fingerprint(benchmark: Benchmark) -> str:
    """Names the gold of this moment, and how it is scored: another one once a document became gold, or stopped being it
    (one query)."""
    found: dict[str, Any] = (
        GoldScope(benchmark).documents().aggregate(Count("pk"), Sum("pk"), Max("annotations__submitted_at"))
    )
    found["scoring"] = SCORING
    return hashlib.blake2s(repr(sorted(found.items())).encode()).hexdigest()
