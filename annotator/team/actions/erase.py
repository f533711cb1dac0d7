"""Erase a person: what identifies them is deleted, and what they labeled stays under a pseudonym.

Gold, agreement and history need to know that two labels are from the same person, but not from whom. So exports use a
keyed hash of the account's number as the name, which stays the same (``core/queries/pseudonyms.py``).
"""

from __future__ import annotations

import re

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.db.models import Q

from annotator.core.actions.append_only import history_unlocked
from annotator.core.actions.recorder import Action
from annotator.core.models import (
    Activity,
    Annotation,
    CrowdWorker,
    Flag,
    Invitation,
    Membership,
    Notice,
    SecurityEvent,
    User,
)
from annotator.core.models.base import new_public_id
from annotator.core.queries.pseudonyms import IMPORTED_AS, PSEUDONYM
from annotator.core.rules import NotAllowedError
from annotator.integrations.models import ApiToken
from annotator.team import rules
from annotator.team.actions.team import deactivate

ERASED = "erased-"


def erase(person: User, *, by: User) -> str:
    """Erase the person in one transaction. Returns the account's new name.

    Raises NotAllowedError for anyone but a superuser, and if the person is the only owner of a benchmark.
    """
    if not by.is_superuser:
        raise NotAllowedError("Only a superuser can erase a person.")
    if person.pk == by.pk:
        raise NotAllowedError("Another superuser has to erase you.")
    names = {each for each in (person.username, str(person), person.email, person.get_full_name()) if each}
    with history_unlocked():
        for membership in Membership.objects.filter(user=person, active=True).select_related("benchmark", "user"):
            rules.check_an_owner_remains(membership)
            deactivate(membership, by=by)
        for session in UserSession.objects.filter(user=person):
            session.end()
        for model in (EmailAddress, Authenticator, SocialAccount, ApiToken, SecurityEvent):
            model.objects.filter(user=person).delete()
        Notice.objects.filter(to=person).delete()
        for worker in CrowdWorker.objects.filter(user=person):  # ids are unique in a link
            CrowdWorker.objects.filter(pk=worker.pk).update(
                worker_id=ERASED + new_public_id(), study_id="", session_id=""
            )
        SecurityEvent.objects.filter(name__in=names).delete()
        Annotation.objects.filter(person=person).exclude(note="").update(note="")
        Flag.objects.filter(by=person).exclude(note="").update(note="")
        if person.email:
            Invitation.objects.filter(email__iexact=person.email).update(email="")
        new = ERASED + new_public_id()
        _rename_in_history(names, new)
        _rename_in_notices(names, new)
        _rename_in_admin_log(names, new)
        imported = str(person.preferences.get(IMPORTED_AS, ""))
        person.username, person.display_name = new, "Erased person"
        person.email = person.first_name = person.last_name = ""
        # The pseudonym from an import doesn't identify the person, and keeps exports equal.
        person.preferences = {IMPORTED_AS: imported} if PSEUDONYM.fullmatch(imported) else {}
        person.is_active = person.is_staff = person.is_superuser = False
        person.last_login = None
        person.set_unusable_password()
        person.save()
        Action(name="erase-person", by=by, reason=new).write()
    return new


def _whole(names: set[str]) -> re.Pattern[str]:
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)")


def _mention(names: set[str], *columns: str) -> Q:
    """Rows with one of the names in one of the columns."""
    mentions = Q()
    for column in columns:
        for name in names:
            mentions |= Q(**{f"{column}__contains": name})
    return mentions


def _rename_in_history(names: set[str], new: str) -> None:
    """Touchstone's own sentences about people; what people wrote about documents isn't changed."""
    pattern = _whole(names)
    about_people = Activity.objects.filter(_mention(names, "reason"), document__isnull=True).only("pk", "reason")
    for row in about_people.iterator(chunk_size=500):
        reason = pattern.sub(new, row.reason)
        if reason != row.reason:
            Activity.objects.filter(pk=row.pk).update(reason=reason)


def _rename_in_notices(names: set[str], new: str) -> None:
    """Rows about the person in other people's lists."""
    pattern = _whole(names)
    for notice in Notice.objects.filter(_mention(names, "text")).iterator(chunk_size=500):
        notice.text = pattern.sub(new, notice.text)
        notice.save(update_fields=["text"])


def _rename_in_admin_log(names: set[str], new: str) -> None:
    """The Django admin's own log of changes to the person."""
    pattern = _whole(names)
    for entry in LogEntry.objects.filter(_mention(names, "object_repr", "change_message")).iterator(chunk_size=500):
        entry.object_repr = pattern.sub(new, entry.object_repr)[:200]
        entry.change_message = pattern.sub(new, entry.change_message)
        entry.save(update_fields=["object_repr", "change_message"])
