"""Screen 1 through its views: saving, swaps, structural changes, who may, and how many queries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.urls import reverse

from annotator.core.models import Annotation, Claim, Document, Sentence, User
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import Origin, Role, Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.documents import send_back
from annotator.stages.queries.decomposition import present_claims, sentences_of
from tests.factories import RESPONSE, BenchmarkFactory, DocumentFactory, UserFactory, decomposed, member, prefill
from tests.swap import comparable, soup_of, with_out_of_band, with_swapped

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> User:
    return member(BenchmarkFactory())


@pytest.fixture
def document(person: User) -> Document:
    return prefill(DocumentFactory(benchmark=person.memberships.get().benchmark))


@pytest.fixture
def annotation(document: Document, person: User) -> Annotation:
    return open_annotation(document, Stage.DECOMPOSE, by=person)


@pytest.fixture
def signed_in(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def screen(document: Document) -> str:
    return reverse("decompose", args=[document.public_id])


def post_save(client: Client, record: Sentence | Claim, field: str, value: str, **more: Any) -> Any:
    record.refresh_from_db()
    data = {"field": field, "value": value, "version": record.version, **more}
    return client.post(reverse("save", args=[key_of(record)]), data, headers={"hx-request": "true"})


def with_state(page: Any, answer: Any) -> Any:
    """The page with the map and the counts as static/js/decompose.js leaves them after the answer to a save."""
    events = json.loads(answer["HX-Trigger"])
    state = events["touchstone:sentence"]
    link = page.select_one(f"#map a[href='?sentence={state['id']}']")
    link["class"] = ["sent", "ok" if state["complete"] else "todo", *(["soft"] if state["folded"] else [])]
    link.select_one(".visually-hidden").string = " complete: " if state["complete"] else " incomplete: "
    left = len(page.select("#map .todo"))
    page.select_one("[data-complete]").string = str(len(page.select("#map a")) - left)
    page.select_one("[data-left]").string = f"{left} sentence{'' if left == 1 else 's'} left"
    if "touchstone:here" in events:
        for each in page.select("#map a"):
            is_here = each["href"] == f"?sentence={events['touchstone:here']['id']}"
            each.attrs |= {"aria-current": "true"} if is_here else {"tabindex": "-1"}
            del each["tabindex" if is_here else "aria-current"]
    return page


def test_without_suggestions_the_response_is_cut_into_sentences_and_layout_is_none() -> None:
    text = "### **1. Mercury**\n\nIt is small. It is hot.\n\n---\n\n- It has no moon."
    benchmark = BenchmarkFactory()
    person = member(benchmark)
    rows = open_annotation(DocumentFactory(benchmark=benchmark, response=text), Stage.DECOMPOSE, by=person).sentences
    found = list(rows.order_by("order").values_list("text", "start", "end"))
    assert [each for each, _, _ in found] == ["It is small.", "It is hot.", "- It has no moon."]
    assert all(text[start:end] == each for each, start, end in found)
    alone = open_annotation(DocumentFactory(benchmark=benchmark, response=" # Title\n"), Stage.DECOMPOSE, by=person)
    assert list(alone.sentences.values_list("text", "start", "end")) == [("# Title", 1, 8)]


def test_looking_takes_no_place_and_the_one_button_does(signed_in: Client, document: Document) -> None:
    page = soup_of(signed_in.get(screen(document)).content)
    assert not document.annotations.exists()
    forms = page.select("main form")
    assert len(forms) == 1 and "Start" in forms[0].get_text()
    answer = signed_in.post(str(forms[0]["action"]))
    assert answer["Location"] == screen(document)
    assert document.annotations.count() == 1


def test_shows_the_answer_and_one_sentence(signed_in: Client, annotation: Annotation, document: Document) -> None:
    page = soup_of(signed_in.get(screen(document)).content)
    assert page.select_one("#map").get_text().replace("complete:", "").count("Ada Lovelace was an English") == 1  # type: ignore[union-attr]
    assert len(page.select("[data-record^='sentence:']")) == 1
    assert "0 of 3 sentences complete" in page.select_one("#progress").get_text()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("of", "field", "value"),
    [
        ("sentence", "type", "checkworthy"),
        ("sentence", "importance", "less"),
        ("sentence", "decontext", "Ada Lovelace was a mathematician from England."),
        ("claim", "type", "factual"),
        ("claim", "type", "opinion"),
        ("claim", "text", "Ada Lovelace was a mathematician."),
        ("claim", "worth_checking", "no"),
        ("claim", "importance", "most"),
    ],
)
def test_page_after_a_save_equals_a_fresh_load(
    signed_in: Client, annotation: Annotation, document: Document, of: str, field: str, value: str
) -> None:
    sentence = sentences_of(annotation)[0]
    record = sentence if of == "sentence" else present_claims(sentence)[0]
    address = f"{screen(document)}?sentence={sentence.public_id}"
    page = soup_of(signed_in.get(address).content)
    answer = post_save(signed_in, record, field, value)
    assert answer.status_code == 200
    swapped = with_state(with_out_of_band(page, answer.content), answer)
    if field in ("decontext", "text"):  # the box itself holds what was typed; the answer never touches it
        for box in swapped.select(f"#{key_of(record).replace(':', '-')}-{field}"):
            box.string = value
    fresh = soup_of(signed_in.get(address).content)
    assert comparable(swapped, "workspace") == comparable(fresh, "workspace")


@pytest.mark.parametrize("what", ["take-over", "add-claim", "merge"])
def test_workspace_after_a_structural_change_equals_a_fresh_load(
    signed_in: Client, annotation: Annotation, document: Document, what: str
) -> None:
    sentence = sentences_of(annotation)[0]
    page = soup_of(signed_in.get(f"{screen(document)}?sentence={sentence.public_id}").content)
    address = reverse("decompose-sentence", args=[document.public_id, sentence.public_id, what])
    answer = signed_in.post(address, {"seen": all_of(sentence)}, headers={"hx-request": "true"})
    target = answer.headers.get("HX-Retarget", "#workspace").removeprefix("#")
    assert target == ("panel" if what == "take-over" else "workspace")
    swapped = with_swapped(page, answer.content, target)
    swapped = with_state(swapped, answer) if what == "take-over" else swapped
    here = swapped.select_one("[data-record^='sentence:']")
    assert here is not None
    shown = str(here["data-record"]).removeprefix("sentence:")
    fresh = soup_of(signed_in.get(f"{screen(document)}?sentence={shown}").content)
    for marked in [*swapped.select("[data-current], [data-focus]"), *fresh.select("[data-current]")]:
        for name in ("data-current", "data-focus", "aria-current"):  # what the answer is about gets the focus
            del marked[name]
    assert comparable(swapped, "workspace") == comparable(fresh, "workspace")


def all_of(sentence: Sentence) -> str:
    """A sentence and its claims, as the page names what has been in view."""
    return " ".join(key_of(each) for each in [sentence, *sentence.claims.all()])


def test_moving_on_sends_the_panel_alone(signed_in: Client, annotation: Annotation, document: Document) -> None:
    second = sentences_of(annotation)[1]
    answer = signed_in.get(f"{screen(document)}?sentence={second.public_id}", headers={"hx-request": "true"})
    assert answer["HX-Retarget"] == "#panel"
    assert json.loads(answer["HX-Trigger"])["touchstone:here"] == {"id": second.public_id}
    assert b'id="map"' not in answer.content


def test_a_response_of_400_sentences_stays_light(signed_in: Client, person: User) -> None:
    """What goes over the wire: the page, the answer to accepting all of a sentence, and to one label."""
    sentences_text = (f"**Ada** wrote `note` {number} in 18{number % 100:02} with Charles." for number in range(400))
    text = "\n".join(f"{'- ' if number % 7 else ''}{each}" for number, each in enumerate(sentences_text))
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=text))
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    sentences = sentences_of(annotation)
    assert len(sentences) == 400
    page = signed_in.get(screen(document), headers={"accept-encoding": "gzip"})
    assert len(page.content) <= 150 * 1024
    address = reverse("decompose-sentence", args=[document.public_id, sentences[7].public_id, "take-over"])
    answer = signed_in.post(address, {"seen": all_of(sentences[7])}, headers={"hx-request": "true"})
    assert len(answer.content) <= 25 * 1024
    assert len(post_save(signed_in, sentences[8], "importance", "less").content) <= 3 * 1024


MARKDOWN = """## Life

**Ada Lovelace** wrote the first program. She met *Charles Babbage* [in 1833](https://example.org/1833).

| Year | Event |
|---|---|
| 1843 | The notes appeared. |

- <b>Raw HTML</b> is shown as text.
"""


def test_markdown_is_shown_as_markdown_and_raw_on_request(signed_in: Client, person: User) -> None:
    document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=MARKDOWN))
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    page = soup_of(signed_in.get(screen(document)).content)
    shown = page.select_one("#map")
    assert shown is not None
    assert [each.get_text() for each in shown.select(".md-h2, th, strong, em, u")] == [
        "Life",
        "Ada Lovelace",
        "Charles Babbage",
        "in 1833",
        "Year",
        "Event",
    ]
    assert "<b>Raw HTML</b> is shown as text." in shown.select_one("ul > li").get_text()  # type: ignore[union-attr]
    # A row of a table is one sentence with a link in each cell; only the first one has the number.
    row = shown.select("tbody td a")
    assert [each["href"] for each in row[:1]] * 2 == [each["href"] for each in row]
    assert ["rest" in str(each["class"]) for each in row] == [False, True]
    assert len(shown.select("a:not(.rest)")) == len(sentences_of(annotation))
    assert {str(each["href"]).split("=")[0] for each in shown.select("a")} == {"?sentence"}  # no link leads out
    answer = signed_in.get(screen(document), {"response": "raw"})
    # Beautiful Soup makes one line break of the blank line between two sentences, except in these tags.
    raw = BeautifulSoup(answer.content, "html.parser", preserve_whitespace_tags={"div", "pre", "textarea"})
    for sup in raw.select("#map sup"):
        sup.decompose()
    assert raw.select_one("#map").get_text() == MARKDOWN  # type: ignore[union-attr]
    again = soup_of(signed_in.get(screen(document)).content)  # it is remembered
    assert not again.select("#map table")
    assert soup_of(signed_in.get(screen(document), {"response": "formatted"}).content).select("#map table")


def test_taking_over_moves_on_to_the_next_incomplete_sentence(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    first, second, *_ = sentences_of(annotation)
    address = reverse("decompose-sentence", args=[document.public_id, first.public_id, "take-over"])
    page = soup_of(signed_in.post(address, {"seen": all_of(first)}, headers={"hx-request": "true"}).content)
    assert page.select_one(f"[data-record='sentence:{second.public_id}']")


def test_a_removed_claim_stays_in_sight_and_comes_back(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    claim = present_claims(sentences_of(annotation)[0])[0]

    def change(what: str, **data: str) -> Any:
        address = reverse("decompose-claim", args=[document.public_id, claim.public_id, what])
        return signed_in.post(address, data, headers={"hx-request": "true"})

    gone = soup_of(change("remove", reason="redundant", note="said in 2.1").content)
    struck = gone.select_one(".claim.gone")
    assert struck is not None
    assert "redundant, said in 2.1" in struck.get_text()
    assert soup_of(change("restore").content).select_one(f"#claim-{claim.public_id}")
    refused = change("remove", reason="boredom")
    assert refused.status_code == 422
    assert "Choose why the claim is removed" in refused.content.decode()


def test_the_last_answer_completes_the_sentence_on_the_map(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    sentence = sentences_of(annotation)[0]
    page = soup_of(signed_in.get(screen(document)).content)
    states = []
    for field, value in (("type", "opinion"), ("importance", "less")):
        answer = post_save(signed_in, sentence, field, value)
        states.append(json.loads(answer["HX-Trigger"])["touchstone:sentence"])
        page = with_state(with_out_of_band(page, answer.content), answer)
    assert [each["complete"] for each in states] == [False, True]
    assert states[0]["at"] < states[1]["at"]
    assert "1 of 3 sentences complete" in page.select_one("#progress").get_text()  # type: ignore[union-attr]
    fresh = soup_of(signed_in.get(f"{screen(document)}?sentence={sentence.public_id}").content)
    assert comparable(page, "workspace") == comparable(fresh, "workspace")


def test_what_is_missing_is_listed_on_request(signed_in: Client, annotation: Annotation, document: Document) -> None:
    listed = signed_in.get(f"{screen(document)}?missing", headers={"hx-request": "true"})
    assert "type of sentence 1" in soup_of(listed.content).select_one("ul.missing a").get_text()  # type: ignore[union-attr]


def test_a_lost_answer_is_given_again_whole(signed_in: Client, annotation: Annotation) -> None:
    """The same save sent twice: the second answer tells what the first one had changed."""
    claim = present_claims(sentences_of(annotation)[0])[0]
    first = post_save(signed_in, claim, "type", "factual")
    again = post_save(signed_in, claim, "type", "factual", version=1)
    told = [{each["id"] for each in soup_of(answer.content).select("[hx-swap-oob]")} for answer in (first, again)]
    assert f"claim-{claim.public_id}-worth_checking" in told[0]
    assert told[0] <= told[1]


def test_a_stale_save_shows_both_values_and_writes_nothing(signed_in: Client, annotation: Annotation) -> None:
    claim = present_claims(sentences_of(annotation)[0])[0]
    seen = claim.version
    post_save(signed_in, claim, "text", "First tab.")
    answer = post_save(signed_in, claim, "text", "Second tab.", version=seen)
    assert answer.status_code == 409
    text = soup_of(answer.content).get_text()
    assert "First tab." in text
    assert "Second tab." in text
    claim.refresh_from_db()
    assert claim.text == "First tab."


def test_sending_the_same_value_twice_is_no_conflict(signed_in: Client, annotation: Annotation) -> None:
    claim = present_claims(sentences_of(annotation)[0])[0]
    seen = claim.version
    post_save(signed_in, claim, "text", "Said once.")
    assert post_save(signed_in, claim, "text", "Said once.", version=seen).status_code == 200


@pytest.mark.parametrize(("field", "value"), [("type", "nonsense"), ("removed", "other"), ("text", "x" * 20_001)])
def test_a_bad_value_is_refused_in_words(signed_in: Client, annotation: Annotation, field: str, value: str) -> None:
    claim = present_claims(sentences_of(annotation)[0])[0]
    answer = post_save(signed_in, claim, field, value)
    assert answer.status_code == 422
    assert soup_of(answer.content).select_one("[data-problem]")


def test_submit_lists_what_is_missing(signed_in: Client, annotation: Annotation, document: Document) -> None:
    address = reverse("submit", args=[document.public_id, "decompose"])
    answer = signed_in.post(address, headers={"hx-request": "true"})
    assert answer.status_code == 422
    assert "type of sentence 1" in answer.content.decode()


def test_history_lists_and_restores_every_version(signed_in: Client, annotation: Annotation) -> None:
    claim = present_claims(sentences_of(annotation)[0])[0]
    original = claim.text
    for text in ("One.", "Two."):
        post_save(signed_in, claim, "text", text)
    page = soup_of(signed_in.get(reverse("history", args=[key_of(claim), "text"])).content)
    assert [each.get_text() for each in page.select(".version .said")] == ["Two.", "One.", original]
    activity = page.select_one("[name=activity]")
    assert activity is not None
    signed_in.post(
        reverse("restore", args=[key_of(claim), "text"]),
        {"activity": activity["value"]},
        headers={"hx-request": "true"},
    )
    claim.refresh_from_db()
    assert claim.text == "One."


def test_who_may(client: Client, annotation: Annotation, document: Document) -> None:
    claim = present_claims(sentences_of(annotation)[0])[0]
    peer, owner = member(document.benchmark), member(document.benchmark, Role.OWNER)
    researcher, stranger = member(document.benchmark, Role.RESEARCHER), UserFactory()
    for person, page in ((peer, 403), (owner, 403), (researcher, 403), (stranger, 404)):
        client.force_login(person)
        assert client.get(screen(document)).status_code == page
        assert post_save(client, claim, "text", "Stolen.").status_code == 404
        assert client.get(reverse("history", args=[key_of(claim), "text"])).status_code == 404
        for name, args in (
            ("decompose-claim", [document.public_id, claim.public_id, "take-over"]),
            ("undo", [document.public_id, "decompose", "undo"]),
            ("submit", [document.public_id, "decompose"]),
        ):
            assert client.post(reverse(name, args=args)).status_code == 404
    claim.refresh_from_db()
    assert claim.text != "Stolen."


def test_queries_do_not_grow_with_sentences_and_claims(
    signed_in: Client, person: User, django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    for repeat in (1, 4):
        document = prefill(DocumentFactory(benchmark=person.memberships.get().benchmark, response=RESPONSE * repeat))
        open_annotation(document, Stage.DECOMPOSE, by=person)
        sentence = Sentence.objects.filter(annotation__document=document).order_by("order").first()
        assert sentence is not None
        with CaptureQueriesContext(connection) as queries:
            signed_in.get(screen(document))
        with CaptureQueriesContext(connection) as saving:
            post_save(signed_in, sentence, "importance", "less")
        counts.append((len(queries), len(saving)))
    assert counts[0] == counts[1]


def test_the_answer_marks_what_a_change_was_about(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    """The new claim, the next one after a removal, the restored one, the one an undo brought back."""
    sentence = next(each for each in sentences_of(annotation) if len(present_claims(each)) > 1)
    first, second, *_ = present_claims(sentence)

    def marked(name: str, *args: str, **data: str) -> Any:
        answer = signed_in.post(reverse(name, args=[document.public_id, *args]), data, headers={"hx-request": "true"})
        (found,) = soup_of(answer.content).select("[data-focus]")
        (current,) = soup_of(answer.content).select("[data-current]")
        return found["id"], current["id"]

    field, row = marked("decompose-sentence", sentence.public_id, "add-claim")
    assert field == f"{row}-text"
    assert marked("undo", "decompose", "undo")[0] == f"claim-{second.public_id}"
    removed = marked("decompose-claim", first.public_id, "remove", reason="redundant")
    assert removed == (f"claim-{second.public_id}", f"claim-{second.public_id}")
    assert marked("decompose-claim", first.public_id, "restore")[0] == f"claim-{first.public_id}"


def test_taking_over_says_so(signed_in: Client, annotation: Annotation, document: Document) -> None:
    sentence = sentences_of(annotation)[0]
    address = reverse("decompose-sentence", args=[document.public_id, sentence.public_id, "take-over"])
    told = json.loads(signed_in.post(address, {"seen": all_of(sentence)}, headers={"hx-request": "true"})["HX-Trigger"])
    assert told["touchstone:told"] == {"text": "Accepted. Press Z to undo"}
    assert told["touchstone:sentence"]["complete"] is True


def test_what_has_not_been_in_view_is_not_accepted(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    sentence = next(each for each in sentences_of(annotation) if len(present_claims(each)) > 1)
    *seen, unseen = present_claims(sentence)
    address = reverse("decompose-sentence", args=[document.public_id, sentence.public_id, "take-over"])
    keys = " ".join(key_of(each) for each in [sentence, *seen])
    answer = signed_in.post(address, {"seen": keys}, headers={"hx-request": "true"})
    assert json.loads(answer["HX-Trigger"])["touchstone:told"]["text"].startswith("Accepted what has been in view")
    assert soup_of(answer.content).select_one(f"[data-record='{key_of(unseen)}']")
    unseen.refresh_from_db()
    seen[0].refresh_from_db()
    assert (unseen.text_origin, seen[0].text_origin) == ("", Origin.ACCEPTED)


def test_the_history_restores_the_original(signed_in: Client, annotation: Annotation) -> None:
    claim = present_claims(sentences_of(annotation)[0])[0]
    original = claim.text
    post_save(signed_in, claim, "text", "One.")
    page = soup_of(signed_in.get(reverse("history", args=[key_of(claim), "text"])).content)
    button = page.select("[name=activity]")[-1]
    data = {"activity": str(button["value"]), **json.loads(str(button["hx-vals"]))}
    signed_in.post(reverse("restore", args=[key_of(claim), "text"]), data, headers={"hx-request": "true"})
    claim.refresh_from_db()
    assert (claim.text, claim.text_origin) == (original, Origin.ACCEPTED)


def test_a_claim_that_was_sent_back_says_why(signed_in: Client, person: User, document: Document) -> None:
    """The repair opens its sentence, with the reason above the claim; all others are closed and say so."""
    annotation = decomposed(document, person)
    sentence = sentences_of(annotation)[1]
    claim = present_claims(sentence)[0]
    send_back(claim.agreed_rows.get(), "Two facts in one.", by=person)
    page = soup_of(signed_in.get(screen(document)).content)
    card = page.select_one(f"#claim-{claim.public_id}")
    assert card is not None
    assert f"Sent back by {person}: Two facts in one." in card.select_one(".returned").get_text()  # type: ignore[union-attr]
    assert len(page.select("#map .locked")) == len(page.select("#map a")) - 1
    assert "Reopened: sentence 2; the rest" in page.select_one("#foot").get_text()  # type: ignore[union-attr]


def test_closed_stages_say_when_they_open(signed_in: Client, document: Document) -> None:
    stages = soup_of(signed_in.get(screen(document)).content).select(".steps [aria-disabled]")
    assert [each["title"] for each in stages] == [
        "Opens when decompose is adjudicated",
        "Opens when verify is adjudicated",
    ]
