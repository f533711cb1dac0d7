"""Reads the rows of the decompose screen in a constant number of queries."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Prefetch, QuerySet, prefetch_related_objects

from annotator.core.models import Annotation, Claim, Sentence


def sentences_of(annotation: Annotation) -> list[Sentence]:
    """The sentences that aren't removed, in order, with all their claims and suggestions (three queries)."""
    return list(
        annotation.sentences.filter(removed="")
        .select_related("suggestion")
        .prefetch_related(Prefetch("claims", _claims()))
        .order_by("order", "id")
    )


def read_claims(sentences: Collection[Sentence]) -> None:
    """Read all claims of these sentences with their suggestions (one query)."""
    prefetch_related_objects(list(sentences), Prefetch("claims", _claims()))


def _claims() -> QuerySet[Claim]:
    return Claim.objects.select_related("suggestion").order_by("order", "id")


def present_claims(sentence: Sentence) -> list[Claim]:
    """Claims that aren't removed (from the prefetched ones)."""
    return [claim for claim in sentence.claims.all() if not claim.removed]
