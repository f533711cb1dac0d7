"""Saved pages of evidence: one page for a person who may see it, the last recheck, and the affected verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotator.core.models import Benchmark, Document, Evidence, PageCheck, PageSnapshot, Recheck, User, Verdict
from annotator.core.queries.gold import adjudicated
from annotator.core.queries.history import visible_annotations
from annotator.core.texts.quotes import is_still_quoted
from annotator.core.vocabulary import PageOutcome, Phase, Stage, StanceLabel

CONCERNING = (PageOutcome.CHANGED, PageOutcome.VANISHED, PageOutcome.RETRACTED)


def evidence_with_page(public_id: str) -> Evidence | None:
    """The passage with its page and its document; None if no copy of the page was saved."""
    rows = Evidence.objects.select_related("snapshot", "claim__sentence__annotation__document", "annotation")
    return rows.filter(public_id=public_id, snapshot__isnull=False).first()


def sees_evidence(user: User, document: Document, evidence: Evidence) -> bool:
    """May a member who sees the document see this passage? Retrieved passages are shared; added ones are seen with the
    work of the person who added them."""
    if evidence.annotation_id is None:
        return True
    seen = visible_annotations(document, user, document.annotations.all())
    return any(row.pk == evidence.annotation_id for row in seen)


def pages_of(benchmark: Benchmark) -> QuerySet[PageSnapshot]:
    """The saved pages that a benchmark's evidence comes from, if they have an address that can be requested again."""
    used = Evidence.objects.filter(
        snapshot=OuterRef("pk"), removed="", claim__sentence__annotation__document__benchmark=benchmark
    )
    web = Q(url__istartswith="http://") | Q(url__istartswith="https://")
    return PageSnapshot.objects.filter(web, Exists(used)).order_by("pk")


def changed_pages(snapshots: Iterable[int | None]) -> dict[int, PageCheck]:
    """The newest check of each of these saved pages (primary keys) that found the page changed. One query; none without
    pages."""
    keys = {key for key in snapshots if key is not None}
    if not keys:
        return {}
    newest = {row.snapshot_id: row for row in PageCheck.objects.filter(snapshot__in=keys).exclude(outcome="")}
    return {key: row for key, row in newest.items() if row.outcome in CONCERNING}


# --- the last look --------------------------------------------------------------------------------


@dataclass(slots=True)
class RecheckState:
    """The progress of a recheck and its results: pages by outcome."""

    recheck: Recheck
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.outcomes.total()

    @property
    def done(self) -> int:
        return self.total - self.outcomes[""]

    @property
    def found(self) -> list[tuple[PageOutcome, int]]:
        return [(each, self.outcomes[each]) for each in PageOutcome]


def last_recheck(benchmark: Benchmark) -> RecheckState | None:
    """The newest recheck of a benchmark's saved pages (two queries); None if there was none."""
    recheck = benchmark.rechecks.first()
    if recheck is None:
        return None
    counted = recheck.checks.order_by().values_list("outcome").annotate(number=Count("*"))
    return RecheckState(recheck, Counter(dict(counted)))


@dataclass(frozen=True, slots=True)
class ConcernedVerdict:
    """An adjudicated verdict and the page of a passage used for it. ``still_there``: the page has changed, but still
    contains the passage word for word."""

    verdict: Verdict
    evidence: Evidence
    check: PageCheck
    still_there: bool

    @property
    def outcome(self) -> PageOutcome:
        return PageOutcome(self.check.outcome)


def concerned_verdicts(recheck: Recheck) -> list[ConcernedVerdict]:
    """The adjudicated verdicts whose evidence used comes from pages that changed, vanished or were retracted, one entry
    for each such passage; without those that were adjudicated again since the check. If a verdict names no evidence
    used, all its passages that aren't irrelevant count. A constant number of queries."""
    checks = recheck.checks.filter(outcome__in=CONCERNING).select_related("snapshot", "found")
    by_page = {check.snapshot_id: check for check in checks}
    pages = recheck.checks.filter(outcome__in=CONCERNING).values("snapshot")
    rows: list[tuple[int, Evidence]] = []
    standing = Verdict.objects.filter(
        adjudicated(Stage.VERIFY, "annotation__"),
        annotation__document__benchmark=recheck.benchmark_id,
        annotation__document__twin_of__isnull=True,
        claim__removed="",
    ).exclude(annotation__document__phase=Phase.DISCARDED)
    named = standing.filter(rests__evidence__snapshot__in=pages)
    rows += _pairs(named.annotate(used=F("rests__evidence")))
    unnamed = standing.filter(
        rests__isnull=True,
        annotation__stances__label__in=[each for each in StanceLabel if each != StanceLabel.IRRELEVANT],
        annotation__stances__evidence__claim=F("claim"),
        annotation__stances__evidence__snapshot__in=pages,
    )
    rows += _pairs(unnamed.annotate(used=F("annotation__stances__evidence")))
    verdicts = standing.select_related("claim", "annotation__document__benchmark").in_bulk({key for key, _ in rows})
    found = []
    for key, evidence in rows:
        verdict, check = verdicts[key], by_page[evidence.snapshot_id or 0]
        submitted = verdict.annotation.submitted_at
        if submitted is None or check.checked_at is None or submitted > check.checked_at:
            continue
        still = check.found is not None and is_still_quoted(check.snapshot.text, check.found.text, evidence.passage)
        still = still and check.outcome == PageOutcome.CHANGED
        found.append(ConcernedVerdict(verdict, evidence, check, still))
    return sorted(found, key=_place)


def _place(row: ConcernedVerdict) -> tuple[int, int, int]:
    return row.verdict.annotation.document.order, row.verdict.claim_id, row.evidence.pk


def _pairs(verdicts: QuerySet[Verdict]) -> list[tuple[int, Evidence]]:
    """Verdict (primary key) and passage, from verdicts annotated with ``used``."""
    rows: Any = verdicts.order_by()  # the stubs don't know the annotation
    keys = list(dict.fromkeys(rows.values_list("pk", "used")))
    evidence = Evidence.objects.in_bulk({used for _, used in keys})
    return [(key, evidence[used]) for key, used in keys if used in evidence]
