"""What a suggester learns from, and what it is asked about: a document with its sentences, claims and passages.

The same classes carry both: where a label is None there is nothing to learn, and something to suggest.
"""

from __future__ import annotations

from dataclasses import dataclass

from annotator.core.vocabulary import ClaimType, SentenceType, StanceLabel


@dataclass(frozen=True, slots=True)
class ExamplePassage:
    """One passage of a claim. ``similarity``: cosine of its embedding and the claim's, where there are embeddings.
    ``score``: the retriever's, comparable only within a claim, None where it is not known."""

    text: str
    url: str = ""
    title: str = ""
    score: float | None = None
    similarity: float | None = None
    stance: StanceLabel | None = None


@dataclass(frozen=True, slots=True)
class ExampleClaim:
    """One claim with its passages, best first."""

    text: str
    passages: tuple[ExamplePassage, ...] = ()
    type: ClaimType | None = None


@dataclass(frozen=True, slots=True)
class ExampleSentence:
    """One sentence, as written and decontextualized."""

    text: str
    decontext: str = ""
    claims: tuple[ExampleClaim, ...] = ()
    type: SentenceType | None = None


@dataclass(frozen=True, slots=True)
class ExampleDocument:
    """One document. ``key`` names it: what belongs to one key is never split between training and scoring."""

    key: str
    prompt: str
    sentences: tuple[ExampleSentence, ...]

    @property
    def claims(self) -> tuple[ExampleClaim, ...]:
        return tuple(claim for sentence in self.sentences for claim in sentence.claims)
