"""What the machines hand over: typed, immutable, without Django.

A strategy turns a document into a ``Decomposition`` and a claim into ``RetrievedEvidence``. Labels are
members of ``annotator.vocabulary``; ``None`` means that the strategy has no opinion.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from annotator.vocabulary import (
    ClaimType,
    Importance,
    NotWorthReason,
    SentenceType,
    StanceLabel,
)


@dataclass(frozen=True, slots=True)
class SuggestedClaim:
    """One atomic, context-independent statement (Factcheck-Bench section 2, steps 1 to 3)."""

    text: str
    type: ClaimType | None = None
    worth_checking: bool | None = None
    not_worth_reason: NotWorthReason | None = None
    importance: Importance | None = None


@dataclass(frozen=True, slots=True)
class SuggestedSentence:
    """A piece of the response. ``response[start:end] == text``; both None when it is no substring."""

    text: str
    start: int | None
    end: int | None
    decontext: str
    type: SentenceType | None = None
    importance: Importance | None = None
    claims: tuple[SuggestedClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Decomposition:
    """All sentences of a response, in its order."""

    sentences: tuple[SuggestedSentence, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A text of a corpus, or a fetched page."""

    url: str
    title: str
    text: str
    site: str = ""
    published: dt.date | None = None


@dataclass(frozen=True, slots=True)
class RetrievedEvidence:
    """A passage found for a claim, with where it is from and how it was found."""

    passage: str
    url: str
    title: str
    query: str
    site: str = ""
    published: dt.date | None = None
    score: float = 0.0
    content_hash: str = ""
    stance: StanceLabel | None = None
