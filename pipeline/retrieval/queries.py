"""Step 4a: what to search for, given a claim."""

from __future__ import annotations

from pipeline.claims.lexicon import FUNCTION_WORDS
from pipeline.metrics.text import words


def query_for(claim: str, prompt: str) -> str:
    """The claim itself. If it has few content words, the prompt is added, which states the topic."""
    content = [word for word in words(claim) if word not in FUNCTION_WORDS]
    claim = " ".join(claim.split())
    return claim if len(content) >= 3 else f"{claim} {' '.join(prompt.split())[:200]}".strip()
