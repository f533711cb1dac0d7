"""Score a fact-checker's predictions against the gold of a benchmark, or its baselines alone."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark
from annotator.core.vocabulary import Task
from annotator.leaderboard.predictions import predictions
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.queries.scoring import FORMATS, NoGoldError, heading, joined_of, scorer_of
from annotator.leaderboard.scoring.crossing import Cell
from annotator.leaderboard.scoring.items import Gold, TaskItem
from annotator.leaderboard.scoring.joining import KINDS, Joined
from annotator.leaderboard.scoring.label_sets import Undetermined
from annotator.leaderboard.scoring.report import SEED, Scorer, told
from annotator.leaderboard.scoring.semantic import SemanticError, semantic_scores
from annotator.leaderboard.scoring.tasks import Level, Options, measure_of
from annotator.leaderboard.scoring.texts import SAME_CLAIM
from annotator.management.named import benchmark_named, share
from annotator.measures.queries.breakdowns import traits_of
from annotator.measures.queries.statistics import wholesale
from annotator.measures.statistics.breakdowns import BREAKDOWNS, groups_of
from pipeline.metrics.agreement import RESAMPLES

TOLD = 20  # problems printed in words


class Command(BaseCommand):
    help = "Score predictions against a benchmark's gold, compared with trivial baselines (see docs/evaluate.md)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--task", required=True, choices=[task.value for task in Task])
        parser.add_argument(
            "--predictions",
            type=Path,
            metavar="FILE",
            help="predictions to score; if omitted, only the baselines are scored",
        )
        parser.add_argument(
            "--against",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="predictions of another system, for a paired test; several times: ranks with intervals, and p-values "
            "with Holm's correction",
        )
        parser.add_argument(
            "--format",
            choices=FORMATS,
            default=predictions.NAME,
            help="format of both files: Touchstone's own, or what another tool writes (claim_factuality)",
        )
        parser.add_argument("--template", type=Path, metavar="FILE", help="write a file with all keys to fill in")
        parser.add_argument(
            "--errors", type=Path, metavar="FILE", help="write the wrong predictions, one object per line"
        )
        parser.add_argument("--json", action="store_true", help="everything as JSON instead of a table")
        parser.add_argument(
            "--partial",
            action="store_true",
            help="score the valid rows of a file that has errors, and count the errors",
        )
        parser.add_argument(
            "--labels", type=int, choices=[3, 4], default=4, help="stance: four labels, or support as one"
        )
        parser.add_argument(
            "--undetermined",
            choices=[each.value for each in Undetermined],
            default=Undetermined.LEFT_OUT.value,
            help="claim_factuality: how to treat gold without enough evidence",
        )
        parser.add_argument(
            "--level",
            choices=[each.value for each in Level],
            default=Level.SENTENCE.value,
            help="decomposition: the claims of a sentence, or of a response",
        )
        parser.add_argument(
            "--threshold",
            type=share,
            default=SAME_CLAIM,
            metavar="0-1",
            help=f"decomposition, end_to_end: minimum token F1 for two claims to match ({SAME_CLAIM} by default)",
        )
        parser.add_argument("--by-url", action="store_true", help="evidence: match passages by address")
        parser.add_argument(
            "--all-responses", action="store_true", help="revision: include true responses, not only false ones"
        )
        parser.add_argument("--semantic", action="store_true", help="revision: also BERTScore and SimCSE, if installed")
        parser.add_argument(
            "--resamples",
            type=int,
            default=RESAMPLES,
            metavar="N",
            help="resamples for the intervals; 0 means no intervals",
        )
        parser.add_argument(
            "--seed", type=int, default=SEED, metavar="N", help="seed of the random baseline and the intervals"
        )

    def handle(self, **options: Any) -> None:
        benchmark, task = benchmark_named(options["benchmark"]), Task(options["task"])
        _check(task, options)
        chosen = Options(
            stance_labels=options["labels"],
            undetermined=Undetermined(options["undetermined"]),
            level=Level(options["level"]),
            threshold=options["threshold"],
            by_address=options["by_url"],
            all_responses=options["all_responses"],
        )
        if options["template"]:
            self._template(benchmark, task, chosen, options["template"])
            return
        try:
            scorer = scorer_of(
                benchmark,
                task,
                chosen,
                format=options["format"],
                texts=bool(options["errors"]),
                resamples=options["resamples"],
                seed=options["seed"],
            )
        except NoGoldError as error:
            raise CommandError(str(error)) from None
        gold = scorer.gold
        report = heading(benchmark, scorer)
        files = [path for path in (options["predictions"], *options["against"]) if path]
        systems = [_joined(benchmark, scorer, path, options["format"]) for path in files]
        if systems:
            report["rows"] = told(systems[0])
            report["problems"] = [each.as_dict() for each in systems[0].problems]
        if len(systems) >= 2:
            report["against"] = {"rows": told(systems[1]), "problems": [each.as_dict() for each in systems[1].problems]}
        if not options["partial"] and any(each.problem_count for each in systems):
            if options["json"]:
                self.stdout.write(_json(report))
            raise CommandError(_refused(files, systems))
        if systems:
            if not systems[0].scored:
                raise CommandError(_refused(files[:1], systems[:1], "No row could be scored."))
            report.update(scorer.scores(systems[0].scored))
            if options["semantic"]:
                report["semantic"] = self._semantic(files[0], gold)
        report["baselines"] = scorer.baselines()
        if systems:
            report["breakdowns"] = scorer.breakdowns(systems[0].scored, groups_of(traits_of(benchmark)))
        if len(systems) >= 2:
            report["against"].update(scorer.scores(systems[1].scored))
            report["paired"] = scorer.difference(systems[0], systems[1])
        if len(systems) > 2:
            report["standing"] = scorer.standing({str(path): each for path, each in zip(files, systems, strict=True)})
        if options["errors"] and systems:
            self._errors(options["errors"], gold, systems[0])
        for path, each in zip(files, systems, strict=True):
            for line in _said(path, each):
                self.stderr.write(line)
        self.stdout.write(_json(report) if options["json"] else "\n".join(_lines(report, task)))

    def _template(self, benchmark: Benchmark, task: Task, options: Options, path: Path) -> None:
        items = gold_items(benchmark, task, options, texts=True)
        written = 0
        with _opened(path, "w") as file, wholesale():
            for line in predictions.template(items, task.value, measure_of(task, options).blank()):
                file.write(line)
                written += 1
        self.stdout.write(f"{written} rows written to {path}: fill in the blank answers (null) and score the file.")

    def _semantic(self, path: Path, gold: Gold) -> dict[str, Any]:
        try:
            with path.open("rb") as stream:
                return semantic_scores(_revised(predictions.read(stream), gold))
        except SemanticError as error:
            raise CommandError(str(error)) from None

    def _errors(self, path: Path, gold: Gold, joined: Joined) -> None:
        with _opened(path, "w") as file:
            for key, item in gold.items.items():
                label = joined.answer_of(key)
                if label is not None and label != item.gold:
                    row = {
                        "id": key,
                        "document": item.external or item.document,
                        "position": item.position,
                        "gold": item.gold,
                        "predicted": label,
                        "text": item.text,
                        "about": item.context,
                    }
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")


# --- what is asked for ----------------------------------------------------------------------------


def _check(task: Task, options: dict[str, Any]) -> None:
    """Raises CommandError if options don't go together."""
    if options["against"] and not options["predictions"]:
        raise CommandError("--against compares a second file with the file given by --predictions.")
    if options["format"] != predictions.NAME and task != Task.CLAIM_FACTUALITY:
        raise CommandError(
            f"--format {options['format']} contains verdicts on claims. Use it with --task claim_factuality."
        )
    if options["semantic"] and (task != Task.REVISION or not options["predictions"]):
        raise CommandError("--semantic compares revised responses: use it with --task revision and --predictions.")
    if options["errors"] and (task in (Task.REVISION, Task.DECOMPOSITION, Task.EVIDENCE, Task.END_TO_END)):
        raise CommandError("--errors lists wrong labels: use it with a task whose answer is one label.")
    if options["resamples"] < 0:
        raise CommandError("--resamples counts draws: write 0 or more.")


def _opened(path: Path, mode: str) -> Any:
    try:
        return path.open(mode, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None


def _joined(benchmark: Benchmark, scorer: Scorer, path: Path, format: str) -> Joined:
    try:
        with path.open("rb") as stream:
            return joined_of(benchmark, scorer, stream, format)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    except FileError as error:
        raise CommandError(f"{path}: {error}") from None


def _revised(rows: Iterator[Any], gold: Gold) -> list[tuple[str, str]]:
    """Predicted and gold text of every response that both have."""
    pairs = []
    for row in rows:
        if isinstance(row, predictions.PredictionRow) and isinstance(row.values.get("revised"), str):
            key = gold.by_key(row.key) if row.key else gold.by_place(row.document, row.position)
            item: TaskItem | None = gold.items.get(key or "")
            if item is not None and item.gold is not None:
                pairs.append((row.values["revised"], item.gold))
    return pairs


# --- what is said ---------------------------------------------------------------------------------


def _json(report: dict[str, Any]) -> str:
    return json.dumps(report, indent=2, ensure_ascii=False)


def _counted(joined: Joined) -> str:
    return "; ".join(f"{words}: {joined.counts[kind]:,}" for kind, words in KINDS.items() if joined.counts[kind])


def _refused(paths: Sequence[Path], systems: Sequence[Joined], why: str = "Nothing was scored.") -> str:
    lines = []
    for path, joined in zip(paths, systems, strict=True):
        if joined.problem_count:
            lines += [f"{path}: {_counted(joined)}.", *(f"  {each}" for each in joined.problems[:TOLD])]
            if joined.problem_count > TOLD:
                lines.append(f"  … and {joined.problem_count - min(TOLD, len(joined.problems)):,} more.")
    return "\n".join([*lines, f"{why} Correct the file, or score its valid rows with --partial."])


def _said(path: Path, joined: Joined) -> list[str]:
    """What to know about a file that was scored."""
    lines = [
        f"{path}: “{written}” was read as “{taken}” in {count:,} rows."
        for (written, taken), count in joined.respelled.most_common()
        if taken
    ]
    if joined.problem_count:
        lines += [
            f"{path}: {_counted(joined)}. They are not scored.",
            *(f"  {each}" for each in joined.problems[:TOLD]),
        ]
    return lines


def _lines(report: dict[str, Any], task: Task) -> list[str]:
    rows = {"predictions": report} if "rows" in report else {}
    if "against" in report:
        rows["against"] = report["against"]
    rows.update(report["baselines"])
    first = next(iter(rows.values()))
    names = list(first["intervals"])
    lines = [f"{task.label}: {report['gold']:,} items in the gold.", ""]
    lines.append(f"  {'':<24}" + "".join(f"{name:>24}" for name in names))
    for label, scores in rows.items():
        cells = [_cell(scores[name], scores["intervals"][name]) for name in names]
        lines.append(f"  {label:<24}" + "".join(f"{cell:>24}" for cell in cells))
    if first["per_label"]:
        lines += ["", f"  {'label':<24}{'precision':>12}{'recall':>12}{'f1':>12}{'gold':>10}{'predicted':>12}"]
        lines += [
            f"  {name:<24}{each['precision']:>12.3f}{each['recall']:>12.3f}{each['f1']:>12.3f}{each['gold']:>10,}"
            f"{each['predicted']:>12,}"
            for name, each in first["per_label"].items()
        ]
        lines += [
            "",
            "  Averages are over the labels in the gold; over those in the gold or the predictions, F1 is "
            f"{first['f1_macro_with_predicted']:.3f}.",
        ]
    if "paired" in report:
        paired = report["paired"]
        lines += [
            "",
            f"  predictions against the second file, over {paired['items']:,} items (documents change hands):",
        ]
        lines += [
            f"  {name:<24}{value:>+12.3f}   p = {paired['p'][name]:.4f}"
            for name, value in paired["difference"].items()
            if value is not None
        ]
        if paired.get("crossed"):
            lines += ["", *_crossed_lines(paired["crossed"])]
    for name, groups in report.get("breakdowns", {}).items():
        lines += ["", f"  {BREAKDOWNS[name]}", *_group_lines(groups, names)]
    if "standing" in report:
        lines += ["", *_standing_lines(report["standing"])]
    return lines


def _crossed_lines(table: dict[str, dict[str, int]]) -> list[str]:
    """Where the two systems err, by gold label."""
    lines = [f"  {'gold label':<24}" + "".join(f"{cell.replace('_', ' '):>14}" for cell in Cell)]
    return lines + [
        f"  {gold:<24}" + "".join(f"{row[cell.value]:>14,}" for cell in Cell) for gold, row in table.items()
    ]


def _group_lines(groups: list[dict[str, Any]], names: list[str]) -> list[str]:
    lines = []
    for each in groups:
        figures = each["figures"]
        cells = (
            ["too few"]
            if figures is None
            else [_cell(figures.get(name), each["intervals"].get(name)) for name in names]
        )
        lines.append(
            f"  {each['group']:<24.24}" + "".join(f"{cell:>24}" for cell in cells) + f"  n = {each['items']:,}"
        )
        if each.get("baseline"):
            trivial = [_cell(each["baseline"].get(name), None) for name in names]
            lines.append(f"  {'  trivial baseline':<24}" + "".join(f"{cell:>24}" for cell in trivial))
    return lines


def _standing_lines(standing: dict[str, Any]) -> list[str]:
    if not standing["ranks"]:
        return ["  No ranks: the files have fewer than two documents in common."]
    ordered = sorted(standing["ranks"].items(), key=lambda each: each[1]["rank"])
    return [
        f"  Ranks by {standing['figure']} over the {standing['items']:,} items that all answered (95% interval):",
        *(f"  {each['rank']:>3} ({each['interval'][0]}–{each['interval'][1]})  {name}" for name, each in ordered),
        "",
        "  Pairs, p-values with Holm's correction for all of them:",
        *(
            f"  {each['difference']:>+8.3f}   p = {each['p_holm']:.4f}   {' against '.join(each['systems'])}"
            for each in standing["pairs"]
        ),
    ]


def _cell(value: float | None, interval: list[float] | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" + (f" ({interval[0]:.3f}–{interval[1]:.3f})" if interval else "")
