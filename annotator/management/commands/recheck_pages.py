"""Check the saved pages of a benchmark: which have changed, are gone or were retracted."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.actions.fields import BadValueError
from annotator.management.named import benchmark_named
from annotator.stages.actions.rechecks import start_recheck
from annotator.stages.queries.saved_pages import concerned_verdicts, last_recheck


class Command(BaseCommand):
    help = (
        "Have a worker check the saved pages of a benchmark's evidence. With --report, print what the last check found."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument(
            "--report", action="store_true", help="print what the last check found, without starting one"
        )

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        if options["report"]:
            self._report(benchmark)
            return
        try:
            recheck = start_recheck(benchmark, by=None)
        except BadValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{recheck.checks.count():,} pages will be checked by a worker.")

    def _report(self, benchmark: Any) -> None:
        last = last_recheck(benchmark)
        if last is None:
            raise CommandError("The saved pages of this benchmark were never checked.")
        self.stdout.write(f"{last.done:,} of {last.total:,} pages checked.")
        for outcome, number in last.found:
            self.stdout.write(f"{outcome.label}: {number:,}")
        for row in concerned_verdicts(last.recheck):
            still = ", passage still there" if row.still_there else ""
            place = f"{row.verdict.annotation.document}: {row.verdict.claim.text}"
            self.stdout.write(f"{row.outcome.label}{still}\t{row.check.snapshot.url}\t{place}")
