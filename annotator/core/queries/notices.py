"""A person's notices: the list, the number unread, where each leads, and who is notified of an event."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Annotation, Benchmark, Document, Membership, Notice, User
from annotator.core.models.document import LONG_TEXTS
from annotator.core.vocabulary import AnnotationKind, AnnotationState, NoticeKind, Phase, Stage

SHOWN = 30  # notices per page
MAX_COUNTED = 100  # above this, the bar shows 99+
MAIL = "mail"  # in User.preferences: false if the person wants no mail
MAILED_WITHIN = dt.timedelta(days=1)  # older notices are not mailed


# --- one person's list ----------------------------------------------------------------------------


def notices_of(user: User) -> QuerySet[Notice]:
    """A person's notices, newest first, without those of benchmarks they have left."""
    rows = Notice.objects.filter(to=user)
    if user.is_superuser:
        return rows
    memberships = Membership.objects.filter(user=user, active=True)
    return rows.filter(Q(benchmark__isnull=True) | Q(benchmark__in=memberships.values("benchmark")))


def unread_count(user: User) -> int:
    """How many notices the person has not read, counted up to ``MAX_COUNTED``. One query."""
    return notices_of(user).filter(read_at__isnull=True)[:MAX_COUNTED].count()


@dataclass(frozen=True, slots=True)
class NoticePage:
    """A page of a person's notices. ``older`` is the public id after which the next page starts, "" at the end."""

    rows: list[Notice]
    older: str


def page_of(user: User, *, before: str = "") -> NoticePage:
    """The notices older than the one with this public id, or the newest. At most two queries."""
    rows = with_places(notices_of(user))
    if before:
        rows = rows.filter(pk__lt=Notice.objects.filter(to=user, public_id=before).values("pk")[:1])
    found = list(rows[: SHOWN + 1])
    shown = found[:SHOWN]
    return NoticePage(shown, shown[-1].public_id if len(found) > SHOWN else "")


def with_places(rows: QuerySet[Notice]) -> QuerySet[Notice]:
    """The notices with what ``place_of`` reads, without the documents' texts."""
    return rows.select_related("document", "benchmark").defer(*(f"document__{name}" for name in LONG_TEXTS))


def place_of(notice: Notice) -> str:
    """The URL where a notice is handled, given the document's current status."""
    document = notice.document
    if notice.kind == NoticeKind.WEBHOOK and notice.benchmark is not None:
        return reverse("webhooks", args=[notice.benchmark.slug])
    if notice.kind == NoticeKind.HALTED and notice.benchmark is not None:
        return reverse("runs", args=[notice.benchmark.slug])
    if document is None:
        return reverse("home")
    is_here = bool(notice.stage) and notice.stage == document.stage
    if is_here and document.phase == Phase.CONSOLIDATING:
        return reverse("agree", args=[document.public_id, notice.stage])
    is_work = notice.kind in (NoticeKind.PARTNER_FINISHED, NoticeKind.RETURNED)
    if is_here and is_work and document.phase == Phase.INDEPENDENT:
        return reverse(notice.stage, args=[document.public_id])
    return reverse("document", args=[document.public_id])


# --- whom an event concerns -----------------------------------------------------------------------


def reached(people: Collection[int], benchmark: Benchmark | None) -> list[User]:
    """Those of these people (primary keys) who can be notified: active, and members of the benchmark if there is one.
    One query."""
    found = User.objects.filter(pk__in=people, is_active=True)
    if benchmark is not None:
        members = Membership.objects.filter(benchmark=benchmark, active=True).values("user")
        found = found.filter(Q(is_superuser=True) | Q(pk__in=members))
    return list(found.order_by("pk"))


def workers_on(document: Document, stages: Iterable[Stage]) -> list[User]:
    """The people with work on these stages of the document, without withdrawn work. One query."""
    rows = Annotation.objects.filter(document=document, stage__in=list(stages), kind=AnnotationKind.INDIVIDUAL)
    at_work = rows.exclude(state=AnnotationState.TAKEN_BACK)
    return list(User.objects.filter(pk__in=at_work.values("person")).order_by("pk"))


# --- mail -----------------------------------------------------------------------------------------


def wants_mail(user: User) -> bool:
    """Can this person be mailed, and have they not turned it off?"""
    return bool(user.email) and user.preferences.get(MAIL, True) is not False


def to_mail(user: User) -> QuerySet[Notice]:
    """What the person has neither read nor been mailed, newest first."""
    return notices_of(user).filter(
        read_at__isnull=True, mailed_at__isnull=True, created_at__gte=timezone.now() - MAILED_WITHIN
    )


def waiting_for_mail(*, since: dt.timedelta) -> list[User]:
    """People whose notices should have been mailed that long ago. Two queries."""
    now = timezone.now()
    waiting = Notice.objects.filter(
        read_at__isnull=True, mailed_at__isnull=True, created_at__range=(now - MAILED_WITHIN, now - since)
    )
    people = User.objects.filter(pk__in=waiting.order_by().values("to"), is_active=True)
    return [person for person in people.order_by("pk") if wants_mail(person)]
