"""Requests suggestions from the pipeline: a run row with a frozen plan and one item per document (ADR 0005)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, QuerySet
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.announce import announce
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_document
from annotator.core.actions.notices import tell
from annotator.core.actions.recorder import Action
from annotator.core.actions.small_steps import in_small_steps
from annotator.core.actions.status import update_status
from annotator.core.models import Annotation, Benchmark, Document, Notice, PipelineRun, RunItem, User
from annotator.core.queries.membership import managers_of
from annotator.core.vocabulary import OPEN_STATES, AnnotationState, NoticeKind, Phase, RunState, Stage, WebhookEvent
from annotator.suggestions.actions.plans import RunRequest, choice_of, frozen_plan, obstacle

if TYPE_CHECKING:
    from pipeline.catalogue import StrategyChoice

ADVANCE_RUN = "pipeline.advance_run"
OPEN_DOCUMENTS = "pipeline.open_documents"
AT_ONCE = 10  # documents that the request itself opens
ITEMS_AT_ONCE = 500  # documents added to a run per transaction
WITHHELD = "An owner of the benchmark can see why."
ADDING = (
    "Documents are still being added to this run. If that takes too long, resume the run: it continues with the "
    "documents it has."
)


def start_run(
    *,
    benchmark: Benchmark,
    stage: Stage,
    documents: Iterable[int],
    by: User | None,
    plan: dict[str, object] | None = None,
    wish: RunRequest | None = None,
    refuse: bool = False,
) -> PipelineRun | None:
    """Create a run over documents (primary keys) with a frozen plan, and enqueue it on commit.

    ``wish`` gives the strategy, parameters and budget; by default, the benchmark's. Returns None if there is nothing to
    do: no documents, no strategy, a stage the strategy doesn't support, nothing to search in. If a strategy lacks a
    service or can't use the benchmark's parameters or prompts, the run fails at once, with the reason on each document,
    which stays open. With ``refuse``, it raises BadValueError instead, as for a wrong parameter in a wish.
    """
    ids = list(documents)
    wish = wish or RunRequest(budget_tokens=benchmark.budget_tokens, budget_money=benchmark.budget_money)
    choice = choice_of(benchmark, wish.strategy)
    if choice is None or not ids:
        return None
    if not refuse and (stage not in choice.stages or _finds_nothing(benchmark, choice, stage)):
        return None
    why = obstacle(benchmark, choice, stage)
    if why and refuse:
        raise BadValueError(why)
    wish = replace(wish, extra={**wish.extra, **(plan or {})})
    try:
        frozen = frozen_plan(benchmark, choice, wish)
    except BadValueError as error:
        if refuse or wish.parameters is not None:  # someone chose them and can choose others
            raise
        # Someone is submitting work, which an outdated parameter or prompt must not block.
        why, frozen = str(error), {"corpus": benchmark.corpus_id, **wish.extra}
    many = len(ids) > ITEMS_AT_ONCE
    state: dict[str, Any] = _over(RunState.FAILED) if why else {}
    with transaction.atomic():
        run = PipelineRun.objects.create(
            benchmark=benchmark,
            stage=stage,
            strategy=choice.name,
            plan=frozen | ({"refused": True} if why else {}),
            budget_tokens=wish.budget_tokens,
            budget_money=wish.budget_money,
            requested_by=by,
            # No worker starts it before it has all its documents.
            **(state or ({"state": RunState.PAUSED, "halted": ADDING} if many else {})),
        )
        Action(
            name="prefill",
            by=by,
            benchmark=benchmark,
            reason=f"{run.strategy}, {stage.label.lower()}, {len(ids)} documents" + (f": {why}" if why else ""),
        ).write()
        if not many:
            _add_documents(run, ids, why)
            if not why:
                after_commit(ADVANCE_RUN, run.pk)
    if many:
        in_small_steps(ids, lambda some: _add_documents(run, some, why), rest=False)
        _queue(run)
    return run


def _queue(run: PipelineRun) -> None:
    """Release a run with all its documents to the workers."""
    with transaction.atomic():
        complete = PipelineRun.objects.filter(pk=run.pk, state=RunState.PAUSED, halted=ADDING)
        if complete.update(state=RunState.QUEUED, halted="", halted_details=""):
            after_commit(ADVANCE_RUN, run.pk)
    run.refresh_from_db()


def _add_documents(run: PipelineRun, ids: Sequence[int], why: str) -> None:
    """Add documents to a run, in one transaction. ``why``: the reason it can't do anything for them."""
    state: dict[str, Any] = {"error": why, **_over(RunState.FAILED)} if why else {}
    with transaction.atomic():
        RunItem.objects.bulk_create((RunItem(run=run, document_id=pk, **state) for pk in ids), batch_size=1000)
        if not why:
            _mark_as_waiting(run, ids)


def _mark_as_waiting(run: PipelineRun, ids: Sequence[int]) -> None:
    """Mark these documents as waiting for the run's suggestions, if they are still at its stage."""
    still = Document.objects.filter(pk__in=ids, phase=Phase.INDEPENDENT, stage=run.stage)
    still.update(phase=Phase.PREFILLING)


def _finds_nothing(benchmark: Benchmark, choice: StrategyChoice, stage: Stage) -> bool:
    """A strategy that works without services searches only the corpus."""
    return stage == Stage.VERIFY and "search" not in choice.needs and benchmark.corpus_id is None


def _over(state: RunState) -> dict[str, Any]:
    return {"state": state, "finished_at": timezone.now()}


def pause_run(run: PipelineRun, *, by: User) -> None:
    """Pause: no further calls are made, current calls finish, and documents in progress return to the waiting ones."""
    rules.check_manage(by, run.benchmark)
    with transaction.atomic():
        if PipelineRun.objects.filter(pk=run.pk, state__in=OPEN_STATES).update(state=RunState.PAUSED):
            Action(name="pause-run", by=by, benchmark=run.benchmark, reason=str(run)).write()


def resume_run(
    run: PipelineRun, *, by: User, budget_tokens: int | None = None, budget_money: float | None = None
) -> None:
    """Resume a paused run with the given budget (None: no limit)."""
    rules.check_manage(by, run.benchmark)
    with transaction.atomic():
        resumed = PipelineRun.objects.filter(pk=run.pk, state=RunState.PAUSED).update(
            state=RunState.QUEUED, halted="", halted_details="", budget_tokens=budget_tokens, budget_money=budget_money
        )
        if resumed:
            words = f"{run.strategy}, {budget_in_words(budget_tokens, budget_money)}"
            Action(name="resume-run", by=by, benchmark=run.benchmark, reason=words).write()
            after_commit(ADVANCE_RUN, run.pk)


def budget_in_words(tokens: int | None, money: float | None) -> str:
    """ "at most 10,000 tokens and 2.50 of money", or "no budget"."""
    parts = [f"{tokens:,} tokens"] if tokens is not None else []
    parts += [f"{money:,.2f} of money"] if money is not None else []
    return f"at most {' and '.join(parts)}" if parts else "no budget"


def cancel_run(run: PipelineRun, *, by: User) -> None:
    """Cancel: stops what hasn't started, and the rest between two calls. Documents open without suggestions; for many,
    a worker does that (``open_documents_of``). Finished documents stay."""
    rules.check_manage(by, run.benchmark)
    with transaction.atomic():
        waiting = list(run.items.filter(state=RunState.QUEUED).values_list("document_id", flat=True))
        run.items.filter(state=RunState.QUEUED).update(state=RunState.CANCELLED, finished_at=timezone.now())
        cancelled = PipelineRun.objects.filter(pk=run.pk, state__in=(*OPEN_STATES, RunState.PAUSED)).update(
            state=RunState.CANCELLED, finished_at=timezone.now(), halted="", halted_details=""
        )
        if cancelled:
            announce_over(run.pk)
        Action(name="cancel-run", by=by, benchmark=run.benchmark, reason=str(run)).write()
        if len(waiting) > AT_ONCE:
            after_commit(OPEN_DOCUMENTS, run.pk)
        else:
            _open(waiting)


def open_documents_of(run_id: int) -> None:
    """Open the documents that waited for a canceled run, in small steps."""
    in_small_steps(list(_left_waiting().filter(run=run_id).values_list("document", flat=True)), _open)


def cancelled_with_documents() -> list[int]:
    """Runs canceled within a day whose documents no worker has opened yet."""
    recent = timezone.now() - dt.timedelta(days=1)
    return list(
        _left_waiting().filter(run__finished_at__gte=recent).order_by().values_list("run", flat=True).distinct()
    )


def _left_waiting() -> QuerySet[RunItem]:
    """Documents of canceled runs that are marked as waiting for suggestions. Another run may include them."""
    return RunItem.objects.filter(
        state=RunState.CANCELLED,
        run__state=RunState.CANCELLED,
        document__phase=Phase.PREFILLING,
        document__stage=F("run__stage"),
    ).order_by("document")


def _open(documents: Sequence[int]) -> None:
    """Derive the status of these documents again, in one transaction.

    For most of them, nobody has submitted anything. Those are opened in one statement, which gives the same result.
    Webhooks aren't told about this move.
    """
    with transaction.atomic():
        list(Document.objects.filter(pk__in=documents).select_for_update().order_by("pk").values_list("pk"))
        wait = RunItem.objects.filter(document=OuterRef("pk"), state__in=OPEN_STATES)
        submitted = Annotation.objects.filter(document=OuterRef("pk"), state=AnnotationState.SUBMITTED)
        plain = Document.objects.filter(~Exists(wait), ~Exists(submitted), pk__in=documents, phase=Phase.PREFILLING)
        opened = set(plain.values_list("pk", flat=True))
        Document.objects.filter(pk__in=opened).update(phase=Phase.INDEPENDENT, version=F("version") + 1)
        for pk in documents:
            if pk not in opened:
                update_status(lock_document(pk))


def announce_over(run_id: int) -> None:
    """Tell webhooks that a run is over, inside the caller's transaction. Not about a person's own search, which is part
    of their blind work."""
    run = PipelineRun.objects.select_related("benchmark").get(pk=run_id)
    if "again" in run.plan:
        return
    states = dict(run.items.values_list("state").annotate(count=Count("id")).order_by())
    about = {"run": run.public_id, "strategy": run.strategy, "stage": run.stage, "state": run.state}
    announce(run.benchmark, WebhookEvent.RUN_FINISHED, about | {"documents": states})


def halt(run_id: int, why: str, *, for_owners: bool = False) -> None:
    """Pause a run automatically; the sentence says why and what to do. Managers are notified once, however many runs
    say the same, because documents are waiting. A person's own search concerns only that person. ``for_owners``: the
    sentence names a service, so only owners see it."""
    shown = WITHHELD if for_owners else why
    with transaction.atomic():
        halted = PipelineRun.objects.filter(pk=run_id, state__in=OPEN_STATES)
        if not halted.update(state=RunState.PAUSED, halted=shown, halted_details=why if for_owners else ""):
            return
        run = PipelineRun.objects.select_related("benchmark").get(pk=run_id)
        if "again" in run.plan:
            return
        managers = managers_of(run.benchmark)
        owners = [person for person in managers if rules.can_change_services(person, run.benchmark)]
        _tell_halted(run, owners, why)
        _tell_halted(run, [person for person in managers if person not in owners], shown)


def _tell_halted(run: PipelineRun, people: Iterable[User], why: str) -> None:
    """Notify those who have no unread notice that says the same."""
    text = f"Suggestions for {Stage(run.stage).label.lower()} were paused automatically. {why}"
    said = Notice.objects.filter(kind=NoticeKind.HALTED, benchmark=run.benchmark, text=text, read_at__isnull=True)
    know = set(said.values_list("to", flat=True))
    tell([person for person in people if person.pk not in know], NoticeKind.HALTED, text, benchmark=run.benchmark)


def retry_failed(run: PipelineRun, *, by: User) -> int:
    """Enqueue the failed and canceled documents of a run again. Returns how many."""
    rules.check_manage(by, run.benchmark)
    with transaction.atomic():
        # After a double click, the second call finds nothing left: a document that a worker already has isn't enqueued
        # again.
        locked = PipelineRun.objects.select_for_update(no_key=True).get(pk=run.pk)
        ended = run.items.filter(state__in=(RunState.FAILED, RunState.CANCELLED))
        # A document that has moved on needs no suggestions for an earlier stage.
        again = ended.filter(document__stage=run.stage, document__phase__in=(Phase.INDEPENDENT, Phase.PREFILLING))
        waiting = list(again.values_list("document_id", flat=True))
        if not waiting or locked.halted == ADDING:
            return 0
        run.refresh_from_db()
        run.state, run.finished_at, run.halted, run.halted_details = RunState.PAUSED, None, ADDING, ""
        run.plan = _retried(run)
        run.save(update_fields=["state", "finished_at", "halted", "halted_details", "plan"])
        Action(name="retry-run", by=by, benchmark=run.benchmark, reason=f"{len(waiting)} documents").write()

    def step(some: Sequence[int]) -> None:
        with transaction.atomic():
            queued = ended.filter(document__in=some)
            queued.update(state=RunState.QUEUED, attempts=0, error="", error_details="", finished_at=None)
            _mark_as_waiting(run, some)

    in_small_steps(waiting, step, rest=False)
    _queue(run)
    return len(waiting)


def _retried(run: PipelineRun) -> dict[str, Any]:
    """The plan of a retried run: as frozen, unless it was never used for any call."""
    plan: dict[str, Any] = run.plan
    choice = choice_of(run.benchmark, run.strategy)
    if not plan.get("refused") or choice is None:
        return plan
    if why := obstacle(run.benchmark, choice, Stage(run.stage)):
        raise BadValueError(why)
    kept: dict[str, object] = {name: plan[name] for name in ("claims", "query", "again", "annotation") if name in plan}
    return frozen_plan(run.benchmark, choice, RunRequest(run.strategy, plan.get("parameters"), extra=kept))
