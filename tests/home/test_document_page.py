"""The list of documents and the page of one: what comes next, what is agreed, what happened, and who may see it."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotator.core.models import Activity, Benchmark, Document, Flag, User
from annotator.core.queries.documents import DocumentFilter, page_of
from annotator.core.queries.history import lines_of, visible_activities, visible_annotations
from annotator.core.vocabulary import Phase, Role, RunState, Stage
from annotator.stages.actions import documents as actions
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    decomposed,
    documents,
    member,
    prefill,
    save,
    verified,
    with_corpus,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot")
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def document(benchmark: Benchmark) -> Document:
    return prefill(DocumentFactory(benchmark=benchmark))


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ada Lovelace")


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga Owner")


def gold(document: Document, user: User) -> Document:
    """The document through all three stages; the year 1825 is mended."""
    decomposed(document, user)
    document.refresh_from_db()
    verified(document, user, false_claim="1825")
    submit(open_annotation(document, Stage.REVISE, by=user), by=user)
    document.refresh_from_db()
    assert document.is_gold
    return document


def show(client: Client, user: User, document: Document, **query: str) -> BeautifulSoup:
    client.force_login(user)
    answer = client.get(f"/d/{document.public_id}/", query)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser")


def one(soup: BeautifulSoup | Tag, selector: str) -> Tag:
    found = soup.select_one(selector)
    assert found is not None, f"nothing fits {selector}"
    return found


def words(tag: Tag) -> str:
    return " ".join(tag.get_text(" ").split())


def do(client: Client, user: User, document: Document, what: str, **data: str) -> Any:
    client.force_login(user)
    return client.post(f"/d/{document.public_id}/do/{what}/", data)


# --- what comes next ------------------------------------------------------------------------------


def test_from_start_to_gold_there_is_always_one_button(client: Client, document: Document, ada: User) -> None:
    def button() -> tuple[str, str]:
        main = show(client, ada, document).select("#standing .btn.main")
        assert len(main) == 1
        form = main[0].find_parent("form")
        return main[0].get_text().split()[0], str(main[0].get("href", "") or (form["action"] if form else ""))

    base = f"/d/{document.public_id}"
    assert button() == ("Start", f"{base}/start/decompose/")
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    assert button() == ("Continue", f"{base}/decompose/")
    decomposed(document, ada)
    assert button() == ("Start", f"{base}/start/verify/")
    document.refresh_from_db()
    verified(document, ada)
    assert button() == ("Start", f"{base}/start/revise/")
    submit(open_annotation(document, Stage.REVISE, by=ada), by=ada)
    assert button()[0] == "Next"
    assert "Gold" in words(one(show(client, ada, document), "#standing"))


def test_after_submitting_the_page_says_what_comes_next(client: Client, document: Document, ada: User) -> None:
    decomposed(document, ada)
    standing = words(one(show(client, ada, document), "#standing"))
    assert "Next: verify" in standing
    assert "Decompose is complete." in standing


def test_the_page_says_whether_somebody_has_begun(client: Client, document: Document, ada: User, owner: User) -> None:
    document.benchmark.overlap = 2
    document.benchmark.save()
    standing = one(show(client, ada, document), "#standing")
    assert "Nobody has started it yet." in words(standing)
    assert words(standing).count("Start") == 1
    open_annotation(document, Stage.DECOMPOSE, by=owner)
    assert "Someone else is working on it, and another annotator is needed." in words(
        one(show(client, ada, document), "#standing")
    )


def test_what_one_can_do_stands_above_the_history(client: Client, document: Document, owner: User) -> None:
    panels = show(client, owner, document).select(".document-right > section")
    assert [panel.get("aria-label") or panel.get("id") for panel in panels] == ["places", "More", "history"]


def test_whoever_cannot_start_is_told_why(client: Client, document: Document, ada: User, owner: User) -> None:
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    assert "This document already has all its annotators." in words(one(show(client, owner, document), "#standing"))
    reader = member(document.benchmark, Role.RESEARCHER)
    assert "Your role can view gold" in words(one(show(client, reader, document), "#standing"))


def test_while_suggestions_are_made_the_panel_looks_again_and_then_offers_the_screen(
    client: Client, benchmark: Benchmark, ada: User
) -> None:
    document = DocumentFactory(benchmark=benchmark, phase=Phase.PREFILLING)
    waiting = one(show(client, ada, document), "#standing")
    assert waiting["hx-trigger"] == "every 2s"
    assert not waiting.select(".btn.main")
    assert waiting.select_one("progress") is not None
    Document.objects.filter(pk=document.pk).update(phase=Phase.INDEPENDENT)
    part = client.get(str(waiting["hx-get"]), headers={"hx-request": "true"})
    swapped = one(BeautifulSoup(part.content, "html.parser"), "#standing")
    assert not swapped.has_attr("hx-trigger")
    assert one(swapped, "form")["action"] == f"/d/{document.public_id}/start/decompose/"
    # The page after the swap is the page of a fresh load.
    assert words(swapped) == words(one(show(client, ada, document), "#standing"))


def test_failed_suggestions_are_named_and_do_not_stop_the_work(client: Client, document: Document, ada: User) -> None:
    document.run_items.update(state=RunState.FAILED, error="ValueError: no sentence")
    standing = one(show(client, ada, document), "#standing")
    assert "Suggestions for this stage failed (ValueError: no sentence)" in words(standing)
    assert one(standing, ".btn.main").get_text().startswith("Start")


# --- what is agreed -------------------------------------------------------------------------------


def test_gold_is_readable_with_verdicts_and_the_diff_of_the_answer(
    client: Client, document: Document, ada: User, owner: User
) -> None:
    gold(document, ada)
    page = show(client, owner, document)
    adjudicated = words(one(page, "[aria-labelledby=agreed-title]"))
    assert "1 false" in adjudicated
    assert "born in 1825. (False)" in adjudicated
    assert "born in 1815" in one(page, "#revised").get_text()
    diff = one(page, "[data-diff-of='#revised']")
    assert "born in 1825" in str(diff["data-diff-base"])


def test_nothing_of_open_work_is_shown_as_adjudicated(
    client: Client, document: Document, ada: User, owner: User
) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    save(sentences_of(annotation)[0], "decontext", "Only Ada has written this.", ada)
    html = str(show(client, owner, document))
    assert "Only Ada has written this." not in html
    assert "agreed-title" not in html


# --- history and blindness ------------------------------------------------------------------------


def test_the_history_hides_a_partners_work_until_the_stage_is_adjudicated(
    client: Client, document: Document, ada: User, owner: User
) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    save(sentences_of(annotation)[0], "type", "opinion", ada)
    own, others = (words(one(show(client, user, document), "#history")) for user in (ada, owner))
    assert "Ada Lovelace started decompose" in own
    assert "changed 1 answer in decompose" in own
    assert "Ada Lovelace" not in others and "opinion" not in others
    save(sentences_of(annotation)[0], "type", "checkworthy", ada)
    decomposed(document, ada)
    now = words(one(show(client, owner, document), "#history"))
    assert "Ada Lovelace submitted decompose" in now
    assert "changed 2 answers in decompose" in now


@pytest.mark.parametrize("submitted", [0, 1, 2])
def test_with_two_people_each_sees_the_other_when_both_have_submitted(benchmark: Benchmark, submitted: int) -> None:
    benchmark.overlap = 2
    benchmark.save()
    document = prefill(DocumentFactory(benchmark=benchmark))
    people = [member(benchmark), member(benchmark)]
    annotations = [open_annotation(document, Stage.DECOMPOSE, by=user) for user in people]
    for annotation, user in list(zip(annotations, people, strict=True))[:submitted]:
        from annotator.stages.actions.decompose import accept_sentence

        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=user)
        submit(annotation, by=user)
    document.refresh_from_db()
    for user, own in zip(people, annotations, strict=True):
        rows = list(document.annotations.all())
        seen = {row.pk for row in visible_annotations(document, user, rows)}
        # With both there is the agreed version in the making too: what they settle is theirs to see by then.
        assert seen == ({row.pk for row in rows} if submitted == 2 else {own.pk})
        actors = {row.by_id for row in visible_activities(document, user, rows)} - {None}
        assert actors == ({each.pk for each in people} if submitted == 2 else {user.pk})


def test_a_place_given_back_leaves_no_trace_for_others(document: Document, ada: User, owner: User) -> None:
    """The annotation is gone, and its activities with no annotation to judge by are still Ada's own."""
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    actions.flag(document, "conflict_of_interest", by=ada)
    assert Activity.objects.filter(action="open", annotation__isnull=True).exists()
    document.refresh_from_db()
    seen = {row.action for row in visible_activities(document, owner, document.annotations.all())}
    assert "open" not in seen and "flag" in seen
    assert "open" in {row.action for row in visible_activities(document, ada, document.annotations.all())}


def test_neighbouring_changes_are_one_line_in_words(document: Document, ada: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    sentence = sentences_of(annotation)[0]
    save(sentence, "type", "not_a_claim", ada)
    save(sentence, "importance", "less", ada)
    first = lines_of(visible_activities(document, ada, [annotation]))[0]
    assert (first.who, first.what) == ("Ada Lovelace", "changed 2 answers in decompose")
    assert first.details == [
        "importance of sentence “Ada Lovelace was an English mathematician.”: less",
        "type of sentence “Ada Lovelace was an English mathematician.”: not a claim",
    ]


def test_every_action_is_told_in_words(document: Document, ada: User, owner: User) -> None:
    gold(document, ada)
    actions.reopen(document, Stage.REVISE, "A typing error.", by=owner)
    actions.discard(document, "Asked for.", by=owner)
    actions.bring_back(document, by=owner)
    document.refresh_from_db()
    lines = lines_of(visible_activities(document, owner, document.annotations.all()))
    told = [line.what for line in lines]
    assert told[:3] == ["restored the document", "discarded the document", "reopened a stage"]
    assert lines[2].reason == "Revise: A typing error."
    assert not [what for what in told if "-" in what]


def test_history_is_paged(client: Client, document: Document, ada: User) -> None:
    for number in range(60):
        Activity.objects.create(document=document, action="prefilled", reason=f"number {number}.")
    first, second = show(client, ada, document), show(client, ada, document, page="2")
    assert "number 59." in words(one(first, "#history")) and "number 0." not in words(one(first, "#history"))
    assert "number 0." in words(one(second, "#history")) and "number 59." not in words(one(second, "#history"))


# --- actions on the document ----------------------------------------------------------------------


def test_the_owner_reopens_an_adjudicated_stage_with_a_reason(
    client: Client, document: Document, ada: User, owner: User
) -> None:
    gold(document, ada)
    assert do(client, owner, document, "reopen", stage="verify", reason="A source was wrong.").status_code == 302
    document.refresh_from_db()
    assert (document.stage, document.phase) == (Stage.VERIFY, Phase.INDEPENDENT)
    page = show(client, ada, document)
    assert one(page, "#standing .btn.main").get_text().startswith("Continue")
    assert "Verify: A source was wrong." in words(one(page, "#history"))


def test_discard_and_bring_back(client: Client, document: Document, owner: User) -> None:
    do(client, owner, document, "discard", reason="About the future.")
    page = show(client, owner, document)
    assert "About the future." in words(one(page, "#standing"))
    assert not page.select("form[action$='/discard/']")
    do(client, owner, document, "bring-back")
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT


def test_pass_on_leaves_the_queue_and_an_admin_clears_it(
    client: Client, document: Document, ada: User, owner: User
) -> None:
    answer = do(client, ada, document, "flag", reason="needs_expertise", note="Needs a chemist.")
    assert answer["Location"] == "/"
    page = show(client, ada, document)
    assert "Flagged" in words(one(page, "#standing"))
    assert "Needs a chemist." in words(one(page, "[aria-labelledby=flags-title]"))
    assert not page.select("form[action$='/clear-flag/']")
    form = one(show(client, owner, document), "form[action$='/clear-flag/'] button")
    do(client, owner, document, "clear-flag", flag=str(form["value"]))
    assert Flag.objects.get().cleared_at is not None
    assert one(show(client, ada, document), "#standing .btn.main").get_text().startswith("Start")


def test_a_flag_is_its_author_s_and_the_managers_until_everyone_has_submitted(
    client: Client, document: Document, ada: User, owner: User
) -> None:
    partner = member(document.benchmark)
    actions.flag(document, "needs_expertise", by=ada, note="Needs a chemist.")

    def told(user: User) -> str:
        client.force_login(user)
        answer = client.get(f"/api/v1/documents/{document.public_id}/").content.decode()
        return words(show(client, user, document)) + answer

    for phase in (Phase.PREFILLING, Phase.INDEPENDENT, Phase.DISCARDED):
        Document.objects.filter(pk=document.pk).update(phase=phase)
        assert "Needs a chemist." in told(ada)
        assert "Needs a chemist." in told(owner)
        assert "chemist" not in told(partner)
        assert "needs_expertise" not in told(partner)
    Document.objects.filter(pk=document.pk).update(phase=Phase.CONSOLIDATING)
    assert "Needs a chemist." in told(partner)


def test_claims_sent_back_are_shown_with_reason_and_who(client: Client, document: Document, ada: User) -> None:
    decomposed(document, ada)
    document.refresh_from_db()
    work = claims_to_verify(open_annotation(document, Stage.VERIFY, by=ada))[0]
    actions.send_back(work.claim, "Two claims in one.", by=ada)
    page = show(client, ada, document)
    told = words(one(page, "[aria-labelledby=returns-title]"))
    assert work.claim.text in told and "Two claims in one." in told and "Ada Lovelace" in told
    assert one(page, "#standing .btn.main").get_text().startswith("Correct")


@pytest.mark.parametrize("what", ["reopen", "discard", "bring-back", "clear-flag"])
def test_annotators_cannot_do_what_admins_do_and_are_told(
    client: Client, document: Document, ada: User, owner: User, what: str
) -> None:
    actions.flag(document, "broken", by=owner)
    key = str(Flag.objects.get().pk)
    before = Document.objects.values().get(pk=document.pk)
    answer = do(client, ada, document, what, stage="decompose", reason="Because.", flag=key)
    assert answer.status_code == 403
    assert "Only the owner or an admin" in answer.content.decode()
    assert Document.objects.values().get(pk=document.pk) == before
    assert Flag.objects.get().cleared_at is None
    assert not show(client, ada, document).select(f"form[action$='/{what}/']")


@pytest.mark.parametrize(
    ("what", "data", "status"),
    [
        ("discard", {"reason": "  "}, 422),
        ("reopen", {"stage": "decompose", "reason": ""}, 422),
        ("reopen", {"stage": "nonsense", "reason": "Because."}, 422),
        ("flag", {"reason": "dull"}, 422),
        ("clear-flag", {"flag": "99999"}, 404),
        ("clear-flag", {"flag": "x"}, 404),
        ("explode", {}, 404),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    client: Client, document: Document, owner: User, what: str, data: dict[str, str], status: int
) -> None:
    before = Document.objects.values().get(pk=document.pk)
    assert do(client, owner, document, what, **data).status_code == status
    assert Document.objects.values().get(pk=document.pk) == before
    assert not Flag.objects.exists()


def test_a_flag_of_another_document_is_not_cleared_from_here(client: Client, document: Document, owner: User) -> None:
    other = DocumentFactory()
    stranger = member(other.benchmark)
    actions.flag(other, "broken", by=stranger)
    assert do(client, owner, document, "clear-flag", flag=str(Flag.objects.get().pk)).status_code == 404
    assert Flag.objects.get().cleared_at is None


def test_for_strangers_there_is_no_document(client: Client, document: Document) -> None:
    client.force_login(UserFactory())
    assert client.get(f"/d/{document.public_id}/").status_code == 404
    assert client.get(f"/b/{document.benchmark.slug}/documents/").status_code == 404
    assert do(client, UserFactory(), document, "flag", reason="broken").status_code == 404


# --- the list -------------------------------------------------------------------------------------


def listed(client: Client, user: User, **query: str) -> list[str]:
    client.force_login(user)
    answer = client.get("/b/pilot/documents/", query)
    assert answer.status_code == 200
    return [words(th) for th in BeautifulSoup(answer.content, "html.parser").select("tbody th")]


def test_the_list_is_narrowed_by_stage_state_flag_and_words(client: Client, benchmark: Benchmark, ada: User) -> None:
    DocumentFactory(benchmark=benchmark, identity="plain", prompt="How high is Ararat?")
    DocumentFactory(benchmark=benchmark, identity="verify", stage=Stage.VERIFY, response="Ararat is high.")
    DocumentFactory(benchmark=benchmark, identity="gone", phase=Phase.DISCARDED, prompt="100% sure?")
    flagged = DocumentFactory(benchmark=benchmark, identity="flagged")
    actions.flag(flagged, "broken", by=ada)
    DocumentFactory(identity="of another benchmark", prompt="Ararat")
    assert listed(client, ada) == ["plain", "verify", "gone", "flagged"]
    assert listed(client, ada, stage="verify") == ["verify"]
    assert listed(client, ada, stage="decompose") == ["plain", "flagged"]
    assert listed(client, ada, phase="discarded") == ["gone"]
    assert listed(client, ada, flagged="yes") == ["flagged"]
    assert listed(client, ada, q="ararat") == ["plain", "verify"]
    assert listed(client, ada, q="0%") == ["gone"]
    assert listed(client, ada, q="ararat", stage="verify") == ["verify"]
    assert listed(client, ada, stage="nonsense", phase="nonsense", after="x", before="-1") == listed(client, ada)


def test_the_search_never_finds_anybodys_work(client: Client, document: Document, ada: User, owner: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    save(sentences_of(annotation)[0], "decontext", "Quetzalcoatl was here.", ada)
    assert listed(client, ada, q="Quetzalcoatl") == []


def test_a_filter_that_nothing_fits_says_how_to_get_out(client: Client, document: Document, ada: User) -> None:
    client.force_login(ada)
    page = client.get("/b/pilot/documents/", {"q": "zzz"}).content.decode()
    assert "No matching documents" in page and "Show all" in page


def test_pages_forth_and_back_show_every_document_once(benchmark: Benchmark) -> None:
    made = [document.pk for document in documents(7, benchmark=benchmark)]
    first = page_of(benchmark, DocumentFilter(), size=3)
    second = page_of(benchmark, DocumentFilter(), size=3, after=first.after)
    third = page_of(benchmark, DocumentFilter(), size=3, after=second.after)
    assert [row.pk for page in (first, second, third) for row in page.rows] == made
    assert (first.before, third.after) == (0, 0)
    back = page_of(benchmark, DocumentFilter(), size=3, before=third.before)
    assert [row.pk for row in back.rows] == made[3:6]
    again = page_of(benchmark, DocumentFilter(), size=3, before=back.before)
    assert [row.pk for row in again.rows] == made[:3]
    assert again.before == 0 and again.after == first.after


def test_links_to_other_pages_keep_the_filter(client: Client, benchmark: Benchmark, ada: User) -> None:
    documents(51, benchmark=benchmark)
    client.force_login(ada)
    page = BeautifulSoup(
        client.get("/b/pilot/documents/", {"q": "Ada & Co", "stage": "decompose"}).content, "html.parser"
    )
    assert not page.select("[rel=next]")  # nothing fits
    page = BeautifulSoup(client.get("/b/pilot/documents/", {"q": "Lovelace"}).content, "html.parser")
    link = str(one(page, "[rel=next]")["href"])
    assert link.startswith("?q=Lovelace&after=")
    rest = BeautifulSoup(client.get(f"/b/pilot/documents/{link}").content, "html.parser")
    assert len(rest.select("tbody tr")) == 1


# --- constant queries -----------------------------------------------------------------------------


def count(client: Client, url: str, django_assert_num_queries: DjangoAssertNumQueries, number: int) -> None:
    with django_assert_num_queries(number):
        assert client.get(url).status_code == 200


def test_one_document_and_three_take_the_same_number_of_queries_in_the_list(
    client: Client, benchmark: Benchmark, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(ada)
    DocumentFactory(benchmark=benchmark)
    count(client, "/b/pilot/documents/", django_assert_num_queries, 10)
    documents(2, benchmark=benchmark)
    count(client, "/b/pilot/documents/", django_assert_num_queries, 10)


def test_a_short_and_a_long_gold_document_take_the_same_number_of_queries(
    client: Client, benchmark: Benchmark, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    short = gold(prefill(DocumentFactory(benchmark=benchmark)), ada)
    long = gold(
        prefill(
            DocumentFactory(
                benchmark=benchmark,
                response=" ".join(
                    f"Ada Lovelace was born in 1825. Ada Lovelace wrote {number} notes." for number in range(3)
                ),
            )
        ),
        ada,
    )
    client.force_login(ada)
    for document in (short, long):
        count(client, f"/d/{document.public_id}/", django_assert_num_queries, 20)
