"""Print the statistics of a benchmark's gold, as tables or as JSON."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.vocabulary import DiscardReason
from annotator.management.named import benchmark_named, unknown
from annotator.measures.queries.statistics import sources_of, statistics_of
from annotator.measures.statistics.figures import Rule
from annotator.measures.statistics.report import SourceCount, StatisticsReport, as_json
from annotator.measures.statistics.tables import TABLES, table_of


class Command(BaseCommand):
    help = "The figures of a benchmark's gold, as in Factcheck-Bench section 3.3 (see docs/formats/statistics.md)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="everything as JSON instead of tables")
        parser.add_argument("--source", metavar="NAME", default="", help="only documents from this source")
        parser.add_argument(
            "--rule",
            choices=[rule.value for rule in Rule],
            default=Rule.PAPER.value,
            help="which responses are false where false ones alone are counted: by the paper's count (default), or by "
            "the rule of the released field",
        )

    def handle(self, **options: Any) -> None:
        benchmark, rule = benchmark_named(options["benchmark"]), Rule(options["rule"])
        sources = sources_of(benchmark)
        report = statistics_of(benchmark, sources, _source(sources, options["source"]))
        if options["json"]:
            asked = {"source": report.source} if report.source else {}
            found = {"benchmark": benchmark.slug, "filter": asked, **as_json(report, rule)}
            self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(report, rule)))


def _source(sources: list[SourceCount], name: str) -> str:
    known = [each.source for each in sources if each.source]
    if name and name not in known:
        raise CommandError(unknown("source", name, known))
    return name


def _lines(report: StatisticsReport, rule: Rule) -> list[str]:
    if not report.gold:
        return ["No gold yet. A document is gold when all three stages are complete."]
    lines = [
        f"{report.gold:,} gold documents of {report.collected:,}; {report.in_work:,} in progress and "
        f"{report.discarded:,} discarded are excluded."
    ]
    if report.discards:
        counted = (f"{DiscardReason(code).label} {number:,}" for code, number in report.discards.items())
        lines.append(f"Discarded: {'; '.join(counted)}.")
    for name, title in TABLES.items():
        heads, *rows = table_of(report, name, rule)
        if rows:
            lines += ["", title, *_aligned([[str(cell) for cell in row] for row in (heads, *rows)])]
    return lines


def _aligned(cells: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
