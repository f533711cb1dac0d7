"""A document with everything that is agreed about it, as plain data: what gold formats are read into and written from.

It mirrors the models (sentence, claim, evidence ...). ``public_id`` and what else stands below "from the database" is
blank on the way in. ``released`` holds the released spellings of a record, see ``annotator.core.released``.

An attribute is named like the exported column of its declared field. ``more`` holds the declared fields that no rule of
a format asks for, by column.
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
    """One passage; ``stance`` is "" where none is agreed."""

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
    """One claim with its evidence, verdict and revision. Labels are words of the vocabulary, "" where open.

    ``rests_on`` holds members of ``retrieved`` and ``added``, in the order named. ``handling`` and ``rewritten`` say
    what the revise stage does where there is not enough evidence.
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
    reason: str = ""  # why a person decided so

    @property
    def is_checked(self) -> bool:
        """As ``annotator.core.models.Claim.is_checked``."""
        return labels.claim_is_checked(self.type, self.worth_checking)

    @property
    def is_true(self) -> bool | None:
        return labels.claim_is_true(self.factuality) if self.is_checked else None

    @property
    def revised(self) -> str:
        """The claim after edits and revision; "" where it is deleted. Raises ``EditError`` if edits do not fit."""
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
    """One sentence. ``revised`` is None where the revise stage has no row for it; offsets as in the model."""

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
    """One document. ``verified`` and ``revised`` say which stages beyond decompose are agreed."""

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
    # Only on the way in:
    line: int = 0
    about: dict[str, Any] = field(default_factory=dict)  # id, source, model, metadata, reference_date
    content_hash: str = ""
    size: int = 0  # roughly, in characters
    notes: tuple[str, ...] = ()  # what a person who imports should know: the same words for all rows of which it holds

    @property
    def identity(self) -> str:
        """As of any document on its way in."""
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
    """A row with the values of declared fields, by column, and with what else it has."""
    attributes = _ATTRIBUTES[row]
    if attributes.issuperset(values):
        return row(**values, **own)
    known = {name: value for name, value in values.items() if name in attributes}
    return row(**known, **own, more={name: value for name, value in values.items() if name not in attributes})


def cells_of(row: type[GoldRow], declared: Sequence[Field]) -> Callable[[GoldRow], list[Any]]:
    """What reads the values of declared fields from a row."""
    readers = [_reader(row, each) for each in declared]
    return lambda gold: [read(gold) for read in readers]


def _reader(row: type[Any], declared: Field) -> Callable[[Any], Any]:
    if declared.column in _ATTRIBUTES[row]:
        return attrgetter(declared.column)
    return lambda gold: gold.more.get(declared.column, declared.open_value)
