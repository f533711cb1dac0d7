"""What a batch of imported rows becomes in the database: about a dozen bulk inserts, whatever its size.

Called inside the transaction of ``annotator.actions.imports``; returns primary keys of documents.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from annotator.formats.gold import GoldClaim, GoldDocument
from annotator.formats.incoming import IncomingDocument, place_of
from annotator.formats.released import Spellings, dump, remember, storable, storable_json
from annotator.models import (
    Annotation,
    Benchmark,
    Claim,
    ClaimRevision,
    ClaimSuggestion,
    Document,
    EditOperation,
    Evidence,
    PipelineRun,
    ResponseRevision,
    RestsOn,
    RunItem,
    Sentence,
    SentenceRevision,
    SentenceSuggestion,
    Stance,
    Verdict,
)
from annotator.vocabulary import (
    AnnotationKind,
    AnnotationState,
    Handling,
    Origin,
    Phase,
    RunState,
    Stage,
)


def write_documents(benchmark: Benchmark, rows: Sequence[IncomingDocument], first_order: int) -> list[int]:
    """New documents, open at decompose. Returns those that brought no sentences of their own."""
    documents = Document.objects.bulk_create(
        _document(benchmark, row, order) for order, row in enumerate(rows, start=first_order)
    )
    proposed = [(document, row) for document, row in zip(documents, rows, strict=True) if row.sentences]
    if proposed:
        _write_suggestions(benchmark, proposed)
    return [document.pk for document, row in zip(documents, rows, strict=True) if not row.sentences]


def _document(benchmark: Benchmark, row: IncomingDocument, order: int) -> Document:
    released: Spellings = {}
    prompt, response = storable(row.prompt), storable(row.response)
    remember(released, "prompt", row.prompt, prompt)
    remember(released, "response", row.response, response)
    return Document(
        benchmark=benchmark,
        order=order,
        identity=row.identity,
        external_id=row.external_id,
        content_hash=row.content_hash,
        prompt=prompt,
        response=response,
        source=storable(row.source),
        model=storable(row.model),
        metadata=storable_json(row.metadata),
        reference_date=row.reference_date,
        stage=Stage.DECOMPOSE,
        phase=Phase.INDEPENDENT,
        released=dump(released),
    )


def _write_suggestions(benchmark: Benchmark, proposed: Sequence[tuple[Document, IncomingDocument]]) -> None:
    """The sentences and claims of the file, as a finished run of the strategy "import"."""
    now = timezone.now()
    run = PipelineRun.objects.create(
        benchmark=benchmark,
        stage=Stage.DECOMPOSE,
        strategy="import",
        state=RunState.FINISHED,
        started_at=now,
        finished_at=now,
    )
    RunItem.objects.bulk_create(
        RunItem(run=run, document=document, state=RunState.FINISHED, started_at=now, finished_at=now)
        for document, _ in proposed
    )
    sentences: list[SentenceSuggestion] = []
    claims: list[ClaimSuggestion] = []
    for document, row in proposed:
        position = 0
        for order, each in enumerate(row.sentences, start=1):
            text = storable(each.text)
            place = place_of(text, document.response, position)
            position = place[1] if place else position
            sentence = SentenceSuggestion(
                run=run,
                document=document,
                order=order,
                text=text,
                start=place[0] if place else None,
                end=place[1] if place else None,
                # The file decontextualises nothing: the person starts from the sentence itself.
                decontext=text,
            )
            sentences.append(sentence)
            claims += [
                ClaimSuggestion(sentence=sentence, order=number, text=storable(claim))
                for number, claim in enumerate(each.claims, start=1)
            ]
    SentenceSuggestion.objects.bulk_create(sentences)
    ClaimSuggestion.objects.bulk_create(claims)


def write_gold(benchmark: Benchmark, rows: Sequence[GoldDocument], first_order: int) -> list[int]:
    """New documents with an agreed version of all three stages."""
    batch = _GoldBatch(benchmark)
    for order, row in enumerate(rows, start=first_order):
        batch.add(row, order)
    return batch.write()


class _GoldBatch:
    """The rows of a batch of gold, gathered model by model and inserted in the order of their dependence."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self.now = timezone.now()
        self.documents: list[Document] = []
        self.annotations: list[Annotation] = []
        self.sentences: list[Sentence] = []
        self.claims: list[Claim] = []
        self.evidence: list[Evidence] = []
        self.stances: list[Stance] = []
        self.verdicts: list[Verdict] = []
        self.operations: list[EditOperation] = []
        self.rests: list[RestsOn] = []
        self.claim_revisions: list[ClaimRevision] = []
        self.sentence_revisions: list[SentenceRevision] = []
        self.response_revisions: list[ResponseRevision] = []

    def write(self) -> list[int]:
        Document.objects.bulk_create(self.documents)
        Annotation.objects.bulk_create(self.annotations)
        Sentence.objects.bulk_create(self.sentences)
        Claim.objects.bulk_create(self.claims)
        Evidence.objects.bulk_create(self.evidence)
        Stance.objects.bulk_create(self.stances)
        Verdict.objects.bulk_create(self.verdicts)
        EditOperation.objects.bulk_create(self.operations)
        RestsOn.objects.bulk_create(self.rests)
        ClaimRevision.objects.bulk_create(self.claim_revisions)
        SentenceRevision.objects.bulk_create(self.sentence_revisions)
        ResponseRevision.objects.bulk_create(self.response_revisions)
        return [document.pk for document in self.documents]

    def add(self, row: GoldDocument, order: int) -> None:
        about = row.about
        document = Document(
            benchmark=self.benchmark,
            order=order,
            identity=row.identity,
            external_id=about["external_id"],
            content_hash=row.content_hash,
            prompt=row.prompt,
            response=row.response,
            source=storable(about["source"]),
            model=storable(about["model"]),
            metadata=storable_json(about["metadata"]),
            reference_date=about["reference_date"],
            stage=Stage.REVISE,
            phase=Phase.AGREED,
            released=dump(row.released),
        )
        self.documents.append(document)
        decompose, verify, revise = (
            Annotation(
                document=document,
                stage=stage,
                kind=AnnotationKind.CONSOLIDATED,
                state=AnnotationState.SUBMITTED,
                submitted_at=self.now,
            )
            for stage in (Stage.DECOMPOSE, Stage.VERIFY, Stage.REVISE)
        )
        self.annotations += [decompose, verify, revise]
        for number, each in enumerate(row.sentences, start=1):
            sentence = Sentence(
                annotation=decompose,
                order=number,
                text=each.text,
                start=each.start,
                end=each.end,
                decontext=each.decontext,
                decontext_origin=Origin.IMPORTED if each.decontext else "",
                type=each.type,
                type_origin=Origin.IMPORTED if each.type else "",
                importance=each.importance,
                importance_origin=Origin.IMPORTED if each.importance else "",
                released=dump(each.released),
            )
            self.sentences.append(sentence)
            for place, claim in enumerate(each.claims, start=1):
                self._add_claim(claim, sentence, place, verify, revise)
            if each.revised is not None:
                self.sentence_revisions.append(
                    SentenceRevision(
                        annotation=revise,
                        sentence=sentence,
                        text=each.revised,
                        text_origin=Origin.IMPORTED,
                        deleted=each.deleted,
                    )
                )
        self.response_revisions.append(
            ResponseRevision(
                annotation=revise,
                text=row.revised_response,
                text_origin=Origin.IMPORTED,
                # A text that was decided: it would be wrong to merge it anew from its sentences.
                follows_statements=False,
            )
        )

    def _add_claim(
        self, each: GoldClaim, sentence: Sentence, order: int, verify: Annotation, revise: Annotation
    ) -> None:
        claim = Claim(
            sentence=sentence,
            order=order,
            text=each.text,
            text_origin=Origin.IMPORTED if each.text else "",
            type=each.type,
            type_origin=Origin.IMPORTED if each.type else "",
            worth_checking=each.worth_checking,
            worth_checking_origin=Origin.IMPORTED if each.worth_checking is not None else "",
            importance=each.importance,
            importance_origin=Origin.IMPORTED if each.importance else "",
            released=dump(each.released),
        )
        self.claims.append(claim)
        rows: dict[int, Evidence] = {}
        for number, evidence in enumerate([*each.retrieved, *each.added], start=1):
            row = Evidence(
                claim=claim,
                annotation=verify if number > len(each.retrieved) else None,
                order=number,
                passage=evidence.passage,
                url=evidence.url,
                released=dump(evidence.released),
            )
            rows[id(evidence)] = row
            if evidence.stance:
                self.stances.append(
                    Stance(annotation=verify, evidence=row, label=evidence.stance, label_origin=Origin.IMPORTED)
                )
        self.evidence += rows.values()
        if each.factuality or each.evidence_sufficient is not None or each.rests_on:
            self._add_verdict(each, claim, verify, rows)
        if each.handling != Handling.KEEP:
            self.claim_revisions.append(
                ClaimRevision(annotation=revise, claim=claim, handling=each.handling, text=each.rewritten)
            )

    def _add_verdict(self, each: GoldClaim, claim: Claim, verify: Annotation, rows: dict[int, Evidence]) -> None:
        verdict = Verdict(
            annotation=verify,
            claim=claim,
            evidence_sufficient=each.evidence_sufficient,
            evidence_sufficient_origin=Origin.IMPORTED if each.evidence_sufficient is not None else "",
            factuality=each.factuality,
            factuality_origin=Origin.IMPORTED if each.factuality else "",
        )
        self.verdicts.append(verdict)
        self.operations += [
            EditOperation(
                verdict=verdict,
                order=number,
                kind=operation.kind,
                start=operation.start,
                end=operation.end,
                replacement=operation.replacement,
            )
            for number, operation in enumerate(each.operations, start=1)
        ]
        self.rests += [
            RestsOn(verdict=verdict, evidence=rows[id(evidence)], order=number)
            for number, evidence in enumerate(each.rests_on, start=1)
        ]
