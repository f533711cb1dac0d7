"""The versions of a benchmark's guidelines, and who hasn't read the newest yet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db.models import Min, OuterRef, Subquery

from annotator.core.models import Activity, Annotation, Benchmark, Guidelines, User
from annotator.core.queries.membership import benchmarks_of
from annotator.core.vocabulary import AnnotationKind, AnnotationState

# In User.preferences: the newest version a person has read, by the benchmark's public id.
READ = "guidelines_read"


@dataclass(frozen=True, slots=True)
class GuidelinesVersion:
    """One version (without its text) and what its author said about the change."""

    guidelines: Guidelines
    note: str

    @property
    def number(self) -> int:
        return self.guidelines.number


@dataclass(frozen=True, slots=True)
class News:
    """A version that a person hasn't read, and the version they know from working or reading."""

    benchmark: Benchmark
    number: int
    since: int


def newest_of(benchmark: Benchmark) -> Guidelines | None:
    """The current version; None if there is none yet."""
    return Guidelines.objects.filter(benchmark=benchmark).select_related("created_by").order_by("-number").first()


def versions_of(benchmark: Benchmark) -> list[GuidelinesVersion]:
    """All versions, the newest first. Two queries."""
    notes: dict[int, str] = {}
    published = Activity.objects.filter(benchmark=benchmark, action="publish-guidelines")
    for reason in published.values_list("reason", flat=True):
        said = re.fullmatch(r"version (\d+): (.+)", reason)
        if said:
            notes[int(said[1])] = said[2]
    rows = Guidelines.objects.filter(benchmark=benchmark).select_related("created_by").defer("text").order_by("-number")
    return [GuidelinesVersion(row, notes.get(row.number, "")) for row in rows]


def news_for(user: User, benchmark: Benchmark | None = None) -> list[News]:
    """Benchmarks whose guidelines changed since the person worked by them, if the change is still unread: one entry per
    benchmark, by name; with ``benchmark``, only that one. One query."""
    begun_with = (
        Annotation.objects.filter(person=user, kind=AnnotationKind.INDIVIDUAL, guidelines__benchmark=OuterRef("pk"))
        .exclude(state=AnnotationState.TAKEN_BACK)
        .order_by()
        .values("guidelines__benchmark")
        .annotate(oldest=Min("guidelines__number"))
        .values("oldest")
    )
    newest = Guidelines.objects.filter(benchmark=OuterRef("pk")).order_by("-number").values("number")[:1]
    rows = benchmarks_of(user).annotate(begun_with=Subquery(begun_with), newest=Subquery(newest))
    if benchmark is not None:
        rows = rows.filter(pk=benchmark.pk)
    read: dict[str, int] = user.preferences.get(READ, {})
    found = []
    # The first version is no change, so without a second one nobody's work needs to be checked.
    for row in rows.filter(newest__gt=1).order_by("name", "pk"):
        since = max(row.begun_with or row.newest, read.get(row.public_id, 0))
        if since < row.newest:
            found.append(News(row, row.newest, since))
    return found
