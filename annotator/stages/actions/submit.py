"""Submitting a stage, and what opens once it is adjudicated.

If one person labels a document, submitting also writes the adjudicated version, so that later stages and exports always
read it. With several people, the last submission opens adjudication.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from annotator.core.actions.announce import announce
from annotator.core.actions.locking import lock_document
from annotator.core.actions.notices import tell
from annotator.core.actions.recorder import for_annotation
from annotator.core.actions.status import update_status
from annotator.core.missing import IncompleteError
from annotator.core.models import Annotation, Document, ResponseRevision, User
from annotator.core.queries.notices import workers_on
from annotator.core.queries.pseudonyms import pseudonym
from annotator.core.vocabulary import AnnotationState, NoticeKind, Origin, Phase, Stage, WebhookEvent
from annotator.stages import rules
from annotator.stages.actions import changed_sentences
from annotator.stages.actions.adjudicate import begin
from annotator.stages.actions.adjudicated import adjudicate_from
from annotator.stages.actions.adopt import earlier_version
from annotator.stages.actions.annotate import fill_in
from annotator.stages.actions.next_stage import open_next_stage
from annotator.stages.queries.adjudicated import merged_response
from annotator.stages.queries.missing import missing_in
from annotator.stages.queries.places import waited_for
from annotator.stages.queries.submit_review import is_too_fast


def submit(annotation: Annotation, *, by: User, active_seconds: int = 0, confirmed: str = "") -> Document:
    """Submit an annotation: it is locked, and the stage is complete if nobody else is needed.

    ``confirmed``: the person's explanation of verdicts that contradict their stances, for the history.

    Raises IncompleteError with what is missing, NotAllowedError by the rules. Submitting twice is harmless: the second
    call returns the document as it is.
    """
    with transaction.atomic():
        document = lock_document(annotation.document_id)
        annotation = Annotation.objects.select_related("document__benchmark").get(pk=annotation.pk)
        if not annotation.is_open and annotation.person_id == by.pk:
            return document
        rules.check_edit(by, annotation)
        # Evidence may have arrived since the page was opened; its stances are required, too.
        fill_in(annotation, earlier_version(annotation))
        missing = missing_in(annotation)
        if missing:
            raise IncompleteError(missing)
        if confirmed:
            for_annotation("confirm-contradictions", annotation, by=by, reason=confirmed).write()
        action = for_annotation(
            "submit", annotation, by=by, reason=str(annotation.stage), active_seconds=active_seconds
        )
        if annotation.stage == Stage.REVISE:
            response = ResponseRevision.objects.get(annotation=annotation)
            if response.follows_statements:
                action.set(response, text=merged_response(annotation), text_origin=Origin.CONSOLIDATED.value)
        action.set(
            annotation,
            state=AnnotationState.SUBMITTED.value,
            submitted_at=timezone.now(),
            only_sent_back=False,
            too_fast=is_too_fast(annotation, annotation.active_seconds + active_seconds),
        )
        action.document = document
        action.flush()
        _announce(annotation, document, by)
        changed_claims: list[int] = []
        if document.people_needed == 1:
            before = changed_sentences.bases(document)
            changed_claims = adjudicate_from(annotation)
            changed_sentences.ask_again(document, before)
        update_status(document, action)
        action.write()
        if document.phase == Phase.CONSOLIDATING:
            begin(document, Stage(annotation.stage), by=by)
        elif document.stage != annotation.stage:
            open_next_stage(document, by=by, changed_claims=changed_claims)
        _tell_partners(document, Stage(annotation.stage), by)
        return document


def _announce(annotation: Annotation, document: Document, by: User) -> None:
    """Tell webhooks that someone has submitted: the stage and the document, the person's pseudonym, and nothing
    else."""
    if document.twin_of_id is not None:
        return
    about = {
        "document": document.public_id,
        "external_id": document.external_id,
        "stage": str(annotation.stage),
        "annotator": pseudonym(document.benchmark, by.pk),
    }
    announce(document.benchmark, WebhookEvent.ANNOTATION_SUBMITTED, about)


def _tell_partners(document: Document, stage: Stage, by: User) -> None:
    """People who haven't submitted are told that a partner has. Once everyone has, the others are told that
    adjudication can start.

    Notices never say who, how much or how fast.
    """
    if document.phase == Phase.CONSOLIDATING:
        people, text = workers_on(document, [stage]), f"{stage.label} of {document} is ready for adjudication."
    elif document.stage == stage:
        people = waited_for(document, stage)
        text = f"Your partner has finished {stage.label.lower()} of {document}: it is waiting for you."
    else:
        return
    tell(people, NoticeKind.PARTNER_FINISHED, text, document=document, stage=stage, by=by)
