"""The splits of a release as bars and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.vocabulary import Factuality, Split

# How each split is drawn, as in components/stacked.html.
_KIND = {Split.TRAIN: "work", Split.DEV: "waiting", Split.TEST: "agreed"}
# How verdicts are drawn and told: kind, glyph.
_VERDICT = {
    Factuality.TRUE: ("support", "✓"),
    Factuality.FALSE: ("refute", "✕"),
    Factuality.NOT_ENOUGH_EVIDENCE: ("partial", "◐"),
}


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Claims with one verdict in a split."""

    kind: str
    glyph: str
    label: str
    number: int
    percent: int


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One split: how much of the whole it is, and the verdicts on its claims."""

    split: Split
    kind: str
    documents: int
    percent: int
    claims: int
    verdicts: list[Verdicts]
    parts: list[dict[str, str | float]]

    @property
    def label(self) -> str:
        return self.split.label

    @property
    def words(self) -> str:
        """The bar in words."""
        if not self.verdicts:
            return f"{self.label}: no verdicts"
        told = ", ".join(f"{each.number:,} {each.label.lower()}" for each in self.verdicts)
        return f"Verdicts in {self.label.lower()}: {told}"


def split_rows(splits: Mapping[str, Any]) -> list[SplitRow]:
    """The splits as ``Release.splits`` holds them, in their order."""
    whole = sum(each["documents"] for each in splits.values()) or 1
    rows: list[SplitRow] = []
    for split in Split:
        if split not in splits:
            continue
        figures = splits[split]
        numbers = {word: figures["labels"].get(word.value, 0) for word in _VERDICT}
        judged = sum(numbers.values())
        verdicts = [
            Verdicts(*_VERDICT[word], word.label, number, round(100 * number / judged))
            for word, number in numbers.items()
            if number
        ]
        rows.append(
            SplitRow(
                split=split,
                kind=_KIND[split],
                documents=figures["documents"],
                percent=round(100 * figures["documents"] / whole),
                claims=figures["claims"],
                verdicts=verdicts,
                parts=_parts([(each.kind, each.number) for each in verdicts]),
            )
        )
    return rows


def split_bar(rows: list[SplitRow]) -> dict[str, Any]:
    """All splits in one bar: its parts, and the bar in words ("38 train, 5 dev, 4 test")."""
    there = [row for row in rows if row.documents]
    return {
        "parts": _parts([(row.kind, row.documents) for row in there]),
        "words": ", ".join(f"{row.documents:,} {row.label.lower()}" for row in there),
    }


def _parts(numbers: list[tuple[str, int]]) -> list[dict[str, str | float]]:
    whole = sum(number for _, number in numbers)
    parts: list[dict[str, str | float]] = []
    before = 0
    for kind, number in numbers:
        parts.append({"kind": kind, "x": round(100 * before / whole, 2), "width": round(100 * number / whole, 2)})
        before += number
    return parts
