"""What changed between two releases, counted from the contents of each document."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from annotator.core.vocabulary import ClaimType, Factuality
from annotator.exchange.formats import factcheck_bench
from annotator.exchange.formats.gold import GoldClaim, GoldDocument
from annotator.exchange.tables.tables import rows_of

UNLABELLED = ""
NOT_CHECKED = "not_checked"

_WORDS = {
    **{word.value: word.label.lower() for word in (*Factuality, *ClaimType)},
    UNLABELLED: "no label",
    NOT_CHECKED: "not checked",
}


# --- one document ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A document prepared for comparison: ``content`` is the hash of all of it. ``parts`` is JSON::

        {"answer": hash of prompt and response, "revised": hash of the revised response,
         "claims": {public id: [label, hash of the text]}, "stances": {public id of the passage: label}}

    Hashes of texts are cut to eight bytes, enough to tell two versions of a text apart. ``split`` is "" if not known
    yet.
    """

    content: str
    parts: str
    split: str = ""


def fingerprint(document: GoldDocument) -> Fingerprint:
    """The document as it is now."""
    claims = [claim for sentence in document.sentences for claim in sentence.claims]
    parts = {
        "answer": _short(f"{document.prompt}\n{document.response}"),
        "revised": _short(document.revised_response),
        "claims": {claim.public_id: [label_of(claim), _short(claim.text)] for claim in claims},
        "stances": {each.public_id: each.stance for claim in claims for each in (*claim.retrieved, *claim.added)},
    }
    # The tables contain every value, the released line the spellings that have no place in tables. The document's
    # number isn't part of its content.
    rows = [rows for _, rows in rows_of(document, 0)]
    content = hashlib.sha256(factcheck_bench.line(document).encode())
    content.update(json.dumps(rows, default=str).encode())
    return Fingerprint(content.hexdigest(), json.dumps(parts, separators=(",", ":")))


def label_of(claim: GoldClaim) -> str:
    """Its verdict; for a claim that isn't checked, its type, or that it isn't check-worthy."""
    if claim.is_checked:
        return claim.factuality
    return NOT_CHECKED if claim.type == ClaimType.FACTUAL else claim.type


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --- two releases ---------------------------------------------------------------------------------


@dataclass(slots=True)
class ReleaseDifference:
    """What was added, removed and changed. Claims and passages are counted in documents that are in both releases."""

    added: int = 0  # documents
    removed: int = 0
    changed: int = 0
    same: int = 0
    moved: int = 0  # moved to another split
    answers: int = 0  # documents with a changed prompt or response
    revised: int = 0  # documents with a changed revised response
    claims_added: int = 0
    claims_removed: int = 0
    claims_reworded: int = 0
    labels: dict[str, int] = field(default_factory=dict)  # "true > false": claims
    passages_added: int = 0
    passages_removed: int = 0
    stances: int = 0  # passages with a changed stance

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.changed or self.moved)

    @property
    def relabelled(self) -> int:
        """Claims with a changed label."""
        return sum(self.labels.values())

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """The difference in sentences, one per line, as a draft changelog."""
        if self.is_empty:
            return ["The data did not change."]
        rows = [
            _sentence(self.added, "document", "added"),
            _sentence(self.removed, "document", "removed"),
            _sentence(self.changed, "document", "changed"),
            _sentence(self.moved, "document", "moved to another split"),
            _sentence(self.answers, "document", "with a changed prompt or response"),
            _sentence(self.revised, "revised answer", "changed"),
            _sentence(self.claims_added, "claim", "added"),
            _sentence(self.claims_removed, "claim", "removed"),
            _sentence(self.claims_reworded, "claim", "with changed text"),
        ]
        if self.labels:
            changes = sorted(self.labels.items(), key=lambda each: (-each[1], each[0]))
            told = ", ".join(f"{number:,} from {_told(change)}" for change, number in changes)
            rows.append(_sentence(self.relabelled, "claim", f"changed label: {told}"))
        rows += [
            _sentence(self.passages_added, "passage", "added"),
            _sentence(self.passages_removed, "passage", "removed"),
            _sentence(self.stances, "passage", "with a changed stance"),
        ]
        return [row for row in rows if row]


def difference_from(stored: Mapping[str, Any]) -> ReleaseDifference:
    """The inverse of ``as_json``."""
    return ReleaseDifference(**stored)


def compare(before: Mapping[str, Fingerprint], after: Mapping[str, Fingerprint]) -> ReleaseDifference:
    """What changed from one set of documents, by public id, to another. Parts are compared where the content
    differs."""
    found = ReleaseDifference(added=len(after.keys() - before.keys()), removed=len(before.keys() - after.keys()))
    labels: Counter[str] = Counter()
    for public_id in before.keys() & after.keys():
        old, new = before[public_id], after[public_id]
        found.moved += bool(old.split and new.split) and old.split != new.split
        if old.content == new.content:
            found.same += 1
            continue
        found.changed += 1
        was, is_now = json.loads(old.parts), json.loads(new.parts)
        found.answers += was["answer"] != is_now["answer"]
        found.revised += was["revised"] != is_now["revised"]
        _compare_claims(was["claims"], is_now["claims"], found, labels)
        _compare_stances(was["stances"], is_now["stances"], found)
    found.labels = dict(sorted(labels.items()))
    return found


def _compare_claims(
    old: Mapping[str, Any], new: Mapping[str, Any], found: ReleaseDifference, labels: Counter[str]
) -> None:
    found.claims_added += len(new.keys() - old.keys())
    found.claims_removed += len(old.keys() - new.keys())
    for key in old.keys() & new.keys():
        (label_before, text_before), (label_after, text_after) = old[key], new[key]
        found.claims_reworded += text_before != text_after
        if label_before != label_after:
            labels[f"{label_before} > {label_after}"] += 1


def _compare_stances(old: Mapping[str, str], new: Mapping[str, str], found: ReleaseDifference) -> None:
    found.passages_added += len(new.keys() - old.keys())
    found.passages_removed += len(old.keys() - new.keys())
    found.stances += sum(old[key] != new[key] for key in old.keys() & new.keys())


def _told(change: str) -> str:
    before, after = change.split(" > ")
    return f"{_WORDS[before]} to {_WORDS[after]}"


def _sentence(number: int, noun: str, what: str) -> str:
    """ "1 document came in."; "" for none."""
    return f"{number:,} {noun}{'' if number == 1 else 's'} {what}." if number else ""
