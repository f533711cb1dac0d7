"""Updates revise when decompose or verify is adjudicated again: sentences whose claims or verdicts changed.

Edits that came from adjudicated claims are applied again. What a person wrote is kept, and they are asked to check it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.core.actions.recorder import for_annotation
from annotator.core.models import Document, Sentence, SentenceRevision, Verdict
from annotator.core.texts import edits
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Factuality, Origin
from annotator.stages import revision_merge


def carried(sentence: Sentence, operations: Mapping[int, list[edits.Operation]]) -> revision_merge.Carried:
    """An adjudicated sentence with the operations (by claim) applied. Its claims are prefetched."""
    claims = [claim for claim in sentence.claims.all() if not claim.removed]
    return revision_merge.carry(
        sentence.text,
        [
            revision_merge.ClaimEdit(claim.text, tuple(operations[claim.pk]))
            for claim in claims
            if operations.get(claim.pk)
        ],
        claims_in_all=len(claims),
    )


def adjudicated_operations(document: Document) -> dict[int, list[edits.Operation]]:
    """The edits of all claims with the adjudicated verdict false, by claim."""
    verdicts = Verdict.objects.filter(
        annotation__document=document,
        annotation__kind=AnnotationKind.CONSOLIDATED,
        factuality=Factuality.FALSE,
        claim__removed="",
    ).prefetch_related("operations")
    return {verdict.claim_id: verdict.edit() for verdict in verdicts}


def bases(document: Document) -> dict[int, Any]:
    """What each sentence's revision is based on: its text, its claims, their edits."""
    operations = adjudicated_operations(document)
    rows = Sentence.objects.filter(
        annotation__document=document, annotation__kind=AnnotationKind.CONSOLIDATED
    ).prefetch_related("claims")
    return {
        row.pk: (
            row.text,
            row.removed,
            [(claim.pk, claim.text, claim.removed, operations.get(claim.pk)) for claim in row.claims.all()],
        )
        for row in rows
    }


def ask_again(document: Document, before: Mapping[int, Any]) -> None:
    """Update the open revisions of sentences whose basis has changed, or ask people to check them."""
    after = bases(document)
    changed = [pk for pk, base in after.items() if pk in before and before[pk] != base]
    revisions = SentenceRevision.objects.filter(
        annotation__document=document, annotation__state=AnnotationState.OPEN, sentence__in=changed
    )
    operations = adjudicated_operations(document)
    for row in revisions.select_related("annotation__document__benchmark", "sentence").prefetch_related(
        "sentence__claims"
    ):
        action = for_annotation(
            "sentence-changed", row.annotation, by=None, reason="Its claims were adjudicated again."
        )
        if row.text_origin in ("", Origin.CONSOLIDATED):
            result = carried(row.sentence, operations)
            origin = "" if result.open_edits else Origin.CONSOLIDATED.value
            action.set(row, text=result.text, text_origin=origin, deleted=result.deleted)
        else:
            action.set(row, text_origin="")
        action.write()
