"""Every rater's own label of each item of the gold, as it stood before adjudication: soft labels, for training and for
measuring with disagreement instead of against one label.

Only documents that are gold are read, so nothing blind can come in. Four streamed queries, however much there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from django.db.models import QuerySet

from annotator.core.models import Benchmark
from annotator.core.queries.gold import GoldScope, checked
from annotator.core.queries.pseudonyms import Keys
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Task

CHUNK = 2000


def soft_labels(benchmark: Benchmark, *, splits: Mapping[str, str], named: bool = False) -> Iterator[dict[str, Any]]:
    """The items by task, in the order of documents: ``gold`` is the adjudicated label, ``raters`` have their own,
    ``shares`` is how often independent raters gave each label. Labels are the stored words.

    Items that nobody labeled here (imported as adjudicated), and documents that ``splits`` does not name, are left out.
    """
    keys = Keys(benchmark, named=named)
    for task, rows in _rows(GoldScope(benchmark)):
        for (document, key, gold), each in groupby(rows.iterator(chunk_size=CHUNK), key=lambda row: row[:3]):
            if document not in splits:
                continue
            raters = [
                {"rater": keys.key(person), "label": label or None, "independent": independent}
                for *_, person, label, independent in each
            ]
            yield {
                "task": task.value,
                "id": key,
                "document": document,
                "split": str(splits[document]),
                "gold": gold or None,
                "raters": raters,
                "shares": _shares(raters),
            }


def _shares(raters: list[dict[str, Any]]) -> dict[str, float]:
    """Labels by their share among independent raters who gave one; rounded, so that files are the same everywhere."""
    counted = Counter(each["label"] for each in raters if each["independent"] and each["label"])
    return {label: round(number / counted.total(), 6) for label, number in sorted(counted.items())}


def _rows(scope: GoldScope) -> Iterator[tuple[Task, QuerySet[Any, tuple[Any, ...]]]]:
    """By task rows of (document, item, gold label, rater, label, independent), one item's together.

    Sentences and claims of the gold name the rows that they were made from; verdicts and stances of all people are on
    the same claim and passage.
    """
    sentence, claim, sources = "annotation__", "sentence__annotation__", "sources__sentence__annotation__"
    yield (
        Task.SENTENCE_CHECKWORTHINESS,
        scope.sentences()
        .filter(**_own("sources__annotation__"))
        .order_by(*_order(sentence, "order", "pk"), "sources__annotation__seat", "sources__pk")
        .values_list(*_item(sentence, "public_id", "type"), *_rating("sources__annotation__", "sources__type")),
    )
    yield (
        Task.CLAIM_CHECKWORTHINESS,
        scope.claims()
        .filter(**_own(sources))
        .order_by(*_order(claim, "sentence__order", "order", "pk"), f"{sources}seat", "sources__pk")
        .values_list(*_item(claim, "public_id", "type"), *_rating(sources, "sources__type")),
    )
    own = "evidence__stances__"
    yield (
        Task.STANCE,
        scope.stances()
        .filter(checked("evidence__claim__"), **_own(f"{own}annotation__"))
        .order_by(*_order("annotation__", "evidence__claim", "evidence__order", "evidence"), f"{own}annotation__seat")
        .values_list(
            *_item("annotation__", "evidence__public_id", "label"), *_rating(f"{own}annotation__", f"{own}label")
        ),
    )
    own = "claim__verdicts__"
    yield (
        Task.CLAIM_FACTUALITY,
        scope.checked_verdicts()
        .filter(**_own(f"{own}annotation__"))
        .order_by(*_order("annotation__", "claim__sentence__order", "claim__order", "claim"), f"{own}annotation__seat")
        .values_list(
            *_item("annotation__", "claim__public_id", "factuality"),
            *_rating(f"{own}annotation__", f"{own}factuality"),
        ),
    )


def _own(path: str) -> dict[str, Any]:
    return {f"{path}kind": AnnotationKind.INDIVIDUAL, f"{path}state": AnnotationState.SUBMITTED}


def _order(path: str, *fields: str) -> tuple[str, ...]:
    return f"{path}document__order", f"{path}document", *fields


def _item(path: str, key: str, label: str) -> tuple[str, ...]:
    return f"{path}document__public_id", key, label


def _rating(path: str, label: str) -> tuple[str, ...]:
    return f"{path}person", label, f"{path}independent"
