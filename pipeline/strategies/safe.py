"""SAFE (Wei et al. 2024): self-contained facts, five searches each, and a rating over all results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Field

from annotator.core.vocabulary import Factuality, Stage
from pipeline.claims.decompose import decompose
from pipeline.claims.on_sentences import with_claims
from pipeline.claims.self_contained_facts import facts_of
from pipeline.notes import StepNotes
from pipeline.retrieval.searches import Searched, as_text, chain_of, evidence_of, search_once
from pipeline.sentences.boundaries import split_sentences
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, SuggestedVerdict, Verification
from pipeline.together import together
from pipeline.tools import Tools
from pipeline.verdict.from_evidence import known_verdict

SUPPORTED, NOT_SUPPORTED = "supported", "not supported"
# "Not supported" can mean wrong or unknown, so it maps to none of our labels.
MEANS: dict[str, Factuality | None] = {SUPPORTED: Factuality.TRUE, NOT_SUPPORTED: None}


def _plain(word: object) -> object:
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split()) if isinstance(word, str) else word


class NextQuery(BaseModel):
    """What to search for next."""

    query: str = Field(min_length=1)


class Rating(BaseModel):
    """Whether the results support the claim."""

    reason: str = ""
    label: Annotated[Literal["supported", "not supported"], BeforeValidator(_plain)]


class SafeParameters(Parameters):
    """Parameters. Defaults are the released configuration's."""

    searches: int = Field(5, ge=1, le=20, description="Searches a claim")
    results: int = Field(3, ge=1, le=20, description="Results of a search")


class Safe(Strategy):
    """Steps 1 to 6. No revision and no correction."""

    name: ClassVar = "safe"
    label: ClassVar = "SAFE"
    summary: ClassVar = (
        "Splits each sentence into facts, makes each self-contained, leaves out irrelevant ones, searches five times"
        " for each of the others and rates it by all results."
    )
    paper: ClassVar = "Wei et al. 2024, SAFE (Long-form factuality)"
    stages: ClassVar = (Stage.DECOMPOSE, Stage.VERIFY)
    needs: ClassVar = frozenset({Service.CHAT, Service.SEARCH})
    prompts: ClassVar = ("safe/split", "safe/revise", "safe/relevance", "safe/query", "safe/rate")
    formula_text: ClassVar = "N + 2K + A + (M − I) models, Q searches"
    # Sentences and claims as in Factcheck-Bench (Table 1: 311, 678 and 661 of 94 responses), none irrelevant.
    typical: ClassVar = {
        Stage.DECOMPOSE: {"sentences": 3.3, "facts": 7.2},
        Stage.VERIFY: {"claims": 7, "settled": 0, "asked": 35, "searched": 35},
    }
    parameters_type: ClassVar = SafeParameters
    parameters: SafeParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        tally = StepNotes()
        by_rules = decompose(document.prompt, document.response).sentences
        spans = split_sentences(document.response)
        tally.counts["sentences"] += len(spans)
        claims = await together(facts_of(span, document, tools, tally) for span in spans)
        sentences = with_claims(by_rules, claims, document.prompt)
        return Decomposition(sentences, tuple(tally.notes), dict(tally.counts))

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        set_to, tally = self.parameters, StepNotes()
        tally.counts["claims"] += 1
        if claim.prejudgement is not None and claim.prejudgement.settled:
            tally.counts["settled"] += 1
            return Verification(verdict=known_verdict(claim.prejudgement), counts=dict(tally.counts))
        searches: list[Searched] = []
        for _ in range(set_to.searches):
            tally.counts["asked"] += 1
            following = await tally.ask(
                tools,
                step="query",
                prompt="safe/query",
                fields={"claim": claim.text, "searches": as_text(searches)},
                form=NextQuery,
                instead="No further searches were made.",
                max_tokens=256,
            )
            if following is None:
                break
            query = " ".join(following.query.split())
            if not await search_once(query, set_to.results, searches, document, tools, tally):
                break
        rated = await tally.ask(
            tools,
            step="rate",
            prompt="safe/rate",
            fields={"claim": claim.text, "searches": as_text(searches)},
            form=Rating,
            instead="There is no verdict, only what was found.",
            max_tokens=768,
        )
        verdict = None
        if rated is not None:
            reason = " ".join(rated.reason.split())
            verdict = SuggestedVerdict(rated.label, MEANS[rated.label], reason, chain=chain_of(searches))
        return Verification(evidence_of(searches), verdict, tuple(tally.notes), dict(tally.counts))

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Derived in docs/strategies.md, section SAFE."""

        def of(name: str) -> float:
            return counts.get(name, 0)

        calls = {
            "split": of("sentences"),
            "revise": of("facts"),
            "relevance": of("facts"),
            "query": of("asked"),
            "rate": of("claims") - of("settled"),
        }
        again = {step: number + of(f"{step}_again") for step, number in calls.items()}
        return again | {"search": of("searched") - of("local")}
