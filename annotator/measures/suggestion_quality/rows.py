"""Gold documents with what was suggested for them and what people made of it, as plain rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Maker(NamedTuple):
    """Whose suggestions are compared: a strategy with its chat model ("" for none), or with ``run`` a single run of it.
    ``by`` names a learned suggester instead; then the other three are blank."""

    strategy: str = ""
    model: str = ""
    run: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ComparedClaim:
    """A claim, suggested or decided. ``suggestion``: the primary key of the suggestion it came from; ``by``: the
    learned suggester that gave a suggested claim its type, "" for the strategy itself."""

    key: int
    text: str
    type: str
    worth_checking: bool | None
    importance: str
    suggestion: int | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class ComparedSentence:
    """A sentence, suggested or decided, with its claims in order."""

    key: int
    text: str
    start: int | None
    end: int | None
    decontext: str
    type: str
    importance: str
    claims: tuple[ComparedClaim, ...]
    suggestion: int | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class StanceRow:
    """The stance given to a passage, and the suggestion that stood beside it."""

    label: str
    suggestion: int | None


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What was decided on a claim. ``revised``: the mended claim, "" where it is deleted, None without an edit.
    ``suggestion``: whose correction the edit began as."""

    text: str
    factuality: str
    sufficient: bool | None
    revised: str | None
    suggestion: int | None


@dataclass(frozen=True, slots=True)
class PersonsWork:
    """The adjudicated version of a document, or one person's. Unsubmitted stages are empty. ``added``: passages that
    people added, by claim; ``submitted``: by stage."""

    person: int | None = None
    sentences: Sequence[ComparedSentence] = ()
    stances: Mapping[int, StanceRow] = field(default_factory=dict)
    added: Mapping[int, int] = field(default_factory=dict)
    verdicts: Mapping[int, VerdictRow] = field(default_factory=dict)
    response: str | None = None
    response_from: int | None = None
    submitted: Mapping[str, dt.datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuggestedStance:
    key: int
    label: str
    by: str


@dataclass(frozen=True, slots=True)
class ComparedVerdict:
    """``correction``: the mended claim, "" to delete it, None where none was offered. ``at``: when its run began."""

    key: int
    factuality: str
    correction: str | None
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class SuggestedAnswer:
    key: int
    with_prompt: str
    without_prompt: str
    at: dt.datetime


@dataclass(slots=True)
class SuggestedLabels:
    """What one maker suggested for one document. ``decompositions``: by run (primary key), the newest counts against
    the gold. Of passages, stances and verdicts the newest of each passage and claim. ``passages``: claim by passage."""

    decompositions: dict[int, list[ComparedSentence]] = field(default_factory=dict)
    passages: dict[int, int] = field(default_factory=dict)
    stances: dict[int, SuggestedStance] = field(default_factory=dict)
    verdicts: dict[int, ComparedVerdict] = field(default_factory=dict)
    answer: SuggestedAnswer | None = None


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """One gold document. ``barred``: learned suggesters that were trained on it, as (field, name): they are not
    scored on it."""

    key: int
    response: str
    blind_first: bool
    gold: PersonsWork
    people: tuple[PersonsWork, ...]
    suggested: Mapping[Maker, SuggestedLabels]
    barred: frozenset[tuple[str, str]] = frozenset()
