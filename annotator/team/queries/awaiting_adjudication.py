"""What a person has to adjudicate: as annotator, and as adjudicator if asked or required to sign off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotator.core.models import Annotation, Batch, Document, Membership, Question, SignOff, User
from annotator.core.queries.membership import Memberships, memberships_of
from annotator.core.rules import ADMIN_ROLES
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Role, Seat, Stage
from annotator.stages.queries.places import NOT_PROMPT

BY_DOCUMENT = ("-stage", "order", "pk")
BY_VERSION = ("-document__stage", "document__order", "document__pk")


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A stage that the person has to adjudicate: with whom, or as adjudicator for whom."""

    document: Document
    stage: Stage
    people: tuple[str, ...]
    as_third_rater: bool
    asked_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitingAdjudication:
    """The first stages that a person has to adjudicate, and their total number."""

    rows: list[Consolidation]
    number: int


def _consolidating(member: Memberships) -> QuerySet[Document]:
    """Documents of the person's benchmarks that everyone has submitted."""
    return Document.objects.filter(benchmark__in=member.sees, phase=Phase.CONSOLIDATING)


def signed(**by: object) -> Exists:
    rows = SignOff.objects.filter(annotation__document=OuterRef("pk"), annotation__stage=OuterRef("stage"), **by)
    return Exists(rows)


def _as_partner(user: User, member: Memberships) -> QuerySet[Annotation]:
    """The open adjudicated versions of consolidating documents whose stage the person has labeled and not signed
    off. Their keys are read first (one query): in a single ordered query, the database would look up every document
    that anyone has to adjudicate."""
    own = Annotation.objects.filter(
        document=OuterRef("document"),
        stage=OuterRef("stage"),
        person=user,
        kind=AnnotationKind.INDIVIDUAL,
        state=AnnotationState.SUBMITTED,
    )
    signatures = SignOff.objects.filter(annotation=OuterRef("pk"), by=user)
    unsigned = Annotation.objects.filter(
        Exists(own), ~Exists(signatures), kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.OPEN
    )
    return Annotation.objects.filter(
        pk__in=list(unsigned.order_by().values_list("pk", flat=True)),
        stage=F("document__stage"),
        document__phase=Phase.CONSOLIDATING,
        document__benchmark__in=member.sees,
    )


def _where_third_rater(member: Memberships) -> Q | None:
    """The groups and benchmarks in which this person could be adjudicator; None for most people."""
    benchmarks = [pk for pk, role in member.roles.items() if role in (*ADMIN_ROLES, Role.THIRD_RATER)]
    groups = [pk for pk, seat in member.seats.items() if seat == Seat.THIRD_RATER]
    if not benchmarks and not groups:
        return None
    batches = Batch.objects.filter(group__in=groups)
    return Q(benchmark__in=benchmarks) | Q(batch__in=batches.values("pk")) if benchmarks else Q(batch__in=batches)


def _as_third_rater(user: User, member: Memberships) -> QuerySet[Document]:
    """Documents in adjudication where the person is adjudicator (``rules.third_raters_of``, as a query) and is asked,
    or must sign off: what is resolved at verify, whole stages given to them, stages without annotators left."""
    where = _where_third_rater(member)
    if where is None:
        return Document.objects.none()
    labelled = Annotation.objects.filter(
        document=OuterRef(OuterRef("pk")), stage=OuterRef(OuterRef("stage")), kind=AnnotationKind.INDIVIDUAL
    ).exclude(state=AnnotationState.TAKEN_BACK)
    members = Membership.objects.filter(benchmark=OuterRef("benchmark"), active=True, user__is_active=True).exclude(
        Exists(labelled.filter(person=OuterRef("user")))
    )
    of_group = members.exclude(role=Role.RESEARCHER).filter(
        user__group_seats__group=OuterRef("batch__group"),
        user__group_seats__seat=Seat.THIRD_RATER,
        user__group_seats__active=True,
    )
    of_benchmark = members.filter(role=Role.THIRD_RATER)
    standing_in = members.filter(role__in=ADMIN_ROLES)
    may = (
        Q(Exists(of_group.filter(user=user)))
        | (~Q(Exists(of_group)) & Q(Exists(of_benchmark.filter(user=user))))
        | (~Q(Exists(of_group)) & ~Q(Exists(of_benchmark)) & Q(Exists(standing_in.filter(user=user))))
    )
    # By key and in steps: few documents are due, and otherwise the database would determine the adjudicator of every
    # document in adjudication.
    asked, due = _asked(), _due(member, where)
    documents = _consolidating(member).filter(pk__in=asked | due)
    return documents.filter(Q(pk__in=asked) | ~Q(signed(as_third_rater=True))).filter(may)


def _asked() -> set[int]:
    """Documents (primary keys) with an open request to an adjudicator (one query)."""
    questions = Question.objects.filter(answered_at__isnull=True, annotation__stage=F("annotation__document__stage"))
    return set(questions.values_list("annotation__document", flat=True))


def _due(member: Memberships, where: Q) -> set[int]:
    """Documents (primary keys) that an adjudicator must sign off and hasn't (three queries)."""
    given = Question.objects.filter(
        key="", annotation__state=AnnotationState.OPEN, annotation__stage=F("annotation__document__stage")
    )
    # Sign-offs require that nothing is open, so from the first one on, the adjudicator's is possible.
    by_protocol = _consolidating(member).filter(
        where, signed(), stage=Stage.VERIFY, benchmark__third_rater_at_verify=True
    )
    return {
        *given.values_list("annotation__document", flat=True),
        *by_protocol.values_list("pk", flat=True),
        *_without_partner(member),
    }


def _without_partner(member: Memberships) -> set[int]:
    """Documents (primary keys) whose annotators have all left, found by the few people who have left."""
    submitted = Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED)
    inactive = Membership.objects.filter(Q(active=False) | Q(user__is_active=False))
    left = set(inactive.filter(benchmark__in=member.sees).values_list("user", flat=True))
    if not left:
        return set()
    partners = submitted.filter(
        document=OuterRef("document"),
        stage=OuterRef("stage"),
        person__is_active=True,
        person__memberships__benchmark=OuterRef("document__benchmark"),
        person__memberships__active=True,
    )
    theirs = submitted.filter(person__in=left, stage=F("document__stage"), document__phase=Phase.CONSOLIDATING).exclude(
        Exists(partners)
    )
    return set(theirs.values_list("document", flat=True))


def _asking(documents: Collection[int]) -> dict[int, list[str]]:
    """By document (primary key): who asked its adjudicator and is waiting (one query, none without documents)."""
    found: dict[int, list[str]] = {}
    if not documents:
        return found
    rows = Question.objects.filter(
        answered_at__isnull=True,
        annotation__document__in=documents,
        annotation__stage=F("annotation__document__stage"),
    )
    for row in rows.select_related("by", "annotation").order_by("pk"):
        names = found.setdefault(row.annotation.document_id, [])
        if str(row.by) not in names:
            names.append(str(row.by))
    return found


def first_to_agree(user: User, member: Memberships) -> tuple[int, Stage, tuple[str, ...]] | None:
    """The first of ``to_agree_of``: the document's primary key, the stage, and who asks them as adjudicator. Only the
    key, because usually there is none, and a whole row costs more."""
    partner = _as_partner(user, member).order_by(*BY_VERSION).values_list("document", "stage").first()
    if partner is not None:
        return partner[0], Stage(partner[1]), ()
    third = _as_third_rater(user, member).order_by(*BY_DOCUMENT).values_list("pk", "stage").first()
    if third is None:
        return None
    return third[0], Stage(third[1]), tuple(_asking([third[0]]).get(third[0], ()))


def to_agree_of(user: User, *, member: Memberships | None = None, most: int | None = None) -> AwaitingAdjudication:
    """What the person has to adjudicate, first as annotator, then as adjudicator: at most ``most`` of each. ``member``:
    their memberships, if already read. A constant number of queries."""
    member = member or memberships_of(user)
    versions = _as_partner(user, member)
    rows = versions.select_related("document__benchmark").defer(*(f"document__{name}" for name in NOT_PROMPT))
    partner = [row.document for row in rows.order_by(*BY_VERSION)[:most]]
    # All their keys, which costs hardly more than the first: the adjudicator is determined per document.
    third_keys = list(_as_third_rater(user, member).order_by(*BY_DOCUMENT).values_list("pk", flat=True))
    third = _read(third_keys[:most])
    number = len(third_keys) + (versions.count() if len(partner) == most else len(partner))
    people: dict[tuple[int, str], list[str]] = {}
    if partner or third:
        submitted = Annotation.objects.filter(
            document__in=[document.pk for document in partner + third],
            kind=AnnotationKind.INDIVIDUAL,
            state=AnnotationState.SUBMITTED,
        ).exclude(person=user)
        for row in submitted.select_related("person").order_by("seat"):
            people.setdefault((row.document_id, row.stage), []).append(str(row.person))
    asking = _asking([document.pk for document in third])
    found = [
        Consolidation(
            each,
            Stage(each.stage),
            tuple(people.get((each.pk, each.stage), ())),
            as_third,
            tuple(asking.get(each.pk, ())) if as_third else (),
        )
        for documents, as_third in ((partner, False), (third, True))
        for each in documents
    ]
    return AwaitingAdjudication(found, number)


def _read(keys: list[int]) -> list[Document]:
    """The documents with these primary keys, in this order (one query, none without keys)."""
    documents = Document.objects.select_related("benchmark").defer(*NOT_PROMPT).in_bulk(keys)
    return [documents[pk] for pk in keys if pk in documents]
