"""The import page: look at a file first, then follow it being worked off; whatever the file, nothing half done."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Activity, Benchmark, Document, PipelineRun, User
from annotator.core.vocabulary import Phase, Role, RunState
from annotator.exchange.actions import import_jobs, imports
from annotator.exchange.models import ImportJob
from annotator.exchange.screens.imports import guessed
from tests.factories import BenchmarkFactory, member

pytestmark = pytest.mark.django_db

CSV = (
    "question,answer,topic\nWho was she?,Ada was a mathematician.,history\nWho was he?,Babbage built engines.,history\n"
)
GOLD = Path(settings.BASE_DIR) / "fixtures" / "demo" / "gold.jsonl"


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory()


@pytest.fixture
def owner(benchmark: Benchmark, client: Client) -> User:
    person = member(benchmark, Role.OWNER)
    client.force_login(person)
    return person


def jsonl(*rows: dict[str, Any] | str) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def soup_of(response: Any, status: int = 200) -> BeautifulSoup:
    assert response.status_code == status
    return BeautifulSoup(response.content, "html.parser")


def upload(client: Client, benchmark: Benchmark, name: str, content: str | bytes) -> Any:
    """Bring a file; returns the answer after the redirect."""
    raw = content.encode() if isinstance(content, str) else content
    return client.post(reverse("import", args=[benchmark.slug]), {"file": SimpleUploadedFile(name, raw)}, follow=True)


def form_of(page: BeautifulSoup) -> dict[str, str]:
    """What a browser would send with the second step's form."""
    form = page.select_one("#check form")
    assert form is not None
    values = {each["name"]: each.get("value", "") for each in form.select("input[type=hidden]")}
    for select in form.select("select"):
        chosen = select.select_one("option[selected]")
        values[select["name"]] = (chosen.get("value", chosen.text) if chosen else "") or ""
    return values  # type: ignore[return-value]


def press_import(client: Client, benchmark: Benchmark, page: BeautifulSoup, **more: str) -> ImportJob:
    """Press “Import” on the second step; the job waits."""
    button = page.select_one("#check .foot button")
    assert button is not None and not button.has_attr("disabled")
    response = client.post(reverse("import", args=[benchmark.slug]), form_of(page) | more)
    job = ImportJob.objects.latest("id")
    assert response["Location"] == reverse("import-job", args=[benchmark.slug, job.public_id])
    return job


def done(job: ImportJob) -> ImportJob:
    import_jobs.run_import(job.pk)
    job.refresh_from_db()
    return job


# --- looking at the file --------------------------------------------------------------------------


def test_a_csv_file_shows_its_columns_and_rows_before_anything_comes_in(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    page = soup_of(upload(client, benchmark, "answers.csv", CSV))
    values = form_of(page)
    assert (values["format"], values["column-prompt"], values["column-response"]) == ("csv", "question", "answer")
    assert values["column-id"] == ""
    assert "Ada was a mathematician." in page.select_one("table.preview").text  # type: ignore[union-attr]
    assert not Document.objects.exists() and not ImportJob.objects.exists()
    done(press_import(client, benchmark, page))
    assert list(benchmark.documents.values_list("prompt", "response", "metadata")) == [
        ("Who was she?", "Ada was a mathematician.", {"topic": "history"}),
        ("Who was he?", "Babbage built engines.", {"topic": "history"}),
    ]


def test_a_csv_file_with_far_too_many_columns_is_refused_at_once(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    names = ",".join(["response", *(f"c{number}" for number in range(30_000))])
    began = time.process_time()
    page = soup_of(upload(client, benchmark, "wide.csv", f"{names}\n"))
    assert time.process_time() - began < 3
    assert "30,001 columns; the limit is 1,000" in page.select_one("#check").text  # type: ignore[union-attr]
    assert len(page.encode()) < 50_000


def test_json_lines_with_far_too_many_keys_are_refused_at_once(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    wide = {"response": "Yes.", **{f"k{number}": number for number in range(1_000)}}
    page = soup_of(upload(client, benchmark, "wide.jsonl", f'{{"response": "No."}}\n{json.dumps(wide)}\n'))
    said = page.select_one("#check").text  # type: ignore[union-attr]
    assert "up to line 2 have 1,001 different keys; the limit is 1,000" in said


def test_a_column_name_that_is_no_utf_8_is_named_by_its_place(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    page = soup_of(upload(client, benchmark, "latin.csv", "response,Größe\nYes.,3\n".encode("latin-1")))
    assert "The name of column 2 is not valid UTF-8." in page.select_one("#check").text  # type: ignore[union-attr]


def test_half_of_a_surrogate_pair_is_left_out_wherever_it_stands(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    row = '{"response": "One\\ud800.", "prompt": "\\udc00Why?", "source": "s\\ud800", "model": "m\\udfff", '
    row += '"k\\ud800": "v\\ud800", "metadata": {"a\\ud800": ["\\ud800"]}}\n'
    bad = '{"response": "Two.", "id": "\\ud800"}\n{"response": "Three.", "reference_date": "\\ud800"}\n'
    page = soup_of(upload(client, benchmark, "odd.jsonl", row + bad))
    assert "One." in page.select_one("table.preview").text  # type: ignore[union-attr]
    job = done(press_import(client, benchmark, page))
    assert (job.imported, job.bad) == (1, 2)
    found = benchmark.documents.get()
    assert (found.response, found.prompt, found.source, found.model) == ("One.", "Why?", "s", "m")
    assert found.metadata == {"k": "v", "a": [""]}
    soup_of(client.get(reverse("import-job", args=[benchmark.slug, job.public_id])))


def test_another_choice_of_columns_is_shown_at_once(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = soup_of(upload(client, benchmark, "answers.csv", CSV))
    url, htmx = reverse("import", args=[benchmark.slug]), {"HX-Request": "true"}
    none = soup_of(client.get(url, form_of(page) | {"column-response": ""}, headers=htmx))
    assert none.select_one("html") is None
    assert "Choose the column that contains the responses" in none.text
    assert none.select_one(".foot button").has_attr("disabled")  # type: ignore[union-attr]
    swapped = soup_of(client.get(url, form_of(page) | {"column-prompt": "topic"}, headers=htmx))
    cell = swapped.select_one("table.preview td")
    assert cell is not None and cell.text == "history"
    done(press_import(client, benchmark, BeautifulSoup(str(swapped), "html.parser")))
    assert set(benchmark.documents.values_list("prompt", flat=True)) == {"history"}


def test_columns_are_guessed_by_their_names() -> None:
    found = guessed(["Question", "Model Answer", "Answer", "prompt", "uid"])
    assert (found["prompt"], found["response"], found["id"]) == ("prompt", "Answer", "uid")
    assert guessed(["a", "b"])["response"] == ""


def test_released_gold_is_recognised_and_comes_in_as_gold(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = soup_of(upload(client, benchmark, "gold.jsonl", GOLD.read_bytes()))
    assert form_of(page)["format"] == "gold"
    assert "6 sentences" in page.text
    job = done(press_import(client, benchmark, page))
    assert (job.state, job.imported) == (RunState.FINISHED, 1)
    assert benchmark.documents.get().is_gold
    assert not PipelineRun.objects.exists(), "gold needs no suggestions"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", b"", "empty"),
        ("wide.csv", "prompt,response\na,b\n".encode("utf-16"), "UTF-16"),
        ("photo.png", b"\x89PNG\r\n\x1a\n\x00\x00", "The file’s format is unknown"),
        ("twice.csv", b"response,response\na,b\n", "Two columns are called"),
        ("list.txt", b"just words", "The file’s format is unknown"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    client: Client, benchmark: Benchmark, owner: User, name: str, content: bytes, says: str
) -> None:
    response = upload(client, benchmark, name, content)
    assert says in BeautifulSoup(response.content, "html.parser").text
    assert not ImportJob.objects.exists() and not Document.objects.exists()


def test_no_file_chosen_says_so(client: Client, benchmark: Benchmark, owner: User) -> None:
    response = client.post(reverse("import", args=[benchmark.slug]), {})
    assert "Choose a file first." in soup_of(response, 422).text


def test_bad_rows_are_shown_in_the_preview(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = soup_of(upload(client, benchmark, "a.jsonl", jsonl({"response": "Fine."}, "{broken", {"response": " "})))
    assert [each.text for each in page.select("table.preview .problem")] == [
        "not JSON: Expecting property name enclosed in double quotes at character 2.",
        "response: blank: there is nothing to fact-check.",
    ]


# --- working it off -------------------------------------------------------------------------------


def test_good_rows_come_in_and_each_bad_one_is_named(client: Client, benchmark: Benchmark, owner: User) -> None:
    rows = jsonl({"id": "a", "response": "Fine."}, "{broken", {"id": "b", "response": "Fine too.", "source": 7})
    job = done(press_import(client, benchmark, soup_of(upload(client, benchmark, "a.jsonl", rows))))
    assert (job.state, job.read, job.imported, job.bad) == (RunState.FINISHED, 3, 1, 2)
    page = soup_of(client.get(reverse("import-job", args=[benchmark.slug, job.public_id])))
    table = [[cell.text for cell in row.select("th, td")] for row in page.select("tbody tr")]
    assert [row[:2] for row in table] == [["2", "whole row"], ["3", "source"]]
    assert "1 document imported; 2 rows have errors and were skipped." in page.text


@pytest.mark.parametrize(
    ("name", "text", "errors"),
    [
        (
            "a.jsonl",
            '{"id": "a", "response": "Fine."}\n{broken\n\n{"id": "b", "response": 7}\n',
            '{broken\n{"id": "b", "response": 7}\n',
        ),
        (
            "a.csv",
            'response;date\nFine.;\n"Two\nlines";soon\nAlso fine.;2024-05-31\none;two;three\n',
            'response;date\n"Two\nlines";soon\none;two;three\n',
        ),
    ],
)
def test_rows_with_errors_can_be_taken_away_corrected_and_imported(
    client: Client, benchmark: Benchmark, owner: User, name: str, text: str, errors: str
) -> None:
    job = done(press_import(client, benchmark, soup_of(upload(client, benchmark, name, text))))
    assert (job.imported, job.bad) == (len(text.splitlines()) - len(errors.splitlines()) - (name == "a.jsonl"), 2)
    url = reverse("import-job", args=[benchmark.slug, job.public_id])
    assert soup_of(client.get(url)).select_one("a[href='?format=rows']") is not None
    response = client.get(url, {"format": "rows"})
    assert response.content.decode() == errors
    assert response["Content-Disposition"] == f'attachment; filename="{name.replace(".", "-errors.")}"'


def test_rows_with_errors_are_deleted_after_a_week(client: Client, benchmark: Benchmark, owner: User) -> None:
    job = done(press_import(client, benchmark, soup_of(upload(client, benchmark, "a.jsonl", "{broken\n"))))
    long_ago = timezone.now() - import_jobs.BAD_ROWS_KEPT - dt.timedelta(hours=1)
    ImportJob.objects.filter(pk=job.pk).update(finished_at=long_ago)
    path = Path(job.bad_rows.path)
    os.utime(path, (long_ago.timestamp(), long_ago.timestamp()))
    upload(client, benchmark, "b.jsonl", jsonl({"response": "Fine."}))
    assert not path.exists()
    url = reverse("import-job", args=[benchmark.slug, job.public_id])
    assert soup_of(client.get(url)).select_one("a[href='?format=rows']") is None
    assert client.get(url, {"format": "rows"}).status_code == 404


def test_all_or_nothing_writes_nothing(client: Client, benchmark: Benchmark, owner: User) -> None:
    rows = jsonl({"response": "Fine."}, "{broken")
    page = soup_of(upload(client, benchmark, "a.jsonl", rows))
    job = done(press_import(client, benchmark, page, strict="on"))
    assert (job.state, job.imported, job.bad) == (RunState.FAILED, 0, 1)
    assert not Document.objects.exists()
    page_after = client.get(reverse("import-job", args=[benchmark.slug, job.public_id]))
    assert "Nothing was imported" in page_after.content.decode()


def test_the_same_file_twice_changes_nothing(client: Client, benchmark: Benchmark, owner: User) -> None:
    for _ in range(2):
        job = done(press_import(client, benchmark, soup_of(upload(client, benchmark, "answers.csv", CSV))))
    assert (job.state, job.imported, job.unchanged) == (RunState.FINISHED, 0, 2)
    assert benchmark.documents.count() == 2
    page = client.get(reverse("import-job", args=[benchmark.slug, job.public_id])).content.decode()
    assert "Everything in this file was already imported" in page


def test_the_upload_is_kept_out_of_reach_and_goes_when_it_is_in(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    page = soup_of(upload(client, benchmark, "answers.csv", CSV))
    (name,) = default_storage.listdir("imports")[1]
    assert client.get(f"/imports/{name}").status_code == 404
    assert client.get(f"/media/imports/{name}").status_code == 404
    done(press_import(client, benchmark, page))
    assert default_storage.listdir("imports")[1] == []
    # The same form sent again, as after “back”: the upload has gone.
    again = client.post(reverse("import", args=[benchmark.slug]), form_of(page), follow=True)
    assert "The uploaded file has expired" in soup_of(again).text
    assert ImportJob.objects.count() == 1


def test_uploads_that_nobody_came_back_to_are_forgotten(client: Client, benchmark: Benchmark, owner: User) -> None:
    upload(client, benchmark, "old.csv", CSV)
    (old,) = default_storage.listdir("imports")[1]
    past = time.time() - import_jobs.FORGOTTEN_AFTER.total_seconds() - 60
    os.utime(default_storage.path(f"imports/{old}"), (past, past))
    upload(client, benchmark, "new.csv", CSV)
    (left,) = default_storage.listdir("imports")[1]
    assert left != old


def test_documents_get_their_suggestions(
    client: Client, benchmark: Benchmark, owner: User, django_capture_on_commit_callbacks: Any
) -> None:
    page = soup_of(upload(client, benchmark, "answers.csv", CSV))
    with django_capture_on_commit_callbacks(execute=True):
        press_import(client, benchmark, page)
    run = benchmark.runs.get()
    assert (run.state, run.items.count(), run.requested_by) == (RunState.FINISHED, 2, owner)
    assert set(benchmark.documents.values_list("phase", flat=True)) == {Phase.INDEPENDENT}


def test_without_a_strategy_none_are_asked_for(client: Client, owner: User, benchmark: Benchmark) -> None:
    Benchmark.objects.filter(pk=benchmark.pk).update(strategy="")
    done(press_import(client, benchmark, soup_of(upload(client, benchmark, "answers.csv", CSV))))
    assert not benchmark.runs.exists()


def rows_of(count: int) -> str:
    return jsonl(*({"id": f"row-{n}", "response": f"Answer {n}."} for n in range(count)))


class WorkerDiedError(BaseException):
    """Stands for SIGKILL: nothing after it runs."""


def test_an_import_whose_worker_was_killed_starts_over_and_adds_nothing_twice(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)
    job = press_import(client, benchmark, soup_of(upload(client, benchmark, "a.jsonl", rows_of(5))))
    with monkeypatch.context() as dying:

        def die(self: Any, report: Any) -> None:
            raise WorkerDiedError

        dying.setattr(import_jobs._ImportProgress, "__call__", die)
        with pytest.raises(WorkerDiedError):
            import_jobs.run_import(job.pk)
    assert benchmark.documents.count() == 2
    import_jobs.run_import(job.pk)
    assert benchmark.documents.count() == 2, "a worker that may still live is left alone"
    assert import_jobs.resume_imports() == ([], [job.pk])
    ImportJob.objects.filter(pk=job.pk).update(
        seen_at=timezone.now() - import_jobs.LOST_AFTER - dt.timedelta(seconds=1)
    )
    assert import_jobs.resume_imports() == ([job.pk], [])
    ImportJob.objects.filter(pk=job.pk).update(seen_at=timezone.now())
    assert import_jobs.resume_imports(alone=True) == ([job.pk], []), "in the embedded default there is no other worker"
    done(job)
    assert (job.state, job.imported, job.unchanged) == (RunState.FINISHED, 3, 2)
    assert benchmark.documents.count() == 5
    # Also those that came in before the worker died get their suggestions.
    assert benchmark.runs.get().items.count() == 5


def test_an_import_can_be_cancelled_between_two_batches(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)
    job = press_import(client, benchmark, soup_of(upload(client, benchmark, "a.jsonl", rows_of(6))))
    honest, url = import_jobs._ImportProgress.__call__, reverse("import-job", args=[benchmark.slug, job.public_id])

    def cancel_after_two(self: Any, report: Any) -> None:
        honest(self, report)
        if report.read == 4:
            client.post(url, {"what": "cancel"})

    monkeypatch.setattr(import_jobs._ImportProgress, "__call__", cancel_after_two)
    done(job)
    assert (job.state, job.imported, benchmark.documents.count()) == (RunState.CANCELLED, 4, 6)
    assert "Canceled." in soup_of(client.get(url)).text
    assert default_storage.listdir("imports")[1] == []


def test_progress_is_written_after_each_batch_and_the_page_follows(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)
    job = press_import(client, benchmark, soup_of(upload(client, benchmark, "a.jsonl", rows_of(5))), strict="on")
    url = reverse("import-job", args=[benchmark.slug, job.public_id])
    first = soup_of(client.get(url))
    assert "Waiting for a worker" in first.text
    honest = import_jobs._ImportProgress.__call__
    seen: list[tuple[int, str, str]] = []

    def look(self: Any, report: Any) -> None:
        honest(self, report)
        answer = client.get(url, headers={"HX-Request": "true"})
        part = soup_of(answer)
        assert "HX-Retarget" not in answer and part.select_one("#numbers[hx-trigger='every 1s']")
        counts = [each.text for each in part.select("dd")]
        seen.append((int(part.select_one("progress")["value"]), counts[0], counts[1]))  # type: ignore[index, arg-type]

    monkeypatch.setattr(import_jobs._ImportProgress, "__call__", look)
    done(job)
    # The first pass checks and is half of the work; nothing is in yet.
    assert [(read, imported) for _, read, imported in seen[:3]] == [("2", "0"), ("4", "0"), ("5", "0")]
    assert [(read, imported) for _, read, imported in seen[3:]] == [("2", "2"), ("4", "4"), ("5", "5")]
    shares = [share for share, _, _ in seen]
    assert shares == sorted(shares) and shares[2] == 50 and shares[-1] == 100
    over = client.get(url, headers={"HX-Request": "true"})
    assert over["HX-Retarget"] == "#job"
    assert BeautifulSoup(over.content, "html.parser").select_one("#job") == soup_of(client.get(url)).select_one("#job")
    assert b"hx-get" not in over.content


def test_a_fault_of_ours_is_said_and_leaves_what_is_in(
    client: Client, benchmark: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = press_import(client, benchmark, soup_of(upload(client, benchmark, "answers.csv", CSV)))

    def fail(**_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(import_jobs, "import_documents", fail)
    done(job)
    assert job.state == RunState.FAILED
    assert "the details are in the server’s log" in job.message
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.real_worker
def test_the_worker_of_the_embedded_default_imports_and_prefills(
    client: Client, benchmark: Benchmark, owner: User, real_worker: None
) -> None:
    job = press_import(client, benchmark, soup_of(upload(client, benchmark, "a.jsonl", rows_of(20))))
    last_moment = time.monotonic() + 20
    while not (ImportJob.objects.filter(pk=job.pk, state=RunState.FINISHED) and not unfinished(benchmark)):
        assert time.monotonic() < last_moment, ImportJob.objects.values("state", "message").get(pk=job.pk)
        time.sleep(0.1)
    assert benchmark.documents.filter(sentence_suggestions__isnull=False).distinct().count() == 20


def unfinished(benchmark: Benchmark) -> bool:
    runs = list(benchmark.runs.values_list("state", flat=True))
    return not runs or any(state != RunState.FINISHED for state in runs)


# --- who may --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status"), [("annotator", 403), ("stranger", 404)])
def test_others_do_not_import(client: Client, benchmark: Benchmark, owner: User, who: str, status: int) -> None:
    page = soup_of(upload(client, benchmark, "answers.csv", CSV))
    job = press_import(client, benchmark, page)
    client.force_login(member(benchmark) if who == "annotator" else member(BenchmarkFactory(), Role.OWNER))
    url, job_url = reverse("import", args=[benchmark.slug]), reverse("import-job", args=[benchmark.slug, job.public_id])
    assert client.get(url).status_code == status
    assert client.post(url, form_of(page)).status_code == status
    assert client.get(job_url).status_code == status
    assert client.post(job_url, {"what": "cancel"}).status_code == status
    job.refresh_from_db()
    assert job.state == RunState.QUEUED and ImportJob.objects.count() == 1


def test_an_upload_is_its_owners_alone(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = soup_of(upload(client, benchmark, "answers.csv", CSV))
    client.force_login(member(benchmark, Role.ADMIN))
    url = reverse("import", args=[benchmark.slug])
    for asked in (form_of(page), form_of(page) | {"upload": "imports/x.csv"}):
        assert "has expired or was already imported" in soup_of(client.post(url, asked, follow=True)).text
        assert "has expired or was already imported" in soup_of(client.get(url, asked, follow=True)).text
    assert not ImportJob.objects.exists()


def test_an_import_is_on_record(client: Client, benchmark: Benchmark, owner: User) -> None:
    done(press_import(client, benchmark, soup_of(upload(client, benchmark, "answers.csv", CSV))))
    noted = Activity.objects.filter(benchmark=benchmark, by=owner).values_list("action", flat=True)
    assert {"start-import", "import"} <= set(noted)


def test_the_number_of_queries_does_not_grow(client: Client, benchmark: Benchmark, owner: User) -> None:
    url = reverse("import", args=[benchmark.slug])
    counts = []
    for more in (1, 2):
        for _ in range(more):
            import_jobs.start_import(benchmark=benchmark, by=owner, file="", filename="x", format="csv")
        with CaptureQueriesContext(connection) as queries:
            client.get(url)
        counts.append(len(queries))
    assert counts[0] == counts[1]
