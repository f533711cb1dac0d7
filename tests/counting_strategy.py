"""A strategy that makes a known number of calls, one after the other: for tests of runs, here and in workers of their
own (``celery worker --include tests.counting_strategy``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from annotator.core.vocabulary import Factuality, Stage, StanceLabel
from pipeline.claims.decompose import decompose
from pipeline.clients.base import ChatRequest, Message, PageRequest, SearchRequest
from pipeline.strategies import STRATEGIES
from pipeline.strategies.base import Parameters, Service, Strategy
from pipeline.suggestions import (
    CheckedClaim,
    ClaimText,
    Decomposition,
    DocumentText,
    Note,
    QuestionAnswer,
    RetrievedEvidence,
    SuggestedRevision,
    SuggestedVerdict,
    Verification,
)
from pipeline.tools import Tools


class CountingParameters(Parameters):
    """How many calls a document takes."""

    calls: int = Field(3, ge=0, le=1000, description="Questions a document")
    longest: int = Field(20, ge=1, le=1000, description="Tokens of an answer")


class Counting(Strategy):
    """Asks the model to count, and suggests what the rules say."""

    name: ClassVar = "counting"
    label: ClassVar = "Counting"
    summary: ClassVar = "Counts."
    stages: ClassVar = (Stage.DECOMPOSE, Stage.VERIFY, Stage.REVISE)
    needs: ClassVar = frozenset({Service.CHAT, Service.SEARCH})
    formula_text: ClassVar = "n + M"
    typical: ClassVar = {
        Stage.DECOMPOSE: {"questions": 3, "sentences": 3},
        Stage.VERIFY: {"claims": 2},
        Stage.REVISE: {"revisions": 1},
    }
    parameters_type: ClassVar = CountingParameters
    parameters: CountingParameters

    async def _ask(self, tools: Tools, step: str, text: str) -> str:
        messages = (Message("user", text),)
        longest = self.parameters.longest
        request = ChatRequest(step, messages, tools.model, tools.temperature, tools.seed, max_tokens=longest)
        return (await tools.need_chat().complete(request)).text

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        for number in range(self.parameters.calls):
            await self._ask(tools, "count", f"{number}: {document.response}")
        cut = decompose(document.prompt, document.response)
        notes = (Note("count", "Counted to the end."),)
        return Decomposition(
            cut.sentences, notes, {"questions": self.parameters.calls, "sentences": len(cut.sentences)}
        )

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        said = await self._ask(tools, "judge", claim.text)
        hits = await tools.need_search().search(SearchRequest("look", claim.text, 2))
        page = await tools.pages.fetch(PageRequest("read", hits[0].url)) if tools.pages and hits else None
        found = tuple(
            RetrievedEvidence(
                passage=hit.snippet,
                url=hit.url,
                title=hit.title,
                query=claim.text,
                stance=StanceLabel.REFUTE,
                stance_reason="It says otherwise.",
                snapshot=page if page and page.url == hit.url else None,
            )
            for hit in hits
        )
        chain = (QuestionAnswer("When?", "when", "In 1815.", 0 if found else None), QuestionAnswer("Who?", "who", ""))
        verdict = SuggestedVerdict("refuted", Factuality.FALSE, f"The model said: {said}", "Mended.", 0.9, chain)
        return Verification(found, verdict, counts={"claims": 1})

    async def revise(
        self, document: DocumentText, claims: Sequence[CheckedClaim], tools: Tools
    ) -> SuggestedRevision | None:
        said = await self._ask(tools, "mend", document.response + "".join(claim.revised for claim in claims))
        return SuggestedRevision(f"With: {said}", f"Without: {said}", counts={"revisions": 1})

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        claims = counts.get("claims", 0)
        return {
            "count": counts.get("questions", 0),
            "judge": claims,
            "look": claims,
            "mend": counts.get("revisions", 0),
        }


STRATEGIES[Counting.name] = Counting
