"""All that the overview shows, put together. A large benchmark is counted once a minute at most: over 100,000
documents that takes longer than a page may, and the page says as of when it is."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from django.core.cache import cache
from django.utils import timezone

from annotator.agreement.report import Part, Report
from annotator.models import Benchmark
from annotator.queries import overview, pace
from annotator.queries.agreement import Filter, agreement_of
from annotator.queries.waits import ToAgree, Waits, to_agree_of, waits_of
from annotator.vocabulary import Stage
from pipeline.metrics.agreement import Estimate

LARGE = 5000  # documents; below that everything is counted anew each time
KEPT_FOR = 60  # seconds


@dataclass(slots=True)
class Progress:
    """How far the benchmark is: for every member. ``as_of``: when it was counted."""

    standing: overview.Standing
    bars: list[overview.StageBar]
    burn_up: pace.BurnUp
    documents: pace.DocumentTimes | None
    shares: overview.SuggestionShares
    stance: Estimate | None
    flags: int
    as_of: dt.datetime = field(default_factory=timezone.now)

    @property
    def is_kept(self) -> bool:
        """Is it from the cache for a while, so that the page says as of when?"""
        return self.standing.total > LARGE

    @property
    def is_of_newest(self) -> bool:
        """Are times, agreement and suggestions read from some of the documents only?"""
        return self.standing.total > pace.NEWEST


@dataclass(slots=True)
class Team:
    """How the groups get on: for those who manage the benchmark, and without people's names for researchers."""

    waits: Waits
    to_agree: ToAgree
    times: pace.Times


def progress_of(benchmark: Benchmark) -> Progress:
    """The figures for every member."""
    key = f"overview:{benchmark.public_id}:progress"
    kept: Progress | None = cache.get(key)
    if kept is not None:
        return kept
    found = _progress(benchmark)
    if found.is_kept:
        cache.set(key, found, KEPT_FOR)
    return found


def team_of(benchmark: Benchmark, progress: Progress) -> Team:
    """The figures of groups and people."""
    if not progress.is_kept:
        return _team(benchmark, progress)
    key = f"overview:{benchmark.public_id}:team"
    kept: Team | None = cache.get(key)
    if kept is None:
        kept = _team(benchmark, progress)
        cache.set(key, kept, KEPT_FOR)
    return kept


def _progress(benchmark: Benchmark) -> Progress:
    standing = overview.standing_of(benchmark)
    return Progress(
        standing=standing,
        bars=overview.bars_of(standing),
        burn_up=pace.burn_up(benchmark, standing.total - standing.discarded),
        documents=pace.document_times(benchmark),
        shares=overview.suggestion_shares(benchmark),
        stance=_of_stance(_agreement(benchmark)),
        flags=overview.open_flags(benchmark),
    )


def _team(benchmark: Benchmark, progress: Progress) -> Team:
    found = Team(
        waits=waits_of(benchmark, progress.standing),
        to_agree=to_agree_of(benchmark),
        times=pace.times_of(benchmark, progress.documents),
    )
    batches = _agreement(benchmark).batches
    for row in found.waits.groups:
        row.alpha = next((part.alpha for part in batches.get(row.batch.pk, ()) if _is_stance(part)), None)
    return found


def _agreement(benchmark: Benchmark) -> Report:
    """The figures of the agreement page, of the newest documents: of all of them it would take seconds."""
    return agreement_of(benchmark, Filter(stage=Stage.VERIFY, newest=pace.NEWEST))


def _is_stance(part: Part) -> bool:
    return part.field.name == "stance.label"


def _of_stance(report: Report) -> Estimate | None:
    labels = [each for stage in report.stages for each in stage.labels]
    return next((each.figures.alpha for each in labels if each.field.name == "stance.label"), None)
