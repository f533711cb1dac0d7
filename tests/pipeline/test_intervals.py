"""The benchmark of intervals: it runs, and a rough count is where it should be."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.conftest import ROOT


def test_intervals_cover_and_tests_hold_their_level_in_a_short_run() -> None:
    command = [sys.executable, "benchmarks/intervals.py", "--json", "--simulations", "60", "--documents", "60"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["simulations"] == 60 and set(found["coverage"]) >= {"alpha", "ac1", "system f1", "mean"}
    # Sixty runs with a chance of 95%: fewer than 50 come once in ten thousand times.
    assert all(each["covered"] >= 50 / 60 for each in found["coverage"].values())
    assert found["type_1"]["rate"] <= 10 / 60
