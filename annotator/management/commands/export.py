"""Export a benchmark's adjudicated labels in any of the formats."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.actions.fields import BadValueError
from annotator.core.screens.document_filters import filter_written
from annotator.exchange.exports.catalogue import FORMATS, Reading, formats_named
from annotator.exchange.queries.export import INCLUDE, among_of
from annotator.management.named import benchmark_named


class Command(BaseCommand):
    help = "Export a benchmark in one of the formats of docs/formats/README.md."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument(
            "--format",
            action="append",
            choices=list(FORMATS),
            help=f"the format (default: {next(iter(FORMATS))}); give it several times for several formats in one ZIP",
        )
        parser.add_argument("--output", required=True, metavar="FILE", help="the file to write; - for standard output")
        parser.add_argument(
            "--include",
            choices=INCLUDE,
            default=INCLUDE[0],
            help="gold (default): documents adjudicated at all three stages; "
            "all: every document with what is adjudicated so far",
        )
        parser.add_argument(
            "--filter",
            default="",
            metavar="QUERY",
            help="only some documents: the part after the question mark in the address of the filtered page Documents, "
            "such as “stage=verify&model=alpha”",
        )
        parser.add_argument(
            "--named",
            action="store_true",
            help="write people’s names instead of pseudonyms, in formats that say who did what",
        )

    def handle(self, **options: Any) -> None:
        chosen = formats_named(options["format"] or [next(iter(FORMATS))])
        if why := chosen.missing():
            raise CommandError(why)
        benchmark = benchmark_named(options["benchmark"])
        try:
            among = among_of(benchmark, filter_written(options["filter"], manages=True))
        except BadValueError as refusal:
            raise CommandError(str(refusal)) from None
        reading = Reading(benchmark, include=options["include"], named=options["named"], among=among)
        pieces = chosen.write(reading)
        if options["output"] == "-":
            self._print(pieces)
            return
        target = Path(options["output"])
        try:
            _write(pieces, target)
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}.") from None
        self.stderr.write(f"{reading.count()} documents written to {target}.")

    def _print(self, pieces: Iterator[bytes]) -> None:
        """To standard output: raw bytes, if it accepts them."""
        out = getattr(sys.stdout, "buffer", None)
        for piece in pieces:
            if out is None:
                self.stdout.write(piece.decode(), ending="")
            else:
                out.write(piece)


def _write(pieces: Iterator[bytes], target: Path) -> None:
    """Written to a temporary file and then moved, so that an existing file is always complete."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
        try:
            for piece in pieces:
                part.write(piece)
        except BaseException:
            Path(part.name).unlink()
            raise
    Path(part.name).chmod(0o666 & ~_umask())
    Path(part.name).replace(target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
