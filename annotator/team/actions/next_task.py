"""Assigns the next task."""

from __future__ import annotations

from annotator.core import rules
from annotator.core.models import User
from annotator.stages.actions.annotate import open_annotation_of
from annotator.team.actions.gold_copies import begin_practice
from annotator.team.queries.work import WorkItem, find_next, read_task

TRIES = 20  # documents whose last place someone else took in the meantime


def take_next(*, by: User) -> WorkItem | None:
    """Assign the next document. If someone else gets the last place, the one after is assigned. Adjudication needs no
    assignment. None if nothing is available."""
    taken: set[int] = set()
    for _ in range(TRIES):
        found = find_next(by, leave_out=taken)
        if found is None:
            return None
        if found.copy_is_missing:
            begin_practice(by=by)  # the next attempt finds it
            continue
        if found.why == "consolidate":
            return read_task(found)
        try:
            annotation = open_annotation_of(found.document, found.stage, by=by)
        except rules.NotAllowedError:
            taken.add(found.document)  # someone else got the last place
        else:
            return WorkItem(annotation.document, found.stage, found.why)
    return None
