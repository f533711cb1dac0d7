"""Blind first: for a share of documents, people label without seeing the suggestion and see it afterwards, so that the
effect of suggestions on labels can be measured.

Rows are split as the machine split them but carry no suggestion. It is attached once the person's own labels of the row
are stored; from then on, the usual rules of origin apply.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from annotator.core.models import Document, Sentence, SentenceSuggestion, Stance, StanceSuggestion
from annotator.core.models.base import Record
from annotator.core.vocabulary import SentenceType


def suggested_sentences(document: Document) -> QuerySet[SentenceSuggestion]:
    """The sentences proposed by the newest run, in order."""
    newest = SentenceSuggestion.objects.filter(document=document).order_by("-run_id").values("run")[:1]
    return SentenceSuggestion.objects.filter(document=document, run=newest).order_by("order")


def suggested_stances(evidence: Collection[int]) -> dict[int, int]:
    """The newest stance proposed for each passage; both by primary key."""
    rows = StanceSuggestion.objects.filter(evidence__in=evidence).order_by("run_id")
    return dict(rows.values_list("evidence", "pk"))


def reveal(record: Record, document: Document) -> None:
    """Attach the suggestion to a row of a blind-first document that now has the person's own labels.

    The caller saves the row. This isn't a field change: undo reverts the label, but not the fact that the suggestion
    was seen.
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
    """The labels that the suggestion would show for a sentence, and for a check-worthy one its decontextualized
    text."""
    text = sentence.decontext_origin or sentence.type != SentenceType.CHECKWORTHY
    return bool(sentence.type and sentence.importance and text)
