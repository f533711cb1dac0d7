"""Scoring an uploaded file of predictions against the gold, and keeping it for the leaderboard.

Predictions lie below MEDIA_ROOT and are never handed out: what leaves are scores and lists of errors, to those who read
gold. Reading and scoring come first, outside the transaction, so that writers are not kept waiting.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark, User
from annotator.core.models.base import new_public_id
from annotator.core.queries.gold import GoldScope
from annotator.core.vocabulary import RunState
from annotator.leaderboard import rules as leaderboard_rules
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.predictions import predictions
from annotator.leaderboard.queries.scoring import (
    FORMATS,
    NoGoldError,
    gold_fingerprint,
    joined_of,
    report_of,
    scorer_of,
)
from annotator.leaderboard.scoring.items import TaskItem
from annotator.leaderboard.scoring.joining import Joined
from annotator.leaderboard.scoring.labels import Labels
from annotator.leaderboard.scoring.report import Scorer, told
from annotator.leaderboard.scoring.responses import EndToEnd
from annotator.leaderboard.scoring.tasks import Options, Task

FOLDER = "predictions"
# A file is read line by line, yet someone waits for the answer: a larger one is for the command line.
MAX_BYTES = 256 * 1024 * 1024
NAME_LENGTH = 120
# Larger files, and files against more gold, are scored by a worker: reading either takes seconds then.
AT_ONCE_BYTES, AT_ONCE_DOCUMENTS = 1024 * 1024, 500
SCORE = "annotator.score_evaluation"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be scored: the task with its options, who made the predictions, and how the file is to be read.

    ``partial``: a file with faults is scored as far as it is right, instead of not at all.
    """

    task: Task
    system: str
    options: Options = field(default_factory=Options)
    format: str = predictions.NAME
    note: str = ""
    partial: bool = False


def score_upload(*, benchmark: Benchmark, by: User, wanted: Wanted, file: UploadedFile) -> Evaluation:
    """Keep a file of predictions and score it. A file with faults is kept too, and nothing of it scored: its problems
    are in the row, and ``score_again(partial=True)`` scores what is right in it. A large file waits for a worker
    (``Evaluation.is_open``); what is wrong with it as a whole is then in its ``message``.

    Raises NotAllowedError by the rules; BadValueError where there is no gold, where options do not go together, and for
    a file that is too large or cannot be read at all.
    """
    rules.check_score(by, benchmark)
    _check(wanted, file)
    evaluation = Evaluation(
        benchmark=benchmark,
        by=by,
        task=wanted.task,
        options=wanted.options.said(wanted.task),
        system=wanted.system.strip(),
        note=wanted.note.strip(),
        filename=Path(file.name or "predictions").name[:255],
        format=wanted.format,
        partial=wanted.partial,
    )
    suffix = Path(evaluation.filename).suffix.lower()[:12]
    evaluation.file.name = default_storage.save(f"{FOLDER}/{new_public_id()}{suffix}", file)
    if is_large(benchmark, file.size or 0):
        evaluation.scored_at = timezone.now()
        _enqueue(evaluation)
        return evaluation
    try:
        score_file(evaluation)
    except BadValueError:
        evaluation.file.delete(save=False)
        raise
    with transaction.atomic():
        evaluation.save()
        note("score", evaluation, by)
    return evaluation


def is_large(benchmark: Benchmark, size: int) -> bool:
    """Whether a file of this size is for a worker (one query)."""
    return size > AT_ONCE_BYTES or GoldScope(benchmark).documents().count() > AT_ONCE_DOCUMENTS


def _enqueue(evaluation: Evaluation) -> None:
    """Leave it to a worker. What it scored before stays until then."""
    evaluation.state, evaluation.share, evaluation.message = RunState.QUEUED, 0.0, ""
    evaluation.started_at = evaluation.seen_at = None
    with transaction.atomic():
        evaluation.save()
        after_commit(SCORE, evaluation.pk)


def score_again(evaluation: Evaluation, *, by: User, partial: bool | None = None) -> None:
    """Score the kept file against the gold of today; ``partial`` as in ``Wanted``, None: as before. A large one waits
    for a worker.

    Raises NotAllowedError by the rules, BadValueError where there is no gold (any more), the file is gone, or it is
    being scored.
    """
    leaderboard_rules.check_change_evaluation(by, evaluation)
    if evaluation.is_open:
        raise BadValueError("This file is being scored. Wait until it is done.")
    if partial is not None:
        evaluation.partial = partial
    if not evaluation.file:
        raise BadValueError("The file with these predictions no longer exists. Upload it again.")
    if default_storage.exists(str(evaluation.file.name)) and is_large(evaluation.benchmark, evaluation.file.size):
        _enqueue(evaluation)
        return
    before = evaluation.errors.name
    score_file(evaluation)
    evaluation.state, evaluation.message = RunState.FINISHED, ""
    with transaction.atomic():
        evaluation.save()
        note("score-again", evaluation, by)
    if before:
        default_storage.delete(before)


def hide(evaluation: Evaluation, *, by: User, hidden: bool) -> None:
    """Take it off the leaderboard, or put it back. Raises NotAllowedError by the rules."""
    leaderboard_rules.check_change_evaluation(by, evaluation)
    with transaction.atomic():
        evaluation.hidden = hidden
        evaluation.save(update_fields=["hidden"])
        note("hide-scores" if hidden else "show-scores", evaluation, by)


def delete(evaluation: Evaluation, *, by: User) -> None:
    """Delete the scores and the file behind them. Raises NotAllowedError by the rules."""
    leaderboard_rules.check_change_evaluation(by, evaluation)
    names = [str(each.name) for each in (evaluation.file, evaluation.errors) if each]
    with transaction.atomic():
        note("delete-scores", evaluation, by)
        evaluation.delete()
    for name in names:
        default_storage.delete(name)


def _check(wanted: Wanted, file: UploadedFile) -> None:
    if not wanted.system.strip():
        raise BadValueError("Name the fact-checker that made these predictions. The name appears on the leaderboard.")
    if len(wanted.system.strip()) > NAME_LENGTH:
        raise BadValueError(f"The fact-checker’s name is longer than {NAME_LENGTH} characters. Shorten it.")
    if wanted.format not in FORMATS:
        raise BadValueError(f"“{wanted.format[:40]}” isn’t a supported format. Choose one of {', '.join(FORMATS)}.")
    if wanted.format != predictions.NAME and wanted.task != Task.CLAIM_FACTUALITY:
        raise BadValueError(
            f"Files in the {wanted.format} format contain verdicts on claims. Score them with the task "
            f"“{Task.CLAIM_FACTUALITY.label}”."
        )
    if (file.size or 0) > MAX_BYTES:
        raise BadValueError(
            f"The file is {(file.size or 0) / 2**20:,.0f} MiB; the limit here is {MAX_BYTES // 2**20} MiB. A line "
            "needs only its id and its prediction: leave out the texts, or score the file on the command line with "
            "script/manage evaluate."
        )


def score_file(evaluation: Evaluation, *, on_share: Callable[[float], None] | None = None) -> None:
    """Read, join, measure; fills in everything that follows from the file and the gold. ``on_share`` is called for
    each row with how much of the file is read, from 0 to 1. Raises BadValueError."""
    benchmark, task = evaluation.benchmark, Task(evaluation.task)
    # Before the gold is read: what changes meanwhile makes the scores old, never falsely new.
    evaluation.gold = gold_fingerprint(benchmark)
    try:
        scorer = scorer_of(benchmark, task, Options.of(evaluation.options), format=evaluation.format)
        with Path(evaluation.file.path).open("rb") as stream:
            evaluation.sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            size = max(evaluation.file.size, 1)

            def tell() -> None:
                if on_share:
                    on_share(stream.tell() / size)

            joined = joined_of(benchmark, scorer, stream, evaluation.format, on_row=tell)
    except NoGoldError as error:
        raise BadValueError(str(error)) from None
    except FileError as error:
        raise BadValueError(f"{evaluation.filename}: {error}") from None
    except FileNotFoundError:
        raise BadValueError("The file with these predictions no longer exists. Upload it again.") from None
    is_scored = bool(joined.scored) and (evaluation.partial or not joined.problem_count)
    evaluation.scored_at = timezone.now()
    evaluation.rows, evaluation.scored, evaluation.faults = joined.rows, len(joined.scored), sum(joined.counts.values())
    evaluation.counts = told(joined)
    evaluation.problems = [each.as_dict() for each in joined.problems]
    evaluation.result = report_of(benchmark, scorer, joined) if is_scored else None
    evaluation.errors.name = _errors(scorer, joined) if is_scored else ""


def _errors(scorer: Scorer, joined: Joined) -> str:
    """Writes what was answered wrongly or not at all, in the order of the gold, and returns the name of the file; ""
    where there is nothing of it, or where answers are no labels."""
    if not isinstance(scorer.measure, Labels | EndToEnd):
        return ""
    with TemporaryFile() as content:
        for key, item in scorer.gold.items.items():
            answer = joined.answer_of(key)
            if item.label is not None and answer != item.label:
                line = json.dumps(_error(item, answer), ensure_ascii=False) + "\n"
                content.write(line.encode("utf-8", "replace"))
        if not content.tell():
            return ""
        content.seek(0)
        return str(default_storage.save(f"{FOLDER}/{new_public_id()}.errors.jsonl", File(content)))


def _error(item: TaskItem, answer: str | None) -> dict[str, Any]:
    return {
        "id": item.key,
        "document": item.external or item.document,
        "position": item.position,
        "gold": item.label,
        "predicted": answer,
    }


def note(name: str, evaluation: Evaluation, by: User) -> None:
    words = f"{evaluation.system}, {evaluation.task}: " + (
        f"{evaluation.scored:,} items"
        if evaluation.result is not None
        else "nothing scored because the file has errors"
    )
    Action(name=name, by=by, benchmark=evaluation.benchmark, reason=words).write()
