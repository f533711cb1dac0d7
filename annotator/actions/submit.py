"""Submitting a stage, agreeing it, and what opens then.

With overlap 1 submitting writes the agreed version too, so that later stages and exports always read from there.
The agreed rows keep their public ids when a stage is agreed again: each is found by the row it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from annotator import rules
from annotator.actions import changed_sentences
from annotator.actions.annotate import fill_in
from annotator.actions.locking import lock_document
from annotator.actions.recorder import for_annotation, operations_as_json, read_field
from annotator.actions.runs import start_run
from annotator.actions.status import update_status
from annotator.models import (
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
    User,
    Verdict,
)
from annotator.models.base import Record
from annotator.queries.agreed import merged_response
from annotator.queries.missing import Missing, missing_in
from annotator.vocabulary import (
    AnnotationKind,
    AnnotationState,
    Factuality,
    Handling,
    Origin,
    Removal,
    SentenceType,
    Stage,
)

R = TypeVar("R", bound=Record)


class IncompleteError(Exception):
    """Something is still missing; ``missing`` lists it with links for the person."""

    def __init__(self, missing: Sequence[Missing]) -> None:
        super().__init__(f"{len(missing)} answers are missing." if len(missing) > 1 else "One answer is missing.")
        self.missing = missing


def submit(annotation: Annotation, *, by: User, active_seconds: int = 0) -> Document:
    """Submit one's annotation: it is frozen, and the stage is agreed when nobody else is needed.

    Raises IncompleteError with what is missing, NotAllowedError by the rules. Submitting twice is harmless: the
    second time the document is returned as it stands.
    """
    with transaction.atomic():
        document = lock_document(annotation.document_id)
        annotation = Annotation.objects.select_related("document__benchmark").get(pk=annotation.pk)
        if not annotation.is_open and annotation.person_id == by.pk:
            return document
        rules.check_edit(by, annotation)
        fill_in(annotation)  # evidence may have come since the page was opened: its stances are asked too
        missing = missing_in(annotation)
        if missing:
            raise IncompleteError(missing)
        action = for_annotation(
            "submit", annotation, by=by, reason=str(annotation.stage), active_seconds=active_seconds
        )
        if annotation.stage == Stage.REVISE:
            response = ResponseRevision.objects.get(annotation=annotation)
            if response.follows_statements:
                action.set(response, text=merged_response(annotation), text_origin=Origin.CONSOLIDATED.value)
        action.set(
            annotation,
            state=AnnotationState.SUBMITTED.value,
            submitted_at=timezone.now(),
            only_sent_back=False,
        )
        action.document = document
        action.flush()
        changed_claims: list[int] = []
        if document.people_needed == 1:
            before = changed_sentences.bases(document)
            changed_claims = agree_from(annotation)
            changed_sentences.ask_again(document, before)
        update_status(document, action)
        action.write()
        if Stage(document.stage) != Stage(annotation.stage):
            open_stage(document, by=by, changed_claims=changed_claims)
        return document


def open_stage(document: Document, *, by: User | None, changed_claims: Iterable[int]) -> None:
    """A stage has just opened: at verify evidence is retrieved for the claims that have none yet."""
    if document.stage == Stage.VERIFY:
        claims = list(changed_claims)
        if claims:
            run = start_run(
                benchmark=document.benchmark,
                stage=Stage.VERIFY,
                documents=[document.pk],
                by=by,
                plan={"claims": claims},
            )
            if run is not None:
                document.refresh_from_db()


def agreed_version(document: Document, stage: Stage) -> Annotation:
    """The agreed version of a stage, made if it does not exist yet, marked as standing."""
    annotation, _ = Annotation.objects.get_or_create(
        document=document, stage=stage, kind=AnnotationKind.CONSOLIDATED, defaults={"person": None}
    )
    annotation.state = AnnotationState.SUBMITTED
    annotation.submitted_at = timezone.now()
    annotation.save(update_fields=["state", "submitted_at"])
    return annotation


def agree_from(annotation: Annotation) -> list[int]:
    """Write the agreed version of a stage from one annotation. Returns the agreed claims (primary keys) whose
    text is new or changed, for which evidence must be found."""
    target = agreed_version(annotation.document, Stage(annotation.stage))
    if annotation.stage == Stage.DECOMPOSE:
        changed = _agree_decomposition(annotation, target)
        SentBack.objects.filter(document=annotation.document_id, settled_at__isnull=True).update(
            settled_at=timezone.now()
        )
        return changed
    if annotation.stage == Stage.VERIFY:
        _agree_verification(annotation, target)
    else:
        _agree_revision(annotation, target)
    return []


def _copy(source: R, existing: R | None, names: Sequence[str], **own: Any) -> R:
    """The agreed row of a source row: the one that exists, brought up to date, or a new one."""
    values = {name: getattr(source, name) for name in names} | own
    if existing is None:
        row = type(source)(**values)
        row.save()
        row.sources.add(source)  # type: ignore[attr-defined]
        return row
    if any(getattr(existing, name) != value for name, value in values.items()):
        for name, value in values.items():
            setattr(existing, name, value)
        existing.version += 1
        existing.save()
    return existing


def _by_source(rows: Any) -> dict[int, Any]:
    """Agreed rows by the primary key of the row they came from."""
    return {source.pk: row for row in rows.prefetch_related("sources") for source in row.sources.all()}


SENTENCE = (
    "order", "text", "start", "end", "decontext", "decontext_origin", "type", "type_origin", "importance",
    "importance_origin", "removed", "suggestion", "released",
)  # fmt: skip
CLAIM = (
    "order", "text", "text_origin", "type", "type_origin", "worth_checking", "worth_checking_origin",
    "not_worth_reason", "importance", "importance_origin", "removed", "removed_note", "suggestion", "released",
)  # fmt: skip


def _agree_decomposition(annotation: Annotation, target: Annotation) -> list[int]:
    sentences = _by_source(Sentence.objects.filter(annotation=target))
    claims = _by_source(Claim.objects.filter(sentence__annotation=target))
    changed: list[int] = []
    for sentence in annotation.sentences.prefetch_related("claims__suggestion").select_related("suggestion"):
        agreed_sentence = _copy(sentence, sentences.get(sentence.pk), SENTENCE, annotation=target)
        for claim in sentence.claims.all():
            before = claims.get(claim.pk)
            text_before, was_checked = (before.text, before.is_checked) if before else (None, False)
            folded = sentence.type != SentenceType.CHECKWORTHY and not claim.removed
            removed = Removal.FOLDED.value if folded else claim.removed
            row = _copy(claim, before, CLAIM, sentence=agreed_sentence, removed=removed)
            if was_checked and (not row.is_checked or row.text != text_before):
                _reopen_judgements(row)
            if row.is_checked and (not was_checked or row.text != text_before):
                changed.append(row.pk)
    return changed


def _reopen_judgements(claim: Claim) -> None:
    """A claim's text has changed, or it needs no checking any more: what was decided on it does not stand. The old
    values stay in the history. An open agreed version counts too, since people start from it."""
    for verdict in claim.verdicts.filter(annotation__state=AnnotationState.OPEN).select_related(
        "annotation__document__benchmark"
    ):
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


def _agree_verification(annotation: Annotation, target: Annotation) -> None:
    added = _by_source(Evidence.objects.filter(annotation=target))
    own: dict[int, Evidence] = {}
    for evidence in annotation.added_evidence.select_related("claim", "run"):
        own[evidence.pk] = _copy(
            evidence,
            added.get(evidence.pk),
            ("claim", "order", "passage", "url", "title", "site", "published", "query", "retrieved_at",
             "content_hash", "score", "run", "removed", "released"),
            annotation=target,
        )  # fmt: skip
    stances = _by_source(Stance.objects.filter(annotation=target))
    for stance in annotation.stances.select_related("evidence", "suggestion"):
        _copy(
            stance,
            stances.get(stance.pk),
            ("label", "label_origin", "reliable", "sufficient", "suggestion"),
            annotation=target,
            evidence=own.get(stance.evidence_id, stance.evidence),
        )
    public = {evidence.public_id: own[evidence.pk].public_id for evidence in annotation.added_evidence.all()}
    verdicts = _by_source(Verdict.objects.filter(annotation=target))
    action = for_annotation("agree", target, by=None, reason=Stage.VERIFY.label)
    for verdict in annotation.verdicts.select_related("claim").prefetch_related("operations"):
        row = _copy(
            verdict,
            verdicts.get(verdict.pk),
            ("claim", "evidence_sufficient", "evidence_sufficient_origin", "factuality", "factuality_origin",
             "reason", "confidence"),
            annotation=target,
        )  # fmt: skip
        operations = [{**each, "id": ""} for each in operations_as_json(verdict)]
        before = [{**each, "id": ""} for each in operations_as_json(row)]
        if operations != before:
            action.set(row, operations=operations)
        action.set(row, rests_on=[public.get(each, each) for each in read_field(verdict, "rests_on")])
    action.write()


def _agree_revision(annotation: Annotation, target: Annotation) -> None:
    claims = _by_source(ClaimRevision.objects.filter(annotation=target))
    undecided = set(
        Verdict.objects.filter(
            annotation__document=annotation.document_id,
            annotation__kind=AnnotationKind.CONSOLIDATED,
            factuality=Factuality.NOT_ENOUGH_EVIDENCE,
        ).values_list("claim_id", flat=True)
    )
    for each in annotation.claim_revisions.select_related("claim"):
        # A claim that was decided meanwhile is no longer handled here.
        handling = each.handling if each.claim_id in undecided else Handling.KEEP.value
        _copy(each, claims.get(each.pk), ("claim", "text"), annotation=target, handling=handling)
    sentences = _by_source(SentenceRevision.objects.filter(annotation=target))
    for row in annotation.sentence_revisions.select_related("sentence"):
        _copy(
            row,
            sentences.get(row.pk),
            ("sentence", "text", "text_origin", "deleted"),
            annotation=target,
        )
    responses = _by_source(ResponseRevision.objects.filter(annotation=target))
    response = ResponseRevision.objects.get(annotation=annotation)
    _copy(
        response,
        responses.get(response.pk),
        ("text", "text_origin", "follows_statements"),
        annotation=target,
    )
