"""Touchstone has one version number, that of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from django.conf import settings

from pipeline.clients.http import AGENT

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_settings_and_the_api_say_it() -> None:
    assert settings.VERSION == settings.SPECTACULAR_SETTINGS["VERSION"] == VERSION
    assert yaml.safe_load((ROOT / "docs" / "api" / "openapi.yaml").read_text())["info"]["version"] == VERSION


def test_the_changelog_and_the_citation_say_it_with_the_same_date() -> None:
    version, date = re.findall(r"^## \[(\d[^]]*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert version == cited["version"] == VERSION
    assert date == str(cited["date-released"])


def test_other_servers_are_told_it() -> None:
    assert AGENT.startswith(f"Touchstone/{'.'.join(VERSION.split('.')[:2])} ")


def test_the_container_image_has_the_file_that_says_it() -> None:
    assert re.search(r"^COPY .*\bpyproject\.toml\b", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert "!pyproject.toml" in (ROOT / ".dockerignore").read_text().splitlines()
