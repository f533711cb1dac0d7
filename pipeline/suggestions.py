"""The input and output of strategies: typed, immutable, without Django.

A strategy turns a document into a ``Decomposition``, a claim into a ``Verification`` and a checked document into a
``SuggestedRevision``. Labels are members of ``annotator.core.vocabulary``; ``None`` means that the strategy has no
opinion.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from annotator.core.vocabulary import ClaimType, Factuality, Importance, NotWorthReason, SentenceType, StanceLabel
from pipeline.clients.base import FetchedPage


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What a strategy may know about a document. ``metadata`` was imported with it (speaker, place, url ...). If
    ``reference_date`` is given, nothing published on or after it may be used."""

    prompt: str
    response: str
    reference_date: dt.date | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """Something people should know about a suggestion's origin: a step that fell back to rules, a page that couldn't be
    read. ``text`` is a sentence."""

    step: str
    text: str


@dataclass(frozen=True, slots=True)
class Prejudgement:
    """A model's judgment of a claim before any search (FastFact section 4.1), as the strategy's own label.
    ``confidence`` is the probability of the label's tokens, None if the server gave none. ``settled``: definite and
    confident enough to skip the search."""

    label: str
    confidence: float | None
    settled: bool


@dataclass(frozen=True, slots=True)
class SuggestedClaim:
    """One atomic, context-independent statement (Factcheck-Bench section 2, steps 1 to 3)."""

    text: str
    type: ClaimType | None = None
    worth_checking: bool | None = None
    not_worth_reason: NotWorthReason | None = None
    importance: Importance | None = None
    prejudgement: Prejudgement | None = None


@dataclass(frozen=True, slots=True)
class SuggestedSentence:
    """A piece of the response. ``response[start:end] == text``; both None if it isn't a substring."""

    text: str
    start: int | None
    end: int | None
    decontext: str
    type: SentenceType | None = None
    importance: Importance | None = None
    claims: tuple[SuggestedClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Decomposition:
    """All sentences of a response, in order. ``counts`` are the quantities of the strategy's cost formula."""

    sentences: tuple[SuggestedSentence, ...]
    notes: tuple[Note, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


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
    """A passage found for a claim, with its source and how it was found. ``snapshot``: the page it was cut from."""

    passage: str
    url: str
    title: str
    query: str
    site: str = ""
    published: dt.date | None = None
    score: float = 0.0
    content_hash: str = ""
    stance: StanceLabel | None = None
    stance_reason: str = ""
    snapshot: FetchedPage | None = None


@dataclass(frozen=True, slots=True)
class ClaimText:
    """A claim to verify, with its sentence and a model's judgment before any search."""

    text: str
    sentence: str = ""
    prejudgement: Prejudgement | None = None


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """One link of a chain (Papelo): the question, the query, the answer. ``evidence`` is its passage's index in the
    claim's evidence; None if nothing was found."""

    question: str
    query: str
    answer: str
    evidence: int | None = None


@dataclass(frozen=True, slots=True)
class SuggestedVerdict:
    """A strategy's verdict on a claim: a hint, never a choice made for people. ``label`` is the strategy's own,
    ``factuality`` its meaning in our vocabulary."""

    label: str
    factuality: Factuality | None
    reason: str = ""
    correction: str | None = None
    confidence: float | None = None
    chain: tuple[QuestionAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """Evidence for one claim, best first (or in the order of the chain), and the verdict."""

    evidence: tuple[RetrievedEvidence, ...] = ()
    verdict: SuggestedVerdict | None = None
    notes: tuple[Note, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim with its verdict. ``revised``: its corrected text, "" if deleted."""

    text: str
    factuality: Factuality | None
    revised: str


@dataclass(frozen=True, slots=True)
class SuggestedRevision:
    """The revised response, written with and without knowing the prompt (Factcheck-Bench section 4.4)."""

    with_prompt: str
    without_prompt: str
    notes: tuple[Note, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
