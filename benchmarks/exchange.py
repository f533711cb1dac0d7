"""How quick are import, export, statistics and scores on 10,000 gold documents, and how much memory do they take?

The released documents (``factcheck-bench.dev.jsonl`` in the folder of TOUCHSTONE_DATA) are repeated with new ids and
prompts until there are enough, 10,000 of them with about 73,000 claims and 367,000 passages, and go through the product
as the commands do, on a private PostgreSQL that writes to the disk as in earnest. Each step is a process of its own:

- wall: seconds from the first byte read to the last one written, without the start of Python and Django;
- own CPU: seconds that this process computed, and database CPU: those of PostgreSQL's processes (blank where it runs
  elsewhere): what the step costs on a quiet machine too;
- memory: the most that the step's process held at any moment, Python and Django included (80 MB by themselves);
- queries: statements sent to the database; rows that are copied in are no statements.

Nothing is kept in a cache from one step to the next. Exports are counted and thrown away, not written to a disk.

    .venv/bin/python benchmarks/exchange.py [--documents 10000] [--only WORDS] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

DATABASE = "touchstone_exchange"
SLUG = "measured"
SOURCES = ("chat", "forum", "search log", "exam")

# What is aimed at on two cores.
IMPORT_RATE, EXPORT_RATE = 500.0, 1000.0  # documents a second
MEMORY = 300.0  # MB
STATISTICS = 5.0  # seconds


@dataclass
class Result:
    """What one step took. ``problem`` says why it failed; ``target`` what is aimed at, "" where nothing is."""

    step: str
    wall: float = 0.0  # seconds
    own_cpu: float = 0.0  # seconds
    database_cpu: float | None = None  # seconds
    memory: float = 0.0  # MB
    queries: int = 0
    documents: int = 0
    bytes: int = 0  # read or written
    target: str = ""
    is_over: bool = False
    problem: str = ""

    @property
    def rate(self) -> float:
        return self.documents / self.wall if self.wall else 0.0

    @property
    def figures(self) -> str:
        """In a few words, while it runs."""
        cpu = f"{self.own_cpu:.1f} s own CPU, {self.database_cpu or 0:.1f} s of the database"
        return f"{self.wall:.1f} s, {self.rate:,.0f} documents/s, {self.memory:.0f} MB, {cpu}"

    def judge(self) -> None:
        """Say what the step aimed at, and whether it is missed."""
        aim = {"import": IMPORT_RATE, "export": EXPORT_RATE}.get(self.step.split()[0])
        if aim is not None:
            self.target = f"{aim:,.0f}/s, {MEMORY:.0f} MB"
            self.is_over = self.rate < aim or self.memory > MEMORY
        elif self.step == "statistics":
            self.target = f"{STATISTICS:.0f} s, {MEMORY:.0f} MB"
            self.is_over = self.wall > STATISTICS or self.memory > MEMORY
        elif self.step.startswith("evaluate"):
            self.target = f"{MEMORY:.0f} MB"
            self.is_over = self.memory > MEMORY


# --- the steps, each in a process of its own ------------------------------------------------------


def steps() -> dict[str, Callable[[argparse.Namespace], tuple[int, int]]]:
    """The steps in their order. Each returns how many documents it dealt with, and bytes where there is a file."""
    from annotator.exchange.exports.catalogue import FORMATS
    from annotator.leaderboard.scoring.tasks import Task

    found: dict[str, Callable[[argparse.Namespace], tuple[int, int]]] = {
        "import": _import,
        "import again": _import_again,
        "statistics": _statistics,
    }
    for name in FORMATS:
        found[f"export {name}"] = lambda options, name=name: _export(name)  # type: ignore[misc]
    for task in Task:
        found[f"evaluate {task.value}"] = lambda options, task=task: _evaluate(task, options)  # type: ignore[misc]
    return found


def _import(options: argparse.Namespace) -> tuple[int, int]:
    from annotator.core.actions.benchmarks import create_benchmark
    from annotator.exchange.actions.imports import import_gold

    benchmark = create_benchmark(slug=SLUG, name="Measured")
    report = import_gold(benchmark=benchmark, source=Path(options.file))
    if report.bad or report.imported != options.documents:
        raise SystemExit(f"{report.imported} imported, {report.bad} bad: {report.problems[:3]}")
    return report.imported, Path(options.file).stat().st_size


def _import_again(options: argparse.Namespace) -> tuple[int, int]:
    from annotator.core.models import Benchmark
    from annotator.exchange.actions.imports import import_gold

    report = import_gold(benchmark=Benchmark.objects.get(slug=SLUG), source=Path(options.file))
    if report.unchanged != options.documents:
        raise SystemExit(f"{report.unchanged} unchanged: {report.problems[:3]}")
    return report.unchanged, Path(options.file).stat().st_size


def _export(name: str) -> tuple[int, int]:
    from annotator.core.models import Benchmark
    from annotator.exchange.exports.catalogue import Reading, format_named

    format = format_named(name)
    if missing := format.missing():
        raise SystemExit(missing)
    reading = Reading(Benchmark.objects.get(slug=SLUG))
    size = sum(map(len, format.write(reading)))
    return reading.count(), size


def _statistics(options: argparse.Namespace) -> tuple[int, int]:
    return options.documents, _command("statistics")


def _evaluate(task: Any, options: argparse.Namespace) -> tuple[int, int]:
    return options.documents, _command("evaluate", "--task", task.value)


def _command(name: str, *arguments: str) -> int:
    """Run a command for its JSON; how long that is."""
    from io import StringIO

    from django.core.management import call_command

    output = StringIO()
    call_command(name, "--benchmark", SLUG, "--json", *arguments, stdout=output)
    return len(output.getvalue())


def run_step(options: argparse.Namespace) -> None:
    """One step in this process; its result goes to standard output as one line of JSON."""
    import django

    django.setup()
    from django.core.cache import cache
    from django.db import connection

    step = steps()[options.step]
    connection.ensure_connection()
    cache.clear()
    queries = 0

    def counted(execute: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(*arguments)

    result = Result(options.step)
    began, computed = time.perf_counter(), time.process_time()
    with connection.execute_wrapper(counted):
        result.documents, result.bytes = step(options)
    result.wall, result.own_cpu = time.perf_counter() - began, time.process_time() - computed
    result.queries, result.memory = queries, _most_memory()
    print(json.dumps(asdict(result)))


def _most_memory() -> float:
    """The most memory of this process so far, in MB."""
    # What a process had begins, by getrusage, with what its parent had: it comes second.
    with contextlib.suppress(OSError), Path("/proc/self/status").open() as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


# --- data and database ----------------------------------------------------------------------------


def write_file(path: Path, documents: int) -> None:
    """The released documents over and over, each with an id, a source and a prompt of its own."""
    folder = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    try:
        released = [json.loads(line) for line in (folder / "factcheck-bench.dev.jsonl").open()]
    except FileNotFoundError:
        raise SystemExit(f"{folder} has no factcheck-bench.dev.jsonl: name its folder in TOUCHSTONE_DATA.") from None
    with path.open("w") as file:
        for number in range(documents):
            row = released[number % len(released)]
            about = {"id": f"document-{number + 1}", "source": SOURCES[number % len(SOURCES)]}
            file.write(json.dumps({**row, **about, "prompt": f"{row['prompt']} ({number + 1})"}) + "\n")


@contextlib.contextmanager
def database() -> Iterator[str]:
    """The URL of an empty database of this benchmark's own."""
    from tests import services

    name = sql.Identifier(DATABASE)
    with services.postgres(durable=True) as server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield f"{server.rsplit('/', 1)[0]}/{DATABASE}"
        finally:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


class Server:
    """The CPU time of PostgreSQL's processes, read from the system where they run on this machine."""

    def __init__(self, url: str) -> None:
        self.postmaster: int | None = None
        with contextlib.suppress(OSError, ValueError), psycopg.connect(url) as connection:
            row = connection.execute("SELECT pg_backend_pid(), inet_server_addr() = inet_client_addr()").fetchone()
            if row is not None and row[1]:
                self.postmaster = int(_stat(row[0])[1])

    def cpu(self) -> float | None:
        """Seconds so far, of the processes that have ended: a step's ends with its connection."""
        if self.postmaster is None:
            return None
        time.sleep(0.2)  # until the last one is counted
        stat = _stat(self.postmaster)
        return (int(stat[13]) + int(stat[14])) / os.sysconf("SC_CLK_TCK")


def _stat(process: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on: the parent is the second."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


# --- everything in its order ----------------------------------------------------------------------


def say(line: str) -> None:
    """Progress; the results alone go to standard output."""
    print(line, file=sys.stderr, flush=True)


def _child(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], check=False, capture_output=True, text=True, cwd=ROOT, env=environment
    )


def play(options: argparse.Namespace, url: str, folder: Path) -> list[Result]:
    """All steps, one after another."""
    # Whoever runs this may have settings of an installation of their own about them.
    unwanted = ("REDIS_URL", "DEBUG", "HTTPS", "ALLOWED_HOSTS", "SECRET_KEY")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    environment |= {"DATABASE_URL": url, "TOUCHSTONE_VAR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    made = _child(["manage.py", "migrate", "--verbosity", "0"], environment)
    if made.returncode:
        raise SystemExit(made.stderr)
    file = folder / "gold.jsonl"
    write_file(file, options.documents)
    same = [str(Path(__file__).resolve()), "--documents", str(options.documents), "--file", str(file)]
    listed = _child([*same, "--step", "list"], environment)
    if listed.returncode:
        raise SystemExit(listed.stderr)
    server = Server(url)
    results: list[Result] = []
    for name in json.loads(listed.stdout):
        if name != "import" and options.only not in name:
            continue
        before = server.cpu()
        child = _child([*same, "--step", name], environment)
        if child.returncode:
            result = Result(name, problem=(child.stderr.strip() or "it failed").splitlines()[-1])
        else:
            result = Result(**json.loads(child.stdout.splitlines()[-1]))
            after = server.cpu()
            result.database_cpu = None if before is None or after is None else after - before
            result.judge()
        results.append(result)
        say(f"{name}: {result.problem or result.figures}")
        if name == "import" and result.problem:
            break
    return results


def report(results: list[Result], options: argparse.Namespace, loads: tuple[float, float]) -> None:
    """The figures, for people or (``--json``) for programs."""
    if options.json:
        machine = {
            "cores": os.cpu_count(),
            "load": loads,
            "python": platform.python_version(),
            "system": platform.platform(),
        }
        print(
            json.dumps(
                {
                    "documents": options.documents,
                    "machine": machine,
                    "steps": [{**asdict(each), "rate": each.rate} for each in results],
                },
                indent=1,
            )
        )
        return
    load = f"load {loads[0]:.1f} before and {loads[1]:.1f} after"
    print(f"{options.documents:,} documents; {os.cpu_count()} cores, {load}\n")
    columns = ("documents/s", "wall, s", "own CPU", "database CPU", "memory, MB", "queries", "MB", "aim")
    print(f"{'':<36}" + "".join(f"{each:>14}" for each in columns))
    for each in results:
        if each.problem:
            print(f"{each.step:<36}  {each.problem}")
            continue
        cells = [
            f"{each.rate:,.0f}",
            f"{each.wall:.1f}",
            f"{each.own_cpu:.1f}",
            "" if each.database_cpu is None else f"{each.database_cpu:.1f}",
            f"{each.memory:.0f}",
            f"{each.queries:,}",
            f"{each.bytes / 1e6:,.1f}",
            f"{'MISSED ' if each.is_over else ''}{each.target}",
        ]
        print(f"{each.step:<36}" + "".join(f"{cell:>14}" for cell in cells[:-1]) + f"  {cells[-1]}")


def main() -> int:
    """Measure every step and print the table (or JSON). 1 if an aim is missed or a step failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--only", default="", help="steps whose name contains these words; the import is always done")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "list":
        import django

        django.setup()
        print(json.dumps(list(steps())))
        return 0
    if options.step:
        run_step(options)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="touchstone-exchange-"))
    before = os.getloadavg()[0]
    try:
        with database() as url:
            results = play(options, url, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report(results, options, (before, os.getloadavg()[0]))
    return 1 if any(each.is_over or each.problem for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
