"""Changes to large batches, made by a worker in small steps (``annotator.core.actions.small_steps``).

The row records what is left to do, so an interrupted change continues where it stopped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.notices import tell
from annotator.core.actions.small_steps import in_small_steps
from annotator.core.models import Annotation, Batch, BatchChange, BatchChangeRows, Document, User
from annotator.core.vocabulary import AnnotationKind, BatchStep, NoticeKind, Seat
from annotator.stages.actions.places import take_back_each
from annotator.team.queries.batches import is_at_work

CHANGE_BATCH = "annotator.change_batch"
AT_ONCE = 200  # documents that the request itself changes, in one transaction
OPEN_AT_ONCE = 10  # pieces of open work that it withdraws
# A step takes far less than a second; after this long without progress, the worker is lost.
LOST_AFTER = dt.timedelta(seconds=30)


def check_unchanging(batch: Batch) -> None:
    """Raise BadValueError while a worker is still changing the batch."""
    change = BatchChange.objects.filter(batch=batch).first()
    if change is not None:
        raise BadValueError(f"{batch} is still being changed ({change}). Wait until that is complete.")


def change_later(
    batch: Batch, what: BatchStep, keys: Sequence[int], *, by: User, plan: dict[str, object] | None = None
) -> BatchChange:
    """Leave a change to a worker. Needs the caller's transaction and the benchmark's lock."""
    change = BatchChange.objects.create(batch=batch, by=by, what=what, total=len(keys))
    BatchChangeRows.objects.create(change=change, keys=list(keys), plan=dict(plan or {}))
    after_commit(CHANGE_BATCH, change.pk)
    return change


def work_off(change_id: int) -> None:
    """Finish a change, unless another worker is doing it."""
    now = timezone.now()
    free = BatchChange.objects.filter(Q(seen_at__isnull=True) | Q(seen_at__lt=now - LOST_AFTER), pk=change_id)
    if not free.update(seen_at=now):
        return
    change = BatchChange.objects.select_related("batch__benchmark", "batch__group", "by", "rows").get(pk=change_id)

    def step(keys: Sequence[int]) -> bool:
        with transaction.atomic():
            # Locked: a worker that was presumed lost stops here.
            mine = BatchChange.objects.select_for_update().filter(pk=change.pk, done=change.done)
            if not mine.values_list("pk"):
                return False
            apply(change, keys)
            change.done += len(keys)
            BatchChange.objects.filter(pk=change.pk).update(done=change.done, seen_at=timezone.now())
            return True

    in_small_steps(change.rows.keys[change.done :], step)
    with transaction.atomic():
        over = BatchChange.objects.select_for_update().filter(pk=change.pk, done=F("total"))
        if over.values_list("pk"):
            finish(change)
            BatchChange.objects.filter(pk=change.pk).delete()


def apply(change: BatchChange, keys: Sequence[int]) -> None:
    """Do one step of a change, inside the caller's transaction."""
    if change.what == BatchStep.FILL:
        add(change.batch, keys, plan=change.rows.plan)
    elif change.what == BatchStep.EMPTY:
        release(keys)
    else:
        take_back_each(Annotation.objects.filter(pk__in=keys), by=change.by, reason=change.rows.plan["reason"])


def finish(change: BatchChange) -> None:
    """What happens after the last step."""
    if change.what == BatchStep.EMPTY:
        change.batch.delete()
    elif change.what == BatchStep.FILL:
        change.batch.cut["documents"] = number = change.batch.documents.count()
        change.batch.save(update_fields=["cut"])
        tell_group(change.batch, number, by=change.by)


def unfinished() -> list[int]:
    """Changes without a worker: to start or to restart."""
    silent = timezone.now() - LOST_AFTER
    rows = BatchChange.objects.filter(Q(seen_at__isnull=True) | Q(seen_at__lt=silent))
    return list(rows.order_by("pk").values_list("pk", flat=True))


# --- the steps ------------------------------------------------------------------------------------


def add(batch: Batch, keys: Sequence[int], *, plan: dict[str, list[int] | int]) -> None:
    """Put these documents into the batch, except those that have been started or assigned elsewhere in the meantime.
    ``plan`` has the keys of documents with extra people and of those labeled blind first."""
    rows = Document.objects.filter(pk__in=keys, batch__isnull=True)
    list(rows.select_for_update().order_by("pk").values_list("pk"))  # waits for people who are being assigned right now
    chosen = set(rows.exclude(is_at_work()).values_list("pk", flat=True))
    cut = Document.objects.filter(pk__in=chosen)
    cut.update(batch=batch, extra_people=0, blind_first=False, version=F("version") + 1)
    crossed, blind = (chosen.intersection(plan.get(name, [])) for name in ("crossed", "blind"))  # type: ignore[arg-type]
    if crossed:
        Document.objects.filter(pk__in=crossed).update(extra_people=plan["people"])
    if blind:
        Document.objects.filter(pk__in=blind).update(blind_first=True)


def release(keys: Sequence[int]) -> None:
    """Take these documents out of their batch. Those that nobody has started return to their original state."""
    rows = Document.objects.filter(pk__in=keys)
    list(rows.select_for_update().order_by("pk").values_list("pk"))
    untouched = rows.exclude(annotations__kind=AnnotationKind.INDIVIDUAL)
    untouched.update(extra_people=0, blind_first=False)
    rows.update(batch=None, version=F("version") + 1)


def tell_group(batch: Batch, number: int, *, by: User) -> None:
    """Notify the group's annotators of new work."""
    if batch.group is None or not number:
        return
    members = batch.group.members.filter(seat=Seat.ANNOTATOR, active=True).select_related("user")
    documents = "1 document" if number == 1 else f"{number:,} documents"
    are = "is" if number == 1 else "are"
    tell(
        [row.user for row in members],
        NoticeKind.ASSIGNED,
        f"{documents} of {batch.benchmark} {are} yours now: {batch}.",
        benchmark=batch.benchmark,
        by=by,
    )
