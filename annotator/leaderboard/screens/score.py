"""One scored file of predictions: its figures beside the baselines, faults, wrong answers, and a second system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.models import Benchmark
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_lines
from annotator.core.vocabulary import StanceLabel
from annotator.leaderboard import rules as leaderboard_rules
from annotator.leaderboard.actions import evaluations as actions
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.evaluations import (
    Shown,
    comparable,
    error_table,
    errors_of,
    evaluations_for,
    paired_of,
    shown,
)
from annotator.leaderboard.queries.scoring import gold_fingerprint
from annotator.leaderboard.scoring.tasks import Task, headline
from annotator.leaderboard.screens.scores_words import (
    FIGURES,
    LABELS_READING,
    OTHER_READING,
    READING,
    TRIVIAL,
    TRIVIAL_LABEL,
    Confusion,
    baselines_of,
    breakdown_tables,
    fault_words,
    figure_words,
    label_words,
    option_words,
    row_of,
)
from annotator.measures.statistics.breakdowns import FEWEST_DOCUMENTS, FEWEST_ITEMS

ERRORS_SHOWN = 20
# What stands beside a sentence, a claim, a passage, and a response.
CONTEXTS = ("", "In", "Claim", "Prompt")
PLACES = ("sentence", "claim", "passage")
STANCE_WORDS = {each.value: each.label for each in StanceLabel}


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str, evaluation_id: str) -> HttpResponse:
    """The figures, or why there are none."""
    benchmark, evaluation = evaluation_for(request, slug, evaluation_id)
    user, task = person(request), Task(evaluation.task)
    today = gold_fingerprint(benchmark)
    context = page_of_benchmark(request, benchmark, "Scores") | {
        "evaluation": evaluation,
        "task": task,
        "options": option_words(evaluation.options),
        "is_old": evaluation.gold != today,
        "can_change": leaderboard_rules.can_change_evaluation(user, evaluation),
        "faults": fault_words(evaluation),
    }
    if is_htmx(request):  # the page asks how far the worker is
        if evaluation.is_open:
            return render(request, "leaderboard/show.html#scoring", context)
        return HttpResponse(headers={"HX-Refresh": "true"})
    if evaluation.result is not None and not evaluation.is_open:
        others = comparable(user, evaluation, today)
        context |= _figures(evaluation, task) | _compared(request, evaluation, others) | _errors(request, evaluation)
    return render(request, "leaderboard/show.html", context)


def evaluation_for(request: HttpRequest, slug: str, evaluation_id: str) -> tuple[Benchmark, Evaluation]:
    """One that this person may look at; for all others it does not exist. Raises NotAllowedError for members who do not
    read scores."""
    benchmark = benchmark_for(request, slug)
    rules.check_score(person(request), benchmark)
    return benchmark, get_object_or_404(evaluations_for(person(request), benchmark), public_id=evaluation_id)


# --- figures --------------------------------------------------------------------------------------


def _figures(evaluation: Evaluation, task: Task) -> dict[str, Any]:
    report, figure = evaluation.report, headline(task)
    rows = [row_of(evaluation.system, report, figure)]
    rows += [row_of(name, scores, figure, is_baseline=True) for name, scores in baselines_of(report["baselines"])]
    labels = [
        (
            label_words(label),
            *(figure_words(each[name]) for name in ("precision", "recall", "f1")),
            each["gold"],
            each["predicted"],
        )
        for label, each in report["per_label"].items()
    ]
    counted = [(name, number) for part in ("claims", "passages") for name, number in report.get(part, {}).items()]
    return {
        "rows": rows,
        "figure": FIGURES[figure],
        "reading": " ".join(filter(None, (_labels_reading(report) if labels else "", READING.get(task, "")))),
        "labels": labels,
        "confusion": Confusion.of(task, report.get("confusion", {})),
        # Of a file without claims there is nothing to count.
        "counted": [
            (label_words(name).capitalize(), number) for name, number in counted if any(each for _, each in counted)
        ],
        "by_stance": [(label_words(name), each["count"]) for name, each in report.get("by_stance", {}).items()],
        "respelled": report["rows"]["respelled"],
        "breakdowns": breakdown_tables(report.get("breakdowns", {}), figure),
        "fewest": (FEWEST_ITEMS, FEWEST_DOCUMENTS),
        "trivial": TRIVIAL.get(task, TRIVIAL_LABEL),
    }


def _labels_reading(report: Mapping[str, Any]) -> str:
    """Which labels the averages are over, and the other convention where it gives another figure."""
    other = report.get("f1_macro_with_predicted")
    if other is None or figure_words(other) == figure_words(report["f1_macro"]):
        return LABELS_READING
    return f"{LABELS_READING} {OTHER_READING.format(figure_words(other))}"


def _compared(request: HttpRequest, evaluation: Evaluation, others: list[Evaluation]) -> dict[str, Any]:
    """This system against another one that the address names."""
    other = next((each for each in others if each.public_id == request.GET.get("against")), None)
    if other is None:
        return {"others": others, "other": None}
    try:
        paired = paired_of(evaluation, other)
    except FileNotFoundError:
        messages.error(request, "The file behind one of the two scores no longer exists, so they cannot be compared.")
        return {"others": others, "other": None}
    return {
        "others": others,
        "other": other,
        "paired": paired,
        "differences": [
            (FIGURES[name], _signed(value), figure_words(paired["p"][name]))
            for name, value in paired["difference"].items()
            if value is not None
        ],
    }


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + figure_words(value)


# --- wrong answers --------------------------------------------------------------------------------


def _errors(request: HttpRequest, evaluation: Evaluation) -> dict[str, Any]:
    """A page of wrong answers, by the labels in the address."""
    if not evaluation.errors:
        return {"errors": None}
    asked = {name: request.GET.get(name, "") for name in ("gold", "predicted", "against")}
    number = request.GET.get("page", "1")
    start = (int(number) - 1) * ERRORS_SHOWN if number.isdecimal() and len(number) < 7 else 0
    found = errors_of(
        evaluation, gold=asked["gold"], predicted=asked["predicted"], start=max(start, 0), count=ERRORS_SHOWN
    )
    page = Paginator(range(found.total), ERRORS_SHOWN).get_page(number)
    query = urlencode({name: value for name, value in asked.items() if value})
    return {
        "errors": [_Error.of(each) for each in shown(evaluation, found.rows)],
        "total": found.total,
        "all_errors": found.pairs.total(),
        "golds": sorted({(gold, label_words(gold)) for gold, _ in found.pairs}),
        "predictions": sorted({(said, label_words(said)) for _, said in found.pairs}),
        "asked": asked,
        "page_obj": page,
        "query": f"{query}&" if query else "",
    }


@dataclass(frozen=True, slots=True)
class _Error:
    """A wrong answer as it is drawn. ``document`` is "" where it is not gold any more; ``evidence`` holds stance in
    words, address and text of each passage."""

    gold: str
    predicted: str
    document: str
    url: str
    key: str
    name: str
    position: str
    text: str
    context: str
    context_label: str
    evidence: list[dict[str, str]]

    @classmethod
    def of(cls, found: Shown) -> _Error:
        wrong, document = found.wrong, found.document
        url = reverse("document", args=[document.public_id]) if document else ""
        return cls(
            gold=label_words(wrong.gold),
            predicted=label_words(wrong.predicted),
            document=str(document or ""),
            url=f"{url}#claim-{found.claim}" if found.claim else url,
            key=wrong.key,
            name=wrong.document,
            position=place_words(wrong.position),
            text=found.text,
            context=found.context,
            context_label=""
            if document is None
            else CONTEXTS[min(wrong.position.count("."), 2) if wrong.position else -1],
            evidence=[
                {"words": STANCE_WORDS.get(each.stance, "Added by people"), "url": each.url, "text": each.text}
                for each in found.evidence
            ],
        )


def place_words(position: str) -> str:
    """ "sentence 2, claim 1" for "2.1"."""
    return ", ".join(
        f"{place} {number}" for place, number in zip(PLACES, filter(None, position.split(".")), strict=False)
    )


@require_GET
@render_domain_errors
def download(request: HttpRequest, slug: str, evaluation_id: str) -> HttpResponse:
    """``?part=result``: what ``manage.py evaluate --json`` gives; ``?part=errors``: the wrong answers as CSV."""
    benchmark, evaluation = evaluation_for(request, slug, evaluation_id)
    part = request.GET.get("part", "result")
    name = f"{benchmark.slug}-{evaluation.task}-{slugify(evaluation.system) or 'scores'}"
    if part == "errors":
        response = StreamingHttpResponse(csv_lines(error_table(evaluation)), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{name}-errors.csv"'
        return cast(HttpResponse, response)  # no subclass of it, yet just as good for every middleware
    if part != "result":
        raise Http404(f"Unknown part “{part[:60]}”.")
    report = evaluation.report or {"rows": evaluation.counts, "problems": evaluation.problems}
    content = json.dumps({"system": evaluation.system, **report}, indent=2, ensure_ascii=False)
    answer = HttpResponse(content, content_type="application/json; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return answer


# --- what can be done with it ---------------------------------------------------------------------


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, evaluation_id: str, what: str) -> HttpResponse:
    """``again``: score against today's gold; ``partial``: score what is right; ``hide``, ``show``, ``delete``."""
    _, evaluation = evaluation_for(request, slug, evaluation_id)
    user = person(request)
    if what in ("again", "partial"):
        actions.score_again(evaluation, by=user, partial=True if what == "partial" else None)
        if evaluation.is_open:
            messages.info(request, f"{evaluation.system} is being scored.")
        elif evaluation.result is None:
            messages.warning(request, "The file has errors against the current gold, so nothing was scored.")
        else:
            messages.success(request, f"{evaluation.system} was scored against the current gold.")
    elif what in ("hide", "show"):
        actions.hide(evaluation, by=user, hidden=what == "hide")
    elif what == "delete":
        actions.delete(evaluation, by=user)
        messages.success(request, f"The scores and the file of {evaluation.system} were deleted.")
        return redirect("scores", slug)
    else:
        raise Http404(f"Unknown action “{what[:40]}”.")
    return redirect("score", slug, evaluation.public_id)
