"""SAFE against scripted services: facts, relevance, searches and ratings, and what they cost."""

from __future__ import annotations

from typing import Any

from annotator.core.vocabulary import Factuality, Importance, SentenceType
from pipeline import strategies
from pipeline.clients.base import ChatRequest, SearchResult
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, Prejudgement, Verification
from pipeline.tools import Tools
from tests.scripted import UNREADABLE, ScriptedSearch, calls, chat_of, run, tools_for, turns

DOCUMENT = DocumentText("Who built it?", "Ema Dahl built the fort. She liked bees. I hope this helps!")
HIT = SearchResult("https://a.example/", "Archive", "Dahl built it.")


def split(request: ChatRequest) -> dict[str, Any]:
    said = request.messages[-1].content
    return {"facts": [] if "hope" in said else [said.partition("Sentence: ")[2]]}


def revise(request: ChatRequest) -> dict[str, str]:
    return {"statement": request.messages[-1].content.rpartition("Statement: ")[2].replace("She", "Ema Dahl")}


ANSWERS: dict[str, Any] = {
    "split": split,
    "revise": revise,
    "relevance": lambda request: {"relevant": "bees" not in request.messages[-1].content.rpartition("Statement: ")[2]},
}


def decomposed(**answers: Any) -> tuple[Decomposition, Tools]:
    strategy, tools = strategies.get("safe"), tools_for("safe", ANSWERS | answers)
    found = run(strategy.decompose(DOCUMENT, tools))
    assert {step: number for step, number in strategy.formula(found.counts).items() if number} == calls(tools)
    return found, tools


def verified(
    query: Any, rate: Any, prejudgement: Prejudgement | None = None, **parameters: Any
) -> tuple[Verification, Tools]:
    tools = tools_for("safe", {"query": query, "rate": rate}, search=ScriptedSearch([HIT]))
    strategy = strategies.get("safe", parameters)
    found = run(strategy.verify(ClaimText("Ema Dahl built the fort.", prejudgement=prejudgement), DOCUMENT, tools))
    assert {step: number for step, number in strategy.formula(found.counts).items() if number} == calls(tools)
    return found, tools


def test_each_fact_is_made_self_contained_and_judged_for_relevance() -> None:
    found, tools = decomposed()
    built, liked, talk = found.sentences
    assert [claim.text for claim in built.claims] == ["Ema Dahl built the fort."]
    [bees] = liked.claims
    assert bees.text == "Ema Dahl liked bees."
    assert bees.prejudgement == Prejudgement("irrelevant", None, settled=True)
    assert bees.importance == Importance.LESS
    assert not talk.claims
    assert talk.type != SentenceType.CHECKWORTHY
    assert calls(tools) == {"split": 3, "revise": 2, "relevance": 2}


def test_an_irrelevant_fact_is_not_searched_for() -> None:
    found, tools = verified({}, {}, Prejudgement("irrelevant", None, settled=True))
    assert calls(tools) == {}
    assert found.verdict is not None
    assert (found.verdict.label, found.verdict.factuality) == ("irrelevant", None)


def test_five_searches_each_from_what_is_known_so_far_then_a_rating() -> None:
    numbers = iter(range(9))
    found, tools = verified(
        lambda _: {"query": f"query {next(numbers)}"}, {"reason": "So it says.", "label": "Supported"}
    )
    assert calls(tools) == {"query": 5, "search": 5, "rate": 1}
    assert chat_of(tools).asked("query")[2].count("Query: ") == 2
    assert found.verdict is not None
    assert (found.verdict.label, found.verdict.factuality) == ("supported", Factuality.TRUE)
    assert len(found.evidence) == 1
    assert len(found.verdict.chain) == 5


def test_not_supported_says_neither_false_nor_unknown() -> None:
    found, _ = verified({"query": "q"}, {"label": "Not_Supported"}, searches=1)
    assert found.verdict is not None
    assert (found.verdict.label, found.verdict.factuality) == ("not supported", None)


def test_what_cannot_be_read_is_done_without() -> None:
    found, _ = decomposed(split=UNREADABLE)
    assert {note.step for note in found.notes} == {"split"}
    assert [claim.text for claim in found.sentences[0].claims], "the rules stand in"
    found, _ = decomposed(revise=UNREADABLE, relevance=UNREADABLE)
    assert [claim.text for claim in found.sentences[1].claims] == ["She liked bees."]
    verification, tools = verified(turns({"query": "q"}, UNREADABLE, UNREADABLE), turns(UNREADABLE, UNREADABLE))
    assert verification.verdict is None
    assert calls(tools)["search"] == 1
