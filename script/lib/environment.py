"""Keeps .venv equal to a locked requirements file. Standard library only: it runs before anything is there.

    python script/lib/environment.py core|dev

core installs requirements.txt, dev requirements-dev.txt (which holds the core in the same versions). Says
nothing when there is nothing to do. Exit code 1 with a sentence when it cannot be done.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
# What is installed: name of the locked file -> its SHA-256 when it was installed.
STAMP = VENV / "touchstone-installed.json"
FILES = {"core": ["requirements.txt"], "dev": ["requirements.txt", "requirements-dev.txt"]}


def wanted(kind: str) -> dict[str, str]:
    """Name and SHA-256 of each locked file that must be installed."""
    return {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in FILES[kind]}


def installed() -> dict[str, str]:
    """What the stamp says; empty when there is no usable environment."""
    if not VENV_PYTHON.exists():  # a dangling link to a removed Python counts as missing
        return {}
    try:
        return dict(json.loads(STAMP.read_text()))
    except (OSError, ValueError):
        return {}


def is_current(kind: str) -> bool:
    return wanted(kind).items() <= installed().items()


def succeeds(command: list[str]) -> bool:
    """Run a set-up command, its words on the screen."""
    settings = {
        "UV_PYTHON_DOWNLOADS": "never",  # the Python that is here was chosen above
        "UV_LINK_MODE": "copy",  # no warning where hard links are impossible
        "UV_SYSTEM_CERTS": "1",  # as pip does: networks with a certificate of their own
    }
    environment = {**os.environ, **settings}
    environment.pop("VIRTUAL_ENV", None)
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def run(command: list[str]) -> None:
    """Run a set-up command; when it fails, stop with its own words above ours."""
    if not succeeds(command):
        raise SystemExit(f"Setting up .venv failed; the reason stands above. The command was:\n  {' '.join(command)}")


def make_venv(uv: str | None) -> None:
    """An empty environment in .venv with the Python that runs this."""
    if VENV.exists():
        shutil.rmtree(VENV)
    if uv and succeeds([uv, "venv", "--quiet", "--python", sys.executable, str(VENV)]):
        return
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise SystemExit(
            f"{sys.executable} comes without venv. Install your system's package for it "
            "(Debian, Ubuntu: apt-get install python3-venv) or uv, and start again."
        ) from None
    run([sys.executable, "-m", "venv", str(VENV)])


def works(python: Path) -> bool:
    """Whether the environment's Python starts and is new enough."""
    if not python.exists():
        return False
    probe = [str(python), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def install(kind: str) -> None:
    uv = shutil.which("uv")
    if not works(VENV_PYTHON):
        print("Creating the environment in .venv", flush=True)
        make_venv(uv)
    hashes = wanted(kind)
    file = FILES[kind][-1]
    locked = ["--require-hashes", "-r", file]
    print(f"Installing {file} into .venv (once; up to a few minutes)", flush=True)
    if not (uv and succeeds([uv, "pip", "install", "--quiet", "--python", str(VENV_PYTHON), *locked])):
        if uv:
            print("uv failed; trying pip", flush=True)
        pip = [str(VENV_PYTHON), "-m", "pip"]
        if subprocess.run([*pip, "--version"], check=False, capture_output=True).returncode:
            run([str(VENV_PYTHON), "-m", "ensurepip"])  # an environment that uv made has no pip
        quiet = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
        run([*pip, "install", *quiet, *locked])
    kept = {} if kind == "dev" else {k: v for k, v in installed().items() if k not in hashes}
    if kept.get("requirements-dev.txt") and "requirements.txt" in hashes:
        kept.pop("requirements-dev.txt")  # the core has just changed beneath it
    STAMP.write_text(json.dumps({**kept, **hashes}, indent=1))


def main() -> None:
    kind = sys.argv[1]
    if is_current(kind):
        return
    # Two scripts started at once must not install into one folder at the same time.
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(kind):
            install(kind)


if __name__ == "__main__":
    main()
