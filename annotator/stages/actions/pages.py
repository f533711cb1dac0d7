"""The page behind evidence that a person adds by URL: requested after the commit, fetched in the background, and stored
like any other (text, hash, time). What the person typed is never changed."""

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
# A lost request is repeated up to this age; later, the page could have changed.
MADE_UP_FOR = dt.timedelta(days=1)


def order_page(evidence: Evidence) -> None:
    """Request the page behind a person's evidence if it has a URL and fetching is enabled."""
    if evidence.url and settings.PAGES:
        after_commit(FETCH_PAGE, evidence.pk)


def keep_page(evidence: Evidence, snapshot: PageSnapshot) -> None:
    """The page was fetched: the evidence, and adjudicated rows made from it in the meantime, refer to its snapshot. If
    nobody typed a title, the page's is used."""
    _write(evidence, f"saved {snapshot.url}", snapshot=snapshot, content_hash=snapshot.content_hash, page_problem="")
    for name in ("title", "site"):
        found = getattr(snapshot, name)
        if found:
            _rows(evidence).filter(**{name: ""}).update(**{name: found})
    if snapshot.published:
        _rows(evidence).filter(published__isnull=True).update(published=snapshot.published)


def note_no_page(evidence: Evidence, reason: str) -> None:
    """The page couldn't be fetched. The evidence says so, and what the person typed stays."""
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
    """The evidence and the adjudicated rows made from it. Their versions stay, because no person changed them."""
    return Evidence.objects.filter(Q(pk=evidence.pk) | Q(sources=evidence.pk))


def forgotten_pages() -> list[int]:
    """Evidence whose requested page neither arrived nor failed: its request was lost."""
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
