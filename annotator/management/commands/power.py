"""Print what differences between systems a benchmark can detect, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.management.named import benchmark_named
from annotator.measures.queries.power import DIFFERENCES, powers_of
from pipeline.metrics.power import ACCURACY, LEVEL, POWER


class Command(BaseCommand):
    help = (
        "The smallest difference between two systems that a benchmark's gold detects in 80% of cases, and how many "
        "documents it takes to detect a smaller one (see docs/formats/statistics.md)."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG", help="a benchmark, or a pilot for it")
        parser.add_argument("--source", default="", metavar="NAME", help="documents from this source alone")
        parser.add_argument("--accuracy", type=_share, default=ACCURACY, help=f"of the systems, {ACCURACY} by default")
        parser.add_argument(
            "--documents", type=_count, metavar="N", help="what N documents like these would tell, instead of today's"
        )
        parser.add_argument("--json", action="store_true", help="everything as JSON instead of a table")

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        found = powers_of(benchmark, accuracy=options["accuracy"], source=options["source"])
        if not found:
            raise CommandError("There is no gold yet: figures come when a document is adjudicated at all three stages.")
        tasks = [_task(each.task, each.power, options["documents"]) for each in found]
        if options["json"]:
            report = {
                "benchmark": benchmark.slug,
                "power": POWER,
                "level": LEVEL,
                "accuracy": options["accuracy"],
                "tasks": {each.pop("task"): each for each in tasks},
            }
            self.stdout.write(json.dumps(report, indent=2))
        else:
            self.stdout.write("\n".join(_lines(tasks)))


def _task(task: Any, power: Any, documents: int | None) -> dict[str, Any]:
    detectable = {
        metric: power.with_documents(documents or power.documents, metric=metric) for metric in ("accuracy", "f1_macro")
    }
    return {
        "task": task.value,
        "items": power.items,
        "documents": power.documents,
        "correlation": power.correlation,
        "detectable": detectable,
        "documents_for": {
            metric: {f"{each:.2f}": power.documents_for(each, metric=metric) for each in DIFFERENCES}
            for metric in detectable
        },
    }


def _lines(tasks: list[dict[str, Any]]) -> list[str]:
    heads = ["items", "documents", "correlation", "accuracy", "macro F1"]
    heads += [f"for {each:.2f}" for each in DIFFERENCES]
    lines = [
        f"The smallest difference between two systems found in {POWER:.0%} of the cases, at a level of {LEVEL:.0%};",
        "at the right, how many documents it takes to detect a difference in accuracy.",
        "",
        f"  {'':<28}" + "".join(f"{head:>12}" for head in heads),
    ]
    for each in tasks:
        numbers = [each["correlation"], each["detectable"]["accuracy"], each["detectable"]["f1_macro"]]
        needed = each["documents_for"]["accuracy"].values()
        cells = [f"{each['items']:,}", f"{each['documents']:,}"]
        cells += ["too few" if number is None else f"{number:.3f}" for number in numbers]
        cells += ["–" if number is None else f"{number:,}" for number in needed]
        lines.append(f"  {each['task']:<28}" + "".join(f"{cell:>12}" for cell in cells))
    return lines


def _share(raw: str) -> float:
    try:
        value = float(raw)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"“{raw}” is not between 0 and 1.")
    return value


def _count(raw: str) -> int:
    if not raw.isdecimal() or int(raw) < 2:
        raise argparse.ArgumentTypeError(f"“{raw}” is not a number of documents, 2 or more.")
    return int(raw)
