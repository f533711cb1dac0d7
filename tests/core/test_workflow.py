"""The state machine: derive is total, the table knows every way, the diagram is up to date."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from annotator.core import workflow
from annotator.core.vocabulary import STAGES, Phase, Stage

AGREED = [frozenset(STAGES[:count]) for count in range(len(STAGES) + 1)]


def every_fact() -> list[workflow.Facts]:
    return [
        workflow.Facts(
            adjudicated=adjudicated, submitted=submitted, overlap=overlap, prefilling=prefilling, discarded=discarded
        )
        for adjudicated, submitted, overlap, prefilling, discarded in itertools.product(
            AGREED, (0, 1, 2, 3), (1, 2, 3), (False, True), (False, True)
        )
    ]


def test_every_combination_of_facts_has_one_status() -> None:
    phases = {workflow.derive(facts).phase for facts in every_fact()}
    assert phases == set(Phase)


def test_gold_is_adjudicated_at_the_last_stage() -> None:
    facts = workflow.Facts(adjudicated=frozenset(STAGES), submitted=1, overlap=1, prefilling=False, discarded=False)
    assert workflow.derive(facts) == workflow.Status(Stage.REVISE, Phase.AGREED)


def test_the_first_stage_that_is_not_adjudicated_is_the_current_one() -> None:
    assert workflow.current_stage(frozenset()) == Stage.DECOMPOSE
    assert workflow.current_stage(frozenset({Stage.DECOMPOSE})) == Stage.VERIFY
    assert workflow.current_stage(frozenset({Stage.VERIFY})) == Stage.DECOMPOSE, "a reopened stage comes first"


@pytest.mark.parametrize(("before", "after"), sorted(workflow.MOVES))
def test_a_move_in_the_table_is_allowed(before: Phase, after: Phase) -> None:
    workflow.check_move(workflow.Status(Stage.DECOMPOSE, before), workflow.Status(Stage.DECOMPOSE, after))


def test_a_move_that_is_not_in_the_table_is_refused() -> None:
    missing = set(itertools.permutations(Phase, 2)) - set(workflow.MOVES)
    assert missing, "a table that allows everything checks nothing"
    for before, after in missing:
        with pytest.raises(workflow.IllegalMoveError):
            workflow.check_move(workflow.Status(Stage.VERIFY, before), workflow.Status(Stage.VERIFY, after))


def test_every_phase_can_be_left_and_discarded() -> None:
    for phase in set(Phase) - {Phase.DISCARDED}:
        assert (phase, Phase.DISCARDED) in workflow.MOVES
    assert {after for before, after in workflow.MOVES if before == Phase.DISCARDED} == set(Phase) - {Phase.DISCARDED}


def test_the_diagram_in_the_docs_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "workflow.md"
    assert workflow.diagram() in page.read_text(encoding="utf-8"), "run: script/manage workflow_diagram"
