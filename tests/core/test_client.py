"""The typed client: generated from the committed schema, and the script of its documentation run as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from annotator.core.vocabulary import Role, Scope
from annotator.integrations.actions.tokens import create_token
from tests.factories import BenchmarkFactory, member, with_corpus

ROOT = Path(__file__).resolve().parents[2]
GENERATE = ROOT / "script" / "lib" / "client.py"
PAGE = ROOT / "docs" / "api" / "client.md"

IMPORT_ALL = """
import importlib, pkgutil, touchstone_client
names = [each.name for each in pkgutil.walk_packages(touchstone_client.__path__, "touchstone_client.")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def run(*command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "client"), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """The folder in which the client lies."""
    made = run(str(GENERATE), "client", folder=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (tmp_path / "client" / "setup.py").is_file()
    assert (tmp_path / "client" / "touchstone_client" / "py.typed").is_file()
    return tmp_path


def script() -> str:
    found = re.search(r"```python\n(import os.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    return found[1]


@pytest.mark.real_worker
@pytest.mark.django_db(transaction=True)
def test_the_documented_script_imports_waits_and_exports(
    client: Path, live_server: LiveServer, real_worker: None
) -> None:
    benchmark = BenchmarkFactory(slug="landmarks", strategy="offline", overlap=1)
    with_corpus(benchmark)
    owner = member(benchmark, Role.OWNER)
    token = create_token(
        by=owner, name="Docs", scopes=[Scope.READ, Scope.MANAGE, Scope.EXPORT], benchmark=benchmark
    ).whole
    everything = run("-c", IMPORT_ALL, folder=client)
    assert everything.returncode == 0, everything.stderr
    assert int(everything.stdout) > 200

    (client / "script.py").write_text(script())
    for printed in ("1 new, 0 already imported\n", "0 new, 1 already imported\n"):
        done = run("script.py", folder=client, TOUCHSTONE_URL=live_server.url, TOUCHSTONE_TOKEN=token)
        assert (done.stdout, done.stderr) == (printed, "")
    document = benchmark.documents.get()
    assert document.phase == "independent"  # no longer waiting for suggestions
    assert document.sentence_suggestions.count() == 2
    (line,) = (client / "landmarks.jsonl").read_text().splitlines()
    assert json.loads(line)["prompt"] == "Who was Ada Lovelace?"

    refused = run("script.py", folder=client, TOUCHSTONE_URL=live_server.url, TOUCHSTONE_TOKEN="ts_no_token")
    assert refused.returncode == 1
    assert "401" in refused.stderr


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "thesis.tex").write_text("mine")
    refused = run(str(GENERATE), "client", folder=tmp_path)
    assert refused.returncode == 1
    assert "holds something else" in refused.stderr
    assert [each.name for each in (tmp_path / "client").iterdir()] == ["thesis.tex"]
