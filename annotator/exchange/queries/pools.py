"""The counts of a pool as a funnel: from the collected candidates through each filter to gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from annotator.core.models import Document
from annotator.core.vocabulary import DiscardReason, Phase, PoolFilter, Stage
from annotator.exchange.models import Pool, PoolStep


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """A step of the funnel: how many candidates reached it and how many it left, by source, and how many it removed for
    which reason."""

    name: str
    words: str
    left: int
    taken: int
    by_source: dict[str, int]
    reasons: dict[str, int]

    def share(self, whole: int) -> float:
        """What remains, as a percentage of what was collected."""
        return 100 * self.left / whole if whole else 0.0


def funnel_of(pool: Pool) -> list[FunnelRow]:
    """The collected candidates, each filter in order, and the stages that the pool's documents have reached."""
    steps = list(pool.steps.order_by("order"))
    rows = pool.candidates.order_by().values_list("source", "step__order").annotate(number=Count("pk"))
    ends: Counter[tuple[str, int | None]] = Counter()
    for source, order, number in rows:
        ends[source, order] += number

    def left_after(order: int) -> dict[str, int]:
        found: Counter[str] = Counter()
        for (source, gone), number in ends.items():
            if gone is None or gone > order:
                found[source] += number
        return dict(sorted(found.items()))

    collected = left_after(0)
    funnel = [FunnelRow("Collected", "", sum(collected.values()), 0, collected, {})]
    for step in steps:
        left = left_after(step.order)
        reasons = Counter(_code(each) for each in step.dropped.values_list("reason", flat=True))
        shown = dict(reasons.most_common()) if step.kind == PoolFilter.BY_HAND else {}
        funnel.append(
            FunnelRow(
                PoolFilter(step.kind).label, words_of(step), sum(left.values()), step.before - step.after, left, shown
            )
        )
    return funnel + (_documents(pool, funnel[-1]) if pool.added_at else [])


def _code(reason: str) -> str:
    return reason.partition(": ")[0]


def _documents(pool: Pool, before: FunnelRow) -> list[FunnelRow]:
    ids = list(pool.candidates.filter(step=None).values_list("external_id", flat=True))
    rows = Document.objects.filter(benchmark=pool.benchmark_id, twin_of__isnull=True, external_id__in=ids)
    kept = _by_source(rows.exclude(phase=Phase.DISCARDED))
    gold = _by_source(rows.filter(stage=Stage.REVISE, phase=Phase.AGREED))
    gone = rows.filter(phase=Phase.DISCARDED).values_list("discard_code", flat=True)
    reasons = Counter(DiscardReason(code or "other").label for code in gone)
    total = sum(kept.values())
    return [
        FunnelRow("Annotated", "without discarded documents", total, before.left - total, kept, dict(reasons)),
        FunnelRow("Gold", "adjudicated at all three stages", sum(gold.values()), 0, gold, {}),
    ]


def _by_source(rows: Any) -> dict[str, int]:
    return dict(rows.order_by("source").values_list("source").annotate(number=Count("pk")))


def words_of(step: PoolStep) -> str:
    """The settings of a filter in words: "20 to 200 words; dolly only"."""
    values = step.values
    found = []
    low, high = values.get("at_least"), values.get("at_most")
    unit = " words" if step.kind == PoolFilter.LENGTH else ""
    if step.kind == PoolFilter.SCORE:
        found.append(str(values.get("field", "")))
    if low is not None and high is not None:
        found.append(f"{low} to {high}{unit}")
    elif low is not None:
        found.append(f"{low}{unit} or more")
    elif high is not None:
        found.append(f"{high}{unit} or less")
    if step.kind == PoolFilter.DUPLICATES:
        alike = values.get("alike")
        found.append(f"prompts {alike}% alike or more" if alike else "the same prompt")
    sources: Iterable[str] = values.get("sources") or ()
    return " ".join(found) + (f"; {', '.join(sources)} only" if sources else "")


def funnel_as_json(pool: Pool) -> dict[str, Any]:
    """For the command and the API."""
    rows = [
        {"step": row.name, "words": row.words, "left": row.left, "taken_out": row.taken}
        | {"by_source": row.by_source, "reasons": row.reasons}
        for row in funnel_of(pool)
    ]
    return {"pool": pool.name, "id": pool.public_id, "funnel": rows}
