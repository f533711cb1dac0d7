"""Several passages answered by one key: suggested stances, the rest irrelevant, and a verdict with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Activity, Annotation, Document, Evidence, PipelineRun, Stance, StanceSuggestion, User
from annotator.core.vocabulary import Factuality, Origin, Phase, Stage, StanceLabel
from annotator.stages.actions import saving
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.queries.verification import ClaimWork, claims_to_verify
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, save

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def annotation(person: User) -> Annotation:
    """Each claim with three passages, suggested to refute it."""
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark))
    decomposed(document, person)
    document.refresh_from_db()
    opened = open_annotation(document, Stage.VERIFY, by=person)
    run = PipelineRun.objects.create(benchmark=document.benchmark, stage=Stage.VERIFY, strategy="offline")
    for work in claims_to_verify(opened):
        for order in (11, 12, 13):
            evidence = Evidence.objects.create(claim=work.claim, order=order, passage=f"Passage {order}.")
            StanceSuggestion.objects.create(run=run, evidence=evidence, label=StanceLabel.REFUTE)
    opened = open_annotation(document, Stage.VERIFY, by=person)
    for stance in opened.stances.select_related("evidence"):
        stance.suggestion = StanceSuggestion.objects.filter(evidence=stance.evidence).first()
        stance.save()
    return opened


@pytest.fixture
def as_person(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def first(annotation: Annotation) -> ClaimWork:
    return claims_to_verify(annotation)[0]


def ids(*stances: Stance) -> str:
    return " ".join(each.public_id for each in stances)


def change(client: Client, annotation: Annotation, what: str, **data: Any) -> Any:
    claim = first(annotation).claim
    address = reverse("verify-claim", args=[annotation.document.public_id, claim.public_id, what])
    return client.post(address, data, headers={"HX-Request": "true"})


def test_suggested_stances_are_accepted_together_only_after_each_was_in_view(
    as_person: Client, annotation: Annotation, person: User
) -> None:
    stances = [card.stance for card in first(annotation).cards]
    assert change(as_person, annotation, "accept-stances", stances=ids(*stances)).status_code == 200
    assert {card.stance.label for card in first(annotation).cards} == {""}, "none has been in view"
    answer = change(as_person, annotation, "accept-stances", stances=ids(*stances), in_view=ids(*stances[:-1]))
    accepted = [card.stance for card in first(annotation).cards]
    assert [each.label for each in accepted] == [StanceLabel.REFUTE] * (len(stances) - 1) + [""]
    assert accepted[0].label_origin == Origin.ACCEPTED
    assert "Accept 1 suggested" in answer.content.decode()
    assert Activity.objects.latest("id").action == "accept-stances"
    saving.undo(annotation, by=person)
    assert {card.stance.label for card in first(annotation).cards} == {""}


def test_a_verdict_is_given_with_the_rest_irrelevant_in_one_step(
    as_person: Client, annotation: Annotation, person: User
) -> None:
    work = first(annotation)
    stances = [card.stance for card in work.cards]
    save(stances[0], "label", StanceLabel.COMPLETELY_SUPPORT, person)
    seen = ids(*stances)
    answer = change(as_person, annotation, "rest-irrelevant", stances=seen, in_view=seen, factuality="true", version=1)
    assert "touchstone:claim-complete" in json.loads(answer["HX-Trigger-After-Settle"])
    work = first(annotation)
    assert work.verdict.factuality == Factuality.TRUE
    assert work.verdict.evidence_sufficient is True
    assert [card.stance.label for card in work.cards][1:] == [StanceLabel.IRRELEVANT] * (len(stances) - 1)
    saving.undo(annotation, by=person)
    work = first(annotation)
    assert work.verdict.factuality == ""
    assert [card.stance.label for card in work.cards][1:] == [""] * (len(stances) - 1)


def test_the_verdict_waits_while_a_passage_has_not_been_in_view(as_person: Client, annotation: Annotation) -> None:
    stances = [card.stance for card in first(annotation).cards]
    change(as_person, annotation, "rest-irrelevant", stances=ids(*stances[:-1]), factuality="true", version=1)
    work = first(annotation)
    assert (work.verdict.factuality, work.cards[-1].stance.label) == ("", "")
    assert work.cards[0].stance.label == StanceLabel.IRRELEVANT


def test_a_verdict_from_another_tab_is_not_replaced(as_person: Client, annotation: Annotation, person: User) -> None:
    work = first(annotation)
    seen = ids(*(card.stance for card in work.cards))
    save(work.verdict, "factuality", Factuality.FALSE, person)
    answer = change(as_person, annotation, "rest-irrelevant", stances=seen, factuality="true", version=1)
    assert answer.status_code == 422
    assert "labeled “false” in another tab" in answer.content.decode()
    assert {card.stance.label for card in first(annotation).cards} == {""}, "nothing is written"
    assert first(annotation).verdict.factuality == Factuality.FALSE


def test_submitting_can_start_the_next(as_person: Client, annotation: Annotation, person: User) -> None:
    for stance in annotation.stances.all():
        save(stance, "label", StanceLabel.COMPLETELY_SUPPORT, person)
    for work in claims_to_verify(annotation):
        save(work.verdict, "factuality", Factuality.TRUE, person)
    annotation.stances.update(in_view_at=timezone.now())
    address = reverse("submit", args=[annotation.document.public_id, "verify"])
    answer = as_person.post(address, {"continue": "yes"}, headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Trigger"]) == (204, "touchstone:submitted")
    assert "HX-Redirect" not in answer
    document = Document.objects.get(pk=annotation.document_id)
    assert (document.stage, document.phase) == (Stage.REVISE, Phase.INDEPENDENT)
    following = as_person.post(reverse("next"))
    assert following["Location"] == reverse("revise", args=[document.public_id])
