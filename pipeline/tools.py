"""What a strategy works with: services, corpus, prompts. Put together once for a run, handed to every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.clients.base import Chat, PageFetcher, Ranker, SearchClient
from pipeline.prompts import Prompt
from pipeline.retrieval.corpus_ranking import PassageIndex


class MissingServiceError(Exception):
    """A strategy needs a service that is not configured. The sentence says which setting names it."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The services of a run; None: not configured. ``prompts`` holds every prompt of the strategy as the run's plan
    froze it, by name. ``model`` is the name of the chat model."""

    model: str = ""
    chat: Chat | None = None
    search: SearchClient | None = None
    pages: PageFetcher | None = None
    ranker: Ranker | None = None
    index: PassageIndex | None = None
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    seed: int | None = None
    temperature: float = 0.0

    def need_chat(self) -> Chat:
        """The chat endpoint. Raises MissingServiceError."""
        if self.chat is None:
            raise MissingServiceError("This strategy needs a language model. Add one under Services.")
        return self.chat

    def need_search(self) -> SearchClient:
        """The search service. Raises MissingServiceError."""
        if self.search is None:
            raise MissingServiceError(
                "This strategy needs a search service. Add one under Services, or choose a corpus."
            )
        return self.search
