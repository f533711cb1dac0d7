"""Blindness: every combination of the one function that decides it."""

from __future__ import annotations

import itertools

import pytest

from annotator.core.visibility import sees_annotation
from annotator.core.vocabulary import Phase


def sees(**changes: object) -> bool:
    facts: dict[str, object] = {
        "is_own": False,
        "phase": Phase.INDEPENDENT,
        "stage_is_over": False,
        "everyone_submitted": False,
        "is_member": True,
    }
    return sees_annotation(**(facts | changes))  # type: ignore[arg-type]


def test_own_work_is_always_seen() -> None:
    assert all(sees(is_own=True, phase=phase) for phase in Phase)


def test_a_stranger_sees_nothing() -> None:
    for phase, over, everyone in itertools.product(Phase, (False, True), (False, True)):
        assert not sees(is_member=False, phase=phase, stage_is_over=over, everyone_submitted=everyone)


@pytest.mark.parametrize("phase", [Phase.PREFILLING, Phase.INDEPENDENT])
def test_a_partners_work_is_hidden_while_anyone_works(phase: Phase) -> None:
    assert not sees(phase=phase)


def test_it_opens_when_everyone_has_submitted() -> None:
    assert sees(everyone_submitted=True, phase=Phase.CONSOLIDATING)
    assert sees(stage_is_over=True)


def test_a_discarded_document_stays_blind() -> None:
    assert not sees(everyone_submitted=True, phase=Phase.DISCARDED)
