"""Provenance as W3C PROV-JSON: one complete PROV document per line for each document of the benchmark.

Entities are the document, the rows of finished stages (people's and adjudicated ones) and suggestions. Activities are
runs, annotations, adjudications and imports. Agents are people and software (docs/formats/prov.md). Every line is small
enough for any PROV-JSON reader. Identifiers are the same in every line and every export, so lines can be merged.
Format: https://www.w3.org/submissions/prov-json/.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db.models import Q

from annotator.core.models import Benchmark
from annotator.exchange.native import touchstone
from annotator.exchange.queries.provenance import Named, Provenance, ProvenanceWork, Run, Thing, provenance_of
from annotator.exchange.tables.tables import time_text

KINDS = (
    "document", "sentence", "claim", "evidence", "stance", "verdict", "edit", "claim-revision", "sentence-revision",
    "response-revision", "sentence-suggestion", "claim-suggestion", "stance-suggestion", "verdict-suggestion",
    "revision-suggestion", "annotation", "run", "guidelines", "person", "software",
)  # fmt: skip
PREFIXES = {"ts": "urn:touchstone:term:"} | {kind: f"urn:touchstone:{kind}:" for kind in KINDS}
_SOFTWARE = "software:touchstone"


def lines(
    benchmark: Benchmark,
    *,
    include: str = "gold",
    named: bool = False,
    among: Q | None = None,
    on_document: Callable[[], None] = lambda: None,
) -> Iterator[bytes]:
    """A line for each document, with its line break. ``include`` and ``among`` as in
    ``annotator.exchange.queries.export``; ``named``: people by user name instead of pseudonym; ``on_document`` is
    called after each line."""
    for each in provenance_of(benchmark, include=include, named=named, among=among):
        yield touchstone.line(prov_document(each, benchmark.public_id))
        on_document()


def prov_document(provenance: Provenance, benchmark_id: str) -> dict[str, Any]:
    """One PROV document as PROV-JSON."""
    return _Writer(provenance, benchmark_id).document()


class _Writer:
    def __init__(self, provenance: Provenance, benchmark_id: str) -> None:
        self.provenance = provenance
        self.benchmark_id = benchmark_id
        self.entities: dict[str, dict[str, Any]] = {}
        self.activities: dict[str, dict[str, Any]] = {}
        self.agents: dict[str, dict[str, Any]] = {}
        self.relations: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)

    def document(self) -> dict[str, Any]:
        each = self.provenance
        name = f"document:{each.public_id}"
        self.entities[name] = _typed("ts:Document", source=each.source, model=each.model, added_at=each.imported_at)
        self.agents[_SOFTWARE] = _typed("prov:SoftwareAgent", version=settings.VERSION) | {"prov:label": "Touchstone"}
        self._model_of(name, each.model)
        for run in each.runs:
            self._run(run, name)
        for work in each.works:
            self._work(work, name)
        for thing in each.things:
            self._thing(thing)
        parts = {"entity": self.entities, "activity": self.activities, "agent": self.agents, **self.relations}
        return {"prefix": PREFIXES} | {part: records for part, records in parts.items() if records}

    def _model_of(self, document: str, model: str) -> None:
        """The language model that wrote the response."""
        if model:
            agent = self._software("model", model)
            self._relate("wasAttributedTo", {"prov:entity": document, "prov:agent": agent})

    def _run(self, run: Run, document: str) -> None:
        name = f"run:{run.public_id}"
        plan = run.plan
        self.activities[name] = _typed(
            "ts:Run",
            stage=run.stage,
            parameters=json.dumps(plan.get("parameters", {}), ensure_ascii=False, sort_keys=True),
            seed=plan.get("seed"),
            temperature=plan.get("temperature"),
            corpus_revision=plan.get("corpus_revision"),
            prompts=[
                f"{key}: {each['label']}, {each['digest']}" for key, each in sorted(plan.get("prompts", {}).items())
            ],
        ) | _times(run.began, run.ended)
        self._relate("used", {"prov:activity": name, "prov:entity": document})
        agents = [_SOFTWARE, self._software("strategy", run.strategy)]
        if plan.get("model"):
            agents.append(self._software("model", plan["model"]))
        for agent in agents:
            self._relate("wasAssociatedWith", {"prov:activity": name, "prov:agent": agent})

    def _software(self, kind: str, called: str) -> str:
        name = f"software:{kind}.{quote(called, safe='')}"
        self.agents[name] = _typed("prov:SoftwareAgent", kind=kind) | {"prov:label": called}
        return name

    def _work(self, work: ProvenanceWork, document: str) -> None:
        name = f"annotation:{work.public_id}"
        people = [each for each in self.provenance.works if each.stage == work.stage and not each.is_adjudicated]
        kind = "ts:Annotation"
        if work.is_adjudicated:
            kind = "ts:Consolidation" if people else "ts:Import"
        independent = None if work.is_adjudicated else work.independent
        self.activities[name] = _typed(kind, stage=work.stage, independent=independent) | _times(work.began, work.ended)
        self._relate("used", {"prov:activity": name, "prov:entity": document})
        if work.guidelines:
            guidelines = f"guidelines:{self.benchmark_id}.{work.guidelines}"
            self.entities[guidelines] = _typed("ts:Guidelines", number=work.guidelines)
            self._relate("used", {"prov:activity": name, "prov:entity": guidelines})
        if not work.is_adjudicated:
            self._associate(name, work.person, "ts:annotator")
            return
        for each in people:
            self._relate("wasInformedBy", {"prov:informed": name, "prov:informant": f"annotation:{each.public_id}"})
        # With one annotator there is no sign-off: what they submitted is final.
        signers = work.signers or [(each.person, False) for each in people]
        for person, as_third_rater in signers:
            self._associate(name, person, "ts:third-rater" if as_third_rater else "ts:annotator")
        self._relate("wasAssociatedWith", {"prov:activity": name, "prov:agent": _SOFTWARE})

    def _associate(self, activity: str, person: str, role: str) -> None:
        agent = f"person:{quote(person, safe='')}"
        self.agents[agent] = _typed("prov:Person")
        self._relate(
            "wasAssociatedWith", {"prov:activity": activity, "prov:agent": agent, "prov:role": _qualified(role)}
        )

    def _thing(self, thing: Thing) -> None:
        name = f"{thing.kind}:{thing.public_id}"
        self.entities[name] = record = {"prov:type": _TYPES[thing.kind], "ts:agreed": thing.is_adjudicated}
        _describe(record, thing.labels)
        if thing.made_by is not None:
            self._relate("wasGeneratedBy", {"prov:entity": name, "prov:activity": _name(thing.made_by)})
        for each in thing.derived_from:
            self._relate("wasDerivedFrom", {"prov:generatedEntity": name, "prov:usedEntity": _name(each)})

    def _relate(self, relation: str, ends: dict[str, Any]) -> None:
        records = self.relations[relation]
        records[f"_:{relation}{len(records) + 1}"] = ends


def _name(of: Named) -> str:
    return f"{of[0]}:{of[1]}"


def _qualified(name: str) -> dict[str, str]:
    return {"$": name, "type": "prov:QUALIFIED_NAME"}


# The type of a kind: ts:ClaimRevision for claim-revision.
_TYPES = {kind: _qualified("ts:" + "".join(part.capitalize() for part in kind.split("-"))) for kind in KINDS}


def _typed(kind: str, /, **attributes: Any) -> dict[str, Any]:
    """A record of a type with attributes from Touchstone's vocabulary."""
    record = {"prov:type": _qualified(kind)}
    _describe(record, attributes)
    return record


def _describe(record: dict[str, Any], attributes: dict[str, Any]) -> None:
    """Add the attributes to the record. Blank ones are left out, but not 0 and false."""
    for name, value in attributes.items():
        if isinstance(value, dt.datetime):
            record[f"ts:{name}"] = {"$": time_text(value), "type": "xsd:dateTime"}
        elif value or value == 0:
            record[f"ts:{name}"] = value


def _times(began: dt.datetime | None, ended: dt.datetime | None) -> dict[str, str]:
    named = {"prov:startTime": began, "prov:endTime": ended}
    return {name: time_text(moment) for name, moment in named.items() if moment is not None}
