"""The whole suite, run by script/test in the project's environment.

Without arguments: the checks of script/lib/checks.py, the tests on SQLite with the browser's, then on PostgreSQL the
tests that depend on the database (tests/database.py); queries are counted there alone. With --all-on-postgres, meant
for once a week, all tests run on SQLite and all but the browser's on PostgreSQL. With other arguments: pytest with
these arguments on SQLite, nothing else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checks  # noqa: E402

from tests import services  # noqa: E402

PYTHON = sys.executable
MINUTES = 50


def pytest(*arguments: str, **environment: str) -> int:
    """Run pytest in the project's folder; its exit code."""
    command = [PYTHON, "-m", "pytest", *arguments]
    began = time.monotonic()
    try:
        code = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **environment}, check=False, timeout=MINUTES * 60
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"Stopped after {MINUTES} minutes: {' '.join(command)}", flush=True)
        return 1
    print(f"    {time.monotonic() - began:.0f} s", flush=True)
    return code


def main() -> int:
    arguments = sys.argv[1:]
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: the services end with this program
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    # A server named from outside is for PostgreSQL's part; the other one runs on SQLite.
    on_sqlite = {"TEST_POSTGRES_URL": os.environ.get("TEST_DATABASE_URL", ""), "TEST_DATABASE_URL": ""}
    all_on_postgres = "--all-on-postgres" in arguments
    if arguments and not all_on_postgres:
        return pytest(*arguments, **on_sqlite)
    if others := set(arguments) - {"--all-on-postgres"}:
        raise SystemExit(f"--all-on-postgres stands alone, without {' '.join(sorted(others))}.")

    print("--- checks", flush=True)
    if failed := checks.run_all(list(checks.CHECKS)):
        print(f"\nNot run: the tests, because of {', '.join(failed)}; the reasons are above.")
        return 1
    # Not --dist worksteal: a worker that takes browser tests from another may have to run others after them, and
    # tests/conftest.py keeps those last.
    parallel = ["-n", "2", "--quiet"]
    with contextlib.ExitStack() as stack:
        try:
            postgres = stack.enter_context(services.postgres())
        except services.MissingService as missing:
            if services.in_ci():
                raise SystemExit(f"Missing in CI: {missing}") from None
            print(f"Not run on PostgreSQL: {missing}", flush=True)
            return pytest(*parallel, **on_sqlite)
        on_sqlite["TEST_POSTGRES_URL"] = postgres
        first, second = ("", "not browser") if all_on_postgres else ("not query_counts", "database")
        print("--- tests on SQLite, with the browser's", flush=True)
        on_sqlite_failed = pytest(*parallel, "-m", first, **on_sqlite)
        print(f"--- tests on PostgreSQL: {second}", flush=True)
        on_postgres_failed = pytest(*parallel, "-m", second, TEST_DATABASE_URL=postgres, TEST_POSTGRES_URL=postgres)
        return on_sqlite_failed or on_postgres_failed  # one run tells everything that fails


if __name__ == "__main__":
    raise SystemExit(main())
