"""Database work that is done together: each gets its own result, and one that fails takes no other with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from django.db import OperationalError

from pipeline.runs import db_retry
from pipeline.runs.bridge import Bridge
from pipeline.runs.gathered import Gathered


class Halves:
    """Halves even numbers, and remembers which it was asked for together."""

    def __init__(self, lost: int = 0) -> None:
        self.asked: list[list[int]] = []
        self.lost = lost

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.asked.append(list(numbers))
        if self.lost:
            self.lost -= 1
            raise OperationalError("the connection was lost")
        if any(number % 2 for number in numbers):
            raise ValueError(f"odd: {[number for number in numbers if number % 2]}")
        return [number // 2 for number in numbers]


def results(halves: Halves, numbers: Sequence[int]) -> list[object]:
    bridge = Bridge()
    gathered = Gathered(bridge, halves)

    async def main() -> list[object]:
        return list(await asyncio.gather(*map(gathered.do, numbers), return_exceptions=True))

    return bridge.run(main)


def test_what_comes_at_once_is_done_together() -> None:
    halves = Halves()
    assert results(halves, range(0, 200, 2)) == list(range(100))
    assert len(halves.asked) < 50
    assert sorted(number for each in halves.asked for number in each) == list(range(0, 200, 2))


def test_one_that_fails_takes_no_other_with_it() -> None:
    found = results(Halves(), [2, 4, 7, 8])
    assert [found[0], found[1], found[3]] == [1, 2, 4]
    assert isinstance(found[2], ValueError)
    assert str(found[2]) == "odd: [7]"


def test_a_lost_database_is_asked_again_and_nothing_is_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db_retry, "PAUSES", (0.0, 0.0))
    halves = Halves(lost=1)
    assert results(halves, [2, 4, 6]) == [1, 2, 3]
    done = [number for each in halves.asked[1:] for number in each]
    assert sorted(done) == [2, 4, 6]


def test_a_database_that_stays_away_is_told_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db_retry, "PAUSES", (0.0,))
    found = results(Halves(lost=1000), [2, 4])
    assert all(isinstance(each, OperationalError) for each in found)
