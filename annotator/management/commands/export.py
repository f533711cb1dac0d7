"""Export what is agreed in a benchmark."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.management.named import benchmark_named
from annotator.queries.export import FORMATS, INCLUDE, export_lines


class Command(BaseCommand):
    help = "Export a benchmark, one document a line, in the format of the released Factcheck-Bench file."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
        parser.add_argument("--output", required=True, metavar="FILE", help="the file to write; - for standard output")
        parser.add_argument(
            "--include",
            choices=INCLUDE,
            default=INCLUDE[0],
            help="gold (default): documents agreed at all three stages; all: every document with what is agreed so far",
        )

    def handle(self, **options: Any) -> None:
        lines = export_lines(
            benchmark_named(options["benchmark"]), format=options["format"], include=options["include"]
        )
        if options["output"] == "-":
            for line in lines:
                self.stdout.write(line, ending="")
            return
        target = Path(options["output"])
        count = 0
        try:
            # Written beside it and then put in its place: a file that is there is whole.
            with tempfile.NamedTemporaryFile(
                "w", encoding="ascii", newline="\n", dir=target.parent, prefix=f".{target.name}.", delete=False
            ) as part:
                try:
                    for count, line in enumerate(lines, start=1):  # noqa: B007 - counted for the message
                        part.write(line)
                except BaseException:
                    Path(part.name).unlink()
                    raise
            Path(part.name).chmod(0o666 & ~_umask())
            Path(part.name).replace(target)
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}.") from None
        self.stderr.write(f"{count} documents written to {target}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
