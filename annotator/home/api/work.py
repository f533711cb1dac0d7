"""A person's work: the next task, and short lists."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.vocabulary import Scope, Stage
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import word
from annotator.integrations.api.schema import operation
from annotator.team.actions.next_task import take_next
from annotator.team.queries.work import MyWork, WorkItem, my_work, next_task

TAG = "work"
WHY = ("continue", "repair", "consolidate", "practice", "follow", "new", "join")


class NextTaskSerializer(serializers.Serializer):
    """A document at a stage, and why it is next: it is in progress, was sent back, awaits adjudication, is for
    practice, was decomposed by you, is new, or needs another annotator."""

    document = serializers.CharField(source="document.public_id")
    benchmark = serializers.CharField(source="document.benchmark.slug")
    name = serializers.CharField(source="document")
    stage = word(Stage)
    why = serializers.ChoiceField([(each, each) for each in WHY])
    asked_by = serializers.ListField(child=serializers.CharField())


class WaitingSerializer(serializers.Serializer):
    """A document where you have done your part."""

    document = serializers.CharField(source="document.public_id")
    name = serializers.CharField(source="document")
    what_for = serializers.CharField()


class DoneSerializer(serializers.Serializer):
    """A document with stages you have submitted."""

    document = serializers.CharField(source="document.public_id")
    name = serializers.CharField(source="document")
    stages = serializers.ListField(child=word(Stage))
    submitted_at = serializers.DateTimeField(allow_null=True)


class BegunSerializer(serializers.Serializer):
    """Work that you have started."""

    annotation = serializers.CharField(source="public_id")
    document = serializers.CharField(source="document.public_id")
    name = serializers.CharField(source="document")
    stage = word(Stage)


class ToAgreeSerializer(serializers.Serializer):
    """A stage that you adjudicate with others."""

    document = serializers.CharField(source="document.public_id")
    name = serializers.CharField(source="document")
    stage = word(Stage)
    people = serializers.ListField(child=serializers.CharField())
    as_third_rater = serializers.BooleanField()


class WorkSerializer(serializers.Serializer):
    """Your work. Lists are shortened; counts are complete."""

    next = NextTaskSerializer(allow_null=True)
    in_work = BegunSerializer(many=True)
    to_agree = ToAgreeSerializer(many=True)
    to_agree_count = serializers.IntegerField()
    waiting = WaitingSerializer(many=True)
    done = DoneSerializer(many=True)
    done_count = serializers.IntegerField()
    prefilling = serializers.IntegerField(help_text="Documents whose suggestions are being generated.")


class NextSerializer(serializers.Serializer):
    """Your task; null if nothing is available now."""

    task = NextTaskSerializer(allow_null=True)


class WorkView(ApiView):
    unbound = ("GET",)

    @operation("work_read", "Your work", TAG, answer=WorkSerializer)
    def get(self, request: Request) -> Response:
        """Your next task, and what is in progress, awaiting adjudication, waiting and done. Assigns nothing."""
        work: MyWork = my_work(self.person)
        task: WorkItem | None = next_task(self.person)
        names = ("in_work", "to_agree", "to_agree_count", "waiting", "done", "done_count", "prefilling")
        found: dict[str, Any] = {name: getattr(work, name) for name in names}
        return Response(WorkSerializer(found | {"next": task}).data)


class NextView(ApiView):
    scope = Scope.ANNOTATE
    unbound = ("POST",)

    @operation("work_next", "Start the next task", TAG, answer=NextSerializer)
    def post(self, request: Request) -> Response:
        """Assigns the next document to you. If someone else gets the last place on it, you get the one after."""
        return Response(NextSerializer({"task": take_next(by=self.person)}).data)
