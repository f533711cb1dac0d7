"""The demo for two people: a benchmark with two annotators and an adjudicator, and one document awaiting adjudication.

Built through the actions from the texts of the first demo. Dana and Eli have both decomposed two documents. They have
signed off one; on the other, they differ in four places.
"""

from __future__ import annotations

from django.db import transaction

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import Annotation, Benchmark, Claim, Corpus, Document, Membership, User
from annotator.core.vocabulary import DisagreementReason, Importance, Removal, Role, Seat, Stage
from annotator.exchange.actions.corpora import use_corpus
from annotator.exchange.actions.imports import import_documents
from annotator.home import demo
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence, merge_claim_with_next, remove_claim
from annotator.stages.actions.saving import save_field
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import sentences_of
from annotator.suggestions.actions.get_suggestions import prefill_after_import
from annotator.suggestions.actions.proposals import propose_sentences
from annotator.team.actions.batches import How, cut_batch
from annotator.team.actions.groups import add_member, create_group

SLUG = "demo-pair"
NAME = "Two people"
TO_AGREE, AGREED = "demo-penicillin", "demo-apollo-11"


def load(*, owner: User, first: User, second: User, third: User, corpus: Corpus) -> Benchmark:
    """Create the benchmark in one transaction. The pipeline runs it requests wait for a worker."""
    with transaction.atomic():
        benchmark = create_benchmark(slug=SLUG, name=NAME, by=owner, overlap=2)
        for person, role in ((first, Role.ANNOTATOR), (second, Role.ANNOTATOR), (third, Role.THIRD_RATER)):
            Membership.objects.create(benchmark=benchmark, user=person, role=role)
        group = create_group(benchmark, by=owner, name="Group 1")
        for person, seat in ((first, Seat.ANNOTATOR), (second, Seat.ANNOTATOR), (third, Seat.THIRD_RATER)):
            add_member(group, person, by=owner, seat=seat)
        rows = demo.lines(*demo.document_rows())
        demo.all_in(import_documents(benchmark=benchmark, source=rows, filename="documents.jsonl", by=owner))
        cut_batch(benchmark, by=owner, name="Batch 1", how=How(), group=group)
        documents = {row.external_id: row for row in benchmark.documents.select_related("benchmark", "batch")}
        for identity in (TO_AGREE, AGREED):
            proposed = demo.label_rows()[identity]["decompose"]
            propose_sentences(documents[identity], [demo.proposed_sentence(each) for each in proposed])
        use_corpus(benchmark=benchmark, corpus=corpus, by=owner)
        _agree_on(documents[AGREED], first, second)
        _differ_on(documents[TO_AGREE], first, second)
        untouched = [row.pk for identity, row in documents.items() if identity not in (TO_AGREE, AGREED)]
        prefill_after_import(benchmark=benchmark, ids=untouched, by=owner)
    return benchmark


def _begun(document: Document, person: User) -> Annotation:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=person)
    return annotation


def _agree_on(document: Document, first: User, second: User) -> None:
    """One difference, resolved, and both sign-offs: the document waits at verify."""
    submit(_begun(document, first), by=first)
    theirs = _begun(document, second)
    _save(_claim(theirs, "40 cups of coffee"), "importance", Importance.INTERMEDIATE, second)
    submit(theirs, by=second)
    document.refresh_from_db()
    board = adjudicate.comment(
        document, Stage.DECOMPOSE, "", "Only the coffee. It is a nice detail, but nobody asked.", by=first
    )
    for row in [row for row in board.comparison.rows if row.is_open]:
        adjudicate.decide(document, Stage.DECOMPOSE, row.key, by=second, choice=0, reason=DisagreementReason.SLIP)
    for person in (first, second):
        adjudicate.sign(document, Stage.DECOMPOSE, by=person)


def _differ_on(document: Document, first: User, second: User) -> None:
    """Both have submitted. Open: a label, an excluded claim, one claim against two, and a text."""
    submit(_begun(document, first), by=first)
    theirs = _begun(document, second)
    _save(_claim(theirs, "worked at St Mary"), "importance", Importance.INTERMEDIATE, second)
    remove_claim(_claim(theirs, "holiday of 37 days"), Removal.REDUNDANT, by=second)
    joined = _claim(theirs, "Norman Heatley turned")
    merge_claim_with_next(joined, by=second)
    who, what = "Howard Florey, Ernst Chain and Norman Heatley", "turned penicillin into a usable drug"
    _save(joined, "text", f"{who} {what} at the University of Cambridge.", second)
    _save(_claim(theirs, "discovered in 1928"), "text", "Alexander Fleming discovered penicillin in 1928.", second)
    submit(theirs, by=second)


def _claim(annotation: Annotation, words: str) -> Claim:
    return Claim.objects.get(sentence__annotation=annotation, removed="", text__contains=words)


def _save(claim: Claim, name: str, value: str, person: User) -> None:
    claim.refresh_from_db()
    save_field(claim, name, value, by=person, version=claim.version)
