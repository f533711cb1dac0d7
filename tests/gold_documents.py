"""A gold document made up for tests, as the database gives it: ids, queries and titles included."""

from __future__ import annotations

import datetime as dt
from typing import Any

from annotator.core.texts.edits import from_texts
from annotator.core.vocabulary import ClaimType, Factuality, Importance, SentenceType, StanceLabel
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence

TRUE = "Ada Lovelace wrote notes on an engine."
CONTESTED = "Ada Lovelace was the first programmer."
FALSE = "Ada Lovelace built an engine in 1842."
REVISED = "Ada Lovelace described an engine in 1842."
OPEN = "Ada Lovelace liked cogs."
OPINION = "Her notes are a joy to read."
RESPONSE = (
    "She wrote notes on an engine and was the first programmer. She built one in 1842, a joy to read about. "
    "Hope it helps!"
)


def evidence(passage: str, stance: str, **fields: Any) -> GoldEvidence:
    return GoldEvidence(passage=passage, stance=stance, url="https://example.org/ada", **fields)


def factual(text: str, factuality: str, **fields: Any) -> GoldClaim:
    return GoldClaim(
        text=text,
        type=ClaimType.FACTUAL,
        worth_checking=True,
        factuality=factuality,
        importance=Importance.MOST,
        **fields,
    )


def gold_document(**fields: Any) -> GoldDocument:
    """Three sentences: a true and a contested claim; a false one, one without evidence, one not worth checking and an
    opinion; and one that claims nothing."""
    true = factual(
        TRUE,
        Factuality.TRUE,
        public_id="c-true",
        reason="Her notes are printed.",
        retrieved=[
            evidence("She published notes.", StanceLabel.COMPLETELY_SUPPORT, query="lovelace notes", title="Notes"),
            evidence("Engines have boilers.", StanceLabel.IRRELEVANT, query="lovelace notes", title="Boilers"),
        ],
    )
    contested = factual(
        CONTESTED,
        Factuality.NOT_ENOUGH_EVIDENCE,
        public_id="c-contested",
        retrieved=[
            evidence("She wrote the first program.", StanceLabel.PARTIALLY_SUPPORT, query="first programmer"),
            evidence("Babbage had written programs.", StanceLabel.REFUTE, query="first program"),
        ],
    )
    false = factual(
        FALSE,
        Factuality.FALSE,
        public_id="c-false",
        operations=from_texts(FALSE, REVISED),
        retrieved=[evidence("No engine was built.", StanceLabel.REFUTE, public_id="e-false")],
        added=[evidence("It stayed a plan.", StanceLabel.REFUTE, title="Plans")],
    )
    undecided = factual(OPEN, Factuality.NOT_ENOUGH_EVIDENCE, public_id="c-open")
    known = GoldClaim(text="1842 is a year.", type=ClaimType.FACTUAL, worth_checking=False, public_id="c-known")
    opinion = GoldClaim(text=OPINION, type=ClaimType.OPINION, public_id="c-opinion")
    ends = [RESPONSE.index(" She built"), RESPONSE.index(" Hope"), len(RESPONSE)]
    texts = [RESPONSE[: ends[0]], RESPONSE[ends[0] + 1 : ends[1]], RESPONSE[ends[1] + 1 :]]
    sentences = [
        GoldSentence(text=texts[0], type=SentenceType.CHECKWORTHY, claims=[true, contested], public_id="s-1"),
        GoldSentence(
            text=texts[1],
            decontext="Ada Lovelace built an engine in 1842, a joy to read about.",
            type=SentenceType.CHECKWORTHY,
            claims=[false, undecided, known, opinion],
            revised="She described one in 1842, a joy to read about.",
            public_id="s-2",
        ),
        GoldSentence(text=texts[2], type=SentenceType.NOT_A_CLAIM, public_id="s-3"),
    ]
    for sentence, end in zip(sentences, ends, strict=True):
        sentence.start, sentence.end = end - len(sentence.text), end
        sentence.importance = Importance.INTERMEDIATE
    document = GoldDocument(
        prompt="What did Ada Lovelace do?",
        response=RESPONSE,
        revised_response="She wrote notes on an engine. She described one in 1842.",
        sentences=sentences,
        public_id="d-1",
        external_id="ada-1",
        source="in-house",
        model="m-1",
        metadata={"topic": "engines"},
        reference_date=dt.date(2023, 4, 30),
    )
    for name, value in fields.items():
        setattr(document, name, value)
    return document
