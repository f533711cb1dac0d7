"""Working off pipeline runs: the rows are the truth, the queue only carries ids (ADR 0005, ADR 0011).

``begin`` hands out what has no result yet and may be called at any time, twice, or after a crash;
``prefill_item`` does one document once. A document in hand belongs to the worker that took it at ``started_at``; one
whose worker shows no sign of life is handed out again, and what the first one may still bring is refused. What a
strategy proposes is stored in one transaction with the item's result, so a document has all its suggestions of a run or
none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from annotator.core.actions.locking import lock_document
from annotator.core.actions.recorder import Action
from annotator.core.actions.status import update_status
from annotator.core.models import Annotation, PipelineRun, RunItem
from annotator.core.vocabulary import OPEN_STATES, RunState
from annotator.suggestions.actions.runs import WITHHELD, announce_over, halt
from pipeline.catalogue import problems
from pipeline.clients.base import BudgetSpentError, ServiceError
from pipeline.clients.collected import WaitsForBatchError
from pipeline.runs.bridge import Bridge
from pipeline.runs.db_retry import LOST, persistently
from pipeline.runs.lease import Lease
from pipeline.runs.run_budget import LimitReachedError, RunMeter, RunStoppedError, mark_lost
from pipeline.runs.run_document import Result, suggest
from pipeline.runs.services import settings_of
from pipeline.tools import MissingServiceError

logger = logging.getLogger(__name__)

# An item without a heartbeat for this long counts as lost with its worker and is handed out again.
LOST_AFTER = timedelta(seconds=settings.RUN_LOST_AFTER)
MAX_ATTEMPTS = 3


class _GivenUpError(Exception):
    """A document that keeps killing its workers is not retried forever."""


# Errors whose message is complete. For others, the class name is shown, too.
_SPOKEN = (ServiceError, MissingServiceError, _GivenUpError)


class _TakenError(Exception):
    """Another worker has the item, or it is finished: our result is not stored."""


def _lost(*, alone: bool = False) -> Q:
    """Items whose worker is lost. ``alone``: there is no other worker, so all running items are."""
    running = Q(state=RunState.RUNNING)
    return running if alone else running & (Q(seen_at__isnull=True) | Q(seen_at__lt=timezone.now() - LOST_AFTER))


def _still_lost(items: QuerySet[RunItem]) -> bool:
    """Whether the item exists and its row is not locked. A worker that is storing a result locks the row, so it is
    alive, however long that takes. Called inside the caller's transaction, which keeps the lock."""
    return bool(items.select_for_update(no_key=True, skip_locked=True).values_list("pk"))


# --- handing out ----------------------------------------------------------------------------------


def open_items(run: PipelineRun) -> list[int]:
    """Items to hand out: queued ones that wait for no batch, and running ones whose worker was lost."""
    return list(run.items.filter(Q(state=RunState.QUEUED, waits=False) | _lost()).values_list("pk", flat=True))


def begin(run: PipelineRun) -> list[int]:
    """Mark a run as running and return the items to hand out; none while it is paused or over."""
    wrong = problems(settings_of(run)) if run.plan.get("services") else []
    if wrong and run.state == RunState.QUEUED and not run.plan.get("again"):  # who searches by hand is told at once
        halt(run.pk, " ".join(wrong) + " Then start Touchstone again, and resume.", for_owners=True)
        return []
    PipelineRun.objects.filter(pk=run.pk, state=RunState.QUEUED).update(
        state=RunState.RUNNING, started_at=timezone.now()
    )
    if not PipelineRun.objects.filter(pk=run.pk, state=RunState.RUNNING).exists():
        return []
    return open_items(run)


def waiting_runs() -> Iterable[int]:
    """Runs that no worker has started, for example those created by a command."""
    return PipelineRun.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True)


def unfinished_runs() -> Iterable[int]:
    """Runs that a starting worker picks up, because the last worker's queue may be lost."""
    return PipelineRun.objects.filter(state__in=OPEN_STATES).values_list("pk", flat=True)


# --- what a lost worker leaves --------------------------------------------------------------------


def release_lost(*, alone: bool = False) -> list[int]:
    """Queue again what a killed worker had in hand; its calls under way are marked as lost. Returns the items of runs
    that go on. ``alone``: only for a worker that knows itself to be alone, at its start."""
    found = RunItem.objects.filter(_lost(alone=alone)).exclude(run__state=RunState.CANCELLED)
    released = []
    for item in list(found.select_related("run")):
        with transaction.atomic():
            mine = RunItem.objects.filter(_lost(alone=alone), pk=item.pk, started_at=item.started_at)
            if not _still_lost(mine):
                continue
            mine.update(state=RunState.QUEUED)
            mark_lost(item)
        if item.run.state in OPEN_STATES:
            released.append(item.pk)
    return released


def close_cancelled(*, alone: bool) -> None:
    """Close items of cancelled runs whose worker was lost, or put them back while the run was being cancelled: nobody
    hands them out again, and their documents wait."""
    stranded = _lost(alone=alone) | Q(state=RunState.QUEUED)
    for item in RunItem.objects.filter(stranded, run__state=RunState.CANCELLED).select_related("run"):
        with transaction.atomic():
            # Rows that name the run can still be written: a worker that stores a result must not wait for this.
            run = PipelineRun.objects.select_for_update(no_key=True).defer("plan").get(pk=item.run_id)
            if run.state != RunState.CANCELLED:
                continue  # retried in the meantime
            if not _still_lost(RunItem.objects.filter(stranded, pk=item.pk)):
                continue
            mark_lost(item)
            _finish(item, RunState.CANCELLED)


# --- one document ---------------------------------------------------------------------------------


def claim_item(item_id: int) -> RunItem | None:
    """Take an item for this worker by one conditional update; None if it is done or taken, or its run is stopped."""
    with transaction.atomic():
        found = RunItem.objects.select_related("run").filter(pk=item_id, run__state__in=OPEN_STATES).first()
        if found is None:
            return None
        if found.state == RunState.RUNNING and not _still_lost(RunItem.objects.filter(_lost(), pk=item_id)):
            return None
        now = timezone.now()
        taken = RunItem.objects.filter(Q(state=RunState.QUEUED, waits=False) | _lost(), pk=item_id).update(
            state=RunState.RUNNING, started_at=now, seen_at=now, attempts=F("attempts") + 1
        )
        if not taken:
            return None
        item = RunItem.objects.select_related("run__benchmark", "document").get(pk=item_id)
        mark_lost(item)
        return item


def prefill_item(item_id: int) -> None:
    """Make and store the suggestions of one document; a failure is kept with the item, never raised. A document whose
    database does not come back stays in hand, and is handed out again when it does."""
    item = persistently(partial(claim_item, item_id))
    if item is None:
        return
    try:
        _prefill(item)
    except _TakenError:
        logger.warning("Document %s was taken by another worker meanwhile; its result counts.", item.document_id)
        return
    except RunStoppedError:
        persistently(partial(put_back, item))
    except WaitsForBatchError:
        persistently(partial(put_back, item, waits=True))
    except BudgetSpentError as spent:
        why = f"{spent} {spent.advice} Finished work is kept and nothing is paid twice."
        halt(item.run_id, why, for_owners=isinstance(spent, LimitReachedError))
        persistently(partial(put_back, item))
    except LOST:
        logger.exception("The database was lost while document %s was worked on", item.document_id)
        return
    except Exception as error:  # a strategy's fault fails its document, not the worker
        logger.exception("Prefilling document %s failed", item.document_id)
        told = str(error) if isinstance(error, _SPOKEN) and str(error) else f"{type(error).__name__}: {error}"
        # Services, and whatever else fails where services are asked, may name them.
        is_withheld = bool(item.run.plan.get("services")) and not isinstance(error, _GivenUpError)
        failed = {"error": WITHHELD, "details": told} if is_withheld else {"error": told}
        persistently(partial(_finish_mine, item, RunState.FAILED, **failed))
    # After the commit: two last items that end at once would each still see the other as open.
    persistently(partial(finish_run_if_done, item.run_id))


def _prefill(item: RunItem) -> None:
    if item.attempts > MAX_ATTEMPTS:
        raise _GivenUpError(f"Given up: {MAX_ATTEMPTS} workers were lost while working on it.")
    bridge = Bridge()
    meter = RunMeter(item, bridge)
    with Lease(item, meter):
        result = suggest(item, meter, bridge)
        persistently(partial(_keep, item, meter, result))


def _keep(item: RunItem, meter: RunMeter, result: Result) -> None:
    """Store suggestions and result in one transaction. Raises _TakenError where the item is not ours any more."""
    with transaction.atomic():
        lock_document(item.document_id)
        _check_mine(item)
        result.store()
        meter.flush()
        _finish(item, RunState.FINISHED, result=result)


def _check_mine(item: RunItem) -> None:
    """Raise _TakenError unless this worker still has the item. The caller holds the document's lock."""
    mine = RunItem.objects.select_for_update(no_key=True).filter(
        pk=item.pk, state=RunState.RUNNING, started_at=item.started_at
    )
    if not mine.exists():
        raise _TakenError


def _finish_mine(item: RunItem, state: RunState, *, error: str = "", details: str = "") -> None:
    with transaction.atomic():
        lock_document(item.document_id)
        try:
            _check_mine(item)
        except _TakenError:
            return
        # Otherwise the reservation of a call that could not be written would keep others waiting forever.
        mark_lost(item)
        _finish(item, state, error=error, details=details)


def _finish(
    item: RunItem, state: RunState, *, error: str = "", details: str = "", result: Result | None = None
) -> None:
    """Write an item's result and what follows from it for the document's phase. ``details``: the error for owners."""
    with transaction.atomic():
        document = lock_document(item.document_id)
        RunItem.objects.filter(pk=item.pk).update(
            state=state,
            error=error[:2000],
            error_details=details[:2000],
            finished_at=timezone.now(),
            notes=result.notes if result else [],
            counts=result.counts if result else {},
        )
        action = Action(name="prefilled" if not error else "prefill-failed", by=None, document=document, reason=error)
        # A search by hand is part of the blind work on an annotation, so the activity belongs to that annotation.
        action.annotation = Annotation.objects.filter(pk=item.run.plan.get("annotation")).first()
        update_status(document, action)
        action.write()


def put_back(item: RunItem, *, waits: bool = False) -> None:
    """The run was stopped between two calls, or its next answers come with a batch (``waits``): the item waits again,
    or is canceled with its run. Answers that came are kept, so going on does not pay for them again."""
    state = PipelineRun.objects.filter(pk=item.run_id).values_list("state", flat=True).first()
    if state == RunState.CANCELLED:
        _finish_mine(item, RunState.CANCELLED)
        return
    RunItem.objects.filter(pk=item.pk, state=RunState.RUNNING, started_at=item.started_at).update(
        state=RunState.QUEUED, attempts=F("attempts") - 1, waits=waits
    )


# --- the run --------------------------------------------------------------------------------------


def finish_run_if_done(run_id: int) -> None:
    """Close a run that has no open items: failed if all items failed, else finished."""
    items = RunItem.objects.filter(run_id=run_id)
    # Asked after each document: one look into the index, however many documents the run has.
    if items.filter(state__in=(RunState.QUEUED, RunState.RUNNING)).exists():
        return
    states = dict(items.values_list("state").annotate(count=Count("id")).order_by())
    all_failed = states.get(RunState.FAILED, 0) == sum(states.values()) > 0
    with transaction.atomic():
        closed = PipelineRun.objects.filter(pk=run_id, state__in=(*OPEN_STATES, RunState.PAUSED)).update(
            state=RunState.FAILED if all_failed else RunState.FINISHED,
            finished_at=timezone.now(),
            halted="",
            halted_details="",
        )
        if closed:
            announce_over(run_id)
