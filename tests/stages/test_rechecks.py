"""Saved pages checked again on a fake web, and exactly the verdicts reopened whose evidence was cut from them."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotator.core.actions.fields import BadValueError
from annotator.core.models import (
    Activity,
    Annotation,
    Benchmark,
    Document,
    Evidence,
    PageCheck,
    PageSnapshot,
    Recheck,
    RestsOn,
    User,
    Verdict,
)
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import (
    AnnotationKind,
    Factuality,
    PageOutcome,
    Phase,
    Role,
    Stage,
    StanceLabel,
)
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.rechecks import cancel_recheck, reopen_verdicts, start_recheck, unfinished
from annotator.stages.actions.submit import submit
from annotator.stages.queries.missing import missing_in_claim
from annotator.stages.queries.saved_pages import concerned_verdicts, last_recheck
from annotator.stages.queries.verification import claims_to_verify
from pipeline import tasks
from pipeline.clients.assemble import fetch_page
from pipeline.clients.base import FetchedPage
from pipeline.clients.robots import forget_rules
from pipeline.runs.kept_answers import snapshot_of
from pipeline.runs.rechecks import check_slice
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, retrieve, save, with_corpus
from tests.fakes.server import Reply
from tests.fakes.site import FakeSite, article, html

pytestmark = pytest.mark.django_db(transaction=True)

STATEMENTS = (
    "Ada Lovelace was an English mathematician and writer.",
    "She was born in London on 10 December 1815, in a cold winter.",
    "She worked with Charles Babbage on the Analytical Engine.",
    "Nobody has ever found her first letters to Mary Somerville.",
)


def of(statement: str, *, title: str = "Ada Lovelace", more: str = "") -> Reply:
    return html(article(title, f"{statement} {more}\n\n{statement} It stands in every book on her."))


@dataclass(slots=True)
class Scene:
    """A document whose verify stage is adjudicated; each passage was cut from a page of its own on the fake web."""

    site: FakeSite
    document: Document
    owner: User
    ada: User
    paths: dict[int, str]  # by claim

    @property
    def benchmark(self) -> Benchmark:
        return self.document.benchmark

    def verdicts(self, **which: Any) -> dict[int, str]:
        """The labels of Ada's verdicts, by claim."""
        rows = Verdict.objects.filter(annotation__person=self.ada, **which)
        return dict(rows.values_list("claim", "factuality"))

    def check(self) -> Recheck:
        recheck = start_recheck(self.benchmark, by=self.owner, here=True)
        assert not check_slice(recheck.pk)
        return recheck


@pytest.fixture
def site(settings: Any) -> Iterator[FakeSite]:
    forget_rules()
    settings.PAGES, settings.PAGES_ALLOW, settings.RECHECK_PAUSE = True, ["127.0.0.1"], 0.0
    pages = {f"/{number}": of(statement) for number, statement in enumerate(STATEMENTS)}
    with FakeSite(pages) as fake:
        yield fake


def fetched(url: str) -> PageSnapshot:
    from annotator.suggestions.queries.services import service_settings

    page = asyncio.run(fetch_page(service_settings(BenchmarkFactory(), has_corpus=False), url))
    assert isinstance(page, FetchedPage)
    return snapshot_of(page)


def scene_of(site: FakeSite, benchmark: Benchmark | None = None) -> Scene:
    benchmark = benchmark or BenchmarkFactory()
    if benchmark.corpus_id is None:
        with_corpus(benchmark)
    owner, ada = member(benchmark, Role.OWNER), member(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    retrieve(document)
    annotation = open_annotation(document, Stage.VERIFY, by=ada)
    paths = {}
    for number, work in enumerate(claims_to_verify(annotation)):
        paths[work.claim.pk] = f"/{number}"
        url = f"{site.url}/{number}"
        snapshot = PageSnapshot.objects.filter(url=url).first() or fetched(url)
        assert STATEMENTS[number] in snapshot.text
        shown = work.cards[0].evidence
        Evidence.objects.filter(pk=shown.pk).update(
            snapshot=snapshot, url=snapshot.url, passage=STATEMENTS[number], published=None
        )
        for card in work.cards[1:]:
            save(card.stance, "label", StanceLabel.IRRELEVANT, ada)
        save(work.cards[0].stance, "label", StanceLabel.COMPLETELY_SUPPORT, ada)
        save(work.verdict, "factuality", Factuality.TRUE, ada)
    submit(annotation, by=ada)
    document.refresh_from_db()
    return Scene(site, document, owner, ada, paths)


@pytest.fixture
def scene(site: FakeSite) -> Scene:
    made = scene_of(site)
    assert len(made.paths) >= 3
    assert set(made.verdicts().values()) == {Factuality.TRUE}
    return made


def change(site: FakeSite, path: str, reply: Reply) -> None:
    assert isinstance(site.pages, dict)
    site.pages[path] = reply


def test_a_changed_page_reopens_exactly_the_verdicts_with_evidence_from_it(scene: Scene) -> None:
    claim, path = next(iter(scene.paths.items()))
    change(scene.site, path, of(STATEMENTS[0].replace("English", "Scottish")))
    recheck = scene.check()
    outcomes = dict(recheck.checks.values_list("snapshot__url", "outcome"))
    assert outcomes == {
        f"{scene.site.url}{each}": PageOutcome.CHANGED if each == path else PageOutcome.SAME
        for each in scene.paths.values()
    }
    found = concerned_verdicts(recheck)
    assert [(row.verdict.claim_id, row.outcome, row.still_there) for row in found] == [
        (claim, PageOutcome.CHANGED, False)
    ]
    assert found[0].check.found is not None
    assert "Scottish" in found[0].check.found.text
    assert reopen_verdicts(recheck, only_gone=False, by=scene.owner) == 1
    after = scene.verdicts()
    assert after.pop(claim) == ""
    assert set(after.values()) == {Factuality.TRUE}
    scene.document.refresh_from_db()
    assert (scene.document.stage, scene.document.phase) == (Stage.VERIFY, Phase.INDEPENDENT)
    work = claims_to_verify(Annotation.objects.get(person=scene.ada, stage=Stage.VERIFY))
    assert [each.claim.pk for each in work if missing_in_claim(each)] == [claim]
    assert Activity.objects.filter(action="reopen", by=scene.owner).count() == 1
    # Nothing is left to reopen; adjudicated again, the verdict stands on what its person saw.
    with pytest.raises(BadValueError, match="No verdict"):
        reopen_verdicts(recheck, only_gone=False, by=scene.owner)
    again = next(each for each in work if each.claim.pk == claim)
    save(again.cards[0].stance, "label", StanceLabel.COMPLETELY_SUPPORT, scene.ada)
    save(again.verdict, "factuality", Factuality.TRUE, scene.ada)
    submit(Annotation.objects.get(person=scene.ada, stage=Stage.VERIFY), by=scene.ada)
    assert concerned_verdicts(recheck) == []


def test_gone_and_retracted_pages_concern_their_verdicts_and_silent_ones_do_not(scene: Scene) -> None:
    first, second, third = list(scene.paths)[:3]
    change(scene.site, scene.paths[first], Reply(404, b"not found", {"Content-Type": "text/plain"}))
    change(scene.site, scene.paths[second], of(STATEMENTS[1], title="Retracted: Ada Lovelace"))
    change(scene.site, scene.paths[third], Reply(403, b"no", {"Content-Type": "text/plain"}))
    found = concerned_verdicts(scene.check())
    assert {row.verdict.claim_id: row.outcome for row in found} == {
        first: PageOutcome.VANISHED,
        second: PageOutcome.RETRACTED,
    }
    refused = PageCheck.objects.get(snapshot__url=f"{scene.site.url}{scene.paths[third]}")
    assert (refused.outcome, refused.reason) == (PageOutcome.UNREACHED, "its server answered 403")


def test_verdicts_whose_passage_still_stands_can_be_left_as_they_are(scene: Scene) -> None:
    first, second = list(scene.paths)[:2]
    change(scene.site, scene.paths[first], of(STATEMENTS[0], more="This page was moved to the new archive last week."))
    change(scene.site, scene.paths[second], of("Nothing of it is left on this page, not even her name."))
    recheck = scene.check()
    assert {row.verdict.claim_id: row.still_there for row in concerned_verdicts(recheck)} == {
        first: True,
        second: False,
    }
    assert reopen_verdicts(recheck, only_gone=True, by=scene.owner) == 1
    assert {claim for claim, label in scene.verdicts().items() if not label} == {second}


def test_evidence_named_as_used_counts_and_no_other_of_the_claim(scene: Scene) -> None:
    claim = next(iter(scene.paths))
    verdict = Verdict.objects.get(annotation__kind=AnnotationKind.CONSOLIDATED, claim=claim)
    other = Evidence.objects.filter(claim=claim, snapshot__isnull=True).first()
    if other is None:
        other = Evidence.objects.create(claim_id=claim, order=99, passage="Another passage.")
    RestsOn.objects.create(verdict=verdict, evidence=other, order=1)
    change(scene.site, scene.paths[claim], of("Nothing of it is left on this page, not even her name."))
    assert concerned_verdicts(scene.check()) == []


def test_a_document_of_another_benchmark_is_not_touched(scene: Scene) -> None:
    elsewhere = scene_of(scene.site)
    claim = next(iter(scene.paths))
    change(scene.site, scene.paths[claim], of("Nothing of it is left on this page, not even her name."))
    reopen_verdicts(scene.check(), only_gone=False, by=scene.owner)
    assert set(elsewhere.verdicts().values()) == {Factuality.TRUE}


def test_an_address_is_asked_once_however_many_pages_were_saved_from_it(scene: Scene) -> None:
    path = next(iter(scene.paths.values()))
    kept = PageSnapshot.objects.get(url=f"{scene.site.url}{path}")
    older = PageSnapshot.objects.create(
        url=kept.url, text="An older text of it.", content_hash="1" * 64, retrieved_at=timezone.now()
    )
    extra = Evidence.objects.filter(snapshot=kept).first()
    assert extra is not None
    Evidence.objects.create(claim=extra.claim, order=98, passage="An older text", snapshot=older, url=older.url)
    asked = [call.path for call in scene.site.calls].count(path)
    recheck = scene.check()
    assert [call.path for call in scene.site.calls].count(path) == asked + 1
    assert dict(recheck.checks.filter(snapshot__url=kept.url).values_list("snapshot", "outcome")) == {
        kept.pk: PageOutcome.SAME,
        older.pk: PageOutcome.CHANGED,
    }


# --- who, when, and how it goes on ----------------------------------------------------------------


def test_only_owners_and_admins_check_and_reopen(scene: Scene) -> None:
    for person in (scene.ada, member(scene.benchmark, Role.RESEARCHER)):
        with pytest.raises(NotAllowedError):
            start_recheck(scene.benchmark, by=person)
    recheck = scene.check()
    with pytest.raises(NotAllowedError):
        reopen_verdicts(recheck, only_gone=False, by=scene.ada)
    with pytest.raises(NotAllowedError):
        cancel_recheck(recheck, by=scene.ada)


def test_bad_starts_say_what_to_do(scene: Scene, settings: Any) -> None:
    with pytest.raises(BadValueError, match="No page has been saved"):
        start_recheck(BenchmarkFactory(), by=None)
    start_recheck(scene.benchmark, by=None, here=True)
    with pytest.raises(BadValueError, match="checked already"):
        start_recheck(scene.benchmark, by=None)
    settings.PAGES = False
    with pytest.raises(BadValueError, match="PAGES=1"):
        start_recheck(scene.benchmark, by=None)


def test_a_cancelled_check_asks_nothing_more(scene: Scene) -> None:
    recheck = start_recheck(scene.benchmark, by=scene.owner, here=True)
    cancel_recheck(recheck, by=scene.owner)
    calls = len(scene.site.calls)
    assert not check_slice(recheck.pk)
    assert len(scene.site.calls) == calls
    start_recheck(scene.benchmark, by=scene.owner, here=True)


def test_slices_go_on_where_the_last_one_ended(scene: Scene, settings: Any) -> None:
    recheck = start_recheck(scene.benchmark, by=scene.owner, here=True)
    settings.RECHECK_PAUSE = 0.2
    asked = len(scene.site.calls)
    slices = 1
    while check_slice(recheck.pk, seconds=0.1):
        slices += 1
    assert slices > 1
    pages = [call.path for call in scene.site.calls[asked:] if call.path != "/robots.txt"]
    assert sorted(pages) == sorted(scene.paths.values()), "each once"
    assert last_recheck(scene.benchmark) is not None
    recheck.refresh_from_db()
    assert recheck.finished_at is not None


def test_what_a_killed_worker_left_is_picked_up(scene: Scene) -> None:
    recheck = start_recheck(scene.benchmark, by=scene.owner, here=True)
    Recheck.objects.update(seen_at=timezone.now())
    assert unfinished() == []
    assert not check_slice(recheck.pk), "another worker is at it"
    assert not recheck.checks.exclude(outcome="").exists()
    Recheck.objects.update(seen_at=timezone.now() - dt.timedelta(hours=1))
    assert tasks.resume_rechecks() == 1
    recheck.refresh_from_db()
    assert recheck.finished_at is not None


def test_hosts_are_asked_one_request_at_a_time_with_a_pause(scene: Scene, settings: Any) -> None:
    settings.RECHECK_PAUSE = 0.15
    scene.site.latency = 0.05
    asked = len(scene.site.calls)
    scene.check()
    times = [call.at for call in scene.site.calls[asked:] if call.path != "/robots.txt"]
    assert len(times) == len(scene.paths)
    assert all(later - earlier >= 0.15 for earlier, later in zip(times, times[1:], strict=False))


def test_a_crawl_delay_is_kept(scene: Scene) -> None:
    forget_rules()
    scene.site.robots = "User-agent: *\nCrawl-delay: 0.3\n"
    asked = len(scene.site.calls)
    scene.check()
    times = [call.at for call in scene.site.calls[asked:] if call.path != "/robots.txt"]
    assert all(later - earlier >= 0.3 for earlier, later in zip(times, times[1:], strict=False))


# --- screens and the command ----------------------------------------------------------------------


def test_an_owner_checks_and_reopens_on_the_page(client: Client, scene: Scene) -> None:
    claim = next(iter(scene.paths))
    change(scene.site, scene.paths[claim], of("Nothing of it is left on this page, not even her name."))
    client.force_login(scene.owner)
    index = reverse("saved-pages", args=[scene.benchmark.slug])
    assert f"{len(scene.paths)} pages saved" in client.get(index).content.decode()
    assert client.post(reverse("saved-pages-change", args=[scene.benchmark.slug, "check"])).status_code == 302
    shown = client.get(index).content.decode()
    assert "Reopen all 1" in shown
    answer = client.post(reverse("saved-pages-change", args=[scene.benchmark.slug, "reopen-all"]), follow=True)
    assert "1 verdict reopened" in answer.content.decode()
    assert {each for each, label in scene.verdicts().items() if not label} == {claim}
    client.force_login(scene.ada)
    assert client.get(index).status_code == 403
    assert "page since: changed" in client.get(reverse("verify", args=[scene.document.public_id])).content.decode()


def test_the_number_of_queries_does_not_grow_with_the_verdicts(
    scene: Scene, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for path in scene.paths.values():
        change(scene.site, path, of("Nothing of it is left on this page, not even her name."))
    recheck = scene.check()
    with django_assert_num_queries(5):
        assert len(concerned_verdicts(recheck)) == len(scene.paths)


def test_the_command_starts_and_reports(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="never checked"):
        call_command("recheck_pages", benchmark=scene.benchmark.slug, report=True)
    claim = next(iter(scene.paths))
    change(scene.site, scene.paths[claim], Reply(410, b"gone", {"Content-Type": "text/plain"}))
    call_command("recheck_pages", benchmark=scene.benchmark.slug)
    call_command("recheck_pages", benchmark=scene.benchmark.slug, report=True)
    printed = capsys.readouterr().out
    assert f"{len(scene.paths)} pages will be checked" in printed
    assert f"Gone\t{scene.site.url}{scene.paths[claim]}" in printed
