"""Taking the next thing to do."""

from __future__ import annotations

from annotator.core import rules
from annotator.core.models import User
from annotator.stages.actions.annotate import open_annotation_of
from annotator.team.actions.gold_copies import begin_practice
from annotator.team.queries.work import WorkItem, find_next, read_task

TRIES = 20  # documents whose last place someone else took while this person was asking


def take_next(*, by: User) -> WorkItem | None:
    """Take a place on the next document; who comes second for a last place gets the one after. What is to be settled
    with others needs no place. None: nothing is free."""
    taken: set[int] = set()
    for _ in range(TRIES):
        found = find_next(by, leave_out=taken)
        if found is None:
            return None
        if found.copy_is_missing:
            begin_practice(by=by)  # the next try finds it
            continue
        if found.why == "consolidate":
            return read_task(found)
        try:
            annotation = open_annotation_of(found.document, found.stage, by=by)
        except rules.NotAllowedError:
            taken.add(found.document)  # its last place went to someone else meanwhile
        else:
            return WorkItem(annotation.document, found.stage, found.why)
    return None
