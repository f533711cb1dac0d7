"""Benchmarks: list, create, view and change settings."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError
from django.shortcuts import get_object_or_404
from django.utils.text import slugify
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.actions import benchmarks as actions
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Corpus
from annotator.core.queries.membership import benchmarks_of, practice_sources
from annotator.core.vocabulary import Scope, Stage
from annotator.home.queries.overview import listed
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import AnyValue, Input, word
from annotator.integrations.api.problems import ConflictError
from annotator.integrations.api.schema import operation
from annotator.integrations.api.scopes import reached
from annotator.suggestions.actions.suggestions import choose_strategy

TAG = "benchmarks"


class BenchmarkRowSerializer(serializers.Serializer):
    """A benchmark in the list."""

    slug = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    documents = serializers.IntegerField(source="documents_count")
    gold = serializers.IntegerField(source="gold_count")


class BenchmarkSerializer(serializers.Serializer):
    """A benchmark and its settings."""

    slug = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    created_at = serializers.DateTimeField()
    role = serializers.SerializerMethodField(help_text="Yours.")
    overlap = serializers.IntegerField(help_text="How many people annotate each document.")
    third_rater_at_verify = serializers.BooleanField()
    practice_documents = serializers.IntegerField()
    practice_from = serializers.CharField(
        source="practice_from.slug",
        allow_null=True,
        default=None,
        help_text="The benchmark whose gold new annotators practice on; null for its own.",
    )
    asks_reliable = serializers.BooleanField()
    asks_sufficient = serializers.BooleanField()
    strategy = serializers.CharField(help_text="Of automatic runs; blank means none.")
    parameters = serializers.DictField()
    budget_tokens = serializers.IntegerField(allow_null=True)
    budget_money = serializers.FloatField(allow_null=True)
    learns = serializers.BooleanField()
    corpus = serializers.CharField(source="corpus.slug", allow_null=True, default=None)

    def get_role(self, benchmark: Any) -> str:
        return str(rules.role_of(self.context["person"], benchmark) or "")


class BenchmarkInput(Input):
    """A new benchmark. Its slug is derived from the name."""

    name = serializers.CharField(max_length=200)
    overlap = serializers.IntegerField(min_value=1, max_value=actions.MAX_PEOPLE, default=2)
    strategy = serializers.CharField(max_length=40, allow_blank=True, default="offline")
    corpus = serializers.CharField(max_length=80, allow_null=True, default=None, help_text="Its slug.")


class ProtocolInput(Input):
    """Omitted fields stay as they are."""

    overlap = serializers.IntegerField(min_value=1, max_value=actions.MAX_PEOPLE, required=False)
    third_rater_at_verify = serializers.BooleanField(required=False)
    practice_documents = serializers.IntegerField(min_value=0, max_value=actions.MAX_PRACTICE, required=False)
    practice_from = serializers.CharField(
        max_length=80,
        allow_null=True,
        required=False,
        help_text="The slug of a benchmark whose gold you can export; null for its own gold.",
    )


class StrategyInput(Input):
    """What makes suggestions automatically. A blank strategy means nothing does."""

    strategy = serializers.CharField(max_length=40, allow_blank=True)
    parameters = serializers.DictField(default=dict)
    budget_tokens = serializers.IntegerField(min_value=0, max_value=10**15, allow_null=True, default=None)
    budget_money = serializers.FloatField(min_value=0, max_value=1e12, allow_null=True, default=None)


PROTOCOL = ("overlap", "third_rater_at_verify", "practice_documents", "practice_from")


class BenchmarksView(ApiView):
    scope = {"POST": Scope.MANAGE}
    unbound = ("POST",)

    @operation("benchmarks_list", "Your benchmarks", TAG, answer=BenchmarkRowSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Your benchmarks, by name."""
        rows = listed(reached(request, benchmarks_of(self.person), "pk"))
        return Response(BenchmarkRowSerializer(rows, many=True).data)

    @operation(
        "benchmark_create", "Create a benchmark", TAG, body=BenchmarkInput, answer=BenchmarkSerializer, status=201
    )
    def post(self, request: Request) -> Response:
        """For staff. You become its owner. Next, import documents."""
        rules.check_create_benchmark(self.person)
        given = self.body(BenchmarkInput)
        slug = slugify(given["name"])[:80]
        if not slug:
            raise BadValueError("The name needs at least one Latin letter or digit, because the URL is built from it.")
        if given["strategy"]:
            _check_strategy(given["strategy"])
        corpus = get_object_or_404(Corpus, slug=given["corpus"]) if given["corpus"] else None
        try:
            benchmark = actions.create_benchmark(
                slug=slug,
                name=given["name"],
                by=self.person,
                strategy=given["strategy"],
                corpus=corpus,
                overlap=given["overlap"],
            )
        except IntegrityError:
            raise ConflictError(f"A benchmark “{slug}” already exists. Choose another name.") from None
        return Response(BenchmarkSerializer(benchmark, context={"person": self.person}).data, status=201)


def _check_strategy(name: str) -> None:
    from pipeline.catalogue import choices  # imported late because strategies load slowly

    names = [each.name for each in choices()]
    if name not in names:
        raise BadValueError(f"There is no strategy “{name}”. There are: {', '.join(names)}.")


class BenchmarkView(ApiView):
    @operation("benchmark_read", "One benchmark", TAG, answer=BenchmarkSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The benchmark's settings, and your role in it."""
        return Response(BenchmarkSerializer(self.benchmark(slug), context={"person": self.person}).data)


class ProtocolView(ApiView):
    scope = {"PATCH": Scope.MANAGE}

    @operation("protocol_change", "Change the settings", TAG, body=ProtocolInput, answer=BenchmarkSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """People per document (fixed once someone starts), the adjudicator at verify, practice. For owners."""
        benchmark = self.benchmark(slug)
        rules.check_change_protocol(self.person, benchmark)
        given = {name: getattr(benchmark, name) for name in PROTOCOL} | self.body(ProtocolInput)
        if isinstance(slug_of_gold := given["practice_from"], str):
            given["practice_from"] = get_object_or_404(practice_sources(self.person, benchmark), slug=slug_of_gold)
        actions.change_protocol(benchmark, by=self.person, **given)
        return Response(BenchmarkSerializer(self.benchmark(slug), context={"person": self.person}).data)


class StrategyView(ApiView):
    scope = {"PUT": Scope.MANAGE}

    @operation("strategy_choose", "Choose the strategy", TAG, body=StrategyInput, answer=BenchmarkSerializer)
    def put(self, request: Request, slug: str) -> Response:
        """Used by automatic runs from now on. Current runs keep their plan."""
        benchmark = self.managed(slug)
        choose_strategy(benchmark, by=self.person, **self.body(StrategyInput))
        return Response(BenchmarkSerializer(self.benchmark(slug), context={"person": self.person}).data)


# --- what there is to choose ----------------------------------------------------------------------


class ParameterSerializer(serializers.Serializer):
    """A parameter of a strategy."""

    name = serializers.CharField()
    type = serializers.CharField()
    description = serializers.CharField()
    default = AnyValue()
    least = serializers.FloatField(allow_null=True)
    most = serializers.FloatField(allow_null=True)


class StrategySerializer(serializers.Serializer):
    """A strategy: the services it needs, the stages it supports, and its parameters."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    summary = serializers.CharField()
    formula = serializers.CharField()
    needs = serializers.ListField(child=serializers.CharField())
    stages = serializers.ListField(child=word(Stage))
    parameters = ParameterSerializer(many=True, source="fields_")


class StrategiesView(ApiView):
    @operation("strategies_list", "Available strategies", TAG, answer=StrategySerializer(many=True))
    def get(self, request: Request) -> Response:
        """The strategies of this installation, whether or not their services are configured."""
        from pipeline.catalogue import choices

        rows = [
            {
                "name": each.name,
                "label": each.label,
                "summary": each.summary,
                "formula": each.formula,
                "needs": sorted(each.needs),
                "stages": [stage.value for stage in each.stages],
                "fields_": list(each.fields),
            }
            for each in choices()
        ]
        return Response(StrategySerializer(rows, many=True).data)


class CorpusSerializer(serializers.Serializer):
    """A corpus to retrieve evidence from."""

    slug = serializers.CharField()
    name = serializers.CharField()


class CorporaView(ApiView):
    unbound = ("GET",)

    @operation("corpora_list", "Available corpora", TAG, answer=CorpusSerializer(many=True))
    def get(self, request: Request) -> Response:
        """For people who may create a benchmark."""
        rules.check_create_benchmark(self.person)
        return Response(CorpusSerializer(Corpus.objects.order_by("name", "pk"), many=True).data)
