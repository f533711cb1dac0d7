"""Reads the native format: each line is checked against ``touchstone.TABLES`` before anything is written.

Everything that the line alone reveals is reported here, with its place: unknown names, wrong types, unknown labels, ids
without a row, a status that the document's annotations don't support. What only the database knows (ids in use, values
that exclude each other) shows when the row is written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.db.models import Field

from annotator.core import lines
from annotator.core.file_problems import BadRow, FileError, RowError, complain
from annotator.core.lines import FileLine, json_object, kind_of
from annotator.core.models import Benchmark
from annotator.core.released import storable, storable_json
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, Role
from annotator.exchange.native import touchstone, touchstone_contents, touchstone_protocols
from annotator.exchange.native.touchstone import DOCUMENT, HEADER_TABLES, TABLES, NativeTable
from annotator.exchange.native.touchstone_protocols import StoredVersion
from annotator.exchange.native.touchstone_values import reader_of

Row = dict[str, Any]
Complaints = list[tuple[str, str]]

MAX_KEY = 140  # characters of a person's key: with "imported-" it must fit a user name
_ID = re.compile(r"[a-z0-9]{4,32}")
_AGAIN = "Export it again from Touchstone, or correct the line."
# Columns of rows that aren't fields of their table: see ``touchstone`` and ``annotator.exchange.queries.native``.
_MORE: dict[str, tuple[str, ...]] = {"runs": ("configuration",), "annotations": ("guidelines",)}
_HEADER_KEYS = {
    *("format", "version", "include", "people", "benchmark", "protocol", "members", "configurations"),
    *("stage_protocol", "protocols"),
    *(table.name for table in HEADER_TABLES),
}


@dataclass(frozen=True, slots=True)
class Header:
    """The first line. ``tables`` holds rows as in the file, with checked values."""

    benchmark: Row
    protocol: Row
    members: list[Row]
    configurations: dict[str, Row]
    stage_protocol: StoredVersion | None
    protocols: list[StoredVersion]
    tables: dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class NativeDocument:
    """A document's line. ``text`` is the line itself, ``own`` the document's fields, ``tables`` its rows."""

    line: int
    text: str
    public_id: str
    batch: str
    own: Row
    tables: dict[str, list[Row]]

    @property
    def identity(self) -> str:
        return str(self.own["identity"])

    @property
    def content_hash(self) -> str:
        return str(self.own["content_hash"])

    @property
    def size(self) -> int:
        return len(self.text)

    def ids(self) -> list[str]:
        """Every public id that the line assigns."""
        return [self.public_id, *(row["id"] for rows in self.tables.values() for row in rows if "id" in row)]


def is_native(head: bytes) -> bool:
    """Do these first bytes of a file start a header?"""
    return re.match(rb'(\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"touchstone"', head) is not None


def is_native_file(path: Path) -> bool:
    """Like ``is_native``, for a file on disk; False if it can't be opened."""
    try:
        with path.open("rb") as stream:
            return is_native(stream.read(200))
    except OSError:
        return False


def read_header(stream: BinaryIO) -> Header:
    """The first line. Raises FileError with its problem."""
    first = next(lines.read_lines(stream), None)
    try:
        if not isinstance(first, FileLine):
            raise RowError(("", "missing or too long."))
        header = json_object(first.text())
        if header.get("format") != touchstone.NAME:
            raise RowError(("format", f"“{touchstone.NAME}” expected."))
        if header.get("version") != touchstone.VERSION:
            raise RowError(
                (
                    "version",
                    f"{header.get('version')!r} is not supported; this Touchstone reads version {touchstone.VERSION}.",
                )
            )
        return _header(header)
    except RowError as error:
        problems = "; ".join(f"{place}: {reason}" if place else reason for place, reason in error.complaints[:5])
        raise FileError(f"The first line isn’t a Touchstone header: {problems} {_AGAIN}") from None


def read(stream: BinaryIO, header: Header) -> Iterator[NativeDocument | BadRow]:
    """The documents after the header, up to the first study."""
    rows = lines.read_lines(stream)
    next(rows)
    for each in rows:
        if isinstance(each, BadRow):
            yield each
            continue
        if is_study_head(each.raw):
            return
        try:
            yield parse(each.text(), each.number, header)
        except RowError as error:
            yield error.at(each.number)


def parse(text: str, number: int, header: Header) -> NativeDocument:
    """One line. Raises RowError with all its problems."""
    row = json_object(text)
    complaints: Complaints = []
    names = {table.name for table in TABLES}
    own = _checked_row(
        DOCUMENT, {name: row[name] for name in row if name not in names and name != "batch"}, "", complaints
    )
    batch = row.get("batch", "")
    if not isinstance(batch, str):
        complaints.append(("batch", f"expected a text, found {kind_of(batch)}."))
    elif batch and batch not in {each["id"] for each in header.tables["batches"]}:
        complaints.append(("batch", "the header has no batch with this id."))
    tables = {table.name: _checked_table(table, row.get(table.name, []), complaints) for table in TABLES}
    if complaints:
        complain(complaints[:20])
    _check_links(tables, header, complaints)
    _check_stage(own, tables, complaints)
    _check_pages(tables["pages"], complaints)
    _check_lists(tables, complaints)
    if not complaints:
        complaints += touchstone_contents.misfits(tables)
    complain(complaints[:20])
    public_id = own.pop("id")
    return NativeDocument(number, text, public_id, batch, own, tables)


def studies(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The studies after the documents: the number of each one's first line, and its lines as a file of its own. Lines
    that can't be read stay in, so that the study is refused with their place."""
    stream.seek(0)
    first, found = 0, bytearray()
    for number, raw in enumerate(stream, start=1):
        if is_study_head(raw):
            if first:
                yield first, bytes(found)
            first, found = number, bytearray()
        if first:
            found += raw
    if first:
        yield first, bytes(found)


def is_study_head(raw: bytes) -> bool:
    """Does the line begin a study (annotator/studies/queries/native.py)?"""
    return raw.startswith(b'{"touchstone_study"')


# --- rows -----------------------------------------------------------------------------------------


def _checked_table(table: NativeTable, rows: Any, complaints: Complaints) -> list[Row]:
    if not isinstance(rows, list):
        complaints.append((table.name, f"expected a list of rows, found {kind_of(rows)}."))
        return []
    return [_checked_row(table, row, f"{table.name}[{place}]", complaints) for place, row in enumerate(rows, start=1)]


def _checked_row(table: NativeTable, row: Any, place: str, complaints: Complaints) -> Row:
    """The row with values of the database's types. A missing field gets its blank value."""
    if not isinstance(row, dict):
        complaints.append((place, f"expected an object, found {kind_of(row)}."))
        return {}

    def wrong(name: str, reason: str) -> None:
        complaints.append((f"{place}.{name}" if place else name, reason))

    checked: Row = {}
    for name in row.keys() - _known(table):
        wrong(name, "the format has no such field.")
    if table.has_id:
        if isinstance(row.get("id"), str) and _ID.fullmatch(row["id"]):
            checked["id"] = row["id"]
        else:
            wrong("id", "expected a public id of letters and digits.")
    for name, needed, blank, value_of in _fields(table):
        if name in row:
            try:
                checked[name] = value_of(row[name])
            except ValueError as error:
                wrong(name, str(error))
        elif needed:
            wrong(name, "it is missing.")
        else:
            checked[name] = blank()
    for name in (*table.links, *table.people, *_MORE.get(table.name, ())):
        value = row.get(name, "")
        if name == "guidelines" and (value == "" or (type(value) is int and value > 0)):
            checked[name] = value
        elif not isinstance(value, str):
            wrong(name, f"expected a text, found {kind_of(value)}.")
        elif name in table.people and not _is_key(value):
            wrong(name, f"a person’s key must be at most {MAX_KEY} printable characters.")
        else:
            checked[name] = value
    for name in table.lists:
        value = row.get(name, [])
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            checked[name] = value
        else:
            wrong(name, "a list of ids is needed.")
    return checked


def _is_key(value: str) -> bool:
    return len(value) <= MAX_KEY and value.isprintable() and "\x00" not in value


@cache
def _known(table: NativeTable) -> frozenset[str]:
    """Every key that a row may have."""
    return frozenset({"id", *table.fields, *table.links, *table.people, *table.lists, *_MORE.get(table.name, ())})


@cache
def _fields(table: NativeTable) -> tuple[tuple[str, bool, Callable[[], Any], Callable[[Any], Any]], ...]:
    """Name, whether it is required, its blank value, how it is checked."""
    return tuple(
        (name, name in table.always, table.column(name).get_default, reader_of(table.column(name)))
        for name in table.fields
    )


# --- what belongs together ------------------------------------------------------------------------


def _check_links(tables: dict[str, list[Row]], header: Header, complaints: Complaints) -> None:
    """Checks that every id a row refers to exists and that no id is used twice."""
    ids: dict[str, set[str]] = {}
    for table in TABLES:
        key = "run" if table.name == "run_items" else "id"
        given = [row.get(key, "") for row in tables[table.name]]
        ids[table.name] = set(given)
        if key == "id" and table.has_id and len(given) != len(ids[table.name]):
            complaints.append((table.name, "duplicate id."))
    numbers = {row["number"] for row in header.tables["guidelines"]}
    for table in TABLES:
        needed = [name for name in table.links if not table.column(name).null]
        for place, row in enumerate(tables[table.name], start=1):
            where = f"{table.name}[{place}]"
            complaints += [(f"{where}.{name}", "it is missing.") for name in needed if not row[name]]
            for name, target in (*table.links.items(), *table.lists.items()):
                named = row[name] if isinstance(row[name], list) else [row[name]]
                if any(each and each not in ids[target] for each in named):
                    complaints.append((f"{where}.{name}", f"“{target}” on this line has no such id."))
            for name in table.people:
                if not row[name] and not table.column(name).null:
                    complaints.append((f"{where}.{name}", "a person’s key is missing."))
            if row.get("guidelines") and row["guidelines"] not in numbers:
                complaints.append((f"{where}.guidelines", "the header has no guidelines with this number."))
            if row.get("configuration") and row["configuration"] not in header.configurations:
                complaints.append((f"{where}.configuration", "the header has no configuration with this name."))


def _check_stage(own: Row, tables: dict[str, list[Row]], complaints: Complaints) -> None:
    """Checks that a document's stage comes after the last adjudicated one."""
    adjudicated = {
        row["stage"]
        for row in tables["annotations"]
        if row["kind"] == AnnotationKind.CONSOLIDATED and row["state"] == AnnotationState.SUBMITTED
    }
    over = 0
    while over < len(STAGES) and STAGES[over] in adjudicated:
        over += 1
    phase = Phase.AGREED if over == len(STAGES) else Phase.INDEPENDENT
    stage = STAGES[min(over, len(STAGES) - 1)]
    if (own["stage"], own["phase"]) != (stage, phase):
        complaints.append(
            (
                "stage",
                f"the adjudicated annotations put the document at {stage.value}, {phase.value}, but the line "
                f"says otherwise.",
            )
        )


def _check_pages(rows: list[Row], complaints: Complaints) -> None:
    """Pages are shared by URL and hash, so a page must match its hash."""
    for place, row in enumerate(rows, start=1):
        if hashlib.sha256(row["text"].encode()).hexdigest() != row["content_hash"]:
            complaints.append((f"pages[{place}].content_hash", "it is not the SHA-256 of the text."))


def _check_lists(tables: dict[str, list[Row]], complaints: Complaints) -> None:
    """The two JSON lists whose items are checked: people of a tally, changes of the history."""
    for place, row in enumerate(tables["tallies"], start=1):
        if not all(isinstance(each, str) and each and _is_key(each) for each in row["people"]):
            complaints.append((f"tallies[{place}].people", "expected a list of people’s keys."))
    for place, row in enumerate(tables["activities"], start=1):
        if not all(
            isinstance(each, dict) and isinstance(each.get("record"), str) and isinstance(each.get("field"), str)
            for each in row["changes"]
        ):
            complaints.append((f"activities[{place}].changes", "each needs “record” and “field”."))


# --- the header -----------------------------------------------------------------------------------


def _header(header: Row) -> Header:
    complaints: Complaints = [(name, "the format has no such field.") for name in header.keys() - _HEADER_KEYS]
    tables = {table.name: _checked_table(table, header.get(table.name, []), complaints) for table in HEADER_TABLES}
    protocol = header.get("protocol")
    checked: Row = {}
    if not isinstance(protocol, dict) or set(protocol) != set(touchstone.PROTOCOL):
        complaints.append(("protocol", f"required fields: {', '.join(touchstone.PROTOCOL)}."))
    else:
        for name, value in protocol.items():
            column = Benchmark._meta.get_field(name)
            try:
                checked[name] = reader_of(cast("Field[Any, Any]", column))(value)
            except ValueError as error:
                complaints.append((f"protocol.{name}", str(error)))
        if checked.get("overlap") == 0:
            complaints.append(("protocol.overlap", "at least one annotator per document is required."))
    members = header.get("members", [])
    roles = [role.value for role in Role]
    if not isinstance(members, list) or not all(
        isinstance(each, dict)
        and isinstance(each.get("person"), str)
        and each["person"]
        and _is_key(each["person"])
        and each.get("role") in roles
        and isinstance(each.get("active"), bool)
        and isinstance(each.get("name", ""), str)
        and len(each.get("name", "")) <= 120
        and storable(each.get("name", "")) == each.get("name", "")
        for each in members
    ):
        complaints.append(("members", "each needs “person”, “role” (a word for a role) and “active” (true or false)."))
    configurations = header.get("configurations", {})
    if not isinstance(configurations, dict) or not all(isinstance(each, dict) for each in configurations.values()):
        complaints.append(("configurations", "expected an object of objects."))
    elif not all(touchstone_contents.is_plan(each) for each in configurations.values()):
        complaints.append(("configurations", touchstone_contents.NO_PLAN))
    if not isinstance(header.get("benchmark"), dict):
        complaints.append(("benchmark", "an object is needed."))
    complain(complaints[:20])
    groups = {row["id"] for row in tables["groups"]}
    for name in ("seats", "batches"):
        complaints += [
            (f"{name}[{place}].group", "the header has no group with this id.")
            for place, row in enumerate(tables[name], start=1)
            if row["group"] not in groups and (row["group"] or name == "seats")
        ]
    complaints += [("seats", "a person’s key is missing.") for row in tables["seats"] if not row["user"]]
    complain(complaints[:20])
    asked = touchstone_protocols.read_stage_version(header["stage_protocol"]) if "stage_protocol" in header else None
    protocols = touchstone_protocols.read_versions(header.get("protocols", []))
    return Header(header["benchmark"], checked, members, storable_json(configurations), asked, protocols, tables)
