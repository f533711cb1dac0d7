"""Adjudication: everyone's version of a stage side by side, resolved and signed off; later read-only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotator.core import charts, rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Document, Question, User
from annotator.core.screens.common import (
    document_for,
    is_htmx,
    person,
    render_domain_errors,
    stage_links,
    wants_raw,
    whole_number,
)
from annotator.core.texts.markdown import is_formatted
from annotator.core.vocabulary import STAGES, DisagreementReason, DiscardReason, Phase, Stage
from annotator.stages import rules as stages_rules
from annotator.stages.actions import adjudicate as actions
from annotator.stages.comparison.comparison import ABSENT
from annotator.stages.comparison.decomposition import Decompositions
from annotator.stages.queries.adjudication import AdjudicationBoard, board_of
from annotator.stages.queries.adjudication_news import (
    NewsWaiting,
    changes_since,
    newest_change,
    touched_keys,
    waiting_for,
)
from annotator.stages.screens.adjudicate_cells import columns_of
from annotator.stages.screens.adjudicate_choices import label_of, pick_of, picked
from annotator.stages.screens.adjudicate_response import response_of
from annotator.stages.screens.adjudicate_rows import RowGroup, field_figures, groups_of, summary_of

TEMPLATE = "stages/adjudicate.html"
# With more equal rows than this, the screen starts with the differences only.
FEW = 4


def _stage(raw: str) -> Stage:
    if raw not in set(Stage):
        raise Http404
    return Stage(raw)


def is_open(document: Document, stage: Stage) -> bool:
    """Is this the stage that is being adjudicated now?"""
    return document.stage == stage and document.phase == Phase.CONSOLIDATING


@require_GET
@render_domain_errors
def show(request: HttpRequest, public_id: str, stage: str) -> HttpResponse:
    """The screen during adjudication and, read-only, afterward. ``?part=changes&seen=`` is polled by the page: what
    others have changed since, or 204."""
    document, chosen, user = document_for(request, public_id), _stage(stage), person(request)
    if request.GET.get("part") == "changes":
        return _news(request, document, chosen)
    if is_open(document, chosen):
        stages_rules.check_consolidate(user, document, chosen)
        return _page(request, board_of(document, chosen))
    is_later = STAGES.index(Stage(document.stage)) > STAGES.index(chosen) or document.is_gold
    if is_later and document.phase != Phase.DISCARDED:
        stages_rules.check_look_back(user, document, chosen)
        return _page(request, board_of(document, chosen))
    if document.stage == chosen and document.phase in (Phase.PREFILLING, Phase.INDEPENDENT):
        waiting = waiting_for(document, chosen)
        if user in (*waiting.submitted, *waiting.open) or stages_rules.is_third_rater(user, document, chosen):
            return render(request, "stages/adjudicate_wait.html", waiting_context(document, chosen, waiting))
    stages_rules.check_consolidate(user, document, chosen)
    raise Http404


def _page(request: HttpRequest, board: AdjudicationBoard) -> HttpResponse:
    """The rows, and beside them the prompt and the response, which stay when rows are swapped."""
    context, raw = context_of(board, person(request)), wants_raw(request)
    context |= {
        "raw": raw,
        "is_formatted": is_formatted(board.document.response),
        "response": response_of(board, context["groups"], raw=raw),
    }
    return render(request, TEMPLATE, context)


def context_of(board: AdjudicationBoard, user: User, mine: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Everything the screen shows, in a constant number of queries."""
    can_decide = is_open(board.document, board.stage)
    comparison = board.comparison
    groups = groups_of(board, user, can_decide=can_decide, mine=mine or {})
    views = [view for group in groups for view in group.items]
    same = sum(1 for view in views if view.state == "same")
    is_third = any(rater.pk == user.pk for rater in board.third_raters)
    asked = {each.key for each in board.open_questions} - {""}
    for view in [view for view in views if asked & {view.key, *(row.key for row in view.item.fields)}][:1]:
        view.begins = is_third
    own_signature = board.signed(user.pk)
    differs = any(view.item.differs for view in views)
    own_decisions = sorted(
        (row for row in board.decisions.values() if row.by_id == user.pk and row.is_settled), key=lambda row: row.pk
    )
    return {
        "document": board.document,
        "benchmark": board.document.benchmark,
        "stage": board.stage,
        "stages": stage_links(board.document, board.stage, agreeing=True),
        "board": board,
        "comparison": comparison,
        "columns": columns_of(board, user),
        "groups": groups,
        "same": same,
        "only_differs": differs and same > FEW,
        "bar": _bar(board),
        "bar_label": f"{comparison.agreeing} agree, {comparison.decided} resolved, {comparison.open} open",
        "f1": comparison.matched_f1 if isinstance(comparison, Decompositions) and comparison.people == 2 else None,
        "figures": field_figures(board),
        "stamp": newest_change(board.document, board.stage),
        "can_decide": can_decide,
        "is_third": is_third,
        "open_number": comparison.open,
        "signs": own_signature or any(each.pk == user.pk for each in board.waits_for),
        "own_signature": own_signature,
        "signature_words": _signatures(board, user, is_third),
        "longest_comment": actions.LONGEST_COMMENT,
        "signed_names": " and ".join(str(each.by) for each in board.sign_offs),
        "whole_comments": board.comments.get("", []),
        "closed_for": _closed_for(board, is_third),
        "whole_question": next((each for each in board.open_questions if each.key == ""), None),
        "discard_reasons": list(DiscardReason),
        "can_discard": is_third or rules.can_manage(user, board.document.benchmark),
        "last_own": own_decisions[-1].key if own_decisions else "",
        "changed_by": "",
        "reasons": list(DisagreementReason),
        "summary": None if can_decide else summary_of(board, user),
        "is_over": False,
        "oob": False,
    }


def _bar(board: AdjudicationBoard) -> list[charts.Part]:
    """In agreement, resolved, open: parts of one bar, in percent."""
    counted = (("agreed", board.comparison.agreeing), ("support", board.comparison.decided))
    return charts.parts(counted, board.comparison.total)


def _signatures(board: AdjudicationBoard, user: User, is_third: bool) -> str:
    """Who has signed off and who hasn't, in words. While a question about a row is open, its answer is awaited."""
    signed = ["you" if each.by_id == user.pk else str(each.by) for each in board.sign_offs]
    waits = ["you" if each.pk == user.pk else str(each) for each in board.waits_for]
    if any(each.key for each in board.open_questions):
        answer = "your reply" if is_third else f"a reply from {board.third_raters[0]}, the adjudicator"
        have = "have" if len(signed) > 1 or signed == ["you"] else "has"
        words = f"{_and(signed)} {have} signed off; waiting for {answer}." if signed else f"Waiting for {answer}."
        return words[0].upper() + words[1:]
    if not signed:
        return f"Waiting for {_and(waits)}." if waits else ""
    have = "have" if len(signed) > 1 or signed == ["you"] else "has"
    have_not = "have" if len(waits) > 1 or waits == ["you"] else "has"
    rest = f"; {_and(waits)} {have_not} not yet" if waits else ""
    words = f"{_and(signed)} {have} signed off{rest}."
    return words[0].upper() + words[1:]


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _closed_for(board: AdjudicationBoard, is_third: bool) -> str:
    """Why it can't be signed off yet; "" if it can."""
    number = board.comparison.open
    if number:
        return "One difference is open: resolve it first." if number == 1 else f"{number} differences are open."
    waiting = [each for each in board.open_questions if each.key or not is_third]
    if not waiting:
        return ""
    return (
        "You have been asked and have not answered yet."
        if is_third
        else "The adjudicator has been asked and has not answered yet."
    )


def waiting_context(document: Document, stage: Stage, waiting: NewsWaiting) -> dict[str, Any]:
    """Who hasn't submitted, without revealing anyone's work."""
    return {
        "document": document,
        "benchmark": document.benchmark,
        "stage": stage,
        "stages": stage_links(document, stage),
        "waiting": waiting,
    }


# --- what others do meanwhile ---------------------------------------------------------------------


def _news(request: HttpRequest, document: Document, stage: Stage) -> HttpResponse:
    raw = request.GET.get("seen", "")
    seen = int(raw) if raw.isdecimal() and len(raw) < 19 else 0
    if is_open(document, stage):
        if newest_change(document, stage) == seen:
            return HttpResponse(status=204)
        stages_rules.check_consolidate(person(request), document, stage)
        return _changes(request, board_of(document, stage), seen)
    if document.phase == Phase.DISCARDED or (document.stage == stage and not document.is_gold):
        rules.check_see_benchmark(person(request), document.benchmark)
        return render(request, f"{TEMPLATE}#ended", _ended(document, stage))
    stages_rules.check_look_back(person(request), document, stage)
    return render(request, f"{TEMPLATE}#ended", _ended(document, stage) | {"is_adjudicated": True})


def _ended(document: Document, stage: Stage) -> dict[str, Any]:
    return {
        "document": document,
        "stage": stage,
        "is_over": True,
        "is_adjudicated": False,
        "can_decide": False,
        "oob": True,
    }


def _changes(
    request: HttpRequest, board: AdjudicationBoard, seen: int, *, also: str = "", mine: Mapping[str, str] | None = None
) -> HttpResponse:
    """The rows that changed since the page's stamp (and the row with the key ``also``), the head and the foot, out of
    band.

    If a sentence was resolved, its claims may appear or disappear, so its whole group is swapped.
    """
    context = context_of(board, person(request), mine)
    activities = changes_since(board, seen)
    keys = touched_keys(board, activities) | ({also} if also else set())
    groups: list[RowGroup] = []
    rows = []
    for group in context["groups"]:
        touched = [view for view in group.items if keys & {view.key, *(row.key for row in view.item.fields)}]
        if any(view.item.kind == "sentence" for view in touched):
            groups.append(group)
        else:
            rows += touched
    context |= {
        "oob": True,
        "changed_groups": groups,
        "changed_rows": rows,
        "talk_changed": "" in keys,
        "changed_by": next((str(each.by) for each in reversed(activities) if each.by_id != person(request).pk), ""),
    }
    return render(request, f"{TEMPLATE}#changes", context, status=409 if mine else 200)


# --- what people do -------------------------------------------------------------------------------


@require_POST
@render_domain_errors
def change(request: HttpRequest, public_id: str, stage: str, what: str) -> HttpResponse:
    """Decide, reopen, comment, ask, answer or withdraw a sign-off, and return what has changed. Sign off or discard,
    and redirect to the document's page if that ended the adjudication."""
    document, chosen, user = document_for(request, public_id), _stage(stage), person(request)
    key = request.POST.get("key", "")
    if what == "decide":
        return _decide(request, document, chosen, key)
    if what == "open":
        board = actions.take_decision_back(document, chosen, key, by=user)
    elif what == "comment":
        board = actions.comment(document, chosen, key, request.POST.get("text", ""), by=user)
    elif what == "ask":
        board = actions.ask_third_rater(document, chosen, key, request.POST.get("text", ""), by=user)
    elif what == "answer":
        question = get_object_or_404(
            Question, annotation__document=document, annotation__stage=chosen, pk=whole_number(request, "question")
        )
        board = actions.answer(document, chosen, question, request.POST.get("text", ""), by=user)
        key = question.key
    elif what == "sign":
        document = actions.sign(document, chosen, by=user)
        if not is_open(document, chosen):
            messages.success(request, f"{chosen.label} is adjudicated: you were the last to sign off.")
            return _to_document(request, document)
        board = board_of(document, chosen)
    elif what == "unsign":
        board = actions.take_signature_back(document, chosen, by=user)
    elif what == "discard":
        code = request.POST.get("code", DiscardReason.OTHER)
        actions.discard_together(document, chosen, request.POST.get("reason", ""), by=user, code=code)
        messages.success(request, "The document was discarded. An admin can bring it back.")
        return _to_document(request, document)
    else:
        raise BadValueError(f"Unknown adjudication action “{what}”.")
    return _answered(request, board, key)


def _decide(request: HttpRequest, document: Document, stage: Stage, key: str) -> HttpResponse:
    """Resolve a difference. If someone else already has: 409 with the current row and the person's choice."""
    text = request.POST.get("text")
    choice, value = picked(request.POST.get("pick", "")) if text is None else (None, text)
    try:
        board = actions.decide(
            document,
            stage,
            key,
            by=person(request),
            choice=choice,
            value=value,
            reason=request.POST.get("reason", ""),
            seen=whole_number(request, "version"),
        )
    except actions.ChangedMeanwhileError:
        board = board_of(document, stage)
        return _answered(request, board, key, mine={key: _in_words(board, person(request), key, choice, value)})
    return _answered(request, board, key)


def _in_words(board: AdjudicationBoard, user: User, key: str, choice: int | None, value: Any) -> str:
    """A refused choice in words."""
    row = board.comparison.find(key)
    if row is None:
        return ""
    pick = f"person {choice}"
    for option in row.options:
        if pick_of(option) == pick or (choice in option.people) or (choice is None and option.value == value):
            return label_of(row, option, columns_of(board, user))
    return "" if value is ABSENT else str(value)


def _answered(
    request: HttpRequest, board: AdjudicationBoard, key: str, mine: Mapping[str, str] | None = None
) -> HttpResponse:
    if not is_htmx(request):
        return redirect("agree", public_id=board.document.public_id, stage=board.stage.value)
    raw = request.POST.get("seen", "")
    seen = int(raw) if raw.isdecimal() and len(raw) < 19 else 0
    return _changes(request, board, seen, also=key, mine=mine)


def _to_document(request: HttpRequest, document: Document) -> HttpResponse:
    target = reverse("document", args=[document.public_id])
    if is_htmx(request):
        return HttpResponse(status=204, headers={"HX-Redirect": target})
    return redirect(target)
