"""A search of a corpus for someone who wants to see what it finds."""

from __future__ import annotations

from dataclasses import asdict

from django.core.cache import cache

from pipeline.runs.services import index_of

SHOWN = 10
KEPT = 600  # seconds


def search_corpus(corpus_id: int, query: str, key: str) -> None:
    """Put the best passages into the cache under ``key``, each with url, title, site, published, passage and score."""
    index = index_of(corpus_id)
    found = index.search(query, SHOWN) if index is not None else []
    cache.set(key, [asdict(each) for each in found], KEPT)
