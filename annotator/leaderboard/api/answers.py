"""Ranks the models that wrote the responses by how factual these are, according to the gold, a run, or an uploaded
file."""

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
    """The score. Without K, VeriScore's F1@K uses the median number of claims in each source's responses."""

    metric = serializers.ChoiceField([(each.value, each.name) for each in Metric], default=Metric.VERISCORE.value)
    k = serializers.FloatField(min_value=0.01, max_value=10**6, required=False)


class AnswersQuery(ScoreInput):
    """Whose labels to use."""

    run = serializers.CharField(
        max_length=32,
        required=False,
        help_text="A run whose verdicts are used as labels. If omitted, the gold is used.",
    )


class AnswersInput(ScoreInput):
    """A file of responses with labeled claims (docs/formats/scores.md)."""

    file = Upload()
    partial = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="Score the valid rows of a file with errors."
    )


class AnswerScoresSerializer(serializers.Serializer):
    """The output of manage.py score. Empty if there is no response to score, or the file has errors and partial scoring
    isn't requested."""

    scores = serializers.DictField()
    faults = serializers.IntegerField()
    problems = ProblemRowSerializer(many=True, help_text="The first problems.")


class AnswersView(ScoringView):
    parser_classes = (MultiPartParser,)

    @operation("answers_ranking", "Rank models", TAG, query=AnswersQuery, answer=AnswerScoresSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The models that wrote this benchmark's responses."""
        benchmark, asked = self.scored(slug), self.asked(AnswersQuery)
        run = get_object_or_404(judging_runs(benchmark), public_id=asked["run"]) if "run" in asked else None
        with wholesale():
            rows = list(run_answers(run) if run else gold_answers(benchmark))
        return _told(_scores(rows, asked), [], 0)

    @operation("answers_score", "Score a file of responses", TAG, body=AnswersInput, answer=AnswerScoresSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Scored, not stored. Bad lines are reported; with any, nothing is scored unless ``partial``."""
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
    """Empty if no response can be scored, because there is none or all abstained."""
    try:
        return score_answers(rows, Metric(given["metric"]), k=given.get("k"))
    except ScoreError:
        return {}


def _told(scores: dict[str, Any], problems: Sequence[Problem], bad: int) -> Response:
    found = {"scores": scores, "faults": bad, "problems": problems}
    return Response(AnswerScoresSerializer(found).data)
