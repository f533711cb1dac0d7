"""Actions on a document as a whole: discard, restore, reopen, send a claim back, flag."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.actions.locking import lock_document
from annotator.core.actions.notices import tell
from annotator.core.actions.recorder import Action
from annotator.core.actions.status import update_status
from annotator.core.models import Annotation, Claim, Document, Flag, SentBack, User
from annotator.core.queries.notices import workers_on
from annotator.core.vocabulary import (
    STAGES,
    AnnotationKind,
    AnnotationState,
    DiscardReason,
    FlagReason,
    NoticeKind,
    Phase,
    Stage,
)
from annotator.stages import rules as stages_rules
from annotator.stages.queries.adjudicated import adjudicated


def said_reason(text: str, for_what: str) -> str:
    """The given reason without extra space. Raises BadValueError if it is blank."""
    reason = clean_text(text).strip()
    if not reason:
        raise BadValueError(f"Give a short reason why {for_what}; others will read it.")
    return reason


def discard_reason(code: str, text: str) -> tuple[str, str]:
    """The code of a discard reason and its text without extra space. Raises BadValueError for an unknown code, or if
    the reason “other” has no text."""
    if code not in {each.value for each in DiscardReason}:
        raise BadValueError(f"Choose a reason: {', '.join(each.label for each in DiscardReason)}.")
    if code == DiscardReason.OTHER:
        return code, said_reason(text, "the document is discarded")
    return code, clean_text(text).strip()


def discard(document: Document, reason: str = "", *, by: User, code: str = DiscardReason.OTHER) -> None:
    """Discard a document from the benchmark, with a coded reason (Factcheck-Bench, appendix B.4) and a text, which only
    the code "other" requires. Nothing is deleted; an admin can restore it."""
    code, reason = discard_reason(code, reason)
    with transaction.atomic():
        document = lock_document(document.pk)
        rules.check_manage(by, document.benchmark)
        action = Action(name="discard", by=by, document=document)
        update_status(document, action, discarded=True)
        action.set(document, discard_reason=reason, discard_code=code)
        action.reason = document.discarded_because
        action.write()
        text = f"{document} was discarded: {document.discarded_because}"
        tell(workers_on(document, STAGES), NoticeKind.DISCARDED, text, document=document, by=by)


def bring_back(document: Document, *, by: User) -> None:
    """Undo a discard: the document's status follows from its annotations again."""
    with transaction.atomic():
        document = lock_document(document.pk)
        rules.check_manage(by, document.benchmark)
        action = Action(name="bring-back", by=by, document=document, reason="brought back")
        action.set(document, discard_reason="", discard_code="")
        update_status(document, action, discarded=False)
        action.write()
        text = f"{document} was discarded and has been brought back. Work on it continues."
        tell(workers_on(document, STAGES), NoticeKind.RETURNED, text, document=document, by=by)


def reopen(document: Document, stage: Stage, reason: str, *, by: User) -> None:
    """Reopen an adjudicated stage and all later ones. Work from now on is marked as not independent."""
    reason = said_reason(reason, "the stage is reopened")
    with transaction.atomic():
        document = lock_document(document.pk)
        rules.check_manage(by, document.benchmark)
        if document.phase == Phase.DISCARDED:
            raise rules.NotAllowedError("This document was discarded. Bring it back first.")
        if adjudicated(document, stage) is None:
            raise BadValueError(f"{stage.label} has not been adjudicated yet, so there is nothing to reopen.")
        later = STAGES[STAGES.index(stage) + 1 :]
        _open_again(document, (stage, *later), only_sent_back=False)
        action = Action(name="reopen", by=by, document=document, reason=f"{stage.label}: {reason}")
        update_status(document, action)
        action.write()
        text = f"{stage.label} of {document} was reopened: {reason}"
        at_stage = workers_on(document, [stage])
        tell(at_stage, NoticeKind.RETURNED, text, document=document, stage=stage, by=by)
        # People who worked on later stages only have nothing to do here; their notice links to the document.
        others = [person for person in workers_on(document, later) if person not in at_stage]
        tell(others, NoticeKind.RETURNED, text, document=document, by=by)


def _open_again(document: Document, stages: tuple[Stage, ...], *, only_sent_back: bool) -> None:
    """Reopen the adjudicated versions and the annotations of stages, marked as no longer independent."""
    rows = Annotation.objects.filter(document=document, stage__in=stages)
    rows.filter(state=AnnotationState.SUBMITTED).update(state=AnnotationState.OPEN, submitted_at=None)
    rows.filter(kind=AnnotationKind.INDIVIDUAL).update(independent=False, only_sent_back=only_sent_back)


def send_back(claim: Claim, reason: str, *, by: User) -> None:
    """Send an adjudicated claim from verify back to decompose, which reopens for its sentence only.

    Work at verify stays as it is; if a claim's text changes, its labels are asked for again.
    """
    reason = said_reason(reason, "the claim is sent back")
    with transaction.atomic():
        document = lock_document(claim.sentence.annotation.document_id)
        stages_rules.check_start(by, document, Stage.VERIFY)
        if document.annotations.filter(stage=Stage.VERIFY, person=by, state=AnnotationState.TAKEN_BACK).exists():
            raise rules.NotAllowedError(
                "You were unassigned from this document, so you can’t send a claim back. Ask an admin."
            )
        if not document.annotations.filter(stage=Stage.DECOMPOSE, kind=AnnotationKind.INDIVIDUAL).exists():
            raise rules.NotAllowedError(
                "This decomposition was imported as adjudicated, so no annotator can correct it. "
                "The owner can reopen the stage."
            )
        if SentBack.objects.filter(claim=claim, settled_at__isnull=True).exists():
            raise BadValueError("This claim has already been sent back.")
        SentBack.objects.create(document=document, claim=claim, by=by, reason=reason)
        _open_again(document, (Stage.DECOMPOSE,), only_sent_back=True)
        action = Action(name="send-back", by=by, document=document, reason=f"“{claim.text}”: {reason}")
        update_status(document, action)
        action.write()
        text = f"A claim in {document} was sent back from verify for correction: {reason}"
        at_stage = workers_on(document, [Stage.DECOMPOSE])
        tell(at_stage, NoticeKind.RETURNED, text, document=document, stage=Stage.DECOMPOSE, by=by)


def flag(document: Document, reason: str, *, by: User, note: str = "") -> None:
    """Flag a document: it leaves one's own queue until an admin clears the flag."""
    try:
        word = FlagReason(reason)
    except ValueError:
        known = ", ".join(each.label.lower() for each in FlagReason)
        raise BadValueError(f"Choose why you skip it: {known}.") from None
    with transaction.atomic():
        document = lock_document(document.pk)
        rules.check_see_benchmark(by, document.benchmark)
        Flag.objects.update_or_create(
            document=document,
            by=by,
            cleared_at=None,
            defaults={"reason": word, "note": clean_text(note).strip()},
        )
        _give_place_back(document, by)
        Action(name="flag", by=by, document=document, reason=f"{word.label} {note}".strip()).write()


def _give_place_back(document: Document, person: User) -> None:
    """Unassign a person who hasn't decided anything yet; work that has begun stays assigned."""
    for annotation in document.annotations.filter(person=person, state=AnnotationState.OPEN):
        if not annotation.activities.exclude(action="open").exists():
            annotation.delete()


def clear_flag(row: Flag, *, by: User) -> None:
    """Put a flagged document back into the person's queue."""
    with transaction.atomic():
        rules.check_manage(by, row.document.benchmark)
        if not Flag.objects.filter(pk=row.pk, cleared_at__isnull=True).update(cleared_at=timezone.now()):
            return
        Action(name="clear-flag", by=by, document=row.document, reason=str(row)).write()
        text = f"{row.document}, which you flagged, is back in your queue."
        tell([row.by], NoticeKind.RETURNED, text, document=row.document, by=by)
