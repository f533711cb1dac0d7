"""Steps 2 and 3 by a model, for many texts in one call: what they mean alone, their type, whether worth checking, how
important for the answer.

Texts are shown with numbers and the model answers by number. A number that it leaves out is labeled by rules, and a
note says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator

from annotator.core.vocabulary import ClaimType, Importance, NotWorthReason, SentenceType
from pipeline.claims.by_model import SplitSentence, room_for
from pipeline.claims.fallback import Rules
from pipeline.claims.long_responses import around
from pipeline.notes import StepNotes
from pipeline.suggestions import DocumentText, SuggestedClaim
from pipeline.together import together
from pipeline.tools import Tools


def as_word(value: object) -> object:
    """A label as the vocabulary spells it: "Not a claim" is not_a_claim."""
    return value.strip().casefold().replace(" ", "_").replace("-", "_") if isinstance(value, str) else value


class Numbered(BaseModel):
    """Something said of one of the texts, by its number."""

    number: int


class StandsAlone(Numbered):
    """The text as it can be understood without the others."""

    text: str


class SentenceLabel(Numbered):
    """Whether a sentence states something that can be checked."""

    type: Annotated[SentenceType, BeforeValidator(as_word)]


class ClaimLabel(Numbered):
    """What a claim is, and whether it is worth checking: yes, or why not."""

    type: Annotated[ClaimType, BeforeValidator(as_word)]
    worth_checking: Annotated[Literal["yes", "commonsense", "not_public"], BeforeValidator(as_word)]


class ImportanceLabel(Numbered):
    """How much a text matters for answering the question."""

    importance: Annotated[Importance, BeforeValidator(as_word)]


Item = TypeVar("Item", bound=Numbered)
Placed = tuple[str, SplitSentence]  # a text with the sentence it is or comes from


class Answers(BaseModel, Generic[Item]):
    """One item for each text."""

    items: list[Item]


class StandAlone(Answers[StandsAlone]):
    """One item for each sentence."""


class ModelSentenceLabels(Answers[SentenceLabel]):
    """One item for each sentence."""


class ModelClaimLabels(Answers[ClaimLabel]):
    """One item for each claim."""


class ImportanceLabels(Answers[ImportanceLabel]):
    """One item for each text."""


class Labeller:
    """Labels the sentences and claims of one document, ``at_once`` of them in a call."""

    def __init__(self, document: DocumentText, rules: Rules, at_once: int, tools: Tools, tally: StepNotes) -> None:
        self._document = document
        self._rules = rules
        self._at_once = at_once
        self._tools = tools
        self._tally = tally

    async def standing_alone(self, splits: Sequence[SplitSentence]) -> list[str]:
        """Each sentence as it can be understood without the others."""
        said = await self._said("decontextualise", [(split.text, split) for split in splits], StandAlone)
        return [
            " ".join(item.text.split()) if item and item.text.strip() else self._rules_alone(split)
            for item, split in zip(said, splits, strict=True)
        ]

    async def sentence_types(self, splits: Sequence[SplitSentence]) -> list[SentenceType]:
        """What each sentence is."""
        said = await self._said("checkworthy_sentences", [(split.text, split) for split in splits], ModelSentenceLabels)
        return [
            item.type if item else self._rules.type(split.start, split.end)
            for item, split in zip(said, splits, strict=True)
        ]

    async def claim_types(self, splits: Sequence[SplitSentence]) -> list[SuggestedClaim]:
        """What each claim of these sentences is and whether it is check-worthy; importance is that of the rules."""
        claims = _claims_of(splits)
        said = await self._said("checkworthy_claims", claims, ModelClaimLabels)
        labeled = []
        for item, (claim, _) in zip(said, claims, strict=True):
            by_rules = self._rules.claim(claim)
            if item is None:
                labeled.append(by_rules)
                continue
            # Check-worthiness is asked of factual claims only (Factcheck-Bench section C.3).
            factual = item.type == ClaimType.FACTUAL
            not_worth = None if item.worth_checking == "yes" or not factual else NotWorthReason(item.worth_checking)
            worth = not_worth is None if factual else None
            labeled.append(SuggestedClaim(claim, item.type, worth, not_worth, by_rules.importance))
        return labeled

    async def importances(self, splits: Sequence[SplitSentence]) -> list[Importance]:
        """How much each sentence, then each claim of theirs, matters for the answer."""
        claims = _claims_of(splits)
        said = await self._said("importance", [*((split.text, split) for split in splits), *claims], ImportanceLabels)
        by_rules = [self._rules.importance(split.start, split.end) for split in splits]
        by_rules += [self._rules.claim(claim).importance or Importance.INTERMEDIATE for claim, _ in claims]
        return [item.importance if item else rule for item, rule in zip(said, by_rules, strict=True)]

    def _rules_alone(self, split: SplitSentence) -> str:
        return self._rules.decontext(split.start, split.end) or " ".join(split.text.split())

    async def _said(self, step: str, texts: Sequence[Placed], form: type[Answers[Item]]) -> list[Item | None]:
        """What the model says of each text, in their order; None where it said nothing that can be read."""
        batches = [texts[start : start + self._at_once] for start in range(0, len(texts), self._at_once)]
        answered = await together(self._batch(step, batch, form) for batch in batches)
        if missing := sum(item is None for batch in answered if batch for item in batch):
            self._tally.note(step, f"The model skipped {missing} of {len(texts)} texts: labeled by rules.")
        return [
            item
            for batch, items in zip(batches, answered, strict=True)
            for item in (items if items is not None else [None] * len(batch))
        ]

    async def _batch(self, step: str, texts: Sequence[Placed], form: type[Answers[Item]]) -> list[Item | None] | None:
        """None where the answer as a whole cannot be read. One that is cut is continued with the texts it lacks."""
        said: dict[int, Item] = {}
        left = list(enumerate(texts, start=1))
        while left:
            numbered = "\n".join(f"{number}. {' '.join(text.split())}" for number, (text, _) in left)
            places = [place for _, (_, place) in left]
            context = around(
                self._document.response, min(place.start for place in places), max(place.end for place in places)
            )
            asked = await self._tally.asking(
                self._tools,
                step=step,
                prompt=f"factcheck_gpt/{step}",
                fields={"question": self._document.prompt, "response": context, "texts": numbered},
                form=form,
                instead=f"{len(left)} texts were labeled by rules.",
                max_tokens=room_for(numbered),
            )
            if asked is None:
                break
            # The first word on a text counts.
            said = {item.number: item for item in reversed(asked.value.items)} | said
            rest = [each for each in left if each[0] not in said] if asked.cut else []
            if len(rest) == len(left):
                break
            left = rest
            self._tally.again(step, bool(left))
        return [said.get(number) for number in range(1, len(texts) + 1)] if said or not left else None


def _claims_of(splits: Sequence[SplitSentence]) -> list[Placed]:
    return [(claim, split) for split in splits for claim in split.claims]
