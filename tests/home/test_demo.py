"""The demo: one finished document, one at each stage, as people would have left them; its log-ins."""

from __future__ import annotations

import io
import json
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.management import call_command
from django.test import Client
from django.test.utils import override_settings
from django.urls import reverse
from pytest_django.plugin import DjangoDbBlocker

from annotator.core.models import Annotation, Benchmark, Document, Evidence, PipelineRun, User, Verdict
from annotator.core.vocabulary import Phase, RunState, Stage
from annotator.management.commands.load_demo import logins_file, read_logins
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.missing import missing_in
from annotator.stages.queries.verification import claims_to_verify
from annotator.team.queries.work import next_task
from tests.background import tasks_run_at_once
from tests.released import export_lines

pytestmark = pytest.mark.django_db
FIXTURES = Path(configured.BASE_DIR) / "fixtures" / "demo"


@pytest.fixture(scope="module")
def demo_logins(django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: Any) -> Iterator[Path]:
    """The demo, loaded once for the tests of this file, each of which is rolled back; the file with its log-ins."""
    folder = tmp_path_factory.mktemp("demo")
    with django_db_blocker.unblock(), override_settings(VAR_DIR=folder, DATABASE_URL=""), tasks_run_at_once():
        call_command("load_demo", stdout=io.StringIO())
        logins = logins_file()
    yield logins
    with django_db_blocker.unblock():
        call_command("flush", interactive=False, verbosity=0)


@pytest.fixture
def loaded(demo_logins: Path, settings: Any, tmp_path: Path) -> Benchmark:
    settings.VAR_DIR = tmp_path
    settings.DATABASE_URL = ""  # the suite itself may run on PostgreSQL
    shutil.copy(demo_logins, logins_file())
    return Benchmark.objects.get(slug="demo")


def labels_of(identity: str) -> dict[str, Any]:
    rows = json.loads((FIXTURES / "labels.json").read_text("utf-8"))["documents"]
    return next(row for row in rows if row["id"] == identity)


def test_each_document_stands_where_the_fixture_says(loaded: Benchmark) -> None:
    documents = {row.external_id: row for row in loaded.documents.all()}
    assert {identity: (row.stage, row.phase) for identity, row in documents.items()} == {
        "demo-rosetta-stone": (Stage.REVISE, Phase.AGREED),
        "demo-penicillin": (Stage.REVISE, Phase.INDEPENDENT),
        "demo-apollo-11": (Stage.VERIFY, Phase.INDEPENDENT),
        "demo-mount-erebus": (Stage.DECOMPOSE, Phase.INDEPENDENT),
    }
    assert documents["demo-mount-erebus"].sentence_suggestions.filter(run__strategy="offline").exists()
    assert set(loaded.runs.values_list("state", flat=True)) == {RunState.FINISHED}


def test_the_finished_document_is_exported_as_in_the_fixture(loaded: Benchmark) -> None:
    assert [json.loads(line) for line in export_lines(loaded)] == [
        json.loads((FIXTURES / "gold.jsonl").read_text("utf-8"))
    ]


def test_the_verified_document_has_the_judgements_of_the_fixture(loaded: Benchmark) -> None:
    annotation = Annotation.objects.get(document__external_id="demo-penicillin", stage=Stage.VERIFY, kind="individual")
    wanted = labels_of("demo-penicillin")["verify"]
    works = claims_to_verify(annotation)
    assert [work.number for work in works] == [f"{row['sentence']}.{row['claim']}" for row in wanted]
    for work, row in zip(works, wanted, strict=True):
        verdict = Verdict.objects.get(pk=work.verdict.pk)
        assert [
            (card.evidence.passage, card.stance.label, card.stance.reliable, card.stance.sufficient)
            for card in sorted(work.cards, key=lambda card: card.evidence.order)
        ] == [(each["passage"], each["stance"], each["reliable"], each["sufficient"]) for each in row["evidence"]]
        assert (verdict.factuality, verdict.evidence_sufficient) == (row["factuality"], row["evidence_sufficient"])
        assert (verdict.confidence, verdict.reason) == (row["confidence"] or "", row["reason"] or "")
        assert verdict.revised_claim() == row["revised_claim"]
        named = list(verdict.rests.order_by("order").values_list("evidence__order", flat=True))
        assert named == row["rests_on"]


def test_the_document_at_verify_has_evidence_from_the_corpus(loaded: Benchmark) -> None:
    document = loaded.documents.get(external_id="demo-apollo-11")
    found = Evidence.objects.filter(claim__sentence__annotation__document=document)
    texts = [row["text"] for row in map(json.loads, (FIXTURES / "corpus.jsonl").read_text("utf-8").splitlines())]
    claims = document.annotations.get(stage=Stage.DECOMPOSE, kind="consolidated").sentences.filter(claims__removed="")
    assert claims.count() == 9
    assert set(found.values_list("run__strategy", flat=True)) == {"offline"}
    for claim in claims.values_list("claims", flat=True):
        assert 1 <= found.filter(claim=claim).count() <= 5
    joined = " ".join(" ".join(texts).split())
    assert all(" ".join(row.passage.split()) in joined for row in found)


def test_all_but_one_person_start_fresh(loaded: Benchmark) -> None:
    own = Annotation.objects.filter(kind="individual", document__benchmark=loaded)
    assert set(own.values_list("person__username", flat=True)) == {"anna"}
    for name in ("admin", "ben"):
        task = next_task(User.objects.get(username=name))
        assert task is not None
        assert (task.document.external_id, task.stage, task.why) == ("demo-mount-erebus", Stage.DECOMPOSE, "new")


def test_what_is_submitted_is_complete(loaded: Benchmark) -> None:
    submitted = Annotation.objects.filter(document__benchmark=loaded, kind="individual", state="submitted")
    assert submitted.count() == 3
    assert [missing_in(annotation) for annotation in submitted] == [[], [], []]


def test_two_people_have_something_to_agree_on(loaded: Benchmark) -> None:
    documents = {row.external_id: row for row in Benchmark.objects.get(slug="demo-pair").documents.all()}
    assert {identity: (row.stage, row.phase) for identity, row in documents.items()} == {
        "demo-rosetta-stone": (Stage.DECOMPOSE, Phase.INDEPENDENT),
        "demo-penicillin": (Stage.DECOMPOSE, Phase.CONSOLIDATING),
        "demo-apollo-11": (Stage.VERIFY, Phase.INDEPENDENT),
        "demo-mount-erebus": (Stage.DECOMPOSE, Phase.INDEPENDENT),
    }
    comparison = board_of(documents["demo-penicillin"], Stage.DECOMPOSE).comparison
    open_rows = [(item.kind, row.name) for item in comparison.items for row in item.fields if row.is_open]
    assert sorted(open_rows) == [("claim", "importance"), ("claim", "take"), ("claim", "text"), ("split", "split")]


def test_loading_again_changes_nothing_and_prints_the_log_ins_again(
    loaded: Benchmark, capsys: pytest.CaptureFixture[str]
) -> None:
    def everything() -> tuple[Any, ...]:
        return (
            list(User.objects.order_by("pk").values()),
            list(Document.objects.order_by("pk").values()),
            Evidence.objects.count(),
            PipelineRun.objects.count(),
            logins_file().read_text(),
        )

    before = everything()
    call_command("load_demo")
    assert everything() == before
    told = capsys.readouterr().out
    for name, password in read_logins().items():
        assert f"{name:<6}  {password}" in told


def test_the_log_ins_open_the_door_and_are_kept_for_their_owner_alone(loaded: Benchmark, client: Client) -> None:
    logins = read_logins()
    pair = {"dana", "eli", "finn"}
    assert set(logins) == {"admin", "anna", "ben", "rosa", *pair}
    assert stat.S_IMODE(logins_file().stat().st_mode) == 0o600
    for name, password in logins.items():
        response = client.post(reverse("login"), {"login": name, "password": password})
        assert response.status_code == 302
        assert client.get(reverse("benchmark", args=["demo-pair" if name in pair else "demo"])).status_code == 200


def test_a_researcher_reads_the_gold_of_both_benchmarks(loaded: Benchmark, client: Client) -> None:
    client.force_login(User.objects.get(username="rosa"))
    page = client.get(reverse("benchmarks")).content.decode()
    assert "First steps" in page and "Two people" in page
    assert client.get(reverse("export", args=["demo"])).status_code == 200
    assert client.get(reverse("import", args=["demo"])).status_code == 403


def test_a_password_that_was_changed_is_not_printed(loaded: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    anna = User.objects.get(username="anna")
    anna.set_password("her own words")
    anna.save()
    call_command("load_demo")
    told = capsys.readouterr().out
    assert "anna    (changed since)" in told and read_logins()["anna"] not in told
    assert User.objects.get(username="anna").check_password("her own words")


def test_lost_passwords_are_made_anew(loaded: Benchmark) -> None:
    logins_file().unlink()
    call_command("load_demo")
    for name, password in read_logins().items():
        assert User.objects.get(username=name).check_password(password)


def test_closed_log_ins_open_nothing_until_the_demo_is_loaded_again(loaded: Benchmark, client: Client) -> None:
    call_command("load_demo", close=True)
    asked = {"login": "admin", "password": read_logins()["admin"]}
    client.post(reverse("login"), asked)
    assert client.get(reverse("tokens")).status_code == 302  # to sign-in
    call_command("load_demo")
    client.post(reverse("login"), asked)
    assert client.get(reverse("tokens")).status_code == 200
