"""The page of notices and the figure in the bar: what is shown to whom, what reading changes, how many queries."""

from __future__ import annotations

import datetime as dt

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.core.actions.notices import mark_all_read, mark_read, tell
from annotator.core.models import Activity, Benchmark, Document, Notice, User
from annotator.core.queries.notices import SHOWN, page_of, place_of, unread_count
from annotator.core.vocabulary import NoticeKind, Phase, Stage
from annotator.stages.actions import documents as actions
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from tests.agreeing import begun
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill
from tests.teams import get, words

pytestmark = pytest.mark.django_db

FINISHED = NoticeKind.PARTNER_FINISHED
RETURNED = NoticeKind.RETURNED


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(name="Tikal", slug="tikal", overlap=2, third_rater_at_verify=False)


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ada", email="ada@example.org")


@pytest.fixture
def ben(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ben", email="ben@example.org")


@pytest.fixture
def document(benchmark: Benchmark) -> Document:
    return prefill(DocumentFactory(benchmark=benchmark, external_id="erebus"))


# --- reading --------------------------------------------------------------------------------------


def test_opening_a_notice_marks_it_read_and_leads_on(client: Client, document: Document, ada: User, ben: User) -> None:
    open_annotation(document, Stage.DECOMPOSE, by=ben)
    submit(begun(document, ada), by=ada)
    notice = ben.notices.get()
    client.force_login(ben)
    url = reverse("notice", args=[notice.public_id])
    assert client.get(url).status_code == 405
    client.get("/notices/")
    notice.refresh_from_db()
    assert notice.read_at is None  # looking at the list reads nothing
    answer = client.post(url)
    assert answer["Location"] == f"/d/{document.public_id}/decompose/"
    notice.refresh_from_db()
    assert notice.read_at is not None
    assert client.post(url)["Location"] == answer["Location"]
    assert client.get(answer["Location"]).status_code == 200


def test_somebody_elses_notice_does_not_exist(client: Client, document: Document, ada: User, ben: User) -> None:
    tell([ada], RETURNED, "Secret.", document=document)
    client.force_login(ben)
    assert client.post(reverse("notice", args=[ada.notices.get().public_id])).status_code == 404
    mark_read(ada.notices.all(), by=ben)
    client.post("/notices/read/", {"newest": ada.notices.get().public_id})
    assert ada.notices.get().read_at is None
    assert "Secret." not in str(get(client, ben, "/notices/"))


def test_all_are_read_up_to_the_newest_that_the_page_showed(
    client: Client, benchmark: Benchmark, ada: User, ben: User
) -> None:
    for text in ("1", "2"):
        tell([ada, ben], RETURNED, text, benchmark=benchmark)
    page = get(client, ada, "/notices/")
    newest = page.select_one("input[name=newest]")
    assert newest is not None
    tell([ada], RETURNED, "3", benchmark=benchmark)
    assert client.post("/notices/read/", {"newest": newest["value"]})["Location"] == "/notices/"
    assert [row.text for row in ada.notices.filter(read_at=None)] == ["3"]
    assert unread_count(ben) == 2
    mark_all_read(by=ada, up_to=ada.notices.all()[0])
    page = get(client, ada, "/notices/")
    assert page.select_one("input[name=newest]") is None  # nothing is left to mark
    for broken in ("", "nothing", "a\x00b"):
        assert client.post("/notices/read/", {"newest": broken}).status_code == 302


def test_reading_leaves_no_activity(document: Document, ada: User) -> None:
    tell([ada], RETURNED, "Back.", document=document)
    before = Activity.objects.count()
    mark_read(ada.notices.all(), by=ada)
    assert Activity.objects.count() == before


def test_a_notice_leads_to_where_it_is_dealt_with_now(document: Document, ada: User, ben: User, owner: User) -> None:
    tell([ada], FINISHED, "Finished.", document=document, stage=Stage.DECOMPOSE)
    tell([ada], RETURNED, "Back.", document=document)
    tell([ada], NoticeKind.ASSIGNED, "Yours.", benchmark=document.benchmark)

    def places() -> list[str]:
        return [place_of(row) for row in ada.notices.select_related("document").order_by("pk")]

    page = f"/d/{document.public_id}/"
    assert places() == [f"{page}decompose/", page, "/"]
    for person in (ada, ben):
        submit(begun(document, person), by=person)
    notice = ada.notices.select_related("document").get(kind=FINISHED)
    assert notice.document is not None and notice.document.phase == Phase.CONSOLIDATING
    assert place_of(notice) == f"{page}agree/decompose/"
    assert board_of(notice.document, Stage.DECOMPOSE).version is not None
    actions.discard(document, "Broken.", by=owner)
    assert place_of(ada.notices.select_related("document").get(kind=FINISHED)) == page


# --- the page -------------------------------------------------------------------------------------


def test_the_page_stands_by_day_and_says_what_is_unread_in_words(
    client: Client, benchmark: Benchmark, ada: User
) -> None:
    for text, days in (("Old.", 9), ("Yesterday’s.", 1), ("Today’s.", 0)):
        tell([ada], RETURNED, text, benchmark=benchmark)
        ada.notices.filter(text=text).update(created_at=timezone.now() - dt.timedelta(days=days))
    mark_read(ada.notices.filter(text="Old."), by=ada)
    page = get(client, ada, "/notices/")
    titles = [words(tag) for tag in page.select(".panel > h2.head")]
    assert titles[:2] == ["Today", "Yesterday"]
    old = timezone.localdate() - dt.timedelta(days=9)
    assert str(old.day) in titles[2] and str(old.year) in titles[2]
    lines = [words(tag) for tag in page.select(".notice")]
    assert lines == ["New Today’s. Tikal", "New Yesterday’s. Tikal", "Old. Tikal"]


def test_a_text_that_looks_like_markup_stays_text(client: Client, benchmark: Benchmark, ada: User) -> None:
    tell([ada], RETURNED, "<b>bold</b> & <script>x</script>", benchmark=benchmark)
    line = get(client, ada, "/notices/").select_one(".notice-text")
    assert line is not None and line.text == "<b>bold</b> & <script>x</script>"


def test_without_notices_the_page_says_what_will_stand_there(client: Client, ada: User) -> None:
    page = get(client, ada, "/notices/")
    assert "No notices yet" in words(page.select_one(".empty"))
    assert page.select_one(".bell-figure") is None


def test_a_long_list_is_paged_without_gaps_while_new_ones_come(client: Client, benchmark: Benchmark, ada: User) -> None:
    for number in range(SHOWN + 3):
        tell([ada], RETURNED, f"Number {number}.", benchmark=benchmark)

    def shown(page: BeautifulSoup) -> list[str]:
        return [tag.text for tag in page.select(".notice-text")]

    first = get(client, ada, "/notices/")
    assert shown(first) == [f"Number {number}." for number in range(SHOWN + 2, 2, -1)]
    tell([ada], RETURNED, "New meanwhile.", benchmark=benchmark)
    older = first.select_one("a[rel=next]")
    assert older is not None
    second = get(client, ada, f"/notices/{older['href']}")
    assert shown(second) == ["Number 2.", "Number 1.", "Number 0."]
    assert second.select_one("a[rel=next]") is None
    assert "No older notices" in words(get(client, ada, "/notices/?before=nothing").select_one(".empty"))


def test_the_number_of_queries_does_not_depend_on_the_notices(client: Client, benchmark: Benchmark, ada: User) -> None:
    numbers = []
    for count in (1, 8):
        for _ in range(count):
            tell([ada], RETURNED, "Back.", document=DocumentFactory(benchmark=benchmark), stage=Stage.DECOMPOSE)
        client.force_login(ada)
        with CaptureQueriesContext(connection) as queries:
            client.get("/notices/")
        numbers.append(len(queries))
    assert numbers[0] == numbers[1]


def test_telling_many_costs_as_many_queries_as_telling_one(benchmark: Benchmark, document: Document) -> None:
    numbers = []
    assert document.benchmark  # read by then, as in every action
    for count in (1, 6):
        people = [member(benchmark, email="a@example.org") for _ in range(count)]
        with CaptureQueriesContext(connection) as queries:
            tell(people, RETURNED, "Back.", document=document)
        numbers.append(len(queries))
    assert numbers[0] == numbers[1]


def test_a_page_reads_no_text_of_a_document(document: Document, ada: User) -> None:
    tell([ada], RETURNED, "Back.", document=document)
    (row,) = page_of(ada).rows
    assert row.document is not None and {"prompt", "response"} <= row.document.get_deferred_fields()


# --- the figure in the bar ------------------------------------------------------------------------


def test_the_bar_shows_how_many_are_unread_for_one_query(client: Client, benchmark: Benchmark, ada: User) -> None:
    assert get(client, ada, "/benchmarks/").select_one(".bell-figure") is None
    for text in ("1", "2"):
        tell([ada], RETURNED, text, benchmark=benchmark)
    with CaptureQueriesContext(connection) as queries:
        page = get(client, ada, "/benchmarks/")
    assert words(page.select_one("#notices-link")) == "Notices , unread: 2"
    assert len([each for each in queries if "annotator_notice" in each["sql"]]) == 1


def test_who_is_not_signed_in_costs_no_query(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = client.get("/sign-in/")
    # The one query is allauth's, for the directories people may sign in with.
    asked = [each["sql"] for each in queries if "socialaccount_socialapp" not in each["sql"]]
    assert answer.status_code == 200 and not asked and len(queries) <= 1
    assert b"notices-link" not in answer.content


def test_a_fragment_does_not_count(client: Client, benchmark: Benchmark, ada: User) -> None:
    tell([ada], RETURNED, "Back.", benchmark=benchmark)
    client.force_login(ada)
    with CaptureQueriesContext(connection) as queries:
        client.get("/?part=next", headers={"hx-request": "true"})
    assert not [each for each in queries if "annotator_notice" in each["sql"]]


def test_the_figure_is_sent_again_only_when_it_has_changed(client: Client, benchmark: Benchmark, ada: User) -> None:
    client.force_login(ada)
    assert client.get("/notices/unread/?known=0").status_code == 204
    tell([ada], RETURNED, "Back.", benchmark=benchmark)
    with CaptureQueriesContext(connection) as queries:
        answer = client.get("/notices/unread/?known=0")
    assert len([each for each in queries if "annotator_notice" in each["sql"]]) == 1
    bell = BeautifulSoup(answer.content, "html.parser").select_one("#unread")
    assert bell is not None and bell["hx-get"] == "/notices/unread/?known=1"
    assert client.get(str(bell["hx-get"])).status_code == 204


def test_beyond_two_digits_the_figure_stays_short(client: Client, benchmark: Benchmark, ada: User) -> None:
    rows = [Notice(to=ada, kind=RETURNED, text=f"{number}", benchmark=benchmark) for number in range(120)]
    Notice.objects.bulk_create(rows)
    client.force_login(ada)
    bell = BeautifulSoup(client.get("/notices/unread/?known=7").content, "html.parser")
    assert words(bell.select_one(".bell-figure")) == "99+"
    assert client.get("/notices/unread/", {"known": "99+"}).status_code == 204
