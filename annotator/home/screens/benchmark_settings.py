"""A benchmark's settings, and archiving, copying and deleting it."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db import IntegrityError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, Corpus
from annotator.core.queries.membership import corpora_for
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.home.actions import benchmark_settings as actions
from annotator.home.screens.benchmarks import free_slug, strategies
from annotator.suggestions.actions.suggestions import choose_strategy

TEMPLATE = "home/settings.html"


class SettingsForm(forms.Form):
    """What owners and admins decide. People per document and the adjudicator's part are on the team page."""

    name = forms.CharField(max_length=actions.MAX_NAME, label="Name", help_text="The address doesn’t change.")
    description = forms.CharField(
        max_length=actions.MAX_DESCRIPTION, required=False, label="Description", widget=forms.Textarea({"rows": 3})
    )
    strategy = forms.ChoiceField(
        choices=strategies,
        required=False,
        label="Suggestions",
        help_text="The strategy for documents that are imported from now on. Runs in progress aren’t affected.",
    )
    corpus = forms.ModelChoiceField(
        Corpus.objects.none(), required=False, empty_label="None", label="Corpus",
        help_text="Where evidence is retrieved from. Existing evidence stays.",
    )  # fmt: skip
    asks_reliable = forms.BooleanField(required=False, label="Ask whether each source is reliable")
    asks_sufficient = forms.BooleanField(required=False, label="Ask whether each passage is sufficient on its own")
    learns = forms.BooleanField(required=False, label="Suggest stances and types learned from this benchmark’s gold")

    def __init__(self, corpora: QuerySet[Corpus], data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        cast("forms.ModelChoiceField[Corpus]", self.fields["corpus"]).queryset = corpora


@require_http_methods(["GET", "POST"])
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The form, followed by what only owners can do."""
    benchmark = managed_benchmark(request, slug)
    user = person(request)
    initial = {name: getattr(benchmark, name) for name in SettingsForm.base_fields}
    form = SettingsForm(corpora_for(user), request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        strategy = data.pop("strategy")
        actions.change_settings(benchmark, by=user, **data)
        if strategy != benchmark.strategy:
            choose_strategy(
                benchmark,
                strategy=strategy,
                parameters={},
                budget_tokens=benchmark.budget_tokens,
                budget_money=benchmark.budget_money,
                by=user,
            )
        messages.success(request, "The settings were saved.")
        return redirect("settings", slug)
    context: dict[str, Any] = page_of_benchmark(request, benchmark, "Settings") | {
        "form": form,
        "texts": [form[name] for name in ("name", "description", "strategy", "corpus")],
        "checks": [form[name] for name in ("asks_reliable", "asks_sufficient", "learns")],
        "owns": rules.can_own(user, benchmark),
        "can_create": rules.can_create_benchmark(user),
        "documents": benchmark.documents.filter(twin_of__isnull=True).count(),
    }
    return render(request, TEMPLATE, context, status=422 if form.errors else 200)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, what: str) -> HttpResponse:
    """Archive, unarchive, copy or delete."""
    benchmark = managed_benchmark(request, slug)
    user = person(request)
    if what == "archive":
        actions.archive(benchmark, by=user)
        messages.success(request, f"{benchmark} is archived. No new work is assigned in it.")
    elif what == "unarchive":
        actions.take_out_of_archive(benchmark, by=user)
        messages.success(request, f"{benchmark} is active again.")
    elif what == "copy":
        return _copy(request, benchmark)
    elif what == "delete":
        actions.delete_benchmark(benchmark, typed=request.POST.get("name", ""), by=user)
        messages.success(request, f"{benchmark} was deleted.")
        return redirect("benchmarks")
    else:
        raise Http404(f"A benchmark cannot “{what}”.")
    return redirect("settings", slug)


def _copy(request: HttpRequest, benchmark: Benchmark) -> HttpResponse:
    name = request.POST.get("name", "").strip()
    slug = free_slug(name)
    if not slug:
        raise BadValueError("Give the copy a name with at least one Latin letter or digit.")
    team = request.POST.get("team") == "yes"
    try:
        copy = actions.copy_benchmark(benchmark, slug=slug, name=name, with_team=team, by=person(request))
    except IntegrityError:
        raise BadValueError("Someone just created a benchmark with this name. Submit the form again.") from None
    messages.success(request, f"{copy} was created. Import documents next.")
    return redirect("benchmark", copy.slug)
