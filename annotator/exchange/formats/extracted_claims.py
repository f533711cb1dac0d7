"""What other claim extractors have written, as documents whose claims become suggestions: VeriFastScore's output and
Claimify's data set. Machines have written it, so it never comes in as gold. docs/formats/import.md has the fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, BinaryIO

from annotator.core import lines
from annotator.core.file_problems import BadRow, FileError, RowError, bad_row, complain
from annotator.exchange.formats.incoming import IncomingDocument, IncomingSentence, document, picked, place_of

VERIFASTSCORE, CLAIMIFY = "verifastscore", "claimify"
_COLUMNS = ("answer_id", "question", "sentence_id", "sentence", "contains_factual_claim")
_FOUND = frozenset({"claim_verification_result", "claim_search_results", "evidence"})
_WORD = re.compile(r"\w+")
_YES, _NO = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no", ""})
Mapped = Mapping[str, str] | None


# --- VeriFastScore --------------------------------------------------------------------------------


def read_verifastscore(stream: BinaryIO, mapping: Mapped = None) -> Iterator[IncomingDocument | BadRow]:
    """One response a line with its claims (``claim_verification_result``). The file does not say which sentence a claim
    is from: each goes to the sentence that shares most of its words. Its labels and search results are left out: they
    are not for annotators to see."""
    return lines.read_objects(stream, lambda row, number: _response(row, number, mapping))


def _response(row: dict[str, Any], number: int, mapping: Mapped) -> IncomingDocument:
    found = row.get("claim_verification_result")
    if row.get("abstained") is True and found is None:
        found = []
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and isinstance(each.get("claim"), str) and each["claim"].strip() for each in found
    ):
        place = (
            "claim_verification_result",
            "expected a list of objects with a claim. Is this VeriFastScore’s output?",
        )
        raise RowError(place)
    rest = {name: value for name, value in row.items() if name not in _FOUND}
    named = {"prompt": "question"} if "prompt" not in row and "question" in row else {}
    values = picked(rest, named | dict(mapping or {}))
    response = values.get("response")
    texts = list(dict.fromkeys(each["claim"].strip() for each in found))
    sentences = _sentences(row.get("claim_search_results"), response if isinstance(response, str) else "")
    return document(values, line=number, sentences=_dealt(texts, sentences))


def _sentences(results: Any, response: str) -> list[str]:
    """The sentences that evidence was searched for, where all stand in the response in their order; else the response
    as the only one."""
    found = [each for each in results if each.strip()] if isinstance(results, dict) else []
    position = 0
    for text in found:
        place = place_of(text, response, position)
        if place is None:
            return [response]
        position = place[1]
    return found or [response]


def _dealt(claims: Sequence[str], sentences: Sequence[str]) -> list[IncomingSentence]:
    words = [_words(sentence) for sentence in sentences]
    of: list[list[str]] = [[] for _ in sentences]
    for claim in claims:
        own = _words(claim)
        # The first of those that are as near: claims come in the order of the response.
        nearest = max(range(len(sentences)), key=lambda place: (len(own & words[place]), -place))
        of[nearest].append(claim)
    return [IncomingSentence(text, tuple(each)) for text, each in zip(sentences, of, strict=True)]


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


# --- Claimify -------------------------------------------------------------------------------------


def read_claimify(stream: BinaryIO, mapping: Mapped = None) -> Iterator[IncomingDocument | BadRow]:
    """One sentence a row, CSV or JSON lines, with the columns of Claimify's data set; rows of an answer stand together.
    ``claims`` (a list, or a JSON list in CSV) has what was extracted; without it a sentence with a factual claim is
    its own claim, to be split. The response is its sentences, joined by spaces."""
    rows = _rows(stream)
    for _, of_answer in groupby(rows, key=lambda each: (isinstance(each[1], BadRow), _answer(each[1]))):
        group = list(of_answer)
        bad = [each for _, each in group if isinstance(each, BadRow)]
        if bad:
            yield from bad
            continue
        number = group[0][0]
        try:
            yield _joined([(line, row) for line, row in group if isinstance(row, dict)], number)
        except RowError as error:
            yield error.at(number)


def _answer(row: dict[str, Any] | BadRow) -> str:
    return "" if isinstance(row, BadRow) else str(row.get("answer_id"))


def _rows(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
    lines.check_encoding(stream)
    is_json = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    stream.seek(0)
    if is_json:
        for found in lines.read_objects(stream, lambda row, number: (number, row)):
            yield (found.line, found) if isinstance(found, BadRow) else found
        return
    csv.field_size_limit(lines.MAX_LINE_BYTES)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="strict", newline="")
    try:
        rows = csv.DictReader(text, strict=True)
        lacking = [name for name in _COLUMNS if name not in (rows.fieldnames or [])]
        if lacking:
            raise FileError(f"The columns {', '.join(lacking)} are missing. Is this Claimify’s data set?")
        for row in rows:
            whole = None not in row and None not in row.values()
            yield (
                rows.line_num,
                row if whole else bad_row(rows.line_num, "it has more or fewer cells than the header."),
            )
    except UnicodeDecodeError:
        raise FileError(
            "The file is not UTF-8. Save it as UTF-8 (in Excel: “CSV UTF-8”) and import it again."
        ) from None
    except csv.Error as error:
        raise FileError(
            f"The file stops being CSV at line {rows.line_num}: {error}. Check its quotation marks."
        ) from None
    finally:
        text.detach()


def _joined(rows: Sequence[tuple[int, dict[str, Any]]], number: int) -> IncomingDocument:
    complaints: list[tuple[str, str]] = []
    sentences = [_sentence(row, line, complaints) for line, row in rows]
    complain(complaints)
    first = rows[0][1]
    values = {
        "id": first["answer_id"],
        "prompt": first["question"],
        "response": " ".join(each.text for each in sentences),
        "source": CLAIMIFY,
    }
    return document(values, line=number, sentences=sentences)


def _sentence(row: dict[str, Any], line: int, complaints: list[tuple[str, str]]) -> IncomingSentence:
    def wrong(field: str, what: str) -> IncomingSentence:
        complaints.append((field, f"{what} (line {line})."))
        return IncomingSentence("", ())

    for name in ("answer_id", "question", "sentence"):
        if name not in row:
            return wrong(name, "required")
    text, said = row["sentence"], str(row.get("contains_factual_claim", "")).strip().casefold()
    if not isinstance(text, str) or not text.strip():
        return wrong("sentence", "expected a text")
    if said not in _YES | _NO:
        return wrong("contains_factual_claim", f"“{said[:40]}” is neither true nor false")
    claims = row.get("claims")
    if isinstance(claims, str) and claims.strip():
        try:
            claims = lines.json_value(claims)
        except RowError:
            return wrong("claims", "expected a JSON list of texts")
    if claims in (None, ""):
        claims = [text.strip()] if said in _YES else []
    if not isinstance(claims, list) or not all(isinstance(each, str) and each.strip() for each in claims):
        return wrong("claims", "expected a list of texts")
    return IncomingSentence(text.strip(), tuple(each.strip() for each in claims))
