"""Import documents as gold: released Factcheck-Bench, or another format with labeled claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.file_problems import FileError
from annotator.exchange.actions.import_native import import_native
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.formats.gold_readers import GOLD, GOLD_READERS
from annotator.exchange.native.touchstone import NAME as NATIVE
from annotator.exchange.native.touchstone_reader import is_native_file
from annotator.management.importing import add_benchmark_arguments, find_benchmark, tell


class Command(BaseCommand):
    help = "Import documents with their labels, adjudicated at all three stages: released Factcheck-Bench by default."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--format",
            choices=[*GOLD_READERS, NATIVE],
            default=GOLD,
            help="see docs/formats/import.md; a file in Touchstone’s own format is recognized by its first line",
        )
        add_benchmark_arguments(parser)

    def handle(self, **options: Any) -> None:
        file: Path = options["file"]
        benchmark = find_benchmark(options["benchmark"], create=options["create"])
        try:
            if options["format"] == NATIVE or is_native_file(file):
                report = import_native(benchmark=benchmark, source=file, filename=file.name, strict=options["strict"])
            else:
                report = import_gold(
                    benchmark=benchmark, source=file, format=options["format"], strict=options["strict"]
                )
        except FileError as error:
            raise CommandError(str(error)) from None
        tell(report, self.stdout, self.stderr)
