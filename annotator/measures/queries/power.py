"""What differences between systems a benchmark's gold can detect, by task (``pipeline.metrics.power``)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, Max, Sum

from annotator.core.labels import claim_is_true, document_is_true_by_claims
from annotator.core.models import Benchmark
from annotator.core.queries.gold import GoldScope, checked
from annotator.core.vocabulary import SentenceType, Task
from pipeline.metrics.power import ACCURACY, Power, power_of

KEPT_FOR = 3600
# Differences for which the number of documents needed is shown.
DIFFERENCES = (0.10, 0.05)


@dataclass(frozen=True, slots=True)
class TaskPower:
    task: Task
    power: Power


def powers_of(benchmark: Benchmark, *, accuracy: float = ACCURACY, source: str = "") -> list[TaskPower]:
    """For each task whose answers are labels and that has gold. Cached for the current gold (one query if cached, else
    six)."""
    scope = GoldScope(benchmark, source)
    stamp = scope.documents().aggregate(number=Count("pk"), which=Sum("pk"), newest=Max("annotations__submitted_at"))
    named = hashlib.blake2s(f"{benchmark.public_id} {source} {accuracy} {sorted(stamp.items())}".encode()).hexdigest()
    key = f"power:{named}"
    before: list[TaskPower] | None = cache.get(key)
    if before is not None:
        return before
    found = [TaskPower(task, power_of(labels, accuracy=accuracy)) for task, labels in _labels(scope).items() if labels]
    cache.set(key, found, KEPT_FOR)
    return found


def _labels(scope: GoldScope) -> dict[Task, list[list[str]]]:
    """The gold labels of each document, by task, as scored by default."""
    path = "sentence__annotation__document"
    sentences = scope.sentences().exclude(type="").values_list("annotation__document", "type")
    claims = scope.claims().exclude(type="").values_list(path, "type")
    stances = (
        scope.stances()
        .filter(checked("evidence__claim__"), evidence__claim__removed="", evidence__claim__sentence__removed="")
        .values_list("annotation__document", "label")
    )
    verdicts = list(scope.checked_verdicts().exclude(factuality="").values_list("annotation__document", "factuality"))
    truths = [(document, claim_is_true(word)) for document, word in verdicts]
    responses: dict[int, list[bool | None]] = defaultdict(list)
    for document, is_true in truths:
        responses[document].append(is_true)
    return {
        Task.SENTENCE_CHECKWORTHINESS: _grouped(
            (document, "yes" if word == SentenceType.CHECKWORTHY else "no") for document, word in sentences
        ),
        Task.CLAIM_CHECKWORTHINESS: _grouped(claims),
        Task.STANCE: _grouped(stances),
        Task.CLAIM_FACTUALITY: _grouped(
            (document, str(is_true)) for document, is_true in truths if is_true is not None
        ),
        Task.END_TO_END: [
            [str(is_true)] for each in responses.values() if (is_true := document_is_true_by_claims(each)) is not None
        ],
    }


def _grouped(rows: Iterable[tuple[int, str]]) -> list[list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for document, label in rows:
        found[document].append(label)
    return [found[document] for document in sorted(found)]
