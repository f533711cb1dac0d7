"""Items of a study made from the benchmark's documents: what several runs suggested becomes masked candidates, and
adjudicated claims with their passages become judgments."""

from __future__ import annotations

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, Claim, ClaimSuggestion, Document, RevisionSuggestion
from annotator.core.vocabulary import AnnotationKind, Stage
from annotator.studies.item_file import CANDIDATE, ItemRow, PartRow

SOURCES = {
    "claims": "Claim lists: the claims that several strategies suggested for each document",
    "revisions": "Revised responses: what several models suggested, with and without the prompt",
    "claims-with-passages": "Claims of the adjudicated decompositions, with their retrieved passages",
}


def rows_from_benchmark(benchmark: Benchmark, source: str) -> list[ItemRow]:
    """The items. Raises BadValueError for an unknown source, or if the benchmark has nothing to make items from."""
    makers = {"claims": _claims, "revisions": _revisions, "claims-with-passages": _with_passages}
    if source not in makers:
        raise BadValueError(f"Choose one of {', '.join(makers)}.")
    rows = makers[source](benchmark)
    if not rows:
        raise BadValueError(
            "The benchmark has nothing to compare: two runs must have suggested something for the same document."
            if source != "claims-with-passages"
            else "The benchmark has no adjudicated claims yet."
        )
    return rows


def _documents(benchmark: Benchmark) -> dict[int, Document]:
    rows = Document.objects.filter(benchmark=benchmark, twin_of__isnull=True).order_by("order", "id")
    return {each.pk: each for each in rows}


def _row(document: Document, parts: list[PartRow], line: int) -> ItemRow:
    return ItemRow(
        line,
        document.external_id or document.public_id,
        document.source[:120],
        document.prompt,
        document.response,
        {"document": document.public_id, "model": document.model},
        parts,
    )


def _claims(benchmark: Benchmark) -> list[ItemRow]:
    """Per document the newest run of each strategy."""
    found: dict[int, dict[str, dict[int, list[str]]]] = {}
    rows = ClaimSuggestion.objects.filter(sentence__run__benchmark=benchmark).order_by("sentence__order", "order")
    for document_pk, strategy, run, text in rows.values_list(
        "sentence__document", "sentence__run__strategy", "sentence__run", "text"
    ):
        found.setdefault(document_pk, {}).setdefault(strategy, {}).setdefault(run, []).append(text)
    items: list[ItemRow] = []
    for pk, document in _documents(benchmark).items():
        by_strategy = found.get(pk, {})
        if len(by_strategy) > 1:
            lists = {strategy: runs[max(runs)] for strategy, runs in sorted(by_strategy.items())}
            parts = [
                PartRow(CANDIDATE, "\n".join(lines), strategy, {"lines": lines}) for strategy, lines in lists.items()
            ]
            items.append(_row(document, parts, len(items) + 1))
    return items


def _revisions(benchmark: Benchmark) -> list[ItemRow]:
    found: dict[int, dict[str, str]] = {}
    rows = RevisionSuggestion.objects.filter(run__benchmark=benchmark).select_related("run").order_by("run")
    for each in rows:
        model = str((each.run.plan.get("parameters") or {}).get("model") or each.run.strategy)
        for text, name in ((each.with_prompt, "with question"), (each.without_prompt, "without question")):
            if text.strip():
                found.setdefault(each.document_id, {})[f"{model}, {name}"] = text
    items: list[ItemRow] = []
    for pk, document in _documents(benchmark).items():
        texts = found.get(pk, {})
        if len(texts) > 1:
            parts = [PartRow(CANDIDATE, text, source) for source, text in sorted(texts.items())]
            items.append(_row(document, parts, len(items) + 1))
    return items


def _with_passages(benchmark: Benchmark) -> list[ItemRow]:
    rows = Claim.objects.filter(
        sentence__annotation__document__benchmark=benchmark,
        sentence__annotation__document__twin_of__isnull=True,
        sentence__annotation__kind=AnnotationKind.CONSOLIDATED,
        sentence__annotation__stage=Stage.DECOMPOSE,
        removed="",
    )
    rows = rows.select_related("sentence__annotation__document").prefetch_related("evidence")
    items: list[ItemRow] = []
    for claim in rows.order_by("sentence__annotation__document__order", "sentence__order", "order"):
        document = claim.sentence.annotation.document
        passages = [
            PartRow("passage", each.passage, "", {"title": each.title, "url": each.url})
            for each in sorted(claim.evidence.all(), key=lambda each: (each.order, each.pk))
            if each.annotation_id is None and not each.removed
        ][:10]
        items.append(
            ItemRow(
                len(items) + 1,
                claim.public_id,
                document.source[:120],
                "",
                claim.text,
                {"document": document.public_id},
                passages,
            )
        )
    return items
