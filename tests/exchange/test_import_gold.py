"""Released gold comes in as agreed work, and goes out again as it was."""

from __future__ import annotations

import io
import json
import re
import tracemalloc
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import Annotation, Benchmark, Claim, Document, Evidence, Sentence, Verdict
from annotator.core.released_labels import is_remark
from annotator.core.vocabulary import AnnotationKind, AnnotationState, EditKind, Origin, Stage, Task
from annotator.exchange.actions import imports
from annotator.exchange.actions.imports import ImportReport, import_gold
from annotator.exchange.formats.factcheck_bench import line
from annotator.exchange.queries.export import gold_documents
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.scoring.items import fingerprint
from annotator.leaderboard.scoring.tasks import Options
from tests.released import export_lines, numbered, released_document, write_jsonl

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return create_benchmark(slug="gold", name="Gold")


def bring(benchmark: Benchmark, *rows: Any, **options: Any) -> ImportReport:
    content = "\n".join(json.dumps(row) for row in rows)
    return import_gold(benchmark=benchmark, source=io.BytesIO(content.encode()), **options)


def test_all_released_documents_come_back_byte_for_byte(benchmark, data_dir):
    path = data_dir / "factcheck-bench.dev.jsonl"
    report = import_gold(benchmark=benchmark, source=path)
    assert (report.imported, report.bad) == (47, 0)
    exported = "".join(export_lines(benchmark))
    assert [json.loads(line) for line in exported.splitlines()] == [
        json.loads(line) for line in path.read_text().splitlines()
    ]
    assert exported.encode() == path.read_bytes()


def test_oddities_come_back(benchmark):
    row = released_document()
    bring(benchmark, row)
    [line] = export_lines(benchmark)
    assert json.dumps(json.loads(line)) == json.dumps(row)
    assert "\\u0000" in line
    assert not any("\x00" in passage for passage in Evidence.objects.values_list("passage", flat=True))


def test_each_stage_is_adjudicated_and_everything_imported(benchmark):
    bring(benchmark, released_document(id="a1", source="in-house"))
    document = Document.objects.get()
    assert document.is_gold
    assert (document.external_id, document.source) == ("a1", "in-house")
    annotations = list(Annotation.objects.all())
    assert {each.stage for each in annotations} == set(Stage)
    assert {(each.kind, each.state, each.person) for each in annotations} == {
        (AnnotationKind.CONSOLIDATED, AnnotationState.SUBMITTED, None)
    }
    assert set(Sentence.objects.values_list("type_origin", flat=True)) == {Origin.IMPORTED}
    assert set(Claim.objects.values_list("text_origin", flat=True)) == {Origin.IMPORTED}


def test_evidence_verdict_and_edit(benchmark):
    bring(benchmark, released_document())
    claim = Claim.objects.get(text="The notes are from 1842.")
    shared, added = claim.evidence.filter(annotation=None), claim.evidence.filter(annotation__stage=Stage.VERIFY)
    assert list(shared.values_list("order", flat=True)) == [1, 2]
    verdict = Verdict.objects.get(claim=claim)
    assert {each.kind for each in verdict.operations.all()} == {EditKind.REPLACE}
    assert [row.evidence for row in verdict.rests.all()] == [shared.first(), added.get()]
    opinion = Claim.objects.get(type="opinion")
    assert not opinion.verdicts.exists() and opinion.evidence.count() == 2


def test_the_same_file_twice_changes_nothing(benchmark):
    bring(benchmark, numbered(1), numbered(2))
    report = bring(benchmark, numbered(1), numbered(2))
    assert (report.imported, report.unchanged, report.bad) == (0, 2, 0)
    assert Sentence.objects.count() == 6


def test_the_same_document_with_other_labels_is_refused(benchmark):
    bring(benchmark, released_document())
    report = bring(benchmark, released_document(revised_response="Otherwise."))
    assert (report.imported, report.bad) == (0, 1)
    assert "with different content" in report.problems[0].reason


def test_bad_lines_are_named_and_strict_writes_nothing(benchmark):
    bad = released_document(sentences={})
    assert bring(benchmark, numbered(1), bad, strict=True).written is False
    assert not Document.objects.exists()
    report = bring(benchmark, numbered(1), bad)
    assert (report.imported, report.bad) == (1, 1)
    assert (report.problems[0].line, report.problems[0].field) == (2, "sentences")


def test_the_number_of_queries_does_not_grow_with_the_batch(benchmark, django_assert_max_num_queries):
    with django_assert_max_num_queries(40):
        bring(benchmark, *(numbered(number) for number in range(30)))


def test_memory_does_not_grow_with_the_file(benchmark, tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_ROWS", 20)

    def peak(first: int, count: int) -> int:
        path = write_jsonl(tmp_path / f"{first}.jsonl", (numbered(first + number) for number in range(count)))
        tracemalloc.start()
        try:
            assert import_gold(benchmark=benchmark, source=path).imported == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(0, 40)
    few, many = peak(1000, 40), peak(2000, 160)
    # 120 documents more make 10 MB of rows; the half leaves room for cycles that the collector has not come to yet.
    assert many < few + 5_000_000


def test_the_command(tmp_path, capsys):
    path = write_jsonl(tmp_path / "gold.jsonl", [numbered(1), {"prompt": "x"}])
    with pytest.raises(CommandError, match="1 imported, 0 already imported, 1 bad"):
        call_command("import_gold", str(path), "--benchmark", "new", "--create")
    assert "line 2, sentences:" in capsys.readouterr().err
    with pytest.raises(CommandError, match="There are: new"):
        call_command("import_gold", str(path), "--benchmark", "old")


def test_what_the_format_has_no_field_for_is_kept_and_named(benchmark):
    row = released_document(id=7, source="web", metadata={"a": 1})
    text = json.dumps(row).replace('"revised_response"', '"prompt": "First?", "revised_response"', 1)
    report = import_gold(benchmark=benchmark, source=io.BytesIO(text.encode()))
    assert (report.imported, report.bad) == (1, 0)
    assert [re.split(r" is | appears ", each)[0] for each in report.remarks()] == [
        "1 row: “id”", "1 row: “source”", "1 row: “metadata”", "1 row: “prompt”"
    ]  # fmt: skip
    document = benchmark.documents.get()
    assert (document.external_id, document.source, document.metadata) == ("7", "web", {"a": 1})
    remembered = json.loads(document.released)
    assert remembered["about.id"]["spelling"] == 7
    [[where, key, value]] = remembered["repeated_keys"]["spelling"]
    assert (where, key) == ("", "prompt") and value in ("First?", row["prompt"])


@pytest.mark.parametrize(
    ("text", "url", "is_one"),
    [
        *((each, "", True) for each in ("N/A", "NA.", "none", "-", "", "Not sure.", "No relevant evidence", "Unknown")),
        *(
            (each, "", True)
            for each in ("Not Enough Evidence", "General common sense", "I don’t know", "no evidence found")
        ),
        ("Not sure.", "https://example.org", False),
        ("Nothing Compares 2 U was written by Prince.", "", False),
        ("No, iron sulfate and copper do not react.", "", False),
        ("No evidence of water was found by the probe.", "", False),
        ("878 t", "", False),
    ],
)
def test_remarks_are_told_from_passages(text, url, is_one):
    assert is_remark(text, url) is is_one


def test_remarks_are_no_gold_passages_and_still_exported(benchmark):
    row = released_document()
    [first, *_] = row["sentences"].values()
    first["human_evidence"] = ["Not sure." for _ in first["human_evidence"]]
    import_gold(benchmark=benchmark, source=io.BytesIO(json.dumps(row).encode()))
    found = [passage for item in gold_items(benchmark, Task.EVIDENCE, Options()) for passage in item.gold]
    assert not any(each.added and each.words == fingerprint("Not sure.") for each in found)
    [exported] = gold_documents(benchmark)
    assert json.loads(line(exported))["sentences"]["sentence1"]["human_evidence"] == first["human_evidence"]
