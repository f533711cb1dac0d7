"""The strategy that needs no key and no network: rules for the text, BM25 over a local corpus for the evidence."""

from __future__ import annotations

from pipeline.steps.decompose import decompose
from pipeline.steps.queries import query_for
from pipeline.steps.rerank import PassageIndex
from pipeline.suggestions import Decomposition, RetrievedEvidence


class Offline:
    """Steps 1 to 4 by rules; stances and verdicts are left to people."""

    name = "offline"

    def decompose(self, prompt: str, response: str) -> Decomposition:
        return decompose(prompt, response)

    def retrieve(self, claim_text: str, prompt: str, index: PassageIndex | None) -> list[RetrievedEvidence]:
        return index.search(query_for(claim_text, prompt)) if index is not None else []
