"""Who may change an evaluation."""

from __future__ import annotations

from annotator.core.models import (
    User,
)
from annotator.core.rules import allowed, check_manage, check_score
from annotator.leaderboard.models import Evaluation


def check_change_evaluation(user: User, evaluation: Evaluation) -> None:
    """Who may score an upload again, hide or delete it: its uploader, owners and admins."""
    check_score(user, evaluation.benchmark)
    if evaluation.by_id != user.pk:
        check_manage(user, evaluation.benchmark)


def can_change_evaluation(user: User, evaluation: Evaluation) -> bool:
    return allowed(check_change_evaluation, user, evaluation)
