"""Print the quality of suggestions as tables or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.models import Benchmark, User
from annotator.management.named import benchmark_named, share, unknown
from annotator.measures.queries.suggestion_quality import quality_of, shared_runs
from annotator.measures.suggestion_quality.handling import THINGS, Handled, HandledSuggestions
from annotator.measures.suggestion_quality.measures import FASTFACT, STEPS, THRESHOLD
from annotator.measures.suggestion_quality.report import QualityReport, StrategyColumn, as_json, people_in
from annotator.suggestions.queries.runs import strategy_label
from pipeline.metrics.agreement import Estimate


class Command(BaseCommand):
    help = "Suggestion quality against the gold, and how annotators handled suggestions (see docs/prefill-quality.md)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--strategy", metavar="NAME", default="", help="only the suggestions of this strategy")
        which.add_argument(
            "--run", action="append", default=[], metavar="ID", help="a run to show; repeat to compare several"
        )
        parser.add_argument(
            "--threshold",
            type=share,
            default=THRESHOLD,
            metavar="0-1",
            help=f"minimum token F1 for two claims to match ( {THRESHOLD} by default)",
        )
        parser.add_argument("--json", action="store_true", help="everything as JSON instead of tables")

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        _check(benchmark, options["run"], options["strategy"])
        report = quality_of(
            benchmark, runs=options["run"], strategy=options["strategy"], threshold=options["threshold"]
        )
        if not options["json"]:
            self.stdout.write("\n".join(_lines(report)))
            return
        people = dict(
            User.objects.filter(pk__in=people_in([*report.columns, *report.learned])).values_list("pk", "username")
        )
        asked = {name: options[name] for name in ("strategy", "run") if options[name]}
        found = {"benchmark": benchmark.slug, "filter": asked, **as_json(report, people)}
        self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))


def _check(benchmark: Benchmark, runs: list[str], strategy: str) -> None:
    """Raises CommandError for runs and strategies that this benchmark doesn't have."""
    known = shared_runs(benchmark)
    names = known.order_by("strategy").values_list("strategy", flat=True).distinct()
    if strategy and strategy not in names:
        raise CommandError(unknown("run of the strategy", strategy, names))
    ids = known.values_list("public_id", flat=True)
    for run in runs:
        if not known.filter(public_id=run).exists():
            raise CommandError(unknown("run", run, ids[:20]))


# --- the tables -----------------------------------------------------------------------------------


def _lines(report: QualityReport) -> list[str]:
    if not report.documents:
        return ["No gold yet. A document is gold when all three stages are complete."]
    if not report.columns:
        return [f"{report.documents:,} gold documents, but none of them has suggestions."]
    blind = f", {report.blind_first:,} of them blind first" if report.blind_first else ""
    lines = [
        f"{report.documents:,} gold documents{blind}. Intervals: 95%, from resampling documents. Claims match "
        f"at a word overlap of {report.threshold:g} or more. Macro averages are over the labels of the gold. Trivial "
        "baselines: always the most frequent gold label; every sentence as one claim; the text left unchanged."
    ]
    for column in (*report.columns, *report.learned):
        lines += ["", _name(column), *_accuracy(column), *_handling(column.handled.agreed)]
        if column.handled.blind_first.works:
            lines += ["  Blind first, compared with unaided annotations", *_handling(column.handled.blind_first)]
    published = "; ".join(
        f"{each.name}: {', '.join(f'{done.value} {getattr(each, done):g}' for done in HandledSuggestions)}"
        for each in FASTFACT
    )
    return [*lines, "", f"FastFact, Table 1, mean number of claims per response. {published}."]


def _name(column: StrategyColumn) -> str:
    maker = column.maker
    label = maker.by or ", ".join(
        filter(None, (strategy_label(maker.strategy), maker.model, maker.run and f"run {maker.run}"))
    )
    return f"{label}: {column.documents:,} documents"


def _accuracy(column: StrategyColumn) -> list[str]:
    lines = []
    for step in STEPS:
        shown = [each for each in step.measures if each.name in column.figures and not each.is_detail]
        if shown:
            lines.append(f"  {step.label}")
        for measure in shown:
            figure = column.figures[measure.name]
            paper = "" if measure.paper is None else f"paper {measure.paper:.3f}"
            of = f"{figure.items:,} {measure.thing}"
            lines.append(f"    {measure.label:<46}{_estimate(figure.estimate)} {of:<26}{paper}".rstrip())
            if figure.baseline is not None:
                lines.append(f"    {'  trivial baseline':<46}{_estimate(figure.baseline)}".rstrip())
    return lines


def _estimate(estimate: Estimate) -> str:
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"({estimate.low:.3f} to {estimate.high:.3f})"
    return f"{estimate.value:>7.3f} {interval:<18}"


def _handling(handled: Handled) -> list[str]:
    rows: list[Mapping[str, Any]] = [
        {"thing": THINGS[thing], **{done.value: counts[done] for done in HandledSuggestions}, "documents": works}
        for thing, counts, works in handled.rows()
    ]
    if not rows:
        return []
    heads = "".join(f"{done.label:>11}" for done in HandledSuggestions)
    lines = [f"  {'How they were handled':<30}{heads}{'Documents':>11}"]
    for row in rows:
        numbers = "".join(f"{row[done.value]:>11,}" for done in HandledSuggestions)
        lines.append(f"    {row['thing']:<28}{numbers}{row['documents']:>11,}")
    return lines
