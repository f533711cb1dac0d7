"""How the screens show a protocol's question: components/question.html renders it, and the outbox saves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from django.http import HttpRequest

from annotator.core.models import Annotation, Benchmark
from annotator.core.protocol import ASK, Kind, Question
from annotator.core.queries.protocols import added_question, asked_of
from annotator.core.record_keys import KINDS


class Addressed(Protocol):
    """What a question is about: a row with a name for forms and ids."""

    @property
    def address(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Place:
    """A record of the stages: ``claim-ab12cd34ef56``."""

    address: str


@dataclass(frozen=True, slots=True)
class Option:
    """One answer. The attributes have the names that components/segment.html reads."""

    value: str
    label: str
    glyph: str = ""
    tone: str = ""
    key: str = ""
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Control:
    """A question on a record, ready to render. ``form``: segment, checks, toggle, text, number or words."""

    question: Question
    row: Addressed
    form: str
    field: str
    value: str
    options: tuple[Option, ...] = ()
    suggested: str = ""
    is_numbered: bool = False
    advances: bool = False
    values: frozenset[str] = frozenset()


FORMS = {
    Kind.LABEL: "segment",
    Kind.LABELS: "checks",
    Kind.YES_NO: "segment",
    Kind.TEXT: "text",
    Kind.NUMBER: "number",
    Kind.SPAN: "words",
    Kind.CANDIDATE: "segment",
    Kind.CANDIDATES: "segment",
}


def form_of(question: Question) -> str:
    """A yes/no question that may stay unanswered is a checkbox."""
    return "toggle" if question.kind == Kind.YES_NO and not question.required else FORMS[question.kind]


def fixed_options(question: Question) -> tuple[Option, ...]:
    """The answers that the protocol lists."""
    if question.kind == Kind.YES_NO:
        return (Option("yes", "Yes", key=question.key_yes or ""), Option("no", "No"))
    return tuple(
        Option(each.value, each.label, each.glyph, each.tone, each.key or "", each.definition)
        for each in question.labels
    )


def as_sent(value: Any) -> str:
    """A stored answer as a form sends it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return ""
    return ",".join(value) if isinstance(value, list) else str(value)


def wrote_answer(request: HttpRequest, record: Any, annotation: Annotation) -> bool:
    """Was this a save of a text or a number of an added question? Then its box isn't rendered again, because someone is
    typing in it."""
    kind = KINDS[type(record)]
    question = added_question(annotation.document.benchmark, kind, request.POST.get("field", ""))
    return question is not None and question.kind in (Kind.TEXT, Kind.NUMBER)


def added_controls(record: Any, kind: str, benchmark: Benchmark) -> list[Control]:
    """The added questions that apply to a record of the stages."""
    found = []
    for question in asked_of(record, kind, benchmark):
        value = as_sent(record.answers.get(question.key))
        form = form_of(question)
        found.append(
            Control(
                question=question,
                row=Place(f"{kind}-{record.public_id}"),
                form=form,
                field=f"{ASK}{question.key}",
                value=value,
                options=fixed_options(question),
                values=frozenset(value.split(",")) if form == "checks" else frozenset(),
            )
        )
    return found
