"""The page of statistics: who sees it, the charts in words, the filter, and the data to take away."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from bs4 import Tag
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core import rules
from annotator.core.models import Benchmark, Document, User
from annotator.core.vocabulary import Phase, Role
from annotator.exchange.actions.imports import import_gold
from annotator.measures.statistics.tables import TABLES
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, member
from tests.released import released_claim, released_document, released_sentence
from tests.teams import get, words

pytestmark = pytest.mark.django_db

PAGE, DOWNLOAD = "/b/pilot/statistics/", "/b/pilot/statistics/download/"


@pytest.fixture(autouse=True)
def counted_anew() -> None:
    cache.clear()


@pytest.fixture
def pilot() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot")


@pytest.fixture
def researcher(pilot: Benchmark) -> User:
    return member(pilot, Role.RESEARCHER)


def bring(benchmark: Benchmark, *rows: dict[str, Any]) -> None:
    content = "\n".join(map(json.dumps, rows))
    assert import_gold(benchmark=benchmark, source=io.BytesIO(content.encode())).imported == len(rows)


def nice(**fields: Any) -> dict[str, Any]:
    """A document that is true by the paper's rule and false by the released one: an opinion stands beside a truth."""
    opinion = released_claim(
        "It is nice.", claim_checkworthiness="opinion", stance_claim_autoEvid=[], if_claim_needs_edit="NA"
    )
    text = "Ada Lovelace wrote notes. It is nice."
    sentence = released_sentence(text, [released_claim(text), opinion], truth=False)
    return released_document(sentences={"sentence1": sentence}, response=text, revised_response=text, **fields)


def rows(client: Client, part: str, **query: str) -> list[list[str]]:
    answer = client.get(DOWNLOAD, {"part": part, **query})
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/csv")
    assert f"pilot-statistics-{part}.csv" in answer["Content-Disposition"]
    return list(csv.reader(io.StringIO(answer.content.decode())))


def attribute(tag: Tag | None, name: str) -> str:
    assert tag is not None
    return str(tag[name])


# --- who sees what --------------------------------------------------------------------------------


@pytest.mark.parametrize("role", list(Role))
def test_who_reads_gold_reads_its_statistics(client: Client, pilot: Benchmark, role: Role) -> None:
    bring(pilot, released_document())
    person = member(pilot, role)
    may = role in (Role.OWNER, Role.ADMIN, Role.RESEARCHER)
    assert rules.allowed(rules.check_see_statistics, person, pilot) == may
    for url in (PAGE, DOWNLOAD):
        client.force_login(person)
        answer = client.get(url)
        assert answer.status_code == (200 if may else 403)
        assert ("sent" in answer.content.decode()) == may
    tabs = get(client, person, "/b/pilot/documents/").select_one(".steps")
    assert ("Quality" in words(tabs)) == may


@pytest.mark.parametrize("url", [PAGE, DOWNLOAD])
def test_for_a_stranger_there_is_no_such_page(client, pilot, url):
    get(client, UserFactory(is_staff=True), url, status=404)


# --- what it says ---------------------------------------------------------------------------------


def test_without_gold_the_page_says_what_to_do(client, pilot, researcher):
    owner = member(pilot, Role.OWNER)
    assert attribute(get(client, owner, PAGE).select_one(".empty a"), "href") == "/b/pilot/import/"
    assert "adjudicated at all three stages" in words(get(client, researcher, PAGE).select_one(".empty"))
    DocumentFactory(benchmark=pilot)
    assert attribute(get(client, owner, PAGE).select_one(".empty a"), "href") == "/b/pilot/documents/"


def test_the_page_says_how_many_of_what_were_counted(client, pilot, researcher):
    bring(pilot, released_document())
    twin_of = Document.objects.get()
    DocumentFactory(benchmark=pilot)
    DocumentFactory(benchmark=pilot, phase=Phase.DISCARDED)
    DocumentFactory(benchmark=pilot, twin_of=twin_of)
    head = words(get(client, researcher, PAGE).select_one("[aria-labelledby=counted]"))
    assert "1 gold document " in head and "1 of 3. Excluded: 1 in progress, 1 discarded" in head


def test_charts_tell_their_numbers_in_words(client, pilot, researcher):
    bring(pilot, released_document(), nice(prompt="B"))
    page = get(client, researcher, PAGE)
    charts = {str(each["aria-labelledby"]): each for each in page.select(".figures article[aria-labelledby]")}
    assert words(charts["sentence-types"].ul) == "Check-worthy 3 75% Not a claim 1 25%"
    assert words(charts["evidence-enough"].ul).startswith("Yes 3 43% No: annotators searched further 2 29% Not asked")
    assert attribute(charts["sentences"].svg, "aria-label") == "Number of responses with 1: 1, 3: 1"
    assert attribute(charts["false-claims"].svg, "aria-label") == "Number of responses with 0: 1, 2: 1"
    assert len(charts["claims"].select("svg rect")) == 3 and words(charts["claims"].svg).split()[1] == "1"
    assert "Automatic evidence was sufficient for 3 of 5 claims (60%)" in words(
        page.select_one("[aria-labelledby=evidence-title]")
    )
    stances = words(charts["stances-by-evidence"])
    assert "was sufficient 6 passages" in stances and "✕ Refutes 1 25%" in stances
    assert "439 of 661" in words(charts["evidence-enough"]), "what the paper says stands beside"
    assert "passages released with a NUL character 2" in words(page.select_one(".irregular"))


def test_both_rules_are_shown_and_explained_and_one_is_chosen(client, pilot, researcher):
    bring(pilot, released_document(source="web"), nice(prompt="B", source="web"))
    for query, chosen, false in (
        ("", "The paper’s count", "1 50%"),
        ("?rule=released", "The released field", "2 100%"),
    ):
        page = get(client, researcher, PAGE + query)
        paper, released = page.select(".one-rule")[:2]
        assert "False 1 50%" in words(paper) and "Opinions are ignored" in words(paper)
        assert "False 2 100%" in words(released) and "including opinions" in words(released)
        assert words(page.select_one(".one-rule.chosen h4")) == f"{chosen} chosen"
        assert words(page.select_one("[aria-labelledby=by-source] tbody")) == f"web 2 2 {false}"
        assert words(page.select_one("select[name=rule] [selected]")) == chosen
    # What is not there to choose is left aside.
    assert get(client, researcher, f"{PAGE}?rule=mine&source=none").select_one(".one-rule.chosen")


def test_figures_are_narrowed_to_a_source(client, pilot, researcher):
    bring(pilot, released_document(source="web"), nice(prompt="B", source="<books> & more"))
    DocumentFactory(benchmark=pilot, source="forum")
    page = get(client, researcher, PAGE)
    assert [words(each) for each in page.select("select[name=source] option")] == [
        "All", "<books> & more", "forum", "web",
    ]  # fmt: skip
    assert words(page.select_one("[aria-labelledby=by-source] tbody tr:last-child")) == "All 3 2 1 50%"
    narrowed = get(client, researcher, f"{PAGE}?source=%3Cbooks%3E+%26+more")
    assert "1 gold document from <books> & more" in words(narrowed.select_one("[aria-labelledby=counted]"))
    link = attribute(narrowed.select_one("[aria-labelledby=sentence-types] a[download]"), "href")
    assert list(csv.reader(io.StringIO(client.get(link).content.decode()))) == [
        ["type", "number", "share"], ["yes", "1", "1.0"],
    ]  # fmt: skip
    assert "No gold from this source yet" in words(get(client, researcher, f"{PAGE}?source=forum").main)


# --- data to take away ----------------------------------------------------------------------------


def test_every_chart_has_its_data(client, pilot, researcher):
    bring(pilot, released_document(source="web"))
    page = get(client, researcher, PAGE)
    links = [str(link["href"]) for link in page.select("a[download]")]
    assert {link.partition("part=")[2] for link in links} == set(TABLES)
    for part in TABLES:
        assert len(rows(client, part)) > 1, part
    assert client.get(DOWNLOAD, {"part": "people"}).status_code == 404


def test_the_data_are_those_of_the_chart_and_names_are_no_formulas(client, pilot, researcher):
    bring(pilot, released_document(source="=web"), nice(prompt="B"))
    client.force_login(researcher)
    assert rows(client, "needs-edit") == [
        ["needs_edit", "number", "share"],
        ["no", "2", "0.2857"],
        ["yes", "2", "0.2857"],
        ["not_enough_evidence", "1", "0.1429"],
        ["NA", "2", "0.2857"],
    ]
    assert rows(client, "sources")[1:] == [["", "1", "1", "0", "1"], ["'=web", "1", "1", "1", "1"]]
    assert rows(client, "sizes", source="=web")[1] == ["document", "1"]


# --- queries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [PAGE, DOWNLOAD])
def test_queries_do_not_depend_on_documents_and_sources(client, pilot, researcher, url):
    def asked() -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            get(client, researcher, url)
        return len(queries)

    bring(pilot, released_document(source="web"))
    get(client, researcher, url)
    before = asked()
    bring(pilot, *(released_document(prompt=f"{number}", source=f"source {number}") for number in range(5)))
    assert asked() == before


def test_breakdowns_are_shown_with_intervals_and_too_few(client, pilot, researcher):
    claims = [released_claim(f"It is {number}.") for number in range(2)]
    sentences = {"sentence1": released_sentence("It is.", claims, truth=True)}
    for number in range(7):
        source = "web" if number < 5 else "books"
        bring(pilot, released_document(prompt=f"{number}?", source=source, sentences=sentences, response="It is."))
    section = get(client, researcher, PAGE).select_one("[aria-labelledby=by-group]")
    assert section is not None
    assert "fewer than 10 check-worthy claims or 5 responses" in words(section)
    by_source = section.select("table")[0]
    assert words(section.select_one("h3")) == "Source"
    web, books = (words(each) for each in by_source.select("tbody tr"))
    assert "books 2 4 too few" in books and "web 5 10 0.00 0.00 to 0.43" in web, (
        "five documents without an error are not certain"
    )
    [head, *rest] = rows(client, "breakdowns")
    assert head == ["by", "group", "responses", "claims", "figure", "value", "low", "high"]
    assert ["source", "web", "5", "10", "false_claims", "0.0", "0.0", "0.4345"] in rest
    assert ["source", "books", "2", "4", "too few", "", "", ""] in rest
