"""The pages of evidence that people add: fetched like those of a run, and kept with the evidence."""

from __future__ import annotations

from django.db import transaction

from annotator.core.models import Evidence
from annotator.stages.actions.pages import keep_page, note_no_page
from annotator.suggestions.queries.services import service_settings
from pipeline.clients.assemble import fetch_page
from pipeline.clients.pages import Absence
from pipeline.runs.bridge import Bridge
from pipeline.runs.kept_answers import snapshot_of


def fetch_page_of(evidence_id: int) -> None:
    """Fetch the page of evidence, once: with a snapshot, or removed meanwhile, there is nothing to do."""
    evidence = (
        Evidence.objects.select_related("annotation__document__benchmark")
        .filter(pk=evidence_id, snapshot__isnull=True, removed="")
        .exclude(url="")
        .first()
    )
    if evidence is None:
        return
    assert evidence.annotation is not None  # what machines retrieve is fetched by their run
    settings = service_settings(evidence.annotation.document.benchmark, has_corpus=False)
    page = Bridge().run(lambda: fetch_page(settings, evidence.url))
    if isinstance(page, Absence):
        note_no_page(evidence, page.reason)
        return
    with transaction.atomic():
        keep_page(evidence, snapshot_of(page))
