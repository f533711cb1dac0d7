"""What script/check runs: every check of checks.py and, beside them, the tests nearest to what was changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import checks
import nearest

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = 20  # of tests: to read all of them takes longer than to run the nearest
SECONDS = 40  # for the tests, from the start of pytest; with what it takes to end, all stays below a minute


def start_tests(base: str | None) -> subprocess.Popen[str] | None:
    """pytest with the nearest test files, the nearest first. None: nothing that tests look at was changed."""
    changed = nearest.changed_files(base)
    found = nearest.nearest(changed, sorted((ROOT / "tests").rglob("test_*.py")))
    chosen = f", of which the nearest {FILES} are chosen" if len(found) > FILES else ""
    print(f"{len(changed)} changed files; {len(found)} files of tests are near them{chosen}", flush=True)
    if not found:
        return None
    command = [sys.executable, "-m", "pytest", "-p", "time_limit", "--seconds", str(SECONDS)]
    command += [
        "-p",
        "no:randomly",
        "-n0",
        "--quiet",
        "--no-header",
        *(str(each.relative_to(ROOT)) for each in found[:FILES]),
    ]
    path = os.pathsep.join(filter(None, [str(ROOT / "script" / "lib"), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip


def main() -> int:
    began = time.monotonic()
    tests = start_tests(sys.argv[1] if len(sys.argv) > 1 else None)
    failed = checks.run_all(list(checks.CHECKS))
    if tests is not None:
        said, _ = tests.communicate()
        print(said, end="")
        if tests.returncode not in (0, 5):  # 5: the chosen files hold no test
            failed.append("tests")
    print(f"{'Failed: ' + ', '.join(failed) if failed else 'All passed'} ({time.monotonic() - began:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
