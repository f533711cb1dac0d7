"""Blind first: people label without the suggestion, and see it afterwards."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.core.models import (
    Activity,
    Annotation,
    Document,
    Sentence,
    SentenceSuggestion,
    Stance,
    StanceSuggestion,
    User,
)
from annotator.core.queries.history import lines_of
from annotator.core.vocabulary import Origin, Role, Stage, StanceLabel
from annotator.home.queries.overview import suggestion_shares
from annotator.stages.actions import saving
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence, add_claim
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import sentences_of
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, save, with_corpus
from tests.teams import get, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    benchmark = BenchmarkFactory()
    with_corpus(benchmark)
    return member(benchmark)


@pytest.fixture
def document(ada: User) -> Document:
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark))
    document.blind_first = True
    document.save()
    SentenceSuggestion.objects.update(type="checkworthy", importance="most", decontext="What the machine wrote.")
    return document


@pytest.fixture
def annotation(document: Document, ada: User) -> Annotation:
    return open_annotation(document, Stage.DECOMPOSE, by=ada)


def first(annotation: Annotation) -> Sentence:
    return sentences_of(annotation)[0]


def test_the_note_to_newcomers_tells_of_no_violet(client: Client, annotation: Annotation, ada: User) -> None:
    address = f"/d/{annotation.document.public_id}/decompose/"
    notes = words(get(client, ada, address).select_one(".notes"))
    assert "Here you label first; the suggestion is shown afterward." in notes and "Violet" not in notes
    Document.objects.update(blind_first=False)
    notes = words(get(client, ada, address).select_one(".notes"))
    assert "Violet marks a suggestion." in notes and "label first" not in notes


def test_a_kept_sentence_is_never_called_accepted(
    client: Client, annotation: Annotation, document: Document, ada: User
) -> None:
    sentence = first(annotation)
    client.force_login(ada)
    address = f"/d/{document.public_id}/decompose/sentence/{sentence.public_id}/take-over/"
    answer = client.post(address, headers={"hx-request": "true"})
    assert "Kept as is. Press Z to undo" in answer["HX-Trigger"]
    activity = Activity.objects.get(action="keep-text")
    assert "kept a sentence as it is" in lines_of([activity])[0].what
    assert not Activity.objects.filter(action="take-over").exists()
    saving.undo(annotation, by=ada)
    sentence.refresh_from_db()
    assert sentence.decontext_origin == ""


def test_rows_are_cut_as_suggested_and_show_nothing_else(
    client: Client, annotation: Annotation, document: Document, ada: User
) -> None:
    rows = sentences_of(annotation)
    assert [row.text for row in rows] == [each.text for each in SentenceSuggestion.objects.order_by("order")]
    for row in rows:
        assert (row.suggestion, row.decontext, row.decontext_origin) == (None, row.text, "")
        assert not row.claims.exists()
    page = get(client, ada, f"/d/{document.public_id}/decompose/")
    assert not page.select("[data-suggested], .origin.machine")
    assert "What the machine wrote." not in str(page)


def test_the_suggestion_is_shown_when_all_labels_of_the_sentence_are_the_persons_own(
    client: Client, annotation: Annotation, document: Document, ada: User
) -> None:
    sentence = first(annotation)
    for name, value in (("type", "checkworthy"), ("importance", "less")):
        save(sentence, name, value, ada)
        sentence.refresh_from_db()
        assert sentence.suggestion is None  # it would give away what is still to be decided
    save(sentence, "decontext", sentence.text, ada)
    sentence.refresh_from_db()
    assert sentence.suggestion == SentenceSuggestion.objects.order_by("order").first()
    origins = (sentence.type_origin, sentence.importance_origin, sentence.decontext_origin)
    assert origins == (Origin.HUMAN, Origin.HUMAN, Origin.HUMAN)
    page = get(client, ada, f"/d/{document.public_id}/decompose/?sentence={sentence.public_id}")
    assert words(page.select_one(".revealed")) == "the suggestion was Check-worthy, most: What the machine wrote."
    # From now on the usual rules hold; what was said first stays in the history.
    save(sentence, "importance", "most", ada)
    sentence.refresh_from_db()
    assert sentence.importance_origin == Origin.ACCEPTED
    changes = [change for row in Activity.objects.order_by("pk") for change in row.changes]
    assert [each["after"] for each in changes if each["field"] == "importance"] == ["less", "most"]
    assert [each["after"] for each in changes if each["field"] == "importance_origin"] == ["human", "accepted"]


def test_a_sentence_without_claims_to_check_shows_it_without_a_stand_alone_text(
    annotation: Annotation, ada: User
) -> None:
    sentence = first(annotation)
    save(sentence, "type", "opinion", ada)
    save(sentence, "importance", "less", ada)
    sentence.refresh_from_db()
    assert sentence.suggestion is not None


def test_a_sentence_that_the_person_cut_otherwise_has_no_suggestion(annotation: Annotation, ada: User) -> None:
    sentence = first(annotation)
    Sentence.objects.filter(pk=sentence.pk).update(text="Ada", end=3)
    save(sentence, "type", "opinion", ada)
    save(sentence, "importance", "less", ada)
    sentence.refresh_from_db()
    assert sentence.suggestion is None


def test_undo_takes_the_label_back_but_not_that_the_suggestion_was_seen(annotation: Annotation, ada: User) -> None:
    sentence = first(annotation)
    save(sentence, "type", "opinion", ada)
    save(sentence, "importance", "less", ada)
    saving.undo(annotation, by=ada)
    sentence.refresh_from_db()
    assert sentence.importance == "" and sentence.suggestion is not None
    saving.redo(annotation, by=ada)
    sentence.refresh_from_db()
    assert (sentence.importance, sentence.importance_origin) == ("less", Origin.HUMAN)


def test_a_stale_save_is_still_a_conflict(annotation: Annotation, ada: User) -> None:
    sentence = first(annotation)
    save(sentence, "type", "opinion", ada)
    with pytest.raises(saving.StaleSaveError):
        saving.save_field(sentence, "type", "other", by=ada, version=1)
    sentence.refresh_from_db()
    assert (sentence.type, sentence.suggestion) == ("opinion", None)


def test_the_sentence_can_be_kept_as_it_stands_and_the_stage_submitted(
    client: Client, annotation: Annotation, document: Document, ada: User
) -> None:
    sentence = first(annotation)
    page = get(client, ada, f"/d/{document.public_id}/decompose/")
    assert "Keep sentence as is" in words(page.select_one("#accept-all"))
    accept_sentence(sentence, by=ada)
    sentence.refresh_from_db()
    assert (sentence.decontext, sentence.decontext_origin) == (sentence.text, Origin.HUMAN)
    for row in sentences_of(annotation):
        for name, value in (("decontext", row.text), ("type", "checkworthy"), ("importance", "most")):
            save(row, name, value, ada)
        claim = add_claim(row, by=ada, text=row.text)
        for name, value in (("text", row.text), ("type", "factual"), ("importance", "most")):
            save(claim, name, value, ada)
    submit(annotation, by=ada)
    document.refresh_from_db()
    assert document.stage == Stage.VERIFY
    assert suggestion_shares(document.benchmark).decided == 0  # nobody has taken over a claim


def test_a_stance_is_given_before_the_suggested_one_is_seen(client: Client, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark))
    decomposed(document, ada)
    Document.objects.filter(pk=document.pk).update(blind_first=True)
    document.refresh_from_db()
    annotation = open_annotation(document, Stage.VERIFY, by=ada)
    stance = Stance.objects.filter(annotation=annotation).order_by("pk").first()
    assert stance is not None and stance.suggestion is None
    StanceSuggestion.objects.filter(evidence=stance.evidence).update(label=StanceLabel.REFUTE)
    if not StanceSuggestion.objects.filter(evidence=stance.evidence).exists():
        run = document.run_items.filter(run__stage=Stage.VERIFY).get().run
        StanceSuggestion.objects.create(run=run, evidence=stance.evidence, label=StanceLabel.REFUTE)
    assert not get(client, ada, f"/d/{document.public_id}/verify/").select("[data-suggested], .origin.machine")
    save(stance, "label", StanceLabel.IRRELEVANT, ada)
    stance.refresh_from_db()
    assert stance.suggestion is not None and stance.label_origin == Origin.HUMAN
    page = get(client, ada, f"/d/{document.public_id}/verify/?claim={stance.evidence.claim.public_id}")
    assert "the suggestion was: refutes" in words(page.select_one(f"#stance-{stance.public_id}-choices"))
    save(stance, "label", StanceLabel.REFUTE, ada)
    stance.refresh_from_db()
    assert stance.label_origin == Origin.ACCEPTED


def test_the_documents_page_says_so_to_admins_alone(client: Client, document: Document, ada: User) -> None:
    owner = member(document.benchmark, Role.OWNER)
    assert "blind first" in words(get(client, owner, f"/d/{document.public_id}/").select_one("#places"))
    assert "blind first" not in words(get(client, ada, f"/d/{document.public_id}/").select_one("main"))
