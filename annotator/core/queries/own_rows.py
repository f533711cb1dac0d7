"""A person's own annotation of a document, and whether rows are missing in it. One query, so that reopening a screen
needs no lock."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from annotator.core.models import (
    Annotation,
    Claim,
    ClaimRevision,
    Document,
    Evidence,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    User,
    Verdict,
)
from annotator.core.queries.gold import adjudicated, checked
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Factuality, Phase, Stage


def own_annotation_of(document: Document, stage: Stage, user: User) -> tuple[Annotation | None, bool]:
    """The person's annotation, None if they aren't assigned, and whether ``actions.annotate.open_annotation`` would now
    add rows to it."""
    annotation = (
        document.annotations.filter(stage=stage, kind=AnnotationKind.INDIVIDUAL, person=user)
        .exclude(state=AnnotationState.TAKEN_BACK)
        .annotate(lacks_rows=_lacks_rows(document, stage))
        .first()
    )
    if annotation is None:
        return None, False
    annotation.person = user
    is_at_work = annotation.is_open and document.stage == stage and document.phase == Phase.INDEPENDENT
    return annotation, is_at_work and annotation.lacks_rows


def _lacks_rows(document: Document, stage: Stage) -> Q:
    own = OuterRef("pk")
    if stage == Stage.DECOMPOSE:
        return ~Q(Exists(Sentence.objects.filter(annotation=own)))
    sentences = Sentence.objects.filter(
        annotation__in=document.annotations.filter(adjudicated(Stage.DECOMPOSE)), removed=""
    )
    if stage == Stage.VERIFY:
        claims = Claim.objects.filter(checked(), sentence__in=sentences, removed="")
        judged = Verdict.objects.filter(annotation=OuterRef(own), claim=OuterRef("pk"))
        evidence = Evidence.objects.filter(claim__in=claims, annotation__isnull=True, removed="")
        placed = Stance.objects.filter(annotation=OuterRef(own), evidence=OuterRef("pk"))
        return Q(Exists(claims.exclude(Exists(judged)))) | Q(Exists(evidence.exclude(Exists(placed))))
    revised = SentenceRevision.objects.filter(annotation=OuterRef(own), sentence=OuterRef("pk"))
    undecided = Verdict.objects.filter(
        annotation__in=document.annotations.filter(adjudicated(Stage.VERIFY)),
        factuality=Factuality.NOT_ENOUGH_EVIDENCE,
        claim__removed="",
    )
    handled = ClaimRevision.objects.filter(annotation=OuterRef(own), claim=OuterRef("claim"))
    return (
        Q(Exists(sentences.exclude(Exists(revised))))
        | Q(Exists(undecided.exclude(Exists(handled))))
        | ~Q(Exists(ResponseRevision.objects.filter(annotation=own)))
    )
