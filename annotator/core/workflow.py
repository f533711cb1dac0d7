"""The state machine of a document: status derived from facts by one pure function, moves checked against a table.

``docs/workflow.md`` is generated from the table (``manage.py workflow_diagram``).
"""

from __future__ import annotations

from dataclasses import dataclass

from annotator.core.vocabulary import STAGES, Phase, Stage


@dataclass(frozen=True, slots=True)
class Status:
    """Where a document stands."""

    stage: Stage
    phase: Phase


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that determine the status.

    ``agreed``: stages with a final adjudicated version. ``submitted``: people who have submitted the first stage
    without one. ``overlap``: people needed. ``prefilling``: suggestions for that stage are being made.
    """

    adjudicated: frozenset[Stage]
    submitted: int
    overlap: int
    prefilling: bool
    discarded: bool


# From phase to phase, and what happened. Any pair not listed is a bug.
MOVES: dict[tuple[Phase, Phase], str] = {
    (Phase.PREFILLING, Phase.INDEPENDENT): "suggestions are ready, or failed",
    (Phase.PREFILLING, Phase.CONSOLIDATING): "suggestions are ready, and everyone had submitted",
    (Phase.PREFILLING, Phase.AGREED): "imported as adjudicated",
    (Phase.PREFILLING, Phase.DISCARDED): "discarded",
    (Phase.INDEPENDENT, Phase.PREFILLING): "next stage opened, or suggestions requested again",
    (Phase.INDEPENDENT, Phase.CONSOLIDATING): "everyone has submitted",
    (Phase.INDEPENDENT, Phase.AGREED): "the only annotator has submitted the last stage",
    (Phase.INDEPENDENT, Phase.DISCARDED): "discarded",
    (Phase.CONSOLIDATING, Phase.INDEPENDENT): "adjudicated, next stage opened; or reopened",
    (Phase.CONSOLIDATING, Phase.PREFILLING): "adjudicated, generating suggestions for the next stage",
    (Phase.CONSOLIDATING, Phase.AGREED): "last stage adjudicated, gold",
    (Phase.CONSOLIDATING, Phase.DISCARDED): "discarded",
    (Phase.AGREED, Phase.INDEPENDENT): "reopened",
    (Phase.AGREED, Phase.PREFILLING): "reopened, generating suggestions",
    (Phase.AGREED, Phase.DISCARDED): "discarded",
    (Phase.DISCARDED, Phase.PREFILLING): "restored",
    (Phase.DISCARDED, Phase.INDEPENDENT): "restored",
    (Phase.DISCARDED, Phase.CONSOLIDATING): "restored",
    (Phase.DISCARDED, Phase.AGREED): "restored",
}


class IllegalMoveError(RuntimeError):
    """The facts imply a move that isn't in the table."""


def current_stage(adjudicated: frozenset[Stage]) -> Stage:
    """The first stage without an adjudicated version, or the last stage if all have one."""
    return next((stage for stage in STAGES if stage not in adjudicated), STAGES[-1])


def derive(facts: Facts) -> Status:
    """The status that follows from the facts. Total: every combination has exactly one status."""
    stage = current_stage(facts.adjudicated)
    if facts.discarded:
        return Status(stage, Phase.DISCARDED)
    if len(facts.adjudicated) == len(STAGES):
        return Status(stage, Phase.AGREED)
    if facts.prefilling:
        return Status(stage, Phase.PREFILLING)
    if facts.submitted >= facts.overlap:
        return Status(stage, Phase.CONSOLIDATING)
    return Status(stage, Phase.INDEPENDENT)


def check_move(before: Status, after: Status) -> None:
    """Raises IllegalMoveError if the table has no move from one phase to the other.

    Staying in a phase is a move, too, also into the next stage: with one annotator and no suggestions, submitting a
    stage opens the next one at once.
    """
    if before.phase != after.phase and (before.phase, after.phase) not in MOVES:
        raise IllegalMoveError(
            f"There is no transition from {before.phase} ({before.stage}) to {after.phase} ({after.stage})."
        )


def diagram() -> str:
    """The table as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.PREFILLING}", f"    [*] --> {Phase.INDEPENDENT}"]
    lines += [f"    {before} --> {after}: {reason.replace(';', ',')}" for (before, after), reason in MOVES.items()]
    return "\n".join(lines)
