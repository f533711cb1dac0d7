"""The tasks a fact-checker can be scored on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from annotator.core.vocabulary import Labelled, Task
from annotator.leaderboard.scoring import label_sets
from annotator.leaderboard.scoring.label_sets import Undetermined
from annotator.leaderboard.scoring.labels import Labels
from annotator.leaderboard.scoring.measure import TaskMeasure
from annotator.leaderboard.scoring.passages import EvidenceMeasure
from annotator.leaderboard.scoring.responses import EndToEnd
from annotator.leaderboard.scoring.texts import SAME_CLAIM, DecompositionMeasure, Revision

__all__ = ["Level", "Options", "Task", "factuality", "headline", "measure_of"]


class Level(Labelled):
    """The rows of the decomposition task: sentences or responses."""

    SENTENCE = "sentence", "A sentence"
    DOCUMENT = "document", "A response"


@dataclass(frozen=True, slots=True)
class Options:
    """A task's options. Each applies to one task and is ignored by the others: ``stance_labels`` 4 or 3;
    ``undetermined`` for claim_factuality; ``level`` for decomposition; ``threshold``, the token F1 above which two
    claims match, for decomposition and end_to_end; ``by_address`` for evidence; ``all_responses`` for revision:
    includes true ones."""

    stance_labels: int = 4
    undetermined: Undetermined = Undetermined.LEFT_OUT
    level: Level = Level.SENTENCE
    threshold: float = SAME_CLAIM
    by_address: bool = False
    all_responses: bool = False

    def said(self, task: Task) -> dict[str, str | int | float | bool]:
        """The options that the task uses, for a report."""
        by_task: dict[Task, dict[str, str | int | float | bool]] = {
            Task.STANCE: {"stance_labels": self.stance_labels},
            Task.CLAIM_FACTUALITY: {"undetermined": self.undetermined.value},
            Task.DECOMPOSITION: {"level": self.level.value, "threshold": self.threshold},
            Task.EVIDENCE: {"by_address": self.by_address},
            Task.REVISION: {"all_responses": self.all_responses},
            Task.END_TO_END: {"threshold": self.threshold},
        }
        return by_task.get(task, {})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Options:
        """The options that a report names, as returned by ``said``; other names are ignored."""
        given = {each.name: said[each.name] for each in fields(cls) if each.name in said}
        if "undetermined" in given:
            given["undetermined"] = Undetermined(given["undetermined"])
        if "level" in given:
            given["level"] = Level(given["level"])
        return cls(**given)


def headline(task: Task) -> str:
    """The figure that ranks systems: higher is better."""
    if task == Task.REVISION:
        return "word_overlap"
    return "f1" if task in (Task.DECOMPOSITION, Task.EVIDENCE) else "f1_macro"


def measure_of(task: Task, options: Options) -> TaskMeasure:
    """How the task is scored."""
    if task == Task.SENTENCE_CHECKWORTHINESS:
        return Labels(label_sets.SENTENCE, {})
    if task == Task.CLAIM_CHECKWORTHINESS:
        return Labels(label_sets.CLAIM, {})
    if task == Task.STANCE:
        return Labels(label_sets.STANCE_4 if options.stance_labels == 4 else label_sets.STANCE_3, {})
    if task == Task.CLAIM_FACTUALITY:
        as_false = options.undetermined == Undetermined.FALSE
        return Labels(label_sets.FACTUALITY, {label_sets.UNDECIDED: label_sets.FALSE} if as_false else {})
    if task == Task.REVISION:
        return Revision()
    if task == Task.DECOMPOSITION:
        return DecompositionMeasure(options.threshold)
    if task == Task.EVIDENCE:
        return EvidenceMeasure(options.by_address)
    return EndToEnd(options.threshold)


def factuality(label: str, undetermined: Undetermined) -> str | None:
    """The gold label of a claim as it is scored; None if it is left out."""
    if not label:
        return None
    if label != label_sets.UNDECIDED or undetermined == Undetermined.OWN_LABEL:
        return label
    return label_sets.FALSE if undetermined == Undetermined.FALSE else None
