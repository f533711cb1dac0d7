"""Search texts, such as training data or model output, for the canary strings of releases."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError

from annotator.exchange.models import Release
from annotator.exchange.releases.canary import canaries_in, canary_of

PIECE = 1 << 20  # characters


class Command(BaseCommand):
    help = "Say which releases' canary strings are in texts (see docs/releases.md). Exit code 1 when one is found."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="*", type=Path, metavar="FILE", help="files to search; default: standard input"
        )

    def handle(self, **options: Any) -> None:
        known = {
            canary_of(release.public_id): f"{release.benchmark.slug} {release.version}"
            for release in Release.objects.select_related("benchmark")
        }
        lines = []
        for name, found in self._found(options["files"]):
            lines.append(f"{name}: {found}, {known.get(found, 'of a release that is not in this database')}")
        if lines:
            raise CommandError("\n".join(lines))
        self.stdout.write("No canary string was found.")

    def _found(self, files: list[Path]) -> Iterator[tuple[str, str]]:
        if not files:
            yield from (("standard input", each) for each in canaries_in(_pieces(sys.stdin)))
        for path in files:
            try:
                with path.open(encoding="utf-8", errors="replace") as text:
                    yield from ((str(path), each) for each in canaries_in(_pieces(text)))
            except OSError as error:
                raise CommandError(f"{path} cannot be read: {error.strerror}.") from None


def _pieces(text: IO[str]) -> Iterator[str]:
    while piece := text.read(PIECE):
        yield piece
