"""A folder for ``datasets``, its card, and Croissant metadata: filled from the data, naming nobody."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pyarrow import json as arrow_json

from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark, Document, PipelineRun, RunItem, User
from annotator.core.vocabulary import RunState, Stage
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.exports import croissant, huggingface
from annotator.exchange.formats.about import About
from annotator.exchange.queries.dataset_card import card_facts
from annotator.exchange.queries.export import gold_documents
from annotator.exchange.tables import tables
from annotator.exchange.tables.table_columns import TABLES
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from tests.agreeing import at_revise, settle
from tests.factories import BenchmarkFactory
from tests.released import numbered, write_jsonl

pytestmark = pytest.mark.django_db

yaml = importlib.import_module("yaml")

ABOUT = About(
    name="ada",
    title="Ada: “notes” | #1",
    description="What models say of Ada.",
    version="1.0.0",
    licence="CC-BY-4.0",
    authors=("Ada L.", "Ben & Co"),
    published=dt.date(2026, 11, 21),
    url="https://example.org/ada",
)


@pytest.fixture
def small(tmp_path: Path) -> Benchmark:
    """Four imported documents; one says its language, source and model."""
    benchmark: Benchmark = BenchmarkFactory()
    with write_jsonl(tmp_path / "gold.jsonl", [numbered(number) for number in range(4)]).open("rb") as source:
        assert import_gold(benchmark=benchmark, source=source).imported == 4
    benchmark.documents.filter(order=1).update(metadata={"language": "en"}, source="Q|A", model="m-1")
    return benchmark


@pytest.fixture
def two_people(benchmark: Benchmark, document: Document, owner: User, ada: User, ben: User) -> Benchmark:
    """One document that two people took through all stages."""
    at_revise(document, owner, ada, ben)
    for person in (ada, ben):
        submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    document.refresh_from_db()
    assert settle(document, [ada, ben], []).is_gold
    return benchmark


def write(folder: Path, benchmark: Benchmark, **options: Any) -> Path:
    about = options.pop("about", ABOUT)
    for name, pieces in huggingface.files(benchmark, lambda: gold_documents(benchmark), about, **options):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"".join(pieces))
    return folder


def card(folder: Path) -> tuple[dict[str, Any], str]:
    """The head and the text of the card."""
    _, head, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def section(text: str, heading: str) -> str:
    return text.split(f"{heading}\n")[1].split("\n#")[0]


def as_json(cell: Any) -> Any:
    """A cell as JSON holds it: dates and times are texts."""
    if isinstance(cell, dt.datetime):
        return tables.time_text(cell)
    return cell.isoformat() if isinstance(cell, dt.date) else cell


def test_a_file_for_each_table_holds_its_rows(small: Benchmark, tmp_path: Path) -> None:
    folder = write(tmp_path / "hf", small)
    assert {path.name for path in (folder / "data").iterdir()} == {table.name for table in TABLES}
    claims = lines(folder / "data" / "claims" / "gold.jsonl")
    expected = {
        table.name: [
            dict(zip(table.column_names, map(as_json, row), strict=True))
            for number, document in enumerate(gold_documents(small), start=1)
            for found, rows in tables.rows_of(document, number)
            for row in rows
            if found is table
        ]
        for table in TABLES
    }
    for name, rows in expected.items():
        assert lines(folder / "data" / name / "gold.jsonl") == rows
    assert claims[1]["factuality"] == "false" and claims[1]["is_true"] is False and claims[3]["is_true"] is None


def test_the_head_names_every_file_with_the_types_of_its_columns(small: Benchmark, tmp_path: Path) -> None:
    folder = write(tmp_path / "hf", small)
    head, _ = card(folder)
    assert head["pretty_name"] == ABOUT.title
    assert (head["license"], head["language"], head["size_categories"]) == ("cc-by-4.0", ["en"], ["n<1K"])
    assert [each["config_name"] for each in head["configs"]] == [table.name for table in TABLES]
    assert [each["config_name"] for each in head["configs"] if each.get("default")] == ["claims"]
    features = {each["config_name"]: each["features"] for each in head["dataset_info"]}
    arrow = {"int64": "int64", "bool": "bool", "string": "string"}
    for each in head["configs"]:
        [files] = each["data_files"]
        assert files["split"] == "gold"
        read = arrow_json.read_json(folder / files["path"])
        named = {field["name"]: field["dtype"] for field in features[each["config_name"]]}
        assert read.column_names == list(named)
        for field in read.schema:
            assert str(field.type) in (arrow[named[field.name]], "null")


def test_splits_have_files_of_their_own(small: Benchmark, tmp_path: Path) -> None:
    ids = [document.public_id for document in gold_documents(small)]
    splits = dict(zip(ids, ("test", "train", "dev", "train"), strict=True))
    folder = write(tmp_path / "hf", small, splits=splits)
    head, text = card(folder)
    assert [each["split"] for each in head["configs"][0]["data_files"]] == ["train", "dev", "test"]
    found = {
        path.stem: [row["document_id"] for row in lines(path)] for path in (folder / "data" / "documents").iterdir()
    }
    assert found == {"test": ids[:1], "train": [ids[1], ids[3]], "dev": ids[2:3]}
    assert "| `claims` | One atomic, context-independent statement with its verdict. | 10 | 5 | 5 |" in text
    assert "| `false` | 4 | 2 | 2 | 50.0% |" in section(text, "### Check-worthy claims by factuality")
    with pytest.raises(ValueError, match="is not in any split"):
        write(tmp_path / "again", small, splits={ids[0]: "train"})


def test_a_split_without_rows_is_not_offered_where_it_has_none(small: Benchmark, tmp_path: Path) -> None:
    ids = [document.public_id for document in gold_documents(small)]
    small.documents.get(public_id=ids[0]).annotations.get(stage=Stage.VERIFY).verdicts.all().delete()
    splits = dict.fromkeys(ids, "train") | {ids[0]: "test"}
    head, _ = card(write(tmp_path / "hf", small, splits=splits))
    offered = {each["config_name"]: [file["split"] for file in each["data_files"]] for each in head["configs"]}
    assert (offered["claims"], offered["edits"]) == (["train", "test"], ["train"])


def test_the_card_tells_what_is_known(small: Benchmark, tmp_path: Path) -> None:
    _, text = card(write(tmp_path / "hf", small))
    assert text.startswith("\n# Ada: “notes” \\| \\#1\n")
    assert "4 documents, 12 sentences, 20 claims, 44 passages of evidence, 12 edits" in text
    assert "Prompts from: Q\\|A (1)." in text and "Responses by: m-1 (1)." in text
    assert "4 documents labeled elsewhere and imported as adjudicated" in text
    assert "labeled in Touchstone" not in text
    assert "Not measured" in section(text, "## Inter-annotator agreement before adjudication")
    assert "| `evidence_with_NUL` | 8 |" in section(text, "## Known irregularities")
    assert "author = {{Ada L.} and {Ben \\& Co}}" in text and "version = {1.0.0}" in text


def test_the_card_of_what_two_people_labelled(two_people: Benchmark, tmp_path: Path, ada: User, ben: User) -> None:
    folder = write(tmp_path / "hf", two_people, about=About(name="two", title="Two"))
    head, text = card(folder)
    assert "license" not in head and "language" not in head
    assert "No license was given" in text
    assert (
        "1 document labeled in Touchstone, each at three stages (decompose, verify, revise) by 2 annotators "
        "independently, blind to each other, who then adjudicated every difference and signed off. An "
        "adjudicator signs "
        "off every verify stage. Team: 2 annotators and 1 adjudicator."
    ) in text
    assert "| Factuality |" in section(text, "## Inter-annotator agreement before adjudication")
    assert "Claims: F1 1.00 between" in text
    assert "| Decompose | `offline` |" in section(text, "### Pipeline suggestions")
    assert "| [1](guidelines/version-1.md) |" in section(text, "### Guidelines")
    assert section(text, "### Guidelines").rstrip().endswith("| 6 |")
    assert (folder / "guidelines" / "version-1.md").read_text() == "# Guidelines"
    everything = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    for person in (ada, ben):
        assert person.username not in everything and f"“{person.display_name}”" not in everything


def test_a_document_that_was_suggested_for_twice_counts_once(two_people: Benchmark) -> None:
    [item] = RunItem.objects.filter(run__stage=Stage.DECOMPOSE, state=RunState.FINISHED)
    again = PipelineRun.objects.create(
        benchmark=two_people, stage=item.run.stage, strategy=item.run.strategy, plan=item.run.plan
    )
    RunItem.objects.create(run=again, document=item.document, state=RunState.FINISHED)
    used = [each.documents for each in card_facts(two_people).pipelines if each.stage == Stage.DECOMPOSE]
    assert used == [1]


def test_no_gold_gives_a_card_that_says_so(tmp_path: Path) -> None:
    head, text = card(write(tmp_path / "hf", BenchmarkFactory()))
    assert head["configs"] == head["dataset_info"] == []
    assert "No documents, no labels." in text and "nothing to load yet" in text


def test_a_licence_that_the_hub_does_not_know_is_named(small: Benchmark, tmp_path: Path) -> None:
    head, _ = card(write(tmp_path / "hf", small, about=About("ada", "Ada", licence="Ask us")))
    assert (head["license"], head["license_name"]) == ("other", "Ask us")


def test_facts_take_as_many_queries_however_many_documents(small: Benchmark, tmp_path: Path) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            card_facts(small)
        return len(queries)

    before = asked()
    rows = [numbered(number) for number in range(10, 30)]
    with write_jsonl(tmp_path / "more.jsonl", rows).open("rb") as source:
        import_gold(benchmark=small, source=source)
    assert asked() == before < 30


# --- Croissant ------------------------------------------------------------------------------------


def test_croissant_describes_the_tables_that_lie_beside_it(small: Benchmark, tmp_path: Path) -> None:
    for name, pieces in croissant.files(lambda: gold_documents(small), ABOUT):
        (tmp_path / name).write_bytes(b"".join(pieces))
    found = json.loads((tmp_path / "croissant.json").read_text(encoding="utf-8"))
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert (found["license"], found["version"]) == ("https://spdx.org/licenses/CC-BY-4.0.html", "1.0.0")
    assert found["datePublished"] == "2026-11-21" and found["citeAs"].startswith("Ada L., Ben & Co (2026).")
    files = {each["@id"]: each for each in found["distribution"]}
    fields = {each["@id"]: each for record_set in found["recordSet"] for each in record_set["field"]}
    for name, each in files.items():
        content = (tmp_path / name).read_bytes()
        assert each["sha256"] == hashlib.sha256(content).hexdigest()
        assert each["contentSize"] == f"{len(content)} B"
        with (tmp_path / each["contentUrl"]).open(encoding="utf-8", newline="") as file:
            head = next(csv.reader(file))
        own = [f for f in fields.values() if f["source"]["fileObject"]["@id"] == name]
        assert [f["source"]["extract"]["column"] for f in own] == head
    for record_set in found["recordSet"]:
        keys = record_set["key"] if isinstance(record_set["key"], list) else [record_set["key"]]
        assert {key["@id"] for key in keys} <= fields.keys()
    references = {name: each["references"]["field"]["@id"] for name, each in fields.items() if "references" in each}
    assert references["edits/claim_id"] == "claims/claim_id"
    assert set(references.values()) <= fields.keys()
    assert {each["dataType"] for each in fields.values()} == {
        "sc:Text", "cr:Int64", "sc:Boolean", "sc:Date", "sc:DateTime",
    }  # fmt: skip


def test_croissant_for_a_folder_of_tables_says_the_same(small: Benchmark, tmp_path: Path) -> None:
    written = {}
    for name, pieces in croissant.files(lambda: gold_documents(small), ABOUT):
        written[name] = b"".join(pieces)
        (tmp_path / name).write_bytes(written[name])
    assert croissant.describe(tmp_path, ABOUT) == written[croissant.NAME]
    below = json.loads(croissant.describe(tmp_path, ABOUT, below="tables/"))
    assert below["distribution"][0]["contentUrl"] == "tables/documents.csv"
    (tmp_path / "edits.csv").unlink()
    with pytest.raises(FileError, match=r"edits\.csv is missing"):
        croissant.describe(tmp_path, ABOUT)


def test_what_is_not_known_of_a_data_set_is_left_out() -> None:
    written = {name: b"".join(pieces) for name, pieces in croissant.files(lambda: iter(()), About("ada", "Ada"))}
    assert set(written) == {*(f"{table.name}.csv" for table in TABLES), croissant.NAME}
    found = json.loads(written[croissant.NAME])
    assert not {"license", "creator", "version", "citeAs", "datePublished", "url", "inLanguage"} & found.keys()
    assert found["description"].startswith("Ada: ")
