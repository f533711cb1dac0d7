"""A benchmark's latest downloads and their progress."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.utils import timezone

from annotator.core.models import Benchmark
from annotator.core.queries.progress import Pace
from annotator.core.vocabulary import RunState
from annotator.exchange.exports.catalogue import FORMATS
from annotator.exchange.models import Download
from annotator.exchange.queries.export import INCLUDE

SHOWN = 10
# The server writes a heartbeat every second. After this long without one, it was stopped during the download.
LOST_AFTER = dt.timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Followed:
    """A download as the page shows it. ``state`` is its own, or failed if its heartbeat stopped."""

    download: Download
    state: str
    pace: Pace

    @property
    def is_open(self) -> bool:
        return self.state == RunState.RUNNING

    @property
    def done(self) -> int:
        """Documents written, out of ``download.documents``: the total over all passes, divided by their number."""
        total = self.download.total
        return self.download.done * self.download.documents // total if total else 0

    @property
    def what(self) -> str:
        """ "Touchstone, all, with names"."""
        names = self.download.format.split(",")
        parts = [FORMATS[name].label if name in FORMATS else name for name in names]
        parts += ["gold" if self.download.include == INCLUDE[0] else "all documents"]
        parts += ["with names"] if self.download.named else []
        return ", ".join(parts)


def latest_downloads(benchmark: Benchmark) -> list[Followed]:
    """The newest downloads of a benchmark with the people who made them (one query)."""
    now = timezone.now()
    return [_followed(each, now) for each in Download.objects.filter(benchmark=benchmark).select_related("by")[:SHOWN]]


def _followed(download: Download, now: dt.datetime) -> Followed:
    state = download.state
    if state == RunState.RUNNING and download.seen_at < now - LOST_AFTER:
        state = RunState.FAILED.value
    share = min(download.done / download.total, 1.0) if download.total else 0.0
    seconds = (download.seen_at - download.started_at).total_seconds()
    per_second, left = 0.0, None
    if state == RunState.RUNNING and seconds > 0 and share > 0:
        per_second = download.done / seconds
        left = seconds * (1 - share) / share
    return Followed(download, state, Pace(share, per_second, left, "document"))
