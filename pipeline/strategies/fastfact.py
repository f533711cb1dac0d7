"""FastFact (Wan et al. 2025): long chunks, claims judged during extraction, a search only when in doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from annotator.core.vocabulary import Stage
from pipeline.claims.abstention import declines
from pipeline.claims.decompose import decompose
from pipeline.claims.judged import STEP, Settling, judged_claims
from pipeline.claims.long_responses import parts
from pipeline.claims.on_sentences import Extracted, with_claims
from pipeline.claims.places import places_of
from pipeline.notes import StepNotes
from pipeline.retrieval.hits import hits
from pipeline.retrieval.page_chunks import LENGTH, OVERLAP
from pipeline.retrieval.page_evidence import PageCut, page_evidence
from pipeline.sentences.boundaries import SentenceSpan, split_sentences
from pipeline.sentences.chunks import WHOLE, chunks, number_of_chunks
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, SuggestedSentence, Verification
from pipeline.together import together
from pipeline.tools import Tools
from pipeline.verdict.from_evidence import evidence_verdict, known_verdict

# Up to this length, a chunk's claims with their labels fit into one output; longer chunks are read in parts.
LONGEST_CHUNK = 12_000  # characters
_NO_QUESTION = "(There is none: the text speaks for itself.)"


class FastFactParameters(Parameters):
    """Parameters. Defaults are the released configuration's, with the stride of the paper's Table 8."""

    stride: int = Field(WHOLE, ge=0, le=500, description="Sentences read at once; 0: the whole response")
    threshold: float = Field(0.995, ge=0, le=1, description="Label probability above which nothing is searched")
    irrelevant: Literal["sure", "always"] = Field(
        "sure", description="Whether “irrelevant” settles a claim above the threshold only, or always"
    )
    pages: int = Field(5, ge=1, le=20, description="Pages a claim")
    passages: int = Field(10, ge=1, le=30, description="Passages per claim, from all its pages")
    length: int = Field(LENGTH, ge=20, le=1000, description="Maximum words per passage")
    overlap: int = Field(OVERLAP, ge=0, le=500, description="Maximum overlap of adjacent passages, in words")

    @field_validator("overlap")
    @classmethod
    def _moves_on(cls, overlap: int, given: ValidationInfo) -> int:
        if overlap >= given.data.get("length", LENGTH):
            raise ValueError("it must be less than the length of a passage")
        return overlap


class FastFact(Strategy):
    """Steps 1 to 6 with one call per chunk and one per claim the model wasn't sure about."""

    name: ClassVar = "fastfact"
    label: ClassVar = "FastFact"
    summary: ClassVar = (
        "Extracts claims from long chunks and judges them in the same call. Only what the model is not sure of is"
        " searched for, in whole pages. It saves calls only with a model server that returns log-probabilities."
    )
    paper: ClassVar = "Wan et al. 2025, FastFact"
    stages: ClassVar = (Stage.DECOMPOSE, Stage.VERIFY)
    needs: ClassVar = frozenset({Service.CHAT, Service.SEARCH, Service.PAGES})
    prompts: ClassVar = ("fastfact/extract", "fastfact/verify")
    formula_text: ClassVar = "⌈N/w⌉ + L + (pM − Z) models, pM searches, U pages"
    # 311 sentences and 661 check-worthy claims in 94 responses (Factcheck-Bench, Table 1); none settled, five pages
    # each.
    typical: ClassVar = {
        Stage.DECOMPOSE: {"sentences": 3.3},
        Stage.VERIFY: {"claims": 7, "settled": 0, "pages": 35},
    }
    longest_at_once: ClassVar = LONGEST_CHUNK
    parameters_type: ClassVar = FastFactParameters
    parameters: FastFactParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        set_to = self.parameters
        tally = StepNotes()
        by_rules = decompose(document.prompt, document.response).sentences
        if declines(document.response):
            tally.note(STEP, "The response declines to answer: nothing was extracted.")
            sentences = with_claims(by_rules, [[] for _ in by_rules], document.prompt)
            return Decomposition(sentences, tuple(tally.notes), dict(tally.counts))
        spans = split_sentences(document.response)
        tally.counts["sentences"] += len(spans)
        runs = [part for chunk in chunks(spans, set_to.stride) for part in parts(chunk, LONGEST_CHUNK)]
        if more := len(runs) - ceil(number_of_chunks(len(spans), set_to.stride)):
            tally.counts["long_parts"] += more
        sizes = list(map(len, runs))
        starts = [sum(sizes[:position]) for position in range(len(runs))]
        found = await together(
            self._claims_of(document, run, by_rules[start : start + len(run)], tools, tally)
            for start, run in zip(starts, runs, strict=True)
        )
        claims = [each for run in found for each in run]
        sentences = with_claims(by_rules, claims, document.prompt)
        return Decomposition(sentences, tuple(tally.notes), dict(tally.counts))

    async def _claims_of(
        self,
        document: DocumentText,
        run: Sequence[SentenceSpan],
        by_rules: Sequence[SuggestedSentence],
        tools: Tools,
        tally: StepNotes,
    ) -> list[list[Extracted] | None]:
        """The claims of each sentence of a chunk. Output that is cut off is continued at the sentence of its last
        claim."""
        question = document.prompt.strip() or _NO_QUESTION
        found: list[list[Extracted] | None] = [None] * len(run)
        first = 0
        while first < len(run):
            text = document.response[run[first].start : run[-1].end]
            rule = Settling(self.parameters.threshold, self.parameters.irrelevant == "always")
            judged = await judged_claims(text, question, rule, tools, tally)
            if judged is None:
                break
            placed = _by_sentence(judged.claims, by_rules[first:])
            for position, claims in enumerate(placed, start=first):
                found[position] = [*(found[position] or []), *claims]
            reached = max((position for position, claims in enumerate(placed) if claims), default=0)
            if not judged.cut:
                break
            found[first + reached + 1 :] = [None] * len(found[first + reached + 1 :])
            first += max(reached, 1)
            tally.again(STEP, first < len(run))
        return found

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        set_to = self.parameters
        tally = StepNotes()
        tally.counts["claims"] += 1
        if claim.prejudgement is not None and claim.prejudgement.settled:
            tally.counts["settled"] += 1
            return Verification(verdict=known_verdict(claim.prejudgement), counts=dict(tally.counts))
        found = await hits(claim.text, set_to.pages, document, tools, tally)
        cut = PageCut(set_to.length, set_to.overlap, set_to.passages)
        evidence = await page_evidence(claim.text, found, cut, document, tools, tally)
        verdict = await evidence_verdict(claim.text, evidence, tools, tally)
        return Verification(tuple(evidence), verdict, tuple(tally.notes), dict(tally.counts))

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Derived in docs/strategies.md, section FastFact."""

        def of(name: str) -> float:
            return counts.get(name, 0)

        unsure = of("claims") - of("settled")  # pM
        return {
            "extract": number_of_chunks(of("sentences"), self.parameters.stride)
            + of("long_parts")
            + of("extract_again"),
            "search": unsure - of("local"),
            "fetch": of("pages"),
            "verify": unsure - of("unfound") + of("verify_again"),
        }


def _by_sentence(extracted: list[Extracted], sentences: Sequence[SuggestedSentence]) -> list[list[Extracted]]:
    """Claims grouped by their sentences."""
    places = places_of([each.text for each in extracted], [sentence.decontext for sentence in sentences])
    return [
        [each for each, place in zip(extracted, places, strict=True) if place == position]
        for position in range(len(sentences))
    ]
