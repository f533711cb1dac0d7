"""Reads the items of a study from a file: JSON Lines, one item per line (docs/protocols.md).

There are two readers: for Touchstone's own form, and for FastFact's annotation input (a response with claims, machine
labels and evidence).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from annotator.core.file_problems import BadRow, RowError, bad_row
from annotator.core.lines import json_value, read_lines
from annotator.core.protocol import ITEM, Protocol, Work
from annotator.core.released import storable_json

MAX_PARTS = 2000  # per item
CANDIDATE = "candidate"
_ID = re.compile(r"[a-z0-9]{4,32}")
_END = re.compile(r"[.!?…][\"'”’)\]]*$")


@dataclass(slots=True)
class PartRow:
    """A record below an item. ``data``: ``url``, ``title``, ``lines`` (a candidate that is a list), ``machine``
    (suggested answers by question) and the file's other fields."""

    kind: str
    text: str = ""
    source: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    parts: list[PartRow] = field(default_factory=list)
    public_id: str = ""


@dataclass(slots=True)
class ItemRow:
    """An item; ``line`` is its line in the file."""

    line: int
    external_id: str
    stratum: str = ""
    prompt: str = ""
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    parts: list[PartRow] = field(default_factory=list)
    public_id: str = ""


def read_items(stream: BinaryIO, protocol: Protocol) -> Iterator[ItemRow | BadRow]:
    """The items of a file; a bad line becomes a BadRow. Raises FileError if the file isn't text."""
    read: Callable[[Mapping[str, Any], int, Protocol], ItemRow] = (
        _fastfact if protocol.items.reader == "fastfact" else _touchstone
    )
    seen: dict[str, int] = {}
    for line in read_lines(stream):
        if isinstance(line, BadRow):
            yield line
            continue
        try:
            value = storable_json(json_value(line.text()))
            if not isinstance(value, dict):
                raise RowError(("", "each line should be a JSON object."))
            if "touchstone_study" in value:
                read = _touchstone  # the head of an exported study, whose items are in Touchstone's own form
                continue
            row = read(value, line.number, protocol)
        except RowError as error:
            yield error.at(line.number)
            continue
        if row.external_id in seen:
            yield bad_row(line.number, f"the id is taken by line {seen[row.external_id]}.", "id")
            continue
        seen[row.external_id] = line.number
        if protocol.items.cut_words:
            row.text = cut_at_sentence(row.text, protocol.items.cut_words)
        yield row


def cut_at_sentence(text: str, words: int) -> str:
    """The text, cut after the last sentence that ends within this many words, separated by white space (VeriScore,
    appendix D). If no sentence ends there, it is cut after the last word."""
    found = list(re.finditer(r"\S+", text))
    if len(found) <= words:
        return text
    ends = [each.end() for each in found[:words] if _END.search(each.group())]
    return text[: ends[-1] if ends else found[words - 1].end()]


def is_identical(parts: list[PartRow]) -> bool:
    """Are all candidates the same except for white space?"""
    return len(parts) > 1 and len({comparable(each.text, each.data.get("lines")) for each in parts}) == 1


def comparable(text: str, lines: Any) -> tuple[str, ...]:
    """A candidate's content with normalized white space."""
    found = lines if isinstance(lines, list) else [text]
    return tuple(" ".join(str(each).split()) for each in found)


# --- Touchstone's own form ------------------------------------------------------------------------


def _text(value: Mapping[str, Any], name: str, where: str = "") -> str:
    found = value.get(name, "")
    if found is None:
        return ""
    if not isinstance(found, str):
        raise RowError((f"{where}{name}", "expected text in quotation marks."))
    return found


def _touchstone(value: Mapping[str, Any], line: int, protocol: Protocol) -> ItemRow:
    allowed = {"id", "stratum", "prompt", "text", "data", "parts", "candidates", "passages"}
    allowed |= {"dropped", "ids", "work"}  # of a study's own export
    unknown = sorted(set(value) - allowed)
    if unknown:
        raise RowError((unknown[0], "unknown field. Put what is yours into “data”."))
    row = ItemRow(line, str(value.get("id") or line), data=_mapping(value, "data"))
    row.stratum, row.prompt, row.text = (_text(value, name) for name in ("stratum", "prompt", "text"))
    if len(row.external_id) > 200 or len(row.stratum) > 120:
        raise RowError(("id", "the id may have 200 characters and the stratum 120."))
    row.parts = [_part(each, f"parts[{n}].", ITEM, protocol) for n, each in enumerate(_list(value, "parts"))]
    row.parts += [_passage(each, f"passages[{n}].") for n, each in enumerate(_list(value, "passages"))]
    given = value.get("candidates")
    if given is not None and protocol.work != Work.COMPARISON:
        raise RowError(("candidates", "only a comparison has candidates."))
    if protocol.work == Work.COMPARISON:
        row.parts += _candidates(given)
        if sum(each.kind == CANDIDATE for each in row.parts) < 2:
            raise RowError(("candidates", "a comparison needs two candidates or more."))
    everything = list(_in_reading_order(row.parts))
    if len(everything) > MAX_PARTS:
        raise RowError(("parts", f"an item may have {MAX_PARTS:,} parts."))
    if ids := _list(value, "ids"):
        if len(ids) != len(everything) + 1 or not all(isinstance(each, str) and _ID.fullmatch(each) for each in ids):
            raise RowError(("ids", "expected the public id of the item and of each of its parts."))
        row.public_id = ids[0]
        for part, public_id in zip(everything, ids[1:], strict=True):
            part.public_id = public_id
    return row


def _in_reading_order(parts: list[PartRow]) -> Iterator[PartRow]:
    """Each part before those below it."""
    for each in parts:
        yield each
        yield from _in_reading_order(each.parts)


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    found = value.get(name) or []
    if not isinstance(found, list):
        raise RowError((name, "expected a list."))
    return found


def _mapping(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name) or {}
    if not isinstance(found, dict):
        raise RowError((name, "expected an object."))
    return found


def _candidates(given: Any) -> list[PartRow]:
    """Read candidates, which are an object from source to content or a list of objects with ``source``. A content is a
    text or a list of texts."""
    if isinstance(given, dict):
        given = [{"source": source, "content": content} for source, content in given.items()]
    if not isinstance(given, list):
        raise RowError(("candidates", "expected an object from source to content, or a list."))
    found = []
    for number, each in enumerate(given):
        where = f"candidates[{number}]"
        if not isinstance(each, dict) or not isinstance(each.get("source"), str) or not each["source"]:
            raise RowError((where, "each candidate needs a “source”, which people don’t see."))
        content = each.get("content")
        if isinstance(content, list) and all(isinstance(line, str) for line in content):
            part = PartRow(CANDIDATE, "\n".join(content), each["source"], {"lines": content})
        elif isinstance(content, str):
            part = PartRow(CANDIDATE, content, each["source"])
        else:
            raise RowError((f"{where}.content", "expected a text or a list of texts."))
        found.append(part)
    sources = [each.source for each in found]
    if len(set(sources)) < len(sources):
        raise RowError(("candidates", "two candidates have the same source."))
    return found


def _passage(value: Any, where: str) -> PartRow:
    if not isinstance(value, dict):
        raise RowError((where.rstrip("."), "expected an object with “text”."))
    data = {name: _text(value, name, where) for name in ("title", "url", "date") if value.get(name)}
    return PartRow("passage", _text(value, "text", where), data=data)


def _part(value: Any, where: str, under: str, protocol: Protocol) -> PartRow:
    if not isinstance(value, dict):
        raise RowError((where.rstrip("."), "expected an object."))
    kind = value.get("kind")
    record = protocol.record(kind) if isinstance(kind, str) else None
    if record is None or record.under != under:
        known = ", ".join(each.kind for each in protocol.records if each.under == under)
        raise RowError((f"{where}kind", f"“{kind}” isn’t a kind of record here; the protocol has {known or 'none'}."))
    data = _mapping(value, "data") | {name: _text(value, name, where) for name in ("title", "url") if value.get(name)}
    if machine := _mapping(value, "machine"):
        data["machine"] = machine
    part = PartRow(record.kind, _text(value, "text", where), _text(value, "id", where), data)
    part.parts = [
        _part(each, f"{where}parts[{n}].", record.kind, protocol) for n, each in enumerate(_list(value, "parts"))
    ]
    part.parts += [_passage(each, f"{where}passages[{n}].") for n, each in enumerate(_list(value, "passages"))]
    return part


# --- FastFact's annotation input ------------------------------------------------------------------

_EVIDENCE = re.compile(r"^Evidence \d+[ \t]*\n", re.MULTILINE)
_TITLE = re.compile(r"^Source Title:[ \t]*(.*)\n?")
_NO_CLAIM = "no verifiable claim"
# FastFact's machine labels, as the protocol calls them.
_MACHINE = {"inconclusive": "not enough evidence", "unsupported": "unsupported", "contradicted": "refuted"}


def _fastfact(value: Mapping[str, Any], line: int, protocol: Protocol) -> ItemRow:
    for name in ("question", "response", "claims_lst"):
        if name not in value:
            raise RowError((name, "is missing; FastFact’s annotation input has it."))
    row = ItemRow(line, str(value.get("id") or line), _text(value, "prompt_source"), _text(value, "question"))
    row.text = _text(value, "response")
    row.data = {name: each for name, each in value.items() if name not in ("question", "response", "claims_lst")}
    for number, claim in enumerate(_list(value, "claims_lst")):
        where = f"claims_lst[{number}]"
        if not isinstance(claim, dict) or not isinstance(claim.get("claim"), str):
            raise RowError((where, "expected an object with “claim”."))
        if claim["claim"].strip().rstrip(".").lower() == _NO_CLAIM:
            continue
        row.parts.append(_fastfact_claim(claim))
    return row


def _fastfact_claim(claim: Mapping[str, Any]) -> PartRow:
    result = claim.get("verification_result")
    context = result.get("verification_context") if isinstance(result, dict) else None
    label = claim.get("pre-label")
    if isinstance(result, dict):
        label = result.get("verification_label") or result.get("label") or label
    word = str(label or "").strip().lower()
    part = PartRow("claim", claim["claim"], str(claim.get("claim_id") or ""), {"given": dict(claim)})
    if word and word != "unsure":
        part.data["machine"] = {"label": _MACHINE.get(word, word)}
    for piece in _EVIDENCE.split(context or "")[1:]:
        title = _TITLE.match(piece)
        text = (piece[title.end() :] if title else piece).strip().removeprefix("Content:").strip()
        part.parts.append(PartRow("passage", text, data={"title": title[1].strip()} if title else {}))
    return part
