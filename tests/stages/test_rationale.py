"""The rationale: words of a passage, stored as offsets; saved, undone, adjudicated."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Claim, Document, Evidence, Stance, User
from annotator.core.queries.history import lines_of
from annotator.core.record_keys import key_of
from annotator.core.texts import spans
from annotator.core.vocabulary import AnnotationKind, Stage, StanceLabel
from annotator.stages.actions import saving
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.verify import add_evidence
from annotator.stages.queries.verification import claims_to_verify
from annotator.suggestions.actions.proposals import ProposedPassage, propose_evidence
from tests.agreeing import signed_by
from tests.factories import save, verified

pytestmark = pytest.mark.django_db


@pytest.fixture
def stance(at_verify: Document, ada: User) -> Stance:
    """Ada's stance on the first passage of the first claim that has one."""
    annotation = open_annotation(at_verify, Stage.VERIFY, by=ada)
    return next(card.stance for work in claims_to_verify(annotation) for card in work.cards)


def test_selections_are_joined_kept_in_the_history_and_undone(stance: Stance, ada: User) -> None:
    save(stance, "rationale", "9-12 0-3 2-5", ada)
    stance.refresh_from_db()
    assert stance.rationale == [[0, 5], [9, 12]]
    newest = Activity.objects.latest("id")
    assert lines_of([newest])[0].details == ["rationale of the stance: 2 selections"]
    saving.undo(stance.annotation, by=ada)
    stance.refresh_from_db()
    assert stance.rationale == []
    saving.restore(stance, "rationale", newest, by=ada)
    stance.refresh_from_db()
    assert stance.rationale == [[0, 5], [9, 12]]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("3-3", "The selection 3-3 is empty"),
        ("0-99999", "the selection ends at 99,999"),
        ("0-3,5-7", "such as “3-17 40-52”"),
        ("-1-3", "such as “3-17 40-52”"),
    ],
)
def test_what_is_not_in_the_passage_is_refused_with_the_reason(stance: Stance, ada: User, raw: str, said: str) -> None:
    with pytest.raises(BadValueError, match=said):
        save(stance, "rationale", raw, ada)
    stance.refresh_from_db()
    assert stance.rationale == []


def test_a_save_answers_with_the_version_alone(client: Client, stance: Stance, ada: User) -> None:
    client.force_login(ada)
    data = {"field": "rationale", "value": "0-3", "version": stance.version}
    answer = client.post(reverse("save", args=[key_of(stance)]), data, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert f'id="stance-{stance.public_id}-meta" data-version="{stance.version + 1}"' in answer.content.decode()
    assert "<input" not in answer.content.decode()
    stale = client.post(reverse("save", args=[key_of(stance)]), data | {"value": "4-6"}, headers={"HX-Request": "true"})
    assert stale.status_code == 409
    assert 'data-conflict-value="0-3"' in stale.content.decode()


def test_other_words_in_the_passage_drop_the_selection_and_undo_brings_both_back(
    at_verify: Document, ada: User
) -> None:
    annotation = open_annotation(at_verify, Stage.VERIFY, by=ada)
    own = add_evidence(annotation, claims_to_verify(annotation)[0].claim, by=ada, passage="She was born in 1815.")
    judged = Stance.objects.get(evidence=own)
    save(judged, "rationale", "16-20", ada)
    save(own, "passage", "1815.", ada)
    judged.refresh_from_db()
    assert judged.rationale == []
    saving.undo(annotation, by=ada)
    judged.refresh_from_db()
    own.refresh_from_db()
    assert spans.words(judged.rationale, own.passage) == ["1815"]


def test_the_adjudicated_version_has_what_those_selected_whose_stance_stands(
    client: Client, stance: Stance, at_verify: Document, ada: User, ben: User, owner: User
) -> None:
    theirs = Stance.objects.get(annotation=open_annotation(at_verify, Stage.VERIFY, by=ben), evidence=stance.evidence)
    save(stance, "rationale", "0-3", ada)
    save(theirs, "rationale", "2-7 9-11", ben)
    for person in (ada, ben):
        verified(at_verify, person)
    client.force_login(ben)
    page = client.get(reverse("agree", args=[at_verify.public_id, Stage.VERIFY])).content.decode()
    passage = Evidence.objects.get(pk=stance.evidence_id).passage
    assert f"“{passage[0:3]}”" in page
    assert f"“{passage[9:11]}”" in page
    signed_by(at_verify, ada, ben, owner)
    adjudicated = Stance.objects.get(annotation__kind=AnnotationKind.CONSOLIDATED, evidence=stance.evidence)
    assert adjudicated.label == StanceLabel.COMPLETELY_SUPPORT
    assert adjudicated.rationale == [[0, 7], [9, 11]]


def test_carriage_returns_of_an_imported_passage_reach_the_browser(stance: Stance, client: Client, ada: User) -> None:
    """A browser reads a bare CR LF as one character, and every later offset would be one too small."""
    Evidence.objects.filter(pk=stance.evidence_id).update(passage="One.\r\nTwo <b>.\rThree.")
    client.force_login(ada)
    page = client.get(reverse("verify", args=[stance.annotation.document.public_id])).content.decode()
    whole = page.partition('class="passage whole"')[2].partition("</p>")[0]
    assert "One.&#13;\nTwo &lt;b&gt;.&#13;Three." in whole
    assert "\r" not in whole


def test_retrieved_passages_are_stored_with_plain_line_ends(at_verify: Document) -> None:
    claims = Claim.objects.filter(
        sentence__annotation__document=at_verify, sentence__annotation__kind=AnnotationKind.CONSOLIDATED
    )
    Evidence.objects.filter(claim__in=claims).delete()
    propose_evidence(at_verify, {claims[0].pk: [ProposedPassage(passage="One.\r\nTwo.\rThree.", url="")]})
    assert Evidence.objects.get(claim=claims[0]).passage == "One.\nTwo.\nThree."
