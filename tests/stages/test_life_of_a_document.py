"""The main job through the actions alone: suggestions, three stages, gold; and what happens on the way back."""

from __future__ import annotations

import pytest

from annotator.core import rules
from annotator.core.actions import recorder
from annotator.core.missing import IncompleteError
from annotator.core.models import Activity, AppendOnlyError, Claim, Document, Evidence, User
from annotator.core.vocabulary import AnnotationKind, Origin, Phase, Removal, Role, Stage
from annotator.stages.actions import documents, saving
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import (
    accept_sentence,
    add_claim,
    merge_claim_with_next,
    merge_sentence_with_next,
    move_claim,
    remove_claim,
    split_claim,
    split_sentence,
)
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import present_claims, sentences_of
from annotator.stages.queries.verification import claims_to_verify
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    member,
    prefill,
    save,
    verified,
    with_corpus,
)

pytestmark = [pytest.mark.django_db, pytest.mark.database]  # the locks of everything that people do with a document


@pytest.fixture
def person() -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def document(person: User) -> Document:
    benchmark = person.memberships.get().benchmark
    with_corpus(benchmark)
    return prefill(DocumentFactory(benchmark=benchmark))


def test_becomes_gold(document: Document, person: User) -> None:
    decomposed(document, person)
    document.refresh_from_db()
    assert (document.stage, document.phase) == (Stage.VERIFY, Phase.INDEPENDENT)
    assert Evidence.objects.filter(annotation=None).exists()
    verified(document, person, false_claim="1825")
    assert document.stage == Stage.REVISE
    annotation = open_annotation(document, Stage.REVISE, by=person)
    submit(annotation, by=person)
    document.refresh_from_db()
    assert document.is_gold
    adjudicated = document.annotations.get(stage=Stage.REVISE, kind=AnnotationKind.CONSOLIDATED)
    assert "1815" in adjudicated.response_revision.text
    assert "1825" not in adjudicated.response_revision.text


def test_what_is_only_suggested_is_missing(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    with pytest.raises(IncompleteError) as error:
        submit(annotation, by=person)
    assert any("type of sentence 1" in each.text for each in error.value.missing)


def test_origin_tells_who_decided(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    sentence = sentences_of(annotation)[0]
    accept_sentence(sentence, by=person)
    claim = present_claims(sentences_of(annotation)[0])[0]
    assert claim.text_origin == Origin.ACCEPTED
    claim = save(claim, "text", claim.text + "!", person)  # type: ignore[assignment]
    assert claim.text_origin == Origin.EDITED
    claim = save(claim, "text", claim.text[:-1], person)  # type: ignore[assignment]
    assert claim.text_origin == Origin.ACCEPTED
    own = add_claim(sentence, by=person)
    own = save(own, "text", "A claim of my own.", person)  # type: ignore[assignment]
    assert own.text_origin == Origin.HUMAN


def test_stale_save_of_the_same_field_is_refused_with_both_values(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    claim = present_claims(sentences_of(annotation)[0])[0]
    seen = claim.version
    saving.save_field(claim, "text", "First tab.", by=person, version=seen)
    with pytest.raises(saving.StaleSaveError) as stale:
        saving.save_field(claim, "text", "Second tab.", by=person, version=seen)
    assert (stale.value.theirs, stale.value.mine) == ("First tab.", "Second tab.")
    claim.refresh_from_db()
    assert claim.text == "First tab."
    saving.save_field(claim, "importance", "most", by=person, version=seen)
    claim.refresh_from_db()
    assert (claim.text, claim.importance) == ("First tab.", "most"), "other fields are both kept"
    save(claim, "text", "Second tab.", person)
    claim.refresh_from_db()
    assert claim.text == "Second tab.", "who has seen both and chosen saves with the newer version"


def test_a_version_from_before_a_restored_backup_overwrites_nothing(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    claim = present_claims(sentences_of(annotation)[0])[0]
    save(claim, "text", "In the backup.", person)
    with pytest.raises(saving.StaleSaveError) as stale:
        saving.save_field(claim, "text", "Typed before.", by=person, version=999_999_999)
    assert stale.value.theirs == "In the backup."
    saving.save_field(claim, "importance", "most", by=person, version=999_999_999)  # nobody has changed that
    claim.refresh_from_db()
    assert (claim.text, claim.importance) == ("In the backup.", "most")


def test_a_change_of_another_field_since_is_no_conflict_though_this_one_was_changed_just_before(
    document: Document, person: User
) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    claim = present_claims(sentences_of(annotation)[0])[0]
    save(claim, "text", "First.", person)
    claim.refresh_from_db()
    seen = claim.version  # the version that the change of the text made
    save(claim, "importance", "most", person)
    saving.save_field(claim, "text", "Second.", by=person, version=seen)
    claim.refresh_from_db()
    assert (claim.text, claim.importance) == ("Second.", "most")


def test_undo_goes_back_through_everything_and_redo_forward(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)

    def state() -> list[object]:
        return [
            (s.text, s.decontext, s.type, s.order, [(c.text, c.type, c.order) for c in present_claims(s)])
            for s in sentences_of(annotation)
        ]

    states = [state()]
    first = sentences_of(annotation)[0]
    steps = [
        lambda: accept_sentence(first, by=person),
        lambda: add_claim(first, by=person, text="Ada wrote notes and Ada drank tea."),
        lambda: split_claim(first.claims.order_by("order").last(), 15, by=person),  # type: ignore[arg-type]
        lambda: move_claim(first.claims.filter(removed="").order_by("order").last(), -1, by=person),  # type: ignore[arg-type]
        lambda: merge_claim_with_next(first.claims.filter(removed="").order_by("order").first(), by=person),  # type: ignore[arg-type]
        lambda: remove_claim(first.claims.filter(removed="").order_by("order").first(), "redundant", by=person),  # type: ignore[arg-type]
        lambda: split_sentence(first, 12, by=person),
        lambda: merge_sentence_with_next(first, by=person),
    ]
    for step in steps:
        step()
        states.append(state())
        assert states[-1] != states[-2]
    for expected in reversed(states[:-1]):
        saving.undo(annotation, by=person)
        assert state() == expected
    with pytest.raises(recorder.NothingToUndoError):
        saving.undo(annotation, by=person)
    for expected in states[1:]:
        saving.redo(annotation, by=person)
        assert state() == expected
    with pytest.raises(recorder.NothingToUndoError):
        saving.redo(annotation, by=person)


def test_submitted_work_is_frozen(document: Document, person: User) -> None:
    annotation = decomposed(document, person)
    claim = Claim.objects.filter(sentence__annotation=annotation).first()
    assert claim is not None
    with pytest.raises(rules.NotAllowedError, match="locked"):
        saving.save_field(claim, "text", "Later.", by=person, version=claim.version)


def test_undo_does_not_reach_behind_a_submission(document: Document, person: User) -> None:
    annotation = decomposed(document, person)
    owner = member(document.benchmark, Role.OWNER)
    documents.reopen(document, Stage.DECOMPOSE, "Look again.", by=owner)
    annotation.refresh_from_db()
    assert saving.undo_stacks(annotation, person) == ([], []), "nothing is offered that would be refused"
    claim = present_claims(sentences_of(annotation)[0])[0]
    before = claim.text
    save(claim, "text", "Since.", person)
    saving.undo(annotation, by=person)
    claim.refresh_from_db()
    assert claim.text == before
    with pytest.raises(saving.NothingToUndoError, match="nothing to undo"):
        saving.undo(annotation, by=person)


def test_a_removed_claim_keeps_its_reason_when_its_sentence_is_folded(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    sentence = next(each for each in sentences_of(annotation) if len(present_claims(each)) > 1)
    for each in sentences_of(annotation):
        accept_sentence(each, by=person)
    removed, *others = present_claims(sentence)
    remove_claim(removed, Removal.REDUNDANT, by=person, note="Said twice.")
    save(sentence, "type", "opinion", person)
    submit(annotation, by=person)
    [adjudicated] = removed.agreed_rows.all()
    assert (adjudicated.removed, adjudicated.removed_note) == (Removal.REDUNDANT, "Said twice.")
    assert {claim.agreed_rows.get().removed for claim in others} == {Removal.FOLDED}


def test_the_halves_of_a_suggested_claim_are_edited_and_human(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    sentence = sentences_of(annotation)[0]
    claim = present_claims(sentence)[0]
    assert claim.suggestion_id
    second = split_claim(claim, claim.text.index(" ", 5), by=person)
    claim.refresh_from_db()
    assert (claim.text_origin, second.text_origin) == (Origin.EDITED, Origin.HUMAN)
    own = add_claim(sentence, by=person, text="Ada wrote notes and Ada drank tea.")
    second = split_claim(own, 15, by=person)
    own.refresh_from_db()
    assert (own.text_origin, second.text_origin) == (Origin.HUMAN, Origin.HUMAN)


def test_nobody_else_can_change_it(document: Document, person: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    peer = member(document.benchmark)
    claim = present_claims(sentences_of(annotation)[0])[0]
    with pytest.raises(rules.NotAllowedError):
        saving.save_field(claim, "text", "Mine now.", by=peer, version=claim.version)
    with pytest.raises(rules.NotAllowedError, match="all its annotators"):
        open_annotation(document, Stage.DECOMPOSE, by=peer)


def test_claim_sent_back_opens_its_sentence_alone(document: Document, person: User) -> None:
    decomposition = decomposed(document, person)
    annotation = open_annotation(document, Stage.VERIFY, by=person)
    works = claims_to_verify(annotation)
    kept, broken = works[0], works[-1]
    save(kept.verdict, "factuality", "true", person)
    save(broken.verdict, "factuality", "true", person)
    documents.send_back(broken.claim, "Not atomic.", by=person)
    document.refresh_from_db()
    assert (document.stage, document.phase) == (Stage.DECOMPOSE, Phase.INDEPENDENT)
    decomposition.refresh_from_db()
    own = broken.claim.sources.get()
    other = kept.claim.sources.get()
    with pytest.raises(rules.NotAllowedError, match="sent back"):
        save(other, "text", "Changed.", person)
    save(own, "text", "Ada Lovelace worked with the engineer Charles Babbage.", person)
    submit(decomposition, by=person)
    document.refresh_from_db()
    assert document.stage == Stage.VERIFY
    annotation = open_annotation(document, Stage.VERIFY, by=person)
    again = {work.claim.public_id: work for work in claims_to_verify(annotation)}
    assert again[kept.claim.public_id].verdict.factuality == "true", "the rest stays"
    repaired = again[broken.claim.public_id]
    assert repaired.claim.text == "Ada Lovelace worked with the engineer Charles Babbage."
    assert repaired.verdict.factuality == "", "a changed claim is judged anew"


def test_reopening_is_on_record_and_keeps_the_work(document: Document, person: User) -> None:
    decomposed(document, person)
    verified(document, person)
    owner = member(document.benchmark, Role.OWNER)
    with pytest.raises(rules.NotAllowedError):
        documents.reopen(document, Stage.VERIFY, "Look again.", by=person)
    documents.reopen(document, Stage.VERIFY, "Look again.", by=owner)
    document.refresh_from_db()
    assert (document.stage, document.phase) == (Stage.VERIFY, Phase.INDEPENDENT)
    annotation = open_annotation(document, Stage.VERIFY, by=person)
    assert not annotation.independent
    assert all(work.verdict.factuality == "true" for work in claims_to_verify(annotation))
    submit(annotation, by=person)
    document.refresh_from_db()
    assert document.stage == Stage.REVISE
    assert Activity.objects.filter(action="reopen", reason__contains="Look again.").count() == 1


def test_discard_and_bring_back(document: Document, person: User) -> None:
    owner = member(document.benchmark, Role.OWNER)
    documents.discard(document, "No gold answer.", by=owner)
    document.refresh_from_db()
    assert document.phase == Phase.DISCARDED
    with pytest.raises(rules.NotAllowedError, match="discarded"):
        open_annotation(document, Stage.DECOMPOSE, by=person)
    documents.bring_back(document, by=owner)
    document.refresh_from_db()
    assert (document.phase, document.discard_reason) == (Phase.INDEPENDENT, "")


def test_activity_cannot_be_changed_or_deleted(document: Document, person: User) -> None:
    decomposed(document, person)
    row = Activity.objects.filter(by=person).first()
    assert row is not None
    row.reason = "rewritten"
    with pytest.raises(AppendOnlyError):
        row.save()
    with pytest.raises(AppendOnlyError):
        row.delete()
