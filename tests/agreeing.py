"""What the tests of agreement share: two people who label and settle through the actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotator.core.models import Annotation, Claim, Document, User
from annotator.core.vocabulary import Stage
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import sentences_of
from tests.factories import retrieve, save, verified


def begun(document: Document, person: User, stage: Stage = Stage.DECOMPOSE) -> Annotation:
    """The person's open annotation; at decompose with every suggestion taken over."""
    annotation = open_annotation(document, stage, by=person)
    if stage == Stage.DECOMPOSE:
        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=person)
    return annotation


def submitted(document: Document, *people: User) -> Document:
    """The document after these people took over every suggestion at decompose and submitted."""
    for person in people:
        submit(begun(document, person), by=person)
    document.refresh_from_db()
    return document


def claims_of(annotation: Annotation) -> list[Claim]:
    """The claims that stand in an annotation, in the order of their sentences."""
    return list(
        Claim.objects.filter(sentence__annotation=annotation, removed="", sentence__removed="").order_by(
            "sentence__order", "order"
        )
    )


def label(annotation: Annotation, name: str, values: Sequence[str], by: User) -> None:
    """Give a label to each sentence, in order."""
    for sentence, value in zip(sentences_of(annotation), values, strict=True):
        if getattr(sentence, name) != value:
            save(sentence, name, value, by)


def settle(document: Document, people: Sequence[User], decisions: Sequence[dict[str, Any]]) -> Document:
    """Settle the differences in order, the rest by taking the first person's, and sign."""
    stage = Stage(document.stage)
    given = list(decisions)
    while rows := [row for row in board_of(document, stage).comparison.rows if row.is_open]:
        adjudicate.decide(document, stage, rows[0].key, by=people[0], **(given.pop(0) if given else {"choice": 0}))
    for person in people:
        adjudicate.sign(document, stage, by=person)
    document.refresh_from_db()
    return document


def at_revise(document: Document, owner: User, ada: User, ben: User) -> Document:
    """The document with decompose and verify agreed without a difference."""
    submitted(document, ada, ben)
    retrieve(settle(document, [ada, ben], []))
    for person in (ada, ben):
        verified(document, person)
    return settle(document, [ada, ben, owner], [])


def signed_by(document: Document, *people: User) -> Document:
    """The document after these people signed its stage."""
    for person in people:
        adjudicate.sign(document, Stage(document.stage), by=person)
    document.refresh_from_db()
    return document
