"""FIRE against scripted services: when it stops, what it searches for, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.core.vocabulary import Factuality
from pipeline import strategies
from pipeline.clients.base import SearchRequest, SearchResult, ServiceError
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.suggestions import ClaimText, DocumentText, Page, Verification
from pipeline.tools import Tools
from tests.scripted import UNREADABLE, ScriptedSearch, calls, chat_of, run, tools_for, turns

CLAIM = "The observatory on Pell Ridge opened in 1934."
HIT = SearchResult("https://a.example/", "Archive", "Pell Ridge: begun 1934, opened 1938.")
SURE = {"reason": "It opened in 1938.", "verdict": "false", "query": ""}


def searching(query: str) -> dict[str, Any]:
    return {"reason": "Not sure.", "verdict": None, "query": query}


def verify(decide: Any, verdict: Any = None, hits: Any = None, **parameters: Any) -> tuple[Verification, Tools]:
    search = ScriptedSearch([HIT] if hits is None else hits)
    tools = tools_for("fire", {"decide": decide, "verdict": verdict}, search=search)
    strategy = strategies.get("fire", parameters)
    result = run(strategy.verify(ClaimText(CLAIM), DocumentText("", CLAIM), tools))
    assert {step: number for step, number in strategy.formula(result.counts).items() if number} == calls(tools)
    return result, tools


def test_what_the_model_is_sure_of_is_not_searched_for() -> None:
    result, tools = verify(SURE)
    assert calls(tools) == {"decide": 1}
    assert result.verdict is not None
    assert (result.verdict.label, result.verdict.factuality) == ("false", Factuality.FALSE)
    assert result.evidence == ()
    assert "Searches so far:\nNone." in chat_of(tools).asked("decide")[0]


def test_a_search_is_made_at_a_time_until_the_model_is_sure() -> None:
    result, tools = verify(turns(searching("Pell Ridge opening"), searching("who built it"), SURE))
    assert calls(tools) == {"decide": 3, "search": 2}
    assert "Query: Pell Ridge opening\n1. (Archive) Pell Ridge: begun 1934" in chat_of(tools).asked("decide")[1]
    [evidence] = result.evidence  # found twice, kept once
    assert (evidence.url, evidence.query) == (HIT.url, "Pell Ridge opening")
    assert result.verdict is not None
    assert [(link.query, link.evidence) for link in result.verdict.chain] == [
        ("Pell Ridge opening", 0),
        ("who built it", 0),
    ]


def test_after_the_last_step_a_verdict_is_asked_for() -> None:
    queries = iter(("Pell Ridge opening", "county archive 1934", "telescope installed"))
    result, tools = verify(lambda _: searching(next(queries)), {"verdict": "true"}, steps=3)
    assert calls(tools) == {"decide": 3, "search": 3, "verdict": 1}
    assert result.verdict is not None
    assert result.verdict.factuality == Factuality.TRUE


def test_a_query_that_comes_again_ends_the_search() -> None:
    _, tools = verify(turns(searching("Pell Ridge opening"), searching("opening of Pell Ridge")), {"verdict": "false"})
    assert calls(tools) == {"decide": 2, "search": 1, "verdict": 1}


def test_unreadable_answers_leave_what_was_found() -> None:
    result, _ = verify(turns(searching("Pell Ridge"), UNREADABLE, UNREADABLE), turns(UNREADABLE, UNREADABLE))
    assert result.verdict is None
    assert len(result.evidence) == 1
    assert [note.step for note in result.notes] == ["decide", "verdict"]


def test_a_first_search_that_fails_is_the_claims_failure_a_later_one_a_note() -> None:
    with pytest.raises(ServiceError, match="down"):
        verify(searching("Pell Ridge"), hits=lambda request: ServiceError("Search is down."))

    def later(request: SearchRequest) -> Any:
        return [HIT] if "Pell" in request.query else ServiceError("Search is down.")

    result, _ = verify(turns(searching("Pell"), searching("who built it")), {"verdict": "false"}, hits=later)
    assert ["down" in note.text for note in result.notes] == [True]
    assert result.verdict is not None


def test_a_corpus_serves_where_there_is_no_search() -> None:
    index = PassageIndex.build([Page("https://a.example/", "Archive", "Pell Ridge opened in 1938.")])
    tools = tools_for("fire", {"decide": turns(searching("Pell Ridge opened"), SURE)}, index=index)
    strategy = strategies.get("fire")
    result = run(strategy.verify(ClaimText(CLAIM), DocumentText("", CLAIM), tools))
    assert [each.passage for each in result.evidence] == ["Pell Ridge opened in 1938."]
    assert strategy.formula(result.counts)["search"] == 0
