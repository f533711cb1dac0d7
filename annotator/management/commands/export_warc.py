"""Write the pages that a benchmark's evidence comes from, as they were received."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from annotator.exchange.queries.warc import archived_pages
from annotator.management.named import benchmark_named


class Command(BaseCommand):
    help = (
        "Write the pages that a benchmark's evidence comes from as one WARC file (.warc.gz), which any web archive "
        "tool reads. The pages are their owners': check what you may publish."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write, NAME.warc.gz")
        parser.add_argument("--benchmark", required=True, metavar="SLUG")

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        pages = 0
        with options["file"].open("wb") as file:
            for page in archived_pages(benchmark):
                file.write(page.record)
                pages += 1
        self.stdout.write(f"{pages} pages written to {options['file']}.")
