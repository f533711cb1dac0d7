"""The strategy without keys or network: rules for the text, BM25 over a local corpus for the evidence."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from pipeline.claims.decompose import decompose
from pipeline.retrieval.corpus_ranking import PER_CLAIM
from pipeline.retrieval.queries import query_for
from pipeline.strategies.base import Parameters, Strategy
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, Verification
from pipeline.tools import Tools


class OfflineParameters(Parameters):
    """Parameters of the rules."""

    passages: int = Field(PER_CLAIM, ge=1, le=20, description="Passages a claim")


class Offline(Strategy):
    """Steps 1 to 4 by rules. Stances and verdicts are left to people."""

    name: ClassVar = "offline"
    label: ClassVar = "Offline rules"
    summary: ClassVar = (
        "Rules split and label the text, BM25 finds passages in the benchmark's corpus. No key, no network, no cost."
    )
    parameters_type: ClassVar = OfflineParameters
    parameters: OfflineParameters

    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        return decompose(document.prompt, document.response)

    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        if tools.index is None:
            return Verification()
        found = tools.index.search(query_for(claim.text, document.prompt), self.parameters.passages)
        return Verification(evidence=tuple(found))
