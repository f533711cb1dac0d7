"""Searches again for evidence of one claim, with a person's own query."""

from __future__ import annotations

from django.db import transaction

from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.actions.locking import lock_document
from annotator.core.actions.recorder import for_annotation
from annotator.core.models import Annotation, Claim, PipelineRun, RunItem, User
from annotator.core.vocabulary import OPEN_STATES, Stage
from annotator.stages import rules as stages_rules
from annotator.suggestions.actions.plans import RunRequest, choice_of, frozen_plan
from annotator.suggestions.actions.runs import ADVANCE_RUN
from annotator.suggestions.queries.services import can_search


def search_again(annotation: Annotation, claim: Claim, query: str, *, by: User) -> PipelineRun:
    """Ask the strategy for more passages of one claim with the person's query, and enqueue it on commit.

    The document's phase doesn't change, so work continues. The results belong to this annotation, because a query is
    part of the person's work, which partners must not see before both have submitted. Raises BadValueError if there is
    nothing to search in, no query, or a search for this claim in progress; NotAllowedError by the rules.
    """
    query = " ".join(clean_text(query).split())
    if not query:
        raise BadValueError("Enter a search query.")
    with transaction.atomic():
        lock_document(annotation.document_id)
        annotation = Annotation.objects.select_related("document__benchmark").get(pk=annotation.pk)
        stages_rules.check_edit(by, annotation)
        benchmark = annotation.document.benchmark
        choice = choice_of(benchmark)
        if choice is None or not can_search(benchmark):
            raise BadValueError("This benchmark has no corpus to search. Add passages by hand instead.")
        own = {"claims": [claim.pk], "query": query, "again": True, "annotation": annotation.pk}
        plan = frozen_plan(benchmark, choice, RunRequest(extra=own))
        under_way = PipelineRun.objects.filter(
            items__document=annotation.document_id, plan__annotation=annotation.pk, state__in=OPEN_STATES
        )
        if any(run.plan["claims"] == [claim.pk] for run in under_way):
            raise BadValueError("A search for this claim is already running. Its passages will appear shortly.")
        run = PipelineRun.objects.create(
            benchmark=benchmark,
            stage=Stage.VERIFY,
            strategy=benchmark.strategy,
            plan=plan,
            requested_by=by,
        )
        RunItem.objects.create(run=run, document_id=annotation.document_id)
        for_annotation("search-again", annotation, by=by, reason=f"“{claim.text}”: {query}").write()
        after_commit(ADVANCE_RUN, run.pk)
    return run
