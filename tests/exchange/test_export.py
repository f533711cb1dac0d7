"""What is exported, from which rows, and that it streams."""

from __future__ import annotations

import datetime as dt
import io
import json
import tracemalloc

import pytest
from django.core.management import CommandError, call_command

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import Annotation, Benchmark, Claim, Document, Evidence
from annotator.core.vocabulary import AnnotationKind, Phase, Removal, Stage
from annotator.exchange.actions.imports import import_documents, import_gold
from annotator.exchange.formats import factcheck_bench
from annotator.exchange.queries import export
from annotator.exchange.queries.export import count_documents
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, verified, with_corpus
from tests.released import export_lines, numbered, write_jsonl

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return create_benchmark(slug="trial", name="Trial")


def gold(benchmark: Benchmark, count: int, first: int = 0) -> None:
    content = "\n".join(json.dumps(numbered(first + number)) for number in range(count))
    assert import_gold(benchmark=benchmark, source=io.BytesIO(content.encode())).imported == count


def plain(benchmark: Benchmark) -> None:
    import_documents(benchmark=benchmark, source=io.BytesIO(b'{"response": "Not yet."}'), filename="a.jsonl")


def test_only_gold_unless_all_are_asked_for(benchmark):
    gold(benchmark, 2)
    plain(benchmark)
    assert len(list(export_lines(benchmark))) == count_documents(benchmark) == 2
    assert len(list(export_lines(benchmark, include="all"))) == count_documents(benchmark, include="all") == 3
    *_, last = export_lines(benchmark, include="all")
    assert json.loads(last) == {
        "prompt": "",
        "response": "Not yet.",
        "revised_response": "",
        "response_factuality": "NA",
        "sentences": {},
    }


def test_a_document_whose_last_stage_is_still_open_is_not_gold(benchmark):
    gold(benchmark, 2)
    Document.objects.filter(order=1).update(phase=Phase.INDEPENDENT)
    assert len(list(export_lines(benchmark))) == 1
    assert len(list(export_lines(benchmark, include="all"))) == 2


def test_a_passage_goes_out_with_all_that_is_known_of_it(benchmark):
    gold(benchmark, 1)
    known = {
        "title": "Notes",
        "site": "example.org",
        "published": dt.date(1843, 8, 1),
        "query": "lovelace notes",
        "retrieved_at": dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.UTC),
        "content_hash": "f" * 64,
    }
    row = Evidence.objects.filter(annotation__isnull=True).order_by("pk")[0]
    Evidence.objects.filter(pk=row.pk).update(**known)
    [document] = export.gold_documents(benchmark)
    [found] = [
        each
        for sentence in document.sentences
        for claim in sentence.claims
        for each in claim.retrieved
        if each.public_id == row.public_id
    ]
    assert (found.passage, found.url) == (row.passage, row.url)
    assert {name: getattr(found, name) for name in known} == known


def test_discarded_documents_are_left_out(benchmark):
    gold(benchmark, 2)
    Document.objects.filter(order=1).update(phase=Phase.DISCARDED, discard_reason="broken")
    assert len(list(export_lines(benchmark))) == len(list(export_lines(benchmark, include="all"))) == 1


def test_removed_claims_are_left_out(benchmark):
    gold(benchmark, 1)
    Claim.objects.filter(text="Ada Lovelace wrote notes on an engine.").update(removed=Removal.REDUNDANT)
    [line] = export_lines(benchmark)
    sentence = json.loads(line)["sentences"]["sentence1"]
    assert sentence["claims"] == ["The notes are from 1842."]
    assert sentence["revised_claims"] == ["The notes are from 1843. "]
    assert sentence["usedEvidence_index_in_revision"] == ["1, self-retrieved"]


def test_removed_evidence_is_left_out(benchmark):
    gold(benchmark, 1)
    gone = Evidence.objects.get(passage="Babbage designed an engine.", claim__order=1)
    gone.removed = Removal.OTHER
    gone.save()
    Evidence.objects.filter(annotation__isnull=False).update(removed=Removal.OTHER)
    [line] = export_lines(benchmark)
    sentence = json.loads(line)["sentences"]["sentence1"]
    assert sentence["auto_evidence"][0] == ["Lovelace published notes on the engine."]
    assert sentence["stance_claim_autoEvid"][0] == ["completely-support"]
    assert sentence["auto_evidence"][1] == ["Lovelace published notes on the engine.", "Babbage designed an engine."]
    assert "The notes came out in 1843." not in line


def test_documents_keep_their_order_over_chunks(benchmark, monkeypatch):
    monkeypatch.setattr(export, "CHUNK", 3)
    gold(benchmark, 8)
    prompts = [json.loads(line)["prompt"] for line in export_lines(benchmark)]
    assert prompts == [numbered(number)["prompt"] for number in range(8)]


def test_the_number_of_queries_does_not_grow_with_the_documents(benchmark, django_assert_num_queries):
    gold(benchmark, 3)
    with django_assert_num_queries(13):
        list(export_lines(benchmark))
    gold(benchmark, 20, first=10)
    with django_assert_num_queries(13):
        list(export_lines(benchmark))


def test_memory_does_not_grow_with_the_documents(benchmark, monkeypatch):
    monkeypatch.setattr(export, "CHUNK", 10)

    def peak() -> int:
        tracemalloc.start()
        try:
            for _ in export_lines(benchmark):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    gold(benchmark, 30)
    peak()
    few = peak()
    gold(benchmark, 120, first=30)
    # 120 documents more make 5 MB of rows; the half leaves room for cycles that the collector has not come to yet.
    assert peak() < few + 2_500_000


def test_work_that_nobody_agreed_on_is_never_read():
    benchmark = BenchmarkFactory()
    person = member(benchmark)
    with_corpus(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, person)
    document.refresh_from_db()
    verified(document, person, false_claim="1825")
    [line] = export_lines(benchmark, include="all")
    Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL, stage=Stage.VERIFY).delete()
    assert list(export_lines(benchmark, include="all")) == [line]
    sentences = json.loads(line)["sentences"].values()
    assert False in [label for each in sentences for label in each["claims_factuality_label"]]
    assert all(each["revised_decontext"] == [] for each in sentences)  # nothing is revised yet


# --- the command ----------------------------------------------------------------------------------


def test_the_command_writes_a_file(benchmark, tmp_path, capsys):
    gold(benchmark, 2)
    target = tmp_path / "out.jsonl"
    call_command("export", "--benchmark", "trial", "--output", str(target))
    assert target.read_text() == "".join(export_lines(benchmark))
    assert "2 documents written" in capsys.readouterr().err
    call_command("export", "--benchmark", "trial", "--output", "-")
    assert capsys.readouterr().out == target.read_text()


def test_what_was_exported_can_be_imported_elsewhere(benchmark, tmp_path):
    gold(benchmark, 2)
    target = tmp_path / "out.jsonl"
    call_command("export", "--benchmark", "trial", "--output", str(target))
    call_command("import_gold", str(target), "--benchmark", "other", "--create")
    assert list(export_lines(Benchmark.objects.get(slug="other"))) == list(export_lines(benchmark))


def test_a_failure_leaves_the_old_file_as_it_was(benchmark, tmp_path, monkeypatch):
    gold(benchmark, 2)
    target = write_jsonl(tmp_path / "out.jsonl", ["old"])

    def broken(document: object) -> str:
        raise RuntimeError

    monkeypatch.setattr(factcheck_bench, "line", broken)
    with pytest.raises(RuntimeError):
        call_command("export", "--benchmark", "trial", "--output", str(target))
    assert target.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written(benchmark, tmp_path):
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export", "--benchmark", "trial", "--output", str(tmp_path / "none" / "out.jsonl"))
