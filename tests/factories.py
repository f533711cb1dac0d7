"""Test data, made through the actions wherever an action exists, so that no impossible state is ever set up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import factory

from annotator.core.models import (
    Annotation,
    Benchmark,
    Corpus,
    CorpusPage,
    Document,
    Guidelines,
    Membership,
    User,
    Verdict,
)
from annotator.core.models.base import Record
from annotator.core.vocabulary import EditKind, Factuality, Role, Stage, StanceLabel
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.saving import save_field
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_operation
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from annotator.suggestions.actions.runs import start_run

PROMPT = "Who was Ada Lovelace?"
RESPONSE = (
    "Ada Lovelace was an English mathematician. She was born in 1825 and worked with Charles Babbage. "
    "Nobody has ever written more beautiful notes."
)
PAGE = (
    "Ada Lovelace was an English mathematician and writer. She was born in London on 10 December 1815. "
    "She worked with Charles Babbage on the Analytical Engine. Her notes were published in 1843. "
    "They hold an algorithm for the Bernoulli numbers. She died in 1852."
)


class _Users(factory.django.DjangoModelFactory[User]):
    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"person{n}")
    display_name = factory.Sequence(lambda n: f"Person {n}")
    password = factory.django.Password("secret")


class _Benchmarks(factory.django.DjangoModelFactory[Benchmark]):
    class Meta:
        model = Benchmark

    slug = factory.Sequence(lambda n: f"benchmark-{n}")
    name = factory.Sequence(lambda n: f"Benchmark {n}")

    @classmethod
    def _create(cls, model_class: type[Benchmark], *args: Any, **kwargs: Any) -> Benchmark:
        benchmark: Benchmark = super()._create(model_class, *args, **kwargs)
        Guidelines.objects.create(benchmark=benchmark, number=1, text="# Guidelines")
        return benchmark


class _Documents(factory.django.DjangoModelFactory[Document]):
    class Meta:
        model = Document

    benchmark = factory.SubFactory(_Benchmarks)
    order = factory.Sequence(lambda n: n + 1)
    identity = factory.Sequence(lambda n: f"document-{n}")
    external_id = factory.SelfAttribute("identity")
    content_hash = factory.LazyAttribute(lambda o: hashlib.sha256(o.response.encode()).hexdigest())
    prompt = PROMPT
    response = RESPONSE


# Typed as what they make: a call gives a saved row.
UserFactory: Callable[..., User] = _Users.create
BenchmarkFactory: Callable[..., Benchmark] = _Benchmarks.create
DocumentFactory: Callable[..., Document] = _Documents.create


def documents(count: int, **fields: Any) -> list[Document]:
    """So many documents with these fields."""
    return [DocumentFactory(**fields) for _ in range(count)]


def member(benchmark: Benchmark, role: Role = Role.ANNOTATOR, **user: Any) -> User:
    """A new person with a role in the benchmark."""
    person = UserFactory(**user)
    Membership.objects.create(benchmark=benchmark, user=person, role=role)
    return person


def with_corpus(benchmark: Benchmark, *texts: str) -> Corpus:
    """Give the benchmark a corpus of pages with these texts."""
    corpus = Corpus.objects.create(slug=f"corpus-{benchmark.slug}", name="Corpus", revision=1)
    for number, text in enumerate(texts or (PAGE,), start=1):
        CorpusPage.objects.create(
            corpus=corpus,
            url=f"https://pages.example/{number}",
            title=f"Page {number}",
            text=text,
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
        )
    benchmark.corpus = corpus
    benchmark.save()
    return corpus


def prefill(document: Document) -> Document:
    """Run the offline strategy over the document (tasks run at once in tests, but only after a commit)."""
    from pipeline.runs import coordinator

    run = start_run(benchmark=document.benchmark, stage=Stage.DECOMPOSE, documents=[document.pk], by=None)
    assert run is not None
    for item_id in coordinator.begin(run):
        coordinator.prefill_item(item_id)
    document.refresh_from_db()
    return document


def retrieve(document: Document) -> Document:
    """Work off the retrieval that waits for the document."""
    from pipeline.runs import coordinator

    for item in document.run_items.filter(state="queued"):
        coordinator.prefill_item(item.pk)
    document.refresh_from_db()
    return document


def decomposed(document: Document, by: User) -> Annotation:
    """The document with decompose submitted by one person, every suggestion taken over."""
    annotation = open_annotation(document, Stage.DECOMPOSE, by=by)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=by)
    submit(annotation, by=by)
    retrieve(document)
    return annotation


def save(record: Record, name: str, value: str, by: User) -> Record:
    """Save one field at the record's present version; returns the record as it then stands."""
    record.refresh_from_db()
    return save_field(record, name, value, by=by, version=record.version).record


def verified(document: Document, by: User, *, false_claim: str = "") -> Annotation:
    """The document with verify submitted: all true, but the claim that contains ``false_claim``, whose year 1825
    is replaced by 1815 (or which is deleted where that year does not stand in it)."""
    annotation = open_annotation(document, Stage.VERIFY, by=by)
    for work in claims_to_verify(annotation):
        is_false = bool(false_claim) and false_claim in work.claim.text
        for card in work.cards:
            save(card.stance, "label", StanceLabel.REFUTE if is_false else StanceLabel.COMPLETELY_SUPPORT, by)
        save(work.verdict, "factuality", Factuality.FALSE if is_false else Factuality.TRUE, by)
        if is_false:
            _mend(work.verdict, by)
    submit(annotation, by=by)
    document.refresh_from_db()
    return annotation


def _mend(verdict: Verdict, by: User) -> None:
    start = verdict.claim.text.find("1825")
    if start < 0:
        add_operation(verdict, kind=EditKind.DELETE_CLAIM, by=by)
    else:
        add_operation(verdict, kind=EditKind.REPLACE, start=start, end=start + 4, replacement="1815", by=by)
