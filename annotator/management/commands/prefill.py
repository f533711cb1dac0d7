"""Request the suggestions that documents of a benchmark lack."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, PipelineRun
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import OPEN_STATES, Stage
from annotator.management.named import benchmark_named
from annotator.management.working import work_off
from annotator.suggestions.actions.get_suggestions import get_suggestions
from annotator.suggestions.actions.plans import IN_BATCHES, RunRequest
from annotator.suggestions.queries.runs import progress_of, runs_of


class Command(BaseCommand):
    help = (
        "Ask for suggestions (stage decompose), evidence (stage verify) or revised responses (stage revise) for the "
        "documents that lack them. A running worker does the work; with --wait this command does it itself."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--stage", choices=[stage.value for stage in Stage], default=Stage.DECOMPOSE)
        parser.add_argument("--strategy", metavar="NAME", help="a strategy other than the benchmark's")
        parser.add_argument(
            "--parameter",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a parameter of the strategy; repeat for several (default: the benchmark's parameters)",
        )
        parser.add_argument(
            "--budget-tokens", type=int, metavar="N", help="token budget; the run pauses before exceeding it"
        )
        parser.add_argument(
            "--budget-money", type=float, metavar="N", help="cost budget, in the currency of the prices"
        )
        parser.add_argument(
            "--batches",
            action="store_true",
            help="ask the model in batches: half the price, and each step's answers come within a day",
        )
        parser.add_argument(
            "--wait", action="store_true", help="run in this process and return when done; finishes earlier runs, too"
        )

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        try:
            wish = self._wish(benchmark, options)
            runs = get_suggestions(benchmark=benchmark, stage=Stage(options["stage"]), by=None, wish=wish)
        except (NotAllowedError, BadValueError) as refusal:
            raise CommandError(str(refusal)) from None
        if options["wait"]:
            runs = [*_unfinished(benchmark, options["stage"], runs), *runs]
        if not runs:
            self.stdout.write("Nothing to do: no documents need suggestions.")
            return
        documents = sum(run.items.count() for run in runs)
        if not options["wait"]:
            self.stdout.write(
                f"{documents} documents are waiting for a worker: a Touchstone that is running begins within seconds. "
                "--wait does the work here."
            )
            return
        self._wait(runs, documents)

    def _wish(self, benchmark: Benchmark, options: dict[str, Any]) -> RunRequest:
        """The requested options; all others are the benchmark's own. Raises CommandError, BadValueError."""
        from pipeline.catalogue import choice, choices

        strategy = options["strategy"]
        if strategy and choice(strategy) is None:
            raise CommandError(f"There is no strategy “{strategy}”. Known: {', '.join(c.name for c in choices())}.")
        pairs = [each.partition("=") for each in options["parameter"]]
        if wrong := next((name for name, equals, _ in pairs if not equals), None):
            raise CommandError(f"--parameter {wrong}: write NAME=VALUE.")
        tokens, money = options["budget_tokens"], options["budget_money"]
        return RunRequest(
            strategy=strategy,
            parameters={name.strip(): value.strip() for name, _, value in pairs} or None,
            budget_tokens=benchmark.budget_tokens if tokens is None else tokens,
            budget_money=benchmark.budget_money if money is None else money,
            in_batches=options["batches"],
        )

    def _wait(self, runs: list[PipelineRun], documents: int) -> None:
        if any(IN_BATCHES in run.plan for run in runs):
            self.stdout.write(
                "The model is asked in batches: each step's answers come within a day. If this command ends before, "
                "start it again: it goes on, and pays for nothing twice."
            )
        done = 0
        live = self.stderr.isatty()
        telling = threading.Lock()

        def tell() -> None:
            nonlocal done
            with telling:
                done += 1
                if live:
                    self.stderr.write(f"\r{done} of {documents} documents", ending="" if done < documents else "\n")
                    self.stderr.flush()

        work_off(runs, tell)
        rows = [progress_of(row) for row in runs_of(runs[0].benchmark).filter(pk__in=[run.pk for run in runs])]
        if halted := next((row.run.halted_details or row.run.halted for row in rows if row.run.halted), ""):
            raise CommandError(f"Paused: {halted} Resume it on the benchmark’s “Suggestions” page.")
        finished, failed = sum(row.finished for row in rows), sum(row.failed for row in rows)
        waiting = sum(row.running + row.waiting for row in rows)
        words = f"{finished} documents done, {failed} failed"
        words += f", {waiting} still with a worker." if waiting else "."
        if failed:
            raise CommandError(f"{words} See the benchmark’s “Suggestions” page for the reasons.")
        self.stdout.write(words)


def _unfinished(benchmark: Benchmark, stage: str, new: list[PipelineRun]) -> list[PipelineRun]:
    """Runs that an earlier command or worker has left."""
    runs = runs_of(benchmark).filter(stage=stage, state__in=OPEN_STATES)
    return list(runs.exclude(pk__in=[run.pk for run in new]).order_by("pk"))
