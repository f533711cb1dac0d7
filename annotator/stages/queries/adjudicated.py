"""Reads adjudicated versions, and what is derived from an annotation's rows."""

from __future__ import annotations

from annotator.core.models import Annotation, Document
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Stage
from annotator.stages import revision_merge


def adjudicated(document: Document, stage: Stage) -> Annotation | None:
    """The adjudicated version of a stage, if it is current."""
    return document.annotations.filter(
        stage=stage, kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.SUBMITTED
    ).first()


def merged_response(annotation: Annotation) -> str:
    """The response that the statements of a revise annotation currently give."""
    rows = annotation.sentence_revisions.filter(sentence__removed="").select_related("sentence")
    return revision_merge.merge(
        annotation.document.response,
        [
            revision_merge.Statement(
                start=row.sentence.start,
                end=row.sentence.end,
                original=row.sentence.text,
                revised=row.text,
                deleted=row.deleted,
            )
            for row in sorted(rows, key=lambda row: (row.sentence.order, row.sentence_id))
        ],
    )
