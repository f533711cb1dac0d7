"""The export page: who may, what goes in, a streamed file, and a record of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from django.conf import settings
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.actions.imports import import_gold
from annotator.models import Activity, Benchmark, Document, User
from annotator.vocabulary import Role
from tests.factories import BenchmarkFactory, DocumentFactory, member

pytestmark = pytest.mark.django_db
GOLD = Path(settings.BASE_DIR) / "fixtures" / "demo" / "gold.jsonl"


@pytest.fixture
def benchmark() -> Benchmark:
    """One gold document and one in work."""
    benchmark = BenchmarkFactory(slug="pilot")
    import_gold(benchmark=benchmark, source=GOLD)
    DocumentFactory(benchmark=benchmark, order=2)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark, client: Client) -> User:
    person = member(benchmark, Role.OWNER)
    client.force_login(person)
    return person


def download(client: Client, benchmark: Benchmark, **asked: str) -> tuple[StreamingHttpResponse, list[str]]:
    response = client.post(reverse("export-download", args=[benchmark.slug]), asked)
    assert isinstance(response, StreamingHttpResponse)
    return response, b"".join(response).decode().splitlines()


def test_gold_is_downloaded_as_it_was_released(client: Client, benchmark: Benchmark, owner: User) -> None:
    response, lines = download(client, benchmark, format="factcheck-bench", include="gold")
    assert [json.loads(line) for line in lines] == [json.loads(GOLD.read_text("utf-8"))]
    name = f"pilot-factcheck-bench-{timezone.localdate():%Y-%m-%d}.jsonl"
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'


def test_all_takes_what_is_in_work_too(client: Client, benchmark: Benchmark, owner: User) -> None:
    response, lines = download(client, benchmark, include="all")
    assert len(lines) == 2
    assert "-all-" in response["Content-Disposition"]


def test_the_page_says_how_much_is_gold(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = BeautifulSoup(client.get(reverse("export", args=["pilot"])).content, "html.parser")
    assert "1 of 2 documents gold" in page.text
    assert page.select_one("input[name=include][checked]")["value"] == "gold"  # type: ignore[index]


def test_without_documents_the_page_says_what_to_do(client: Client, owner: User) -> None:
    empty = BenchmarkFactory()
    client.force_login(member(empty, Role.OWNER))
    page = BeautifulSoup(client.get(reverse("export", args=[empty.slug])).content, "html.parser")
    assert page.find("a", href=reverse("import", args=[empty.slug]), string="Import documents")


def test_an_export_is_on_record(client: Client, benchmark: Benchmark, owner: User) -> None:
    download(client, benchmark, include="gold")
    noted = Activity.objects.get(benchmark=benchmark, action="export")
    assert (noted.by, noted.reason) == (owner, "factcheck-bench, gold, 1 document")
    page = client.get(reverse("export", args=["pilot"])).content.decode()
    assert "factcheck-bench, gold, 1 document" in page


@pytest.mark.parametrize("asked", [{"format": "xml"}, {"include": "some"}])
def test_what_there_is_not_is_refused_and_not_recorded(
    client: Client, benchmark: Benchmark, owner: User, asked: dict[str, str]
) -> None:
    assert client.post(reverse("export-download", args=["pilot"]), asked).status_code == 422
    assert not Activity.objects.filter(action="export").exists()


@pytest.mark.parametrize(
    ("role", "status"), [(Role.RESEARCHER, 200), (Role.ADMIN, 200), (Role.ANNOTATOR, 403), (None, 404)]
)
def test_gold_leaves_through_those_who_may(
    client: Client, benchmark: Benchmark, role: Role | None, status: int
) -> None:
    client.force_login(member(benchmark, role) if role else member(BenchmarkFactory(), Role.OWNER))
    assert client.get(reverse("export", args=["pilot"])).status_code == status
    assert client.post(reverse("export-download", args=["pilot"])).status_code == status
    assert Activity.objects.filter(action="export").exists() is (status == 200)


def test_a_look_at_the_address_downloads_nothing(client: Client, benchmark: Benchmark, owner: User) -> None:
    assert client.get(reverse("export-download", args=["pilot"])).status_code == 405


def test_the_number_of_queries_does_not_grow(client: Client, benchmark: Benchmark, owner: User) -> None:
    counts = []
    for more in (0, 3):
        for _ in range(more):
            DocumentFactory(benchmark=benchmark)
            download(client, benchmark)
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("export", args=["pilot"]))
        counts.append(len(queries))
    assert Document.objects.count() == 5
    assert counts[0] == counts[1]
