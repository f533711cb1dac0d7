"""Gold documents with suggestions and people's decisions, as plain rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Maker(NamedTuple):
    """Whose suggestions are compared: a strategy with its chat model ("" for none), or with ``run`` a single run.
    ``by`` names a learned suggester instead; then the other three are blank."""

    strategy: str = ""
    model: str = ""
    run: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ComparedClaim:
    """A claim, suggested or decided. ``suggestion``: the primary key of the suggestion it came from; ``by``: the
    learned suggester that labeled a suggested claim, "" for the strategy itself."""

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
    """The stance given to a passage, and the suggestion shown with it."""

    label: str
    suggestion: int | None


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """The decision on a claim. ``revised``: the corrected claim, "" if deleted, None without an edit. ``suggestion``:
    the correction that the edit started as."""

    text: str
    factuality: str
    sufficient: bool | None
    revised: str | None
    suggestion: int | None


@dataclass(frozen=True, slots=True)
class PersonsWork:
    """A document's adjudicated version, or one person's work. Unsubmitted stages are empty. ``added``: added passages,
    by claim; ``submitted``: by stage."""

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
    """``correction``: the corrected claim, "" to delete it, None if none was offered. ``at``: when its run started."""

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
    """One maker's suggestions for one document. ``decompositions``: by run (primary key); the newest is compared with
    the gold. For passages, stances and verdicts: the newest for each passage and claim. ``passages``: claim by
    passage."""

    decompositions: dict[int, list[ComparedSentence]] = field(default_factory=dict)
    passages: dict[int, int] = field(default_factory=dict)
    stances: dict[int, SuggestedStance] = field(default_factory=dict)
    verdicts: dict[int, ComparedVerdict] = field(default_factory=dict)
    answer: SuggestedAnswer | None = None


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """One gold document. ``barred``: learned suggesters trained on it, as (field, name), which aren't scored on it."""

    key: int
    response: str
    blind_first: bool
    gold: PersonsWork
    people: tuple[PersonsWork, ...]
    suggested: Mapping[Maker, SuggestedLabels]
    barred: frozenset[tuple[str, str]] = frozenset()
