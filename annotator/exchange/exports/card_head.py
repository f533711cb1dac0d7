"""The YAML header of a dataset card, read by the Hugging Face hub and ``datasets``: license, tasks, files and columns.

Its fields: https://huggingface.co/docs/hub/datasets-cards and
https://huggingface.co/docs/hub/datasets-manual-configuration.
"""

from __future__ import annotations

import json
from typing import Any

from annotator.exchange.exports.card_counts import CardCounts
from annotator.exchange.formats.about import About
from annotator.exchange.tables.table_columns import TABLES, ColumnKind, TableColumn

DEFAULT_TABLE = "claims"

# Licenses with an identifier on the hub, https://huggingface.co/docs/hub/repositories-licenses.
_HUB_LICENCES = {
    "apache-2.0", "mit", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0", "odc-by", "odbl", "pddl", "bsd-3-clause", "gpl-3.0",
}  # fmt: skip
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_DTYPES = {ColumnKind.INTEGER: "int64", ColumnKind.BOOLEAN: "bool"}


def head_of(about: About, counts: CardCounts) -> str:
    """The header, including the delimiter lines."""
    return f"---\n{_yaml(front_matter(about, counts))}---\n\n"


def front_matter(about: About, counts: CardCounts) -> dict[str, Any]:
    """The fields read by the hub: license, languages, tasks, size, and a configuration with its files for each
    table."""
    languages = list(about.languages) or sorted(counts.languages)
    licence = about.licence.lower()
    head: dict[str, Any] = {"pretty_name": about.title}
    if licence:
        head |= (
            {"license": licence} if licence in _HUB_LICENCES else {"license": "other", "license_name": about.licence}
        )
    if languages:
        head["language"] = languages
    return head | {
        "task_categories": ["text-classification"],
        "task_ids": ["fact-checking"],
        "size_categories": [_size(counts.rows[DEFAULT_TABLE].total())],
        "tags": ["fact-checking", "factuality", "claim-decomposition", "evidence"],
        "configs": [
            {
                "config_name": table.name,
                "data_files": [
                    {"split": split, "path": f"data/{table.name}/{split}.jsonl"}
                    for split in splits_with_rows(counts, table.name)
                ],
                **({"default": True} if table.name == DEFAULT_TABLE else {}),
            }
            for table in TABLES
            if splits_with_rows(counts, table.name)
        ],
        "dataset_info": [
            {"config_name": table.name, "features": [_feature(column) for column in table.columns]}
            for table in TABLES
            if splits_with_rows(counts, table.name)
        ],
    }


def splits_with_rows(counts: CardCounts, table: str) -> list[str]:
    """The splits in which the table has rows; ``datasets`` can't read empty files."""
    return [split for split in counts.splits if counts.rows[table][split]]


def _feature(column: TableColumn) -> dict[str, str]:
    return {"name": column.name, "dtype": _DTYPES.get(column.kind, "string")}


def _size(number: int) -> str:
    return next((name for below, name in _SIZES if number < below), "n>1M")


def _yaml(value: Any, indent: str = "") -> str:
    """Mappings and lists in block style, all text in double quotes, which YAML shares with JSON."""
    if isinstance(value, dict):
        return "".join(f"{indent}{name}:{_yaml_value(each, indent)}" for name, each in value.items())
    return "".join(f"{indent}- {_yaml_item(each, indent)}" for each in value)


def _yaml_value(value: Any, indent: str) -> str:
    if value and isinstance(value, list | dict):
        return "\n" + _yaml(value, indent + "  ")
    return f" {json.dumps(value, ensure_ascii=False)}\n"


def _yaml_item(value: Any, indent: str) -> str:
    if isinstance(value, dict):
        return _yaml(value, indent + "  ").lstrip()
    return f"{json.dumps(value, ensure_ascii=False)}\n"
