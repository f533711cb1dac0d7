"""Working off pipeline runs: the rows are the truth, the queue only carries ids (ADR 0005).

``begin`` hands out what has no result yet and may be called at any time, twice, or after a crash;
``prefill_item`` does one document once. What a strategy proposes is stored in one transaction with the item's
result, so a document has all its suggestions of a run or none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache

from asgiref.sync import async_to_sync
from django.db import transaction
from django.db.models import Count, F, Max, Q
from django.utils import timezone

from annotator.actions.locking import lock_document
from annotator.actions.proposals import store_sentences
from annotator.actions.recorder import Action
from annotator.actions.status import update_status
from annotator.models import (
    Annotation,
    Claim,
    Corpus,
    CorpusPage,
    Document,
    Evidence,
    PipelineRun,
    RunItem,
    SentenceSuggestion,
    Stance,
    StanceSuggestion,
)
from annotator.vocabulary import AnnotationState, RunState, Stage
from pipeline import strategies
from pipeline.steps.rerank import PassageIndex
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, Page, RetrievedEvidence
from pipeline.tools import Tools

logger = logging.getLogger(__name__)

# An item that has been running longer than this was lost with its worker: it is handed out again.
LOST_AFTER = timedelta(minutes=15)
MAX_ATTEMPTS = 3


def open_items(run: PipelineRun) -> list[int]:
    """Items to hand out: queued ones, and running ones whose worker was lost."""
    lost = Q(state=RunState.RUNNING, started_at__lt=timezone.now() - LOST_AFTER)
    return list(run.items.filter(Q(state=RunState.QUEUED) | lost).values_list("pk", flat=True))


def begin(run: PipelineRun) -> list[int]:
    """Mark a run as running and return the items to hand out."""
    PipelineRun.objects.filter(pk=run.pk, state=RunState.QUEUED).update(
        state=RunState.RUNNING, started_at=timezone.now()
    )
    return open_items(run)


def waiting_runs() -> Iterable[int]:
    """Runs that nobody has begun: written by a command, whose own process has no worker."""
    return PipelineRun.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True)


def unfinished_runs() -> Iterable[int]:
    """Runs that a worker should look at when it starts: whatever was in the queue of the last one is gone."""
    return PipelineRun.objects.filter(state__in=(RunState.QUEUED, RunState.RUNNING)).values_list("pk", flat=True)


def release_items() -> int:
    """Queue again what a killed worker had in hand. Only for a worker that knows itself to be alone, at its start."""
    lost = RunItem.objects.filter(state=RunState.RUNNING).exclude(run__state=RunState.CANCELLED)
    return lost.update(state=RunState.QUEUED)


def close_cancelled(*, alone: bool) -> None:
    """Close items of cancelled runs whose worker was lost: nobody hands them out again, and their documents wait."""
    lost = Q() if alone else Q(started_at__lt=timezone.now() - LOST_AFTER)
    for item in RunItem.objects.filter(lost, state=RunState.RUNNING, run__state=RunState.CANCELLED):
        _finish(item, RunState.CANCELLED)


def claim_item(item_id: int) -> RunItem | None:
    """Take an item for this worker by one conditional update; None if it is done or taken."""
    now = timezone.now()
    taken = RunItem.objects.filter(
        Q(state=RunState.QUEUED) | Q(state=RunState.RUNNING, started_at__lt=now - LOST_AFTER), pk=item_id
    ).update(state=RunState.RUNNING, started_at=now, attempts=F("attempts") + 1)
    if not taken:
        return None
    return RunItem.objects.select_related("run__benchmark", "document").get(pk=item_id)


def prefill_item(item_id: int) -> None:
    """Make and store the suggestions of one document; a failure is kept with the item, never raised."""
    item = claim_item(item_id)
    if item is None:
        return
    try:
        if item.attempts > MAX_ATTEMPTS:
            raise RuntimeError(f"given up, {MAX_ATTEMPTS} workers were lost while they worked on it")
        _prefill(item)
    except Exception as error:  # any fault of a strategy belongs to its document, not to the worker
        logger.exception("Prefilling document %s failed", item.document_id)
        _finish(item, RunState.FAILED, error=f"{type(error).__name__}: {error}")
    # After the commit: two last items that end at once would each still see the other as open.
    finish_run_if_done(item.run_id)


def _prefill(item: RunItem) -> None:
    strategy = strategies.get(item.run.strategy, item.run.plan.get("parameters", {}))
    document = item.document
    given = DocumentText(document.prompt, document.response, document.reference_date)
    if item.run.stage == Stage.DECOMPOSE:
        decomposition = async_to_sync(strategy.decompose)(given, Tools())
        with transaction.atomic():
            store_decomposition(item.run, document, decomposition)
            _finish(item, RunState.FINISHED)
        return
    index = index_of(item.run.plan.get("corpus"))
    # The plan names the claims of all its documents, perhaps many thousands: this document's are picked here.
    wanted = set(item.run.plan.get("claims", []))
    present = Claim.objects.filter(sentence__annotation__document=document, removed="").select_related(
        "sentence__annotation"
    )
    claims = [claim for claim in present if claim.pk in wanted]
    query = item.run.plan.get("query")
    # A person's own query is searched for as it stands; a claim may need the prompt to say what it is about.
    if query:
        given = replace(given, prompt="")
    verify = async_to_sync(strategy.verify)
    tools = Tools(index=index)
    found = [(claim, verify(ClaimText(query or claim.text), given, tools).evidence) for claim in claims]
    with transaction.atomic():
        for claim, passages in found:
            if item.run.plan.get("again"):
                store_searched(item.run, claim, passages)
            else:
                store_evidence(item.run, claim, passages)
        _finish(item, RunState.FINISHED)


def _finish(item: RunItem, state: RunState, *, error: str = "") -> None:
    """Write an item's result and what follows from it for the document's phase."""
    with transaction.atomic():
        document = lock_document(item.document_id)
        RunItem.objects.filter(pk=item.pk).update(state=state, error=error[:2000], finished_at=timezone.now())
        action = Action(name="prefilled" if not error else "prefill-failed", by=None, document=document, reason=error)
        # That somebody searched is part of their blind work: it belongs to their annotation.
        action.annotation = Annotation.objects.filter(pk=item.run.plan.get("annotation")).first()
        update_status(document, action)
        action.write()


def finish_run_if_done(run_id: int) -> None:
    """Close a run when none of its items is open. Failed if every item failed, finished otherwise."""
    states = dict(RunItem.objects.filter(run_id=run_id).values_list("state").annotate(count=Count("id")).order_by())
    if states.get(RunState.QUEUED) or states.get(RunState.RUNNING):
        return
    all_failed = states.get(RunState.FAILED, 0) == sum(states.values()) > 0
    PipelineRun.objects.filter(pk=run_id, state__in=(RunState.QUEUED, RunState.RUNNING)).update(
        state=RunState.FAILED if all_failed else RunState.FINISHED, finished_at=timezone.now()
    )


def store_decomposition(run: PipelineRun, document: Document, decomposition: Decomposition) -> None:
    """Store sentences and claims of a run; stored once, a second time is no change."""
    if SentenceSuggestion.objects.filter(run=run, document=document).exists():
        return
    store_sentences(run, document, decomposition.sentences)


def store_evidence(
    run: PipelineRun, claim: Claim, passages: Iterable[RetrievedEvidence], *, annotation: Annotation | None = None
) -> list[Evidence]:
    """Add passages to a claim behind those it has; a passage that it has already is left out. Returns the new ones,
    shared by all, or those of ``annotation`` alone."""
    there = Q(annotation__isnull=True) | (Q(annotation=annotation) if annotation else Q())
    known = set(claim.evidence.filter(there, removed="").values_list("url", "passage"))
    last = claim.evidence.aggregate(last=Max("order"))["last"] or 0
    new = [each for each in passages if (each.url, each.passage) not in known]
    rows = Evidence.objects.bulk_create(
        Evidence(
            claim=claim,
            annotation=annotation,
            run=run,
            order=last + position,
            passage=each.passage,
            url=each.url,
            title=each.title,
            site=each.site,
            published=each.published,
            query=each.query,
            retrieved_at=timezone.now(),
            content_hash=each.content_hash,
            score=each.score,
        )
        for position, each in enumerate(new, start=1)
    )
    StanceSuggestion.objects.bulk_create(
        StanceSuggestion(run=run, evidence=row, label=each.stance)
        for row, each in zip(rows, new, strict=True)
        if each.stance
    )
    return rows


def store_searched(run: PipelineRun, claim: Claim, passages: Iterable[RetrievedEvidence]) -> None:
    """Add what a person's own search found to their annotation, with a stance to give to each. Nothing is added to work
    that was submitted meanwhile: it is frozen."""
    lock_document(claim.sentence.annotation.document_id)
    annotation = Annotation.objects.filter(pk=run.plan["annotation"], state=AnnotationState.OPEN).first()
    if annotation is None:
        return
    new = store_evidence(run, claim, passages, annotation=annotation)
    suggestions = {each.evidence_id: each for each in StanceSuggestion.objects.filter(run=run, evidence__in=new)}
    if annotation.document.blind_first:
        suggestions = {}  # attached when the person has given a stance of their own
    Stance.objects.bulk_create(
        Stance(annotation=annotation, evidence=row, suggestion=suggestions.get(row.pk)) for row in new
    )


def index_of(corpus_id: int | None) -> PassageIndex | None:
    """The passage index of a corpus at its current revision, built once a process."""
    if corpus_id is None:
        return None
    revision = Corpus.objects.filter(pk=corpus_id).values_list("revision", flat=True).first()
    return None if revision is None else _built_index(corpus_id, revision)


@lru_cache(maxsize=2)
def _built_index(corpus_id: int, revision: int) -> PassageIndex:
    pages = CorpusPage.objects.filter(corpus_id=corpus_id).order_by("pk").iterator(chunk_size=500)
    return PassageIndex.build(
        Page(url=page.url, title=page.title, text=page.text, site=page.site, published=page.published) for page in pages
    )
