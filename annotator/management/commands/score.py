"""Score models' responses by the labels of their claims, or checked claims by AVeriTeC's score."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from django.core.management.base import BaseCommand, CommandError

from annotator.core.file_problems import BadRow, FileError, Problem
from annotator.core.models import Benchmark
from annotator.exchange.formats.answers import AnswerRow, answers, checked_claims
from annotator.leaderboard.queries.answers import gold_answers, judging_runs, run_answers
from annotator.leaderboard.scoring.answer_scores import Metric, ScoreError, score_answers
from annotator.leaderboard.scoring.checked_claims import NAME as AVERITEC
from annotator.leaderboard.scoring.checked_claims import pair, score
from annotator.management.named import benchmark_named, unknown
from annotator.measures.queries.statistics import wholesale
from annotator.measures.statistics.breakdowns import BREAKDOWNS
from pipeline.metrics.averitec import MAX_PAIRS
from pipeline.metrics.f1_at_k import GAMMA

GOLD = "gold"
TOLD = 20

Row = TypeVar("Row")


class Command(BaseCommand):
    help = "Score and rank models by the claim labels of their responses (see docs/formats/scores.md)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="*", type=Path, metavar="FILE", help="responses with labeled claims, JSON lines"
        )
        parser.add_argument("--metric", required=True, choices=[*(each.value for each in Metric), AVERITEC])
        parser.add_argument(
            "--benchmark", metavar="SLUG", help="instead of files: the responses of a benchmark, with --labels"
        )
        parser.add_argument(
            "--labels",
            default=GOLD,
            metavar="gold|run:ID",
            help="with --benchmark: the adjudicated labels (default) or the verdicts of a finished run",
        )
        parser.add_argument("--gold", type=Path, metavar="FILE", help="averitec: the claims with their gold labels")
        parser.add_argument(
            "--max-pairs",
            type=_count,
            default=MAX_PAIRS,
            metavar="N",
            help=f"averitec: how many predicted pairs of a claim count, from the first; default: {MAX_PAIRS}",
        )
        parser.add_argument("--k", type=_above_zero, metavar="K", help="veriscore: K; default: each domain's median")
        parser.add_argument(
            "--gamma", type=_above_zero, default=GAMMA, help=f"fastfact: {GAMMA} by default, as in its released code"
        )
        parser.add_argument("--partial", action="store_true", help="score the valid rows of a file that has errors")
        parser.add_argument("--json", action="store_true", help="everything as JSON instead of a table")

    def handle(self, **options: Any) -> None:
        files: list[Path] = options["files"]
        if bool(files) == bool(options["benchmark"]):
            raise CommandError("Give either files of responses or --benchmark.")
        if options["labels"] != GOLD and not options["benchmark"]:
            raise CommandError("--labels requires --benchmark.")
        faults = _Faults(options["partial"])
        if options["metric"] == AVERITEC:
            if len(files) != 1 or not options["gold"]:
                raise CommandError(
                    "averitec compares one FILE of predictions with the gold: name the gold with --gold FILE."
                )
            report = _averitec(files[0], options["gold"], options["max_pairs"], faults)
        else:
            if files:
                given = list(_read(files, answers, faults))
            else:
                given = _labelled(benchmark_named(options["benchmark"]), options["labels"])
            faults.check()
            try:
                report = score_answers(given, Metric(options["metric"]), k=options["k"], gamma=options["gamma"])
            except ScoreError as error:
                raise CommandError(str(error)) from None
        for line in faults.lines():
            self.stderr.write(line)
        report["faults"] = {"rows": faults.number, "problems": [f"{path}: {each}" for path, each in faults.told]}
        self.stdout.write(
            json.dumps(report, indent=2, ensure_ascii=False) if options["json"] else "\n".join(_lines(report))
        )


class _Faults:
    """The errors of the files. With errors, nothing is scored unless asked for."""

    def __init__(self, partial: bool) -> None:
        self.partial = partial
        self.number = 0
        self.told: list[tuple[Path, Problem]] = []

    def add(self, path: Path, *problems: Problem) -> None:
        self.number += 1
        self.told += [(path, each) for each in problems][: max(0, TOLD - len(self.told))]

    def lines(self) -> list[str]:
        return [f"{path}: {each}" for path, each in self.told] + (
            [f"{self.number:,} rows have errors and were not scored."] if self.number else []
        )

    def check(self) -> None:
        if self.number and not self.partial:
            lines = [*self.lines()[:-1], f"{self.number:,} rows have errors. Nothing was scored."]
            raise CommandError("\n".join([*lines, "Correct the file, or score its valid rows with --partial."]))


def _read(paths: Iterable[Path], read: Callable[[BinaryIO], Iterator[Row | BadRow]], faults: _Faults) -> Iterator[Row]:
    """The valid rows of the files. Raises CommandError if a file can't be read."""
    for path in paths:
        try:
            with path.open("rb") as stream:
                for row in read(stream):
                    if isinstance(row, BadRow):
                        faults.add(path, *row.problems)
                    else:
                        yield row
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        except FileError as error:
            raise CommandError(f"{path}: {error}") from None


def _labelled(benchmark: Benchmark, labels: str) -> list[AnswerRow]:
    """The responses of a benchmark, labeled by the gold or by a run. Raises CommandError that lists the available
    runs."""
    with wholesale():
        if labels == GOLD:
            return list(gold_answers(benchmark))
        runs = {f"run:{run.public_id}": run for run in judging_runs(benchmark)}
        if labels not in runs:
            raise CommandError(unknown("label source", labels, [GOLD, *runs]))
        return list(run_answers(runs[labels]))


def _above_zero(raw: str) -> float:
    try:
        value = float(raw)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"“{raw}” is not above 0.")
    return value


def _count(raw: str) -> int:
    if not raw.isdecimal() or not int(raw):
        raise argparse.ArgumentTypeError(f"“{raw}” is not a whole number above 0.")
    return int(raw)


def _averitec(predicted: Path, gold: Path, max_pairs: int, faults: _Faults) -> dict[str, Any]:
    """Every gold claim with its prediction. Raises CommandError if a file has errors."""
    paired = pair(list(_read([gold], checked_claims, faults)), _read([predicted], checked_claims, faults))
    for problem in [*paired.problems, *paired.missing]:
        faults.add(predicted, problem)
    faults.check()
    if not paired.pairs:
        raise CommandError("There is no claim to score.")
    return score(paired.pairs, max_pairs=max_pairs)


def _lines(report: dict[str, Any]) -> list[str]:
    if report["metric"] == AVERITEC:
        trivial = report["baseline"]
        return [
            f"AVeriTeC score {_with_interval(report['score'], report['interval'])} over {report['claims']:,} claims; "
            f"label accuracy {_with_interval(report['label_accuracy'], report['label_accuracy_interval'])}, "
            f"evidence {report['evidence_mean']:.3f}.",
            f"Trivial baseline, always “{trivial['label']}” with the same evidence: "
            f"{_with_interval(trivial['score'], trivial['interval'])}; "
            f"label accuracy {_with_interval(trivial['label_accuracy'], trivial['label_accuracy_interval'])}.",
            f"METEOR: {report['meteor']}. Only the first {report['max_pairs']} predicted pairs of a claim count"
            + (f"; {report['pairs_beyond']:,} came after them." if report["pairs_beyond"] else "."),
            *_breakdown_lines(report["breakdowns"], "claims"),
        ]  # fmt: skip
    lines = [f"{report['metric']} over {report['answers']:,} answers"]
    if "k" in report:
        lines.append("K: " + ", ".join(f"{domain} {value:g}" for domain, value in report["k"].items()))
    lines += ["", f"  {'':>4}{'model':<32}{'score':>8}{'interval':>18}{'answers':>10}{'supported':>12}{'claims':>10}"]
    for place, each in enumerate(report["models"], start=1):
        interval = "–" if each["interval"] is None else "{:.3f}–{:.3f}".format(*each["interval"])
        lines.append(
            f"  {place:>2}. {each['model']:<32}{each['score']:>8.3f}{interval:>18}{each['answers']:>10,}"
            f"{each['supported_mean']:>12.1f}{each['claims_mean']:>10.1f}"
        )
    for each in report["kendall_tau"]:
        tau = "–" if each["tau"] is None else f"{each['tau']:.3f}"
        lines.append(f"  Kendall's tau, {each['domains'][0]} and {each['domains'][1]}: {tau} ({each['models']} models)")
    return [*lines, *_breakdown_lines(report["breakdowns"], "responses")]


def _with_interval(value: float, interval: Sequence[float] | None) -> str:
    return f"{value:.3f}" + ("" if interval is None else f" ({interval[0]:.3f}–{interval[1]:.3f})")


def _breakdown_lines(breakdowns: dict[str, list[dict[str, Any]]], things: str) -> list[str]:
    lines = []
    for name, groups in breakdowns.items():
        lines += ["", f"  {BREAKDOWNS[name]}"]
        for each in groups:
            score = "too few"
            if each["figures"]:
                score = _with_interval(each["figures"]["score"], each["intervals"]["score"])
            baseline = f"; trivial baseline {each['baseline']['score']:.3f}" if each.get("baseline") else ""
            lines.append(f"  {each['group']:<36.36}{score:>24}  {each['items']:,} {things}{baseline}")
    return lines
