"""Screen 2 through its views: a claim's whole life, what follows from an answer, who sees what."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.models import (
    Activity,
    Annotation,
    Claim,
    Document,
    Evidence,
    PipelineRun,
    SentBack,
    Stance,
    StanceSuggestion,
    User,
    Verdict,
)
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import Factuality, Origin, Phase, Role, RunState, Stage, StanceLabel
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.queries.submit_review import is_too_fast, review_of, seconds_to_read
from annotator.stages.queries.verification import ClaimWork, claims_to_verify
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    decomposed,
    member,
    prefill,
    save,
    with_corpus,
)

pytestmark = pytest.mark.django_db

EMOJI_CLAIM = "👩‍🚀 Ada was born in 1825 🎉 in 1825."


@pytest.fixture
def person() -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def document(person: User) -> Document:
    benchmark = person.memberships.get().benchmark
    with_corpus(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, person)
    document.refresh_from_db()
    return document


@pytest.fixture
def annotation(document: Document, person: User) -> Annotation:
    return open_annotation(document, Stage.VERIFY, by=person)


@pytest.fixture
def as_person(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def works(annotation: Annotation) -> list[ClaimWork]:
    return claims_to_verify(annotation)


def page(client: Client, document: Document, claim: str = "") -> BeautifulSoup:
    response = client.get(reverse("verify", args=[document.public_id]), {"claim": claim} if claim else {})
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


def post_field(client: Client, record: Any, field: str, value: str, version: int | None = None) -> Any:
    record.refresh_from_db()
    data = {"field": field, "value": value, "version": record.version if version is None else version}
    return client.post(reverse("save", args=[key_of(record)]), data, headers={"HX-Request": "true"})


def change(client: Client, document: Document, claim: Claim, what: str, **data: Any) -> Any:
    url = reverse("verify-claim", args=[document.public_id, claim.public_id, what])
    return client.post(url, data, headers={"HX-Request": "true"})


def events(response: Any) -> dict[str, Any]:
    return json.loads(response.headers.get("HX-Trigger-After-Settle", "{}"))  # type: ignore[no-any-return]


def swapped(before: BeautifulSoup, answer: Any) -> Tag:
    """The workspace as the browser has it after the answer's out-of-band fragments took their places."""
    for fragment in BeautifulSoup(answer.content, "html.parser").select("[hx-swap-oob]"):
        place = before.find(id=fragment["id"])
        assert place is not None, f"nothing on the page has the id {fragment['id']}"
        del fragment["hx-swap-oob"]
        place.replace_with(fragment)
    return workspace_of(before)


def workspace_of(soup: BeautifulSoup) -> Tag:
    """The workspace without what the browser keeps itself: which row is current, and what stands in text boxes."""
    workspace = soup.find(id="workspace")
    assert isinstance(workspace, Tag)
    for row in workspace.select("[data-row]"):
        row.attrs.pop("data-current", None)
        row.attrs.pop("aria-current", None)
    for box in workspace.find_all(["textarea", "input"]):
        box.string = ""
        if box.get("type") not in ("radio", "checkbox"):
            box.attrs.pop("value", None)
    return workspace


def plain(tag: Tag) -> str:
    return re.sub(r"\s+", " ", str(tag))


def assert_swap_equals_fresh(
    client: Client, document: Document, claim: Claim, before: BeautifulSoup, answer: Any
) -> None:
    fresh = workspace_of(page(client, document, claim.public_id))
    assert plain(swapped(before, answer)) == plain(fresh)


def read(annotation: Annotation) -> None:
    """Every passage has been in view, and supports its claim."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    annotation.stances.update(in_view_at=now, label=StanceLabel.COMPLETELY_SUPPORT, label_origin=Origin.HUMAN)


def submit(client: Client, document: Document, **data: str) -> Any:
    url = reverse("submit", args=[document.public_id, "verify"])
    return client.post(url, data, headers={"HX-Request": "true"})


def in_view(works: ClaimWork, *numbers: int) -> str:
    """The passages with these numbers, as the page sends what has been in view."""
    return " ".join(card.stance.public_id for card in works.cards if card.number in numbers)


# --- the page -------------------------------------------------------------------------------------------------


def test_shows_claim_cards_and_what_is_missing(as_person: Client, document: Document, annotation: Annotation) -> None:
    soup = page(as_person, document)
    first = works(annotation)[0]
    assert soup.select_one("[data-claim-text]").get_text() == first.claim.text  # type: ignore[union-attr]
    assert len(soup.select("article.ev")) == len(first.cards) > 0
    assert {mark.get_text() for mark in soup.select("article.ev mark")} & {"Ada Lovelace", "English mathematician"}
    assert "Sentence 3 is an opinion" in soup.get_text()
    assert soup.select(".missing .need")[0].get_text() == "stance 1"
    for link in soup.select(".missing [data-goto]"):
        if "edit" not in str(link["data-goto"]):
            assert soup.find(id=str(link["data-goto"])) is not None
    assert len(soup.select(".btn.main")) == 1
    assert soup.select_one(".btn.main").get_text().startswith("Next claim")  # type: ignore[union-attr]


def test_opens_the_claim_that_is_asked_for_else_the_first_incomplete(
    as_person: Client, document: Document, annotation: Annotation, person: User
) -> None:
    first, second = works(annotation)[:2]
    assert f"Claim {second.number}" in page(as_person, document, second.claim.public_id).select_one("h1").get_text()  # type: ignore[union-attr]
    finish(first, person)
    assert f"Claim {second.number}" in page(as_person, document).select_one("h1").get_text()  # type: ignore[union-attr]


def finish(work: ClaimWork, by: User, verdict: str = "true") -> None:
    for card in work.cards:
        save(card.stance, "label", StanceLabel.COMPLETELY_SUPPORT, by)
    save(work.verdict, "factuality", verdict, by)


def test_a_document_without_claims_can_be_submitted(as_person: Client, person: User) -> None:
    benchmark = person.memberships.get().benchmark
    document = prefill(DocumentFactory(benchmark=benchmark, response="I think that this is lovely."))
    decomposed(document, person)
    document.refresh_from_db()
    open_annotation(document, Stage.VERIFY, by=person)
    soup = page(as_person, document)
    assert "No claims to check" in soup.get_text()
    url = reverse("submit", args=[document.public_id, "verify"])
    assert as_person.post(url, headers={"HX-Request": "true"}).headers["HX-Redirect"]


def test_evidence_says_where_it_is_from(as_person: Client, document: Document, annotation: Annotation) -> None:
    work = works(annotation)[0]
    evidence = work.cards[0].evidence
    Evidence.objects.filter(pk=evidence.pk).update(
        url="javascript:alert(1)", title="", published=dt.date(2024, 5, 2), query="who was she"
    )
    Document.objects.filter(pk=document.pk).update(reference_date=dt.date(2023, 1, 1))
    card = page(as_person, document).select("article.ev")[0]
    assert card.select_one("a") is None, "only web addresses are links"
    assert "query “who was she”" in card.get_text()
    assert "published after the reference date, Jan 1, 2023" in card.get_text()
    Evidence.objects.filter(pk=evidence.pk).update(url="https://www.example.org/a", site="")
    link = page(as_person, document).select_one("article.ev .src a")
    assert link is not None
    assert (link["rel"], link["target"]) == (["noopener", "noreferrer"], "_blank")
    assert "example.org" in card.get_text() or "example.org" in page(as_person, document).get_text()


def test_repeated_passages_fold_and_pages_stand_together(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    claim = works(annotation)[0].claim
    claim.evidence.all().delete()
    for order, (url, passage) in enumerate(
        [("https://a.example", "One."), ("https://b.example", "Two."), ("https://a.example", "Three."), ("", "Two. ")],
        start=1,
    ):
        Evidence.objects.create(claim=claim, order=order, url=url, passage=passage)
    soup = page(as_person, document, claim.public_id)
    texts = [re.sub(r"\s+", " ", card.get_text()) for card in soup.select("article.ev")]
    assert ["One." in texts[0], "Three." in texts[1], "Two." in texts[2]] == [True, True, True]
    assert "from the same page" in texts[1]
    assert [card["aria-label"] for card in soup.select("article.ev")] == [f"Evidence {n}" for n in (1, 2, 3, 4)]
    assert [re.sub(r"\D", "", chip.get_text()) for chip in soup.select(".pick")] == ["1", "2", "3", "4"]
    assert "Same text as evidence 3: takes its stance" in texts[3]
    assert soup.select("article.ev")[3].select_one("details mark, details p") is not None
    assert "4 passages; 1 repeated, folded" in soup.get_text()
    assert len(soup.select("article.ev fieldset[data-advance]")) == 4, "a folded passage is judged too"


def test_a_suggested_stance_is_outlined_until_it_is_accepted(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    stance = works(annotation)[0].cards[0].stance
    run = PipelineRun.objects.create(benchmark=document.benchmark, stage=Stage.VERIFY, strategy="offline")
    stance.suggestion = StanceSuggestion.objects.create(run=run, evidence=stance.evidence, label=StanceLabel.REFUTE)
    stance.save()
    soup = page(as_person, document)
    assert soup.select_one('label[data-suggested] input[value="refute"]') is not None
    assert "stance 1" in soup.select_one(".missing").get_text()  # type: ignore[union-attr]
    post_field(as_person, stance, "label", "refute")
    stance.refresh_from_db()
    assert stance.label_origin == Origin.ACCEPTED
    assert page(as_person, document).select_one("label[data-suggested]") is None


def test_reliable_and_sufficient_are_asked_by_the_protocol_and_never_required(
    as_person: Client, document: Document, annotation: Annotation, person: User
) -> None:
    soup = page(as_person, document)
    assert soup.select('article.ev input[data-field="reliable"]')
    assert soup.select_one('article.ev fieldset[data-undecided] input[data-field="sufficient"]') is None
    document.benchmark.asks_reliable = document.benchmark.asks_sufficient = False
    document.benchmark.save()
    assert not page(as_person, document).select('input[data-field="reliable"], input[data-field="sufficient"]')
    work = works(annotation)[0]
    finish(work, person)
    assert f"Claim {work.number}" not in page(as_person, document).select_one("h1").get_text()  # type: ignore[union-attr]


def test_the_number_of_queries_does_not_grow(as_person: Client, person: User) -> None:
    benchmark = person.memberships.get().benchmark
    with_corpus(benchmark)
    counts: list[int] = []
    for claims in (1, 3):
        document = prefill(DocumentFactory(benchmark=benchmark, response="Ada was born in 1815. " * claims))
        decomposed(document, person)
        document.refresh_from_db()
        annotation = open_annotation(document, Stage.VERIFY, by=person)
        assert len(works(annotation)) == claims
        for work in works(annotation):
            Evidence.objects.bulk_create(Evidence(claim=work.claim, order=9, passage=f"p{n}") for n in range(claims))
            change(as_person, document, work.claim, "delete-claim")
        page(as_person, document)  # makes the stances of what has just come
        with CaptureQueriesContext(connection) as captured:
            page(as_person, document)
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 35


# --- answers --------------------------------------------------------------------------------------------------


def test_stances_and_one_verdict_suffice_for_a_true_claim(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    for card in work.cards:
        response = post_field(as_person, card.stance, "label", "completely_support")
        assert events(response) == {}
    response = post_field(as_person, work.verdict, "factuality", "true")
    assert events(response) == {"touchstone:claim-complete": {"claim": work.claim.public_id}}
    verdict = Verdict.objects.get(pk=work.verdict.pk)
    assert verdict.evidence_sufficient is True
    assert "supports the whole claim" in response.content.decode()
    # A change of mind on a complete claim leaves the person where they are.
    assert events(post_field(as_person, work.verdict, "factuality", "not_enough_evidence")) == {}
    assert events(post_field(as_person, work.verdict, "reason", "Seen twice.")) == {}


def test_the_last_stance_completes_a_claim_whose_verdict_came_first(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    assert events(post_field(as_person, work.verdict, "factuality", "true")) == {}
    answers = [post_field(as_person, card.stance, "label", "irrelevant") for card in work.cards]
    assert [bool(events(answer)) for answer in answers] == [False] * (len(answers) - 1) + [True]


def test_false_asks_for_the_edit_and_rests_on_what_refutes(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    for card in work.cards:
        post_field(as_person, card.stance, "label", "refute")
    response = post_field(as_person, work.verdict, "factuality", "false")
    assert events(response) == {"touchstone:claim-false": {"claim": work.claim.public_id}}
    soup = BeautifulSoup(response.content, "html.parser")
    assert len(soup.select(".pick input[checked]")) == len(work.cards)
    assert soup.select_one('input[data-field="evidence_sufficient"][value="yes"][checked]') is not None
    assert "edit" in soup.select_one(".missing").get_text()  # type: ignore[union-attr]
    # False without an edit was incomplete, so true completes it.
    assert "touchstone:claim-complete" in events(post_field(as_person, work.verdict, "factuality", "true"))


def test_a_false_verdict_does_not_rest_on_removed_evidence(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    for passage in ("She was not.", "Nobody was."):
        change(as_person, document, work.claim, "add-evidence", url="https://example.org", passage=passage)
    gone, kept = Evidence.objects.filter(annotation=annotation).order_by("order")
    for own in (gone, kept):
        post_field(as_person, own.stances.get(), "label", "refute")
    change(as_person, document, work.claim, "remove-evidence", evidence=gone.public_id)
    post_field(as_person, work.verdict, "factuality", "false")
    assert [rest.evidence for rest in work.verdict.rests.all()] == [kept]


def test_true_after_evidence_of_ones_own_says_that_one_searched(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    change(as_person, document, work.claim, "add-evidence", url="https://example.org", passage="She was.")
    post_field(as_person, work.verdict, "factuality", "true")
    assert Verdict.objects.get(pk=work.verdict.pk).evidence_sufficient is False


def test_a_refused_submit_is_said_in_the_foot(as_person: Client, document: Document, annotation: Annotation) -> None:
    form = page(as_person, document).select_one(".foot form[hx-post]")
    assert form is not None
    assert page(as_person, document).select_one(f".foot {form['hx-target']}") is not None
    response = as_person.post(str(form["hx-post"]), headers={"hx-request": "true"})
    assert response.status_code == 422
    link = BeautifulSoup(response.content, "html.parser").select_one("[role=alert] a.need")
    first = works(annotation)[0]
    assert link is not None
    assert link["href"] == f"?claim={first.claim.public_id}#stance-{first.cards[0].stance.public_id}"


def test_not_enough_evidence_asks_whether_one_searched(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    for card in work.cards:
        post_field(as_person, card.stance, "label", "irrelevant")
    response = post_field(as_person, work.verdict, "factuality", "not_enough_evidence")
    assert events(response) == {"touchstone:claim-undecided": {"claim": work.claim.public_id}}
    assert Verdict.objects.get(pk=work.verdict.pk).evidence_sufficient is None
    soup = BeautifulSoup(response.content, "html.parser")
    assert "is the evidence sufficient" in soup.select_one(".missing").get_text()  # type: ignore[union-attr]
    assert soup.select_one('input[data-field="evidence_sufficient"][value="no"][data-key="x"]') is not None
    response = post_field(as_person, work.verdict, "evidence_sufficient", "no")
    assert events(response) == {"touchstone:claim-complete": {"claim": work.claim.public_id}}


def test_not_enough_evidence_after_a_search_says_that_one_searched(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    first, second = works(annotation)[:2]
    change(as_person, document, first.claim, "add-evidence", url="https://example.org", passage="She was.")
    change(as_person, document, second.claim, "search-again", query="flying machines")
    PipelineRun.objects.filter(plan__again=True).update(state=RunState.FINISHED)
    for work in (first, second):
        post_field(as_person, work.verdict, "factuality", "not_enough_evidence")
        assert Verdict.objects.get(pk=work.verdict.pk).evidence_sufficient is False


@pytest.mark.parametrize(
    ("field", "value"),
    [("factuality", "true"), ("factuality", "false"), ("evidence_sufficient", "no"), ("confidence", "low")],
)
def test_a_saved_verdict_swaps_to_what_a_fresh_page_shows(
    as_person: Client, document: Document, annotation: Annotation, field: str, value: str
) -> None:
    work = works(annotation)[0]
    post_field(as_person, work.cards[0].stance, "label", "refute")
    before = page(as_person, document, work.claim.public_id)
    answer = post_field(as_person, work.verdict, field, value)
    assert not BeautifulSoup(answer.content, "html.parser").select("[data-record] textarea[data-field]")
    assert_swap_equals_fresh(as_person, document, work.claim, before, answer)


def test_a_saved_stance_and_own_evidence_swap_to_what_a_fresh_page_shows(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    change(as_person, document, work.claim, "add-evidence", url="https://example.org/a", passage="She was.")
    own = Evidence.objects.get(annotation=annotation)
    for record, field, value in [
        (work.cards[0].stance, "label", "partially_support"),
        (work.cards[0].stance, "reliable", "no"),
        (own, "passage", "Ada Lovelace was an English mathematician."),
        (own, "url", work.cards[0].evidence.url),
    ]:
        before = page(as_person, document, work.claim.public_id)
        answer = post_field(as_person, record, field, value)
        assert_swap_equals_fresh(as_person, document, work.claim, before, answer)


def test_the_hint_follows_the_stances_and_decides_nothing(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    answer = ""
    for card in work.cards:
        answer = post_field(as_person, card.stance, "label", "refute").content.decode()
    assert "The evidence refutes the claim" in answer
    assert Verdict.objects.get(pk=work.verdict.pk).factuality == ""


def test_the_rest_is_irrelevant_in_one_step_and_only_what_has_been_in_view(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    for order in (7, 8, 9):
        Evidence.objects.create(claim=work.claim, order=order, passage=f"Passage {order}.")
    page(as_person, document, work.claim.public_id)
    work = works(annotation)[0]
    first, *others = work.cards
    post_field(as_person, first.stance, "label", StanceLabel.REFUTE)
    seen = in_view(work, *range(1, len(work.cards)))  # all but the last
    answer = change(as_person, document, work.claim, "rest-irrelevant", stances=seen, in_view=seen)
    labels = [card.stance.label for card in works(annotation)[0].cards]
    assert labels == [StanceLabel.REFUTE, *[StanceLabel.IRRELEVANT] * (len(others) - 1), ""]
    assert [card.stance.label_origin for card in works(annotation)[0].cards][1] == Origin.HUMAN
    newest = Activity.objects.filter(annotation=annotation).latest("id")
    assert (newest.action, len(newest.changes)) == ("rest-irrelevant", 2 * (len(others) - 1))
    before = page(as_person, document, work.claim.public_id)
    assert plain(swapped(before, answer)) == plain(workspace_of(page(as_person, document, work.claim.public_id)))
    undone = as_person.post(reverse("undo", args=[document.public_id, Stage.VERIFY, "undo"]))
    assert undone.status_code == 200
    assert [card.stance.label for card in works(annotation)[0].cards] == [StanceLabel.REFUTE, *[""] * len(others)]


def test_what_has_been_in_view_is_noted_once(as_person: Client, document: Document, annotation: Annotation) -> None:
    work = works(annotation)[0]
    url = reverse("save", args=[key_of(work.verdict)])
    data = {"field": "factuality", "value": Factuality.TRUE, "version": work.verdict.version}
    as_person.post(url, data | {"in_view": f"{in_view(work, 1)} unknown"})
    first = works(annotation)[0].cards[0].stance
    assert first.in_view_at is not None
    assert [card.stance.in_view_at for card in works(annotation)[0].cards[1:]] == [None] * (len(work.cards) - 1)
    as_person.post(url, data | {"version": 2, "value": "", "in_view": in_view(work, 1)})
    assert works(annotation)[0].cards[0].stance.in_view_at == first.in_view_at


def test_passages_with_the_same_words_take_the_stance_along_until_they_differ(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    claim = works(annotation)[0].claim
    claim.evidence.all().delete()
    for order, passage in enumerate(("Same.", "Same. ", "Other."), start=1):
        Evidence.objects.create(claim=claim, order=order, url=f"https://{order}.example", passage=passage)
    page(as_person, document, claim.public_id)

    def labels() -> list[str]:
        return [card.stance.label for card in works(annotation)[0].cards]

    first, repeated, _ = (card.stance for card in works(annotation)[0].cards)
    answer = post_field(as_person, first, "label", StanceLabel.REFUTE)
    assert labels() == [StanceLabel.REFUTE, StanceLabel.REFUTE, ""]
    assert f"stance-{repeated.public_id}-label" in answer.content.decode()
    post_field(as_person, repeated, "label", StanceLabel.IRRELEVANT)
    assert labels() == [StanceLabel.REFUTE, StanceLabel.IRRELEVANT, ""], "the repeated one may be judged apart"
    post_field(as_person, first, "label", StanceLabel.PARTIALLY_SUPPORT)
    assert labels() == [StanceLabel.PARTIALLY_SUPPORT, StanceLabel.IRRELEVANT, ""], "what differs stays"
    as_person.post(reverse("undo", args=[document.public_id, Stage.VERIFY, "undo"]))
    as_person.post(reverse("undo", args=[document.public_id, Stage.VERIFY, "undo"]))
    as_person.post(reverse("undo", args=[document.public_id, Stage.VERIFY, "undo"]))
    assert labels() == ["", "", ""], "label and repeated label are one step"


def test_evidence_can_be_added_with_its_stance(as_person: Client, document: Document, annotation: Annotation) -> None:
    claim = works(annotation)[0].claim
    change(as_person, document, claim, "add-evidence", passage="Found.", stance=StanceLabel.REFUTE)
    own = works(annotation)[0].cards[-1]
    assert (own.evidence.passage, own.stance.label, own.stance.label_origin) == (
        "Found.",
        StanceLabel.REFUTE,
        Origin.HUMAN,
    )
    refused = change(as_person, document, claim, "add-evidence", passage="More.", stance="maybe")
    assert refused.status_code == 422
    assert works(annotation)[0].cards[-1].evidence == own.evidence, "nothing was added"


def test_a_typed_correction_becomes_operations_and_goes_on(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    for card in work.cards:
        post_field(as_person, card.stance, "label", StanceLabel.REFUTE)
    answer = post_field(as_person, work.verdict, "factuality", Factuality.FALSE)
    assert "touchstone:claim-false" in events(answer)
    wanted = work.claim.text.replace(work.claim.text.split()[-1], "otherwise.")
    answer = change(as_person, document, work.claim, "rewrite", text=wanted)
    assert events(answer) == {"touchstone:claim-complete": {"claim": work.claim.public_id}}
    assert works(annotation)[0].verdict.revised_claim() == wanted
    again = change(as_person, document, work.claim, "rewrite", text=wanted + " Really.")
    assert events(again) == {}, "an edit of a complete claim leaves the person where they are"


def test_the_verdict_that_follows_is_outlined_when_every_passage_is_judged(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    hint = f"#hint-{work.claim.public_id}"
    for card in work.cards:
        assert page(as_person, document, work.claim.public_id).select_one(f"{hint}[data-verdict]") is None
        post_field(as_person, card.stance, "label", StanceLabel.REFUTE)
    soup = page(as_person, document, work.claim.public_id)
    assert soup.select_one(f"{hint}[data-verdict=false]") is not None
    assert soup.select("input[data-field=factuality][checked]") == [], "a hint is never a choice"


def test_a_stale_save_shows_both_and_writes_nothing(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    stance = works(annotation)[0].cards[0].stance
    seen = stance.version
    assert post_field(as_person, stance, "label", "refute", version=seen).status_code == 200
    answer = post_field(as_person, stance, "label", "irrelevant", version=seen)
    assert answer.status_code == 409
    both = answer.content.decode()
    assert "Irrelevant" in both
    assert "Refutes" in both
    stance.refresh_from_db()
    assert stance.label == "refute"
    # Another field of the same record is no conflict: both stand.
    assert post_field(as_person, stance, "reliable", "yes", version=seen).status_code == 200


# --- evidence -------------------------------------------------------------------------------------------------


def test_own_evidence_is_added_judged_edited_removed_and_brought_back(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    answer = change(
        as_person, document, work.claim, "add-evidence", url="https://example.org/p", passage="Yes.", query="ada"
    )
    soup = BeautifulSoup(answer.content, "html.parser")
    assert "added by you" in soup.select("article.ev")[-1].get_text()
    assert soup.select("[data-row][data-current]") == soup.select("article.ev")[-1:], "it is judged next"
    own = Evidence.objects.get(annotation=annotation)
    assert (own.query, own.stances.get().label) == ("ada", "")
    post_field(as_person, own, "passage", "Yes, she was.")
    own.refresh_from_db()
    assert own.passage == "Yes, she was."
    change(as_person, document, work.claim, "rests-on", evidence=own.public_id, rests="yes")
    change(as_person, document, work.claim, "remove-evidence", evidence=own.public_id)
    assert len(works(annotation)[0].cards) == len(work.cards)
    assert not Verdict.objects.get(pk=work.verdict.pk).rests.exists()
    url = reverse("undo", args=[document.public_id, "verify", "undo"])
    assert as_person.post(url, headers={"HX-Request": "true"}).status_code == 200
    assert len(works(annotation)[0].cards) == len(work.cards) + 1
    assert Verdict.objects.get(pk=work.verdict.pk).rests.get().evidence == own


@pytest.mark.parametrize(
    ("what", "data", "place", "said"),
    [
        ("add-evidence", {}, "#add-evidence-problem", "Enter the passage"),
        ("add-evidence", {"url": "example.org"}, "#add-evidence-problem", "http://"),
        ("add-edit", {"kind": "replace", "start": "0", "end": "0", "replacement": "x"}, "#edit-problem", "select"),
        ("add-edit", {"kind": "replace", "start": "0", "end": "999", "replacement": "x"}, "#edit-problem", "999"),
        ("add-edit", {"kind": "rhyme", "start": "0", "end": "3"}, "#edit-problem", "An edit"),
        ("search-again", {"query": "  "}, "#search-problem", "Enter a search query."),
        ("send-back", {"reason": ""}, "#send-back-problem", "why"),
    ],
)
def test_a_refusal_stands_at_its_form(
    as_person: Client,
    document: Document,
    annotation: Annotation,
    what: str,
    data: dict[str, str],
    place: str,
    said: str,
) -> None:
    claim = works(annotation)[0].claim
    soup = page(as_person, document)
    answer = change(as_person, document, claim, what, **data)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert (answer.headers["HX-Retarget"], answer.headers["HX-Reswap"]) == (place, "innerHTML")
    assert soup.select_one(place) is not None


def test_an_unknown_change_leaves_the_workspace(as_person: Client, document: Document, annotation: Annotation) -> None:
    answer = change(as_person, document, works(annotation)[0].claim, "sing")
    assert answer.status_code == 422


def test_retrieved_evidence_cannot_be_removed_or_edited(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    shared = work.cards[0].evidence
    answer = change(as_person, document, work.claim, "remove-evidence", evidence=shared.public_id)
    assert answer.status_code == 403
    assert post_field(as_person, shared, "passage", "no").status_code == 403
    shared.refresh_from_db()
    assert (shared.removed, shared.passage) == ("", work.cards[0].evidence.passage)


def test_search_again_brings_more_passages_while_work_goes_on(
    as_person: Client, document: Document, annotation: Annotation, django_capture_on_commit_callbacks: Any
) -> None:
    work = works(annotation)[0]
    with_corpus_page(document, "Lady Lovelace wrote about flying machines as a child.")
    with django_capture_on_commit_callbacks() as callbacks:
        answer = change(as_person, document, work.claim, "search-again", query="flying  machines")
    assert "Searching for “flying machines”" in answer.content.decode()
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT
    again = change(as_person, document, work.claim, "search-again", query="other")
    assert again.status_code == 422
    url = reverse("verify", args=[document.public_id])
    poll = {"claim": work.claim.public_id, "searching": "1"}
    waiting = as_person.get(url, poll, headers={"HX-Request": "true"})
    assert b'hx-trigger="every 1s"' in waiting.content
    before = page(as_person, document, work.claim.public_id)
    for callback in callbacks:
        callback()
    done = as_person.get(url, poll, headers={"HX-Request": "true"})
    assert b'hx-trigger="every 1s"' not in done.content
    assert "found 1 more passage" in done.content.decode()
    state = before.select_one("#search-state")
    assert state is not None
    state.replace_with(BeautifulSoup(done.content, "html.parser").select_one("#search-state") or "")
    assert_swap_equals_fresh(as_person, document, work.claim, before, done)
    found = Evidence.objects.get(run__plan__again=True)
    assert (found.annotation, found.query) == (annotation, "flying machines")
    assert found.stances.get().annotation == annotation
    document.refresh_from_db()
    assert (document.phase, PipelineRun.objects.get(plan__again=True).state) == (Phase.INDEPENDENT, RunState.FINISHED)


def with_corpus_page(document: Document, text: str) -> None:
    corpus = document.benchmark.corpus
    assert corpus is not None
    corpus.pages.create(url="https://pages.example/more", title="More", text=text, content_hash="x")
    corpus.revision += 1
    corpus.save()


def test_a_search_that_ends_after_submission_changes_nothing(
    as_person: Client, document: Document, annotation: Annotation, person: User, django_capture_on_commit_callbacks: Any
) -> None:
    with_corpus_page(document, "Lady Lovelace wrote about flying machines as a child.")
    with django_capture_on_commit_callbacks() as callbacks:
        change(as_person, document, works(annotation)[0].claim, "search-again", query="flying machines")
    for work in works(annotation):
        finish(work, person)
    read(annotation)
    assert submit(as_person, document).status_code == 204
    for callback in callbacks:
        callback()
    assert not Evidence.objects.filter(run__plan__again=True).exists()
    document.refresh_from_db()
    assert document.stage == Stage.REVISE


def test_without_a_corpus_search_again_is_not_offered(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    document.benchmark.corpus = None
    document.benchmark.save()
    assert page(as_person, document).select_one("#search-again") is None
    answer = change(as_person, document, works(annotation)[0].claim, "search-again", query="x")
    assert "no corpus" in answer.content.decode()


# --- the edit -------------------------------------------------------------------------------------------------


@pytest.fixture
def emoji(annotation: Annotation) -> ClaimWork:
    """A claim in which a browser's offsets and Python's differ, and in which the wrong words stand twice."""
    work = works(annotation)[0]
    Claim.objects.filter(pk=work.claim.pk).update(text=EMOJI_CLAIM)
    return works(annotation)[0]


def test_edits_by_code_points(as_person: Client, document: Document, emoji: ClaimWork) -> None:
    second = EMOJI_CLAIM.rindex("1825")
    answer = change(
        as_person, document, emoji.claim, "add-edit", kind="replace", start=second, end=second + 4, replacement="1815"
    )
    assert answer.status_code == 200
    verdict = Verdict.objects.get(pk=emoji.verdict.pk)
    assert verdict.revised_claim() == "👩‍🚀 Ada was born in 1825 🎉 in 1815."
    soup = BeautifulSoup(answer.content, "html.parser")
    assert [d.get_text() for d in soup.select(".revised del, .revised ins")] == ["1825", "1815"]
    assert soup.select_one(".revised").get_text() == EMOJI_CLAIM.replace("in 1825.", "in 18251815.")  # type: ignore[union-attr]
    # An edit says that the claim is false, with all that follows from it.
    assert (verdict.factuality, verdict.evidence_sufficient) == (Factuality.FALSE, True)
    start = EMOJI_CLAIM.index("🎉")
    change(as_person, document, emoji.claim, "add-edit", kind="delete", start=start, end=start + 1)
    verdict = Verdict.objects.get(pk=emoji.verdict.pk)
    assert verdict.revised_claim() == "👩‍🚀 Ada was born in 1825 in 1815."
    first = verdict.operations.order_by("order").first()
    assert first is not None
    change(as_person, document, emoji.claim, "remove-edit", edit=first.public_id)
    assert Verdict.objects.get(pk=verdict.pk).revised_claim() == "👩‍🚀 Ada was born in 1825 🎉 in 1815."


def test_edits_on_the_same_words_are_refused(as_person: Client, document: Document, emoji: ClaimWork) -> None:
    for status in (200, 422):
        answer = change(as_person, document, emoji.claim, "add-edit", kind="replace", start=4, end=7, replacement="She")
        assert answer.status_code == status
    assert Verdict.objects.get(pk=emoji.verdict.pk).operations.count() == 1


def test_deleting_the_claim_and_writing_it_as_a_text(as_person: Client, document: Document, emoji: ClaimWork) -> None:
    answer = change(as_person, document, emoji.claim, "delete-claim")
    verdict = Verdict.objects.get(pk=emoji.verdict.pk)
    assert (verdict.factuality, verdict.revised_claim()) == (Factuality.FALSE, "")
    assert "The claim is deleted." in answer.content.decode()
    change(as_person, document, emoji.claim, "rewrite", text=EMOJI_CLAIM.replace("1825 🎉", "1815 🎉"))
    verdict = Verdict.objects.get(pk=emoji.verdict.pk)
    assert [(op.kind, op.replacement) for op in verdict.operations.all()] == [("replace", "1815")]


def test_an_edit_is_kept_but_folded_when_the_claim_is_true_after_all(
    as_person: Client, document: Document, emoji: ClaimWork
) -> None:
    change(as_person, document, emoji.claim, "delete-claim")
    answer = post_field(as_person, emoji.verdict, "factuality", "true").content.decode()
    assert "The edit is kept" in answer
    assert "Revised claim" not in answer


def test_what_the_verdict_rests_on_is_set_not_toggled(
    as_person: Client, document: Document, annotation: Annotation
) -> None:
    work = works(annotation)[0]
    evidence = work.cards[0].evidence
    for _ in range(2):  # a repeated request does no harm
        before = page(as_person, document, work.claim.public_id)
        answer = change(as_person, document, work.claim, "rests-on", evidence=evidence.public_id, rests="yes")
        assert Verdict.objects.get(pk=work.verdict.pk).rests.count() == 1
        assert_swap_equals_fresh(as_person, document, work.claim, before, answer)
    change(as_person, document, work.claim, "rests-on", evidence=evidence.public_id)
    assert Verdict.objects.get(pk=work.verdict.pk).rests.count() == 0
    other = works(annotation)[1].cards[0].evidence
    answer = change(as_person, document, work.claim, "rests-on", evidence=other.public_id, rests="yes")
    assert answer.status_code == 404


# --- back, and submit -----------------------------------------------------------------------------------------


def test_send_back_closes_the_screen(as_person: Client, document: Document, annotation: Annotation) -> None:
    claim = works(annotation)[0].claim
    answer = change(as_person, document, claim, "send-back", reason="Two facts in one.")
    assert answer.headers["HX-Redirect"] == reverse("document", args=[document.public_id])
    assert SentBack.objects.get().reason == "Two facts in one."
    document.refresh_from_db()
    assert document.stage == Stage.DECOMPOSE


def test_submit_is_the_main_button_when_nothing_is_missing_and_freezes_the_work(
    as_person: Client, document: Document, annotation: Annotation, person: User
) -> None:
    for work in works(annotation):
        finish(work, person)
    soup = page(as_person, document)
    assert [button.get_text() for button in soup.select(".btn.main")] == ["Submit verification"]
    assert "Nothing missing" in soup.get_text()
    read(annotation)
    assert submit(as_person, document).status_code == 204
    frozen = page(as_person, document)
    assert "this work is locked" in frozen.get_text()
    assert not frozen.select("#workspace [hx-post]:not([disabled])")
    assert all(each.has_attr("disabled") for each in frozen.select("[data-record] input[type=radio]"))
    stance = works(annotation)[0].cards[0].stance
    assert post_field(as_person, stance, "label", "refute").status_code == 403


# --- before submitting ----------------------------------------------------------------------------------------


def concerns(answer: Any) -> list[str]:
    soup = BeautifulSoup(answer.content, "html.parser")
    return [re.sub(r"\s+", " ", link.get_text()) for link in soup.select(".review .need")]


def test_what_contradicts_is_confirmed_with_a_reason_that_stays(
    as_person: Client, document: Document, annotation: Annotation, person: User
) -> None:
    for work in works(annotation):
        finish(work, person)
    read(annotation)
    first = works(annotation)[0]
    annotation.stances.filter(evidence__claim=first.claim).update(label=StanceLabel.IRRELEVANT)
    answer = submit(as_person, document)
    said = f"Claim {first.number} is true, but no passage supports it"
    assert (answer.status_code, concerns(answer)) == (422, [said])
    assert f"{len(works(annotation))} true" in answer.content.decode()
    assert submit(as_person, document, confirmed="yes", reason=" ").status_code == 422, "a contradiction needs a reason"
    annotation.refresh_from_db()
    assert annotation.submitted_at is None
    assert submit(as_person, document, confirmed="yes", reason="Known from the encyclopedia.").status_code == 204
    kept = Activity.objects.get(annotation=annotation, action="confirm-contradictions")
    assert kept.reason == f"{said}; Known from the encyclopedia."


@pytest.mark.parametrize(
    ("label", "factuality", "said"),
    [
        (StanceLabel.IRRELEVANT, Factuality.TRUE, "true, but no passage supports it"),
        (StanceLabel.PARTIALLY_SUPPORT, Factuality.TRUE, ""),
        (StanceLabel.COMPLETELY_SUPPORT, Factuality.FALSE, "false, but no passage refutes it"),
        (StanceLabel.REFUTE, Factuality.FALSE, ""),
        (StanceLabel.COMPLETELY_SUPPORT, Factuality.NOT_ENOUGH_EVIDENCE, "a passage supports all of it"),
        (StanceLabel.PARTIALLY_SUPPORT, Factuality.NOT_ENOUGH_EVIDENCE, ""),
        (None, Factuality.TRUE, "true, but has no evidence"),
    ],
)
def test_a_verdict_that_contradicts_its_stances_is_named(
    annotation: Annotation, label: StanceLabel | None, factuality: Factuality, said: str
) -> None:
    read(annotation)
    claim = works(annotation)[0].claim
    annotation.verdicts.filter(claim=claim).update(factuality=factuality, factuality_origin=Origin.HUMAN)
    if label is None:
        claim.evidence.all().delete()
    else:
        annotation.stances.filter(evidence__claim=claim).update(label=label)
    review = review_of(works(annotation))
    assert [each.is_contradiction for each in review.concerns] == ([True] if said else [])
    assert not said or review.concerns[0].text.endswith(said)
    assert review.counts == ((factuality.label, 1),)


def test_passages_that_were_never_in_view_are_named_before_submitting(
    as_person: Client, document: Document, annotation: Annotation, person: User
) -> None:
    for work in works(annotation):
        finish(work, person)
    read(annotation)
    first = works(annotation)[0]
    unseen = first.cards[0].stance
    annotation.stances.filter(pk=unseen.pk).update(in_view_at=None)
    assert concerns(submit(as_person, document)) == [f"Passage 1 of claim {first.number} hasn’t been in view"]
    annotation.stances.filter(pk=unseen.pk).update(label_origin=Origin.ACCEPTED)
    assert "its suggested stance was accepted" in concerns(submit(as_person, document))[0]
    assert submit(as_person, document, confirmed="yes").status_code == 204
    assert not Activity.objects.filter(action="confirm-contradictions").exists()


def test_work_that_is_faster_than_reading_is_marked_and_said_quietly(
    as_person: Client, document: Document, annotation: Annotation, person: User
) -> None:
    for work in works(annotation):
        finish(work, person)
    read(annotation)
    assert seconds_to_read(annotation) >= 2
    assert submit(as_person, document, active_seconds="1").status_code == 204
    annotation.refresh_from_db()
    assert annotation.too_fast
    said = as_person.get(reverse("document", args=[document.public_id])).content.decode()
    assert "You spent 1 s on this" in said
    assert not is_too_fast(annotation, 0), "time that was not measured says nothing"
    assert not is_too_fast(annotation, seconds_to_read(annotation))


def test_a_private_note_is_for_its_author_alone(
    client: Client, document: Document, annotation: Annotation, person: User
) -> None:
    url = reverse("note", args=[annotation.public_id])
    other = member(document.benchmark)
    client.force_login(other)
    assert client.post(url, {"note": "Mine."}).status_code == 404
    client.force_login(person)
    saved = client.post(url, {"note": "Ask about the date."})
    assert (saved.status_code, "Note saved." in saved["HX-Trigger"]) == (204, True)
    assert page(client, document).select_one("#note-text").get_text(strip=True) == "Ask about the date."  # type: ignore[union-attr]
    export = client.get(f"/api/v1/documents/{document.public_id}/")
    assert "Ask about the date." not in export.content.decode()


# --- who ------------------------------------------------------------------------------------------------------


def test_a_stranger_finds_nothing(client: Client, document: Document, annotation: Annotation) -> None:
    client.force_login(UserFactory())
    work = works(annotation)[0]
    assert client.get(reverse("verify", args=[document.public_id])).status_code == 404
    assert change(client, document, work.claim, "delete-claim").status_code == 404
    assert post_field(client, work.verdict, "factuality", "true").status_code == 404


def test_a_peer_with_a_place_of_their_own_sees_nothing_of_the_others_work(
    as_person: Client, document: Document, annotation: Annotation, person: User
) -> None:
    document.benchmark.overlap = 2
    document.benchmark.save()
    work = works(annotation)[0]
    finish(work, person)
    change(as_person, document, work.claim, "add-evidence", passage="SECRET PASSAGE", query="SECRET QUERY")
    post_field(as_person, work.verdict, "reason", "SECRET REASON")
    own = Evidence.objects.get(passage="SECRET PASSAGE")
    searched = Evidence.objects.create(
        claim=work.claim, annotation=annotation, order=50, passage="SECRET FIND", run=PipelineRun.objects.create(
            benchmark=document.benchmark, stage=Stage.VERIFY, strategy="offline",
            plan={"again": True, "annotation": annotation.pk, "claims": [work.claim.pk], "query": "SECRET SEARCH"},
            state=RunState.FINISHED,
        ),
    )  # fmt: skip
    Stance.objects.create(annotation=annotation, evidence=searched)

    peer = member(document.benchmark, Role.ANNOTATOR)
    other = Client()
    other.force_login(peer)
    open_annotation(document, Stage.VERIFY, by=peer)
    soup = page(other, document, work.claim.public_id)
    assert "SECRET" not in str(soup)
    assert not soup.select("[data-record] input[type=radio][checked]")
    assert soup.select_one("article.ev") is not None
    assert work.verdict.public_id not in str(soup)
    assert change(other, document, work.claim, "remove-evidence", evidence=own.public_id).status_code == 404
    assert change(other, document, work.claim, "rests-on", evidence=own.public_id, rests="yes").status_code == 404
    assert post_field(other, work.verdict, "factuality", "false").status_code == 404
    assert as_person.get(reverse("history", args=[key_of(work.verdict), "reason"])).status_code == 200
    assert other.get(reverse("history", args=[key_of(work.verdict), "reason"])).status_code == 404
    assert Activity.objects.filter(annotation=annotation, by=peer).count() == 0


def test_an_owner_without_a_place_is_told_why(client: Client, document: Document, annotation: Annotation) -> None:
    owner = member(document.benchmark, Role.OWNER)
    client.force_login(owner)
    answer = client.get(reverse("verify", args=[document.public_id]))
    assert answer.status_code == 403
    assert "This document already has all its annotators" in answer.content.decode()


def test_the_claim_stands_in_the_response_as_its_markdown_reads(as_person: Client, person: User) -> None:
    text = "# Life\n\n- Ada **Lovelace** was born in 1815.\n- She met Charles *Babbage* in 1833.\n\nShe died in 1852."
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=text))
    decomposed(document, person)
    document.refresh_from_db()
    annotation = open_annotation(document, Stage.VERIFY, by=person)
    claim = works(annotation)[0].claim
    screen = page(as_person, document, claim.public_id)
    context = screen.select_one("p.context")
    assert context is not None
    assert context.get_text().split() == "Ada Lovelace was born in 1815. She met Charles Babbage in 1833.".split()
    shown = screen.select_one("#in-the-answer .reading")
    assert shown is not None
    assert [each.get_text() for each in shown.select("li mark")] == ["Ada Lovelace was born in 1815."]
    assert [each.get_text() for each in shown.select("strong, em")] == ["Lovelace", "Babbage"]
    assert "She died" not in shown.get_text()
    as_person.get(reverse("decompose", args=[document.public_id]), {"response": "raw"})
    raw = page(as_person, document, claim.public_id).select_one("#in-the-answer")
    assert raw is not None
    assert raw.select_one(".reading") is None
    assert "Ada **Lovelace** was born in 1815." in raw.get_text()
