"""A newcomer scores a predictions file from the README alone: its commands, one after the other, on the demo."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.management import call_command

from annotator.core.queries.gold import GoldScope, checked
from annotator.home import demo

pytestmark = pytest.mark.django_db(transaction=True)
README = Path(configured.BASE_DIR) / "README.md"


def commands() -> list[str]:
    """The indented lines of the section."""
    section = README.read_text(encoding="utf-8").split("## Score a fact-checker\n")[1].split("\n## ")[0]
    return re.findall(r"^    (\S.*)$", section, re.MULTILINE)


def test_the_commands_of_the_readme_score_the_demo(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    settings.DATABASE_URL = ""  # the suite itself may run on PostgreSQL
    call_command("load_demo", stdout=io.StringIO())
    monkeypatch.chdir(tmp_path)
    said = []
    for line in commands():
        program, *arguments = shlex.split(line)
        if program == "script/manage":
            out = io.StringIO()
            call_command(*arguments, stdout=out)
            said.append(out.getvalue())
        else:
            subprocess.run(line, shell=True, check=True, cwd=tmp_path)
    template, scores = said
    benchmark = demo.demo_benchmark()
    assert benchmark is not None
    claims = GoldScope(benchmark).claims().filter(checked("")).count()
    assert template.startswith(f"{claims} rows written to todo.jsonl")
    rows = {line.split()[0]: line.split()[1:] for line in scores.splitlines() if line.strip()}
    # Who believes everything scores what the constant answer scores.
    assert rows["predictions"][0] == rows["always_true"][0] and "random" in rows
