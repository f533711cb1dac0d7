"""Every export format, for the export page, the command and releases.

A format is written from a ``Reading`` in pieces, so that memory doesn't grow with the benchmark. Most are functions
over gold documents; ``one_file`` and ``zipped`` adapt them:

- ``lines(documents) -> Iterator[str]``: one file, through ``one_file``;
- ``files(documents) -> Iterator[tuple[str, Iterator[str | bytes]]]``: several files by name, through ``zipped``.
  ``documents`` is called once for each pass over the benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from django.db.models import Q

from annotator.core.models import Benchmark
from annotator.exchange.exports import croissant, huggingface, prov
from annotator.exchange.formats import averitec, factcheck_bench, fastfact, original_tool, subtasks, veriscore
from annotator.exchange.formats.about import About
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.writing import Documents
from annotator.exchange.formats.zipping import NamedFiles, zip_of
from annotator.exchange.native import touchstone
from annotator.exchange.queries import native
from annotator.exchange.queries.dataset_card import card_facts
from annotator.exchange.queries.export import INCLUDE, count_documents, gold_documents
from annotator.exchange.tables import tables, tables_parquet

JSONL = "application/jsonl; charset=utf-8"
ZIP = "application/zip"


@dataclass(slots=True)
class Reading:
    """The input of one export. ``named``: people's names instead of pseudonyms, in formats that mention people.

    ``among`` narrows the documents; ``on_document`` is called with each document that has been read, once a pass.
    """

    benchmark: Benchmark
    include: str = INCLUDE[0]
    named: bool = False
    on_document: Callable[[], None] | None = None
    among: Q | None = None

    def documents(self) -> Iterator[GoldDocument]:
        """One pass over the gold documents. Raises ValueError for an unknown ``include``."""
        for document in gold_documents(self.benchmark, include=self.include, among=self.among):
            yield document
            self.tick()

    def count(self) -> int:
        """How many documents one pass has."""
        return count_documents(self.benchmark, include=self.include, among=self.among)

    def tick(self) -> None:
        """Reports that one more document has been written."""
        if self.on_document is not None:
            self.on_document()


Pieces = Iterator[bytes]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format. ``description`` says in one sentence what it is for; ``suffix`` is its file's.

    ``passes``: how many times ``write`` reads the documents. ``tells_people``: it says who did what, so the export must
    choose names or pseudonyms. ``missing()``: what must be installed before it can be written, "" for nothing.
    """

    name: str
    label: str
    description: str
    suffix: str
    media_type: str
    write: Callable[[Reading], Pieces]
    passes: int = 1
    tells_people: bool = False
    missing: Callable[[], str] = lambda: ""

    @property
    def in_file_name(self) -> str:
        """What a file is called after: the format, or how many there are."""
        names = self.name.split(",")
        return self.name if len(names) == 1 else f"{len(names)}-formats"


def one_file(lines: Callable[[Iterator[GoldDocument]], Iterable[str]]) -> Callable[[Reading], Pieces]:
    """A writer of one text file, in UTF-8."""

    def write(reading: Reading) -> Pieces:
        for line in lines(reading.documents()):
            yield line.encode()

    return write


def zipped(files: Callable[[Documents], NamedFiles]) -> Callable[[Reading], Pieces]:
    """A writer of several files as one streamed ZIP: one file after another, each in one pass."""

    def write(reading: Reading) -> Pieces:
        yield from zip_of(files(reading.documents))

    return write


# --- the formats ----------------------------------------------------------------------------------


def _of_people(lines: Callable[..., Pieces]) -> Callable[[Reading], Pieces]:
    """A writer of a format that says who did what and therefore reads more than gold documents."""

    def write(reading: Reading) -> Pieces:
        asked = {"include": reading.include, "named": reading.named, "among": reading.among}
        yield from lines(reading.benchmark, **asked, on_document=reading.tick)

    return write


def _about(benchmark: Benchmark) -> About:
    """What a dataset exported from this page says about itself. A release says more: license, authors, version."""
    return About(name=benchmark.slug, title=benchmark.name, description=benchmark.description)


def _hugging_face(reading: Reading) -> Pieces:
    return zip_of(huggingface.files(reading.benchmark, reading.documents, _about(reading.benchmark)))


def _croissant(reading: Reading) -> Pieces:
    return zip_of(croissant.files(reading.documents, _about(reading.benchmark), card_facts(reading.benchmark)))


_ALL: tuple[ExportFormat, ...] = (
    ExportFormat(
        name=factcheck_bench.NAME,
        label="Factcheck-Bench",
        description="One document per line with the field names, labels, and nesting of the released file, for tools "
        "that read Factcheck-Bench.",
        suffix=".jsonl",
        media_type=JSONL,
        write=one_file(factcheck_bench.lines),
    ),
    ExportFormat(
        name=touchstone.NAME,
        label="Touchstone",
        description="Everything, with nothing lost: each person’s work, how it was settled, suggestions, versions, "
        "times and history. For moving a benchmark, for archives, and for studies of annotation itself.",
        suffix=".jsonl",
        media_type=JSONL,
        write=_of_people(native.lines),
        tells_people=True,
    ),
    ExportFormat(
        name="subtasks",
        label="Subtasks",
        description="Five files of JSON lines, one for each task of Factcheck-Bench, for training and testing one step "
        "by itself.",
        suffix=".zip",
        media_type=ZIP,
        write=zipped(subtasks.files),
    ),
    ExportFormat(
        name="original-tool",
        label="Factcheck-Bench annotation tool",
        description="Input and output files of the original annotation tool’s three screens, to continue work there.",
        suffix=".zip",
        media_type=ZIP,
        write=zipped(original_tool.files),
    ),
    ExportFormat(
        name="csv",
        label="CSV tables",
        description="Documents, sentences, claims, evidence and edits as five tables with exact cells, for scripts and "
        "databases. Spreadsheets run cells that look like formulas; for Excel, choose the next format.",
        suffix=".zip",
        media_type=ZIP,
        write=zipped(tables.files),
    ),
    ExportFormat(
        name="csv-spreadsheet",
        label="CSV tables for spreadsheets",
        description="The same five tables for Excel and other spreadsheets. Text that looks like a formula is not run.",
        suffix=".zip",
        media_type=ZIP,
        write=zipped(partial(tables.files, for_spreadsheets=True)),
    ),
    ExportFormat(
        name="parquet",
        label="Parquet tables",
        description="The same five tables with typed columns, for pandas, DuckDB, Spark and large benchmarks.",
        suffix=".zip",
        media_type=ZIP,
        write=zipped(tables_parquet.files),
        missing=tables_parquet.missing,
    ),
    ExportFormat(
        name="huggingface",
        label="Hugging Face dataset",
        description="A folder for datasets.load_dataset, with a dataset card generated from the data.",
        suffix=".zip",
        media_type=ZIP,
        write=_hugging_face,
    ),
    ExportFormat(
        name="croissant",
        label="Croissant",
        description="The five CSV tables with Croissant metadata, for dataset search and machine-learning loaders.",
        suffix=".zip",
        media_type=ZIP,
        write=_croissant,
    ),
    ExportFormat(
        name="prov",
        label="W3C PROV",
        description="Where every label came from, by whom and from what, one PROV-JSON document per line, for "
        "provenance tools.",
        suffix=".jsonl",
        media_type=JSONL,
        write=_of_people(prov.lines),
        tells_people=True,
    ),
    ExportFormat(
        name="averitec",
        label="AVeriTeC",
        description="One claim per item with question-answer evidence and the four AVeriTeC labels, for AVeriTeC "
        "systems and scorers.",
        suffix=".json",
        media_type="application/json; charset=utf-8",
        write=one_file(averitec.lines),
    ),
    ExportFormat(
        name="fastfact",
        label="FastFact",
        description="FastFact’s annotation file: one response per line with its claims and labels.",
        suffix=".jsonl",
        media_type=JSONL,
        write=one_file(fastfact.lines),
    ),
    ExportFormat(
        name="veriscore",
        label="VeriScore",
        description="VeriScore’s claims, evidence and verification files, for running or checking its later steps.",
        suffix=".zip",
        media_type=ZIP,
        write=zipped(veriscore.files),
    ),
)
FORMATS: dict[str, ExportFormat] = {each.name: each for each in _ALL}


class UnknownFormatError(LookupError):
    """There is no such format. The message lists the known ones."""


def format_named(name: str) -> ExportFormat:
    """The format of that name. Raises UnknownFormatError."""
    if name not in FORMATS:
        raise UnknownFormatError(f"“{name}” isn’t an export format. Choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def formats_named(names: Iterable[str]) -> ExportFormat:
    """The format of that name; of several names, one format that writes them all into one ZIP, a file each.

    Raises UnknownFormatError, also if there is no name.
    """
    chosen = [format_named(name) for name in dict.fromkeys(names)]
    if not chosen:
        raise UnknownFormatError(f"Choose at least one format of {', '.join(FORMATS)}.")
    return chosen[0] if len(chosen) == 1 else _together(chosen)


def _together(chosen: list[ExportFormat]) -> ExportFormat:
    def write(reading: Reading) -> Pieces:
        return zip_of((f"{reading.benchmark.slug}-{each.name}{each.suffix}", each.write(reading)) for each in chosen)

    return ExportFormat(
        name=",".join(each.name for each in chosen),
        label=", ".join(each.label for each in chosen),
        description="Several formats in one ZIP.",
        suffix=".zip",
        media_type=ZIP,
        write=write,
        passes=sum(each.passes for each in chosen),
        tells_people=any(each.tells_people for each in chosen),
        missing=lambda: next((why for each in chosen if (why := each.missing())), ""),
    )
