"""Fact-checkers scored against the gold: the leaderboard, uploading predictions, the template."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.charts import ChartSpan
from annotator.core.models import Benchmark
from annotator.core.queries.gold import GoldScope
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, render_domain_errors
from annotator.core.vocabulary import Labelled, Task
from annotator.leaderboard.actions.evaluations import NAME_LENGTH, Wanted, score_upload
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.predictions import predictions
from annotator.leaderboard.queries.evaluations import Leaderboard, boards_of, standing_of, unscored
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.queries.scoring import gold_fingerprint
from annotator.leaderboard.scoring.label_sets import Undetermined
from annotator.leaderboard.scoring.tasks import Level, Options, measure_of
from annotator.leaderboard.scoring.texts import SAME_CLAIM
from annotator.leaderboard.screens.scores_words import (
    ANSWERS,
    FIGURES,
    ScoreCell,
    baseline_words,
    figure_words,
    option_words,
    whisker,
)
from annotator.measures.queries.statistics import wholesale

INDEX = "leaderboard/index.html"
NEW = "leaderboard/new.html"


class Format(Labelled):
    """The reader of a file of verdicts on claims (``annotator.leaderboard.queries.scoring.FORMATS``)."""

    TOUCHSTONE = "touchstone", "Touchstone template"
    OPENFACTCHECK = "openfactcheck", "OpenFactCheck, CSV"
    FIRE = "fire", "FIRE"
    LOKI = "loki", "Loki"
    FACTSCORE = "factscore", "FActScore"


UNDETERMINED = {
    Undetermined.LEFT_OUT: "are excluded",
    Undetermined.FALSE: "count as false",
    Undetermined.OWN_LABEL: "are a separate label",
}
# The form's options that each task uses.
LISTENS = {
    Task.STANCE: ("labels",),
    Task.CLAIM_FACTUALITY: ("undetermined", "format"),
    Task.DECOMPOSITION: ("level", "threshold"),
    Task.EVIDENCE: ("by_address",),
    Task.REVISION: ("all_responses",),
    Task.END_TO_END: ("threshold",),
}


class ScoreForm(forms.Form):
    """The task, the system and its options. Options of other tasks are ignored."""

    task = forms.ChoiceField(label="Task", choices=[(each.value, each.label) for each in Task])
    labels = forms.TypedChoiceField(
        label="Labels",
        choices=[("4", "Four: complete and partial support"), ("3", "Three: one support label")],
        coerce=int,
        empty_value=None,
        required=False,
    )
    undetermined = forms.ChoiceField(
        label="Gold claims without enough evidence",
        choices=[(each.value, words) for each, words in UNDETERMINED.items()],
        required=False,
    )
    format = forms.ChoiceField(
        label="File format", choices=[(each.value, each.label) for each in Format], required=False
    )
    level = forms.ChoiceField(
        label="Each row is", choices=[(each.value, each.label.lower()) for each in Level], required=False
    )
    threshold = forms.FloatField(
        label="Minimum token F1 for matching claims", min_value=0.01, max_value=1, initial=SAME_CLAIM, required=False
    )
    by_address = forms.BooleanField(label="Match passages by URL", required=False)
    all_responses = forms.BooleanField(label="Include true responses", required=False)
    system = forms.CharField(
        label="Fact-checker",
        max_length=NAME_LENGTH,
        help_text="The name shown on the leaderboard. Include a version or model to tell it apart.",
        error_messages={"required": "Name the fact-checker that made these predictions."},
    )
    note = forms.CharField(label="Note", required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 2}))
    file = forms.FileField(
        label="Predictions",
        max_length=255,
        error_messages={"required": "Choose a file first.", "empty": "The file is empty."},
    )
    partial = forms.BooleanField(label="Score valid rows only if the file has errors", required=False)

    def chosen(self) -> Options:
        """The options, once the form is valid."""
        return options_of(self.cleaned_data)


def options_of(given: Any) -> Options:
    return Options(
        stance_labels=given.get("labels") or 4,
        undetermined=Undetermined(given.get("undetermined") or Undetermined.LEFT_OUT),
        level=Level(given.get("level") or Level.SENTENCE),
        threshold=given.get("threshold") or SAME_CLAIM,
        by_address=bool(given.get("by_address")),
        all_responses=bool(given.get("all_responses")),
    )


# --- the leaderboard ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeaderboardLine:
    """A row of a leaderboard, ready to draw."""

    name: str
    rank: int | None
    whisker: ChartSpan | None
    cells: list[ScoreCell]
    evaluation: Evaluation | None
    is_old: bool
    can_change: bool

    @property
    def is_baseline(self) -> bool:
        return self.evaluation is None


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The leaderboards: ranked systems with the baselines among them."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    rules.check_score(user, benchmark)
    manages = rules.can_manage(user, benchmark)
    today = gold_fingerprint(benchmark)
    asked = request.GET.get("ranks", "")
    boards = [
        {
            "current": sum(1 for each in board.places if each.evaluation and not each.is_old and not each.is_partial),
            "standing": _standing(request, board, today, compute=asked == str(number)),
            "task": board.task,
            "options": option_words(board.options),
            "figure": FIGURES[board.figure],
            "names": [FIGURES[name] for name in board.names],
            "averages": "f1_macro" in board.names,
            "lines": _lines(board, user.pk, manages),
        }
        for number, board in enumerate(boards_of(user, benchmark), start=1)
    ]
    context = page_of_benchmark(request, benchmark, "Scores") | {
        "boards": boards,
        "unscored": unscored(user, benchmark),
        "gold": GoldScope(benchmark).documents().count(),
    }
    return render(request, INDEX, context)


@dataclass(frozen=True, slots=True)
class Standing:
    """The uncertainty of a board's ranks: (name, rank, interval) for each system, and (pair, difference, p) for each
    pair."""

    items: int
    documents: int
    ranks: list[tuple[str, int, str]]
    pairs: list[tuple[str, str, str]]


def _standing(request: HttpRequest, board: Leaderboard, today: str, *, compute: bool) -> Standing | None:
    try:
        found = standing_of(board, today, compute=compute)
    except FileNotFoundError:
        messages.error(request, "The file behind one of these scores no longer exists, so ranks cannot be compared.")
        return None
    if found is None:
        return None
    names = {each.evaluation.public_id: each.name for each in board.places if each.evaluation}
    ranks = sorted(found["ranks"].items(), key=lambda each: each[1]["rank"])
    return Standing(
        found["items"],
        found["documents"],
        [(names[key], each["rank"], _rank_words(*each["interval"])) for key, each in ranks],
        [
            (
                " − ".join(names[key] for key in each["systems"]),
                figure_words(each["difference"]),
                figure_words(each["p_holm"]),
            )
            for each in found["pairs"]
        ],
    )


def _rank_words(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _lines(board: Leaderboard, user_pk: int, manages: bool) -> list[LeaderboardLine]:
    """Without the most frequent label, which is already listed as a constant."""
    return [
        LeaderboardLine(
            place.name if place.evaluation else baseline_words(place.name),
            place.rank,
            whisker(place.value, place.intervals[board.figure]),
            [ScoreCell.of(name, place.figures[name], place.intervals[name]) for name in board.names],
            place.evaluation,
            place.is_old,
            place.evaluation is not None and (manages or place.evaluation.by_id == user_pk),
        )
        for place in board.places
        if place.evaluation is not None or place.name != "majority"
    ]


# --- uploading ------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@render_domain_errors
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """The form for a file of predictions. Submitting it scores the file."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    rules.check_score(user, benchmark)
    form = ScoreForm(request.POST or None, request.FILES or None, initial=_initial(request.GET))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        wanted = Wanted(
            task=Task(data["task"]),
            system=data["system"],
            options=form.chosen(),
            format=data["format"] or predictions.NAME,
            note=data["note"],
            partial=data["partial"],
        )
        try:
            evaluation = score_upload(benchmark=benchmark, by=user, wanted=wanted, file=data["file"])
        except BadValueError as refusal:
            form.add_error(None, str(refusal))
        else:
            return redirect("score", slug, evaluation.public_id)
    context = page_of_benchmark(request, benchmark, "Scores") | _form_context(benchmark, form)
    if is_htmx(request):
        return render(request, f"{NEW}#task", context)
    return render(request, NEW, context, status=422 if form.errors else 200)


def _initial(asked: QueryDict) -> dict[str, str]:
    names = {"task", "system"}.union(*LISTENS.values())
    return {name: value for name, value in asked.dict().items() if name in names and isinstance(value, str)}


def _form_context(benchmark: Benchmark, form: ScoreForm) -> dict[str, Any]:
    given = form["task"].value()
    task = Task(given) if given in set(Task) else Task.CLAIM_FACTUALITY
    about, answer = ANSWERS[task]
    return {
        "form": form,
        "task": task,
        "about": about,
        "answer": answer,
        "options": [form[name] for name in LISTENS.get(task, ())],
        "gold": GoldScope(benchmark).documents().exists(),
    }


@require_GET
@render_domain_errors
def template(request: HttpRequest, slug: str) -> HttpResponse:
    """A file with every key of the task and blank answers, streamed."""
    benchmark = benchmark_for(request, slug)
    rules.check_score(person(request), benchmark)
    asked = request.GET.get("task", Task.CLAIM_FACTUALITY)
    if asked not in set(Task):
        raise Http404(f"Unknown task “{asked[:60]}”.")
    task = Task(asked)
    level = request.GET.get("level", "")
    options = options_of({"level": level if level in set(Level) else ""})
    response = StreamingHttpResponse(
        _template_lines(benchmark, task, options),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{benchmark.slug}-{task}.jsonl"'},
    )
    return cast(HttpResponse, response)  # not a subclass, but every middleware treats it the same


def _template_lines(benchmark: Benchmark, task: Task, options: Options) -> Iterator[str]:
    with wholesale():
        items = gold_items(benchmark, task, options, texts=True)
        yield from predictions.template(items, task.value, measure_of(task, options).blank())
