"""Claimify (Metropolitansky and Larson 2025): claims by selection, disambiguation and decomposition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from annotator.core.vocabulary import Stage
from pipeline.claims.decompose import decompose
from pipeline.claims.on_sentences import Extracted, with_claims
from pipeline.claims.unambiguous_claims import ExcerptReach, unambiguous_claims
from pipeline.notes import StepNotes
from pipeline.sentences.boundaries import split_sentences
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, Verification
from pipeline.together import together
from pipeline.tools import Tools


class ClaimifyParameters(Parameters):
    """Parameters. The paper treats the context of each question as one."""

    before: int = Field(5, ge=0, le=20, description="Sentences before the one that is read")
    after: int = Field(5, ge=0, le=20, description="Sentences after it, when it is decided whether it has claims")
    votes: int = Field(1, ge=1, le=9, description="Answers to the first two questions; the majority decides")


class Claimify(Strategy):
    """Steps 1 to 3. Another strategy retrieves evidence and judges the claims."""

    name: ClassVar = "claimify"
    label: ClassVar = "Claimify"
    summary: ClassVar = (
        "Keeps what can be verified of each sentence, resolves what is ambiguous or leaves it out, and splits the rest"
        " into claims. For sentences and claims only: choose another strategy for evidence."
    )
    paper: ClassVar = "Metropolitansky and Larson 2025, Claimify"
    stages: ClassVar = (Stage.DECOMPOSE,)
    needs: ClassVar = frozenset({Service.CHAT})
    prompts: ClassVar = ("claimify/select", "claimify/disambiguate", "claimify/decompose")
    formula_text: ClassVar = "v(N + S) + A models"
    # 311 sentences of 94 answers, 277 of them with facts (Factcheck-Bench, Table 1 and section 3.3).
    typical: ClassVar = {Stage.DECOMPOSE: {"sentences": 3.3, "selected": 2.9, "unambiguous": 2.9}}
    parameters_type: ClassVar = ClaimifyParameters
    parameters: ClaimifyParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        set_to, tally = self.parameters, StepNotes()
        by_rules = decompose(document.prompt, document.response).sentences
        spans = split_sentences(document.response)
        tally.counts["sentences"] += len(spans)
        reach = ExcerptReach(set_to.before, set_to.after, set_to.votes)
        said = await together(
            unambiguous_claims(position, spans, document.prompt, reach, tools, tally) for position in range(len(spans))
        )
        claims = [None if each is None else [Extracted(text) for text in each] for each in said]
        sentences = with_claims(by_rules, claims, document.prompt)
        return Decomposition(sentences, tuple(tally.notes), dict(tally.counts))

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        return Verification()

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Derived in docs/strategies.md, section Claimify."""

        def of(name: str) -> float:
            return counts.get(name, 0)

        calls = {
            "select": of("sentences") * self.parameters.votes,
            "disambiguate": of("selected") * self.parameters.votes,
            "decompose": of("unambiguous"),
        }
        return {step: number + of(f"{step}_again") for step, number in calls.items()}
