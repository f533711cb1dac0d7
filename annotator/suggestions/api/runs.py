"""Pipeline runs: start, view, pause, resume, cancel, retry; and their costs."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.vocabulary import RunState, Scope, Stage
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, PersonSerializer, word
from annotator.integrations.api.paging import CursorPages, PageInput, paged
from annotator.integrations.api.schema import operation
from annotator.suggestions.actions import get_suggestions
from annotator.suggestions.actions import runs as actions
from annotator.suggestions.actions.plans import SEED, RunRequest, choice_of
from annotator.suggestions.queries.costs import compared, costs_of, with_formula
from annotator.suggestions.queries.forecast import forecast
from annotator.suggestions.queries.prompts import prompts_in_use
from annotator.suggestions.queries.run_scope import MISSING, WAITING, in_batch, scope_of
from annotator.suggestions.queries.run_scope import RunScope as Documents
from annotator.suggestions.queries.runs import RunProgress, failures_of, progress_of, readable_plan, runs_of

TAG = "runs"
FAILURES_SHOWN = 50


class RunSerializer(serializers.Serializer):
    """A run with the number of its documents in each state."""

    id = serializers.CharField(source="run.public_id")
    stage = word(Stage, source="run.stage")
    strategy = serializers.CharField(source="run.strategy")
    state = word(RunState, source="run.state")
    halted = serializers.CharField(source="run.halted", help_text="Why it was paused automatically; blank if not.")
    by = PersonSerializer(source="run.requested_by", allow_null=True)
    created_at = serializers.DateTimeField(source="run.created_at")
    finished_at = serializers.DateTimeField(source="run.finished_at", allow_null=True)
    total = serializers.IntegerField()
    finished = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()
    seconds_left = serializers.FloatField(source="pace.seconds_left", allow_null=True)


class UseSerializer(serializers.Serializer):
    """Usage: calls by kind, cached calls, tokens, cost, seconds of waiting."""

    step = serializers.CharField(help_text="Blank for the total.")
    chats = serializers.IntegerField()
    searches = serializers.IntegerField()
    pages = serializers.IntegerField()
    rankings = serializers.IntegerField()
    cached = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    answer_tokens = serializers.IntegerField()
    money = serializers.FloatField()
    seconds = serializers.FloatField()
    formula = serializers.FloatField(
        allow_null=True, help_text="Requests, calls and cached, predicted by the strategy's formula."
    )


class InterruptedSerializer(serializers.Serializer):
    """Calls whose worker was lost: how many, and the most they can have cost. Counted against the budget."""

    calls = serializers.IntegerField()
    tokens = serializers.IntegerField()
    money = serializers.FloatField()


class FailureSerializer(serializers.Serializer):
    """A document of a run that failed, and why."""

    document = serializers.CharField(source="document.public_id")
    attempts = serializers.IntegerField()
    error = serializers.CharField(help_text="Names no service.")
    error_details = serializers.CharField(help_text="The same, naming services, for owners; blank for others.")


class RunDetailSerializer(RunSerializer):
    """A run with its frozen plan, its costs and its failures (the first ones)."""

    halted_details = serializers.CharField(help_text="Why, naming services, for owners; blank for others.")
    plan = serializers.DictField()
    steps = UseSerializer(many=True)
    costs = UseSerializer()
    interrupted = InterruptedSerializer()
    budget_tokens = serializers.IntegerField(allow_null=True)
    budget_money = serializers.FloatField(allow_null=True)
    failures = FailureSerializer(many=True)


class RunInput(Input):
    """What to run on which documents. Omitted fields use the benchmark's default."""

    stage = word(Stage, default=Stage.DECOMPOSE.value)
    strategy = serializers.CharField(max_length=40, required=False)
    parameters = serializers.DictField(required=False)
    which = serializers.ChoiceField(
        [(MISSING, MISSING), (WAITING, WAITING)],
        default=MISSING,
        help_text="Documents without suggestions, or all unstarted ones.",
    )
    batch = serializers.CharField(max_length=32, allow_null=True, default=None, help_text="A batch id.")
    most = serializers.IntegerField(min_value=1, max_value=10**6, allow_null=True, default=None)
    budget_tokens = serializers.IntegerField(min_value=0, max_value=10**15, allow_null=True, default=None)
    budget_money = serializers.FloatField(min_value=0, max_value=1e12, allow_null=True, default=None)
    model = serializers.CharField(max_length=200, allow_blank=True, default="")
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, allow_null=True, default=SEED)
    temperature = serializers.FloatField(min_value=0, max_value=2, default=0.0)
    in_batches = serializers.BooleanField(
        default=False, help_text="Ask the model in batches: half the price, answers within a day."
    )


class SuggestInput(Input):
    """The stage to make suggestions for."""

    stage = word(Stage, default=Stage.DECOMPOSE.value)


class BudgetInput(Input):
    """The new budget; null for none."""

    budget_tokens = serializers.IntegerField(min_value=0, max_value=10**15, allow_null=True, default=None)
    budget_money = serializers.FloatField(min_value=0, max_value=1e12, allow_null=True, default=None)


class ForecastSerializer(serializers.Serializer):
    """The forecast for a run. ``measured`` is the number of documents averaged; 0 means estimated by the formula."""

    documents = serializers.IntegerField()
    chats = serializers.FloatField()
    searches = serializers.FloatField()
    pages = serializers.FloatField()
    tokens = serializers.FloatField()
    money = serializers.FloatField()
    money_in_batches = serializers.FloatField(
        allow_null=True, help_text="The cost where the model is asked in batches; null if it can't be."
    )
    seconds = serializers.FloatField()
    measured = serializers.IntegerField()


class ComparedSerializer(serializers.Serializer):
    """A strategy's costs at a stage over its finished documents."""

    strategy = serializers.CharField()
    stage = word(Stage)
    documents = serializers.IntegerField()
    seconds = serializers.FloatField()
    use = UseSerializer()
    steps = UseSerializer(many=True)
    per_document = serializers.DictField(child=serializers.FloatField(allow_null=True))


class RunAnswer(ApiView):
    """A view that finds and answers with a run."""

    scope: Any = {"GET": Scope.READ, "POST": Scope.MANAGE}

    def run(self, slug: str, run_id: str) -> RunProgress:
        return progress_of(get_object_or_404(runs_of(self.managed(slug)), public_id=run_id))

    def shown(self, slug: str, run_id: str, status: int = 200) -> Response:
        row = self.run(slug, run_id)
        costs = costs_of(row.run)
        if not row.is_moving:
            costs = with_formula(costs, row.run)
        names = ("total", "finished", "failed", "cancelled", "running", "waiting")
        found = {name: getattr(row, name) for name in names} | {"run": row.run, "pace": row.pace}
        sees_services = rules.can_change_services(self.person, row.run.benchmark)
        plan = readable_plan(row.run, services=sees_services)
        found |= {"plan": plan, "steps": costs.steps, "costs": costs.total}
        found["halted_details"] = row.run.halted_details if sees_services else ""
        found["interrupted"] = costs.lost
        found |= {"budget_tokens": costs.budget_tokens, "budget_money": costs.budget_money}
        found["failures"] = [
            {
                "document": item.document,
                "attempts": item.attempts,
                "error": item.error,
                "error_details": item.error_details if sees_services else "",
            }
            for item in failures_of(row.run)[:FAILURES_SHOWN]
        ]
        return Response(RunDetailSerializer(found).data, status=status)


class RunsView(RunAnswer):
    @operation("runs_list", "Runs", TAG, query=PageInput, answer=paged(RunSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """Newest first, without annotators' own searches."""
        benchmark = self.managed(slug)
        self.asked(PageInput)
        pages = CursorPages()
        rows = pages.cut(runs_of(benchmark).defer("plan"), request, self)
        return pages.answer(RunSerializer([progress_of(row) for row in rows], many=True).data)

    @operation("run_start", "Start a run", TAG, body=RunInput, answer=RunDetailSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """The run is queued; poll it until it is over."""
        benchmark, given = self.managed(slug), self.body(RunInput)
        wish = _wish(benchmark, given)
        documents = _documents(benchmark, given)
        if not documents.documents:
            raise BadValueError("No matching documents: choose others, or another stage.")
        claims = [claim for pk in documents.documents for claim in documents.claims.get(pk, [])]
        run = actions.start_run(
            benchmark=benchmark,
            stage=Stage(given["stage"]),
            documents=documents.documents,
            by=self.person,
            plan={"claims": claims} if given["stage"] == Stage.VERIFY else None,
            wish=wish,
            refuse=True,
        )
        if run is None:
            raise BadValueError("Nothing to do: the strategy makes no suggestions for this stage.")
        return self.shown(slug, run.public_id, 202)


def _documents(benchmark: Benchmark, given: dict[str, Any]) -> Documents:
    batch = None
    if given["batch"]:
        batch = in_batch(get_object_or_404(benchmark.batches, public_id=given["batch"]))
    return scope_of(benchmark, Stage(given["stage"]), given["which"]).first(given["most"], batch)


def _wish(benchmark: Benchmark, given: dict[str, Any]) -> RunRequest:
    name = given.get("strategy", benchmark.strategy)
    if choice_of(benchmark, name) is None:
        raise BadValueError(f"There is no strategy “{name}”. See “strategies” for the available ones.")
    is_own = name == benchmark.strategy and "parameters" not in given
    chosen = ("budget_tokens", "budget_money", "model", "seed", "temperature", "in_batches")
    return RunRequest(
        strategy=name,
        parameters=benchmark.parameters if is_own else given.get("parameters", {}),
        **{each: given[each] for each in chosen},
    )


class ForecastView(RunAnswer):
    scope = Scope.READ

    @operation("run_forecast", "Forecast a run", TAG, body=RunInput, answer=ForecastSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Starts nothing."""
        benchmark, given = self.managed(slug), self.body(RunInput)
        wish = _wish(benchmark, given)
        choice = choice_of(benchmark, wish.strategy)
        if choice is None:
            raise Http404
        prompts, stage = prompts_in_use(benchmark, choice.prompts), Stage(given["stage"])
        try:
            told = forecast(benchmark, choice, wish.parameters or {}, stage, _documents(benchmark, given), prompts)
        except ValueError as error:
            raise BadValueError(str(error)) from None
        return Response(ForecastSerializer(told).data)


class SuggestView(RunAnswer):
    @operation("suggestions_get", "Get what is missing", TAG, body=SuggestInput, answer=RunSerializer(many=True))
    def post(self, request: Request, slug: str) -> Response:
        """Makes missing suggestions, evidence or revised responses with the benchmark's strategy."""
        benchmark, given = self.managed(slug), self.body(SuggestInput)
        made = get_suggestions.get_suggestions(benchmark=benchmark, stage=Stage(given["stage"]), by=self.person)
        rows = runs_of(benchmark).filter(pk__in=[run.pk for run in made])
        return Response(RunSerializer([progress_of(row) for row in rows], many=True).data)


class RunView(RunAnswer):
    @operation("run_read", "One run", TAG, answer=RunDetailSerializer)
    def get(self, request: Request, slug: str, run_id: str) -> Response:
        """Progress, plan, costs and failures."""
        return self.shown(slug, run_id)


class PauseView(RunAnswer):
    @operation("run_pause", "Pause", TAG, answer=RunDetailSerializer)
    def post(self, request: Request, slug: str, run_id: str) -> Response:
        """No further calls are made; current calls finish."""
        actions.pause_run(self.run(slug, run_id).run, by=self.person)
        return self.shown(slug, run_id)


class ResumeView(RunAnswer):
    @operation("run_resume", "Resume", TAG, body=BudgetInput, answer=RunDetailSerializer)
    def post(self, request: Request, slug: str, run_id: str) -> Response:
        """Continues with the given budget."""
        actions.resume_run(self.run(slug, run_id).run, by=self.person, **self.body(BudgetInput))
        return self.shown(slug, run_id)


class RunCancelView(RunAnswer):
    @operation("run_cancel", "Cancel", TAG, answer=RunDetailSerializer)
    def post(self, request: Request, slug: str, run_id: str) -> Response:
        """Finished documents stay. Canceling a finished run has no effect."""
        row = self.run(slug, run_id)
        if row.is_open or row.is_paused:
            actions.cancel_run(row.run, by=self.person)
        return self.shown(slug, run_id)


class RetryView(RunAnswer):
    @operation("run_retry", "Retry", TAG, answer=RunDetailSerializer)
    def post(self, request: Request, slug: str, run_id: str) -> Response:
        """Retries failed and canceled documents once the run is over; otherwise has no effect."""
        row = self.run(slug, run_id)
        if row.can_retry:
            actions.retry_failed(row.run, by=self.person)
        return self.shown(slug, run_id)


class CostsView(RunAnswer):
    @operation("costs_read", "Compare strategies", TAG, answer=ComparedSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The cost per document of each strategy at each stage."""
        return Response(ComparedSerializer(compared(self.managed(slug)), many=True).data)
