"""Deriving a document's stage and phase, and what follows when they change."""

from __future__ import annotations

from annotator.core import workflow
from annotator.core.actions.announce import announce
from annotator.core.actions.recorder import Action
from annotator.core.models import Document, RunItem
from annotator.core.vocabulary import OPEN_STATES, STAGES, AnnotationKind, AnnotationState, Phase, Stage, WebhookEvent


def facts_of(document: Document, *, discarded: bool) -> workflow.Facts:
    """The facts that determine the status, read in two queries."""
    rows = list(document.annotations.filter(state=AnnotationState.SUBMITTED).values_list("stage", "kind", "person_id"))
    adjudicated = frozenset(Stage(stage) for stage, kind, _ in rows if kind == AnnotationKind.CONSOLIDATED)
    stage = workflow.current_stage(adjudicated)
    submitted = sum(1 for row_stage, kind, _ in rows if row_stage == stage and kind == AnnotationKind.INDIVIDUAL)
    # A search that a person started for one claim doesn't block the document.
    prefilling = RunItem.objects.filter(
        document=document, run__stage=stage, state__in=OPEN_STATES, run__plan__again__isnull=True
    ).exists()
    return workflow.Facts(
        adjudicated=adjudicated,
        submitted=submitted,
        overlap=document.people_needed,
        prefilling=prefilling,
        discarded=discarded,
    )


def update_status(document: Document, action: Action | None = None, *, discarded: bool | None = None) -> None:
    """Derive the status again and save it. The caller holds the document's lock and writes the action."""
    before = workflow.Status(Stage(document.stage), Phase(document.phase))
    if discarded is None:
        discarded = document.phase == Phase.DISCARDED
    after = workflow.derive(facts_of(document, discarded=discarded))
    workflow.check_move(before, after)
    if before == after:
        return
    if action is not None:
        action.set(document, stage=after.stage.value, phase=after.phase.value)
    else:
        document.stage, document.phase = after.stage.value, after.phase.value
        document.version += 1
        document.save(update_fields=["stage", "phase", "version"])
    if document.twin_of_id is None:  # gold copies don't count as documents of the benchmark
        _announce(document, before, after)


def _announce(document: Document, before: workflow.Status, after: workflow.Status) -> None:
    """Tell webhooks which stages were adjudicated and what the document's status is now."""
    about = {"document": document.public_id, "external_id": document.external_id}
    if after.phase == Phase.DISCARDED:
        announce(document.benchmark, WebhookEvent.DOCUMENT_DISCARDED, about)
        return
    is_gold = after.phase == Phase.AGREED
    if before.phase != Phase.DISCARDED:
        reached = len(STAGES) if is_gold else STAGES.index(after.stage)
        for stage in STAGES[STAGES.index(before.stage) : reached]:
            announce(document.benchmark, WebhookEvent.DOCUMENT_AGREED, about | {"stage": stage.value})
    if is_gold:
        announce(document.benchmark, WebhookEvent.DOCUMENT_GOLD, about)
