"""Ask the pipeline for what documents of a benchmark lack."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.actions.jobs import get_suggestions
from annotator.management.importing import find_benchmark
from annotator.management.working import work_off
from annotator.models import PipelineRun
from annotator.queries.runs import progress_of, runs_of
from annotator.rules import NotAllowedError
from annotator.vocabulary import Stage


class Command(BaseCommand):
    help = (
        "Ask for suggestions (stage decompose) or evidence (stage verify) for the documents that lack them. A running "
        "worker does the work; with --wait this command does it itself."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--stage", choices=(Stage.DECOMPOSE.value, Stage.VERIFY.value), default=Stage.DECOMPOSE)
        parser.add_argument("--wait", action="store_true", help="do the work here and return when it is done")

    def handle(self, **options: Any) -> None:
        benchmark = find_benchmark(options["benchmark"])
        try:
            runs = get_suggestions(benchmark=benchmark, stage=Stage(options["stage"]), by=None)
        except NotAllowedError as refusal:
            raise CommandError(str(refusal)) from None
        if not runs:
            self.stdout.write("Nothing to do: every document that could be helped has what it needs.")
            return
        documents = sum(run.items.count() for run in runs)
        if not options["wait"]:
            self.stdout.write(
                f"{documents} documents are waiting for a worker: a Touchstone that is running begins within seconds. "
                "--wait does the work here."
            )
            return
        self._wait(runs, documents)

    def _wait(self, runs: list[PipelineRun], documents: int) -> None:
        done = 0
        live = self.stderr.isatty()

        def tell() -> None:
            nonlocal done
            done += 1
            if live:
                self.stderr.write(f"\r{done} of {documents} documents", ending="" if done < documents else "\n")
                self.stderr.flush()

        work_off(runs, tell)
        rows = [progress_of(row) for row in runs_of(runs[0].benchmark).filter(pk__in=[run.pk for run in runs])]
        finished, failed = sum(row.finished for row in rows), sum(row.failed for row in rows)
        waiting = sum(row.running + row.waiting for row in rows)
        words = f"{finished} documents done, {failed} failed"
        words += f", {waiting} still with a worker." if waiting else "."
        if failed:
            raise CommandError(f"{words} The benchmark’s page “Suggestions” lists why.")
        self.stdout.write(words)
