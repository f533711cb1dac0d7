"""The models that wrote the answers, ranked by how factual these are: by the gold, by a run, or by an uploaded file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.file_problems import BadRow, Problem
from annotator.exchange.api.imports import ProblemRowSerializer
from annotator.exchange.formats.answers import AnswerRow, answers
from annotator.integrations.api.fields import Input, Upload
from annotator.integrations.api.schema import operation
from annotator.leaderboard.api.evaluations import ScoringView
from annotator.leaderboard.queries.answers import gold_answers, judging_runs, run_answers
from annotator.leaderboard.scoring.answer_scores import Metric, ScoreError, score_answers
from annotator.measures.queries.statistics import wholesale

TAG = "evaluations"
FAULTS_SHOWN = 50


class ScoreInput(Input):
    """Which score. Without K, VeriScore's F1@K takes the median number of claims of each source's answers."""

    metric = serializers.ChoiceField([(each.value, each.name) for each in Metric], default=Metric.VERISCORE.value)
    k = serializers.FloatField(min_value=0.01, max_value=10**6, required=False)


class AnswersQuery(ScoreInput):
    """By whose labels."""

    run = serializers.CharField(
        max_length=32,
        required=False,
        help_text="A run whose verdicts are used as labels. If omitted, the gold is used.",
    )


class AnswersInput(ScoreInput):
    """A file of answers with labeled claims (docs/formats/scores.md)."""

    file = Upload()
    partial = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="Score the valid rows of a file with errors."
    )


class AnswerScoresSerializer(serializers.Serializer):
    """What manage.py score gives; empty where there is no answer to score, or a file has faults and is not to be scored
    in part."""

    scores = serializers.DictField()
    faults = serializers.IntegerField()
    problems = ProblemRowSerializer(many=True, help_text="The first problems.")


class AnswersView(ScoringView):
    parser_classes = (MultiPartParser,)

    @operation("answers_ranking", "Rank models", TAG, query=AnswersQuery, answer=AnswerScoresSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The models that wrote the answers of this benchmark."""
        benchmark, asked = self.scored(slug), self.asked(AnswersQuery)
        run = get_object_or_404(judging_runs(benchmark), public_id=asked["run"]) if "run" in asked else None
        with wholesale():
            rows = list(run_answers(run) if run else gold_answers(benchmark))
        return _told(_scores(rows, asked), [], 0)

    @operation("answers_score", "Score a file of responses", TAG, body=AnswersInput, answer=AnswerScoresSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Scored and forgotten. Bad lines are named; with them nothing is scored unless ``partial``."""
        self.scored(slug)
        given = self.body(AnswersInput)
        rows: list[AnswerRow] = []
        problems: list[Problem] = []
        bad = 0
        for row in answers(given["file"]):
            if isinstance(row, BadRow):
                bad += 1
                problems += row.problems[: max(0, FAULTS_SHOWN - len(problems))]
            else:
                rows.append(row)
        scores = _scores(rows, given) if rows and (given["partial"] or not bad) else {}
        return _told(scores, problems, bad)


def _scores(rows: Sequence[AnswerRow], given: dict[str, Any]) -> dict[str, Any]:
    """Empty where no answer can be scored: there is none, or all abstained."""
    try:
        return score_answers(rows, Metric(given["metric"]), k=given.get("k"))
    except ScoreError:
        return {}


def _told(scores: dict[str, Any], problems: Sequence[Problem], bad: int) -> Response:
    found = {"scores": scores, "faults": bad, "problems": problems}
    return Response(AnswerScoresSerializer(found).data)
