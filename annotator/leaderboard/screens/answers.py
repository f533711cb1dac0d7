"""The models that wrote the answers, ranked by how factual these are: by the gold, by a run, or by an uploaded file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from annotator.core import rules
from annotator.core.charts import ChartSpan
from annotator.core.file_problems import BadRow, FileError, Problem
from annotator.core.models import Benchmark, PipelineRun
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.exchange.formats.answers import AnswerRow, answers
from annotator.leaderboard.actions.evaluations import MAX_BYTES
from annotator.leaderboard.queries.answers import gold_answers, judging_runs, run_answers
from annotator.leaderboard.scoring.answer_scores import Metric, ScoreError, score_answers
from annotator.leaderboard.screens.scores_words import breakdown_tables, figure_words, whisker
from annotator.measures.queries.statistics import wholesale
from annotator.measures.statistics.breakdowns import FEWEST_DOCUMENTS, FEWEST_ITEMS
from annotator.suggestions.queries.runs import strategy_label

TEMPLATE = "leaderboard/answers.html"
# What the template knows where there is nothing to show.
NOTHING: dict[str, Any] = dict.fromkeys(
    ("report", "refusal", "by_run", "by_words", "filename", "faults", "bad", "metric_words", "reading", "models")
)
GOLD = "gold"
RUNS_TO_CHOOSE = 20
FAULTS_SHOWN = 50
METRICS = {
    Metric.VERISCORE: "VeriScore: F1@K",
    Metric.FACTSCORE: "FActScore: precision",
    Metric.FASTFACT: "FastFact: F1@K′",
}
READING = {
    Metric.FACTSCORE: "Supported claims divided by all claims in a response. Short responses can score high.",
    Metric.VERISCORE: "F1 of precision and recall, where recall is min(S / K, 1) and S is the number of "
    "supported claims; 0 if there are none.",
    Metric.FASTFACT: "F1 of precision and a recall that decreases on either side of K′, the number of claims people "
    "found in that response (γ = 0.1).",
}


class AnswersForm(forms.Form):
    """By whose labels, by which score."""

    labels = forms.ChoiceField(label="Labels", required=False)
    metric = forms.ChoiceField(
        label="Score", choices=[(each.value, words) for each, words in METRICS.items()], required=False
    )
    # Left out: the median number of claims of each source's answers.
    k = forms.FloatField(
        label="VeriScore K",
        required=False,
        min_value=0.01,
        widget=forms.NumberInput(attrs={"placeholder": "median", "step": "any"}),
    )

    def __init__(self, data: Any, runs: Sequence[PipelineRun]) -> None:
        super().__init__(data)
        words = [
            (f"run:{run.public_id}", f"{strategy_label(run.strategy)}, {run.created_at:%b %-d, %Y}") for run in runs
        ]
        self.fields["labels"].choices = [(GOLD, "Gold: adjudicated labels"), *words]  # type: ignore[attr-defined]


class FileForm(forms.Form):
    """Answers with labeled claims, scored and forgotten."""

    metric = forms.ChoiceField(label="Score", choices=[(each.value, words) for each, words in METRICS.items()])
    k = forms.FloatField(label="K", required=False, min_value=0.01)
    file = forms.FileField(
        label="Answers", error_messages={"required": "Choose a file first.", "empty": "The file is empty."}
    )
    partial = forms.BooleanField(label="Score valid rows only if the file has errors", required=False)

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_BYTES:
            raise forms.ValidationError(
                f"The file is {file.size / 2**20:,.0f} MiB; the limit here is {MAX_BYTES // 2**20} MiB. Score it "
                "on the command line: script/manage score."
            )
        return file


@require_http_methods(["GET", "POST"])
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The ranking under the choice in the address; a file that is sent is ranked and not kept."""
    benchmark = benchmark_for(request, slug)
    rules.check_score(person(request), benchmark)
    runs = list(judging_runs(benchmark)[:RUNS_TO_CHOOSE])
    asked = AnswersForm(request.GET or None, runs)
    upload = FileForm(request.POST or None, request.FILES or None)
    context = page_of_benchmark(request, benchmark, "Scores") | NOTHING
    context |= {"form": asked, "upload": upload}
    if request.method == "POST":
        context |= _of_file(upload) if upload.is_valid() else {}
    else:
        context |= _of_benchmark(benchmark, asked, runs)
    is_bad = bool(upload.errors or asked.errors or (context["faults"] and not context["report"]))
    return render(request, TEMPLATE, context, status=422 if is_bad else 200)


# --- what is ranked -------------------------------------------------------------------------------


def _of_benchmark(benchmark: Benchmark, form: AnswersForm, runs: Sequence[PipelineRun]) -> dict[str, Any]:
    if form.is_bound and not form.is_valid():
        return {}
    chosen = form.cleaned_data if form.is_bound else {}
    run = next((each for each in runs if f"run:{each.public_id}" == chosen.get("labels")), None)
    with wholesale():
        rows = list(run_answers(run) if run else gold_answers(benchmark))
    return {"by_run": run, "by_words": strategy_label(run.strategy) if run else ""} | _ranked(rows, chosen)


def _of_file(form: FileForm) -> dict[str, Any]:
    rows: list[AnswerRow] = []
    faults: list[Problem] = []
    bad = 0
    file = form.cleaned_data["file"]
    try:
        for row in answers(file):
            if isinstance(row, BadRow):
                bad += 1
                faults += row.problems[: max(0, FAULTS_SHOWN - len(faults))]
            else:
                rows.append(row)
    except FileError as error:
        return {"filename": file.name, "refusal": str(error)}
    found = {"filename": file.name, "faults": faults, "bad": bad}
    if bad and not form.cleaned_data["partial"]:
        return found
    return found | _ranked(rows, form.cleaned_data)


def _ranked(rows: Sequence[AnswerRow], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The report and what is drawn of it; ``refusal`` where there is nothing to rank."""
    metric = Metric(chosen.get("metric") or Metric.VERISCORE)
    common = {"metric": metric, "metric_words": METRICS[metric], "reading": READING[metric]}
    try:
        report = score_answers(rows, metric, k=chosen.get("k"))
    except ScoreError as error:
        return common | {"refusal": str(error)}
    domains = sorted({domain for each in report["models"] for domain in each["by_domain"]})
    return common | {
        "report": report,
        "models": [_Model.of(each, domains) for each in report["models"]],
        "domains": domains if len(domains) > 1 else [],
        "ks": [(domain, f"{value:g}") for domain, value in report.get("k", {}).items()],
        "taus": _matrix(domains, report["kendall_tau"]),
        "breakdowns": breakdown_tables(report["breakdowns"], "score"),
        "fewest": (FEWEST_ITEMS, FEWEST_DOCUMENTS),
        "trivial": "",
    }


@dataclass(frozen=True, slots=True)
class _Model:
    """A model as it is drawn; ``by_domain``: each domain with the score in it and the number of answers."""

    name: str
    score: str
    bounds: str
    whisker: ChartSpan | None
    answers: int
    abstained: int
    supported: float
    claims: float
    by_domain: Sequence[tuple[str, str, int]]

    @classmethod
    def of(cls, found: Mapping[str, Any], domains: Sequence[str]) -> _Model:
        interval, by_domain = found["interval"], found["by_domain"]
        return cls(
            found["model"],
            figure_words(found["score"]),
            f"{figure_words(interval[0])} to {figure_words(interval[1])}" if interval else "",
            whisker(found["score"], interval),
            found["answers"],
            found["abstained"],
            found["supported_mean"],
            found["claims_mean"],
            [
                (each, figure_words(by_domain[each]["score"]), by_domain[each]["answers"])
                if each in by_domain
                else (each, "–", 0)
                for each in domains
            ],
        )


def _matrix(domains: Sequence[str], taus: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Kendall's tau of each pair of domains as a square: a domain, then its value beside each domain."""
    found = {frozenset(each["domains"]): each["tau"] for each in taus}
    if not found:
        return []
    return [
        (
            one,
            [(other, "" if one == other else figure_words(found.get(frozenset((one, other))))) for other in domains],
        )
        for one in domains
    ]
