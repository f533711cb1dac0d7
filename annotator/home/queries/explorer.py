"""The document list as a table: its columns, the values that aren't on the document itself, and the available
choices."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Max

from annotator.core.models import Activity, Annotation, Batch, Benchmark, Document, DocumentChange, DocumentView, User
from annotator.core.vocabulary import AnnotationKind

OPTIONS = 200  # sources and models offered as choices


@dataclass(frozen=True, slots=True)
class Column:
    """``sort``: its name in ``documents.SORTS``, "" if it can't be sorted by. ``for_managers``: it reveals who works or
    how fast, which partners must not see."""

    key: str
    label: str
    sort: str = ""
    is_number: bool = False
    for_managers: bool = False


COLUMNS = (
    Column("batch", "Batch", "batch", for_managers=True),
    Column("people", "People", "people", for_managers=True),
    Column("source", "Source", "source"),
    Column("model", "Model", "model"),
    Column("stage", "Stage", "stage"),
    Column("stages", "Stages"),
    Column("state", "State", "state"),
    Column("claims", "Claims", "claims", is_number=True),
    Column("false", "False", "false", is_number=True),
    Column("changed", "Last change", "changed", for_managers=True),
)
DEFAULT = ("stages", "state", "source")
DEFAULT_FOR_MANAGERS = ("source", "model", "stage", "state", "people", "claims", "false", "changed")


def columns_of(chosen: Sequence[str], *, manages: bool) -> list[Column]:
    """The columns with these keys, in this module's order; the default columns if none are named."""
    keys = set(chosen) or set(DEFAULT_FOR_MANAGERS if manages else DEFAULT)
    return [each for each in COLUMNS if each.key in keys and (manages or not each.for_managers)]


@dataclass(slots=True)
class Beside:
    """What a page of documents shows besides the documents' own columns, by primary key."""

    people: dict[int, list[str]] = field(default_factory=dict)
    changed: dict[int, dt.datetime] = field(default_factory=dict)


def beside(documents: Iterable[Document], columns: Iterable[Column]) -> Beside:
    """People and last changes for a page of documents: one query for each of the two columns that is shown."""
    keys, wanted = [row.pk for row in documents], {each.key for each in columns}
    found = Beside()
    if "people" in wanted:
        rows = Annotation.objects.filter(document__in=keys, kind=AnnotationKind.INDIVIDUAL, seat__isnull=False)
        names = ("document", "person__display_name", "person__username")
        for document, name, username in rows.order_by("document", "seat", "pk").values_list(*names):
            people = found.people.setdefault(document, [])
            if (name or username) not in people:
                people.append(name or username)
    if "changed" in wanted:
        last = Activity.objects.filter(document__in=keys).order_by().values_list("document").annotate(at=Max("at"))
        found.changed = {document: at for document, at in last if document is not None}
    return found


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """The available filter values."""

    sources: list[str]
    models: list[str]
    batches: list[Batch]
    people: list[User]


def filter_options(benchmark: Benchmark) -> FilterOptions:
    """Four queries; two of them scan all documents, so the page requests this only when the filters are opened."""
    rows = benchmark.documents.filter(twin_of__isnull=True).order_by()
    sources = rows.exclude(source="").values_list("source", flat=True).distinct().order_by("source")
    models = rows.exclude(model="").values_list("model", flat=True).distinct().order_by("model")
    people = User.objects.filter(memberships__benchmark=benchmark).order_by("display_name", "username")
    return FilterOptions(
        list(sources[:OPTIONS]), list(models[:OPTIONS]), list(benchmark.batches.order_by("pk")), list(people)
    )


def views_of(benchmark: Benchmark, user: User) -> list[DocumentView]:
    """The person's saved views of a benchmark."""
    return list(DocumentView.objects.filter(benchmark=benchmark, by=user))


def changes_of(benchmark: Benchmark) -> list[DocumentChange]:
    """Changes to many documents that are in progress or haven't been dismissed."""
    return list(DocumentChange.objects.filter(benchmark=benchmark).select_related("by"))
