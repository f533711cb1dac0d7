"""Blind first: in a share of documents people label without seeing the suggestion, and see it afterwards, so that it
can be measured what suggestions do to labels (design: Suggestions).

The rows are cut as the machine cut them, but carry no suggestion. It is attached when the person's own labels of the
row are stored; from then on the usual rules of origin hold.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from annotator.core.models import Document, Sentence, SentenceSuggestion, Stance, StanceSuggestion
from annotator.core.models.base import Record
from annotator.core.vocabulary import SentenceType


def suggested_sentences(document: Document) -> QuerySet[SentenceSuggestion]:
    """The sentences that the newest run proposed, in order."""
    newest = SentenceSuggestion.objects.filter(document=document).order_by("-run_id").values("run")[:1]
    return SentenceSuggestion.objects.filter(document=document, run=newest).order_by("order")


def suggested_stances(evidence: Collection[int]) -> dict[int, int]:
    """The newest stance proposed for each passage; both by their primary keys."""
    rows = StanceSuggestion.objects.filter(evidence__in=evidence).order_by("run_id")
    return dict(rows.values_list("evidence", "pk"))


def reveal(record: Record, document: Document) -> None:
    """Attach the suggestion to a row of a blind-first document whose labels are the person's own by now.

    The caller saves the row. This is no field change: undo takes the label back, not that the suggestion was seen.
    """
    if not document.blind_first:
        return
    if isinstance(record, Stance) and record.label and record.suggestion_id is None:
        record.suggestion_id = suggested_stances([record.evidence_id]).get(record.evidence_id)
    elif isinstance(record, Sentence) and record.suggestion_id is None and _is_decided(record):
        rows = suggested_sentences(document)
        same_place = rows.filter(start=record.start, end=record.end) if record.start is not None else rows
        record.suggestion = same_place.filter(text=record.text).first()


def _is_decided(sentence: Sentence) -> bool:
    """All that the suggestion would show of a sentence: its labels, and for a checkworthy one the stand-alone text."""
    text = sentence.decontext_origin or sentence.type != SentenceType.CHECKWORTHY
    return bool(sentence.type and sentence.importance and text)
