"""Asking the pipeline for suggestions: a run row with a frozen plan and one item a document (ADR 0005)."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from annotator import rules
from annotator.actions.enqueue import after_commit
from annotator.actions.fields import BadValueError, clean_text
from annotator.actions.locking import lock_document
from annotator.actions.recorder import Action, for_annotation
from annotator.actions.status import update_status
from annotator.models import Annotation, Benchmark, Claim, Document, PipelineRun, RunItem, User
from annotator.queries.runs import OPEN_STATES
from annotator.vocabulary import Phase, RunState, Stage

ADVANCE_RUN = "pipeline.advance_run"


def start_run(
    *,
    benchmark: Benchmark,
    stage: Stage,
    documents: Iterable[int],
    by: User | None,
    plan: dict[str, object] | None = None,
) -> PipelineRun | None:
    """Make a run of the benchmark's strategy over documents (primary keys) and enqueue it on commit.

    Returns None where the benchmark has no strategy, or nothing is to be done: at the verify stage without a
    corpus, and at the revise stage, which needs no suggestions from the pipeline.
    """
    ids = list(documents)
    if not benchmark.strategy or not ids or stage == Stage.REVISE:
        return None
    if stage == Stage.VERIFY and benchmark.corpus_id is None:
        return None
    with transaction.atomic():
        run = PipelineRun.objects.create(
            benchmark=benchmark,
            stage=stage,
            strategy=benchmark.strategy,
            plan={"corpus": benchmark.corpus_id, **(plan or {})},
            requested_by=by,
        )
        RunItem.objects.bulk_create((RunItem(run=run, document_id=pk) for pk in ids), batch_size=1000)
        Document.objects.filter(pk__in=ids, phase=Phase.INDEPENDENT, stage=stage).update(phase=Phase.PREFILLING)
        Action(
            name="prefill",
            by=by,
            benchmark=benchmark,
            reason=f"{run.strategy}, {stage.label.lower()}, {len(ids)} documents",
        ).write()
        after_commit(ADVANCE_RUN, run.pk)
    return run


def search_again(annotation: Annotation, claim: Claim, query: str, *, by: User) -> PipelineRun:
    """Ask the strategy for more passages of one claim, with the person's own words, and enqueue it on commit.

    The document's phase stays: work goes on meanwhile. What is found belongs to this annotation, as a query is the
    person's work, which partners must not see before both have submitted. Raises BadValueError where there is nothing
    to search in, no query, or a search of this claim under way; NotAllowedError by the rules.
    """
    query = " ".join(clean_text(query).split())
    if not query:
        raise BadValueError("Say in a few words what to search for.")
    with transaction.atomic():
        lock_document(annotation.document_id)
        annotation = Annotation.objects.select_related("document__benchmark").get(pk=annotation.pk)
        rules.check_edit(by, annotation)
        benchmark = annotation.document.benchmark
        if not benchmark.strategy or benchmark.corpus_id is None:
            raise BadValueError("This benchmark has no corpus to search in: add what you find elsewhere by hand.")
        plan = {
            "corpus": benchmark.corpus_id,
            "claims": [claim.pk],
            "query": query,
            "again": True,
            "annotation": annotation.pk,
        }
        under_way = PipelineRun.objects.filter(
            items__document=annotation.document_id, plan__annotation=annotation.pk, state__in=OPEN_STATES
        )
        if any(run.plan["claims"] == [claim.pk] for run in under_way):
            raise BadValueError("A search for this claim is under way: its passages come in a moment.")
        run = PipelineRun.objects.create(
            benchmark=benchmark, stage=Stage.VERIFY, strategy=benchmark.strategy, plan=plan, requested_by=by
        )
        RunItem.objects.create(run=run, document_id=annotation.document_id)
        for_annotation("search-again", annotation, by=by, reason=f"“{claim.text}”: {query}").write()
        after_commit(ADVANCE_RUN, run.pk)
    return run


def cancel_run(run: PipelineRun, *, by: User) -> None:
    """Stop what has not begun; documents open without suggestions. What is done stays."""
    rules.check_manage(by, run.benchmark)
    with transaction.atomic():
        waiting = list(run.items.filter(state=RunState.QUEUED).values_list("document_id", flat=True))
        run.items.filter(state=RunState.QUEUED).update(state=RunState.CANCELLED, finished_at=timezone.now())
        PipelineRun.objects.filter(pk=run.pk, state__in=OPEN_STATES).update(
            state=RunState.CANCELLED, finished_at=timezone.now()
        )
        Action(name="cancel-run", by=by, benchmark=run.benchmark, reason=str(run)).write()
        for pk in waiting:
            update_status(lock_document(pk))


def retry_failed(run: PipelineRun, *, by: User) -> int:
    """Queue the failed and cancelled documents of a run again. Returns how many."""
    rules.check_manage(by, run.benchmark)
    with transaction.atomic():
        # A document that has gone on meanwhile needs no suggestions for a stage it has left.
        again = run.items.filter(
            state__in=(RunState.FAILED, RunState.CANCELLED),
            document__stage=run.stage,
            document__phase__in=(Phase.INDEPENDENT, Phase.PREFILLING),
        )
        waiting = list(again.values_list("document_id", flat=True))
        count = run.items.filter(document__in=waiting).update(
            state=RunState.QUEUED, attempts=0, error="", finished_at=None
        )
        for pk in waiting:
            update_status(lock_document(pk))
        if count:
            run.state = RunState.QUEUED
            run.finished_at = None
            run.save(update_fields=["state", "finished_at"])
            Action(name="retry-run", by=by, benchmark=run.benchmark, reason=f"{count} documents").write()
            after_commit(ADVANCE_RUN, run.pk)
    return count
