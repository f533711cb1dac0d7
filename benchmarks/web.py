"""How quick are the pages that people wait for, with 100,000 documents and 20 groups?

Starts the real server (script/lib/server.py) on a private PostgreSQL, fills it (benchmarks/web_data.py), and asks for
each scene as a browser would. Server time, its parts and queries are counted inside the server
(benchmarks/measured.py); client time is what one client on the same machine waits. "Cold" is what a browser asks for
at its first visit: the page with its style sheets, scripts and images, compressed where the server compresses; "gzip"
is what a proxy would make of the page. Computing and queries are the same on a busy machine, times are not: see the
load.

    .venv/bin/python benchmarks/web.py [--documents 100000] [--groups 20] [--rounds 100] [--json]

A database can be kept for the next run with --keep-database, in the server that TEST_DATABASE_URL names.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.web_client import Browser, Result, measure  # noqa: E402

SETTINGS = "benchmarks.measured"


# --- server and database --------------------------------------------------------------------------


@contextlib.contextmanager
def database(options: argparse.Namespace) -> Iterator[tuple[str, bool]]:
    """The URL of a database of this benchmark's own, and whether it is filled already."""
    from tests import services

    given = os.environ.get("TEST_DATABASE_URL", "").strip()
    if options.keep_database and not given:
        raise SystemExit("--keep-database needs a server that stays: name it in TEST_DATABASE_URL.")
    name = f"touchstone_web_{options.documents}_{options.groups}"
    with services.postgres(durable=True) as server:
        url = f"{server.rsplit('/', 1)[0]}/{name}"
        with psycopg.connect(server, autocommit=True) as connection:
            there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is not None
            if there and not options.keep_database:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
                there = False
            if not there:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield url, there
        if not options.keep_database:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def fill(options: argparse.Namespace) -> None:
    """Make the tables and the data, and say how long that took."""
    from django.core.management import call_command

    from benchmarks import web_data

    began = time.perf_counter()
    call_command("migrate", verbosity=0, interactive=False)
    web_data.load(options.documents, options.groups)
    say(f"Loaded {options.documents:,} documents in {time.perf_counter() - began:.0f} s")


def say(line: str) -> None:
    """Progress; the results alone go to standard output."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Measure every scene and print the table (or JSON). 1 if a target is missed or a scene failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=20, help="with two annotators and a third rater each; at least 4")
    parser.add_argument("--rounds", type=int, default=100, help="counted requests a scene")
    parser.add_argument("--only", default="", help="scenes whose name contains these words")
    parser.add_argument("--keep-database", action="store_true", help="leave the data for the next run")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.groups < 4:
        parser.error("--groups: at least 4, since three of them are in a state of their own")
    var = tempfile.mkdtemp(prefix="touchstone-web-")
    try:
        with database(options) as (url, is_filled):
            # Whoever runs this may have settings of an installation of their own about them.
            for name in ("REDIS_URL", "DEBUG", "HTTPS", "ALLOWED_HOSTS", "SECRET_KEY"):
                os.environ.pop(name, None)
            os.environ |= {"DATABASE_URL": url, "TOUCHSTONE_VAR": var, "DJANGO_SETTINGS_MODULE": SETTINGS}
            import django

            django.setup()
            if not is_filled:
                fill(options)
            results = play(url, var, options)
    finally:
        shutil.rmtree(var, ignore_errors=True)
    report(results, options)
    return 1 if any(each.is_over or each.problem for each in results) else 0


def play(url: str, var: str, options: argparse.Namespace) -> list[Result]:
    """All scenes against a server that runs for them."""
    from benchmarks.web_scenes import Scenes
    from tests.running_server import Server

    server = Server(
        Path(var), "--port", "0", "--no-demo", DATABASE_URL=url, DJANGO_SETTINGS_MODULE=SETTINGS, LOG_LEVEL="ERROR"
    )
    if not server.address:
        raise SystemExit(f"The server did not start:\n{server.printed}")
    results: list[Result] = []
    try:
        browser = Browser(server.address.replace("localhost", "127.0.0.1"))
        scenes = Scenes(options.groups, lambda username, path: browser.get(username, path).text)
        for scene in scenes.all():
            if options.only in scene.name:
                results.append(measure(browser, scene, options.rounds))
                say(f"{scene.name}: {results[-1].problem or f'{results[-1].server_p95} ms'}")
    finally:
        server.stop(signal.SIGTERM)
    return results


def report(results: list[Result], options: argparse.Namespace) -> None:
    """The figures, for people or (``--json``) for programs."""
    if options.json:
        machine = {
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "python": platform.python_version(),
            "system": platform.platform(),
        }
        size = {"documents": options.documents, "groups": options.groups}
        print(json.dumps({**size, "machine": machine, "scenes": [asdict(each) for each in results]}, indent=1))
        return
    print(f"{options.documents:,} documents, {options.groups} groups, {options.rounds} requests a scene; times in ms")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; database and computing: p50\n")
    columns = "server p50,p95,target,database,computing,client p50,p95,queries,KiB,gzip,cold,KiB".split(",")
    print(f"{'scene':<30}" + "".join(f"{each:>11}" for each in columns))
    for each in results:
        if each.problem:
            print(f"{each.scene:<30}   {each.problem}")
            continue
        target = "" if each.target is None else f"{'OVER ' if each.is_over else ''}{each.target:.0f}"
        queries = sorted({each.queries_min, each.queries_max})
        cells = [each.server_p50, each.server_p95, target, each.database_p50, each.processor_p50]
        cells += [each.client_p50, each.client_p95]
        cells += ["-".join(map(str, queries)), f"{each.bytes / 1024:.1f}", f"{each.bytes_compressed / 1024:.1f}"]
        cells += [each.cold.requests or "", f"{each.cold.bytes / 1024:.0f}" if each.cold.requests else ""]
        print(f"{each.scene:<30}" + "".join(f"{cell:>11}" for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
