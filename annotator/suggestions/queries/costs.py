"""The cost of runs: by step, next to the calls expected by the strategy's formula, and strategies side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Aggregate, Avg, Count, DurationField, ExpressionWrapper, F, Min, Q, QuerySet, Sum
from django.db.models.fields.json import KeyTransform

from annotator.core.models import Benchmark, PendingCall, PipelineRun, RunItem, StepUse
from annotator.core.vocabulary import RunState, Stage

# How many of the newest documents a comparison uses: enough to be reliable, few enough to be fast.
MAX_COMPARED = 5_000
_NUMBERS = ("chats", "searches", "pages", "rankings", "cached", "prompt_tokens", "answer_tokens", "money", "seconds")


@dataclass(slots=True)
class Use:
    """Usage: calls by kind, answers from the store, tokens, money, seconds of waiting. ``formula`` is the number of
    requests that the strategy's formula expects for the same documents, None if it doesn't apply."""

    step: str = ""
    chats: int = 0
    searches: int = 0
    pages: int = 0
    rankings: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0
    formula: float | None = None

    @property
    def calls(self) -> int:
        """Calls made."""
        return self.chats + self.searches + self.pages + self.rankings

    @property
    def requests(self) -> int:
        """Calls made plus answers from the store, because the formula ignores the store."""
        return self.calls + self.cached

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens

    def add(self, other: Use) -> None:
        """Add another's usage."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.formula is not None:
            self.formula = (self.formula or 0) + other.formula


@dataclass(frozen=True, slots=True)
class Pending:
    """Calls of unknown cost: how many, and the most they can have cost."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class RunCosts:
    """What one run has used so far: by step, in the order the steps started, and in total; its budget; the part
    reserved for pending calls (``held``), and the possible cost of calls whose worker was lost (``lost``)."""

    steps: list[Use]
    total: Use
    budget_tokens: int | None
    budget_money: float | None
    held: Pending
    lost: Pending

    @property
    def spent_tokens(self) -> int:
        """What counts against the budget: used, or possibly used."""
        return self.total.tokens + self.lost.tokens

    @property
    def spent_money(self) -> float:
        return self.total.money + self.lost.money

    @property
    def share(self) -> float | None:
        """The share of the budget spent, from 0 to 1; None without a budget."""
        shares = []
        if self.budget_tokens is not None:
            shares.append(self.spent_tokens / self.budget_tokens if self.budget_tokens else 1.0)
        if self.budget_money is not None:
            shares.append(self.spent_money / self.budget_money if self.budget_money else 1.0)
        return min(max(shares), 1.0) if shares else None

    @property
    def percent(self) -> int | None:
        return None if self.share is None else int(100 * self.share)


def costs_of(run: PipelineRun) -> RunCosts:
    """A run's usage, including unfinished documents. Two queries."""
    sums = StepUse.objects.filter(item__run=run).values("step").annotate(**_sums(), first=Min("id"))
    steps = [_use(row) for row in sums.order_by("first")]
    total = Use()
    for step in steps:
        total.add(step)
    held, lost = Q(lost_at__isnull=True), Q(lost_at__isnull=False)
    pending = PendingCall.objects.filter(item__run=run).aggregate(**_pending("held", held), **_pending("lost", lost))
    return RunCosts(
        steps,
        total,
        run.budget_tokens,
        run.budget_money,
        *(Pending(*(pending[f"{name}_{each}"] for each in ("calls", "tokens", "money"))) for name in ("held", "lost")),
    )


def _pending(name: str, which: Q) -> dict[str, Aggregate]:
    return {
        f"{name}_calls": Count("id", filter=which),
        f"{name}_tokens": Sum("tokens", filter=which, default=0),
        f"{name}_money": Sum("money", filter=which, default=0.0),
    }


def with_formula(costs: RunCosts, run: PipelineRun) -> RunCosts:
    """The same, with the calls expected by the formula for the finished documents: for a run that is over. One
    query."""
    rows = run.items.filter(state=RunState.FINISHED).exclude(counts={}).values_list("counts", flat=True)
    by_step = _formula(run.strategy, run.plan.get("parameters", {}), rows)
    total = costs.total
    for step in costs.steps:
        step.formula = by_step.get(step.step)
    total.formula = sum(by_step.values()) if by_step else None
    return costs


def _sums() -> dict[str, Sum]:
    return {f"{name}_sum": Sum(name) for name in _NUMBERS}


def _use(row: Mapping[str, Any]) -> Use:
    return Use(row["step"], **{name: row[f"{name}_sum"] or 0 for name in _NUMBERS})


def _formula(strategy: str, parameters: Mapping[str, object], rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Calls by step for documents with these counts; nothing for a strategy that no longer exists."""
    from pipeline.catalogue import formulas  # imported late because strategies load slowly

    try:
        return formulas(strategy, parameters, rows)
    except ValueError:
        return {}


# --- side by side ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Compared:
    """One strategy at one stage over its finished documents: totals, and per document."""

    strategy: str
    stage: Stage
    documents: int
    seconds: float  # from claiming a document to its result, on average
    use: Use = field(default_factory=Use)
    steps: list[Use] = field(default_factory=list)

    def each(self, number: float | None) -> float | None:
        """A total per document."""
        return None if number is None or not self.documents else number / self.documents

    @property
    def per_document(self) -> dict[str, float | None]:
        """The figures per document, by name."""
        use = self.use
        names = ("chats", "searches", "pages", "rankings", "cached", "calls", "requests", "tokens", "money", "formula")
        return {name: self.each(getattr(use, name)) for name in names}


def compared(benchmark: Benchmark, *, strategy: str = "", stage: Stage | None = None) -> list[Compared]:
    """Each strategy at each stage, from its newest documents: three queries, whatever their number.

    People's own searches and imported suggestions are left out, as are calls of failed documents.
    """
    items = finished_items(benchmark)
    if strategy:
        items = items.filter(run__strategy=strategy)
    if stage is not None:
        items = items.filter(run__stage=stage)
    newest = items.order_by("-id").values("pk")[:MAX_COMPARED]
    found: dict[tuple[str, str], Compared] = {}
    lasting = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    groups = RunItem.objects.filter(pk__in=newest).values("run__strategy", "run__stage")
    for row in groups.annotate(documents=Count("id"), lasting=Avg(lasting)).order_by("run__strategy", "run__stage"):
        key = (row["run__strategy"], row["run__stage"])
        seconds = row["lasting"].total_seconds() if row["lasting"] is not None else 0.0
        found[key] = Compared(key[0], Stage(key[1]), row["documents"], seconds)
    uses = StepUse.objects.filter(item__in=newest).values("item__run__strategy", "item__run__stage", "step")
    for used in uses.annotate(**_sums()).order_by("step"):
        entry = found[used["item__run__strategy"], used["item__run__stage"]]
        use = _use(used)
        entry.steps.append(use)
        entry.use.add(use)
    _add_formulas(found, newest)
    stages = list(Stage)
    return sorted(found.values(), key=lambda each: (each.strategy, stages.index(each.stage)))


def _add_formulas(found: dict[tuple[str, str], Compared], newest: QuerySet[Any]) -> None:
    rows = (
        RunItem.objects.filter(pk__in=newest)
        .exclude(counts={})
        .annotate(parameters=KeyTransform("parameters", "run__plan"))
    )
    counts: dict[tuple[str, str, str], list[Mapping[str, float]]] = defaultdict(list)
    parameters: dict[str, Mapping[str, object]] = {}
    for strategy, stage, given, reported in rows.values_list("run__strategy", "run__stage", "parameters", "counts"):
        told = given or {}
        parameters[str(told)] = told
        counts[strategy, stage, str(told)].append(reported)
    for (strategy, stage, told_as), reported in counts.items():
        entry = found[strategy, stage]
        by_step = _formula(strategy, parameters[told_as], reported)
        known = {use.step: use for use in entry.steps}
        for step, calls in by_step.items():
            if step in known:
                known[step].formula = (known[step].formula or 0) + calls
        entry.use.formula = (entry.use.formula or 0) + sum(by_step.values())


def finished_items(benchmark: Benchmark) -> QuerySet[RunItem]:
    """Documents that a strategy has finished."""
    return RunItem.objects.filter(run__benchmark=benchmark, state=RunState.FINISHED).exclude(
        Q(run__strategy="import") | Q(run__plan__has_key="again")
    )
