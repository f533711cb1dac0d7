"""Assignments managed by admins: withdrawing work, and reopening one person's submission.

Nothing is deleted: the rows of withdrawn work stay, and the same person continues with them if a place becomes free
again (``actions.annotate.open_annotation``).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_document
from annotator.core.actions.notices import tell
from annotator.core.actions.recorder import Action, for_annotation
from annotator.core.actions.small_steps import in_small_steps
from annotator.core.actions.status import update_status
from annotator.core.models import Activity, Annotation, Benchmark, Document, SignOff, User
from annotator.core.vocabulary import AnnotationKind, AnnotationState, NoticeKind, Phase, Stage
from annotator.stages.actions.adjudicate import begin
from annotator.stages.actions.documents import said_reason
from annotator.stages.queries.adjudicated import adjudicated

MAX_DAYS = 3650


def take_back(annotation: Annotation, *, by: User, reason: str) -> None:
    """Withdraw one person's open work. The place is free for others; the rows stay.

    Raises NotAllowedError by the rules and for submitted work, which is never withdrawn; BadValueError without a
    reason. Withdrawing twice is harmless.
    """
    reason = said_reason(reason, "the work is taken back")
    rules.check_manage(by, annotation.document.benchmark)
    if take_back_each(Annotation.objects.filter(pk=annotation.pk), by=by, reason=reason):
        return
    annotation.refresh_from_db()
    if annotation.state != AnnotationState.TAKEN_BACK:
        raise rules.NotAllowedError(
            "This has been submitted, and submitted work is never taken back. It can be reopened with a reason."
        )


def take_back_of(
    person: User, benchmark: Benchmark, *, by: User, reason: str, documents: Collection[Document] | None = None
) -> int:
    """Withdraw all open work of a person in a benchmark, or only in these of its documents. Returns how many.

    Raises NotAllowedError by the rules, BadValueError without a reason.
    """
    reason = said_reason(reason, "the work is taken back")
    rules.check_manage(by, benchmark)
    theirs = Annotation.objects.filter(person=person, document__benchmark=benchmark)
    if documents is not None:
        theirs = theirs.filter(document__in=[document.pk for document in documents])
    return len(take_back_each(theirs, by=by, reason=reason))


def take_back_idle(benchmark: Benchmark, *, days: int, by: User, person: User | None = None) -> int:
    """Withdraw work that its person hasn't touched for this many days; of one person, or of all. Returns how many.

    Work that can't continue now, because an earlier stage was reopened or suggestions are being generated, isn't idle.
    Raises NotAllowedError by the rules, BadValueError for an invalid number of days.
    """
    if not 1 <= days <= MAX_DAYS:
        raise BadValueError(f"Enter the number of idle days after which work is taken back: 1 to {MAX_DAYS:,}.")
    rules.check_manage(by, benchmark)
    idle = idle_work(benchmark, since=timezone.now() - dt.timedelta(days=days))
    if person is not None:
        idle = idle.filter(person=person)
    reason = "No activity for 1 day." if days == 1 else f"No activity for {days} days."
    return len(take_back_each(idle, by=by, reason=reason))


def idle_work(benchmark: Benchmark, *, since: dt.datetime) -> QuerySet[Annotation]:
    """Open annotations that could continue and that their person hasn't touched since a given time."""
    at_work = Activity.objects.filter(annotation=OuterRef("pk"), by=OuterRef("person"), at__gte=since)
    return Annotation.objects.filter(
        document__benchmark=benchmark,
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.OPEN,
        stage=F("document__stage"),
        document__phase=Phase.INDEPENDENT,
        created_at__lt=since,
    ).exclude(Exists(at_work))


def take_back_each(wanted: QuerySet[Annotation], *, by: User, reason: str) -> list[Annotation]:
    """Withdraw the open work among these, each under its document's lock, and notify its people. The caller has checked
    the rules. Outside a transaction, a lot of work is withdrawn in several short ones.

    Documents are locked in key order, so that two such actions can't deadlock.
    """
    found = wanted.filter(kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.OPEN)
    keys = list(found.order_by("document", "pk").values_list("pk", "document"))
    taken: list[Annotation] = []

    def step(some: Sequence[tuple[int, int]]) -> None:
        with transaction.atomic():
            rows = [_take_back_if(wanted, pk, document_pk, by=by, reason=reason) for pk, document_pk in some]
            taken.extend(row for row in rows if row is not None)

    in_small_steps(keys, step, rest=False)
    _tell(taken, by=by, reason=reason)
    return taken


def _tell(taken: Sequence[Annotation], *, by: User, reason: str) -> None:
    """One notice per person, however much was withdrawn."""
    of_person: dict[User, list[Annotation]] = {}
    for row in taken:
        if row.person is not None:
            of_person.setdefault(row.person, []).append(row)
    for person, rows in of_person.items():
        document, stage = rows[0].document, Stage(rows[0].stage)
        what = f"{stage.label} of {document} was" if len(rows) == 1 else f"{len(rows):,} pieces of your work were"
        tell(
            [person],
            NoticeKind.TAKEN_BACK,
            f"{what} taken back. Your work is kept. Reason: {reason}",
            benchmark=document.benchmark,
            document=document if len(rows) == 1 else None,
            stage=stage if len(rows) == 1 else "",
            by=by,
        )


def _take_back_if(
    wanted: QuerySet[Annotation], pk: int, document_pk: int, *, by: User, reason: str
) -> Annotation | None:
    """Withdraw one annotation if that still applies once its document is locked; None if it doesn't."""
    document = lock_document(document_pk)
    still = wanted.filter(pk=pk, kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.OPEN)
    annotation = still.select_related("person").first()
    if annotation is None:
        return None
    annotation.document = document
    action = for_annotation("take-back", annotation, by=by, reason=reason)
    action.set(annotation, state=AnnotationState.TAKEN_BACK.value, seat=None)
    action.flush()
    update_status(document, action)
    action.write()
    return annotation


def reopen_annotation(annotation: Annotation, reason: str, *, by: User) -> None:
    """Return submitted work to one person to change, with a reason, while the stage isn't adjudicated.

    If everyone had already submitted, the person could see the partner's work, so the next submission isn't
    independent. Adjudication stops for now: everyone's work is hidden from the others again, sign-offs are withdrawn,
    decisions stay. Raises NotAllowedError by the rules, BadValueError without a reason or if there is nothing to
    reopen.
    """
    reason = said_reason(reason, "the work is reopened")
    with transaction.atomic():
        document = lock_document(annotation.document_id)
        annotation = Annotation.objects.select_related("person").get(pk=annotation.pk)
        annotation.document = document
        rules.check_manage(by, document.benchmark)
        stage = Stage(annotation.stage)
        if document.phase == Phase.DISCARDED:
            raise rules.NotAllowedError("This document was discarded. Bring it back first.")
        if annotation.kind != AnnotationKind.INDIVIDUAL or annotation.state != AnnotationState.SUBMITTED:
            raise BadValueError("Only submitted work can be reopened.")
        if adjudicated(document, stage) is not None:
            raise rules.NotAllowedError(f"{stage.label} is already adjudicated: reopen the whole stage instead.")
        action = for_annotation("reopen-annotation", annotation, by=by, reason=reason)
        if _could_see_others(document, stage):
            action.set(annotation, independent=False)
        action.set(annotation, state=AnnotationState.OPEN.value, submitted_at=None)
        action.flush()
        update_status(document, action)
        action.write()
        SignOff.objects.filter(annotation__document=document, annotation__stage=stage).delete()
        tell(
            [annotation.person] if annotation.person else [],
            NoticeKind.RETURNED,
            f"{stage.label} of {document} was reopened for you. Reason: {reason}",
            benchmark=document.benchmark,
            document=document,
            stage=stage,
            by=by,
        )


def close_extra_places(document: Document, *, by: User) -> None:
    """Give up the extra cross-annotation places that nobody has taken. The document continues with the people it has.

    Raises NotAllowedError by the rules, BadValueError if there is no such place.
    """
    with transaction.atomic():
        document = lock_document(document.pk)
        rules.check_manage(by, document.benchmark)
        overlap, stage = document.benchmark.overlap, Stage(document.stage)
        taken = document.annotations.filter(stage=stage, seat__gt=overlap).count()
        if document.practice_for_id or taken >= document.extra_people:
            raise BadValueError("This document has no free extra place to give up.")
        action = Action(name="close-places", by=by, document=document, reason=f"{document.extra_people} to {taken}")
        action.set(document, extra_people=taken)
        action.flush()
        update_status(document, action)
        action.write()
        if document.phase == Phase.CONSOLIDATING:
            begin(document, stage, by=by)


def _could_see_others(document: Document, stage: Stage) -> bool:
    """Had everyone submitted this stage, now or earlier? That is when an adjudicated version is started."""
    rows = document.annotations.filter(stage=stage)
    submitted = rows.filter(kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED).count()
    return submitted >= document.people_needed or rows.filter(kind=AnnotationKind.CONSOLIDATED).exists()
