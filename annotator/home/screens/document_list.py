"""The documents of a benchmark as a table: filters, columns, saved views, and actions on many documents at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, Document, DocumentChange
from annotator.core.queries.documents import (
    NO_BATCH,
    SORTS,
    DocumentCounts,
    DocumentFilter,
    Shelf,
    counts_of,
    matching,
    page_of,
    shelf_for,
)
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, managed_benchmark, person, render_domain_errors
from annotator.core.screens.document_filters import filter_of, params_of, query_of
from annotator.core.vocabulary import STAGES, DiscardReason, DocumentStep, FlagReason, Phase, Stage
from annotator.home.actions import document_changes as changes
from annotator.home.queries import explorer
from annotator.suggestions.actions.get_suggestions import get_suggestions

TEMPLATE = "home/documents.html"
FILTER_WORDS = {
    "q": "Search", "stage": "Stage", "phase": "State", "source": "Source", "model": "Model", "language": "Language",
    "batch": "Batch", "person": "Person", "flag": "Flag", "flagged": "Flagged", "twins": "Practice and hidden gold",
    "confirmed": "Contradiction confirmed",
    "discarded": "Discard reason", "false": "False claims", "ids": "Selected",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heading:
    """A column heading: the address that sorts by it ("" if that isn't possible), and the current order."""

    column: explorer.Column
    query: str = ""
    order: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter, and the address without it."""

    words: str
    query: str


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The table, fifty documents per page. ``?part=filters`` returns the filter form, ``?part=changes`` the changes in
    progress."""
    benchmark = benchmark_for(request, slug)
    context = page_of_benchmark(request, benchmark, "Documents")
    manages = context["can_manage"]
    narrowed = filter_of(request.GET, manages=manages)
    shelf = shelf_for(person(request), benchmark, twins=narrowed.twins)
    if is_htmx(request) and request.GET.get("part") == "changes" and manages:
        return render(request, f"{TEMPLATE}#changes", {"benchmark": benchmark} | _changes(benchmark))
    context |= {"narrowed": narrowed, "no_batch": NO_BATCH}
    if is_htmx(request) and request.GET.get("part") == "filters":
        return render(request, f"{TEMPLATE}#filters", context | _filters(benchmark, shelf, manages=manages))
    context |= _table(request, benchmark, narrowed, shelf, manages=manages)
    return render(request, TEMPLATE, context)


def _table(
    request: HttpRequest, benchmark: Benchmark, narrowed: DocumentFilter, shelf: Shelf, *, manages: bool
) -> dict[str, Any]:
    chosen = [key for key in request.GET.getlist("column") if key in {each.key for each in explorer.COLUMNS}]
    columns = explorer.columns_of(chosen, manages=manages)
    sort = request.GET.get("sort", "")
    allowed = {"document", "prompt", *(each.sort for each in explorer.COLUMNS if manages or not each.for_managers)}
    sort = sort if sort.removeprefix("-") in allowed & SORTS.keys() else ""
    after, before = _key(request, "after"), _key(request, "before")
    page = page_of(benchmark, narrowed, shelf, after=after, before=before, sort=sort)
    counts = counts_of(benchmark, shelf)
    beside = explorer.beside(page.rows, columns)
    state = {**params_of(narrowed), "column": chosen, "sort": sort}
    views = explorer.views_of(benchmark, person(request)) if manages else []
    query = _query(state)
    return {
        "page": page,
        "rows": [(row, _chips(row), beside.people.get(row.pk, []), beside.changed.get(row.pk)) for row in page.rows],
        "counts": counts,
        "found": _number(benchmark, narrowed, shelf, counts) if manages else 0,
        "columns": columns,
        "all_columns": [each for each in explorer.COLUMNS if manages or not each.for_managers],
        "headings": [_heading(each, state) for each in columns],
        "document_heading": _heading(explorer.Column("document", "Document", "document"), state),
        "prompt_heading": _heading(explorer.Column("prompt", "Prompt", "prompt"), state),
        "chips": _filter_chips(benchmark, narrowed, state),
        "hidden": [("sort", sort)] if sort else [],
        "narrowed_params": list(params_of(narrowed).items()),
        "chosen_columns": chosen,
        "query": query,
        "views": [(each, each.query == query) for each in views],
        "stages": list(STAGES),
        "discard_reasons": list(DiscardReason),
        "batches": list(benchmark.batches.order_by("pk")) if manages else [],
    } | (_changes(benchmark) if manages else {})


def _number(benchmark: Benchmark, narrowed: DocumentFilter, shelf: Shelf, counts: DocumentCounts) -> int:
    """How many documents match the filter."""
    if narrowed in (DocumentFilter(), DocumentFilter(twins=True)):
        return counts.total
    return matching(benchmark, narrowed, shelf).count()


def _changes(benchmark: Benchmark) -> dict[str, Any]:
    rows = explorer.changes_of(benchmark)
    return {
        "changes": [(row, changes.outcome_of(row) if row.finished_at else "") for row in rows],
        "is_changing": any(row.finished_at is None for row in rows),
    }


def _filters(benchmark: Benchmark, shelf: Shelf, *, manages: bool) -> dict[str, Any]:
    counts = counts_of(benchmark, shelf)
    return {
        "options": explorer.filter_options(benchmark),
        "stage_options": [(stage, counts.at_stage(stage)) for stage in STAGES],
        "phase_options": [(phase, counts.in_phase(phase)) for phase in Phase],
        "flag_reasons": list(FlagReason) if manages else [],
        "discard_reasons": list(DiscardReason),
    }


def _query(state: dict[str, Any]) -> str:
    return urlencode({name: value for name, value in state.items() if value}, doseq=True)


def _heading(column: explorer.Column, state: dict[str, Any]) -> Heading:
    if not column.sort:
        return Heading(column)
    up, down = column.sort, f"-{column.sort}"
    turns = [down, up] if column.is_number or column.key == "changed" else [up, down]  # most and newest first
    now = state["sort"]
    wanted = turns[1] if now == turns[0] else turns[0]
    order = {up: "ascending", down: "descending"}.get(now, "")
    return Heading(column, _query({**state, "sort": wanted}), order)


def _filter_chips(benchmark: Benchmark, narrowed: DocumentFilter, state: dict[str, Any]) -> list[Chip]:
    """The active filters in words; the search has its own field."""
    chips = []
    for name, value in params_of(narrowed).items():
        if name == "q":
            continue
        words = f"{FILTER_WORDS[name]}: {_words_of(benchmark, name, value)}"
        if name in ("flagged", "twins", "confirmed"):
            words = FILTER_WORDS[name]
        elif name == "false":
            words = f"False claims ≥ {value}"
        chips.append(Chip(words, _query({**state, name: ""})))
    return chips


def _words_of(benchmark: Benchmark, name: str, value: str) -> str:
    if name == "stage":
        return Stage(value).label
    if name == "phase":
        return _phase_words(Phase(value))
    if name == "flag":
        return FlagReason(value).label
    if name == "ids":
        number = len(value.split(","))
        return f"{number} document{'s' if number != 1 else ''}"
    if name == "batch":
        batch = benchmark.batches.filter(public_id=value).first()
        return str(batch) if batch else "none"
    return value


def _phase_words(phase: Phase) -> str:
    return {Phase.AGREED: "Gold", Phase.INDEPENDENT: "Open to work"}.get(phase, phase.label)


def _key(request: HttpRequest, name: str) -> int:
    raw = request.GET.get(name, "")
    return int(raw) if raw.isdecimal() and len(raw) < 19 else 0


@dataclass(frozen=True, slots=True)
class StageChip:
    """One stage of a document in the list: "agreed", "here" or "ahead"."""

    label: str
    state: str


def _chips(document: Document) -> list[StageChip]:
    reached = STAGES.index(Stage(document.stage))
    chips = []
    for position, stage in enumerate(STAGES):
        adjudicated = position < reached or (position == reached and document.phase == Phase.AGREED)
        chips.append(StageChip(stage.label, "agreed" if adjudicated else "here" if position == reached else "ahead"))
    return chips


# --- many documents at once -----------------------------------------------------------------------


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, what: str) -> HttpResponse:
    """Move, discard, restore, reopen, request suggestions for, or export the selected rows, or all documents that match
    the filter in ``query``. Then show the same page of the list again."""
    benchmark = managed_benchmark(request, slug)
    if what == "dismiss":
        row = get_object_or_404(DocumentChange, benchmark=benchmark, public_id=request.POST.get("change", ""))
        changes.dismiss(row, by=person(request))
        return redirect("documents", slug)
    narrowed = _selected(request)
    if what == "export":
        return redirect(f"{reverse('export', args=[slug])}?{query_of(narrowed)}")
    if what == "suggest":
        _ask_for_suggestions(request, benchmark, narrowed)
    else:
        try:
            step = DocumentStep(what)
        except ValueError:
            raise Http404(f"Documents cannot “{what}”.") from None
        _change(request, benchmark, narrowed, step)
    query = request.POST.get("query", "")
    return redirect(f"{reverse('documents', args=[slug])}{'?' if query else ''}{query}")


def _selected(request: HttpRequest) -> DocumentFilter:
    """The selected rows, or the filter of the page."""
    shown = filter_of(QueryDict(request.POST.get("query", "")), manages=True)
    if request.POST.get("all") == "yes":
        return shown
    ids = tuple(each for each in request.POST.getlist("document") if each)
    if not ids:
        raise BadValueError("Select at least one document first.")
    return DocumentFilter(ids=ids, twins=shown.twins)


def _change(request: HttpRequest, benchmark: Benchmark, narrowed: DocumentFilter, step: DocumentStep) -> None:
    key = request.POST.get("batch", "") if step == DocumentStep.MOVE else ""
    if step == DocumentStep.MOVE and not key:
        raise BadValueError("Choose a batch to move the documents to.")
    stage = request.POST.get("stage", "")
    if step == DocumentStep.REOPEN and stage not in set(Stage):
        raise BadValueError("Choose a stage to reopen: decompose, verify or revise.")
    made = changes.change_documents(
        benchmark,
        narrowed,
        step,
        by=person(request),
        reason=request.POST.get(f"{step.value}_reason", "")[:500],
        code=request.POST.get("discard_code", DiscardReason.OTHER),
        stage=Stage(stage) if stage in set(Stage) else Stage.DECOMPOSE,
        batch=get_object_or_404(benchmark.batches, public_id=key) if key and key != NO_BATCH else None,
    )
    if made.finished_at is not None:
        say = messages.success if made.refused < made.total else messages.warning
        say(request, changes.outcome_of(made))
        changes.dismiss(made, by=person(request))


def _ask_for_suggestions(request: HttpRequest, benchmark: Benchmark, narrowed: DocumentFilter) -> None:
    keys = set(matching(benchmark, replace(narrowed, twins=False)).values_list("pk", flat=True))
    runs = [run for stage in (Stage.DECOMPOSE, Stage.VERIFY) for run in _runs(benchmark, stage, keys, request)]
    number = sum(run.items.count() for run in runs)
    if number:
        messages.success(
            request, f"Suggestions for {number:,} document{'s' if number != 1 else ''} are being generated."
        )
    else:
        messages.info(request, "Every selected document that nobody has started already has suggestions.")


def _runs(benchmark: Benchmark, stage: Stage, keys: set[int], request: HttpRequest) -> list[Any]:
    """Request suggestions for a stage. Without a corpus or search, there are no runs for evidence."""
    try:
        return get_suggestions(benchmark=benchmark, stage=stage, by=person(request), among=keys)
    except rules.NotAllowedError:
        if stage == Stage.VERIFY:
            return []
        raise


# --- saved views ----------------------------------------------------------------------------------


@require_POST
@render_domain_errors
def view(request: HttpRequest, slug: str) -> HttpResponse:
    """Save the filter, columns and order of the page under a name, or delete one of the person's views."""
    benchmark = managed_benchmark(request, slug)
    user, query = person(request), request.POST.get("query", "")
    if request.POST.get("delete"):
        get_object_or_404(benchmark.views.filter(by=user), public_id=request.POST["delete"]).delete()
        messages.success(request, "The view was deleted.")
    else:
        saved = changes.save_view(benchmark, request.POST.get("name", ""), query, by=user)
        messages.success(request, f"Saved as “{saved}”.")
    return redirect(f"{reverse('documents', args=[slug])}{'?' if query else ''}{query}")
