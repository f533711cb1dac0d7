"""Provenance: read by an independent library, complete down to suggestions, without names, without work in progress."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from prov.model import (
    ProvActivity,
    ProvAgent,
    ProvAssociation,
    ProvDerivation,
    ProvDocument,
    ProvEntity,
    ProvGeneration,
)

from annotator.core.models import Benchmark, Claim, Document, Evidence, SentenceSuggestion, Stance, User, Verdict
from annotator.core.vocabulary import AnnotationKind, Removal, Stage
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.exports import prov
from annotator.exchange.queries.export import gold_documents
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from tests.agreeing import at_revise, begun, settle
from tests.factories import BenchmarkFactory, DocumentFactory, prefill, save
from tests.released import numbered, write_jsonl

pytestmark = pytest.mark.django_db


def lines(benchmark: Benchmark, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in prov.lines(benchmark, **options)]


def read(record: dict[str, Any]) -> ProvDocument:
    return ProvDocument.deserialize(content=json.dumps(record), format="json")


@pytest.fixture
def gold(benchmark: Benchmark, document: Document, owner: User, ada: User, ben: User) -> Document:
    """Two people labelled the document; they changed suggestions at revise."""
    at_revise(document, owner, ada, ben)
    for person in (ada, ben):
        annotation = open_annotation(document, Stage.REVISE, by=person)
        save(annotation.sentence_revisions.get(sentence__order=1), "text", f"Mended by {person.pk}.", person)
        submit(annotation, by=person)
    document.refresh_from_db()
    assert settle(document, [ada, ben], []).is_gold
    return document


def of_type(record: dict[str, Any], part: str, kind: str) -> dict[str, dict[str, Any]]:
    return {name: each for name, each in record[part].items() if each["prov:type"]["$"] == kind}


def derivations(record: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in record["wasDerivedFrom"].values():
        found.setdefault(each["prov:generatedEntity"], set()).add(each["prov:usedEntity"])
    return found


def test_an_independent_reader_finds_everything(benchmark: Benchmark, gold: Document) -> None:
    [record] = lines(benchmark)
    document = read(record)
    counted = {
        kind: len(list(document.get_records(kind)))
        for kind in (ProvEntity, ProvActivity, ProvAgent, ProvGeneration, ProvDerivation, ProvAssociation)
    }
    assert counted == {
        ProvEntity: len(record["entity"]),
        ProvActivity: len(record["activity"]),
        ProvAgent: len(record["agent"]),
        ProvGeneration: len(record["wasGeneratedBy"]),
        ProvDerivation: len(record["wasDerivedFrom"]),
        ProvAssociation: len(record["wasAssociatedWith"]),
    }
    assert len(list(document.unified().get_records())) == len(list(document.get_records()))
    # What is named by a relation is described.
    things = [each for kind in (ProvEntity, ProvActivity, ProvAgent) for each in document.get_records(kind)]
    described = {str(each.identifier) for each in things}
    for kind in (ProvGeneration, ProvDerivation, ProvAssociation):
        for relation in document.get_records(kind):
            for _, end in relation.formal_attributes:
                if end is not None and str(end).split(":")[0] in prov.KINDS:
                    assert str(end) in described, f"{relation} names {end}"


def test_agreed_rows_lead_back_to_people_and_suggestions(benchmark: Benchmark, gold: Document) -> None:
    [record] = lines(benchmark)
    [tables] = gold_documents(benchmark)
    adjudicated = {name for name, each in record["entity"].items() if each.get("ts:agreed") is True}
    claims = [claim for sentence in tables.sentences for claim in sentence.claims]
    assert {name for name in adjudicated if name.startswith("sentence:")} == {
        f"sentence:{each.public_id}" for each in tables.sentences
    }
    assert {name for name in adjudicated if name.startswith("claim:")} == {f"claim:{each.public_id}" for each in claims}
    assert {name for name in adjudicated if name.startswith("evidence:")} == {
        f"evidence:{each.public_id}" for claim in claims for each in claim.retrieved
    }
    from_what = derivations(record)
    claim = f"claim:{claims[0].public_id}"
    sources = [name for name in from_what[claim] if name.startswith("claim:")]
    assert len(sources) == 2 and not adjudicated & set(sources)
    for source in sources:
        [suggestion] = [name for name in from_what[source] if name.startswith("claim-suggestion:")]
        assert of_type(record, "entity", "ts:ClaimSuggestion").keys() >= {suggestion}
        assert record["entity"][source]["ts:text_origin"] == "accepted"
    made_by = {each["prov:entity"]: each["prov:activity"] for each in record["wasGeneratedBy"].values()}
    runs = of_type(record, "activity", "ts:Run")
    assert {made_by[f"evidence:{each.public_id}"] for each in claims[0].retrieved} <= runs.keys()
    consolidations = of_type(record, "activity", "ts:Consolidation")
    assert (len(consolidations), len(of_type(record, "activity", "ts:Annotation"))) == (3, 6)
    assert made_by[claim] in consolidations
    informed = {each["prov:informant"] for each in record["wasInformedBy"].values()}
    assert informed == of_type(record, "activity", "ts:Annotation").keys()
    worked = [each for name, each in record["activity"].items() if name.startswith("annotation:")]
    assert all(each["prov:startTime"] <= each["prov:endTime"] for each in worked)
    assert f"document:{gold.public_id}" in from_what[f"sentence:{tables.sentences[0].public_id}"]


def test_people_are_pseudonyms_unless_names_are_asked_for(
    benchmark: Benchmark, gold: Document, ada: User, ben: User, owner: User
) -> None:
    [record] = lines(benchmark)
    people = of_type(record, "agent", "prov:Person")
    assert len(people) == 3  # two annotators, and the owner who signed the verify stage as third rater
    text = json.dumps(record)
    for person in (ada, ben, owner):
        assert person.username not in text and person.display_name not in text.replace("Ada Lovelace", "")
    assert json.dumps(lines(benchmark)) == json.dumps([record])
    roles = {each["prov:role"]["$"] for each in record["wasAssociatedWith"].values() if "prov:role" in each}
    assert roles == {"ts:annotator", "ts:third-rater"}
    [named] = lines(benchmark, named=True)
    assert of_type(named, "agent", "prov:Person").keys() == {f"person:{each.username}" for each in (ada, ben, owner)}


def test_software_has_versions_and_runs_their_parameters(benchmark: Benchmark, gold: Document) -> None:
    [record] = lines(benchmark)
    assert record["agent"]["software:touchstone"]["ts:version"] == settings.VERSION
    assert record["agent"]["software:strategy.offline"]["prov:label"] == "offline"
    run = next(iter(of_type(record, "activity", "ts:Run").values()))
    assert isinstance(json.loads(run["ts:parameters"]), dict)
    guidelines = of_type(record, "entity", "ts:Guidelines")
    assert [each["ts:number"] for each in guidelines.values()] == [1]


def test_nothing_of_a_stage_in_work_is_told(benchmark: Benchmark, document: Document, ada: User, ben: User) -> None:
    submit(begun(document, ada), by=ada)
    assert lines(benchmark) == []
    [record] = lines(benchmark, include="all")
    assert set(record["entity"]) == {f"document:{document.public_id}"}
    assert "activity" not in record and set(record["agent"]) == {"software:touchstone"}
    assert SentenceSuggestion.objects.filter(document=document).exists()
    submit(begun(document, ben), by=ben)  # both have submitted: still to be agreed
    assert "activity" not in lines(benchmark, include="all")[0]


def test_a_stage_that_is_over_is_told_while_the_next_is_in_work(
    benchmark: Benchmark, at_verify: Document, ada: User
) -> None:
    annotation = open_annotation(at_verify, Stage.VERIFY, by=ada)
    [record] = lines(benchmark, include="all")
    stages = {each["ts:stage"] for name, each in record["activity"].items() if name.startswith("annotation:")}
    assert stages == {"decompose"}
    assert annotation.public_id not in json.dumps(record)
    assert not of_type(record, "entity", "ts:StanceSuggestion")
    assert of_type(record, "entity", "ts:Evidence")


def test_imported_gold_says_so(data_free_import: Benchmark) -> None:
    records = lines(data_free_import)
    assert len(records) == 2
    assert len(of_type(records[0], "activity", "ts:Import")) == 3
    assert not of_type(records[0], "agent", "prov:Person")
    assert len(of_type(records[0], "entity", "ts:Edit")) == 3
    made_by = {each["prov:entity"]: each["prov:activity"] for each in records[0]["wasGeneratedBy"].values()}
    evidence = of_type(records[0], "entity", "ts:Evidence")
    assert len(evidence) == 11
    assert {made_by[name] for name in evidence} <= of_type(records[0], "activity", "ts:Import").keys()
    rests = derivations(records[0])
    verdicts = of_type(records[0], "entity", "ts:Verdict")
    assert sum(any(each.startswith("evidence:") for each in rests[name]) for name in verdicts) == 1
    merged = ProvDocument()
    for record in records:
        merged.update(read(record))
    assert len(list(merged.unified().get_records(ProvAgent))) == 1


@pytest.fixture
def data_free_import(tmp_path: Any) -> Benchmark:
    benchmark: Benchmark = BenchmarkFactory()
    with write_jsonl(tmp_path / "gold.jsonl", [numbered(1), numbered(2)]).open("rb") as source:
        import_gold(benchmark=benchmark, source=source)
    return benchmark


def test_queries_do_not_grow_with_the_documents(data_free_import: Benchmark, tmp_path: Any) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            list(prov.lines(data_free_import))
        return len(queries)

    before = asked()
    rows = [numbered(number) for number in range(3, 20)]
    with write_jsonl(tmp_path / "more.jsonl", rows).open("rb") as source:
        import_gold(benchmark=data_free_import, source=source)
    assert asked() == before < 40


def test_released_documents(benchmark: Benchmark, data_dir: Any) -> None:
    with (data_dir / "factcheck-bench.dev.jsonl").open("rb") as source:
        import_gold(benchmark=benchmark, source=source)
    records = lines(benchmark)
    assert len(records) == 47
    assert sum(len(of_type(record, "entity", "ts:Claim")) for record in records) == 343
    read(records[0])


def test_copies_of_gold_and_unfinished_documents_stay_here(benchmark: Benchmark, gold: Document) -> None:
    DocumentFactory(benchmark=benchmark, twin_of=gold)
    prefill(DocumentFactory(benchmark=benchmark))
    assert [list(of_type(record, "entity", "ts:Document")) for record in lines(benchmark)] == [
        [f"document:{gold.public_id}"]
    ]


def test_what_was_removed_takes_the_agreed_rows_about_it_along(benchmark: Benchmark, gold: Document) -> None:
    adjudicated = Stance.objects.filter(annotation__kind=AnnotationKind.CONSOLIDATED, evidence__annotation__isnull=True)
    stance = adjudicated.select_related("evidence__claim").order_by("pk")[0]
    own = Stance.objects.filter(evidence=stance.evidence, annotation__kind=AnnotationKind.INDIVIDUAL)
    before = lines(benchmark)[0]["entity"]
    assert {f"evidence:{stance.evidence.public_id}", f"stance:{stance.public_id}"} <= before.keys()
    Evidence.objects.filter(pk=stance.evidence_id).update(removed=Removal.REDUNDANT)
    record = lines(benchmark)[0]
    gone = before.keys() - record["entity"].keys()
    assert gone == {f"evidence:{stance.evidence.public_id}", f"stance:{stance.public_id}"}
    # What people said of it is told, and of what.
    assert own
    for row in own:
        assert f"evidence:{stance.evidence.public_id}" in derivations(record)[f"stance:{row.public_id}"]
    claim = stance.evidence.claim
    Claim.objects.filter(pk=claim.pk).update(removed=Removal.REDUNDANT)
    record = lines(benchmark)[0]
    verdict = Verdict.objects.get(claim=claim, annotation__kind=AnnotationKind.CONSOLIDATED)
    others = Evidence.objects.filter(claim=claim, annotation__isnull=True)
    told = record["entity"].keys()
    assert not told & {f"claim:{claim.public_id}", f"verdict:{verdict.public_id}"}
    assert not told & {f"evidence:{each.public_id}" for each in others}
