"""Print the figures of a benchmark's studies as JSON or as tables, and write the long table of all answers."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.management.named import benchmark_named, unknown
from annotator.studies.figures.fastfact import alignment_rows
from annotator.studies.models import Study
from annotator.studies.queries.figures import alignment_as_json, figures_as_json, study_figures
from annotator.studies.queries.native import native_lines
from annotator.studies.queries.parquet import MissingParquetError, parquet_bytes
from annotator.studies.queries.stage_table import stage_rows
from annotator.studies.queries.table import COLUMNS, fastfact_lines, long_rows
from annotator.studies.screens.figures import Table, looks_of


class Command(BaseCommand):
    help = "The figures of a benchmark's studies (see docs/protocols.md)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", metavar="SLUG")
        parser.add_argument("--study", metavar="NAME", default="", help="one study; default: all")
        parser.add_argument("--json", action="store_true", help="everything as JSON instead of tables")
        parser.add_argument(
            "--stages", action="store_true", help="with --out: the answers of the finished stages as one long table"
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="write the answers of the one study: a long table (.csv, .parquet), or the whole study (.jsonl)",
        )
        parser.add_argument(
            "--format", choices=["touchstone", "fastfact"], default="touchstone", help="of a .jsonl file"
        )
        parser.add_argument("--names", action="store_true", help="user names in place of pseudonyms")
        parser.add_argument(
            "--statistics",
            type=Path,
            metavar="FILE",
            help="read FastFact-Bench's published annotation statistics, and give its alignment rows as JSON",
        )

    def handle(self, **options: Any) -> None:
        if options["statistics"]:
            self._published(options["statistics"])
            return
        if not options["benchmark"]:
            raise CommandError("Name a benchmark with --benchmark.")
        benchmark = benchmark_named(options["benchmark"])
        if options["stages"]:
            if options["out"] is None:
                raise CommandError("Name a file for the table of the stages with --out.")
            self._table(options["out"], stage_rows(benchmark, named=options["names"]))
            return
        rows = Study.objects.filter(benchmark=benchmark).select_related("version", "benchmark").order_by("id")
        studies = list(rows.filter(name=options["study"]) if options["study"] else rows)
        if options["study"] and not studies:
            raise CommandError(unknown("study", options["study"], rows.values_list("name", flat=True)))
        if options["out"]:
            if len(studies) != 1:
                raise CommandError("Name the study whose answers to write with --study.")
            self._write(studies[0], options)
        elif options["json"]:
            found = [figures_as_json(study_figures(study)) for study in studies]
            self.stdout.write(json.dumps({"benchmark": benchmark.slug, "studies": found}, indent=2, ensure_ascii=False))
        else:
            for study in studies:
                figures = study_figures(study)
                self.stdout.write(f"{study.name}: {figures.complete:,} of {figures.items:,} items complete")
                for table in looks_of(figures)["tables"]:
                    self.stdout.write("\n".join(_lines(table)))

    def _published(self, path: Path) -> None:
        try:
            found = alignment_rows(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as refusal:
            raise CommandError(f"{path.name}: {refusal}") from None
        self.stdout.write(json.dumps([alignment_as_json(row) for row in found], indent=2, ensure_ascii=False))

    def _write(self, study: Study, options: dict[str, Any]) -> None:
        path: Path = options["out"]
        named = options["names"]
        if path.suffix != ".jsonl":
            self._table(path, long_rows(study, named=named))
            return
        lines = fastfact_lines(study) if options["format"] == "fastfact" else native_lines(study, named=named)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.stdout.write(f"Written to {path}.")

    def _table(self, path: Path, rows: Iterator[dict[str, Any]]) -> None:
        if path.suffix == ".csv":
            with path.open("w", encoding="utf-8", newline="") as out:
                writer = csv.DictWriter(out, [name for name, _ in COLUMNS])
                writer.writeheader()
                writer.writerows(rows)
        elif path.suffix == ".parquet":
            try:
                path.write_bytes(parquet_bytes(rows))
            except MissingParquetError as refusal:
                raise CommandError(str(refusal)) from None
        else:
            raise CommandError("Give the file a name that ends in .csv or .parquet; a study’s may end in .jsonl.")
        self.stdout.write(f"Written to {path}.")


def _lines(table: Table) -> list[str]:
    cells = [list(table.heads), *table.rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.heads))]
    rows = [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
    return ["", table.title, *([f"  {table.note}"] if table.note else []), *rows]
