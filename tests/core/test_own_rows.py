"""Opening a screen again takes the short way only where no row is missing."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core.models import (
    ClaimRevision,
    Document,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    User,
    Verdict,
)
from annotator.core.queries.own_rows import own_annotation_of
from annotator.core.vocabulary import AnnotationState, Factuality, Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.screens.start import own_place
from tests.agreeing import at_revise, begun

pytestmark = pytest.mark.django_db


def lacks(document: Document, stage: Stage, person: User) -> bool:
    document.refresh_from_db()
    annotation, lacks_rows = own_annotation_of(document, stage, person)
    assert annotation is not None
    return lacks_rows


def test_decompose_lacks_its_sentences_alone(document: Document, ada: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    assert not lacks(document, Stage.DECOMPOSE, ada)
    Sentence.objects.filter(annotation=annotation).delete()
    assert lacks(document, Stage.DECOMPOSE, ada)


@pytest.mark.parametrize("rows", [Verdict, Stance])
def test_verify_lacks_each_verdict_and_each_stance(
    at_verify: Document, ada: User, rows: type[Verdict] | type[Stance]
) -> None:
    annotation = open_annotation(at_verify, Stage.VERIFY, by=ada)
    assert not lacks(at_verify, Stage.VERIFY, ada)
    one = rows.objects.filter(annotation=annotation).order_by("-pk").first()
    assert one is not None
    one.delete()
    assert lacks(at_verify, Stage.VERIFY, ada)
    number = rows.objects.filter(annotation=annotation).count()
    assert own_place(at_verify, Stage.VERIFY, ada) == annotation
    assert rows.objects.filter(annotation=annotation).count() == number + 1
    assert not lacks(at_verify, Stage.VERIFY, ada)


def test_claims_that_are_not_checked_and_removed_passages_want_no_row(at_verify: Document, ada: User) -> None:
    annotation = open_annotation(at_verify, Stage.VERIFY, by=ada)
    verdict = annotation.verdicts.select_related("claim").order_by("pk")[0]
    verdict.claim.evidence.update(removed="other")
    Stance.objects.filter(annotation=annotation, evidence__claim=verdict.claim).delete()
    assert not lacks(at_verify, Stage.VERIFY, ada)
    claim = verdict.claim
    verdict.delete()
    assert lacks(at_verify, Stage.VERIFY, ada)
    claim.worth_checking = False
    claim.worth_checking_origin = "human"
    claim.save()
    assert not lacks(at_verify, Stage.VERIFY, ada)


@pytest.mark.parametrize("rows", [SentenceRevision, ResponseRevision])
def test_revise_lacks_each_statement_and_the_answer(
    document: Document, owner: User, ada: User, ben: User, rows: type[SentenceRevision] | type[ResponseRevision]
) -> None:
    document = at_revise(document, owner, ada, ben)
    annotation = open_annotation(document, Stage.REVISE, by=ada)
    assert not lacks(document, Stage.REVISE, ada)
    rows.objects.filter(annotation=annotation).delete()
    assert lacks(document, Stage.REVISE, ada)
    own_place(document, Stage.REVISE, ada)
    assert not lacks(document, Stage.REVISE, ada)


def test_revise_lacks_what_is_done_with_an_undecided_claim(
    document: Document, owner: User, ada: User, ben: User
) -> None:
    document = at_revise(document, owner, ada, ben)
    adjudicated = Verdict.objects.filter(annotation__document=document, annotation__person=None)
    adjudicated.filter(pk=adjudicated.order_by("pk")[0].pk).update(factuality=Factuality.NOT_ENOUGH_EVIDENCE)
    annotation = open_annotation(document, Stage.REVISE, by=ada)
    assert not lacks(document, Stage.REVISE, ada)
    ClaimRevision.objects.filter(annotation=annotation).delete()
    assert lacks(document, Stage.REVISE, ada)


def test_submitted_work_lacks_nothing_and_taken_back_work_is_no_place(document: Document, ada: User) -> None:
    annotation = begun(document, ada)
    Sentence.objects.filter(annotation=annotation).delete()
    type(annotation).objects.filter(pk=annotation.pk).update(
        state=AnnotationState.SUBMITTED, submitted_at=annotation.created_at
    )
    assert not lacks(document, Stage.DECOMPOSE, ada)
    type(annotation).objects.filter(pk=annotation.pk).update(
        state=AnnotationState.TAKEN_BACK, submitted_at=None, seat=None
    )
    assert own_annotation_of(document, Stage.DECOMPOSE, ada) == (None, False)


def test_opening_again_is_one_query_and_takes_no_lock(at_verify: Document, ada: User) -> None:
    open_annotation(at_verify, Stage.VERIFY, by=ada)
    with CaptureQueriesContext(connection) as captured:
        own_place(at_verify, Stage.VERIFY, ada)
    assert len(captured) == 1
