"""The files of a release: written to a folder, listed with their hashes, and packed.

Nothing in them depends on when or where they are written, so the same gold and the same release give the same bytes.
"""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotator.core.vocabulary import Split
from annotator.exchange.exports import croissant, huggingface, prov, release_texts
from annotator.exchange.exports.catalogue import Reading
from annotator.exchange.exports.dataset_card import CARD
from annotator.exchange.exports.wacz import write_wacz
from annotator.exchange.formats import factcheck_bench
from annotator.exchange.formats.about import About
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.zipping import zip_of
from annotator.exchange.models import Release
from annotator.exchange.native import touchstone
from annotator.exchange.queries import native
from annotator.exchange.queries.dataset_card import card_facts
from annotator.exchange.queries.soft_labels import soft_labels
from annotator.exchange.queries.warc import ArchivedPage, archived_pages
from annotator.exchange.releases.canary import canary_of
from annotator.exchange.releases.differences import Fingerprint, fingerprint
from annotator.exchange.tables import tables, tables_parquet

MANIFEST = "MANIFEST.sha256"
PAGES = "pages.wacz"
BLOCK = 1024 * 1024  # bytes read at once


class GoldChangedError(Exception):
    """A document became gold, or stopped being gold, while the gold was read."""


@dataclass(slots=True)
class Contents:
    """The input of a release. ``splits`` and ``groups`` are keyed by the document's public id; ``earlier`` are the
    previous ready releases, newest first."""

    release: Release
    reading: Reading
    splits: Mapping[str, Split]
    groups: Mapping[str, str]
    earlier: Sequence[Release]

    def documents(self) -> Iterator[GoldDocument]:
        """One pass over the gold. Raises GoldChangedError for a document that became gold after the splits were
        drawn."""
        for document in self.reading.documents():
            if document.public_id not in self.splits:
                raise GoldChangedError
            yield document

    def about(self) -> About:
        """What the dataset says about itself."""
        release = self.release
        return About(
            name=release.benchmark.slug,
            title=release.title,
            description=release.benchmark.description,
            version=release.version,
            licence=release.licence,
            authors=tuple(release.authors),
            published=release.created_at.date(),
            canary=canary_of(release.public_id),
        )


# --- the formats ----------------------------------------------------------------------------------


def write_splits(folder: Path, contents: Contents) -> dict[str, Fingerprint]:
    """``splits.csv`` and the released format, one file per split. Yields each document's fingerprint."""
    found: dict[str, Fingerprint] = {}
    with ExitStack() as stack:
        place = folder / factcheck_bench.NAME
        place.mkdir()
        files = {
            split: stack.enter_context((place / f"{split}.jsonl").open("w", encoding="ascii", newline="\n"))
            for split in Split
            if split in set(contents.splits.values())
        }
        rows = csv.writer(stack.enter_context((folder / "splits.csv").open("w", encoding="utf-8", newline="")))
        rows.writerow(["document", "external_id", "split", "group"])
        for document in contents.documents():
            split, group = contents.splits[document.public_id], contents.groups[document.public_id]
            files[split].write(factcheck_bench.line(document) + "\n")
            rows.writerow([document.public_id, document.external_id, split, group])
            found[document.public_id] = replace(fingerprint(document), split=split)
    return found


def write_tables(folder: Path, contents: Contents) -> None:
    """The tables as CSV, with their Croissant metadata."""
    _write_all(folder / "tables", tables.files(contents.documents))
    facts = card_facts(contents.release.benchmark)
    metadata = croissant.describe(folder / "tables", contents.about(), facts, below="tables/")
    (folder / croissant.NAME).write_bytes(metadata)


def write_parquet(folder: Path, contents: Contents) -> None:
    """The tables as Parquet."""
    _write_all(folder / "tables", tables_parquet.files(contents.documents))


def write_hugging_face(folder: Path, contents: Contents) -> None:
    """The dataset card, the guidelines, and a file per table and split, which ``datasets`` can load."""
    release = contents.release
    _write_all(
        folder,
        huggingface.files(release.benchmark, contents.documents, contents.about(), splits=contents.splits),
    )
    with (folder / CARD).open("a", encoding="utf-8", newline="\n") as card:
        card.write(release_texts.about_release(release))


def write_native(folder: Path, contents: Contents) -> None:
    """The complete history of the gold, in the native format."""
    named, tick = contents.release.names_people, contents.reading.tick
    lines = native.lines(contents.release.benchmark, named=named, on_document=tick)
    _write_all(folder, [(f"{touchstone.NAME}.jsonl", lines)])


def write_provenance(folder: Path, contents: Contents) -> None:
    """Where every label came from, as PROV."""
    named, tick = contents.release.names_people, contents.reading.tick
    lines = prov.lines(contents.release.benchmark, named=named, on_document=tick)
    _write_all(folder, [("prov.jsonl", lines)])


def write_soft_labels(folder: Path, contents: Contents) -> None:
    """All raters' own labels, before adjudication, an item a line; empty where nobody labeled these documents here."""
    release = contents.release
    rows = soft_labels(release.benchmark, splits=contents.splits, named=release.names_people)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    _write_all(folder, [("soft-labels.jsonl", lines)])


def formats() -> list[Callable[[Path, Contents], None]]:
    """All writers except ``write_splits``. Each reads the documents once. Parquet is written if pyarrow is
    installed."""
    parquet = [] if tables_parquet.missing() else [write_parquet]
    return [write_tables, *parquet, write_hugging_face, write_native, write_provenance]


def _write_all(folder: Path, files: Iterable[tuple[str, Iterable[str | bytes]]]) -> None:
    for name, pieces in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for piece in pieces:
                file.write(piece.encode() if isinstance(piece, str) else piece)


def write_pages(folder: Path, contents: Contents, alive: Callable[[], None]) -> None:
    """The saved pages of the gold's evidence, as WACZ. ``alive`` is called before each."""

    def pages() -> Iterator[ArchivedPage]:
        for page in archived_pages(contents.release.benchmark, gold=True):
            alive()
            yield page

    release = contents.release
    created = f"{release.created_at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
    write_wacz(folder / PAGES, pages(), title=f"{release.title}: pages of the evidence", created=created)


# --- the texts ------------------------------------------------------------------------------------


def write_texts(folder: Path, contents: Contents) -> None:
    """The citation, the changelog and the license. By now, the release knows its differences."""
    release = contents.release
    written = {
        "CITATION.cff": release_texts.citation_cff(release),
        "CHANGELOG.md": release_texts.changelog([release, *contents.earlier]),
        "LICENSE.txt": release_texts.licence_note(release),
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


# --- hashes and the archive -----------------------------------------------------------------------


def write_manifest(folder: Path) -> list[dict[str, Any]]:
    """``MANIFEST.sha256``, in the format of ``sha256sum``; and the files with path, size in bytes and hash."""
    files = [_entry(folder, path) for path in _paths(folder)]
    lines = "".join(f"{each['sha256']}  {each['path']}\n" for each in files)
    (folder / MANIFEST).write_text(lines, encoding="utf-8", newline="\n")
    return [*files, _entry(folder, folder / MANIFEST)]


def pack(folder: Path, top: str) -> Iterator[bytes]:
    """The folder as a ZIP, inside one folder ``top``: sorted and without dates, so that the same files give the same
    bytes."""
    files = ((f"{top}/{path.relative_to(folder).as_posix()}", blocks_of(path)) for path in _paths(folder))
    yield from zip_of(files)


def hash_of(path: Path) -> str:
    """SHA-256 of a file."""
    found = hashlib.sha256()
    for block in blocks_of(path):
        found.update(block)
    return found.hexdigest()


def blocks_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _entry(folder: Path, path: Path) -> dict[str, Any]:
    return {"path": path.relative_to(folder).as_posix(), "size": path.stat().st_size, "sha256": hash_of(path)}
