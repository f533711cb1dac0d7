"""The field's formats from the database and into it: schemas on released gold, round trips, import desk, scores."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from bs4 import BeautifulSoup
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.core.models import Benchmark, ClaimSuggestion, Document
from annotator.core.released import same
from annotator.core.vocabulary import Phase, Role, RunState, Stage
from annotator.exchange.actions import import_jobs
from annotator.exchange.actions.imports import import_documents, import_gold
from annotator.exchange.formats import averitec, fastfact, original_tool, subtasks, veriscore
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.models import ImportJob
from annotator.exchange.queries.export import gold_documents
from tests.conftest import ROOT
from tests.factories import BenchmarkFactory, member
from tests.gold_documents import FALSE, REVISED, gold_document
from tests.released import numbered, write_jsonl

pytestmark = pytest.mark.django_db


@pytest.fixture
def pilot() -> Benchmark:
    return BenchmarkFactory(slug="pilot")


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "formats" / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def check(rows: Any, name: str, part: str = "") -> None:
    """Each of the rows validates against the schema, or a part of it."""
    rules = schema(name) | ({"$ref": f"#/$defs/{part}"} if part else {})
    validator = jsonschema.Draft202012Validator(rules)
    for row in rows:
        validator.validate(row)


def documents_of(benchmark: Benchmark) -> Callable[[], Iterator[GoldDocument]]:
    return lambda: gold_documents(benchmark)


def joined(parts: Iterable[str | bytes]) -> str:
    return b"".join(part.encode() if isinstance(part, str) else part for part in parts).decode()


def one_of(files: Iterable[tuple[str, Iterable[bytes]]], wanted: str) -> str:
    """The text of one of the files, which have to be read in their order."""
    return next(joined(parts) for name, parts in files if name == wanted)


def rows_of(parts: Iterable[str | bytes]) -> list[Any]:
    return [json.loads(line) for line in joined(parts).split("\n") if line]


def zipped(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def report(*arguments: Any, **options: Any) -> dict[str, Any]:
    out = io.StringIO()
    call_command(*map(str, arguments), json=True, stdout=out, stderr=io.StringIO(), **options)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


# --- the released gold ----------------------------------------------------------------------------


def test_the_released_gold_validates_in_every_format(pilot: Benchmark, data_dir: Path) -> None:
    assert import_gold(benchmark=pilot, source=data_dir / "factcheck-bench.dev.jsonl").imported == 47
    counted: dict[str, int] = {}
    for name, parts in subtasks.files(documents_of(pilot)):
        rows = rows_of(parts)
        check(rows, "subtasks", name.removesuffix(".jsonl"))
        counted[name[:8]] = len(rows)
    # As factcheck-bench.dev.statistics.json counts sentences, claims, stances, verdicts and documents.
    known = json.loads((data_dir / "factcheck-bench.dev.statistics.json").read_text(encoding="utf-8"))
    assert counted["subtask3"] == sum(known["stance"]["all"].values())
    assert (counted["subtask4"], counted["subtask5"]) == (332, 47)
    for name, text in original_tool.files(documents_of(pilot)):
        check([json.loads(joined(text))], "original-tool", name.split("_", 1)[1].removesuffix(".json"))
    claims = json.loads("".join(averitec.lines(gold_documents(pilot))))
    check([claims], "averitec")
    assert len(claims) == 332
    check(rows_of(fastfact.lines(gold_documents(pilot))), "fastfact")
    for _, parts in veriscore.files(documents_of(pilot)):
        check(rows_of(parts), "veriscore")


def test_released_files_of_other_benchmarks_validate_where_they_can(data_dir: Path) -> None:
    check([json.loads((data_dir / "averitec.sample.json").read_text(encoding="utf-8"))], "averitec")
    for name, file in (
        ("fastfact", "fastfact.annotation-input.example.jsonl"),
        ("veriscore", "veriscore.claims.sample.jsonl"),
    ):
        check(map(json.loads, (data_dir / file).read_text(encoding="utf-8").splitlines()), name)
    for path in (data_dir / "original-tool-example").iterdir():
        check([json.loads(path.read_text(encoding="utf-8"))], "original-tool", path.stem.removeprefix("0_"))


# --- there and back -------------------------------------------------------------------------------


def test_the_original_tools_example_comes_back_from_the_database(pilot: Benchmark, data_dir: Path) -> None:
    given = {path.name: path.read_text(encoding="utf-8") for path in (data_dir / "original-tool-example").iterdir()}
    report = import_gold(benchmark=pilot, source=io.BytesIO(zipped(given)), format="original-tool-screens")
    assert (report.imported, report.bad) == (1, 0)
    assert {name: joined(text) for name, text in original_tool.files(documents_of(pilot))} == given


def test_averitec_comes_back_from_the_database(pilot: Benchmark, data_dir: Path) -> None:
    given = json.loads((data_dir / "averitec.sample.json").read_bytes())
    # The sample repeats no claim, as the benchmark does: with other evidence, and without a key.
    given += [given[0] | {"questions": given[1]["questions"]}, {"note": 1, **given[0]}]
    del given[-1]["cached_original_claim_url"]
    content = json.dumps(given).encode()
    report = import_gold(benchmark=pilot, source=io.BytesIO(content), format="averitec-gold")
    assert (report.imported, report.bad) == (102, 0), report.problems
    written = json.loads("".join(averitec.lines(gold_documents(pilot))))
    assert [json.dumps(row) for row in written] == [json.dumps(row) for row in given]
    again = import_gold(benchmark=pilot, source=io.BytesIO(content), format="averitec-gold")
    assert (again.imported, again.unchanged, again.bad) == (0, 102, 0)


@pytest.mark.parametrize(
    ("format", "render", "file"),
    [
        ("fastfact-gold", fastfact.render, "fastfact.annotation-input.example.jsonl"),
        ("veriscore-gold", veriscore.render, "veriscore.claims.sample.jsonl"),
    ],
)
def test_answers_with_claims_come_back_from_the_database(
    pilot: Benchmark, data_dir: Path, format: str, render: Callable[[GoldDocument], dict[str, Any]], file: str
) -> None:
    content = (data_dir / file).read_bytes()
    given = [json.loads(line) for line in content.splitlines()]
    assert import_gold(benchmark=pilot, source=io.BytesIO(content), format=format).imported == len(given)
    for document, row in zip(gold_documents(pilot), given, strict=True):
        written = render(document)
        # A document without an id of its own is given one.
        assert "question_id" in row or written.pop("question_id") == document.public_id
        assert same(written, row)


def own_files(name: str, documents: Callable[[], Iterator[GoldDocument]]) -> bytes:
    """What Touchstone writes in a format, as one file that can be imported."""
    if name == "original-tool-screens":
        return zipped({file: joined(text) for file, text in original_tool.files(documents)})
    if name == "averitec-gold":
        return "".join(averitec.lines(documents())).encode()
    if name == "fastfact-gold":
        return "".join(fastfact.lines(documents())).encode()
    return one_of(veriscore.files(documents), "verification.jsonl").encode()


@pytest.mark.parametrize("name", ["original-tool-screens", "fastfact-gold", "veriscore-gold"])
def test_what_touchstone_writes_comes_in_again_and_goes_out_the_same(pilot: Benchmark, name: str) -> None:
    written = own_files(name, lambda: iter([gold_document(), gold_document(external_id="ada-2", prompt="And she?")]))
    report = import_gold(benchmark=pilot, source=io.BytesIO(written), format=name)
    assert (report.imported, report.bad) == (2, 0), report.problems
    again = own_files(name, documents_of(pilot))
    if name == "original-tool-screens":
        assert _texts(again) == _texts(written)
    else:
        assert again == written


def test_claims_written_for_averitec_come_in_as_documents_of_their_own(pilot: Benchmark) -> None:
    written = own_files("averitec-gold", lambda: iter([gold_document()]))
    assert import_gold(benchmark=pilot, source=io.BytesIO(written), format="averitec-gold").imported == 4
    again = json.loads(own_files("averitec-gold", documents_of(pilot)))
    for row, given in zip(again, json.loads(written), strict=True):
        # Each claim has become a document of its own; the row says where it was.
        assert same(row, given)


def _texts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_came_in_is_gold_with_its_edits(pilot: Benchmark) -> None:
    written = own_files("original-tool-screens", lambda: iter([gold_document()]))
    import_gold(benchmark=pilot, source=io.BytesIO(written), format="original-tool-screens")
    document = Document.objects.get()
    assert (document.stage, document.phase, document.external_id) == (Stage.REVISE, Phase.AGREED, "ada-1")
    [found] = gold_documents(pilot)
    assert found.sentences[1].claims[0].text == FALSE and found.sentences[1].claims[0].revised == REVISED
    # Bringing the same file again changes nothing.
    again = import_gold(benchmark=pilot, source=io.BytesIO(written), format="original-tool-screens")
    assert (again.imported, again.unchanged) == (0, 1)


# --- the import desk ------------------------------------------------------------------------------


@pytest.fixture
def desk(client: Client, pilot: Benchmark, settings: Any, tmp_path: Path) -> Client:
    settings.MEDIA_ROOT = tmp_path
    client.force_login(member(pilot, Role.OWNER))
    return client


def looked_at(client: Client, name: str, content: bytes, format: str = "") -> BeautifulSoup:
    """The page's second step, with another format chosen if one is named."""
    address = reverse("import", args=["pilot"])
    response = client.post(address, {"file": SimpleUploadedFile(name, content)}, follow=True)
    page = BeautifulSoup(response.content, "html.parser")
    if format:
        token = page.select_one("input[name=upload]")["value"]  # type: ignore[index]
        page = BeautifulSoup(client.get(address, {"upload": token, "format": format}).content, "html.parser")
    return page


def brought_in(client: Client, page: BeautifulSoup) -> ImportJob:
    form = {
        "upload": page.select_one("input[name=upload]")["value"],  # type: ignore[index]
        "format": page.select_one("#format option[selected]")["value"],  # type: ignore[index]
    }
    client.post(reverse("import", args=["pilot"]), form)
    job = ImportJob.objects.latest("id")
    import_jobs.run_import(job.pk)
    job.refresh_from_db()
    return job


def test_a_zip_of_screens_is_known_and_comes_in(desk: Client) -> None:
    content = own_files("original-tool-screens", lambda: iter([gold_document()]))
    page = looked_at(desk, "screens.zip", content)
    assert page.select_one("#format option[selected]")["value"] == "original-tool-screens"  # type: ignore[index]
    assert "3 sentences" in page.select_one("table.preview").text  # type: ignore[union-attr]
    job = brought_in(desk, page)
    assert (job.state, job.imported, job.bad) == (RunState.FINISHED, 1, 0)


def test_averitec_comes_in_to_be_labelled_anew_or_as_gold(desk: Client, pilot: Benchmark) -> None:
    content = own_files("averitec-gold", lambda: iter([gold_document()]))
    page = looked_at(desk, "claims.json", content)
    assert page.select_one("#format option[selected]")["value"] == "averitec"  # type: ignore[index]
    job = brought_in(desk, page)
    assert (job.state, job.imported) == (RunState.FINISHED, 4)
    assert ClaimSuggestion.objects.count() == 4
    assert set(Document.objects.values_list("phase", flat=True)) == {Phase.INDEPENDENT}
    assert not any("label" in each for each in Document.objects.values_list("metadata", flat=True))
    Document.objects.all().delete()
    job = brought_in(desk, looked_at(desk, "claims.json", content, "averitec-gold"))
    assert (job.state, job.imported, len(list(gold_documents(pilot)))) == (RunState.FINISHED, 4, 4)


@pytest.mark.parametrize("format", ["fastfact-gold", "veriscore-gold"])
def test_answers_with_claims_come_in_as_gold(desk: Client, pilot: Benchmark, format: str) -> None:
    content = own_files(format, lambda: iter([gold_document()]))
    job = brought_in(desk, looked_at(desk, "answers.jsonl", content, format))
    assert (job.state, job.imported, len(list(gold_documents(pilot)))) == (RunState.FINISHED, 1, 1)


def test_a_bad_row_is_shown_before_and_after(desk: Client) -> None:
    good = own_files("fastfact-gold", lambda: iter([gold_document()]))
    content = good + good.replace(b'"refuted"', b'"refutes"').replace(b"ada-1", b"ada-2")
    page = looked_at(desk, "answers.jsonl", content, "fastfact-gold")
    assert "“refutes” isn’t a valid label" in page.select_one("table.preview").text  # type: ignore[union-attr]
    job = brought_in(desk, page)
    assert (job.state, job.imported, job.bad, job.problems[0]["line"]) == (RunState.FINISHED, 1, 1, 2)


def test_the_command_takes_a_format(pilot: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_bytes(own_files("averitec-gold", lambda: iter([gold_document()])))
    call_command("import_gold", str(path), benchmark="pilot", format="averitec-gold", stdout=io.StringIO())
    assert pilot.documents.count() == 4
    found = import_documents(benchmark=BenchmarkFactory(), source=path)
    assert found.imported == 4


# --- scores ---------------------------------------------------------------------------------------


@pytest.fixture
def released(pilot: Benchmark) -> Benchmark:
    rows = [numbered(number) | {"model": f"m-{number % 2}", "source": "web"} for number in range(4)]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    assert import_gold(benchmark=pilot, source=io.BytesIO(content.encode())).imported == 4
    return pilot


def test_written_answers_score_as_the_gold_does(released: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    for metric in ("factscore", "fastfact", "veriscore"):
        gold = report("score", benchmark="pilot", metric=metric)
        texts = [fastfact.lines(gold_documents(released))]
        if metric != "fastfact":  # VeriScore's files do not say how many claims people found
            texts.append(iter([one_of(veriscore.files(documents_of(released)), "verification.jsonl")]))
        for text in texts:
            path.write_text("".join(text), encoding="utf-8")
            found = report("score", path, metric=metric)
            assert found["models"] == gold["models"] and found["faults"]["rows"] == 0


def test_written_claims_are_averitecs_gold(released: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_text("".join(averitec.lines(gold_documents(released))), encoding="utf-8")
    found = report("score", path, metric="averitec", gold=path)
    assert (found["claims"], found["label_accuracy"], found["score"]) == (16, 1.0, 1.0)


@pytest.mark.parametrize(
    ("number", "task", "label"),
    [
        (1, "sentence_checkworthiness", "checkworthy"),
        (2, "claim_checkworthiness", "checkworthy"),
        (3, "stance", "stance"),
        (4, "claim_factuality", "label"),
    ],
)
@pytest.mark.parametrize("key", ["id", "position"])
def test_rows_of_subtasks_name_items_as_predictions_do(
    released: Benchmark, tmp_path: Path, number: int, task: str, label: str, key: str
) -> None:
    subtask = subtasks.SUBTASKS[number - 1]
    text = one_of(subtasks.files(documents_of(released)), subtask.file)
    rows = list(subtasks.read(subtask, io.BytesIO(text.encode())))
    keys = ("id",) if key == "id" else ("document", "position")
    said = [{name: row[name] for name in keys} | {"label": row[label]} for row in rows if isinstance(row, dict)]
    if number == 1:  # two labels there, four in the file
        said = [row | {"label": "yes" if row["label"] == "yes" else "no"} for row in said]
    path = write_jsonl(tmp_path / "predictions.jsonl", said)
    options = {"undetermined": "own_label"} if number == 4 else {}
    assert report("evaluate", benchmark="pilot", task=task, predictions=path, **options)["accuracy"] == 1.0
