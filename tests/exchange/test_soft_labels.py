"""What a release says of how its labels came about: every rater's own label, and fields for responsible AI."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core.models import Annotation, Benchmark, Document, User
from annotator.core.vocabulary import ReleaseState, Role, Stage
from annotator.exchange.actions.making_releases import make_release
from annotator.exchange.actions.releases import ReleaseRequest, start_release
from annotator.exchange.exports.croissant_rai import rai_fields
from annotator.exchange.formats.about import About
from annotator.exchange.queries.dataset_card import card_facts
from annotator.exchange.queries.soft_labels import soft_labels
from annotator.exchange.releases.splits import Shares
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.queries.item import item_of
from annotator.leaderboard.scoring.tasks import Options, Task
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.documents import discard
from annotator.stages.actions.submit import submit
from tests.agreeing import claims_of, settle, submitted
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, retrieve, verified, with_corpus

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="trial", overlap=2)
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def people(benchmark: Benchmark) -> tuple[User, User, User]:
    return member(benchmark, Role.OWNER), member(benchmark), member(benchmark)


def gold(benchmark: Benchmark, people: tuple[User, User, User]) -> Document:
    """A gold document whose two raters differed on its first claim, in verdict and stances."""
    boss, ada, ben = people
    document = prefill(DocumentFactory(benchmark=benchmark, source="web", model="m-1"))
    submitted(document, ada, ben)
    retrieve(settle(document, [ada, ben], []))
    verified(document, ada)
    adjudicated = document.annotations.get(stage=Stage.DECOMPOSE, kind="consolidated")
    verified(document, ben, false_claim=claims_of(adjudicated)[0].text)
    settle(document, [ada, ben, boss], [])
    for person in (ada, ben):
        submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    document.refresh_from_db()
    return settle(document, [ada, ben], [])


def release_of(benchmark: Benchmark, by: User) -> zipfile.ZipFile:
    wish = ReleaseRequest(
        version="1.0", title="Trial", licence="CC-BY-4.0", authors=["Ada L."], shares=Shares(0, 0, 100)
    )
    release = start_release(benchmark=benchmark, wish=wish, by=by, here=True)
    make_release(release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.READY, release.message
    return zipfile.ZipFile(release.file.path)


def rows_of(benchmark: Benchmark) -> list[dict[str, Any]]:
    return list(
        soft_labels(benchmark, splits=dict.fromkeys(benchmark.documents.values_list("public_id", flat=True), "test"))
    )


def test_each_rater_keeps_their_label_beside_the_adjudicated_one(benchmark: Benchmark, people: Any) -> None:
    document = gold(benchmark, people)
    archive = release_of(benchmark, people[0])
    found = [json.loads(line) for line in archive.read("trial-1.0/soft-labels.jsonl").decode().splitlines()]
    by_task = {task: [each for each in found if each["task"] == task] for task in {each["task"] for each in found}}
    assert {task: len(each) for task, each in by_task.items()} == {
        task.value: sum(1 for _ in gold_items(benchmark, task, Options()))
        for task in (Task.SENTENCE_CHECKWORTHINESS, Task.CLAIM_CHECKWORTHINESS, Task.STANCE, Task.CLAIM_FACTUALITY)
    }
    assert all(len(each["raters"]) == 2 and each["document"] == document.public_id for each in found)
    first, *others = by_task["claim_factuality"]
    assert [each["label"] for each in first["raters"]] == ["true", "false"]
    assert first["shares"] == {"false": 0.5, "true": 0.5} and first["gold"] == "true" and first["split"] == "test"
    assert all(each["shares"] == {"true": 1.0} for each in others)
    assert {each["rater"][:7] for row in found for each in row["raters"]} == {"person-"}
    assert "`soft-labels.jsonl`" in archive.read("trial-1.0/README.md").decode()


def test_the_file_says_the_same_as_the_page_of_each_item(benchmark: Benchmark, people: Any) -> None:
    gold(benchmark, people)
    for row in rows_of(benchmark):
        item = item_of(people[0], benchmark, Task(row["task"]), row["id"])
        assert item is not None and len(item.raters) == len(row["raters"])
        if row["task"] in ("claim_factuality", "claim_checkworthiness"):
            assert [each.label for each in item.raters] == [each["label"] for each in row["raters"]]


def test_work_after_seeing_a_partner_counts_in_no_share(benchmark: Benchmark, people: Any) -> None:
    gold(benchmark, people)
    Annotation.objects.filter(person=people[2], stage=Stage.VERIFY).update(independent=False)
    first = next(each for each in rows_of(benchmark) if each["task"] == "claim_factuality")
    assert first["shares"] == {"true": 1.0} and [each["independent"] for each in first["raters"]] == [True, False]


def test_queries_do_not_grow_with_documents(benchmark: Benchmark, people: Any) -> None:
    counted = []
    for _ in range(2):
        gold(benchmark, people)
        with CaptureQueriesContext(connection) as captured:
            assert rows_of(benchmark)
        counted.append(len(captured))
    assert counted[0] == counted[1]


# --- responsible AI -------------------------------------------------------------------------------

# Of the vocabulary: what is asked of annotated data.
ASKED = {
    "dataCollection", "dataCollectionType", "dataCollectionTimeframe", "dataAnnotationProtocol",
    "dataAnnotationPlatform", "dataAnnotationAnalysis", "annotationsPerItem", "annotatorDemographics",
    "machineAnnotationTools", "dataBiases", "dataUseCases", "dataLimitations", "dataSocialImpact",
    "personalSensitiveInformation", "dataReleaseMaintenancePlan",
}  # fmt: skip


def test_croissant_tells_collection_annotators_time_agreement_and_limits(benchmark: Benchmark, people: Any) -> None:
    document = gold(benchmark, people)
    discard(DocumentFactory(benchmark=benchmark), "Empty.", by=people[0])
    archive = release_of(benchmark, people[0])
    found = json.loads(archive.read("trial-1.0/croissant.json"))
    assert found["conformsTo"] == [
        "http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"
    ]  # fmt: skip
    told = {name.removeprefix("rai:"): value for name, value in found.items() if name.startswith("rai:")}
    assert ASKED <= told.keys() and all(told.values())
    assert "Prompts from web (1). Responses by m-1 (1)." in told["dataCollection"]
    assert "documents that were discarded and left out: 1" in told["dataCollectionMissingData"]
    assert told["annotatorDemographics"] == ["2 annotators and 1 adjudicator. Demographics were not recorded."]
    assert told["annotationsPerItem"].startswith("2 annotators, and their adjudicated label")
    first, last = told["dataCollectionTimeframe"]
    assert first == document.created_at.date().isoformat() <= last
    assert any("Labeled by 2 annotators independently" in each for each in told["dataAnnotationProtocol"])
    analysis = "\n".join(told["dataAnnotationAnalysis"])
    assert "over 1 document " in analysis and "Krippendorff's alpha" in analysis and "Gwet's AC1" in analysis
    assert any(each.startswith("Not for training: the release carries the canary") for each in told["dataUseCases"])


def test_without_people_nothing_is_said_that_nobody_measured() -> None:
    told = rai_fields(card_facts(BenchmarkFactory()), About("ada", "Ada"))
    assert told["rai:annotationsPerItem"] == "Not known: all documents were imported as adjudicated."
    assert told["rai:dataAnnotationAnalysis"] == [
        "Not measured: no document was labeled independently by two annotators."
    ]
    assert not {"rai:dataCollectionTimeframe", "rai:dataBiases", "rai:dataReleaseMaintenancePlan"} & told.keys()
