"""Odd orders of two and three people who agree: nobody is stuck, nothing is lost, what is agreed is complete."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from annotator.core import rules
from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Annotation, Document, User
from annotator.core.queries.history import lines_of, visible_activities
from annotator.core.vocabulary import AnnotationKind, Factuality, Role, Stage, StanceLabel
from annotator.exchange.actions.imports import import_gold
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence, add_claim, remove_claim, split_claim
from annotator.stages.actions.documents import reopen, send_back
from annotator.stages.actions.places import reopen_annotation, take_back
from annotator.stages.actions.revise import confirm_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_evidence
from annotator.stages.comparison.comparison import FieldRow
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.missing import missing_in
from annotator.stages.queries.verification import claims_to_verify
from annotator.team.actions.team import deactivate
from annotator.team.queries.awaiting_adjudication import to_agree_of
from tests.agreeing import begun, claims_of, signed_by, submitted
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    member,
    prefill,
    retrieve,
    save,
    verified,
)
from tests.released import export_lines, released_document
from tests.teams import ship

pytestmark = pytest.mark.django_db


def version_of(document: Document, stage: Stage) -> Annotation:
    return document.annotations.get(stage=stage, kind=AnnotationKind.CONSOLIDATED)


def open_rows(document: Document) -> list[FieldRow]:
    return [row for row in board_of(document, Stage(document.stage)).comparison.rows if row.is_open]


def judged(document: Document, person: User, factuality: str = Factuality.TRUE) -> Annotation:
    annotation = open_annotation(document, Stage.VERIFY, by=person)
    for work in claims_to_verify(annotation):
        for card in work.cards:
            save(card.stance, "label", StanceLabel.IRRELEVANT, person)
        save(work.verdict, "evidence_sufficient", "no", person)
        save(work.verdict, "factuality", factuality, person)
    return annotation


# --- decisions and what they are about ---


def test_a_decision_does_not_outlive_the_disagreement(document, owner, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    claim = claims_of(theirs)[0]
    save(claims_of(mine)[0], "importance", "most", ada)
    save(claim, "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = open_rows(document)
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, value="intermediate")
    reopen_annotation(theirs, "a slip", by=owner)
    theirs.refresh_from_db()
    save(claim, "importance", "most", ben)
    submit(theirs, by=ben)
    document.refresh_from_db()
    signed_by(document, ada, ben)
    assert claims_of(version_of(document, Stage.DECOMPOSE))[0].importance == "most"


def test_a_choice_is_asked_again_when_the_value_accepted_has_changed(document, owner, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    claim = claims_of(theirs)[0]
    save(claims_of(mine)[0], "importance", "most", ada)
    save(claim, "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = open_rows(document)
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=1)
    reopen_annotation(theirs, "a slip", by=owner)
    theirs.refresh_from_db()
    save(claim, "importance", "intermediate", ben)
    submit(theirs, by=ben)
    document.refresh_from_db()
    assert [each.key for each in open_rows(document)] == [row.key]


def test_nobody_agrees_on_checkworthy_where_nobody_has_claims(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(sentences_of(mine)[0], "type", "opinion", ada)
    save(sentences_of(theirs)[0], "type", "other", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    row = next(row for row in open_rows(document) if row.name == "type")
    with pytest.raises(BadValueError):
        adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, value="checkworthy")


def test_a_claim_adjudicated_to_be_factual_is_asked_whether_it_is_worth_checking(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(mine)[0], "type", "opinion", ada)
    save(claims_of(theirs)[0], "type", "other", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    row = next(row for row in open_rows(document) if row.name == "type")
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, value="factual")
    for each in open_rows(document):
        adjudicate.decide(document, Stage.DECOMPOSE, each.key, by=ada, value="yes")
    signed_by(document, ada, ben)
    claim = claims_of(version_of(document, Stage.DECOMPOSE))[0]
    assert (claim.type, claim.worth_checking) == ("factual", True)


def test_a_checkworthy_sentence_is_not_left_without_a_claim(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    first = sentences_of(mine)[0]
    for claim in list(first.claims.filter(removed="")):
        remove_claim(claim, "redundant", by=ada)
    extra = add_claim(first, by=ada)
    for name, value in {"text": "The Thames froze over that winter.", "type": "factual", "importance": "less"}.items():
        save(extra, name, value, ada)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    while rows := open_rows(document):
        adjudicate.decide(document, Stage.DECOMPOSE, rows[0].key, by=ada, value=False)
    with pytest.raises(BadValueError, match="claim"):
        signed_by(document, ada, ben)


def test_claims_typed_for_a_split_are_not_doubled_when_the_stage_is_adjudicated_again(document, owner, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    for annotation, person in ((mine, ada), (theirs, ben)):
        whole = next(claim for claim in claims_of(annotation) if "mathematician" in claim.text)
        save(whole, "text", "Ada Lovelace was an English mathematician and Ada Lovelace was a fine writer.", person)
    whole = next(claim for claim in claims_of(theirs) if "mathematician" in claim.text)
    split_claim(whole, whole.text.index(" and ") + 4, by=ben)
    for sentence in sentences_of(theirs):
        accept_sentence(sentence, by=ben)
    for claim in claims_of(theirs):
        for name, value in {"type": "factual", "importance": "most"}.items():
            if not getattr(claim, name):
                save(claim, name, value, ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = [each for each in open_rows(document) if each.name == "split"]
    texts = ["Ada Lovelace was English.", "Ada Lovelace was a mathematician.", "Ada Lovelace was a writer."]
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, value="\n".join(texts))
    while rows := open_rows(document):
        adjudicate.decide(document, Stage.DECOMPOSE, rows[0].key, by=ada, choice=0)
    signed_by(document, ada, ben)
    version = version_of(document, Stage.DECOMPOSE)
    before = [(claim.public_id, claim.text) for claim in claims_of(version)]
    assert missing_in(version) == []
    retrieve(document)
    reopen(document, Stage.DECOMPOSE, "look again", by=owner)
    for person in (ada, ben):
        submit(open_annotation(document, Stage.DECOMPOSE, by=person), by=person)
    document.refresh_from_db()
    signed_by(document, ada, ben)
    assert [(claim.public_id, claim.text) for claim in claims_of(version)] == before


# --- verify ---


def test_an_edit_that_changes_nothing_is_refused(at_verify, ada, ben):
    submit(judged(at_verify, ada), by=ada)
    submit(judged(at_verify, ben, Factuality.NOT_ENOUGH_EVIDENCE), by=ben)
    at_verify.refresh_from_db()
    row = open_rows(at_verify)[0]
    adjudicate.decide(at_verify, Stage.VERIFY, row.key, by=ada, value="false")
    item = board_of(at_verify, Stage.VERIFY).comparison.item_of(row.key)
    assert item is not None
    edit = next(each for each in item.fields if each.name == "edit")
    assert edit.is_open
    with pytest.raises(BadValueError):
        adjudicate.decide(at_verify, Stage.VERIFY, edit.key, by=ada, value=item.heading)


def test_a_claim_can_be_deleted_though_nobody_had_called_it_false(at_verify, owner, ada, ben):
    submit(judged(at_verify, ada), by=ada)
    submit(judged(at_verify, ben, Factuality.NOT_ENOUGH_EVIDENCE), by=ben)
    at_verify.refresh_from_db()
    for row in open_rows(at_verify):
        adjudicate.decide(at_verify, Stage.VERIFY, row.key, by=ada, value="false")
    for row in open_rows(at_verify):
        adjudicate.decide(at_verify, Stage.VERIFY, row.key, by=ada, value="")
    signed_by(at_verify, ada, ben, owner)
    assert missing_in(version_of(at_verify, Stage.VERIFY)) == []
    assert {each.revised_claim() for each in version_of(at_verify, Stage.VERIFY).verdicts.all()} == {""}


def test_a_passage_that_one_person_has_added_twice_stays_twice(at_verify, owner, ada, ben):
    mine, theirs = judged(at_verify, ada), judged(at_verify, ben)
    claim = claims_to_verify(mine)[0].claim
    for label in (StanceLabel.REFUTE, StanceLabel.IRRELEVANT):
        added = add_evidence(mine, claim, by=ada, url="https://notes.example/", passage="Her notes are famous.")
        save(added.stances.get(), "label", label, ada)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    at_verify.refresh_from_db()
    for row in open_rows(at_verify):
        adjudicate.decide(at_verify, Stage.VERIFY, row.key, by=ada, choice=0)
    signed_by(at_verify, ada, ben, owner)
    version = version_of(at_verify, Stage.VERIFY)
    stances = version.stances.filter(evidence__annotation=version, evidence__removed="")
    assert sorted(stances.values_list("label", flat=True)) == ["irrelevant", "refute"]


# --- nobody is stuck ---


def test_a_tie_is_taken_to_the_third_rater_by_itself(owner):
    benchmark = BenchmarkFactory(overlap=3)
    document = prefill(DocumentFactory(benchmark=benchmark))
    people = [member(benchmark) for _ in range(3)]
    cleo = member(benchmark, Role.THIRD_RATER)
    annotations = [begun(document, person) for person in people]
    for annotation, person, word in zip(annotations, people, ("most", "intermediate", "less"), strict=True):
        save(claims_of(annotation)[0], "importance", word, person)
    for annotation, person in zip(annotations, people, strict=True):
        submit(annotation, by=person)
    document.refresh_from_db()
    assert [each.document for each in to_agree_of(cleo).rows] == [document]
    assert cleo.notices.filter(kind="question").exists()
    [row] = open_rows(document)
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=cleo, choice=1)
    assert to_agree_of(cleo).rows == []
    signed_by(document, *people)
    assert document.stage == Stage.VERIFY


def test_without_a_third_rater_partners_settle_a_tie_themselves():
    benchmark = BenchmarkFactory(overlap=3)
    people = [member(benchmark, Role.OWNER), member(benchmark), member(benchmark)]
    document = prefill(DocumentFactory(benchmark=benchmark))
    annotations = [begun(document, person) for person in people]
    for annotation, person, word in zip(annotations, people, ("most", "intermediate", "less"), strict=True):
        save(claims_of(annotation)[0], "importance", word, person)
        submit(annotation, by=person)
    document.refresh_from_db()
    [row] = open_rows(document)
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=people[1], choice=1)
    signed_by(document, *people)
    assert document.stage == Stage.VERIFY


def test_a_question_to_a_third_rater_who_left_holds_nobody_up(benchmark, ada):
    olga = member(benchmark, Role.OWNER)
    cleo = member(benchmark, Role.THIRD_RATER)
    document = prefill(DocumentFactory(benchmark=benchmark))
    submitted(document, ada, olga)
    adjudicate.ask_third_rater(document, Stage.DECOMPOSE, "", "Please look.", by=ada)
    deactivate(ship(benchmark, cleo), by=olga)
    signed_by(document, ada, olga)
    assert document.stage == Stage.VERIFY


def test_a_question_about_a_row_that_is_gone_holds_nobody_up(benchmark, document, ada, ben):
    member(benchmark, Role.THIRD_RATER)
    mine, theirs = begun(document, ada), begun(document, ben)
    extra = add_claim(sentences_of(mine)[0], by=ada)
    for name, value in {"text": "The Thames froze over.", "type": "factual", "importance": "less"}.items():
        save(extra, name, value, ada)
    other = add_claim(sentences_of(theirs)[0], by=ben)
    for name, value in {"text": "The Thames froze over.", "type": "opinion", "importance": "less"}.items():
        save(other, name, value, ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    assert open_rows(document)
    reopened = open_rows(document)[0]
    adjudicate.ask_third_rater(document, Stage.DECOMPOSE, reopened.key, "?", by=ada)
    owner = User.objects.get(display_name="Olga")
    reopen_annotation(mine, "drop it", by=owner)
    mine.refresh_from_db()
    remove_claim(extra, "redundant", by=ada)
    submit(mine, by=ada)
    document.refresh_from_db()
    for row in open_rows(document):
        adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, value=False)
    signed_by(document, ada, ben)
    assert document.stage == Stage.VERIFY


def test_who_has_signed_does_not_wait_for_a_partner_who_leaves(benchmark, document, owner, ada, ben):
    submitted(document, ada, ben)
    signed_by(document, ada)
    deactivate(ship(benchmark, ben), by=owner)
    document.refresh_from_db()
    assert document.stage == Stage.VERIFY


def test_the_third_rater_is_told_when_verify_waits_for_them_alone(benchmark, at_verify, ada, ben):
    cleo = member(benchmark, Role.THIRD_RATER)
    verified(at_verify, ada)
    verified(at_verify, ben)
    at_verify.refresh_from_db()
    signed_by(at_verify, ada, ben)
    assert cleo.notices.filter(document=at_verify, stage=Stage.VERIFY).exists()


def test_a_superuser_who_has_labelled_signs_too(benchmark, document, ada):
    root = UserFactory(is_superuser=True)
    submitted(document, ada, root)
    signed_by(document, ada)
    assert document.stage == Stage.DECOMPOSE
    signed_by(document, root)
    assert document.stage == Stage.VERIFY


def test_where_all_partners_have_left_the_third_rater_closes(benchmark, document, owner, ada, ben):
    submitted(document, ada, ben)
    for person in (ada, ben):
        deactivate(ship(benchmark, person), by=owner)
    assert [each.document for each in to_agree_of(owner).rows] == [document]
    signed_by(document, owner)
    assert document.stage == Stage.VERIFY


def test_who_takes_a_place_in_a_repair_repairs_that_sentence_alone(benchmark, at_verify, owner, ada, ben):
    send_back(claims_of(version_of(at_verify, Stage.DECOMPOSE))[0], "Two facts in one.", by=ada)
    deactivate(ship(benchmark, ben), by=owner)
    dan = member(benchmark)
    at_verify.refresh_from_db()
    for person in (dan, ada):
        annotation = open_annotation(at_verify, Stage.DECOMPOSE, by=person)
        assert annotation.only_sent_back
        submit(annotation, by=person)
    at_verify.refresh_from_db()
    signed_by(at_verify, ada, dan)
    assert at_verify.stage == Stage.VERIFY


def test_who_lost_their_place_sends_nothing_back(at_verify, owner, ada, ben):
    take_back(open_annotation(at_verify, Stage.VERIFY, by=ada), by=owner, reason="idle")
    with pytest.raises(rules.NotAllowedError, match="unassigned"):
        send_back(claims_of(version_of(at_verify, Stage.DECOMPOSE))[0], "Two facts in one.", by=ada)


# --- gold that two people go through again keeps every value ---


def gone_through_again(row: dict[str, Any], overlap: int) -> Any:
    """Released gold, all of it reopened and agreed again without a change by so many people; as it is exported."""
    owner = UserFactory()
    benchmark = create_benchmark(slug=f"gold-{overlap}", name=f"Gold {overlap}", by=owner)
    benchmark.overlap = overlap
    benchmark.save()
    import_gold(benchmark=benchmark, source=io.BytesIO(json.dumps(row).encode()))
    document = benchmark.documents.get()
    people = [member(benchmark) for _ in range(overlap)]
    reopen(document, Stage.DECOMPOSE, "look again", by=owner)
    for stage in Stage:
        document.refresh_from_db()
        for person in people:
            annotation = open_annotation(document, stage, by=person)
            for each in annotation.sentence_revisions.filter(text_origin="", deleted=False):
                confirm_sentence(each, by=person)
            submit(annotation, by=person)
        document.refresh_from_db()
        if overlap > 1:
            assert open_rows(document) == []
            signed_by(document, *people, *([owner] if stage == Stage.VERIFY else []))
    document.refresh_from_db()
    assert document.is_gold
    [line] = export_lines(benchmark)
    return json.loads(line)


def test_gold_adjudicated_again_by_two_is_the_same_as_by_one():
    """Passages without a stance, passages that repeat, spaces at the ends, evidence that a verdict rests on."""
    assert gone_through_again(released_document(), 2) == gone_through_again(released_document(), 1)


def test_a_sentence_that_is_no_part_of_the_answer_keeps_its_place():
    row = released_document()
    row["sentences"]["sentence2"]["text"] = "These words stand nowhere in it."
    exported = gone_through_again(row, 2)
    assert [each["text"] for each in exported["sentences"].values()] == [
        each["text"] for each in row["sentences"].values()
    ]


# --- blind ---


def told(document: Document, viewer: User) -> str:
    lines = lines_of(visible_activities(document, viewer, list(document.annotations.all())))
    return "\n".join(f"{line.who} {line.what} {line.reason} {line.details}" for line in lines)


def test_what_was_settled_is_hidden_from_a_newcomer_who_labels_blind(benchmark, document, owner, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "text", "Ada Lovelace was an English mathematician of note.", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = open_rows(document)
    adjudicate.comment(document, Stage.DECOMPOSE, row.key, "I think secretly of X.", by=ada)
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=1)
    reopen_annotation(theirs, "Ben leaves", by=owner)
    theirs.refresh_from_db()
    take_back(theirs, by=owner, reason="Ben leaves")
    cleo = member(benchmark)
    open_annotation(document, Stage.DECOMPOSE, by=cleo)
    document.refresh_from_db()
    assert "secretly" not in told(document, cleo)
    assert "of note" not in told(document, cleo)


def test_what_was_settled_in_a_discarded_document_stays_blind(benchmark, document, owner, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "text", "Ada Lovelace was an English mathematician of note.", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = open_rows(document)
    adjudicate.comment(document, Stage.DECOMPOSE, row.key, "I think secretly of X.", by=ada)
    adjudicate.discard_together(document, Stage.DECOMPOSE, "hopeless", by=owner)
    document.refresh_from_db()
    assert "secretly" not in told(document, member(benchmark))


def test_a_decision_reads_as_words_in_the_history(document, owner, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = open_rows(document)
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=1)
    text = told(document, ada)
    assert "importance: less" in text.lower().replace("“", "").replace("”", "")
    assert "by_id" not in text and "is_settled" not in text
