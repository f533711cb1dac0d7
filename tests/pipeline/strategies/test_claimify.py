"""Claimify against a scripted model: what is kept, what is left out, votes, and what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.core.vocabulary import Stage
from pipeline import strategies
from pipeline.clients.base import ChatRequest
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, Verification
from pipeline.tools import Tools
from tests.scripted import UNREADABLE, calls, chat_of, run, tools_for

DOCUMENT = DocumentText(
    "Who built it?", "Ema Dahl, the best of all, built the fort. She lived in Lund. He was late. I hope this helps!"
)


def sentence_of(request: ChatRequest) -> str:
    return request.messages[-1].content.rpartition("Sentence: ")[2]


def select(request: ChatRequest) -> dict[str, Any]:
    text = sentence_of(request)
    return {"sentence": None if "hope" in text else text.replace(", the best of all,", "")}


def disambiguate(request: ChatRequest) -> dict[str, Any]:
    text = sentence_of(request)
    return {"sentence": None if text.startswith("He") else text.replace("She", "Ema Dahl")}


ANSWERS: dict[str, Any] = {
    "select": select,
    "disambiguate": disambiguate,
    "decompose": lambda request: {"claims": [sentence_of(request)]},
}


def decomposed(parameters: dict[str, Any] | None = None, **answers: Any) -> tuple[Decomposition, Tools]:
    strategy, tools = strategies.get("claimify", parameters), tools_for("claimify", ANSWERS | answers)
    found = run(strategy.decompose(DOCUMENT, tools))
    assert {step: number for step, number in strategy.formula(found.counts).items() if number} == calls(tools)
    return found, tools


def texts(found: Decomposition) -> list[list[str]]:
    return [[claim.text for claim in sentence.claims] for sentence in found.sentences]


def test_what_can_be_verified_and_is_clear_becomes_claims() -> None:
    found, tools = decomposed()
    assert texts(found) == [["Ema Dahl built the fort."], ["Ema Dahl lived in Lund."], [], []]
    assert calls(tools) == {"select": 4, "disambiguate": 3, "decompose": 2}
    [note] = found.notes
    assert "“He was late.” can be read in several ways" in note.text
    assert (found.counts["selected"], found.counts["unambiguous"], found.counts["ambiguous"]) == (3, 2, 1)


def test_each_question_has_its_own_excerpt() -> None:
    _, tools = decomposed({"before": 1, "after": 1})
    second = chat_of(tools).asked("select")[1]
    assert "Ema Dahl, the best of all, built the fort. She lived in Lund. He was late.\n" in second
    [_, lived, _] = chat_of(tools).asked("disambiguate")
    assert "built the fort. She lived in Lund.\n" in lived
    assert "He was late" not in lived


@pytest.mark.parametrize(("kept", "claims"), [(2, 1), (1, 0)])
def test_the_majority_of_votes_decides(kept: int, claims: int) -> None:
    def vote(request: ChatRequest) -> dict[str, Any]:
        text = sentence_of(request)
        return {"sentence": text if "fort" in text and (request.seed or 0) < kept else None}

    found, tools = decomposed({"votes": 3}, select=vote)
    assert sum(map(len, texts(found))) == claims
    assert calls(tools)["select"] == 12


def test_a_sentence_whose_answers_cannot_be_read_is_decomposed_by_rules() -> None:
    found, _ = decomposed(select=UNREADABLE)
    assert texts(found)[1], "the rules stand in"
    assert {note.step for note in found.notes} == {"select"}


def test_it_looks_for_no_evidence() -> None:
    strategy = strategies.get("claimify")
    assert strategy.stages == (Stage.DECOMPOSE,)
    assert run(strategy.verify(ClaimText("A claim."), DOCUMENT, tools_for("claimify"))) == Verification()
