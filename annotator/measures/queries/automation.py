"""Data for the page about automation, in addition to ``annotator.measures.queries.suggestion_quality``: first labels of
blind-first documents, from the history."""

from __future__ import annotations

from collections.abc import Iterator

from annotator.core.models import Activity, Benchmark, Sentence, Stance
from annotator.core.queries.gold import GoldScope
from annotator.core.vocabulary import AnnotationKind, AnnotationState
from annotator.measures.queries.suggestion_quality import MAX_DOCUMENTS, documents_of, kept
from annotator.measures.suggestion_quality.automation import Automation, automation_of
from annotator.measures.suggestion_quality.influence import FirstLabel

# A record's field, and the name under which it is counted.
FIELDS = {("stance", "label"): "stance", ("sentence", "type"): "sentence_type"} | {
    ("sentence", "importance"): "sentence_importance"
}


def kept_automation_of(benchmark: Benchmark) -> Automation:
    """Over the newest gold, cached until gold or runs change."""
    return kept(benchmark, "automation", lambda: _automation_of(benchmark))


def _automation_of(benchmark: Benchmark) -> Automation:
    documents = documents_of(benchmark, most=MAX_DOCUMENTS)
    blind = [each.key for each in documents if each.blind_first]
    gold = GoldScope(benchmark).documents().count()
    return automation_of(documents, list(first_labels(blind)), gold=gold)


def first_labels(documents: list[int]) -> Iterator[FirstLabel]:
    """People's first labels in these documents (primary keys) if a suggestion was shown afterwards (four queries; none
    without documents). In the history, a label is first if its field had no value before."""
    if not documents:
        return
    theirs = {
        "annotation__document__in": documents,
        "annotation__kind": AnnotationKind.INDIVIDUAL,
        "annotation__state": AnnotationState.SUBMITTED,
        "suggestion__isnull": False,
    }
    revealed: dict[tuple[str, str], tuple[str, str, int | None, int]] = {}
    stances = Stance.objects.filter(**theirs).exclude(label="").order_by()
    whose = "annotation__person"
    for public_id, *rest in stances.values_list("public_id", "label", "suggestion__label", whose, "evidence"):
        revealed[f"stance:{public_id}", "label"] = (rest[0], rest[1], rest[2], rest[3])
    sentences = Sentence.objects.filter(**theirs, removed="").order_by()
    for field in ("type", "importance"):
        columns = ("public_id", field, f"suggestion__{field}", whose, "pk")
        for public_id, *rest in sentences.values_list(*columns):
            revealed[f"sentence:{public_id}", field] = (rest[0], rest[1], rest[2], rest[3])
    activities = Activity.objects.filter(document__in=documents, annotation__kind=AnnotationKind.INDIVIDUAL)
    for changes in activities.order_by("pk").values_list("changes", flat=True).iterator():
        for change in changes:
            key = (change["record"], change["field"])
            if key in revealed and not change["before"] and change["after"]:
                final, suggested, person, row = revealed.pop(key)
                if final and suggested:
                    thing = FIELDS[change["record"].partition(":")[0], change["field"]]
                    yield FirstLabel(thing, change["after"], suggested, final, person, row)
