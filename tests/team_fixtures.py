"""The team that most tests need: two people who label blind, an owner, a third rater, one document with suggestions.
A file whose team is another one defines its own."""

from __future__ import annotations

import pytest

from annotator.core.models import Benchmark, Document, User
from annotator.core.vocabulary import Role
from tests.agreeing import signed_by, submitted
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, retrieve, with_corpus


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(overlap=2)
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Olga")


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ada")


@pytest.fixture
def ben(benchmark: Benchmark) -> User:
    return member(benchmark, display_name="Ben")


@pytest.fixture
def cleo(benchmark: Benchmark) -> User:
    return member(benchmark, Role.THIRD_RATER, display_name="Cleo")


@pytest.fixture
def document(benchmark: Benchmark, owner: User) -> Document:
    return prefill(DocumentFactory(benchmark=benchmark))


@pytest.fixture
def at_verify(document: Document, ada: User, ben: User) -> Document:
    """The document with decompose agreed and passages retrieved."""
    submitted(document, ada, ben)
    signed_by(document, ada, ben)
    return retrieve(document)
