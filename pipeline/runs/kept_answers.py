"""Answers of calls, and the pages they read, kept in the database. An answer is kept under the key of its request; the
text of a page once, as the snapshot that evidence points to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef

from annotator.core.models import CachedAnswer, PageArchive, PageSnapshot
from pipeline.clients import answers
from pipeline.clients.base import FetchedPage
from pipeline.clients.cost_meter import CallKind, KeptAnswer
from pipeline.runs.bridge import Bridge
from pipeline.runs.gathered import Gathered


class DatabaseStore:
    """Kept answers."""

    def __init__(self, bridge: Bridge) -> None:
        self._answers = Gathered(bridge, kept_answers)

    async def get(self, key: str) -> Mapping[str, Any] | None:
        """The value kept under that key, None if there is none."""
        return await self._answers.do(key)


def kept_answers(keys: Sequence[str]) -> list[Mapping[str, Any] | None]:
    """The values kept under these keys; None where there is none, or its page's text is gone."""
    values: dict[str, Any] = dict(CachedAnswer.objects.filter(key__in=keys).values_list("key", "answer"))
    snapshots = [value["snapshot"] for value in values.values() if "snapshot" in value]
    texts: dict[str, str] = {}
    if snapshots:
        texts = dict(PageSnapshot.objects.filter(public_id__in=snapshots).values_list("public_id", "text"))
    return [None if key not in values else _with_text(values[key], texts) for key in keys]


def _with_text(value: Mapping[str, Any], texts: Mapping[str, str]) -> Mapping[str, Any] | None:
    if "snapshot" not in value:
        return value
    text = texts.get(value["snapshot"])
    return None if text is None else {name: each for name, each in value.items() if name != "snapshot"} | {"text": text}


def keep_answers(kept: Sequence[KeptAnswer]) -> None:
    """Keep answers; one that is kept under its key stays, unless it cannot be used. Inside the caller's transaction."""
    pages = {
        answer.key: answers.page_from_json(answer.value)
        for answer in kept
        if answer.kind == CallKind.PAGE and "text" in answer.value
    }
    snapshots = snapshots_of(pages.values())
    rows = []
    # In the order of their keys, so that two processes that keep the same answers don't wait for each other.
    for answer in sorted(kept, key=lambda answer: answer.key):
        value = dict(answer.value)
        if page := pages.get(answer.key):
            del value["text"]
            value.pop("warc", None)
            value["snapshot"] = snapshots[page.url, page.content_hash].public_id
        rows.append(CachedAnswer(key=answer.key, kind=answer.kind, answer=value))
    if instead := [answer.key for answer in kept if answer.instead]:
        CachedAnswer.objects.filter(key__in=instead).delete()
    CachedAnswer.objects.bulk_create(rows, ignore_conflicts=True)


def snapshot_of(page: FetchedPage) -> PageSnapshot:
    """The kept text of a page, as in ``snapshots_of``."""
    return snapshots_of([page])[page.url, page.content_hash]


def snapshots_of(pages: Iterable[FetchedPage]) -> dict[tuple[str, str], PageSnapshot]:
    """The kept texts of pages by address and hash, with their archives where there are any; the same text of the same
    address is kept once. The texts themselves are not read back: they are large, and most pages are kept already."""
    by_key = {(page.url, page.content_hash): page for page in pages}
    wanted = {key: by_key[key] for key in sorted(by_key)}  # in order, so that two processes don't wait for each other
    kept = _kept_snapshots(wanted)
    if new := [page for key, page in wanted.items() if key not in kept]:
        PageSnapshot.objects.bulk_create(
            (
                PageSnapshot(
                    url=page.url,
                    title=page.title,
                    site=page.site[:255],
                    published=page.published,
                    text=page.text,
                    content_hash=page.content_hash,
                    retrieved_at=page.retrieved_at,
                )
                for page in new
            ),
            ignore_conflicts=True,
        )
        kept = _kept_snapshots(wanted)
    PageArchive.objects.bulk_create(
        (
            PageArchive(snapshot=kept[key], record=page.warc)
            for key, page in wanted.items()
            if page.warc and not kept[key].is_archived  # type: ignore[attr-defined]  # annotated
        ),
        ignore_conflicts=True,
    )
    return kept


def _kept_snapshots(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], PageSnapshot]:
    """Those that are kept, without their texts; ``is_archived``: whether the page is kept as it came, too."""
    keys = set(keys)
    if not keys:
        return {}
    found = PageSnapshot.objects.filter(url__in={url for url, _ in keys}, content_hash__in={text for _, text in keys})
    found = found.annotate(is_archived=Exists(PageArchive.objects.filter(snapshot=OuterRef("pk")))).defer("text")
    by_key = {(each.url, each.content_hash): each for each in found}
    return {key: by_key[key] for key in keys if key in by_key}
