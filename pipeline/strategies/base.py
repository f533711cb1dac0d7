"""What a strategy is: the steps that turn a document into suggestions, and their order."""

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
    """The services a strategy requires."""

    CHAT = "chat"
    SEARCH = "search"
    PAGES = "pages"


class Parameters(BaseModel):
    """A strategy's parameters, each with its paper's value as the default, a description shown next to the field, and
    bounds. Each strategy derives its own class from this one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Strategy(ABC):
    """A way to make suggestions. To add one, write a class like this in a module of its own and name it in
    ``STRATEGIES``.

    ``formula`` gives the calls of one document by step from its ``counts``: the quantities reported by the three
    methods (sentences, claims, and the strategy's own), so that actual calls can be compared with expected ones.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    summary: ClassVar[str]  # one or two sentences for the person choosing
    paper: ClassVar[str] = ""
    stages: ClassVar[tuple[Stage, ...]] = (Stage.DECOMPOSE, Stage.VERIFY)
    needs: ClassVar[frozenset[Service]] = frozenset()
    prompts: ClassVar[tuple[str, ...]] = ()
    formula_text: ClassVar[str] = "0"  # in the notation of docs/strategies.md
    # The counts of an average document and claim, for forecasts before anything has been measured; named as in
    # ``counts``.
    typical: ClassVar[Mapping[Stage, Mapping[str, float]]] = {}
    # Characters of a response that one call decomposes; longer ones are read in parts. 0: no limit.
    longest_at_once: ClassVar[int] = 0
    parameters_type: ClassVar[type[Parameters]] = Parameters

    parameters: Parameters  # narrowed by each strategy to its own class

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters if parameters is not None else self.parameters_type()

    @abstractmethod
    async def decompose(self, document: DocumentText, tools: Tools) -> Decomposition:
        """Sentences of the response in order, with decontextualized texts, claims and labels (steps 1 to 3)."""

    @abstractmethod
    async def verify(self, claim: ClaimText, document: DocumentText, tools: Tools) -> Verification:
        """Evidence for one claim with stances, and a verdict with its reason and correction (steps 4 to 7)."""

    async def revise(
        self, document: DocumentText, claims: Sequence[CheckedClaim], tools: Tools
    ) -> SuggestedRevision | None:
        """The revised response (step 8); None if the strategy doesn't revise."""
        return None

    def formula(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Calls of each step for a document with these counts, by the paper's formula: {step: calls}."""
        return {}
