"""What starts automatically when a stage is adjudicated and the next one opens."""

from __future__ import annotations

from collections.abc import Iterable

from annotator.core.models import Document, User, Verdict
from annotator.core.vocabulary import Factuality, Stage
from annotator.stages.queries.adjudicated import adjudicated
from annotator.suggestions.actions.runs import start_run


def open_next_stage(document: Document, *, by: User | None, changed_claims: Iterable[int]) -> None:
    """A stage has just been adjudicated. At verify, evidence is retrieved for new or changed claims (primary keys). At
    revise, the response is corrected if a claim is false and the strategy can do that. The caller holds the document's
    lock."""
    claims = list(changed_claims)
    stage = Stage(document.stage)
    if stage == Stage.VERIFY and claims:
        plan: dict[str, object] = {"claims": claims}
    elif stage == Stage.REVISE and has_false_claims(document):
        plan = {}
    else:
        return
    run = start_run(benchmark=document.benchmark, stage=stage, documents=[document.pk], by=by, plan=plan)
    if run is not None:
        document.refresh_from_db()


def has_false_claims(document: Document) -> bool:
    """Is there anything to correct? Decided by the adjudicated verify stage."""
    version = adjudicated(document, Stage.VERIFY)
    return Verdict.objects.filter(annotation=version, factuality=Factuality.FALSE, claim__removed="").exists()
