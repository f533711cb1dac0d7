"""The pages of agreement: who sees what, the charts in words, the tables to download, and one's own page."""

from __future__ import annotations

import csv
import datetime as dt
import io

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.core import rules
from annotator.core.models import Batch, Benchmark, Document, Tally, User
from annotator.core.vocabulary import Role
from annotator.stages.actions.submit import submit
from tests.agreeing import begun, label, settle
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, member, prefill
from tests.teams import get, words

pytestmark = pytest.mark.django_db

PAGE, OWN, DOWNLOAD = "/b/pilot/agreement/", "/b/pilot/my-agreement/", "/b/pilot/agreement/download/"


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, username="ada", display_name="Ada")


@pytest.fixture
def ben(benchmark: Benchmark) -> User:
    return member(benchmark, username="ben", display_name="=Ben")


def labelled(benchmark: Benchmark, ada: User, ben: User, *, differing: int = 0) -> Document:
    """A document of which both have submitted decompose: the importance of so many sentences differs."""
    document = prefill(DocumentFactory(benchmark=benchmark))
    mine, theirs = begun(document, ada), begun(document, ben)
    label(theirs, "importance", ["less"] * differing + ["most", "most", "intermediate"][differing:], ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    document.refresh_from_db()
    return document


# --- who sees what --------------------------------------------------------------------------------


@pytest.mark.parametrize("role", list(Role))
def test_owners_admins_and_researchers_see_the_figures_and_nobody_else(
    client: Client, benchmark: Benchmark, ada: User, ben: User, role: Role
) -> None:
    labelled(benchmark, ada, ben)
    person = member(benchmark, role)
    may = role in (Role.OWNER, Role.ADMIN, Role.RESEARCHER)
    assert rules.allowed(rules.check_see_agreement, person, benchmark) == may
    for url in (PAGE, DOWNLOAD):
        client.force_login(person)
        answer = client.get(url)
        assert answer.status_code == (200 if may else 403)
        assert ("sentence" in answer.content.decode()) == may
    tabs = get(client, person, "/b/pilot/documents/").select_one(".steps")
    assert ("Quality" in words(tabs)) == may


@pytest.mark.parametrize("url", [PAGE, OWN, DOWNLOAD])
def test_for_a_stranger_there_is_no_such_page(client, benchmark, url):
    get(client, UserFactory(), url, status=404)
    get(client, UserFactory(is_staff=True), url, status=404)


@pytest.mark.parametrize("role", list(Role))
def test_ones_own_page_is_for_oneself_and_for_owners_and_admins(client, benchmark, ada, ben, role):
    labelled(benchmark, ada, ben)
    get(client, ada, OWN)
    person = member(benchmark, role)
    may = role in (Role.OWNER, Role.ADMIN)
    get(client, person, f"{OWN}?person=ada", status=200 if may else 403)
    # Whether somebody is there is not told either.
    get(client, person, f"{OWN}?person=nobody", status=404 if may else 403)
    get(client, ben, f"{OWN}?person=ada", status=403)


def test_a_person_outside_the_benchmark_has_no_page_in_it(client, benchmark, owner):
    stranger = UserFactory()
    get(client, owner, f"{OWN}?person={stranger.username}", status=404)


def test_whose_value_stood_is_for_owners_and_admins(client, benchmark, owner, ada, ben):
    settle(labelled(benchmark, ada, ben, differing=2), [ada, ben], [{"choice": 0, "reason": "slip"}])
    seen = get(client, owner, PAGE).select_one("[aria-labelledby=settled]")
    assert "Slip 1" in words(seen) and "Ada 2 (100%)" in words(seen)
    assert get(client, member(benchmark, Role.RESEARCHER), PAGE).select_one("[aria-labelledby=settled]") is None


def test_nothing_shows_while_somebody_works_blind(client, benchmark, owner, ada, ben):
    """Also not for somebody who labels and manages: figures come of tallies, and those when all have submitted."""
    labelled(benchmark, ada, ben)
    before = words(get(client, owner, PAGE).select_one("main"))
    own = words(get(client, ada, OWN).select_one("main"))
    document = prefill(DocumentFactory(benchmark=benchmark))
    mine, theirs = begun(document, owner), begun(document, ada)
    label(theirs, "importance", ["less"] * 3, ada)
    submit(theirs, by=ada)
    assert Tally.objects.count() == 1
    assert words(get(client, owner, PAGE).select_one("main")) == before
    assert words(get(client, ada, OWN).select_one("main")) == own
    submit(mine, by=owner)
    assert words(get(client, owner, PAGE).select_one("main")) != before


# --- the page -------------------------------------------------------------------------------------


def test_before_there_are_figures_the_page_says_what_must_happen(client, benchmark, owner, ada):
    page = get(client, owner, PAGE)
    assert words(page.select_one(".empty h2")) == "No figures yet"
    assert "have submitted a stage" in words(page.select_one(".empty p"))
    assert words(get(client, ada, OWN).select_one(".empty h2")) == "Nothing to compare yet"
    Benchmark.objects.update(overlap=1)
    assert words(get(client, owner, PAGE).select_one(".empty h2")) == "One annotator per document"


def test_a_field_is_said_in_words_in_a_drawing_and_in_a_table(client, benchmark, owner, ada, ben):
    labelled(benchmark, ada, ben, differing=1)
    page = get(client, owner, PAGE)
    [field] = [each for each in page.select(".agree-field") if "Importance of sentence" in words(each)]
    said = words(field.select_one("p"))
    # Two of three are equal; alpha by hand: labels most 3, intermediate 2, less 1: 1 - 5 x 2 / (36 - 9 - 4 - 1).
    assert said == "67% agreement, alpha 0.55, 3 sentences of one document"
    drawing = field.select_one("svg[role=img]")
    assert drawing is not None
    assert str(drawing["aria-label"]).startswith(f"Importance of sentence: {said}, AC1")
    # AC1: by chance (1/2 x 1/2 + 1/3 x 2/3 + 1/6 x 5/6) / 2 = 11 / 36; (24 - 11) / (36 - 11).
    assert [words(mark) for mark in drawing.select(".value")] == ["67%", "0.55", "0.52"]
    assert "Rows: Ada. Columns: =Ben." in words(field.select_one("details p"))
    rows = {words(row.th): [words(cell) for cell in row.select("td")] for row in field.select("tbody tr")}
    assert rows == {"Most": ["1", "0", "1"], "Intermediate": ["0", "1", "0"], "Less": ["0", "0", "0"]}
    assert "Cohen’s kappa" in words(field.select_one("dl.terms"))


def test_a_summary_on_top_leads_to_each_field(client, benchmark, owner, ada, ben):
    labelled(benchmark, ada, ben, differing=1)
    page = get(client, owner, PAGE)
    rows = page.select("section[aria-labelledby=reading] tbody tr")
    fields = page.select("article.agree-field[id]")
    assert [row.select("a")[0]["href"] for row in rows] == [f"#{field['id']}" for field in fields]
    assert len(rows) == len({field["id"] for field in fields}) > 3
    importance = next(words(row) for row in rows if "Importance of sentence" in words(row))
    assert "67%" in importance and "3 sentences" in importance


def test_figures_of_papers_stand_beside_with_where_they_are_from(client, benchmark, owner, ada, ben):
    labelled(benchmark, ada, ben)
    said = words(get(client, owner, PAGE).select_one(".pad-more ul"))
    assert "VeriScore, section 3.1: Fleiss’ kappa 0.77" in said
    assert "FastFact, appendix F.2: 93.6%" in said


def test_the_filter_is_in_the_address_and_what_is_unknown_is_left_aside(client, benchmark, owner, ada, ben):
    labelled(benchmark, ada, ben)
    assert "No matches" in words(get(client, owner, f"{PAGE}?stage=verify").select_one(".empty"))
    chosen = get(client, owner, f"{PAGE}?person={ada.pk}&partner={ben.pk}&blind_first=no&from=2020-01-01")
    assert [words(each) for each in chosen.select("option[selected]")] == ["Ada", "=Ben", "No", "Any"]
    day = chosen.select_one("input[name=from]")
    assert day is not None and day["value"] == "2020-01-01"
    for query in (
        "stage=x&person=999999&batch=%00&group=-1&from=soon&to=9999-12-31&by=day&cross=maybe",
        "person=" + "9" * 40,
    ):
        assert get(client, owner, f"{PAGE}?{query}").select_one(".agree-field") is not None, query


def test_over_time_stands_where_two_periods_have_enough(client, benchmark, owner, ada, ben):
    for days in (0, 40):
        document = None
        for _ in range(4):
            document = labelled(benchmark, ada, ben, differing=days // 40)
            Tally.objects.filter(annotation__document=document).update(
                created_at=timezone.now() - dt.timedelta(days=days)
            )
    page = get(client, owner, f"{PAGE}?by=month")
    [chart] = [each for each in page.select(".trend") if "Importance of sentence" in words(each)]
    drawing = chart.select_one("svg")
    assert drawing is not None and len(drawing.select("circle")) == 2
    assert "67% agreement" in str(drawing["aria-label"]) and "100% agreement" in str(drawing["aria-label"])
    assert "last: 100% agreement" in words(chart.figcaption)
    # The same on one's own page, by weeks.
    assert get(client, ada, OWN).select_one(".trend svg") is not None


def test_blind_first_documents_stand_beside_the_others(client, benchmark, owner, ada, ben):
    first = labelled(benchmark, ada, ben, differing=2)
    labelled(benchmark, ada, ben)
    assert get(client, owner, PAGE).select_one("[aria-labelledby=suggestions]") is None
    Document.objects.filter(pk=first.pk).update(blind_first=True)
    cache.clear()
    section = get(client, owner, PAGE).select_one("[aria-labelledby=suggestions]")
    assert section is not None
    [row] = [each for each in section.select("article") if "Importance of sentence" in words(each)]
    assert "Without: 33% agreement" in words(row) and "With: 100% agreement" in words(row)
    assert "Less: 33% without, 0% with" in words(row)


def test_tables_are_downloaded_under_the_same_filter_and_names_are_no_formulas(client, benchmark, owner, ada, ben):
    for _ in range(4):
        labelled(benchmark, ada, ben, differing=1)
    client.force_login(owner)

    def rows(part: str, **query: str) -> list[list[str]]:
        answer = client.get(DOWNLOAD, {"part": part, **query})
        assert answer["Content-Type"].startswith("text/csv")
        assert f"pilot-agreement-{part}.csv" in answer["Content-Disposition"]
        return list(csv.reader(io.StringIO(answer.content.decode())))

    heads, *figures = rows("fields")
    assert heads == ["stage", "field", "figure", "value", "low", "high", "items", "documents"]
    [percent] = [row for row in figures if row[1:3] == ["sentence.importance", "percent"]]
    # The four documents are alike; an interval of no width would claim certainty.
    assert percent == ["decompose", "sentence.importance", "percent", "0.666667", "0.24512", "0.924917", "12", "4"]
    assert ["decompose", "sentence.importance", "most", "less", "4"] in rows("confusion")
    [pair] = [row for row in rows("pairs") if row[2] == "sentence.importance"]
    assert pair[:2] == ["Ada", "'=Ben"]
    assert rows("time")[0][0] == "from" and len(rows("time")) > 1
    assert {row[0] for row in rows("batches")[1:]} == {"no batch"}
    assert len(rows("suggestions")) == 1
    assert len(rows("fields", stage="verify")) == 1
    assert client.get(DOWNLOAD, {"part": "people"}).status_code == 404


def test_every_link_to_a_table_leads_to_one(client, benchmark, owner, ada, ben):
    labelled(benchmark, ada, ben)
    page = get(client, owner, f"{PAGE}?stage=decompose")
    links = [str(link["href"]) for link in page.select("a[download]")]
    assert links and all("stage=decompose" in link for link in links)
    assert {client.get(link).status_code for link in links} == {200}


# --- one's own page -------------------------------------------------------------------------------


def test_my_work_leads_to_ones_own_agreement(client, benchmark, ada):
    link = get(client, ada, "/").select_one(f"a[href='{OWN}']")
    assert words(link) == "Your inter-annotator agreement in Pilot"


def test_ones_own_page_says_how_consolidation_changed_ones_work(client, benchmark, ada, ben):
    document = labelled(benchmark, ada, ben, differing=2)
    settle(document, [ada, ben], [{"choice": 0, "reason": "slip"}, {"choice": 1, "reason": "knowledge"}])
    page = get(client, ben, OWN)
    settled = words(page.select_one("[aria-labelledby=settled]"))
    assert "Your label was kept 1 of 2 times (50%)" in settled
    assert "Importance of sentence 1 of 2" in settled
    assert "Slip 1" in settled and "Background knowledge" not in settled, "where his own value did not stand"
    [link] = page.select("[aria-labelledby=newest] a")
    assert link["href"] == reverse("agree", args=[document.public_id, "decompose"])
    assert "2 differences resolved" in words(page.select_one("[aria-labelledby=newest]"))


def test_ones_own_page_counts_the_pairs_that_one_is_in(client, benchmark, ada, ben):
    labelled(benchmark, ada, ben, differing=3)
    cem = member(benchmark)
    labelled(benchmark, ada, cem)
    for person, said in ((ada, "50% agreement"), (ben, "0% agreement"), (cem, "100% agreement")):
        page = get(client, person, OWN)
        [field] = [each for each in page.select(".agree-field") if "Importance of sentence" in words(each)]
        assert words(field.select_one("p")).startswith(said)


# --- queries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [PAGE, OWN + "?person=ada", DOWNLOAD])
def test_queries_do_not_depend_on_documents_people_and_batches(client, benchmark, owner, ada, ben, url):
    def asked() -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            get(client, owner, url)
        return len(queries)

    settle(labelled(benchmark, ada, ben, differing=1), [ada, ben], [])
    get(client, owner, url)
    before = asked()
    for number in range(3):
        partner = member(benchmark)
        document = labelled(benchmark, ada, partner, differing=1)
        batch = Batch.objects.create(benchmark=benchmark, name=f"Batch {number}")
        Document.objects.filter(pk=document.pk).update(batch=batch, blind_first=number == 0)
        settle(document, [ada, partner], [])
    assert asked() == before
