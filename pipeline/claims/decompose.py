"""Step 1 by rules: turns a response into sentences with decontextualized text, claims and labels."""

from __future__ import annotations

from annotator.core.vocabulary import ClaimType, SentenceType
from pipeline.checkworthiness.heuristics import Weights, claim_labels, sentence_importance, sentence_type
from pipeline.claims.decontextualize import Context, decontextualise
from pipeline.claims.splits import statements
from pipeline.sentences.boundaries import split_sentences
from pipeline.suggestions import Decomposition, SuggestedClaim, SuggestedSentence

_MAX_CLAIMS = 12  # more than this from one sentence means that a split went wrong


def decompose(prompt: str, response: str) -> Decomposition:
    """Sentences of the response in order. Only checkworthy ones have claims; offsets always fit the response."""
    context = Context()
    spans = split_sentences(response)
    weights = Weights.of(prompt, [span.text for span in spans])
    found: list[SuggestedSentence] = []
    for position, span in enumerate(spans):
        decontext = decontextualise(span.text, context)
        kind = sentence_type(span.text, decontext)
        claims: tuple[SuggestedClaim, ...] = ()
        if kind in (SentenceType.CHECKWORTHY, SentenceType.OPINION):
            context.note(decontext)
            claims = tuple(claim_labels(text, position, weights) for text in _claims(decontext))
            if kind == SentenceType.OPINION:
                # A sentence with an opinion and a fact is still check-worthy.
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


def _claims(decontext: str) -> list[str]:
    texts = statements(decontext)
    if len(texts) > _MAX_CLAIMS:
        texts = [decontext]
    return list(dict.fromkeys(map(_finished, texts)))


def _finished(text: str) -> str:
    """A statement with a capital first letter and a final period."""
    text = " ".join(text.split()).rstrip(" ,;:")
    first = text.split(" ", 1)[0]
    if first[1:] == first[1:].lower():
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", '."', ".”", "。")) else text + "."
