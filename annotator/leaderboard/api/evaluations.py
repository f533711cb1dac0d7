"""Fact-checkers scored against the gold: uploaded predictions, scores, errors, the leaderboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.models import Benchmark
from annotator.core.vocabulary import RunState, Scope, Task
from annotator.exchange.api.imports import ProblemRowSerializer
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, PersonSerializer, Upload, word
from annotator.integrations.api.paging import CursorPages, PageInput, paged
from annotator.integrations.api.problems import ConflictError
from annotator.integrations.api.schema import operation
from annotator.integrations.api.streams import JSONL, AnyForm, file_answer, file_operation
from annotator.leaderboard.actions import evaluations as actions
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.predictions import predictions
from annotator.leaderboard.queries.evaluations import boards_of, comparable, errors_of, evaluations_for, paired_of
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.queries.scoring import FORMATS, gold_fingerprint
from annotator.leaderboard.scoring.label_sets import Undetermined
from annotator.leaderboard.scoring.tasks import Level, Options, measure_of
from annotator.measures.queries.statistics import wholesale

TAG = "evaluations"
DEFAULTS = Options()


class EvaluationRowSerializer(serializers.Serializer):
    """An upload with its scores. With errors, it is scored only if ``partial``."""

    id = serializers.CharField(source="public_id")
    task = word(Task)
    options = serializers.DictField()
    system = serializers.CharField()
    note = serializers.CharField()
    filename = serializers.CharField()
    format = serializers.CharField()
    partial = serializers.BooleanField()  # type: ignore[assignment]
    rows = serializers.IntegerField()
    scored = serializers.IntegerField()
    faults = serializers.IntegerField()
    hidden = serializers.BooleanField()
    state = word(RunState)
    share = serializers.FloatField(help_text="How much of the scoring is done, from 0 to 1.")
    message = serializers.CharField(help_text="Why a worker could not score it.")
    by = PersonSerializer()
    created_at = serializers.DateTimeField()
    scored_at = serializers.DateTimeField()


class EvaluationSerializer(EvaluationRowSerializer):
    """An upload with its scores, as in the output of manage.py evaluate. Empty if nothing was scored."""

    problems = ProblemRowSerializer(many=True, help_text="The first problems.")
    result = serializers.DictField(source="report")


class OptionsInput(Input):
    """A task's options. Each applies to some tasks and is ignored by the others."""

    stance_labels = serializers.ChoiceField([("4", "four"), ("3", "three")], default=str(DEFAULTS.stance_labels))
    undetermined = serializers.ChoiceField(
        [(each.value, each.name) for each in Undetermined], default=DEFAULTS.undetermined.value
    )
    level = serializers.ChoiceField([(each.value, each.name) for each in Level], default=DEFAULTS.level.value)
    threshold = serializers.FloatField(min_value=0.01, max_value=1, default=DEFAULTS.threshold)
    by_address = serializers.BooleanField(default=DEFAULTS.by_address)
    all_responses = serializers.BooleanField(default=DEFAULTS.all_responses)


class EvaluationInput(OptionsInput):
    """A file of predictions, whose they are, and how to read it."""

    file = Upload()
    task = word(Task)
    system = serializers.CharField(max_length=actions.NAME_LENGTH)
    format = serializers.ChoiceField([(each, each) for each in FORMATS], allow_blank=True, default=predictions.NAME)
    note = serializers.CharField(max_length=1000, allow_blank=True, default="")
    partial = serializers.BooleanField(default=False)  # type: ignore[assignment]


class AgainInput(Input):
    """Whether to score the valid rows of a file with errors; null: unchanged."""

    partial = serializers.BooleanField(allow_null=True, default=None)  # type: ignore[assignment]


class HiddenInput(Input):
    """Whether it is hidden from the leaderboard."""

    hidden = serializers.BooleanField()


class WrongSerializer(serializers.Serializer):
    """An incorrect prediction."""

    key = serializers.CharField()
    document = serializers.CharField()
    position = serializers.CharField()
    gold = serializers.CharField()
    predicted = serializers.CharField()


class WrongsSerializer(serializers.Serializer):
    """Incorrect predictions, some of ``total``."""

    total = serializers.IntegerField()
    results = WrongSerializer(many=True)


class WrongsQuery(Input):
    """Which errors to list."""

    gold = serializers.CharField(
        max_length=60, allow_blank=True, default="", help_text="Only items with this gold label."
    )
    predicted = serializers.CharField(
        max_length=60, allow_blank=True, default="", help_text="Only items with this prediction."
    )
    start = serializers.IntegerField(min_value=0, max_value=10**9, default=0)
    size = serializers.IntegerField(min_value=1, max_value=200, default=50)


class RankedSerializer(serializers.Serializer):
    """A row of the leaderboard. A baseline has neither rank nor id; a partial score has no rank."""

    name = serializers.CharField()
    rank = serializers.IntegerField(allow_null=True)
    value = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    figures = serializers.DictField(child=serializers.FloatField(allow_null=True))
    evaluation = serializers.CharField(source="evaluation.public_id", allow_null=True, default=None)
    is_old = serializers.BooleanField(help_text="The gold has changed since this was scored.")
    is_partial = serializers.BooleanField(help_text="Rows with errors were excluded from the score.")


class BoardOfTaskSerializer(serializers.Serializer):
    """All systems scored on a task with the same options, best first by ``figure``."""

    task = word(Task)
    options = serializers.DictField()
    figure = serializers.CharField()
    places = RankedSerializer(many=True)


class TemplateQuery(OptionsInput):
    """The task of the file."""

    task = word(Task)


def options_of(given: dict[str, Any]) -> Options:
    """The options of a form."""
    return Options(
        stance_labels=int(given["stance_labels"]),
        undetermined=Undetermined(given["undetermined"]),
        level=Level(given["level"]),
        threshold=given["threshold"],
        by_address=given["by_address"],
        all_responses=given["all_responses"],
    )


class ScoringView(ApiView):
    """A view for people who may score against the gold."""

    scope: Any = {"GET": Scope.READ, "POST": Scope.EXPORT, "PATCH": Scope.EXPORT, "DELETE": Scope.EXPORT}

    def scored(self, slug: str) -> Benchmark:
        """The benchmark. Raises NotAllowedError for members who may not read gold."""
        benchmark = self.benchmark(slug)
        rules.check_score(self.person, benchmark)
        return benchmark

    def evaluation(self, slug: str, evaluation_id: str) -> Evaluation:
        rows = evaluations_for(self.person, self.scored(slug)).select_related("benchmark", "by")
        return get_object_or_404(rows, public_id=evaluation_id)


class EvaluationsView(ScoringView):
    parser_classes = (MultiPartParser,)

    @operation("evaluations_list", "Scored predictions", TAG, query=PageInput, answer=paged(EvaluationRowSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """Newest first. Hidden ones are visible to their uploader, owners and admins."""
        benchmark = self.scored(slug)
        self.asked(PageInput)
        pages = CursorPages()
        rows = evaluations_for(self.person, benchmark).select_related("by")
        return pages.answer(EvaluationRowSerializer(pages.cut(rows, request, self), many=True).data)

    @operation(
        "evaluation_create",
        "Score predictions",
        TAG,
        body=EvaluationInput,
        answer=EvaluationSerializer,
        status=201,
        may_be_queued=True,
    )
    def post(self, request: Request, slug: str) -> Response:
        """One with faults is kept and not scored: its problems are named by line. A file over 1 MiB, or against more
        than 500 documents, is scored by a worker: 202, and the upload says its state and how much is done."""
        benchmark, given = self.scored(slug), self.body(EvaluationInput)
        wanted = actions.Wanted(
            task=Task(given["task"]),
            system=given["system"],
            options=options_of(given),
            format=given["format"] or predictions.NAME,
            note=given["note"],
            partial=given["partial"],
        )
        made = actions.score_upload(benchmark=benchmark, by=self.person, wanted=wanted, file=given["file"])
        return Response(EvaluationSerializer(made).data, status=202 if made.is_open else 201)


class EvaluationView(ScoringView):
    @operation("evaluation_read", "Scores of one upload", TAG, answer=EvaluationSerializer)
    def get(self, request: Request, slug: str, evaluation_id: str) -> Response:
        """With intervals, next to constant and random baselines."""
        return Response(EvaluationSerializer(self.evaluation(slug, evaluation_id)).data)

    @operation("evaluation_hide", "Hide or show", TAG, body=HiddenInput, answer=EvaluationSerializer)
    def patch(self, request: Request, slug: str, evaluation_id: str) -> Response:
        """Hides it from the leaderboard, or shows it again."""
        found = self.evaluation(slug, evaluation_id)
        actions.hide(found, by=self.person, **self.body(HiddenInput))
        return Response(EvaluationSerializer(found).data)

    @operation("evaluation_delete", "Delete", TAG)
    def delete(self, request: Request, slug: str, evaluation_id: str) -> Response:
        """Deletes the scores and the file."""
        actions.delete(self.evaluation(slug, evaluation_id), by=self.person)
        return Response(status=204)


class AgainView(ScoringView):
    @operation("evaluation_again", "Score again", TAG, body=AgainInput, answer=EvaluationSerializer, may_be_queued=True)
    def post(self, request: Request, slug: str, evaluation_id: str) -> Response:
        """The kept file against the gold of today; 202 where a worker is to score it."""
        found = self.evaluation(slug, evaluation_id)
        actions.score_again(found, by=self.person, **self.body(AgainInput))
        return Response(EvaluationSerializer(found).data, status=202 if found.is_open else 200)


class WrongView(ScoringView):
    @operation("evaluation_errors", "Incorrect predictions", TAG, query=WrongsQuery, answer=WrongsSerializer)
    def get(self, request: Request, slug: str, evaluation_id: str) -> Response:
        """In the order of the gold."""
        found, asked = self.evaluation(slug, evaluation_id), self.asked(WrongsQuery)
        wrong = errors_of(
            found, gold=asked["gold"], predicted=asked["predicted"], start=asked["start"], count=asked["size"]
        )
        return Response(WrongsSerializer({"total": wrong.total, "results": wrong.rows}).data)


class ComparisonQuery(Input):
    """The other system."""

    against = serializers.CharField(max_length=32, help_text="The id of another upload.")


class ComparisonSerializer(serializers.Serializer):
    """The first system minus the second over what both answered, with the p-value of a paired test for each figure."""

    evaluation = serializers.CharField()
    against = serializers.CharField()
    result = serializers.DictField()


class ComparisonView(ScoringView):
    @operation("evaluation_compare", "Compare two systems", TAG, query=ComparisonQuery, answer=ComparisonSerializer)
    def get(self, request: Request, slug: str, evaluation_id: str) -> Response:
        """409 unless both are scored on the same task with the same options, against the current gold."""
        found, against = self.evaluation(slug, evaluation_id), self.asked(ComparisonQuery)["against"]
        self.evaluation(slug, against)
        others = comparable(self.person, found, today=gold_fingerprint(found.benchmark))
        other = next((each for each in others if each.public_id == against), None)
        if other is None:
            raise ConflictError(
                "You can compare only systems scored on the same task, with the same options, against the current "
                "gold. Score them again first."
            )
        try:
            result = paired_of(found, other)
        except FileNotFoundError:
            raise ConflictError("The file behind one of the two scores no longer exists.") from None
        told = {"evaluation": found.public_id, "against": other.public_id, "result": result}
        return Response(ComparisonSerializer(told).data)


class LeaderboardView(ScoringView):
    @operation("leaderboard_read", "The leaderboard", TAG, answer=BoardOfTaskSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """A leaderboard for each task and its options."""
        return Response(BoardOfTaskSerializer(boards_of(self.person, self.scored(slug)), many=True).data)


class TemplateView(ScoringView):
    content_negotiation_class = AnyForm

    @file_operation("predictions_template", "Download a prediction template", TAG, forms=(JSONL,), query=TemplateQuery)
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Every key of a task, with blank answers."""
        benchmark, asked = self.scored(slug), self.asked(TemplateQuery)
        task, options = Task(asked["task"]), options_of(asked)
        return file_answer(_template(benchmark, task, options), JSONL, f"{benchmark.slug}-{task}.jsonl")


def _template(benchmark: Benchmark, task: Task, options: Options) -> Iterator[str]:
    with wholesale():
        items = gold_items(benchmark, task, options, texts=True)
        yield from predictions.template(items, task.value, measure_of(task, options).blank())
