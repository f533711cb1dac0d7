"""Import items into a study of a benchmark, which `--create` makes first."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotator.core.actions.fields import BadValueError
from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark
from annotator.core.protocol import Protocol
from annotator.core.protocol_file import ProtocolError, read_protocol
from annotator.core.queries.protocols import known_names, protocol_named
from annotator.core.rules import NotAllowedError
from annotator.exchange.actions.native_rows import People
from annotator.management.named import benchmark_named, unknown
from annotator.studies.actions.restore import is_study_file, restore_study
from annotator.studies.actions.studies import create_study, import_items, raters_by_name, start_study
from annotator.studies.models import Study

SHOWN = 20


class Command(BaseCommand):
    help = "Import the items of a study: JSON Lines, one item a line (see docs/protocols.md)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--protocol", metavar="NAME", help="a protocol's name, or a protocol file (.json)")
        parser.add_argument(
            "--study", metavar="NAME", default="", help="the study's name; default: the protocol's title"
        )
        parser.add_argument("--create", action="store_true", help="make the study first")
        parser.add_argument("--seed", type=int, default=0, help="decides who gets which items, and in which order")
        parser.add_argument("--rater", action="append", default=[], metavar="USERNAME", help="start with these people")

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        try:
            with transaction.atomic():  # a study whose raters are refused isn’t left behind
                self._import(benchmark, options)
        except (BadValueError, FileError, NotAllowedError, ProtocolError, OSError) as refusal:
            raise CommandError(str(refusal)) from None

    def _import(self, benchmark: Benchmark, options: dict[str, Any]) -> None:
        created = options["create"]
        with options["file"].open("rb") as stream:
            if created and not options["protocol"] and is_study_file(stream):
                self._restore(benchmark, stream, options)
                return
        study = self._created(benchmark, options) if created else self._found(benchmark, options["study"])
        with options["file"].open("rb") as stream:
            report = import_items(study, stream, by=None)
        if report.problems:
            lines = [str(each) for each in report.problems[:SHOWN]]
            raise CommandError("\n".join(["Nothing was imported.", *lines]))
        if options["rater"]:
            start_study(study, raters_by_name(benchmark, options["rater"]), by=None)
        words = (
            f"{report.items:,} item{'s' if report.items != 1 else ''} imported into “{study.name}” ({study.public_id})"
        )
        if report.identical:
            words += f"; {report.identical:,} of them dropped, because their candidates are identical"
        self.stdout.write(f"{words}.")
        if options["rater"]:
            self.stdout.write(f"Started with {len(options['rater'])} raters.")

    def _restore(self, benchmark: Benchmark, stream: BinaryIO, options: dict[str, Any]) -> None:
        """A study's own file, with its protocol and the answers of its people."""
        if options["rater"]:
            raise CommandError("The file brings its own raters: leave out --rater.")
        people = People()
        study, report = restore_study(benchmark, stream.read(), people.sure_key, name=options["study"], by=None)
        if study is None:
            lines = [str(each) for each in report.problems[:SHOWN]]
            raise CommandError("\n".join(["Nothing was imported.", *lines]))
        count = study.assignments.count()
        self.stdout.write(
            f"{report.items:,} items and {count:,} judgments imported into “{study.name}” ({study.public_id})."
        )

    def _created(self, benchmark: Benchmark, options: dict[str, Any]) -> Study:
        if not options["protocol"]:
            raise CommandError("Name a protocol with --protocol.")
        protocol = _protocol(benchmark, options["protocol"])
        return create_study(benchmark, protocol, name=options["study"] or protocol.title, by=None, seed=options["seed"])

    def _found(self, benchmark: Benchmark, name: str) -> Study:
        rows = Study.objects.filter(benchmark=benchmark).select_related("version", "benchmark")
        study = rows.filter(name=name).first()
        if study is None:
            raise CommandError(
                unknown("study", name, rows.values_list("name", flat=True)) + " Or make it with --create."
            )
        return study


def _protocol(benchmark: Benchmark, name: str) -> Protocol:
    if name.endswith(".json"):
        return read_protocol(Path(name).read_bytes())
    found = protocol_named(benchmark, name)
    if found is None:
        raise CommandError(unknown("protocol", name, known_names(benchmark)))
    return found
