"""Batches: select documents, assign to groups, move, delete; withdraw idle work; add hidden gold."""

from __future__ import annotations

import random
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.models import Batch, Benchmark, Group
from annotator.core.queries.documents import DocumentFilter
from annotator.core.vocabulary import Scope, Stage
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, PersonSerializer, word
from annotator.integrations.api.schema import operation
from annotator.stages.actions.places import MAX_DAYS, take_back_idle
from annotator.stages.api.documents import DocumentAnswer, DocumentSerializer
from annotator.team.actions import batches as actions
from annotator.team.actions.batches import move_documents
from annotator.team.actions.gold_copies import mix_in
from annotator.team.queries.batches import BatchRow, batches_of, fitting, load_of

TAG = "batches"
MAX_DOCUMENTS, MAX_SEED, MAX_MIXED = 1_000_000, 2**31 - 1, 1000


class BatchSerializer(serializers.Serializer):
    """A batch and its progress, in documents."""

    id = serializers.CharField(source="batch.public_id")
    name = serializers.CharField(source="batch.name")
    group = serializers.CharField(source="batch.group.public_id", allow_null=True, default=None)
    created_at = serializers.DateTimeField(source="batch.created_at")
    cut = serializers.DictField(source="batch.cut", help_text="How its documents were chosen.")
    documents = serializers.IntegerField(source="total")
    gold = serializers.IntegerField()
    to_agree = serializers.IntegerField()
    in_work = serializers.IntegerField()
    not_begun = serializers.IntegerField()
    discarded = serializers.IntegerField()
    cross_annotated = serializers.IntegerField(source="extra")
    blind_first = serializers.IntegerField()


class LoadSerializer(serializers.Serializer):
    """One person's open work."""

    person = PersonSerializer()
    open = serializers.IntegerField()
    to_agree = serializers.IntegerField()
    finished = serializers.IntegerField()
    idle_days = serializers.IntegerField()


class CutInput(Input):
    """Which documents, for whom, and the two shares, from 0 to 1."""

    name = serializers.CharField(max_length=actions.MAX_NAME, allow_blank=True, default="")
    group = serializers.CharField(max_length=32, allow_null=True, default=None, help_text="The id of a group.")
    number = serializers.IntegerField(min_value=1, max_value=MAX_DOCUMENTS, allow_null=True, default=None)
    at_random = serializers.BooleanField(default=False)
    seed = serializers.IntegerField(min_value=0, max_value=MAX_SEED, required=False)
    stage = word(Stage, may_be_blank=True, default="")
    source = serializers.CharField(max_length=200, allow_blank=True, default="")  # type: ignore[assignment]
    model = serializers.CharField(max_length=200, allow_blank=True, default="")
    search = serializers.CharField(max_length=200, allow_blank=True, default="")
    cross_share = serializers.FloatField(min_value=0, max_value=1, default=0.0)
    cross_people = serializers.IntegerField(min_value=1, max_value=actions.MAX_EXTRA, default=1)
    blind_first_share = serializers.FloatField(min_value=0, max_value=1, default=0.0)


class FittingSerializer(serializers.Serializer):
    """How many documents match."""

    documents = serializers.IntegerField()


class BatchInput(Input):
    """Omitted fields stay. A group of null means everyone."""

    name = serializers.CharField(max_length=actions.MAX_NAME, required=False)
    group = serializers.CharField(max_length=32, allow_null=True, required=False)


class TakeBackInput(Input):
    """Work untouched for this many days; of one person, or of all."""

    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS)
    person = serializers.CharField(max_length=150, allow_null=True, default=None)


class TakenBackSerializer(serializers.Serializer):
    """How much work was withdrawn."""

    taken_back = serializers.IntegerField()


class MixInInput(Input):
    """How many gold documents. The same seed draws the same ones."""

    number = serializers.IntegerField(min_value=1, max_value=MAX_MIXED)
    seed = serializers.IntegerField(min_value=0, max_value=MAX_SEED, required=False)


class MixedInSerializer(serializers.Serializer):
    """How many hidden copies were added. Which ones isn't told, because annotators may use the API, too."""

    mixed_in = serializers.IntegerField()


def _filter(given: dict[str, Any]) -> DocumentFilter:
    return DocumentFilter(stage=given["stage"], source=given["source"], model=given["model"], search=given["search"])


class BatchAnswer(ApiView):
    """A view that finds and returns a batch."""

    scope = Scope.MANAGE

    def group(self, benchmark: Benchmark, public_id: str | None) -> Group | None:
        return get_object_or_404(benchmark.groups, public_id=public_id) if public_id else None

    def batch(self, slug: str, batch_id: str) -> Batch:
        rows = Batch.objects.select_related("benchmark", "group")
        return get_object_or_404(rows, benchmark=self.managed(slug), public_id=batch_id)

    def shown(self, benchmark: Benchmark, batch_id: str, status: int = 200) -> Response:
        row: BatchRow = next(each for each in batches_of(benchmark) if each.batch.public_id == batch_id)
        return Response(BatchSerializer(row).data, status=status)


class BatchesView(BatchAnswer):
    @operation("batches_list", "Batches", TAG, answer=BatchSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The batches, oldest first, with their progress."""
        return Response(BatchSerializer(batches_of(self.managed(slug)), many=True).data)

    @operation("batch_cut", "Create a batch", TAG, body=CutInput, answer=BatchSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """Creates a batch of documents in no batch that nobody has started, the first ones or at random, for a group or
        for everyone."""
        benchmark, given = self.managed(slug), self.body(CutInput)
        batch = actions.cut_batch(
            benchmark,
            by=self.person,
            name=given["name"],
            how=actions.How(number=given["number"], at_random=given["at_random"], narrowed=_filter(given)),
            group=self.group(benchmark, given["group"]),
            cross_share=given["cross_share"],
            cross_people=given["cross_people"],
            blind_first_share=given["blind_first_share"],
            seed=given.get("seed", random.randrange(10_000)),
        )
        return self.shown(benchmark, batch.public_id, 201)


class FittingView(BatchAnswer):
    scope = Scope.READ

    @operation("batch_preview", "Preview a batch", TAG, body=CutInput, answer=FittingSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Creates nothing."""
        benchmark = self.managed(slug)
        return Response({"documents": fitting(benchmark, _filter(self.body(CutInput))).count()})


class BatchView(BatchAnswer):
    @operation("batch_read", "One batch", TAG, answer=BatchSerializer)
    def get(self, request: Request, slug: str, batch_id: str) -> Response:
        """A batch with its progress."""
        return self.shown(self.batch(slug, batch_id).benchmark, batch_id)

    @operation("batch_change", "Assign or rename a batch", TAG, body=BatchInput, answer=BatchSerializer)
    def patch(self, request: Request, slug: str, batch_id: str) -> Response:
        """Open work of people who no longer have a place in it is withdrawn; finished work stays."""
        batch, given = self.batch(slug, batch_id), self.body(BatchInput)
        if "name" in given:
            actions.rename(batch, given["name"], by=self.person)
        if "group" in given:
            actions.assign_batch(batch, self.group(batch.benchmark, given["group"]), by=self.person)
        return self.shown(batch.benchmark, batch_id)

    @operation("batch_dissolve", "Dissolve a batch", TAG)
    def delete(self, request: Request, slug: str, batch_id: str) -> Response:
        """Its documents are then in no batch; work on them continues."""
        actions.dissolve(self.batch(slug, batch_id), by=self.person)
        return Response(status=204)


class MixInView(BatchAnswer):
    @operation("batch_mix_in", "Add hidden gold items to a batch", TAG, body=MixInInput, answer=MixedInSerializer)
    def post(self, request: Request, slug: str, batch_id: str) -> Response:
        """Adds hidden copies of gold documents, to measure annotator accuracy."""
        batch, given = self.batch(slug, batch_id), self.body(MixInInput)
        seed = given.get("seed", random.randrange(10_000))
        return Response({"mixed_in": len(mix_in(batch, number=given["number"], seed=seed, by=self.person))})


class LoadView(BatchAnswer):
    scope = Scope.READ

    @operation("load_read", "Workload", TAG, answer=LoadSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The members who label, by name."""
        return Response(LoadSerializer(load_of(self.managed(slug), timezone.now()), many=True).data)


class BatchTakeBackView(BatchAnswer):
    @operation("idle_take_back", "Unassign idle work", TAG, body=TakeBackInput, answer=TakenBackSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Their work so far is kept; their places are free."""
        benchmark, given = self.managed(slug), self.body(TakeBackInput)
        members = benchmark.memberships.select_related("user")
        whose = get_object_or_404(members, user__username=given["person"]).user if given["person"] else None
        return Response({"taken_back": take_back_idle(benchmark, days=given["days"], by=self.person, person=whose)})


class MoveInput(Input):
    """The batch; null for none."""

    batch = serializers.CharField(max_length=32, allow_null=True)


class MoveView(DocumentAnswer):
    @operation("document_move", "Move into a batch", TAG, body=MoveInput, answer=DocumentSerializer)
    def put(self, request: Request, public_id: str) -> Response:
        """Moves a document to another batch, or out of any. Open work of people who have no place there is
        withdrawn."""
        document, chosen = self.document(public_id), self.body(MoveInput)["batch"]
        rules.check_manage(self.person, document.benchmark)
        batch = get_object_or_404(document.benchmark.batches, public_id=chosen) if chosen else None
        move_documents([document], batch, by=self.person)
        return self.shown(public_id)
