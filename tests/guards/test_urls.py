"""Walks every address of the project: who is not signed in is sent to sign in, strangers find nothing, peers see nobody
else's open work, and a wrong method is refused. A new address is in the walk at once; the lists below fail when stale.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotator.core.actions.notices import tell
from annotator.core.models import (
    Activity,
    Annotation,
    Batch,
    Benchmark,
    Document,
    DocumentChange,
    Evidence,
    PageSnapshot,
    SecurityEvent,
    User,
)
from annotator.core.vocabulary import CrowdPlatform, NoticeKind, ReleaseState, Role, Stage, Task
from annotator.exchange.actions.pools import create_pool
from annotator.exchange.models import ImportJob, Release
from annotator.integrations.actions.tokens import create_token
from annotator.integrations.actions.webhooks import add_webhook, send_test
from annotator.leaderboard.models import Evaluation
from annotator.stages.actions.annotate import open_annotation
from annotator.team.actions.crowd import open_link
from annotator.team.actions.groups import create_group
from annotator.team.actions.team import invite
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    member,
    prefill,
    retrieve,
    save,
    verified,
    with_corpus,
)
from tests.factories import decomposed as decompose
from tests.studies_robots import study_of_one

pytestmark = pytest.mark.django_db

# Open to everybody: nothing else answers without signing in.
OPEN = {"healthz", "readyz", "metrics", "login", "account_login", "invitation", "crowd", "accessibility"}
# The admin leads there, too.
SIGN_IN = ("/sign-in/?next=", "/account/login/?next=", "/admin/login/?next=")
# django-allauth's own pages: tests/team/test_accounts.py and test_single_sign_on.py.
OPEN_OF_ALLAUTH = {
    "account_confirm_email",
    "account_confirm_login_code",
    "account_email_verification_sent",
    "account_inactive",
    "account_logout",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
    "account_signup",  # says that accounts are made by invitation
    "mfa_authenticate",
    "mfa_login_webauthn",
    "openid_connect_callback",
    "openid_connect_login",
    "saml_acs",
    "saml_finish_acs",
    "saml_login",
    "saml_metadata",
    "saml_sls",
    "socialaccount_login_cancelled",
    "socialaccount_signup",
}
OF_ALLAUTH = re.compile(r"(account|mfa|socialaccount|saml|openid_connect|usersessions)_")
# These change something, so they are never reached by a link.
POST_ONLY = {
    "logout",
    "next",
    "run-start",
    "run-keep",
    "run-change",
    "suggesters-change",
    "services-change",
    "services-all-change",
    "saved-pages-change",
    "document-change",
    "documents-change",
    "documents-view",
    "settings-change",
    "decompose-sentence",
    "decompose-claim",
    "verify-claim",
    "revise-response",
    "revise-sentence",
    "agree-change",
    "save",
    "restore",
    "note",
    "undo",
    "submit",
    "guidelines-read",
    "team-invite",
    "team-withdraw",
    "team-member",
    "team-protocol",
    "team-two-step",
    "team-group-new",
    "team-group",
    "practice-excuse",
    "practice-mix-in",
    "score-change",
    "batch-cut",
    "batch-change",
    "batches-take-back",
    "start",
    "notices-read",
    "notices-mail",
    "notice",
    "tokens-new",
    "token-revoke",
    "webhook-new",
    "webhook-change",
    "webhook-redeliver",
    "study-change",
    "study-save",
    "study-submit",
    "study-item-change",
    "protocol-import",
    "protocol-copy",
    "protocol-use",
    "pool-change",
    "corpus-change",
    "crowd-change",
}
# The team is an admin's too; tests/team/test_team.py says who may do what there.
TEAM = {name for name in POST_ONLY if name.startswith("team-")}
# So are batches: tests/team/test_batches.py.
BATCHES = {name for name in POST_ONLY if name.startswith("batch")}
# And studies: tests/studies.
STUDIES = {"study-change", "protocol-import", "protocol-copy", "protocol-use", "pool-change"}
# And corpora and crowd links: tests/exchange/test_corpora_page.py, tests/team/test_crowd.py.
CORPORA = {"corpus-change", "crowd-change"}
# And webhooks: tests/integrations/test_webhooks_page.py.
WEBHOOKS = {name for name in POST_ONLY if name.startswith("webhook-")}
# Addresses of the app without a benchmark in them: each signed-in person has their own.
OWN = {
    "home",
    "next",
    "benchmarks",
    "benchmark-new",
    "notices",
    "notices-unread",
    "notices-read",
    "notices-mail",
    "tokens",
    "tokens-new",
    "api-reference",
    "privacy",
    "privacy-download",
    "audit-all",
    "audit-all-download",
    "services-all",
}

SECRET_PROMPT = "Which quetzal flew over Tikal?"
SECRET_WORK = "Nobody but Ada has written this sentence."


@dataclass(frozen=True, slots=True)
class Address:
    """One pattern of the project: its full name ("admin:index"), and its parts from the root on."""

    name: str
    parts: tuple[Any, ...]

    @property
    def is_ours(self) -> bool:
        return ":" not in self.name and self.name not in OPEN | {"logout"} and not OF_ALLAUTH.match(self.name)

    @property
    def arguments(self) -> list[str]:
        return [name for part in self.parts for name in part.regex.groupindex]


@cache
def addresses() -> tuple[Address, ...]:
    """Every pattern of the project."""

    def walk(patterns: list[Any], parts: tuple[Any, ...], space: str) -> Iterator[Address]:
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
                yield from walk(pattern.url_patterns, (*parts, pattern.pattern), inner)
            else:
                assert isinstance(pattern, URLPattern)
                yield Address(f"{space}{pattern.name or 'nameless'}", (*parts, pattern.pattern))

    return tuple(walk(get_resolver().url_patterns, (), ""))


def ours() -> list[Address]:
    return [address for address in addresses() if address.is_ours]


def path_of(address: Address) -> str:
    """An address of this pattern with something in every place; for asking who is let in, not for finding rows."""
    path = ""
    for part in address.parts:
        text = str(part)
        labels = re.search(r"\(\?P<app_label>(\w+)", text)
        text = re.sub(r"\(\?P<app_label>[^)]*\)", labels[1], text) if labels else text
        text = re.sub(r"\(\?P<\w+>[^)]*\)", "1", text)  # a regular expression of the admin
        text = re.sub(r"<int:\w+>|<path:\w+>|<(?:\w+:)?\w+>", "1", text)
        path += text.strip("^$")
    return f"/{path}"


def test_the_walk_sees_the_whole_project() -> None:
    names = {address.name for address in addresses()}
    assert {"home", "document", "save", "export-download", "healthz", "admin:index"} <= names
    assert len(names) > 100  # the admin has several for each model


def test_who_is_not_signed_in_is_sent_to_sign_in_everywhere_else(client: Client) -> None:
    open_to_all = set()
    for address in addresses():
        if address.name.startswith("api:"):
            continue  # programs are told so instead: tests/guards/test_api.py walks those addresses
        for method in ("get", "post"):
            answer = getattr(client, method)(path_of(address))
            if answer.status_code == 302 and answer["Location"].startswith(SIGN_IN):
                continue
            open_to_all.add(address.name)
    assert open_to_all == OPEN | OPEN_OF_ALLAUTH


def test_the_lists_name_addresses_that_exist() -> None:
    names = {address.name for address in addresses()}
    assert (OPEN | POST_ONLY | OWN) - names == set()
    assert {address.name for address in ours() if not address.arguments} == OWN


# --- with data that could leak --------------------------------------------------------------------


@dataclass(slots=True)
class Scene:
    """A document at the revise stage; Ada's work is open."""

    document: Document
    ada: User
    values: dict[str, dict[str, str]]

    def url(self, address: Address) -> str:
        """The address of a row that exists. KeyError: a new address; say here which row it is about."""
        common = {"slug": self.document.benchmark.slug, "public_id": self.document.public_id}
        given = common | self.values.get(address.name, {})
        return reverse(address.name, kwargs={name: given[name] for name in address.arguments})


@pytest.fixture
def scene() -> Scene:
    benchmark = BenchmarkFactory(name="Tikal")
    with_corpus(benchmark)
    ada = member(benchmark, Role.OWNER)
    document = prefill(DocumentFactory(benchmark=benchmark, prompt=SECRET_PROMPT))
    decomposition = decompose(document, ada)
    document.refresh_from_db()
    verification = verified(document, ada)
    retrieve(document)
    revision = open_annotation(document, Stage.REVISE, by=ada)
    row = revision.sentence_revisions.get(sentence__order=1)
    save(row, "text", SECRET_WORK, ada)
    job = ImportJob.objects.create(
        benchmark=benchmark, by=ada, file="imports/x.jsonl", filename="x.jsonl", format="jsonl", state="finished"
    )
    evaluation = Evaluation.objects.create(
        benchmark=benchmark, by=ada, task=Task.STANCE, system="Tikal 2", scored_at=timezone.now(), file="predictions/x"
    )
    sentence = decomposition.sentences.first()
    run, verdict = benchmark.runs.first(), verification.verdicts.first()
    assert sentence and run and verdict
    claim = sentence.claims.first()
    assert claim is not None
    # Two people are settling this one; with a third rater at hand, admins take no part in it.
    member(benchmark, Role.THIRD_RATER)
    shared = prefill(DocumentFactory(benchmark=benchmark, extra_people=1, prompt=SECRET_PROMPT))
    for person in (ada, member(benchmark)):
        decompose(shared, person)
    practice = DocumentFactory(benchmark=benchmark, twin_of=document, practice_for=ada, prompt=SECRET_PROMPT)
    field = {"key": f"sentence-revision:{row.public_id}", "field": "text"}
    values = {
        "import-job": {"job_id": job.public_id},
        "score": {"evaluation_id": evaluation.public_id},
        "score-against": {"evaluation_id": evaluation.public_id, "other_id": evaluation.public_id},
        "score-item": {"task": "stance", "key": verdict.claim.public_id},
        "score-download": {"evaluation_id": evaluation.public_id},
        "score-change": {"evaluation_id": evaluation.public_id, "what": "hide"},
        "run": {"run_id": run.public_id},
        "run-change": {"run_id": run.public_id, "what": "cancel"},
        "suggesters-change": {"what": "off"},
        "services-change": {"kind": "chat"},
        "services-all-change": {"kind": "chat"},
        "prompt": {"strategy": "papelo", "step": "answer"},
        "document-change": {"what": "flag"},
        "decompose-sentence": {"sentence_id": sentence.public_id, "what": "take-over"},
        "decompose-claim": {"claim_id": claim.public_id, "what": "take-over"},
        "verify-claim": {"claim_id": verdict.claim.public_id, "what": "send-back"},
        "revise-response": {"what": "merge-again"},
        "revise-sentence": {"row_id": row.public_id, "what": "confirm"},
        "save": field,
        "history": field,
        "restore": field,
        "undo": {"stage": "revise", "what": "undo"},
        "submit": {"stage": "revise"},
        "definitions": {"stage": "verify"},
        "practice": {"public_id": practice.public_id},
        "team-withdraw": {"invitation_id": invite(benchmark, by=ada).public_id},
        "team-member": {"username": ada.username, "what": "role"},
        "team-group": {"group_id": create_group(benchmark, by=ada).public_id, "what": "rename"},
    }
    batch = Batch.objects.create(benchmark=benchmark, name="Tikal 1")
    tell([ada], NoticeKind.RETURNED, "Revise of a document in Tikal came back.", document=document, stage="revise")
    values["notice"] = {"notice_id": ada.notices.get(kind=NoticeKind.RETURNED).public_id}
    values["saved-page"] = {"public_id": evidence_with_page(document).public_id}
    values["saved-pages-change"] = {"what": "check"}
    values["start"] = {"stage": "revise"}
    values["token-revoke"] = {"token_id": create_token(by=ada, name="Tikal", scopes=["read"]).token.public_id}
    webhook = add_webhook(benchmark, by=ada, url="https://hooks.example/", events=["document.gold"])
    values["webhook-change"] = {"webhook_id": webhook.public_id, "what": "test"}
    values["webhook-redeliver"] = {"delivery_id": send_test(webhook, by=ada).public_id}
    release = release_of(benchmark, ada)
    values["release"] = values["release-download"] = {"release_id": release.public_id}
    values["batch-change"] = {"batch_id": batch.public_id, "what": "dissolve"}
    values["note"] = {"public_id": Annotation.objects.filter(person=ada).latest("pk").public_id}
    study = study_of_one(benchmark, ada, prompt=SECRET_PROMPT, work=SECRET_WORK)
    for name in ("study", "study-next", "study-download", "study-change"):
        values[name] = {"study_id": study.public_id, "what": "study.jsonl"}
    values["study-change"]["what"] = "start"
    assignment = study.assignments.get()
    for name in ("study-item", "study-save", "study-submit", "study-item-change"):
        values[name] = {"public_id": assignment.public_id, "field": "item.reason", "what": "undo"}
    for name in ("protocol", "protocol-file", "protocol-edit", "protocol-copy", "protocol-use"):
        values[name] = {"name": "aggrefact"}
    DocumentChange.objects.create(benchmark=benchmark, by=ada, what="move", finished_at=timezone.now())
    values["documents-change"] = {"what": "dismiss"}
    values["settings-change"] = {"what": "archive"}
    values["stage-answers"] = {"form": "csv"}
    candidates = io.BytesIO(b'{"prompt": "p", "response": "r"}\n')
    pool, _ = create_pool(benchmark, candidates, name="Pool", by=ada)
    assert pool is not None
    values["corpus"] = values["corpus-search"] = {"corpus_slug": f"corpus-{benchmark.slug}"}
    values["corpus-change"] = values["corpus"] | {"what": "use"}
    crowd = open_link(benchmark, by=ada, name="Crowd", platform=CrowdPlatform.OTHER, consent="Read this.", documents=1)
    values["crowd"] = {"token": crowd.token}
    values["crowd-report"] = {"link_id": crowd.public_id}
    values["crowd-change"] = values["crowd-report"] | {"what": "close"}
    values["pool"] = values["pool-change"] = {"pool_id": pool.public_id, "what": "undo"}
    values["agree"] = {"public_id": shared.public_id, "stage": "decompose"}
    values["agree-change"] = values["agree"] | {"what": "sign"}
    return Scene(document, ada, values)


def evidence_with_page(document: Document) -> Evidence:
    """A passage whose page was saved."""
    evidence = Evidence.objects.filter(claim__sentence__annotation__document=document, annotation__isnull=True).first()
    assert evidence is not None
    evidence.snapshot = PageSnapshot.objects.create(
        url=evidence.url, text=evidence.passage, content_hash="0" * 64, retrieved_at=timezone.now()
    )
    evidence.save()
    return evidence


def release_of(benchmark: Benchmark, by: User) -> Release:
    """A release whose file is there, without the gold that it takes to make one."""
    content = b"A release."
    return Release.objects.create(
        benchmark=benchmark, version="1.0", title="Tikal", licence="CC-BY-4.0", authors=["Ada"], by=by,
        share_train=100, share_dev=0, share_test=0, state=ReleaseState.READY, documents_count=1, sha256="0" * 64,
        file=default_storage.save("releases/tikal.zip", ContentFile(content)),
        file_sha256=hashlib.sha256(content).hexdigest(), size=len(content),
    )  # fmt: skip


def everything() -> dict[str, list[Any]]:
    """All rows of the app, to compare: refused requests change nothing."""
    models = apps.get_app_config("annotator").get_models()
    return {
        model.__name__: sorted(model._default_manager.values_list(), key=str)
        for model in models
        if model not in (User, SecurityEvent)  # the sign-ins of this very walk
    }


def ask(client: Client, user: User, method: str, url: str, data: dict[str, str] | None = None) -> HttpResponse:
    client.force_login(user)
    answer: HttpResponse = getattr(client, method)(url, data)
    return answer


def body(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


@pytest.mark.parametrize("is_staff", [False, True], ids=["stranger", "staff"])
def test_for_strangers_no_benchmark_and_no_document_exists(client: Client, scene: Scene, is_staff: bool) -> None:
    stranger = UserFactory(is_staff=is_staff)
    before = everything()
    for address in ours():
        if address.name in OWN:
            continue
        for method in ("get", "post"):
            answer = ask(client, stranger, method, scene.url(address))
            assert answer.status_code in (403, 404, 405), (address.name, method, answer.status_code)
            for secret in (SECRET_PROMPT, SECRET_WORK, "Tikal"):
                assert secret not in body(answer), (address.name, method)
    assert everything() == before


def test_a_former_member_is_a_stranger(client: Client, scene: Scene) -> None:
    former = member(scene.document.benchmark)
    former.memberships.update(active=False)
    for address in ours():
        if address.name not in OWN:
            answer = ask(client, former, "get", scene.url(address))
            assert answer.status_code in (403, 404, 405), address.name


@pytest.mark.database  # the queries behind every address
def test_the_same_addresses_are_there_for_whoever_owns_them(client: Client, scene: Scene) -> None:
    """Without this the tests above could pass on wrong addresses."""
    for address in ours():
        if address.name not in POST_ONLY:
            answer = ask(client, scene.ada, "get", scene.url(address))
            # Who is no staff is told so instead of seeing the form for a new benchmark.
            # "study-next" goes on to the item itself. There is no gold, so no item of it and no system to compare.
            # "study-next" goes on to the item itself. There is no gold here: no item of it, and no system to compare.
            expected = {
                "benchmark-new": 403,
                "study-next": 302,
                "score-against": 404,
                "score-item": 404,
                "audit-all": 403,
                "audit-all-download": 403,
                "services-all": 403,
            }
            assert answer.status_code == expected.get(address.name, 200), address.name
    saved = Activity.objects.filter(action="save", annotation__stage=Stage.REVISE).first()
    assert saved is not None
    data = {"activity": saved.public_id, "person": scene.ada.username}  # what is restored, who is excused
    data["change"] = DocumentChange.objects.get().public_id
    # Those that change something in an order in which none closes the way for another.
    for name in sorted(POST_ONLY - {"logout"}, key=lambda each: (each in ("submit", "document-change"), each)):
        address = next(each for each in ours() if each.name == name)
        assert ask(client, scene.ada, "post", scene.url(address), data).status_code != 404, name


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.ADMIN, Role.RESEARCHER])
def test_nobody_sees_the_open_work_of_another_member(client: Client, scene: Scene, role: Role) -> None:
    peer = member(scene.document.benchmark, role)
    for address in ours():
        for headers in ({}, {"hx-request": "true"}):
            client.force_login(peer)
            answer = client.get(scene.url(address), headers=headers)
            assert SECRET_WORK not in body(answer), address.name
    seen = ask(client, peer, "get", f"/d/{scene.document.public_id}/")
    assert SECRET_PROMPT in body(seen)  # the document itself is the members'


def test_nobody_changes_the_open_work_of_another_member(client: Client, scene: Scene) -> None:
    peer = member(scene.document.benchmark, Role.ADMIN)
    annotation = Annotation.objects.get(document=scene.document, stage=Stage.REVISE, person=scene.ada)
    texts = list(annotation.sentence_revisions.order_by("pk").values_list("text", "version", "deleted"))
    for address in ours():
        if address.name in POST_ONLY - OWN - {
            "run-start",
            "run-keep",
            "run-change",
            "suggesters-change",
            "document-change",
            "documents-change",
            "documents-view",
            "guidelines-read",
            "practice-mix-in",
            "saved-pages-change",  # an admin's too: tests/stages/test_rechecks.py
            "score-change",
            *TEAM,
            *BATCHES,
            *WEBHOOKS,
            *STUDIES,
            *CORPORA,
        }:
            answer = ask(client, peer, "post", scene.url(address))
            assert answer.status_code in (403, 404), (address.name, answer.status_code)
    annotation.refresh_from_db()
    assert annotation.is_open
    assert list(annotation.sentence_revisions.order_by("pk").values_list("text", "version", "deleted")) == texts


def test_wrong_methods_are_refused(client: Client, scene: Scene) -> None:
    for address in ours():
        url = scene.url(address)
        for method in ("put", "patch", "delete"):
            assert ask(client, scene.ada, method, url).status_code == 405, (address.name, method)
        refused = ask(client, scene.ada, "get", url).status_code == 405
        assert refused == (address.name in POST_ONLY), address.name
    assert ask(client, scene.ada, "get", "/sign-out/").status_code == 405
