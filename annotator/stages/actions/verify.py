"""The verify screen's actions beyond single fields: one's own evidence, the typed edit, the evidence used."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError, clean_text, field_of, read
from annotator.core.actions.locking import lock_document
from annotator.core.actions.recorder import Action, for_annotation, operations_as_json, read_field
from annotator.core.models import Annotation, Claim, Evidence, Stance, User, Verdict, VerdictSuggestion
from annotator.core.record_keys import key_of
from annotator.core.texts import edits
from annotator.core.vocabulary import EditKind, Factuality, Removal, StanceLabel
from annotator.stages import rules as stages_rules
from annotator.stages.actions.blind_first import reveal
from annotator.stages.actions.pages import order_page
from annotator.stages.actions.saving import change_since, set_repeated, values_with_effects
from annotator.stages.queries.machine_opinions import may_see_verdicts


def _begin(name: str, annotation: Annotation, by: User, active_seconds: int) -> Action:
    lock_document(annotation.document_id)
    annotation = Annotation.objects.select_related("document__benchmark").get(pk=annotation.pk)
    stages_rules.check_edit(by, annotation)
    return for_annotation(name, annotation, by=by, active_seconds=active_seconds)


def _locked(verdict: Verdict) -> Verdict:
    return Verdict.objects.select_related("claim", "annotation__document__benchmark").get(pk=verdict.pk)


def _is_false(verdict: Verdict) -> dict[str, Any]:
    """An edit means that the claim is false: the fields that change if the verdict said something else so far."""
    if verdict.factuality == Factuality.FALSE:
        return {}
    return values_with_effects(verdict, "factuality", Factuality.FALSE.value, field_of("verdict", "factuality"))


def _began_as(verdict: Verdict, is_kept: bool) -> dict[str, Any]:
    """An edit with nothing left has no source."""
    return {} if is_kept or verdict.suggestion_id is None else {"suggestion_id": None}


def add_evidence(
    annotation: Annotation,
    claim: Claim,
    *,
    by: User,
    url: str = "",
    passage: str = "",
    title: str = "",
    query: str = "",
    stance: str = "",
    active_seconds: int = 0,
) -> Evidence:
    """Add a passage that the person found, with its stance if given; it belongs to their annotation.

    Raises BadValueError if both address and passage are missing, the address is invalid, or the stance is.
    """
    spec = field_of("stance", "label")
    label = read(spec, stance)
    url, passage = clean_text(url).strip(), clean_text(passage).strip()
    if not url and not passage:
        raise BadValueError("Enter the passage, or at least the address of its page.")
    if url and not url.lower().startswith(("http://", "https://")):
        raise BadValueError("The address must start with http:// or https://.")
    with transaction.atomic():
        action = _begin("add-evidence", annotation, by, active_seconds)
        last = claim.evidence.order_by("-order").first()
        evidence = Evidence.objects.create(
            claim=claim,
            annotation=annotation,
            order=last.order + 1 if last else 1,
            url=url,
            passage=passage,
            title=clean_text(title).strip(),
            query=clean_text(query).strip(),
            retrieved_at=timezone.now(),
        )
        own = Stance.objects.create(annotation=annotation, evidence=evidence)
        action.created(evidence)
        if label:
            action.set(own, **values_with_effects(own, "label", label, spec))
        action.write()
        order_page(evidence)
        return evidence


def note_in_view(annotation: Annotation, stances: Collection[str]) -> None:
    """Record which passages (public ids of their stances) the annotator has had in view. This isn't a change to the
    work."""
    if stances:
        rows = Stance.objects.filter(annotation=annotation, public_id__in=stances, in_view_at=None)
        rows.update(in_view_at=timezone.now())


def mark_irrelevant(
    verdict: Verdict,
    stances: Collection[str],
    *,
    by: User,
    factuality: str = "",
    version: int = 0,
    active_seconds: int = 0,
) -> list[Stance]:
    """Mark passages of a claim irrelevant in one step: those of ``stances`` (public ids) that have no stance yet, and
    passages with the same words. Returns what was marked; nothing if all have stances already.

    ``factuality``: the verdict that is given at the same time, if no passage stays open. ``version``: the version of
    the verdict that the sender saw. Raises BadValueError, and writes nothing, if another verdict was given since.
    """
    spec = field_of("verdict", "factuality")
    wanted = read(spec, factuality)
    with transaction.atomic():
        action = _begin("rest-irrelevant", verdict.annotation, by, active_seconds)
        verdict = _locked(verdict)
        changed = wanted and verdict.version != version and verdict.factuality not in ("", wanted)
        if changed and change_since(verdict.annotation, key_of(verdict), "factuality", version):
            now = verdict.get_factuality_display().lower()
            raise BadValueError(f"The claim has been labeled “{now}” in another tab. Reload the page to see it.")
        marked = _open_stances(verdict).filter(public_id__in=stances)
        found = _label_each(action, [(stance, StanceLabel.IRRELEVANT.value) for stance in marked])
        action.flush()
        if wanted and not _open_stances(verdict).exists():
            action.set(verdict, **values_with_effects(verdict, "factuality", wanted, spec))
            reveal(verdict, verdict.annotation.document)
        action.write()
        return found


def accept_stances(verdict: Verdict, stances: Collection[str], *, by: User, active_seconds: int = 0) -> list[Stance]:
    """Accept the suggested stances on passages of a claim in one step: those of ``stances`` (public ids) that have no
    stance yet and have been in view. Returns what was accepted."""
    with transaction.atomic():
        action = _begin("accept-stances", verdict.annotation, by, active_seconds)
        rows = _open_stances(verdict).filter(public_id__in=stances, in_view_at__isnull=False)
        found = _label_each(action, [(each, each.suggestion.label) for each in rows if each.suggestion is not None])
        action.write()
        return found


def _open_stances(verdict: Verdict) -> QuerySet[Stance]:
    """The undecided stances of a claim, in the order of their evidence."""
    rows = Stance.objects.filter(
        annotation=verdict.annotation_id, evidence__claim=verdict.claim_id, evidence__removed="", label=""
    )
    related = rows.select_related("annotation__document__benchmark", "suggestion", "evidence")
    return related.order_by("evidence__order", "evidence_id")


def _label_each(action: Action, labels: Collection[tuple[Stance, str]]) -> list[Stance]:
    """Give each stance its label, and passages with the same words the same one. Returns the stances."""
    spec = field_of("stance", "label")
    for stance, label in labels:
        action.set(stance, **values_with_effects(stance, "label", label, spec))
        set_repeated(action, stance, before="")
        reveal(stance, stance.annotation.document)
    return [stance for stance, _ in labels]


def remove_evidence(evidence: Evidence, *, by: User, active_seconds: int = 0) -> None:
    """Remove one's own passage (undo restores it). It is no longer evidence used."""
    annotation = evidence.annotation
    if annotation is None:
        raise rules.NotAllowedError("Retrieved evidence is shared by all annotators. Mark it irrelevant instead.")
    with transaction.atomic():
        action = _begin("remove-evidence", annotation, by, active_seconds)
        action.set(Evidence.objects.get(pk=evidence.pk), removed=Removal.OTHER.value)
        verdict = Verdict.objects.filter(annotation=annotation, claim=evidence.claim_id).first()
        if verdict is not None:
            rests = read_field(verdict, "rests_on")
            action.set(verdict, rests_on=[each for each in rests if each != evidence.public_id])
        action.write()


def add_operation(
    verdict: Verdict,
    *,
    kind: str,
    by: User,
    start: int = 0,
    end: int = 0,
    replacement: str = "",
    active_seconds: int = 0,
) -> None:
    """Add one typed operation to the edit of a claim. Offsets count code points of the claim's text.

    An edit means that the claim is false, so an open verdict becomes false, too. Raises BadValueError with the reason
    if the operation is invalid.
    """
    try:
        edit_kind = EditKind(kind)
    except ValueError:
        raise BadValueError("An edit deletes the claim, replaces words, or deletes words.") from None
    with transaction.atomic():
        action = _begin("add-edit", verdict.annotation, by, active_seconds)
        verdict = _locked(verdict)
        claim_text = verdict.claim.text
        if edit_kind == EditKind.DELETE_CLAIM:
            new, kept = edits.Operation(edit_kind, 0, len(claim_text)), []
        else:
            if edit_kind == EditKind.DELETE:
                new = edits.delete_words(claim_text, start, end)
            else:
                new = edits.Operation(edit_kind, start, end, clean_text(replacement))
            kept = [each for each in operations_as_json(verdict) if each["kind"] != EditKind.DELETE_CLAIM]
        existing = [op for op in verdict.edit() if op.kind != EditKind.DELETE_CLAIM] if kept else []
        try:
            edits.check(claim_text, [*existing, new])
        except edits.EditError as error:
            raise BadValueError(str(error)) from None
        item = {
            "id": "",
            "kind": new.kind.value,
            "start": new.start,
            "end": new.end,
            "replacement": new.replacement,
        }
        ordered = sorted([*kept, item], key=lambda each: each["start"])
        action.set(verdict, operations=ordered, **_began_as(verdict, bool(kept)), **_is_false(verdict))
        action.write()


def remove_operation(verdict: Verdict, operation_id: str, *, by: User, active_seconds: int = 0) -> None:
    """Remove one operation from the edit."""
    with transaction.atomic():
        action = _begin("remove-edit", verdict.annotation, by, active_seconds)
        verdict = _locked(verdict)
        left = [each for each in operations_as_json(verdict) if each["id"] != operation_id]
        action.set(verdict, operations=left, **_began_as(verdict, bool(left)))
        action.write()


def set_revised_claim(verdict: Verdict, text: str, *, by: User, active_seconds: int = 0) -> None:
    """Enter the revised claim as text; the smallest word operations that produce exactly this text are stored."""
    revised = clean_text(text)
    with transaction.atomic():
        action = _begin("rewrite-claim", verdict.annotation, by, active_seconds)
        verdict = _locked(verdict)
        operations = [
            {"id": "", "kind": op.kind.value, "start": op.start, "end": op.end, "replacement": op.replacement}
            for op in edits.from_texts(verdict.claim.text, revised)
        ]
        values: dict[str, object] = {"operations": operations, **_began_as(verdict, bool(operations))}
        if operations:
            values |= _is_false(verdict)
        action.set(verdict, **values)
        action.write()


def take_correction(verdict: Verdict, suggestion: VerdictSuggestion, *, by: User, active_seconds: int = 0) -> None:
    """Start the edit from a strategy's correction: typed operations, which the person can change.

    The verdict records the source. Raises BadValueError if the person has an edit of their own, which is never
    replaced, or if there is nothing to accept; NotAllowedError if the suggestion may not be seen yet.
    """
    with transaction.atomic():
        action = _begin("take-correction", verdict.annotation, by, active_seconds)
        verdict = _locked(verdict)
        if not may_see_verdicts(verdict, verdict.annotation.document):
            raise rules.NotAllowedError("Label the claim and its passages first; then you see the model verdict.")
        is_private = suggestion.run.plan.get("annotation") not in (None, verdict.annotation_id)
        if suggestion.claim_id != verdict.claim_id or suggestion.correction is None or is_private:
            raise BadValueError("There is no correction of this claim to accept.")
        if verdict.operations.exists():
            raise BadValueError("The claim already has an edit. Remove it, then accept this one.")
        operations = [
            {"id": "", "kind": op.kind.value, "start": op.start, "end": op.end, "replacement": op.replacement}
            for op in edits.from_texts(verdict.claim.text, suggestion.correction)
        ]
        if not operations:
            raise BadValueError("The correction is the same as the claim, so there is nothing to accept.")
        action.set(verdict, operations=operations, suggestion_id=suggestion.pk, **_is_false(verdict))
        action.write()


def set_rests_on(verdict: Verdict, evidence: Evidence, rests: bool, *, by: User, active_seconds: int = 0) -> None:
    """Mark a passage as evidence used for the verdict, or unmark it. Repeating has no effect."""
    if evidence.claim_id != verdict.claim_id or evidence.annotation_id not in (None, verdict.annotation_id):
        raise BadValueError("That passage belongs to another claim.")
    with transaction.atomic():
        action = _begin("rests-on", verdict.annotation, by, active_seconds)
        verdict = _locked(verdict)
        named = [each for each in read_field(verdict, "rests_on") if each != evidence.public_id]
        if rests:
            named.append(evidence.public_id)
        action.set(verdict, rests_on=named)
        action.write()
