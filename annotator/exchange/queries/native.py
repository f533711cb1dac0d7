"""Streams a benchmark in its native format: the header, then a chunk of documents at a time, one query per table that
has rows of this benchmark.

Exported for a document: its own fields, the suggestions, and for each finished stage (adjudicated, as are all before
it) everyone's work, the adjudicated version and the discussion. Nothing of an unfinished stage is exported, whoever
asks: the document is written as if at the start of that stage. Studies follow the documents, each as in its own file.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from operator import itemgetter
from typing import Any

from django.db.models import Q, QuerySet

from annotator.core.models import (
    Activity,
    Annotation,
    Benchmark,
    ClaimSuggestion,
    Document,
    Evidence,
    Flag,
    Membership,
    PageSnapshot,
    PipelineRun,
    ProtocolVersion,
    RevisionSuggestion,
    RunItem,
    SentBack,
    SentenceSuggestion,
    StanceSuggestion,
    StepUse,
    VerdictSuggestion,
)
from annotator.core.queries.pseudonyms import Keys
from annotator.core.visibility import sees_annotation
from annotator.core.vocabulary import STAGES, AnnotationKind, AnnotationState, Phase, RunState, Stage
from annotator.exchange.formats.incoming import hash_of
from annotator.exchange.native import touchstone
from annotator.exchange.native.touchstone import NativeTable, in_order
from annotator.exchange.native.touchstone_protocols import stage_row, version_row
from annotator.exchange.queries.export import documents_to_export
from annotator.exchange.queries.native_tables import DOCUMENTS, Filled, Links, Row, filled, row_of, rows_of, through
from annotator.studies.queries.native import native_lines

CHUNK = 100  # documents

# The person at the start of one of Touchstone's own sentences: "Ada has left the benchmark", "Ada is researcher now".
WHO_LEFT = re.compile(r"^.+?(?= has left | is [a-z ]+ now$)")

# The stage of a table's annotations; any stage if it isn't listed.
_STAGES = {
    "sentences": Stage.DECOMPOSE,
    "claims": Stage.DECOMPOSE,
    "stances": Stage.VERIFY,
    "verdicts": Stage.VERIFY,
    "edits": Stage.VERIFY,
    "rests_on": Stage.VERIFY,
    "claim_revisions": Stage.REVISE,
    "sentence_revisions": Stage.REVISE,
    "response_revisions": Stage.REVISE,
}

# Values in a plan that are primary keys, which mean nothing elsewhere.
ONLY_HERE = ("corpus", "claims")


def lines(
    benchmark: Benchmark,
    *,
    include: str = "gold",
    named: bool = False,
    among: Q | None = None,
    on_document: Callable[[], None] = lambda: None,
) -> Iterator[bytes]:
    """The lines of the file. ``include`` is as in ``annotator.exchange.queries.export``; ``named``: user names instead
    of pseudonyms."""
    people = Keys(benchmark, named=named)
    yield touchstone.line(_header(benchmark, include, people, among))
    for each in _documents(benchmark, include, people, among):
        yield touchstone.line(each)
        on_document()
    if _has_studies(include, among):
        for study in benchmark.studies.select_related("version", "benchmark").order_by("pk"):
            for line in native_lines(study, named=named):
                yield f"{line}\n".encode()


def _has_studies(include: str, among: Q | None) -> bool:
    """Studies are part of the whole benchmark, not of its gold or of chosen documents."""
    return include == "all" and among is None


def _documents(benchmark: Benchmark, include: str, people: Keys, among: Q | None) -> Iterator[Row]:
    chosen = documents_to_export(benchmark, include, among)
    keys = array("q", chosen.order_by("order", "pk").values_list("pk", flat=True).iterator())
    tables = filled(benchmark)
    for start in range(0, len(keys), CHUNK):
        # Checked again, because someone may have reopened a document in the meantime.
        part = chosen.filter(pk__in=keys[start : start + CHUNK]).select_related("batch").order_by("order", "pk")
        yield from _NativeChunk(list(part), people, tables).documents()


# --- the header -----------------------------------------------------------------------------------


def _header(benchmark: Benchmark, include: str, people: Keys, among: Q | None) -> Row:
    members = [
        {"person": people.key(member.user_id), "role": member.role, "active": member.active}
        | ({"name": member.user.display_name} if people.named and member.user.display_name else {})
        for member in Membership.objects.filter(benchmark=benchmark).select_related("user")
    ]
    groups = list(benchmark.groups.order_by("pk").prefetch_related("members"))
    rows: tuple[tuple[NativeTable, Iterable[Any]], ...] = (
        (touchstone.GUIDELINES, benchmark.guidelines.order_by("number")),
        (touchstone.PROMPTS, benchmark.prompts.order_by("name", "number")),
        (touchstone.GROUPS, groups),
        (touchstone.SEATS, [seat for group in groups for seat in group.members.all()]),
        (touchstone.BATCHES, benchmark.batches.order_by("pk")),
    )
    links = {"groups": {group.pk: group.public_id for group in groups}}
    return {
        "format": touchstone.NAME,
        "version": touchstone.VERSION,
        "include": include,
        "people": "named" if people.named else "pseudonyms",
        "benchmark": {"id": benchmark.public_id, "slug": benchmark.slug, "name": benchmark.name},
        "protocol": {name: in_order(getattr(benchmark, name)) for name in touchstone.PROTOCOL},
        "members": sorted(members, key=lambda member: member["person"]),
        **_protocols(benchmark, has_studies=_has_studies(include, among)),
        **{table.name: [row_of(table, each, people, links) for each in found] for table, found in rows},
        "configurations": _configurations(benchmark, include, among),
    }


def _protocols(benchmark: Benchmark, *, has_studies: bool) -> Row:
    """The frozen version by which the stages ask, and beside studies all other versions of protocols."""
    found: Row = {}
    versions = list(ProtocolVersion.objects.filter(benchmark=benchmark).order_by("name", "number"))
    asked = next((each for each in versions if each.sha256 == benchmark.protocol_sha256), None)
    if asked is not None:
        found["stage_protocol"] = stage_row(asked)
    others = [version_row(each) for each in versions if each is not asked]
    return found | ({"protocols": others} if has_studies and others else {})


def _configurations(benchmark: Benchmark, include: str, among: Q | None) -> dict[str, Row]:
    """What the plans of runs over these documents have in common, by hash: as many as settings were changed."""
    items = RunItem.objects.filter(document__in=documents_to_export(benchmark, include, among))
    found: dict[str, Row] = {}
    for plan in PipelineRun.objects.filter(pk__in=items.values("run")).values_list("plan", flat=True).iterator():
        if not _is_search(plan):
            shared = _shared(plan)
            found.setdefault(_digest(shared), shared)
    return dict(sorted(found.items()))


def _is_search(plan: Row) -> bool:
    """A run that retrieved evidence for one person; it is part of that person's work."""
    return "annotation" in plan


def _shared(plan: Row) -> Row:
    return {name: in_order(plan[name]) for name in touchstone.SHARED if name in plan}


def _digest(shared: Row) -> str:
    return hash_of(shared)[:16]


# --- rows -----------------------------------------------------------------------------------------


def _settled(state: str) -> str:
    """The state of a run or its item in the file, where everything is finished."""
    is_over = state in (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED)
    return state if is_over else RunState.CANCELLED.value


# --- documents ------------------------------------------------------------------------------------


class _NativeChunk:
    """Reads all tables of some documents."""

    def __init__(self, documents: list[Document], people: Keys, filled: Filled) -> None:
        self.documents_in_order = documents
        self.people = people
        self.filled = filled
        self.links: Links = {}
        self.tables: dict[int, dict[str, list[Row]]] = {each.pk: {} for each in documents}
        self.over: dict[int, list[Stage]] = {}
        self.shown: dict[int, int] = {}  # the exported annotations, with their documents
        self.shown_at: dict[str, list[int]] = {stage: [] for stage in STAGES}
        self._choose_annotations()
        for table in filled:
            self._read(table)

    def documents(self) -> Iterator[Row]:
        for document in self.documents_in_order:
            row = row_of(touchstone.DOCUMENT, document, self.people, self.links)
            over = self.over[document.pk]
            row["stage"] = STAGES[min(len(over), len(STAGES) - 1)].value
            row["phase"] = (Phase.AGREED if len(over) == len(STAGES) else Phase.INDEPENDENT).value
            if document.batch is not None:
                row["batch"] = document.batch.public_id
            yield row | self.tables[document.pk]

    def _choose_annotations(self) -> None:
        """The finished stages, and therefore whose work may be seen."""
        rows: dict[int, list[Annotation]] = {}
        for annotation in Annotation.objects.filter(document__in=self.tables).order_by("pk"):
            rows.setdefault(annotation.document_id, []).append(annotation)
        for document in self.documents_in_order:
            own = rows.get(document.pk, [])
            adjudicated = {
                each.stage
                for each in own
                if each.kind == AnnotationKind.CONSOLIDATED and each.state == AnnotationState.SUBMITTED
            }
            self.over[document.pk] = over = list(takewhile(lambda stage: stage in adjudicated, STAGES))  # noqa: B023
            for each in own:
                if sees_annotation(
                    is_own=False,
                    phase=document.phase,
                    stage_is_over=each.stage in over,
                    everyone_submitted=False,
                    is_member=True,
                ):
                    self.shown[each.pk] = document.pk
                    self.shown_at[each.stage].append(each.pk)

    def _read(self, table: NativeTable) -> None:
        """All rows of a table, grouped by document."""
        if table is touchstone.PAGES:
            self._read_pages()
            return
        rows, owner = self._rows(table)
        names = [*table.fields, *(f"{name}_id" for name in (*table.links, *table.people))]
        identity = "public_id" if table.has_id else "pk"
        # Sorted here rather than by the database, which would sort long passages on disk.
        found = sorted(rows.order_by().values_list("pk", owner, identity, *names), key=itemgetter(0))
        if not found:
            return
        pks, owners, *columns = zip(*found, strict=True)
        self.links.setdefault(table.name, {}).update(zip(pks, columns[0], strict=True))
        written = rows_of(table, columns, self.people, self.links)
        of_annotation = owner == "pk" or owner.endswith("annotation")
        for of, row in zip(owners, written, strict=True):
            document = self.shown[of] if of_annotation else of
            self.tables[document].setdefault(table.name, []).append(row)
        by_key = list(zip(pks, written, strict=True))
        for name, target in self.filled[table].items():
            self._read_list(table, name, target, dict(by_key))
        self._finish(table, by_key)

    def _read_list(self, table: NativeTable, name: str, target: str, found: dict[int, Row]) -> None:
        """The rows that an adjudicated row was made from."""
        between, one, other = through(table, name)
        made = {f"{one}__{table.annotation or 'annotation'}__in": list(self.shown)}
        pairs = between._default_manager.filter(**made).order_by("pk").values_list(f"{one}_id", f"{other}_id")
        for pk, linked in pairs:
            if pk in found and linked in self.links.get(target, {}):
                found[pk].setdefault(name, []).append(self.links[target][linked])

    def _read_pages(self) -> None:
        """A page is in the line of each document with evidence from it, sorted by id, because row order would differ
        after an import."""
        evidence, owner = self._rows(touchstone.EVIDENCE)
        found = evidence.filter(snapshot__isnull=False).values_list("snapshot", owner)
        pairs = {(page, self.shown[annotation]) for page, annotation in found}
        pages = PageSnapshot.objects.filter(pk__in={page for page, _ in pairs}).order_by("public_id")
        ids = self.links[touchstone.PAGES.name] = {}
        for page in pages:
            ids[page.pk] = page.public_id
            for document in self.tables:
                if (page.pk, document) in pairs:
                    row = row_of(touchstone.PAGES, page, self.people, self.links)
                    self.tables[document].setdefault(touchstone.PAGES.name, []).append(row)

    def _finish(self, table: NativeTable, found: list[tuple[int, Row]]) -> None:
        """What the columns alone don't say."""
        match table.name:
            case "runs":
                for _, row in found:
                    row["state"] = _settled(row["state"])
                    self._write_plan(row)
            case "run_items":
                for pk, row in found:
                    row["state"] = _settled(row["state"])
                    self.links[table.name][pk] = row["run"]
            case "annotations":
                numbers = Annotation.objects.filter(pk__in=list(self.shown), guidelines__isnull=False)
                rows = dict(found)
                for pk, number in numbers.values_list("pk", "guidelines__number"):
                    rows[pk]["guidelines"] = number
                self._name_searches()
            case "tallies":
                for _, row in found:
                    row["people"] = [self.people.key(pk) for pk in row["people"]]
            case "activities":
                for _, row in found:
                    if row["action"] == "take-back" and "reason" in row:
                        row["reason"] = self._nameless(row["reason"], row.get("annotation", ""))

    def _nameless(self, reason: str, annotation: str) -> str:
        """Why work was withdrawn, without names, even if the person was renamed since."""
        rows = (row for tables in self.tables.values() for row in tables.get(touchstone.ANNOTATIONS.name, ()))
        person = next((row.get("person", "") for row in rows if row["id"] == annotation), "")
        if person and not self.people.named:
            reason = WHO_LEFT.sub(lambda _: person, reason)
        return self.people.without_names(reason)

    def _write_plan(self, row: Row) -> None:
        plan = row.pop("plan", {})
        rest = {name: value for name, value in plan.items() if name not in ONLY_HERE}
        if not _is_search(plan):
            shared = _shared(plan)
            row["configuration"] = _digest(shared)
            rest = {name: value for name, value in rest.items() if name not in shared}
        if rest:
            row["plan"] = in_order(rest)

    def _name_searches(self) -> None:
        """A plan refers to its annotation by primary key."""
        for tables in self.tables.values():
            for row in tables.get(touchstone.RUNS.name, ()):
                if _is_search(row.get("plan", {})):
                    row["plan"]["annotation"] = self.links["annotations"][row["plan"]["annotation"]]

    def _rows(self, table: NativeTable) -> tuple[QuerySet[Any], str]:
        """The exported rows of a table, and the path to their annotation ("pk" is its own), or to their document."""
        shown = list(self.shown)
        if table.annotation is not None:
            path = table.annotation or "pk"
            stage = _STAGES.get(table.name)
            # Selects as few keys as possible: with many, PostgreSQL reads whole tables.
            annotations = shown if stage is None else self.shown_at[stage]
            return table.model._default_manager.filter(**{f"{path}__in": annotations}), path
        owner = f"{DOCUMENTS[table.name]}_id"
        documents = list(self.tables)
        decomposed = self.shown_at[Stage.DECOMPOSE]
        through_claim = "claim__sentence__annotation"
        match table.name:
            case "runs":
                rows: QuerySet[Any] = PipelineRun.objects.filter(items__document__in=documents)
                mine = Q(plan__annotation__isnull=True) | Q(plan__annotation__in=shown)
                return rows.filter(mine), owner
            case "run_items":
                known = list(self.links.get("runs", ()))
                return RunItem.objects.filter(document__in=documents, run__in=known), owner
            case "step_uses":
                return StepUse.objects.filter(item__in=list(self.links.get("run_items", ()))), owner
            case "sentence_suggestions":
                return SentenceSuggestion.objects.filter(document__in=self._hinted(Stage.DECOMPOSE)), owner
            case "claim_suggestions":
                hinted = self._hinted(Stage.DECOMPOSE)
                return ClaimSuggestion.objects.filter(sentence__document__in=hinted), owner
            case "revision_suggestions":
                return RevisionSuggestion.objects.filter(document__in=self._hinted(Stage.REVISE)), owner
            case "evidence":
                rows = Evidence.objects.filter(Q(annotation__isnull=True) | Q(annotation__in=shown))
                return rows.filter(**{f"{through_claim}__in": decomposed}), through_claim
            case "stance_suggestions":
                path = f"evidence__{through_claim}"
                rows = StanceSuggestion.objects.filter(
                    Q(evidence__annotation__isnull=True) | Q(evidence__annotation__in=shown)
                )
                return rows.filter(**{f"{path}__in": self._open_to_hints()}), path
            case "verdict_suggestions":
                claims = {f"{through_claim}__in": self._open_to_hints()}
                return VerdictSuggestion.objects.filter(**claims), through_claim
            case "flags":
                return Flag.objects.filter(document__in=documents), owner
            case "sent_back":
                return SentBack.objects.filter(**{f"{through_claim}__in": decomposed}), owner
            case _:
                of_document = Q(annotation__isnull=True) & ~Q(action="open")
                return (
                    Activity.objects.filter(of_document | Q(annotation__in=shown), document__in=documents),
                    owner,
                )

    def _hinted(self, stage: Stage) -> list[int]:
        """The documents whose suggestions for a stage are exported: not while people label blind first."""
        return [each.pk for each in self.documents_in_order if stage in self.over[each.pk] or not each.blind_first]

    def _open_to_hints(self) -> list[int]:
        """The decompose annotations for whose claims verify suggestions are exported."""
        hinted = set(self._hinted(Stage.VERIFY))
        return [pk for pk in self.shown_at[Stage.DECOMPOSE] if self.shown[pk] in hinted]
