"""Ranks by an OpenAI-compatible ``/v1/embeddings``: the cosine between query and text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from pipeline.clients.base import RankRequest, ServiceError
from pipeline.clients.http import Provider, endpoint
from pipeline.clients.limiter import Limiter

BATCH = 64
LONGEST = 8000  # characters: about 2,000 tokens; many models take no more, and some servers refuse instead of cutting


class EmbeddingsRanker(Provider):
    """A Ranker over an embeddings endpoint."""

    NAME = "The embeddings server"
    ADVICE = "Check EMBEDDINGS_URL, EMBEDDINGS_KEY and EMBEDDINGS_MODEL."
    SECONDS = 60.0
    TOTAL = 180.0

    def __init__(self, client: httpx.AsyncClient, limiter: Limiter, *, model: str = "", **options: Any) -> None:
        super().__init__(client, limiter, **options)
        self.model = model

    def address(self, url: str) -> str:
        return endpoint(url, "embeddings")

    @property
    def provider(self) -> str:
        """The provider and model, as part of the key of stored scores."""
        return f"embeddings {self.url} {self.model}"

    async def scores(self, request: RankRequest) -> Sequence[float]:
        """Cosines, one per text; 0 for a blank text. Raises ServiceError."""
        texts = [each.strip()[:LONGEST] for each in (request.query, *request.texts)]
        wanted = list(dict.fromkeys(filter(None, texts)))
        if not texts[0] or len(wanted) < 2:
            return [1.0 if texts[0] and text == texts[0] else 0.0 for text in texts[1:]]
        batches = [wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH)]
        vectors = np.concatenate(await asyncio.gather(*(self._embed(batch) for batch in batches)))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(lengths == 0, 1, lengths)
        place = {text: position for position, text in enumerate(wanted)}
        cosines = vectors @ vectors[place[texts[0]]]
        return [float(cosines[place[text]]) if text else 0.0 for text in texts[1:]]

    async def _embed(self, texts: Sequence[str]) -> np.ndarray:
        answer = await self._service.post({"model": self.model, "input": list(texts), "encoding_format": "float"})
        try:
            rows = sorted(answer["data"], key=lambda each: each["index"])
            vectors = np.asarray([each["embedding"] for each in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            vectors = np.empty(0)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ServiceError(
                f"{self._service.where} did not send one embedding for each of {len(texts)} texts."
                " Check that EMBEDDINGS_URL is an OpenAI-compatible address and EMBEDDINGS_MODEL an embedding model."
            )
        return vectors
