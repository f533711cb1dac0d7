"""Starts from an earlier adjudicated version (imported gold, or a reopened stage taken over by someone else): the
person gets rows of their own, and the adjudicated rows record them as their source."""

from __future__ import annotations

from typing import Any, TypeVar

from annotator.core.actions.recorder import operations_as_json, read_field, write_operations, write_rests_on
from annotator.core.models import Annotation, Claim, Evidence, ResponseRevision, Sentence
from annotator.core.models.base import Record, new_public_id
from annotator.core.vocabulary import AnnotationKind

R = TypeVar("R", bound=Record)


def earlier_version(annotation: Annotation) -> Annotation | None:
    """The adjudicated version of the same stage, current or reopened."""
    return Annotation.objects.filter(
        document=annotation.document_id, stage=annotation.stage, kind=AnnotationKind.CONSOLIDATED
    ).first()


def _own_row(row: R, **own: Any) -> R:
    """A copy of an adjudicated row that belongs to the person; the adjudicated row records it as its source."""
    adjudicated_row = type(row).objects.get(pk=row.pk)  # type: ignore[attr-defined]
    copy: R = row
    copy.pk = None
    copy._state.adding = True
    copy.public_id = new_public_id()
    copy.version = 1
    copy._prefetched_objects_cache = {}  # type: ignore[attr-defined]
    for name, value in own.items():
        setattr(copy, name, value)
    copy.save()
    adjudicated_row.sources.add(copy)
    return copy


def adopt_decomposition(annotation: Annotation, earlier: Annotation) -> None:
    """Copy sentences and claims."""
    for sentence in list(earlier.sentences.all()):
        claims = list(Claim.objects.filter(sentence_id=sentence.pk))
        own = _own_row(sentence, annotation=annotation)
        for claim in claims:
            _own_row(claim, sentence=own)


def adopt_verification(annotation: Annotation, earlier: Annotation) -> None:
    """Copy the added evidence, stances and verdicts with their edits."""
    own_evidence: dict[int, Evidence] = {}
    public_ids: dict[str, str] = {}
    for evidence in list(earlier.added_evidence.all()):
        before, before_id = evidence.pk, evidence.public_id
        own_evidence[before] = _own_row(evidence, annotation=annotation)
        public_ids[before_id] = own_evidence[before].public_id
    for stance in list(earlier.stances.select_related("evidence")):
        evidence = own_evidence.get(stance.evidence_id, stance.evidence)
        _own_row(stance, annotation=annotation, evidence=evidence)
    for verdict in list(earlier.verdicts.select_related("claim")):
        operations = [{**each, "id": ""} for each in operations_as_json(verdict)]
        rests_on = [public_ids.get(each, each) for each in read_field(verdict, "rests_on")]
        own = _own_row(verdict, annotation=annotation)
        write_operations(own, operations)
        write_rests_on(own, rests_on)


def adopt_revision(annotation: Annotation, earlier: Annotation) -> None:
    """Copy the revised claims, sentences and the response."""
    for each in list(earlier.claim_revisions.all()):
        _own_row(each, annotation=annotation)
    for row in list(earlier.sentence_revisions.all()):
        _own_row(row, annotation=annotation)
    response = ResponseRevision.objects.filter(annotation=earlier).first()
    if response is not None:
        _own_row(response, annotation=annotation)


def has_rows(annotation: Annotation) -> bool:
    """Does the annotation have rows of its own yet?"""
    return (
        Sentence.objects.filter(annotation=annotation).exists()
        or annotation.verdicts.exists()
        or annotation.stances.exists()
        or annotation.sentence_revisions.exists()
        or ResponseRevision.objects.filter(annotation=annotation).exists()
    )
