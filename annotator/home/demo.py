"""The demo: four documents from fixtures/demo, one finished and one at each stage, created the way people would do it.

Everything goes through the actions, so the demo contains no state that couldn't occur in use.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.actions.recorder import Action, read_field
from annotator.core.models import Activity, Benchmark, Corpus, Document, Membership, User
from annotator.core.models.base import Record
from annotator.core.vocabulary import Role, Stage
from annotator.exchange.actions.corpora import create_corpus, import_corpus, use_corpus
from annotator.exchange.actions.imports import ImportReport, import_documents, import_gold
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.saving import save_field
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_operation, set_rests_on
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import ClaimWork, claims_to_verify
from annotator.suggestions.actions.get_suggestions import prefill_after_import
from annotator.suggestions.actions.proposals import (
    ProposedClaim,
    ProposedPassage,
    ProposedSentence,
    propose_evidence,
    propose_sentences,
)

SLUG = "demo"
NAME = "First steps"
FINISHED = "demo-rosetta-stone"
LOADED = "load-demo"


def demo_benchmark() -> Benchmark | None:
    """The demo, if it was loaded before."""
    return Benchmark.objects.filter(
        pk__in=Activity.objects.filter(action=LOADED).values_list("benchmark", flat=True)
    ).first()


def load(*, owner: User, busy: User, fresh: User) -> Benchmark:
    """Create the demo in one transaction. The pipeline runs it requests wait for a worker.

    ``busy`` has decomposed two documents and verified one of them; ``fresh``, like the owner, has done nothing yet.
    """
    labels = label_rows()
    with transaction.atomic():
        benchmark = create_benchmark(slug=SLUG, name=NAME, by=owner)
        for person in (busy, fresh):
            Membership.objects.create(benchmark=benchmark, user=person, role=Role.ANNOTATOR)
        _import(benchmark, owner)
        documents = {row.external_id: row for row in Document.objects.filter(benchmark=benchmark)}
        for identity, row in labels.items():
            propose_sentences(documents[identity], [proposed_sentence(each) for each in row["decompose"]])
        # The verified document uses the fixture's passages: it is decomposed before the benchmark has a corpus, so none
        # are retrieved for it. For all others, passages are retrieved.
        verified = [identity for identity, row in labels.items() if row["verify"]]
        for identity in verified:
            _decompose(documents[identity], busy)
            _verify(documents[identity], labels[identity]["verify"], busy)
        use_corpus(benchmark=benchmark, corpus=_corpus(owner), by=owner)
        for identity in labels.keys() - set(verified):
            _decompose(documents[identity], busy)
        untouched = [row.pk for identity, row in documents.items() if identity not in {FINISHED, *labels}]
        prefill_after_import(benchmark=benchmark, ids=untouched, by=owner)
        Action(name=LOADED, by=owner, benchmark=benchmark, reason="fixtures/demo").write()
    return benchmark


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "fixtures" / "demo"


def document_rows() -> list[dict[str, Any]]:
    """The documents of the fixture."""
    return [json.loads(line) for line in (_folder() / "documents.jsonl").read_text("utf-8").splitlines()]


def label_rows() -> dict[str, dict[str, Any]]:
    """The fixture's labels, by document."""
    return {row["id"]: row for row in json.loads((_folder() / "labels.json").read_text("utf-8"))["documents"]}


def _import(benchmark: Benchmark, owner: User) -> None:
    """Import the finished document as gold and the others as documents."""
    rows = document_rows()
    finished = next(row for row in rows if row["id"] == FINISHED)
    gold = finished | json.loads((_folder() / "gold.jsonl").read_text("utf-8"))
    rest = [row for row in rows if row["id"] != FINISHED]
    all_in(import_gold(benchmark=benchmark, source=lines(gold), filename="gold.jsonl", by=owner))
    all_in(import_documents(benchmark=benchmark, source=lines(*rest), filename="documents.jsonl", by=owner))


def lines(*rows: dict[str, Any]) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())


def all_in(report: ImportReport) -> None:
    if report.bad:
        raise ValueError(f"fixtures/demo is damaged: {report.problems[0]}")


def _corpus(owner: User) -> Corpus:
    corpus = Corpus.objects.filter(slug=SLUG).first() or create_corpus(slug=SLUG, name="Demo pages")
    all_in(import_corpus(corpus=corpus, path=_folder() / "corpus.jsonl", by=owner))
    return corpus


def proposed_sentence(row: dict[str, Any]) -> ProposedSentence:
    return ProposedSentence(
        text=row["text"],
        start=row["start"],
        end=row["end"],
        decontext=row["decontext"],
        type=row["type"],
        importance=row["importance"],
        claims=[
            ProposedClaim(
                text=claim["text"],
                type=claim["type"],
                worth_checking=claim["worth_checking"],
                not_worth_reason=claim["not_worth_reason"] or "",
                importance=claim["importance"],
            )
            for claim in row["claims"]
        ],
    )


def _decompose(document: Document, person: User) -> None:
    """Accept every suggestion and submit."""
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=person)
    submit(annotation, by=person)
    document.refresh_from_db()


def _verify(document: Document, rows: list[dict[str, Any]], person: User) -> None:
    """Judge every claim as in the fixture, and submit."""
    wanted = {f"{row['sentence']}.{row['claim']}": row for row in rows}
    annotation = open_annotation(document, Stage.VERIFY, by=person)
    claims = {work.claim.pk: wanted[work.number] for work in claims_to_verify(annotation)}
    propose_evidence(document, {pk: [_passage(each) for each in row["evidence"]] for pk, row in claims.items()})
    open_annotation(document, Stage.VERIFY, by=person)  # again, for stances on evidence added since
    for work in claims_to_verify(annotation):
        _judge(work, wanted[work.number], person)
    submit(annotation, by=person)
    document.refresh_from_db()


def _passage(row: dict[str, Any]) -> ProposedPassage:
    return ProposedPassage(
        passage=row["passage"],
        url=row["url"],
        title=row["title"],
        site=row["site"],
        published=dt.date.fromisoformat(row["published"]) if row["published"] else None,
        query=row["query"],
    )


def _judge(work: ClaimWork, row: dict[str, Any], person: User) -> None:
    # The screen groups cards by page; the fixture numbers passages in retrieval order.
    cards = {card.evidence.order: card for card in work.cards}
    for passage in row["evidence"]:
        card = cards[passage["order"]]
        stance: Record = _save(card.stance, "label", passage["stance"], person)
        for name in ("reliable", "sufficient"):
            stance = _save(stance, name, _yes_or_no(passage[name]), person)
    verdict = work.verdict
    saved: Record = _save(verdict, "factuality", row["factuality"], person)
    saved = _save(saved, "evidence_sufficient", _yes_or_no(row["evidence_sufficient"]), person)
    saved = _save(saved, "confidence", row["confidence"] or "", person)
    _save(saved, "reason", row["reason"] or "", person)
    for edit in row["edits"]:
        start = -1
        for _ in range(edit["occurrence"]):
            start = work.claim.text.index(edit["find"], start + 1)
        add_operation(
            verdict,
            kind=edit["kind"],
            start=start,
            end=start + len(edit["find"]),
            replacement=edit["replacement"],
            by=person,
        )
    verdict.refresh_from_db()
    rests_on = [cards[order].evidence for order in row["rests_on"]]
    before = read_field(verdict, "rests_on")
    if before != [each.public_id for each in rests_on]:
        shown = {card.evidence.public_id: card.evidence for card in work.cards}
        for public_id in before:
            set_rests_on(verdict, shown[public_id], False, by=person)
        for evidence in rests_on:
            set_rests_on(verdict, evidence, True, by=person)


def _save(record: Record, name: str, value: str, person: User) -> Record:
    """Save one field as the screen does. Returns the updated record."""
    return save_field(record, name, value, by=person, version=record.version).record


def _yes_or_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[value]
