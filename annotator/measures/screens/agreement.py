"""How well people agree: the figures of a benchmark with their charts, the same as tables to download, and each
annotator's own page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from annotator.core import rules
from annotator.core.actions.downloads import note_download
from annotator.core.charts import DotFigure, Dots, Heat, Period, Trend, dots, heat, interval, number, percent, trend
from annotator.core.models import Benchmark, User
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_of
from annotator.core.vocabulary import STAGES, DisagreementReason, Stage
from annotator.measures.agreement.fields import FIELD_WORDS, LABEL_FIELDS, AgreementField
from annotator.measures.agreement.references import REFERENCES, Reference
from annotator.measures.agreement.report import AgreementReport, LabelFigures, Part, StageFigures
from annotator.measures.agreement.tables import TABLES, table_of
from annotator.measures.queries.agreement import (
    AgreementFilter,
    Settled,
    agreement_of,
    members_of,
    newest_settled,
    own_agreement,
    own_settled,
    people_in,
    settled_of,
)

COEFFICIENTS = {
    "percent": "Agreement",
    "alpha": "Krippendorff’s alpha",
    "ac1": "Gwet’s AC1",
    "fleiss": "Fleiss’ kappa",
    "cohen": "Cohen’s kappa",
    "fleiss_gwet": "Fleiss’ kappa, with single labels",
    "ac1_gwet": "Gwet’s AC1, with single labels",
}
YES_NO = (("", "Any"), ("yes", "Yes"), ("no", "No"))


# --- the benchmark's page -------------------------------------------------------------------------


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The figures under the filter in the address."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    rules.check_see_agreement(user, benchmark)
    choices = _choices(benchmark)
    narrowed = _filter(request, choices)
    report = agreement_of(benchmark, narrowed)
    people = people_in(report)
    settled = settled_of(benchmark, narrowed) if rules.can_manage(user, benchmark) else None
    context = page_of_benchmark(request, benchmark, "IAA") | {
        "report": report,
        "narrowed": narrowed,
        "choices": choices,
        "yes_no": YES_NO,
        "stage_options": list(STAGES),
        "blind_first": _word(narrowed.blind_first),
        "cross_annotated": _word(narrowed.cross_annotated),
        "query": urlencode({name: str(value) for name, value in request.GET.items() if value}),
        "stages": [_stage(figures, people) for figures in report.stages],
        "trends": _trends(report.periods),
        "suggestions": [_suggestions(one, other) for one, other in _both(report)],
        "pairs": _by_stage(
            ((f"{_name(people, one)} and {_name(people, other)}", parts))
            for (one, other), parts in report.pairs.items()
        ),
        "batches": _by_stage(
            (_name(choices.batches, batch, "No batch"), parts) for batch, parts in report.batches.items()
        )
        if len(report.batches) > 1
        else [],
        "settled": settled and _settled(settled, people),
        "benchmark_labels_alone": benchmark.overlap == 1,
    }
    return render(request, "measures/agreement/show.html", context)


@require_GET
@render_domain_errors
def download(request: HttpRequest, slug: str) -> HttpResponse:
    """One of the tables under the filter in the address, as CSV: ``?part=`` names it."""
    benchmark = benchmark_for(request, slug)
    rules.check_see_agreement(person(request), benchmark)
    part = request.GET.get("part", "fields")
    if part not in TABLES:
        raise Http404(f"Unknown table “{part}”.")
    choices = _choices(benchmark)
    report = agreement_of(benchmark, _filter(request, choices))
    names = {key: str(each) for key, each in people_in(report).items()}
    rows = table_of(report, part, names, choices.batches)
    note_download(f"agreement, {part}", by=person(request), benchmark=benchmark)
    return csv_of(rows, f"{benchmark.slug}-agreement-{part}")


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filter offers, by primary key (three queries)."""

    people: dict[int, User]
    groups: dict[int, str]
    batches: dict[int, str]


def _choices(benchmark: Benchmark) -> Choices:
    return Choices(
        {each.pk: each for each in members_of(benchmark)},
        dict(benchmark.groups.values_list("pk", "name")),
        dict(benchmark.batches.values_list("pk", "name")),
    )


def _filter(request: HttpRequest, choices: Choices) -> AgreementFilter:
    """The filter in the address; what is not there to choose is left aside."""
    given = request.GET
    stage, by = given.get("stage", ""), given.get("by", "")
    one, other = (_chosen(given.get(name, ""), choices.people) for name in ("person", "partner"))
    people = [each for each in (one, other) if each is not None]
    return AgreementFilter(
        stage=stage if stage in set(Stage) else "",
        people=tuple(dict.fromkeys(people)),
        group=_chosen(given.get("group", ""), choices.groups),
        batch=_chosen(given.get("batch", ""), choices.batches),
        since=_day(given.get("from", "")),
        until=_day(given.get("to", "")),
        blind_first={"yes": True, "no": False}.get(given.get("blind_first", "")),
        cross_annotated={"yes": True, "no": False}.get(given.get("cross", "")),
        by=by if by in ("week", "month") else "",
    )


def _chosen(raw: str, offered: Mapping[int, Any]) -> int | None:
    key = int(raw) if raw.isdecimal() and len(raw) < 19 else None
    return key if key in offered else None


def _day(raw: str) -> dt.date | None:
    try:
        day = dt.date.fromisoformat(raw)
    except ValueError:
        return None
    return day if 1 < day.year < dt.MAXYEAR else None  # the day after it is asked for too


def _word(answer: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[answer]


def _name(names: Mapping[int, Any], key: int | None, otherwise: str = "An annotator") -> str:
    return str(names[key]) if key is not None and key in names else otherwise


# --- what the page shows of a field ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgreementFieldView:
    """A field in one sentence, as a drawing, and in all its figures. ``percent``, ``alpha`` and ``items`` are for the
    summary."""

    field: AgreementField
    words: str
    percent: str
    alpha: str
    items: str
    chart: Dots | None
    coefficients: list[tuple[str, str]]
    heat: Heat
    raters: list[str]
    references: list[Reference]


def _stage(figures: StageFigures, people: Mapping[int, User]) -> dict[str, Any]:
    return {
        "stage": figures.stage,
        "documents": figures.documents,
        "fields": [_field(each, people) for each in figures.labels],
        "claims": figures.claims,
        "claims_f1": "" if figures.claims is None else interval(figures.claims.f1),
        "claims_words": "" if figures.claims is None else _claims_words(figures),
        "claims_chart": None
        if figures.claims is None
        else dots(
            [
                DotFigure("F1", "dot", figures.claims.f1),
                DotFigure("Similarity", "diamond", figures.claims.similarity),
            ],
            _claims_words(figures),
        ),
        "texts": [
            {
                "label": each.field.label,
                "pairs": each.pairs,
                "documents": each.documents,
                "distance": interval(each.edit_distance),
                "overlap": interval(each.word_overlap),
            }
            for each in figures.texts
        ],
        "references": [each for each in REFERENCES if each.stage == figures.stage and not each.field],
    }


def _field(each: LabelFigures, people: Mapping[int, User]) -> AgreementFieldView:
    references = [one for one in REFERENCES if one.field == each.field.name]
    values = {name: tuple(one.value for one in references if one.coefficient == name) for name in ("percent", "fleiss")}
    figures = [
        DotFigure("Agreement", "dot", each.figures.percent, True, values["percent"]),
        DotFigure("Alpha", "diamond", each.figures.alpha),
        DotFigure("AC1", "ring", each.figures.ac1),
    ]
    if values["fleiss"]:
        figures.append(DotFigure("Fleiss", "square", each.figures.fleiss, False, values["fleiss"]))
    return AgreementFieldView(
        field=each.field,
        words=_words(each),
        percent="–" if each.figures.percent is None else percent(each.figures.percent.value),
        alpha=interval(each.figures.alpha),
        items=_counted(each.figures.items, each.field.thing),
        chart=dots(figures, f"{each.field.label}: {_words(each)}, AC1 {interval(each.figures.ac1)}"),
        coefficients=[
            (COEFFICIENTS[name], interval(estimate))
            for name, estimate in each.coefficients.items()
            if (name != "cohen" or estimate is not None or len(each.figures.raters) == 2)
            and (each.figures.left_out or not name.endswith("_gwet"))
        ],
        heat=heat(each.figures.confusion, each.field.words, of_two=len(each.figures.raters) == 2),
        raters=[_name(people, int(rater)) for rater in each.figures.raters],
        references=references,
    )


def _words(each: LabelFigures) -> str:
    """The field in one sentence: "92% agreement, alpha 0.81 (0.74 to 0.87), 240 sentences of 40 documents"."""
    found = each.figures
    same = "" if found.percent is None else f"{percent(found.percent.value)} agreement, "
    documents = "one document" if found.clusters == 1 else f"{found.clusters:,} documents"
    alone = f"; {found.left_out:,} more labeled by one annotator alone" if found.left_out else ""
    return f"{same}{interval(found.alpha, 'alpha')}, {_counted(found.items, each.field.thing)} of {documents}{alone}"


def _counted(items: int, thing: str) -> str:
    return f"one {thing[:-1]}" if items == 1 else f"{items:,} {thing}"


def _claims_words(figures: StageFigures) -> str:
    found = figures.claims
    if found is None:
        return ""
    alike = "" if found.similarity is None else f"; similarity of matched claims: {interval(found.similarity)}"
    return f"{interval(found.f1, 'F1')}: {2 * found.matched:,} of {found.claims:,} claims matched{alike}"


def _trends(periods: Mapping[dt.date, Sequence[Part]]) -> list[Trend]:
    """A drawing for each field with two points at least."""
    series: dict[str, list[Period]] = {}
    for day, parts in periods.items():
        for part in parts:
            words = f"{percent(part.percent)} agreement"
            if part.alpha is not None:
                words += f", alpha {number(part.alpha)}"
            period = Period(day, part.percent, part.alpha, words, f"{part.items:,} {part.field.thing}")
            series.setdefault(part.field.label, []).append(period)
    return [drawn for label, each in series.items() if (drawn := trend(label, each))]


def _both(report: AgreementReport) -> Iterable[tuple[LabelFigures, LabelFigures]]:
    """Fields that were labeled without suggestions and with them."""
    aided = {each.field.name: each for each in report.aided}
    return ((each, aided[each.field.name]) for each in report.unaided if each.field.name in aided)


def _suggestions(without: LabelFigures, with_them: LabelFigures) -> dict[str, Any]:
    """What suggestions do to a field: how far people agree, and how often each label is given."""
    words = f"{without.field.label}. Without suggestions {_words(without)}. With suggestions {_words(with_them)}."
    shares = [
        (label, *(percent(each.figures.labels.get(value, 0) / sum(each.figures.labels.values())) for each in (
            without, with_them,
        )))
        for value, label in without.field.words.items()
    ]  # fmt: skip
    return {
        "label": without.field.label,
        "without": _words(without),
        "with_them": _words(with_them),
        "shares": shares,
        "chart": dots(
            [
                DotFigure("Without", "dot", without.figures.percent, True),
                DotFigure("With", "ring", with_them.figures.percent, True),
            ],
            words,
        ),
    }


def _by_stage(named: Iterable[tuple[str, Sequence[Part]]]) -> list[dict[str, Any]]:
    """Pairs or batches as one table a stage: a column for each field, a row for each name."""
    rows = list(named)
    tables = []
    for stage in STAGES:
        present = {part.field.name: part.field for _, parts in rows for part in parts if part.field.stage == stage}
        order = {each.name: place for place, each in enumerate(LABEL_FIELDS)}
        fields = sorted(present.values(), key=lambda each: order.get(each.name, len(order)))
        if fields:
            cells = [(name, {part.field.name: part for part in parts}) for name, parts in rows]
            tables.append(
                {
                    "stage": stage,
                    "fields": fields,
                    "rows": [
                        (name, [(each.label, _cell(found.get(each.name))) for each in fields])
                        for name, found in cells
                        if any(each.name in found for each in fields)
                    ],
                }
            )
    return tables


def _cell(part: Part | None) -> dict[str, Any] | None:
    if part is None:
        return None
    alpha = "not defined" if part.alpha is None else number(part.alpha)
    return {"percent": percent(part.percent), "alpha": alpha, "items": _counted(part.items, part.field.thing)}


def _settled(settled: Settled, people: Mapping[int, User]) -> dict[str, Any]:
    return {
        "total": settled.total,
        "reasons": _reasons(settled.reasons),
        "people": sorted(
            ((people[key], kept) for key, kept in settled.kept.items() if key in people),
            key=lambda pair: str(pair[0]),
        ),
    }


def _reasons(counted: Mapping[str, int]) -> list[tuple[str, int]]:
    """Reasons in words, the most frequent first."""
    rows = sorted(counted.items(), key=lambda pair: -pair[1])
    return [(DisagreementReason(reason).label if reason else "Not specified", times) for reason, times in rows]


# --- one's own page -------------------------------------------------------------------------------


@require_GET
@render_domain_errors
def own(request: HttpRequest, slug: str) -> HttpResponse:
    """One's own agreement with partners over time, and how consolidation changed one's work. Owners and admins see a
    member's by ``?person=``."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    username = request.GET.get("person", user.username).replace("\x00", "")
    shown = user
    if username != user.username:
        rules.check_manage(user, benchmark)  # before it is said whether there is such a person
        shown = get_object_or_404(User, username=username, memberships__benchmark=benchmark)
    rules.check_see_agreement_of(user, benchmark, shown)
    report = own_agreement(shown, benchmark)
    settled = own_settled(shown, benchmark)
    context = page_of_benchmark(request, benchmark, "") | {
        "shown": shown,
        "is_own": shown.pk == user.pk,
        "report": report,
        "fields": [_field(each, {}) for stage in report.stages for each in stage.labels],
        "trends": _trends(report.periods),
        "settled": settled,
        "settled_fields": [(FIELD_WORDS.get(name, name), kept) for name, kept in settled.fields.items()],
        "reasons": _reasons(settled.reasons),
        "newest": newest_settled(shown, benchmark),
    }
    return render(request, "measures/agreement/own.html", context)
