"""Factcheck-GPT (Factcheck-Bench): all eight steps by a model, the web and a ranker, as in the benchmark's own
suggestions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import islice
from math import ceil
from typing import ClassVar, Literal

from pydantic import Field

from annotator.core.vocabulary import Factuality, SentenceType, Stage
from pipeline.checkworthiness.by_model import Labeller
from pipeline.claims.by_model import decompose_by_model
from pipeline.claims.fallback import Rules
from pipeline.claims.long_responses import LONGEST_AT_ONCE
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import PER_CLAIM
from pipeline.retrieval.evidence import SearchReach, evidence_for
from pipeline.retrieval.passages import SENTENCE_LENGTH, STRIDE, WINDOW
from pipeline.retrieval.queries_by_model import QueryReach, queries_by_model
from pipeline.revision.by_model import revise_by_model
from pipeline.stance.by_model import with_stance
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import (
    CheckedClaim,
    ClaimText,
    Decomposition,
    DocumentText,
    SuggestedRevision,
    SuggestedSentence,
    SuggestedVerdict,
    Verification,
)
from pipeline.together import both, together
from pipeline.tools import Tools
from pipeline.verdict.by_model import verdict_by_model, verdict_by_stances


class FactcheckGptParameters(Parameters):
    """Parameters. Defaults come from the paper or its authors' code, where stated."""

    at_once: int = Field(30, ge=1, le=200, description="Sentences or claims labeled in one call")
    rounds: int = Field(2, ge=1, le=5, description="Rounds of queries; all different queries are searched")
    query_temperature: float = Field(0.7, ge=0, le=2, description="Temperature for generating queries")
    queries: int = Field(5, ge=1, le=10, description="Queries a claim, at most")
    query_similarity: float = Field(
        0.6, ge=0, le=1, description="Similarity at which a query is dropped as a repeat (share of common word stems)"
    )
    pages: int = Field(5, ge=1, le=20, description="Pages a query")
    window: int = Field(WINDOW, ge=1, le=20, description="Sentences a passage")
    stride: int = Field(
        STRIDE, ge=1, le=20, description="Sentences from the start of one passage to the start of the next"
    )
    sentence_length: int = Field(SENTENCE_LENGTH, ge=50, le=2000, description="Maximum characters per sentence")
    long_sentences: Literal["drop", "cut"] = Field("drop", description="What happens to longer sentences")
    passages_a_page: int = Field(3, ge=1, le=20, description="Passages a page, at most")
    passages: int = Field(PER_CLAIM, ge=1, le=20, description="Passages per claim, taken from all queries in turn")


class FactcheckGpt(Strategy):
    """Steps 1 to 8. docs/strategies.md has the differences from the paper and the formula."""

    name: ClassVar = "factcheck_gpt"
    label: ClassVar = "Factcheck-GPT"
    summary: ClassVar = (
        "A model splits and labels the response, searches the web for each claim, judges five passages one by one,"
        " gives a verdict with a correction, and revises the answer."
    )
    paper: ClassVar = "Wang et al. 2024, Factcheck-Bench"
    stages: ClassVar = (Stage.DECOMPOSE, Stage.VERIFY, Stage.REVISE)
    needs: ClassVar = frozenset({Service.CHAT, Service.SEARCH})
    prompts: ClassVar = tuple(
        f"factcheck_gpt/{step}"
        for step in (
            "decompose",
            "decompose_sentence",
            "decontextualise",
            "checkworthy_sentences",
            "checkworthy_claims",
            "importance",
            "queries",
            "stance",
            "verdict",
            "revise_without_question",
            "revise_with_question",
        )
    )
    formula_text: ClassVar = "D + L + 2⌈N/b⌉ + ⌈K/b⌉ + ⌈(N + K)/b⌉ + rM + E + J + 2V models, Q searches, U pages"
    # Per document: sentences, claims and evidence as in the paper (Table 1: 311, 678, 661 and 3,305 of 94 responses;
    # 105 of 1,136 responses couldn't be decomposed in one go, section B.2); the rest is the maximum that the defaults
    # allow.
    typical: ClassVar = {
        Stage.DECOMPOSE: {"answers": 1, "sentences": 3.3, "left": 0.2, "statements": 7.2},
        Stage.VERIFY: {"claims": 7, "queries": 35, "pages": 175, "ranked": 35, "evidence": 35, "judged": 7},
        Stage.REVISE: {"mended": 0.65},
    }
    longest_at_once: ClassVar = LONGEST_AT_ONCE
    parameters_type: ClassVar = FactcheckGptParameters
    parameters: FactcheckGptParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        tally, rules = StepNotes(), Rules(document)
        splits = await decompose_by_model(document, rules, tools, tally)
        labeller = Labeller(document, rules, self.parameters.at_once, tools, tally)
        alone, types = await both(labeller.standing_alone(splits), labeller.sentence_types(splits))
        # Only sentences that state facts have claims. Claims from other sentences come from opinions or requests.
        splits = [
            split if kind == SentenceType.CHECKWORTHY else dataclasses.replace(split, claims=())
            for split, kind in zip(splits, types, strict=True)
        ]
        tally.counts["statements"] += sum(len(split.claims) for split in splits)
        labelled, importances = await both(labeller.claim_types(splits), labeller.importances(splits))
        claims = iter(
            dataclasses.replace(claim, importance=importance)
            for claim, importance in zip(labelled, importances[len(splits) :], strict=True)
        )
        sentences = tuple(
            SuggestedSentence(
                text=split.text,
                start=split.start,
                end=split.end,
                decontext=decontext,
                type=kind,
                importance=importance,
                claims=tuple(islice(claims, len(split.claims))),
            )
            for split, decontext, kind, importance in zip(splits, alone, types, importances, strict=False)
        )
        return Decomposition(sentences, tuple(tally.notes), dict(tally.counts))

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        set_to, tally = self.parameters, StepNotes()
        tally.counts["claims"] += 1
        asking = QueryReach(set_to.rounds, set_to.query_temperature, set_to.queries, set_to.query_similarity)
        queries = await queries_by_model(claim, document, asking, tools, tally)
        reach = SearchReach(
            pages=set_to.pages,
            window=set_to.window,
            stride=set_to.stride,
            longest=set_to.sentence_length,
            drops_long=set_to.long_sentences == "drop",
            passages_a_page=set_to.passages_a_page,
            passages_a_claim=set_to.passages,
        )
        found = await evidence_for(queries, document.reference_date, reach, tools, tally)
        tally.counts["evidence"] += len(found)
        if not found:
            nothing = Factuality.NOT_ENOUGH_EVIDENCE
            verdict = SuggestedVerdict(nothing.label, nothing, reason="Nothing was found for this claim.")
            return Verification((), verdict, tuple(tally.notes), dict(tally.counts))
        tally.counts["judged"] += 1
        # The verdict uses the passages, not their stances (section 4.3), so neither waits for the other.
        judged, said = await both(
            together(with_stance(claim.text, each, tools, tally) for each in found),
            verdict_by_model(claim.text, found, tools, tally),
        )
        return Verification(tuple(judged), said or verdict_by_stances(judged), tuple(tally.notes), dict(tally.counts))

    async def revise(
        self, document: DocumentText, claims: Sequence[CheckedClaim], tools: Tools
    ) -> SuggestedRevision | None:
        tally = StepNotes()
        with_prompt, without_prompt = await revise_by_model(document, claims, tools, tally)
        return SuggestedRevision(with_prompt, without_prompt, tuple(tally.notes), dict(tally.counts))

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Derived in docs/strategies.md, section Factcheck-GPT."""

        def of(name: str) -> float:
            return counts.get(name, 0)

        def batches(*names: str) -> int:
            return ceil(sum(map(of, names)) / self.parameters.at_once)

        calls = {
            "decompose": of("answers"),
            "decompose_sentence": of("left"),
            "decontextualise": batches("sentences"),
            "checkworthy_sentences": batches("sentences"),
            "checkworthy_claims": batches("statements"),
            "importance": batches("sentences", "statements"),
            "queries": of("claims") * self.parameters.rounds,
            "search": of("queries"),
            "fetch": of("pages"),
            "rank": of("ranked"),
            "stance": of("evidence"),
            "verdict": of("judged"),
            "revise_without_question": of("mended"),
            "revise_with_question": of("mended"),
        }
        return {step: number + of(f"{step}_again") for step, number in calls.items()}
