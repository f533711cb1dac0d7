"""Suggestions against real gold: a document that went all the way, what its people did, the command, the page."""

from __future__ import annotations

import io
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.models import (
    Annotation,
    Benchmark,
    Claim,
    Document,
    Evidence,
    PipelineRun,
    RevisionSuggestion,
    SentenceSuggestion,
    StanceSuggestion,
    User,
    VerdictSuggestion,
)
from annotator.core.vocabulary import EditKind, Factuality, Origin, Phase, Role, Stage, StanceLabel, SuggesterKind
from annotator.exchange.actions.imports import import_gold
from annotator.measures.queries.suggestion_quality import documents_of, quality_of
from annotator.measures.suggestion_quality.handling import HandledSuggestions
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence, add_claim, remove_claim
from annotator.stages.actions.revise import confirm_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_operation
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from annotator.suggestions.actions.runs import start_run
from annotator.suggestions.models import TrainedSuggester
from pipeline.runs import coordinator
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, member, prefill, retrieve, save, with_corpus
from tests.released import released_document
from tests.teams import get, words

pytestmark = pytest.mark.django_db

LEARNED = "Learned from this benchmark's gold, version 1"


@pytest.fixture(autouse=True)
def counted_anew() -> None:
    cache.clear()


@pytest.fixture
def benchmark() -> Benchmark:
    made = BenchmarkFactory(slug="pilot", overlap=1, third_rater_at_verify=False)
    with_corpus(made)
    return made


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, username="ada", display_name="Ada")


def decomposed(document: Document, by: User) -> Annotation:
    """All taken over, but the first claim edited, the second removed, and one added to the same sentence."""
    annotation = open_annotation(document, Stage.DECOMPOSE, by=by)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=by)
    first, second = Claim.objects.filter(sentence__annotation=annotation).order_by("sentence__order", "order")[:2]
    save(first, "text", f"{first.text.rstrip('.')}, it is said.", by)
    remove_claim(second, "redundant", by=by)
    new = add_claim(first.sentence, by=by, text="Ada Lovelace had friends.")
    for name, value in (("type", "factual"), ("worth_checking", "yes"), ("importance", "less")):
        save(new, name, value, by)
    submit(annotation, by=by)
    return annotation


def machine(document: Document) -> PipelineRun:
    """What a strategy held of the document at verify: every passage supports, the first claim is false."""
    run = PipelineRun.objects.create(
        benchmark=document.benchmark, stage=Stage.VERIFY, strategy="papelo", plan={"model": "gpt"}
    )
    passages = Evidence.objects.filter(claim__sentence__annotation__document=document, annotation=None).order_by("pk")
    for passage in passages:
        StanceSuggestion.objects.create(run=run, evidence=passage, label=StanceLabel.COMPLETELY_SUPPORT)
    claim = passages[0].claim
    VerdictSuggestion.objects.create(
        run=run, claim=claim, label="false", factuality=Factuality.FALSE, correction="Ada Lovelace was a mathematician."
    )
    return run


def verified(document: Document, by: User) -> None:
    """The first claim is false and loses its last words; one passage is irrelevant, the others support."""
    annotation = open_annotation(document, Stage.VERIFY, by=by)
    for number, work in enumerate(claims_to_verify(annotation)):
        for place, card in enumerate(work.cards):
            is_odd = number == 0 and place == 0
            save(card.stance, "label", StanceLabel.IRRELEVANT if is_odd else StanceLabel.COMPLETELY_SUPPORT, by)
        save(work.verdict, "evidence_sufficient", "yes" if number else "no", by)
        save(work.verdict, "factuality", Factuality.FALSE if number == 0 else Factuality.TRUE, by)
        if number == 0:
            end = len(work.claim.text)
            add_operation(work.verdict, kind=EditKind.DELETE, start=end - 14, end=end, by=by)
    submit(annotation, by=by)


def revised(document: Document, by: User) -> None:
    annotation = open_annotation(document, Stage.REVISE, by=by)
    for row in annotation.sentence_revisions.all():
        confirm_sentence(row, by=by)
    submit(annotation, by=by)


def gold(benchmark: Benchmark, by: User, **fields: Any) -> Document:
    document = prefill(DocumentFactory(benchmark=benchmark, **fields))
    decomposed(document, by)
    retrieve(document)
    run = machine(document)
    verified(document, by)
    document.refresh_from_db()
    RevisionSuggestion.objects.create(run=run, document=document, with_prompt="Ada.", without_prompt="She.")
    revised(document, by)
    document.refresh_from_db()
    assert document.is_gold
    return document


def told(**options: Any) -> dict[str, Any]:
    out = io.StringIO()
    call_command("evaluate_prefill", benchmark="pilot", json=True, stdout=out, **options)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


# --- a document that went all the way -------------------------------------------------------------


def test_what_became_of_suggestions_agrees_with_their_origins(benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    report = quality_of(benchmark)
    offline, papelo = report.columns
    assert (offline.maker.strategy, papelo.maker[:2]) == ("offline", ("papelo", "gpt"))
    own = Claim.objects.filter(sentence__annotation__person=ada)
    by_origin = {
        HandledSuggestions.REMOVED: own.filter(suggestion__isnull=False).exclude(removed="").count(),
        HandledSuggestions.ADDED: own.filter(removed="", suggestion__isnull=True, text_origin=Origin.HUMAN).count(),
        HandledSuggestions.REVISED: own.filter(removed="", text_origin=Origin.EDITED).count(),
        HandledSuggestions.UNCHANGED: own.filter(removed="", text_origin=Origin.ACCEPTED).count(),
    }
    assert (
        by_origin[HandledSuggestions.REMOVED]
        == by_origin[HandledSuggestions.ADDED]
        == by_origin[HandledSuggestions.REVISED]
        == 1
    )
    for handled in (offline.handled.agreed, offline.handled.people[ada.pk]):
        assert {done: handled.counts["claims"][done] for done in HandledSuggestions} == by_origin
        assert handled.counts["evidence"][HandledSuggestions.REMOVED] == 1
    stances = papelo.handled.agreed.counts["stance"]
    assert (stances[HandledSuggestions.REVISED], stances[HandledSuggestions.UNCHANGED]) == (
        1,
        Evidence.objects.filter(annotation=None).count() - 1,
    )
    assert papelo.handled.agreed.counts["correction"] == {HandledSuggestions.REMOVED: 1}
    assert papelo.handled.agreed.counts["revision"] == {HandledSuggestions.REMOVED: 1}


def test_suggestions_against_the_gold(benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    offline, papelo = quality_of(benchmark).columns
    assert offline.figures["cut_f1"].estimate.value == 1
    claims = SentenceSuggestion.objects.filter(claims__isnull=False).count()
    assert offline.figures["claim_precision"].items == claims
    sufficed = offline.figures["evidence_sufficed"]
    assert sufficed.estimate.value == pytest.approx(1 - 1 / sufficed.items)
    passages = Evidence.objects.filter(annotation=None).count()
    assert offline.figures["evidence_kept"].estimate.value == pytest.approx(1 - 1 / passages)
    assert papelo.figures["stance_4_accuracy"].estimate.value == pytest.approx(1 - 1 / passages)
    assert papelo.figures["factuality_accuracy"].estimate.value == 1
    assert papelo.figures["correction_offered"].items == 1


def test_the_offline_rules_on_imported_gold(benchmark: Benchmark) -> None:
    """Nobody saw what is suggested for gold that was brought along: it is compared, and nobody did anything with it."""
    line = json.dumps(released_document()).encode()
    import_gold(benchmark=benchmark, source=io.BytesIO(line), strict=True)
    document = benchmark.documents.get()
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=None)
    assert run is not None
    for item in coordinator.begin(run):
        coordinator.prefill_item(item)
    [column] = quality_of(benchmark).columns
    assert column.figures["cut_f1"].documents == 1
    assert not column.handled.agreed.works and not column.handled.people


def test_the_figures_are_those_of_the_benchmark_script(benchmark: Benchmark, data_dir: Path) -> None:
    """The released documents through the database, and straight from the file."""
    script = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "prefill_quality.py"))
    path = data_dir / "factcheck-bench.dev.jsonl"
    released = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tally, index = script["Tally"](), script["pooled"](released)
    for document in released:
        script["measure"](document, index, tally)
    theirs = script["figures"](tally)

    import_gold(benchmark=benchmark, source=path)
    ids = list(benchmark.documents.values_list("pk", flat=True))
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=ids, by=None)
    assert run is not None
    for item in coordinator.begin(run):
        coordinator.prefill_item(item)
    [column] = quality_of(benchmark).columns
    for ours, name in {
        "cut_precision": "sentence boundary precision",
        "cut_recall": "sentence boundary recall",
        "cut_f1": "sentence boundary F1",
        "claim_precision": "claim precision at 0.8",
        "claim_recall": "claim recall at 0.8",
        "claim_f1": "claim F1 at 0.8",
        "same_number": "same number of claims",
        "more_claims": "more claims than gold",
        "claim_edit_distance": "claim edit distance",
        "claim_word_overlap": "claim word overlap",
        "decontext_edit_distance": "decontext edit distance",
        "sentence_checkworthy_accuracy": "sentence type accuracy",
        "sentence_checkworthy_f1": "sentence type macro-F1",
        "claim_type_precision": "claim type precision",
        "claim_type_recall": "claim type recall",
        "claim_type_f1": "claim type macro-F1",
        "sentence_importance_accuracy": "sentence importance accuracy",
    }.items():
        assert column.figures[ours].estimate.value == pytest.approx(theirs[name], abs=5e-4), name
    for ours, name in {
        "claim_f1": "claim F1 at 0.8",
        "sentence_checkworthy_accuracy": "sentence type accuracy",
        "sentence_checkworthy_f1": "sentence type macro-F1",
        "claim_type_accuracy": "claim type accuracy",
        "claim_type_f1": "claim type macro-F1",
    }.items():
        baseline = column.figures[ours].baseline
        assert baseline is not None and baseline.value == pytest.approx(script["trivial"](tally)[name], abs=5e-4), name


def test_only_gold_counts(benchmark: Benchmark, ada: User) -> None:
    kept = gold(benchmark, ada)
    gone = gold(benchmark, ada)
    Document.objects.filter(pk=gone.pk).update(phase=Phase.DISCARDED)
    twin = gold(benchmark, ada)
    Document.objects.filter(pk=twin.pk).update(twin_of=kept)
    decomposed(prefill(DocumentFactory(benchmark=benchmark)), ada)
    assert [each.key for each in documents_of(benchmark)] == [kept.pk]


def test_a_learned_suggester_stands_apart_and_is_not_asked_about_what_it_knows(benchmark: Benchmark, ada: User) -> None:
    document, other = gold(benchmark, ada), gold(benchmark, ada)
    StanceSuggestion.objects.update(by=LEARNED)
    trained = TrainedSuggester.objects.create(benchmark=benchmark, kind=SuggesterKind.STANCE, number=1)
    trained.documents.add(other)
    report = quality_of(benchmark)
    [learned] = report.learned
    assert learned.maker.by == LEARNED
    here = Evidence.objects.filter(claim__sentence__annotation__document=document, annotation=None)
    assert learned.figures["stance_4_f1"].items == here.count()
    assert all("stance_4_f1" not in each.figures for each in report.columns)


def test_a_persons_own_search_is_not_among_them(benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    PipelineRun.objects.filter(strategy="papelo").update(plan={"annotation": 1})
    assert [each.maker.strategy for each in quality_of(benchmark).columns] == ["offline"]


def test_the_newest_gold_alone(benchmark: Benchmark, ada: User) -> None:
    _, newer = gold(benchmark, ada), gold(benchmark, ada)
    assert [each.key for each in documents_of(benchmark, most=1)] == [newer.pk]
    report = quality_of(benchmark, most=1)
    assert (report.gold, report.documents) == (2, 1)


# --- the command ----------------------------------------------------------------------------------


def test_the_command_tells_all_of_one_or_of_single_runs(benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    everything = told()
    assert [each["strategy"] for each in everything["strategies"]] == ["offline", "papelo"]
    assert everything["strategies"][0]["handled"]["people"]["ada"]["claims"]["removed"] == 1
    assert [each["strategy"] for each in told(strategy="papelo")["strategies"]] == ["papelo"]
    ids = list(benchmark.runs.filter(stage=Stage.VERIFY).values_list("public_id", flat=True))
    assert {each["run"] for each in told(run=ids)["strategies"]} == set(ids)
    assert told(threshold=1.0)["threshold"] == 1.0


def test_the_command_prints_tables(benchmark: Benchmark, ada: User) -> None:
    def lines() -> str:
        out = io.StringIO()
        call_command("evaluate_prefill", benchmark="pilot", stdout=out)
        return out.getvalue()

    assert "No" in lines() and "gold when all three stages" in lines()
    gold(benchmark, ada)
    text = lines()
    for each in ("Offline", "gpt", "Matching claims: F1", "trivial baseline", "How they were handled", "FastFact"):
        assert each in text, each
    PipelineRun.objects.all().delete()
    assert "none of them has suggestions" in lines()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"benchmark": "nowhere"}, "There is no benchmark “nowhere”. There are: pilot."),
        ({"strategy": "magic"}, "There is no run of the strategy “magic”"),
        ({"run": ["x"]}, "There is no run “x”"),
        ({"threshold": "2"}, "“2” isn’t a share"),
    ],
)
def test_what_is_not_there_is_said(benchmark: Benchmark, options: dict[str, Any], said: str) -> None:
    arguments = [f"--{name}={value[0] if isinstance(value, list) else value}" for name, value in options.items()]
    if "benchmark" not in options:
        arguments.append("--benchmark=pilot")
    with pytest.raises(CommandError, match=said):
        call_command("evaluate_prefill", *arguments)


# --- the page -------------------------------------------------------------------------------------

PAGE = "/b/pilot/suggestions/quality/"


@pytest.mark.parametrize("role", list(Role))
def test_who_reads_gold_reads_how_good_suggestions_are(
    client: Client, benchmark: Benchmark, ada: User, role: Role
) -> None:
    gold(benchmark, ada)
    may = role in (Role.OWNER, Role.ADMIN, Role.RESEARCHER)
    page = get(client, member(benchmark, role), PAGE, status=200 if may else 403)
    assert ("Against the gold" in words(page.select_one("body"))) == may
    names = {words(each) for each in page.select("th[scope=row]")}
    assert ("Ada" in names) == (role in (Role.OWNER, Role.ADMIN)), "how somebody fared is not for researchers"


def test_for_a_stranger_there_is_no_such_page(client: Client, benchmark: Benchmark) -> None:
    get(client, UserFactory(is_staff=True), PAGE, status=404)


def test_the_page_sets_strategies_side_by_side(client: Client, benchmark: Benchmark, ada: User) -> None:
    assert "No gold yet" in words(get(client, ada, PAGE).select_one("main"))
    gold(benchmark, ada)
    page = get(client, ada, PAGE)
    heads = [words(each) for each in page.select("table.quality thead th")]
    assert heads[0] == "Step and figure" and heads[-1] == "Factcheck-Bench"
    assert heads[1].startswith("Offline") and heads[2].endswith("gpt")
    drawn = page.select(".side-by-side svg")
    assert drawn and all(each["aria-label"] for each in drawn)
    rows = {words(each.select_one("th")): words(each) for each in page.select("table.quality tbody tr:not(.step)")}
    for name, row in rows.items():
        assert ("trivial" in row) or not re.search(r"accuracy|macro|Matching claims: F1", name), row
    assert any("accuracy" in name for name in rows)
    assert "14.83" in words(page.select_one("main")), "FastFact's own figures stand beside"
    index = get(client, ada, reverse("runs", args=["pilot"]))
    assert index.select_one(f"a[href='{PAGE}']") is not None


def test_single_runs_can_be_chosen(client: Client, benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    run = benchmark.runs.get(stage=Stage.DECOMPOSE)
    page = get(client, ada, f"{PAGE}?run={run.public_id}&run=unknown")
    assert [each["value"] for each in page.select("input[name=run][checked]")] == [run.public_id]
    assert len(page.select("table.quality thead th")) == 3


def test_blind_first_stands_apart(client: Client, benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    Document.objects.filter(pk=gold(benchmark, ada).pk).update(blind_first=True)
    text = words(get(client, ada, PAGE).select_one("main"))
    assert "1 of them was labeled before suggestions were shown" in text
    assert "Suggestions shown vs. blind first" in text and "Blind first: compared with unaided annotations" in text


def test_the_number_of_queries_does_not_grow(client: Client, benchmark: Benchmark, ada: User) -> None:
    client.force_login(ada)
    numbers = []
    for more in (1, 2):
        for _ in range(more):
            gold(benchmark, ada)
        for read in (lambda: quality_of(benchmark), lambda: client.get(PAGE)):
            with CaptureQueriesContext(connection) as queries:
                read()
            numbers.append(len(queries))
    assert numbers[:2] == numbers[2:]
    with CaptureQueriesContext(connection) as queries:
        client.get(PAGE)
    assert len(queries) < numbers[1] - 10, "kept until gold or runs change"
