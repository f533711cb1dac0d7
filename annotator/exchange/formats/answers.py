"""Reads model responses with a label for each claim, and checked claims with questions and answers: the input of
``manage.py score`` (docs/formats/scores.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

from annotator.core.file_problems import BadRow, RowError, complain
from annotator.core.lines import check_encoding, kind_of, read_list, read_objects
from annotator.core.released import storable_json

SUPPORTED, NOT_SUPPORTED, NO_FACT = "supported", "not_supported", "no_fact"
# What the field's labels say about a claim (FastFact, appendix: S, N and I; VeriScore 2.3).
_MEANINGS = (
    dict.fromkeys(("supported", "support", "true", "s"), SUPPORTED)
    | dict.fromkeys(
        (
            *("unsupported", "not supported", "non supported", "nonsupported", "refuted", "contradicted", "false"),
            *("not enough evidence", "not enough confidence", "conflicting evidence", "inconclusive", "unknown", "ns"),
        ),
        NOT_SUPPORTED,
    )
    | dict.fromkeys(("irrelevant", "not a claim", "redundant", "unverifiable", "ir", "n/a"), NO_FACT)
)

# Where a row has the response itself.
_RESPONSES = ("response", "output")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer. ``claims`` counts those that state a fact, ``no_fact`` the others. ``valid`` is how many claims
    people found in it (K'), None where nobody counted. ``model`` and ``domain`` are "" where they are not said; so are
    ``source``, ``topic`` and ``language``, by which scores are broken down. ``words`` is how long the response is, None
    where it is not there."""

    line: int
    model: str
    domain: str
    supported: int
    claims: int
    no_fact: int = 0
    valid: int | None = None
    abstained: bool = False
    source: str = ""
    topic: str = ""
    language: str = ""
    words: int | None = None


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """One checked claim: its id and text ("" where it has none), its label, and question and answer as one text;
    ``source`` is where the claim is from."""

    line: int
    key: str
    text: str
    label: str
    pairs: tuple[str, ...]
    source: str = ""


Row = TypeVar("Row")


def answers(stream: BinaryIO) -> Iterator[AnswerRow | BadRow]:
    """Answers, one object a line, as Touchstone, VeriScore, FastFact or FActScore writes them. Raises ``FileError``."""
    return read_rows(stream, lambda row, line: _answer(storable_json(row), line))


def checked_claims(stream: BinaryIO) -> Iterator[CheckedRow | BadRow]:
    """AVeriTeC's claims, gold or predicted: a JSON list, or one object a line. Raises ``FileError``."""
    return read_rows(stream, lambda row, line: _checked(storable_json(row), line))


def read_rows(stream: BinaryIO, parse: Callable[[Mapping[str, Any], int], Row]) -> Iterator[Row | BadRow]:
    """The objects of a file that is one JSON list, or one object a line, through ``parse(object, number)``."""
    check_encoding(stream)
    if stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield from _listed(stream, parse)
    else:
        yield from read_objects(stream, parse)


def _listed(stream: BinaryIO, parse: Callable[[Mapping[str, Any], int], Row]) -> Iterator[Row | BadRow]:
    """A file that is one JSON list; "line" then counts its items."""
    for number, each in enumerate(read_list(stream), start=1):
        try:
            if not isinstance(each, dict):
                raise RowError(("", f"expected a JSON object, found {kind_of(each)}."))
            yield parse(each, number)
        except RowError as error:
            yield error.at(number)


# --- answers --------------------------------------------------------------------------------------


def _answer(row: Mapping[str, Any], line: int) -> AnswerRow:
    labels = _labels(row)
    counted = [_meaning(label, number) for number, label in enumerate(labels, start=1)]
    complain(each for each in counted if isinstance(each, tuple))
    supported = counted.count(SUPPORTED)
    return AnswerRow(
        line,
        model=_word(row, "model"),
        domain=_word(row, "domain") or _word(row, "prompt_source") or _word(row, "source"),
        supported=supported,
        claims=supported + counted.count(NOT_SUPPORTED),
        no_fact=counted.count(NO_FACT),
        valid=_valid(row),
        # VeriScore's released file writes it as a text.
        abstained=str(row.get("abstained", False)).casefold() == "true",
        source=_word(row, "source") or _word(row, "prompt_source"),
        topic=_word(row, "domain") or _word(row, "topic"),
        language=_word(row, "language") or _word(row, "lang"),
        words=next((len(row[name].split()) for name in _RESPONSES if isinstance(row.get(name), str)), None),
    )


def _labels(row: Mapping[str, Any]) -> list[Any]:
    """The labels of an answer's claims, in whichever form."""
    for name, label in (
        ("claims", lambda each: each.get("label")),
        ("claim_verification_result", lambda each: each.get("verification_result")),
        ("claims_lst", _fastfact_label),
        ("decisions", lambda each: each.get("is_supported")),
    ):
        if name not in row:
            continue
        value = row[name]
        if value is None and name == "decisions":
            return []
        if not isinstance(value, list):
            raise RowError((name, f"expected a list with one object per claim, found {kind_of(value)}."))
        for number, each in enumerate(value, start=1):
            if not isinstance(each, dict):
                raise RowError((name, f"expected an object as item {number}, found {kind_of(each)}."))
        return [label(each) for each in value]
    raise RowError(("claims", 'required: write a list of objects with "label".'))


def _fastfact_label(claim: Mapping[str, Any]) -> Any:
    """What verification said; a claim that was sure before was not verified."""
    result = claim.get("verification_result")
    verified = result.get("verification_label") if isinstance(result, dict) else None
    return verified if verified is not None else claim.get("pre-label")


def _meaning(label: Any, number: int) -> Any:
    """What a label says, or a complaint about it."""
    said = {True: "true", False: "false"}[label] if isinstance(label, bool) else label
    if not isinstance(said, str) or not said.strip():
        return "claims", f"claim {number} has no label; found {kind_of(label)}."
    meaning = _MEANINGS.get(" ".join(said.casefold().replace("_", " ").replace("-", " ").split()))
    if meaning is None:
        return "claims", f"claim {number}: “{said[:40]}” isn’t a valid label; use supported or unsupported."
    return meaning


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RowError((name, f"expected a text, found {kind_of(value)}."))
    return value.strip()


def _valid(row: Mapping[str, Any]) -> int | None:
    value = row.get("k_prime")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RowError(("k_prime", "expected a number of claims, 0 or more."))
    return value


# --- checked claims -------------------------------------------------------------------------------


def _checked(row: Mapping[str, Any], line: int) -> CheckedRow:
    label = row.get("label", row.get("pred_label"))
    if not isinstance(label, str) or not label.strip():
        raise RowError(("label", f"expected a text, found {kind_of(label)}."))
    key, text = row.get("claim_id"), _word(row, "claim")
    pairs = row.get("questions", row.get("evidence", []))
    if not isinstance(pairs, list):
        raise RowError(("questions", f"expected a list, found {kind_of(pairs)}."))
    found = tuple(pair for each in pairs for pair in _pairs(each))
    return CheckedRow(line, "" if key is None else str(key), text, label.strip(), found, _word(row, "reporting_source"))


def _pairs(value: Any) -> Iterator[str]:
    """A question with each of its answers, as one text each."""
    if not isinstance(value, dict):
        raise RowError(("questions", f"expected an object, found {kind_of(value)}."))
    question, replies = value.get("question") or "", value.get("answers", value.get("answer"))
    if isinstance(replies, str):
        replies = [{"answer": replies}]
    if not isinstance(question, str) or not isinstance(replies, list):
        raise RowError(("questions", f"expected a question and its answers: {json.dumps(value)[:80]}"))
    if not replies:
        yield question
    for each in replies:
        answer = each.get("answer") if isinstance(each, dict) else None
        if not isinstance(answer, str):
            raise RowError(("questions", "an answer must be an object with a text."))
        explained = each.get("boolean_explanation")
        parts = (question, answer, explained if isinstance(explained, str) else "")
        yield " ".join(part.strip() for part in parts if part.strip())
