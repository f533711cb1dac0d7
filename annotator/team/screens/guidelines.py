"""A benchmark's guidelines: read by all members, with an anchor for each heading; published by owners and admins;
compared between versions; and as definitions next to the work."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import nh3
from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from markdown_it import MarkdownIt

from annotator.core import rules
from annotator.core.actions.guidelines import StaleGuidelinesError, mark_read, publish_guidelines
from annotator.core.definitions import Definition, topics
from annotator.core.models import Benchmark, Guidelines, User
from annotator.core.queries.guidelines import newest_of, news_for, versions_of
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, render_domain_errors, whole_number
from annotator.core.texts.markdown_diff import compare, stretches
from annotator.core.vocabulary import Stage

MAX_TEXT = 200_000  # characters
MAX_NOTE = 300
TAGS = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "em", "strong", "code", "pre", "blockquote", "hr", "br",
    "a", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}

# --- markdown -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the guidelines; ``level`` 1 to 6."""

    anchor: str
    text: str
    level: int


def anchor_of(heading: str) -> str:
    """The anchor of a heading: "Stance: refute" becomes stance-refute."""
    return re.sub(r"[^a-z]+", "-", heading.lower()).strip("-")


def rendered(text: str) -> tuple[SafeString, list[Heading]]:
    """Markdown as clean HTML, and its headings in order. Raw HTML is shown as text. A repeated heading gets a number
    after its anchor."""
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


# --- reading --------------------------------------------------------------------------------------


def _version(benchmark: Benchmark, raw: str) -> Guidelines:
    """The version with this number, or 404."""
    versions = Guidelines.objects.filter(benchmark=benchmark).select_related("created_by")
    return get_object_or_404(versions, number=int(raw) if raw.isdecimal() and len(raw) < 9 else 0)


@require_http_methods(["GET", "POST"])
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """Read the guidelines, or an earlier version with ``?version``; ``?edit`` and POST publish a new one."""
    benchmark, user = benchmark_for(request, slug), person(request)
    if request.method == "POST" or "edit" in request.GET:
        rules.check_manage(user, benchmark)
        return _edit(request, benchmark, user)
    newest = newest_of(benchmark)
    raw = request.GET.get("version", "")
    version = _version(benchmark, raw) if raw else newest
    html, headings = rendered(version.text) if version else (mark_safe(""), [])
    context = page_of_benchmark(request, benchmark, "Guidelines") | {
        "version": version,
        "newest": newest,
        "html": html,
        "headings": [heading for heading in headings if heading.level in (2, 3)],
    }
    return render(request, "team/guidelines/show.html", context)


@require_GET
@render_domain_errors
def versions(request: HttpRequest, slug: str) -> HttpResponse:
    """The list of versions. ``?from`` and ``?to`` select two to compare (by default, the newest and the one before)."""
    benchmark = benchmark_for(request, slug)
    listed = versions_of(benchmark)
    newest = listed[0].number if listed else 0
    context = page_of_benchmark(request, benchmark, "Guidelines") | {"versions": listed, "old": None, "new": None}
    if len(listed) > 1:
        new = _version(benchmark, request.GET.get("to", "") or str(newest))
        old = _version(benchmark, request.GET.get("from", "") or str(max(new.number - 1, 1)))
        blocks = compare(old.text, new.text)
        context |= {
            "old": old,
            "new": new,
            "stretches": stretches(blocks),
            "differs": any(block.kind != "same" for block in blocks),
            "news": next((news for news in news_for(person(request), benchmark) if news.number == new.number), None),
        }
    return render(request, "team/guidelines/versions.html", context)


@require_POST
@render_domain_errors
def read(request: HttpRequest, slug: str) -> HttpResponse:
    """Record that the changes in a version were read. Its note disappears for good."""
    benchmark = benchmark_for(request, slug)
    mark_read(benchmark=benchmark, number=whole_number(request, "number"), by=person(request))
    return HttpResponse() if is_htmx(request) else redirect("guidelines", slug=benchmark.slug)


def shown(definition: Definition) -> dict[str, Any]:
    """A definition with its text as HTML, without anchors, because the page around the sheet may have the same ones."""
    html = re.sub(r'(<h[1-6]) id="[^"]*"', r"\1", rendered(definition.text)[0])
    return {"title": definition.title, "html": mark_safe(html), "is_ours": definition.is_ours}


@require_GET
@render_domain_errors
def definitions(request: HttpRequest, slug: str, stage: str) -> HttpResponse:
    """The definitions of a stage's questions and labels: a page, and with htmx the content of the sheet next to the
    work."""
    if stage not in set(Stage):
        raise Http404(f"There is no stage “{stage}”.")
    benchmark = benchmark_for(request, slug)
    version = newest_of(benchmark)
    context = page_of_benchmark(request, benchmark, "Guidelines") | {
        "stage": Stage(stage),
        "version": version,
        "topics": [
            {
                "key": topic.key,
                "fields": " ".join(topic.fields),
                "definition": shown(topic.definition),
                "labels": [shown(label) for label in topic.labels],
            }
            for topic in topics(Stage(stage), version.text if version else "")
        ],
    }
    template = "team/guidelines/definitions.html"
    return render(request, f"{template}#sheet" if is_htmx(request) else template, context)


# --- writing --------------------------------------------------------------------------------------


class GuidelinesForm(forms.Form):
    """The complete text of a new version, a sentence on what changed, and the version it is based on."""

    text = forms.CharField(
        max_length=MAX_TEXT,
        strip=False,
        label="Guidelines, in Markdown",
        help_text="A section headed “Stance” or “Stance: refute” is shown next to that question (key H).",
        widget=forms.Textarea(attrs={"rows": 28, "spellcheck": "true", "dir": "auto"}),
    )
    note = forms.CharField(
        max_length=MAX_NOTE,
        required=False,
        label="What changed",
        help_text="One sentence for annotators, shown in the list of versions.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    based_on = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        if not text.strip():
            raise forms.ValidationError("The guidelines are empty. At a minimum, define what a claim is.")
        return text

    def clean_based_on(self) -> int:
        """A missing or invalid number counts as none: the sender sees the current version and loses nothing."""
        raw: str = self.cleaned_data["based_on"]
        return int(raw) if raw.isdecimal() and len(raw) < 9 else 0


def _edit(request: HttpRequest, benchmark: Benchmark, user: User) -> HttpResponse:
    """The form. POST publishes, or with ``preview`` shows the rendered text. If another version was published in
    between, the text is shown next to it, ready to be sent again."""
    newest = newest_of(benchmark)
    typed = {name: request.POST.get(name, "") for name in ("text", "note", "based_on")}
    if "preview" in request.POST:
        if is_htmx(request):
            return render(request, "team/guidelines/edit.html#preview", _preview(typed["text"]))
        form = GuidelinesForm(initial=typed)
        return render(request, "team/guidelines/edit.html", _edit_page(request, benchmark, newest, form, typed["text"]))
    text = newest.text if newest else ""
    form = GuidelinesForm(request.POST or None, initial={"text": text, "based_on": newest.number if newest else 0})
    if request.method == "POST" and form.is_valid():
        try:
            publish_guidelines(benchmark=benchmark, by=user, **form.cleaned_data)
        except StaleGuidelinesError as refusal:
            base = Guidelines.objects.filter(benchmark=benchmark, number=form.cleaned_data["based_on"]).first()
            form = GuidelinesForm(initial=typed | {"based_on": refusal.newest.number})
            context = _edit_page(request, benchmark, refusal.newest, form, typed["text"]) | {
                "theirs": refusal.newest,
                "base": base,
                "stretches": stretches(compare(base.text if base else "", refusal.newest.text)),
            }
            return render(request, "team/guidelines/edit.html", context, status=409)
        return redirect("guidelines", slug=benchmark.slug)
    shown = typed["text"] if form.is_bound else text
    context = _edit_page(request, benchmark, newest, form, shown)
    return render(request, "team/guidelines/edit.html", context, status=422 if form.errors else 200)


def _edit_page(
    request: HttpRequest, benchmark: Benchmark, newest: Guidelines | None, form: GuidelinesForm, text: str
) -> dict[str, Any]:
    return page_of_benchmark(request, benchmark, "Guidelines") | {"newest": newest, "form": form} | _preview(text)


def _preview(text: str) -> dict[str, Any]:
    text = text.replace("\r\n", "\n")
    html = rendered(text[:MAX_TEXT])[0]
    return {"html": html, "words": len(text.split()), "length": len(text), "most": MAX_TEXT}
