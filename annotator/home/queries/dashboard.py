"""Everything on the overview. A large benchmark is counted at most once a minute, because with 100,000 documents that
takes longer than a page may. Its page shows the previous figures with their time and fetches newer ones when they are
ready."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from django.core.cache import cache
from django.utils import timezone

from annotator.core.models import Benchmark
from annotator.core.queries import standing as queries_standing
from annotator.core.vocabulary import Stage
from annotator.home.queries import overview
from annotator.measures.agreement.report import AgreementReport, Part
from annotator.measures.queries import pace
from annotator.measures.queries.agreement import AgreementFilter, agreement_of
from annotator.team.queries.waits import StagesAwaiting, Waits, to_agree_of, waits_of
from pipeline.metrics.agreement import Estimate

LARGE = 5000  # documents; smaller benchmarks are always counted anew
FRESH_FOR = 60  # seconds until figures are counted again when someone looks
KEPT_FOR = 24 * 3600  # seconds for which older figures may be shown at once
COUNTING = 20  # seconds for which one page's count keeps others from counting


@dataclass(slots=True)
class Progress:
    """The benchmark's progress, for every member. ``as_of``: when it was counted. ``alphas``: agreement on stance by
    batch (primary key), shown only in ``TeamLoad``."""

    standing: queries_standing.Standing
    bars: list[overview.StageBar]
    burn_up: pace.BurnUp
    documents: pace.DocumentTimes | None
    shares: overview.SuggestionShares
    stance: Estimate | None
    alphas: dict[int | None, float | None]
    flags: int
    as_of: dt.datetime = field(default_factory=timezone.now)

    @property
    def is_kept(self) -> bool:
        """Is it cached, so that the page states its time?"""
        return self.standing.total > LARGE

    @property
    def is_of_newest(self) -> bool:
        """Are times, agreement and suggestions based on only some of the documents?"""
        return self.standing.total > pace.NEWEST


@dataclass(slots=True)
class TeamLoad:
    """The groups' progress: for managers, and without names for researchers."""

    waits: Waits
    to_agree: StagesAwaiting
    times: pace.Times
    as_of: dt.datetime = field(default_factory=timezone.now)


@dataclass(frozen=True, slots=True)
class DashboardFigures:
    """Everything one page shows. ``team``: None for people who may not see it."""

    progress: Progress
    team: TeamLoad | None

    @property
    def is_old(self) -> bool:
        """Is it time to count again?"""
        return not _is_fresh(self.progress) or (self.team is not None and not _is_fresh(self.team))


def figures_at_once(benchmark: Benchmark, *, with_team: bool) -> DashboardFigures | None:
    """What a page can show without waiting. For a large benchmark: the previous figures, however old, or None.
    Otherwise: current figures."""
    progress: Progress | None = cache.get(_key(benchmark, "progress"))
    team: TeamLoad | None = cache.get(_key(benchmark, "team")) if with_team else None
    if progress is not None and (team is not None or not with_team):
        return DashboardFigures(progress, team)
    if benchmark.documents.filter(twin_of__isnull=True).order_by()[LARGE : LARGE + 1].exists():
        return None
    return counted_figures(benchmark, with_team=with_team)


def counted_figures(benchmark: Benchmark, *, with_team: bool) -> DashboardFigures:
    """All figures, at most a minute old."""
    progress = progress_of(benchmark)
    return DashboardFigures(progress, team_of(benchmark, progress) if with_team else None)


def may_count(benchmark: Benchmark, *, with_team: bool) -> bool:
    """Should this page fetch newer figures? Among pages open at the same time, one does."""
    return cache.add(_key(benchmark, f"counting:{with_team}"), True, COUNTING)


def progress_of(benchmark: Benchmark) -> Progress:
    """The figures for every member."""
    key = _key(benchmark, "progress")
    kept: Progress | None = cache.get(key)
    if kept is not None and _is_fresh(kept):
        return kept
    found = _progress(benchmark)
    if found.is_kept:
        cache.set(key, found, KEPT_FOR)
    return found


def team_of(benchmark: Benchmark, progress: Progress) -> TeamLoad:
    """The figures of groups and people."""
    if not progress.is_kept:
        return _team(benchmark, progress)
    key = _key(benchmark, "team")
    kept: TeamLoad | None = cache.get(key)
    if kept is None or not _is_fresh(kept):
        kept = _team(benchmark, progress)
        cache.set(key, kept, KEPT_FOR)
    return kept


def _key(benchmark: Benchmark, name: str) -> str:
    return f"overview:{benchmark.public_id}:{name}"


def _is_fresh(kept: Progress | TeamLoad) -> bool:
    return (timezone.now() - kept.as_of).total_seconds() < FRESH_FOR


def _progress(benchmark: Benchmark) -> Progress:
    began = timezone.now()
    standing = queries_standing.standing_of(benchmark)
    agreement = _agreement(benchmark)
    return Progress(
        as_of=began,
        standing=standing,
        bars=overview.bars_of(standing),
        burn_up=pace.burn_up(benchmark, standing.total - standing.discarded),
        documents=pace.document_times(benchmark),
        shares=overview.suggestion_shares(benchmark),
        stance=_of_stance(agreement),
        alphas={
            batch: next((part.alpha for part in parts if _is_stance(part)), None)
            for batch, parts in agreement.batches.items()
        },
        flags=overview.open_flags(benchmark),
    )


def _team(benchmark: Benchmark, progress: Progress) -> TeamLoad:
    found = TeamLoad(
        waits=waits_of(benchmark, progress.standing),
        to_agree=to_agree_of(benchmark),
        times=pace.times_of(benchmark, progress.documents),
    )
    for row in found.waits.groups:
        row.alpha = progress.alphas.get(row.batch.pk)
    return found


def _agreement(benchmark: Benchmark) -> AgreementReport:
    """The agreement figures of the newest documents; for all of them, it would take seconds."""
    return agreement_of(benchmark, AgreementFilter(stage=Stage.VERIFY, newest=pace.NEWEST))


def _is_stance(part: Part) -> bool:
    return part.field.name == "stance.label"


def _of_stance(report: AgreementReport) -> Estimate | None:
    labels = [each for stage in report.stages for each in stage.labels]
    return next((each.figures.alpha for each in labels if each.field.name == "stance.label"), None)
