"""Taking the next thing to do."""

from __future__ import annotations

from annotator import rules
from annotator.actions.annotate import open_annotation
from annotator.actions.twins import begin_practice
from annotator.models import User
from annotator.queries.work import Task, next_task

TRIES = 20  # documents whose last place somebody else took while this person was asking


def take_next(*, by: User) -> Task | None:
    """Take a place on the next document; who comes second for a last place gets the one after. What is to be settled
    with others needs no place. None: nothing is free."""
    taken: set[int] = set()
    for _ in range(TRIES):
        task = next_task(by, leave_out=taken)
        if task is None:
            return None
        if task.why == "practice" and task.document.practice_for_id is None:
            begin_practice(by=by)  # its copies are made now: the next try finds them
            continue
        if task.why == "consolidate":
            return task
        try:
            open_annotation(task.document, task.stage, by=by)
        except rules.NotAllowedError:
            taken.add(task.document.pk)  # its last place went to somebody else meanwhile
        else:
            return task
    return None
