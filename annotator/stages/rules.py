"""Who may label, adjudicate and view the adjudication of a stage."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from annotator.core.models import (
    Annotation,
    Benchmark,
    Document,
    GroupMember,
    Membership,
    SentBack,
    User,
)
from annotator.core.rules import (
    ADMIN_ROLES,
    LABEL_ROLES,
    NotAllowedError,
    allowed,
    can_manage,
    role_of,
    seat_in_group,
)
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Role, Seat, Stage


def check_start(user: User, document: Document, stage: Stage) -> None:
    """May this person start this stage of the document? (Slots are counted in the action, under the lock.)"""
    check_start_as(role_of(user, document.benchmark), document, stage)


def check_start_as(role: Role | None, document: Document, stage: Stage) -> None:
    """The same for a person whose role in the benchmark is known. No query."""
    if role is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if role == Role.THIRD_RATER:
        raise NotAllowedError("Adjudicators do not label first: they decide where two annotators disagree.")
    if role not in LABEL_ROLES:
        raise NotAllowedError("Your role can view gold and statistics but can’t label. The owner can change your role.")
    if document.phase == Phase.DISCARDED:
        raise NotAllowedError("This document was discarded. An admin can bring it back.")
    if document.is_gold:
        raise NotAllowedError("This document is gold: all three stages are adjudicated. The owner can reopen a stage.")
    if document.stage != stage:
        later = Stage(document.stage)
        if STAGES.index(later) > STAGES.index(stage):
            raise NotAllowedError("This stage is already adjudicated. The owner can reopen it.")
        raise NotAllowedError(f"{stage.label} opens when {later.label.lower()} is adjudicated.")
    if document.phase == Phase.PREFILLING:
        raise NotAllowedError(
            "Suggestions are still being prepared. This page opens automatically when they are ready."
        )
    if document.phase != Phase.INDEPENDENT:
        raise NotAllowedError("Everyone has submitted this stage; it is awaiting adjudication.")


def check_take_place(user: User, document: Document, stage: Stage, *, seats: Collection[int]) -> int:
    """Which seat this person may take on the document; ``seats`` are those occupied at this stage (read under the
    document's lock).

    A group's batch is labeled by the group's annotators. The additional slots of cross-annotation are for people from
    outside the group; without a group, all slots are for everyone.
    """
    check_start(user, document, stage)
    if document.benchmark.archived_at is not None:
        raise NotAllowedError("This benchmark is archived, so no new work is started. Its owner can open it again.")
    if document.practice_for_id not in (None, user.pk):
        raise NotAllowedError("This is someone else's practice document.")
    group_id = document.batch.group_id if document.batch else None
    own, extra = (
        range(1, document.benchmark.overlap + 1),
        range(document.benchmark.overlap + 1, document.people_needed + 1),
    )
    if document.practice_for_id or group_id is None:
        open_seats = range(1, document.people_needed + 1)
    else:
        seat = seat_in_group(user, group_id)
        if seat == Seat.THIRD_RATER:
            raise NotAllowedError("You are this group's adjudicator: you decide where its annotators disagree.")
        open_seats = own if seat == Seat.ANNOTATOR else extra
        if not open_seats and can_manage(user, document.benchmark):
            group = document.batch.group if document.batch else None
            raise NotAllowedError(
                f"This document belongs to {group}, and you are not in it. You can add yourself on the Team page."
            )
        if not open_seats:
            raise NotAllowedError("This document belongs to a group that you are not in. An admin can add you to it.")
    free = [number for number in open_seats if number not in seats]
    if not free:
        raise NotAllowedError("This document already has all its annotators. Your next one is in “My work”.")
    return free[0]


def third_raters_of(document: Document, stage: Stage) -> list[User]:
    """Who can be asked to adjudicate: the group's adjudicator; without one, the benchmark's adjudicators; without any,
    its owners and admins. Never someone who has labeled this stage of the document."""
    labelled = document.annotations.filter(stage=stage, kind=AnnotationKind.INDIVIDUAL).exclude(
        state=AnnotationState.TAKEN_BACK
    )
    members = Membership.objects.filter(benchmark=document.benchmark_id, active=True, user__is_active=True).exclude(
        user__in=labelled.values("person")
    )
    group_id = document.batch.group_id if document.batch else None
    of_group = GroupMember.objects.filter(group=group_id, seat=Seat.THIRD_RATER, active=True)
    for candidates in (
        members.filter(user__in=of_group.values("user")).exclude(role=Role.RESEARCHER) if group_id else members.none(),
        members.filter(role=Role.THIRD_RATER),
        members.filter(role__in=ADMIN_ROLES),
    ):
        found = [row.user for row in candidates.select_related("user").order_by("pk")]
        if found:
            return found
    return []


def still_members(benchmark: Benchmark, people: Collection[int]) -> set[int]:
    """Those of these people (primary keys) who haven't left the benchmark. Superusers are in all (``role_of``)."""
    members = Membership.objects.filter(benchmark=benchmark, active=True)
    rows = User.objects.filter(Q(is_superuser=True) | Q(pk__in=members.values("user")), pk__in=people, is_active=True)
    return set(rows.values_list("pk", flat=True))


def partners_of(document: Document, stage: Stage) -> list[Annotation]:
    """The submitted annotations of a stage in the order of seats: those whose annotators adjudicate it together."""
    return list(
        document.annotations.filter(stage=stage, kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED)
        .select_related("person")
        .order_by("seat")
    )


def check_consolidate(user: User, document: Document, stage: Stage) -> None:
    """May this person decide, comment and sign off at this stage? Its annotators, and its adjudicators.

    Nothing of a partner's work is shown before everyone has submitted.
    """
    if role_of(user, document.benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if document.phase == Phase.DISCARDED:
        raise NotAllowedError("This document was discarded. An admin can bring it back.")
    if document.stage != stage or document.phase != Phase.CONSOLIDATING:
        later = STAGES.index(Stage(document.stage)) > STAGES.index(stage) or document.is_gold
        if later:
            raise NotAllowedError(f"{stage.label} is already adjudicated. The owner can reopen it.")
        raise NotAllowedError(f"{stage.label} can be adjudicated when everyone has submitted it.")
    if not takes_part(user, document, stage):
        raise NotAllowedError("Only the annotators of this stage and its adjudicator can adjudicate it.")


def can_consolidate(user: User, document: Document, stage: Stage) -> bool:
    return allowed(check_consolidate, user, document, stage)


def check_look_back(user: User, document: Document, stage: Stage) -> None:
    """May this person view how a stage was adjudicated? Those who took part, owners and admins."""
    if role_of(user, document.benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark. Its owner can invite you.")
    if document.phase == Phase.DISCARDED:
        raise NotAllowedError("This document was discarded. An admin can bring it back.")
    adjudicated = document.annotations.filter(
        stage=stage, kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.SUBMITTED
    )
    if not adjudicated.exists():
        raise NotAllowedError(f"{stage.label} can be adjudicated when everyone has submitted it.")
    if len(partners_of(document, stage)) < 2:
        raise NotAllowedError(f"{stage.label} had one annotator, so there was nothing to adjudicate.")
    if not takes_part(user, document, stage) and not can_manage(user, document.benchmark):
        raise NotAllowedError("Only participants, the owner and admins can see how it was adjudicated.")


def can_look_back(user: User, document: Document, stage: Stage) -> bool:
    return allowed(check_look_back, user, document, stage)


def takes_part(user: User, document: Document, stage: Stage) -> bool:
    """Is this person one of the annotators of a stage, or its adjudicator?"""
    is_partner = any(row.person_id == user.pk for row in partners_of(document, stage))
    return is_partner or is_third_rater(user, document, stage)


def is_third_rater(user: User, document: Document, stage: Stage) -> bool:
    return any(row.pk == user.pk for row in third_raters_of(document, stage))


def check_edit(user: User, annotation: Annotation) -> None:
    """Only one's own open annotation can change, and only while its stage is being worked on."""
    check_edit_as(user, role_of(user, annotation.document.benchmark), annotation)


def check_edit_as(user: User, role: Role | None, annotation: Annotation) -> None:
    """The same for a person whose role in the benchmark is known. No query."""
    if annotation.kind != AnnotationKind.INDIVIDUAL or annotation.person_id != user.pk:
        raise NotAllowedError("This is someone else's work. Only they can change it.")
    if annotation.state == AnnotationState.TAKEN_BACK:
        raise NotAllowedError(
            "An admin unassigned you from this document. Your work is kept. "
            "If another annotator is still needed, you can open it again and continue."
        )
    if annotation.state != AnnotationState.OPEN:
        raise NotAllowedError("You have submitted this stage, so it is locked. The owner can reopen it.")
    check_start_as(role, annotation.document, Stage(annotation.stage))


def can_edit(user: User, annotation: Annotation) -> bool:
    return allowed(check_edit, user, annotation)


def check_edit_sentence(user: User, annotation: Annotation, sentence_pk: int) -> None:
    """In an annotation that is open only for claims that were sent back, only their sentences can change."""
    check_edit_sentence_as(user, role_of(user, annotation.document.benchmark), annotation, sentence_pk)


def check_edit_sentence_as(user: User, role: Role | None, annotation: Annotation, sentence_pk: int) -> None:
    """The same for a person whose role in the benchmark is known."""
    check_edit_as(user, role, annotation)
    if annotation.only_sent_back and sentence_pk not in sent_back_sentences(annotation):
        raise NotAllowedError(
            "Only the sentence whose claim was sent back can be edited. The rest stays as adjudicated."
        )


def sent_back_sentences(annotation: Annotation) -> set[int]:
    """The person's sentences whose adjudicated claims were sent back."""
    open_returns = SentBack.objects.filter(document=annotation.document_id, settled_at__isnull=True)
    # A sentence without an adjudicated row was split off just now, so it is part of the correction.
    open_rows = Q(agreed_rows__claims__sent_back__in=open_returns) | Q(agreed_rows__isnull=True)
    return set(annotation.sentences.filter(open_rows).values_list("pk", flat=True))
