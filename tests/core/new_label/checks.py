"""Where a label has to be once it is declared. The team and the document: ``conftest``."""

# The columns are added while the test runs, so that mypy knows nothing of them.
# mypy: disable-error-code="attr-defined, misc"

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.core.definitions import topics
from annotator.core.models import Annotation, Benchmark, Claim, ClaimSuggestion, Document, User
from annotator.core.queries.history import lines_of
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import AnnotationKind, Origin, Stage
from annotator.exchange.actions.import_native import import_native
from annotator.exchange.exports.catalogue import Reading, format_named
from annotator.exchange.tables import tables_reader
from annotator.measures.agreement.fields import LABEL_FIELDS
from annotator.measures.queries.agreement import agreement_of
from annotator.stages.actions import adjudicate, saving
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_claim, split_claim
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from tests.agreeing import begun, claims_of, settle
from tests.api import Api
from tests.factories import BenchmarkFactory, retrieve, save, verified
from tests.swap import soup_of

pytestmark = pytest.mark.django_db


def test_the_migration_makes_what_the_models_want() -> None:
    call_command("makemigrations", "annotator", check=True, dry_run=True, verbosity=0)


# --- one person's work ----------------------------------------------------------------------------


@pytest.fixture
def claim(document: Document, ada: User) -> Claim:
    """The first claim of work that Ada has begun; "loaded" is suggested."""
    found = claims_of(open_annotation(document, Stage.DECOMPOSE, by=ada))[0]
    ClaimSuggestion.objects.filter(claims=found).update(tone="loaded")
    found.refresh_from_db()
    return found


def radios(client: Client, claim: Claim) -> dict[str, Any]:
    page = client.get(reverse("decompose", args=[claim.sentence.annotation.document.public_id]))
    return {str(each["value"]): each for each in soup_of(page.content).select(f'[name="{key_of(claim)}-tone"]')}


def test_it_is_on_the_screen_and_saved_from_there(client: Client, ada: User, claim: Claim) -> None:
    client.force_login(ada)
    found = radios(client, claim)
    assert list(found) == ["plain", "loaded"]
    assert not any(each.has_attr("checked") for each in found.values())
    assert found["loaded"].parent.has_attr("data-suggested") and not found["plain"].parent.has_attr("data-suggested")
    data = {"field": "tone", "value": "plain", "version": claim.version}
    answer = client.post(reverse("save", args=[key_of(claim)]), data, headers={"hx-request": "true"})
    assert answer.status_code == 200
    assert radios(client, claim)["plain"].has_attr("checked")
    claim.refresh_from_db()
    assert (claim.tone, claim.tone_origin) == ("plain", Origin.HUMAN)


def test_words_that_are_none_of_its_labels_are_refused(ada: User, claim: Claim) -> None:
    with pytest.raises(ValueError, match="plain, loaded"):
        save(claim, "tone", "shrill", ada)


def test_its_suggestion_is_accepted_and_a_split_keeps_it(ada: User, claim: Claim) -> None:
    accept_claim(claim, by=ada)
    claim.refresh_from_db()
    assert (claim.tone, claim.tone_origin) == ("loaded", Origin.ACCEPTED)
    second = split_claim(claim, claim.text.index(" "), by=ada)
    assert (second.tone, second.tone_origin) == ("loaded", Origin.ACCEPTED)


def test_the_definitions_beside_the_work_have_it() -> None:
    topic = next(each for each in topics(Stage.DECOMPOSE, "## Tone: loaded\nIt shouts.") if each.key == "tone")
    assert topic.fields == ("claim:tone",)
    assert [(each.title, each.text) for each in topic.labels] == [
        ("Plain words", "Nothing in it judges."),
        ("Loaded words", "It shouts."),
    ]


def test_it_is_in_the_history_and_can_be_undone(client: Client, ada: User, claim: Claim) -> None:
    save(claim, "tone", "plain", ada)
    save(claim, "tone", "loaded", ada)
    annotation = claim.sentence.annotation
    lines = lines_of(annotation.activities.order_by("-id"))
    said = [detail for detail in lines[0].details if detail.startswith("tone of claim “")]
    assert [detail.rpartition(": ")[2] for detail in said] == ["loaded words", "plain words"]
    client.force_login(ada)
    versions = client.get(reverse("history", args=[key_of(claim), "tone"])).content.decode()
    assert "plain" in versions and "loaded" in versions
    saving.undo(annotation, by=ada)
    claim.refresh_from_db()
    assert claim.tone == "plain"
    saving.undo(annotation, by=ada)
    claim.refresh_from_db()
    assert (claim.tone, claim.tone_origin) == ("", "")


def test_the_api_reads_and_writes_it_and_its_description_says_so(ada: User, claim: Claim) -> None:
    api = Api(ada)
    record = f"/records/claim/{claim.public_id}/"
    read = api.get(record)
    api.send("PATCH", record, {"field": "tone", "value": "plain"}, If_Match=f'"{read["version"]}"')
    [first, *_] = api.get(f"/documents/{claim.sentence.annotation.document.public_id}/decompose/")["sentences"]
    assert (first["claims"][0]["tone"], first["claims"][0]["tone_origin"]) == ("plain", "human")
    assert first["claims"][0]["suggestion"]["tone"] == "loaded"
    schemas = api.get("/schema/?format=json")["components"]["schemas"]
    for name in ("Claim", "ClaimSuggestion"):
        said = json.dumps(schemas[name]["properties"]["tone"])
        [words] = [each for each in schemas if each in said and schemas[each].get("enum") == ["plain", "loaded"]]
        assert words


# --- several people's work ------------------------------------------------------------------------


@pytest.fixture
def differing(document: Document, ada: User, ben: User) -> Document:
    """Both have submitted: Ada calls every claim plain; Ben too, but the first."""
    for person, first in ((ada, "plain"), (ben, "loaded")):
        annotation = begun(document, person)
        for number, each in enumerate(claims_of(annotation)):
            save(each, "tone", "plain" if number else first, person)
        submit(annotation, by=person)
    document.refresh_from_db()
    return document


def adjudicated_claims(document: Document) -> list[Claim]:
    return claims_of(Annotation.objects.get(document=document, stage="decompose", kind=AnnotationKind.CONSOLIDATED))


def test_it_is_adjudicated_side_by_side(client: Client, differing: Document, ada: User, ben: User) -> None:
    board = board_of(differing, Stage.DECOMPOSE)
    [row] = [each for each in board.comparison.rows if each.is_open]
    assert (row.label, row.words) == ("Tone", ["Plain words", "Loaded words"])
    client.force_login(ada)
    page = client.get(reverse("agree", args=[differing.public_id, "decompose"])).content.decode()
    assert "Tone" in page and "Loaded words" in page
    adjudicate.decide(differing, Stage.DECOMPOSE, row.key, by=ada, choice=1)
    for person in (ada, ben):
        adjudicate.sign(differing, Stage.DECOMPOSE, by=person)
    first, *others = adjudicated_claims(differing)
    assert (first.tone, first.tone_origin) == ("loaded", Origin.CONSOLIDATED)
    assert {(each.tone, each.tone_origin) for each in others} == {("plain", Origin.HUMAN)}


def test_it_has_a_figure_of_agreement(differing: Document, benchmark: Benchmark) -> None:
    [field] = [each for each in LABEL_FIELDS if each.name == "claim.tone"]
    assert (field.label, field.scale) == ("Tone of claim", ("plain", "loaded"))
    figures = {each.field.name: each.figures for stage in agreement_of(benchmark).stages for each in stage.labels}
    count = len(claims_of(Annotation.objects.filter(document=differing, person__isnull=False)[0]))
    figure = figures["claim.tone"]
    assert figure.items == count
    assert figure.percent is not None and figure.percent.value == pytest.approx(1 - 1 / count)


# --- files ----------------------------------------------------------------------------------------


@pytest.fixture
def gold(document: Document, owner: User, ada: User, ben: User) -> Document:
    """The document agreed at all stages; its first claim is loaded, the others are plain."""
    for person in (ada, ben):
        annotation = begun(document, person)
        for number, each in enumerate(claims_of(annotation)):
            save(each, "tone", "plain" if number else "loaded", person)
        submit(annotation, by=person)
    document.refresh_from_db()
    for stage in Stage:
        if stage != Stage.DECOMPOSE:
            for person in (ada, ben):
                if stage == Stage.VERIFY:
                    verified(document, person)
                else:
                    submit(open_annotation(document, stage, by=person), by=person)
        document.refresh_from_db()
        people = [ada, ben, owner] if stage == Stage.VERIFY else [ada, ben]
        settle(document, people, [])
        retrieve(document)
    return document


def exported(benchmark: Benchmark, name: str) -> bytes:
    return b"".join(format_named(name).write(Reading(benchmark, named=True)))


def test_it_goes_out_in_the_native_format_and_comes_back(gold: Document, benchmark: Benchmark) -> None:
    content = exported(benchmark, "touchstone")
    [line] = [json.loads(each) for each in content.splitlines()[1:]]
    tones = [(row["tone"], row["tone_origin"]) for row in line["claims"]]
    assert ("loaded", "human") in tones and ("plain", "human") in tones
    other = BenchmarkFactory()
    other.guidelines.all().delete()
    report = import_native(benchmark=other, source=io.BytesIO(content))
    assert (report.imported, report.problems) == (1, [])
    [copy] = other.documents.all()
    told = [(each.text, each.tone, each.tone_origin) for each in adjudicated_claims(copy)]
    assert told == [(each.text, each.tone, each.tone_origin) for each in adjudicated_claims(gold)]
    assert told[0][1] == "loaded"
    bad = content.replace(b'"tone":"loaded"', b'"tone":"shrill"')
    problem, *_ = import_native(benchmark=BenchmarkFactory(), source=io.BytesIO(bad)).problems
    assert "plain, loaded" in problem.reason


def test_the_tables_have_its_column_and_are_read_again(gold: Document, benchmark: Benchmark, tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(exported(benchmark, "csv"))).extractall(tmp_path)
    rows = list(csv.DictReader((tmp_path / "claims.csv").read_text("utf-8").splitlines()))
    adjudicated = {each.public_id: each.tone for each in adjudicated_claims(gold)}
    assert {row["claim_id"]: row["tone"] for row in rows} == adjudicated and set(adjudicated.values()) == {
        "plain",
        "loaded",
    }
    [read] = tables_reader.read(tmp_path)
    found = {claim.public_id: claim.more for sentence in read.sentences for claim in sentence.claims}
    assert found == {public_id: {"tone": tone} for public_id, tone in adjudicated.items()}
    [line] = exported(benchmark, "prov").splitlines()
    assert {entity.get("ts:tone") for entity in json.loads(line)["entity"].values()} == {None, "plain", "loaded"}
