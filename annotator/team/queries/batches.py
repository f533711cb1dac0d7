"""Batches for admins: what could be selected, each batch's progress, everyone's open work."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotator.core import charts
from annotator.core.models import Activity, Annotation, Batch, BatchChange, Benchmark, Document, SignOff, User
from annotator.core.queries.documents import DocumentFilter, matching
from annotator.core.rules import LABEL_ROLES
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Stage

OPTIONS = 200  # sources and models offered as choices


def is_at_work() -> Q:
    """Does anyone have an assignment at the document's current stage, or open work on it anywhere?"""
    individual = Annotation.objects.filter(document=OuterRef("pk"), kind=AnnotationKind.INDIVIDUAL)
    here = individual.filter(stage=OuterRef("stage"), seat__isnull=False)
    return Q(Exists(here)) | Q(Exists(individual.filter(state=AnnotationState.OPEN)))


def fitting(benchmark: Benchmark, narrowed: DocumentFilter) -> QuerySet[Document]:
    """The documents available for a batch: in no batch, neither gold nor discarded, no gold copies, and nobody working
    on them."""
    return (
        matching(benchmark, narrowed)
        .filter(batch__isnull=True, twin_of__isnull=True, phase__in=(Phase.PREFILLING, Phase.INDEPENDENT))
        .exclude(is_at_work())
    )


def sources_and_models(benchmark: Benchmark) -> tuple[list[str], list[str]]:
    """The sources and models of documents in no batch (two queries)."""
    rows = benchmark.documents.filter(batch__isnull=True, twin_of__isnull=True).order_by()
    sources = rows.exclude(source="").values_list("source", flat=True).distinct().order_by("source")
    models = rows.exclude(model="").values_list("model", flat=True).distinct().order_by("model")
    return list(sources[:OPTIONS]), list(models[:OPTIONS])


@dataclass(slots=True)
class BatchRow:
    """A batch and its progress, in documents."""

    batch: Batch
    gold: int = 0
    discarded: int = 0
    to_agree: int = 0
    in_work: int = 0
    not_begun: int = 0
    extra: int = 0
    blind_first: int = 0

    @property
    def change(self) -> BatchChange | None:
        """What a worker is doing to the batch."""
        return getattr(self.batch, "change", None)

    @property
    def total(self) -> int:
        return self.gold + self.discarded + self.to_agree + self.in_work + self.not_begun

    @property
    def words(self) -> str:
        """The bar in words, shown below it."""
        counted = (
            (self.gold, "gold"),
            (self.to_agree, "awaiting adjudication"),
            (self.in_work, "in progress"),
            (self.not_begun, "not started"),
            (self.discarded, "discarded"),
        )
        return charts.in_words(counted, "no documents")

    @property
    def parts(self) -> list[dict[str, str | float]]:
        """The bar without discarded documents, for components/stacked.html."""
        counted = (("agreed", self.gold), ("work", self.to_agree + self.in_work), ("waiting", self.not_begun))
        return charts.parts(counted, self.total - self.discarded)


def batches_of(benchmark: Benchmark) -> list[BatchRow]:
    """The batches, oldest first, with counts (two queries)."""
    rows = {
        batch.pk: BatchRow(batch)
        for batch in benchmark.batches.select_related("group", "created_by", "change").order_by("pk")
    }
    begun = Exists(
        Annotation.objects.filter(document=OuterRef("pk"), kind=AnnotationKind.INDIVIDUAL, seat__isnull=False)
    )
    counted = (
        Document.objects.filter(batch__in=list(rows), twin_of__isnull=True)
        .order_by()
        .annotate(is_begun=begun)
        .values_list("batch", "stage", "phase", "is_begun")
        .annotate(
            number=Count("pk"),
            extra=Count("pk", filter=Q(extra_people__gt=0)),
            blind=Count("pk", filter=Q(blind_first=True)),
        )
    )
    for batch, stage, phase, is_begun, number, extra, blind in counted:
        row = rows[batch]
        row.extra += extra
        row.blind_first += blind
        if phase == Phase.DISCARDED:
            row.discarded += number
        elif phase == Phase.CONSOLIDATING:
            row.to_agree += number
        elif phase == Phase.AGREED:
            row.gold += number
        elif is_begun or stage != Stage.DECOMPOSE:
            row.in_work += number
        else:
            row.not_begun += number
    return list(rows.values())


# --- load -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Load:
    """One person's work in a benchmark. ``finished``: documents of which they have submitted a stage, as on the team
    page; ``idle_days``: how long the oldest open piece has been untouched."""

    person: User
    open: int = 0
    to_agree: int = 0
    finished: int = 0
    idle_days: int = 0


def load_of(benchmark: Benchmark, now: dt.datetime) -> list[Load]:
    """The members who label, by name (four queries)."""
    people = User.objects.filter(
        memberships__benchmark=benchmark, memberships__active=True, memberships__role__in=LABEL_ROLES
    )
    own = Annotation.objects.filter(
        kind=AnnotationKind.INDIVIDUAL, document__benchmark=benchmark, document__twin_of__isnull=True
    )
    rows = {person.pk: Load(person) for person in people.order_by("display_name", "username")}
    finished = own.filter(state=AnnotationState.SUBMITTED)
    signed = SignOff.objects.filter(
        annotation__document=OuterRef("document"), annotation__stage=OuterRef("stage"), by=OuterRef("person")
    )
    to_agree = finished.filter(document__phase=Phase.CONSOLIDATING, stage=F("document__stage")).exclude(Exists(signed))
    for name, done in (("finished", finished), ("to_agree", to_agree)):
        documents = Count("document", distinct=True)
        for person, number in done.order_by().values_list("person").annotate(number=documents):
            if person in rows:
                setattr(rows[person], name, number)
    last = (
        Activity.objects.filter(annotation=OuterRef("pk"), by=OuterRef("person"))
        .order_by()
        .values("annotation")
        .annotate(last=Max("at"))
        .values("last")
    )
    opened = own.filter(state=AnnotationState.OPEN).annotate(touched=Coalesce(Subquery(last), F("created_at")))
    goes_on = Q(stage=F("document__stage"), document__phase=Phase.INDEPENDENT)
    for person, touched, can_go_on in opened.annotate(can_go_on=Q(goes_on)).values_list(
        "person", "touched", "can_go_on"
    ):
        if person in rows:
            rows[person].open += 1
            if can_go_on:
                rows[person].idle_days = max(rows[person].idle_days, (now - touched).days)
    return list(rows.values())


# --- one document ---------------------------------------------------------------------------------
