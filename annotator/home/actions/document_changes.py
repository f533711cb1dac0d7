"""The same change to many documents: a few within the request, many by a worker, always one document at a time.

Each document is changed by the same action as on its own page, in its own transaction. So no lock is held for long, and
a document that can't be changed doesn't stop the others.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.small_steps import in_small_steps
from annotator.core.models import Batch, Benchmark, Document, DocumentChange, DocumentChangeRows, DocumentView, User
from annotator.core.queries.documents import DocumentFilter, matching, shelf_for
from annotator.core.vocabulary import DiscardReason, DocumentStep, Phase, Stage
from annotator.stages.actions import documents as actions
from annotator.team.actions.batch_changes import check_unchanging, tell_group
from annotator.team.actions.batches import move_some

CHANGE_DOCUMENTS = "annotator.change_documents"
AT_ONCE = 10  # documents that the request itself changes
LOST_AFTER = dt.timedelta(seconds=30)  # a step takes far less than a second
REASONS_KEPT = 10
MAX_NAME = 80
MAX_VIEWS = 50
DONE = {
    DocumentStep.MOVE: "moved",
    DocumentStep.DISCARD: "discarded",
    DocumentStep.RESTORE: "restored",
    DocumentStep.REOPEN: "reopened",
}


def change_documents(
    benchmark: Benchmark,
    narrowed: DocumentFilter,
    what: DocumentStep,
    *,
    by: User,
    reason: str = "",
    code: str = DiscardReason.OTHER,
    stage: Stage = Stage.DECOMPOSE,
    batch: Batch | None = None,
) -> DocumentChange:
    """Change all documents that match a filter. If a worker does it, ``finished_at`` of the result is null.

    Raises NotAllowedError by the rules, BadValueError if no document matches or a required reason is missing.
    """
    rules.check_manage(by, benchmark)
    if what == DocumentStep.DISCARD:
        code, reason = actions.discard_reason(code, reason)
    elif what == DocumentStep.REOPEN:
        reason = actions.said_reason(reason, f"the documents are {DONE[what]}")
    if batch is not None:
        if batch.benchmark_id != benchmark.pk:
            raise BadValueError("This batch belongs to another benchmark.")
        check_unchanging(batch)
    shelf = shelf_for(by, benchmark, twins=narrowed.twins)
    keys = list(matching(benchmark, narrowed, shelf).order_by("pk").values_list("pk", flat=True))
    if not keys:
        raise BadValueError("No document matches, so nothing was changed.")
    plan: dict[str, Any] = {"reason": reason, "code": code, "stage": stage.value, "batch": batch.pk if batch else None}
    with transaction.atomic():
        change = DocumentChange.objects.create(benchmark=benchmark, by=by, what=what, total=len(keys))
        DocumentChangeRows.objects.create(change=change, keys=keys, plan=plan)
        if len(keys) > AT_ONCE:
            after_commit(CHANGE_DOCUMENTS, change.pk)
            return change
    work_off(change.pk, rest=False)
    change.refresh_from_db()
    return change


def work_off(change_id: int, *, rest: bool = True) -> None:
    """Finish a change, unless another worker is working on it."""
    now = timezone.now()
    free = Q(seen_at__isnull=True) | Q(seen_at__lt=now - LOST_AFTER)
    if not DocumentChange.objects.filter(free, pk=change_id, finished_at__isnull=True).update(seen_at=now):
        return
    change = DocumentChange.objects.select_related("benchmark", "by", "rows").get(pk=change_id)
    plan, problems = change.rows.plan, Counter(dict(change.problems))
    batch = Batch.objects.select_related("group").filter(pk=plan["batch"]).first() if plan["batch"] else None
    is_batch_gone = bool(plan["batch"]) and batch is None

    def step(keys: Sequence[int]) -> bool:
        mine = DocumentChange.objects.filter(pk=change.pk, done=change.done)
        if not mine.exists():  # another worker considered this one lost
            return False
        if is_batch_gone:
            problems["The batch no longer exists."] += len(keys)
        elif change.what == DocumentStep.MOVE:
            with transaction.atomic():
                moved = move_some(change.benchmark, keys, batch, by=change.by)
            if len(moved) < len(keys):
                problems["Already in this batch."] += len(keys) - len(moved)
        else:
            problems.update(filter(None, (_change_one(pk, change, plan) for pk in keys)))
        change.done += len(keys)
        mine.update(
            done=change.done,
            refused=problems.total(),
            problems=problems.most_common(REASONS_KEPT),
            seen_at=timezone.now(),
        )
        return True

    in_small_steps(change.rows.keys[change.done :], step, rest=rest)
    with transaction.atomic():
        over = DocumentChange.objects.filter(pk=change.pk, done=F("total"), finished_at__isnull=True)
        if not over.update(finished_at=timezone.now()):
            return
        change.rows.delete()
        if batch is not None and change.what == DocumentStep.MOVE:
            tell_group(batch, change.total - problems.total(), by=change.by)


def _change_one(pk: int, change: DocumentChange, plan: dict[str, Any]) -> str:
    """Change one document. Returns why it can't be changed, or ""."""
    document = Document.objects.select_related("benchmark").filter(pk=pk).first()
    if document is None:
        return "The document no longer exists."
    is_discarded = document.phase == Phase.DISCARDED
    try:
        if change.what == DocumentStep.DISCARD:
            if is_discarded:
                return "Already discarded."
            actions.discard(document, plan["reason"], by=change.by, code=plan.get("code", DiscardReason.OTHER))
        elif change.what == DocumentStep.RESTORE:
            if not is_discarded:
                return "Not discarded."
            actions.bring_back(document, by=change.by)
        else:
            actions.reopen(document, Stage(plan["stage"]), plan["reason"], by=change.by)
    except (rules.NotAllowedError, BadValueError) as refusal:
        return str(refusal)
    return ""


def outcome_of(change: DocumentChange) -> str:
    """The result of a finished change in a sentence or two."""
    changed = change.total - change.refused
    words = f"{changed:,} document{'s were' if changed != 1 else ' was'} {DONE[DocumentStep(change.what)]}."
    if change.refused:
        why = "; ".join(f"{reason.rstrip('.')} ({number:,})" for reason, number in change.problems)
        words += f" {change.refused:,} {'were' if change.refused != 1 else 'was'} not: {why}."
    return words


def dismiss(change: DocumentChange, *, by: User) -> None:
    """Remove a finished change from the list."""
    rules.check_manage(by, change.benchmark)
    if change.finished_at is None:
        raise BadValueError("This change is still under way.")
    change.delete()


def unfinished() -> list[int]:
    """Changes that no worker is working on: new or interrupted ones."""
    silent = Q(seen_at__isnull=True) | Q(seen_at__lt=timezone.now() - LOST_AFTER)
    rows = DocumentChange.objects.filter(silent, finished_at__isnull=True)
    return list(rows.order_by("pk").values_list("pk", flat=True))


# --- saved views ----------------------------------------------------------------------------------


def save_view(benchmark: Benchmark, name: str, query: str, *, by: User) -> DocumentView:
    """Save a filter with its columns and order under a name. A view with the same name is replaced."""
    rules.check_see_benchmark(by, benchmark)
    name = " ".join(name.replace("\x00", "").split())
    if not name or len(name) > MAX_NAME:
        raise BadValueError(f"Give the view a name of up to {MAX_NAME} characters, for example “False claims”.")
    mine = DocumentView.objects.filter(benchmark=benchmark, by=by)
    if not mine.filter(name=name).exists() and mine.count() >= MAX_VIEWS:
        raise BadValueError(f"You have {MAX_VIEWS} views of this benchmark. Delete one first.")
    values = {"query": query.replace("\x00", "")[:4000]}
    view, _ = DocumentView.objects.update_or_create(benchmark=benchmark, by=by, name=name, defaults=values)
    return view
