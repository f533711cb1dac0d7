"""The overview of a team: who waits for whom, what is to be agreed, burn-up, times; and one's own pace. Nothing of it
tells of work that is still blind."""

from __future__ import annotations

import datetime as dt

import pytest
from bs4 import BeautifulSoup
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.models import Annotation, Benchmark, Document, User
from annotator.core.queries.standing import standing_of
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Role, Stage
from annotator.home.queries import dashboard
from annotator.home.queries.overview import bars_of, whats_missing
from annotator.measures.queries import pace
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.documents import discard, reopen
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import sentences_of
from annotator.team.queries.waits import to_agree_of, waits_of
from tests.agreeing import begun
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    documents,
    member,
    prefill,
    retrieve,
    save,
    verified,
    with_corpus,
)
from tests.teams import batch_of, get, group_with, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)
    with_corpus(benchmark)
    return benchmark


def submitted(document: Document, *people: User, seconds: int = 0) -> Document:
    for person in people:
        submit(begun(document, person), by=person, active_seconds=seconds)
    document.refresh_from_db()
    return document


def signed(document: Document, *people: User) -> Document:
    for person in people:
        adjudicate.sign(document, Stage(document.stage), by=person)
    return retrieve(document)


def days_ago(days: int, **which: object) -> None:
    """Move submissions back in time."""
    moment = timezone.now() - dt.timedelta(days=days)
    Annotation.objects.filter(state=AnnotationState.SUBMITTED, **which).update(submitted_at=moment)


def figures(client: Client, person: User) -> str:
    """Everything that a person reads on the overview and on their own start page."""
    said = ""
    for url in ("/b/pilot/", "/b/pilot/burn-up.csv", "/"):
        client.force_login(person)
        page = BeautifulSoup(client.get(url).content, "html.parser")
        for token in page.select("[name=csrfmiddlewaretoken], script"):
            token.decompose()
        said += str(page.select_one("main") or page)
    return said


# --- who waits for whom ---------------------------------------------------------------------------


def test_who_has_submitted_waits_for_the_partner_who_has_not(benchmark, owner, ada, ben):
    first, second, third = batch_of(group_with(benchmark, owner, ada, ben), 3)
    submitted(first, ada)
    days_ago(3, document=first)
    submitted(second, ada)
    begun(second, ben)
    begun(third, ben)
    [wait] = waits_of(benchmark, standing_of(benchmark)).pairs
    assert (wait.who, wait.for_whom, wait.documents, wait.days) == ("Ada", "Ben", 2, 3)
    [row] = waits_of(benchmark, standing_of(benchmark)).groups
    assert row.waits == ["Ben: 2 to submit"]
    assert (row.people, row.total, row.words) == (["Ada", "Ben"], 3, "3 in progress")
    submitted(first, ben)
    submitted(second, ben)
    found = waits_of(benchmark, standing_of(benchmark))
    assert found.pairs == []
    assert found.groups[0].waits == ["Ada: 2 to adjudicate", "Ben: 2 to adjudicate"]
    assert found.groups[0].words == "2 awaiting adjudication, 1 in progress"


def test_without_a_group_it_is_whoever_has_the_place_or_takes_it(benchmark, owner, ada, ben):
    first, second = (prefill(row) for row in documents(2, benchmark=benchmark))
    submitted(first, ada)
    submitted(second, ada)
    begun(second, ben)
    pairs = {wait.for_whom: wait.documents for wait in waits_of(benchmark, standing_of(benchmark)).pairs}
    assert pairs == {"Ben": 1, "another annotator": 1}


def test_a_group_waits_for_its_third_rater_when_asked_and_at_verify(benchmark, owner, ada, ben, cleo):
    group = group_with(benchmark, owner, ada, ben, third_rater=cleo)
    first, second = batch_of(group, 2)
    submitted(first, ada, ben)
    adjudicate.ask_third_rater(first, Stage.DECOMPOSE, "", "Please look.", by=ada)
    [row] = waits_of(benchmark, standing_of(benchmark)).groups
    assert row.waits == ["adjudicator Cleo: 1"], "asked about the whole, partners are not waited for"
    found = to_agree_of(benchmark)
    assert (found.documents, found.with_questions) == (1, 1)
    signed(submitted(second, ada, ben), ada, ben)
    for person in (ada, ben):
        verified(second, person)
    second.refresh_from_db()
    [row] = waits_of(benchmark, standing_of(benchmark)).groups
    assert row.waits == ["Ada: 1 to adjudicate", "Ben: 1 to adjudicate", "adjudicator Cleo: 1"]
    signed(second, ada, ben)
    [row] = waits_of(benchmark, standing_of(benchmark)).groups
    assert row.waits == ["adjudicator Cleo: 2"]
    signed(second, cleo)
    second.refresh_from_db()
    assert second.stage == Stage.REVISE
    [row] = waits_of(benchmark, standing_of(benchmark)).groups
    assert row.waits == ["adjudicator Cleo: 1"]


def test_partners_who_have_left_are_not_waited_for_and_without_any_the_third_rater_is(benchmark, owner, ada, ben, cleo):
    [document] = batch_of(group_with(benchmark, owner, ada, ben, third_rater=cleo), 1)
    submitted(document, ada, ben)
    benchmark.memberships.filter(user=ben).update(active=False)
    assert waits_of(benchmark, standing_of(benchmark)).groups[0].waits == ["Ada: 1 to adjudicate"]
    benchmark.memberships.filter(user=ada).update(active=False)
    assert waits_of(benchmark, standing_of(benchmark)).groups[0].waits == ["adjudicator Cleo: 1"]


def test_what_has_waited_longest_to_be_adjudicated_is_named_first(benchmark, ada, ben):
    older, newer = (prefill(row) for row in documents(2, benchmark=benchmark))
    for document, days in ((newer, 1), (older, 6)):
        submitted(document, ada, ben)
        days_ago(days, document=document)
    found = to_agree_of(benchmark)
    assert [(row.document, row.stage, row.days) for row in found.oldest] == [
        (older, Stage.DECOMPOSE, 6),
        (newer, Stage.DECOMPOSE, 1),
    ]
    bar = bars_of(standing_of(benchmark))[0]
    assert (bar.to_agree, bar.in_work, bar.words) == (2, 0, "2 awaiting adjudication")


# --- burn-up --------------------------------------------------------------------------------------


def burn_up(benchmark: Benchmark) -> pace.BurnUp:
    standing = standing_of(benchmark)
    return pace.burn_up(benchmark, standing.total - standing.discarded)


def test_burn_up_adds_up_what_was_adjudicated_day_by_day(client, benchmark, owner, ada, ben):
    first, second, third = (prefill(row) for row in documents(3, benchmark=benchmark))
    assert burn_up(benchmark).rows == []
    for document in (first, second):
        signed(submitted(document, ada, ben), ada, ben)
    days_ago(5, document=first)
    submitted(third, ada, ben)
    today = timezone.localdate()
    five = today - dt.timedelta(days=5)
    assert burn_up(benchmark).rows == [(five, 1, 0, 0), (today, 2, 0, 0)]
    assert burn_up(benchmark).words.endswith("of 3: decompose adjudicated 2, verify adjudicated 0, gold 0.")
    client.force_login(ada)
    answer = client.get("/b/pilot/burn-up.csv")
    assert answer["Content-Type"].startswith("text/csv")
    assert answer.content.decode().splitlines() == [
        "day,decompose_agreed,verify_agreed,gold,documents",
        f"{five},1,0,0,3",
        f"{today},2,0,0,3",
    ]
    reopen(second, Stage.DECOMPOSE, "A sentence is missing.", by=owner)
    assert burn_up(benchmark).adjudicated[Stage.DECOMPOSE][-1] == 1
    discard(first, "Empty.", by=owner)
    assert burn_up(benchmark).rows == []


def test_burn_up_ends_where_the_bars_are(benchmark, ada, ben, owner):
    for document in (prefill(row) for row in documents(2, benchmark=benchmark)):
        signed(submitted(document, ada, ben), ada, ben)
    verified(document, ada)
    verified(document, ben)
    signed(document, ada, ben, owner)
    ends = {stage: values[-1] for stage, values in burn_up(benchmark).adjudicated.items()}
    assert ends == {bar.stage: bar.adjudicated for bar in bars_of(standing_of(benchmark))}
    assert ends == {Stage.DECOMPOSE: 2, Stage.VERIFY: 1, Stage.REVISE: 0}


# --- times ----------------------------------------------------------------------------------------


def test_times_are_told_of_adjudicated_stages_alone(benchmark, owner, ada, ben):
    adjudicated, together, blind, gone = (prefill(row) for row in documents(4, benchmark=benchmark))
    for person, seconds in ((ada, 120), (ben, 360)):
        submitted(adjudicated, person, seconds=seconds)
        submitted(together, person, seconds=5000)
        submitted(gone, person, seconds=7000)
    submitted(blind, ada, seconds=9000)
    assert pace.times_of(benchmark, None).strips == ()
    signed(adjudicated, ada, ben)
    signed(gone, ada, ben)
    discard(gone, "Broken.", by=owner)
    times = pace.times_of(benchmark, pace.document_times(benchmark))
    [strip] = times.strips
    assert (strip.name, sorted(strip.seconds), strip.middle) == ("Decompose", [120, 360], "4 min")
    assert [(str(row.person), row.cells[0]) for row in times.people] == [
        ("Ada", (Stage.DECOMPOSE, 1, "2 min")),
        ("Ben", (Stage.DECOMPOSE, 1, "6 min")),
    ]


def test_a_whole_document_is_the_mean_of_its_people_and_stands_in_the_papers_band():
    strip = pace.Strip("Whole document", (600, 900, 1800, 3000), is_document=True)
    assert strip.in_band == 50
    assert strip.words == "Whole document: 4 documents, median 22 min; 50% took 15 to 30 min"
    assert [(column.label, column.value) for column in strip.columns if column.value] == [
        ("10 to 15 min", 1),
        ("15 to 20 min", 1),
        ("30 to 35 min", 1),
        ("50 to 55 min", 1),
    ]
    assert pace.against_paper(1860) == "above the paper’s 15 to 30 min"


# --- blindness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", ["ada", "owner", "researcher"])
def test_a_partners_open_work_changes_no_figure(client, benchmark, owner, ada, ben, reader):
    """Ben has a place on a document that Ada has submitted; whatever he does there, nobody's page moves."""
    document, other = batch_of(group_with(benchmark, owner, ada, ben), 2)
    submitted(document, ada, seconds=300)
    signed(submitted(other, ada, ben, seconds=60), ada, ben)
    theirs = open_annotation(document, Stage.DECOMPOSE, by=ben)
    person = {"ada": ada, "owner": owner, "researcher": member(benchmark, Role.RESEARCHER)}[reader]
    before = figures(client, person)
    for sentence in sentences_of(theirs):
        accept_sentence(sentence, by=ben)
    save(sentences_of(theirs)[0], "importance", "less", ben)
    Annotation.objects.filter(pk=theirs.pk).update(active_seconds=4321)
    assert figures(client, person) == before


def test_that_a_partner_has_not_begun_is_not_told_in_a_group(client, benchmark, owner, ada, ben):
    document, _ = batch_of(group_with(benchmark, owner, ada, ben), 2)
    submitted(document, ada)
    before = figures(client, owner)
    open_annotation(document, Stage.DECOMPOSE, by=ben)
    assert figures(client, owner) == before


def test_how_fast_a_partner_submitted_is_not_told_before_the_stage_is_adjudicated(client, benchmark, owner, ada, ben):
    document = prefill(DocumentFactory(benchmark=benchmark))
    submitted(document, ben, seconds=77)
    before = figures(client, owner)
    Annotation.objects.filter(document=document, person=ben).update(active_seconds=4000)
    assert figures(client, owner) == before


def test_single_people_are_for_those_who_manage(client, benchmark, owner, ada, ben):
    document, other = batch_of(group_with(benchmark, owner, ada, ben), 2)
    submitted(document, ada, seconds=100)
    signed(submitted(other, ada, ben, seconds=100), ada, ben)
    seen = {
        person: get(client, person, "/b/pilot/")
        for person in (owner, member(benchmark, Role.ADMIN), member(benchmark, Role.RESEARCHER), ada)
    }
    shown = [
        [page.select_one(css) is not None for css in ("#who-waits", "#per-person", "#to-agree", "#groups-title")]
        for page in seen.values()
    ]
    assert shown == [[True] * 4, [True] * 4, [False, False, True, True], [False] * 4]
    researcher = words(list(seen.values())[2].select_one("[aria-labelledby=groups-title]"))
    assert "Ada" not in researcher and "Waiting for" not in researcher
    assert "Ada is waiting for Ben : 1 document, since today" in words(seen[owner].select_one("#who-waits"))


# --- the page -------------------------------------------------------------------------------------


def test_what_is_missing_for_a_start_stands_on_top(client, benchmark, owner, ada):
    said = (
        "This benchmark requires two people per document and has one annotator, "
        "so owners and admins have to annotate too."
    )
    assert said in whats_missing(benchmark)
    assert said in words(get(client, owner, "/b/pilot/").select_one("[aria-labelledby=missing-title]"))
    member(benchmark)
    member(benchmark, Role.THIRD_RATER)
    assert whats_missing(benchmark) == []
    assert get(client, owner, "/b/pilot/").select_one("[aria-labelledby=missing-title]") is None


def test_charts_have_words_and_numbers_and_no_inline_style(client, benchmark, owner, ada, ben):
    document, _ = batch_of(group_with(benchmark, owner, ada, ben), 2)
    signed(submitted(document, ada, ben, seconds=400), ada, ben)
    page = get(client, owner, "/b/pilot/")
    assert not page.select("[style]")
    for drawing in page.select("main svg"):
        assert drawing.get("aria-label") or drawing.get("aria-hidden") or drawing.find_parent("svg"), drawing
    assert {line["class"][-1] for line in page.select(".over-time polyline")} == {"decompose", "verify", "revise"}
    assert page.select_one("a[href='/b/pilot/burn-up.csv']")
    [row] = page.select("[aria-labelledby=burn-up] tbody tr")
    assert words(row).endswith("1 0 0")
    strip = page.select_one(".strip svg")
    assert strip and strip["aria-label"] == "Decompose: 2 annotations, median 7 min"
    assert not strip.select(".band"), "the paper's band is about whole documents"


def test_the_axis_of_times_ends_near_the_longest_one() -> None:
    short, long = (pace.Strip("Document", (60.0, minutes * 60.0), is_document=True) for minutes in (29, 30))
    assert [label for label, _ in short.ticks] == ["0", "10", "20", "30+ min"] and len(short.columns) == 7
    assert [label for label, _ in long.ticks] == ["0", "15", "30", "45", "60+ min"] and len(long.columns) == 13
    for strip in (short, long):
        start, width = strip.band
        assert 0 < start and start + width <= 100
    assert pace.Strip("Verify", (60.0,)).band == (0, 0)


def test_agreement_on_stance_is_that_of_the_agreement_page_for_all_and_for_each_batch(benchmark, owner, ada, ben):
    document, _ = batch_of(group_with(benchmark, owner, ada, ben), 2)
    assert dashboard.progress_of(benchmark).stance is None
    signed(submitted(document, ada, ben), ada, ben)
    verified(document, ada, false_claim="1825")
    verified(document, ben)
    stance = dashboard.progress_of(benchmark).stance
    tally = document.annotations.get(stage=Stage.VERIFY, kind=AnnotationKind.CONSOLIDATED).tally
    pairs = tally.data["labels"]["stance.label"]
    assert any(one != other for one, other in pairs)
    assert stance is not None and stance.value < 1 and stance.low is None, "one document has no interval"


def test_three_documents_and_thirty_take_the_same_number_of_queries(client, benchmark, owner, ada, ben):
    group = group_with(benchmark, owner, ada, ben)

    def fill(number: int) -> None:
        for document in batch_of(group, number):
            submitted(document, ada, seconds=50)
        for document in batch_of(group, number):
            submitted(document, ada, ben, seconds=50)
        for document in batch_of(group, number):
            signed(submitted(document, ada, ben, seconds=50), ada, ben)

    def queries(person: User, url: str) -> int:
        client.force_login(person)
        client.get(url)
        with CaptureQueriesContext(connection) as found:
            client.get(url)
        return len(found)

    asked = [(owner, "/b/pilot/"), (ada, "/b/pilot/"), (owner, "/b/pilot/burn-up.csv")]
    fill(1)
    before = [queries(*each) for each in asked]
    fill(9)
    assert [queries(*each) for each in asked] == before
    assert before[0] <= 40


def test_the_page_of_a_large_benchmark_waits_for_no_counting_and_says_as_of_when_it_is(
    client, benchmark, owner, ada, monkeypatch
):
    monkeypatch.setattr(dashboard, "LARGE", 1)
    cache.clear()
    documents(2, benchmark=benchmark)

    def part(person: User) -> BeautifulSoup:
        client.force_login(person)
        answer = client.get("/b/pilot/?part=figures", headers={"hx-request": "true"})
        return BeautifulSoup(answer.content, "html.parser")

    def shown(person: User) -> tuple[str, bool]:
        """The tile with the documents, and whether the page fetches newer figures."""
        page = get(client, person, "/b/pilot/")
        assert page.select_one("[aria-labelledby=people-title]"), "what needs no counting is there at once"
        tiles = page.select_one(".cards")
        return words(tiles) if tiles else "", bool(page.select("#figures[hx-get]"))

    assert shown(owner) == ("", True)
    found = part(owner)
    assert "As of" in words(found.select_one("[aria-labelledby=where]")) and found.select_one("#groups-title")
    assert not found.select("#figures[hx-get]"), "one fetch is enough"
    DocumentFactory(benchmark=benchmark)
    said, fetches = shown(owner)
    assert "of 2 documents" in said and not fetches, "fresh enough"
    monkeypatch.setattr(dashboard, "FRESH_FOR", 0)
    said, fetches = shown(owner)
    assert "of 2 documents" in said and fetches, "old figures are shown while newer ones are counted"
    assert not shown(owner)[1], "who looks at the same moment does not have them counted again"
    assert "of 3 documents" in words(part(owner).select_one(".cards"))
    assert "of 3 documents" in shown(ada)[0] and not part(ada).select("#groups-title, #who-waits, #per-person")
    cache.clear()
    monkeypatch.undo()
    page = get(client, owner, "/b/pilot/?part=figures")
    assert page.select_one("h1") and "As of" not in words(page.select_one("[aria-labelledby=where]"))
    assert not page.select("#figures[hx-get]")


# --- one's own pace -------------------------------------------------------------------------------


def test_ones_own_pace_counts_ones_own_work_by_week_and_day(client, benchmark, ada, ben):
    assert pace.own_pace(ada) is None
    assert get(client, ada, "/").select_one("#pace-title") is None
    first, second, third = (prefill(row) for row in documents(3, benchmark=benchmark))
    submitted(first, ada, seconds=200)
    submitted(second, ada, seconds=400)
    submitted(third, ben, seconds=9000)
    days_ago(7, document=second)
    own = pace.own_pace(ada)
    assert own is not None
    assert (own.this_week, own.last_week) == (pace.Week(1, 1), pace.Week(1, 1))
    assert [number for _, number in own.days] == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    assert (own.times, own.whole, own.busiest) == ([(Stage.DECOMPOSE, "5 min")], "", 1)
    section = words(get(client, ada, "/").select_one("[aria-labelledby=pace-title]"))
    assert "This week 1 stage in 1 document Last week 1 stage in 1 document" in section
    assert "Only you see this." in section


def test_all_three_stages_together_stand_beside_the_paper(benchmark, ada):
    benchmark.overlap = 1
    benchmark.save()
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    verified(document, ada)
    submit(open_annotation(document, Stage.REVISE, by=ada), by=ada)
    Annotation.objects.filter(person=ada).update(active_seconds=360)
    own = pace.own_pace(ada)
    assert own is not None and own.whole == "18 min in total, within the paper’s 15 to 30 min"


def test_a_partners_work_leaves_ones_own_pace_as_it_is(client, benchmark, owner, ada, ben):
    document = prefill(DocumentFactory(benchmark=benchmark))
    submitted(document, ada, seconds=100)
    before = pace.own_pace(ada)
    submitted(document, ben, seconds=900)
    assert pace.own_pace(ada) == before


def test_ones_own_pace_takes_two_queries_however_much_one_has_done(benchmark, ada, django_assert_num_queries):
    for number in (1, 3):
        for document in documents(number, benchmark=benchmark):
            submitted(prefill(document), ada, seconds=10)
        with django_assert_num_queries(2):
            pace.own_pace(ada)
