"""What begins by itself when a stage is agreed and the next one opens."""

from __future__ import annotations

from collections.abc import Iterable

from annotator.actions.runs import start_run
from annotator.models import Document, User
from annotator.vocabulary import Stage


def open_next_stage(document: Document, *, by: User | None, changed_claims: Iterable[int]) -> None:
    """A stage has just been agreed: at verify, evidence is retrieved for the claims (primary keys) that are new or
    changed. The caller holds the document's lock."""
    claims = list(changed_claims)
    if document.stage != Stage.VERIFY or not claims:
        return
    run = start_run(
        benchmark=document.benchmark, stage=Stage.VERIFY, documents=[document.pk], by=by, plan={"claims": claims}
    )
    if run is not None:
        document.refresh_from_db()
