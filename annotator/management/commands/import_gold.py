"""Import released Factcheck-Bench documents as gold."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.actions.imports import import_gold
from annotator.formats.problems import FileError
from annotator.management.importing import add_benchmark_arguments, find_benchmark, tell


class Command(BaseCommand):
    help = "Import the released Factcheck-Bench JSON lines as documents that are agreed at all three stages."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        add_benchmark_arguments(parser)

    def handle(self, **options: Any) -> None:
        try:
            report = import_gold(
                benchmark=find_benchmark(options["benchmark"], create=options["create"]),
                source=options["file"],
                strict=options["strict"],
            )
        except FileError as error:
            raise CommandError(str(error)) from None
        tell(report, self.stdout, self.stderr)
