"""Writes the typed client of the API as a package that pip installs.

    python script/lib/client.py [FOLDER]

FOLDER is touchstone-client in the current folder by default; what an earlier run wrote there is replaced, any other
folder with something in it is refused. Exit code 1 with a sentence when it cannot be written.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMA = ROOT / "docs" / "api" / "openapi.yaml"
SETTINGS = ROOT / "script" / "lib" / "client.yaml"


def generate(folder: Path) -> None:
    """Write the client of the schema in docs/api. SystemExit: why it could not be written."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "touchstone_client").is_dir():
        sys.exit(f"{folder} holds something else. Name a new or empty folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "openapi_python_client", "generate"]
    command += ["--path", str(SCHEMA), "--config", str(SETTINGS), "--output-path", str(folder), "--meta", "setup"]
    # What the generator says of a schema that it cannot take whole is a fault here, never a gap in the client.
    command += ["--overwrite", "--fail-on-warning"]
    # It tidies what it has written with the ruff that lies beside this Python.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nThe client could not be written from {SCHEMA}.")


def main(arguments: list[str]) -> None:
    if len(arguments) > 1 or any(each.startswith("-") for each in arguments):
        sys.exit("Usage: script/client [FOLDER]")
    folder = Path(arguments[0] if arguments else "touchstone-client").resolve()
    generate(folder)
    print(f"The client is in {folder}. Install it:  pip install {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
