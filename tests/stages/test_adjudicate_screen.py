"""The consolidation screen through its views: what stands side by side, deciding, swaps, who may, how many queries."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.models import Annotation, Claim, Comment, Decision, Document, Question, SignOff, User
from annotator.core.vocabulary import Factuality, Phase, Role, Stage, StanceLabel
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.documents import discard, reopen
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_evidence
from annotator.stages.comparison.comparison import FieldRow
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from tests.agreeing import begun
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
from tests.swap import comparable, soup_of, with_out_of_band

pytestmark = pytest.mark.django_db

HTMX = {"hx-request": "true"}


def claims_of(annotation: Annotation) -> list[Claim]:
    rows = Claim.objects.filter(sentence__annotation=annotation, removed="", sentence__removed="")
    return list(rows.order_by("sentence__order", "order"))


@pytest.fixture
def differing(document: Document, ada: User, ben: User) -> Document:
    """Both have submitted decompose; they differ in the text and the importance of the first claim."""
    mine, theirs = begun(document, ada), begun(document, ben)
    claim = claims_of(theirs)[0]
    save(claim, "importance", "less", ben)
    save(claim, "text", "Ada Lovelace was an English mathematician of note.", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    return document


def url(document: Document, what: str = "", stage: Stage = Stage.DECOMPOSE) -> str:
    if what:
        return reverse("agree-change", args=[document.public_id, stage, what])
    return reverse("agree", args=[document.public_id, stage])


def load(client: Client, user: User, document: Document, stage: Stage = Stage.DECOMPOSE) -> BeautifulSoup:
    client.force_login(user)
    answer = client.get(url(document, stage=stage))
    assert answer.status_code == 200, answer.content
    return soup_of(answer.content)


def post(client: Client, user: User, document: Document, what: str, data: Any, stage: Stage = Stage.DECOMPOSE) -> Any:
    client.force_login(user)
    return client.post(url(document, what, stage), data, headers=HTMX)


def field(document: Document, name: str, stage: Stage = Stage.DECOMPOSE) -> FieldRow:
    """The differing field of this name."""
    return next(row for row in board_of(document, stage).comparison.rows if row.differs and row.name == name)


def stamp(page: BeautifulSoup) -> str:
    [seen] = page.select("#seen")
    return str(seen["value"])


def words(tag: Tag | None) -> str:
    assert tag is not None
    return " ".join(tag.get_text(" ", strip=True).split())


def one(tag: Tag, selector: str) -> Tag:
    found = tag.select_one(selector)
    assert found is not None, selector
    return found


# --- what is there --------------------------------------------------------------------------------


def test_both_versions_stand_side_by_side_from_the_viewers_side(client, differing, ada, ben):
    for person, partner, own in ((ada, "Ben", "mathematician."), (ben, "Ada", "of note.")):
        page = load(client, person, differing)
        heads = [words(each) for each in page.select(".agree-columns span")]
        assert heads == ["You", f"Partner: {partner}", "Adjudicated"]
        row = one(page, ".agree-row.open")
        mine, theirs = row.select(".agree-cell")[:2]
        assert words(one(mine, ".said")).endswith(own)
        assert not mine.select("del, ins") and theirs.select("del, ins")
        assert "of note" in " ".join(words(each) for each in theirs.select("del, ins"))
        chips = [words(each) for each in mine.select(".differs")]
        assert chips == ["Importance: Most" if person == ada else "Importance: Less"]


def test_the_head_counts_and_the_foot_says_what_is_open(client, differing, ada):
    page = load(client, ada, differing)
    comparison = board_of(differing, Stage.DECOMPOSE).comparison
    title = words(one(page, "#agree-title"))
    assert title == f"Decompose: {comparison.agreeing} of {comparison.total} decisions agree"
    assert "matched claims F1 1.00" in words(one(page, "#agree-head"))
    assert "2 differences open" in words(one(page, "#foot"))
    button = one(page, "#sign")
    assert button["aria-disabled"] == "true" and not button.has_attr("hx-post")
    assert words(one(page, f"#{button['aria-describedby']}")) == "2 differences are open."
    assert one(page, "[data-only-differs]")["aria-pressed"] == "true"
    assert "only-differs" in one(page, "#rows")["class"]


def leads_to_rows(page: BeautifulSoup) -> list[str]:
    """The response beside the rows: the numbers of its sentences, each of which leads to a row of that sentence."""
    for link in page.select("#answer [data-sentence]"):
        assert one(page, str(link["href"]))["data-in"] == link["data-sentence"]
    return [str(link["data-sentence"]) for link in page.select("#answer [data-sentence]:not(.rest)")]


def test_prompt_and_response_stand_beside_the_rows_and_the_sign_off_is_the_main_button(client, differing, ada):
    page = load(client, ada, differing)
    assert differing.prompt in words(one(page, "#answer"))
    assert leads_to_rows(page) == ["1", "2", "3"]
    for sup in page.select("#answer sup"):
        sup.decompose()
    assert one(page, "#answer .reading").get_text() == differing.response
    assert [each["id"] for each in page.select("main .btn.main")] == ["sign"]


def test_a_third_rater_sees_names(client, differing, cleo):
    page = load(client, cleo, differing)
    assert [words(each) for each in page.select(".agree-columns span")] == ["Ada", "Ben", "Adjudicated"]
    labels = [words(each) for each in page.select(".agree-row.open .seg label")]
    assert "Ada’s 1" in labels and "Ben’s 2" in labels


# --- deciding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "settled"),
    [
        ("importance", {"pick": "person 1"}, "less"),
        ("importance", {"pick": 'value "intermediate"', "reason": "slip"}, "intermediate"),
        ("text", {"text": "Ada Lovelace was a mathematician."}, "Ada Lovelace was a mathematician."),
        ("text", {"pick": "person 0"}, "Ada Lovelace was an English mathematician."),
    ],
)
def test_page_after_a_decision_equals_a_fresh_load(client, differing, ada, name, data, settled):
    page = load(client, ada, differing)
    key = field(differing, name).key
    answer = post(client, ada, differing, "decide", {"key": key, "version": 0, "seen": stamp(page), **data})
    assert answer.status_code == 200
    assert field(differing, name).settled == settled
    swapped = with_out_of_band(page, answer.content)
    fresh = load(client, ada, differing)
    assert comparable(swapped, "workspace") == comparable(fresh, "workspace")
    assert stamp(swapped) == stamp(fresh) != "0"


@pytest.mark.parametrize("what", ["comment", "ask", "open", "comment-on-the-whole", "ask-about-the-whole"])
def test_page_after_other_changes_equals_a_fresh_load(client, differing, ada, cleo, what):
    key = field(differing, "importance").key
    adjudicate.decide(differing, Stage.DECOMPOSE, key, by=ada, choice=0)
    page = load(client, ada, differing)
    data = {"key": "" if "whole" in what else key, "text": "Look again.", "seen": stamp(page)}
    answer = post(client, ada, differing, what.split("-")[0], data)
    assert answer.status_code == 200, answer.content
    swapped = with_out_of_band(page, answer.content)
    assert comparable(swapped, "workspace") == comparable(load(client, ada, differing), "workspace")
    if what != "open":
        assert "Look again." in words(one(swapped, "#workspace"))


def test_a_settled_sentence_brings_and_takes_its_claims(client, document, ada, ben):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(sentences_of(theirs)[0], "type", "opinion", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    key = field(document, "type").key
    for choice in (1, 0):
        page = load(client, ada, document)
        decision = Decision.objects.filter(key=key).first()
        data = {"key": key, "pick": f"person {choice}", "version": decision.version if decision else 0}
        answer = post(client, ada, document, "decide", data | {"seen": stamp(page)})
        swapped = with_out_of_band(page, answer.content)
        fresh = load(client, ada, document)
        for each in (swapped, fresh):  # how the page begins; from there on it is the person's
            one(each, "[data-only-differs]").extract()
            del one(each, "#rows")["class"]
        assert comparable(swapped, "workspace") == comparable(fresh, "workspace")
        assert bool(fresh.select("#group-sentence-1 .agree-row + .agree-row")) == (choice == 0)


def test_a_decision_that_came_too_late_is_answered_with_both(client, differing, ada, ben):
    key = field(differing, "importance").key
    page = load(client, ada, differing)
    adjudicate.decide(differing, Stage.DECOMPOSE, key, by=ben, choice=1)
    data = {"key": key, "pick": "person 0", "version": 0, "seen": stamp(page)}
    answer = post(client, ada, differing, "decide", data)
    assert answer.status_code == 409
    swapped = with_out_of_band(page, answer.content)
    row = one(swapped, f"#settle-{key}")
    assert words(one(row, "[role=alert]")).startswith("You chose “Most”, but Ben has just decided")
    assert words(one(row, "label:has(input[checked])")) == "Less 2"
    assert field(differing, "importance").settled == "less"
    data = {"key": key, "pick": "person 0", "version": one(row, "[name=version]")["value"], "seen": 0}
    assert post(client, ada, differing, "decide", data).status_code == 200
    assert field(differing, "importance").settled == "most"


@pytest.mark.parametrize(
    ("what", "data", "says"),
    [
        ("decide", {"pick": "person 7", "version": 0}, "no such version"),
        ("decide", {"pick": 'value "huge"', "version": 0}, "a valid label"),
        ("decide", {"pick": "value [[", "version": 0}, "Choose one"),
        ("decide", {"version": "x"}, "whole number"),
        ("comment", {"text": " "}, "Write a comment first."),
        ("dance", {}, "Unknown adjudication action"),
    ],
)
def test_what_cannot_be_is_refused_in_words(client, differing, ada, what, data, says):
    answer = post(client, ada, differing, what, {"key": field(differing, "importance").key, **data})
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert not Decision.objects.filter(is_settled=True).exists()


# --- two browsers ---------------------------------------------------------------------------------


def test_a_partner_is_told_of_exactly_what_changed_and_of_nothing_when_nothing_did(client, differing, ada, ben):
    page = load(client, ben, differing)
    client.force_login(ben)
    address = f"{url(differing)}?part=changes&seen={stamp(page)}"
    with CaptureQueriesContext(
        connection,
    ) as idle:
        assert client.get(address, headers=HTMX).status_code == 204
    assert len(idle) < 8
    key = field(differing, "importance").key
    adjudicate.decide(differing, Stage.DECOMPOSE, key, by=ada, choice=0)
    answer = client.get(address, headers=HTMX)
    swaps = {str(each["id"]) for each in soup_of(answer.content).select("[hx-swap-oob]")}
    item = board_of(differing, Stage.DECOMPOSE).comparison.item_of(key)
    assert item is not None
    assert swaps == {"seen", f"row-{item.key}", "agree-head", "foot"}
    assert one(soup_of(answer.content), "#seen")["data-by"] == "Ada"
    swapped = with_out_of_band(page, answer.content)
    fresh = load(client, ben, differing)
    assert comparable(swapped, "workspace") == comparable(fresh, "workspace")
    assert client.get(f"{url(differing)}?part=changes&seen={stamp(swapped)}", headers=HTMX).status_code == 204


def test_the_other_page_learns_that_the_last_signature_has_closed_it(client, differing, ada, ben):
    for name in ("text", "importance"):
        adjudicate.decide(differing, Stage.DECOMPOSE, field(differing, name).key, by=ada, choice=0)
    adjudicate.sign(differing, Stage.DECOMPOSE, by=ben)
    page = load(client, ben, differing)
    assert "You have signed off; Ada has not yet." in words(one(page, "#foot"))
    answer = post(client, ada, differing, "sign", {})
    assert answer.headers["HX-Redirect"] == reverse("document", args=[differing.public_id])
    client.force_login(ben)
    answer = client.get(f"{url(differing)}?part=changes&seen={stamp(page)}", headers=HTMX)
    swapped = with_out_of_band(page, answer.content)
    assert "Decompose is adjudicated" in words(one(swapped, "#foot"))
    assert not one(swapped, "#news").has_attr("hx-get")
    assert one(swapped, "#workspace .agree-row"), "what is on the page stays"


def test_the_page_learns_that_the_document_was_discarded_or_reopened(client, differing, owner, ada):
    page = load(client, ada, differing)
    discard(differing, "Nobody knows.", by=owner)
    client.force_login(ada)
    answer = client.get(f"{url(differing)}?part=changes&seen={stamp(page)}", headers=HTMX)
    assert "was discarded" in words(one(soup_of(answer.content), "#foot"))
    assert "mathematician" not in answer.content.decode()


# --- signatures, third rater ----------------------------------------------------------------------


def test_signing_taking_it_back_and_signing_together(client, differing, ada, ben):
    for name in ("text", "importance"):
        adjudicate.decide(differing, Stage.DECOMPOSE, field(differing, name).key, by=ada, choice=0)
    page = load(client, ada, differing)
    assert "No open differences" in words(one(page, "#foot"))
    for what, signed in (("sign", True), ("unsign", False), ("sign", True)):
        page = load(client, ada, differing)
        answer = post(client, ada, differing, what, {"seen": stamp(page)})
        swapped = with_out_of_band(page, answer.content)
        assert comparable(swapped, "workspace") == comparable(load(client, ada, differing), "workspace")
        assert SignOff.objects.exists() == signed
    post(client, ben, differing, "sign", {})
    differing.refresh_from_db()
    assert differing.stage == Stage.VERIFY


def test_what_the_third_rater_settled_is_locked_for_partners(client, differing, ada, cleo):
    key = field(differing, "importance").key
    adjudicate.ask_third_rater(differing, Stage.DECOMPOSE, key, "The main point?", by=ada)
    page = load(client, cleo, differing)
    assert "Ada asked the adjudicator; not answered yet. “The main point?”" in words(one(page, "#workspace"))
    post(client, cleo, differing, "decide", {"key": key, "pick": "person 1", "version": 0, "seen": 0})
    page = load(client, ada, differing)
    place = one(page, f"#settle-{key}")
    assert "Cleo, as adjudicator, chose this. If you think it is wrong, ask them." in words(place)
    assert all(each.has_attr("disabled") for each in place.select("input[type=radio]"))
    assert not place.select("select, [hx-vals]")
    refused = post(client, ada, differing, "decide", {"key": key, "pick": "person 0", "version": 2})
    assert refused.status_code == 403 and "adjudicator has decided" in refused.content.decode()


def test_the_third_rater_marks_a_question_as_answered_or_discards_with_a_reason(client, differing, ada, cleo):
    adjudicate.ask_third_rater(differing, Stage.DECOMPOSE, field(differing, "text").key, "", by=ada)
    question = Question.objects.get()
    data = {"question": question.pk, "text": "Ada’s.", "seen": 0}
    assert post(client, ada, differing, "answer", data).status_code == 403
    assert not Comment.objects.exists(), "nothing is half done"
    assert post(client, cleo, differing, "answer", data | {"text": " "}).status_code == 422
    assert post(client, cleo, differing, "answer", data).status_code == 200
    assert Comment.objects.get().text == "Ada’s."
    question.refresh_from_db()
    assert question.answered_by == cleo
    assert not load(client, ada, differing).select_one("[data-open='#discard']")
    assert load(client, cleo, differing).select_one("[data-open='#discard']")
    assert post(client, cleo, differing, "discard", {"reason": " "}).status_code == 422
    assert post(client, cleo, differing, "discard", {"reason": "Nobody can tell."}).status_code == 204
    differing.refresh_from_db()
    assert differing.phase == Phase.DISCARDED


def test_an_open_question_waits_for_the_third_rater_who_begins_there(client, differing, ada, ben, cleo):
    for name in ("text", "importance"):
        adjudicate.decide(differing, Stage.DECOMPOSE, field(differing, name).key, by=ada, choice=0)
    key = field(differing, "importance").key
    adjudicate.ask_third_rater(differing, Stage.DECOMPOSE, key, "Is it?", by=ada)
    page = load(client, ada, differing)
    assert words(one(page, "#sign-state")) == "Waiting for a reply from Cleo, the adjudicator."
    why = one(page, "#sign-why")
    assert words(why) == "The adjudicator has been asked and has not answered yet."
    assert "visually-hidden" not in why["class"] and not page.select("[data-begin-here], .agree-answer")
    page = load(client, cleo, differing)
    assert words(one(page, "#sign-state")) == "Waiting for your reply."
    assert one(page, f"[data-begin-here] #settle-{key}") and one(page, "[data-begin-here] .agree-answer textarea")
    home = soup_of(client.get(reverse("home")).content)
    assert "Ada asks you about decompose." in words(one(home, "#next"))


def test_labels_stand_in_the_same_order_whoever_looks(client, differing, ada, ben):
    place = f"#settle-{field(differing, 'importance').key} .choice .seg label"
    orders = [[words(each) for each in load(client, each, differing).select(place)] for each in (ada, ben)]
    assert orders[0] == orders[1] != []


# --- who may --------------------------------------------------------------------------------------


def test_who_may_see_it_while_it_is_settled(client, differing, benchmark, owner, ada, ben, cleo):
    expected = {
        ada: 200, ben: 200, cleo: 200,
        owner: 403, member(benchmark): 403, member(benchmark, Role.RESEARCHER): 403, UserFactory(): 404,
    }  # fmt: skip
    key = field(differing, "importance").key
    for person, status in expected.items():
        client.force_login(person)
        for address in (url(differing), f"{url(differing)}?part=changes&seen=99"):
            answer = client.get(address)
            assert answer.status_code == status, (person, address)
            assert status == 200 or "mathematician" not in answer.content.decode()
        if status != 200:
            data = {"key": key, "pick": "person 0", "version": 0}
            assert post(client, person, differing, "decide", data).status_code == status
    assert not Decision.objects.exists()


def test_before_everyone_has_submitted_the_page_says_who_is_waited_for(client, document, benchmark, ada, ben, cleo):
    mine, theirs = begun(document, ada), begun(document, ben)
    save(claims_of(theirs)[0], "text", "Only Ben has written this.", ben)
    submit(mine, by=ada)
    for person in (ada, cleo):
        page = load(client, person, document)
        assert "Waiting for Ben to submit." in words(one(page, "main"))
        assert "mathematician" not in words(one(page, "main")) and "Only Ben" not in str(page)
    assert "Waiting for you to submit." in words(load(client, ben, document).select_one("main"))
    for person, status in ((member(benchmark), 403), (member(benchmark, Role.RESEARCHER), 403), (UserFactory(), 404)):
        client.force_login(person)
        assert client.get(url(document)).status_code == status
    client.force_login(ada)
    assert client.get(url(document, stage=Stage.VERIFY)).status_code == 403
    assert client.get(f"/d/{document.public_id}/agree/dance/").status_code == 404
    assert client.get(f"{url(document)}?part=changes&seen=0", headers=HTMX).status_code == 200
    assert post(client, ada, document, "comment", {"key": "", "text": "hello"}).status_code == 403


def test_with_three_people_columns_have_names_and_ties_wait_for_the_third_rater(client):
    benchmark = BenchmarkFactory(overlap=3)
    document = prefill(DocumentFactory(benchmark=benchmark))
    people = [member(benchmark, display_name=name) for name in ("Ada", "Ben", "Cora")]
    cleo = member(benchmark, Role.THIRD_RATER, display_name="Cleo")
    annotations = [begun(document, person) for person in people]
    for annotation, person, word in zip(annotations, people, ("most", "intermediate", "less"), strict=True):
        save(claims_of(annotation)[0], "importance", word, person)
    save(claims_of(annotations[2])[1], "importance", "less", people[2])
    for annotation, person in zip(annotations, people, strict=True):
        submit(annotation, by=person)
    page = load(client, people[1], document)
    assert [words(each) for each in page.select(".agree-columns span")] == ["You", "Ada", "Cora", "Adjudicated"]
    assert "majority, accepted" in words(one(page, "#rows"))
    assert "No majority" in words(one(page, ".agree-row.open"))
    page = load(client, cleo, document)
    assert not page.select(".agree-row.open input[disabled]")


# --- looking back ---------------------------------------------------------------------------------


@pytest.fixture
def adjudicated(differing: Document, ada: User, ben: User) -> Document:
    """The text is Ada's, the importance Ben's: a slip."""
    adjudicate.decide(differing, Stage.DECOMPOSE, field(differing, "text").key, by=ben, choice=0)
    key = field(differing, "importance").key
    adjudicate.decide(differing, Stage.DECOMPOSE, key, by=ben, choice=1, reason="slip")
    for person in (ada, ben):
        adjudicate.sign(differing, Stage.DECOMPOSE, by=person)
    differing.refresh_from_db()
    return retrieve(differing)


def test_afterwards_each_sees_what_became_of_their_answers(client, adjudicated, ada, ben):
    total = board_of(adjudicated, Stage.DECOMPOSE).comparison.total
    page = load(client, ada, adjudicated)
    said = f"{total - 1} of your {total} decisions stand; 1 was changed: 1 slip."
    assert words(one(page, ".look-back")).startswith(said)
    assert "1 was changed. Your agreement" in words(load(client, ben, adjudicated).select_one(".look-back"))
    row = one(page, ".agree-row.settled")
    assert "Importance Less" in words(row) and "Ben chose this: slip." in words(row)
    assert "yours was changed" in words(row)
    assert not page.select("#workspace form, #workspace input, #workspace [hx-post]"), "nothing can be changed"
    assert not one(page, "#news").has_attr("hx-get")
    assert post(client, ada, adjudicated, "comment", {"key": "", "text": "But"}).status_code == 403


def test_who_may_look_back(client, adjudicated, benchmark, owner, ada, cleo):
    for person, status in (
        (owner, 200), (member(benchmark, Role.ADMIN), 200), (cleo, 200),
        (member(benchmark), 403), (member(benchmark, Role.RESEARCHER), 403), (UserFactory(), 404),
    ):  # fmt: skip
        client.force_login(person)
        assert client.get(url(adjudicated)).status_code == status, person
    assert not load(client, owner, adjudicated).select_one(".look-back")
    reopen(adjudicated, Stage.DECOMPOSE, "look again", by=owner)
    client.force_login(member(benchmark, Role.ADMIN))
    assert client.get(url(adjudicated)).status_code == 403


def test_one_persons_stage_has_nothing_to_look_back_at(client):
    benchmark = BenchmarkFactory(overlap=1)
    person = member(benchmark, Role.OWNER)
    document = prefill(DocumentFactory(benchmark=benchmark))
    submit(begun(document, person), by=person)
    client.force_login(person)
    assert client.get(url(document)).status_code == 403


# --- verify and revise ----------------------------------------------------------------------------


@pytest.fixture
def at_verify(document: Document, ada: User, ben: User) -> Document:
    for person in (ada, ben):
        submit(begun(document, person), by=person)
    for person in (ada, ben):
        adjudicate.sign(document, Stage.DECOMPOSE, by=person)
    return retrieve(document)


def differ_at_verify(document: Document, ada: User, ben: User) -> None:
    mine = open_annotation(document, Stage.VERIFY, by=ada)
    claim = claims_to_verify(mine)[0].claim
    add_evidence(mine, claim, by=ada, url="https://notes.example/", passage="Her notes are famous.", title="Notes")
    verified(document, ada, false_claim="1825")
    theirs = open_annotation(document, Stage.VERIFY, by=ben)
    for work in claims_to_verify(theirs):
        for card in work.cards:
            save(card.stance, "label", StanceLabel.IRRELEVANT, ben)
        save(work.verdict, "evidence_sufficient", "no", ben)
        save(work.verdict, "factuality", Factuality.TRUE, ben)
    submit(theirs, by=ben)
    document.refresh_from_db()


def test_verify_stands_claim_by_claim_with_its_passages_and_edits(client, at_verify, ada, ben):
    differ_at_verify(at_verify, ada, ben)
    page = load(client, ada, at_verify, Stage.VERIFY)
    assert leads_to_rows(page)
    group = one(page, "#group-claim-1-1")
    assert words(one(group, ".agree-claim")) == "Ada Lovelace was an English mathematician."
    links = [str(each["href"]) for each in group.select(".agree-source a")]
    assert "https://notes.example/" in links and len(links) > 1
    assert "did not find this passage" in words(group)
    alone = next(row for row in group.select(".agree-row") if "Her notes are famous" in words(row))
    assert len(alone.select(".seg label")) == 4, "the missing stance is asked for: no answer is nearer than another"
    key = next(
        row.key for row in board_of(at_verify, Stage.VERIFY).comparison.rows
        if row.name == "factuality" and row.differs and Factuality.FALSE in row.values
    )  # fmt: skip
    answer = post(
        client,
        ada,
        at_verify,
        "decide",
        {"key": key, "pick": "person 0", "version": 0, "seen": stamp(page)},
        Stage.VERIFY,
    )
    swapped = with_out_of_band(page, answer.content)
    fresh = load(client, ada, at_verify, Stage.VERIFY)
    assert comparable(swapped, "workspace") == comparable(fresh, "workspace")
    verdict = one(fresh, f"article:has(#settle-{key})")
    assert [words(each) for each in verdict.select(".said del, .said ins")] == ["1825", "1815"]


def test_revise_stands_sentence_by_sentence_against_the_original(client, at_verify, owner, ada, ben):
    for person in (ada, ben):
        verified(at_verify, person, false_claim="1825")
    for person in (ada, ben, owner):
        adjudicate.sign(at_verify, Stage.VERIFY, by=person)
    at_verify.refresh_from_db()
    mine, theirs = (open_annotation(at_verify, Stage.REVISE, by=person) for person in (ada, ben))
    row = theirs.sentence_revisions.get(sentence__order=1)
    save(row, "text", "Ada Lovelace was a mathematician from England.", ben)
    save(theirs.response_revision, "text", "She was born in 1815.", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    page = load(client, ada, at_verify, Stage.REVISE)
    assert leads_to_rows(page)
    row_of_first = one(page, "#group-sentences .agree-row.open")
    assert "Ada Lovelace was an English mathematician." in words(one(row_of_first, ".agree-original"))
    assert [words(each) for each in row_of_first.select("ins")] == ["a", "from England"]
    assert "merged from the sentences" in words(one(page, "#group-answer"))
    for name in ("rewrite", "answer"):
        item = next(
            each for each in board_of(at_verify, Stage.REVISE).comparison.items if each.kind == name and each.differs
        )
        page = load(client, ada, at_verify, Stage.REVISE)
        data = {"key": item.fields[0].key, "text": "Something new.", "version": 0, "seen": stamp(page)}
        answer = post(client, ada, at_verify, "decide", data, Stage.REVISE)
        assert answer.status_code == 200
        swapped = with_out_of_band(page, answer.content)
        fresh = load(client, ada, at_verify, Stage.REVISE)
        assert comparable(swapped, "workspace") == comparable(fresh, "workspace")


# --- ways to it -----------------------------------------------------------------------------------


def test_the_last_to_submit_goes_on_to_the_agreement_and_the_document_page_leads_there(client, document, ada, ben):
    addresses = []
    for person in (ada, ben):
        begun(document, person)
        client.force_login(person)
        answer = client.post(reverse("submit", args=[document.public_id, "decompose"]), headers=HTMX)
        addresses.append(answer.headers["HX-Redirect"])
    assert addresses == [reverse("document", args=[document.public_id]), url(document)]
    client.force_login(ada)
    page = soup_of(client.get(reverse("document", args=[document.public_id])).content)
    button = one(page, "#standing a.btn.main")
    assert (button["href"], words(button)) == (url(document), "Adjudicate decompose N")
    own = soup_of(client.get(reverse("decompose", args=[document.public_id])).content)
    assert one(own, f".steps-nav a[href='{url(document)}']")
    for person in (ada, ben):
        adjudicate.sign(document, Stage.DECOMPOSE, by=person)
    page = soup_of(client.get(reverse("document", args=[document.public_id])).content)
    assert "View adjudication" in words(one(page, f"#standing a[href='{url(document)}']"))


# --- queries --------------------------------------------------------------------------------------


def queries_of(client: Client, user: User, document: Document) -> int:
    client.force_login(user)
    client.get(url(document))
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url(document)).status_code == 200
    return len(captured)


def test_the_number_of_queries_does_not_grow_with_rows_decisions_and_comments(client, benchmark, ada, ben, cleo):
    counts = []
    for repeats in (1, 6):
        response = " ".join(
            f"Ada Lovelace wrote letter number {number} to Charles Babbage." for number in range(repeats)
        )
        document = prefill(DocumentFactory(benchmark=benchmark, response=response))
        mine, theirs = begun(document, ada), begun(document, ben)
        for claim in claims_of(theirs):
            save(claim, "importance", "less", ben)
        submit(mine, by=ada)
        submit(theirs, by=ben)
        document.refresh_from_db()
        rows = [row for row in board_of(document, Stage.DECOMPOSE).comparison.rows if row.differs]
        assert len(rows) == repeats
        for row in rows:
            adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=ada, choice=0)
            adjudicate.comment(document, Stage.DECOMPOSE, row.key, "So?", by=ben)
            adjudicate.ask_third_rater(document, Stage.DECOMPOSE, row.key, "", by=ben)
        counts.append(queries_of(client, ada, document))
    assert counts[0] == counts[1]
