"""The evidence task: which gold passages of a claim were found, and what else was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from annotator.core.file_problems import RowError
from annotator.core.lines import kind_of
from annotator.leaderboard.scoring.items import Gold, GoldPassage, TaskItem, fingerprint
from annotator.leaderboard.scoring.measure import (
    MOST,
    Baseline,
    Floats,
    Numbers,
    ScoredAnswer,
    TaskMeasure,
    Unanswered,
    ratio,
)
from annotator.measures.statistics.breakdowns import share

# Best first: a passage that matches several gold ones (the release repeats passages) gets the best of their stances.
STANCES = ("completely-support", "partially-support", "refute", "irrelevant")
USEFUL = STANCES[:3]
ADDED, UNJUDGED = "added_by_people", "unjudged"
KINDS = (*STANCES, ADDED, UNJUDGED)


@dataclass(frozen=True, slots=True)
class PassageMatches:
    """A passage in an answer: a public id, or hashes of its words and URL."""

    key: str = ""
    words: int = 0
    address: int = 0


@dataclass(frozen=True)
class EvidenceMeasure:
    """Gold passages are those that people judged supporting or refuting, and those they added. Passages match by public
    id, by their words, or, with ``by_address``, by their source."""

    by_address: bool = False

    names = ("recall", "precision", "f1")
    width = 4 + len(KINDS)

    def read(self, row: Mapping[str, Any]) -> ScoredAnswer:
        if "evidence" not in row:
            raise RowError(("evidence", "required: write a list of passages, or [] if none were found."))
        value = row["evidence"]
        if value is None:
            raise Unanswered
        if not isinstance(value, list):
            raise RowError(("evidence", f"expected a list of passages, found {kind_of(value)}."))
        if len(value) > MOST:
            raise RowError(("evidence", f"{len(value)} passages in one row; the limit is {MOST}."))
        return ScoredAnswer([self._passage(each, number) for number, each in enumerate(value, start=1)])

    def _passage(self, value: Any, number: int) -> PassageMatches:
        given = {"text": value} if isinstance(value, str) else value
        if not isinstance(given, dict):
            raise RowError(("evidence", f"expected a text or an object as item {number}, found {kind_of(value)}."))
        key, text, url = (given.get(name) or "" for name in ("id", "text", "url"))
        if not all(isinstance(each, str) for each in (key, text, url)):
            raise RowError(("evidence", f"id, text, and url of item {number} must be texts."))
        if not (key or fingerprint(text) or url.strip()):
            raise RowError(("evidence", f"item {number} is empty: add an id, text, or url."))
        if self.by_address and not (key or url.strip()):
            raise RowError(("evidence", f"item {number} has no url, which is required to compare passages by URL."))
        if not self.by_address and not (key or fingerprint(text)):
            raise RowError(("evidence", f"item {number} has no text: add it, or compare by URL."))
        return PassageMatches(key, fingerprint(text), address_of(url))

    def numbers(self, item: TaskItem, answer: Any) -> Numbers:
        gold: Sequence[GoldPassage] = item.gold
        reached: set[str] = set()
        counts = dict.fromkeys(KINDS, 0)
        found: dict[Any, PassageMatches] = {self._mark(each): each for each in answer}  # the same passage twice is one
        for each in found.values():
            same = [passage for passage in gold if self._is(passage, each)]
            reached.update(passage.key for passage in same)
            counts[_kind(same)] += 1
        wanted = [passage for passage in gold if passage.added or passage.stance in USEFUL]
        helpful = sum(counts[kind] for kind in (*USEFUL, ADDED))
        numbers = [
            sum(passage.key in reached for passage in wanted),
            len(wanted),
            helpful,
            len(found),
            *counts.values(),
        ]
        return tuple(_counted(place, number) for place, number in enumerate(numbers) if number)

    def _mark(self, found: PassageMatches) -> Any:
        return found.key or (found.address if self.by_address else found.words)

    def _is(self, passage: GoldPassage, found: PassageMatches) -> bool:
        if found.key:
            return passage.key == found.key
        if self.by_address:
            return bool(found.address) and passage.address == found.address
        return bool(found.words) and passage.words == found.words

    def over(self, sums: Sequence[float]) -> TaskMeasure:
        return self

    def figures(self, sums: Floats) -> Sequence[Floats]:
        reached, wanted, helpful, found = sums[:, :4].T
        recall, precision = share(reached, wanted), share(helpful, found)
        # The harmonic mean, because repeated passages make the two count different things.
        return [recall, precision, share(2 * recall * precision, recall + precision)]

    def details(self, sums: Sequence[float]) -> dict[str, Any]:
        reached, wanted, helpful, found = (round(number) for number in sums[:4])
        return {
            "passages": {"gold": wanted, "gold_found": reached, "predicted": found, "predicted_helpful": helpful},
            "by_stance": {
                kind: {"count": round(number), "share": ratio(number, found)}
                for kind, number in zip(KINDS, sums[4:], strict=True)
            },
        }

    def baselines(self, gold: Gold, random: Random) -> list[Baseline]:
        """Baselines: all retrieved passages, the first one, and each with probability one half."""

        def retrieved() -> Iterator[tuple[str, list[PassageMatches]]]:
            """Generated separately for each baseline: all passages at once would take as much memory as the gold."""
            for key, item in gold.items.items():
                if item.gold is not None:
                    yield key, [PassageMatches(key=each.key) for each in item.gold if not each.added]

        return [
            Baseline("all_retrieved", retrieved()),
            Baseline("first_retrieved", ((key, found[:1]) for key, found in retrieved())),
            Baseline(
                "random", ((key, [each for each in found if random.random() < 0.5]) for key, found in retrieved())
            ),
        ]

    def blank(self) -> dict[str, Any]:
        return {"evidence": None}


def address_of(url: str) -> int:
    """A hash of a URL, ignoring its scheme, a leading www, a trailing slash and its fragment; 0 for none."""
    bare = url.strip().split("#")[0].split("://")[-1].removeprefix("www.").rstrip("/")
    return fingerprint(bare.replace("/", " ").replace(".", " ")) if bare else 0


@cache
def _counted(place: int, number: int) -> tuple[int, float]:
    """One of an answer's numbers, created once and shared: they are small counts and mostly equal."""
    return place, float(number)


def _kind(same: Sequence[GoldPassage]) -> str:
    """The best stance among the gold passages that a found passage matches."""
    if any(passage.added for passage in same):
        return ADDED
    return next((stance for stance in STANCES if any(each.stance == stance for each in same)), UNJUDGED)
