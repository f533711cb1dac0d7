"""Screen 3 through its views: statements, undecided claims, the revised answer, who may, and how many queries."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.models import Annotation, Document, Sentence, SentenceRevision, User
from annotator.core.models.base import Record
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import AnnotationKind, EditKind, Factuality, Handling, Origin, Role, Stage, StanceLabel
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_operation
from annotator.stages.queries.adjudicated import merged_response
from annotator.stages.queries.revision import StatementClaim, StatementRow, statements_of
from annotator.stages.queries.verification import claims_to_verify
from pipeline.metrics.text import edit_distance, word_overlap
from tests.factories import (
    RESPONSE,
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    decomposed,
    member,
    prefill,
    save,
    with_corpus,
)
from tests.swap import comparable, soup_of, with_out_of_band, with_swapped

pytestmark = pytest.mark.django_db

HTMX = {"hx-request": "true"}
BORN = "born in 1825"
WORKED = "Babbage"


@pytest.fixture
def person() -> User:
    return member(BenchmarkFactory())


def verified_document(person: User, *, response: str = RESPONSE, edit: str = "1825") -> Document:
    """A document at revise: the claim of the birth year is false (``edit`` is what is replaced by 1815), the one
    about Babbage could not be decided, the rest is true."""
    benchmark = person.memberships.get().benchmark
    if benchmark.corpus is None:
        with_corpus(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark, response=response))
    decomposed(document, person)
    document.refresh_from_db()
    annotation = open_annotation(document, Stage.VERIFY, by=person)
    for work in claims_to_verify(annotation):
        text = work.claim.text
        factuality = Factuality.TRUE
        if BORN in text:
            factuality = Factuality.FALSE
        elif WORKED in text:
            factuality = Factuality.NOT_ENOUGH_EVIDENCE
        for card in work.cards:
            save(card.stance, "label", StanceLabel.IRRELEVANT, person)
        save(work.verdict, "factuality", factuality, person)
        if factuality == Factuality.NOT_ENOUGH_EVIDENCE:
            save(work.verdict, "evidence_sufficient", "no", person)
        if factuality == Factuality.FALSE:
            start = text.index(edit)
            verdict = work.verdict
            add_operation(
                verdict, kind=EditKind.REPLACE, start=start, end=start + len(edit), replacement="1815", by=person
            )
    submit(annotation, by=person)
    document.refresh_from_db()
    assert document.stage == Stage.REVISE
    return document


@pytest.fixture
def document(person: User) -> Document:
    return verified_document(person)


@pytest.fixture
def annotation(document: Document, person: User) -> Annotation:
    return open_annotation(document, Stage.REVISE, by=person)


@pytest.fixture
def signed_in(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def screen(document: Document) -> str:
    return reverse("revise", args=[document.public_id])


def load(client: Client, document: Document, sentence: str = "") -> BeautifulSoup:
    answer = client.get(screen(document), {"sentence": sentence})
    assert answer.status_code == 200
    return soup_of(answer.content)


def post_save(client: Client, record: Record, field: str, value: str, **more: Any) -> Any:
    record.refresh_from_db()
    data = {"field": field, "value": value, "version": record.version, **more}
    return client.post(reverse("save", args=[key_of(record)]), data, headers=HTMX)


def change(client: Client, document: Document, row: StatementRow, what: str) -> Any:
    address = reverse("revise-sentence", args=[document.public_id, row.row.public_id, what])
    return client.post(address, headers=HTMX)


def change_answer(client: Client, document: Document, what: str) -> Any:
    return client.post(reverse("revise-response", args=[document.public_id, what]), headers=HTMX)


def step(client: Client, document: Document, what: str) -> Any:
    return client.post(reverse("undo", args=[document.public_id, "revise", what]), headers=HTMX)


def one(page: BeautifulSoup, selector: str) -> Tag:
    found = page.select(selector)
    assert len(found) == 1, f"{len(found)} elements are {selector}"
    return found[0]


def text_in(page: BeautifulSoup, selector: str) -> str:
    """The words of an element; of a text box without the line break that the parser drops."""
    element = one(page, selector)
    return element.get_text().removeprefix("\n") if element.name == "textarea" else " ".join(element.get_text().split())


def answer_text(page: BeautifulSoup) -> str:
    return text_in(page, "#response-text")


def undecided(annotation: Annotation) -> tuple[StatementRow, StatementClaim]:
    return next((row, each) for row in statements_of(annotation) for each in row.claims if each.is_undecided)


def false(annotation: Annotation) -> StatementRow:
    return next(row for row in statements_of(annotation) if any(each.operations for each in row.claims))


# --- what is shown --------------------------------------------------------------------------------------


def test_shows_statements_in_order_with_their_claims(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    page = load(signed_in, document)
    rows = page.select("article.statement")
    assert [" ".join(one(row, ".no").get_text().split()) for row in rows] == [  # type: ignore[arg-type]
        "Sentence 1",
        "Sentence 2",
        "Sentence 3",
    ]
    assert [one(row, ".meta").get_text() for row in rows] == ["unchanged", "1 edit", "opinion, kept"]  # type: ignore[arg-type]
    second = rows[1]
    assert one(second, "textarea[data-edit]").get_text().startswith("\nShe was born in 1815")  # type: ignore[arg-type]
    assert one(second, ".diff[data-diff-of$='-text'][data-diff-base*='1825']")["data-diff-base"].startswith("She was")  # type: ignore[arg-type, union-attr]
    assert (one(second, ".of del").get_text(), one(second, ".of ins").get_text()) == ("1825", "1815")  # type: ignore[arg-type]
    glyphs = [glyph.get_text() for glyph in second.select(".of .glyph")]
    assert ["✕False: ", "?Not enough evidence: "] == glyphs
    assert "Nothing missing" in text_in(page, "#foot")


def test_the_original_response_is_shown_as_its_markdown_reads(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    Document.objects.filter(pk=document.pk).update(response="# Life\n\n- **Ada** wrote notes.")
    shown = load(signed_in, document).select("details .reading :is(.md-h1, li > strong)")
    assert [each.get_text() for each in shown] == ["Life", "Ada"]


def test_nothing_to_do_when_all_edits_were_carried_over(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    load(signed_in, document)
    answer = signed_in.post(reverse("submit", args=[document.public_id, "revise"]), headers=HTMX)
    assert (answer.status_code, answer["HX-Redirect"]) == (204, reverse("document", args=[document.public_id]))
    document.refresh_from_db()
    assert document.is_gold
    adjudicated = document.annotations.get(stage=Stage.REVISE, kind=AnnotationKind.CONSOLIDATED)
    assert adjudicated.response_revision.text == RESPONSE.replace("1825", "1815")
    frozen = load(signed_in, document)
    assert answer_text(frozen) == RESPONSE.replace("1825", "1815")
    assert "locked" in text_in(frozen, "#foot")
    assert not frozen.select("[hx-post]")
    assert all(box.has_attr("readonly") for box in frozen.select("textarea"))


def test_figures_are_those_of_the_metrics(signed_in: Client, annotation: Annotation, document: Document) -> None:
    response = annotation.response_revision
    for text in (RESPONSE, "Ada Lovelace was a writer.", ""):
        page = with_out_of_band(load(signed_in, document), post_save(signed_in, response, "text", text).content)
        figures = [each.get_text() for each in page.select("#figures dd.figure")]
        assert figures == [f"{edit_distance(RESPONSE, text):.2f}", f"{word_overlap(RESPONSE, text):.2f}"]
    document.response = "x" * 1000
    document.save()
    page = soup_of(post_save(signed_in, response, "text", "x" * 998).content)
    assert one(page, "#figures div:first-child dd.figure").get_text() == "0.002"
    kept = {"a b c d": 100, "a c d": 75, "d c b a": 25, "": 0}
    document.response = "a b c d"
    document.save()
    for text, share in kept.items():
        page = soup_of(post_save(signed_in, response, "text", text).content)
        assert one(page, "progress.kept")["value"] == str(share)


# --- saving, and the page after it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "field", "value"),
    [
        ("sentence", "text", "She was born in 1815, a year that she disliked."),
        ("sentence", "text", ""),
        ("sentence", "text", "\nShe was born."),
        ("claim", "handling", "rewrite"),
        ("claim", "handling", "delete"),
        ("claim", "text", "Ada Lovelace wrote to Charles Babbage."),
        ("claim", "text", ""),
        ("answer", "text", "Ada Lovelace was a writer."),
        ("answer", "text", ""),
    ],
)
@pytest.mark.parametrize("edited_before", [False, True])
def test_page_after_a_save_equals_a_fresh_load(
    signed_in: Client,
    annotation: Annotation,
    document: Document,
    of: str,
    field: str,
    value: str,
    edited_before: bool,
) -> None:
    if edited_before:
        post_save(signed_in, annotation.response_revision, "text", "An answer of my own.")
    row, claim = undecided(annotation)
    record: Record = {"sentence": row.row, "claim": claim.revision, "answer": annotation.response_revision}[of]  # type: ignore[assignment]
    here = row.sentence.public_id  # where one stands is the page's matter, no save moves it
    page = load(signed_in, document, here)
    answer = post_save(signed_in, record, field, value)
    assert answer.status_code == 200
    if of != "sentence" or edited_before:
        assert not soup_of(answer.content).select("textarea"), "only the answer that follows is ever redrawn"
    swapped = with_out_of_band(page, answer.content)
    if field == "text":  # the box itself holds what was typed
        box = swapped.select_one("#response-text" if of == "answer" else f"#{key_of(record).replace(':', '-')}-text")
        assert box is not None
        box.string = f"\n{value}"
    assert comparable(swapped, "workspace") == comparable(load(signed_in, document, here), "workspace")


@pytest.mark.parametrize("what", ["delete", "merge-again", "keep"])
def test_workspace_after_a_structural_change_equals_a_fresh_load(
    signed_in: Client, annotation: Annotation, document: Document, what: str
) -> None:
    post_save(signed_in, annotation.response_revision, "text", "An answer of my own.")
    row = statements_of(annotation)[0]
    page = load(signed_in, document, row.sentence.public_id)
    answer = change(signed_in, document, row, what) if what == "delete" else change_answer(signed_in, document, what)
    swapped = with_swapped(page, answer.content, "workspace")
    assert comparable(swapped, "workspace") == comparable(load(signed_in, document), "workspace")


def test_a_stale_save_shows_both_texts_and_writes_nothing(signed_in: Client, annotation: Annotation) -> None:
    for record in (statements_of(annotation)[0].row, annotation.response_revision):
        seen = record.version
        post_save(signed_in, record, "text", "First tab.")
        answer = post_save(signed_in, record, "text", "Second tab.", version=seen)
        assert answer.status_code == 409
        dialog = soup_of(answer.content)
        assert "First tab." in dialog.get_text()
        assert "Second tab." in dialog.get_text()
        assert dialog.get_text().count("You, in another tab,") == 1
        difference = one(dialog, ".diff")
        assert difference["data-diff-base"] == "First tab."
        assert one(dialog, str(difference["data-diff-of"])).get_text() == "Second tab."
        record.refresh_from_db()
        assert record.text == "First tab."


# --- sentences ---------------------------------------------------------------------------------------------


def test_a_deleted_sentence_leaves_the_answer_and_comes_back(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    row = statements_of(annotation)[0]
    page = soup_of(change(signed_in, document, row, "delete").content)
    assert answer_text(page) == RESPONSE.replace("1825", "1815").removeprefix(f"{row.sentence.text} ")
    assert one(page, "article.gone s").get_text() == row.row.text
    assert "“She” may have lost" in text_in(
        page, f"#sentence-revision-{statements_of(annotation)[1].row.public_id}-hints"
    )
    page = soup_of(change(signed_in, document, row, "bring-back").content)
    assert answer_text(page) == RESPONSE.replace("1825", "1815")
    assert not page.select("article.gone, .hint")
    change(signed_in, document, row, "delete")
    assert not soup_of(step(signed_in, document, "undo").content).select("article.gone")
    assert change(signed_in, document, row, "paint").status_code == 422


def test_an_edit_without_a_place_is_said_and_confirmed(signed_in: Client, person: User) -> None:
    document = verified_document(person, edit="born in 1825")
    annotation = open_annotation(document, Stage.REVISE, by=person)
    row = false(annotation)
    # A claim's words need not be the sentence's: here they differ by a capital.
    Sentence.objects.filter(pk=row.sentence.pk).update(text="Born in 1825.")
    annotation.sentence_revisions.all().delete()
    page = load(signed_in, document)
    row = false(annotation)
    hint = text_in(page, f"#sentence-revision-{row.row.public_id}-hints")
    assert "Replace “born in 1825” with “1815”: couldn’t be placed in the sentence." in hint
    assert "edit of sentence 2" in text_in(page, "#missing")
    link = one(page, "#missing a")["href"]
    assert page.select(f"textarea{link}")
    assert one(page, "article[data-current]")["id"] == f"sentence-revision-{row.row.public_id}"
    refused = signed_in.post(reverse("submit", args=[document.public_id, "revise"]), headers=HTMX)
    assert refused.status_code == 422
    page = soup_of(change(signed_in, document, row, "confirm").content)
    assert "Nothing missing" in text_in(page, "#foot")
    assert not page.select(".hint.open")
    change(signed_in, document, row, "confirm")
    row.row.refresh_from_db()
    assert row.row.text_origin == Origin.HUMAN
    assert annotation.activities.filter(action="confirm-sentence").count() == 1, "pressed twice, decided once"


def test_a_sentence_whose_claims_were_adjudicated_anew_is_looked_at_again(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    row = false(annotation).row
    post_save(signed_in, row, "text", "She was born in 1815, they say.")
    SentenceRevision.objects.filter(pk=row.pk).update(text_origin="")  # as changed_sentences.ask_again leaves it
    page = load(signed_in, document)
    assert "have been adjudicated again" in text_in(page, f"#sentence-revision-{row.public_id}-hints")
    assert "review of sentence 2" in text_in(page, "#missing")
    assert "to review again" in text_in(page, f"#sentence-revision-{row.public_id}-meta")
    assert signed_in.post(reverse("submit", args=[document.public_id, "revise"]), headers=HTMX).status_code == 422
    page = soup_of(change(signed_in, document, false(annotation), "confirm").content)
    assert "Nothing missing" in text_in(page, "#foot") and not page.select(".hint.open")
    row.refresh_from_db()
    assert (row.text, row.text_origin) == ("She was born in 1815, they say.", Origin.HUMAN)


def test_mending_by_hand_settles_an_open_edit(signed_in: Client, annotation: Annotation, document: Document) -> None:
    row = false(annotation).row
    row.text_origin = ""
    row.save()
    answer = post_save(signed_in, row, "text", "She was born ten years earlier.")
    assert "Nothing missing" in text_in(soup_of(answer.content), "#foot")


def test_marks_a_statement_that_repeats_an_earlier_one(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    first, second, _ = statements_of(annotation)
    answer = post_save(signed_in, second.row, "text", "Ada Lovelace, an English mathematician, she was.")
    page = soup_of(answer.content)
    hint = f"#sentence-revision-{second.row.public_id}-hints"
    assert "Mostly repeats sentence 1" in text_in(page, hint)
    change(signed_in, document, first, "delete")
    assert "Repeats" not in text_in(load(signed_in, document), hint)


# --- claims without enough evidence ------------------------------------------------------------------------


def test_an_undecided_claim_is_kept_by_default_and_marked(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    page = load(signed_in, document)
    chosen = one(page, ".undecided input:checked")
    assert chosen["value"] == "keep"
    assert WORKED in answer_text(page)


def test_rewriting_an_undecided_claim(signed_in: Client, annotation: Annotation, document: Document) -> None:
    row, claim = undecided(annotation)
    assert claim.revision is not None
    hints = f"#sentence-revision-{row.row.public_id}-hints"
    rewritten = claim.claim.text.replace("Charles Babbage", "an engineer")
    answer = post_save(signed_in, claim.revision, "text", rewritten)
    page = soup_of(answer.content)
    claim.revision.refresh_from_db()
    assert (claim.revision.handling, claim.revision.text) == (Handling.REWRITE, rewritten)
    assert one(page, f"#claim-revision-{claim.revision.public_id}-choice input:checked")["value"] == "rewrite"
    assert f"Claim {claim.number} is rewritten." in text_in(page, hints)
    row, _ = undecided(annotation)
    assert row.offer == row.row.text.replace("Charles Babbage", "an engineer")
    page = soup_of(change(signed_in, document, row, "carry").content)
    assert "worked with an engineer" in answer_text(page)
    assert not page.select(".hint")
    assert change(signed_in, document, row, "carry").status_code == 422, "carried over already"
    page = soup_of(step(signed_in, document, "undo").content)
    assert "Charles Babbage" in answer_text(page)


def test_deleting_an_undecided_claim_asks_about_its_sentence(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    row, claim = undecided(annotation)
    assert claim.revision is not None
    page = soup_of(post_save(signed_in, claim.revision, "handling", "delete").content)
    hints = text_in(page, f"#sentence-revision-{row.row.public_id}-hints")
    assert f"Claim {claim.number} is deleted. The sentence hasn’t changed; correct it by hand" in hints
    assert text_in(page, f"#sentence-revision-{row.row.public_id}-meta") == "1 edit, 1 claim deleted"
    mended = soup_of(post_save(signed_in, row.row, "text", "She was born in 1815.").content)
    assert not mended.select(".hint")
    assert answer_text(mended) == RESPONSE.replace("1825 and worked with Charles Babbage", "1815")


def test_a_sentence_whose_claims_are_all_deleted_says_so(
    signed_in: Client, person: User, annotation: Annotation, document: Document
) -> None:
    row, claim = undecided(annotation)
    assert claim.revision is not None
    for each in row.claims:
        if each.claim.pk != claim.claim.pk:
            each.claim.removed = "other"
            each.claim.save()
    page = soup_of(post_save(signed_in, claim.revision, "handling", "delete").content)
    assert "Every claim in this sentence is deleted" in text_in(page, f"#sentence-revision-{row.row.public_id}-hints")


# --- the revised answer -----------------------------------------------------------------------------------


def test_the_answer_follows_until_it_is_edited(signed_in: Client, annotation: Annotation, document: Document) -> None:
    row = statements_of(annotation)[0].row
    page = load(signed_in, document)
    assert answer_text(page) == merged_response(annotation)
    page = soup_of(post_save(signed_in, row, "text", "Ada Lovelace was a mathematician.").content)
    assert answer_text(page) == merged_response(annotation)
    assert answer_text(page).startswith("Ada Lovelace was a mathematician. She")
    response = annotation.response_revision
    page = soup_of(post_save(signed_in, response, "text", "My own answer.").content)
    assert "no longer follows the statements" in text_in(page, "#answer-state")
    assert "changed since" not in text_in(page, "#answer-state")
    response.refresh_from_db()
    assert (response.follows_statements, response.text_origin) == (False, Origin.HUMAN)
    answer = post_save(signed_in, row, "text", "Ada Lovelace was a writer.")
    page = soup_of(answer.content)
    assert not page.select("#response-text"), "what was written by hand is never redrawn"
    assert "The statements changed since" in text_in(page, "#answer-state")
    assert answer_text(load(signed_in, document)) == "My own answer."


def test_keeping_the_text_asks_again_only_after_another_change(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    row = statements_of(annotation)[0].row
    post_save(signed_in, annotation.response_revision, "text", "My own answer.")
    post_save(signed_in, row, "text", "One.")
    assert "changed since" in text_in(load(signed_in, document), "#answer-state")
    page = soup_of(change_answer(signed_in, document, "keep").content)
    assert "changed since" not in text_in(page, "#answer-state")
    assert answer_text(page) == "My own answer."
    page = soup_of(post_save(signed_in, row, "text", "Two.").content)
    assert "changed since" in text_in(page, "#answer-state")
    page = soup_of(post_save(signed_in, row, "text", "One.").content)
    assert "changed since" not in text_in(page, "#answer-state"), "the statements are again what they were"
    assert change_answer(signed_in, document, "paint").status_code == 422


def test_merging_again_asks_first_and_undo_brings_the_text_back(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    row = statements_of(annotation)[0].row
    response = annotation.response_revision
    post_save(signed_in, response, "text", "My own answer.")
    post_save(signed_in, row, "text", "Ada wrote.")
    page = load(signed_in, document)
    question = one(page, "#answer-state .popover")
    assert "Undo" in question.get_text()
    assert one(page, "[hx-post$='merge-again/']") in question.select("button"), "only behind the question"
    page = soup_of(change_answer(signed_in, document, "merge-again").content)
    assert answer_text(page) == merged_response(annotation)
    assert "follows the statements" in text_in(page, f"#response-revision-{response.public_id}-meta")
    page = soup_of(step(signed_in, document, "undo").content)
    assert answer_text(page) == "My own answer."
    assert "changed since" in text_in(page, "#answer-state"), "the text is as old as it was"
    page = soup_of(step(signed_in, document, "redo").content)
    assert answer_text(page) == merged_response(annotation)
    history = signed_in.get(reverse("history", args=[key_of(response), "text"]))
    assert "My own answer." in history.content.decode()


def test_a_text_equal_to_the_statements_follows_again_without_a_question(
    signed_in: Client, annotation: Annotation, document: Document
) -> None:
    merged = merged_response(annotation)
    page = soup_of(post_save(signed_in, annotation.response_revision, "text", merged).content)
    assert not page.select("#answer-state .popover")
    assert one(page, "[hx-post$='merge-again/']").get_text() == "Follow the statements again"


def test_what_was_written_by_hand_becomes_gold(
    signed_in: Client, person: User, annotation: Annotation, document: Document
) -> None:
    post_save(signed_in, annotation.response_revision, "text", "My own answer.")
    submit(annotation, by=person)
    adjudicated = document.annotations.get(stage=Stage.REVISE, kind=AnnotationKind.CONSOLIDATED)
    assert adjudicated.response_revision.text == "My own answer."


# --- who may, and how many queries --------------------------------------------------------------------------


def test_who_may(client: Client, annotation: Annotation, document: Document) -> None:
    row = statements_of(annotation)[0]
    peer, owner = member(document.benchmark), member(document.benchmark, Role.OWNER)
    researcher, stranger = member(document.benchmark, Role.RESEARCHER), UserFactory()
    for other, page in ((peer, 403), (owner, 403), (researcher, 403), (stranger, 404)):
        client.force_login(other)
        assert client.get(screen(document)).status_code == page
        assert post_save(client, row.row, "text", "Stolen.").status_code == 404
        assert post_save(client, annotation.response_revision, "text", "Stolen.").status_code == 404
        for what in ("delete", "bring-back", "confirm", "carry"):
            assert change(client, document, row, what).status_code == 404
        for what in ("merge-again", "keep"):
            assert change_answer(client, document, what).status_code == 404
    assert client.get(reverse("revise-response", args=[document.public_id, "keep"])).status_code == 405
    row.row.refresh_from_db()
    assert (row.row.text, row.row.deleted) == (row.sentence.text, False)


def test_a_row_of_another_document_is_not_found(signed_in: Client, person: User, annotation: Annotation) -> None:
    other = verified_document(person)
    row = statements_of(annotation)[0]
    open_annotation(other, Stage.REVISE, by=person)
    assert change(signed_in, other, row, "delete").status_code == 404


def test_queries_do_not_grow_with_sentences_and_claims(signed_in: Client, person: User) -> None:
    counts = []
    for repeat in (1, 3):
        document = verified_document(person, response=" ".join([RESPONSE] * repeat))
        annotation = open_annotation(document, Stage.REVISE, by=person)
        assert len(statements_of(annotation)) == 3 * repeat
        with CaptureQueriesContext(connection) as showing:
            signed_in.get(screen(document))
        with CaptureQueriesContext(connection) as saving:
            post_save(signed_in, statements_of(annotation)[0].row, "text", "Shorter.")
        counts.append((len(showing), len(saving)))
    assert counts[0] == counts[1]
