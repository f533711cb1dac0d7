"""The guidelines of a benchmark, to be read, with an anchor for each heading; owners write a new version."""

from __future__ import annotations

import re
from dataclasses import dataclass

import nh3
from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_http_methods
from markdown_it import MarkdownIt

from annotator import rules
from annotator.actions.benchmarks import publish_guidelines
from annotator.models import Benchmark, Guidelines
from annotator.screens.benchmarks import page_of_benchmark
from annotator.screens.common import benchmark_for, person, speaks_errors

MAX_TEXT = 200_000  # characters
TAGS = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "em", "strong", "code", "pre", "blockquote", "hr", "br",
    "a", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the guidelines; ``level`` 1 to 6."""

    anchor: str
    text: str
    level: int


def anchor_of(heading: str) -> str:
    """The slug by which screens point at a heading: "Stance: refute" is stance-refute."""
    return re.sub(r"[^a-z]+", "-", heading.lower()).strip("-")


def rendered(text: str) -> tuple[SafeString, list[Heading]]:
    """Markdown as clean HTML, and its headings in order. Raw HTML in the text is shown as text; a heading that comes
    twice gets a number behind its anchor."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    headings: list[Heading] = []
    used: dict[str, int] = {}
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type != "heading_open":
            continue
        words = "".join(child.content for child in inline.children or [])
        anchor = anchor_of(words) or "heading"
        used[anchor] = used.get(anchor, 0) + 1
        if used[anchor] > 1:
            anchor = f"{anchor}-{used[anchor]}"
        opening.attrSet("id", anchor)
        headings.append(Heading(anchor, words, int(opening.tag[1])))
    html = nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=TAGS,
        attributes={"a": {"href", "title"}, **{tag: {"id"} for tag in HEADINGS}},
        url_schemes={"http", "https", "mailto"},
    )
    return mark_safe(html), headings


class GuidelinesForm(forms.Form):
    """The whole text of a new version."""

    text = forms.CharField(
        max_length=MAX_TEXT,
        strip=False,
        label="Guidelines, in Markdown",
        help_text="Saved as a new version; annotations remember the version they were begun with.",
        widget=forms.Textarea(attrs={"rows": 28, "spellcheck": "true", "dir": "auto"}),
    )


def _chosen(request: HttpRequest, benchmark: Benchmark) -> Guidelines | None:
    """The version named in the address, else the newest; None where there is none."""
    versions = Guidelines.objects.filter(benchmark=benchmark).select_related("created_by").order_by("-number")
    number = request.GET.get("version", "")
    if number:
        return get_object_or_404(versions, number=int(number) if number.isdecimal() and len(number) < 9 else 0)
    return versions.first()


@require_http_methods(["GET", "POST"])
@speaks_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """Read the guidelines; ``?edit`` and POST write a new version, for owners and admins."""
    benchmark, user = benchmark_for(request, slug), person(request)
    form: GuidelinesForm | None = None
    version = _chosen(request, benchmark)
    if request.method == "POST" or "edit" in request.GET:
        rules.check_manage(user, benchmark)
        form = GuidelinesForm(request.POST or None, initial={"text": version.text if version else ""})
        if request.method == "POST" and form.is_valid():
            publish_guidelines(benchmark=benchmark, text=form.cleaned_data["text"], by=user)
            return redirect("guidelines", slug=benchmark.slug)
    html, headings = rendered(version.text) if version else (mark_safe(""), [])
    context = page_of_benchmark(request, benchmark, "Guidelines") | {
        "version": version,
        "versions": Guidelines.objects.filter(benchmark=benchmark).order_by("-number")[:20],
        "html": html,
        "headings": [heading for heading in headings if heading.level in (2, 3)],
        "form": form,
    }
    return render(request, "guidelines/show.html", context, status=422 if form and form.errors else 200)
