"""The decompose screen's actions beyond single fields: accept, add, remove, split, merge and move sentences and claims.

Each is a list of field changes like any save, so undo and history need no special case (ADR 0006).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction

from annotator.core.actions.fields import BadValueError, clean_text, origin_of, shown_suggestion
from annotator.core.actions.locking import lock_document
from annotator.core.actions.recorder import Action, for_annotation
from annotator.core.fields import Kind, columns, fields_of, reason_for
from annotator.core.models import Claim, Sentence, User
from annotator.core.record_keys import KINDS, key_of
from annotator.core.vocabulary import REMOVAL_REASONS, Origin, Removal
from annotator.stages import rules
from annotator.stages.actions.blind_first import reveal


def _begin(name: str, sentence: Sentence, by: User, active_seconds: int, reason: str = "") -> Action:
    """Lock the document, check the rule, start the action. Inside the caller's transaction."""
    lock_document(sentence.annotation.document_id)
    annotation = type(sentence.annotation).objects.select_related("document__benchmark").get(pk=sentence.annotation_id)
    rules.check_edit_sentence(by, annotation, sentence.pk)
    if Sentence.objects.filter(pk=sentence.pk).exclude(removed="").exists():
        raise BadValueError("This sentence has been merged into another one. Reload the page.")
    return for_annotation(name, annotation, by=by, reason=reason, active_seconds=active_seconds)


def _present(claim: Claim) -> Claim:
    """The claim as it is now. Raises BadValueError if it was removed in the meantime, for example in another tab."""
    claim = Claim.objects.select_related("sentence__annotation", "suggestion").get(pk=claim.pk)
    if claim.removed:
        raise BadValueError("This claim has been removed. Reload the page to restore it.")
    return claim


def _present_claims(sentence: Sentence) -> list[Claim]:
    return list(sentence.claims.filter(removed="").select_related("suggestion", "sentence").order_by("order", "id"))


def _accept(action: Action, record: Sentence | Claim) -> None:
    """Decide every open field of a record as suggested; decided fields stay."""
    values: dict[str, object] = {}
    for field in fields_of(KINDS[type(record)]):
        if not field.is_suggested or not field.has_origin or getattr(record, f"{field.name}_origin"):
            continue
        shown = shown_suggestion(record, field.name)
        is_text = field.kind == Kind.TEXT
        value = getattr(record, field.name) if is_text else shown
        if value is None or (is_text and not value):
            continue
        values[field.name] = value
        values[f"{field.name}_origin"] = origin_of(field, value, shown)
        reason = reason_for(field)
        if value is False and reason is not None:
            values[reason.name] = getattr(record.suggestion, reason.name)
    action.set(record, **values)


def accept_sentence(
    sentence: Sentence, *, by: User, seen: Collection[str] | None = None, active_seconds: int = 0
) -> bool:
    """Accept all open suggestions of a sentence and its claims (key A). If nothing was suggested, the sentence is kept
    as it is. Returns whether anything was suggested.

    ``seen``: keys of the records that the person has had in view, if known; suggestions for the others stay open.
    """
    with transaction.atomic():
        action = _begin("take-over", sentence, by, active_seconds)
        sentence = Sentence.objects.select_related("suggestion").get(pk=sentence.pk)
        claims = _present_claims(sentence)
        suggested = sentence.suggestion_id is not None or any(row.suggestion_id is not None for row in claims)
        if not suggested:
            action.name = "keep-text"
        if seen is None or not suggested or key_of(sentence) in seen:
            _accept(action, sentence)
            if action.annotation is not None:
                reveal(sentence, action.annotation.document)
        for claim in claims:
            if seen is None or key_of(claim) in seen:
                _accept(action, claim)
        action.write()
        return suggested


def accept_claim(claim: Claim, *, by: User, active_seconds: int = 0) -> None:
    """Accept all open suggestions of one claim."""
    with transaction.atomic():
        action = _begin("take-over", claim.sentence, by, active_seconds)
        claim = _present(claim)
        _accept(action, claim)
        action.write()


def add_claim(sentence: Sentence, *, by: User, text: str = "", active_seconds: int = 0) -> Claim:
    """Add a claim at the end of the sentence."""
    with transaction.atomic():
        action = _begin("add-claim", sentence, by, active_seconds)
        last = sentence.claims.order_by("-order").first()
        claim = Claim.objects.create(
            sentence=sentence,
            order=last.order + 1 if last else 1,
            text=clean_text(text),
            text_origin=Origin.HUMAN if text else "",
        )
        action.created(claim)
        action.write()
        return claim


def remove_claim(claim: Claim, reason: str, *, by: User, note: str = "", active_seconds: int = 0) -> None:
    """Remove a claim with a reason; it stays visible, struck through, and can be restored."""
    if reason not in REMOVAL_REASONS:
        known = ", ".join(word.label.lower() for word in REMOVAL_REASONS)
        raise BadValueError(f"Choose why the claim is removed: {known}.")
    with transaction.atomic():
        action = _begin("remove-claim", claim.sentence, by, active_seconds)
        action.set(_present(claim), removed=Removal(reason).value, removed_note=clean_text(note))
        action.write()


def restore_claim(claim: Claim, *, by: User, active_seconds: int = 0) -> None:
    """Restore a removed claim."""
    with transaction.atomic():
        action = _begin("restore-claim", claim.sentence, by, active_seconds)
        action.set(Claim.objects.get(pk=claim.pk), removed="", removed_note="")
        action.write()


def split_claim(claim: Claim, at: int, *, by: User, active_seconds: int = 0) -> Claim:
    """Split a claim's text at a code point; the second half becomes a claim with the same labels."""
    with transaction.atomic():
        action = _begin("split-claim", claim.sentence, by, active_seconds)
        claim = _present(claim)
        first, second = _halves(claim.text, at, "claim")
        _make_room(action, claim.sentence.claims.filter(order__gt=claim.order))
        action.set(claim, text=first, text_origin=Origin.EDITED if claim.suggestion_id else Origin.HUMAN)
        new = Claim.objects.create(
            sentence=claim.sentence,
            order=claim.order + 1,
            text=second,
            text_origin=Origin.HUMAN,
            **_labels(claim),
        )
        action.created(new)
        action.write()
        return new


def merge_claim_with_next(claim: Claim, *, by: User, active_seconds: int = 0) -> None:
    """Merge a claim with the next one of its sentence: the texts are concatenated for the person to edit."""
    with transaction.atomic():
        action = _begin("merge-claims", claim.sentence, by, active_seconds)
        present = _present_claims(claim.sentence)
        position = [each.pk for each in present].index(claim.pk) if claim.pk in {c.pk for c in present} else -1
        if position < 0 or position + 1 >= len(present):
            raise BadValueError("There is no next claim in this sentence to merge with.")
        first, second = present[position], present[position + 1]
        text = f"{first.text.rstrip().removesuffix('.')} and {second.text.strip()}"
        action.set(first, text=text, text_origin=Origin.EDITED if first.suggestion_id else Origin.HUMAN)
        action.set(second, removed=Removal.MERGED.value)
        action.write()


def move_claim(claim: Claim, step: int, *, by: User, active_seconds: int = 0) -> None:
    """Move a claim up (-1) or down (+1) within its sentence. At the edge, nothing happens."""
    with transaction.atomic():
        action = _begin("move-claim", claim.sentence, by, active_seconds)
        rows = list(claim.sentence.claims.order_by("order", "id"))
        present = [row for row in rows if not row.removed]
        here = next((i for i, row in enumerate(present) if row.pk == claim.pk), None)
        there = None if here is None else here + step
        if here is None or there is None or not 0 <= there < len(present):
            return
        first, second = rows.index(present[here]), rows.index(present[there])
        rows[first], rows[second] = rows[second], rows[first]
        for order, row in enumerate(rows, start=1):
            action.set(row, order=order)
        action.write()


def split_sentence(sentence: Sentence, at: int, *, by: User, active_seconds: int = 0) -> Sentence:
    """Split a sentence of the response at a code point of its text. Its claims stay with the first half, and the
    person moves those that belong to the second."""
    with transaction.atomic():
        action = _begin("split-sentence", sentence, by, active_seconds)
        sentence = Sentence.objects.get(pk=sentence.pk)
        first, second = _halves(sentence.text, at, "sentence")
        _make_room(action, sentence.annotation.sentences.filter(order__gt=sentence.order))
        offset = sentence.text.index(second, len(first)) if sentence.start is not None else 0
        new = Sentence.objects.create(
            annotation=sentence.annotation,
            order=sentence.order + 1,
            text=second,
            start=None if sentence.start is None else sentence.start + offset,
            end=sentence.end,
            decontext=second,
            decontext_origin="",
            **_labels(sentence),
        )
        action.set(
            sentence,
            text=first,
            end=None if sentence.start is None else sentence.start + len(first),
            decontext=first,
            decontext_origin="",
        )
        action.created(new)
        action.write()
        return new


def merge_sentence_with_next(sentence: Sentence, *, by: User, active_seconds: int = 0) -> None:
    """Merge a sentence with the next one, whose claims move to this one."""
    with transaction.atomic():
        action = _begin("merge-sentences", sentence, by, active_seconds)
        sentence = Sentence.objects.select_related("annotation__document").get(pk=sentence.pk)
        following = (
            sentence.annotation.sentences.filter(removed="", order__gt=sentence.order).order_by("order", "id").first()
        )
        if following is None:
            raise BadValueError("This is the last sentence, so there is no next one to merge with.")
        rules.check_edit_sentence(by, action.annotation, following.pk)  # type: ignore[arg-type]
        placed = sentence.end is not None and following.start is not None and sentence.end <= following.start
        response = sentence.annotation.document.response
        between = response[sentence.end : following.start] if placed else " "
        action.set(
            sentence,
            text=sentence.text + between + following.text,
            start=sentence.start if placed else None,
            end=following.end if placed else None,
            decontext=f"{sentence.decontext.strip()} {following.decontext.strip()}".strip(),
            decontext_origin="",
        )
        last = sentence.claims.order_by("-order").first()
        order = last.order if last else 0
        for claim in following.claims.order_by("order", "id"):
            order += 1
            action.set(claim, sentence=sentence.public_id, order=order)
        action.set(following, removed=Removal.MERGED.value)
        action.write()


def move_claim_to_sentence(claim: Claim, sentence: Sentence, *, by: User, active_seconds: int = 0) -> None:
    """Move a claim to the end of another sentence of the same annotation."""
    if sentence.annotation_id != claim.sentence.annotation_id or sentence.removed:
        raise BadValueError("That sentence is no longer part of this document. Choose another one.")
    with transaction.atomic():
        action = _begin("move-claim", claim.sentence, by, active_seconds)
        rules.check_edit_sentence(by, action.annotation, sentence.pk)  # type: ignore[arg-type]
        last = sentence.claims.order_by("-order").first()
        claim = _present(claim)
        action.set(claim, sentence=sentence.public_id, order=last.order + 1 if last else 1)
        action.write()


def _labels(record: Sentence | Claim) -> dict[str, Any]:
    """What both halves of a record keep: every decided field except the text."""
    kept = [each for each in fields_of(KINDS[type(record)]) if each.kind != Kind.TEXT]
    return {name: getattr(record, name) for name in columns(kept)}


def _halves(text: str, at: int, what: str) -> tuple[str, str]:
    first, second = text[:at].rstrip(), text[at:].lstrip()
    if not 0 < at < len(text) or not first or not second:
        raise BadValueError(f"Split the {what} between two words.")
    return first, second


def _make_room(action: Action, following: object) -> None:
    """Shift the order of the following rows by one."""
    for row in following.order_by("-order"):  # type: ignore[attr-defined]
        action.set(row, order=row.order + 1)
