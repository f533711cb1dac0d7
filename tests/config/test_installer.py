"""When script/lib/environment.py installs, and when it leaves .venv alone. Nothing is installed here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "script" / "lib" / "environment.py"


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, looking at a folder of its own, with commands noted instead of run."""
    spec = importlib.util.spec_from_file_location("installer", SOURCE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, path in {
        "ROOT": tmp_path,
        "VENV": tmp_path / ".venv",
        "VENV_PYTHON": tmp_path / ".venv" / "bin" / "python",
        "STAMP": tmp_path / ".venv" / "touchstone-installed.json",
    }.items():
        monkeypatch.setattr(module, name, path)
    (tmp_path / "requirements.txt").write_text("django==5.2\n")
    (tmp_path / "requirements-dev.txt").write_text("django==5.2\npytest==9\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    commands: list[list[str]] = []

    def succeeds(command: list[str]) -> bool:
        commands.append(command)
        return command[0] != "/bin/broken-uv"

    monkeypatch.setattr(module, "succeeds", succeeds)
    monkeypatch.setattr(module, "works", lambda python: True)
    monkeypatch.setattr(module.shutil, "which", lambda name: "/bin/uv")
    module.commands = commands  # type: ignore[attr-defined]
    return module


def test_installs_once_and_with_hashes(installer: ModuleType) -> None:
    assert not installer.is_current("core")
    installer.install("core")
    assert installer.is_current("core")
    assert len(installer.commands) == 1
    assert "--require-hashes" in installer.commands[0]
    assert installer.commands[0][-1] == "requirements.txt"


def test_pip_does_it_where_uv_cannot(installer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installer.shutil, "which", lambda name: "/bin/broken-uv")
    installer.install("core")
    assert installer.is_current("core")
    assert installer.commands[-1][1:4] == ["-m", "pip", "install"]
    assert "--require-hashes" in installer.commands[-1]


def test_a_changed_lock_is_installed_again(installer: ModuleType, tmp_path: Path) -> None:
    installer.install("core")
    (tmp_path / "requirements.txt").write_text("django==5.2.1\n")
    assert not installer.is_current("core")


def test_what_the_suite_needs_holds_the_core(installer: ModuleType) -> None:
    installer.install("dev")
    assert installer.is_current("dev")
    assert installer.is_current("core")


def test_the_core_alone_is_not_enough_for_the_suite(installer: ModuleType) -> None:
    installer.install("core")
    assert not installer.is_current("dev")


def test_a_new_core_beneath_the_suite_makes_the_suite_install_again(installer: ModuleType, tmp_path: Path) -> None:
    installer.install("dev")
    (tmp_path / "requirements.txt").write_text("django==5.2.1\n")
    installer.install("core")
    assert installer.is_current("core")
    assert not installer.is_current("dev")


def test_an_environment_whose_python_is_gone_counts_as_missing(installer: ModuleType) -> None:
    installer.install("core")
    installer.VENV_PYTHON.unlink()
    installer.VENV_PYTHON.symlink_to("/nowhere/python")
    assert not installer.is_current("core")


def test_an_unreadable_stamp_counts_as_missing(installer: ModuleType) -> None:
    installer.install("core")
    installer.STAMP.write_text("{")
    assert not installer.is_current("core")
