"""The form for a new run: strategy, parameters, budget and documents, with a forecast that follows the choices. The
choices can be saved as the benchmark's default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.queries.progress import time_in_words
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import is_htmx, managed_benchmark, person, render_domain_errors
from annotator.core.vocabulary import Stage
from annotator.suggestions.actions.plans import SEED, RunRequest, obstacle
from annotator.suggestions.actions.runs import start_run
from annotator.suggestions.actions.suggestions import choose_strategy
from annotator.suggestions.queries.forecast import forecast
from annotator.suggestions.queries.prompts import prompts_in_use
from annotator.suggestions.queries.run_scope import MISSING, WAITING, batches_of, in_batch, scope_of
from annotator.suggestions.queries.services import service_settings

if TYPE_CHECKING:
    from pipeline.catalogue import ParameterField, StrategyChoice

FORM = "suggestions/runs/new.html"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The form's values as typed; ``stage`` and ``strategy`` are known to exist."""

    stage: Stage
    strategy: str
    which: str
    batch: str
    typed: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        return self.typed.get(name, default).strip()


def whole(raw: str, name: str) -> int | None:
    """A whole number from a field; None for a blank one. Raises BadValueError."""
    raw = raw.replace(",", "").replace(" ", "")
    if not raw:
        return None
    if not raw.isdecimal() or len(raw) > 15:
        raise BadValueError(f"“{name}” must be a whole number or blank.")
    return int(raw)


def amount(raw: str, name: str) -> float | None:
    """A number that is not negative, from a field; None for a blank one. Raises BadValueError."""
    if not raw:
        return None
    try:
        number = float(raw)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e12:
        raise BadValueError(f"“{name}” must be a number such as 2.50, or blank.")
    return number


def budget_of(request: HttpRequest) -> tuple[int | None, float | None]:
    """The budget as it was typed: tokens and money. Raises BadValueError."""
    tokens = whole(request.POST.get("budget_tokens", "").strip(), "Tokens")
    return tokens, amount(request.POST.get("budget_money", "").strip(), "Cost")


def _chosen(benchmark: Benchmark, given: QueryDict) -> Chosen:
    from pipeline.catalogue import choices

    names = [choice.name for choice in choices()]
    strategy = given.get("strategy", benchmark.strategy or names[0])
    stage = given.get("stage", Stage.DECOMPOSE.value)
    if strategy not in names or stage not in set(Stage):
        raise Http404
    return Chosen(
        stage=Stage(stage),
        strategy=strategy,
        which=given.get("which", MISSING) if given.get("which") in (MISSING, WAITING) else MISSING,
        batch=given.get("batch", ""),
        typed={name: value for name, value in given.items() if isinstance(value, str)},
    )


def _name_of(choice: StrategyChoice, field: ParameterField) -> str:
    """The name of a parameter's field. Strategies with parameters of the same name do not share what is typed."""
    return f"p-{choice.name}-{field.name}"


def parameters_of(choice: StrategyChoice, typed: Mapping[str, str]) -> dict[str, object]:
    """The parameters of a strategy as the form gives them; a blank field is the default. Raises BadValueError for what
    is no number where one is asked; bounds are the catalogue's to check."""
    values: dict[str, object] = {}
    for field in choice.fields:
        name = _name_of(choice, field)
        if field.type == "bool":
            # Browsers don't send unticked boxes; the hidden field shows that the box was in the form.
            if f"{name}-shown" in typed:
                values[field.name] = name in typed
            continue
        raw = typed.get(name, "").strip()
        if raw:
            values[field.name] = _parsed(field, raw)
    return values


def _parsed(field: ParameterField, raw: str) -> object:
    try:
        if field.type == "int":
            return int(raw)
        if field.type == "float":
            return float(raw)
    except ValueError:
        kind = "a whole number" if field.type == "int" else "a number"
        raise BadValueError(f"“{field.description}” must be {kind}, not “{raw}”.") from None
    return raw


def _wish(choice: StrategyChoice, chosen: Chosen) -> RunRequest:
    return RunRequest(
        strategy=choice.name,
        parameters=parameters_of(choice, chosen.typed),
        budget_tokens=whole(chosen.text("budget_tokens"), "Tokens"),
        budget_money=amount(chosen.text("budget_money"), "Cost"),
        model=chosen.text("model")[:200],
        seed=whole(chosen.text("seed"), "Seed"),
        temperature=min(amount(chosen.text("temperature"), "Temperature") or 0.0, 2.0),
        in_batches="in_batches" in chosen.typed,
    )


@require_GET
@render_domain_errors
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """The form. htmx asks for it anew when stage or strategy change, and for the forecast alone when anything else
    does, so that nothing that is being typed moves."""
    benchmark = managed_benchmark(request, slug)
    context = _context(request, benchmark, _chosen(benchmark, request.GET), request.GET)
    if is_htmx(request):
        part = "forecast" if request.GET.get("part") == "forecast" else "choices"
        return render(request, f"{FORM}#{part}", context)
    return render(request, FORM, page_of_benchmark(request, benchmark, "Runs") | context)


def _context(
    request: HttpRequest, benchmark: Benchmark, chosen: Chosen, given: QueryDict, problem: str = ""
) -> dict[str, Any]:
    from pipeline.catalogue import choices

    offered = choices()
    choice = next(each for each in offered if each.name == chosen.strategy)
    # The fields show the benchmark's own parameters until others are typed.
    is_typed = any(name.startswith(f"p-{choice.name}-") for name in given)
    is_own = choice.name == benchmark.strategy and not is_typed
    own: Mapping[str, object] = benchmark.parameters if is_own else {}
    scope = scope_of(benchmark, chosen.stage, chosen.which)
    batches = batches_of(benchmark)
    services = service_settings(benchmark, has_corpus=benchmark.corpus_id is not None)
    is_owner = rules.can_change_services(person(request), benchmark)
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "stages": list(Stage),
        "may_add_services": is_owner,
        "claims": 0,
        "forecast_time": "",
        "chosen": chosen,
        "choice": choice,
        "cards": [(each, obstacle(benchmark, each, chosen.stage)) for each in offered],
        "fields": [_shown(field, _name_of(choice, field), chosen.typed, own) for field in choice.fields],
        "batches": batches,
        "obstacle": obstacle(benchmark, choice, chosen.stage),
        "problem": problem,
        "forecast": None,
        "has_prices": bool(services.llm_price_prompt or services.llm_price_answer or services.search_price),
        "asks_model": "chat" in choice.needs,
        "in_batches": "in_batches" in chosen.typed,
        "model": chosen.text("model") or (services.llm_model if is_owner else ""),
        "seed": chosen.text("seed", str(SEED)),
        "temperature": chosen.text("temperature", "0"),
        "budget_tokens": chosen.text("budget_tokens", str(benchmark.budget_tokens or "")),
        "budget_money": chosen.text("budget_money", f"{benchmark.budget_money:g}" if benchmark.budget_money else ""),
        "most": chosen.text("most"),
        "found": len(scope.documents),
    }
    try:
        scope = scope.first(whole(chosen.text("most"), "At most"), _batch(batches, chosen.batch))
        context["found"], context["claims"] = len(scope.documents), scope.claims_in_all
        parameters = parameters_of(choice, chosen.typed) if is_typed else own
        prompts = prompts_in_use(benchmark, choice.prompts)
        told = forecast(benchmark, choice, parameters, chosen.stage, scope, prompts)
        context |= {"forecast": told, "forecast_time": time_in_words(told.seconds)}
    except (BadValueError, ValueError) as error:
        context["problem"] = problem or str(error)
    return context


def _batch(batches: list[Any], public_id: str) -> set[int] | None:
    batch = next((each for each in batches if each.public_id == public_id), None)
    return None if batch is None else in_batch(batch)


def _shown(field: ParameterField, name: str, typed: Mapping[str, str], own: Mapping[str, object]) -> dict[str, Any]:
    """A parameter as shown in the form: with the typed value, else the benchmark's own, else the default."""
    default = own.get(field.name, field.default)
    if field.type == "bool":
        value: object = name in typed if f"{name}-shown" in typed else bool(default)
    else:
        value = typed.get(name, "" if default is None else default)
    bounds = [
        f"from {field.least:g}" if field.least is not None else "",
        f"to {field.most:g}" if field.most is not None else "",
    ]
    return {
        "name": name,
        "field": field,
        "value": value,
        "bounds": " ".join(each for each in bounds if each),
        "is_default": value == field.default or str(value) == str(field.default),
    }


def begin(request: HttpRequest, benchmark: Benchmark) -> HttpResponse:
    """Start the run. If it is refused, the form is shown again as filled in."""
    chosen = _chosen(benchmark, request.POST)
    context = _context(request, benchmark, chosen, request.POST)
    choice: StrategyChoice = context["choice"]
    try:
        scope = scope_of(benchmark, chosen.stage, chosen.which)
        scope = scope.first(whole(chosen.text("most"), "At most"), _batch(context["batches"], chosen.batch))
        if not scope.documents:
            raise BadValueError("No matching documents: choose others, or another stage.")
        claims = [claim for pk in scope.documents for claim in scope.claims.get(pk, [])]
        run = start_run(
            benchmark=benchmark,
            stage=chosen.stage,
            documents=scope.documents,
            by=person(request),
            plan={"claims": claims} if chosen.stage == Stage.VERIFY else None,
            wish=_wish(choice, chosen),
            refuse=True,
        )
    except BadValueError as refusal:
        context["problem"] = str(refusal)
        return render(request, FORM, page_of_benchmark(request, benchmark, "Runs") | context, status=422)
    if run is None:
        raise Http404
    return redirect("run", benchmark.slug, run.public_id)


@require_POST
@render_domain_errors
def keep(request: HttpRequest, slug: str) -> HttpResponse:
    """Save the form's strategy, parameters and budget as the benchmark's default for automatic runs."""
    benchmark = managed_benchmark(request, slug)
    if request.POST.get("strategy") == "":
        choose_strategy(
            benchmark, strategy="", parameters={}, budget_tokens=None, budget_money=None, by=person(request)
        )
        return redirect("runs", slug)
    chosen = _chosen(benchmark, request.POST)
    context = _context(request, benchmark, chosen, request.POST)
    try:
        wish = _wish(context["choice"], chosen)
        choose_strategy(
            benchmark,
            strategy=chosen.strategy,
            parameters=wish.parameters or {},
            budget_tokens=wish.budget_tokens,
            budget_money=wish.budget_money,
            by=person(request),
        )
    except BadValueError as refusal:
        context["problem"] = str(refusal)
        return render(request, FORM, page_of_benchmark(request, benchmark, "Runs") | context, status=422)
    messages.success(request, f"Automatic suggestions now come from {context['choice'].label}.")
    return redirect("runs", slug)
