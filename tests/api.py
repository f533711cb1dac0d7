"""What the tests of the API share: a client that speaks JSON, and a benchmark with work at every stage."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.utils import timezone

from annotator.core.actions.notices import tell
from annotator.core.models import Annotation, Batch, Benchmark, Document, User
from annotator.core.vocabulary import NoticeKind, ReleaseState, Role, Stage, Task
from annotator.exchange.models import ImportJob, Release
from annotator.integrations.actions.webhooks import add_webhook, send_test
from annotator.leaderboard.models import Evaluation
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.verification import claims_to_verify
from annotator.team.actions.groups import create_group
from annotator.team.actions.team import invite
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    member,
    prefill,
    retrieve,
    save,
    verified,
    with_corpus,
)
from tests.studies_robots import study_of_one

ROOT = "/api/v1"
SECRET_PROMPT = "Which quetzal flew over Tikal?"
SECRET_WORK = "Nobody but Ada has written this sentence."


class Api:
    """A person's requests to the API."""

    def __init__(self, user: User | None = None) -> None:
        self.client = Client()
        if user is not None:
            self.client.force_login(user)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer; ``body`` goes as JSON, ``If_Match='"3"'`` as a header of that name."""
        given: dict[str, Any] = {}
        if body is not None:
            given = {"data": json.dumps(body), "content_type": "application/json"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(method, path if path.startswith("/api/") else ROOT + path, headers=named, **given)

    def get(self, path: str, status: int = 200) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == status, answer.content
        return answer.json()

    def send(self, method: str, path: str, body: Any = None, *, status: int = 200, **headers: str) -> Any:
        """The answer's JSON (None where it is empty), with the status that is expected."""
        answer = self.ask(method, path, body, **headers)
        assert answer.status_code == status, (answer.status_code, answer.content)
        return answer.json() if answer.content else None


@dataclass(slots=True)
class Scene:
    """A benchmark with documents at every stage. Ada owns it; her work at revise is open and holds SECRET_WORK; she and
    Ben have to settle ``shared``; ``ids`` fills in the addresses."""

    benchmark: Benchmark
    document: Document
    shared: Document
    ada: User
    ben: User
    ids: dict[str, str]


def scene() -> Scene:
    """The scene, made through the actions."""
    benchmark = BenchmarkFactory(name="Tikal", slug="tikal")
    with_corpus(benchmark)
    ada = member(benchmark, Role.OWNER, username="ada")
    document = prefill(DocumentFactory(benchmark=benchmark, prompt=SECRET_PROMPT))
    decomposed(document, ada)
    document.refresh_from_db()
    verified(document, ada)
    retrieve(document)
    revision = open_annotation(document, Stage.REVISE, by=ada)
    row = revision.sentence_revisions.order_by("sentence__order")[0]
    save(row, "text", SECRET_WORK, ada)
    ben = member(benchmark, username="ben")
    member(benchmark, Role.THIRD_RATER, username="cleo")
    shared = prefill(DocumentFactory(benchmark=benchmark, extra_people=1, prompt=SECRET_PROMPT))
    for person in (ada, ben):
        decomposed(shared, person)
    shared.refresh_from_db()
    fresh = prefill(DocumentFactory(benchmark=benchmark, prompt=SECRET_PROMPT))
    open_decomposition = open_annotation(fresh, Stage.DECOMPOSE, by=ada)
    checked = prefill(DocumentFactory(benchmark=benchmark, prompt=SECRET_PROMPT))
    decomposed(checked, ada)
    checked.refresh_from_db()
    ids = _ids(benchmark, ada, open_decomposition, open_annotation(checked, Stage.VERIFY, by=ada))
    ids |= {"public_id": document.public_id, "row_id": row.public_id, "record_id": row.public_id}
    ids |= {"key": board_of(shared, Stage.DECOMPOSE).comparison.items[0].fields[0].key}
    return Scene(benchmark, document, shared, ada, ben, ids)


def _ids(benchmark: Benchmark, ada: User, decomposition: Annotation, verification: Annotation) -> dict[str, str]:
    """A row for everything that addresses name."""
    job = ImportJob.objects.create(
        benchmark=benchmark, by=ada, file="imports/x.jsonl", filename="x.jsonl", format="jsonl", state="finished"
    )
    tell([ada], NoticeKind.RETURNED, "Revise of a document in Tikal came back.", benchmark=benchmark)
    evaluation = Evaluation.objects.create(
        benchmark=benchmark, by=ada, task=Task.STANCE, system="Tikal", filename="x.jsonl", scored_at=timezone.now()
    )
    release = Release.objects.create(
        benchmark=benchmark, version="1", title="Tikal", licence="CC-BY-4.0", share_train=80, share_dev=10,
        share_test=10, by=ada, state=ReleaseState.FAILED,
    )  # fmt: skip
    sentence = decomposition.sentences.order_by("order")[0]
    work = claims_to_verify(verification)[0]
    webhook = add_webhook(benchmark, by=ada, url="https://hooks.example/", events=["document.gold"])
    run = benchmark.runs.order_by("pk").first()
    assert run is not None
    study = study_of_one(benchmark, ada, prompt=SECRET_PROMPT, work=SECRET_WORK)
    return {
        "study_id": study.public_id,
        "assignment_id": study.assignments.get().public_id,
        "answer_key": "item.reason",
        "slug": benchmark.slug,
        "username": "ben",
        "notice_id": ada.notices.get(kind=NoticeKind.RETURNED).public_id,
        "group_id": create_group(benchmark, by=ada).public_id,
        "invitation_id": invite(benchmark, by=ada).public_id,
        "batch_id": Batch.objects.create(benchmark=benchmark, name="Tikal 1").public_id,
        "job_id": job.public_id,
        "run_id": run.public_id,
        "strategy": "papelo",
        "step": "answer",
        "stage": "revise",
        "kind": "sentence-revision",
        "field": "text",
        "flag_id": "1",
        "question_id": "1",
        "annotation_id": decomposition.public_id,
        "sentence_id": sentence.public_id,
        "claim_id": sentence.claims.order_by("order")[0].public_id,
        "verdict_id": work.verdict.public_id,
        "evidence_id": work.cards[0].evidence.public_id,
        "edit_id": "none",
        "evaluation_id": evaluation.public_id,
        "task": "stance",
        "item_id": work.cards[0].evidence.public_id,
        "release_id": release.public_id,
        "token": "none",
        "webhook_id": webhook.public_id,
        "delivery_id": send_test(webhook, by=ada).public_id,
    }
