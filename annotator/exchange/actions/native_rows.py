"""Writes the lines of a native file to the database: one bulk insert per table, however many rows.

Called inside the transaction of ``annotator.exchange.actions.import_native``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from django.db.models import ManyToManyField, Model

from annotator.core.actions.bulk import insert, reserve
from annotator.core.models import (
    Batch,
    Benchmark,
    Document,
    Group,
    Membership,
    PageSnapshot,
    PipelineRun,
    ProtocolVersion,
    User,
)
from annotator.core.models.base import ALPHABET, PUBLIC_ID_LENGTH, replacement_id
from annotator.core.protocol_file import canonical
from annotator.core.queries.pseudonyms import IMPORTED_AS
from annotator.core.vocabulary import RunState
from annotator.exchange.native import touchstone
from annotator.exchange.native.touchstone import TABLES, NativeTable
from annotator.exchange.native.touchstone_protocols import StoredVersion
from annotator.exchange.native.touchstone_reader import Header, NativeDocument, Row, parse

_ID = re.compile(rf"(?<![a-z0-9])[{ALPHABET}]{{{PUBLIC_ID_LENGTH}}}(?![a-z0-9])")


class People:
    """The people of a file: inactive users without a password, created when their key first occurs. The file is never
    trusted about existing accounts, so nobody is credited with work they didn't do."""

    def __init__(self, members: Sequence[Row] = ()) -> None:
        self.names = {member["person"]: member.get("name", "") for member in members}
        self._found: dict[str, int] = {}

    def key(self, name: str) -> int | None:
        """The primary key of the file's user of that name; None for a blank name."""
        return self.sure_key(name) if name else None

    def sure_key(self, name: str) -> int:
        """Like ``key``, for a name that isn't blank."""
        if name not in self._found:
            self._found[name] = self._placeholder(name).pk
        return self._found[name]

    def _placeholder(self, key: str) -> User:
        user = User.objects.filter(username=f"imported-{key}", **{f"preferences__{IMPORTED_AS}": key}).first()
        if user is None:
            user = User(
                username=_free_name(f"imported-{key}"),
                display_name=self.names.get(key, ""),
                is_active=False,
                preferences={IMPORTED_AS: key},
            )
            user.set_unusable_password()
            user.save()
        return user


def _free_name(wanted: str) -> str:
    """The name, with a number appended if it is taken."""
    name, number = wanted, 1
    while User.objects.filter(username=name).exists():
        number += 1
        name = f"{wanted}-{number}"
    return name


# --- ids ------------------------------------------------------------------------------------------


def ids_are_taken(benchmark: Benchmark, documents: Sequence[NativeDocument]) -> bool:
    """Does another benchmark of this installation have these documents, as when one is copied?"""
    ids = [document.public_id for document in documents]
    return Document.objects.filter(public_id__in=ids).exclude(benchmark=benchmark).exists()


def new_id(benchmark: Benchmark, old: str) -> str:
    """A replacement for a public id that is taken: always the same for the same benchmark."""
    return replacement_id(benchmark.public_id, old)


def with_new_ids(benchmark: Benchmark, document: NativeDocument, header: Header) -> NativeDocument:
    """The document with new ids throughout, wherever the line mentions them (in decisions and the history, too)."""
    other = {old: new_id(benchmark, old) for old in document.ids()}
    text = _ID.sub(lambda found: other.get(found[0], found[0]), document.text)
    return parse(text, document.line, header)


# --- the header -----------------------------------------------------------------------------------


def write_header(benchmark: Benchmark, header: Header, people: People) -> None:
    """Replaces an empty benchmark's protocol, guidelines, prompts, groups and batches. Its members stay, and those of
    the file are added."""
    for name, value in header.protocol.items():
        setattr(benchmark, name, value)
    # Of an empty benchmark: nobody has worked by these.
    benchmark.protocols.all().delete()
    for version in header.protocols:
        _write_protocol(benchmark, version)
    if header.stage_protocol is not None:
        _write_protocol(benchmark, header.stage_protocol)
        benchmark.protocol_sha256 = header.stage_protocol.sha256
    benchmark.save(update_fields=[*header.protocol, "protocol_sha256"])
    benchmark.guidelines.all().delete()
    benchmark.prompts.all().delete()
    for member in header.members:
        Membership.objects.get_or_create(
            benchmark=benchmark,
            user_id=people.sure_key(member["person"]),
            defaults={"role": member["role"], "active": member["active"]},
        )
    renamed = _free_ids(benchmark, header)
    groups: dict[str, int] = {}
    for table in (touchstone.GUIDELINES, touchstone.PROMPTS, touchstone.GROUPS, touchstone.SEATS, touchstone.BATCHES):
        rows = header.tables[table.name]
        keys = list(reserve(table.model, len(rows)))
        records = [_values(table, row, people) for row in rows]
        for row, record in zip(rows, records, strict=True):
            if table is not touchstone.SEATS:
                record["benchmark_id"] = benchmark.pk
            if table.has_id:
                record["public_id"] = renamed.get(row["id"]) or row["id"]
            if table.links:
                record["group_id"] = groups.get(row["group"])
        if table is touchstone.GROUPS:
            groups = {row["id"]: key for row, key in zip(rows, keys, strict=True)}
        _insert(table.model, keys, records)


def _write_protocol(benchmark: Benchmark, given: StoredVersion) -> None:
    stored = ProtocolVersion.objects.create(
        benchmark=benchmark,
        name=given.protocol.name,
        number=given.number,
        content=canonical(given.protocol),
        sha256=given.sha256,
        frozen_at=given.frozen_at,
    )
    if given.created_at is not None:
        ProtocolVersion.objects.filter(pk=stored.pk).update(created_at=given.created_at)


def _free_ids(benchmark: Benchmark, header: Header) -> dict[str, str]:
    """New ids for the header's groups and batches if this installation has some of them."""
    ids = {name: [row["id"] for row in header.tables[name]] for name in ("groups", "batches")}
    taken = (
        Group.objects.filter(public_id__in=ids["groups"]).exists()
        or Batch.objects.filter(public_id__in=ids["batches"]).exists()
    )
    return {old: new_id(benchmark, old) for name in ids for old in ids[name]} if taken else {}


def _values(table: NativeTable, row: Row, people: People) -> Row:
    """A row's columns and people, by the names of the model's columns."""
    record = {name: row[name] for name in table.fields}
    record.update({f"{name}_id": people.key(row[name]) for name in table.people})
    return record


def _insert(model: type[Model], keys: Sequence[int], records: Sequence[Row]) -> None:
    """Insert records that all have the same columns."""
    if records:
        columns = list(records[0])
        insert(model, ["id", *columns], [(key, *record.values()) for key, record in zip(keys, records, strict=True)])


# --- documents ------------------------------------------------------------------------------------


def write_documents(
    benchmark: Benchmark, rows: Sequence[NativeDocument], first_order: int, header: Header, people: People
) -> None:
    """New documents with all their rows. Raises IntegrityError if values conflict."""
    _Batch(benchmark, rows, header, people).write(first_order)


class _Batch:
    """Documents being imported. ``keys``: for each table, ids to primary keys; for run items, primary keys by document
    and run."""

    def __init__(self, benchmark: Benchmark, rows: Sequence[NativeDocument], header: Header, people: People) -> None:
        self.benchmark = benchmark
        self.rows = rows
        self.header = header
        self.people = people
        self.documents = list(reserve(Document, len(rows)))
        self.keys: dict[str, dict[str, int]] = {}
        self.items: dict[tuple[int, str], int] = {}
        self.guidelines = dict(benchmark.guidelines.values_list("number", "pk"))

    def write(self, first_order: int) -> None:
        renamed = {new_id(self.benchmark, row["id"]): row["id"] for row in self.header.tables["batches"]}
        batches = {
            renamed.get(public_id) or public_id: pk
            for pk, public_id in self.benchmark.batches.values_list("pk", "public_id")
        }
        records = [
            {
                "benchmark_id": self.benchmark.pk,
                "public_id": row.public_id,
                "order": order,
                "batch_id": batches[row.batch] if row.batch else None,
                **row.own,
            }
            for order, row in enumerate(self.rows, start=first_order)
        ]
        _insert(Document, self.documents, records)
        for table in TABLES:
            if table is touchstone.RUNS:
                self._write_runs()
            elif table is touchstone.PAGES:
                self._write_pages()
            else:
                self._write_table(table)

    def _write_table(self, table: NativeTable) -> None:
        rows = [
            (document, row)
            for given, document in zip(self.rows, self.documents, strict=True)
            for row in given.tables[table.name]
        ]
        keys = list(reserve(table.model, len(rows)))
        if table.has_id:
            self.keys[table.name] = {row["id"]: key for (_, row), key in zip(rows, keys, strict=True)}
        if table is touchstone.RUN_ITEMS:
            self.items = {(document, row["run"]): key for (document, row), key in zip(rows, keys, strict=True)}
        _insert(table.model, keys, [self._record(table, row, document) for document, row in rows])
        if table is touchstone.ANNOTATIONS:
            self._name_searches()
        for name in table.lists:
            self._write_list(table, name, [(key, row) for (_, row), key in zip(rows, keys, strict=True)])

    def _record(self, table: NativeTable, row: Row, document: int) -> Row:
        record = _values(table, row, self.people)
        for name, target in table.links.items():
            is_item = table is touchstone.STEP_USES
            record[f"{name}_id"] = self.items[document, row[name]] if is_item else self.keys[target].get(row[name])
        if table.has_id:
            record["public_id"] = row["id"]
        columns = _columns(table)
        if "document_id" in columns:
            record["document_id"] = document
        if "benchmark_id" in columns:
            record["benchmark_id"] = self.benchmark.pk
        if table is touchstone.ANNOTATIONS:
            record["guidelines_id"] = self.guidelines.get(row["guidelines"])
        if table is touchstone.TALLIES:
            record["people"] = [self.people.key(name) for name in row["people"]]
        if table is touchstone.RUN_ITEMS:
            record["state"] = _over(row["state"])
        return record

    def _write_list(self, table: NativeTable, name: str, rows: Sequence[tuple[int, Row]]) -> None:
        """The rows that adjudicated rows were made from."""
        many = cast("ManyToManyField[Any, Any]", table.model._meta.get_field(name))
        one, other = many.m2m_field_name(), many.m2m_reverse_field_name()
        known = self.keys[table.lists[name]]
        insert(
            cast("type[Model]", many.remote_field.through),
            [f"{one}_id", f"{other}_id"],
            [(key, known[linked]) for key, row in rows for linked in row[name]],
        )

    def _write_runs(self) -> None:
        """A run may have been imported with an earlier document."""
        rows = {row["id"]: row for given in self.rows for row in given.tables["runs"]}
        there = PipelineRun.objects.filter(benchmark=self.benchmark, public_id__in=rows)
        known = dict(there.values_list("public_id", "pk"))
        new = [row for public_id, row in rows.items() if public_id not in known]
        keys = list(reserve(PipelineRun, len(new)))
        records = [
            _values(touchstone.RUNS, row, self.people)
            | {
                "benchmark_id": self.benchmark.pk,
                "public_id": row["id"],
                "state": _over(row["state"]),
                "plan": {**self.header.configurations.get(row["configuration"], {}), **row["plan"]},
            }
            for row in new
        ]
        _insert(PipelineRun, keys, records)
        self.keys["runs"] = known | {row["id"]: key for row, key in zip(new, keys, strict=True)}

    def _name_searches(self) -> None:
        """The plan of a person's own search refers to their annotation by primary key."""
        searches = {
            row["id"]: row for given in self.rows for row in given.tables["runs"] if row["plan"].get("annotation")
        }
        for run in PipelineRun.objects.filter(benchmark=self.benchmark, public_id__in=searches):
            run.plan["annotation"] = self.keys["annotations"].get(searches[run.public_id]["plan"]["annotation"])
            run.save(update_fields=["plan"])

    def _write_pages(self) -> None:
        """The page may already exist, from an earlier document or another benchmark."""
        rows = {row["id"]: row for given in self.rows for row in given.tables["pages"]}
        hashes = {row["content_hash"] for row in rows.values()}
        there = {
            (page.url, page.content_hash): page.pk for page in PageSnapshot.objects.filter(content_hash__in=hashes)
        }
        new: dict[tuple[str, str], Row] = {}
        for row in rows.values():
            if (row["url"], row["content_hash"]) not in there:
                new.setdefault((row["url"], row["content_hash"]), row)
        keys = list(reserve(PageSnapshot, len(new)))
        records = [_values(touchstone.PAGES, row, self.people) | {"public_id": row["id"]} for row in new.values()]
        _insert(PageSnapshot, keys, records)
        there |= dict(zip(new, keys, strict=True))
        self.keys["pages"] = {public_id: there[row["url"], row["content_hash"]] for public_id, row in rows.items()}


@cache
def _columns(table: NativeTable) -> frozenset[str]:
    return frozenset(field.attname for field in table.model._meta.concrete_fields)


def _over(state: str) -> str:
    """Imported jobs are all marked as finished; otherwise a worker would continue them."""
    is_over = state in (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED)
    return state if is_over else RunState.CANCELLED.value
