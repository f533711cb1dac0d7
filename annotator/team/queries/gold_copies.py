"""Gold documents that can measure the people of a batch."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import Exists, OuterRef

from annotator.core.gold_copies import IS_GOLD, practice_gold
from annotator.core.models import Annotation, Batch, Document, Membership, SignOff
from annotator.core.rules import LABEL_ROLES
from annotator.core.vocabulary import Phase, Seat


def mixable(batch: Batch) -> list[Document]:
    """The gold documents that can be added to a batch as hidden copies: not for practice, not used elsewhere, and
    unknown to as many of the batch's people as a document needs. Six queries."""
    benchmark = batch.benchmark
    if batch.group_id is not None:
        seats = batch.group.members.filter(seat=Seat.ANNOTATOR, active=True) if batch.group else ()
        people = {row.user_id for row in seats}
    else:
        members = Membership.objects.filter(benchmark=benchmark, active=True, role__in=LABEL_ROLES)
        people = set(members.values_list("user_id", flat=True))
    mixed = Document.objects.filter(twin_of=OuterRef("pk"), practice_for__isnull=True).exclude(phase=Phase.DISCARDED)
    golds = list(
        Document.objects.filter(IS_GOLD, benchmark=benchmark, twin_of__isnull=True)
        .exclude(pk__in=[gold.pk for gold in practice_gold(benchmark)])
        .exclude(Exists(mixed))
        .order_by("order", "pk")
    )
    documents = Document.objects.filter(IS_GOLD, benchmark=benchmark, twin_of__isnull=True)
    known: dict[int | None, set[int | None]] = defaultdict(set)
    labelled = Annotation.objects.filter(document__in=documents.values("pk"), person__in=people)
    signed = SignOff.objects.filter(annotation__document__in=documents.values("pk"), by__in=people)
    practised = Document.objects.filter(twin_of__benchmark=benchmark, practice_for__in=people)
    for pairs in (
        labelled.values_list("document", "person"),
        signed.values_list("annotation__document", "by"),
        practised.values_list("twin_of", "practice_for"),
    ):
        for document, person in pairs:
            known[document].add(person)
    return [gold for gold in golds if len(people - known[gold.pk]) >= benchmark.overlap]
