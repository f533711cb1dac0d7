"""script/check chooses the tests that lie nearest to a change, and stops in time."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "script" / "lib"


@pytest.fixture
def nearest(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(LIB))
    return import_module("nearest")


@pytest.fixture
def tests(tmp_path: Path, nearest: Any, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A folder of tests beside a small project in which c imports b, and b imports a."""
    for name, imported in (("a", ""), ("b", "import shop.a"), ("c", "from shop import b"), ("d", "")):
        (tmp_path / "shop").mkdir(exist_ok=True)
        (tmp_path / "shop" / "__init__.py").touch()
        (tmp_path / "shop" / f"{name}.py").write_text(imported)
    (tmp_path / "tests").mkdir()
    files = {
        "test_uses_a": "from shop.a import something",
        "test_uses_c": "from shop import c",
        "test_d_page": "",
        "test_other": "import json",
    }
    for name, text in files.items():
        (tmp_path / "tests" / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(nearest, "ROOT", tmp_path)
    monkeypatch.setattr(nearest, "PACKAGES", ("shop",))
    return sorted((tmp_path / "tests").glob("test_*.py"))


def test_what_imports_the_changed_module_is_near_the_closer_the_nearer(nearest: Any, tests: list[Path]) -> None:
    assert [each.stem for each in nearest.nearest(["shop/a.py"], tests)] == ["test_uses_a", "test_uses_c"]
    assert [each.stem for each in nearest.nearest(["shop/b.py"], tests)] == ["test_uses_c"]


def test_a_changed_test_comes_first_and_a_name_counts(nearest: Any, tests: list[Path]) -> None:
    found = nearest.nearest(["shop/a.py", "tests/test_other.py"], tests)
    assert [each.stem for each in found] == ["test_other", "test_uses_a", "test_uses_c"]
    assert [each.stem for each in nearest.nearest(["templates/d/page.html"], tests)] == ["test_d_page"]
    assert nearest.nearest(["README.md"], tests) == []


@pytest.mark.parametrize(("seconds", "ran"), [("0", 0), ("60", 2)])
def test_no_test_begins_after_the_time_is_up_and_the_end_says_so(tmp_path: Path, seconds: str, ran: int) -> None:
    (tmp_path / "test_two.py").write_text("def test_one(): pass\n\ndef test_two(): pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "time_limit", "--seconds", seconds, str(tmp_path)],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(LIB), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert ("Out of time: 2 tests of 1 files" in done.stdout) == (ran == 0)
    assert ("2 passed" in done.stdout) == (ran == 2)


def test_a_fault_fails_its_check_and_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(LIB))
    checks = import_module("checks")
    (tmp_path / "fine.py").write_text('"""Fine."""\n')
    (tmp_path / "fault.py").write_text("import os\n")
    commands = {
        name: [sys.executable, "-m", "ruff", "check", "--isolated", str(tmp_path / f"{name}.py")]
        for name in ("fine", "fault")
    }
    monkeypatch.setattr(checks, "CHECKS", commands)
    assert checks.run_all(["fine", "fault"]) == ["fault"]
    said = capsys.readouterr().out
    assert "`os` imported but unused" in said and "FAILED fault" in said and "ok     fine" in said
