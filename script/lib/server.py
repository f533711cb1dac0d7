"""Serves Touchstone until Ctrl-C. Called by script/server, in the project's environment.

Embedded (no REDIS_URL): this program becomes gunicorn, one process, whose in-process worker does the
background work. With REDIS_URL: gunicorn and one Celery worker program run below this one, which stops
both when asked to or when one of them ends.
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS_TO_STOP = 10.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/server", description="Set up what is missing and serve Touchstone.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="port (default: 8000; 0 picks a free one)")
    parser.add_argument("--no-demo", action="store_true", help="start without the demo and its log-ins")
    return parser.parse_args()


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """A socket that holds the port from now on, so that a taken one is noticed before any work is done."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # Listening at once: only that keeps a second server out, and who comes early waits instead of failing.
        bound.listen(2048)
    except (OSError, OverflowError) as error:
        if getattr(error, "errno", None) in {48, 98}:  # EADDRINUSE on macOS and on Linux
            raise SystemExit(
                f"Port {port} on {host} is taken by another program, perhaps by a Touchstone that runs already. "
                f"Stop that, or choose another port: script/server --port {port + 1}"
            ) from None
        raise SystemExit(f"Cannot listen on {host}, port {port}: {error}") from None
    bound.set_inheritable(True)
    return bound


def prepare(demo: bool) -> None:
    """Migrate, collect static files, load the demo: in a program of its own, to give its memory back."""
    command = [sys.executable, str(ROOT / "script" / "lib" / "prepare.py"), *(["--demo"] if demo else [])]
    result = subprocess.run(command, cwd=ROOT, check=False)
    if result.returncode:
        raise SystemExit(result.returncode)


def supervise(commands: list[list[str]], pass_fds: tuple[int, ...]) -> int:
    """Run the commands until a signal comes or one of them ends; then end all. Returns the exit code."""
    stopping = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    # Sessions of their own: Ctrl-C reaches this program alone, which stops them in order. Where this program is killed,
    # the system ends them.
    children = [
        subprocess.Popen(
            [sys.executable, str(ROOT / "script" / "lib" / "bound.py"), str(os.getpid()), *command],
            cwd=ROOT,
            pass_fds=pass_fds,
            start_new_session=True,
        )
        for command in commands
    ]
    while not stopping and all(child.poll() is None for child in children):
        time.sleep(0.1)
    died = [child for child in children if child.poll() is not None]
    for child in died:
        print(f"{child.args[5]} ended by itself with code {child.returncode}; stopping.", file=sys.stderr)  # type: ignore[index]
    for child in children:
        if child.poll() is None:
            child.terminate()
    last_moment = time.monotonic() + SECONDS_TO_STOP
    for child in children:
        try:
            child.wait(max(0.1, last_moment - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    return 1 if died and not stopping else 0


def main() -> None:
    options = arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # becoming gunicorn flushes nothing
    os.chdir(ROOT)
    loopback = is_loopback(options.host)
    bound = bind(options.host, options.port)
    port = bound.getsockname()[1]
    if not os.environ.get("ALLOWED_HOSTS", "").strip() and not loopback:
        os.environ["ALLOWED_HOSTS"] = f"localhost,127.0.0.1,[::1],{options.host}"
        if options.host in {"0.0.0.0", "::"}:  # noqa: S104
            print(
                "Requests from other machines are refused until ALLOWED_HOSTS names what they call this one, "
                "for example ALLOWED_HOSTS=touchstone.example.org"
            )
    # The demo's passwords are printed, so they are made only for this machine and its embedded database.
    embedded = not os.environ.get("DATABASE_URL", "").strip()
    demo = not options.no_demo and loopback and embedded
    if not demo and not options.no_demo:
        print("No demo: its log-ins work only with the embedded database and on this machine's own address.")
    try:
        prepare(demo)
    except KeyboardInterrupt:
        raise SystemExit(130) from None

    shown = options.host if options.host not in {"127.0.0.1", "0.0.0.0", "::", "::1"} else "localhost"  # noqa: S104
    os.environ["TOUCHSTONE_ADDRESS"] = f"http://{shown}:{port}/"
    web = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "config" / "gunicorn.py")]
    web += ["--bind", f"fd://{bound.fileno()}"]
    if not os.environ.get("REDIS_URL", "").strip():
        os.execv(sys.executable, web)
    worker = [sys.executable, "-m", "celery", "--app", "config", "worker", "--loglevel", "WARNING"]
    worker += ["--beat", "--scheduler", "celery.beat:Scheduler"]
    raise SystemExit(supervise([web, worker], (bound.fileno(),)))


if __name__ == "__main__":
    main()
