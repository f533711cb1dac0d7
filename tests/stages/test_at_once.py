"""Two people at the same moment, in threads with connections of their own: one comes after the other, nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from annotator.core.models import Activity, Annotation, Document, User
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import AnnotationKind, Phase, Role, Stage
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.saving import StaleSaveError, save_field
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import present_claims, sentences_of
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, save, with_corpus

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each call gives, or the error that it raises; all are let go at one moment."""
    barrier = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(number: int, call: Callable[[], Any]) -> None:
        try:
            barrier.wait(timeout=20)
            results[number] = call()
        except Exception as error:  # the test looks at it
            results[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=180)
        assert not thread.is_alive(), "the two wait for each other"
    return results


@pytest.fixture
def partners() -> tuple[User, User]:
    benchmark = BenchmarkFactory(overlap=2)
    with_corpus(benchmark)
    return member(benchmark), member(benchmark)


def both_submitted(partners: tuple[User, User], *, differ: bool) -> Document:
    ada, ben = partners
    benchmark = ada.memberships.get().benchmark
    document = prefill(DocumentFactory(benchmark=benchmark))
    for person in partners:
        annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=person)
        if differ and person == ben:
            save(sentences_of(annotation)[0], "importance", "less", ben)
        submit(annotation, by=person)
    document.refresh_from_db()
    assert document.phase == Phase.CONSOLIDATING
    return document


def test_of_a_thousand_racing_saves_none_is_lost(partners):
    """Two tabs of one person save the same field, seen at the same version, 500 times: one save is stored, with its
    row in the history, and the other is refused with both values."""
    ada, _ = partners
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark))
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    claim = present_claims(sentences_of(annotation)[0])[0]
    rounds, first = 500, claim.version
    start, done = threading.Barrier(2), threading.Barrier(2)

    def save_again_and_again(tab: str) -> list[Any]:
        results: list[Any] = []
        for number in range(rounds):
            text = f"{tab} {number}"
            start.wait(timeout=60)
            try:
                results.append(save_field(claim, "text", text, by=ada, version=first + number).record)
            except StaleSaveError as stale:
                results.append(stale)
            done.wait(timeout=60)  # the next round begins at the version that this one has made
        return results

    tabs = at_once(lambda: save_again_and_again("one"), lambda: save_again_and_again("other"))
    history = Activity.objects.filter(annotation=annotation, action="save").order_by("id")
    texts = [each for row in history for each in row.changes if each["field"] == "text"]
    assert len(texts) == rounds
    for number, (one, other, stored) in enumerate(zip(*tabs, texts, strict=True)):
        refused = [each for each in (one, other) if isinstance(each, StaleSaveError)]
        saved = [each for each in (one, other) if not isinstance(each, StaleSaveError)]
        assert len(refused) == len(saved) == 1, number
        assert saved[0].text == stored["after"] == refused[0].theirs
        assert stored["version"] == saved[0].version == first + number + 1
        assert stored["before"] == (texts[number - 1]["after"] if number else claim.text)
    claim.refresh_from_db()
    assert (claim.version, claim.text) == (first + rounds, texts[-1]["after"])


def test_two_signatures_at_once_close_the_stage_once(partners):
    document = both_submitted(partners, differ=False)
    at_once(*(lambda person=person: adjudicate.sign(document, Stage.DECOMPOSE, by=person) for person in partners))
    document.refresh_from_db()
    assert document.stage == Stage.VERIFY
    assert document.run_items.filter(run__stage=Stage.VERIFY).count() == 1, "evidence is looked for once"
    assert document.annotations.filter(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED).count() == 1
    assert Activity.objects.filter(document=document, action="sign").count() == 2


def test_two_decisions_at_once_on_one_row_leave_one_and_tell_the_other(partners):
    document = both_submitted(partners, differ=True)
    [row] = [row for row in board_of(document, Stage.DECOMPOSE).comparison.rows if row.is_open]
    results = at_once(
        *(
            lambda person=person, choice=choice: adjudicate.decide(
                document, Stage.DECOMPOSE, row.key, by=person, choice=choice
            )
            for choice, person in enumerate(partners)
        )
    )
    assert sum(isinstance(each, adjudicate.ChangedMeanwhileError) for each in results) == 1, results
    assert Activity.objects.filter(document=document, action="decide").count() == 1


def test_the_last_two_submissions_at_once_open_one_consolidation(partners):
    document = prefill(DocumentFactory(benchmark=partners[0].memberships.get().benchmark))
    annotations = [open_annotation(document, Stage.DECOMPOSE, by=person) for person in partners]
    for annotation, person in zip(annotations, partners, strict=True):
        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=person)
    at_once(
        *(
            lambda annotation=annotation, person=person: submit(annotation, by=person)
            for annotation, person in zip(annotations, partners, strict=True)
        )
    )
    document.refresh_from_db()
    assert document.phase == Phase.CONSOLIDATING
    version = document.annotations.get(kind=AnnotationKind.CONSOLIDATED)
    assert version.tally.people == [row.person_id for row in board_of(document, Stage.DECOMPOSE).people]


def test_three_people_at_once_get_the_two_places_that_there_are(partners):
    benchmark = partners[0].memberships.get().benchmark
    document = prefill(DocumentFactory(benchmark=benchmark))
    people = [*partners, member(benchmark, Role.ANNOTATOR)]
    stage = Stage.DECOMPOSE
    results = at_once(*(lambda person=person: open_annotation(document, stage, by=person) for person in people))
    assert sum(isinstance(each, NotAllowedError) for each in results) == 1, results
    seats = Annotation.objects.filter(document=document).order_by("seat").values_list("seat", flat=True)
    assert list(seats) == [1, 2]
