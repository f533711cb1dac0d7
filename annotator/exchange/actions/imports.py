"""Imports documents and gold: streamed, in batches of one transaction each, with every bad row reported.

A document's identity is its external id, or a hash of prompt and response. The same identity with the same content
counts as unchanged; with other content, it is a bad row, because an import never overwrites.
``annotator.exchange.actions.imported_rows`` writes the rows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar, cast

from django.core.files import File
from django.db import transaction
from django.db.models import Max

from annotator.core.actions.bulk import analyze
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import BadRow, FileError, Problem, bad_row
from annotator.core.models import Benchmark, Document, User
from annotator.core.released import storable
from annotator.exchange.actions import imported_rows
from annotator.exchange.formats.documents import READERS, detect
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.gold_readers import GOLD, GOLD_READERS
from annotator.exchange.formats.incoming import IncomingDocument

BATCH_ROWS = 200
BATCH_CHARACTERS = 8 * 1024 * 1024  # long documents make short batches, which limits memory
PROBLEMS_KEPT = 100
MANY = 500  # documents after which the database updates its statistics

Source = Path | BinaryIO | File  # an uploaded file is read like a stream


class Sized(Protocol):
    """A row that knows its approximate length in characters."""

    @property
    def size(self) -> int: ...


class ImportRow(Sized, Protocol):
    """What imported documents and gold have in common."""

    @property
    def line(self) -> int: ...
    @property
    def identity(self) -> str: ...
    @property
    def content_hash(self) -> str: ...


class Made(Protocol):
    """New documents, ready to be written."""

    def __len__(self) -> int: ...

    def write(self, benchmark: Benchmark, first_order: int) -> list[int]:
        """Needs a transaction. Returns the primary keys of the documents without suggestions of their own."""
        ...


S = TypeVar("S", bound=Sized)
R = TypeVar("R", bound=ImportRow)
T = TypeVar("T")

# Where identities first occurred, and with which content, by the identity's hash: about 200 bytes per document.
FirstRows = dict[int, tuple[int, int]]


@dataclass
class ImportReport:
    """What an import did, or would do on a dry run. ``bad`` counts rows; the first hundred problems are kept.

    ``bad_lines`` are the lines of all bad rows. ``studies``: imported with everyone's work, from a native file.
    ``notes`` are remarks on good rows. ``written`` is false if nothing was stored: on a dry run, or if ``strict`` found
    a bad row.
    """

    read: int = 0
    imported: int = 0
    unchanged: int = 0
    bad: int = 0
    studies: int = 0
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    bad_lines: set[int] = field(default_factory=set)
    elapsed: float = 0.0  # seconds
    written: bool = True
    notes: Counter[str] = field(default_factory=Counter)

    def remarks(self) -> list[str]:
        """Remarks on good rows, each with the number of rows."""
        return [f"{number:,} row{'' if number == 1 else 's'}: {note}" for note, number in self.notes.items()]

    def note(self, row: BadRow) -> None:
        self.bad += 1
        self.bad_lines.add(row.line)
        self.problem_count += len(row.problems)
        for problem in row.problems[: PROBLEMS_KEPT - len(self.problems)]:
            self.problems.append(Problem(problem.line, storable(problem.field), storable(problem.reason)))


@dataclass
class _Import(Generic[R]):
    """One run over a file. ``rows`` restarts the file each time it is called. ``make`` prepares rows for writing; it
    runs ahead in another thread and doesn't use the database."""

    benchmark: Benchmark
    rows: Callable[[], Iterator[R | BadRow]]
    make: Callable[[Sequence[R]], Made]
    by: User | None
    name: str
    on_progress: Callable[[ImportReport], None] | None
    on_imported: Callable[[list[int]], None] | None

    def run(self, *, strict: bool, dry_run: bool) -> ImportReport:
        began = time.monotonic()
        report = ImportReport(written=False)
        if strict or dry_run:
            self._check(report)
        if not dry_run and not (strict and report.bad):
            report = ImportReport()
            self._store(report)
        report.imported = report.imported if report.written or dry_run else 0
        report.elapsed = time.monotonic() - began
        return report

    def _check(self, report: ImportReport) -> None:
        """Count what would be imported."""
        first: FirstRows = {}
        with closing(read_ahead(in_batches(self.rows()))) as batches:
            for batch in batches:
                report.imported += len(self._new(_once(batch, first, report), report))
                self._tell(report)

    def _store(self, report: ImportReport) -> None:
        """Import batch by batch, each in a transaction of its own."""
        first: FirstRows = {}
        with closing(read_ahead(self._made())) as batches:
            for batch, made in batches:
                self._store_batch(_once(batch, first, report), made, report)
                self._tell(report)

    def _made(self) -> Iterator[tuple[list[R | BadRow], Made]]:
        """Each batch, prepared on the assumption that all its good rows are new."""
        for batch in in_batches(self.rows()):
            yield batch, self.make([row for row in batch if not isinstance(row, BadRow)])

    def _tell(self, report: ImportReport) -> None:
        if self.on_progress is not None:
            self.on_progress(report)

    def _new(self, rows: Sequence[R], report: ImportReport) -> list[R]:
        """The rows that the benchmark doesn't have yet. One query."""
        there = dict(
            Document.objects.filter(benchmark=self.benchmark, identity__in=[row.identity for row in rows]).values_list(
                "identity", "content_hash"
            )
        )
        new: list[R] = []
        for row in rows:
            known = there.get(row.identity)
            if known is None:
                new.append(row)
            elif known == row.content_hash:
                report.unchanged += 1
            else:
                report.note(
                    bad_row(
                        row.line,
                        f"{_what_repeats(row)} is already in the benchmark with different content. Nothing was "
                        "overwritten. Give this row another id, or remove it.",
                        "id",
                    )
                )
        return new

    def _store_batch(self, rows: list[R], made: Made, report: ImportReport) -> None:
        if not rows:
            return
        with transaction.atomic():
            # One import at a time writes into a benchmark, so identities and order stay as they were read.
            Benchmark.objects.select_for_update().get(pk=self.benchmark.pk)
            new = self._new(rows, report)
            if not new:
                return
            last = Document.objects.filter(benchmark=self.benchmark).aggregate(last=Max("order"))["last"]
            if len(new) < len(made):
                made = self.make(new)
            ids = made.write(self.benchmark, (last or 0) + 1)
            where = f"lines {new[0].line} to {new[-1].line}"
            Action(
                name="import",
                by=self.by,
                benchmark=self.benchmark,
                reason=f"{len(new)} documents from {self.name}, {where}",
            ).write()
        report.imported += len(new)
        if self.on_imported is not None and ids:
            self.on_imported(ids)


def _once(batch: Sequence[R | BadRow], first: FirstRows, report: ImportReport) -> list[R]:
    """The good rows of a batch whose identity is new in the file. The others are added to the report: as unchanged if
    the content is the same, otherwise as bad."""
    report.read += len(batch)
    good: list[R] = []
    for row in batch:
        if isinstance(row, BadRow):
            report.note(row)
            continue
        content = hash(row.content_hash)
        line, known = first.setdefault(hash(row.identity), (row.line, content))
        if line != row.line and known == content:
            report.unchanged += 1
        elif line != row.line:
            reason = f"{_what_repeats(row)} is already on line {line}, with different content. Keep only one."
            report.note(bad_row(row.line, reason, "id"))
        else:
            good.append(row)
            if isinstance(row, GoldDocument):
                report.notes.update(row.notes)
    return good


def _what_repeats(row: ImportRow) -> str:
    if row.identity.startswith("sha256:"):
        return "this prompt with this response"
    return f"the id “{row.identity}”"


def in_batches(rows: Iterable[S | BadRow]) -> Iterator[list[S | BadRow]]:
    """The rows in batches limited by number and length."""
    batch: list[S | BadRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += 0 if isinstance(row, BadRow) else row.size
        if len(batch) >= BATCH_ROWS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_ahead(items: Iterator[T]) -> Generator[T]:
    """The same items, but each next one is prepared in a thread while the current one is processed.

    This way, the file is read while the database writes earlier rows. At most one item is prepared in advance. Close
    the generator: after that, nothing reads the file.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="import") as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item


def import_documents(
    *,
    benchmark: Benchmark,
    source: Source,
    format: str = "auto",
    filename: str = "",
    by: User | None = None,
    strict: bool = False,
    dry_run: bool = False,
    mapping: Mapping[str, str] | None = None,
    on_progress: Callable[[ImportReport], None] | None = None,
    on_imported: Callable[[list[int]], None] | None = None,
) -> ImportReport:
    """Import (prompt, response) pairs from a path or a seekable binary stream.

    With ``strict``, nothing is written if any row is bad. ``mapping`` names fields' columns that have other names.
    ``on_progress`` is called after each batch, ``on_imported`` after each commit with the primary keys of new documents
    without suggestions of their own. Raises ``FileError`` if the file as a whole can't be read.
    """
    with Opened(source) as stream:
        name = filename or (source.name if isinstance(source, Path) else "a file")
        chosen = detect(stream, name) if format == "auto" else format
        if chosen not in READERS:
            raise FileError(f"“{chosen}” isn’t an import format. Choose one of {', '.join(READERS)}.")
        job: _Import[IncomingDocument] = _Import(
            benchmark=benchmark,
            rows=lambda: READERS[chosen](stream, mapping),
            make=imported_rows.DocumentBatch,
            by=by,
            name=name,
            on_progress=on_progress,
            on_imported=on_imported,
        )
        return job.run(strict=strict, dry_run=dry_run)


def import_gold(
    *,
    benchmark: Benchmark,
    source: Source,
    format: str = GOLD,
    filename: str = "",
    by: User | None = None,
    strict: bool = False,
    dry_run: bool = False,
    on_progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Import documents as gold, adjudicated at all three stages: released Factcheck-Bench, or another of
    ``GOLD_READERS``. Otherwise like ``import_documents``."""
    if format not in GOLD_READERS:
        raise FileError(f"“{format}” isn’t a gold import format. Choose one of {', '.join(GOLD_READERS)}.")
    with Opened(source) as stream:
        job: _Import[GoldDocument] = _Import(
            benchmark=benchmark,
            rows=lambda: GOLD_READERS[format](stream),
            make=imported_rows.GoldBatch,
            by=by,
            name=filename or (source.name if isinstance(source, Path) else "a file"),
            on_progress=on_progress,
            on_imported=None,
        )
        report = job.run(strict=strict, dry_run=dry_run)
        if report.written and report.imported >= MANY:
            analyze(*imported_rows.COLUMNS)
        return report


class Opened:
    """The stream of a source. A path is closed afterwards; a stream belongs to the caller."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.own: BinaryIO | None = None

    def __enter__(self) -> BinaryIO:
        if not isinstance(self.source, Path):
            return cast("BinaryIO", self.source)
        try:
            self.own = self.source.open("rb")
        except OSError as error:
            raise FileError(f"{self.source} cannot be opened: {error.strerror}.") from None
        return self.own

    def __exit__(self, *_: object) -> None:
        if self.own is not None:
            self.own.close()
