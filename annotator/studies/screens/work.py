"""Work on an item of a study: comparing candidates, or judging a text with its parts."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.missing import IncompleteError
from annotator.core.protocol import Evidence, Kind
from annotator.core.screens.common import (
    benchmark_for,
    is_htmx,
    person,
    render_domain_errors,
    seconds,
    whole_number,
)
from annotator.studies.actions import answering
from annotator.studies.models import Study, StudyAssignment
from annotator.studies.queries.answers import given_answers, sheets_of
from annotator.studies.queries.work import (
    Row,
    Sheet,
    assignment_of,
    neighbours,
    next_assignment,
    progress_of,
    sheet_of,
)
from annotator.studies.screens.controls import controls_of

COMPARE, JUDGE = "studies/compare.html", "studies/judge.html"
SEARCH = "https://duckduckgo.com/?q="
REGIMES = {
    Evidence.GIVEN: "Decide by what is given here alone.",
    Evidence.OWN_SEARCH: "Search as much as you need.",
    Evidence.NONE: "",
    Evidence.BY_RECORD: "Where evidence is given, decide by it alone. Where none is given, search as much as you need.",
}


def study_for(request: HttpRequest, slug: str, study_id: str) -> Study:
    """A study of a benchmark; 404 for everyone but the benchmark's members."""
    benchmark = benchmark_for(request, slug)
    rows = Study.objects.select_related("benchmark", "version")
    return get_object_or_404(rows, benchmark=benchmark, public_id=study_id)


def own(request: HttpRequest, public_id: str) -> StudyAssignment:
    """The person's own assignment; 404 for everyone else, and for people who have left the benchmark."""
    assignment = assignment_of(person(request), public_id)
    if assignment is None or not rules.allowed(rules.check_see_benchmark, person(request), assignment.study.benchmark):
        raise Http404
    return assignment


@require_GET
@render_domain_errors
def next_item(request: HttpRequest, slug: str, study_id: str) -> HttpResponse:
    """Redirects to the person's first item that isn't submitted, or to the study if there is none."""
    study = study_for(request, slug, study_id)
    found = next_assignment(study, person(request))
    if found is None:
        return redirect("study", slug=slug, study_id=study_id)
    return redirect("study-item", public_id=found.public_id)


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str) -> HttpResponse:
    """The screen of an item: a comparison or a judgment."""
    return _page(request, own(request, public_id))


def _page(request: HttpRequest, assignment: StudyAssignment, *, part: str = "", here: str = "") -> HttpResponse:
    sheet = sheet_of(assignment)
    template = COMPARE if sheet.candidates else JUDGE
    context = page_context(sheet) | {"here": here}
    return render(request, f"{template}#{part}" if part else template, context)


def page_context(sheet: Sheet) -> dict[str, Any]:
    """The context of both screens."""
    assignment, study = sheet.assignment, sheet.assignment.study
    before, after = neighbours(assignment)
    missing = sheet.missing()
    declared = next((each for each in sheet.protocol.rounds if each.key == assignment.round), None)
    return {
        "benchmark": study.benchmark,
        "study": study,
        "assignment": assignment,
        "record": f"assignment:{assignment.public_id}",
        "sheet": sheet,
        "item": sheet.item,
        "protocol": sheet.protocol,
        "top": row_look(sheet, sheet.top),
        "candidates": [row_look(sheet, row) for row in sheet.candidates],
        "chosen": chosen_letters(sheet),
        "parts": [row_look(sheet, row) for row in sheet.parts],
        "addable": [each for each in sheet.protocol.records if each.may_add and assignment.round == "rate"],
        "progress": progress_of(assignment),
        "before": before,
        "after": after,
        "missing": missing,
        "first_open": missing[0].row if missing else "",
        "regime": "" if declared else REGIMES[sheet.protocol.evidence],
        "round": declared,
        "others": what_others_said(assignment) if declared else [],
        "is_open": sheet.is_open,
        "can_reopen": not sheet.is_open and rules.allowed(answering.rules.check_reopen, assignment.person, assignment),
    }


def chosen_letters(sheet: Sheet) -> set[str]:
    """The letters of the chosen candidates."""
    answers = [
        each for each in controls_of(sheet, sheet.top) if each.question.kind in (Kind.CANDIDATE, Kind.CANDIDATES)
    ]
    return {letter for each in answers for letter in each.value.split(",") if letter}


def row_look(sheet: Sheet, row: Row) -> dict[str, Any]:
    """A row with its controls and the rows below it."""
    record = sheet.protocol.record(row.kind)
    part = row.part
    machine = row.machine.get("label")
    return {
        "row": row,
        "part": part,
        "name": record.name if record else "Search result" if row.kind == "passage" else row.kind.capitalize(),
        "controls": controls_of(sheet, row),
        "below": [row_look(sheet, each) for each in row.below],
        "below_name": _plural(sheet, row),
        "search": SEARCH + quote_plus(part.text[:300]) if part and row.evidence == Evidence.OWN_SEARCH else "",
        "machine": str(machine) if machine else "",
        "url": part.data.get("url", "") if part else "",
        "title": part.data.get("title", "") if part else "",
        "date": part.data.get("date", "") if part else "",
    }


def _plural(sheet: Sheet, row: Row) -> str:
    record = sheet.protocol.record(row.below[0].kind) if row.below else None
    return record.plural if record else "Passages"


def what_others_said(assignment: StudyAssignment) -> list[tuple[str, str]]:
    """In a round after the rating: each rater's answers about the item, as (person, answers). Raters are numbered, not
    named."""
    found = []
    sheets = sheets_of(assignment.study, items={assignment.item_id})
    for number, sheet in enumerate(sheets, start=1):
        said = [
            each.question.words_of(sheet.as_sent(each.question, each.answer.value))
            for each in given_answers(iter([sheet]))
            if each.part is None
        ]
        found.append((f"Rater {number}", " · ".join(said)))
    return found


# --- what is saved --------------------------------------------------------------------------------


@require_POST
@render_domain_errors
def save(request: HttpRequest, public_id: str) -> HttpResponse:
    """Save one answer. The response has the fragments that may have changed or, for a conflict, both values."""
    assignment = own(request, public_id)
    field = request.POST.get("field", "")
    try:
        answering.save_answer(
            assignment,
            field,
            request.POST.get("value", ""),
            by=person(request),
            version=whole_number(request, "version"),
            active_seconds=seconds(request),
        )
    except answering.StaleAnswerError as stale:
        return _conflict(request, assignment, field, stale)
    return _saved(request, assignment, field.partition(".")[0])


def _saved(request: HttpRequest, assignment: StudyAssignment, address: str) -> HttpResponse:
    sheet = sheet_of(assignment)
    context = page_context(sheet) | {"oob": True}
    looks = [context["top"], *_all(context["candidates"]), *_all(context["parts"])]
    # Conditions look at the same record or at the item, so only those can change.
    context["changed"] = [each for each in looks if each["row"].address in (address, sheet.top.address)]
    if address == sheet.top.address:
        context["changed"] = looks
    return render(request, "studies/saved.html", context)


def _all(looks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [found for each in looks for found in (each, *_all(each["below"]))]


def _conflict(
    request: HttpRequest, assignment: StudyAssignment, field: str, stale: answering.StaleAnswerError
) -> HttpResponse:
    context = {
        "record": f"assignment:{assignment.public_id}",
        "field": field,
        "label": stale.question.ask,
        "version": stale.version,
        "who": "You, in another tab,",
        "mine": stale.mine,
        "theirs": stale.theirs,
        "mine_shown": stale.question.words_of(stale.mine) or "(empty)",
        "theirs_shown": stale.question.words_of(stale.theirs) or "(empty)",
    }
    return render(request, "components/conflict.html", context, status=409)


@require_POST
@render_domain_errors
def change(request: HttpRequest, public_id: str, what: str) -> HttpResponse:
    """Add or remove a record, undo, redo or reopen, and redraw the workspace."""
    assignment = own(request, public_id)
    by, here = person(request), ""
    if what == "add":
        part = answering.add_part(assignment, request.POST.get("kind", ""), after=request.POST.get("after", ""), by=by)
        here = part.public_id
    elif what == "remove":
        answering.remove_part(assignment, request.POST.get("row", ""), by=by)
    elif what in ("undo", "redo"):
        answering.undo(assignment, by=by, redo=what == "redo")
    elif what == "reopen":
        answering.reopen_item(assignment, by=by)
    else:
        raise Http404
    if not is_htmx(request):
        return redirect("study-item", public_id=public_id)
    return _page(request, own(request, public_id), part="workspace", here=here)


@require_POST
@render_domain_errors
def submit(request: HttpRequest, public_id: str) -> HttpResponse:
    """Submit and go on to the next item. If answers are missing, the response links to the first."""
    assignment = own(request, public_id)
    try:
        answering.submit_item(assignment, by=person(request), active_seconds=seconds(request))
    except IncompleteError as incomplete:
        return render(request, "studies/incomplete.html", {"missing": incomplete.missing}, status=422)
    study = assignment.study
    response = HttpResponse(status=204 if is_htmx(request) else 303)
    target = reverse("study-next", args=[study.benchmark.slug, study.public_id])
    response["HX-Redirect" if is_htmx(request) else "Location"] = target
    return response
