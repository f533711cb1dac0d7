"""Where every agreed label came from, read for a chunk of documents at a time: the rows of stages that are over, their
sources, the suggestions they began as, and the runs, people and guidelines behind them.

Of a stage that is not over nothing is read, whoever asks (design: Blindness). Texts are left out: tables and the other
formats have them under the same public ids.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from annotator.models import (
    Annotation,
    Benchmark,
    Document,
    EditOperation,
    Evidence,
    PipelineRun,
    RestsOn,
    SignOff,
)
from annotator.queries.export import documents_to_export
from annotator.queries.provenance_kinds import KINDS, OF_RESPONSE, SUGGESTED, Kind, Suggested
from annotator.queries.pseudonyms import Keys
from annotator.vocabulary import STAGES, AnnotationKind, AnnotationState, Stage

CHUNK = 200  # documents

Named = tuple[str, str]  # kind and public id of a row


@dataclass(slots=True)
class Work:
    """One person's work on a stage, or the making of its agreed version. ``signers``: who signed, and whether as third
    rater; ``guidelines``: the number of the version worked by, 0 for none."""

    public_id: str
    stage: str
    is_agreed: bool
    person: str
    began: dt.datetime
    ended: dt.datetime | None
    independent: bool
    guidelines: int
    signers: list[tuple[str, bool]] = field(default_factory=list)


@dataclass(slots=True)
class Thing:
    """A row that came about. ``made_by``: an annotation or a run, as (kind, public id), or None where nobody knows.
    ``derived_from``: sources, suggestion and parents."""

    kind: str
    public_id: str
    labels: dict[str, Any]
    is_agreed: bool
    made_by: Named | None
    derived_from: list[Named] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """A run of a strategy with its plan; ``prompts``: the wording and its digest by name."""

    public_id: str
    stage: str
    strategy: str
    began: dt.datetime | None
    ended: dt.datetime | None
    plan: dict[str, Any]


@dataclass(slots=True)
class Provenance:
    """All that is told of one document."""

    public_id: str
    source: str
    model: str
    imported_at: dt.datetime
    works: list[Work] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)


def provenance_of(benchmark: Benchmark, *, include: str = "gold", named: bool = False) -> Iterator[Provenance]:
    """The documents in their order. ``include`` as in ``annotator.queries.export``; ``named``: user names instead of
    pseudonyms. Some thirty queries a chunk."""
    people = Keys(benchmark, named=named)
    chosen = documents_to_export(benchmark, include)
    keys = array("q", chosen.order_by("order", "pk").values_list("pk", flat=True).iterator())
    for start in range(0, len(keys), CHUNK):
        part = chosen.filter(pk__in=keys[start : start + CHUNK]).order_by("order", "pk")
        yield from _Chunk(list(part.defer("prompt", "response", "released", "metadata")), people).found.values()


# --- reading ----------------------------------------------------------------------------------------


class _Chunk:
    """Reads what belongs to some documents, kind by kind. ``over``: the stages of each that are over."""

    def __init__(self, documents: list[Document], people: Keys) -> None:
        self.people = people
        self.found = {row.pk: Provenance(row.public_id, row.source, row.model, row.created_at) for row in documents}
        self.document_of: dict[int, int] = {}  # by annotation
        self.ids: dict[int, str] = {}  # public ids of annotations
        self.agreed: dict[int, str] = {}  # agreed annotations with their stages
        self.over: dict[int, set[str]] = {}
        self.verdicts: dict[str, Thing] = {}  # those read
        self.runs: dict[int, set[int]] = {row.pk: set() for row in documents}
        self._works()
        for kind in KINDS:
            self._rows(kind)
        self._retrieved()
        self._edits()
        self._rests()
        for suggested in SUGGESTED:
            self._suggestions(suggested)
        self._runs()

    def _works(self) -> None:
        rows = list(
            Annotation.objects.filter(document__in=self.found, state=AnnotationState.SUBMITTED)
            .select_related("guidelines")
            .defer("guidelines__text")
            .order_by("pk")
        )
        agreed: dict[int, set[str]] = {}
        for row in rows:
            if row.kind == AnnotationKind.CONSOLIDATED:
                agreed.setdefault(row.document_id, set()).add(row.stage)
        self.over = {pk: set(takewhile(agreed.get(pk, set()).__contains__, STAGES)) for pk in self.found}
        works: dict[int, Work] = {}
        for row in rows:
            if row.stage not in self.over[row.document_id]:
                continue
            is_agreed = row.kind == AnnotationKind.CONSOLIDATED
            works[row.pk] = Work(
                row.public_id,
                row.stage,
                is_agreed,
                self.people.key(row.person_id),
                row.created_at,
                row.submitted_at,
                row.independent,
                row.guidelines.number if row.guidelines else 0,
            )
            self.found[row.document_id].works.append(works[row.pk])
            self.document_of[row.pk], self.ids[row.pk] = row.document_id, row.public_id
            if is_agreed:
                self.agreed[row.pk] = row.stage
        signed = SignOff.objects.filter(annotation__in=self.agreed).order_by("pk")
        for annotation, by, as_third in signed.values_list("annotation", "by", "as_third_rater"):
            works[annotation].signers.append((self.people.key(by), as_third))

    def _rows(self, kind: Kind) -> None:
        """The rows of these annotations; of agreed versions those that stand, of people's work removed ones too."""
        rows = kind.model._default_manager.filter(**{f"{kind.work}__in": list(self.document_of)}).order_by("pk")
        links = [*kind.parents.values(), *(["suggestion__public_id"] if kind.suggestion else [])]
        names = [*kind.parents, *([kind.suggestion] if kind.suggestion else [])]
        sources = self._sources(kind)
        columns = ["public_id", kind.work, *links, *kind.labels, *kind.removed]
        end = len(links) + len(kind.labels)
        for public_id, annotation, *values in rows.values_list(*columns):
            is_agreed = annotation in self.agreed
            if is_agreed and any(values[end:]):
                continue
            made_of = [(name, linked) for name, linked in zip(names, values, strict=False) if linked]
            made_of += [(kind.name, source) for source in sources.get(public_id, ())]
            if kind.name in OF_RESPONSE:
                made_of.append(("document", self.found[self.document_of[annotation]].public_id))
            labels = dict(zip(kind.labels, values[len(links) : end], strict=True))
            thing = Thing(kind.name, public_id, labels, is_agreed, ("annotation", self.ids[annotation]), made_of)
            self._add(annotation, thing)
            if kind.name == "verdict":
                self.verdicts[public_id] = thing

    def _sources(self, kind: Kind) -> dict[str, list[str]]:
        """Which rows an agreed row was made from, by public ids."""
        through = kind.model._meta.get_field("sources").remote_field.through  # type: ignore[union-attr]
        name = kind.model._meta.model_name
        rows = through._default_manager.filter(**{f"from_{name}__{kind.work}__in": list(self.agreed)}).order_by("pk")
        found: dict[str, list[str]] = {}
        for row, source in rows.values_list(f"from_{name}__public_id", f"to_{name}__public_id"):
            found.setdefault(row, []).append(source)
        return found

    def _add(self, annotation: int, thing: Thing) -> None:
        self.found[self.document_of[annotation]].things.append(thing)

    def _decomposed(self) -> list[int]:
        return [pk for pk, stage in self.agreed.items() if stage == Stage.DECOMPOSE]

    def _retrieved(self) -> None:
        """Passages that all share; who retrieved them is a run."""
        work = "claim__sentence__annotation"
        rows = Evidence.objects.filter(
            annotation__isnull=True,
            removed="",
            claim__removed="",
            claim__sentence__removed="",
            **{f"{work}__in": self._decomposed()},
        ).order_by("pk")
        labels = ("url", "content_hash", "retrieved_at")
        columns = (work, "public_id", "run", "run__public_id", "claim__public_id", *labels)
        for annotation, public_id, run, run_id, claim, *values in rows.values_list(*columns):
            if run is not None:
                self.runs[self.document_of[annotation]].add(run)
            made_by = ("run", run_id) if run_id else self._import_of(annotation)
            found = dict(zip(labels, values, strict=True))
            self._add(annotation, Thing("evidence", public_id, found, True, made_by, [("claim", claim)]))

    def _import_of(self, decompose: int) -> Named | None:
        """What brought a passage that no run retrieved: the import that brought its claim, if that was imported."""
        works = self.found[self.document_of[decompose]].works
        by_people = any(work.stage == Stage.DECOMPOSE and not work.is_agreed for work in works)
        return None if by_people else ("annotation", self.ids[decompose])

    def _edits(self) -> None:
        labels = ("kind", "start", "end", "replacement")
        rows = EditOperation.objects.filter(verdict__annotation__in=self.document_of).order_by("pk")
        columns = ("verdict__annotation", "public_id", "verdict__public_id", *labels)
        for annotation, public_id, verdict, *values in rows.values_list(*columns):
            if verdict in self.verdicts:
                found, of = dict(zip(labels, values, strict=True)), self.verdicts[verdict]
                self._add(annotation, Thing("edit", public_id, found, of.is_agreed, of.made_by, [("verdict", verdict)]))

    def _rests(self) -> None:
        """What verdicts rest on is part of what they were made of."""
        rows = RestsOn.objects.filter(verdict__annotation__in=self.document_of).order_by("order", "pk")
        for verdict, evidence in rows.values_list("verdict__public_id", "evidence__public_id"):
            if verdict in self.verdicts:
                self.verdicts[verdict].derived_from.append(("evidence", evidence))

    def _suggestions(self, kind: Suggested) -> None:
        columns = ["public_id", kind.run, f"{kind.run}__public_id", *kind.parents.values(), *kind.labels]
        rows = kind.model._default_manager.order_by("pk")
        if kind.document:
            over = [pk for pk, stages in self.over.items() if kind.stage in stages]
            rows = rows.filter(**{f"{kind.document}__in": over})
            place = kind.document
        else:
            rows = rows.filter(**{f"{kind.agreed}__in": self._decomposed()})
            place = f"{kind.agreed}__document"
        for document, public_id, run, run_id, *values in rows.values_list(place, *columns):
            if kind.stage not in self.over[document]:
                continue
            self.runs[document].add(run)
            parents = list(zip(kind.parents, values, strict=False))
            labels = dict(zip(kind.labels, values[len(kind.parents) :], strict=True))
            made_of = parents or [("document", self.found[document].public_id)]
            self.found[document].things.append(Thing(kind.name, public_id, labels, False, ("run", run_id), made_of))

    def _runs(self) -> None:
        rows = PipelineRun.objects.in_bulk({run for runs in self.runs.values() for run in runs})
        for document, runs in self.runs.items():
            for row in (rows[pk] for pk in sorted(runs)):
                self.found[document].runs.append(
                    Run(row.public_id, row.stage, row.strategy, row.started_at, row.finished_at, row.plan)
                )
