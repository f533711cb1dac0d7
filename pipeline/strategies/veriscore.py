"""VeriScore (Song et al. 2024): only verifiable claims, sentence by sentence, each judged by its search results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from annotator.core.vocabulary import Stage
from pipeline.claims.abstention import declines
from pipeline.claims.decompose import decompose
from pipeline.claims.on_sentences import Extracted, with_claims
from pipeline.claims.verifiable import verifiable_claims
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import content_hash
from pipeline.retrieval.hits import hits
from pipeline.sentences.boundaries import split_sentences
from pipeline.sentences.windows import AFTER, BEFORE, windows
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, RetrievedEvidence, Verification
from pipeline.together import together
from pipeline.tools import Tools
from pipeline.verdict.from_results import results_verdict


class VeriScoreParameters(Parameters):
    """Parameters. Defaults are the paper's."""

    before: int = Field(BEFORE, ge=0, le=20, description="Context sentences before")
    after: int = Field(AFTER, ge=0, le=20, description="Context sentences after")
    question: bool = Field(
        True,
        description="Put the prompt before each window; otherwise the first sentence of a long paragraph",
    )
    results: int = Field(10, ge=1, le=20, description="Search results per claim")
    labels: Literal["two", "three"] = Field(
        "two", description="Verdict: supported or unsupported, or supported, contradicted or inconclusive"
    )


class VeriScore(Strategy):
    """Steps 1 to 6 with one call per sentence and one per claim."""

    name: ClassVar = "veriscore"
    label: ClassVar = "VeriScore"
    summary: ClassVar = (
        "Reads the response sentence by sentence in a sliding window, extracts only verifiable claims, and judges each "
        "by the titles and snippets of its search results."
    )
    paper: ClassVar = "Song et al. 2024, VeriScore"
    stages: ClassVar = (Stage.DECOMPOSE, Stage.VERIFY)
    needs: ClassVar = frozenset({Service.CHAT, Service.SEARCH})
    prompts: ClassVar = (
        "veriscore/extract_answer",
        "veriscore/extract_text",
        "veriscore/verify_two",
        "veriscore/verify_three",
    )
    formula_text: ClassVar = "N + (M − Z) models, M searches"
    # 311 sentences and 661 check-worthy claims in 94 responses (Factcheck-Bench, Table 1).
    typical: ClassVar = {Stage.DECOMPOSE: {"sentences": 3.3}, Stage.VERIFY: {"claims": 7}}
    parameters_type: ClassVar = VeriScoreParameters
    parameters: VeriScoreParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        set_to = self.parameters
        tally = StepNotes()
        by_rules = decompose(document.prompt, document.response).sentences
        if declines(document.response):
            tally.note("extract", "The response declines to answer: nothing was extracted.")
            sentences = with_claims(by_rules, [[] for _ in by_rules], document.prompt)
            return Decomposition(sentences, tuple(tally.notes), dict(tally.counts))
        spans = split_sentences(document.response)
        tally.counts["sentences"] += len(spans)
        question = " ".join(document.prompt.split()) if set_to.question else ""
        read = windows(document.response, spans, before=set_to.before, after=set_to.after, lead=not question)
        said = await together(
            verifiable_claims(window, span.text, question, tools, tally)
            for window, span in zip(read, spans, strict=True)
        )
        claims = [None if each is None else [Extracted(text) for text in each] for each in said]
        sentences = with_claims(by_rules, claims, document.prompt)
        return Decomposition(sentences, tuple(tally.notes), dict(tally.counts))

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        tally = StepNotes()
        tally.counts["claims"] += 1
        evidence = [
            RetrievedEvidence(
                passage=passage,
                url=hit.url,
                title=hit.title,
                query=claim.text,
                site=hit.site,
                published=hit.published,
                content_hash=content_hash(passage),
            )
            for hit in await hits(claim.text, self.parameters.results, document, tools, tally)
            if (passage := " ".join(hit.snippet.split()) or hit.title)
        ]
        three = self.parameters.labels == "three"
        verdict = await results_verdict(claim.text, evidence, three=three, tools=tools, tally=tally)
        return Verification(tuple(evidence), verdict, tuple(tally.notes), dict(tally.counts))

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Derived in docs/strategies.md, section VeriScore."""

        def of(name: str) -> float:
            return counts.get(name, 0)

        return {
            "extract": of("sentences") + of("extract_again"),
            "search": of("claims") - of("local"),
            "verify": of("claims") - of("unfound") + of("verify_again"),
        }
