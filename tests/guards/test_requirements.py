"""The list of requirements stays honest: a reason beside each line, nothing unused, locks that follow."""

from __future__ import annotations

import re
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOOSE = sorted(ROOT.glob("requirements*.in"))
# Used without an import of ours: started as programs, or named in a setting, a URL or by another package.
BY_NAME = {
    "gunicorn": "started by script/server",
    "psycopg": "Django's PostgreSQL backend",
    "django-template-partials": "named in INSTALLED_APPS",
    "django-htmx": "named in INSTALLED_APPS",
    "whitenoise": "named in MIDDLEWARE",
    "django-celery-results": "named in INSTALLED_APPS",
    "python-json-logger": "named in LOGGING",
    "sniffio": "imported by httpcore at each call",
}


def lines(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if line and not line.startswith(("#", "-r"))]


def name_of(line: str) -> str:
    return re.split(r"[\[~=<>;\s#]", line, maxsplit=1)[0].lower()


@pytest.mark.parametrize("file", LOOSE, ids=lambda file: file.name)
def test_each_line_says_what_it_is_for(file: Path) -> None:
    without = [line for line in lines(file) if not re.search(r"\s# \S.{8,}", line)]
    assert lines(file)
    assert not without, f"{file.name}: say beside each what it is for"


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_the_lock_holds_each_line_with_hashes_and_no_place(name: str) -> None:
    locked = (ROOT / f"{name}.txt").read_text()
    pinned = {match.lower() for match in re.findall(r"^([A-Za-z0-9._-]+)==", locked, re.MULTILINE)}
    missing = [name_of(line) for line in lines(ROOT / f"{name}.in") if name_of(line) not in pinned]
    assert not missing, "run script/lock"
    assert locked.count("==") <= locked.count("--hash=sha256:")
    assert "index-url" not in locked
    assert "://" not in locked


def test_the_suite_runs_on_the_versions_that_are_shipped() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^\S+==\S+", (ROOT / name).read_text(), re.MULTILINE))

    assert pins("requirements.txt") <= pins("requirements-dev.txt"), "run script/lock"


def test_the_core_holds_nothing_that_nobody_uses() -> None:
    source = "\n".join(
        path.read_text() for folder in ("annotator", "pipeline", "config") for path in (ROOT / folder).rglob("*.py")
    )
    imported = set(re.findall(r"^\s*(?:import|from) ([A-Za-z0-9_]+)", source, re.MULTILINE))
    modules: dict[str, set[str]] = {}
    for module, distributions in packages_distributions().items():
        for distribution in distributions:
            modules.setdefault(distribution.lower().replace("_", "-"), set()).add(module)
    named = [name_of(line) for line in lines(ROOT / "requirements.in")]
    unused = [name for name in named if name not in BY_NAME and not modules.get(name, set()) & imported]
    assert not unused, "drop these lines from requirements.in, or use them"
