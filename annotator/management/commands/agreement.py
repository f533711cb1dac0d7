"""Print a benchmark's inter-annotator agreement as a table or as JSON."""

from __future__ import annotations

import argparse
import datetime as dt
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.models import Benchmark
from annotator.core.vocabulary import STAGES, DisagreementReason
from annotator.management.named import benchmark_named, unknown
from annotator.measures.agreement.report import AgreementReport
from annotator.measures.agreement.tables import as_json
from annotator.measures.queries.agreement import (
    AgreementFilter,
    Settled,
    agreement_of,
    members_of,
    people_in,
    settled_of,
)
from pipeline.metrics.agreement import Estimate

YES_NO = ("yes", "no")


class Command(BaseCommand):
    help = "Inter-annotator agreement, computed from independent labels (see docs/formats/agreement.md)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="everything as JSON instead of a table")
        parser.add_argument("--stage", choices=[stage.value for stage in STAGES], default="")
        parser.add_argument("--person", metavar="USERNAME", help="only this person, with each of their partners")
        parser.add_argument("--partner", metavar="USERNAME", help="with --person: only these two")
        parser.add_argument("--group", metavar="NAME")
        parser.add_argument("--batch", metavar="NAME")
        parser.add_argument(
            "--from",
            dest="since",
            type=_day,
            metavar="DATE",
            help="only stages submitted by all annotators on or after this day",
        )
        parser.add_argument(
            "--to",
            dest="until",
            type=_day,
            metavar="DATE",
            help="only stages submitted by all annotators on or before this day",
        )
        parser.add_argument("--blind-first", choices=YES_NO, help="only blind-first documents")
        parser.add_argument(
            "--cross-annotated", choices=YES_NO, help="only documents with annotators from outside the group"
        )
        parser.add_argument("--by", choices=("week", "month"), default="", help="length of the periods over time")

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        narrowed = _filter(benchmark, options)
        report, settled = agreement_of(benchmark, narrowed), settled_of(benchmark, narrowed)
        people = {key: person.username for key, person in people_in(report).items()}
        if not options["json"]:
            self.stdout.write("\n".join([*_lines(report), *_settled_lines(settled, people)]))
            return
        asked = ("stage", "person", "partner", "group", "batch", "since", "until", "blind_first", "cross_annotated")
        found = {
            "benchmark": benchmark.slug,
            "filter": {name: str(options[name]) for name in asked if options[name]},
            **as_json(report, people, dict(benchmark.batches.values_list("pk", "name"))),
            "settled": {
                "differences": settled.total,
                "reasons": {reason or "not_said": number for reason, number in settled.reasons.items()},
                "people": {
                    people.get(person, ""): {"own": kept.own, "partners": kept.partners, "new": kept.new}
                    for person, kept in settled.kept.items()
                },
            },
        }
        self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))


def _day(raw: str) -> dt.date:
    try:
        return dt.date.fromisoformat(raw)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{raw}” isn’t a date. Write it like 2026-11-20.") from None


def _filter(benchmark: Benchmark, options: dict[str, Any]) -> AgreementFilter:
    """The requested filter. Raises CommandError for unknown names."""
    names = [options[name] for name in ("person", "partner") if options[name]]
    if options["partner"] and not options["person"]:
        raise CommandError("--partner requires --person.")
    if len(set(names)) < len(names):
        raise CommandError("Name two different people.")
    known = {person.username: person.pk for person in members_of(benchmark)}
    for name in names:
        if name not in known:
            raise CommandError(unknown("person", name, known))
    return AgreementFilter(
        stage=options["stage"],
        people=tuple(known[name] for name in names),
        group=_named("group", options["group"], dict(benchmark.groups.values_list("name", "pk"))),
        batch=_named("batch", options["batch"], dict(benchmark.batches.values_list("name", "pk"))),
        since=options["since"],
        until=options["until"],
        blind_first=_yes(options["blind_first"]),
        cross_annotated=_yes(options["cross_annotated"]),
        by=options["by"],
    )


def _named(what: str, name: str | None, known: dict[str, int]) -> int | None:
    if name is None:
        return None
    if name not in known:
        raise CommandError(unknown(what, name, known))
    return known[name]


def _yes(word: str | None) -> bool | None:
    return None if word is None else word == "yes"


# --- the table ------------------------------------------------------------------------------------

_ROW = "  {:<30}{:>7}{:>7}{:>9}{:>9}{:>9}{:>24}{:>9}"


def _lines(report: AgreementReport) -> list[str]:
    if not report.documents:
        return ["No figures yet. They appear when all annotators of a document have submitted a stage."]
    lines = [f"{report.documents:,} documents that several people labeled independently."]
    for stage in report.stages:
        lines += ["", stage.stage.label, _ROW.format("", "n", "docs", "same", "Cohen", "Fleiss", "alpha (95%)", "AC1")]
        for each in stage.labels:
            found = each.figures
            same = "–" if found.percent is None else f"{100 * found.percent.value:.1f}%"
            rest = [_figure(found.cohen), _figure(found.fleiss), _interval(found.alpha), _figure(found.ac1)]
            lines.append(_ROW.format(each.field.label, found.items, found.clusters, same, *rest))
        if stage.claims is not None:
            lines.append(
                f"  Matching claims: F1 {_interval(stage.claims.f1)}, mean similarity of matches "
                f"{_interval(stage.claims.similarity)}, {stage.claims.documents:,} documents"
            )
        lines += [
            f"  {each.field.label}: edit distance {_interval(each.edit_distance)}, word overlap "
            f"{_interval(each.word_overlap)}, {each.pairs:,} pairs"
            for each in stage.texts
        ]
    return lines


def _settled_lines(settled: Settled, people: dict[int, str]) -> list[str]:
    if not settled.total:
        return []
    reasons = ", ".join(
        f"{DisagreementReason(reason).label.lower() if reason else 'not said'} {number:,}"
        for reason, number in settled.reasons.items()
    )
    lines = ["", f"{settled.total:,} differences resolved: {reasons}."]
    return lines + [
        f"  {people.get(person, '')}: own label kept {kept.own:,} of {kept.total:,} times"
        for person, kept in settled.kept.items()
    ]


def _figure(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f}"


def _interval(estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return _figure(estimate)
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"
