"""Scoring a large file of predictions in the background.

The row is the truth (ADR 0005): a worker takes it by one conditional update, writes how far it is, and puts the scores
in its place at the end. Scoring that was cut off begins anew.
"""

from __future__ import annotations

import datetime as dt
import logging
import time

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotator.core.actions.fields import BadValueError
from annotator.core.vocabulary import OPEN_STATES, RunState
from annotator.leaderboard.actions.evaluations import note, score_file
from annotator.leaderboard.models import Evaluation

logger = logging.getLogger(__name__)

# A worker writes a sign of life about once a second while it reads the file; reading the gold before and resampling
# afterward take seconds, on a busy machine a minute. Silent for this long, it is gone.
LOST_AFTER = dt.timedelta(minutes=3)
SIGN_EVERY = 1.0  # seconds
# Reading the file takes about this much of the whole; the rest is resampling.
READING = 0.6


class ScoringStoppedError(Exception):
    """The upload was deleted, or another worker has it."""


def score_evaluation(evaluation_pk: int) -> None:
    """Score an upload that waits. What goes wrong is kept with it, for the person who uploaded it."""
    evaluation = _claim(evaluation_pk)
    if evaluation is None:
        return
    before = evaluation.errors.name
    progress = _ScoringProgress(evaluation)
    try:
        score_file(evaluation, on_share=progress)
        progress.write(READING)
    except ScoringStoppedError:
        return
    except BadValueError as error:
        _fail(evaluation, str(error))
        return
    except Exception:
        logger.exception("Scoring %s failed", evaluation.public_id)
        _fail(evaluation, "An unexpected error stopped the scoring; the details are in the server’s log.")
        return
    _finish(evaluation, before)


def _claim(evaluation_pk: int) -> Evaluation | None:
    """Take an upload for this worker; None if it is scored or another worker has it."""
    now = timezone.now()
    free = Q(state=RunState.QUEUED) | Q(state=RunState.RUNNING, seen_at__lt=now - LOST_AFTER)
    taken = Evaluation.objects.filter(free, pk=evaluation_pk).update(
        state=RunState.RUNNING, started_at=now, seen_at=now, share=0.0
    )
    return Evaluation.objects.select_related("benchmark", "by").get(pk=evaluation_pk) if taken else None


class _ScoringProgress:
    """Writes how far the scoring is, about once a second. Raises ScoringStoppedError where the row is gone."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.last = time.monotonic()

    def __call__(self, share: float) -> None:
        if time.monotonic() - self.last >= SIGN_EVERY:
            self.write(READING * min(share, 1.0))

    def write(self, share: float) -> None:
        self.last = time.monotonic()
        if not _own(self.evaluation).update(seen_at=timezone.now(), share=share):
            raise ScoringStoppedError


def _own(evaluation: Evaluation) -> QuerySet[Evaluation]:
    """The row, as long as this attempt has it."""
    return Evaluation.objects.filter(pk=evaluation.pk, state=RunState.RUNNING, started_at=evaluation.started_at)


def _finish(evaluation: Evaluation, before: str | None) -> None:
    """Put the scores in their place, unless the upload was deleted meanwhile; what was kept of earlier ones goes."""
    with transaction.atomic():
        row = _own(evaluation).select_for_update().first()
        if row is not None:
            evaluation.hidden = row.hidden  # may have been changed meanwhile
            evaluation.state, evaluation.share, evaluation.message = RunState.FINISHED, 1.0, ""
            evaluation.save()
            note("score", evaluation, evaluation.by)
    left = before if row is not None else evaluation.errors.name
    if left:
        default_storage.delete(left)


def _fail(evaluation: Evaluation, message: str) -> None:
    _own(evaluation).update(state=RunState.FAILED, message=message, share=1.0)


def resume_scoring(*, alone: bool = False) -> tuple[list[int], list[int]]:
    """Uploads to score: those to begin or to begin again, and those that another worker may still have.

    ``alone``: there is no other worker, so whatever was being scored was lost with the last one.
    """
    rows = Evaluation.objects.filter(state__in=OPEN_STATES)
    if alone:
        rows.filter(state=RunState.RUNNING).update(state=RunState.QUEUED)
    silent = timezone.now() - LOST_AFTER
    found = list(rows.values_list("pk", "state", "seen_at"))
    begin = [pk for pk, state, seen in found if state == RunState.QUEUED or seen is None or seen < silent]
    return begin, [pk for pk, _, _ in found if pk not in begin]
