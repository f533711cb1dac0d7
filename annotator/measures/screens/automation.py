"""What automation did: what became of suggestions, whether they moved labels, where its evidence sufficed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.core import rules
from annotator.core.actions.downloads import note_download
from annotator.core.charts import ChartSpan, Stack, StackLook, bars, percent, span
from annotator.core.models import User
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_of
from annotator.measures.queries.automation import kept_automation_of
from annotator.measures.suggestion_quality.automation import Automation
from annotator.measures.suggestion_quality.handling import THINGS, Handled, HandledSuggestions
from annotator.measures.suggestion_quality.influence import Fate, Share
from annotator.measures.suggestion_quality.rows import Maker
from annotator.suggestions.queries.runs import strategy_label
from pipeline.metrics.agreement import Estimate

# How each word is drawn: a part of components/stacked.html. The numbers stand beside it.
KINDS = {
    HandledSuggestions.UNCHANGED: "agreed",
    HandledSuggestions.REVISED: "work",
    HandledSuggestions.REMOVED: "refute",
    HandledSuggestions.ADDED: "neutral",
}
FATE_KINDS = {Fate.SAME: "agreed", Fate.KEPT: "work", Fate.ADOPTED: "refute", Fate.OTHER: "neutral"}
# Factcheck-Bench, section 3.3.
PAPER_ENOUGH = (439, 661)
TABLES = ("handled", "people", "influence", "first-labels", "evidence")


@dataclass(frozen=True, slots=True)
class FirstLabelDifference:
    """One field of one maker: both shares, and their difference in points, drawn on an axis from -100 to 100."""

    maker: str
    label: str
    shown: str
    blind_first: str
    drawn: ChartSpan


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The page; ``?table=`` gives one of its tables as CSV. Who did what is for owners and admins."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    rules.check_see_statistics(user, benchmark)
    found = kept_automation_of(benchmark)
    sees_people = rules.can_manage(user, benchmark)
    names = {one.pk: str(one) for one in User.objects.filter(pk__in=found.people)} if sees_people else {}
    asked = request.GET.get("table", "")
    if asked:
        if asked not in TABLES or (asked == "people" and not sees_people):
            raise Http404(f"Unknown table “{asked}”.")
        note_download(f"suggestions, {asked}", by=person(request), benchmark=benchmark)
        return csv_of(rows_of(found, asked, names), f"{slug}-automation-{asked}")
    context = {
        "found": found,
        "anything": bool(found.handled or found.blind_first.works or found.sufficed),
        "words": list(HandledSuggestions),
        "fate_words": list(Fate),
        "handled": [(name_of(maker), stacks_of(each)) for maker, each in found.handled.items()],
        "blind_first": stacks_of(found.blind_first),
        "people": sorted((names[pk], stacks_of(each)) for pk, each in found.people.items() if pk in names),
        "differences": differences_of(found),
        "fates": [
            Stack(
                THINGS[thing],
                bars([(StackLook(fate.label, FATE_KINDS[fate]), number) for fate, number in counts.items()]),
            )
            for thing, counts in found.fates.items()
        ],
        "sufficed": _sufficed(found),
        "paper_enough": f"{PAPER_ENOUGH[0]} of {PAPER_ENOUGH[1]} ({percent(PAPER_ENOUGH[0] / PAPER_ENOUGH[1])})",
    }
    return render(request, "measures/automation.html", page_of_benchmark(request, benchmark, "Impact") | context)


def name_of(maker: Maker) -> str:
    """As people know it: strategy and model, or the learned suggester."""
    return ", ".join(filter(None, (strategy_label(maker.strategy), maker.model))) if maker.strategy else maker.by


def stacks_of(handled: Handled) -> list[Stack]:
    """A line for each thing, in the order of the steps."""
    return [
        Stack(THINGS[thing], bars([(StackLook(done.label, kind), counts[done]) for done, kind in KINDS.items()]))
        for thing, counts, _ in handled.rows()
    ]


def differences_of(found: Automation) -> list[FirstLabelDifference]:
    """A line for each field and maker."""
    rows = []
    for each in found.influences:
        if each.difference is None:
            continue
        rows.append(
            FirstLabelDifference(
                name_of(each.maker),
                THINGS[each.thing],
                _share(each.shown),
                _share(each.blind_first),
                span(each.difference, _points(each.difference), lowest=-1.0),
            )
        )
    return rows


def _share(share: Share) -> str:
    value = "–" if share.estimate is None else percent(share.estimate.value)
    return f"{value} of {share.labels:,}"


def _points(estimate: Estimate) -> str:
    """A difference in percentage points with its interval: "+12 (+3 to +20)"."""
    bounds = ""
    if estimate.low is not None and estimate.high is not None:
        bounds = f" ({_signed(estimate.low)} to {_signed(estimate.high)})"
    return f"{_signed(estimate.value)}{bounds}"


def _signed(share: float) -> str:
    points = round(100 * share)
    return f"{points:+d}".replace("-", "−") if points else "0"


def _sufficed(found: Automation) -> list[tuple[str, str, Stack]]:
    return [
        (
            name_of(maker) if maker else "All claims",
            f"{each.enough:,} of {each.asked:,} ({percent(each.share.value)})",
            Stack(
                "Evidence",
                bars(
                    [
                        (StackLook("Sufficient", "agreed"), each.enough),
                        (StackLook("Insufficient", "neutral"), each.asked - each.enough),
                    ]
                ),
            ),
        )
        for maker, each in found.sufficed.items()
    ]


def rows_of(found: Automation, table: str, names: dict[int, str]) -> Iterator[list[Any]]:
    """One table as rows, the heads first."""
    if table in ("handled", "people"):
        yield [
            "made_by" if table == "handled" else "person",
            "thing",
            *(done.value for done in HandledSuggestions),
            "documents",
        ]
        everyone = [(name_of(maker), each) for maker, each in found.handled.items()]
        if table == "handled":
            everyone.append(("blind first vs. all", found.blind_first))
        else:
            everyone = sorted((names[pk], each) for pk, each in found.people.items() if pk in names)
        for who, handled in everyone:
            for thing, counts, documents in handled.rows():
                yield [who, thing, *(counts[done] for done in HandledSuggestions), documents]
    elif table == "influence":
        heads = ["made_by", "thing", "shown", "shown_labels", "blind_first", "blind_first_labels"]
        yield [*heads, "difference", "low", "high"]
        for each in found.influences:
            shown, blind, difference = each.shown.estimate, each.blind_first.estimate, each.difference
            values = [None if one is None else one.value for one in (shown, blind)]
            yield [
                *(name_of(each.maker), each.thing, values[0], each.shown.labels),
                *(values[1], each.blind_first.labels),
                *((difference.value, difference.low, difference.high) if difference else (None, None, None)),
            ]
    elif table == "first-labels":
        yield ["thing", *(fate.value for fate in Fate)]
        for thing, fates in found.fates.items():
            yield [thing, *fates.values()]
    else:
        yield ["made_by", "enough", "asked", "share", "low", "high"]
        for maker, one in found.sufficed.items():
            bounds = (one.share.value, one.share.low, one.share.high)
            yield [name_of(maker) if maker else "all", one.enough, one.asked, *bounds]
