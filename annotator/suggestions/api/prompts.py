"""A benchmark's prompts, and the suggesters trained on its gold."""

from __future__ import annotations

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.vocabulary import Scope, SuggesterKind
from annotator.integrations.api.base import ApiView, versioned
from annotator.integrations.api.fields import Input, PersonSerializer, text, word
from annotator.integrations.api.problems import StaleVersionError
from annotator.integrations.api.schema import operation
from annotator.suggestions.actions import suggesters as suggester_actions
from annotator.suggestions.actions.suggestions import MAX_WORDING, StaleWordingError, write_wording
from annotator.suggestions.queries.prompts import PromptRow, history_of, prompt_rows
from annotator.suggestions.queries.suggesters import readiness_of, versions_of

TAG = "suggestions"


class PromptSerializer(serializers.Serializer):
    """A prompt: the wording in use and the shipped wording. ``number`` is that of the benchmark's own wording, 0 for
    none."""

    name = serializers.CharField()
    purpose = serializers.CharField()
    used_by = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField(source="prompt.text")
    shipped = serializers.CharField(source="shipped.text")
    is_own = serializers.BooleanField()
    number = serializers.IntegerField(source="version.number", default=0)


class WordingSerializer(serializers.Serializer):
    """A past wording; a blank text means that the shipped one was restored."""

    number = serializers.IntegerField()
    text = serializers.CharField()
    created_at = serializers.DateTimeField()
    by = PersonSerializer(source="created_by", allow_null=True)


class WordingInput(Input):
    """The new wording. A blank text restores the shipped one."""

    text = text(most=MAX_WORDING, allow_blank=True)


class PromptsView(ApiView):
    @operation("prompts_list", "Prompts", TAG, answer=PromptSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Every prompt of every strategy, as this benchmark uses it."""
        return Response(PromptSerializer(prompt_rows(self.managed(slug)), many=True).data)


class PromptView(ApiView):
    scope = {"PUT": Scope.MANAGE}

    def row(self, slug: str, strategy: str, step: str) -> PromptRow:
        rows = prompt_rows(self.managed(slug))
        found = next((each for each in rows if each.name == f"{strategy}/{step}"), None)
        if found is None:
            raise Http404
        return found

    def shown(self, slug: str, strategy: str, step: str) -> Response:
        row = self.row(slug, strategy, step)
        return versioned(PromptSerializer(row).data, row.version.number if row.version else 0)

    @operation("prompt_read", "One prompt", TAG, answer=PromptSerializer)
    def get(self, request: Request, slug: str, strategy: str, step: str) -> Response:
        """The ETag is the number of the benchmark's own wording, "0" for none."""
        return self.shown(slug, strategy, step)

    @operation("prompt_write", "Reword a prompt", TAG, body=WordingInput, answer=PromptSerializer, needs_version=True)
    def put(self, request: Request, slug: str, strategy: str, step: str) -> Response:
        """New runs use it."""
        benchmark, row = self.managed(slug), self.row(slug, strategy, step)
        seen, given = self.seen_version(), self.body(WordingInput)
        try:
            write_wording(benchmark, row.name, given["text"], based_on=seen, by=self.person)
        except StaleWordingError as stale:
            raise StaleVersionError(
                str(stale), current=stale.newest.text, yours=given["text"], version=stale.newest.number
            ) from None
        return self.shown(slug, strategy, step)


class WordingsView(PromptView):
    http_method_names = ["get", "head", "options"]

    @operation("prompt_wordings", "Wordings of a prompt", TAG, answer=WordingSerializer(many=True))
    def get(self, request: Request, slug: str, strategy: str, step: str) -> Response:
        """All past wordings, newest first."""
        row = self.row(slug, strategy, step)
        return Response(WordingSerializer(history_of(self.managed(slug), row.name), many=True).data)


# --- suggesters that learn ------------------------------------------------------------------------


class TrainedSerializer(serializers.Serializer):
    """A version of a suggester, with its cross-validated scores."""

    id = serializers.CharField(source="public_id")
    number = serializers.IntegerField()
    documents = serializers.IntegerField(source="trained_on")
    examples = serializers.IntegerField()
    scores = serializers.DictField()
    created_at = serializers.DateTimeField()


class SuggesterSerializer(serializers.Serializer):
    """A kind of suggester: the available gold and the trained versions."""

    kind = word(SuggesterKind)
    documents = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField())
    is_ready = serializers.BooleanField()
    lacking = serializers.CharField()
    versions = TrainedSerializer(many=True)


class SuggestersSerializer(serializers.Serializer):
    """The suggesters of a benchmark."""

    learns = serializers.BooleanField()
    suggesters = SuggesterSerializer(many=True)


class LearnsInput(Input):
    """Whether they make suggestions."""

    learns = serializers.BooleanField()


class SuggestersView(ApiView):
    scope = {"PATCH": Scope.MANAGE}

    @operation("suggesters_read", "Learned suggesters", TAG, answer=SuggestersSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Their gold, their trained versions, and their scores."""
        benchmark = self.benchmark(slug)
        versions = list(versions_of(benchmark))
        rows = [
            {
                **{name: getattr(found, name) for name in ("documents", "counts", "is_ready", "lacking")},
                "kind": kind,
                "versions": [each for each in versions if each.kind == kind],
            }
            for kind, found in readiness_of(benchmark).items()
        ]
        return Response(SuggestersSerializer({"learns": benchmark.learns, "suggesters": rows}).data)

    @operation("suggesters_switch", "Turn them on or off", TAG, body=LearnsInput, answer=SuggestersSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Trained versions are kept."""
        benchmark = self.benchmark(slug)
        suggester_actions.switch_learning(benchmark, on=self.body(LearnsInput)["learns"], by=self.person)
        return self.get(request, slug)


class TrainView(ApiView):
    scope = Scope.MANAGE

    @operation("suggesters_train", "Train now", TAG, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """Trains every suggester that has enough gold."""
        suggester_actions.ask_for_training(self.benchmark(slug), by=self.person)
        return Response(status=202)
