"""FIRE (Xie et al. 2025): each step either gives the verdict or searches once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import BaseModel, Field, model_validator

from annotator.core.vocabulary import Factuality, Stage
from pipeline.claims.decompose import decompose
from pipeline.notes import StepNotes
from pipeline.retrieval.queries_by_model import likeness
from pipeline.retrieval.searches import Searched, as_text, chain_of, evidence_of, search_once
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, SuggestedVerdict, Verification
from pipeline.tools import Tools

MEANS = {"true": Factuality.TRUE, "false": Factuality.FALSE}


class Decision(BaseModel):
    """The verdict, or the next query."""

    reason: str = ""
    verdict: Literal["true", "false"] | None = None
    query: str = ""

    @model_validator(mode="after")
    def _decides_or_searches(self) -> Decision:
        if self.verdict is None and not self.query.strip():
            raise ValueError("give a verdict or a query")
        return self


class LastVerdict(BaseModel):
    """The verdict, when there are no more searches."""

    reason: str = ""
    verdict: Literal["true", "false"]


class FireParameters(Parameters):
    """Parameters. Defaults are the released configuration's."""

    steps: int = Field(5, ge=1, le=20, description="Maximum decisions per claim; each may search once")
    results: int = Field(3, ge=1, le=20, description="Results of a search")
    query_similarity: float = Field(
        0.9, ge=0, le=1, description="A query this like the one before it ends the search (share of common word stems)"
    )


class Fire(Strategy):
    """Steps 4 to 6. The paper starts with a claim, so the offline rules do steps 1 to 3."""

    name: ClassVar = "fire"
    label: ClassVar = "FIRE"
    summary: ClassVar = (
        "Gives a verdict as soon as the model is confident, else searches once more and decides again. Cheap: what the"
        " model knows is not searched for. Sentences and claims are split by the offline rules."
    )
    paper: ClassVar = "Xie et al. 2025, FIRE"
    stages: ClassVar = (Stage.DECOMPOSE, Stage.VERIFY)
    needs: ClassVar = frozenset({Service.CHAT, Service.SEARCH})
    prompts: ClassVar = ("fire/decide", "fire/verdict")
    formula_text: ClassVar = "D + F models, Q searches"
    # The maximum that the defaults allow, for seven claims (Factcheck-Bench, Table 1: 661 in 94 responses).
    typical: ClassVar = {Stage.VERIFY: {"claims": 7, "decided": 35, "searched": 35, "forced": 7}}
    parameters_type: ClassVar = FireParameters
    parameters: FireParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        return decompose(document.prompt, document.response)

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        set_to, tally = self.parameters, StepNotes()
        tally.counts["claims"] += 1
        searches: list[Searched] = []
        for _ in range(set_to.steps):
            decision = await self._decision(claim, searches, tools, tally)
            if decision is None:
                break
            if decision.verdict is not None:
                return self._result(decision.verdict, decision.reason, searches, tally)
            query = " ".join(decision.query.split())
            if searches and likeness(query, searches[-1].query) >= set_to.query_similarity:
                break
            if not await search_once(query, set_to.results, searches, document, tools, tally):
                break
        tally.counts["forced"] += 1
        last = await tally.ask(
            tools,
            step="verdict",
            prompt="fire/verdict",
            fields={"claim": claim.text, "searches": as_text(searches)},
            form=LastVerdict,
            instead="There is no verdict, only what was found.",
            max_tokens=512,
        )
        if last is None:
            return Verification(evidence_of(searches), None, tuple(tally.notes), dict(tally.counts))
        return self._result(last.verdict, last.reason, searches, tally)

    async def _decision(
        self, claim: ClaimText, searches: list[Searched], tools: Tools, tally: StepNotes
    ) -> Decision | None:
        tally.counts["decided"] += 1
        return await tally.ask(
            tools,
            step="decide",
            prompt="fire/decide",
            fields={"claim": claim.text, "searches": as_text(searches)},
            form=Decision,
            instead="The verdict was asked for at once.",
            max_tokens=512,
        )

    def _result(self, word: str, reason: str, searches: list[Searched], tally: StepNotes) -> Verification:
        verdict = SuggestedVerdict(
            label=word, factuality=MEANS[word], reason=" ".join(reason.split()), chain=chain_of(searches)
        )
        return Verification(evidence_of(searches), verdict, tuple(tally.notes), dict(tally.counts))

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Derived in docs/strategies.md, section FIRE."""

        def of(name: str) -> float:
            return counts.get(name, 0)

        return {
            "decide": of("decided") + of("decide_again"),
            "search": of("searched") - of("local"),
            "verdict": of("forced") + of("verdict_again"),
        }
