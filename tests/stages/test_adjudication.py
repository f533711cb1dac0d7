"""Two people, blind, then together: what is compared, how it is settled, and what is written when both have signed."""

from __future__ import annotations

import pytest

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Claim, Document, SignOff, Tally, User
from annotator.core.vocabulary import AnnotationKind, Factuality, Origin, Phase, Role, Stage, StanceLabel
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import (
    accept_sentence,
    add_claim,
    merge_sentence_with_next,
    remove_claim,
    split_claim,
)
from annotator.stages.actions.documents import reopen, send_back
from annotator.stages.actions.revise import set_deleted
from annotator.stages.actions.search_again import search_again
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_evidence
from annotator.stages.comparison.comparison import ComparedItem
from annotator.stages.queries.adjudication import AdjudicationBoard, board_of
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from tests.agreeing import at_revise, begun, claims_of, settle, signed_by, submitted
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    member,
    prefill,
    retrieve,
    save,
    verified,
)

pytestmark = pytest.mark.django_db


def differing(board: AdjudicationBoard) -> list[ComparedItem]:
    return [item for item in board.comparison.items if item.differs]


# --- decompose ------------------------------------------------------------------------------------


def test_what_two_people_say_alike_is_adopted_and_two_signatures_open_the_next_stage(document, ada, ben):
    submitted(document, ada)
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT
    with pytest.raises(rules.NotAllowedError, match="when everyone has submitted"):
        adjudicate.sign(document, Stage.DECOMPOSE, by=ada)
    submitted(document, ben)
    assert document.phase == Phase.CONSOLIDATING
    board = board_of(document, Stage.DECOMPOSE)
    assert board.comparison.open == 0 and board.comparison.total == board.comparison.agreeing > 8
    assert [person.display_name for person in board.waits_for] == ["Ada", "Ben"]
    signed_by(document, ada)
    assert (document.stage, document.phase) == (Stage.DECOMPOSE, Phase.CONSOLIDATING)
    signed_by(document, ben)
    assert document.stage == Stage.VERIFY
    assert document.phase == Phase.PREFILLING, "evidence is looked for at that moment"
    version = document.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    adjudicated = claims_of(version)
    assert [claim.text for claim in adjudicated] == [claim.text for claim in claims_of(board.people[0])]
    assert {claim.sources.count() for claim in adjudicated} == {2}
    assert {claim.text_origin for claim in adjudicated} == {Origin.ACCEPTED}
    assert retrieve(document).phase == Phase.INDEPENDENT


def test_items_are_numbered_from_one_and_their_keys_name_what_is_compared(document, ada, ben):
    submitted(document, ada, ben)
    items = board_of(document, Stage.DECOMPOSE).comparison.items
    assert [item.number for item in items if item.kind == "sentence"] == ["1", "2", "3"]
    assert [item.number for item in items if item.number.startswith("2.")] == ["2.1", "2.2"]
    assert {(item.kind, item.key.partition("-")[0]) for item in items} == {("sentence",) * 2, ("claim",) * 2}
    assert Tally.objects.get().people == [ada.pk, ben.pk]
    signed_by(document, ada, ben)
    retrieve(document)
    for person in (ada, ben):
        verified(document, person)
    # Decisions are found by these keys.
    items = board_of(document, Stage.VERIFY).comparison.items
    assert {(item.kind, item.key.partition("-")[0]) for item in items} == {("stance",) * 2, ("verdict",) * 2}


def test_each_difference_is_settled_by_a_or_b_or_a_new_value(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    claim = claims_of(theirs)[0]
    save(claim, "importance", "less", ben)
    save(claim, "text", "Ada Lovelace was an English mathematician of note.", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    board = board_of(document, Stage.DECOMPOSE)
    [item] = differing(board)
    text, importance = [row for row in item.fields if row.differs]
    assert (text.name, importance.name) == ("text", "importance")
    assert importance.words[1] == "Less"
    with pytest.raises(BadValueError, match="2 differences are open"):
        adjudicate.sign(document, Stage.DECOMPOSE, by=ada)
    adjudicate.decide(document, Stage.DECOMPOSE, text.key, by=ada, value="Ada Lovelace was a mathematician.")
    board = adjudicate.decide(document, Stage.DECOMPOSE, importance.key, by=ben, choice=1, reason="slip")
    assert board.comparison.open == 0
    signed_by(document, ada, ben)
    adjudicated = Claim.objects.get(
        sentence__annotation__kind=AnnotationKind.CONSOLIDATED, text="Ada Lovelace was a mathematician."
    )
    assert adjudicated.importance == "less"
    assert (adjudicated.text_origin, adjudicated.importance_origin) == (Origin.CONSOLIDATED, Origin.CONSOLIDATED)
    assert set(adjudicated.sources.values_list("text", flat=True)) == {
        claims_of(mine)[0].text,
        claims_of(theirs)[0].text,
    }
    assert Activity.objects.filter(action="decide", document=document).count() == 2


def test_a_claim_that_one_person_has_is_left_out_or_taken_in(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    first = claims_of(mine)[0]
    extra = add_claim(first.sentence, by=ada)
    for name, value in {
        "text": "The Thames froze over in that hard winter.", "type": "factual", "importance": "less",
        "worth_checking": "no", "not_worth_reason": "commonsense",
    }.items():  # fmt: skip
        save(extra, name, value, ada)
    dropped = claims_of(theirs)[-1]
    remove_claim(dropped, "redundant", by=ben)
    for annotation, person in ((mine, ada), (theirs, ben)):
        submit(annotation, by=person)
    document.refresh_from_db()
    board = board_of(document, Stage.DECOMPOSE)
    takes = {item.texts[0][0]: row for item in differing(board) for row in item.fields if row.kind == "take"}
    assert set(takes) == {"The Thames froze over in that hard winter.", dropped.text}
    adjudicate.decide(document, Stage.DECOMPOSE, takes[dropped.text].key, by=ada, value=False)
    key = takes["The Thames froze over in that hard winter."].key
    board = adjudicate.decide(document, Stage.DECOMPOSE, key, by=ben, value=True)
    assert board.comparison.open == 0
    signed_by(document, ada, ben)
    version = document.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    texts = {claim.text: claim for claim in claims_of(version)}
    assert dropped.text not in texts
    assert texts["The Thames froze over in that hard winter."].not_worth_reason == "commonsense"


def test_a_claim_against_its_two_halves_is_offered_as_a_split(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    for annotation, person in ((mine, ada), (theirs, ben)):
        whole = next(claim for claim in claims_of(annotation) if "mathematician" in claim.text)
        save(whole, "text", "Ada Lovelace was an English mathematician and Ada Lovelace was a fine writer.", person)
    whole = next(claim for claim in claims_of(theirs) if "mathematician" in claim.text)
    split_claim(whole, whole.text.index(" and ") + 4, by=ben)
    for claim in claims_of(theirs):
        if claim.text.endswith(" and"):
            save(claim, "text", claim.text.removesuffix(" and"), ben)
    for sentence in sentences_of(theirs):
        accept_sentence(sentence, by=ben)
    for claim in claims_of(theirs):
        for name, value in {"type": "factual", "importance": "most"}.items():
            if not getattr(claim, name):
                save(claim, name, value, ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [item] = [each for each in differing(board_of(document, Stage.DECOMPOSE)) if each.kind == "split"]
    assert [len(texts) for texts in item.texts] == [1, 2]
    board = adjudicate.decide(document, Stage.DECOMPOSE, item.fields[0].key, by=ada, choice=1)
    for each in differing(board):
        for row in each.fields:
            if row.is_open:
                adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=0)
    signed_by(document, ada, ben)
    version = document.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    assert [text for text in (claim.text for claim in claims_of(version)) if text in item.texts[1]] == item.texts[1]


def test_a_sentence_that_one_calls_an_opinion_hides_its_claims_once_that_is_adjudicated(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    sentence = sentences_of(theirs)[0]
    save(sentence, "type", "opinion", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [item] = differing(board_of(document, Stage.DECOMPOSE))
    row = next(row for row in item.fields if row.differs)
    assert (item.kind, row.name) == ("sentence", "type")
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=1)
    signed_by(document, ada, ben)
    version = document.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    first = version.sentences.order_by("order").first()
    assert first.type == "opinion" and not first.claims.filter(removed="").exists()


def test_sentences_cut_differently_are_taken_from_one_person_as_a_whole(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    merge_sentence_with_next(sentences_of(theirs)[0], by=ben)
    joined = sentences_of(theirs)[0]
    for name, value in {"type": "checkworthy", "importance": "most"}.items():
        if not getattr(joined, name):
            save(joined, name, value, ben)
    accept_sentence(joined, by=ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [item] = differing(board_of(document, Stage.DECOMPOSE))
    assert (item.kind, [len(texts) for texts in item.texts]) == ("cut", [2, 1])
    adjudicate.decide(document, Stage.DECOMPOSE, f"{item.key}-whole", by=ada, choice=1)
    signed_by(document, ada, ben)
    version = document.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    assert [row.text for row in version.sentences.filter(removed="")] == [row.text for row in sentences_of(theirs)]


def test_what_is_no_version_and_no_label_is_refused(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    board = board_of(document, Stage.DECOMPOSE)
    row = next(row for row in board.comparison.rows if row.differs)
    same = next(row for row in board.comparison.rows if not row.differs)
    for options, words in (
        ({"choice": 2}, "no such version"),
        ({"value": "huge"}, "isn.t a valid label; choose one of"),
        ({}, "Choose one"),
        ({"choice": 0, "reason": "moon"}, "reason for the disagreement"),
    ):
        with pytest.raises(BadValueError, match=words):
            adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, **options)
    with pytest.raises(BadValueError, match="all annotators agree"):
        adjudicate.decide(document, Stage.DECOMPOSE, same.key, by=ada, choice=0)
    with pytest.raises(BadValueError, match="no longer part of the comparison"):
        adjudicate.decide(document, Stage.DECOMPOSE, "claim-gone", by=ada, choice=0)
    assert not board_of(document, Stage.DECOMPOSE).decisions


# --- signatures, questions, third rater -----------------------------------------------------------


def test_a_changed_decision_takes_the_signatures_away(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [item] = differing(board_of(document, Stage.DECOMPOSE))
    key = next(row.key for row in item.fields if row.differs)
    adjudicate.decide(document, Stage.DECOMPOSE, key, by=ada, choice=0)
    signed_by(document, ada)
    decision = board_of(document, Stage.DECOMPOSE).decisions[key]
    with pytest.raises(adjudicate.ChangedMeanwhileError):
        adjudicate.decide(document, Stage.DECOMPOSE, key, by=ben, choice=1, seen=0)
    adjudicate.decide(document, Stage.DECOMPOSE, key, by=ben, choice=1, seen=decision.version)
    assert not SignOff.objects.exists()
    signed_by(document, ben, ada)
    assert document.stage == Stage.VERIFY


def test_the_third_rater_settles_what_is_asked_and_partners_cannot_undo_it(benchmark, document, ada, ben):
    cleo = member(benchmark, Role.THIRD_RATER, display_name="Cleo")
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [item] = differing(board_of(document, Stage.DECOMPOSE))
    key = next(row.key for row in item.fields if row.differs)
    adjudicate.ask_third_rater(document, Stage.DECOMPOSE, key, "Is this the main point?", by=ada)
    assert cleo.notices.get().kind == "question"
    adjudicate.decide(document, Stage.DECOMPOSE, key, by=cleo, choice=1, reason="guideline_unclear")
    assert ada.notices.filter(kind="answered").exists()
    decision = board_of(document, Stage.DECOMPOSE).decisions[key]
    with pytest.raises(rules.NotAllowedError, match="adjudicator has decided"):
        adjudicate.decide(document, Stage.DECOMPOSE, key, by=ada, choice=0, seen=decision.version)
    signed_by(document, ada, ben)
    assert document.stage == Stage.VERIFY


def test_the_third_rater_asked_about_the_whole_closes_it_alone_or_discards(benchmark, document, ada, ben):
    cleo = member(benchmark, Role.THIRD_RATER)
    submitted(document, ada, ben)
    adjudicate.ask_third_rater(document, Stage.DECOMPOSE, "", "Please look at all of it.", by=ben)
    with pytest.raises(BadValueError, match="has not answered"):
        adjudicate.sign(document, Stage.DECOMPOSE, by=ada)
    with pytest.raises(rules.NotAllowedError, match="Only the adjudicator"):
        adjudicate.discard_together(document, Stage.DECOMPOSE, "hopeless", by=ada)
    signed_by(document, cleo)
    assert document.stage == Stage.VERIFY


def test_the_third_rater_discards_with_a_reason(benchmark, document, ada, ben):
    cleo = member(benchmark, Role.THIRD_RATER)
    submitted(document, ada, ben)
    with pytest.raises(BadValueError, match="Give a short reason why the document is discarded"):
        adjudicate.discard_together(document, Stage.DECOMPOSE, " ", by=cleo)
    adjudicate.discard_together(document, Stage.DECOMPOSE, "Nobody can say what it means.", by=cleo)
    document.refresh_from_db()
    assert (document.phase, document.discard_reason) == (Phase.DISCARDED, "Nobody can say what it means.")


def test_strangers_and_others_take_no_part(benchmark, document, ada, ben):
    submitted(document, ada, ben)
    for person in (member(benchmark), member(benchmark, Role.RESEARCHER), member(BenchmarkFactory())):
        with pytest.raises(rules.NotAllowedError):
            adjudicate.sign(document, Stage.DECOMPOSE, by=person)
        with pytest.raises(rules.NotAllowedError):
            adjudicate.comment(document, Stage.DECOMPOSE, "", "Me too", by=person)


def test_a_partner_who_has_left_is_not_waited_for(benchmark, document, ada, ben):
    submitted(document, ada, ben)
    benchmark.memberships.filter(user=ben).update(active=False)
    signed_by(document, ada)
    assert document.stage == Stage.VERIFY


# --- verify and revise ----------------------------------------------------------------------------


def test_at_verify_the_third_rater_signs_too(at_verify, owner, ada, ben):
    verified(at_verify, ada)
    verified(at_verify, ben)
    at_verify.refresh_from_db()
    assert at_verify.phase == Phase.CONSOLIDATING
    signed_by(at_verify, ada, ben)
    assert at_verify.stage == Stage.VERIFY
    assert [person.display_name for person in board_of(at_verify, Stage.VERIFY).waits_for] == ["Olga"]
    signed_by(at_verify, owner)
    assert at_verify.stage == Stage.REVISE


def test_one_persons_new_search_does_not_close_the_document_to_the_others(at_verify, ada, ben, owner):
    mine = open_annotation(at_verify, Stage.VERIFY, by=ada)
    theirs = open_annotation(at_verify, Stage.VERIFY, by=ben)
    search_again(mine, claims_to_verify(mine)[0].claim, "notes", by=ada)  # its worker has not begun
    for work in claims_to_verify(theirs):
        for card in work.cards:
            save(card.stance, "label", StanceLabel.COMPLETELY_SUPPORT, ben)
        save(work.verdict, "factuality", Factuality.TRUE, ben)
    submit(theirs, by=ben)  # the status is derived anew
    at_verify.refresh_from_db()
    assert (at_verify.stage, at_verify.phase) == (Stage.VERIFY, Phase.INDEPENDENT)


def test_evidence_is_joined_and_its_missing_stance_is_asked_for(at_verify, owner, ada, ben):
    annotations = {person: open_annotation(at_verify, Stage.VERIFY, by=person) for person in (ada, ben)}
    first = claims_to_verify(annotations[ada])[0].claim
    for person in (ada, ben):
        url, passage = "https://lives.example/ada", "Ada Lovelace was a mathematician."
        add_evidence(annotations[person], first, by=person, url=url, passage=passage)
    add_evidence(annotations[ada], first, by=ada, url="https://notes.example/", passage="Her notes are famous.")
    for person in (ada, ben):
        for work in claims_to_verify(annotations[person]):
            for card in work.cards:
                save(card.stance, "label", StanceLabel.COMPLETELY_SUPPORT, person)
            save(work.verdict, "evidence_sufficient", "yes", person)
            save(work.verdict, "factuality", Factuality.TRUE, person)
        submit(annotations[person], by=person)
    at_verify.refresh_from_db()
    board = board_of(at_verify, Stage.VERIFY)
    [item] = differing(board)
    assert item.texts == [["Her notes are famous."], []]
    [row] = [row for row in item.fields if row.differs]
    adjudicate.decide(at_verify, Stage.VERIFY, row.key, by=ben, value=StanceLabel.IRRELEVANT.value)
    signed_by(at_verify, ada, ben, owner)
    version = at_verify.annotations.get(stage=Stage.VERIFY, kind=AnnotationKind.CONSOLIDATED)
    added = {each.url: each for each in version.added_evidence.filter(removed="")}
    assert set(added) == {"https://lives.example/ada", "https://notes.example/"}
    assert added["https://lives.example/ada"].sources.count() == 2
    assert version.stances.get(evidence=added["https://notes.example/"]).label == StanceLabel.IRRELEVANT
    assert version.stances.get(evidence=added["https://lives.example/ada"]).label == StanceLabel.COMPLETELY_SUPPORT


def test_verdicts_edits_and_stances_are_settled_and_written(at_verify, owner, ada, ben):
    verified(at_verify, ada, false_claim="1825")
    annotation = open_annotation(at_verify, Stage.VERIFY, by=ben)
    for work in claims_to_verify(annotation):
        for card in work.cards:
            save(card.stance, "label", StanceLabel.IRRELEVANT, ben)
        save(work.verdict, "evidence_sufficient", "no", ben)
        save(work.verdict, "factuality", Factuality.TRUE, ben)
    submit(annotation, by=ben)
    at_verify.refresh_from_db()
    board = board_of(at_verify, Stage.VERIFY)
    while board.comparison.open:
        row = next(row for row in board.comparison.rows if row.is_open)
        board = adjudicate.decide(at_verify, Stage.VERIFY, row.key, by=ben, choice=0, reason="slip")
    signed_by(at_verify, ada, ben, owner)
    version = at_verify.annotations.get(stage=Stage.VERIFY, kind=AnnotationKind.CONSOLIDATED)
    mended = version.verdicts.get(factuality=Factuality.FALSE)
    assert "1815" in mended.revised_claim()
    assert set(version.stances.values_list("label", flat=True)) == {
        StanceLabel.REFUTE, StanceLabel.COMPLETELY_SUPPORT,
    }  # fmt: skip
    assert mended.rests.exists()
    revise_stage_becomes_gold(at_verify, ada, ben)


def revise_stage_becomes_gold(document: Document, ada: User, ben: User) -> None:
    mine = open_annotation(document, Stage.REVISE, by=ada)
    theirs = open_annotation(document, Stage.REVISE, by=ben)
    row = theirs.sentence_revisions.get(sentence__order=1)
    save(row, "text", "Ada Lovelace was a mathematician from England.", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [item] = differing(board_of(document, Stage.REVISE))
    assert item.kind == "rewrite"
    adjudicate.decide(document, Stage.REVISE, item.fields[0].key, by=ada, choice=1)
    signed_by(document, ada, ben)
    assert document.is_gold
    version = document.annotations.get(stage=Stage.REVISE, kind=AnnotationKind.CONSOLIDATED)
    assert version.response_revision.text.startswith("Ada Lovelace was a mathematician from England. ")
    assert "1815" in version.response_revision.text


# --- faults ---------------------------------------------------------------------------------------


def test_a_reopened_stage_is_settled_again_and_keeps_the_ids_of_its_claims(document, owner, ada, ben):
    submitted(document, ada, ben)
    signed_by(document, ada, ben)
    version = document.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    before = [claim.public_id for claim in claims_of(version)]
    tally = Tally.objects.get()
    counted = tally.data
    assert counted["claims"][0][:5] == [0, 1, len(before), len(before), len(before)]
    retrieve(document)
    reopen(document, Stage.DECOMPOSE, "look again", by=owner)
    document.refresh_from_db()
    mine = open_annotation(document, Stage.DECOMPOSE, by=ada)
    remove_claim(claims_of(mine)[-1], "redundant", by=ada)
    submit(mine, by=ada)
    submit(open_annotation(document, Stage.DECOMPOSE, by=ben), by=ben)
    document.refresh_from_db()
    tally.refresh_from_db()
    assert tally.data == counted, "what is done again is not independent: what was counted before it stands"
    [row] = [row for row in board_of(document, Stage.DECOMPOSE).comparison.rows if row.is_open]
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ben, value=False)
    signed_by(document, ada, ben)
    assert [claim.public_id for claim in claims_of(version)] == before[:-1]


def test_a_claim_sent_back_opens_its_sentence_for_both_and_verify_is_asked_again(at_verify, ada, ben):
    verified(at_verify, ada)
    claim = claims_of(at_verify.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED))[0]
    send_back(claim, "Two facts in one.", by=ben)
    at_verify.refresh_from_db()
    assert (at_verify.stage, at_verify.phase) == (Stage.DECOMPOSE, Phase.INDEPENDENT)
    for person in (ada, ben):
        annotation = open_annotation(at_verify, Stage.DECOMPOSE, by=person)
        own = next(each for each in claims_of(annotation) if each.text == claim.text)
        save(own, "text", "Ada Lovelace was a mathematician.", person)
        submit(annotation, by=person)
    at_verify.refresh_from_db()
    assert board_of(at_verify, Stage.DECOMPOSE).comparison.open == 0
    signed_by(at_verify, ada, ben)
    assert at_verify.stage == Stage.VERIFY
    verification = at_verify.annotations.get(stage=Stage.VERIFY, person=ada)
    assert verification.is_open, "a claim has changed: who had submitted is asked about it"
    assert verification.verdicts.get(claim__public_id=claim.public_id).factuality == ""


def test_with_three_people_the_majority_stands_and_ties_go_to_the_third_rater(owner):
    benchmark = BenchmarkFactory(overlap=3)
    document = prefill(DocumentFactory(benchmark=benchmark))
    people = [member(benchmark) for _ in range(3)]
    cleo = member(benchmark, Role.THIRD_RATER)
    annotations = [begun(document, person) for person in people]
    words = ("most", "intermediate", "less")
    for annotation, person, word in zip(annotations, people, words, strict=True):
        save(claims_of(annotation)[0], "importance", word, person)
    save(claims_of(annotations[2])[1], "importance", "less", people[2])
    for annotation, person in zip(annotations[:2], people, strict=False):
        save(claims_of(annotation)[1], "importance", "most", person)
    for annotation, person in zip(annotations, people, strict=True):
        submit(annotation, by=person)
    document.refresh_from_db()
    board = board_of(document, Stage.DECOMPOSE)
    [tied] = [row for row in board.comparison.rows if row.is_open]
    assert tied.tied
    with pytest.raises(rules.NotAllowedError, match="No majority"):
        adjudicate.decide(document, Stage.DECOMPOSE, tied.key, by=people[0], choice=0)
    adjudicate.decide(document, Stage.DECOMPOSE, tied.key, by=cleo, choice=2)
    signed_by(document, *people)
    version = document.annotations.get(stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    assert [claim.importance for claim in claims_of(version)[:2]] == ["less", "most"]


def test_a_new_reason_keeps_the_signatures(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = [row for row in board_of(document, Stage.DECOMPOSE).comparison.rows if row.is_open]
    board = adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=0)
    signed_by(document, ben)
    seen = board.decisions[row.key].version
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=0, reason="knowledge", seen=seen)
    board = board_of(document, Stage.DECOMPOSE)
    assert board.decisions[row.key].reason == "knowledge" and board.signed(ben.pk)


def test_ones_own_newer_decision_does_not_stand_in_the_way_and_anothers_does(document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "importance", "less", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = [row for row in board_of(document, Stage.DECOMPOSE).comparison.rows if row.is_open]
    adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=0)
    # A second tab of Ada's that has not seen it.
    board = adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=1, seen=0)
    assert (board.decisions[row.key].choice, board.decisions[row.key].by) == (1, ada)
    with pytest.raises(adjudicate.ChangedMeanwhileError):
        adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ben, choice=0, seen=0)


def test_a_third_rater_asked_in_an_earlier_round_does_not_close_the_next_one_alone(
    benchmark, document, owner, ada, ben
):
    cleo = member(benchmark, Role.THIRD_RATER)
    submitted(document, ada, ben)
    adjudicate.ask_third_rater(document, Stage.DECOMPOSE, "", "All of it, please.", by=ada)
    signed_by(document, cleo)
    assert document.stage == Stage.VERIFY
    retrieve(document)
    reopen(document, Stage.DECOMPOSE, "look again", by=owner)
    for person in (ada, ben):
        submit(open_annotation(document, Stage.DECOMPOSE, by=person), by=person)
    document.refresh_from_db()
    signed_by(document, cleo)
    assert document.stage == Stage.DECOMPOSE
    signed_by(document, ada, ben)
    assert document.stage == Stage.VERIFY


def test_a_sentence_that_one_person_deletes_is_offered_as_deleted(document, owner, ada, ben):
    document = at_revise(document, owner, ada, ben)
    mine, theirs = (open_annotation(document, Stage.REVISE, by=person) for person in (ada, ben))
    first = theirs.sentence_revisions.order_by("sentence__order")[0]
    set_deleted(first, True, by=ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    [row] = [
        row for item in differing(board_of(document, Stage.REVISE)) if item.kind == "rewrite" for row in item.fields
    ]
    assert [(option.value, option.label, option.people) for option in row.options] == [
        (first.text, first.text, (0,)),
        ("", "Delete the sentence", (1,)),
    ]
    assert row.words == [first.text, "Delete the sentence"]
    document = settle(document, [ada, ben], [{"value": ""}])
    version = document.annotations.get(stage=Stage.REVISE, kind=AnnotationKind.CONSOLIDATED)
    adjudicated = version.sentence_revisions.get(sentence=first.sentence)
    assert (adjudicated.deleted, adjudicated.text) == (True, first.text)
    assert version.sentence_revisions.filter(deleted=True).count() == 1
