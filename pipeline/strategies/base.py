"""What a strategy is: which steps, in which order, turn a document into suggestions."""

from __future__ import annotations

from typing import Protocol

from pipeline.steps.rerank import PassageIndex
from pipeline.suggestions import Decomposition, RetrievedEvidence


class Strategy(Protocol):
    """One way to suggest. A new one is a class with these members in a module of its own, named in ``STRATEGIES``."""

    name: str

    def decompose(self, prompt: str, response: str) -> Decomposition:
        """Sentences of the response in order, decontextualised, with claims and labels (steps 1 to 3)."""

    def retrieve(self, claim_text: str, prompt: str, index: PassageIndex | None) -> list[RetrievedEvidence]:
        """Evidence for one claim, best first (step 4). ``index`` is the local corpus; None: there is none."""
