"""A task's items: one thing of the gold each, with its keys and its gold label."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.metrics.text import words


@dataclass(frozen=True, slots=True)
class TaskItem:
    """One sentence, claim, passage or response.

    ``position`` counts from 1 within the document: "2" is a sentence, "2.1" a claim, "2.1.3" a passage, "" the document
    itself. ``gold`` is what the task's measure compares with, None if the gold has nothing to compare; such an item may
    be predicted but isn't scored. ``text`` and ``context`` are for people (and for what reads texts).
    """

    key: str
    document: str
    external: str
    position: str
    gold: Any
    text: str = ""
    context: str = ""

    @property
    def label(self) -> str | None:
        """The gold label, if the gold is or has one."""
        return self.gold.label if isinstance(self.gold, Verdicts) else self.gold if isinstance(self.gold, str) else None


@dataclass(frozen=True, slots=True)
class GoldPassage:
    """A gold passage: hashes of its words and its URL (0: none), and its stance. ``added`` passages were found by
    people."""

    key: str
    words: int
    address: int
    stance: str
    added: bool = False


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A response's own label, and its checked claims with theirs."""

    label: str
    claims: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Gold:
    """All items of a task, found by any of their keys."""

    items: dict[str, TaskItem]
    # By document, then by position: pairs as keys would take more memory than the items.
    _places: dict[str, dict[str, str]] = field(default_factory=dict)
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _order: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, items: Iterable[TaskItem]) -> Gold:
        return cls({item.key: item for item in items})

    @property
    def scored(self) -> int:
        """How many items have gold."""
        return sum(item.gold is not None for item in self.items.values())

    def by_key(self, key: str) -> str | None:
        """The item of a public id, or of a document's own id if items are documents."""
        return key if key in self.items else self.by_place(key, "")

    def by_place(self, document: str, position: str) -> str | None:
        """The item at a position of a document, given by its public or external id."""
        if not self._places:
            for key, item in self.items.items():
                self._places.setdefault(item.document, {})[item.position] = key
            for item in self.items.values():
                if item.external:
                    self._places.setdefault(item.external, self._places[item.document])
        return self._places.get(document, {}).get(position)

    def by_text(self, text: str) -> Sequence[str]:
        """All items with this text. The same claim may occur in several documents."""
        if not self._texts:
            for key, item in self.items.items():
                self._texts.setdefault(fingerprint(item.text), []).append(key)
        return self._texts.get(fingerprint(text), ())

    def by_number(self, number: int) -> str | None:
        """The item at this index, from 1, in the order of the template."""
        if not self._order:
            self._order = list(self.items)
        return self._order[number - 1] if 1 <= number <= len(self._order) else None


def fingerprint(text: str) -> int:
    """A hash of a text's words, ignoring case, punctuation and spaces; 0 for a text without words."""
    found = " ".join(words(text))
    return int.from_bytes(hashlib.blake2b(found.encode("utf-8", "replace"), digest_size=8).digest()) if found else 0
