"""The number of queries of what people wait for depends neither on the documents nor on sentences, claims, evidence.

The three screens have the same test beside their other ones; here are the next document and the consolidation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.models import Annotation, Benchmark, Claim, Document, User
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import AnnotationKind, Factuality, Importance, Phase, Stage, StanceLabel
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import present_claims, sentences_of
from annotator.stages.queries.verification import claims_to_verify
from annotator.suggestions.actions.proposals import ProposedPassage, propose_evidence
from tests.factories import BenchmarkFactory, DocumentFactory, prefill, save

pytestmark = pytest.mark.django_db

SENTENCE = "Ada Lovelace was born in 1815 and worked with Charles Babbage. "


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(overlap=2, third_rater_at_verify=False)


@contextmanager
def counted(numbers: list[int]) -> Iterator[None]:
    with CaptureQueriesContext(connection) as queries:
        yield
    numbers.append(len(queries))


def document_of(benchmark: Benchmark, sentences: int) -> Document:
    return prefill(DocumentFactory(benchmark=benchmark, response=SENTENCE * sentences))


# --- states, each with a difference in every row that can differ -----------------------------------


def decompose_to_agree(document: Document, ada: User, ben: User) -> Document:
    for person in (ada, ben):
        annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=person)
        for sentence in sentences_of(annotation) if person == ben else ():
            for claim in present_claims(sentence):
                save(claim, "importance", Importance.LESS, person)
                save(claim, "text", f"{claim.text.rstrip('.')}, it is said.", person)
        submit(annotation, by=person)
    document.refresh_from_db()
    return document


def settled(document: Document, stage: Stage, ada: User, ben: User) -> Document:
    for item in board_of(document, stage).comparison.items:
        for row in item.fields:
            if row.is_open:
                adjudicate.decide(document, stage, row.key, by=ada, choice=0)
    for person in (ada, ben):
        adjudicate.sign(document, stage, by=person)
    document.refresh_from_db()
    return document


def with_evidence(document: Document, ada: User, ben: User) -> Document:
    """Decompose is settled; each claim has as many passages as there are claims."""
    settled(decompose_to_agree(document, ada, ben), Stage.DECOMPOSE, ada, ben)
    claims = Claim.objects.filter(
        sentence__annotation__document=document, sentence__annotation__kind=AnnotationKind.CONSOLIDATED
    )
    passages = [ProposedPassage(f"Passage {number}", "https://pages.example/1") for number in range(claims.count())]
    propose_evidence(document, {claim.pk: passages for claim in claims})
    return document


def verify_to_agree(document: Document, ada: User, ben: User) -> Document:
    with_evidence(document, ada, ben)
    for person, label in ((ada, StanceLabel.COMPLETELY_SUPPORT), (ben, StanceLabel.PARTIALLY_SUPPORT)):
        annotation = open_annotation(document, Stage.VERIFY, by=person)
        for work in claims_to_verify(annotation):
            for card in work.cards:
                save(card.stance, "label", label, person)
            save(work.verdict, "factuality", Factuality.TRUE, person)
        submit(annotation, by=person)
    document.refresh_from_db()
    return document


def revise_to_agree(document: Document, ada: User, ben: User) -> Document:
    settled(verify_to_agree(document, ada, ben), Stage.VERIFY, ada, ben)
    for person in (ada, ben):
        annotation = open_annotation(document, Stage.REVISE, by=person)
        for row in annotation.sentence_revisions.all() if person == ben else ():
            save(row, "text", f"{row.text.rstrip('.')}, it is said.", person)
        submit(annotation, by=person)
    document.refresh_from_db()
    return document


# --- the consolidation ----------------------------------------------------------------------------

TO_AGREE: dict[Stage, Callable[[Document, User, User], Document]] = {
    Stage.DECOMPOSE: decompose_to_agree,
    Stage.VERIFY: verify_to_agree,
    Stage.REVISE: revise_to_agree,
}


@pytest.mark.parametrize("stage", list(Stage))
def test_a_board_takes_the_same_queries_for_one_sentence_and_for_four(
    benchmark: Benchmark, ada: User, ben: User, stage: Stage
) -> None:
    numbers: list[int] = []
    differences: list[int] = []
    for sentences in (1, 4):
        document = TO_AGREE[stage](document_of(benchmark, sentences), ada, ben)
        assert (document.stage, document.phase) == (stage, Phase.CONSOLIDATING)
        document = Document.objects.select_related("benchmark").get(pk=document.pk)
        with counted(numbers):
            board = board_of(document, stage)
        differences.append(board.comparison.open)
    assert 0 < differences[0] < differences[1]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("stage", list(Stage))
def test_the_consolidation_screen_takes_the_same_queries_for_one_sentence_and_for_four(
    client: Client, benchmark: Benchmark, ada: User, ben: User, stage: Stage
) -> None:
    numbers: list[int] = []
    client.force_login(ben)
    for sentences in (1, 4):
        document = TO_AGREE[stage](document_of(benchmark, sentences), ada, ben)
        with counted(numbers):
            answer = client.get(reverse("agree", args=[document.public_id, stage]))
        assert answer.status_code == 200
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("stage", list(Stage))
def test_deciding_takes_the_same_queries_for_one_sentence_and_for_four(
    benchmark: Benchmark, ada: User, ben: User, stage: Stage
) -> None:
    numbers: list[int] = []
    for sentences in (1, 4):
        document = TO_AGREE[stage](document_of(benchmark, sentences), ada, ben)
        rows = [row for item in board_of(document, stage).comparison.items for row in item.fields if row.is_open]
        with counted(numbers):
            adjudicate.decide(document, stage, rows[0].key, by=ada, choice=0)
    assert numbers[0] == numbers[1]


# --- saving ---------------------------------------------------------------------------------------


def test_saving_in_verify_takes_the_same_queries_for_one_sentence_and_for_four(
    client: Client, benchmark: Benchmark, ada: User, ben: User
) -> None:
    numbers: list[tuple[int, ...]] = []
    client.force_login(ada)
    for sentences in (1, 4):
        document = with_evidence(document_of(benchmark, sentences), ada, ben)
        work = claims_to_verify(open_annotation(document, Stage.VERIFY, by=ada))[0]
        found: list[int] = []
        for record, field, value in ((work.cards[0].stance, "label", "refute"), (work.verdict, "factuality", "true")):
            data = {"field": field, "value": value, "version": record.version}
            with counted(found):
                answer = client.post(reverse("save", args=[key_of(record)]), data, headers={"hx-request": "true"})
            assert answer.status_code == 200
        numbers.append(tuple(found))
    assert numbers[0] == numbers[1]


def test_a_stance_is_saved_in_eight_queries_and_three_kilobytes(
    client: Client, benchmark: Benchmark, ada: User, ben: User
) -> None:
    """With the session and the person; the last answer of a claim may take more."""
    document = with_evidence(document_of(benchmark, 3), ada, ben)
    work = claims_to_verify(open_annotation(document, Stage.VERIFY, by=ada))[0]
    client.force_login(ada)
    for field, value in (("label", "refute"), ("label", "irrelevant"), ("reliable", "yes"), ("sufficient", "no")):
        record = work.cards[0].stance
        record.refresh_from_db()
        data = {"field": field, "value": value, "version": record.version, "active_seconds": 3}
        with CaptureQueriesContext(connection) as queries:
            answer = client.post(reverse("save", args=[key_of(record)]), data, headers={"hx-request": "true"})
        assert answer.status_code == 200
        assert len([each for each in queries if "SAVEPOINT" not in each["sql"]]) <= 8
        assert len(answer.content) <= 3 * 1024


@pytest.mark.parametrize("sentences", [2, 40])
def test_a_label_in_decompose_is_saved_in_eight_queries_and_three_kilobytes(
    client: Client, benchmark: Benchmark, ada: User, sentences: int
) -> None:
    """With the session and the person; however long the response is."""
    annotation = open_annotation(document_of(benchmark, sentences), Stage.DECOMPOSE, by=ada)
    sentence = sentences_of(annotation)[1]
    client.force_login(ada)
    for record, field, value in (
        (sentence, "importance", "less"),
        (sentence, "type", "opinion"),
        (present_claims(sentence)[0], "importance", "less"),
        (present_claims(sentence)[0], "type", "factual"),
    ):
        record.refresh_from_db()
        data = {"field": field, "value": value, "version": record.version, "active_seconds": 3}
        with CaptureQueriesContext(connection) as queries:
            answer = client.post(reverse("save", args=[key_of(record)]), data, headers={"hx-request": "true"})
        assert answer.status_code == 200
        # The test's own transaction around it makes savepoints of what is a transaction otherwise.
        assert len([each for each in queries if "SAVEPOINT" not in each["sql"]]) <= 8
        assert len(answer.content) <= 3 * 1024


# --- the next document ----------------------------------------------------------------------------


def next_of(client: Client, person: User, numbers: list[int]) -> Annotation:
    """Ask for the next document, counted; the place it gave."""
    client.force_login(person)
    with counted(numbers):
        answer = client.post(reverse("next"))
    annotation = Annotation.objects.filter(person=person).latest("pk")
    assert answer["Location"] == reverse(annotation.stage, args=[annotation.document.public_id])
    return annotation


def test_the_next_document_takes_the_same_queries_for_one_document_and_for_many(
    client: Client, benchmark: Benchmark, ada: User, ben: User
) -> None:
    numbers: list[int] = []
    document_of(benchmark, 1)
    next_of(client, ada, [])  # the first start of all freezes the protocol
    Annotation.objects.all().delete()
    next_of(client, ada, numbers)
    for _ in range(5):
        document_of(benchmark, 4)
    Annotation.objects.all().delete()
    Document.objects.earliest("pk").delete()  # now the first is one of four sentences
    found = next_of(client, ben, numbers)
    assert found.sentences.count() == 4
    assert numbers[0] == numbers[1]


def test_following_a_document_to_verify_takes_the_same_queries_for_one_sentence_and_for_four(
    client: Client, benchmark: Benchmark, ada: User, ben: User
) -> None:
    numbers: list[int] = []
    verdicts: list[int] = []
    for sentences in (1, 4):
        document = decompose_to_agree(document_of(benchmark, sentences), ada, ben)
        settled(document, Stage.DECOMPOSE, ada, ben)
        annotation = next_of(client, ada, numbers)
        assert (annotation.document, annotation.stage) == (document, Stage.VERIFY)
        verdicts.append(annotation.verdicts.count())
        document.delete()
    assert 0 < verdicts[0] < verdicts[1]
    assert numbers[0] == numbers[1]


def test_looking_for_a_next_document_in_vain_does_not_grow_with_what_others_have_taken(
    client: Client, benchmark: Benchmark, ada: User
) -> None:
    """Everything that is free is done: the longest way that asking can take."""
    numbers: list[int] = []
    client.force_login(ada)
    for documents in (1, 4):
        for _ in range(documents):
            document = document_of(benchmark, 1)
            annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
            for sentence in sentences_of(annotation):
                accept_sentence(sentence, by=ada)
            submit(annotation, by=ada)
        with counted(numbers):
            answer = client.post(reverse("next"))
        assert answer["Location"] == reverse("home")
    assert numbers[0] == numbers[1]
