"""Steps 1 and 2 by a model: a response becomes sentences with claims that stand alone (Factcheck-Bench section B.2).

The model sees the whole response and its first sentence, and goes on sentence by sentence by itself. Where it stops
early, or leaves something out, it is asked for what is missing one sentence at a time. A long response is read in
parts, and an answer that is cut at its length limit is continued behind its last complete sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from pipeline.claims.fallback import Rules
from pipeline.claims.long_responses import around, before, parts
from pipeline.metrics.text import words
from pipeline.notes import StepNotes
from pipeline.sentences.boundaries import SentenceSpan, split_sentences
from pipeline.sentences.places import SentencePiece, pieces_of
from pipeline.suggestions import DocumentText
from pipeline.together import together
from pipeline.tools import Tools

_SHORTEST_ANSWER, _LONGEST_ANSWER = 1024, 8192  # tokens


@dataclass(frozen=True, slots=True)
class SplitSentence:
    """A piece of the response with its claims, as texts that stand alone."""

    start: int
    end: int
    text: str
    claims: tuple[str, ...]


class SaidSentence(BaseModel):
    """One sentence of the text, word for word, and the claims in it."""

    sentence: str
    claims: list[str]


class SaidSentences(BaseModel):
    """All sentences of the text in their order."""

    sentences: list[SaidSentence] = Field(min_length=1)


class SaidClaims(BaseModel):
    """The claims of one sentence."""

    claims: list[str]


async def decompose_by_model(
    document: DocumentText, rules: Rules, tools: Tools, tally: StepNotes
) -> list[SplitSentence]:
    """The pieces of the response in its order, with their claims; nothing of it is lost, whatever the model says.

    Counts ``answers`` (the parts of the response: 1, of a long one more, of an empty one 0), ``sentences`` (the pieces)
    and ``left`` (those that the model did not give at once, of those that have words).
    """
    response = document.response
    spans = split_sentences(response)
    split = parts(spans)
    tally.counts["answers"] += len(split)
    if not spans:
        return []
    said = [each for part in await together(_said_of(part, document, tools, tally) for part in split) for each in part]
    pieces = pieces_of(response, [each.sentence for each in said], spans)
    placed = {which for piece in pieces for which in piece.said}
    if lost := sum(which not in placed for which in range(len(said))):
        tally.note("decompose", f"{lost} of the model's {len(said)} sentences are not in the response: left out.")
    left = [piece for piece in pieces if not piece.said and words(piece.text)]
    tally.counts["sentences"] += len(pieces)
    tally.counts["left"] += len(left)
    if said and left:
        tally.note("decompose", f"The model left out {len(left)} sentences; each was decomposed by itself.")
    alone = await together(_alone(piece, document, rules, tools, tally) for piece in left)
    claims = {piece.start: found for piece, found in zip(left, alone, strict=True)}
    for piece in pieces:
        if piece.said:
            claims[piece.start] = cleaned([claim for which in piece.said for claim in said[which].claims])
    return [SplitSentence(piece.start, piece.end, piece.text, claims.get(piece.start, ())) for piece in pieces]


async def _said_of(
    part: Sequence[SentenceSpan], document: DocumentText, tools: Tools, tally: StepNotes
) -> list[SaidSentence]:
    """What the model says of a part of the response; none where its answers cannot be used."""
    response, said = document.response, list[SaidSentence]()
    while part:
        start, end = part[0].start, part[-1].end
        text = response if (start, end) == (0, len(response)) else response[start:end]
        asked = await tally.asking(
            tools,
            step="decompose",
            prompt="factcheck_gpt/decompose",
            fields={
                "question": _with_lead(document.prompt, before(response, start)),
                "response": text,
                "first_sentence": part[0].text,
            },
            form=SaidSentences,
            instead="The response was decomposed sentence by sentence.",
            max_tokens=room_for(text),
        )
        said += asked.value.sentences if asked else []
        if asked is None or not asked.cut:
            break
        pieces = pieces_of(response[: part[-1].end], [each.sentence for each in asked.value.sentences], part)
        reached = max((piece.end for piece in pieces if piece.said), default=start)
        rest = [span for span in part if span.start >= reached]
        if len(rest) == len(part):
            break  # not one of its sentences was found: it would say the same again
        part = rest
        tally.again("decompose", bool(rest))
    return said


def _with_lead(question: str, lead: str) -> str:
    """The question, and for a part of a long response what stands before it."""
    return (
        f"{question}\n(The answer is long; this is a part of it. Just before it stands: “{lead}”)" if lead else question
    )


async def _alone(
    piece: SentencePiece, document: DocumentText, rules: Rules, tools: Tools, tally: StepNotes
) -> tuple[str, ...]:
    said = await tally.ask(
        tools,
        step="decompose_sentence",
        prompt="factcheck_gpt/decompose_sentence",
        fields={
            "question": document.prompt,
            "response": around(document.response, piece.start, piece.end),
            "sentence": piece.text,
        },
        form=SaidClaims,
        instead=f"“{piece.text[:80]}” was decomposed by rules.",
        max_tokens=room_for(piece.text),
    )
    return cleaned(said.claims if said else rules.claims(piece.start, piece.end))


def cleaned(claims: Sequence[str]) -> tuple[str, ...]:
    """Claims without line breaks, empty ones and repetitions."""
    return tuple(dict.fromkeys(text for claim in claims if (text := " ".join(claim.split()))))


def room_for(text: str) -> int:
    """Tokens for an answer that says a text again with its parts beside it: one a character, about four times what
    English needs, between 1024 and 8192."""
    return max(_SHORTEST_ANSWER, min(len(text), _LONGEST_ANSWER))
