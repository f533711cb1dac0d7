"""Practice: what a newcomer learns from each stage they submit; and for those who manage the benchmark, how people do
against gold, in practice and in gold that is mixed in unannounced."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.gold_copies import practice_gold
from annotator.core.models import Batch, Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, document_for, person, render_domain_errors
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Stage
from annotator.measures.queries.annotator_accuracy import LabelDifference, Score, explained, scores_of
from annotator.measures.queries.practice import measured_in, mixed_documents, own_practice, practice_of
from annotator.team.actions import gold_copies as actions
from annotator.team.screens.guidelines import shown

MAX_MIXED = 1000
MAX_SEED = 2**31 - 1

# --- what a newcomer sees -------------------------------------------------------------------------


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str) -> HttpResponse:
    """How the newcomer did at the stages of a practice document that they have submitted, the latest first."""
    document = document_for(request, public_id)
    if document.practice_for_id is None:
        raise Http404("This document is not a practice document.")
    submitted = document.annotations.filter(
        kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED, person=document.practice_for_id
    )
    annotations = list(submitted.select_related("document", "guidelines").order_by("-submitted_at", "-pk"))
    scores = scores_of(annotations)
    context = page_of_benchmark(request, document.benchmark, "")
    context |= {
        "document": document,
        "is_mine": document.practice_for_id == person(request).pk,
        "results": [_result(scores[row.pk], row.guidelines) for row in annotations if row.pk in scores],
        "without_gold": any(row.pk not in scores for row in annotations),
    }
    return render(request, "measures/practice/show.html", context)


def _result(score: Score, guidelines: Any) -> dict[str, Any]:
    """A score as the page shows it, each difference with the definition of the gold's answer."""
    return {
        "score": score,
        "stage": score.stage,
        "is_revise": score.stage == Stage.REVISE,
        "differences": [_explained(each) for each in explained(score.differences, score.stage, guidelines)],
    }


def _explained(each: LabelDifference) -> dict[str, Any]:
    return {"difference": each, "definition": shown(each.definition) if each.definition else None}


# --- what those who manage the benchmark see ------------------------------------------------------


class MixInForm(forms.Form):
    """How many gold documents are mixed into which batch."""

    batch = forms.ModelChoiceField(Batch.objects.none(), to_field_name="public_id", empty_label=None, label="Batch")
    number = forms.IntegerField(min_value=1, max_value=MAX_MIXED, initial=3, label="Number of items")
    seed = forms.IntegerField(
        min_value=0, max_value=MAX_SEED, label="Seed", help_text="The same seed always selects the same documents."
    )

    def __init__(self, benchmark: Benchmark, data: Any = None) -> None:
        super().__init__(data, auto_id="mix_%s", initial={"seed": random.randrange(10_000)})
        batches = benchmark.batches.select_related("benchmark", "group")
        cast("forms.ModelChoiceField[Batch]", self.fields["batch"]).queryset = batches


def _benchmark(request: HttpRequest, slug: str) -> Benchmark:
    """The benchmark, for those who manage it."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    return benchmark


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """Who practices and how they do, what gold is hidden, and how people do over time; for annotators their own
    practice."""
    benchmark = benchmark_for(request, slug)
    if not rules.can_manage(person(request), benchmark):
        return _own_page(request, benchmark)
    return _page(request, benchmark)


def _own_page(request: HttpRequest, benchmark: Benchmark) -> HttpResponse:
    """What an annotator practices on here, and the results so far."""
    context = page_of_benchmark(request, benchmark, "Practice") | {
        "documents": own_practice(benchmark, person(request)),
        "is_required": bool(benchmark.practice_documents),
    }
    return render(request, "measures/practice/own.html", context)


def _page(
    request: HttpRequest, benchmark: Benchmark, *, problem: str = "", form: MixInForm | None = None, status: int = 200
) -> HttpResponse:
    """The page; a refusal stands on top of it, and a form that was refused keeps what was typed."""
    context = page_of_benchmark(request, benchmark, "Batches")
    context |= {
        "practice": practice_of(benchmark),
        "practice_gold": len(practice_gold(benchmark)) if benchmark.practice_documents else 0,
        "can_change_protocol": rules.can_change_protocol(person(request), benchmark),
        "mixed": mixed_documents(benchmark),
        "measured": measured_in(benchmark),
        "form": form or MixInForm(benchmark),
        "has_batches": benchmark.batches.exists(),
        "problem": problem,
    }
    return render(request, "measures/practice/index.html", context, status=status)


def _done(
    request: HttpRequest, benchmark: Benchmark, action: Callable[[], str], form: MixInForm | None = None
) -> HttpResponse:
    """Do it and come back to the page; a refusal is said there."""
    try:
        message = action()
    except BadValueError as refusal:
        return _page(request, benchmark, problem=str(refusal), form=form, status=422)
    messages.success(request, message)
    return redirect("practice-list", slug=benchmark.slug)


@require_POST
@render_domain_errors
def excuse(request: HttpRequest, slug: str) -> HttpResponse:
    """Let a newcomer begin real work."""
    benchmark = _benchmark(request, slug)
    username = request.POST.get("person", "").replace("\x00", "")
    membership = get_object_or_404(benchmark.memberships.select_related("user"), user__username=username, active=True)

    def action() -> str:
        actions.excuse_from_practice(benchmark, membership.user, by=person(request))
        return f"{membership.user} is excused from practice and can start real work."

    return _done(request, benchmark, action)


@require_POST
@render_domain_errors
def mix_in(request: HttpRequest, slug: str) -> HttpResponse:
    """Mix copies of gold into a batch."""
    benchmark = _benchmark(request, slug)
    form = MixInForm(benchmark, request.POST)
    if not form.is_valid():
        return _page(request, benchmark, form=form, status=422)
    data = form.cleaned_data

    def action() -> str:
        made = actions.mix_in(data["batch"], number=data["number"], seed=data["seed"], by=person(request))
        documents = "1 hidden gold item was" if len(made) == 1 else f"{len(made):,} hidden gold items were"
        return f"{documents} added to {data['batch']}."

    return _done(request, benchmark, action, form)
