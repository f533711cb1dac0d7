"""The whole suite, run by script/test in the project's environment.

Without arguments: the linters, the tests on SQLite with the browser's, then the tests but the browser's on
PostgreSQL. With arguments: pytest with these arguments on SQLite, nothing else. PostgreSQL and Redis are
private servers that end with this program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests import services  # noqa: E402

PYTHON = sys.executable
MINUTES = 50

CHECKS: list[tuple[str, list[str]]] = [
    ("ruff check", [PYTHON, "-m", "ruff", "check", "."]),
    ("ruff format", [PYTHON, "-m", "ruff", "format", "--check", "."]),
    ("templates", [PYTHON, "-m", "djlint", "templates", "--lint", "--quiet"]),
    (
        "import law",
        [PYTHON, "-c", "import importlinter.cli as cli; cli.lint_imports_command()", "--no-logo"],
    ),
    ("types", [PYTHON, "-m", "mypy"]),
    (
        "migrations",
        [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run", "--settings", "tests.settings"],
    ),
]


def run(command: list[str], **environment: str) -> int:
    """Run a command in the project's folder; its exit code."""
    try:
        return subprocess.run(
            command, cwd=ROOT, env={**os.environ, **environment}, check=False, timeout=MINUTES * 60
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"Stopped after {MINUTES} minutes: {' '.join(command)}", flush=True)
        return 1


def lint() -> list[str]:
    """Run every check; the names of those that failed."""
    failed = []
    for name, command in CHECKS:
        print(f"--- {name}", flush=True)
        if run(command):
            failed.append(name)
    return failed


def started(stack: contextlib.ExitStack, service: Callable[[], AbstractContextManager[str]]) -> str:
    """The URL of a service, which ends with the stack. Blank where it is missing; in CI that ends the suite."""
    try:
        return stack.enter_context(service())
    except services.MissingService as missing:
        give_up_in_ci(missing)
        return ""


def give_up_in_ci(missing: services.MissingService) -> None:
    if services.in_ci():
        raise SystemExit(f"Missing in CI: {missing}")
    print(f"Skipping what needs it: {missing}", flush=True)


def main() -> int:
    arguments = sys.argv[1:]
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: the services end with this program
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    with contextlib.ExitStack() as stack:
        postgres = started(stack, services.postgres)
        redis = started(stack, services.redis)
        try:
            services.chromium(install=True)
        except services.MissingService as missing:
            give_up_in_ci(missing)
        shared = {"TEST_POSTGRES_URL": postgres, "TEST_REDIS_URL": redis, "TEST_DATABASE_URL": ""}
        pytest = [PYTHON, "-m", "pytest"]
        if arguments:
            return run([*pytest, *arguments], **shared)

        failed = lint()
        if failed:
            print(f"\nNot run: the tests, because of {', '.join(failed)}; the reasons stand above.")
            return 1
        parallel = ["-n", "2", "--quiet"]
        print("--- tests on SQLite, with the browser's", flush=True)
        if code := run([*pytest, *parallel], **shared):
            return code
        if not postgres:
            return 0
        print("--- tests on PostgreSQL", flush=True)
        return run([*pytest, *parallel, "-m", "not browser"], **{**shared, "TEST_DATABASE_URL": postgres})


if __name__ == "__main__":
    raise SystemExit(main())
