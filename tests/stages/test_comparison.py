"""What follows by itself from what several people say, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.stages.comparison.comparison import ABSENT, voted


@pytest.mark.parametrize(
    ("said", "follows", "tied"),
    [
        (["a", "a"], "a", False),
        (["a", "b"], ABSENT, False),
        (["a", "a", "b"], "a", False),
        (["a", "b", "c"], ABSENT, True),
        (["a", "a", "b", "b"], ABSENT, True),
        (["b", "a", "a", "b", "c"], ABSENT, True),
        (["a", "a", "a", "b", "b"], "a", False),
        (["a", "a", "b", ABSENT], "a", False),
        (["a", "b", ABSENT], ABSENT, False),
        ([ABSENT, "a", ABSENT], "a", False),
        ([ABSENT, ABSENT], ABSENT, False),
        ([], ABSENT, False),
    ],
)
def test_a_majority_is_more_than_half_of_those_who_answered(said: list[Any], follows: Any, tied: bool) -> None:
    assert voted(said) == (follows, tied)
