"""The list of a person's benchmarks, the form for a new one, and what all pages of a benchmark share."""

from __future__ import annotations

from django import forms
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_http_methods

from annotator.core import rules
from annotator.core.actions.benchmarks import MAX_PEOPLE, create_benchmark
from annotator.core.models import Benchmark, Corpus, User
from annotator.core.queries.membership import benchmarks_of, memberships_of
from annotator.core.screens.benchmark_page import MANAGES, READS_GOLD
from annotator.core.screens.common import person, render_domain_errors
from annotator.home.queries.benchmark_rows import benchmark_rows


def strategies() -> list[tuple[str, str]]:
    """The available strategies, each with the first sentence of its summary. The page of runs says what they still
    need."""
    from pipeline.catalogue import choices  # imported late because strategies load slowly

    offered = [(each.name, f"{each.label}: {each.summary.split('. ')[0].rstrip('.')}") for each in choices()]
    return [*offered, ("", "None: annotators start from the unannotated response")]


@require_GET
@render_domain_errors
def index(request: HttpRequest) -> HttpResponse:
    """A row for each of the person's benchmarks: the home of managers and researchers."""
    user = person(request)
    roles = memberships_of(user).roles
    rows = [(row, _right(user, roles.get(row.benchmark.pk))) for row in benchmark_rows(benchmarks_of(user))]
    context = {
        "rows": rows,
        "manages_any": any(right == MANAGES for _, right in rows),
        "can_create": rules.can_create_benchmark(user),
        "username": user.username,
    }
    return render(request, "home/index.html", context)


def _right(user: User, role: str | None) -> str:
    """What the person does in a benchmark, for the links in its row."""
    if user.is_superuser or role in rules.ADMIN_ROLES:
        return MANAGES
    return READS_GOLD if role in rules.READ_GOLD_ROLES else ""


class BenchmarkForm(forms.Form):
    """Name, people per document, strategy and corpus. The slug is derived from the name."""

    name = forms.CharField(max_length=200, label="Name", help_text="The displayed name, for example “Landmarks pilot”.")
    overlap = forms.IntegerField(
        min_value=1,
        max_value=MAX_PEOPLE,
        initial=2,
        label="People per document",
        help_text="Two people annotate independently and then adjudicate, which makes the gold reliable. "
        "With 1, submitting a stage completes it. You can change this until someone starts.",
    )
    strategy = forms.ChoiceField(
        choices=strategies,
        initial="offline",
        required=False,
        label="Suggestions",
        help_text="Prefill documents before annotators see them.",
    )
    corpus = forms.ModelChoiceField(
        Corpus.objects.order_by("name"),
        required=False,
        empty_label="None yet",
        label="Corpus",
        help_text="Where evidence is retrieved from. You can upload a corpus later, under Suggestions.",
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if not slugify(name):
            raise forms.ValidationError("Use at least one Latin letter or digit, because the URL is built from it.")
        return name


def free_slug(name: str) -> str:
    """The name as a slug, "" if it has no usable character. If the slug is taken, a number is added."""
    base = slugify(name)[:70]
    slug, number = base, 2
    while slug and Benchmark.objects.filter(slug=slug).exists():
        slug, number = f"{base}-{number}", number + 1
    return slug


@require_http_methods(["GET", "POST"])
@render_domain_errors
def create(request: HttpRequest) -> HttpResponse:
    """Create a benchmark; the person who creates it owns it. Importing documents comes next."""
    user = person(request)
    rules.check_create_benchmark(user)
    form = BenchmarkForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            data = form.cleaned_data
            benchmark = create_benchmark(
                slug=free_slug(data["name"]),
                name=data["name"],
                by=user,
                strategy=data["strategy"],
                corpus=data["corpus"],
                overlap=data["overlap"],
            )
        except IntegrityError:
            form.add_error("name", "Someone just created a benchmark with this name. Submit the form again.")
        else:
            return redirect("import", slug=benchmark.slug)
    context = {"form": form}
    return render(request, "home/create.html", context, status=422 if form.errors else 200)
