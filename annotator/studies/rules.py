"""Who may do what in studies. The messages address the person who is refused."""

from __future__ import annotations

from annotator.core import rules
from annotator.core.models import Benchmark, User
from annotator.core.rules import NotAllowedError
from annotator.studies.models import Study, StudyAssignment


def check_see_figures(user: User, benchmark: Benchmark) -> None:
    """Figures reveal how people rated, so only owners, admins and researchers may see them."""
    if role_reads(user, benchmark) is False:
        raise NotAllowedError("Only owners, admins and researchers can see a study’s figures and answers.")


def role_reads(user: User, benchmark: Benchmark) -> bool:
    """May the person's role see figures?"""
    return rules.role_of(user, benchmark) in rules.READ_GOLD_ROLES


def check_answer(user: User, assignment: StudyAssignment) -> None:
    """People answer their own assignments, until they submit them."""
    if assignment.person_id != user.pk:
        raise NotAllowedError("This item is assigned to someone else.")
    if rules.role_of(user, assignment.study.benchmark) is None:
        raise NotAllowedError("You are not a member of this benchmark anymore. Its owner can invite you.")
    if assignment.submitted_at is not None:
        raise NotAllowedError("This item is submitted, so its answers are locked. Reopen it to change them.")


def check_reopen(user: User, assignment: StudyAssignment) -> None:
    """People may correct their own answers until all raters of the item have submitted; until then, nobody else's
    work is visible to them."""
    if assignment.person_id != user.pk:
        raise NotAllowedError("This item is assigned to someone else.")
    others = assignment.item.assignments.filter(round=assignment.round).exclude(pk=assignment.pk)
    if assignment.submitted_at and others.exists() and not others.filter(submitted_at__isnull=True).exists():
        raise NotAllowedError("Everyone has submitted this item, so it can’t be reopened.")


def check_not_started(study: Study) -> None:
    """Items and raters can't change once the study has started."""
    if study.started_at is not None:
        raise NotAllowedError("This study has started, so its items and raters can’t change. Create another study.")
