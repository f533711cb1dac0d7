"""A stage is agreed anew after it was reopened, or after a claim was sent back: what follows for the later stages."""

from __future__ import annotations

import json

import pytest

from annotator.core import rules
from annotator.core.actions import recorder
from annotator.core.actions.fields import BadValueError
from annotator.core.missing import IncompleteError
from annotator.core.models import Annotation, Document, Evidence, User
from annotator.core.vocabulary import AnnotationKind, EditKind, Phase, Role, RunState, Stage
from annotator.stages.actions import documents, saving
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import add_claim, merge_sentence_with_next, remove_claim, split_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_operation, remove_operation
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from annotator.suggestions.actions.runs import cancel_run, retry_failed, start_run
from pipeline.runs import coordinator
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
from tests.released import export_lines

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return member(BenchmarkFactory(), Role.OWNER)


@pytest.fixture
def document(owner: User) -> Document:
    benchmark = owner.memberships.get().benchmark
    with_corpus(benchmark)
    return prefill(DocumentFactory(benchmark=benchmark))


@pytest.fixture
def gold(document: Document, owner: User) -> Document:
    """Gold, with the year of birth mended."""
    decomposed(document, owner)
    verified(document, owner, false_claim="1825")
    submit(open_annotation(document, Stage.REVISE, by=owner), by=owner)
    document.refresh_from_db()
    return document


def reopened(document: Document, stage: Stage, owner: User) -> Annotation:
    documents.reopen(document, stage, "Look again.", by=owner)
    document.refresh_from_db()
    return open_annotation(document, stage, by=owner)


def answer(document: Document) -> str:
    [line] = export_lines(document.benchmark)
    return str(json.loads(line)["revised_response"])


def finish(document: Document, owner: User) -> None:
    """Submit what is left, judging as true what is asked anew."""
    retrieve(document)
    if document.stage == Stage.VERIFY:
        annotation = open_annotation(document, Stage.VERIFY, by=owner)
        for work in claims_to_verify(annotation):
            for card in work.cards:
                if not card.stance.label:
                    save(card.stance, "label", "completely_support", owner)
            if not work.verdict.factuality:
                save(work.verdict, "factuality", "true", owner)
        submit(annotation, by=owner)
    submit(open_annotation(document, Stage.REVISE, by=owner), by=owner)
    document.refresh_from_db()
    assert document.is_gold


def test_a_verdict_that_turns_true_takes_its_edit_out_of_the_answer(gold: Document, owner: User) -> None:
    assert "1815" in answer(gold)
    annotation = reopened(gold, Stage.VERIFY, owner)
    false = next(work for work in claims_to_verify(annotation) if work.verdict.factuality == "false")
    save(false.verdict, "factuality", "true", owner)
    submit(annotation, by=owner)
    finish(gold, owner)
    assert "1825" in answer(gold)
    assert "1815" not in answer(gold)


def test_a_sentence_written_by_hand_is_kept_and_asked_again(gold: Document, owner: User) -> None:
    revision = reopened(gold, Stage.REVISE, owner)
    row = revision.sentence_revisions.get(text__contains="1815")
    save(row, "text", "She was born in the year 1815.", owner)
    submit(revision, by=owner)
    annotation = reopened(gold, Stage.VERIFY, owner)
    false = next(work for work in claims_to_verify(annotation) if work.verdict.factuality == "false")
    save(false.verdict, "factuality", "true", owner)
    submit(annotation, by=owner)
    revision = open_annotation(gold, Stage.REVISE, by=owner)
    with pytest.raises(IncompleteError):
        submit(revision, by=owner)
    row.refresh_from_db()
    assert (row.text, row.text_origin) == ("She was born in the year 1815.", "")


def test_merged_sentences_stay_in_the_answer(gold: Document, owner: User) -> None:
    annotation = reopened(gold, Stage.DECOMPOSE, owner)
    merge_sentence_with_next(sentences_of(annotation)[0], by=owner)
    save(sentences_of(annotation)[0], "decontext", "Ada Lovelace was a mathematician, born in 1825.", owner)
    submit(annotation, by=owner)
    gold.refresh_from_db()
    finish(gold, owner)
    assert "Charles Babbage" in answer(gold)


def test_a_claim_that_is_no_longer_checked_loses_verdict_and_edit(gold: Document, owner: User) -> None:
    annotation = reopened(gold, Stage.DECOMPOSE, owner)
    claim = next(c for s in sentences_of(annotation) for c in s.claims.all() if "1825" in c.text)
    save(claim, "type", "opinion", owner)
    submit(annotation, by=owner)
    gold.refresh_from_db()
    finish(gold, owner)
    assert "1825" in answer(gold)
    adjudicated = claim.agreed_rows.get()
    assert set(adjudicated.verdicts.values_list("factuality", flat=True)) == {""}


def test_a_claim_that_becomes_checked_gets_evidence(document: Document, owner: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=owner)
    claim = next(c for s in sentences_of(annotation) for c in s.claims.all() if "Babbage" in c.text)
    save(claim, "type", "opinion", owner)
    decomposed(document, owner)
    adjudicated = claim.agreed_rows.get()
    assert not Evidence.objects.filter(claim=adjudicated).exists()
    annotation = reopened(document, Stage.DECOMPOSE, owner)
    save(claim, "type", "factual", owner)
    submit(annotation, by=owner)
    retrieve(document)
    assert Evidence.objects.filter(claim=adjudicated).exists()


def test_undo_does_not_bring_an_edit_back_onto_a_changed_claim(document: Document, owner: User) -> None:
    decomposition = decomposed(document, owner)
    annotation = open_annotation(document, Stage.VERIFY, by=owner)
    work = next(work for work in claims_to_verify(annotation) if "1825" in work.claim.text)
    start = work.claim.text.index("1825")
    add_operation(work.verdict, kind=EditKind.REPLACE, start=start, end=start + 4, replacement="1815", by=owner)
    remove_operation(work.verdict, work.verdict.operations.get().public_id, by=owner)
    documents.send_back(work.claim, "Too long.", by=owner)
    save(work.claim.sources.get(), "text", "Ada was born.", owner)
    submit(decomposition, by=owner)
    retrieve(document)
    with pytest.raises(recorder.NothingToUndoError):
        saving.undo(annotation, by=owner)


def test_a_sentence_split_in_a_repair_can_be_finished(document: Document, owner: User) -> None:
    decomposition = decomposed(document, owner)
    annotation = open_annotation(document, Stage.VERIFY, by=owner)
    work = next(work for work in claims_to_verify(annotation) if "1825" in work.claim.text)
    documents.send_back(work.claim, "Two sentences.", by=owner)
    sentence = work.claim.sources.get().sentence
    half = split_sentence(sentence, sentence.text.index("and worked"), by=owner)
    save(half, "decontext", "Ada Lovelace worked with Charles Babbage.", owner)
    other = sentences_of(decomposition)[0]
    with pytest.raises(rules.NotAllowedError, match="sent back"):
        save(other, "decontext", "Closed.", owner)


def test_a_sentence_that_was_merged_away_takes_nothing_more(document: Document, owner: User) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=owner)
    first, second, _ = sentences_of(annotation)
    merge_sentence_with_next(first, by=owner)
    for change in (merge_sentence_with_next, add_claim):
        with pytest.raises(BadValueError, match="merged"):
            change(second, by=owner)
    claim = first.claims.filter(removed="").first()
    assert claim is not None
    remove_claim(claim, "other", by=owner)
    with pytest.raises(BadValueError, match="removed"):
        remove_claim(claim, "redundant", by=owner)


def test_evidence_that_came_meanwhile_is_asked_at_submit(document: Document, owner: User) -> None:
    decomposed(document, owner)
    annotation = open_annotation(document, Stage.VERIFY, by=owner)
    works = claims_to_verify(annotation)
    for work in works:
        for card in work.cards:
            save(card.stance, "label", "completely_support", owner)
        save(work.verdict, "factuality", "true", owner)
    Evidence.objects.create(claim=works[0].claim, order=99, passage="Came late.")
    with pytest.raises(IncompleteError):
        submit(annotation, by=owner)


def test_work_that_starts_from_an_adjudicated_version_is_not_independent(gold: Document, owner: User) -> None:
    documents.reopen(gold, Stage.DECOMPOSE, "Look again.", by=owner)
    gold.annotations.filter(kind=AnnotationKind.INDIVIDUAL, stage=Stage.DECOMPOSE).delete()
    gold.refresh_from_db()
    assert not open_annotation(gold, Stage.DECOMPOSE, by=owner).independent


def test_only_an_adjudicated_stage_can_be_reopened(document: Document, owner: User) -> None:
    with pytest.raises(BadValueError, match="not been adjudicated"):
        documents.reopen(document, Stage.VERIFY, "Too early.", by=owner)


def test_a_document_of_a_cancelled_run_whose_worker_died_opens(owner: User) -> None:
    document = DocumentFactory(benchmark=owner.memberships.get().benchmark)
    run = start_run(benchmark=document.benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=owner)
    assert run is not None
    coordinator.begin(run)
    run.items.update(state=RunState.RUNNING)  # taken by a worker that then died
    cancel_run(run, by=owner)
    document.refresh_from_db()
    assert document.phase == Phase.PREFILLING
    coordinator.close_cancelled(alone=True)
    document.refresh_from_db()
    assert document.phase == Phase.INDEPENDENT


def test_retrying_leaves_documents_alone_that_have_gone_on(gold: Document, owner: User) -> None:
    run = gold.run_items.select_related("run").filter(run__stage=Stage.VERIFY).get().run
    run.items.update(state=RunState.FAILED)
    passages = Evidence.objects.count()
    assert retry_failed(run, by=owner) == 0
    assert Evidence.objects.count() == passages
