"""What has changed in an adjudication since someone looked, and who is missing before it can start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Max

from annotator.core.models import Activity, Document, User
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Stage
from annotator.stages.queries.adjudication import AdjudicationBoard


def newest_change(document: Document, stage: Stage) -> int:
    """A number that increases with every action in the adjudication; 0 before any. One query."""
    rows = Activity.objects.filter(
        annotation__document=document, annotation__stage=stage, annotation__kind=AnnotationKind.CONSOLIDATED
    )
    return rows.aggregate(newest=Max("pk"))["newest"] or 0


def changes_since(board: AdjudicationBoard, seen: int) -> list[Activity]:
    """The changes after this number, in order. One query."""
    rows = Activity.objects.filter(annotation=board.version, pk__gt=seen) if board.version else Activity.objects.none()
    return list(rows.select_related("by").order_by("pk"))


def touched_keys(board: AdjudicationBoard, activities: Iterable[Activity]) -> set[str]:
    """The keys of the rows that these activities concern; "" for the stage as a whole."""
    records = {f"decision:{row.public_id}": row.key for row in board.decisions.values()}
    records |= {f"comment:{row.public_id}": row.key for rows in board.comments.values() for row in rows}
    keys: set[str] = set()
    for activity in activities:
        keys |= {records[change["record"]] for change in activity.changes if change["record"] in records}
        if activity.action in ("ask", "answer"):
            keys |= {question.key for question in board.questions}
    return keys


@dataclass(frozen=True, slots=True)
class NewsWaiting:
    """Who has submitted a stage and who hasn't, by name, and how many places nobody has taken."""

    submitted: list[User]
    open: list[User]
    free: int


def waiting_for(document: Document, stage: Stage) -> NewsWaiting:
    """Who is missing before the stage can be adjudicated. One query that reveals nothing of anyone's work."""
    rows = document.annotations.filter(stage=stage, kind=AnnotationKind.INDIVIDUAL, seat__isnull=False)
    people = list(rows.select_related("person").order_by("seat"))
    done = [row.person for row in people if row.person and row.state == AnnotationState.SUBMITTED]
    open_ = [row.person for row in people if row.person and row.state == AnnotationState.OPEN]
    return NewsWaiting(done, open_, max(0, document.people_needed - len(people)))
