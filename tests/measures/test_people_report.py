"""What people have done in a period: counts, times, agreement, overruled differences, sign-offs; page and CSV."""

from __future__ import annotations

import csv
import datetime as dt
import io

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.core.models import Annotation, Benchmark, Document, SignOff, User
from annotator.core.vocabulary import AnnotationKind, Role, Stage
from annotator.measures.queries.people_report import HEADS, PersonReport, people_report, table_of
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from tests.agreeing import begun, label, settle
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, with_corpus

pytestmark = pytest.mark.django_db

URL = "/b/pilot/people/"


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot", overlap=2)
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga")


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ada", username="ada")


@pytest.fixture
def ben(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ben", username="ben")


def differing(benchmark: Benchmark, ada: User, ben: User) -> Document:
    """A document that both have submitted at decompose, and on one of whose labels they differ."""
    document = prefill(DocumentFactory(benchmark=benchmark))
    for person, second in ((ada, "checkworthy"), (ben, "opinion")):
        annotation = begun(document, person)
        label(annotation, "type", ["checkworthy", second, "opinion"], person)
        Annotation.objects.filter(pk=annotation.pk).update(active_seconds=600 if person == ada else 1200)
        submit(Annotation.objects.get(pk=annotation.pk), by=person)
    document.refresh_from_db()
    return document


def row_of(benchmark: Benchmark, person: User, **period: dt.date) -> PersonReport:
    return next(row for row in people_report(benchmark, **period) if row.person == person)


def test_documents_are_counted_when_submitted_and_their_contents_when_adjudicated(
    benchmark: Benchmark, ada: User, ben: User
) -> None:
    document = differing(benchmark, ada, ben)
    before = row_of(benchmark, ada)
    assert (before.documents, before.pieces, before.minutes) == ({Stage.DECOMPOSE: 1}, {}, 0)
    settle(document, [ada, ben], [])
    after = row_of(benchmark, ada)
    assert (after.documents, after.pieces, after.minutes) == ({Stage.DECOMPOSE: 1}, {Stage.DECOMPOSE: 3}, 10)
    assert row_of(benchmark, ben).minutes == 20
    assert after.stages[0] == (Stage.DECOMPOSE, 1, 3, 10.0)


def test_agreement_what_was_overruled_and_sign_offs(benchmark: Benchmark, ada: User, ben: User) -> None:
    number = 0
    for _ in range(4):  # agreement on a label is given from ten items on
        document = differing(benchmark, ada, ben)
        differences = [row for row in board_of(document, Stage.DECOMPOSE).comparison.rows if row.is_open]
        settle(document, [ada, ben], [{"choice": 0}] * len(differences))
        number += len(differences)
    hers, his = row_of(benchmark, ada), row_of(benchmark, ben)
    assert hers.agreement == his.agreement and hers.agreement is not None and 0 < hers.agreement < 100
    assert (hers.overruled, his.overruled) == (0, 100)
    assert hers.settled.total == number >= 4
    assert (hers.sign_offs, hers.sign_offs_as_adjudicator) == (4, 0)


def test_an_adjudicators_sign_offs_are_counted(benchmark: Benchmark, ada: User, ben: User) -> None:
    third = member(benchmark, Role.THIRD_RATER)
    document = differing(benchmark, ada, ben)
    adjudicated = Annotation.objects.get(document=document, kind=AnnotationKind.CONSOLIDATED)
    SignOff.objects.create(annotation=adjudicated, by=third, as_third_rater=True)
    row = row_of(benchmark, third)
    assert (row.sign_offs, row.sign_offs_as_adjudicator, row.is_blank) == (1, 1, False)


def test_a_period_leaves_out_what_was_before_and_after(benchmark: Benchmark, ada: User, ben: User) -> None:
    settle(differing(benchmark, ada, ben), [ada, ben], [])
    today = timezone.localdate()
    day = dt.timedelta(days=1)
    assert row_of(benchmark, ada, since=today, until=today).documents
    for period in ({"since": today + day}, {"until": today - day}):
        row = row_of(benchmark, ada, **period)
        assert row.is_blank and row.agreement is None and row.overruled is None and not row.seconds


def test_accuracy_is_that_on_hidden_gold_which_counts_nowhere_else(benchmark: Benchmark, ada: User) -> None:
    Benchmark.objects.update(overlap=1)
    benchmark.refresh_from_db()
    gold = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(gold, member(benchmark))
    copy = prefill(DocumentFactory(benchmark=benchmark, twin_of=gold))
    decomposed(copy, ada)
    row = row_of(benchmark, ada)
    assert (
        row.accuracy == 100
        and row.hidden_gold.labels > 0
        and "trivial baseline" in row.hidden_gold.beside
        and not row.documents
    )


def test_former_members_are_there_if_they_did_something(benchmark: Benchmark, ada: User, ben: User) -> None:
    settle(differing(benchmark, ada, ben), [ada, ben], [])
    idle = member(benchmark)
    benchmark.memberships.filter(user__in=[ada, idle]).update(active=False)
    shown = {row.person: row.active for row in people_report(benchmark)}
    assert shown == {ada: False, ben: True}


def test_the_page_and_the_table_say_the_same(
    client: Client, benchmark: Benchmark, owner: User, ada: User, ben: User
) -> None:
    settle(differing(benchmark, ada, ben), [ada, ben], [])
    client.force_login(owner)
    page = BeautifulSoup(client.get(URL, {"since": "2020-01-01"}).content, "html.parser")
    cells = [td.get_text(" ", strip=True) for td in page.select("tbody tr")[0].select("td")]
    assert cells[0] == "1 3 sentences median 10.0 min" and cells[3] == "10 min"
    link = page.select_one("a[download]")
    assert link is not None and link["href"] == "?since=2020-01-01&format=csv"
    rows = list(csv.DictReader(io.StringIO(client.get(f"{URL}{link['href']}").content.decode())))
    assert [row["username"] for row in rows][:2] == ["ada", "ben"]
    assert (rows[0]["decompose_documents"], rows[0]["decompose_median_minutes"]) == ("1", "10.0")
    assert (rows[0]["verify_median_minutes"], rows[0]["active_minutes"]) == ("", "10")
    assert all(len(row) == len(HEADS) for row in table_of(people_report(benchmark)))


def test_it_is_for_managers_and_days_are_days(client: Client, benchmark: Benchmark, owner: User, ada: User) -> None:
    for user, query, status in (
        (ada, {}, 403),
        (member(benchmark, Role.RESEARCHER), {}, 403),
        (owner, {}, 200),
        (owner, {"since": "yesterday"}, 422),
        (owner, {"until": "9999-12-31"}, 422),
        (owner, {"since": "0001-01-01"}, 422),
    ):
        client.force_login(user)
        assert client.get(URL, query).status_code == status


def test_more_documents_take_no_more_queries(
    benchmark: Benchmark, ada: User, ben: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(2):
        settle(differing(benchmark, ada, ben), [ada, ben], [])
        with django_assert_num_queries(12):
            people_report(benchmark, until=timezone.localdate())
