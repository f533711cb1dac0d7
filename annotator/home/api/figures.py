"""A benchmark's figures: progress, agreement, statistics, quality of suggestions, practice."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.models import Benchmark, User
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Stage
from annotator.home.queries.dashboard import progress_of
from annotator.home.queries.overview import whats_missing
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, PersonSerializer, word
from annotator.integrations.api.schema import operation
from annotator.measures.agreement.tables import as_json as agreement_as_json
from annotator.measures.queries.agreement import (
    AgreementFilter,
    Settled,
    agreement_of,
    members_of,
    own_agreement,
    people_in,
    settled_of,
)
from annotator.measures.queries.annotator_accuracy import scores_of
from annotator.measures.queries.automation import kept_automation_of
from annotator.measures.queries.practice import measured_in, practice_of
from annotator.measures.queries.statistics import sources_of, statistics_of
from annotator.measures.queries.suggestion_quality import kept_quality_of
from annotator.measures.statistics.figures import Rule
from annotator.measures.statistics.report import as_json as statistics_as_json
from annotator.measures.suggestion_quality.automation import as_json as automation_as_json
from annotator.measures.suggestion_quality.report import as_json as quality_as_json
from annotator.measures.suggestion_quality.report import people_in as people_in_quality

TAG = "figures"

# --- progress -------------------------------------------------------------------------------------


class StageBarSerializer(serializers.Serializer):
    """Where the documents are at one stage."""

    stage = word(Stage)
    agreed = serializers.IntegerField(source="adjudicated")
    to_agree = serializers.IntegerField()
    in_work = serializers.IntegerField()
    waiting = serializers.IntegerField()
    total = serializers.IntegerField()


class DaySerializer(serializers.Serializer):
    """Documents adjudicated by the end of a day."""

    day = serializers.DateField()
    decompose_agreed = serializers.IntegerField()
    verify_agreed = serializers.IntegerField()
    gold = serializers.IntegerField()


class OverviewSerializer(serializers.Serializer):
    """The benchmark's progress."""

    documents = serializers.IntegerField()
    gold = serializers.IntegerField()
    discarded = serializers.IntegerField()
    flagged = serializers.IntegerField()
    stages = StageBarSerializer(many=True)
    burn_up = DaySerializer(many=True)
    missing = serializers.ListField(child=serializers.CharField(), help_text="What the team is missing.")
    as_of = serializers.DateTimeField()


class OverviewView(ApiView):
    @operation("overview_read", "Progress", TAG, answer=OverviewSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Documents by stage and by day. For a large benchmark, at most a minute old."""
        benchmark = self.benchmark(slug)
        found = progress_of(benchmark)
        days = [
            {"day": day, "decompose_agreed": first, "verify_agreed": second, "gold": third}
            for day, first, second, third in found.burn_up.rows
        ]
        shown = {
            "documents": found.standing.total,
            "gold": found.standing.gold,
            "discarded": found.standing.discarded,
            "flagged": found.flags,
            "stages": found.bars,
            "burn_up": days,
            "missing": whats_missing(benchmark),
            "as_of": found.as_of,
        }
        return Response(OverviewSerializer(shown).data)


# --- agreement ------------------------------------------------------------------------------------


class AgreementQuery(Input):
    """What to count; everything if omitted."""

    stage = word(Stage, may_be_blank=True, default="")
    person = serializers.CharField(
        max_length=150, allow_blank=True, default="", help_text="A username: only this person, with each partner."
    )
    partner = serializers.CharField(
        max_length=150, allow_blank=True, default="", help_text="With person: only these two."
    )
    group = serializers.CharField(max_length=32, allow_blank=True, default="", help_text="The id of a group.")
    batch = serializers.CharField(max_length=32, allow_blank=True, default="", help_text="The id of a batch.")
    since = serializers.DateField(required=False)
    until = serializers.DateField(required=False)
    blind_first = serializers.BooleanField(required=False)
    cross_annotated = serializers.BooleanField(required=False)
    by = serializers.ChoiceField([("week", "week"), ("month", "month")], required=False)


class FiguresSerializer(serializers.Serializer):
    """Figures by name, as printed by the command of the same name."""

    benchmark = serializers.CharField()
    figures = serializers.DictField()


class AgreementView(ApiView):
    @operation("agreement_read", "Inter-annotator agreement", TAG, query=AgreementQuery, answer=FiguresSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """For owners, admins and researchers. How differences were resolved is for owners and admins."""
        benchmark = self.benchmark(slug)
        rules.check_see_agreement(self.person, benchmark)
        narrowed = _filter(benchmark, self.asked(AgreementQuery))
        report = agreement_of(benchmark, narrowed)
        people = {key: person.username for key, person in people_in(report).items()}
        found = agreement_as_json(report, people, dict(benchmark.batches.values_list("pk", "name")))
        if rules.can_manage(self.person, benchmark):
            found["settled"] = _settled(settled_of(benchmark, narrowed), people)
        return Response({"benchmark": benchmark.slug, "figures": found})


def _filter(benchmark: Benchmark, asked: dict[str, Any]) -> AgreementFilter:
    names = [asked[name] for name in ("person", "partner") if asked[name]]
    known = {person.username: person.pk for person in members_of(benchmark)} if names else {}
    if any(name not in known for name in names):
        raise Http404
    return AgreementFilter(
        stage=asked["stage"],
        people=tuple(dict.fromkeys(known[name] for name in names)),
        group=get_object_or_404(benchmark.groups, public_id=asked["group"]).pk if asked["group"] else None,
        batch=get_object_or_404(benchmark.batches, public_id=asked["batch"]).pk if asked["batch"] else None,
        since=asked.get("since"),
        until=asked.get("until"),
        blind_first=asked.get("blind_first"),
        cross_annotated=asked.get("cross_annotated"),
        by=asked.get("by", ""),
    )


def _settled(settled: Settled, people: dict[int, str]) -> dict[str, Any]:
    return {
        "differences": settled.total,
        "reasons": {reason or "not_said": number for reason, number in settled.reasons.items()},
        "people": {
            people.get(person, ""): {"own": kept.own, "partners": kept.partners, "new": kept.new}
            for person, kept in settled.kept.items()
        },
    }


class OwnAgreementView(ApiView):
    @operation("own_agreement_read", "Your own inter-annotator agreement", TAG, answer=FiguresSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """With your partners, without their names."""
        benchmark = self.benchmark(slug)
        found = agreement_as_json(own_agreement(self.person, benchmark), {self.person.pk: self.person.username}, {})
        shown = {name: found[name] for name in found if name not in ("pairs", "batches", "people")}
        return Response({"benchmark": benchmark.slug, "figures": shown})


# --- statistics -----------------------------------------------------------------------------------


class StatisticsQuery(Input):
    """Which gold, and which rule makes a document false."""

    source = serializers.CharField(max_length=200, allow_blank=True, default="")  # type: ignore[assignment]
    rule = serializers.ChoiceField([(each.value, each.name) for each in Rule], default=Rule.PAPER.value)


class StatisticsView(ApiView):
    @operation("statistics_read", "Statistics of the gold", TAG, query=StatisticsQuery, answer=FiguresSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Every figure of Factcheck-Bench, section 3.3. For owners, admins and researchers."""
        benchmark, asked = self.benchmark(slug), self.asked(StatisticsQuery)
        rules.check_see_statistics(self.person, benchmark)
        counted = sources_of(benchmark)
        if asked["source"] and asked["source"] not in {each.source for each in counted}:
            raise Http404
        report = statistics_of(benchmark, counted, asked["source"])
        return Response({"benchmark": benchmark.slug, "figures": statistics_as_json(report, Rule(asked["rule"]))})


# --- suggestions and practice ---------------------------------------------------------------------


class SuggestionQualityView(ApiView):
    @operation("suggestion_quality_read", "Suggestion quality", TAG, answer=FiguresSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Strategies side by side against the newest gold, and what people did with their suggestions."""
        benchmark = self.benchmark(slug)
        rules.check_see_statistics(self.person, benchmark)
        report = kept_quality_of(benchmark)
        people: dict[int, str] = {}
        if rules.can_manage(self.person, benchmark):
            rows = User.objects.filter(pk__in=people_in_quality([*report.columns, *report.learned]))
            people = dict(rows.values_list("pk", "username"))
        return Response({"benchmark": benchmark.slug, "figures": quality_as_json(report, people)})


class AutomationView(ApiView):
    @operation("automation_read", "Effect of automation", TAG, answer=FiguresSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """What happened to suggestions, whether they changed labels, and where retrieved evidence was sufficient."""
        benchmark = self.benchmark(slug)
        rules.check_see_statistics(self.person, benchmark)
        found = kept_automation_of(benchmark)
        people: dict[int, str] = {}
        if rules.can_manage(self.person, benchmark):
            people = dict(User.objects.filter(pk__in=found.people).values_list("pk", "username"))
        return Response({"benchmark": benchmark.slug, "figures": automation_as_json(found, people)})


class PracticeSerializer(serializers.Serializer):
    """The result of a stage of a practice document, compared with its gold."""

    stage = word(Stage)
    right = serializers.IntegerField()
    total = serializers.IntegerField()
    differences = serializers.ListField(child=serializers.DictField())


class PracticeView(ApiView):
    @operation("practice_read", "Practice results", TAG, answer=PracticeSerializer(many=True))
    def get(self, request: Request, public_id: str) -> Response:
        """The submitted stages of a practice document, newest first."""
        document = self.document(public_id)
        if document.practice_for_id is None:
            raise Http404
        submitted = document.annotations.filter(
            kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED, person=document.practice_for_id
        )
        rows = list(submitted.select_related("document").order_by("-submitted_at", "-pk"))
        scores = scores_of(rows)
        found = [
            {
                "stage": score.stage,
                "right": score.right,
                "total": score.total,
                "differences": [_difference(each) for each in score.differences],
            }
            for score in (scores[row.pk] for row in rows if row.pk in scores)
        ]
        return Response(PracticeSerializer(found, many=True).data)


class ShareSerializer(serializers.Serializer):
    """A share with its 95% interval, from resampling documents; null bounds for a single document."""

    value = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class PractisingSerializer(serializers.Serializer):
    """A person's accuracy in practice or on hidden gold."""

    person = PersonSerializer()
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    excused = serializers.IntegerField()
    is_open = serializers.BooleanField()
    right = serializers.IntegerField()
    labels = serializers.IntegerField()
    accuracy = ShareSerializer(allow_null=True)
    constant = ShareSerializer(
        allow_null=True, help_text="What always giving each question's most frequent gold label would score."
    )


class PractisingPeopleSerializer(serializers.Serializer):
    """Who practices, and who has labeled hidden gold."""

    practice = PractisingSerializer(many=True)
    mixed_in = PractisingSerializer(many=True)


class PractisingView(ApiView):
    @operation("practising_read", "Annotator accuracy", TAG, answer=PractisingPeopleSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """For owners and admins."""
        benchmark = self.managed(slug)
        found = {"practice": practice_of(benchmark), "mixed_in": measured_in(benchmark)}
        return Response(PractisingPeopleSerializer(found).data)


def _difference(each: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(each).items() if name != "definition"}
