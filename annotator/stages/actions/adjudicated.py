"""Writing the adjudicated version of a stage: from one annotation, or from the decisions of several people.

Adjudicated rows keep their public ids when a stage is adjudicated again: each is found by a row it came from. What is
no longer part of the adjudicated version is marked as removed, never deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from django.utils import timezone

from annotator.core.actions.recorder import for_annotation, operations_as_json, read_field
from annotator.core.fields import columns_of
from annotator.core.models import (
    Annotation,
    Claim,
    ClaimRevision,
    Document,
    Evidence,
    ResponseRevision,
    SentBack,
    Sentence,
    SentenceRevision,
    Stance,
    Verdict,
)
from annotator.core.models.base import Record
from annotator.core.vocabulary import (
    AnnotationKind,
    AnnotationState,
    Factuality,
    Handling,
    Removal,
    SentenceType,
    Stage,
)
from annotator.stages.comparison.comparison import Comparison
from annotator.stages.comparison.decomposition import AdjudicatedClaim, AdjudicatedSentence, Decompositions
from annotator.stages.comparison.revision import AdjudicatedRevision, Revisions
from annotator.stages.comparison.verification import AdjudicatedStance, AdjudicatedVerdict, Verifications
from annotator.stages.queries.adjudicated import merged_response

R = TypeVar("R", bound=Record)

# What an adjudicated row copies from its source rows.
SENTENCE = ("order", "text", "start", "end", *columns_of("sentence"), "answers", "removed", "suggestion", "released")
CLAIM = ("order", *columns_of("claim"), "answers", "removed", "removed_note", "suggestion", "released")
EVIDENCE = (
    "claim", "order", *columns_of("evidence"), "site", "published", "retrieved_at", "content_hash", "score", "run",
    "removed", "released", "snapshot_id", "page_problem",
)  # fmt: skip
STANCE = (*columns_of("stance"), "answers", "suggestion")
VERDICT = (*columns_of("verdict"), "answers")
CLAIM_REVISION = ("claim", *columns_of("claim-revision"), "answers")
SENTENCE_REVISION = ("sentence", *columns_of("sentence-revision"), "answers")
RESPONSE_REVISION = (*columns_of("response-revision"), "answers", "follows_statements")


def open_version(document: Document, stage: Stage) -> Annotation:
    """The adjudicated version that annotators work on together: new or reopened."""
    version, _ = Annotation.objects.get_or_create(
        document=document, stage=stage, kind=AnnotationKind.CONSOLIDATED, defaults={"person": None}
    )
    return version


def adjudicate_from(annotation: Annotation) -> list[int]:
    """Write the adjudicated version of a stage from one annotation. Returns the adjudicated claims (primary keys) whose
    text is new or changed, which need evidence."""
    target = _standing_version(annotation.document, Stage(annotation.stage))
    if annotation.stage == Stage.DECOMPOSE:
        return _write_decomposition(target, _sentences_of(annotation))
    if annotation.stage == Stage.VERIFY:
        _write_verification(target, _stances_of(annotation), _verdicts_of(annotation))
    else:
        _write_revision(target, *_revisions_of(annotation))
    return []


def adjudicate_together(document: Document, stage: Stage, comparison: Comparison) -> list[int]:
    """Write the adjudicated version of a stage from several people's decisions; otherwise the same as for one person.

    The caller has checked that nothing is open.
    """
    target = _standing_version(document, stage)
    if isinstance(comparison, Decompositions):
        return _write_decomposition(target, comparison.adjudicated)
    if isinstance(comparison, Verifications):
        _write_verification(target, comparison.stances, comparison.verdicts)
    elif isinstance(comparison, Revisions) and comparison.response is not None:
        _write_revision(target, comparison.claims, comparison.sentences, comparison.response)
        if comparison.response_follows:
            response = ResponseRevision.objects.get(annotation=target)
            response.text = merged_response(target)
            response.save(update_fields=["text"])
    return []


def _standing_version(document: Document, stage: Stage) -> Annotation:
    version = open_version(document, stage)
    version.state = AnnotationState.SUBMITTED
    version.submitted_at = timezone.now()
    version.save(update_fields=["state", "submitted_at"])
    return version


# --- one person's annotation, in the words of an agreement -----------------------------------------


def _sentences_of(annotation: Annotation) -> list[AdjudicatedSentence]:
    rows = annotation.sentences.prefetch_related("claims__suggestion").select_related("suggestion")
    return [
        AdjudicatedSentence(
            row, [row], {}, [AdjudicatedClaim(claim, [claim], _folded(row, claim)) for claim in row.claims.all()]
        )
        for row in rows
    ]


def _folded(sentence: Sentence, claim: Claim) -> dict[str, Any]:
    """The claims of a sentence that isn't check-worthy are hidden, but kept."""
    folded = sentence.type != SentenceType.CHECKWORTHY and not claim.removed
    return {"removed": Removal.FOLDED.value} if folded else {}


def _stances_of(annotation: Annotation) -> list[AdjudicatedStance]:
    rows = annotation.stances.select_related("evidence__claim", "evidence__run", "suggestion")
    judged = [
        AdjudicatedStance(row.evidence, [row.evidence] if row.evidence.annotation_id else [], [row], {}) for row in rows
    ]
    # Released gold has passages without stances.
    rest = annotation.added_evidence.filter(stances__isnull=True).select_related("claim", "run")
    return judged + [AdjudicatedStance(row, [row], [], {}) for row in rest]


def _verdicts_of(annotation: Annotation) -> list[AdjudicatedVerdict]:
    rows = annotation.verdicts.select_related("claim").prefetch_related("operations", "rests__evidence")
    return [
        AdjudicatedVerdict(
            row.claim,
            [row],
            {},
            [{**each, "id": ""} for each in operations_as_json(row)],
            [rest.evidence for rest in row.rests.all()],
        )
        for row in rows
    ]


def _revisions_of(
    annotation: Annotation,
) -> tuple[list[AdjudicatedRevision], list[AdjudicatedRevision], AdjudicatedRevision]:
    response = ResponseRevision.objects.get(annotation=annotation)
    return (
        [AdjudicatedRevision(row, [row], {}) for row in annotation.claim_revisions.select_related("claim")],
        [AdjudicatedRevision(row, [row], {}) for row in annotation.sentence_revisions.select_related("sentence")],
        AdjudicatedRevision(response, [response], {}),
    )


# --- writing --------------------------------------------------------------------------------------


def _copy(base: Any, sources: Sequence[Any], row: Any, names: Sequence[str], values: dict[str, Any], **own: Any) -> Any:
    """The adjudicated row for some rows: ``row``, which was made from them before, updated; or a new one if it is None.

    ``base`` supplies what is missing in ``values``; ``own`` is the adjudicated row's parent.
    """
    fields = {name: getattr(base, name) for name in names} | values | own
    if row is None:
        row = type(base)(**fields)
        row.save()
    elif any(getattr(row, name) != value for name, value in fields.items()):
        for name, value in fields.items():
            setattr(row, name, value)
        row.version += 1
        row.save()
    row.sources.set(sources)
    return row


def _by_source(rows: Iterable[Any]) -> dict[int, Any]:
    """Adjudicated rows by the primary keys of the rows they came from. If one was split or merged since, the row that
    is still part of the adjudicated version comes first."""
    present_last = sorted(rows, key=lambda row: not row.removed)
    return {source.pk: row for row in present_last for source in row.sources.all()}


def _taken(existing: dict[int, Any], sources: Sequence[Any]) -> Any:
    """The adjudicated row that was made from one of these; no other row will use it again. None if there is none."""
    row = next((existing[source.pk] for source in sources if source.pk in existing), None)
    for pk in [pk for pk, each in existing.items() if each is row]:
        del existing[pk]
    return row


def _remove(rows: Iterable[Any], but: Iterable[Any]) -> list[Any]:
    """Mark as removed what is no longer part of the adjudicated version. Returns those rows."""
    kept = {row.pk for row in but}
    left = [row for row in rows if row.pk not in kept]
    for row in left:
        if not row.removed:
            row.removed = Removal.OTHER.value
            row.version += 1
            row.save()
    return left


def _write_decomposition(target: Annotation, adjudicated: Sequence[AdjudicatedSentence]) -> list[int]:
    old_sentences = list(Sentence.objects.filter(annotation=target).prefetch_related("sources"))
    old_claims = list(Claim.objects.filter(sentence__annotation=target).prefetch_related("sources"))
    sentences, claims = _by_source(old_sentences), _by_source(old_claims)
    # A text that was typed together for a split comes from nobody's row, so it is found again by its sentence and text.
    typed = [row for row in old_claims if not row.sources.all()]
    before = {row.pk: (row.text, row.is_checked) for row in old_claims}
    written: list[Claim] = []
    written_sentences: list[Sentence] = []
    together = len({source.annotation_id for each in adjudicated for source in each.sources}) > 1
    for order, each in enumerate(adjudicated, start=1):
        # One person's rows keep their order, with the gaps that merged ones left; several people's are numbered anew.
        place = {"order": order} if together else {}
        found = _taken(sentences, each.sources)
        sentence = _copy(each.base, each.sources, found, SENTENCE, each.values | place, annotation=target)
        written_sentences.append(sentence)
        for claim_order, claim in enumerate(each.claims, start=1):
            place = {"order": claim_order} if together else {}
            values = claim.values | place
            if claim.sources:
                row = _taken(claims, claim.sources)
            else:
                text = values.get("text", claim.base.text)
                row = next((row for row in typed if row.sentence_id == sentence.pk and row.text == text), None)
                typed = [each for each in typed if each is not row]
            written.append(_copy(claim.base, claim.sources, row, CLAIM, values, sentence=sentence))
    _remove(old_sentences, but=written_sentences)
    dropped = _remove(old_claims, but=written)
    changed: list[int] = []
    for row in [*written, *dropped]:
        text_before, was_checked = before.get(row.pk, (None, False))
        if was_checked and (not row.is_checked or row.text != text_before):
            _reopen_judgements(row)
        if row.is_checked and (not was_checked or row.text != text_before):
            changed.append(row.pk)
    SentBack.objects.filter(document=target.document_id, settled_at__isnull=True).update(settled_at=timezone.now())
    if changed:
        _ask_for_judgements(target.document_id)
    return changed


def _ask_for_judgements(document_id: int) -> None:
    """Claims are new or changed: people who have already submitted verify are asked about them."""
    Annotation.objects.filter(
        document=document_id, stage=Stage.VERIFY, kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.SUBMITTED
    ).update(state=AnnotationState.OPEN, submitted_at=None)


def _reopen_judgements(claim: Claim) -> None:
    """A claim's text has changed, or it is no longer check-worthy, so decisions about it no longer apply. The old
    values stay in the history. This includes an open adjudicated version, because people start from it."""
    for verdict in claim.verdicts.filter(
        annotation__in=Annotation.objects.filter(kind=AnnotationKind.INDIVIDUAL)
        | Annotation.objects.filter(state=AnnotationState.OPEN)
    ).select_related("annotation__document__benchmark"):
        action = for_annotation("claim-changed", verdict.annotation, by=None, reason="The claim was changed.")
        action.set(
            verdict,
            factuality="",
            factuality_origin="",
            evidence_sufficient=None,
            evidence_sufficient_origin="",
            operations=[],
            rests_on=[],
        )
        for stance in verdict.annotation.stances.filter(evidence__claim=claim):
            action.set(stance, label="", label_origin="")
        action.write()


def _write_verification(
    target: Annotation, stances: Sequence[AdjudicatedStance], verdicts: Sequence[AdjudicatedVerdict]
) -> None:
    old = list(Evidence.objects.filter(annotation=target).prefetch_related("sources"))
    added = _by_source(old)
    own: dict[int, Evidence] = {}
    existing = {row.evidence_id: row for row in Stance.objects.filter(annotation=target)}
    for each in stances:
        evidence = each.evidence
        if each.added:
            found = _taken(added, each.added)
            evidence = _copy(each.evidence, each.added, found, EVIDENCE, {}, annotation=target)
            own |= {row.pk: evidence for row in each.added}
        if each.sources:
            row = existing.get(evidence.pk)
            _copy(each.sources[0], each.sources, row, STANCE, each.values, annotation=target, evidence=evidence)
    _remove(old, but=own.values())
    rows = {row.claim_id: row for row in Verdict.objects.filter(annotation=target)}
    action = for_annotation("agree", target, by=None, reason=Stage.VERIFY.label)
    for verdict in verdicts:
        row = _copy(
            verdict.sources[0], verdict.sources, rows.get(verdict.claim.pk), VERDICT, verdict.values,
            annotation=target, claim=verdict.claim,
        )  # fmt: skip
        if verdict.operations != [{**each, "id": ""} for each in operations_as_json(row)]:
            action.set(row, operations=verdict.operations)
        rests_on = list(dict.fromkeys(own.get(each.pk, each).public_id for each in verdict.rests_on))
        if read_field(row, "rests_on") != rests_on:
            action.set(row, rests_on=rests_on)
    action.write()


def _write_revision(
    target: Annotation,
    claims: Sequence[AdjudicatedRevision],
    sentences: Sequence[AdjudicatedRevision],
    response: AdjudicatedRevision,
) -> None:
    of_claim = {row.claim_id: row for row in ClaimRevision.objects.filter(annotation=target)}
    undecided = set(
        Verdict.objects.filter(
            annotation__document=target.document_id,
            annotation__kind=AnnotationKind.CONSOLIDATED,
            factuality=Factuality.NOT_ENOUGH_EVIDENCE,
        ).values_list("claim_id", flat=True)
    )
    for each in claims:
        # A claim that was decided in the meantime needs no handling here.
        claim_id = getattr(each.base, "claim_id")  # noqa: B009 - a ClaimRevision, seen as a record
        values = each.values | ({"handling": Handling.KEEP.value} if claim_id not in undecided else {})
        _copy(each.base, each.sources, of_claim.get(claim_id), CLAIM_REVISION, values, annotation=target)
    of_sentence = {row.sentence_id: row for row in SentenceRevision.objects.filter(annotation=target)}
    for each in sentences:
        found = of_sentence.get(getattr(each.base, "sentence_id"))  # noqa: B009 - a SentenceRevision
        _copy(each.base, each.sources, found, SENTENCE_REVISION, each.values, annotation=target)
    whole = ResponseRevision.objects.filter(annotation=target).first()
    _copy(response.base, response.sources, whole, RESPONSE_REVISION, response.values, annotation=target)
