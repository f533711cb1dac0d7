"""The checks that read the code without running it: script/check and script/test run all of them side by side,
.pre-commit-config.yaml one by one.

    python script/lib/checks.py [NAME ...]

Without names: all. What a check says is printed only when it fails. Exit code 1 when one does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = sys.executable

CHECKS: dict[str, list[str]] = {
    # The longest first: with two cores the others run beside it.
    "types": [PYTHON, "-m", "mypy"],
    "migrations": [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run", "--settings", "tests.settings"],
    "templates": [PYTHON, "-m", "djlint", "templates", "--lint", "--quiet"],
    "imports": [PYTHON, "-c", "import importlinter.cli as cli; cli.lint_imports_command()", "--no-logo"],
    "lint": [PYTHON, "-m", "ruff", "check", "."],
    "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "static": ["biome", "lint", "--error-on-warnings", "static"],
}


def find_biome() -> str | None:
    """Biome beside this Python, where its wheel puts it, or on the PATH. None: there is no wheel for this system."""
    beside = Path(PYTHON).parent / "biome"
    return str(beside) if beside.exists() else shutil.which("biome")


def run(name: str) -> tuple[bool, str]:
    """Whether the check passes, and what it says."""
    command = CHECKS[name]
    if command[0] == "biome":
        biome = find_biome()
        if biome is None:
            missing = "There is no Biome here (PyPI has it for Linux on x86-64): put one on the PATH to check static/."
            return os.environ.get("CI", "").lower() not in {"1", "true", "yes"}, missing
        command = [biome, *command[1:]]
    passes, said = _run(command)
    if "INTERNAL ERROR" in said:  # mypy's cache does not outlive every move of a module
        shutil.rmtree(ROOT / ".mypy_cache", ignore_errors=True)
        passes, said = _run(command)
    return passes, said


def _run(command: list[str]) -> tuple[bool, str]:
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode == 0, done.stdout.decode(errors="replace")


def run_all(names: list[str]) -> list[str]:
    """Run the checks side by side; the names of those that fail."""
    failed = []

    def timed(name: str) -> tuple[bool, str, float]:
        began = time.monotonic()
        return *run(name), time.monotonic() - began

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        running = {pool.submit(timed, name): name for name in names}
        for each in as_completed(running):
            passes, said, seconds = each.result()
            name = running[each]
            print(f"{'ok    ' if passes else 'FAILED'} {name} ({seconds:.1f} s)", flush=True)
            if not passes:
                failed.append(name)
            if not passes or said.startswith("There is no Biome"):
                print(said, flush=True)
    return failed


def main(names: list[str]) -> int:
    if unknown := set(names) - set(CHECKS):
        raise SystemExit(f"There is no check {', '.join(sorted(unknown))}: choose from {', '.join(CHECKS)}.")
    return 1 if run_all(names or list(CHECKS)) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
