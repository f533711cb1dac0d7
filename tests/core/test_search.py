"""Full-text search: all words in any order, phrases, what is adjudicated; never what is still blind."""

from __future__ import annotations

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from annotator.core.actions.search_entries import index_outdated
from annotator.core.models import Benchmark, Document, SearchEntry, User, Verdict
from annotator.core.queries.documents import DocumentFilter, matching
from annotator.core.queries.search import outdated
from annotator.core.texts.search_words import Term, postgresql_query, sqlite_match, terms_of, words_of
from annotator.core.vocabulary import Role, Stage
from annotator.stages.actions import documents as actions
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.queries.decomposition import sentences_of
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    documents,
    member,
    prefill,
    save,
    verified,
    with_corpus,
)


def found(benchmark: Benchmark, search: str) -> list[str]:
    rows = matching(benchmark, DocumentFilter(search=search)).order_by("pk")
    return list(rows.values_list("external_id", flat=True))


# --- words, without a database --------------------------------------------------------------------


def test_words_are_lower_case_without_punctuation() -> None:
    assert words_of("The Opera-House, built_in 1973: “Jørn Utzon’s” ﬁrst!") == [
        "the", "opera", "house", "built", "in", "1973", "jørn", "utzon", "s", "first",
    ]  # fmt: skip
    assert words_of("東京 is Tokyo") == ["東", "京", "is", "tokyo"]
    assert words_of("... %% __") == []


def test_a_search_is_words_and_phrases() -> None:
    assert terms_of('opera "Fourteen years" state-of-the-art "') == [
        Term(("opera",)),
        Term(("fourteen", "years"), is_exact=True),
        Term(("state", "of", "the", "art")),
    ]
    assert terms_of("“Fourteen years” «state»") == terms_of('"Fourteen years" "state"')
    assert len(terms_of("a " * 100)) == 20


def test_both_databases_are_asked_the_same() -> None:
    terms = terms_of('op "it\'s" x-y')
    assert sqlite_match(terms) == '"op"* AND "it s" AND "x y"'
    assert postgresql_query(terms) == "'op':* & ('it' <-> 's') & ('x' <-> 'y')"


# --- in the database ------------------------------------------------------------------------------


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot")
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark)


@pytest.mark.django_db
@pytest.mark.database
def test_all_words_in_any_order_and_phrases(benchmark: Benchmark) -> None:
    DocumentFactory(benchmark=benchmark, identity="a", prompt="Who built the opera?", response="It took 14 years.")
    DocumentFactory(benchmark=benchmark, identity="b", prompt="Years ago", response="Operas took long.")
    DocumentFactory(benchmark=benchmark, identity="c", prompt="Jørn's bridge", response="東京タワー")
    assert index_outdated() == 3
    assert found(benchmark, "years OPERA") == ["a", "b"]  # any order, and the beginning of a longer word
    assert found(benchmark, '"opera" years') == ["a"]
    assert found(benchmark, '"14 years"') == ["a"]
    assert found(benchmark, '"years 14"') == []
    assert found(benchmark, '"opera it took"') == []  # the prompt ends there
    assert found(benchmark, "opera bridge") == []
    assert found(benchmark, "jørn’s") == ["c"]
    assert found(benchmark, "東京") == ["c"]
    assert found(benchmark, "京東") == []
    for odd in ('"', "'", "a'b\"c", "NEAR(a b)", "a:* & !b", "* OR *", "\\", "x" * 3000, "^", "-opera", "🙂"):
        found(benchmark, odd)  # nothing typed breaks the query


@pytest.mark.django_db
@pytest.mark.database
def test_what_changes_is_found_anew_and_what_is_gone_no_more(benchmark: Benchmark) -> None:
    document = DocumentFactory(benchmark=benchmark, identity="a", prompt="opera", response="x")
    index_outdated()
    Document.objects.filter(pk=document.pk).update(prompt="bridge", version=document.version + 1)
    assert found(benchmark, "opera") == ["a"]
    assert index_outdated() == 1
    assert found(benchmark, "opera") == [] and found(benchmark, "bridge") == ["a"]
    document.refresh_from_db()
    document.delete()
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT count(*) FROM annotator_searchentry_words WHERE body MATCH 'bridge'")
            assert cursor.fetchone() == (0,)
            cursor.execute(
                "INSERT INTO annotator_searchentry_words(annotator_searchentry_words) VALUES ('integrity-check')"
            )
    assert not SearchEntry.objects.exists()


@pytest.mark.django_db
def test_a_document_that_is_not_indexed_yet_is_found_by_its_text(benchmark: Benchmark) -> None:
    DocumentFactory(benchmark=benchmark, identity="new", prompt="The opera", response="fourteen years")
    assert found(benchmark, "years opera") == ["new"]
    assert found(benchmark, "NEW") == ["new"]  # by its id
    assert found(benchmark, "years bridge") == []


@pytest.mark.django_db
def test_adjudicated_work_is_searched_and_counted(benchmark: Benchmark, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark, identity="a", response="Ada Lovelace was born in 1825."))
    decomposed(document, ada)
    index_outdated()
    assert found(benchmark, '"pages of"') == []
    assert found(benchmark, "Bernoulli") == ["a"]  # evidence
    document.refresh_from_db()
    annotation = verified(document, ada, false_claim="1825")
    entry = SearchEntry.objects.get()
    assert (entry.claims, entry.false_claims) == (1, None)
    Verdict.objects.exclude(annotation=annotation).update(reason="Quetzalcoatl said so.")
    index_outdated()
    entry.refresh_from_db()
    assert (entry.claims, entry.false_claims) == (1, 1)
    assert found(benchmark, "quetzalcoatl bernoulli") == ["a"]
    actions.reopen(document, Stage.DECOMPOSE, "wrong claim", by=member(benchmark, Role.OWNER))
    index_outdated()
    entry.refresh_from_db()
    assert (entry.claims, entry.false_claims) == (None, None)
    assert found(benchmark, "quetzalcoatl") == []


@pytest.mark.django_db
def test_open_work_is_never_in_the_index(benchmark: Benchmark, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark, identity="a"))
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    save(sentences_of(annotation)[0], "decontext", "Quetzalcoatl was here.", ada)
    index_outdated()
    assert SearchEntry.objects.count() == 1 and found(benchmark, "quetzalcoatl") == []


@pytest.mark.django_db
def test_nothing_is_outdated_after_indexing(benchmark: Benchmark, ada: User) -> None:
    decomposed(prefill(DocumentFactory(benchmark=benchmark)), ada)
    assert index_outdated() == 1
    assert not outdated().exists() and index_outdated() == 0


@pytest.mark.django_db
def test_indexing_takes_as_many_queries_for_one_document_as_for_five(
    benchmark: Benchmark, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in (1, 5):
        documents(number, benchmark=benchmark)
        with django_assert_num_queries(6):
            index_outdated()
