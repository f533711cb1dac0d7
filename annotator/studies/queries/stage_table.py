"""The answers of the stages as a long table like that of a study: one row per answer, for declared fields and added
questions. Only finished stages are included, because work is blind until then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotator.core.fields import Field, Kind, fields_of
from annotator.core.models import (
    Annotation,
    Benchmark,
    Claim,
    ClaimRevision,
    ProtocolVersion,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    Verdict,
)
from annotator.core.protocol import chosen
from annotator.core.queries.protocols import added_questions, asked_of
from annotator.core.queries.pseudonyms import Keys
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Origin, Stage

ADJUDICATED = "adjudicated"  # in place of an annotator
CHUNK = 200  # annotations
# By stage: kind of record, model, the path to its annotation, the path to its place.
RECORDS: dict[str, tuple[tuple[str, Any, str, str], ...]] = {
    Stage.DECOMPOSE: (
        ("sentence", Sentence, "annotation", "order"),
        ("claim", Claim, "sentence__annotation", "order"),
    ),
    Stage.VERIFY: (
        ("stance", Stance, "annotation", "evidence__order"),
        ("verdict", Verdict, "annotation", "claim__order"),
    ),
    Stage.REVISE: (
        ("sentence-revision", SentenceRevision, "annotation", "sentence__order"),
        ("claim-revision", ClaimRevision, "annotation", "claim__order"),
        ("response-revision", ResponseRevision, "annotation", ""),
    ),
}


def stage_rows(benchmark: Benchmark, *, named: bool) -> Iterator[dict[str, Any]]:
    """Every answer of each finished stage, document by document. ``named``: user names instead of pseudonyms."""
    keys = Keys(benchmark, named=named)
    version = ProtocolVersion.objects.filter(benchmark=benchmark, sha256=benchmark.protocol_sha256).first()
    protocol = f"{version.name} {version.number}" if version else ""
    rows = Annotation.objects.filter(
        document__benchmark=benchmark, document__twin_of__isnull=True, state=AnnotationState.SUBMITTED
    )
    over = set(rows.filter(kind=AnnotationKind.CONSOLIDATED).values_list("document", "stage"))
    chosen_rows = [
        each
        for each in rows.defer("document__response").select_related("document").order_by("document__order", "pk")
        if (each.document_id, each.stage) in over
    ]
    for start in range(0, len(chosen_rows), CHUNK):
        part = {each.pk: each for each in chosen_rows[start : start + CHUNK]}
        for annotation, kind, place, record in _records(part):
            for question, values, words, origin in _answers(record, kind, benchmark):
                yield {
                    "study": "",
                    "protocol": protocol,
                    "round": annotation.stage,
                    "item": annotation.document.external_id or annotation.document.public_id,
                    "stratum": annotation.document.source,
                    "record": kind.replace("-", "_"),
                    "record_id": record.public_id,
                    "record_source": "",
                    "rank": place,
                    "annotator": keys.key(annotation.person_id) if annotation.person_id else ADJUDICATED,
                    "question": question,
                    "value": values,
                    "value_label": words,
                    "shown_order": "",
                    "origin": origin,
                    "changed_at": "",
                    "submitted_at": annotation.submitted_at.isoformat() if annotation.submitted_at else "",
                    "seconds": annotation.active_seconds,
                }


def _records(annotations: dict[int, Annotation]) -> Iterator[tuple[Annotation, str, int, Any]]:
    found: list[tuple[int, int, Annotation, str, int, Any]] = []
    in_order = {pk: number for number, pk in enumerate(annotations)}
    for stage, kinds in RECORDS.items():
        own = [pk for pk, each in annotations.items() if each.stage == stage]
        for number, (kind, model, path, order) in enumerate(kinds):
            rows = model._default_manager.filter(**{f"{path}__in": own}).order_by(*([order] if order else []), "pk")
            if hasattr(model, "removed"):
                rows = rows.filter(removed="")
            related = [each.rpartition("__")[0] for each in (path, order) if "__" in each]
            for record in rows.select_related(*related) if related else rows:
                pk = record.sentence.annotation_id if kind == "claim" else record.annotation_id
                place: Any = record
                for step in order.split("__") if order else ():
                    place = getattr(place, step)
                found.append((in_order[pk], number, annotations[pk], kind, place if order else 1, record))
    found.sort(key=lambda each: each[:2])
    for _, _, annotation, kind, place, record in found:
        yield annotation, kind, place, record


def _answers(record: Any, kind: str, benchmark: Benchmark) -> Iterator[tuple[str, str, str, str]]:
    """For each answer: question, value, the value as people read it, and origin."""
    for field in fields_of(kind):
        value = None if field.kind == Kind.EDIT else getattr(record, field.name)
        if value in (None, "", []) or not field.is_asked(record):
            continue
        origin = getattr(record, f"{field.name}_origin") if field.has_origin else Origin.HUMAN.value
        yield field.name, _text(value), _words(field, value), origin
    if not added_questions(benchmark, kind):
        return
    for question in asked_of(record, kind, benchmark):
        value = record.answers.get(question.key)
        values = sorted(chosen(value))
        if values:
            words = "; ".join(question.words_of(each) for each in values)
            yield question.key, "; ".join(values), words, Origin.HUMAN.value


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(f"{start}-{end}" for start, end in value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _words(field: Field, value: Any) -> str:
    if field.words is not None:
        return field.words(value).label
    return _text(value).capitalize() if isinstance(value, bool) else str(value)
