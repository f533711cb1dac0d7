"""A folder for ``datasets.load_dataset``: the five tables as JSON lines, one file per table and split, the guidelines,
and a dataset card filled in from the data (docs/formats/huggingface.md)."""

from __future__ import annotations

from collections.abc import Mapping

from annotator.core.models import Benchmark
from annotator.exchange.exports.card_counts import CardCounts
from annotator.exchange.exports.dataset_card import CARD, card
from annotator.exchange.formats.about import About
from annotator.exchange.formats.writing import Documents, Files, contents, temporary_files
from annotator.exchange.queries.dataset_card import card_facts
from annotator.exchange.tables.table_columns import TABLES
from annotator.exchange.tables.tables import json_lines, rows_of

SPLIT = "gold"  # the only split, if none were made
_USUAL = ("train", "dev", "validation", "test")


def files(
    benchmark: Benchmark, documents: Documents, about: About, *, splits: Mapping[str, str] | None = None
) -> Files:
    """The files of the folder: (relative path, its content in pieces), in one pass over the documents.

    ``splits`` gives the split of each document by public id ("train", "dev", "test": one word each). Without it, all
    are in one. Raises ValueError for a document without a split.
    """
    names = [SPLIT] if splits is None else sorted(set(splits.values()), key=_rank)
    counts = CardCounts(names)
    with temporary_files(path_of(table.name, split) for table in TABLES for split in names) as found:
        for number, document in enumerate(documents(), start=1):
            split = SPLIT if splits is None else splits.get(document.public_id)
            if split is None:
                raise ValueError(f"Document {document.public_id} is not in any split. Create the splits again.")
            counts.add(document, split)
            for table, rows in rows_of(document, number):
                counts.rows[table.name][split] += len(rows)
                found[path_of(table.name, split)].writelines(json_lines(table, rows))
        yield from contents(found)
    facts = card_facts(benchmark)
    for version in facts.guidelines:
        yield f"guidelines/version-{version.number}.md", iter([version.text.encode()])
    yield CARD, iter([card(about, facts, counts).encode()])


def _rank(split: str) -> tuple[int, str]:
    """The usual splits in their usual order, then others by name."""
    return (_USUAL.index(split) if split in _USUAL else len(_USUAL), split)


def path_of(table: str, split: str) -> str:
    return f"data/{table}/{split}.jsonl"
