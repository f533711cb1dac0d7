"""What somebody does in work that is not submitted by everybody changes nothing that anybody else can see.

Each page is fetched by everybody before and after such work, and compared as a whole, with the number of queries that
it took: a counter, a line of a history, an order or a notice would show.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core.models import Activity, Annotation, Benchmark, Claim, Document, Notice, User
from annotator.core.vocabulary import Factuality, Role, Stage, StanceLabel
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence, add_claim, remove_claim
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_evidence
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from tests.agreeing import begun, settle
from tests.factories import DocumentFactory, member, prefill, retrieve, save
from tests.teams import group_with

pytestmark = pytest.mark.django_db

OF_BENCHMARK = (
    "", "burn-up.csv", "documents/", "documents/?phase=independent", "documents/?q=secret", "documents/?flagged=yes",
    "guidelines/", "team/", "agreement/", "agreement/download/?format=json", "agreement/download/?format=csv",
    "my-agreement/", "export/", "runs/", "batches/", "practice/",
)  # fmt: skip
OF_DOCUMENT = (
    "", "decompose/", "verify/", "revise/", "agree/decompose/", "agree/verify/", "agree/revise/",
    "agree/decompose/?part=changes&seen=0", "agree/verify/?part=changes&seen=0",
)  # fmt: skip
# Tokens and clocks differ by themselves; how many seconds ago somebody was seen at all is told to admins.
NOISE = (
    (r'(csrfmiddlewaretoken|csrf)[^>]{0,60}value="[^"]+"', ""),
    (r"X-CSRFToken[^}]{0,120}", ""),
    (r'nonce="[^"]*"', ""),
    (r"\d{1,2}:\d\d(:\d\d)?", ""),
    (r"just now|\d+\sminutes? ago", ""),
    (r'datetime="[^"]*"', ""),
    (r'id="(id_|cut_|mix_)seed"[^>]*|name="seed"[^>]*', ""),
)


@pytest.fixture
def people(benchmark: Benchmark) -> dict[str, User]:
    return {
        "owner": member(benchmark, Role.OWNER, display_name="Olga"),
        "admin": member(benchmark, Role.ADMIN, display_name="Adam"),
        "partner": member(benchmark, display_name="Ada"),
        "worker": member(benchmark, display_name="Ben"),
        "other": member(benchmark, display_name="Dan"),
        "third rater": member(benchmark, Role.THIRD_RATER, display_name="Cleo"),
        "researcher": member(benchmark, Role.RESEARCHER, display_name="Rita"),
    }


@pytest.fixture
def document(benchmark: Benchmark, people: dict[str, User]) -> Document:
    group = group_with(
        benchmark, people["owner"], people["partner"], people["worker"], third_rater=people["third rater"]
    )
    batch = benchmark.batches.create(name="Batch 1", group=group)
    return prefill(DocumentFactory(benchmark=benchmark, batch=batch))


def seen_by(user: User, document: Document) -> dict[str, tuple[int, int, str]]:
    """For each address: status, queries, and the whole answer without tokens and clocks."""
    client = Client(raise_request_exception=True)
    client.force_login(user)
    slug = document.benchmark.slug
    addresses = ["/", "/notices/", "/notices/unread/", "/benchmarks/"]
    addresses += [f"/b/{slug}/{rest}" for rest in OF_BENCHMARK] + [
        f"/d/{document.public_id}/{rest}" for rest in OF_DOCUMENT
    ]
    found: dict[str, tuple[int, int, str]] = {}
    for address in addresses:
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(address)
        text = answer.getvalue().decode()
        for pattern, instead in NOISE:
            text = re.sub(pattern, instead, text)
        found[address] = (answer.status_code, len(queries), text)
    return found


def unseen(document: Document, people: dict[str, User], work: Callable[[], object]) -> None:
    """Nobody but the worker sees a difference when this is done."""
    viewers = {name: user for name, user in people.items() if name != "worker"}
    for user in viewers.values():
        seen_by(user, document)  # what a first look makes (sessions, seats, content types) is made
    before = {name: seen_by(user, document) for name, user in viewers.items()}
    notices = Notice.objects.exclude(to=people["worker"]).count()
    work()
    after = {name: seen_by(user, document) for name, user in viewers.items()}
    leaks = []
    for name, pages in before.items():
        for address, (status, queries, text) in pages.items():
            now = after[name][address]
            if (status, text) != (now[0], now[2]):
                lines = set(now[2].splitlines()) ^ set(text.splitlines())
                leaks.append(f"{name} at {address}: {sorted(lines)[:6]}")
            elif queries != now[1]:
                leaks.append(f"{name} at {address}: {queries} queries, then {now[1]}")
    assert not leaks, "\n".join(leaks)
    assert Notice.objects.exclude(to=people["worker"]).count() == notices


def test_nobody_sees_what_a_person_does_at_decompose(document: Document, people: dict[str, User]) -> None:
    ben = people["worker"]
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ben)
    submit(begun(document, people["partner"]), by=people["partner"])

    def work() -> None:
        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=ben, active_seconds=300)
        claims = list(Claim.objects.filter(sentence__annotation=annotation))
        save(claims[0], "text", "A secret text", ben)
        save(sentences_of(annotation)[0], "importance", "less", ben)
        remove_claim(claims[-1], "redundant", by=ben)
        add_claim(claims[0].sentence, by=ben)

    unseen(document, people, work)


def test_nobody_sees_what_a_person_does_at_verify(document: Document, people: dict[str, User]) -> None:
    ada, ben = people["partner"], people["worker"]
    for each in (ada, ben):
        submit(begun(document, each), by=each)
    document.refresh_from_db()
    retrieve(settle(document, [ada, ben], []))
    for each in (ada, ben):
        open_annotation(document, Stage.VERIFY, by=each)
    annotation = document.annotations.get(stage=Stage.VERIFY, person=ben)

    def work() -> None:
        for claim in claims_to_verify(annotation):
            for card in claim.cards:
                save(card.stance, "label", StanceLabel.IRRELEVANT, ben)
            save(claim.verdict, "factuality", Factuality.TRUE, ben)
        add_evidence(annotation, claim.claim, by=ben, url="https://secret.example/", passage="A secret passage.")

    unseen(document, people, work)
    assert Activity.objects.filter(annotation=annotation).count() > 3


def test_nobody_sees_what_has_been_submitted_before_all_have(document: Document, people: dict[str, User]) -> None:
    """Two worlds that differ only in what the worker submits look the same."""
    ben = people["worker"]
    annotation = begun(document, ben)
    submit(annotation, by=ben)

    def work() -> None:
        claim = Claim.objects.filter(sentence__annotation=annotation).first()
        assert claim is not None
        Claim.objects.filter(pk=claim.pk).update(text="A secret text", importance="less")
        Claim.objects.exclude(pk=claim.pk).filter(sentence__annotation=annotation).update(removed="redundant")
        Annotation.objects.filter(pk=annotation.pk).update(active_seconds=999)

    unseen(document, people, work)


def test_the_comparison_sees_what_may_be_seen(document: Document, people: dict[str, User]) -> None:
    """That a partner has submitted shows: so what is compared are real pages."""
    ben = people["worker"]
    annotation = begun(document, ben)
    submit(begun(document, people["partner"]), by=people["partner"])
    with pytest.raises(AssertionError) as failed:
        unseen(document, people, partial(submit, annotation, by=ben))
    for name in ("owner", "partner", "third rater", "researcher"):
        assert f"{name} at " in str(failed.value)
