"""What a strategy is: which steps, in which order, turn a document into suggestions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from annotator.core.vocabulary import Stage
from pipeline.suggestions import (
    CheckedClaim,
    ClaimText,
    Decomposition,
    DocumentText,
    SuggestedRevision,
    Verification,
)
from pipeline.tools import Tools


class Service(StrEnum):
    """What a strategy cannot work without."""

    CHAT = "chat"
    SEARCH = "search"
    PAGES = "pages"


class Parameters(BaseModel):
    """The parameters of a strategy, each with its paper's value as the default, a description that a person reads
    beside the field, and bounds. A strategy's own class derives from this one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Strategy(ABC):
    """One way to suggest. A new one is a class like this in a module of its own, named in ``STRATEGIES``.

    ``formula`` tells the calls of one document step by step from its ``counts``: the quantities that the three methods
    report (sentences, claims, and a strategy's own), so that what was spent can be held against what should have been.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    summary: ClassVar[str]  # one or two sentences for the person who chooses
    paper: ClassVar[str] = ""
    stages: ClassVar[tuple[Stage, ...]] = (Stage.DECOMPOSE, Stage.VERIFY)
    needs: ClassVar[frozenset[Service]] = frozenset()
    prompts: ClassVar[tuple[str, ...]] = ()
    formula_text: ClassVar[str] = "0"  # in the letters of docs/strategies.md
    # What one document and one claim come to before anything was measured, for the forecast: names as in ``counts``.
    typical: ClassVar[Mapping[Stage, Mapping[str, float]]] = {}
    # Characters of a response that are decomposed in one call; longer ones are read in parts. 0: calls do not grow.
    longest_at_once: ClassVar[int] = 0
    parameters_type: ClassVar[type[Parameters]] = Parameters

    parameters: Parameters  # narrowed by each strategy to its own class

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters if parameters is not None else self.parameters_type()

    @abstractmethod
    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        """Sentences of the response in order, decontextualized, with claims and labels (steps 1 to 3)."""

    @abstractmethod
    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        """Evidence for one claim with its stances, and a verdict with its reason and correction (steps 4 to 7)."""

    async def revise(
        self, document: DocumentText, claims: Sequence[CheckedClaim], tools: Tools
    ) -> SuggestedRevision | None:
        """The revised response (step 8); None where the strategy has none to offer."""
        return None

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Calls of each step for a document with these counts: {step: calls}, by the paper's formula."""
        return {}
