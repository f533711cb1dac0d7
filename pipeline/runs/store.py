"""Suggestions as rows. Called in one transaction with the document's result, so a document has all that a run suggests
for it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Max, Q
from django.utils import timezone

from annotator.core.actions.locking import lock_document
from annotator.core.models import (
    Annotation,
    Claim,
    Document,
    Evidence,
    PipelineRun,
    RevisionSuggestion,
    SentenceSuggestion,
    Stance,
    StanceSuggestion,
    VerdictSuggestion,
)
from annotator.core.vocabulary import AnnotationState
from annotator.suggestions.actions.proposals import store_sentences
from pipeline.runs.kept_answers import snapshots_of
from pipeline.suggestions import Decomposition, RetrievedEvidence, SuggestedRevision, SuggestedVerdict, Verification


def store_decomposition(run: PipelineRun, document: Document, decomposition: Decomposition) -> None:
    """Store a run's sentences and claims. Does nothing if they are already stored."""
    if SentenceSuggestion.objects.filter(run=run, document=document).exists():
        return
    store_sentences(run, document, decomposition.sentences)


def store_verification(run: PipelineRun, claim: Claim, found: Verification) -> None:
    """Store the shared evidence for a claim and the strategy's verdict on it."""
    store_evidence(run, claim, found.evidence)
    if found.verdict is not None:
        store_verdict(run, claim, found.verdict, found.evidence)


def store_evidence(
    run: PipelineRun, claim: Claim, passages: Iterable[RetrievedEvidence], *, annotation: Annotation | None = None
) -> list[Evidence]:
    """Append passages to a claim's evidence. A passage that is already there is not added again, but this run's stance
    on it is. Returns the new ones: shared by all, or private to ``annotation``."""
    there = Q(annotation__isnull=True) | (Q(annotation=annotation) if annotation else Q())
    passages = list(passages)
    known = {(row.url, row.passage): row for row in claim.evidence.filter(there, removed="").order_by("-pk")}
    last = claim.evidence.aggregate(last=Max("order"))["last"] or 0
    # Several queries of one strategy may find the same passage.
    new = list({(each.url, each.passage): each for each in passages if (each.url, each.passage) not in known}.values())
    snapshots = snapshots_of(each.snapshot for each in new if each.snapshot)
    rows = Evidence.objects.bulk_create(
        Evidence(
            claim=claim,
            annotation=annotation,
            run=run,
            order=last + position,
            passage=each.passage,
            url=each.url,
            title=each.title,
            site=each.site[:255],
            published=each.published,
            query=each.query,
            retrieved_at=each.snapshot.retrieved_at if each.snapshot else timezone.now(),
            content_hash=each.content_hash,
            score=each.score,
            snapshot=snapshots[each.snapshot.url, each.snapshot.content_hash] if each.snapshot else None,
        )
        for position, each in enumerate(new, start=1)
    )
    known.update(zip(((each.url, each.passage) for each in new), rows, strict=True))
    StanceSuggestion.objects.bulk_create(
        {
            row.pk: StanceSuggestion(run=run, evidence=row, label=each.stance, reason=each.stance_reason)
            for each in passages
            if each.stance and (row := known[each.url, each.passage])
        }.values()
    )
    return rows


def store_verdict(
    run: PipelineRun, claim: Claim, verdict: SuggestedVerdict, passages: Iterable[RetrievedEvidence]
) -> None:
    """Store a verdict. Its chain refers to evidence by public id, including passages that were there before."""
    rows = claim.evidence.filter(annotation__isnull=True, removed="").order_by("-pk")
    ids = {(url, passage): public_id for url, passage, public_id in rows.values_list("url", "passage", "public_id")}
    by_position = [ids.get((each.url, each.passage)) for each in passages]
    VerdictSuggestion.objects.create(
        run=run,
        claim=claim,
        label=verdict.label[:40],
        factuality=verdict.factuality or "",
        reason=verdict.reason,
        correction=verdict.correction,
        probability=verdict.confidence,
        chain=[
            {
                "question": link.question,
                "query": link.query,
                "answer": link.answer,
                "evidence": None if link.evidence is None else by_position[link.evidence],
            }
            for link in verdict.chain
        ],
    )


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
        suggestions = {}  # attached once the person has chosen a stance
    Stance.objects.bulk_create(
        Stance(annotation=annotation, evidence=row, suggestion=suggestions.get(row.pk)) for row in new
    )


def store_revision(run: PipelineRun, document: Document, revision: SuggestedRevision) -> None:
    """Store the revised response."""
    RevisionSuggestion.objects.create(
        run=run, document=document, with_prompt=revision.with_prompt, without_prompt=revision.without_prompt
    )
