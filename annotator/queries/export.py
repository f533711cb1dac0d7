"""The agreed rows of a benchmark as gold documents, streamed: a chunk of documents at a time, a dozen queries each.

Only agreed versions are read, and no removed row. The keys of the documents are read first (8 bytes each), so that no
cursor stays open while somebody downloads; beyond them memory does not grow with the benchmark.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.db.models import Q, QuerySet

from annotator import edits
from annotator.formats import factcheck_bench
from annotator.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence
from annotator.formats.released import load
from annotator.models import (
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
from annotator.vocabulary import AnnotationKind, AnnotationState, EditKind, Phase, Stage

CHUNK = 50  # documents

FORMATS = (factcheck_bench.NAME,)
INCLUDE = ("gold", "all")


def export_lines(benchmark: Benchmark, *, format: str = factcheck_bench.NAME, include: str = "gold") -> Iterator[str]:
    """The lines of an export, with their line breaks."""
    if format not in FORMATS:
        raise ValueError(f"“{format}” is no format that can be exported: {', '.join(FORMATS)}.")
    for document in gold_documents(benchmark, include=include):
        yield factcheck_bench.line(document) + "\n"


def count_documents(benchmark: Benchmark, *, include: str = "gold") -> int:
    """How many lines an export will have."""
    return _documents(benchmark, include).count()


def gold_documents(benchmark: Benchmark, *, include: str = "gold") -> Iterator[GoldDocument]:
    """The documents of a benchmark in their order with all that is agreed.

    ``gold`` takes those that are agreed at all three stages; ``all`` every document that is not discarded, with what is
    agreed so far.
    """
    keys = array("q", _documents(benchmark, include).order_by("order", "id").values_list("pk", flat=True).iterator())
    for start in range(0, len(keys), CHUNK):
        chunk = _documents(benchmark, include).filter(pk__in=keys[start : start + CHUNK]).order_by("order", "id")
        yield from _Chunk(list(chunk)).documents()


def _documents(benchmark: Benchmark, include: str) -> QuerySet[Document]:
    documents = Document.objects.filter(benchmark=benchmark, twin_of__isnull=True).exclude(phase=Phase.DISCARDED)
    if include == "gold":
        return documents.filter(stage=Stage.REVISE, phase=Phase.AGREED)
    if include == "all":
        return documents
    raise ValueError(f"“{include}” is neither {' nor '.join(INCLUDE)}.")


def _grouped(rows: Any) -> dict[int, list[Any]]:
    """Named rows by their first column."""
    return {key: list(group) for key, group in groupby(sorted(rows, key=lambda row: row[0]), key=lambda row: row[0])}


class _Chunk:
    """Reads what belongs to some documents, table by table, and puts it together."""

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
            .order_by("order", "pk")
            .values_list(
                "annotation_id",
                "pk",
                "public_id",
                "text",
                "start",
                "end",
                "decontext",
                "type",
                "importance",
                "released",
                named=True,
            )
        )
        self.claims = _grouped(
            Claim.objects.filter(sentence__annotation__in=decompose, sentence__removed="", removed="")
            .order_by("order", "pk")
            .values_list(
                "sentence_id", "pk", "public_id", "text", "type", "worth_checking", "importance", "released", named=True
            )
        )
        claims = [row.pk for rows in self.claims.values() for row in rows]
        self.evidence = _grouped(
            Evidence.objects.filter(Q(annotation__isnull=True) | Q(annotation__in=verify))
            .filter(claim__in=claims, removed="")
            .order_by("order", "pk")
            .values_list(
                "claim_id",
                "pk",
                "public_id",
                "annotation_id",
                "passage",
                "url",
                "title",
                "site",
                "published",
                "query",
                "retrieved_at",
                "content_hash",
                "released",
                named=True,
            )
        )
        self.stances = dict(Stance.objects.filter(annotation__in=verify).values_list("evidence_id", "label"))
        self.verdicts = {
            row.claim_id: row
            for row in Verdict.objects.filter(annotation__in=verify).values_list(
                "claim_id", "pk", "evidence_sufficient", "factuality", "reason", named=True
            )
        }
        verdicts = [row.pk for row in self.verdicts.values()]
        self.operations = _grouped(
            EditOperation.objects.filter(verdict__in=verdicts)
            .order_by("order", "pk")
            .values_list("verdict_id", "kind", "start", "end", "replacement")
        )
        self.rests = _grouped(
            RestsOn.objects.filter(verdict__in=verdicts)
            .order_by("order", "pk")
            .values_list("verdict_id", "evidence_id")
        )
        self.claim_revisions = {
            row.claim_id: row
            for row in ClaimRevision.objects.filter(annotation__in=revise).values_list(
                "claim_id", "handling", "text", named=True
            )
        }
        self.sentence_revisions = {
            row.sentence_id: row
            for row in SentenceRevision.objects.filter(annotation__in=revise).values_list(
                "sentence_id", "text", "deleted", named=True
            )
        }
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

    def _sentence(self, row: Any) -> GoldSentence:
        revision = self.sentence_revisions.get(row.pk)
        return GoldSentence(
            text=row.text,
            start=row.start,
            end=row.end,
            decontext=row.decontext,
            type=row.type,
            importance=row.importance,
            claims=[self._claim(each) for each in self.claims.get(row.pk, ())],
            revised=revision.text if revision else None,
            deleted=revision.deleted if revision else False,
            released=load(row.released),
            public_id=row.public_id,
        )

    def _claim(self, row: Any) -> GoldClaim:
        claim = GoldClaim(
            text=row.text,
            type=row.type,
            worth_checking=row.worth_checking,
            importance=row.importance,
            released=load(row.released),
            public_id=row.public_id,
        )
        by_key: dict[int, GoldEvidence] = {}
        for each in self.evidence.get(row.pk, ()):
            by_key[each.pk] = GoldEvidence(
                passage=each.passage,
                url=each.url,
                stance=self.stances.get(each.pk, ""),
                released=load(each.released),
                public_id=each.public_id,
                title=each.title,
                site=each.site,
                published=each.published,
                query=each.query,
                retrieved_at=each.retrieved_at,
                content_hash=each.content_hash,
            )
            (claim.retrieved if each.annotation_id is None else claim.added).append(by_key[each.pk])
        verdict = self.verdicts.get(row.pk)
        if verdict is not None:
            claim.evidence_sufficient = verdict.evidence_sufficient
            claim.factuality = verdict.factuality
            claim.reason = verdict.reason
            claim.operations = [
                edits.Operation(EditKind(kind), start, end, replacement)
                for _, kind, start, end, replacement in self.operations.get(verdict.pk, ())
            ]
            claim.rests_on = [by_key[key] for _, key in self.rests.get(verdict.pk, ()) if key in by_key]
        revision = self.claim_revisions.get(row.pk)
        if revision is not None:
            claim.handling, claim.rewritten = revision.handling, revision.text
        return claim
