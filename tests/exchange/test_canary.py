"""Canary strings: one a release, in its card, and found in texts."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.exchange.models import Release
from annotator.exchange.releases.canary import OVERLAP, canaries_in, canary_of

CANARY = canary_of("k7fmbcztk6vu")


def test_a_canary_is_the_releases_own() -> None:
    assert canary_of("k7fmbcztk6vu") == CANARY != canary_of("k7fmbcztk6vv")
    assert len(CANARY) < OVERLAP


@pytest.mark.parametrize("size", [7, 60, 10_000])
def test_canaries_are_found_across_pieces_each_once(size: int) -> None:
    text = f"{'x' * 500}{CANARY}, then {CANARY.upper()} and {canary_of('another')}."
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert list(canaries_in(pieces)) == [CANARY, canary_of("another")]
    assert list(canaries_in(["touchstone-canary:none", CANARY[:-1]])) == []


@pytest.mark.django_db
def test_the_command_names_the_release(tmp_path: Path, monkeypatch: Any) -> None:
    clean, tainted = tmp_path / "clean.txt", tmp_path / "tainted.txt"
    clean.write_text("Ada wrote notes.", encoding="utf-8")
    tainted.write_bytes(b"\xff" + CANARY.encode())
    out = io.StringIO()
    call_command("canary", str(clean), stdout=out)
    assert "No canary string was found." in out.getvalue()
    with pytest.raises(CommandError, match="not in this database"):
        call_command("canary", str(clean), str(tainted))
    monkeypatch.setattr("sys.stdin", io.StringIO(f"a {CANARY} b"))
    with pytest.raises(CommandError, match="standard input"):
        call_command("canary")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("canary", str(tmp_path / "nowhere"))
    assert not Release.objects.exists()
