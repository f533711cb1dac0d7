"""Notices: in the application and, if configured, by email.

A notice is a sentence and a link. It never reveals how much or how fast a partner works or what they decided. Whether
someone has read a notice is private and leaves no activity row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from annotator.core.actions.enqueue import after_commit
from annotator.core.models import Benchmark, Document, Notice, User
from annotator.core.queries.notices import (
    MAIL,
    MAILED_WITHIN,
    notices_of,
    place_of,
    reached,
    to_mail,
    waiting_for_mail,
    wants_mail,
    with_places,
)
from annotator.core.vocabulary import NoticeKind

MAIL_NOTICES = "annotator.mail_notices"
WAIT = 120  # seconds between the first notice and its mail; notices in between go into the same mail
LEFT_BEHIND = dt.timedelta(hours=1)  # longer than the automatic retries of a mail
MAX_IN_A_MAIL = 50


def tell(
    people: Iterable[User],
    kind: NoticeKind,
    text: str,
    *,
    benchmark: Benchmark | None = None,
    document: Document | None = None,
    stage: str = "",
    by: User | None = None,
) -> None:
    """Notify these people, except ``by``, who caused it, and people who aren't active (in the benchmark).

    An unread notice of the same kind about the same document and stage isn't duplicated: it moves to the top with the
    new text, and is mailed again only if the text differs. Runs inside the caller's transaction.
    """
    if benchmark is None and document is not None:
        benchmark = document.benchmark
    told = reached({person.pk for person in people} - {by.pk if by else None}, benchmark)
    if not told:
        return
    old: dict[int, Notice] = {}
    if document is not None:
        same = Notice.objects.filter(to__in=told, kind=kind, document=document, stage=stage, read_at__isnull=True)
        old = {row.to_id: row for row in same.select_for_update().order_by("pk")}
        # Recreated with the same public id, because the list is sorted by primary key.
        Notice.objects.filter(pk__in=[row.pk for row in old.values()]).delete()
    rows = []
    for person in told:
        row = Notice(to=person, kind=kind, text=text, benchmark=benchmark, document=document, stage=stage)
        if person.pk in old:
            row.public_id = old[person.pk].public_id
            row.mailed_at = old[person.pk].mailed_at if old[person.pk].text == text else None
        rows.append(row)
    Notice.objects.bulk_create(rows)
    if settings.MAIL_IS_ON:
        _mail_soon(rows)


def mark_read(notices: Iterable[Notice], *, by: User) -> None:
    """Mark these notices of the person as read. Other people's notices are ignored."""
    own = Notice.objects.filter(pk__in=[notice.pk for notice in notices], to=by, read_at__isnull=True)
    own.update(read_at=timezone.now())


def mark_all_read(*, by: User, up_to: Notice) -> None:
    """Mark all notices as read up to the newest one the person saw. Later ones stay unread."""
    notices_of(by).filter(read_at__isnull=True, pk__lte=up_to.pk).update(read_at=timezone.now())


def choose_mail(*, wanted: bool, by: User) -> None:
    """Set whether the person also gets notices by email."""
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=by.pk)
        person.preferences[MAIL] = wanted
        person.save(update_fields=["preferences"])


# --- mail -----------------------------------------------------------------------------------------


def _mail_soon(rows: Collection[Notice]) -> None:
    """One mail per person, after the commit. People for whom a mail is already scheduled are skipped."""
    unmailed = [row for row in rows if row.mailed_at is None and wants_mail(row.to)]
    ordered = Notice.objects.filter(
        to__in=[row.to_id for row in unmailed],
        read_at__isnull=True,
        mailed_at__isnull=True,
        created_at__gte=timezone.now() - MAILED_WITHIN,
    ).exclude(pk__in=[row.pk for row in unmailed])
    have_ordered = set(ordered.order_by().values_list("to", flat=True))
    for row in unmailed:
        if row.to_id not in have_ordered:
            after_commit(MAIL_NOTICES, row.to_id, countdown=WAIT)


def mail_notices(person_id: int) -> None:
    """Mail a person everything that is neither read nor mailed yet, in one mail.

    Raises OSError if the mail server can't be reached or refuses; then nothing is marked as mailed.
    """
    person = User.objects.filter(pk=person_id, is_active=True).first()
    if person is None or not settings.MAIL_IS_ON or not wants_mail(person):
        return
    rows = list(with_places(to_mail(person)))
    if not rows:
        return
    words = {
        "lines": [
            {"text": " ".join(row.text.split()), "link": settings.SITE_URL + place_of(row)}
            for row in rows[:MAX_IN_A_MAIL]
        ],
        "more": len(rows[MAX_IN_A_MAIL:]),
        "all": settings.SITE_URL + reverse("notices"),
    }
    subject = "A notice from Touchstone" if len(rows) == 1 else f"{len(rows)} notices from Touchstone"
    EmailMessage(subject, render_to_string("team/notices/mail.txt", words), to=[person.email]).send()
    Notice.objects.filter(pk__in=[row.pk for row in rows]).update(mailed_at=timezone.now())


def left_behind() -> list[int]:
    """The primary keys of people whose mail got lost: the queue dropped it, or the mail server was down for long."""
    return [person.pk for person in waiting_for_mail(since=LEFT_BEHIND)] if settings.MAIL_IS_ON else []
