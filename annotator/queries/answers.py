"""The answers that a benchmark's gold judges, as counts of supported claims: what models are ranked by."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Q

from annotator.formats.answers import AnswerRow
from annotator.models import Benchmark
from annotator.queries.gold import Scope
from annotator.vocabulary import Factuality

CHUNK = 2000  # rows fetched at a time


def gold_answers(benchmark: Benchmark) -> Iterator[AnswerRow]:
    """Each gold document as an answer of its ``model`` in the domain ``source``: a checked claim is supported when it
    is true; one that is false or lacks evidence is not. K' is how many checked claims people settled on. Two queries,
    however many documents there are; ``line`` counts them."""
    scope = Scope(benchmark)
    counted = {
        document: (supported, claims)
        for document, supported, claims in scope.checked_verdicts()
        .exclude(factuality="")
        .values_list("annotation__document")
        .annotate(supported=Count("pk", filter=Q(factuality=Factuality.TRUE)), claims=Count("pk"))
    }
    documents = scope.documents().order_by("order", "pk").values_list("pk", "model", "source")
    for number, (document, model, source) in enumerate(documents.iterator(chunk_size=CHUNK), start=1):
        supported, claims = counted.get(document, (0, 0))
        yield AnswerRow(number, model, source, supported, claims, valid=claims)
