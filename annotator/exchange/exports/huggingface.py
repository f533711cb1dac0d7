"""A folder that ``datasets.load_dataset`` reads: the five tables as JSON lines, a file per table and split, the
guidelines, and a dataset card that is filled from the data (docs/formats/huggingface.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from annotator.core.models import Benchmark
from annotator.exchange.exports.card_counts import Counts
from annotator.exchange.exports.dataset_card import CARD, card
from annotator.exchange.formats.about import About
from annotator.exchange.formats.ahead import ahead
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.spool import Files, in_one_pass
from annotator.exchange.queries.dataset_card import card_facts
from annotator.exchange.tables.tables import LARGEST_FIRST, Documents, json_lines, rows_of_all

SPLIT = "gold"  # the one split where nobody made any
_USUAL = ("train", "dev", "validation", "test")


def files(
    benchmark: Benchmark, documents: Documents, about: About, *, splits: Mapping[str, str] | None = None
) -> Files:
    """The files of the folder: (path below it, its content piece by piece), one pass over the documents in all.

    ``splits`` says of each document, by public id, in which split it is ("train", "dev", "test": a word each); without
    it all are in one. Raises ValueError for a document that is in none.
    """
    names = [SPLIT] if splits is None else sorted(set(splits.values()), key=_rank)
    counts = Counts(names)
    paths = [path_of(table.name, split) for table in LARGEST_FIRST for split in names]
    yield from in_one_pass(paths, _parts(documents(), splits, counts))
    facts = card_facts(benchmark)
    for version in facts.guidelines:
        yield f"guidelines/version-{version.number}.md", iter([version.text.encode()])
    yield CARD, iter([card(about, facts, counts).encode()])


def write(
    folder: Path,
    benchmark: Benchmark,
    documents: Documents,
    about: About,
    *,
    splits: Mapping[str, str] | None = None,
) -> list[Path]:
    """Writes the files into a folder that is there; returns their paths. Arguments and errors as for ``files``."""
    written = []
    for name, pieces in files(benchmark, documents, about, splits=splits):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(pieces)
        written.append(path)
    return written


def _rank(split: str) -> tuple[int, str]:
    """The usual splits in their usual order, others after them by name."""
    return (_USUAL.index(split) if split in _USUAL else len(_USUAL), split)


def path_of(table: str, split: str) -> str:
    return f"data/{table}/{split}.jsonl"


def _parts(
    documents: Iterable[GoldDocument], splits: Mapping[str, str] | None, counts: Counts
) -> Iterator[tuple[str, bytes]]:
    def write(numbered: list[tuple[int, GoldDocument]]) -> list[tuple[str, bytes]]:
        """What some documents add to each file."""
        by_split: dict[str, list[tuple[int, GoldDocument]]] = {}
        for number, document in numbered:
            split = SPLIT if splits is None else splits.get(document.public_id)
            if split is None:
                raise ValueError(f"Document {document.public_id} is in no split: make the splits anew.")
            counts.add(document, split)
            by_split.setdefault(split, []).append((number, document))
        written = []
        for split, part in by_split.items():
            for table, rows in rows_of_all(part):
                counts.rows[table.name][split] += len(rows)
                written.append((path_of(table.name, split), json_lines(table, rows)))
        return written

    for written in ahead(enumerate(documents, start=1), write):
        yield from written
