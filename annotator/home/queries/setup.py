"""The setup of a benchmark: what is done, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Max

from annotator.core.models import Benchmark
from annotator.core.rules import LABEL_ROLES
from annotator.core.vocabulary import Phase, Stage
from annotator.suggestions.queries.services import can_search


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A setup step; ``name`` of the URL where it is done."""

    label: str
    text: str
    name: str
    is_done: bool
    is_optional: bool = False


def setup_steps(benchmark: Benchmark) -> list[SetupStep]:
    """The steps in order; none once the first document is gold. At most seven queries."""
    real = benchmark.documents.filter(twin_of__isnull=True)
    if real.filter(stage=Stage.REVISE, phase=Phase.AGREED).exists():
        return []
    version = benchmark.guidelines.aggregate(newest=Max("number"))["newest"] or 0
    labels = benchmark.memberships.filter(active=True, role__in=LABEL_ROLES).count()
    several = benchmark.overlap > 1
    people = f"{benchmark.overlap} people annotate each document" if several else "One person annotates each document"
    return [
        SetupStep("Import documents", "Prompts and responses of language models.", "import", real.exists()),
        SetupStep("Adapt the guidelines", "The default text is a start.", "guidelines", version > 1, is_optional=True),
        SetupStep(
            "Choose where evidence comes from",
            "A corpus of your own, or a search service.",
            "corpora",
            benchmark.corpus_id is not None or can_search(benchmark),
        ),
        SetupStep(
            "Choose a strategy for suggestions",
            "Annotators start from them.",
            "settings",
            bool(benchmark.strategy),
            True,
        ),
        SetupStep("Invite people", f"{people}; {labels} can so far.", "team", labels >= max(benchmark.overlap, 1)),
        SetupStep(
            "Make batches",
            "For a group or for everyone. Without any, everyone may take any document.",
            "batches",
            benchmark.batches.exists(),
            is_optional=True,
        ),
    ]
