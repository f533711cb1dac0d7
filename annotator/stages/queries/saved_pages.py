"""Evidence with the saved copy of its page, for whoever may see it."""

from __future__ import annotations

from annotator.core.models import Document, Evidence, User
from annotator.core.queries.history import visible_annotations


def evidence_with_page(public_id: str) -> Evidence | None:
    """The passage with its page and its document; None where no copy of the page was kept."""
    rows = Evidence.objects.select_related("snapshot", "claim__sentence__annotation__document", "annotation")
    return rows.filter(public_id=public_id, snapshot__isnull=False).first()


def sees_evidence(user: User, document: Document, evidence: Evidence) -> bool:
    """May a member who sees the document see this passage? What was retrieved is shared; what a person added is seen
    with that person's work."""
    if evidence.annotation_id is None:
        return True
    seen = visible_annotations(document, user, document.annotations.all())
    return any(row.pk == evidence.annotation_id for row in seen)
