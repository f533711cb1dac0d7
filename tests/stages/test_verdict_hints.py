"""The hint of appendix C.6: every combination of stances falls under exactly the rule that the appendix gives."""

from __future__ import annotations

import itertools

import pytest

from annotator.core.vocabulary import StanceLabel
from annotator.stages.verdict_hints import HintKind, hint

FULL, PART, AGAINST, NOTHING = (
    StanceLabel.COMPLETELY_SUPPORT,
    StanceLabel.PARTIALLY_SUPPORT,
    StanceLabel.REFUTE,
    StanceLabel.IRRELEVANT,
)


@pytest.mark.parametrize(
    ("stances", "kind"),
    [
        ([], HintKind.NOTHING_YET),
        ([(NOTHING, None), (NOTHING, True)], HintKind.NO_RELEVANT),
        ([(FULL, None), (NOTHING, None)], HintKind.SUPPORTED),
        ([(FULL, None), (PART, None)], HintKind.SUPPORTED),
        ([(PART, None), (PART, None)], HintKind.PARTLY_SUPPORTED),
        ([(AGAINST, None), (NOTHING, None)], HintKind.REFUTED),
        ([(AGAINST, None), (PART, None)], HintKind.REFUTED_OR_PARTLY_SUPPORTED),
        ([(AGAINST, None), (AGAINST, True), (FULL, None)], HintKind.CONFLICT_REFUTE_STRONGER),
        ([(AGAINST, None), (FULL, True), (FULL, None), (PART, None)], HintKind.CONFLICT_SUPPORT_STRONGER),
        ([(AGAINST, None), (FULL, None)], HintKind.CONFLICT_TIED),
        # Two against one, but the two are from unreliable sources.
        ([(AGAINST, False), (AGAINST, False), (FULL, True)], HintKind.CONFLICT_SUPPORT_STRONGER),
    ],
)
def test_each_rule(stances: list[tuple[StanceLabel, bool | None]], kind: HintKind) -> None:
    assert hint(stances).kind == kind


def test_order_and_irrelevant_passages_change_nothing() -> None:
    stances = [(AGAINST, True), (FULL, None), (PART, False)]
    hints = {hint([*order, (NOTHING, None)]) for order in itertools.permutations(stances)}
    assert hints == {hint(stances)}


def test_a_conflict_names_the_numbers_it_weighed() -> None:
    text = hint([(AGAINST, False), (FULL, None), (FULL, None)]).text
    assert "2 for the claim, 0 against it (unreliable sources not counted)" in text
    assert "no edit needed" in text


@pytest.mark.parametrize("label", [FULL, PART, AGAINST])
def test_only_unreliable_sources_are_said(label: StanceLabel) -> None:
    assert "unreliable" in hint([(label, False)]).text
    assert "unreliable" not in hint([(label, False), (label, None)]).text
