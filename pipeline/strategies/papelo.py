"""Papelo (FEVER 2024): evidence is collected question by question, each based on what the answers so far leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from annotator.core.vocabulary import Stage
from pipeline.claims.decompose import decompose
from pipeline.notes import StepNotes
from pipeline.retrieval.look_up import LookedUp, LookUpReach, look_up
from pipeline.retrieval.questions import about, first_question, is_among, next_question, rephrasings
from pipeline.retrieval.snippet_window import SENTENCES, SHARE
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import (
    ClaimText,
    Decomposition,
    DocumentText,
    QuestionAnswer,
    RetrievedEvidence,
    Verification,
)
from pipeline.together import together
from pipeline.tools import Tools
from pipeline.verdict.chain import chain_verdict


class PapeloParameters(Parameters):
    """Parameters. Defaults are the submitted system's."""

    questions: int = Field(5, ge=1, le=10, description="Question-answer pairs per claim, including rephrased ones")
    paraphrase: bool = Field(True, description="Number of questions to reach by rephrasing earlier ones")
    classes: Literal["two", "four"] = Field("two", description="Verdict: supported or refuted, or AVeriTeC's four")
    results: int = Field(10, ge=1, le=20, description="Search hits to choose from")
    sentences: int = Field(SENTENCES, ge=1, le=20, description="Sentences around the snippet on a page")
    share: float = Field(SHARE, ge=0, lt=1, description="Share of the snippet's words that these sentences must exceed")


class Papelo(Strategy):
    """Steps 4 to 6 by a chain of questions. The paper starts with a claim, so the offline rules do steps 1 to 3."""

    name: ClassVar = "papelo"
    label: ClassVar = "Papelo"
    summary: ClassVar = (
        "Asks one question after another until a claim is decided, and shows the chain. The offline rules split"
        " sentences and claims, because the paper starts from a claim."
    )
    paper: ClassVar = "Malon 2024, Team Papelo at FEVER 2024"
    needs: ClassVar = frozenset({Service.CHAT, Service.SEARCH})
    stages: ClassVar = (Stage.DECOMPOSE, Stage.VERIFY)
    prompts: ClassVar = tuple(
        f"papelo/{step}"
        for step in (
            "first_question",
            "choose_document",
            "answer",
            "next_question",
            "paraphrase",
            "verdict_two",
            "verdict_four",
        )
    )
    formula_text: ClassVar = "2M + (H − K) + F + (D − L) + P models, Q + E searches, U pages"
    # The maximum that the defaults allow: the third answer decides, two questions are rephrased. Seven claims: Table 1
    # of Factcheck-Bench has 661 check-worthy ones in 94 responses.
    typical: ClassVar = {
        Stage.VERIFY: {
            "claims": 7,
            "hops": 21,
            "rephrased": 14,
            "searched": 35,
            "lists": 35,
            "chosen": 35,
            "pages": 35,
        }
    }
    parameters_type: ClassVar = PapeloParameters
    parameters: PapeloParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        return decompose(document.prompt, document.response)

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        set_to = self.parameters
        tally = StepNotes()
        tally.counts.update(claims=1)
        told = about(document)
        chain = _Chain()
        early: bool | None = None

        async def find(question: str) -> LookedUp:
            reach = LookUpReach(set_to.results, set_to.sentences, set_to.share)
            return await look_up(question, claim.text, document, reach, tools, tally)

        question = await first_question(claim.text, told, tools, tally)
        while question:
            chain.add(await find(question))
            if len(chain.links) == set_to.questions:
                tally.counts["full"] += 1
                break
            following = await next_question(claim.text, told, chain.links, tools, tally)
            question, early = following.question, following.settled
        tally.counts["hops"] += len(chain.links)
        if set_to.paraphrase and len(chain.links) < set_to.questions:
            missing = set_to.questions - len(chain.links)
            others = await _rephrased([link.question for link in chain.links], missing, tools, tally)
            # Questions are independent, so their searches run in parallel.
            for found in await together(map(find, others)):
                chain.add(found)
        chain.check()
        verdict = await chain_verdict(
            claim.text, told, chain.links, early, four=set_to.classes == "four", tools=tools, tally=tally
        )
        return Verification(tuple(chain.evidence), verdict, tuple(tally.notes), dict(tally.counts))

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Derived in docs/strategies.md, section Papelo."""

        def of(name: str) -> float:
            return counts.get(name, 0)

        calls = {
            "first_question": of("claims"),
            "search": of("searched") + of("empty") - of("local"),
            "choose_document": of("lists"),
            "fetch": of("pages"),
            "answer": of("chosen") - of("too_late"),
            "next_question": of("hops") - of("full"),
            "paraphrase": of("rephrased"),
            "verdict": of("claims"),
        }
        return {step: number + of(f"{step}_again") for step, number in calls.items()}


class _Chain:
    """The links of a chain with their evidence. A passage found by two questions is one piece of evidence."""

    def __init__(self) -> None:
        self.links: list[QuestionAnswer] = []
        self.evidence: list[RetrievedEvidence] = []
        self._failures: list[LookedUp] = []

    def add(self, found: LookedUp) -> None:
        if found.failure is not None:
            self._failures.append(found)
        self.links.append(QuestionAnswer(found.question, found.query, found.answer, self._position(found.evidence)))

    def check(self) -> None:
        """Raises the search service's error if no search succeeded at all, because then the claim wasn't examined."""
        if len(self._failures) == len(self.links) and (failure := self._failures[-1].failure):
            raise failure

    def _position(self, evidence: RetrievedEvidence | None) -> int | None:
        if evidence is None:
            return None
        for position, known in enumerate(self.evidence):
            if (known.url, known.passage) == (evidence.url, evidence.passage):
                return position
        self.evidence.append(evidence)
        return len(self.evidence) - 1


async def _rephrased(asked: Sequence[str], missing: int, tools: Tools, tally: StepNotes) -> list[str]:
    """At most ``missing`` other ways to ask the questions so far, taking turns."""
    each_needs = -(-missing // len(asked))
    sources = asked[:missing]
    tally.counts["rephrased"] += len(sources)
    found = await together(rephrasings(question, each_needs, tools, tally) for question in sources)
    chosen: list[str] = []
    for turn in range(max(map(len, found))):
        for others in found:
            if turn < len(others) and not is_among(others[turn], [*asked, *chosen]):
                chosen.append(others[turn])
    return chosen[:missing]
