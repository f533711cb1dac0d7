"""Reads releases, and the gold that the next one would contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone

from annotator.core.models import Annotation, Benchmark
from annotator.core.queries.gold import GoldScope
from annotator.core.queries.progress import Pace
from annotator.core.vocabulary import AnnotationKind, AnnotationState, GroupedBy, ReleaseState, Split
from annotator.exchange.models import Release, ReleaseDocument
from annotator.exchange.queries.export import gold_documents
from annotator.exchange.releases.differences import Fingerprint, ReleaseDifference, compare, fingerprint
from annotator.exchange.releases.splits import SplitDocument
from annotator.measures.queries.statistics import wholesale

CHUNK = 2000  # rows per fetch
AT_ONCE = 500  # keys per query: every SQLite build accepts a few hundred parameters

# --- releases -------------------------------------------------------------------------------------


def releases_of(benchmark: Benchmark) -> QuerySet[Release]:
    """The releases of a benchmark, newest first, with who made them and their errata (two queries)."""
    return (
        Release.objects.filter(benchmark=benchmark)
        .select_related("by", "mends", "since", "keeps_splits_of")
        .prefetch_related("mended_by")
        .defer("files")
        .order_by("-pk")
    )


def ready_releases(benchmark: Benchmark) -> QuerySet[Release]:
    """The ready ones, newest first."""
    return releases_of(benchmark).filter(state=ReleaseState.READY)


def latest_release(benchmark: Benchmark) -> Release | None:
    """The newest ready one."""
    return ready_releases(benchmark).first()


def mended_by(release: Release) -> Release | None:
    """The newest ready erratum of this release; None if there is none."""
    ready = [each for each in release.mended_by.all() if each.is_ready]
    return max(ready, key=lambda each: each.pk) if ready else None


def pace_of(release: Release) -> Pace:
    """The progress of a release."""
    share = min(release.done / release.total, 1.0) if release.total else 0.0
    per_second, left = 0.0, None
    if release.started_at is not None and release.seen_at is not None and release.done:
        seconds = (release.seen_at - release.started_at).total_seconds()
        if seconds > 0:
            per_second = release.done / seconds
            since_then = (timezone.now() - release.seen_at).total_seconds()
            left = max((release.total - release.done) / per_second - since_then, 0.0)
    return Pace(share, per_second, left, "document")


def kept_splits(release: Release) -> dict[str, Split]:
    """Public id of each document of a release -> its split (one query)."""
    rows = ReleaseDocument.objects.filter(release=release).values_list("public_id", "split")
    return {public_id: Split(split) for public_id, split in rows}


def difference_to(release: Release, now: Mapping[str, Fingerprint]) -> ReleaseDifference:
    """What changed from a release to these documents (one query, plus one for each 500 changed documents)."""
    rows = ReleaseDocument.objects.filter(release=release)
    before = {
        public_id: Fingerprint(content, "", split)
        for public_id, content, split in rows.values_list("public_id", "content", "split").iterator(CHUNK)
    }
    changed = [key for key in before if key in now and now[key].content != before[key].content]
    for start in range(0, len(changed), AT_ONCE):
        some = rows.filter(public_id__in=changed[start : start + AT_ONCE])
        for public_id, parts in some.values_list("public_id", "parts"):
            before[public_id] = replace(before[public_id], parts=parts)
    return compare(before, now)


# --- the gold of the next one ---------------------------------------------------------------------


def stamp_of_gold(benchmark: Benchmark) -> tuple[object, ...]:
    """Changes when a document becomes gold, stops being gold, or is adjudicated again (one query)."""
    found = GoldScope(benchmark).documents().aggregate(Count("pk"), Sum("pk"), Max("annotations__submitted_at"))
    return tuple(found.values())


def gold_rows(benchmark: Benchmark) -> list[SplitDocument]:
    """What gold documents can be grouped by (one query)."""
    rows = GoldScope(benchmark).documents().values_list("public_id", "source", "prompt", "model", "batch__name")
    return [SplitDocument(*row[:4], batch=row[4] or "") for row in rows.iterator(CHUNK)]


def guidelines_of_gold(benchmark: Benchmark) -> list[int]:
    """The versions of the guidelines used for the gold, in order (one query)."""
    numbers = (
        Annotation.objects.filter(
            GoldScope(benchmark).gold("document__"),
            kind=AnnotationKind.INDIVIDUAL,
            state=AnnotationState.SUBMITTED,
            guidelines__isnull=False,
        )
        .order_by()
        .values_list("guidelines__number", flat=True)
        .distinct()
    )
    return sorted(numbers)


def changes_since(release: Release) -> ReleaseDifference:
    """What a release made now would change. Reads documents adjudicated since then, and those the release doesn't
    contain; gold changes in no other way."""
    held = ReleaseDocument.objects.filter(release=release)
    adjudicated_since = Annotation.objects.filter(
        document__benchmark=release.benchmark, kind=AnnotationKind.CONSOLIDATED, submitted_at__gte=release.started_at
    )
    is_new = Q(pk__in=adjudicated_since.values("document")) | ~Q(public_id__in=held.values("public_id"))
    now = {each.public_id: fingerprint(each) for each in gold_documents(release.benchmark, among=is_new)}
    gold = set(GoldScope(release.benchmark).documents().values_list("public_id", flat=True))
    for public_id, content in held.values_list("public_id", "content").iterator(CHUNK):
        if public_id in gold and public_id not in now:
            now[public_id] = Fingerprint(content, "")
    return difference_to(release, now)


# --- figures --------------------------------------------------------------------------------------


@dataclass(slots=True)
class ReleaseFigures:
    """The contents of a split. ``labels``: the verdicts of checked claims, "" for those without one."""

    documents: int = 0
    claims: int = 0
    labels: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, object]:
        return {"documents": self.documents, "claims": self.claims, "labels": dict(sorted(self.labels.items()))}


def figures_of(benchmark: Benchmark, splits: Mapping[str, Split]) -> dict[Split, ReleaseFigures]:
    """Documents, claims and verdicts of each split, including empty ones (two queries)."""
    found = {split: ReleaseFigures() for split in Split}
    for split in splits.values():
        found[split].documents += 1
    scope = GoldScope(benchmark)
    document = "sentence__annotation__document__public_id"
    with wholesale():
        claims = scope.claims().values_list(document).annotate(Count("pk"))
        for public_id, number in claims.iterator(CHUNK):
            if public_id in splits:
                found[splits[public_id]].claims += number
        verdicts = scope.checked_verdicts().values_list("annotation__document__public_id", "factuality")
        for public_id, label, number in verdicts.annotate(Count("pk")).iterator(CHUNK):
            if public_id in splits:
                found[splits[public_id]].labels[label] += number
    return found


def groupings_of(documents: Iterable[SplitDocument]) -> list[GroupedBy]:
    """The possible groupings: properties that at least one of the documents has."""
    there = {GroupedBy.NOTHING}
    for document in documents:
        there |= {by for by in GroupedBy if by != GroupedBy.NOTHING and getattr(document, by.value)}
    return [by for by in GroupedBy if by in there]
