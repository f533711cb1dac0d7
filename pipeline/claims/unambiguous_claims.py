"""The claims of one sentence by selection, disambiguation and decomposition (Claimify, Metropolitansky and Larson 2025,
section 3): what cannot be verified is left out, and what careful readers would not agree on is not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from pipeline.asking import Sample
from pipeline.notes import StepNotes
from pipeline.sentences.boundaries import SentenceSpan
from pipeline.together import together
from pipeline.tools import Tools


class Kept(BaseModel):
    """The sentence with what was kept or resolved of it; none: there is nothing to keep, or it cannot be resolved."""

    reason: str = ""
    sentence: str | None = None


class StandingClaims(BaseModel):
    """Claims that stand on their own."""

    claims: list[str]


@dataclass(frozen=True, slots=True)
class ExcerptReach:
    """Sentences before and after the one that is read; ``votes``: answers to each of the first two questions."""

    before: int
    after: int
    votes: int


class UnreadableSentenceError(Exception):
    """No answer for a sentence could be read: the rules stand in."""


async def unambiguous_claims(
    position: int,
    spans: Sequence[SentenceSpan],
    question: str,
    reach: ExcerptReach,
    tools: Tools,
    tally: StepNotes,
) -> list[str] | None:
    """The claims of the sentence at that position; None where the model's answers cannot be read. Counts ``selected``
    (sentences with something to verify), ``unambiguous`` and ``ambiguous`` ones of those."""
    sentence = " ".join(spans[position].text.split())
    wide = _excerpt(spans, position, reach.before, reach.after)
    narrow = _excerpt(spans, position, reach.before, 0)
    try:
        selected = await _voted("select", question, wide, sentence, reach.votes, tools, tally)
        if selected is None:
            return []
        tally.counts["selected"] += 1
        clear = await _voted("disambiguate", question, narrow, selected, reach.votes, tools, tally)
    except UnreadableSentenceError:
        return None
    if clear is None:
        tally.counts["ambiguous"] += 1
        tally.note("disambiguate", f"“{sentence[:80]}” can be read in several ways: no claims were made of it.")
        return []
    tally.counts["unambiguous"] += 1
    said = await tally.ask(
        tools,
        step="decompose",
        prompt="claimify/decompose",
        fields={"question": question, "excerpt": narrow, "sentence": clear},
        form=StandingClaims,
        instead="The sentence was decomposed by rules.",
    )
    return None if said is None else said.claims


async def _voted(
    step: str, question: str, excerpt: str, sentence: str, votes: int, tools: Tools, tally: StepNotes
) -> str | None:
    """What most answers keep of the sentence, in the words of the first of them; None if most keep nothing. Raises
    UnreadableSentenceError where no answer can be read."""

    async def one(number: int) -> Kept | None:
        return await tally.ask(
            tools,
            step=step,
            prompt=f"claimify/{step}",
            fields={"question": question, "excerpt": excerpt, "sentence": sentence},
            form=Kept,
            instead="The sentence was decomposed by rules." if votes == 1 else "One vote is missing.",
            sample=Sample(number, tools.temperature) if votes > 1 else None,
        )

    read = [vote for vote in await together(one(number) for number in range(votes)) if vote is not None]
    if not read:
        raise UnreadableSentenceError
    kept = [text for vote in read if vote.sentence and (text := " ".join(vote.sentence.split()))]
    return kept[0] if 2 * len(kept) > len(read) else None


def _excerpt(spans: Sequence[SentenceSpan], position: int, before: int, after: int) -> str:
    return " ".join(span.text for span in spans[max(0, position - before) : position + 1 + after])
