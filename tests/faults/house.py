"""A whole installation as processes that can be killed and started again: PostgreSQL, Redis, web, worker, beat."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests import services

ROOT = Path(__file__).resolve().parent.parent.parent
CSRF = "a" * 32
DISK = "320m"  # the size of the file system that holds everything, small enough to be filled
SECONDS = 90  # for anything that must come to pass


@dataclass
class Process:
    """A program that a supervisor would start again."""

    command: list[str]
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path = ROOT
    user: pwd.struct_passwd | None = None
    running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        run_as: dict[str, Any] = {}
        if self.user:
            run_as = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                self.command, cwd=self.folder, env=self.environment, stdout=log, stderr=log, start_new_session=True,
                **run_as,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        assert self.running is not None
        return self.running.pid

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the program alone and wait until it has ended."""
        assert self.running is not None
        self.running.send_signal(number)
        self.running.wait(SECONDS)

    def children(self) -> list[int]:
        """The processes that the program has started itself."""
        found = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(each) for each in found]

    def end(self) -> None:
        """Whatever state it is in: it and all below it are gone."""
        if self.running is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()


@dataclass
class House:
    """Everything that runs, where it is, and what it was given."""

    disk: Path
    can_be_filled: bool
    database: str
    postgres: Process
    redis: Process
    web: Process
    worker: Process
    beat: Process
    address: str
    redis_port: int

    def ask(self, query: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.database, autocommit=True, connect_timeout=5) as connection:
            return connection.execute(query, values).fetchall()

    def is_healthy(self) -> bool:
        """Web processes and database answer."""
        try:
            with urllib.request.urlopen(f"{self.address}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def wait_for(self, what: str, holds: Callable[[], bool]) -> None:
        """Raises AssertionError with the logs if it doesn't come to pass in time."""
        last = time.monotonic() + SECONDS
        while time.monotonic() < last:
            with contextlib.suppress(psycopg.OperationalError):  # the database may be recovering
                if holds():
                    return
            time.sleep(0.1)
        logs = [f"{each.name}: {each.read_text(errors='replace')[-2500:]}" for each in self.disk.glob("*.log")]
        raise AssertionError("\n".join([f"{what}: not within {SECONDS} s", *logs]))

    def start_postgres(self) -> None:
        """Start it until it stays: what a killed one left behind must have ended first."""
        while True:
            self.postgres.start()
            assert self.postgres.running is not None
            for _ in range(SECONDS * 10):
                with contextlib.suppress(psycopg.OperationalError):
                    self.ask("SELECT 1")
                    return
                if self.postgres.running.poll() is not None:
                    break
                time.sleep(0.1)


@contextlib.contextmanager
def small_disk() -> Iterator[tuple[Path, bool]]:
    """A folder on a small file system of its own, and True; where none can be mounted, any folder, and False."""
    folder = Path(tempfile.mkdtemp(prefix="touchstone-faults-"))
    mounted = (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "touchstone-faults", str(folder)],
            check=False, capture_output=True,
        ).returncode == 0
        if shutil.which("mount") else False
    )  # fmt: skip
    folder.chmod(0o755)
    kept = tempfile.tempdir
    tempfile.tempdir = str(folder)  # services.postgres makes its folder here
    try:
        yield folder, mounted
    finally:
        tempfile.tempdir = kept
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def own_postgres() -> Iterator[tuple[Path, bool, str]]:
    """A PostgreSQL on the small disk: never one that the environment names, which others may use."""
    named = {name: os.environ.pop(name) for name in ("TEST_DATABASE_URL", "TEST_POSTGRES_URL") if name in os.environ}
    try:
        with small_disk() as (disk, can_be_filled), services.postgres(durable=True) as url:
            yield disk, can_be_filled, url
    finally:
        os.environ |= named


def of_postgres(url: str, disk: Path) -> Process:
    """The running server as a process that can be started again with the same command."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    data = Path(row[0])
    pid = int((data / "postmaster.pid").read_text().split()[0])
    command = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode().split("\0")
    owner = pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid)
    process = Process(command, disk / "postgres.log", {"PATH": os.environ["PATH"]}, data.parent)
    process.user = owner if os.geteuid() == 0 else None
    return process


@contextlib.contextmanager
def house() -> Iterator[House]:
    """Everything runs; afterwards all of it is gone, however the block ended."""
    port, redis_port = services._free_port(), services._free_port()
    redis = services._redis_binary()
    if redis is None:
        raise services.MissingService("There is no redis-server here.")
    with own_postgres() as (disk, can_be_filled, database):
        postgres = of_postgres(database, disk)
        # Restarted under this program's eyes: from here on `postgres` is the one that runs.
        os.kill(int((Path(postgres.folder) / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGINT)
        environment = {
            "PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(disk / "var"), "DATABASE_URL": database,
            "REDIS_URL": f"redis://127.0.0.1:{redis_port}/0", "DJANGO_SETTINGS_MODULE": "config.settings",
            "WEB_CONCURRENCY": "2", "RUN_LOST_AFTER": "3", "DB_STATEMENT_TIMEOUT": "5", "DB_CONNECT_TIMEOUT": "2",
            "DB_TCP_TIMEOUT": "3",
        }  # fmt: skip
        python, celery = sys.executable, [sys.executable, "-m", "celery", "--app", "config"]
        gunicorn = [python, "-m", "gunicorn", "--config", str(ROOT / "config" / "gunicorn.py")]
        made = House(
            disk, can_be_filled, database, postgres,
            redis=Process(
                [redis, "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                disk / "redis.log", folder=disk,
            ),
            web=Process([*gunicorn, "--bind", f"127.0.0.1:{port}"], disk / "web.log", environment),
            worker=Process(
                [*celery, "worker", "--concurrency", "2", "--loglevel", "WARNING"], disk / "worker.log", environment
            ),
            beat=Process(
                [*celery, "beat", "--scheduler", "celery.beat:Scheduler", "--pidfile=", "--loglevel", "WARNING"],
                disk / "beat.log", environment,
            ),
            address=f"http://127.0.0.1:{port}",
            redis_port=redis_port,
        )  # fmt: skip
        try:
            made.start_postgres()
            yield made
        finally:
            for each in (made.web, made.worker, made.beat, made.redis, made.postgres):
                each.end()
