"""Releases: the list, one release with its progress or contents, and the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from annotator.core import rules
from annotator.core.charts import Part, Stack, StackLook, bars, in_words, parts
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, problem, render_domain_errors
from annotator.core.vocabulary import Factuality, GroupedBy, ReleaseState, Split
from annotator.exchange.actions.releases import ReleaseDamagedError, cancel_release, take_release
from annotator.exchange.exports.release_files import blocks_of
from annotator.exchange.exports.release_texts import LICENCES, bibtex, changes_of, citation
from annotator.exchange.models import Release
from annotator.exchange.queries.export import count_documents
from annotator.exchange.queries.releases import mended_by, pace_of, releases_of
from annotator.exchange.releases.differences import difference_from

# The drawing of each split in components/stacked.html, and of its verdicts.
_SPLITS = {Split.TRAIN: "work", Split.DEV: "waiting", Split.TEST: "agreed"}
_VERDICTS = {
    Factuality.TRUE: StackLook(Factuality.TRUE.label, "support", "✓"),
    Factuality.FALSE: StackLook(Factuality.FALSE.label, "refute", "✕"),
    Factuality.NOT_ENOUGH_EVIDENCE: StackLook(Factuality.NOT_ENOUGH_EVIDENCE.label, "partial", "◐"),
}


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One split: its share of the whole, and the verdicts on its claims."""

    split: Split
    documents: int
    percent: int
    claims: int
    verdicts: Stack

    @property
    def label(self) -> str:
        return self.split.label


def split_rows(splits: Mapping[str, Any]) -> list[SplitRow]:
    """The splits in ``Release.splits``, in order."""
    whole = sum(each["documents"] for each in splits.values()) or 1
    return [
        SplitRow(
            split,
            documents=splits[split]["documents"],
            percent=round(100 * splits[split]["documents"] / whole),
            claims=splits[split]["claims"],
            verdicts=Stack(
                f"Verdicts in {split.label.lower()}",
                bars([(look, splits[split]["labels"].get(word.value, 0)) for word, look in _VERDICTS.items()]),
            ),
        )
        for split in Split
        if split in splits
    ]


def _split_bar(rows: list[SplitRow]) -> dict[str, str | list[Part]]:
    """All splits in one bar: its parts, and a description ("38 train, 5 dev, 4 test")."""
    return {
        "parts": parts([(_SPLITS[row.split], row.documents) for row in rows], sum(row.documents for row in rows)),
        "words": in_words(((row.documents, row.label.lower()) for row in rows), ""),
    }


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The releases of a benchmark, newest first."""
    benchmark = benchmark_for(request, slug)
    rules.check_export(person(request), benchmark)
    rows = [
        {"release": release, "bar": _split_bar(split_rows(release.splits)), "mended_by": mended_by(release)}
        for release in releases_of(benchmark)
    ]
    context = page_of_benchmark(request, benchmark, "Releases") | {
        "rows": rows,
        "gold": count_documents(benchmark),
    }
    return render(request, "exchange/releases/index.html", context)


@require_http_methods(["GET", "POST"])
@render_domain_errors
def show(request: HttpRequest, slug: str, release_id: str) -> HttpResponse:
    """The progress, polled once a second (htmx), then the contents; POST cancels the making."""
    benchmark = benchmark_for(request, slug)
    rules.check_export(person(request), benchmark)
    release = get_object_or_404(
        Release.objects.select_related("by", "mends", "since", "keeps_splits_of", "benchmark").prefetch_related(
            "mended_by"
        ),
        benchmark=benchmark,
        public_id=release_id,
    )
    if request.method == "POST":
        if request.POST.get("what") != "cancel":
            raise Http404
        cancel_release(release, by=person(request))
        return redirect("release", slug, release_id)
    context: dict[str, Any] = {"benchmark": benchmark, "release": release, "pace": pace_of(release)}
    context["is_open"] = release.state == ReleaseState.MAKING
    context["can_manage"] = rules.can_manage(person(request), benchmark)
    if is_htmx(request) and context["is_open"]:
        return render(request, "exchange/releases/show.html#numbers", context)
    if is_htmx(request):
        # Finished: reloads the whole page and stops polling.
        return HttpResponse(headers={"HX-Refresh": "true"})
    context |= page_of_benchmark(request, benchmark, "Releases")
    if release.is_ready:
        context |= _contents(release)
    return render(request, "exchange/releases/show.html", context)


def _contents(release: Release) -> dict[str, Any]:
    """The contents of a ready release's page."""
    return {
        "rows": split_rows(release.splits),
        "changes": changes_of(release),
        "difference": difference_from(release.difference).lines() if release.difference is not None else [],
        "mended_by": mended_by(release),
        "citation": citation(release),
        "bibtex": bibtex(release),
        "grouped_by": "" if release.grouped_by == GroupedBy.NOTHING else GroupedBy(release.grouped_by).label.lower(),
        "licence_url": f"https://spdx.org/licenses/{release.licence}.html" if release.licence in LICENCES else "",
    }


@require_GET
@render_domain_errors
def download(request: HttpRequest, slug: str, release_id: str) -> HttpResponse:
    """The archive, after checking its hash. A link, so that scripts can follow it."""
    benchmark = benchmark_for(request, slug)
    rules.check_export(person(request), benchmark)
    release = get_object_or_404(Release.objects.select_related("benchmark"), benchmark=benchmark, public_id=release_id)
    try:
        path = take_release(release, by=person(request))
    except ReleaseDamagedError as damage:
        return problem(request, str(damage), status=500)
    name = f"{benchmark.slug}-{release.version}.zip"
    response = StreamingHttpResponse(
        blocks_of(path),
        content_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Length": str(release.size),
            "ETag": f'"{release.file_sha256}"',
        },
    )
    return cast(HttpResponse, response)  # not a subclass, but every middleware treats it the same
