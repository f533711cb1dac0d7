"""AVeriTeC's checked claims, written and read: claim, label, questions with their answers.

There are four labels. What AVeriTeC calls conflicting is "not enough evidence" here, with stances on both sides;
docs/formats/averitec.md has the table. A claim that was read from such a file is written with the keys it had there, in
their order. No key is added or lost.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, BinaryIO

from annotator.core.file_problems import BadRow, RowError, complain
from annotator.core.lines import kind_of
from annotator.core.released import is_plain_json, remember, spelled, storable, storable_json
from annotator.core.vocabulary import ClaimType, Factuality, SentenceType, StanceLabel
from annotator.exchange.formats.answers import read_rows
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence
from annotator.exchange.formats.incoming import IncomingDocument, IncomingSentence, document, hash_of
from annotator.exchange.formats.writing import (
    document_key,
    evidence_of,
    is_contested,
    metadata_of,
    model_of,
    numbered_claims,
    source_of,
)

NAME = "averitec"
SOURCE = "AVeriTeC"

SUPPORTED, REFUTED = "Supported", "Refuted"
NOT_ENOUGH, CONFLICTING = "Not Enough Evidence", "Conflicting Evidence/Cherrypicking"
FACTUALITY = {
    SUPPORTED: Factuality.TRUE.value,
    REFUTED: Factuality.FALSE.value,
    NOT_ENOUGH: Factuality.NOT_ENOUGH_EVIDENCE.value,
    CONFLICTING: Factuality.NOT_ENOUGH_EVIDENCE.value,
}

# What AVeriTeC says about a claim, with its default.
_ABOUT: dict[str, Any] = {
    "required_reannotation": False,
    "claim_date": None,
    "speaker": None,
    "original_claim_url": None,
    "fact_checking_article": None,
    "reporting_source": None,
    "location_ISO_code": None,
    "claim_types": [],
    "fact_checking_strategies": [],
    "cached_original_claim_url": None,
}
# The order of its fields.
_FIELDS = (
    *("claim", "required_reannotation", "label", "justification", "claim_date", "speaker", "original_claim_url"),
    *("fact_checking_article", "reporting_source", "location_ISO_code", "claim_types", "fact_checking_strategies"),
    *("questions", "cached_original_claim_url", "claim_id", "document", "position"),
)
# The keys that identify a claim and its position.
_PLACE = ("claim_id", "document", "position")
_NOT_ABOUT = ("claim", "label", "justification", "questions", *_PLACE)
# The name under which a claim remembers its row's keys and its position. No row has a key of this name.
_ROW = f"{NAME}:row"
# What people who label a claim from scratch must not see.
_ANSWERS = ("fact_checking_article",)
_DATE = re.compile(r"(\d{1,2})-(\d{1,2})-(\d{4})")


# --- writing --------------------------------------------------------------------------------------


def lines(documents: Iterable[GoldDocument]) -> Iterator[str]:
    """One file: a JSON list with one checked claim per line."""
    before = "[\n"
    for gold in documents:
        for row in rows(gold):
            yield before + _text(row)
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _text(row: Mapping[str, Any]) -> str:
    """A row as JSON. Characters that databases don't accept are restored from what was remembered and escaped again."""
    text = json.dumps(row, ensure_ascii=False)
    return text if is_plain_json(text) else json.dumps(row)


def rows(gold: GoldDocument) -> Iterator[dict[str, Any]]:
    """The checked claims of a document that have a verdict."""
    claims = [each for each in numbered_claims(gold) if each[2].is_checked and each[2].factuality]
    metadata = metadata_of(gold)
    is_averitec = source_of(gold) == SOURCE
    keys = [*_FIELDS, *(name for name in metadata if name not in _FIELDS)] if is_averitec else list(_FIELDS)
    about = _ABOUT | {
        "claim_date": f"{gold.reference_date:%d-%m-%Y}" if gold.reference_date else None,
        "speaker": model_of(gold) or None,
        "reporting_source": source_of(gold) or None,
    }
    for position, _, claim in claims:
        own = {
            **about,
            **metadata,
            **_own(claim),
            # An AVeriTeC claim that was labeled again and is still one claim keeps its id, because predictions use it.
            "claim_id": (is_averitec and len(claims) == 1 and gold.external_id) or claim.public_id,
            "document": document_key(gold),
            "position": position,
        }
        remembered = spelled(claim.released, _ROW, None) or {"keys": keys, "place": {}}
        own |= remembered["place"]
        yield {name: spelled(claim.released, _key(name), own.get(storable(name))) for name in remembered["keys"]}


def _own(claim: GoldClaim) -> dict[str, Any]:
    return {
        "claim": claim.text,
        "label": _label(claim),
        "justification": claim.reason,
        "questions": _questions(claim),
    }


def _key(name: str) -> str:
    """The name under which a field's spelling is remembered."""
    return f"{NAME}.{name}"


def _label(claim: GoldClaim) -> str:
    if claim.factuality == Factuality.TRUE:
        return SUPPORTED
    if claim.factuality == Factuality.FALSE:
        return REFUTED
    return CONFLICTING if is_contested(claim) else NOT_ENOUGH


def _questions(claim: GoldClaim) -> list[dict[str, Any]]:
    """The passages that bear on the claim, grouped by the query that found them."""
    told = [each for each in evidence_of(claim) if each.stance != StanceLabel.IRRELEVANT]
    return [
        {
            "question": query,
            "answers": [spelled(each.released, _key("answer"), _answer(each)) for each in group],
        }
        for query, group in groupby(told, key=lambda each: each.query)
    ]


def _answer(evidence: GoldEvidence) -> dict[str, Any]:
    return {
        "answer": evidence.passage,
        "answer_type": "Extractive",
        "source_url": evidence.url,
        "source_medium": "Web text",
    }


# --- reading --------------------------------------------------------------------------------------


def read(stream: BinaryIO) -> Iterator[GoldDocument | BadRow]:
    """Claims with label and evidence as gold: each becomes a document of one sentence and one claim. Raises
    ``FileError``."""
    identity = _identities()
    return read_rows(stream, lambda row, line: _gold(row, line, identity(row)))


def read_documents(stream: BinaryIO, mapping: Mapping[str, str] | None = None) -> Iterator[IncomingDocument | BadRow]:
    """Claims to annotate from scratch: the claim becomes the response and is suggested as its only claim.

    Label, justification, evidence and article are left out, because they reveal the answer. Raises ``FileError``.
    """
    identity = _identities()

    def parse(row: Mapping[str, Any], line: int) -> IncomingDocument:
        return _document({name: row[name] for name in row if name not in _ANSWERS}, line, identity(row))

    return read_rows(stream, parse)


def _identities() -> Callable[[Mapping[str, Any]], str]:
    """The identity of each row of a file, in turn: "" for the first row with its claim_id (or with its claim if it has
    no id), which then gets a document's usual identity, and an identity of its own for each repetition. AVeriTeC
    repeats claims with different evidence."""
    seen: Counter[str] = Counter()

    def identity(row: Mapping[str, Any]) -> str:
        key, text = row.get("claim_id"), row.get("claim")
        which = hash_of(["id", str(key).strip()] if key is not None else ["claim", text])
        seen[which] += 1
        return "" if seen[which] == 1 else f"sha256:{hash_of([which, seen[which]])}"

    return identity


def _document(row: Mapping[str, Any], line: int, identity: str) -> IncomingDocument:
    text = row.get("claim")
    if not isinstance(text, str):
        raise RowError(("claim", f"expected a text, found {kind_of(text)}: is this an AVeriTeC file?"))
    incoming = document(
        {
            "response": text,
            "id": row.get("claim_id"),
            "source": SOURCE,
            "metadata": {name: value for name, value in row.items() if name not in _NOT_ABOUT},
            "reference_date": _date(row.get("claim_date")),
        },
        line=line,
        sentences=[IncomingSentence(text, (text,))],
    )
    return replace(incoming, repeated=identity)


def _date(value: Any) -> str | None:
    """The date as other formats write it; None if it isn't a date, which then stays in the metadata as it is."""
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        return dt.date(int(match[3]), int(match[2]), int(match[1])).isoformat()
    except ValueError:
        return None


def _gold(row: Mapping[str, Any], line: int, identity: str) -> GoldDocument:
    incoming = _document(row, line, identity)
    label, reason = row.get("label"), row.get("justification")
    complaints: list[tuple[str, str]] = []
    if not isinstance(label, str) or label not in FACTUALITY:
        shown = f"“{label[:40]}”" if isinstance(label, str) else kind_of(label)
        complaints.append(("label", f"{shown} isn’t valid; choose one of {', '.join(FACTUALITY)}."))
    if reason is not None and not isinstance(reason, str):
        complaints.append(("justification", f"expected a text, found {kind_of(reason)}."))
    evidence = _evidence(row.get("questions", []), complaints)
    complain(complaints)
    text = storable(incoming.response)
    claim = GoldClaim(
        text=text,
        type=ClaimType.FACTUAL,
        worth_checking=True,
        retrieved=evidence,
        factuality=FACTUALITY[str(label)],
        reason=storable(reason or ""),
    )
    own = _own(claim)
    place = {name: row[name] for name in _PLACE if name in row}
    remember(claim.released, _ROW, {"keys": list(row), "place": place}, None)
    for name, value in row.items():
        if name not in _PLACE:
            remember(claim.released, _key(name), value, own[name] if name in own else storable_json(value))
    sentence = GoldSentence(
        text=text, start=0, end=len(text), decontext=text, type=SentenceType.CHECKWORTHY, claims=[claim], revised=text
    )
    return GoldDocument(
        response=text,
        sentences=[sentence],
        revised_response=text,
        reference_date=incoming.reference_date,
        line=line,
        about={
            "external_id": incoming.external_id,
            "identity": incoming.identity,
            "source": incoming.source,
            "model": incoming.model,
            "metadata": incoming.metadata,
            "reference_date": incoming.reference_date,
        },
        content_hash=hash_of(row),
        size=len(str(row)),
    )


def _evidence(questions: Any, complaints: list[tuple[str, str]]) -> list[GoldEvidence]:
    """One passage per answer, with its question as the query."""
    found: list[GoldEvidence] = []
    if not isinstance(questions, list):
        complaints.append(("questions", f"expected a list, found {kind_of(questions)}."))
        return found
    for number, each in enumerate(questions, start=1):
        query = each.get("question") if isinstance(each, dict) else None
        answers = each.get("answers") if isinstance(each, dict) else None
        if not isinstance(query, str) or not isinstance(answers, list):
            complaints.append(("questions", f"number {number} must be an object with “question” and a list “answers”."))
            continue
        for answer in answers:
            if not isinstance(answer, dict) or not isinstance(answer.get("answer"), str):
                complaints.append(
                    ("questions", f"each answer to number {number} must be an object with a text “answer”.")
                )
                continue
            found.append(_passage(query, answer))
    return found


def _passage(query: str, answer: Mapping[str, Any]) -> GoldEvidence:
    text, explained, url = answer["answer"], answer.get("boolean_explanation"), answer.get("source_url")
    if isinstance(explained, str) and explained.strip():
        text = f"{text.strip().rstrip('.')}. {explained}"
    evidence = GoldEvidence(
        passage=storable(text), url=storable(url) if isinstance(url, str) else "", query=storable(query)
    )
    remember(evidence.released, _key("answer"), dict(answer), _answer(evidence))
    return evidence
