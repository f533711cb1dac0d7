"""Imports a benchmark from its native file, with everyone's work (docs/formats/touchstone.md).

The file's header becomes the benchmark's protocol, so the benchmark must be empty. Documents are written in batches of
one transaction each. A batch that the database refuses is retried document by document, so that the bad line is
reported and the good ones are imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from django.db import DatabaseError, transaction
from django.db.models import Max

from annotator.core import rules
from annotator.core.actions.benchmarks import MAX_PEOPLE, MAX_PRACTICE
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import BadRow, FileError, bad_row
from annotator.core.models import Benchmark, Document, User
from annotator.exchange.actions import native_rows
from annotator.exchange.actions.imports import ImportReport, Opened, Source, in_batches
from annotator.exchange.native import touchstone_reader
from annotator.exchange.native.touchstone_reader import Header, NativeDocument
from annotator.studies.actions.restore import is_restored, restore_study


def import_native(
    *,
    benchmark: Benchmark,
    source: Source,
    filename: str = "",
    by: User | None = None,
    strict: bool = False,
    dry_run: bool = False,
    on_progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Import a file written by ``annotator.exchange.queries.native``. With ``strict``, nothing is written if any line
    is bad.

    Existing documents stay as they are, so an interrupted import can continue. Raises FileError if the header can't be
    read or doesn't fit the benchmark, NotAllowedError for anyone but owners, because the file replaces the protocol.
    """
    if by is not None:
        rules.check_change_protocol(by, benchmark)
    with Opened(source) as stream:
        header = touchstone_reader.read_header(stream)
        job = _NativeImport(benchmark, stream, header, by, filename or "a file", on_progress)
        return job.run(strict=strict, dry_run=dry_run)


class _Undo(Exception):
    """Rolls back a transaction that was only a trial."""


@dataclass
class _NativeImport:
    """One run over a file."""

    benchmark: Benchmark
    stream: BinaryIO
    header: Header
    by: User | None
    name: str
    on_progress: Callable[[ImportReport], None] | None
    renames: bool | None = None  # whether everything gets new ids; decided by the first batch

    def run(self, *, strict: bool, dry_run: bool) -> ImportReport:
        began = time.monotonic()
        report = ImportReport(written=False)
        if strict or dry_run:
            self._pass(report, tried=True)
        if not dry_run and not (strict and report.bad):
            report = ImportReport()
            self._pass(report, tried=False)
        report.imported = report.imported if report.written or dry_run else 0
        report.elapsed = time.monotonic() - began
        return report

    def _pass(self, report: ImportReport, *, tried: bool) -> None:
        """``tried``: each batch is written and rolled back to find out what the database would refuse."""
        lines: dict[str, int] = {}
        for batch in in_batches(touchstone_reader.read(self.stream, self.header)):
            report.read += len(batch)
            good: list[NativeDocument] = []
            for row in batch:
                if isinstance(row, BadRow):
                    report.note(row)
                elif (first := lines.setdefault(row.identity, row.line)) != row.line:
                    report.note(
                        bad_row(row.line, f"duplicate of the document on line {first}. Keep only one.", "identity")
                    )
                else:
                    good.append(row)
            try:
                with transaction.atomic():
                    self._take(good, report)
                    if tried:
                        raise _Undo
            except _Undo:
                pass
            if self.on_progress is not None:
                self.on_progress(report)
        for line, raw in touchstone_reader.studies(self.stream):
            try:
                with transaction.atomic():
                    self._take_study(line, raw, report)
                    if tried:
                        raise _Undo
            except _Undo:
                pass
            except BadValueError as refusal:
                report.note(bad_row(line, str(refusal), "touchstone_study"))

    def _take_study(self, line: int, raw: bytes, report: ImportReport) -> None:
        """One study with everyone's work, unless the benchmark has it already."""
        benchmark = lock_benchmark(self.benchmark.pk)
        people = native_rows.People(self.header.members)
        if not benchmark.documents.exists() and not benchmark.studies.exists():
            self._take_header(benchmark, people)
        if is_restored(benchmark, raw):
            return
        study, found = restore_study(benchmark, raw, people.sure_key, by=None, first_line=line)
        for each in found.problems:
            report.note(BadRow(each.line, (each,)))
        if study is not None:
            report.studies += 1

    def _take(self, rows: Sequence[NativeDocument], report: ImportReport) -> None:
        benchmark = lock_benchmark(self.benchmark.pk)
        new = self._new(benchmark, rows, report)
        try:
            with transaction.atomic():
                self._store(benchmark, new, report)
        except _Undo:
            pass

    def _store(self, benchmark: Benchmark, new: list[NativeDocument], report: ImportReport) -> None:
        """Write documents, and the header before the first of them. Raises _Undo if the benchmark has no documents
        afterwards: it then stays empty for the next batch, or for a corrected file."""
        is_empty = not benchmark.documents.exists()
        people = native_rows.People(self.header.members)
        self._take_header(benchmark, people)
        if not new and is_empty:
            raise _Undo
        if not new:
            return
        if self.renames is None:
            self.renames = native_rows.ids_are_taken(benchmark, new)
        if self.renames:
            new = [native_rows.with_new_ids(benchmark, row, self.header) for row in new]
        count = self._write(benchmark, new, people, report)
        report.imported += count
        if not count and is_empty:
            raise _Undo
        if count:
            where = f"lines {new[0].line} to {new[-1].line}"
            reason = f"{count} documents from {self.name}, {where}"
            Action(name="import", by=self.by, benchmark=benchmark, reason=reason).write()

    def _take_header(self, benchmark: Benchmark, people: native_rows.People) -> None:
        """Write the header into an empty benchmark. If it has documents, they must come from such a file."""
        if not benchmark.documents.exists():
            if benchmark.batches.exists() or benchmark.groups.exists() or benchmark.studies.exists():
                raise FileError(
                    "This benchmark already has groups, batches or studies, and the file defines its own: "
                    "import it into a new benchmark."
                )
            people_needed, practice = (self.header.protocol[name] for name in ("overlap", "practice_documents"))
            if not 1 <= people_needed <= MAX_PEOPLE or practice > MAX_PRACTICE:
                raise FileError(
                    f"The file’s protocol asks for {people_needed} people per document and {practice} practice "
                    f"documents; at most {MAX_PEOPLE} and {MAX_PRACTICE} are possible."
                )
            native_rows.write_header(benchmark, self.header, people)
            return
        given = {row["number"]: row["text"] for row in self.header.tables["guidelines"]}
        if dict(benchmark.guidelines.values_list("number", "text")) != given:
            raise FileError(
                "This benchmark already has documents labeled with different guidelines than the file’s. "
                "Import it into a new, empty benchmark."
            )
        there = set(benchmark.batches.values_list("public_id", flat=True))
        if any(
            {row["id"], native_rows.new_id(benchmark, row["id"])}.isdisjoint(there)
            for row in self.header.tables["batches"]
        ):
            raise FileError(
                "This benchmark already has documents, but lacks batches of the file. Import it into a new, empty "
                "benchmark."
            )

    def _new(self, benchmark: Benchmark, rows: Sequence[NativeDocument], report: ImportReport) -> list[NativeDocument]:
        """The documents that the benchmark doesn't have yet. One query."""
        identities = [row.identity for row in rows]
        there = dict(
            Document.objects.filter(benchmark=benchmark, identity__in=identities).values_list(
                "identity", "content_hash"
            )
        )
        new = [row for row in rows if row.identity not in there]
        for row in rows:
            known = there.get(row.identity)
            if known == row.content_hash:
                report.unchanged += 1
            elif known is not None:
                report.note(
                    bad_row(
                        row.line,
                        "the benchmark already has this document with a different text. Nothing was overwritten: "
                        "import the file into a new benchmark.",
                        "identity",
                    )
                )
        return new

    def _write(
        self,
        benchmark: Benchmark,
        rows: Sequence[NativeDocument],
        people: native_rows.People,
        report: ImportReport,
    ) -> int:
        """Write documents, all at once if possible. Returns how many were imported."""
        order = (Document.objects.filter(benchmark=benchmark).aggregate(last=Max("order"))["last"] or 0) + 1
        try:
            with transaction.atomic():
                native_rows.write_documents(benchmark, rows, order, self.header, people)
            return len(rows)
        except DatabaseError as error:
            if len(rows) == 1:
                report.note(bad_row(rows[0].line, f"violates a data constraint:  {_what(error)}"))
                return 0
        # The people created in a refused batch were rolled back with it.
        return sum(self._write(benchmark, [row], native_rows.People(self.header.members), report) for row in rows)


def _what(error: DatabaseError) -> str:
    """The database's own message in one line, which names the constraint."""
    return " ".join(str(error).split())[:300]
