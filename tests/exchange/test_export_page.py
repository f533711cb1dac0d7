"""The export page: who may, what goes in, a streamed file, and a record of it."""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Activity, Benchmark, Document, User
from annotator.core.vocabulary import Role, RunState
from annotator.exchange.actions import downloads
from annotator.exchange.actions.downloads import start_download, streamed
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.exports.catalogue import FORMATS, Reading, format_named
from annotator.exchange.exports.downloads import latest_downloads
from annotator.exchange.formats import factcheck_bench
from annotator.exchange.models import Download
from tests.api import Api
from tests.factories import BenchmarkFactory, DocumentFactory, member
from tests.teams import words

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


def test_the_page_says_which_tables_a_spreadsheet_would_run(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = BeautifulSoup(client.get(reverse("export", args=["pilot"])).content, "html.parser")
    plain = page.select_one("input[value=csv]").find_parent("label")  # type: ignore[union-attr]
    assert "Spreadsheets run cells that look like formulas" in plain.text  # type: ignore[union-attr]


def test_without_documents_the_page_says_what_to_do(client: Client, owner: User) -> None:
    empty = BenchmarkFactory()
    client.force_login(member(empty, Role.OWNER))
    page = BeautifulSoup(client.get(reverse("export", args=[empty.slug])).content, "html.parser")
    assert page.find("a", href=reverse("import", args=[empty.slug]), string="Import documents")


def test_an_export_is_on_record(client: Client, benchmark: Benchmark, owner: User) -> None:
    download(client, benchmark, include="gold")
    noted = Activity.objects.get(benchmark=benchmark, action="export")
    assert (noted.by, noted.reason) == (owner, "factcheck-bench, gold, 1 document")
    page = BeautifulSoup(client.get(reverse("export", args=["pilot"])).content, "html.parser")
    assert "Factcheck-Bench, gold" in words(page.select_one("#downloads tbody tr"))


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


def test_a_script_may_get_it(client: Client, benchmark: Benchmark, owner: User) -> None:
    address = reverse("export-download", args=["pilot"])
    answer = client.get(address, {"format": "touchstone", "include": "all", "people": "named"})
    assert isinstance(answer, StreamingHttpResponse)
    header, *documents = [json.loads(line) for line in b"".join(answer).splitlines()]
    assert (header["people"], len(documents)) == ("named", 2)
    assert Activity.objects.get(action="export").reason == "touchstone, all, 2 documents, with names"
    assert client.put(address).status_code == 405


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"format": "touchstone"}, 200),
        ({"format": "touchstone", "people": "named"}, 403),
        ({"format": "touchstone", "include": "all"}, 403),
        ({"format": "factcheck-bench", "include": "all"}, 200),
        ({"format": "touchstone", "people": "all"}, 422),
    ],
)
def test_researchers_get_no_names_and_no_single_work_before_gold(
    client: Client, benchmark: Benchmark, asked: dict[str, str], status: int
) -> None:
    client.force_login(member(benchmark, Role.RESEARCHER))
    assert client.post(reverse("export-download", args=["pilot"]), asked).status_code == status
    assert Download.objects.exists() is (status == 200)
    page = client.get(reverse("export", args=["pilot"])).content.decode()
    assert 'value="named"' not in page


# --- progress -------------------------------------------------------------------------------------


def begun(benchmark: Benchmark, by: User, **asked: str) -> tuple[Download, Iterator[bytes]]:
    format = format_named(asked.get("format", "touchstone"))
    download = start_download(benchmark=benchmark, format=format, include="all", named=False, by=by)
    return download, streamed(download, format)


def test_the_row_follows_the_stream(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "TOLD_EVERY", 0.0)
    taken, pieces = begun(benchmark, owner)
    for _ in range(3):  # header, first document, second: the first has been counted by then
        next(pieces)
    taken.refresh_from_db()
    assert (taken.state, taken.done, taken.total) == (RunState.RUNNING, 1, 2)
    panel = BeautifulSoup(
        client.get(reverse("export", args=["pilot"]), headers={"HX-Request": "true"}).content, "html.parser"
    )
    assert "every 1s" in panel.select_one("#downloads")["hx-trigger"]  # type: ignore[index]
    assert "1 of 2 documents" in words(panel.select_one("tbody tr"))
    assert panel.select_one("progress")["value"] == "50"  # type: ignore[index]
    list(pieces)
    taken.refresh_from_db()
    assert (taken.state, taken.done, taken.finished_at is not None) == (RunState.FINISHED, 2, True)
    page = BeautifulSoup(client.get(reverse("export", args=["pilot"])).content, "html.parser")
    assert "every 1s" not in page.select_one("#downloads")["hx-trigger"]  # type: ignore[index]
    assert "2 documents" in words(page.select_one("#downloads tbody tr"))


@pytest.mark.parametrize(
    ("every", "told"),
    [(0.0, 3), (float("inf"), 1)],
    ids=["each document, and the end", "in no time, the end alone"],
)
def test_the_row_is_told_now_and_then_only(
    benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch, every: float, told: int
) -> None:
    monkeypatch.setattr(downloads, "TOLD_EVERY", every)
    _, pieces = begun(benchmark, owner)
    next(pieces)
    with CaptureQueriesContext(connection) as queries:
        list(pieces)
    assert sum("UPDATE" in each["sql"] for each in queries) == told


def test_who_goes_away_has_cancelled(client: Client, benchmark: Benchmark, owner: User) -> None:
    taken, pieces = begun(benchmark, owner)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    taken.refresh_from_db()
    assert taken.state == RunState.CANCELLED
    page = client.get(reverse("export", args=["pilot"])).content.decode()
    assert "Canceled by the browser" in page


def test_a_format_that_fails_says_so(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(document: object) -> str:
        raise RuntimeError

    monkeypatch.setattr(factcheck_bench, "line", broken)
    taken, pieces = begun(benchmark, owner, format="factcheck-bench")
    with pytest.raises(RuntimeError):
        list(pieces)
    taken.refresh_from_db()
    assert taken.state == RunState.FAILED
    page = client.get(reverse("export", args=["pilot"])).content.decode()
    assert "the reason is in the server’s log" in page


def test_silent_for_a_minute_it_counts_as_failed(benchmark: Benchmark, owner: User) -> None:
    taken, _ = begun(benchmark, owner)
    assert [each.state for each in latest_downloads(benchmark)] == [RunState.RUNNING]
    Download.objects.filter(pk=taken.pk).update(seen_at=timezone.now() - dt.timedelta(seconds=61))
    assert [each.state for each in latest_downloads(benchmark)] == [RunState.FAILED]


def test_documents_of_several_passes_are_shown_as_documents(benchmark: Benchmark, owner: User) -> None:
    def twice(reading: Reading) -> Iterator[bytes]:
        for _ in range(2):
            for document in reading.documents():
                yield document.prompt.encode()

    format = replace(FORMATS["csv"], write=twice, passes=2)
    taken = start_download(benchmark=benchmark, format=format, include="all", named=False, by=owner)
    list(streamed(taken, format))
    taken.refresh_from_db()
    assert (taken.documents, taken.total, taken.done) == (2, 4, 4)
    assert latest_downloads(benchmark)[0].done == 2


def test_a_format_that_cannot_be_written_here_is_not_offered(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = replace(FORMATS["parquet"], missing=lambda: "Install pyarrow first.")
    monkeypatch.setitem(FORMATS, "parquet", lacking)
    page = BeautifulSoup(client.get(reverse("export", args=["pilot"])).content, "html.parser")
    choice = page.select_one("input[value=parquet]")
    assert choice is not None and choice.has_attr("disabled")
    assert "Install pyarrow first." in words(choice.parent)
    assert client.post(reverse("export-download", args=["pilot"]), {"format": "parquet"}).status_code == 422


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


# --- several formats, and some documents ----------------------------------------------------------


def names_in(answer: StreamingHttpResponse) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(b"".join(answer))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_several_formats_come_as_one_zip(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = BeautifulSoup(client.get(reverse("export", args=["pilot"])).content, "html.parser")
    assert len(page.select("input[type=checkbox][name=format]")) == len(FORMATS)
    asked = {"format": ["", "factcheck-bench", "csv"], "include": "gold"}
    answer = client.post(reverse("export-download", args=["pilot"]), asked)
    assert isinstance(answer, StreamingHttpResponse)
    assert f"pilot-2-formats-{timezone.localdate():%Y-%m-%d}.zip" in answer["Content-Disposition"]
    files = names_in(answer)
    assert list(files) == ["pilot-factcheck-bench.jsonl", "pilot-csv.zip"]
    assert json.loads(files["pilot-factcheck-bench.jsonl"]) == json.loads(GOLD.read_text("utf-8"))
    assert zipfile.is_zipfile(io.BytesIO(files["pilot-csv.zip"]))
    (done,) = latest_downloads(benchmark)
    assert (done.what, done.state, done.done) == ("Factcheck-Bench, CSV tables, gold", RunState.FINISHED, 1)


def test_a_form_without_a_format_is_refused(client: Client, benchmark: Benchmark, owner: User) -> None:
    answer = client.post(reverse("export-download", args=["pilot"]), {"format": ""})
    assert answer.status_code == 422
    assert "Choose at least one format" in answer.content.decode()


def test_the_api_exports_some_documents_in_several_formats(benchmark: Benchmark) -> None:
    Document.objects.filter(order=2).update(model="alpha")
    api = Api(member(benchmark, Role.OWNER))
    body = {"formats": ["factcheck-bench", "fastfact"], "include": "all", "filter": "model=alpha&sort=model"}
    files = names_in(api.ask("POST", "/benchmarks/pilot/exports/download/", body))
    assert {name: len(content.splitlines()) for name, content in files.items()} == {
        "pilot-factcheck-bench.jsonl": 1,
        "pilot-fastfact.jsonl": 1,
    }
    refused = api.ask("POST", "/benchmarks/pilot/exports/download/", {"filter": "modle=alpha"})
    assert refused.status_code == 422
    assert "modle=alpha" in refused.json()["detail"]


def test_the_command_exports_some_documents_in_several_formats(benchmark: Benchmark, tmp_path: Path) -> None:
    Document.objects.filter(order=2).update(model="alpha")
    target = tmp_path / "all.zip"
    asked = {"benchmark": "pilot", "output": str(target), "include": "all", "filter": "model=alpha"}
    call_command("export", format=["factcheck-bench", "prov"], **asked)
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist() == ["pilot-factcheck-bench.jsonl", "pilot-prov.jsonl"]
        assert len(archive.read("pilot-factcheck-bench.jsonl").splitlines()) == 1
    with pytest.raises(CommandError, match="stage=late"):
        call_command("export", **asked | {"filter": "stage=late"})
