"""Pages are kept once, and looked up together."""

from __future__ import annotations

import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.models import PageArchive, PageSnapshot
from pipeline.clients.base import FetchedPage
from pipeline.runs.kept_answers import snapshot_of, snapshots_of

pytestmark = pytest.mark.django_db


def page(number: int, text: str = "Some text.", *, warc: bytes = b"") -> FetchedPage:
    return FetchedPage(
        url=f"https://{number}.example/",
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        retrieved_at=timezone.now(),
        warc=warc,
    )


def test_the_same_text_of_the_same_address_is_kept_once() -> None:
    pages = [page(1), page(1), page(2), page(2, "Another text.")]
    first, second = snapshots_of(pages), snapshots_of(pages)
    assert len(first) == PageSnapshot.objects.count() == 3
    assert {key: row.pk for key, row in first.items()} == {key: row.pk for key, row in second.items()}
    # Two addresses and two texts, and yet not each with each.
    assert set(snapshots_of([page(1), page(2, "Another text.")])) == {
        (each.url, each.content_hash) for each in (page(1), page(2, "Another text."))
    }


def test_pages_that_are_kept_take_one_query_and_their_texts_stay_where_they_are() -> None:
    pages = [page(number, "Long text. " * 1000, warc=b"WARC/1.1") for number in range(30)]
    snapshots_of(pages)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        kept = snapshots_of(pages)
    assert len(kept) == 30
    assert len(queries) == 1
    assert "Long text." not in queries[0]["sql"]
    assert all("text" in row.get_deferred_fields() for row in kept.values())


def test_a_page_without_its_archive_gets_it_when_it_comes_again() -> None:
    snapshot_of(page(1))
    assert not PageArchive.objects.exists()
    snapshot_of(page(1, warc=b"WARC/1.1"))
    snapshot_of(page(1, warc=b"WARC/1.1, fetched later"))
    assert bytes(PageArchive.objects.get().record) == b"WARC/1.1"
    assert PageSnapshot.objects.count() == 1
