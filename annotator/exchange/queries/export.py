"""Streams the adjudicated rows of a benchmark as gold documents: a chunk of documents at a time, a dozen queries each.

Reads only adjudicated versions, without removed rows. The documents' keys are read first (8 bytes each), so that no
cursor stays open during a download. Otherwise memory doesn't grow with the benchmark.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import cache
from operator import itemgetter
from typing import Any

from django.db.models import Q, QuerySet

from annotator.core.fields import exported_fields
from annotator.core.models import (
    Annotation,
    Benchmark,
    Claim,
    ClaimRevision,
    Document,
    EditOperation,
    Evidence,
    ResponseRevision,
    RestsOn,
    Sentence,
    SentenceRevision,
    Stance,
    Verdict,
)
from annotator.core.queries.documents import DocumentFilter, matching
from annotator.core.released import load
from annotator.core.texts import edits
from annotator.core.vocabulary import AnnotationKind, AnnotationState, EditKind, Phase, Stage
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence, made

CHUNK = 100  # documents

INCLUDE = ("gold", "all")

_SOURCE = ("public_id", "title", "site", "published", "query", "retrieved_at", "content_hash")


def count_documents(benchmark: Benchmark, *, include: str = "gold", among: Q | None = None) -> int:
    """How many lines an export will have."""
    return documents_to_export(benchmark, include, among).count()


def gold_documents(benchmark: Benchmark, *, include: str = "gold", among: Q | None = None) -> Iterator[GoldDocument]:
    """The documents of a benchmark in order, with everything adjudicated.

    ``gold`` takes documents that are adjudicated at all three stages; ``all`` takes every document that isn't
    discarded, with what is adjudicated so far. ``among`` narrows them further.
    """
    chosen = documents_to_export(benchmark, include, among)
    keys = array("q", chosen.order_by("order", "id").values_list("pk", flat=True).iterator())
    for start in range(0, len(keys), CHUNK):
        chunk = (
            documents_to_export(benchmark, include).filter(pk__in=keys[start : start + CHUNK]).order_by("order", "id")
        )
        yield from _GoldChunk(list(chunk)).documents()


def documents_to_export(benchmark: Benchmark, include: str, among: Q | None = None) -> QuerySet[Document]:
    """The documents that an export has, in no order; ``among`` narrows them. Raises ValueError for an unknown
    ``include``."""
    documents = Document.objects.filter(among or Q(), benchmark=benchmark, twin_of__isnull=True).exclude(
        phase=Phase.DISCARDED
    )
    if include == "gold":
        return documents.filter(stage=Stage.REVISE, phase=Phase.AGREED)
    if include == "all":
        return documents
    raise ValueError(f"“{include}” isn’t valid; choose {' or '.join(INCLUDE)}.")


def among_of(benchmark: Benchmark, narrowed: DocumentFilter) -> Q | None:
    """The documents that a filter leaves, to narrow an export; None without a filter."""
    return Q(pk__in=matching(benchmark, narrowed).values("pk")) if narrowed.is_on else None


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
    """Rows grouped by their first column, sorted by their second and third.

    Sorted here rather than by the database, which would sort long passages on disk.
    """
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in sorted(rows, key=itemgetter(1, 2)):
        found.setdefault(row[0], []).append(row)
    return found


class _GoldChunk:
    """Reads everything that belongs to some documents, table by table, and assembles it.

    Rows are tuples, selected by the chunk's annotations; listing its many claims and passages would make long
    statements.
    """

    def __init__(self, documents: list[Document]) -> None:
        self.rows = documents
        self.stages: dict[tuple[int, str], int] = {
            (document, stage): pk
            for pk, document, stage in Annotation.objects.filter(
                document__in=documents, kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.SUBMITTED
            ).values_list("pk", "document_id", "stage")
        }
        decompose, verify, revise = (
            [pk for (_, stage), pk in self.stages.items() if stage == wanted] for wanted in Stage
        )
        self.sentences = _grouped(
            Sentence.objects.filter(annotation__in=decompose, removed="")
            .order_by()
            .values_list(
                "annotation_id",
                "order",
                "pk",
                "public_id",
                "text",
                "start",
                "end",
                "released",
                *_names("sentence"),
            )
        )
        self.claims = _grouped(
            Claim.objects.filter(sentence__annotation__in=decompose, sentence__removed="", removed="")
            .order_by()
            .values_list(
                "sentence_id",
                "order",
                "pk",
                "public_id",
                "released",
                *_names("claim"),
            )
        )
        self.evidence = _grouped(
            Evidence.objects.filter(Q(annotation__isnull=True) | Q(annotation__in=verify))
            .filter(claim__sentence__annotation__in=decompose, removed="")
            .order_by()
            .values_list(
                "claim_id",
                "order",
                "pk",
                "annotation_id",
                "passage",
                "url",
                "released",
                *_SOURCE,
            )
        )
        self.stances = _values("stance", "evidence_id", Stance.objects.filter(annotation__in=verify))
        verdicts = Verdict.objects.filter(annotation__in=verify).values_list("claim_id", "pk", *_names("verdict"))
        self.verdicts = {claim: (pk, _by_column("verdict", values)) for claim, pk, *values in verdicts}
        self.operations = _grouped(
            EditOperation.objects.filter(verdict__annotation__in=verify)
            .order_by()
            .values_list("verdict_id", "order", "pk", "kind", "start", "end", "replacement")
        )
        self.rests = _grouped(
            RestsOn.objects.filter(verdict__annotation__in=verify)
            .order_by()
            .values_list("verdict_id", "order", "pk", "evidence_id")
        )
        self.claim_revisions = _values(
            "claim-revision", "claim_id", ClaimRevision.objects.filter(annotation__in=revise)
        )
        self.sentence_revisions = _values(
            "sentence-revision", "sentence_id", SentenceRevision.objects.filter(annotation__in=revise)
        )
        self.responses = dict(
            ResponseRevision.objects.filter(annotation__in=revise).values_list("annotation_id", "text")
        )

    def documents(self) -> Iterator[GoldDocument]:
        for row in self.rows:
            decompose, verify, revise = (self.stages.get((row.pk, stage), 0) for stage in Stage)
            yield GoldDocument(
                prompt=row.prompt,
                response=row.response,
                sentences=[self._sentence(each) for each in self.sentences.get(decompose, ())],
                revised_response=self.responses.get(revise, ""),
                verified=bool(decompose and verify),
                revised=bool(decompose and verify and revise),
                released=load(row.released),
                public_id=row.public_id,
                external_id=row.external_id,
                source=row.source,
                model=row.model,
                metadata=row.metadata,
                reference_date=row.reference_date,
            )

    def _sentence(self, row: tuple[Any, ...]) -> GoldSentence:
        _, _, pk, public_id, text, start, end, released, *values = row
        return made(
            GoldSentence,
            _by_column("sentence", values) | self.sentence_revisions.get(pk, {}),
            text=text,
            start=start,
            end=end,
            claims=[self._claim(each) for each in self.claims.get(pk, ())],
            released=load(released),
            public_id=public_id,
        )

    def _claim(self, row: tuple[Any, ...]) -> GoldClaim:
        _, _, pk, public_id, released, *values = row
        verdict, judged = self.verdicts.get(pk, (None, {}))
        said = _by_column("claim", values) | judged | self.claim_revisions.get(pk, {})
        claim = made(GoldClaim, said, released=load(released), public_id=public_id)
        by_key: dict[int, GoldEvidence] = {}
        for _, _, key, annotation, passage, url, spellings, *rest in self.evidence.get(pk, ()):
            evidence = made(
                GoldEvidence,
                self.stances.get(key, {}),
                passage=passage,
                url=url,
                released=load(spellings) if spellings else {},
                **dict(zip(_SOURCE, rest, strict=True)),
            )
            by_key[key] = evidence
            (claim.retrieved if annotation is None else claim.added).append(evidence)
        if verdict is not None:
            claim.operations = [
                edits.Operation(EditKind(kind), start, end, replacement)
                for _, _, _, kind, start, end, replacement in self.operations.get(verdict, ())
            ]
            claim.rests_on = [by_key[key] for *_, key in self.rests.get(verdict, ()) if key in by_key]
        return claim


# --- declared fields ------------------------------------------------------------------------------


@cache
def _names(record: str) -> tuple[str, ...]:
    """The columns of the declared fields that are exported."""
    return tuple(each.name for each in exported_fields(record))


@cache
def _columns(record: str) -> tuple[str, ...]:
    """The same, by their names in tables and gold rows."""
    return tuple(each.column for each in exported_fields(record))


def _by_column(record: str, values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(_columns(record), values, strict=True))


def _values(record: str, about: str, rows: QuerySet[Any]) -> dict[int, dict[str, Any]]:
    """The exported values of some rows, by the key of the record they describe."""
    return {key: _by_column(record, values) for key, *values in rows.values_list(about, *_names(record))}
