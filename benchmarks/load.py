"""Does the server hold out with 50 annotators at work, a run and exports beside?

Starts gunicorn as delivered and a Celery worker with beat, on a private PostgreSQL that writes to the disk as in
earnest and a private Redis. Each annotator has a document at decompose and one at verify (benchmarks/typical.py), saves
a label after a pause of random length, and opens the page again after every twentieth save. Beside them a run prepares
``--documents`` documents with the offline strategy, one run after the other, and the owner downloads everything in one
format after the other. With ``--sign-ins``, as many clients send wrong passwords without pause, each with an account
and an address of its own, so that no limit for one account or address stops them. They run in a process of their own at
the lowest priority: strangers bring their own processors.

Reported: errors, and what clients wait for saves, pages and exports (median and 95th percentile, milliseconds); saves
that the database doesn't hold as they were acknowledged; memory of the web processes and of the worker over time (PSS
from /proc, Linux: what they share is counted once); the load of the machine, since clients, database and server share
it.

    .venv/bin/python benchmarks/load.py [--annotators 50] [--minutes 10] [--pause 3] [--sign-ins 0] [--alone] [--json]

Exit code 1 when a request failed, an acknowledged save was lost, or the 95th percentile of saves is 250 ms or more.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.saves import SCREENS, SETTINGS, Client, fill, serving  # noqa: E402
from benchmarks.web_client import CSRF, Browser, percentile  # noqa: E402

AIM = 250.0  # milliseconds, 95th percentile of saves
SAVES_A_PAGE = 20
SAMPLE = 5.0  # seconds between two looks at memory and load
SLUG = "measured"  # of the benchmark that saves.fill makes
FORMATS = ("touchstone", "factcheck-bench", "csv", "croissant")


Work = list[tuple[str, Client]]  # a person's pages, and what they save there


@dataclass
class Waits:
    """How long clients waited for one kind of request, in milliseconds."""

    count: int
    p50: float
    p95: float
    longest: float

    @classmethod
    def of(cls, values: list[float]) -> Waits:
        if not values:
            return cls(0, 0.0, 0.0, 0.0)
        return cls(len(values), percentile(values, 50), percentile(values, 95), round(max(values), 1))


@dataclass
class Sample:
    """The machine at one moment; megabytes."""

    second: int
    web: float
    worker: float
    load: float


@dataclass
class Found:
    """What all clients met, noted by their threads."""

    saves: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    exports: list[float] = field(default_factory=list)
    sign_ins: Counter[int] = field(default_factory=Counter)  # by status
    errors: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    runs: int = 0
    prepared: int = 0  # documents, in all runs
    lost: int = 0


# --- who does what --------------------------------------------------------------------------------


def get(browser: Browser, username: str, path: str) -> float:
    """The milliseconds until the whole answer is here. Raises RuntimeError for an error."""
    began = time.perf_counter()
    answer = browser.get(username, path)
    if answer.status >= 400:
        raise RuntimeError(f"{answer.status} for {path}: {answer.text[:200]}")
    return 1000 * (time.perf_counter() - began)


def annotate(browser: Browser, work: Work, pause: float, found: Found, over: threading.Event) -> None:
    """One person, who works at two documents in turn."""
    chance = random.Random(work[0][1].username)
    over.wait(chance.uniform(0, pause))
    for number in itertools.count():
        page, client = work[number // SAVES_A_PAGE % len(work)]
        if over.is_set():
            return
        try:
            if number % SAVES_A_PAGE == 0:
                found.pages.append(get(browser, client.username, page))
            client.save(browser, number)
            found.saves.append(client.waits[-1])
        except (RuntimeError, OSError, http.client.HTTPException) as error:
            found.errors.append(f"{client.username}: {error!r}")
            browser.connection.close()  # the next request opens another
        over.wait(chance.expovariate(1 / pause) if pause else 0)


def export(browser: Browser, found: Found, over: threading.Event) -> None:
    """The owner, who downloads everything again and again."""
    for name in itertools.cycle(FORMATS):
        if over.is_set():
            return
        try:
            found.exports.append(get(browser, "owner", f"/b/{SLUG}/export/download/?format={name}&include=all"))
        except (RuntimeError, OSError, http.client.HTTPException) as error:
            found.errors.append(f"export {name}: {error!r}")
            browser.connection.close()
        over.wait(1)


def prepare(found: Found, over: threading.Event) -> None:
    """The owner, who has all documents prepared again whenever a run is over."""
    from django.db import connection

    from annotator.core.models import Benchmark, Document, PipelineRun, RunItem, User
    from annotator.core.vocabulary import RunState, Stage
    from annotator.suggestions.actions.plans import RunRequest
    from annotator.suggestions.actions.runs import start_run

    benchmark, owner = Benchmark.objects.get(slug=SLUG), User.objects.get(username="owner")
    documents = list(Document.objects.filter(external_id__startswith="prepared-").values_list("pk", flat=True))
    while not over.is_set():
        run = start_run(
            benchmark=benchmark, stage=Stage.DECOMPOSE, documents=documents, by=owner,
            wish=RunRequest(strategy="offline"), refuse=True,
        )  # fmt: skip
        assert run is not None
        while not over.wait(1):
            run = PipelineRun.objects.get(pk=run.pk)
            if run.finished_at is not None:
                found.runs += 1
                if run.state != RunState.FINISHED:
                    found.errors.append(f"run {run.pk} is {run.state}")
                break
    found.prepared = RunItem.objects.filter(state=RunState.FINISHED).count()
    connection.close()


def end(over: threading.Event, seconds: float) -> None:
    """Everybody stops after so long."""
    time.sleep(seconds)
    over.set()


def run_all(tasks: list[Callable[[], None]]) -> None:
    """Each task in a thread of its own, until all are done."""
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def guess(address: str, number: int, statuses: Counter[int], over: Event) -> None:
    """A stranger who guesses passwords, each time for another account and from another address."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    for attempt in itertools.count():
        if over.is_set():
            return
        headers = {
            "Cookie": f"touchstone_csrf={CSRF}", "X-CSRFToken": CSRF,
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Forwarded-For": f"10.{number}.{attempt // 250 % 250}.{attempt % 250}",
        }  # fmt: skip
        body = urlencode({"login": f"person-{number}-{attempt}", "password": "a wrong password"})
        try:
            connection.request("POST", "/sign-in/", body, headers)
            answer = connection.getresponse()
            answer.read()
            statuses[answer.status] += 1
        except (OSError, http.client.HTTPException):
            statuses[0] += 1
            connection.close()


def guess_all(address: str, count: int, over: Event, counted: Queue[Counter[int]]) -> None:
    """So many strangers, in a process that leaves the processors to everybody else."""
    os.nice(19)
    statuses: Counter[int] = Counter()
    run_all([partial(guess, address, number, statuses, over) for number in range(count)])
    counted.put(statuses)


@contextlib.contextmanager
def strangers(address: str, count: int, found: Found) -> Iterator[None]:
    """So many clients guess passwords meanwhile, in a process of their own."""
    apart = multiprocessing.get_context("spawn")
    over, counted = apart.Event(), apart.Queue()
    process = apart.Process(target=guess_all, args=(address, count, over, counted))
    process.start()
    try:
        yield
    finally:
        over.set()
        found.sign_ins = counted.get(timeout=90)
        process.join()


def watch(web: int, worker: int, found: Found, over: threading.Event) -> None:
    """Note memory and load every few seconds."""
    began = time.monotonic()
    while not over.wait(SAMPLE):
        second = round(time.monotonic() - began)
        found.samples.append(Sample(second, memory(web), memory(worker), round(os.getloadavg()[0], 1)))


def memory(parent: int) -> float:
    """Megabytes of a process and all below it."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    family = {parent}
    while more := {pid for pid, above in parents.items() if above in family} - family:
        family |= more
    total = 0
    for pid in family:
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return round(total / 1024, 1)


# --- data and services ----------------------------------------------------------------------------


def add_documents(count: int) -> None:
    """What the run prepares: short responses of the demo."""
    from annotator.core.models import Batch, Document
    from benchmarks import typical

    batch = Batch.objects.get(benchmark__slug=SLUG)
    pairs = typical.read_texts().pairs
    Document.objects.bulk_create(
        Document(
            benchmark=batch.benchmark, batch=batch, order=100_000 + number, external_id=f"prepared-{number}",
            identity=f"prepared-{number}", content_hash=f"prepared-{number}",
            prompt=pairs[number % len(pairs)][0], response=pairs[number % len(pairs)][1],
        )
        for number in range(count)
    )  # fmt: skip


def work_of(people: int) -> list[Work]:
    """For each person the pages of their two documents, and what to save there."""
    from annotator.core.models import Document

    clients = fill(people)
    pages = dict(Document.objects.values_list("external_id", "public_id"))
    return [
        [(f"/d/{pages[f'{screen}-{number + 1}']}/{screen}/", clients[screen][number]) for screen in SCREENS]
        for number in range(people)
    ]


@contextlib.contextmanager
def working(environment: dict[str, str]) -> Iterator[int]:
    """A Celery worker with beat, as script/server starts it; the number of its process."""
    command = [sys.executable, "-m", "celery", "--app", "config", "worker", "--loglevel", "ERROR"]
    command += ["--beat", "--scheduler", "celery.beat:Scheduler"]
    worker = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=sys.stderr)
    try:
        yield worker.pid
    finally:
        worker.terminate()
        try:
            worker.wait(60)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def lost_saves(work: list[Work]) -> int:
    """Records that aren't as the last acknowledged save left them: another value, or saves lost or counted twice."""
    from annotator.core.record_keys import find_record

    lost = 0
    for target in (each for documents in work for _, client in documents for each in client.targets):
        if target.saved:
            record = find_record(target.path.split("/")[2])
            value = str(getattr(record, target.name))
            lost += record.version != target.version or value != target.values[(target.saved - 1) % 2]
    return lost


def play(options: argparse.Namespace, var: str) -> Found:
    """Fill, serve, let everybody work for so long, and look what was kept."""
    from tests import services

    found, over = Found(), threading.Event()
    with services.postgres(durable=True) as database, services.redis() as redis:
        # Whoever runs this may have settings of an installation of their own about them.
        for name in ("DEBUG", "HTTPS", "ALLOWED_HOSTS", "SECRET_KEY"):
            os.environ.pop(name, None)
        environment = {"DATABASE_URL": database, "REDIS_URL": redis, "TOUCHSTONE_VAR": var, "PROXIES": "1"}
        os.environ |= {**environment, "DJANGO_SETTINGS_MODULE": SETTINGS}
        import django
        from django.core.management import call_command
        from django.db import connection

        django.setup()
        call_command("collectstatic", verbosity=0, interactive=False)
        call_command("migrate", verbosity=0, interactive=False)
        work = work_of(options.annotators)
        add_documents(options.documents)
        with connection.cursor() as cursor:  # as autovacuum would have done by itself after a while
            cursor.execute("VACUUM ANALYZE")
        with serving(options.processes, environment) as (address, web), working(environment) as worker:
            owner, *people = (Browser(address) for _ in range(options.annotators + 1))
            owner.get("owner", "/healthz")  # signs in
            for browser, documents in zip(people, work, strict=True):
                browser.get(documents[0][1].username, "/healthz")
            connection.close()
            tasks: list[Callable[[], None]] = [
                partial(annotate, browser, documents, options.pause, found, over)
                for browser, documents in zip(people, work, strict=True)
            ]
            if not options.alone:
                tasks += [partial(export, owner, found, over), partial(prepare, found, over)]
            tasks += [partial(watch, web, worker, found, over)]
            tasks += [partial(end, over, 60 * options.minutes)]
            print(f"{options.annotators} annotators for {options.minutes} minutes", file=sys.stderr, flush=True)
            with strangers(address, options.sign_ins, found):
                run_all(tasks)
        found.lost = lost_saves(work)
        connection.close()
    return found


# --- what came of it ------------------------------------------------------------------------------


def growth(values: list[float]) -> tuple[float, float]:
    """The medians of the first and of the last quarter."""
    quarter = max(1, len(values) // 4)
    return statistics.median(values[:quarter]), statistics.median(values[-quarter:])


def main() -> int:
    """Let everybody work and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--pause", type=float, default=3, help="mean seconds between a person's saves")
    parser.add_argument("--documents", type=int, default=2000, help="that a run prepares, again and again")
    parser.add_argument("--processes", type=int, default=2, help="of gunicorn; delivered: 2")
    parser.add_argument("--sign-ins", type=int, default=0, help="clients that send wrong passwords without pause")
    parser.add_argument("--alone", action="store_true", help="no run and no exports beside")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    var = tempfile.mkdtemp(prefix="touchstone-load-")
    began = os.getloadavg()[0]
    try:
        found = play(options, var)
    finally:
        shutil.rmtree(var, ignore_errors=True)
    saves = Waits.of(found.saves)
    web, worker = (growth([getattr(each, name) for each in found.samples] or [0.0]) for name in ("web", "worker"))
    loads = [each.load for each in found.samples] or [began]
    result = {
        "annotators": options.annotators, "minutes": options.minutes, "pause_s": options.pause,
        "cores": os.cpu_count(), "load_before": round(began, 1), "load_median": statistics.median(loads),
        "load_highest": max(loads), "errors": len(found.errors), "first_errors": found.errors[:10],
        "saves_lost": found.lost, "saves_ms": asdict(saves), "pages_ms": asdict(Waits.of(found.pages)),
        "exports_ms": asdict(Waits.of(found.exports)), "runs_finished": found.runs,
        "documents_prepared": found.prepared,
        "sign_ins_by_status": dict(found.sign_ins), "web_mb_first_and_last_quarter": web,
        "worker_mb_first_and_last_quarter": worker,
    }  # fmt: skip
    if options.json:
        print(json.dumps(result | {"samples": [asdict(each) for each in found.samples]}, indent=1))
    else:
        for name, value in result.items():
            print(f"{name.replace('_', ' '):34} {value}")
    return 1 if found.errors or found.lost or saves.p95 >= AIM else 0


if __name__ == "__main__":
    sys.exit(main())
