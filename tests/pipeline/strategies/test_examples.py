"""The examples in the shipped prompts: as many as the papers have, each of the form that is asked for."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from pipeline.claims.judged import JudgedClaims
from pipeline.claims.self_contained_facts import Facts, Relevance, Statement
from pipeline.claims.unambiguous_claims import Kept, StandingClaims
from pipeline.claims.verifiable import VerifiableClaims
from pipeline.prompts import shipped
from pipeline.retrieval.queries_by_model import Queries
from pipeline.strategies.fire import Decision, LastVerdict
from pipeline.strategies.safe import NextQuery, Rating
from pipeline.verdict.by_model import ModelVerdict
from pipeline.verdict.from_evidence import FiveLabels
from pipeline.verdict.from_results import ThreeLabels, TwoLabels


@pytest.mark.parametrize(
    ("prompt", "examples"),
    [
        ("veriscore/extract_answer", 13),
        ("veriscore/extract_text", 10),
        ("veriscore/verify_two", 9),
        ("veriscore/verify_three", 9),
        ("fastfact/extract", 7),
        ("fastfact/verify", 5),
        ("factcheck_gpt/decompose", 3),
        ("factcheck_gpt/queries", 6),
    ],
)
def test_prompts_have_as_many_examples_as_their_papers(prompt: str, examples: int) -> None:
    roles = [role for role, _ in shipped(prompt).turns()]
    assert roles == ["system", *["user", "assistant"] * examples, "user"]


FORMS: dict[str, type[BaseModel]] = {
    "veriscore/extract_answer": VerifiableClaims,
    "veriscore/extract_text": VerifiableClaims,
    "veriscore/verify_two": TwoLabels,
    "veriscore/verify_three": ThreeLabels,
    "fastfact/extract": JudgedClaims,
    "fastfact/verify": FiveLabels,
    "factcheck_gpt/queries": Queries,
    "factcheck_gpt/verdict": ModelVerdict,
    "fire/decide": Decision,
    "fire/verdict": LastVerdict,
    "safe/split": Facts,
    "safe/revise": Statement,
    "safe/relevance": Relevance,
    "safe/query": NextQuery,
    "safe/rate": Rating,
    "claimify/select": Kept,
    "claimify/disambiguate": Kept,
    "claimify/decompose": StandingClaims,
}


@pytest.mark.parametrize("prompt", FORMS)
def test_every_example_has_the_form_of_the_answer(prompt: str) -> None:
    for role, text in shipped(prompt).turns():
        if role == "assistant":
            FORMS[prompt].model_validate_json(text)
