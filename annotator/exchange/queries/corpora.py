"""What the pages about corpora show."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from annotator.core.models import Benchmark, Corpus, User
from annotator.core.queries.membership import benchmarks_of, corpora_for


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """A corpus, its number of pages, and the person's benchmarks that search it."""

    corpus: Corpus
    pages: int
    used_by: list[Benchmark]


def corpus_rows(user: User) -> list[CorpusRow]:
    """The corpora that a person may attach to a benchmark, by name. At most four queries."""
    corpora = list(corpora_for(user))
    pages = dict(
        Corpus.objects.filter(pk__in=[each.pk for each in corpora])
        .annotate(count=Count("pages"))
        .values_list("pk", "count")
    )
    used_by: dict[int, list[Benchmark]] = {}
    for benchmark in benchmarks_of(user).filter(corpus__in=corpora).order_by("name", "pk"):
        used_by.setdefault(benchmark.corpus_id or 0, []).append(benchmark)
    return [CorpusRow(each, pages.get(each.pk, 0), used_by.get(each.pk, [])) for each in corpora]
