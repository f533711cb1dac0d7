"""Starting work on a document: the annotation and the rows that a person begins with."""

from __future__ import annotations

from django.db import transaction

from annotator.core.actions.bulk import insert
from annotator.core.actions.locking import lock_document
from annotator.core.actions.protocols import freeze_before_start
from annotator.core.actions.recorder import Action
from annotator.core.gold_copies import check_may_begin
from annotator.core.models import (
    Annotation,
    Claim,
    ClaimRevision,
    Document,
    Evidence,
    Guidelines,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    User,
    Verdict,
)
from annotator.core.queries.gold import adjudicated as adjudicated_at
from annotator.core.queries.gold import checked
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Factuality, Origin, Phase, Stage
from annotator.stages import rules
from annotator.stages.actions import adopt
from annotator.stages.actions.blind_first import suggested_sentences, suggested_stances
from annotator.stages.actions.changed_sentences import adjudicated_operations, carried
from annotator.stages.queries.adjudicated import adjudicated


def open_annotation(document: Document, stage: Stage, *, by: User) -> Annotation:
    """The person's annotation of this document and stage, created now if there is a free slot.

    Raises NotAllowedError with what is in the way. Opening twice gives the same annotation, and adds rows for claims
    and evidence that have arrived since.
    """
    return open_annotation_of(document.pk, stage, by=by)


def open_annotation_of(document_pk: int, stage: Stage, *, by: User) -> Annotation:
    """``open_annotation`` for callers that haven't read the document; it comes with the annotation."""
    with transaction.atomic():
        freeze_before_start(document_pk)
        document = lock_document(document_pk)
        # One query for everything that decides this: the person's own annotation, the others', and the earlier
        # adjudicated version.
        here = list(document.annotations.filter(stage=stage))
        annotation = next((row for row in here if row.person_id == by.pk), None)
        earlier = next((row for row in here if row.kind == AnnotationKind.CONSOLIDATED), None)
        if annotation is not None and annotation.state != AnnotationState.TAKEN_BACK:
            if annotation.is_open and document.stage == stage and document.phase == Phase.INDEPENDENT:
                fill_in(annotation, earlier)
            return annotation
        seat = rules.check_take_place(by, document, stage, seats={row.seat for row in here if row.seat})
        check_may_begin(by, document)
        if annotation is not None:
            return _taken_up_again(annotation, earlier, seat, by)
        guidelines = Guidelines.objects.filter(benchmark=document.benchmark).order_by("-number")
        annotation = Annotation.objects.create(
            document=document,
            stage=stage,
            kind=AnnotationKind.INDIVIDUAL,
            person=by,
            seat=seat,
            # Whoever starts from an adjudicated version has seen it. (An adjudicated version without rows is one that
            # annotators have only started to adjudicate.)
            independent=earlier is None or not adopt.has_rows(earlier),
            # Whoever replaces someone in a correction corrects, too: the rest of the stage stays adjudicated.
            only_sent_back=any(row.only_sent_back for row in here),
            guidelines_id=guidelines.values_list("pk", flat=True).first(),
        )
        fill_in(annotation, earlier, is_new=True)
        Action(name="open", by=by, document=document, annotation=annotation, reason=stage.label).write()
        return annotation


def _taken_up_again(annotation: Annotation, earlier: Annotation | None, seat: int, by: User) -> Annotation:
    """Withdrawn work continues where it stopped, now that there is a slot for it again.

    If everyone had submitted once in the meantime, their work was visible, so it is no longer independent.
    """
    annotation.state, annotation.seat = AnnotationState.OPEN, seat
    annotation.independent = annotation.independent and earlier is None
    annotation.save(update_fields=["state", "seat", "independent"])
    fill_in(annotation, earlier)
    Action(name="open", by=by, document=annotation.document, annotation=annotation, reason=annotation.stage).write()
    return annotation


def fill_in(annotation: Annotation, earlier: Annotation | None, *, is_new: bool = False) -> None:
    """Create missing rows in an open annotation; existing ones aren't touched. ``earlier``: the adjudicated version of
    the same stage, current or reopened. ``is_new``: just created, so there are no rows to look for."""
    if earlier is not None and (is_new or not adopt.has_rows(annotation)):
        is_new = False
        {
            Stage.DECOMPOSE: adopt.adopt_decomposition,
            Stage.VERIFY: adopt.adopt_verification,
            Stage.REVISE: adopt.adopt_revision,
        }[Stage(annotation.stage)](annotation, earlier)
    if annotation.stage == Stage.DECOMPOSE:
        if is_new or not annotation.sentences.exists():
            _sentences_from_suggestions(annotation)
    elif annotation.stage == Stage.VERIFY:
        _verdicts_and_stances(annotation, is_new=is_new)
    else:
        _revisions(annotation)


def _sentences_from_suggestions(annotation: Annotation) -> None:
    """Rows as the newest run suggests them. With blind first, only its segmentation: the person writes and labels
    unaided."""
    blind = annotation.document.blind_first
    suggested = list(suggested_sentences(annotation.document).prefetch_related("claims"))
    if not suggested:
        _sentences_of_response(annotation)
        return
    sentences = Sentence.objects.bulk_create(
        Sentence(
            annotation=annotation,
            order=order,
            text=each.text,
            start=each.start,
            end=each.end,
            decontext=each.text if blind else each.decontext,
            suggestion=None if blind else each,
        )
        for order, each in enumerate(suggested, start=1)
    )
    if blind:
        return
    Claim.objects.bulk_create(
        Claim(sentence=sentence, order=order, text=claim.text, suggestion=claim)
        for sentence, each in zip(sentences, suggested, strict=True)
        for order, claim in enumerate(each.claims.all(), start=1)
    )


def _sentences_of_response(annotation: Annotation) -> None:
    """Without any suggestion, the sentences that the splitter finds, which the person can split and merge. A response
    without sentences (a heading alone) is one."""
    from pipeline.sentences.boundaries import SentenceSpan, split_sentences  # imported late because Punkt loads slowly

    response = annotation.document.response
    text = response.strip()
    whole = SentenceSpan(response.index(text), response.index(text) + len(text), text)
    spans = split_sentences(response) or ([whole] if text else [])
    Sentence.objects.bulk_create(
        Sentence(
            annotation=annotation, order=order, text=span.text, start=span.start, end=span.end, decontext=span.text
        )
        for order, span in enumerate(spans, start=1)
    )


def _verdicts_and_stances(annotation: Annotation, *, is_new: bool) -> None:
    rows = Claim.objects.filter(
        adjudicated_at(Stage.DECOMPOSE, "sentence__annotation__"),
        checked(),
        sentence__annotation__document=annotation.document_id,
        sentence__removed="",
        removed="",
    )
    claims = list(rows.values_list("pk", flat=True))
    judged = set() if is_new else set(annotation.verdicts.values_list("claim_id", flat=True))
    insert(Verdict, ("annotation_id", "claim_id"), [(annotation.pk, pk) for pk in claims if pk not in judged])
    placed = set() if is_new else set(annotation.stances.values_list("evidence_id", flat=True))
    passages = Evidence.objects.filter(claim__in=claims, annotation__isnull=True, removed="")
    shared = list(passages.values_list("pk", flat=True))
    suggestions = {} if annotation.document.blind_first else suggested_stances(shared)
    stances = [(annotation.pk, pk, suggestions.get(pk)) for pk in shared if pk not in placed]
    insert(Stance, ("annotation_id", "evidence_id", "suggestion_id"), stances)


def _revisions(annotation: Annotation) -> None:
    document = annotation.document
    decomposition, verification = adjudicated(document, Stage.DECOMPOSE), adjudicated(document, Stage.VERIFY)
    if decomposition is None or verification is None:
        return
    operations = adjudicated_operations(document)
    there = set(annotation.sentence_revisions.values_list("sentence_id", flat=True))
    rows: list[SentenceRevision] = []
    for sentence in decomposition.sentences.filter(removed="").prefetch_related("claims"):
        if sentence.pk in there:
            continue
        result = carried(sentence, operations)
        rows.append(
            SentenceRevision(
                annotation=annotation,
                sentence=sentence,
                text=result.text,
                # What could be applied completely follows from adjudicated edits; the rest is left to the person.
                text_origin="" if result.open_edits else Origin.CONSOLIDATED,
                deleted=result.deleted,
            )
        )
    SentenceRevision.objects.bulk_create(rows)
    ResponseRevision.objects.get_or_create(annotation=annotation)
    handled = set(annotation.claim_revisions.values_list("claim_id", flat=True))
    ClaimRevision.objects.bulk_create(
        ClaimRevision(annotation=annotation, claim=verdict.claim, text=verdict.claim.text)
        for verdict in verification.verdicts.filter(
            factuality=Factuality.NOT_ENOUGH_EVIDENCE, claim__removed=""
        ).select_related("claim")
        if verdict.claim_id not in handled
    )
