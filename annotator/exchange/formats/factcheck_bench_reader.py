"""Reads the released format of Factcheck-Bench: one line becomes a ``GoldDocument`` that is written back as the same
line.

Blanks, missing values and odd references in the release are accepted and remembered as written. An unknown label, a
list of the wrong length or a value of the wrong type makes a bad row, because importing it would be a guess.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from annotator.core import released_labels
from annotator.core.file_problems import BadRow, RowError, complain
from annotator.core.lines import RepeatedKeys, kind_of, read_objects
from annotator.core.released import ABSENT, remember, storable
from annotator.core.texts import edits
from annotator.core.vocabulary import ClaimType, Factuality, Handling
from annotator.exchange.formats import factcheck_bench as written
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence
from annotator.exchange.formats.incoming import document as checked_document
from annotator.exchange.formats.incoming import hash_of_json, place_of, sorted_json

# In addition to the published fields, a line may describe its response, like any imported document.
_ABOUT = ("id", "source", "model", "metadata", "reference_date")
_DERIVED = frozenset({"response_factuality", "sentence_factuality_label", "claims_factuality_label"})

_CHECKWORTHINESS = {spelling: word for word, spelling in released_labels.CHECKWORTHINESS.items()}
_IMPORTANCE = {spelling: word for word, spelling in released_labels.IMPORTANCE.items()}
_CLAIM_TYPE = {word.value: word.value for word in ClaimType}
_STANCE = {spelling: word for word, spelling in released_labels.STANCE.items()}
_FACTUALITY = {spelling: word for word, spelling in released_labels.NEEDS_EDIT.items()}
_YES_NO = {"yes": True, "no": False}

_NAME = re.compile(r"sentence\d+")
_URL = re.compile(r"https?://[^\s\"'<>]+")
_URL_MARK = re.compile(r"(?:^|\n)[ \t]*(?:URL|Link|Source)[ \t]*:[ \t]*(?=\n|$)", re.IGNORECASE)


def read(stream: BinaryIO) -> Iterator[GoldDocument | BadRow]:
    """The documents of a released file, one line in memory at a time. Raises ``FileError``."""
    return read_objects(stream, parse)


def parse(row: Mapping[str, Any], line: int) -> GoldDocument:
    """One line. Raises ``RowError`` with all its problems."""
    complaints = _unknown(row, (*written.DOCUMENT_FIELDS, *_ABOUT), "")
    released = row.get("sentences")
    if not isinstance(released, dict) or not released:
        complaints.append(("sentences", f"expected an object with sentence1, sentence2 …, found {_kind(released)}."))
        released = {}
    try:
        about = checked_document(
            {name: row[name] for name in ("prompt", "response", *_ABOUT) if name in row}, line=line
        )
    except RowError as error:
        raise RowError(*complaints, *error.complaints) from None
    text = sorted_json(row)
    document = GoldDocument(
        prompt=storable(about.prompt),
        response=storable(about.response),
        line=line,
        about={
            "external_id": about.external_id,
            "identity": about.identity,
            "source": about.source,
            "model": about.model,
            "metadata": about.metadata,
            "reference_date": about.reference_date,
        },
        content_hash=hash_of_json(text),
        size=len(text),
    )
    reader = _LineReader("", complaints)
    document.revised_response = reader.text(row, "revised_response")
    reader.derived(row, "response_factuality")
    position = 0
    for name, values in released.items():
        if not _NAME.fullmatch(name) or not isinstance(values, dict):
            complaints.append((f"sentences.{name}", "expected an object named “sentence” and a number."))
            continue
        sentence = _sentence(values, _LineReader(name, complaints))
        place = place_of(sentence.text, document.response, position)
        if place:
            sentence.start, sentence.end = place
            position = place[1]
        document.sentences.append(sentence)
    complain(complaints)
    _remember(document, row, list(released.items()))
    _keep_others(document, row)
    return document


def _keep_others(document: GoldDocument, row: Mapping[str, Any]) -> None:
    """What the released format has no place for is kept with the document and reported."""
    extra = [name for name in _ABOUT if name in row]
    for name in extra:
        own = document.about["external_id" if name == "id" else name]
        remember(document.released, f"about.{name}", row[name], own.isoformat() if isinstance(own, dt.date) else own)
    earlier = [
        [where, key, value]
        for where, each in (("", row), *document_sentences(row))
        if isinstance(each, RepeatedKeys)
        for key, value in each.earlier
    ]
    if earlier:
        remember(document.released, "repeated_keys", earlier, None)
    document.notes = (
        *(
            f"“{name}” is kept, but only Touchstone’s own format exports it: Factcheck-Bench has no such field."
            for name in extra
        ),
        *(
            f"“{key}” appears twice; the last value is used, and only Touchstone’s own format keeps the others."
            for key in dict.fromkeys(f"{where}.{key}" if where else key for where, key, _ in earlier)
        ),
    )


def document_sentences(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The list of sentences and its items, each with its name."""
    sentences = row.get("sentences")
    if isinstance(sentences, dict):
        yield "sentences", sentences
        yield from sentences.items()


# --- values ---------------------------------------------------------------------------------------


def _kind(value: Any) -> str:
    return "nothing" if value is None else kind_of(value)


def _unknown(row: Mapping[str, Any], known: tuple[str, ...], where: str) -> list[tuple[str, str]]:
    return [
        (
            f"{where}.{name}" if where else name,
            "the released format has no such field. Remove it from the line.",
        )
        for name in row
        if name not in known
    ]


def _plain(word: str) -> str:
    """A label normalized: case, outer space, and hyphens or underscores don't matter."""
    return word.strip().lower().replace("-", "_").replace(" ", "_")


class _LineReader:
    """Reads the values of one sentence (or document) and collects their problems."""

    def __init__(self, where: str, complaints: list[tuple[str, str]]) -> None:
        self.where = where
        self.complaints = complaints

    def complain(self, name: str, reason: str) -> None:
        self.complaints.append((f"{self.where}.{name}" if self.where else name, reason))

    def text(self, row: Mapping[str, Any], name: str) -> str:
        """A text; missing and null count as blank."""
        return self.as_text(row.get(name), name)

    def as_text(self, value: Any, name: str) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return storable(value)
        self.complain(name, f"expected a text, found {_kind(value)}.")
        return ""

    def word(self, value: Any, name: str, words: Mapping[str, Any], blank: Any = "") -> Any:
        """The meaning of a label; missing, null, blank and "NA" mean that none was given."""
        if isinstance(value, str) and value in words:
            return words[value]
        if value is None or (isinstance(value, str) and value.strip().upper() in ("", "NA")):
            return blank
        said = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        if isinstance(said, str):
            plain = _plain(said)
            for spelling, meaning in words.items():
                if _plain(spelling) == plain:
                    return meaning
        shown = f"“{value[:40]}”" if isinstance(value, str) else _kind(value)
        self.complain(name, f"{shown} isn’t valid; choose one of {', '.join(words)}.")
        return blank

    def derived(self, row: Mapping[str, Any], name: str) -> None:
        """A derived label. It is only remembered, so it may be anything except a list or an object."""
        if isinstance(row.get(name), list | dict):
            self.complain(name, f"expected true, false or a text, found {_kind(row[name])}.")

    def items(self, row: Mapping[str, Any], name: str, count: int) -> list[Any]:
        """A list with one item per claim. A sentence without claims may have one extra item, which belongs to no
        claim."""
        value = row.get(name)
        if not isinstance(value, list):
            self.complain(name, f"expected a list with one item per claim, found {_kind(value)}.")
            return [None] * count
        if count == 0 and len(value) == 1:
            return []
        if len(value) != count:
            self.complain(name, f"{len(value)} items, but there are {count} claims; each claim needs one.")
            return [None] * count
        return value


# --- sentences and claims -------------------------------------------------------------------------


def _sentence(row: Mapping[str, Any], reader: _LineReader) -> GoldSentence:
    reader.complaints += _unknown(row, (*written.SENTENCE_FIELDS, *written.CLAIM_FIELDS), reader.where)
    sentence = GoldSentence(
        text=reader.text(row, "text"),
        decontext=reader.text(row, "decontext"),
        type=reader.word(row.get("sentence_checkworthiness"), "sentence_checkworthiness", _CHECKWORTHINESS),
        importance=reader.word(row.get("most_importance_sentence"), "most_importance_sentence", _IMPORTANCE),
    )
    reader.derived(row, "sentence_factuality_label")
    revised = row.get("revised_decontext")
    if revised is not None and revised != []:
        sentence.revised = reader.as_text(revised, "revised_decontext")
        if not sentence.revised.strip():
            sentence.deleted, sentence.revised = True, sentence.text
    claims = row.get("claims")
    if not isinstance(claims, list):
        reader.complain("claims", f"expected a list, found {_kind(claims)}.")
        return sentence
    count = len(claims)
    lists = {name: reader.items(row, name, count) for name in written.CLAIM_FIELDS}
    for number in range(count):
        items = {name: values[number] for name, values in lists.items()}
        sentence.claims.append(_claim(items, _LineReader(f"{reader.where}, claim {number + 1}", reader.complaints)))
    return sentence


def _claim(row: Mapping[str, Any], reader: _LineReader) -> GoldClaim:
    claim = GoldClaim(
        text=reader.text(row, "claims"),
        type=reader.word(row["claim_checkworthiness"], "claim_checkworthiness", _CLAIM_TYPE),
        importance=reader.word(row["if_most_important_claim"], "if_most_important_claim", _IMPORTANCE),
        evidence_sufficient=reader.word(
            row["if_automatic_evidence_enough_to_verify"],
            "if_automatic_evidence_enough_to_verify",
            _YES_NO,
            blank=None,
        ),
        factuality=reader.word(row["if_claim_needs_edit"], "if_claim_needs_edit", _FACTUALITY),
        retrieved=_retrieved(row, reader),
        added=_added(reader.text(row, "human_evidence")),
    )
    reader.derived(row, "claims_factuality_label")
    if claim.type == ClaimType.FACTUAL:
        # The format has no field for this: whatever was judged was check-worthy, and what was left out wasn't.
        claim.worth_checking = bool(claim.factuality or any(each.stance for each in claim.retrieved))
    revised = reader.text(row, "revised_claims")
    if claim.factuality == Factuality.FALSE:
        claim.operations = edits.from_texts(claim.text, revised if revised.strip() else "") if claim.text else []
    elif claim.factuality == Factuality.NOT_ENOUGH_EVIDENCE and revised != claim.text:
        claim.handling = Handling.REWRITE if revised.strip() else Handling.DELETE
        claim.rewritten = revised if revised.strip() else ""
    claim.rests_on = _rests_on(row["usedEvidence_index_in_revision"], claim)
    return claim


def _retrieved(row: Mapping[str, Any], reader: _LineReader) -> list[GoldEvidence]:
    lists: dict[str, list[Any]] = {}
    for name in ("auto_evidence", "auto_evidence_url", "stance_claim_autoEvid"):
        value = row[name]
        if not isinstance(value, list):
            reader.complain(name, f"expected a list, found {_kind(value)}.")
            return []
        lists[name] = value
    passages, urls, stances = lists.values()
    if len(urls) != len(passages):
        reader.complain(
            "auto_evidence_url",
            f"{len(urls)} addresses for {len(passages)} passages; each passage needs one.",
        )
        return []
    if stances and len(stances) != len(passages):
        reader.complain(
            "stance_claim_autoEvid",
            f"{len(stances)} stances for {len(passages)} passages; each passage needs one, or the list stays empty.",
        )
        return []
    found: list[GoldEvidence] = []
    for passage, url, stance in zip(passages, urls, stances or [None] * len(passages), strict=True):
        evidence = GoldEvidence(
            passage=reader.as_text(passage, "auto_evidence"),
            url=reader.as_text(url, "auto_evidence_url"),
            stance=reader.word(stance, "stance_claim_autoEvid", _STANCE),
        )
        remember(evidence.released, "auto_evidence", passage, evidence.passage)
        remember(evidence.released, "auto_evidence_url", url, evidence.url)
        found.append(evidence)
    return found


def _added(text: str) -> list[GoldEvidence]:
    """Evidence that people found, written as free text: the first URL in it, and the rest as the passage."""
    if text.strip().upper() in ("", "NA"):
        return []
    match = _URL.search(text)
    if match is None:
        return [GoldEvidence(passage=text.strip())]
    url = match[0].rstrip(".,;") if match.end() == len(text.rstrip()) else match[0]
    rest = text[: match.start()] + text[match.start() + len(url) :]
    return [GoldEvidence(passage=_URL_MARK.sub("", rest).strip(), url=url)]


def _rests_on(value: Any, claim: GoldClaim) -> list[GoldEvidence]:
    """Interprets the odd references of the release ("1, 5", "self-retrieved", "6", free text) as far as possible."""
    rests: list[GoldEvidence] = []
    for part in str(value).split(",") if isinstance(value, str | int) and not isinstance(value, bool) else []:
        name = part.strip()
        if name.isdecimal() and 1 <= int(name) <= len(claim.retrieved):
            found = [claim.retrieved[int(name) - 1]]
        else:
            found = claim.added if name == released_labels.SELF_RETRIEVED else []
        rests += [each for each in found if not any(each is known for known in rests)]
    return rests


# --- spellings ------------------------------------------------------------------------------------


def _remember(document: GoldDocument, row: Mapping[str, Any], sentences: list[tuple[str, Any]]) -> None:
    """Records, on each record, what the file writes differently from the record's own export."""
    own = written.own_document(document)
    for name in written.DOCUMENT_FIELDS[:-1]:
        remember(document.released, name, row.get(name, ABSENT), own[name])
    for number, (sentence, (key, values)) in enumerate(zip(document.sentences, sentences, strict=True), start=1):
        own = written.own_sentence(sentence, document)
        remember(sentence.released, "name", key, written.own_name(number))
        for name in written.SENTENCE_FIELDS:
            remember(sentence.released, name, values.get(name, ABSENT), own[name])
        for position, claim in enumerate(sentence.claims):
            own = written.own_claim(claim)
            for name in written.CLAIM_FIELDS:
                remember(claim.released, name, values[name][position], own[name])
        # A list aligned with the claims is remembered by them. Without claims, there may be an extra item.
        if not sentence.claims:
            for name in written.CLAIM_FIELDS:
                remember(sentence.released, name, values[name], [])
