"""A document with all its adjudicated labels as plain data: what gold formats are read into and written from.

Mirrors the models (sentence, claim, evidence ...). ``public_id`` and everything under "from the database" is blank on
import. ``released`` holds a record's released spellings, see ``annotator.core.released``.

Attributes are named after the exported columns of their declared fields. ``more`` holds, by column, the declared fields
that no format's rule mentions.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar

from annotator.core import labels
from annotator.core.fields import Field
from annotator.core.released import Spellings
from annotator.core.texts.edits import Operation, apply
from annotator.core.vocabulary import Factuality, Handling


@dataclass(slots=True)
class GoldEvidence:
    """One passage; ``stance`` is "" without an adjudicated one."""

    passage: str = ""
    url: str = ""
    stance: str = ""
    released: Spellings = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    # From the database:
    public_id: str = ""
    title: str = ""
    site: str = ""
    published: dt.date | None = None
    query: str = ""
    retrieved_at: dt.datetime | None = None
    content_hash: str = ""


@dataclass(slots=True)
class GoldClaim:
    """One claim with its evidence, verdict and revision. Labels are values of the vocabulary, "" if not decided.

    ``rests_on`` lists members of ``retrieved`` and ``added`` in order. ``handling`` and ``rewritten`` say what the
    revise stage does without enough evidence.
    """

    text: str = ""
    type: str = ""
    worth_checking: bool | None = None
    importance: str = ""
    retrieved: list[GoldEvidence] = field(default_factory=list)
    added: list[GoldEvidence] = field(default_factory=list)
    evidence_sufficient: bool | None = None
    factuality: str = ""
    operations: list[Operation] = field(default_factory=list)
    rests_on: list[GoldEvidence] = field(default_factory=list)
    handling: str = Handling.KEEP
    rewritten: str = ""
    released: Spellings = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    # From the database:
    public_id: str = ""
    reason: str = ""  # why a person decided this way

    @property
    def is_checked(self) -> bool:
        """Like ``annotator.core.models.Claim.is_checked``."""
        return labels.claim_is_checked(self.type, self.worth_checking)

    @property
    def is_true(self) -> bool | None:
        return labels.claim_is_true(self.factuality) if self.is_checked else None

    @property
    def revised(self) -> str:
        """The claim after edits and revision; "" if deleted. Raises ``EditError`` if edits don't fit."""
        if self.is_checked and self.factuality == Factuality.FALSE:
            return apply(self.text, self.operations)
        if self.is_checked and self.factuality == Factuality.NOT_ENOUGH_EVIDENCE:
            if self.handling == Handling.DELETE:
                return ""
            if self.handling == Handling.REWRITE:
                return self.rewritten
        return self.text


@dataclass(slots=True)
class GoldSentence:
    """One sentence. ``revised`` is None if the revise stage has no row for it; offsets are as in the model."""

    text: str = ""
    start: int | None = None
    end: int | None = None
    decontext: str = ""
    type: str = ""
    importance: str = ""
    claims: list[GoldClaim] = field(default_factory=list)
    revised: str | None = None
    deleted: bool = False
    released: Spellings = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    public_id: str = ""  # from the database

    @property
    def is_true(self) -> bool | None:
        return labels.sentence_is_true(self.type, (claim.is_true for claim in self.claims))


@dataclass(slots=True)
class GoldDocument:
    """One document. ``verified`` and ``revised`` say which stages after decompose are adjudicated."""

    prompt: str = ""
    response: str = ""
    sentences: list[GoldSentence] = field(default_factory=list)
    revised_response: str = ""
    verified: bool = True
    revised: bool = True
    released: Spellings = field(default_factory=dict)
    # From the database:
    public_id: str = ""
    external_id: str = ""
    source: str = ""
    model: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    reference_date: dt.date | None = None
    # On import only:
    line: int = 0
    about: dict[str, Any] = field(default_factory=dict)  # id, source, model, metadata, reference_date
    content_hash: str = ""
    size: int = 0  # approximate, in characters
    notes: tuple[str, ...] = ()  # messages for the person importing: the same text for all rows concerned

    @property
    def identity(self) -> str:
        """Like any imported document's."""
        return str(self.about["identity"])

    @property
    def is_true(self) -> bool | None:
        return labels.document_is_true(sentence.is_true for sentence in self.sentences)

    @property
    def is_true_by_claims(self) -> bool | None:
        """The paper's own count; see ``annotator.core.labels``."""
        return labels.document_is_true_by_claims(
            claim.is_true for sentence in self.sentences for claim in sentence.claims if claim.is_checked
        )


# --- declared fields ------------------------------------------------------------------------------

GoldRow = TypeVar("GoldRow", GoldSentence, GoldClaim, GoldEvidence)


_ATTRIBUTES = {row: frozenset(each.name for each in fields(row)) for row in (GoldSentence, GoldClaim, GoldEvidence)}


def made(row: type[GoldRow], values: Mapping[str, Any], **own: Any) -> GoldRow:
    """A row with its values of declared fields, by column, and its other values."""
    attributes = _ATTRIBUTES[row]
    if attributes.issuperset(values):
        return row(**values, **own)
    known = {name: value for name, value in values.items() if name in attributes}
    return row(**known, **own, more={name: value for name, value in values.items() if name not in attributes})


def cells_of(row: type[GoldRow], declared: Sequence[Field]) -> Callable[[GoldRow], list[Any]]:
    """Reads the values of declared fields from a row."""
    readers = [_reader(row, each) for each in declared]
    return lambda gold: [read(gold) for read in readers]


def _reader(row: type[Any], declared: Field) -> Callable[[Any], Any]:
    if declared.column in _ATTRIBUTES[row]:
        return attrgetter(declared.column)
    return lambda gold: gold.more.get(declared.column, declared.open_value)
