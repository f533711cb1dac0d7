"""Style sheets work in both directions of writing: margins, paddings, borders and places are logical."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SHEETS = sorted((Path(__file__).resolve().parents[2] / "static" / "css").rglob("*.css"))
PHYSICAL = re.compile(
    r"(?:^|[;{\s])((?:margin|padding|border)-(?:left|right)[\w-]*|left|right|(?:text-align|float|clear):\s*(?:left|right))\s*[:;]",
)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_left_and_right(sheet: Path) -> None:
    found = [
        f"{number}: {line.strip()}"
        for number, line in enumerate(sheet.read_text(encoding="utf-8").splitlines(), start=1)
        if PHYSICAL.search(line)
    ]
    assert not found


def test_the_guard_finds_what_it_looks_for() -> None:
    assert all(PHYSICAL.search(line) for line in ("  left: 0;", "{ margin-left: 3px; }", "  text-align: right;"))
    assert not any(
        PHYSICAL.search(line) for line in ("  inset-inline-start: 0;", "  text-align: start;", ".left > a {")
    )
