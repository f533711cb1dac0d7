"""What is known of the gold documents of a benchmark, for breakdowns of scores."""

from __future__ import annotations

from django.db.models import Count

from annotator.core.models import Benchmark
from annotator.core.queries.gold import GoldScope
from annotator.measures.statistics.breakdowns import DocumentTraits

CHUNK = 2000


def traits_of(benchmark: Benchmark) -> dict[str, DocumentTraits]:
    """By public id (two queries)."""
    scope = GoldScope(benchmark)
    path = "sentence__annotation__document"
    claims = dict(scope.claims().values_list(path).annotate(number=Count("pk")).iterator(chunk_size=CHUNK))
    rows = scope.documents().values_list("pk", "public_id", "source", "model", "metadata", "response")
    return {
        key: DocumentTraits(source, model, metadata, len(response.split()), claims.get(pk, 0))
        for pk, key, source, model, metadata, response in rows.iterator(chunk_size=CHUNK)
    }
