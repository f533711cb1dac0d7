"""Studies in the API: the list, figures, your next item with its questions, answering and submitting."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.models import Benchmark
from annotator.core.vocabulary import Scope
from annotator.integrations.api.base import ApiView, versioned
from annotator.integrations.api.fields import ActiveInput, AnyValue, text
from annotator.integrations.api.problems import StaleVersionError
from annotator.integrations.api.schema import operation
from annotator.integrations.api.scopes import check_reaches
from annotator.studies.actions import answering
from annotator.studies.models import Study, StudyAssignment
from annotator.studies.queries.figures import figures_as_json, study_figures
from annotator.studies.queries.work import Row, Sheet, assignment_of, next_assignment, sheet_of
from annotator.studies.rules import check_see_figures

TAG = "studies"


class StudySerializer(serializers.Serializer):
    """A study and its protocol."""

    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    protocol = serializers.CharField(source="version.name")
    version = serializers.IntegerField(source="version.number")
    sha256 = serializers.CharField(source="version.sha256")
    started_at = serializers.DateTimeField(allow_null=True)


class StudyFiguresSerializer(serializers.Serializer):
    """The figures of a study, as `manage.py study --json` gives them."""

    figures = AnyValue()


class StudyRowSerializer(serializers.Serializer):
    """A record of an item with the keys of the questions that are asked and the answers given. The id of a candidate is
    its letter; its source isn't revealed."""

    id = serializers.CharField()
    kind = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    asked = serializers.ListField(child=serializers.CharField())
    answers = AnyValue()


class StudySheetSerializer(serializers.Serializer):
    """Your work on an item. ``version`` counts its changes; send it as If-Match."""

    id = serializers.CharField()
    study = serializers.CharField()
    version = serializers.IntegerField()
    submitted = serializers.BooleanField()
    prompt = serializers.CharField(allow_blank=True)
    text = serializers.CharField(allow_blank=True)
    rows = StudyRowSerializer(many=True)


class StudyAnswerInput(ActiveInput):
    """The value as forms send it: a label, yes or no, a text, or a letter; several are separated by commas. A blank
    value removes the answer."""

    value = text(allow_blank=True)


def sheet_as_json(sheet: Sheet) -> dict[str, Any]:
    """The sheet as its own annotator sees it."""
    return {
        "id": sheet.assignment.public_id,
        "study": sheet.assignment.study.public_id,
        "version": sheet.version,
        "submitted": not sheet.is_open,
        "prompt": sheet.item.prompt,
        "text": sheet.item.text,
        "rows": [_row(sheet, row) for row in (sheet.top, *sheet.rows)],
    }


def _row(sheet: Sheet, row: Row) -> dict[str, Any]:
    answers = {each.key: sheet.as_sent(each, row.values.get(each.key)) for each in row.questions}
    return {
        "id": row.address,
        "kind": row.kind,
        "text": row.part.text if row.part else "",
        "asked": [each.key for each in row.asked],
        "answers": {key: value for key, value in answers.items() if value},
    }


class StudyBaseView(ApiView):
    """Finds studies and your own assignments."""

    def study(self, slug: str, study_id: str) -> Study:
        benchmark: Benchmark = self.benchmark(slug)
        rows = Study.objects.select_related("version", "benchmark")
        return get_object_or_404(rows, benchmark=benchmark, public_id=study_id)

    def assignment(self, public_id: str) -> StudyAssignment:
        found = assignment_of(self.person, public_id)
        if found is None or not rules.allowed(rules.check_see_benchmark, self.person, found.study.benchmark):
            raise Http404
        check_reaches(self.request, found.study.benchmark)
        return found

    def sheet(self, assignment: StudyAssignment) -> Response:
        found = sheet_of(self.assignment(assignment.public_id))
        return versioned(sheet_as_json(found), found.version)


class StudiesView(StudyBaseView):
    @operation("studies_list", "Studies", TAG, answer=StudySerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The benchmark's studies, oldest first."""
        rows = Study.objects.filter(benchmark=self.benchmark(slug)).select_related("version").order_by("id")
        return Response(StudySerializer(rows, many=True).data)


class FiguresView(StudyBaseView):
    @operation("study_figures", "Figures of a study", TAG, answer=StudyFiguresSerializer)
    def get(self, request: Request, slug: str, study_id: str) -> Response:
        """Only items that everyone has submitted are counted."""
        study = self.study(slug, study_id)
        check_see_figures(self.person, study.benchmark)
        return Response({"figures": figures_as_json(study_figures(study))})


class NextItemView(StudyBaseView):
    @operation("study_next", "The next item", TAG, answer=StudySheetSerializer)
    def get(self, request: Request, slug: str, study_id: str) -> Response:
        """Your first item that isn't submitted; 404 when there is none."""
        found = next_assignment(self.study(slug, study_id), self.person)
        if found is None:
            raise Http404
        return self.sheet(found)


class StudyItemView(StudyBaseView):
    @operation("study_item_read", "One item", TAG, answer=StudySheetSerializer)
    def get(self, request: Request, assignment_id: str) -> Response:
        """Your own work on an item."""
        return self.sheet(self.assignment(assignment_id))


class ItemAnswerView(StudyBaseView):
    scope = {"PUT": Scope.ANNOTATE}

    @operation("study_answer", "Answer", TAG, body=StudyAnswerInput, answer=StudySheetSerializer, needs_version=True)
    def put(self, request: Request, assignment_id: str, answer_key: str) -> Response:
        """One answer, such as item.verdict, A.fluent or the id of a record with a question."""
        assignment, given = self.assignment(assignment_id), self.body(StudyAnswerInput)
        try:
            answering.save_answer(
                assignment,
                answer_key,
                given["value"],
                by=self.person,
                version=self.seen_version(),
                active_seconds=given["active_seconds"],
            )
        except answering.StaleAnswerError as stale:
            raise StaleVersionError(str(stale), current=stale.theirs, yours=stale.mine, version=stale.version) from None
        return self.sheet(assignment)


class ItemSubmitView(StudyBaseView):
    scope = {"POST": Scope.ANNOTATE}

    @operation("study_item_submit", "Submit an item", TAG, body=ActiveInput, answer=StudySheetSerializer)
    def post(self, request: Request, assignment_id: str) -> Response:
        """Locks the answers. If answers are missing, they are listed and nothing is locked."""
        assignment = self.assignment(assignment_id)
        seconds = self.body(ActiveInput)["active_seconds"]
        answering.submit_item(assignment, by=self.person, active_seconds=seconds)
        return self.sheet(assignment)
