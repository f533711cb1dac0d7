"""The form for a release, a preview of its splits, and a draft changelog from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.vocabulary import GroupedBy
from annotator.exchange.actions.releases import MAX_SEED, ReleaseRequest, draw_splits, start_release
from annotator.exchange.exports.release_texts import LICENCES
from annotator.exchange.models import Release
from annotator.exchange.queries.releases import (
    changes_since,
    figures_of,
    gold_rows,
    groupings_of,
    latest_release,
    ready_releases,
)
from annotator.exchange.releases.splits import Shares, SplitError
from annotator.exchange.screens.releases import SplitRow, split_rows

TEMPLATE = "exchange/releases/new.html"
RELEASE, ERRATUM = "release", "erratum"
PSEUDONYMS, NAMED = "pseudonyms", "named"
ANEW = "anew"


class ReleaseForm(forms.Form):
    """The fields of a release. Some choices depend on the benchmark."""

    version = forms.CharField(
        max_length=40, label="Version", help_text="Numbers and dots, such as 1.0 or 2026.1. A version cannot be reused."
    )
    title = forms.CharField(max_length=200, label="Title", help_text="The title used in citations.")
    authors = forms.CharField(
        label="Authors",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One per line as “Family, Given”, or a group’s full name.",
    )
    licence = forms.CharField(
        max_length=100,
        label="License of the annotations",
        widget=forms.TextInput(attrs={"list": "licences"}),
        help_text="An SPDX identifier or a URL.",
    )
    kind = forms.ChoiceField(
        choices=[(RELEASE, "New data"), (ERRATUM, "Erratum: corrects an error")],
        initial=RELEASE,
        widget=forms.RadioSelect,
        label="Type",
    )
    mends = forms.ChoiceField(required=False, label="Release to correct")
    changelog = forms.CharField(required=False, label="What changed")
    train = forms.IntegerField(min_value=0, max_value=100, label="Train", initial=80)
    dev = forms.IntegerField(min_value=0, max_value=100, label="Dev", initial=10)
    test = forms.IntegerField(min_value=0, max_value=100, label="Test", initial=10)
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        initial=1,
        label="Seed",
        help_text="The same seed always creates the same splits.",
    )
    grouped_by = forms.ChoiceField(
        label="Keep together", help_text="Documents that share this value are always in the same split."
    )
    keeps = forms.ChoiceField(
        initial=ANEW,
        label="Keep splits from",
        help_text="Documents from that release keep their split; new documents fill the remaining shares.",
    )
    people = forms.ChoiceField(
        choices=[(PSEUDONYMS, "Pseudonyms"), (NAMED, "Names (with their consent)")],
        initial=PSEUDONYMS,
        label="People in the full record",
        help_text="The Touchstone file records who labeled what.",
    )

    pages = forms.BooleanField(
        required=False,
        label="Include the saved pages (WACZ)",
        help_text="The pages that the evidence comes from. They belong to their publishers: check what you may share.",
    )

    def __init__(self, *args: Any, releases: list[Release], groupings: list[GroupedBy], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.releases = {release.public_id: release for release in releases}
        named = [(key, str(release.version)) for key, release in self.releases.items()]
        self.fields["mends"].choices = [("", "Choose"), *named]  # type: ignore[attr-defined]
        self.fields["keeps"].choices = [(ANEW, "None: create new splits"), *named]  # type: ignore[attr-defined]
        self.fields["keeps"].required = bool(releases)  # not shown for the first release
        words = [(by.value, by.label) for by in groupings]
        self.fields["grouped_by"].choices = words  # type: ignore[attr-defined]

    def wish(self) -> ReleaseRequest:
        """The request from the form. Raises SplitError if the shares don't add up."""
        data = self.cleaned_data
        is_erratum = data["kind"] == ERRATUM
        return ReleaseRequest(
            version=data["version"],
            title=data["title"],
            licence=data["licence"],
            authors=data["authors"].splitlines(),
            shares=Shares(data["train"], data["dev"], data["test"]),
            changelog=data["changelog"],
            is_erratum=is_erratum,
            mends=self.releases.get(data["mends"]) if is_erratum else None,
            seed=data["seed"],
            grouped_by=GroupedBy(data["grouped_by"]),
            keeps_splits_of=self.releases.get(data["keeps"]),
            names_people=data["people"] == NAMED,
            with_pages=data["pages"],
        )


@dataclass(frozen=True, slots=True)
class ReleasePreview:
    """The current splits with remarks, or why they can't be drawn."""

    rows: list[SplitRow]
    problem: str = ""
    remarks: tuple[str, ...] = ()


@require_http_methods(["GET", "POST"])
@render_domain_errors
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """The form; ``part=preview`` and ``part=changes`` are its fragments."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    releases = list(ready_releases(benchmark))
    groupings = groupings_of(gold_rows(benchmark))
    part = request.POST.get("part") or request.GET.get("part", "")
    if part == "preview":
        form = ReleaseForm(request.GET, releases=releases, groupings=groupings)
        return render(request, f"{TEMPLATE}#preview", {"preview": preview_of(benchmark, form)})
    if part == "changes":
        return _changes(request, benchmark)
    if request.method == "POST":
        form = ReleaseForm(request.POST, releases=releases, groupings=groupings)
        if form.is_valid():
            try:
                release = start_release(benchmark=benchmark, wish=form.wish(), by=person(request))
            except (BadValueError, SplitError) as refusal:
                form.add_error(None, str(refusal))
            else:
                return redirect("release", slug, release.public_id)
        preview = preview_of(benchmark, form)
    else:
        initial = initial_of(benchmark)
        form = ReleaseForm(initial=initial, releases=releases, groupings=groupings)
        shown = {name: field.initial for name, field in form.fields.items()} | initial
        preview = preview_of(benchmark, ReleaseForm(shown, releases=releases, groupings=groupings))
    context = page_of_benchmark(request, benchmark, "Releases") | {
        "form": form,
        "preview": preview,
        "latest": releases[0] if releases else None,
        "licences": LICENCES,
    }
    return render(request, TEMPLATE, context, status=422 if form.errors else 200)


def _changes(request: HttpRequest, benchmark: Benchmark) -> HttpResponse:
    """The changelog as typed, followed by what the data says."""
    latest = latest_release(benchmark)
    typed = request.POST.get("changelog", "").rstrip()
    if latest is not None:
        drafted = "\n".join(f"- {line}" for line in changes_since(latest).lines())
        typed = f"{typed}\n\n{drafted}".strip() if drafted not in typed else typed
    return render(request, f"{TEMPLATE}#changelog", {"benchmark": benchmark, "text": typed, "latest": latest})


def initial_of(benchmark: Benchmark) -> dict[str, Any]:
    """The form's initial values: those of the latest release, with the next version."""
    latest = latest_release(benchmark)
    if latest is None:
        found: dict[str, Any] = {"version": "1.0", "title": benchmark.name, "licence": LICENCES[0], "authors": ""}
        return found | {"grouped_by": GroupedBy.NOTHING.value}
    return {
        "version": next_version(latest.version),
        "title": latest.title,
        "licence": latest.licence,
        "authors": "\n".join(latest.authors),
        "train": latest.share_train,
        "dev": latest.share_dev,
        "test": latest.share_test,
        "seed": latest.seed,
        "grouped_by": latest.grouped_by,
        "keeps": latest.public_id,
        "people": NAMED if latest.names_people else PSEUDONYMS,
        "pages": latest.with_pages,
    }


def next_version(version: str) -> str:
    """The version after this one: the second number increases, so "1.0.2" becomes "1.1"; "2.0-rc1" becomes "2.0"."""
    figures, _, rest = version.partition("-")
    first, *more = figures.split(".")
    return figures if rest else f"{first}.{int(more[0]) + 1 if more else 1}"


def preview_of(benchmark: Benchmark, form: ReleaseForm) -> ReleasePreview:
    """The splits that the form would give; its other fields may be incomplete."""
    form.is_valid()
    data = form.cleaned_data
    asked = ("train", "dev", "test", "seed", "grouped_by", "keeps")
    if any(name not in data for name in asked):
        return ReleasePreview([], "Enter whole numbers: shares from 0 to 100, and a seed.")
    try:
        wish = ReleaseRequest(
            version="", title="", licence="", authors=(),
            shares=Shares(data["train"], data["dev"], data["test"]),
            seed=data["seed"],
            grouped_by=GroupedBy(data["grouped_by"]),
            keeps_splits_of=form.releases.get(data["keeps"]),
        )  # fmt: skip
        splits = draw_splits(benchmark, wish)
    except (SplitError, BadValueError) as refusal:
        return ReleasePreview([], str(refusal))
    rows = split_rows({split.value: each.as_json() for split, each in figures_of(benchmark, splits).items()})
    remarks = [
        f"{row.label} is empty although its share is {wish.shares.of(row.split)}%. There are too few documents or too "
        "few groups."
        for row in rows
        if not row.documents and wish.shares.of(row.split)
    ]
    return ReleasePreview(rows, remarks=tuple(remarks))
