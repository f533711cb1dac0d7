"""A benchmark's people, groups and load, and what the team lacks, in words.

Load is for managers: nobody else learns how much and how fast a partner works.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotator.core.models import (
    Activity,
    Annotation,
    Benchmark,
    Document,
    Group,
    Invitation,
    Membership,
    Question,
    SignOff,
)
from annotator.core.rules import LABEL_ROLES
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Role, Seat, Stage
from annotator.team.rules import can_hold_seat

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(slots=True)
class Person:
    """A member with their groups and load in documents. ``waiting``: awaiting adjudication by them, as annotator or
    adjudicator, or available in a batch of their group."""

    membership: Membership
    groups: list[str] = field(default_factory=list)
    in_work: int = 0
    waiting: int = 0
    finished: int = 0
    last_seen: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenSeat:
    """A seat that can be assigned, and to whom."""

    seat: Seat
    candidates: list[Membership]


@dataclass(slots=True)
class GroupCard:
    """A group with its seats. ``free`` counts missing annotators."""

    group: Group
    annotators: list[Membership]
    third_rater: Membership | None
    free: int
    batches: int
    open_seats: list[OpenSeat]
    missing: str

    @property
    def free_places(self) -> range:
        """One for each missing annotator."""
        return range(self.free)


@dataclass(slots=True)
class Team:
    """Everything about people on the team page."""

    people: list[Person]
    former: list[Membership]
    groups: list[GroupCard]
    missing: list[str]


def number(count: int) -> str:
    """A small number as a word."""
    return NUMBERS[count] if count < len(NUMBERS) else f"{count:,}"


def team_of(benchmark: Benchmark, *, with_load: bool) -> Team:
    """The team, in four queries, and seven more with each person's load."""
    rows = list(
        benchmark.memberships.select_related("user", "benchmark").order_by("user__display_name", "user__username")
    )
    order = list(Role)
    members = sorted((row for row in rows if row.active), key=lambda row: order.index(Role(row.role)))
    groups = _groups(benchmark, members)
    people = [
        Person(row, groups=[card.group.name for card in groups if row in card.annotators or row == card.third_rater])
        for row in members
    ]
    if with_load:
        _add_load(benchmark, people, groups)
    return Team(
        people=people,
        former=[row for row in rows if not row.active],
        groups=groups,
        missing=missing(benchmark.overlap, members, groups) + _lacking_outside(benchmark, members, groups),
    )


def _groups(benchmark: Benchmark, members: list[Membership]) -> list[GroupCard]:
    """The groups with their members and possible members (two queries)."""
    by_user = {row.user_id: row for row in members}
    cards: list[GroupCard] = []
    has_third_raters = any(row.role == Role.THIRD_RATER for row in members)
    for group in (
        benchmark.groups.annotate(number_of_batches=Count("batches")).prefetch_related("members").order_by("name", "pk")
    ):
        seated = [
            (Seat(each.seat), by_user[each.user_id])
            for each in group.members.all()
            if each.active and each.user_id in by_user
        ]
        annotators = [row for seat, row in seated if seat == Seat.ANNOTATOR]
        third_rater = next((row for seat, row in seated if seat == Seat.THIRD_RATER), None)
        outside = [row for row in members if row not in annotators and row != third_rater]
        open_seats = [
            # People with the role of that name come first; owners and admins are possible, but rarely meant.
            OpenSeat(seat, sorted((r for r in outside if can_hold_seat(r, seat)), key=lambda r: r.role != seat.value))
            for seat in Seat
            if seat == Seat.ANNOTATOR or third_rater is None
        ]
        cards.append(
            GroupCard(
                group=group,
                annotators=annotators,
                third_rater=third_rater,
                free=max(benchmark.overlap - len(annotators), 0),
                batches=group.number_of_batches,
                open_seats=open_seats,
                missing=_missing_in(benchmark.overlap, len(annotators), third_rater, has_third_raters),
            )
        )
    return cards


# --- what is missing ------------------------------------------------------------------------------


def missing(overlap: int, members: list[Membership], groups: list[GroupCard]) -> list[str]:
    """What keeps documents from being adjudicated, as sentences; nothing if one person per document is enough."""
    sentences: list[str] = []
    annotators = sum(1 for row in members if row.role == Role.ANNOTATOR)
    can_label = sum(1 for row in members if row.role in LABEL_ROLES)
    if annotators < overlap:
        has = f"has {number(annotators)} annotator{'' if annotators == 1 else 's'}"
        asks = f"This benchmark requires {_people(overlap)} per document and {has}"
        if can_label < overlap:
            sentences.append(f"{asks}, so documents can’t be completed.")
        else:
            sentences.append(f"{asks}, so owners and admins have to annotate too.")
    for card in groups:
        if card.free:
            have = len(card.annotators)
            has = f"has {number(have)} annotator{'' if have == 1 else 's'}"
            sentences.append(f"{card.group} {has}; it needs {number(overlap)}.")
    without = [card for card in groups if card.third_rater is None]
    nobody = all(row.role != Role.THIRD_RATER for row in members)
    if overlap > 1 and nobody and (without or not groups):
        sentences.append("No adjudicator: owners and admins adjudicate instead.")
    return sentences


def _people(count: int) -> str:
    return "one person" if count == 1 else f"{number(count)} people"


def outside_lack(roles: Collection[str], needed: int) -> str:
    """The end of a sentence that asks for ``needed`` people from outside a group, given the roles of those outside it;
    "" if there are enough annotators."""
    able = sum(1 for role in roles if role in LABEL_ROLES)
    if sum(1 for role in roles if role == Role.ANNOTATOR) >= needed:
        return ""
    if able >= needed:
        return ", so owners and admins have to annotate too."
    if not able:
        return ", but there is nobody."
    return f", and there {'is' if able == 1 else 'are'} only {number(able)}."


def roles_outside(group: Group) -> list[str]:
    """The roles of members who aren't in a group (one query)."""
    inside = group.members.filter(active=True).values("user")
    members = Membership.objects.filter(benchmark=group.benchmark_id, active=True).exclude(user__in=inside)
    return list(members.order_by("pk").values_list("role", flat=True))


def _lacking_outside(benchmark: Benchmark, members: Iterable[Membership], groups: Iterable[GroupCard]) -> list[str]:
    """Documents whose extra places need more people than there are outside their group, in words (one query)."""
    waiting: dict[int, list[tuple[str, int, int]]] = {}
    for group, batch, extra, documents in _free_extra_places(benchmark):
        waiting.setdefault(group, []).append((batch, extra, documents))
    sentences: list[str] = []
    for card in groups:
        outside = [row.role for row in members if row not in card.annotators and row != card.third_rater]
        # People who already have an extra place are outside the group, too: all extra people are counted.
        short = [each for each in waiting.get(card.group.pk, []) if outside_lack(outside, each[1])]
        if not short:
            continue
        count, most = sum(documents for *_, documents in short), max(extra for _, extra, _ in short)
        batches = sorted({batch for batch, *_ in short})
        where = batches[0] if len(batches) == 1 else f"{number(len(batches))} batches"
        needs = "1 document of {} needs" if count == 1 else f"{count:,} documents of {{}} need"
        more = "one more person" if most == 1 else f"{number(most)} more people"
        sentences.append(f"{needs.format(where)} {more} from outside {card.group}{outside_lack(outside, most)}")
    return sentences


def _free_extra_places(benchmark: Benchmark) -> QuerySet[Document, tuple[int, str, int, int]]:
    """Group, batch, extra people and number of the documents whose extra places aren't all taken."""
    at_extra_places = (
        Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), seat__gt=benchmark.overlap)
        .order_by()
        .values("document")
        .annotate(taken=Count("pk"))
        .values("taken")
    )
    return (
        Document.objects.filter(
            benchmark=benchmark,
            batch__group__isnull=False,
            extra_people__gt=0,
            phase__in=(Phase.PREFILLING, Phase.INDEPENDENT),
            twin_of__isnull=True,
        )
        .annotate(taken=Coalesce(Subquery(at_extra_places), 0))
        .filter(taken__lt=F("extra_people"))
        .order_by()
        .values_list("batch__group", "batch__name", "extra_people")
        .annotate(documents=Count("pk"))
    )


def _missing_in(overlap: int, annotators: int, third_rater: Membership | None, has_third_raters: bool) -> str:
    """What a group lacks, for its card."""
    words: list[str] = []
    free = overlap - annotators
    if free > 0:
        words.append(f"{number(free).capitalize()} more annotator{'' if free == 1 else 's'} needed.")
    if third_rater is None and overlap > 1:
        who = "the benchmark’s adjudicators" if has_third_raters else "owners and admins"
        words.append(f"Without an adjudicator, {who} are asked.")
    return " ".join(words)


# --- load -----------------------------------------------------------------------------------------


def _add_load(benchmark: Benchmark, people: list[Person], groups: list[GroupCard]) -> None:
    """Everyone's counts and last activity (seven queries). Gold copies are left out."""
    own = Annotation.objects.filter(
        kind=AnnotationKind.INDIVIDUAL, document__benchmark=benchmark, document__twin_of__isnull=True
    ).order_by()
    in_work = _per_person(own.filter(state=AnnotationState.OPEN).exclude(document__phase=Phase.DISCARDED))
    finished = _per_person(own.filter(state=AnnotationState.SUBMITTED))
    waiting = _to_agree(own) + _free_in_groups(benchmark, own) + _asked(benchmark, people, groups)
    seen = dict(
        benchmark.memberships.annotate(
            seen=Subquery(
                Activity.objects.filter(benchmark=benchmark, by=OuterRef("user")).order_by("-pk").values("at")[:1]
            )
        ).values_list("user", "seen")
    )
    for person in people:
        user = person.membership.user_id
        person.in_work, person.finished, person.waiting = in_work[user], finished[user], waiting[user]
        person.last_seen = seen.get(user)


def _per_person(rows: QuerySet[Annotation]) -> Counter[int]:
    """Documents of each person."""
    counted = rows.values_list("person").annotate(documents=Count("document", distinct=True))
    return Counter({person: documents for person, documents in counted if person is not None})


def _to_agree(own: QuerySet[Annotation]) -> Counter[int]:
    """Documents that everyone has submitted and the person hasn't signed off yet."""
    signed = SignOff.objects.filter(
        annotation__document=OuterRef("document"), annotation__stage=OuterRef("stage"), by=OuterRef("person")
    )
    rows = own.filter(state=AnnotationState.SUBMITTED, stage=F("document__stage"), document__phase=Phase.CONSOLIDATING)
    return _per_person(rows.exclude(Exists(signed)))


def _asked(benchmark: Benchmark, people: list[Person], groups: list[GroupCard]) -> Counter[int]:
    """Documents waiting for adjudicators: with an open request, or resolved at verify if the protocol requires a
    sign-off. The group's adjudicator is counted; without one, all of the benchmark's."""
    at_stage = {"annotation__document": OuterRef("pk"), "annotation__stage": OuterRef("stage")}
    questions = Question.objects.filter(**at_stage, answered_at__isnull=True)
    signed = SignOff.objects.filter(**at_stage)
    due = Q(Exists(questions))
    if benchmark.third_rater_at_verify:
        due |= Q(Exists(signed), ~Exists(signed.filter(as_third_rater=True)), stage=Stage.VERIFY)
    rows = Document.objects.filter(due, benchmark=benchmark, phase=Phase.CONSOLIDATING, twin_of__isnull=True)
    of_group = {card.group.pk: card.third_rater.user_id for card in groups if card.third_rater}
    of_benchmark = [row.membership.user_id for row in people if row.membership.role == Role.THIRD_RATER]
    found: Counter[int] = Counter()
    for group, documents in rows.order_by().values_list("batch__group").annotate(documents=Count("pk")):
        for user in [of_group[group]] if group in of_group else of_benchmark:
            found[user] += documents
    return found


def _free_in_groups(benchmark: Benchmark, own: QuerySet[Annotation]) -> Counter[int]:
    """Documents in the batches of the person's groups that have a free place and that the person hasn't started."""
    at_work = own.filter(
        stage=F("document__stage"),
        document__phase=Phase.INDEPENDENT,
        document__batch__group__isnull=False,
        seat__lte=benchmark.overlap,
    )
    full = at_work.values("document").annotate(places=Count("pk")).filter(places__gte=benchmark.overlap)
    documents: dict[int, int] = dict(
        Document.objects.filter(
            benchmark=benchmark, phase=Phase.INDEPENDENT, batch__group__isnull=False, twin_of__isnull=True
        )
        .exclude(pk__in=full.values("document"))
        .order_by()
        .values_list("batch__group")
        .annotate(documents=Count("pk"))
    )
    begun = {
        (group, person): count
        for group, person, count in at_work.exclude(document__in=full.values("document"))
        .values_list("document__batch__group", "person")
        .annotate(count=Count("pk"))
    }
    found: Counter[int] = Counter()
    annotators = benchmark.groups.filter(members__active=True, members__seat=Seat.ANNOTATOR)
    for group, person in annotators.values_list("pk", "members__user"):
        found[person] += documents.get(group, 0) - begun.get((group, person), 0)
    return found


# --- invitations ----------------------------------------------------------------------------------


def pending_invitations(benchmark: Benchmark, now: dt.datetime) -> list[Invitation]:
    """The valid invitations, newest first (one query)."""
    return list(
        benchmark.invitations.filter(withdrawn_at__isnull=True, accepted_by__isnull=True, expires_at__gt=now)
        .exclude(max_uses__lte=F("uses"))
        .select_related("group", "created_by")
        .order_by("-pk")
    )
