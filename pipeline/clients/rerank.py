"""Ranking by a re-ranking endpoint: that of Jina, Cohere, vLLM and their like, or that of text-embeddings-inference."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from typing import Any

import httpx

from pipeline.clients.base import RankRequest, ServiceError
from pipeline.clients.http import Provider, RefusedError, endpoint
from pipeline.clients.limiter import Limiter

BATCH = 32  # what text-embeddings-inference takes at once by default
LONGEST = 8000  # characters

# Servers that want "texts" instead of "documents", as learned from their refusal.
_wants_texts: set[str] = set()
_lock = threading.Lock()


def forget_styles() -> None:
    """Ask every server anew what it takes; for tests."""
    with _lock:
        _wants_texts.clear()


class RerankRanker(Provider):
    """A Ranker over a re-ranking endpoint."""

    NAME = "The re-ranking server"
    ADVICE = "Check RERANK_URL, RERANK_KEY and RERANK_MODEL."
    SECONDS = 60.0
    TOTAL = 180.0

    def __init__(self, client: httpx.AsyncClient, limiter: Limiter, *, model: str = "", **options: Any) -> None:
        super().__init__(client, limiter, **options)
        self.model = model

    def address(self, url: str) -> str:
        return endpoint(url, "rerank", version="")

    @property
    def provider(self) -> str:
        """Who answers, as part of the key under which scores are kept."""
        return f"rerank {self.url} {self.model}"

    async def scores(self, request: RankRequest) -> Sequence[float]:
        """The server's scores, one a text; below all others for a blank text, which is not sent. Raises
        ServiceError."""
        positions = [position for position, text in enumerate(request.texts) if text.strip()]
        if not request.query.strip() or not positions:
            return [0.0] * len(request.texts)
        batches = [positions[start : start + BATCH] for start in range(0, len(positions), BATCH)]
        scored = await asyncio.gather(
            *(self._batch(request.query, [request.texts[each][:LONGEST] for each in batch]) for batch in batches)
        )
        found = dict(zip(positions, (score for batch in scored for score in batch), strict=True))
        least = min(found.values()) - 1
        return [found.get(position, least) for position in range(len(request.texts))]

    async def _batch(self, query: str, texts: list[str]) -> list[float]:
        with _lock:
            as_texts = self.url in _wants_texts
        if not as_texts:
            body: dict[str, Any] = {"query": query, "documents": texts, "top_n": len(texts)}
            if self.model:
                body["model"] = self.model
            try:
                return self._read(await self._service.post(body), len(texts))
            except RefusedError as error:
                if error.status not in {400, 415, 422} or "texts" not in error.said:
                    raise
            with _lock:
                _wants_texts.add(self.url)
        return self._read(await self._service.post({"query": query, "texts": texts, "truncate": True}), len(texts))

    def _read(self, answer: Any, count: int) -> list[float]:
        rows: Any = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        try:
            found = {int(each["index"]): float(each.get("relevance_score", each.get("score"))) for each in rows}
            if not all(map(math.isfinite, found.values())):
                raise ValueError("not a number")
            return [found[position] for position in range(count)]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ServiceError(
                f"{self._service.where} did not send one score for each of {count} texts."
                " Check that RERANK_URL is a re-ranking endpoint."
            ) from None
