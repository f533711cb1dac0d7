"""The page behind evidence that a person adds by its address: ordered after the commit, fetched in the background, kept
like any other (text, hash, time). Nothing of what the person typed is changed."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.locking import lock_document
from annotator.core.actions.recorder import for_annotation
from annotator.core.models import Evidence, PageSnapshot

FETCH_PAGE = "pipeline.fetch_page"
# An order that got lost is made up for until then; later the page may be another one.
MADE_UP_FOR = dt.timedelta(days=1)


def order_page(evidence: Evidence) -> None:
    """Have the page behind a person's evidence fetched, if it has an address and pages are fetched here."""
    if evidence.url and settings.PAGES:
        after_commit(FETCH_PAGE, evidence.pk)


def keep_page(evidence: Evidence, snapshot: PageSnapshot) -> None:
    """The page is there: the evidence, and what was agreed from it meanwhile, names its snapshot. A title that nobody
    has typed is the page's."""
    _write(evidence, f"saved {snapshot.url}", snapshot=snapshot, content_hash=snapshot.content_hash, page_problem="")
    for name in ("title", "site"):
        found = getattr(snapshot, name)
        if found:
            _rows(evidence).filter(**{name: ""}).update(**{name: found})
    if snapshot.published:
        _rows(evidence).filter(published__isnull=True).update(published=snapshot.published)


def note_no_page(evidence: Evidence, reason: str) -> None:
    """The page could not be had: the evidence says so, quietly; what the person typed stands."""
    _write(evidence, f"not saved, {reason}", page_problem=reason[:200])


def _write(evidence: Evidence, what: str, **values: object) -> None:
    annotation = evidence.annotation
    if annotation is None:
        return
    with transaction.atomic():
        lock_document(annotation.document_id)
        _rows(evidence).update(**values)
        for_annotation("fetch-page", annotation, by=None, reason=what).write()


def _rows(evidence: Evidence) -> QuerySet[Evidence]:
    """The evidence and the agreed rows that were made from it. Its version stays: no person has changed it."""
    return Evidence.objects.filter(Q(pk=evidence.pk) | Q(sources=evidence.pk))


def forgotten_pages() -> list[int]:
    """Evidence whose page was ordered and neither came nor failed: its order got lost."""
    if not settings.PAGES:
        return []
    now = timezone.now()
    rows = Evidence.objects.filter(
        annotation__person__isnull=False,
        run__isnull=True,
        snapshot__isnull=True,
        page_problem="",
        removed="",
        created_at__range=(now - MADE_UP_FOR, now - dt.timedelta(minutes=10)),
    )
    return list(rows.exclude(url="").values_list("pk", flat=True))
