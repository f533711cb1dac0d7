"""Documents come in: what is stored, what is refused, and that nothing is half done."""

from __future__ import annotations

import datetime as dt
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.core import released
from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import Activity, Benchmark, Document, Membership, PipelineRun, SentenceSuggestion
from annotator.core.vocabulary import Phase, Role, RunState, Stage
from annotator.exchange.actions import imports
from annotator.exchange.actions.imports import import_documents
from tests.factories import UserFactory
from tests.released import write_jsonl

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return create_benchmark(slug="trial", name="Trial")


def row(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"d{number}", "prompt": "Who?", "response": f"Answer {number}."} | fields


def bring(benchmark: Benchmark, rows: list[Any], **options: Any) -> imports.ImportReport:
    content = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in rows)
    return import_documents(benchmark=benchmark, source=io.BytesIO(content.encode()), filename="a.jsonl", **options)


def test_a_document_with_all_its_fields(benchmark):
    report = bring(
        benchmark, [row(1, source="in-house", model="m", metadata={"a": 1}, reference_date="2023-04-30", topic="x")]
    )
    assert (report.read, report.imported, report.bad) == (1, 1, 0)
    document = Document.objects.get()
    assert (document.external_id, document.identity, document.order) == ("d1", "d1", 1)
    assert (document.source, document.model, document.metadata) == ("in-house", "m", {"a": 1, "topic": "x"})
    assert document.reference_date == dt.date(2023, 4, 30)
    assert (document.stage, document.phase) == (Stage.DECOMPOSE, Phase.INDEPENDENT)


def test_the_same_file_twice_changes_nothing(benchmark):
    rows = [row(1), row(2), {"prompt": "Who?", "response": "Without an id."}]
    bring(benchmark, rows)
    before = list(Document.objects.values())
    report = bring(benchmark, rows)
    assert (report.imported, report.unchanged, report.bad) == (0, 3, 0)
    assert list(Document.objects.values()) == before


def test_the_order_goes_on(benchmark):
    bring(benchmark, [row(1), row(2)])
    bring(benchmark, [row(2), row(3)])
    assert list(Document.objects.values_list("external_id", "order")) == [("d1", 1), ("d2", 2), ("d3", 3)]


def test_the_same_id_with_other_content_is_never_written_over(benchmark):
    bring(benchmark, [row(1)])
    report = bring(benchmark, [row(1, response="Another answer."), row(2)])
    assert (report.imported, report.bad) == (1, 1)
    [problem] = report.problems
    assert (problem.line, problem.field) == (1, "id")
    assert "with different content" in problem.reason
    assert Document.objects.get(external_id="d1").response == "Answer 1."


def test_two_rows_of_a_file_with_one_id(benchmark):
    """The same content counts as unchanged, as if the file came twice; other content is an error."""
    same = [row(1), {"response": "x"}, {"response": "x"}]
    report = bring(benchmark, [row(1), row(2), row(1, response="Another answer."), *same])
    assert (report.imported, report.unchanged, report.bad) == (3, 2, 1)
    assert [(each.line, each.field) for each in report.problems] == [(3, "id")]
    assert "is already on line 1, with different content" in report.problems[0].reason


def test_two_rows_with_one_id_are_found_in_different_batches_too(benchmark, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)
    report = bring(benchmark, [row(1), row(2), row(3), row(1), row(1, response="Another answer.")])
    assert (report.imported, report.unchanged, report.bad) == (3, 1, 1)


def test_good_rows_go_in_and_bad_ones_are_named(benchmark):
    report = bring(benchmark, [row(1), "{oops", row(2, response=5), row(3)])
    assert (report.read, report.imported, report.bad) == (4, 2, 2)
    assert [(each.line, each.field) for each in report.problems] == [(2, ""), (3, "response")]


def test_strict_writes_nothing_if_a_row_is_bad(benchmark, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_ROWS", 1)
    report = bring(benchmark, [row(1), row(2), "{oops"], strict=True)
    assert (report.imported, report.bad, report.written) == (0, 1, False)
    assert not Document.objects.exists()
    assert bring(benchmark, [row(1), row(2)], strict=True).imported == 2


def test_strict_finds_what_stands_in_the_way_in_the_benchmark(benchmark):
    bring(benchmark, [row(1)])
    report = bring(benchmark, [row(2), row(1, response="Another.")], strict=True)
    assert (report.bad, report.written, Document.objects.count()) == (1, False, 1)


def test_a_dry_run_counts_and_writes_nothing(benchmark):
    bring(benchmark, [row(1)])
    report = bring(benchmark, [row(1), row(2), "{oops"], dry_run=True)
    assert (report.imported, report.unchanged, report.bad, report.written) == (1, 1, 1, False)
    assert Document.objects.count() == 1


def test_only_the_first_hundred_problems_are_kept_and_all_are_counted(benchmark):
    report = bring(benchmark, ["{oops"] * 150)
    assert (len(report.problems), report.problem_count, report.bad) == (100, 150, 150)


def test_a_crash_leaves_whole_batches_and_the_next_try_brings_the_rest(benchmark, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)

    def crash(report: imports.ImportReport) -> None:
        if report.imported == 4:
            raise KeyboardInterrupt

    rows = [row(number) for number in range(1, 8)]
    with pytest.raises(KeyboardInterrupt):
        bring(benchmark, rows, on_progress=crash)
    assert Document.objects.count() == 4
    report = bring(benchmark, rows)
    assert (report.imported, report.unchanged) == (3, 4)


def test_nul_is_kept_beside_the_text(benchmark):
    rows = [row(1, prompt="Who\x00?", response="Ada\x00 and \ud800.", metadata={"a\x00": "b\x00"})]
    bring(benchmark, rows)
    document = Document.objects.get()
    assert (document.prompt, document.response, document.metadata) == ("Who?", "Ada and .", {"a": "b"})
    known = released.load(document.released)
    assert released.spelled(known, "response", document.response) == "Ada\x00 and \ud800."
    assert bring(benchmark, rows).unchanged == 1


def test_sentences_and_claims_of_the_original_tool_become_suggestions(benchmark, data_dir):
    called: list[list[int]] = []
    path = data_dir / "original-tool-example" / "0_screen1.json"
    report = import_documents(benchmark=benchmark, source=path, on_imported=called.append)
    assert (report.imported, report.bad) == (1, 0)
    assert called == []  # it has suggestions: nothing is to be filled in
    document = Document.objects.get()
    run = PipelineRun.objects.get()
    assert (run.strategy, run.state, run.stage) == ("import", RunState.FINISHED, Stage.DECOMPOSE)
    sentences = list(SentenceSuggestion.objects.prefetch_related("claims"))
    assert [each.claims.count() for each in sentences] == [1, 2, 2]
    for each in sentences:
        assert document.response[each.start : each.end] == each.text


def test_the_callback_gets_the_documents_of_each_batch(benchmark, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)
    called: list[list[int]] = []
    bring(benchmark, [row(1), row(2), row(3)], on_imported=called.append)
    assert [len(each) for each in called] == [2, 1]
    assert [pk for each in called for pk in each] == list(Document.objects.values_list("pk", flat=True))


def test_fastfact_files(benchmark, data_dir):
    report = import_documents(benchmark=benchmark, source=data_dir / "fastfact-bench.responses.sample.jsonl")
    assert (report.imported, report.bad) == (200, 0)
    report = import_documents(benchmark=benchmark, source=data_dir / "fastfact.annotation-input.example.jsonl")
    assert (report.imported, report.bad) == (2, 0)
    document = Document.objects.get(external_id="factscore_bio_3/DeepSeek-R1")
    assert (document.model, document.source) == ("DeepSeek-R1", "factscore_bio")
    assert document.prompt == "Tell me a bio of Joeri Adams."


def test_each_batch_is_one_transaction_with_one_activity(benchmark, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_ROWS", 2)
    user = UserFactory()
    bring(benchmark, [row(1), row(2), row(3)], by=user)
    reasons = Activity.objects.filter(action="import", by=user).order_by("id").values_list("reason", flat=True)
    assert list(reasons) == ["2 documents from a.jsonl, lines 1 to 2", "1 documents from a.jsonl, lines 3 to 3"]


def test_the_number_of_queries_does_not_grow_with_the_batch(benchmark, django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        bring(benchmark, [row(number) for number in range(150)])


def test_memory_does_not_grow_with_the_file(benchmark, tmp_path):
    def peak(name: str, count: int) -> int:
        rows = ({"id": f"{name}{n}", "prompt": "Who?", "response": f"{n} " + "word " * 1000} for n in range(count))
        path = write_jsonl(tmp_path / f"{name}.jsonl", rows)
        tracemalloc.start()
        try:
            report = import_documents(benchmark=benchmark, source=path)
            assert report.imported == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak("warm", 200)
    small, large = peak("small", 400), peak("large", 1600)
    # 1200 documents more, 6 MB of text: only their identities stay, and cycles that the collector has not come to yet.
    assert large < small + 3_000_000


# --- the command ----------------------------------------------------------------------------------


def test_the_command_says_what_it_did(tmp_path, capsys):
    path = write_jsonl(tmp_path / "a.jsonl", [row(1), row(2)])
    call_command("import_documents", str(path), "--benchmark", "new-one", "--create")
    assert "2 imported, 0 already imported, 0 bad" in capsys.readouterr().out
    assert Benchmark.objects.get().name == "New one"
    call_command("import_documents", str(path), "--benchmark", "new-one")
    assert "0 imported, 2 already imported" in capsys.readouterr().out


def test_the_command_fails_when_a_row_was_bad_and_names_it(tmp_path, capsys, benchmark):
    path = write_jsonl(tmp_path / "a.jsonl", [row(1), "{oops"])
    with pytest.raises(CommandError, match="1 imported, 0 already imported, 1 bad"):
        call_command("import_documents", str(path), "--benchmark", "trial")
    assert "line 2: not JSON" in capsys.readouterr().err
    with pytest.raises(CommandError, match="Nothing was written"):
        call_command("import_documents", str(path), "--benchmark", "trial", "--strict")


def test_the_command_without_a_benchmark_says_which_there_are(tmp_path, benchmark):
    path = write_jsonl(tmp_path / "a.jsonl", [row(1)])
    with pytest.raises(CommandError, match=r"There are: trial\. Add --create"):
        call_command("import_documents", str(path), "--benchmark", "trail")


def test_a_dry_run_does_not_even_make_the_benchmark(tmp_path, capsys):
    path = write_jsonl(tmp_path / "a.jsonl", [row(1)])
    call_command("import_documents", str(path), "--benchmark", "new", "--create", "--dry-run")
    assert "1 would be imported" in capsys.readouterr().out
    assert not Benchmark.objects.exists()


def test_the_command_maps_columns(tmp_path, benchmark):
    path = write_jsonl(tmp_path / "a.csv", ["q,a", "Who?,Ada."])
    call_command("import_documents", str(path), "--benchmark", "trial", "--map", "prompt=q", "--map", "response=a")
    assert Document.objects.get().prompt == "Who?"


@pytest.mark.parametrize(("name", "words"), [("none.jsonl", "cannot be opened"), ("", "cannot be opened")])
def test_a_file_that_is_not_there(tmp_path: Path, benchmark, name, words):
    with pytest.raises(CommandError, match=words):
        call_command("import_documents", str(tmp_path / name), "--benchmark", "trial")


def test_whoever_makes_a_benchmark_owns_it_and_it_has_guidelines():
    user = UserFactory()
    made = create_benchmark(slug="mine", name="Mine", by=user)
    assert Membership.objects.get(benchmark=made).role == Role.OWNER
    assert made.guidelines.get().number == 1
