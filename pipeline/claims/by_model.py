"""Steps 1 and 2 by a model: a response becomes sentences with claims that stand alone (Factcheck-Bench section B.2).

The model sees the whole response and its first sentence, and goes on sentence by sentence by itself. Where it stops
early, or leaves something out, it is asked for what is missing one sentence at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from pipeline.claims.fallback import Rules
from pipeline.metrics.text import words
from pipeline.notes import StepNotes
from pipeline.sentences.boundaries import split_sentences
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

    Counts ``answers`` (1 unless the response is empty), ``sentences`` (the pieces) and ``left`` (those that the model
    did not give at once, of those that have words).
    """
    response = document.response
    spans = split_sentences(response)
    tally.counts["answers"] += bool(spans)
    if not spans:
        return []
    whole = await tally.ask(
        tools,
        step="decompose",
        prompt="factcheck_gpt/decompose",
        fields={"question": document.prompt, "response": response, "first_sentence": spans[0].text},
        form=SaidSentences,
        instead="The response was decomposed sentence by sentence.",
        max_tokens=room_for(response),
    )
    said = whole.sentences if whole else []
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


async def _alone(
    piece: SentencePiece, document: DocumentText, rules: Rules, tools: Tools, tally: StepNotes
) -> tuple[str, ...]:
    said = await tally.ask(
        tools,
        step="decompose_sentence",
        prompt="factcheck_gpt/decompose_sentence",
        fields={"question": document.prompt, "response": document.response, "sentence": piece.text},
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
