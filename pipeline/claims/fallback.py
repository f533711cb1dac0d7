"""The offline rules' view of any piece of a response, used where a model's answer can't be used."""

from __future__ import annotations

from functools import cached_property

from annotator.core.vocabulary import ClaimType, Importance, SentenceType
from pipeline.claims.decompose import decompose
from pipeline.suggestions import DocumentText, SuggestedClaim, SuggestedSentence


class Rules:
    """The offline decomposition of one document, made when it is first asked for."""

    def __init__(self, document: DocumentText) -> None:
        self._document = document

    @cached_property
    def _sentences(self) -> tuple[SuggestedSentence, ...]:
        return decompose(self._document.prompt, self._document.response).sentences

    @cached_property
    def _claims(self) -> dict[str, SuggestedClaim]:
        return {claim.text: claim for sentence in self._sentences for claim in sentence.claims}

    def within(self, start: int, end: int) -> list[SuggestedSentence]:
        """The sentences by rules of which the place ``response[start:end]`` holds at least half, or which hold it."""
        found = []
        for sentence in self._sentences:
            if sentence.start is None or sentence.end is None:
                continue
            shared = min(end, sentence.end) - max(start, sentence.start)
            if shared > 0 and 2 * shared >= min(end - start, sentence.end - sentence.start):
                found.append(sentence)
        return found

    def claims(self, start: int, end: int) -> list[str]:
        """The claims of a place."""
        return [claim.text for sentence in self.within(start, end) for claim in sentence.claims]

    def decontext(self, start: int, end: int) -> str:
        """The place, decontextualized as far as the rules can; "" if no sentence of theirs is there."""
        return " ".join(sentence.decontext for sentence in self.within(start, end))

    def type(self, start: int, end: int) -> SentenceType:
        """Check-worthy if anything in the place is, or if the rules have no sentence there."""
        types = [sentence.type for sentence in self.within(start, end) if sentence.type]
        return types[0] if types and SentenceType.CHECKWORTHY not in types else SentenceType.CHECKWORTHY

    def importance(self, start: int, end: int) -> Importance:
        """The highest importance in the place."""
        found = [sentence.importance for sentence in self.within(start, end)]
        return next((each for each in Importance if each in found), Importance.INTERMEDIATE)

    def claim(self, text: str) -> SuggestedClaim:
        """A claim as the rules label it, or as factual and check-worthy if the rules have no label for it."""
        known = self._claims.get(text)
        return known or SuggestedClaim(text, ClaimType.FACTUAL, True, None, Importance.INTERMEDIATE)
