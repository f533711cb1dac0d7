"""Exports: recorded before they are handed out, and tracked while they are streamed."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User
from annotator.core.vocabulary import RunState
from annotator.exchange.exports.catalogue import ExportFormat, Reading
from annotator.exchange.models import Download
from annotator.exchange.queries.export import INCLUDE

logger = logging.getLogger(__name__)

TOLD_EVERY = 1.0  # seconds between heartbeats


def start_download(
    *, benchmark: Benchmark, format: ExportFormat, include: str, named: bool, by: User, among: Q | None = None
) -> Download:
    """Put on record that someone takes an export away; ``among`` narrows the documents.

    Raises NotAllowedError by the rules, BadValueError if the format can't be written.
    """
    if include not in INCLUDE:
        raise BadValueError(f"“{include}” isn’t valid; choose {' or '.join(INCLUDE)}.")
    if why := format.missing():
        raise BadValueError(why)
    with transaction.atomic():
        rules.check_export(by, benchmark)
        if format.tells_people and (named or include != INCLUDE[0]):
            rules.check_export_people(by, benchmark)
        count = Reading(benchmark, include, among=among).count()
        download = Download.objects.create(
            benchmark=benchmark,
            by=by,
            format=format.name,
            include=include,
            named=named and format.tells_people,
            documents=count,
            total=count * format.passes,
        )
        documents = "1 document" if count == 1 else f"{count:,} documents"
        people = ", with names" if download.named else ""
        people += ", selected" if among is not None else ""
        Action(
            name="export", by=by, benchmark=benchmark, reason=f"{format.name}, {include}, {documents}{people}"
        ).write()
    return download


def streamed(download: Download, format: ExportFormat, among: Q | None = None) -> Iterator[bytes]:
    """The file, piece by piece; about once a second the row says how far it is, and at the end how it ended."""
    progress = _DownloadProgress(download)
    reading = Reading(
        download.benchmark,
        include=download.include,
        named=download.named,
        on_document=progress.one_more,
        among=among,
    )
    state = RunState.FAILED
    try:
        yield from format.write(reading)
        state = RunState.FINISHED
    except GeneratorExit:  # the client is gone
        state = RunState.CANCELLED
        raise
    except Exception:
        logger.exception("Export %s of %s failed", download.public_id, download.benchmark)
        raise
    finally:
        progress.tell(state=state, finished_at=timezone.now())


class _DownloadProgress:
    """Counts the documents of a download and updates its row from time to time."""

    def __init__(self, download: Download) -> None:
        self.download = download
        self.done = 0
        self.told = time.monotonic()

    def one_more(self) -> None:
        self.done += 1
        if time.monotonic() - self.told >= TOLD_EVERY:
            self.tell()

    def tell(self, **fields: object) -> None:
        self.told = time.monotonic()
        Download.objects.filter(pk=self.download.pk).update(done=self.done, seen_at=timezone.now(), **fields)
