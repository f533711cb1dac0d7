"""Crowd workers: links that a platform opens, and the accounts of people who use them."""

from __future__ import annotations

import re
import secrets

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, CrowdLink, CrowdWorker, Membership, User
from annotator.core.models.base import new_public_id
from annotator.core.vocabulary import CrowdPlatform, Role
from annotator.team.rules import CrowdEntryError, check_enter, check_enter_again

MAX_NAME, MAX_CONSENT, MAX_CODE, MAX_REWARD = 120, 20_000, 64, 60
MAX_DOCUMENTS = 10_000
# No character that makes a spreadsheet read a cell as a formula: the id comes from outside and goes into a CSV.
WORKER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def open_link(
    benchmark: Benchmark,
    *,
    by: User,
    name: str,
    platform: CrowdPlatform,
    consent: str,
    documents: int,
    completion_code: str = "",
    reward: str = "",
    max_workers: int | None = None,
) -> CrowdLink:
    """Create a link for a platform's study. If the completion code is blank, one is generated.

    Raises NotAllowedError by the rules, BadValueError if the name or consent text is blank or a number is out of range.
    """
    name, consent = " ".join(_clean(name).split())[:MAX_NAME], _clean(consent)[:MAX_CONSENT]
    if not name or not consent:
        raise BadValueError("A link needs a name and a consent text.")
    if not 1 <= documents <= MAX_DOCUMENTS:
        raise BadValueError(f"Ask for between 1 and {MAX_DOCUMENTS:,} documents per worker.")
    if max_workers is not None and max_workers < 1:
        raise BadValueError("Enter a limit of one worker or more.")
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        link = CrowdLink.objects.create(
            benchmark=benchmark,
            name=name,
            platform=platform,
            consent=consent,
            documents=documents,
            completion_code=_clean(completion_code)[:MAX_CODE] or secrets.token_hex(4).upper(),
            reward=_clean(reward)[:MAX_REWARD],
            max_workers=max_workers,
            created_by=by,
        )
        Action(name="open-crowd-link", by=by, benchmark=benchmark, reason=f"{name}, {platform.label}").write()
    return link


def _clean(text: str) -> str:
    return text.replace("\x00", "").strip()


def close_link(link: CrowdLink, *, by: User) -> None:
    """Close a link: neither new nor returning workers can use it. Raises NotAllowedError by the rules."""
    with transaction.atomic():
        rules.check_manage(by, link.benchmark)
        if CrowdLink.objects.filter(pk=link.pk, closed_at__isnull=True).update(closed_at=timezone.now()):
            Action(name="close-crowd-link", by=by, benchmark=link.benchmark, reason=link.name).write()


def enter(link: CrowdLink, *, worker_id: str, study_id: str = "", session_id: str = "") -> User:
    """The account of a worker who has agreed to the link's consent text: their existing one, or a new one without a
    password that is an annotator of this benchmark only.

    Raises CrowdEntryError for a closed or full link, a malformed id, or an account that has gained more rights.
    """
    if not WORKER_ID.fullmatch(worker_id):
        raise CrowdEntryError("This isn’t a worker ID. Open the link again from the platform.")
    with transaction.atomic():
        link = CrowdLink.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=link.pk)
        known = link.workers.select_related("user").filter(worker_id=worker_id).first()
        if known is not None:
            check_enter_again(link, known.user)
            return known.user
        number = link.workers.count()
        check_enter(link, number)
        person = User.objects.create(
            username=f"{link.platform}-{new_public_id()}",
            display_name=f"Worker {number + 1} of {link.name}"[:120],
            password=make_password(None),
            preferences={"crowd": link.token},
        )
        Membership.objects.create(benchmark=link.benchmark, user=person, role=Role.ANNOTATOR)
        CrowdWorker.objects.create(
            link=link, user=person, worker_id=worker_id, study_id=study_id[:128], session_id=session_id[:128]
        )
        Action(name="enter-by-crowd-link", by=person, benchmark=link.benchmark, reason=link.name).write()
    return person
