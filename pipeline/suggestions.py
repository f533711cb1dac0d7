"""What the machines are given and what they hand over: typed, immutable, without Django.

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
    """What a strategy may know of a document. ``metadata`` is what was imported beside it (speaker, place, url ...);
    nothing published on or after ``reference_date`` may be used where it is given."""

    prompt: str
    response: str
    reference_date: dt.date | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person should know of how a suggestion came about: a step that fell back to rules, a page that
    could not be read. ``text`` is a sentence."""

    step: str
    text: str


@dataclass(frozen=True, slots=True)
class Prejudgement:
    """What a model says of a claim before any search (FastFact section 4.1), in the strategy's own word.
    ``confidence`` is the probability of the label's tokens, None where the server gave none. ``settled``: definite and
    confident enough that no evidence is searched for."""

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
    """All sentences of a response, in its order. ``counts`` are the quantities of the strategy's cost formula."""

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
    """A passage found for a claim, with where it is from and how it was found. ``snapshot``: the page it was cut
    from."""

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
    """A claim to verify, with the sentence it is from and what a model said of it before any search."""

    text: str
    sentence: str = ""
    prejudgement: Prejudgement | None = None


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """One link of a chain (Papelo): what was asked, what was searched for, what came out. ``evidence`` is the position
    of its passage among the claim's evidence, from 0; None: nothing was found."""

    question: str
    query: str
    answer: str
    evidence: int | None = None


@dataclass(frozen=True, slots=True)
class SuggestedVerdict:
    """What a strategy holds of a claim: a hint, never a choice made for a person. ``label`` is the strategy's own word,
    ``factuality`` what it means in the words of the vocabulary."""

    label: str
    factuality: Factuality | None
    reason: str = ""
    correction: str | None = None
    confidence: float | None = None
    chain: tuple[QuestionAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """Evidence for one claim, best first (in the order of the chain, where there is one), and what follows from it."""

    evidence: tuple[RetrievedEvidence, ...] = ()
    verdict: SuggestedVerdict | None = None
    notes: tuple[Note, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim with what was decided on it. ``revised``: its corrected text, "" where it is deleted."""

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
