"""Import documents: prompts with the responses of language models."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotator.core.file_problems import FileError
from annotator.exchange.actions.imports import import_documents
from annotator.exchange.formats.documents import FORMATS
from annotator.management.importing import add_benchmark_arguments, find_benchmark, tell
from annotator.management.working import work_off
from annotator.suggestions.actions.get_suggestions import prefill_after_import


class Command(BaseCommand):
    help = "Import documents from a file. Rows with errors are skipped; importing a file again adds no duplicates."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        add_benchmark_arguments(parser)
        parser.add_argument("--format", choices=FORMATS, default="auto")
        parser.add_argument("--dry-run", action="store_true", help="check the file without importing anything")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="FIELD=COLUMN",
            help="map a field to a column with another name, e.g. --map prompt=question",
        )
        parser.add_argument("--no-prefill", action="store_true", help="don't request suggestions")
        parser.add_argument("--wait", action="store_true", help="generate the suggestions now, in this process")

    def handle(self, **options: Any) -> None:
        mapping = dict(each.partition("=")[::2] for each in options["map"])
        dry_run: bool = options["dry_run"]
        new: list[int] = []
        try:
            with transaction.atomic():
                # A dry run leaves nothing behind, not even a benchmark made by --create.
                benchmark = find_benchmark(options["benchmark"], create=options["create"])
                if dry_run:
                    report = import_documents(
                        benchmark=benchmark,
                        source=options["file"],
                        format=options["format"],
                        strict=options["strict"],
                        dry_run=True,
                        mapping=mapping,
                    )
                    transaction.set_rollback(True)
            if not dry_run:
                report = import_documents(
                    benchmark=benchmark,
                    source=options["file"],
                    format=options["format"],
                    strict=options["strict"],
                    mapping=mapping,
                    on_imported=new.extend,
                )
        except FileError as error:
            raise CommandError(str(error)) from None
        if new and not options["no_prefill"]:
            runs = prefill_after_import(benchmark=benchmark, ids=new, by=None)
            if options["wait"]:
                work_off(runs)
        tell(report, self.stdout, self.stderr)
