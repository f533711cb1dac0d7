"""What can be counted about a sentence or a claim alone: the numbers from which its type is learned.

What the offline rules say of it is one of them, so that learning begins where the rules end.
"""

from __future__ import annotations

import math
import re

from annotator.core.vocabulary import ClaimType, SentenceType
from pipeline.checkworthiness.heuristics import Weights, claim_labels, sentence_type
from pipeline.claims.lexicon import MODALS, word_set
from pipeline.learned.examples import ExampleDocument
from pipeline.learned.reading import NEGATIONS, Row, read

_FIRST_PERSON = word_set("i i'm i'd me my we our us")
_SECOND_PERSON = word_set("you your yours yourself")
_DUTY = word_set("should must ought never always need needs important best recommended advisable")
_HEDGES = word_set("may might could perhaps possibly probably likely would seems arguably potential potentially")
_JUDGING = word_set(
    """
    good bad great better best worse worst easy easily easier difficult hard simple simply beautiful appealing popular
    useful helpful interesting exciting major significant significantly natural enjoy enjoyed alternative challenge
    purely necessarily convenient effective efficient powerful ideal perfect suitable
    """
)
_CAUSE = re.compile(r"\b(?:because|due to|in order to|so that|to (?:take|make|get|help|capitali[sz]e|gain))\b", re.I)
_HAS_NUMBER = re.compile(r"\d")


def sentence_rows(document: ExampleDocument) -> list[Row]:
    """One row of named numbers for each sentence of the document."""
    texts = [sentence.text for sentence in document.sentences]
    weights = Weights.of(document.prompt, texts)
    rows = []
    for position, sentence in enumerate(document.sentences):
        row = _row(sentence.text, weights)
        by_rule = sentence_type(sentence.text, sentence.decontext or sentence.text)
        row |= {f"rule: {kind}": float(by_rule == kind) for kind in SentenceType}
        row["place"] = position / max(len(texts) - 1, 1)
        row["first"] = float(position == 0)
        row["last"] = float(position == len(texts) - 1)
        rows.append(row)
    return rows


def claim_rows(document: ExampleDocument) -> list[Row]:
    """One row of named numbers for each claim of the document."""
    weights = Weights.of(document.prompt, [sentence.text for sentence in document.sentences])
    rows = []
    for place, sentence in enumerate(document.sentences):
        of_sentence = sentence_type(sentence.text, sentence.decontext or sentence.text)
        for number, claim in enumerate(sentence.claims):
            row = _row(claim.text, weights)
            by_rule = claim_labels(claim.text, number, weights).type
            row |= {f"rule: {kind}": float(by_rule == kind) for kind in ClaimType}
            row["rule: sentence is checkworthy"] = float(of_sentence == SentenceType.CHECKWORTHY)
            row["place"] = place / max(len(document.sentences) - 1, 1)
            row["place in sentence"] = float(number)
            row["claims of sentence"] = float(len(sentence.claims))
            rows.append(row)
    return rows


def _row(text: str, weights: Weights) -> Row:
    taken = read(text)
    words = [word for each in taken.sentences for word in each.all]

    def has(wanted: frozenset[str]) -> float:
        return float(any(word in wanted for word in words))

    return {
        "words": math.log1p(len(words)),
        "names": float(min(len(taken.names), 5)),
        "numbers": float(bool(_HAS_NUMBER.search(text))),
        "overlap with prompt": weights.overlap(text),
        "question": float(text.rstrip().endswith("?")),
        "colon": float(text.rstrip().endswith(":")),
        "full stop": float(text.rstrip().endswith(".")),
        "commas": float(min(text.count(","), 6)),
        "first person": has(_FIRST_PERSON),
        "second person": has(_SECOND_PERSON),
        "modal": has(MODALS),
        "duty": has(_DUTY),
        "hedged": has(_HEDGES),
        "judging": has(_JUDGING),
        "negated": has(NEGATIONS),
        "cause": float(bool(_CAUSE.search(text))),
        "past": float(sum(word.endswith("ed") or word in ("was", "were", "had") for word in words) > 0),
    }
