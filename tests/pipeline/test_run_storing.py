"""What runs store: evidence with its page, stances, verdicts with their chain, revisions; what begins by itself; and
the pages of evidence that people add."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from warcio.archiveiterator import ArchiveIterator

from annotator.core.models import (
    Activity,
    Annotation,
    Benchmark,
    ClaimSuggestion,
    Document,
    Evidence,
    PageSnapshot,
    PipelineRun,
    RevisionSuggestion,
    StanceSuggestion,
    StepUse,
    User,
    VerdictSuggestion,
)
from annotator.core.vocabulary import Factuality, Phase, Role, RunState, Stage, StanceLabel
from annotator.stages.actions import pages as page_actions
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.saving import undo
from annotator.stages.actions.search_again import search_again
from annotator.stages.actions.verify import add_evidence, remove_evidence
from annotator.stages.queries.verification import claims_to_verify
from pipeline import tasks
from pipeline.runs import added_pages, coordinator, inputs, run_document, store
from pipeline.suggestions import (
    Decomposition,
    Prejudgement,
    QuestionAnswer,
    RetrievedEvidence,
    SuggestedClaim,
    SuggestedSentence,
    SuggestedVerdict,
)
from tests.counting_strategy import Counting
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    member,
    prefill,
    retrieve,
    verified,
    with_corpus,
)
from tests.fakes.chat import FakeChat
from tests.fakes.search import FakeSearxng
from tests.fakes.site import FakeSite

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(settings: Any) -> Iterator[FakeChat]:
    with FakeChat() as fake:
        settings.LLM_URL, settings.LLM_MODEL = f"{fake.url}/v1", "tiny"
        yield fake


@pytest.fixture
def document(chat: FakeChat) -> Document:
    """Of a benchmark whose strategy suggests at all stages, from a corpus."""
    benchmark = BenchmarkFactory(strategy=Counting.name)
    with_corpus(benchmark)
    return prefill(DocumentFactory(benchmark=benchmark))


@pytest.fixture
def ada(document: Document) -> User:
    return member(document.benchmark, Role.OWNER)


def last_run(document: Document, stage: Stage) -> PipelineRun:
    return PipelineRun.objects.filter(items__document=document, stage=stage).latest("pk")


# --- verify ---------------------------------------------------------------------------------------


def test_evidence_comes_with_its_page_stance_verdict_and_chain(document: Document, ada: User, chat: FakeChat) -> None:
    decomposed(document, ada)
    run = last_run(document, Stage.VERIFY)
    run.refresh_from_db()
    assert run.state == RunState.FINISHED
    verdicts = list(VerdictSuggestion.objects.filter(run=run).select_related("claim"))
    assert len(verdicts) == run.items.get().counts["claims"] == len(run.plan["claims"]) > 1
    for verdict in verdicts:
        rows = list(verdict.claim.evidence.filter(run=run))
        assert (verdict.label, verdict.factuality, verdict.probability) == ("refuted", Factuality.FALSE, 0.9)
        assert (verdict.reason, verdict.correction) == ("The model said: Yes.", "Mended.")
        assert [link["evidence"] for link in verdict.chain] == [rows[0].public_id, None]
        assert [link["question"] for link in verdict.chain] == ["When?", "Who?"]
        stances = StanceSuggestion.objects.filter(evidence__in=rows)
        assert {(each.label, each.reason) for each in stances} == {(StanceLabel.REFUTE, "It says otherwise.")}
        assert stances.count() == len(rows)
        # The page is that of the corpus: nothing was fetched.
        assert rows[0].snapshot is not None
        assert rows[0].passage in rows[0].snapshot.text
        assert rows[0].retrieved_at == rows[0].snapshot.retrieved_at
    assert PageSnapshot.objects.count() == 1, "one page, however much evidence was cut from it"
    use = {each.step: each for each in StepUse.objects.filter(item__run=run)}
    assert (use["judge"].chats, use["look"].searches, use["read"].pages) == (len(verdicts),) * 3


def test_evidence_that_a_claim_has_already_is_named_by_the_chain_all_the_same(document: Document, ada: User) -> None:
    decomposed(document, ada)
    first = VerdictSuggestion.objects.select_related("claim", "run").first()
    assert first is not None
    rows = list(first.claim.evidence.all())
    again = PipelineRun.objects.create(benchmark=document.benchmark, stage=Stage.VERIFY, strategy=Counting.name)
    passages = [
        RetrievedEvidence(row.passage, row.url, title="", query="", stance=StanceLabel.IRRELEVANT) for row in rows
    ]
    assert store.store_evidence(again, first.claim, passages) == []
    assert [each.evidence for each in StanceSuggestion.objects.filter(run=again).order_by("pk")] == rows
    said = SuggestedVerdict("supported", Factuality.TRUE, chain=(QuestionAnswer("?", "?", "!", len(rows) - 1),))
    store.store_verdict(again, first.claim, said, passages)
    assert VerdictSuggestion.objects.get(run=again).chain[0]["evidence"] == rows[-1].public_id


def test_a_fault_while_storing_leaves_nothing(document: Document, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, seen = store.store_verdict, []

    def failing(*args: Any) -> None:
        seen.append(args)
        if len(seen) == 2:
            raise RuntimeError("the second claim cannot be stored")
        honest(*args)

    monkeypatch.setattr(store, "store_verdict", failing)
    decomposed(document, ada)
    run = last_run(document, Stage.VERIFY)
    assert run.items.get().state == RunState.FAILED
    assert not VerdictSuggestion.objects.exists()
    assert not Evidence.objects.exists()
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT


def test_a_prejudgement_goes_along_while_the_claim_stands_as_it_was_suggested(document: Document, ada: User) -> None:
    run = PipelineRun.objects.create(benchmark=document.benchmark, stage=Stage.DECOMPOSE, strategy="counting")
    said = Prejudgement("True", 0.997, True)
    claims = (SuggestedClaim("Ada Lovelace was English.", prejudgement=said), SuggestedClaim("She wrote notes."))
    sentence = SuggestedSentence("Ada Lovelace was English.", None, None, "Ada Lovelace was English.", claims=claims)
    store.store_decomposition(run, document, Decomposition((sentence,)))
    rows = ClaimSuggestion.objects.filter(sentence__run=run)
    assert [row.prejudgement for row in rows] == [{"label": "True", "confidence": 0.997, "settled": True}, None]
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    claim = next(
        claim
        for sentence in annotation.sentences.all()
        for claim in sentence.claims.all()
        if claim.text == "Ada Lovelace was English."
    )
    assert inputs.claim_text(claim).prejudgement == said
    claim.text = "Ada Lovelace was Welsh."
    assert inputs.claim_text(claim).prejudgement is None


def test_a_persons_own_search_asks_the_search_service_where_there_is_no_corpus(
    document: Document, ada: User, settings: Any, chat: FakeChat
) -> None:
    decomposed(document, ada)
    Benchmark.objects.update(corpus=None)
    document.refresh_from_db()
    annotation = open_annotation(document, Stage.VERIFY, by=ada)
    claim = claims_to_verify(annotation)[0].claim
    asked = len(chat.calls)
    with FakeSearxng() as engine:
        settings.SEARCH_PROVIDER, settings.SEARCH_URL = "searxng", engine.url
        run = search_again(annotation, claim, "fort of Ema", by=ada)
        for item_id in coordinator.begin(run):
            coordinator.prefill_item(item_id)
        run.refresh_from_db()
        assert run.state == RunState.FINISHED, run.items.get().error
    new = Evidence.objects.filter(annotation=annotation)
    assert [row.query for row in new] == ["fort of Ema"] * len(new)
    assert "https://example.org/fort" in {row.url for row in new}
    assert len(chat.calls) == asked, "a search is no question to the model"
    assert not VerdictSuggestion.objects.filter(run=run).exists()


# --- revise ---------------------------------------------------------------------------------------


def test_a_mended_response_is_suggested_by_itself_when_a_claim_is_false(
    document: Document, ada: User, chat: FakeChat
) -> None:
    decomposed(document, ada)
    verified(document, ada, false_claim="1825")
    document.refresh_from_db()
    assert (document.stage, document.phase) == (Stage.REVISE, Phase.PREFILLING)
    checked = inputs.checked_claims(document)
    false = [claim for claim in checked if claim.factuality == Factuality.FALSE]
    assert ["1815" in claim.revised for claim in false] == [True]
    assert all(claim.revised == claim.text for claim in checked if claim not in false)
    retrieve(document)
    assert (document.stage, document.phase) == (Stage.REVISE, Phase.INDEPENDENT)
    mended = RevisionSuggestion.objects.get(document=document)
    assert (mended.with_prompt, mended.without_prompt) == ("With: Yes.", "Without: Yes.")
    assert "1815" in chat.requests[-1]["messages"][0]["content"]


def test_nothing_is_mended_where_nothing_is_false(document: Document, ada: User) -> None:
    decomposed(document, ada)
    verified(document, ada)
    document.refresh_from_db()
    assert (document.stage, document.phase) == (Stage.REVISE, Phase.INDEPENDENT)
    assert not PipelineRun.objects.filter(stage=Stage.REVISE).exists()


# --- pages of evidence that people add ------------------------------------------------------------


@pytest.fixture
def site(settings: Any) -> Iterator[FakeSite]:
    with FakeSite() as fake:
        settings.PAGES, settings.PAGES_ALLOW = True, ["127.0.0.1"]
        yield fake


@pytest.fixture
def annotation(document: Document, ada: User) -> Annotation:
    decomposed(document, ada)
    document.refresh_from_db()
    return open_annotation(document, Stage.VERIFY, by=ada)


def added(annotation: Annotation, ada: User, url: str, **typed: Any) -> Evidence:
    claim = claims_to_verify(annotation)[0].claim
    return add_evidence(annotation, claim, by=ada, url=url, **typed)


def test_a_page_that_a_person_adds_is_kept_and_what_they_typed_stands(
    annotation: Annotation, ada: User, site: FakeSite, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        plain = added(annotation, ada, f"{site.url}/")
        titled = added(annotation, ada, f"{site.url}/moved", title="My own title", passage="My words.")
    for evidence in (plain, titled):
        evidence.refresh_from_db()
        assert evidence.snapshot is not None
        assert evidence.snapshot.content_hash == evidence.content_hash
        assert "built in 1820" in evidence.snapshot.text
        assert (evidence.version, evidence.page_problem) == (1, "")
    file = tmp_path / "pages.warc.gz"
    call_command("export_warc", str(file), benchmark=annotation.document.benchmark.slug)
    with file.open("rb") as stream:
        archived = {record.rec_headers["WARC-Target-URI"] for record in ArchiveIterator(stream, check_digests="raise")}
    assert archived == {each.snapshot.url for each in (plain, titled) if each.snapshot}
    assert plain.title == "The fort of Ema"
    assert plain.published == dt.date(2020, 5, 1)
    assert (titled.title, titled.passage, titled.url) == ("My own title", "My words.", f"{site.url}/moved")
    assert Activity.objects.filter(action="fetch-page", annotation=annotation).count() == 2
    # Delivered twice, it is fetched once; and the person's undo takes back what the person did.
    calls = len(site.calls)
    added_pages.fetch_page_of(plain.pk)
    assert len(site.calls) == calls
    undo(annotation, by=ada)
    titled.refresh_from_db()
    assert titled.removed == "undone"


@pytest.mark.parametrize(("path", "reason"), [("/gone", "410"), ("/picture", "image/png")])
def test_a_page_that_cannot_be_had_says_so_quietly(
    annotation: Annotation, ada: User, site: FakeSite, path: str, reason: str
) -> None:
    evidence = added(annotation, ada, site.url + path, passage="My words.")
    added_pages.fetch_page_of(evidence.pk)
    evidence.refresh_from_db()
    assert evidence.snapshot is None
    assert reason in evidence.page_problem
    assert evidence.passage == "My words."


def test_a_private_address_is_refused(annotation: Annotation, ada: User, site: FakeSite, settings: Any) -> None:
    settings.PAGES_ALLOW = []
    evidence = added(annotation, ada, f"{site.url}/")
    added_pages.fetch_page_of(evidence.pk)
    evidence.refresh_from_db()
    assert evidence.page_problem
    assert not site.calls


def test_a_lost_order_is_made_up_for(
    annotation: Annotation, ada: User, site: FakeSite, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    evidence = added(annotation, ada, f"{site.url}/")
    gone = added(annotation, ada, f"{site.url}/notes.txt")
    remove_evidence(gone, by=ada)
    assert page_actions.forgotten_pages() == [], "it may still be on its way"
    Evidence.objects.update(created_at=timezone.now() - dt.timedelta(minutes=20))
    assert page_actions.forgotten_pages() == [evidence.pk]
    assert tasks.fetch_forgotten() == 1
    assert page_actions.forgotten_pages() == []
    settings.PAGES = False
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        added(annotation, ada, f"{site.url}/report.pdf")
    assert callbacks == []


def test_what_was_agreed_meanwhile_names_the_page_too(annotation: Annotation, ada: User, site: FakeSite) -> None:
    evidence = added(annotation, ada, f"{site.url}/", passage="It was built in 1820.")
    verified(annotation.document, ada)
    adjudicated_row = Evidence.objects.get(sources=evidence)
    assert adjudicated_row.snapshot is None
    added_pages.fetch_page_of(evidence.pk)
    adjudicated_row.refresh_from_db()
    assert adjudicated_row.snapshot is not None


def test_a_fault_of_a_learned_suggester_takes_nothing_away(
    document: Document, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Document] = []

    def failing(run: PipelineRun, document: Document) -> int:
        asked.append(document)
        raise ValueError("features of another version")

    monkeypatch.setattr(run_document, "suggest_stances", failing)
    decomposed(document, ada)
    assert asked == [document]
    assert last_run(document, Stage.VERIFY).items.get().state == RunState.FINISHED
    assert VerdictSuggestion.objects.exists()


def test_the_row_says_quietly_what_became_of_the_page(
    client: Client, annotation: Annotation, ada: User, site: FakeSite
) -> None:
    kept, gone = added(annotation, ada, f"{site.url}/"), added(annotation, ada, f"{site.url}/gone")
    for evidence in (kept, gone):
        added_pages.fetch_page_of(evidence.pk)
    client.force_login(ada)
    page = client.get(reverse("verify", args=[annotation.document.public_id])).content.decode()
    assert page.count(reverse("saved-page", args=[kept.public_id])) == 1
    assert reverse("saved-page", args=[gone.public_id]) not in page
    assert "page not saved: " in page
