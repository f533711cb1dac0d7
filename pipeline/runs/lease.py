"""A sign of life from the worker that has a document in hand, so that a lost one is noticed within seconds however long
documents take; and how the worker learns that its run was stopped."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from annotator.core.models import PipelineRun, RunItem
from annotator.core.vocabulary import OPEN_STATES, RunState
from pipeline.runs.db_retry import LOST, close
from pipeline.runs.run_budget import RunMeter

logger = logging.getLogger(__name__)


class Lease:
    """Within it a thread writes a sign of life several times in the time after which the document would count as lost.
    A document that is done before the first is due costs nothing more than the thread."""

    def __init__(self, item: RunItem, meter: RunMeter) -> None:
        self._run_id = item.run_id
        self._item = RunItem.objects.filter(pk=item.pk, state=RunState.RUNNING, started_at=item.started_at)
        self._meter = meter
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, name=f"lease-{item.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _live(self) -> None:
        try:
            while not self._over.wait(settings.RUN_LOST_AFTER / 6):
                self._beat()
        finally:
            close()

    def _beat(self) -> None:
        try:
            with transaction.atomic():
                # Never waits: who holds the row is this worker storing its result, and the lock is its sign of life.
                free = self._item.select_for_update(no_key=True, skip_locked=True).values_list("pk").first()
                if free:
                    self._item.update(seen_at=timezone.now())
            if not free and not self._item.exists():
                self._meter.stop("Another worker has the document now.")
            elif not PipelineRun.objects.filter(pk=self._run_id, state__in=OPEN_STATES).exists():
                self._meter.stop("The run was paused or canceled.")
        except LOST as error:
            # The document is not lost yet: the next sign may get through on a new connection.
            logger.warning("No sign of life could be written: %s", str(error).strip().split("\n")[0])
            close()
