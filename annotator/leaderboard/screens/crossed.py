"""Two systems' errors crossed, and one item of the gold with all that people and systems said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from annotator.core import rules
from annotator.core.models import User
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.vocabulary import StanceLabel, Task
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.crossed import Crossed, CrossedItem, NotKeptError, crossed
from annotator.leaderboard.queries.evaluations import Shown, comparable, shown
from annotator.leaderboard.queries.item import TASKS, ItemPassage, Rating, item_of
from annotator.leaderboard.queries.scoring import gold_fingerprint
from annotator.leaderboard.scoring.crossing import Cell
from annotator.leaderboard.screens.score import evaluation_for, place_words
from annotator.leaderboard.screens.scores_words import label_words, option_words

ITEMS_SHOWN = 20
STANCE_WORDS = {each.value: each.label for each in StanceLabel}


@require_GET
@render_domain_errors
def against(request: HttpRequest, slug: str, evaluation_id: str, other_id: str) -> HttpResponse:
    """Where two systems err: the table, and the items of one of its cells."""
    benchmark, first = evaluation_for(request, slug, evaluation_id)
    others = comparable(person(request), first, today=gold_fingerprint(benchmark))
    second = next((each for each in others if each.public_id == other_id), None)
    if second is None:
        raise Http404("Both systems must be scored on the same task, with the same options and the current gold.")
    asked = request.GET.get("cell", "")
    cell = Cell(asked) if asked in set(Cell) else None
    gold = request.GET.get("gold", "")[:60]
    context = page_of_benchmark(request, benchmark, "Scores") | {
        "first": first,
        "second": second,
        "task": Task(first.task),
        "options": option_words(first.options),
        "missing": "",
        "found": None,
    }
    try:
        found = crossed(first, second, cell=cell, gold=gold)
    except NotKeptError:
        context["missing"] = "A file was scored by an earlier version. Score both again to cross their errors."
    except FileNotFoundError:
        context["missing"] = "The stored results of one of the files no longer exist. Score it again."
    else:
        if found is None:
            raise Http404("This task’s answers aren’t labels, so there are no errors to cross.")
        context |= _table(found, first, second) | _items(request, found, first, cell, gold)
    return render(request, "leaderboard/crossed.html", context)


def _table(found: Crossed, first: Evaluation, second: Evaluation) -> dict[str, Any]:
    heads = {
        Cell.ONLY_FIRST: f"Only {first.system} right",
        Cell.ONLY_SECOND: f"Only {second.system} right",
    }
    rows = [(label_words(gold), gold, [(cell, row[cell]) for cell in Cell]) for gold, row in found.table.items()]
    together = [(cell, sum(row[cell] for row in found.table.values())) for cell in Cell]
    return {
        "found": found,
        "heads": [heads.get(cell, cell.label) for cell in Cell],
        "rows": [*rows, ("All", "", together)],
        "right": Cell.BOTH_RIGHT,
    }


def _items(request: HttpRequest, found: Crossed, first: Evaluation, cell: Cell | None, gold: str) -> dict[str, Any]:
    page = Paginator(found.items, ITEMS_SHOWN).get_page(request.GET.get("page"))
    rows: list[CrossedItem] = list(page.object_list)
    query = urlencode({name: value for name, value in (("cell", cell or ""), ("gold", gold)) if value})
    return {
        "cell": cell,
        "gold": gold,
        "gold_words": label_words(gold),
        "items": [_item(row, each) for row, each in zip(rows, shown(first, [row.wrong for row in rows]), strict=True)],
        "page_obj": page,
        "query": f"{query}&" if query else "",
    }


def _item(row: CrossedItem, found: Shown) -> dict[str, Any]:
    return {
        "key": row.wrong.key,
        "gold": label_words(row.wrong.gold),
        "answers": [(label_words(each), each == row.wrong.gold) for each in (row.first, row.second)],
        "text": found.text,
        "context": found.context,
        "document": found.document,
        "name": row.wrong.document,
        "position": place_words(row.wrong.position),
    }


# --- one item -------------------------------------------------------------------------------------


@require_GET
@render_domain_errors
def item(request: HttpRequest, slug: str, task: str, key: str) -> HttpResponse:
    """What people and systems said of one sentence, claim or passage. Raises NotAllowedError by the rules."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    rules.check_score(user, benchmark)
    found = item_of(user, benchmark, Task(task), key) if task in TASKS else None
    if found is None:
        raise Http404("The gold has no such item.")
    named = rules.can_export_people(user, benchmark)
    anchor = f"#claim-{found.claim.public_id}" if found.claim else ""
    context = page_of_benchmark(request, benchmark, "Scores") | {
        "item": found,
        "task": found.task,
        "gold": label_words(found.gold) or "no label",
        "document_url": reverse("document", args=[found.document.public_id]) + anchor,
        "context_label": "Claim" if found.task == Task.STANCE else "In",
        "raters": [
            (name, label_words(each.label) or "no label", each.label == found.gold, each.independent)
            for name, each in _named(found.raters, named=named)
        ],
        "systems": [
            {
                "evaluation": each.evaluation,
                "options": option_words(each.evaluation.options),
                "answer": "not scored with these options" if not each.gold else label_words(each.answer or "no answer"),
                "is_right": each.is_right,
                "is_asked": bool(each.gold),
            }
            for each in found.systems
        ],
        "passages": [_passage(each, found.raters, named=named) for each in found.evidence],
    }
    return render(request, "leaderboard/item.html", context)


def _named(raters: Iterable[Rating], *, named: bool) -> list[tuple[str, Rating]]:
    """Names are for those who manage; for all others people have numbers."""
    return [(str(each.person) if named else f"Annotator {number}", each) for number, each in enumerate(raters, start=1)]


def _passage(each: ItemPassage, raters: Sequence[Rating], *, named: bool) -> dict[str, Any]:
    names: dict[User, str] = {rating.person: name for name, rating in _named(raters, named=named)}
    return {
        "text": each.passage.passage,
        "url": each.passage.url,
        "stance": STANCE_WORDS.get(each.stance, "Added by people" if each.passage.annotation_id else "no stance"),
        "ratings": [(names.get(rating.person, "Annotator"), STANCE_WORDS[rating.label]) for rating in each.ratings],
    }
