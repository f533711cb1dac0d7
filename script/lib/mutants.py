"""Mutation testing with mutmut, run by script/mutants in the project's environment.

Each area is mutated in a working copy below var/mutants and run against its own tests; mutmut notes which test calls
which function and runs those alone against a mutant. Surviving mutants are printed as diffs, the score with its
95 % interval. The exit code is 1 where the score is below --at-least.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "var" / "mutants"
PACKAGES = ["annotator", "config", "pipeline"]
BESIDE = [
    "docs",
    "fixtures",
    "manage.py",
    "script",
    "static",
    "templates",
    "CHANGELOG.md",
    "README.md",
    "requirements.txt",
]


@dataclass(frozen=True)
class Area:
    """Modules, and the test files that hold their rules."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = {
    "texts": Area(
        (
            "annotator/core/workflow.py",
            "annotator/core/visibility.py",
            "annotator/core/texts/edits.py",
            "annotator/stages/revision_merge.py",
            "annotator/stages/verdict_hints.py",
            "annotator/core/texts/markdown_diff.py",
            "annotator/core/texts/highlight.py",
            "annotator/core/labels.py",
        ),
        (
            "tests/core/test_workflow.py",
            "tests/core/test_visibility.py",
            "tests/core/test_edits.py",
            "tests/stages/test_revision_merge.py",
            "tests/stages/test_verdict_hints.py",
            "tests/core/test_markdown_diff.py",
            "tests/core/test_highlight.py",
            "tests/core/test_labels.py",
        ),
    ),
    "records": Area(
        (
            "annotator/core/rules.py",
            "annotator/core/actions/locking.py",
            "annotator/core/actions/recorder.py",
            "annotator/stages/actions/saving.py",
            "annotator/core/actions/status.py",
            "annotator/stages/actions/next_stage.py",
        ),
        (
            "tests/stages/test_life_of_a_document.py",
            "tests/stages/test_places.py",
            "tests/core/test_blindness.py",
            "tests/stages/test_adjudicated_again.py",
            "tests/team/test_groups.py",
            "tests/team/test_team.py",
            "tests/home/test_work.py",
        ),
    ),
    "adjudication": Area(
        (
            "annotator/stages/comparison/comparison.py",
            "annotator/stages/comparison/decomposition.py",
            "annotator/stages/comparison/verification.py",
            "annotator/stages/comparison/revision.py",
            "annotator/stages/actions/adjudicate.py",
            "annotator/stages/actions/adjudicated.py",
        ),
        (
            "tests/stages/test_comparison.py",
            "tests/stages/test_adjudication.py",
            "tests/stages/test_odd_orders.py",
            "tests/stages/test_adjudicated_again.py",
            "tests/team/test_practice.py",
        ),
    ),
    "export": Area(
        (
            "annotator/exchange/formats/factcheck_bench.py",
            "annotator/exchange/formats/factcheck_bench_reader.py",
            "annotator/exchange/queries/export.py",
        ),
        (
            "tests/exchange/formats/test_factcheck_bench.py",
            "tests/exchange/test_export.py",
            "tests/exchange/test_lossless.py",
        ),
    ),
    "native": Area(
        (
            "annotator/exchange/native/touchstone.py",
            "annotator/exchange/native/touchstone_values.py",
            "annotator/exchange/native/touchstone_contents.py",
            "annotator/exchange/native/touchstone_reader.py",
        ),
        (
            "tests/exchange/formats/test_touchstone.py",
            "tests/exchange/test_native.py",
        ),
    ),
    "agreement": Area(
        (
            "annotator/measures/agreement/report.py",
            "annotator/stages/comparison/tally.py",
            "annotator/measures/agreement/references.py",
            "pipeline/metrics/agreement.py",
            "pipeline/metrics/alignment.py",
            "pipeline/metrics/clusters.py",
            "pipeline/metrics/paired.py",
        ),
        (
            "tests/pipeline/test_agreement.py",
            "tests/pipeline/test_clusters.py",
            "tests/pipeline/test_metrics.py",
            "tests/pipeline/test_paired.py",
            "tests/measures/test_agreement.py",
        ),
    ),
}

# Mutants that no test can kill, by the line that goes and the line that comes, with the reason.
EQUIVALENT = {
    (
        "return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)",
        "return orjson.dumps(option=orjson.OPT_APPEND_NEWLINE)",
    ): "its error is the one that is caught, and json writes the same line",
    (
        "figures = agreement(items, scale=each.scale, resamples=0)",
        "figures = agreement(items, scale=each.scale, resamples=None)",
    ): "all items are of one cluster, from which nothing is drawn anew",
}

# Not mutated: the words of refusals, which the guard of the product's words reads.
WORDS = [r"^\s*raise \w", r"^\s*assert "]

CAUGHT = {"killed", "timeout", "segfault", "caught by type check"}


@dataclass(frozen=True)
class Found:
    """What became of one mutant."""

    area: str
    path: str
    name: str
    status: str
    diff: str = ""

    @property
    def equivalent(self) -> str:
        """Why no test can kill it; blank where one should."""
        lines = self.diff.splitlines()[2:]
        gone = next((line[1:].strip() for line in lines if line.startswith("-")), "")
        came = next((line[1:].strip() for line in lines if line.startswith("+")), "")
        return EQUIVALENT.get((gone, came), "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/mutants", description=__doc__)
    parser.add_argument(
        "what", nargs="*", help="areas, modules (a path or a dotted name) or mutants; default: everything"
    )
    parser.add_argument("--sample", type=int, help="so many mutants of each area, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="stop an area after so many minutes")
    parser.add_argument("--at-least", type=float, default=0, help="the score in percent below which it fails")
    options = parser.parse_args()
    started = time.monotonic()
    found: list[Found] = []
    single = {each for each in options.what if "__mutmut_" in each}
    for name, modules in chosen([each.rsplit(".", 1)[0] if each in single else each for each in options.what]):
        names = [each for each in mutants_of(modules) if not single or each in single]
        if options.sample is not None and options.sample < len(names):
            names = sorted(random.Random(options.seed).sample(names, options.sample))
        print(f"--- {name}: {len(names)} mutants of {len(modules)} modules", flush=True)
        found += run(name, modules, names, minutes=options.minutes)
    score = report(found)
    drawn = "every mutant" if options.sample is None else f"{options.sample} an area, seed {options.seed}"
    minutes = (time.monotonic() - started) / 60
    print(f"{drawn}, {dt.datetime.now(dt.UTC).date()}, {minutes:.0f} minutes")
    return int(score < options.at_least)


def chosen(wanted: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The areas with their modules, narrowed to what was named. SystemExit for a name that is neither."""
    named = [path for area in AREAS.values() for path in (*area.modules, *area.tests)]
    if gone := [path for path in named if not (ROOT / path).exists()]:
        sys.exit(f"The table in script/lib/mutants.py names what is not there: {', '.join(gone)}.")
    asked = [each if each in AREAS or each.endswith(".py") else each.replace(".", "/") + ".py" for each in wanted]
    known = {*AREAS, *(path for area in AREAS.values() for path in area.modules)}
    if strange := [each for each in asked if each not in known]:
        sys.exit(f"No area or module of the table: {', '.join(strange)}. Areas: {', '.join(AREAS)}.")
    for name, area in AREAS.items():
        narrowed = [path for path in area.modules if not asked or name in asked or path in asked]
        if narrowed:
            yield name, narrowed


def mutants_of(modules: Iterable[str]) -> list[str]:
    """The names that mutmut gives to the mutants of these modules."""
    # mutmut reads its configuration when it is imported.
    folder = WORK / "names"
    set_up(folder, list(modules), [])
    code = (
        "from pathlib import Path; from mutmut.mutation.file_mutation import mutate_file_contents;"
        "from mutmut.utils.format_utils import get_mutant_name; import sys;"
        "[print(get_mutant_name(Path(path), name)) for path in sys.argv[1:]"
        " for name in mutate_file_contents(path, Path(path).read_text()).mutant_names]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *modules], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.split()


def set_up(folder: Path, modules: list[str], tests: list[str]) -> None:
    """A fresh folder in which mutmut mutates these modules and runs these tests: links, and its configuration."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in [*PACKAGES, *BESIDE, "tests"]:
        (folder / name).symlink_to(ROOT / name)
    settings = {
        "source_paths": PACKAGES,
        "only_mutate": modules,
        "also_copy": BESIDE,
        "do_not_mutate_patterns": WORDS,
        # Forked from a process that has run no test: a functools.cache filled there would hide the mutant.
        "process_isolation": "forkserver",
        "pytest_add_cli_args": ["-p", "mutants_sessions", "-p", "no:xdist"],
        "pytest_add_cli_args_test_selection": tests,
        "timeout_multiplier": 6.0,
        "timeout_constant": 20.0,
        "use_git_change_detection": False,
        "track_dependencies": False,
    }
    # TOML and JSON write strings, numbers, flags and lists alike.
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (folder / "pyproject.toml").write_text(
        (ROOT / "pyproject.toml").read_text() + "\n".join(["", "[tool.mutmut]", *lines, ""])
    )


def run(area: str, modules: list[str], names: list[str], *, minutes: float) -> list[Found]:
    """Run mutants against the tests of their area. SystemExit where the tests fail without any mutant."""
    folder = WORK / area
    set_up(
        folder, modules, sorted(str(path.relative_to(ROOT)) for each in AREAS[area].tests for path in ROOT.glob(each))
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "script" / "lib"),
        "TOUCHSTONE_DATA": os.environ.get("TOUCHSTONE_DATA") or str(ROOT.parent / "shared" / "data"),
    }
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "mutmut"), "run", "--max-children", "1", *names],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(minutes * 60)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            print(f"{area}: stopped; mutants with quick tests came first, so the score leans to them.", flush=True)
            code = 0
    if code:
        sys.exit(f"mutmut could not run {area}:\n{log.read_text()[-4000:]}")
    found = list(results(area, folder, modules, set(names)))
    for each in found:
        print(f"{each.status}: {each.name}", flush=True)
        if each.diff:
            print(each.diff, flush=True)
        if each.equivalent:
            print(f"equivalent: {each.equivalent}", flush=True)
    return found


def results(area: str, folder: Path, modules: list[str], names: set[str]) -> Iterator[Found]:
    from mutmut.stats import status_by_exit_code

    for path in modules:
        kept = folder / "mutants" / f"{path}.meta"
        codes = json.loads(kept.read_text())["exit_code_by_key"] if kept.exists() else {}
        for name in sorted(names & codes.keys()):
            status = status_by_exit_code[codes[name]]
            known = status in CAUGHT or status == "not checked"
            yield Found(area, path, name, status, "" if known else diff_of(folder, name))


def diff_of(folder: Path, name: str) -> str:
    command = [str(Path(sys.executable).parent / "mutmut"), "show", name]
    shown = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE, text=True).stdout
    return "\n".join(line for line in shown.splitlines()[1:] if re.match(r"[-+@ ]", line))


def report(found: list[Found]) -> float:
    """Print a table of modules, areas and the whole; the score of the whole in percent."""
    print(f"\n{'':44}{'mutants':>8}{'killed':>8}{'timeout':>8}{'survived':>9}{'equal':>7}{'not run':>8}  score")
    for area in dict.fromkeys(each.area for each in found):
        inside = [each for each in found if each.area == area]
        for path in dict.fromkeys(each.path for each in inside):
            line(f"  {path}", [each for each in inside if each.path == path])
        line(area, inside)
    return line("all", found)


def line(title: str, found: list[Found]) -> float:
    counts = Counter(each.status for each in found)
    equivalent = sum(1 for each in found if each.equivalent)
    caught = sum(counts[status] for status in CAUGHT)
    total = len(found) - counts["not checked"] - equivalent
    low, high = wilson(caught, total)
    score = 100 * caught / total if total else 100.0
    print(
        f"{title:44}{len(found):8}{caught - counts['timeout']:8}{counts['timeout']:8}{total - caught:9}{equivalent:7}"
        f"{counts['not checked']:8}  {score:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
    )
    return score


def wilson(successes: int, number: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    if not number:
        return 0.0, 1.0
    z, share = 1.96, successes / number
    middle = share + z * z / (2 * number)
    spread = z * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    return (middle - spread) / (1 + z * z / number), (middle + spread) / (1 + z * z / number)


if __name__ == "__main__":
    raise SystemExit(main())
