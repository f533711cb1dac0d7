"""Writes the typed client of the API as a package that pip installs.

    python script/lib/client.py [FOLDER]

FOLDER is touchstone-client in the current folder by default; what an earlier run wrote there is replaced, any other
folder with something in it is refused. Exit code 1 with a sentence when it cannot be written.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMA = ROOT / "docs" / "api" / "openapi.yaml"
SETTINGS = ROOT / "script" / "lib" / "client.yaml"
GUIDE = ROOT / "docs" / "api" / "client.md"
README = """\
# touchstone-client

The typed Python client of Touchstone's API. It needs Python 3.11 or newer.

    pip install ./touchstone-client

Make a token in Touchstone under *Account*, *API tokens*. Put the address of your server into `TOUCHSTONE_URL` and the
token into `TOUCHSTONE_TOKEN`. This script imports a document into the benchmark `landmarks`, waits for its suggestions
and exports everything:

{example}
Operations are modules in `touchstone_client.api`, one package for each tag, each with `sync`, `asyncio`, and the same
with `_detailed` for status and headers. Bodies and answers are classes in `touchstone_client.models`. Your server
describes every operation under *Account*, *API tokens*, *API reference*.
"""


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
    (folder / "README.md").write_text(README.format(example=example()), encoding="utf-8")


def example() -> str:
    """The first script of the client's guide, which the tests run, with its fences."""
    found = re.search(r"^```python\n.*?^```\n", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{GUIDE} has no example"
    return found[0]


def main(arguments: list[str]) -> None:
    if len(arguments) > 1 or any(each.startswith("-") for each in arguments):
        sys.exit("Usage: script/client [FOLDER]")
    folder = Path(arguments[0] if arguments else "touchstone-client").resolve()
    generate(folder)
    print(f"The client is in {folder}. Install it:  pip install {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
