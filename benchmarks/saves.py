"""What does one label's save cost, and how many people can save at once?

Starts gunicorn as delivered with PostgreSQL and Redis (config/gunicorn.py: two processes) and with five processes, on a
private PostgreSQL that writes to the disk as in earnest. As many people as clients save labels, each on a document of
their own of typical size (benchmarks/typical.py), one save after the other, over a connection that stays open: the
importance of a claim at decompose, the stance of a passage at verify.

For each screen, number of processes and number of clients: ``p50_ms`` and ``p95_ms`` that a client waits, ``per_s``
saves a second of all clients, ``queries`` and ``bytes`` of one answer's body (medians), and ``own_cpu_ms``, the
processor time of the web processes a save, from /proc (Linux), without the database's and the clients'. Clients,
database and web processes share the machine: times depend on its load, which is printed; ``own_cpu_ms``, ``queries``
and ``bytes`` hardly do.

    .venv/bin/python benchmarks/saves.py [--seconds 5] [--clients 1 8 32] [--processes 2 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.web_client import Ask, Browser, percentile  # noqa: E402

SETTINGS = "benchmarks.measured"
SCREENS = ("decompose", "verify")
WARM_UP = 3  # saves of each client that are not counted
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Target:
    """A label of one record, saved to and fro. ``version`` is that of the record, which each save raises by one."""

    path: str
    name: str
    values: tuple[str, str]
    version: int
    saved: int = 0

    def ask(self) -> Ask:
        value = self.values[self.saved % 2]
        data = {"field": self.name, "value": value, "version": str(self.version), "active_seconds": "3"}
        return Ask(self.path, data, is_fragment=True)


@dataclass
class Client:
    """One person at one document, and what their saves took."""

    username: str
    targets: list[Target]
    waits: list[float] = field(default_factory=list)  # milliseconds
    queries: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    problem: str = ""

    def save(self, browser: Browser, number: int) -> None:
        """Save the label that has its turn. Raises RuntimeError if the server refuses."""
        target = self.targets[number % len(self.targets)]
        began = time.perf_counter()
        answer = browser.send(self.username, target.ask())
        waited = 1000 * (time.perf_counter() - began)
        if answer.status >= 300:
            raise RuntimeError(f"{answer.status} for {target.path}: {answer.text[:300]}")
        target.version += 1
        target.saved += 1
        self.waits.append(waited)
        self.queries.append(int(answer.headers["X-Queries"]))
        self.sizes.append(len(answer.body))


@dataclass
class Figures:
    """What came of one combination."""

    screen: str
    processes: int
    clients: int
    saves: int
    p50_ms: float
    p95_ms: float
    per_s: float
    queries: int
    bytes: int
    own_cpu_ms: float
    load: float


# --- data -----------------------------------------------------------------------------------------


def fill(people: int) -> dict[str, list[Client]]:
    """As many people as clients, each with a document at decompose and one at verify; by the name of the screen."""
    from annotator.core.actions.benchmarks import create_benchmark
    from annotator.core.models import Batch, Membership, User
    from annotator.core.vocabulary import Role
    from benchmarks import typical

    texts = typical.read_texts()
    owner = User.objects.create_user("owner", is_staff=True)
    benchmark = create_benchmark(slug="measured", name="Measured", by=owner, strategy="", overlap=1)
    batch = Batch.objects.create(benchmark=benchmark, name="Batch 1", created_by=owner)
    clients: dict[str, list[Client]] = {screen: [] for screen in SCREENS}
    for number in range(people):
        person = User.objects.create_user(f"person-{number + 1}", display_name=f"Person {number + 1}")
        Membership.objects.create(benchmark=benchmark, user=person, role=Role.ANNOTATOR)
        opened = typical.typical_document(batch, texts, 2 * number + 1, f"decompose-{number + 1}")
        clients["decompose"].append(Client(person.username, _claims(typical.decompose_open(opened, person))))
        judged = typical.typical_document(batch, texts, 2 * number + 2, f"verify-{number + 1}")
        clients["verify"].append(Client(person.username, _stances(typical.verify_alone(judged, person, texts))))
    return clients


def _claims(annotation: object) -> list[Target]:
    from annotator.core.models import Claim

    rows = Claim.objects.filter(sentence__annotation=annotation).order_by("pk")
    return [Target(f"/save/claim:{row.public_id}/", "importance", ("less", "most"), row.version) for row in rows]


def _stances(annotation: object) -> list[Target]:
    from annotator.core.models import Stance

    rows = Stance.objects.filter(annotation=annotation).order_by("pk")
    return [Target(f"/save/stance:{row.public_id}/", "label", ("refute", "irrelevant"), row.version) for row in rows]


# --- the server -----------------------------------------------------------------------------------


@contextmanager
def serving(processes: int, environment: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The address of gunicorn with as many processes, and the number of its first process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "config" / "gunicorn.py")]
    server = subprocess.Popen(
        [*command, "--bind", f"127.0.0.1:{port}"],
        cwd=ROOT,
        env={**os.environ, **environment, "WEB_CONCURRENCY": str(processes), "LOG_LEVEL": "ERROR"},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=5).close()
                break
            except OSError:
                if server.poll() is not None:
                    raise SystemExit("The server did not start.") from None
                time.sleep(0.1)
        yield address, server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def processor_seconds(parent: int) -> float:
    """The processor time of a process and those that it started."""
    total = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            # Behind the name, which may hold spaces: state, parent, …, user and system time.
            values = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(folder.name) == parent or int(values[1]) == parent:
            total += int(values[11]) + int(values[12])
    return total / TICKS


# --- measuring ------------------------------------------------------------------------------------


def measure(address: str, server: int, clients: list[Client], seconds: float) -> tuple[float, float]:
    """Let all clients save for so long. Returns wall seconds and the web processes' processor seconds."""
    browsers = [Browser(address) for _ in clients]
    for client, browser in zip(clients, browsers, strict=True):
        client.waits, client.queries, client.sizes = [], [], []
        for number in range(WARM_UP):
            client.save(browser, number)
        client.waits, client.queries, client.sizes = [], [], []
    barrier = threading.Barrier(len(clients) + 1)
    over = threading.Event()

    def work(client: Client, browser: Browser) -> None:
        barrier.wait()
        number = WARM_UP
        while not over.is_set():
            try:
                client.save(browser, number)
            except (RuntimeError, OSError) as error:
                client.problem = str(error)
                return
            number += 1

    threads = [threading.Thread(target=work, args=each) for each in zip(clients, browsers, strict=True)]
    for thread in threads:
        thread.start()
    before = processor_seconds(server)
    barrier.wait()
    began = time.perf_counter()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join()
    wall, own = time.perf_counter() - began, processor_seconds(server) - before
    for client in clients:
        if client.problem:
            raise SystemExit(f"A save failed: {client.problem}")
    return wall, own


def figures(screen: str, processes: int, clients: list[Client], wall: float, own: float) -> Figures:
    """The figures of all clients together."""
    waits = [wait for client in clients for wait in client.waits]
    return Figures(
        screen=screen,
        processes=processes,
        clients=len(clients),
        saves=len(waits),
        p50_ms=percentile(waits, 50),
        p95_ms=percentile(waits, 95),
        per_s=round(len(waits) / wall, 1),
        queries=round(statistics.median(each for client in clients for each in client.queries)),
        bytes=round(statistics.median(each for client in clients for each in client.sizes)),
        own_cpu_ms=round(1000 * own / len(waits), 2),
        load=round(os.getloadavg()[0], 1),
    )


def main() -> int:
    """Measure every combination and print the table (or JSON)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="of saving for each combination")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 5], help="of gunicorn; delivered: 2")
    parser.add_argument("--screens", nargs="+", choices=SCREENS, default=list(SCREENS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    var = tempfile.mkdtemp(prefix="touchstone-saves-")
    try:
        results = play(options, var)
    finally:
        shutil.rmtree(var, ignore_errors=True)
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "results": [asdict(each) for each in results]}, indent=1))
        return 0
    names = list(asdict(results[0]))
    print("".join(f"{name:>11}" for name in names))
    for each in results:
        print("".join(f"{value:>11}" for value in asdict(each).values()))
    return 0


def play(options: argparse.Namespace, var: str) -> list[Figures]:
    """All combinations, on databases and servers of their own."""
    from tests import services

    results: list[Figures] = []
    with services.postgres(durable=True) as database, services.redis() as redis:
        # Whoever runs this may have settings of an installation of their own about them.
        for name in ("DEBUG", "HTTPS", "ALLOWED_HOSTS", "SECRET_KEY"):
            os.environ.pop(name, None)
        environment = {"DATABASE_URL": database, "REDIS_URL": redis, "TOUCHSTONE_VAR": var}
        os.environ |= {**environment, "DJANGO_SETTINGS_MODULE": SETTINGS}
        import django
        from django.core.management import call_command
        from django.db import connection

        django.setup()
        call_command("migrate", verbosity=0, interactive=False)
        clients = fill(max(options.clients))
        with connection.cursor() as cursor:  # as autovacuum would have done by itself after a while
            cursor.execute("VACUUM ANALYZE")
        connection.close()
        for processes in options.processes:
            with serving(processes, environment) as (address, server):
                for screen in options.screens:
                    for number in options.clients:
                        some = clients[screen][:number]
                        wall, own = measure(address, server, some, options.seconds)
                        results.append(figures(screen, processes, some, wall, own))
                        print(f"{screen}, {processes} processes, {number} clients", file=sys.stderr, flush=True)
    return results


if __name__ == "__main__":
    sys.exit(main())
