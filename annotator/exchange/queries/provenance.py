"""Where every adjudicated label came from, a chunk of documents at a time: the rows of finished stages, their sources,
the suggestions they started as, and the runs, people and guidelines behind them.

Nothing of an unfinished stage is read, whoever asks. Texts are left out: tables and the other formats have them under
the same public ids.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import itemgetter
from typing import Any

from django.db.models import Model, Q, QuerySet

from annotator.core.models import (
    Annotation,
    Benchmark,
    Document,
    EditOperation,
    Evidence,
    PipelineRun,
    RestsOn,
    SignOff,
)
from annotator.core.queries.pseudonyms import Keys
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Stage
from annotator.exchange.queries.export import documents_to_export
from annotator.exchange.queries.provenance_kinds import KINDS, OF_RESPONSE, SUGGESTED, ProvenanceKind, SuggestedValue

CHUNK = 100  # documents

Named = tuple[str, str]  # kind and public id of a row


@dataclass(slots=True)
class ProvenanceWork:
    """One person's work on a stage, or its adjudication. ``signers``: who signed off, and whether as adjudicator;
    ``guidelines``: the version used, 0 for none."""

    public_id: str
    stage: str
    is_adjudicated: bool
    person: str
    began: dt.datetime
    ended: dt.datetime | None
    independent: bool
    guidelines: int
    signers: list[tuple[str, bool]] = field(default_factory=list)


@dataclass(slots=True)
class Thing:
    """One row. ``made_by``: an annotation or a run, as (kind, public id), or None if unknown. ``derived_from``:
    sources, suggestion and parents."""

    kind: str
    public_id: str
    labels: dict[str, Any]
    is_adjudicated: bool
    made_by: Named | None
    derived_from: list[Named] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """A run of a strategy with its plan; ``prompts``: versions and their digests, by name."""

    public_id: str
    stage: str
    strategy: str
    began: dt.datetime | None
    ended: dt.datetime | None
    plan: dict[str, Any]


@dataclass(slots=True)
class Provenance:
    """All provenance of one document."""

    public_id: str
    source: str
    model: str
    imported_at: dt.datetime
    works: list[ProvenanceWork] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)


def provenance_of(
    benchmark: Benchmark, *, include: str = "gold", named: bool = False, among: Q | None = None
) -> Iterator[Provenance]:
    """The documents in their order. ``include`` and ``among`` as in ``annotator.exchange.queries.export``; ``named``:
    user names instead of pseudonyms. Some thirty queries a chunk, half as many where a benchmark was imported."""
    people = Keys(benchmark, named=named)
    chosen = documents_to_export(benchmark, include, among)
    keys = array("q", chosen.order_by("order", "pk").values_list("pk", flat=True).iterator())
    filled = _filled(benchmark)
    for start in range(0, len(keys), CHUNK):
        part = chosen.filter(pk__in=keys[start : start + CHUNK]).order_by("order", "pk")
        yield from _ProvenanceChunk(
            list(part.defer("prompt", "response", "released", "metadata")), people, filled
        ).found.values()


@dataclass(frozen=True, slots=True)
class _Filled:
    """What the benchmark has at all, queried once: kinds with rows made from others, and suggestions."""

    with_sources: frozenset[str]
    suggested: tuple[SuggestedValue, ...]


def _filled(benchmark: Benchmark) -> _Filled:
    def has(model: type[Model], document: str) -> bool:
        return model._default_manager.filter(**{f"{document}__benchmark": benchmark}).exists()

    return _Filled(
        frozenset(kind.name for kind in KINDS if has(_sources_of(kind), f"{_from(kind)}__{kind.work}__document")),
        tuple(kind for kind in SUGGESTED if has(kind.model, kind.document or f"{kind.adjudicated}__document")),
    )


def _sources_of(kind: ProvenanceKind) -> type[Model]:
    """The model between an adjudicated row and the rows it was made from."""
    found: type[Model] = kind.model._meta.get_field("sources").remote_field.through  # type: ignore[union-attr]
    return found


def _from(kind: ProvenanceKind) -> str:
    """Its foreign key to the adjudicated row."""
    return f"from_{kind.model._meta.model_name}"


_RETRIEVED = ("url", "content_hash", "retrieved_at")  # labels of a retrieved passage


# --- reading ----------------------------------------------------------------------------------------


class _ProvenanceChunk:
    """Reads everything of some documents, kind by kind. ``over``: each document's finished stages.

    Rows refer to each other by primary key and are joined here: a join in the database would make PostgreSQL read whole
    tables for each chunk.
    """

    def __init__(self, documents: list[Document], people: Keys, filled: _Filled) -> None:
        self.people = people
        self.filled = filled
        self.found = {row.pk: Provenance(row.public_id, row.source, row.model, row.created_at) for row in documents}
        self.document_of: dict[int, int] = {}  # by annotation
        self.stage_of: dict[int, str] = {}
        self.ids: dict[int, str] = {}  # public ids of annotations
        self.adjudicated: dict[int, str] = {}  # adjudicated annotations with their stages
        self.named: dict[str, dict[int, str]] = {kind.name: {} for kind in KINDS}  # public ids by key
        self.removed: dict[str, set[int]] = {kind.name: set() for kind in KINDS}  # themselves, or the row they describe
        self.over: dict[int, set[str]] = {}
        self.verdicts: dict[int, Thing] = {}  # those read
        self.runs: dict[int, set[int]] = {row.pk: set() for row in documents}
        self._works()
        retrieved: list[tuple[Any, ...]] = []
        for kind in KINDS:
            if kind.name == "evidence":  # its claims are read, but not the rows about it
                retrieved = self._read_retrieved()
            self._rows(kind)
        self._retrieved(retrieved)
        self._edits()
        self._rests()
        for suggested in filled.suggested:
            self._suggestions(suggested)
        self._runs()

    def _works(self) -> None:
        columns = ("kind", "pk", "document_id", "stage", "public_id", "person_id", "created_at", "submitted_at")
        submitted = Annotation.objects.filter(document__in=self.found, state=AnnotationState.SUBMITTED).order_by("pk")
        rows = list(submitted.values_list(*columns, "independent", "guidelines__number"))
        adjudicated: dict[int, set[str]] = {}
        for kind, _, document, stage, *_ in rows:
            if kind == AnnotationKind.CONSOLIDATED:
                adjudicated.setdefault(document, set()).add(stage)
        self.over = {pk: set(takewhile(adjudicated.get(pk, set()).__contains__, STAGES)) for pk in self.found}
        works: dict[int, ProvenanceWork] = {}
        for kind, pk, document, stage, public_id, person, began, ended, independent, guidelines in rows:
            if stage not in self.over[document]:
                continue
            is_adjudicated = kind == AnnotationKind.CONSOLIDATED
            person_key = self.people.key(person)
            works[pk] = ProvenanceWork(
                public_id, stage, is_adjudicated, person_key, began, ended, independent, guidelines or 0
            )
            self.found[document].works.append(works[pk])
            self.document_of[pk], self.ids[pk], self.stage_of[pk] = document, public_id, stage
            if is_adjudicated:
                self.adjudicated[pk] = stage
        signed = SignOff.objects.filter(annotation__in=self.adjudicated).order_by("pk")
        for annotation, by, as_third in signed.values_list("annotation", "by", "as_third_rater"):
            works[annotation].signers.append((self.people.key(by), as_third))

    def _at(self, stage: str) -> list[int]:
        """The annotations of a stage. Selects as few keys as possible: with many, PostgreSQL reads whole tables."""
        return [pk for pk, of in self.stage_of.items() if of == stage]

    def _rows(self, kind: ProvenanceKind) -> None:
        """The rows of these annotations. Removed rows are included for people's work, but not for adjudicated
        versions."""
        # The key stands in for columns that a kind doesn't have.
        columns = ["pk", "public_id", kind.work, f"{kind.parent}_id" if kind.parent else "pk"]
        columns += ["suggestion__public_id" if kind.suggestion else "pk", *kind.labels]
        rows = kind.model._default_manager.filter(**{f"{kind.work}__in": self._at(kind.stage)})
        sources = self._sources(kind) if kind.name in self.filled.with_sources else {}
        named, removed = self.named[kind.name], self.removed[kind.name]
        parents, removed_parents = self.named.get(kind.parent, {}), self.removed.get(kind.parent, set())
        removed_at = kind.labels.index("removed") if kind.may_be_removed else None
        for pk, public_id, annotation, parent, suggestion, *values in _in_order(rows, columns):
            named[pk] = public_id
            if parent in removed_parents or (removed_at is not None and values[removed_at]):
                removed.add(pk)
                if annotation in self.adjudicated:
                    continue
            made_of: list[Named] = []
            if parent in parents:
                made_of.append((kind.parent, parents[parent]))
            if kind.suggestion and suggestion:
                made_of.append((kind.suggestion, suggestion))
            made_of += [(kind.name, source) for source in sources.get(pk, ())]
            if kind.name in OF_RESPONSE:
                made_of.append(("document", self.found[self.document_of[annotation]].public_id))
            labels = dict(zip(kind.labels, values, strict=True))
            made_by = ("annotation", self.ids[annotation])
            thing = Thing(kind.name, public_id, labels, annotation in self.adjudicated, made_by, made_of)
            self._add(annotation, thing)
            if kind.name == "verdict":
                self.verdicts[pk] = thing

    def _sources(self, kind: ProvenanceKind) -> dict[int, list[str]]:
        """Which rows an adjudicated row was made from, by public ids."""
        name = kind.model._meta.model_name
        made = {f"{_from(kind)}__{kind.work}__in": self._adjudicated_at(kind.stage)}
        rows = _sources_of(kind)._default_manager.filter(**made).order_by("pk")
        found: dict[int, list[str]] = {}
        for row, source in rows.values_list(f"{_from(kind)}_id", f"to_{name}__public_id"):
            found.setdefault(row, []).append(source)
        return found

    def _add(self, annotation: int, thing: Thing) -> None:
        self.found[self.document_of[annotation]].things.append(thing)

    def _adjudicated_at(self, stage: str) -> list[int]:
        return [pk for pk, of in self.adjudicated.items() if of == stage]

    def _read_retrieved(self) -> list[tuple[Any, ...]]:
        """The shared, valid passages: annotation and key of the claim, public id, run, labels."""
        work = "claim__sentence__annotation"
        rows = Evidence.objects.filter(
            annotation__isnull=True, **{f"{work}__in": self._adjudicated_at(Stage.DECOMPOSE)}
        )
        columns = ["pk", "public_id", "removed", work, "claim_id", "run_id", "run__public_id", *_RETRIEVED]
        standing = []
        for pk, public_id, removed, annotation, claim, *values in _in_order(rows, columns):
            self.named["evidence"][pk] = public_id
            if removed or claim in self.removed["claim"]:
                self.removed["evidence"].add(pk)
            else:
                standing.append((annotation, claim, public_id, *values))
        return standing

    def _retrieved(self, standing: list[tuple[Any, ...]]) -> None:
        """A retrieved passage was made by a run."""
        imports: dict[int, Named | None] = {}  # by annotation
        for annotation, claim, public_id, run, run_id, *values in standing:
            if run is not None:
                self.runs[self.document_of[annotation]].add(run)
            if annotation not in imports:
                imports[annotation] = self._import_of(annotation)
            made_by = ("run", run_id) if run_id else imports[annotation]
            labels = dict(zip(_RETRIEVED, values, strict=True))
            made_of = [("claim", self.named["claim"][claim])]
            self._add(annotation, Thing("evidence", public_id, labels, True, made_by, made_of))

    def _import_of(self, decompose: int) -> Named | None:
        """The source of a passage that no run retrieved: the import of its claim, if that was imported."""
        works = self.found[self.document_of[decompose]].works
        by_people = any(work.stage == Stage.DECOMPOSE and not work.is_adjudicated for work in works)
        return None if by_people else ("annotation", self.ids[decompose])

    def _edits(self) -> None:
        labels = ("kind", "start", "end", "replacement")
        rows = EditOperation.objects.filter(verdict__annotation__in=self._at(Stage.VERIFY))
        columns = ["pk", "public_id", "verdict__annotation", "verdict_id", *labels]
        for _, public_id, annotation, verdict, *values in _in_order(rows, columns):
            if verdict in self.verdicts:
                found, of = dict(zip(labels, values, strict=True)), self.verdicts[verdict]
                made_of = [("verdict", of.public_id)]
                self._add(annotation, Thing("edit", public_id, found, of.is_adjudicated, of.made_by, made_of))

    def _rests(self) -> None:
        """Evidence used for a verdict counts as its source."""
        rows = RestsOn.objects.filter(verdict__annotation__in=self._at(Stage.VERIFY)).order_by("order", "pk")
        for verdict, evidence in rows.values_list("verdict_id", "evidence_id"):
            if verdict in self.verdicts and evidence in self.named["evidence"]:
                self.verdicts[verdict].derived_from.append(("evidence", self.named["evidence"][evidence]))

    def _suggestions(self, kind: SuggestedValue) -> None:
        columns = ["public_id", kind.run, f"{kind.run}__public_id", *kind.parents.values(), *kind.labels]
        rows = kind.model._default_manager.order_by("pk")
        if kind.document:
            over = [pk for pk, stages in self.over.items() if kind.stage in stages]
            rows = rows.filter(**{f"{kind.document}__in": over})
            place = kind.document
        else:
            rows = rows.filter(**{f"{kind.adjudicated}__in": self._adjudicated_at(Stage.DECOMPOSE)})
            place = f"{kind.adjudicated}__document"
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


def _in_order(rows: QuerySet[Any], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Columns of rows, key first and sorted by it here, because the database would sort on disk."""
    return sorted(rows.order_by().values_list(*columns), key=itemgetter(0))
