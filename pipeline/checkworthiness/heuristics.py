"""Step 3: type and importance of sentences and claims, by heuristics.

Every rule is a pattern of English wording. Nothing here knows whether a claim is obvious, so "commonsense" is never
suggested. Most statements of an answer are factual: the rules speak up only for clear wording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from annotator.core.vocabulary import ClaimType, Importance, SentenceType
from pipeline.claims.clauses import clause
from pipeline.claims.lexicon import FUNCTION_WORDS
from pipeline.metrics.text import words
from pipeline.sentences.boundaries import LIST_MARKER
from pipeline.suggestions import SuggestedClaim

# A judgment in the speaker's own name, or in words that only judge.
_OPINION = re.compile(
    r"\b(?:to my mind|i (?:think|believe|feel|would (?:say|argue|recommend|suggest)|like|love|prefer)|in my (?:opinion"
    r"|view|experience)"
    r"|personally|arguably|it(?:['’]s| is) (?:\w+ )?(?:important|essential|crucial|difficult|hard|best|worth"
    r"|recommended|advisable|up)"
    r" (?:to|that|noting|remembering)|depends on (?:your|the individual|personal)|beautiful|amazing|wonderful"
    r"|delicious|terrible"
    r"|awful|boring|fantastic|stunning|must-(?:see|read|have)|a (?:good|great|bad|perfect|popular and delicious"
    r"|potential|viable)"
    r" (?:option|choice|alternative|idea|candidate|place|way|fit)|you should|we should|one should|good for"
    r"|worth (?:a visit|it))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Weights:
    """What importance is weighed against: the content words of the prompt and the number of sentences."""

    prompt: frozenset[str]
    sentences: int

    @classmethod
    def of(cls, prompt: str, sentences: Sequence[str]) -> Self:
        return cls(_content(prompt), len(sentences))

    def overlap(self, text: str) -> float:
        """Share of the prompt's content words that the text has, 0 to 1."""
        return len(self.prompt & _content(text)) / len(self.prompt) if self.prompt else 0.0


def sentence_type(sentence: str, decontext: str) -> SentenceType:
    """Whether a sentence states facts. ``sentence`` as written, ``decontext`` without markers and pronouns."""
    marker = LIST_MARKER.match(sentence)
    text = sentence[marker.end() if marker else 0 :].strip().strip("*_ ")
    if not words(text) or text.endswith("?") or text.startswith(("```", "~~~")):
        return SentenceType.NOT_A_CLAIM
    if text.endswith(":") or (sentence.lstrip().startswith("#") and clause(decontext) is None):
        return SentenceType.NOT_A_CLAIM  # a heading, or a lead-in to a list
    if _OPINION.search(text) and not _has_facts(text):
        return SentenceType.OPINION
    return SentenceType.CHECKWORTHY


def claim_labels(text: str, position: int, weights: Weights) -> SuggestedClaim:
    """A claim with its type, whether it is check-worthy, and its importance in the response."""
    kind = ClaimType.OPINION if _OPINION.search(text) else ClaimType.FACTUAL
    importance = Importance.MOST
    if kind != ClaimType.FACTUAL or (position > 0 and weights.overlap(text) < 0.2 and not _has_facts(text)):
        importance = Importance.INTERMEDIATE
    return SuggestedClaim(
        text=text,
        type=kind,
        worth_checking=True if kind == ClaimType.FACTUAL else None,
        not_worth_reason=None,
        importance=importance,
    )


def sentence_importance(decontext: str, kind: SentenceType, position: int, weights: Weights) -> Importance:
    """The first statements and those that speak the prompt's words matter most; what states nothing matters less."""
    if kind in (SentenceType.NOT_A_CLAIM, SentenceType.OTHER):
        return Importance.LESS
    if position == 0 or weights.overlap(decontext) >= 0.6:
        return Importance.MOST
    return Importance.INTERMEDIATE


def _has_facts(text: str) -> bool:
    """Numbers, or names within the sentence: something that can be looked up."""
    return bool(re.search(r"\d|(?<=[a-z,] )(?!I\b)[A-Z][a-z]+", text))


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if word not in FUNCTION_WORDS)
