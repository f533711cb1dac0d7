"""Corpora in the product: a manager uploads pages, looks what a search finds, and lets the benchmark search them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotator.core.models import Activity, Benchmark, Corpus, User
from annotator.core.vocabulary import Role
from annotator.exchange.actions import import_jobs
from annotator.exchange.actions.corpora import answer_key
from annotator.exchange.models import ImportJob
from tests.exchange.test_import_page import soup_of
from tests.factories import BenchmarkFactory, member, with_corpus

pytestmark = pytest.mark.django_db

PAGES = [
    {
        "url": "https://tower.example/1",
        "title": "Tower",
        "text": "The tower of Hook Head was built by William Marshal.",
    },
    {"url": "https://ships.example/2", "text": "Ships have been guided since 1245.", "published": "2024-05-31"},
]


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    settings.VAR_DIR = tmp_path


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory()


@pytest.fixture
def admin(benchmark: Benchmark, client: Client) -> User:
    """An admin who may not make benchmarks."""
    person = member(benchmark, Role.ADMIN)
    client.force_login(person)
    return person


def file_of(*rows: dict[str, Any]) -> SimpleUploadedFile:
    return SimpleUploadedFile("pages.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())


def upload(client: Client, benchmark: Benchmark, **data: Any) -> Any:
    """Send the form, have the file imported, and return the page that follows."""
    given = {"name": "Harbor pages", "file": file_of(*PAGES), "use": "on"} | data
    answer = client.post(reverse("corpora", args=[benchmark.slug]), given)
    return client.get(answer["Location"]) if work_off() else answer


def work_off() -> int:
    """What a worker does after the request."""
    waiting = ImportJob.objects.filter(state="queued")
    for job in waiting:
        import_jobs.run_import(job.pk)
    return len(waiting)


def test_a_new_corpus_has_its_pages_and_is_searched_by_the_benchmark(
    client: Client, benchmark: Benchmark, admin: User
) -> None:
    page = soup_of(upload(client, benchmark))
    assert "2 pages imported" in page.get_text(" ", strip=True)
    corpus = Corpus.objects.get()
    assert (corpus.slug, corpus.created_by, corpus.pages.count()) == ("harbor-pages", admin, 2)
    benchmark.refresh_from_db()
    assert benchmark.corpus == corpus
    assert page.select_one(f'a[href="{reverse("corpus", args=[benchmark.slug, corpus.slug])}"]')
    listed = soup_of(client.get(reverse("corpora", args=[benchmark.slug]))).select("tbody tr")
    assert [row.get_text(" ", strip=True) for row in listed] == ["Harbor pages 2 this benchmark in use"]
    shown = soup_of(client.get(reverse("corpus", args=[benchmark.slug, corpus.slug])))
    assert [row.select_one("th").contents[0] for row in shown.select("tbody tr")] == ["Tower", PAGES[1]["url"]]  # type: ignore[union-attr]
    actions = set(Activity.objects.filter(by=admin).values_list("action", flat=True))
    assert {"create-corpus", "use-corpus", "import-corpus"} <= actions


def test_a_trial_search_shows_the_best_passages(
    client: Client, benchmark: Benchmark, admin: User, django_capture_on_commit_callbacks: Any
) -> None:
    upload(client, benchmark)
    address = reverse("corpus-search", args=[benchmark.slug, "harbor-pages"])
    with django_capture_on_commit_callbacks(execute=True):
        asking = soup_of(client.get(address, {"q": "who built the tower"}, headers={"HX-Request": "true"}))
    assert asking.select_one('#found[hx-trigger="every 1s"]')
    found = soup_of(client.get(address, {"q": "who built the tower"}, headers={"HX-Request": "true"}))
    assert [each.get_text() for each in found.select("article p:last-child")] == [PAGES[0]["text"]]
    assert "hx-trigger" not in found.select_one("#found").attrs  # type: ignore[union-attr]
    with django_capture_on_commit_callbacks(execute=True):
        client.get(address, {"q": "zebra"})
    nothing = soup_of(client.get(address, {"q": "zebra"}))
    assert "No passage shares a word" in nothing.get_text()


def test_new_pages_make_an_earlier_answer_old(client: Client, benchmark: Benchmark, admin: User) -> None:
    upload(client, benchmark)
    corpus = Corpus.objects.get()
    before = answer_key(corpus, "tower")
    more = {"url": "https://tower.example/3", "text": "Another tower stands nearby."}
    client.post(reverse("corpus-change", args=[benchmark.slug, corpus.slug, "add"]), {"file": file_of(*PAGES, more)})
    work_off()
    corpus.refresh_from_db()
    assert corpus.pages.count() == 3
    assert answer_key(corpus, "tower") != before
    job = ImportJob.objects.order_by("-pk")[0]
    assert (job.imported, job.unchanged) == (1, 2)


def test_a_bad_page_is_named_by_its_line(client: Client, benchmark: Benchmark, admin: User) -> None:
    page = soup_of(upload(client, benchmark, file=file_of(PAGES[0], {"text": "No address."})))
    assert "url" in page.select_one("tbody tr").get_text()  # type: ignore[union-attr]
    assert ImportJob.objects.get().problems[0]["line"] == 2


def test_a_benchmark_may_change_its_corpus_and_leave_it(client: Client, benchmark: Benchmark, admin: User) -> None:
    upload(client, benchmark)
    upload(client, benchmark, use="")
    benchmark.refresh_from_db()
    assert benchmark.corpus is not None
    assert benchmark.corpus.slug == "harbor-pages"
    second = reverse("corpus-change", args=[benchmark.slug, "harbor-pages-2", "use"])
    assert client.post(second).status_code == 302
    benchmark.refresh_from_db()
    assert benchmark.corpus.slug == "harbor-pages-2"
    client.post(reverse("corpus-change", args=[benchmark.slug, "harbor-pages", "leave"]))  # not the one in use
    benchmark.refresh_from_db()
    assert benchmark.corpus is not None
    client.post(reverse("corpus-change", args=[benchmark.slug, "harbor-pages-2", "leave"]))
    benchmark.refresh_from_db()
    assert benchmark.corpus is None
    assert len(soup_of(client.get(reverse("corpora", args=[benchmark.slug]))).select("tbody tr")) == 2, "still theirs"


def test_corpora_of_others_are_not_found(client: Client, benchmark: Benchmark, admin: User) -> None:
    other = BenchmarkFactory()
    with_corpus(other)
    corpus = Corpus.objects.get()
    assert client.get(reverse("corpus", args=[benchmark.slug, corpus.slug])).status_code == 404
    assert client.post(reverse("corpus-change", args=[benchmark.slug, corpus.slug, "use"])).status_code == 404


def test_the_form_says_what_is_missing(client: Client, benchmark: Benchmark, admin: User) -> None:
    page = soup_of(client.post(reverse("corpora", args=[benchmark.slug]), {"name": "Harbor"}), 422)
    assert "Choose a file first." in page.get_text()
    refused = upload(client, benchmark, name="…")
    assert "at least one Latin letter or digit" in refused.content.decode()
    assert not Corpus.objects.exists()


def test_annotators_have_no_corpora_page(client: Client, benchmark: Benchmark) -> None:
    client.force_login(member(benchmark))
    assert client.get(reverse("corpora", args=[benchmark.slug])).status_code == 403
