"""Ranking by a sentence-transformers model on this machine: a bi-encoder or a cross-encoder, from a folder.

The library is an extra, and no model is ever fetched: the folder must hold one.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.clients.base import RankRequest, ServiceError

# One model call at a time, because each uses all processors.
_lock = threading.Lock()


class LocalRanker:
    """A Ranker over a model folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @property
    def provider(self) -> str:
        """Who answers, as part of the key under which scores are kept."""
        return f"model {Path(self.folder).resolve()}"

    async def scores(self, request: RankRequest) -> Sequence[float]:
        """Cosines of a bi-encoder, or scores of a cross-encoder, one a text. Raises ServiceError."""
        if not request.texts:
            return []
        return await asyncio.to_thread(self._scores, request.query, list(request.texts))

    def _scores(self, query: str, texts: list[str]) -> list[float]:
        with _lock:
            model, is_cross_encoder = _loaded(self.folder)
            if is_cross_encoder:
                found = model.predict([(query, text) for text in texts], show_progress_bar=False)
                return [float(each) for each in np.asarray(found).reshape(len(texts), -1)[:, -1]]
            vectors = np.asarray(model.encode([query, *texts], normalize_embeddings=True, show_progress_bar=False))
        return [float(each) for each in vectors[1:] @ vectors[0]]


@lru_cache(maxsize=2)
def _loaded(folder: str) -> tuple[Any, bool]:
    """The model in a folder, and whether it is a cross-encoder. Raises ServiceError."""
    path = Path(folder)
    if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
        raise ServiceError(
            f"There is no sentence-transformers model in {folder}:"
            " SEMANTIC_MODEL names the folder with its config.json."
        )
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError:
        raise ServiceError(
            "SEMANTIC_MODEL names a model, but sentence-transformers is not installed:"
            " python -m pip install sentence-transformers"
        ) from None
    is_cross_encoder = not (path / "modules.json").is_file() and _classifies(path / "config.json")
    kind = library.CrossEncoder if is_cross_encoder else library.SentenceTransformer
    try:
        return kind(folder, local_files_only=True), is_cross_encoder
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise ServiceError(f"The model in {folder} cannot be loaded: {error}") from None


def _classifies(config: Path) -> bool:
    """A model with a head that gives a score for a pair."""
    try:
        architectures = json.loads(config.read_text())["architectures"]
    except (ValueError, KeyError, TypeError):
        return False
    return any("SequenceClassification" in str(each) for each in architectures)
