"""Step 1 as a whole: a response becomes sentences with their decontextualised form, claims and labels."""

from __future__ import annotations

import re

from annotator.core.vocabulary import ClaimType, SentenceType
from pipeline.checkworthiness.heuristics import Weights, claim_labels, sentence_importance, sentence_type
from pipeline.claims.clauses import clause
from pipeline.claims.context import Context
from pipeline.claims.decontextualize import decontextualise, with_full_names
from pipeline.claims.lexicon import BE
from pipeline.claims.pronouns import filled
from pipeline.claims.splits import statements
from pipeline.sentences.boundaries import LIST_MARKER, split_sentences
from pipeline.suggestions import Decomposition, SuggestedClaim, SuggestedSentence

_OPEN_ENDS = BE | {"include", "includes", "included"}
_LABEL = re.compile(r"[^:.,;!?]{2,60}:\s+")  # "Combustion: Coal burns."
_LONGEST_LEAD_IN = 150  # characters
_MOST_CLAIMS = 12  # more from one sentence is a list gone wrong


def decompose(prompt: str, response: str) -> Decomposition:
    """Sentences of the response in order. Only checkworthy ones have claims; offsets always fit the response."""
    context = Context.of(prompt, response)
    spans = split_sentences(response)
    weights = Weights.of(prompt, [span.text for span in spans])
    found: list[SuggestedSentence] = []
    lead_in = ""  # "The presidents were:", before a list
    for position, span in enumerate(spans):
        alone = decontextualise(span.text, context)
        decontext = alone.text
        if LIST_MARKER.match(span.text):
            decontext = _led_in(decontext, lead_in)
        else:
            lead_in = decontext if decontext.endswith(":") else ""
        kind = sentence_type(span.text, decontext)
        claims: tuple[SuggestedClaim, ...] = ()
        if kind in (SentenceType.CHECKWORTHY, SentenceType.OPINION):
            context.note(decontext, alone.stands_for)
            texts = _claims(decontext, alone.stands_for, context)
            claims = tuple(claim_labels(text, position, weights) for text in texts)
            if kind == SentenceType.OPINION:
                # An opinion beside a fact leaves a sentence to be checked.
                facts = len(claims) > 1 and any(claim.type == ClaimType.FACTUAL for claim in claims)
                kind, claims = (SentenceType.CHECKWORTHY, claims) if facts else (kind, ())
        found.append(
            SuggestedSentence(
                text=span.text,
                start=span.start,
                end=span.end,
                decontext=decontext,
                type=kind,
                importance=sentence_importance(decontext, kind, position, weights),
                claims=claims,
            )
        )
    return Decomposition(tuple(found))


def _led_in(item: str, lead_in: str) -> str:
    """A list item that says nothing alone, with the line that leads in to the list."""
    says_something = clause(item) is not None or clause(_LABEL.sub("", item, count=1)) is not None
    if not lead_in or says_something or len(lead_in) > _LONGEST_LEAD_IN:
        return item
    opening = lead_in.rstrip(": ")
    if opening.split()[-1].lower() not in _OPEN_ENDS:
        opening += ":"
    return f"{opening} {item}"


def _claims(decontext: str, stands_for: dict[str, str], context: Context) -> list[str]:
    texts = statements(decontext)
    if len(texts) > _MOST_CLAIMS:
        texts = [decontext]
    claims: list[str] = []
    for text in texts:
        claim = _finished(with_full_names(filled(text, stands_for, context), context))
        if claim not in claims:
            claims.append(claim)
    return claims


def _finished(text: str) -> str:
    """A statement with a large first letter and a point at its end."""
    text = re.sub(r",([\"”])$", r"\1", " ".join(text.split()).rstrip(" ,;:"))
    first = text.split(" ", 1)[0]
    if first[1:] == first[1:].lower():
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", '."', ".”", "。")) else text + "."
