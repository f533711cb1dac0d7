"""The counts of a dataset card, collected while documents are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.tables.table_columns import TABLES

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")
UNANSWERED = "not answered"

# The distributions of a card, in order: their headings.
DISTRIBUTIONS = {
    "document": "Documents (false if any claim is false or lacks enough evidence)",
    "sentence": "Sentences by check-worthiness",
    "claim": "Claims by type",
    "factuality": "Check-worthy claims by factuality",
    "sufficient": "Check-worthy claims by sufficiency of retrieved evidence",
    "stance": "Retrieved passages of check-worthy claims by stance",
    "edit": "Edits by kind",
}


class CardCounts:
    """``rows[table][split]``; ``labels[distribution][label][split]``; ``sources`` and ``models`` of documents that
    state them; ``languages`` if documents' metadata states one."""

    def __init__(self, splits: Iterable[str]) -> None:
        self.splits = tuple(splits)
        self.rows: dict[str, Counter[str]] = {table.name: Counter() for table in TABLES}
        self.labels: dict[str, dict[str, Counter[str]]] = {name: {} for name in DISTRIBUTIONS}
        self.sources: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.languages: set[str] = set()

    def add(self, document: GoldDocument, split: str) -> None:
        self._label("document", _yes_no(document.is_true_by_claims, "true", "false", "nothing to check"), split)
        if document.source:
            self.sources[document.source] += 1
        if document.model:
            self.models[document.model] += 1
        language = document.metadata.get("language")
        if isinstance(language, str) and _LANGUAGE.fullmatch(language):
            self.languages.add(language)
        for sentence in document.sentences:
            self._label("sentence", sentence.type, split)
            for claim in sentence.claims:
                self._label("claim", claim.type, split)
                if not claim.is_checked:
                    continue
                self._label("factuality", claim.factuality, split)
                self._label("sufficient", _yes_no(claim.evidence_sufficient, "yes", "no", ""), split)
                for evidence in claim.retrieved:
                    self._label("stance", evidence.stance, split)
                for operation in claim.operations:
                    self._label("edit", operation.kind.value, split)

    def _label(self, distribution: str, label: str, split: str) -> None:
        self.labels[distribution].setdefault(label or UNANSWERED, Counter())[split] += 1


def _yes_no(value: bool | None, yes: str, no: str, otherwise: str) -> str:
    if value is None:
        return otherwise
    return yes if value else no
