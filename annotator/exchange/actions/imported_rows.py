"""Writes a batch of imported rows to the database: about a dozen bulk inserts, whatever its size.

Used by ``annotator.exchange.actions.imports``, which prepares a batch in advance and writes it in a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Model
from django.utils import timezone

from annotator.core.actions.bulk import insert_columns, reserve_all
from annotator.core.fields import columns, exported_fields
from annotator.core.models import (
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
from annotator.core.released import Spellings, dump, remember, storable, storable_json
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Handling, Origin, Phase, RunState, Stage
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldRow, GoldSentence, cells_of
from annotator.exchange.formats.incoming import IncomingDocument, place_of

_IMPORTED = Origin.IMPORTED.value


class DocumentBatch:
    """New documents at the start of decompose."""

    def __init__(self, rows: Sequence[IncomingDocument]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def write(self, benchmark: Benchmark, first_order: int) -> list[int]:
        """Insert them. Returns the keys of those without sentences of their own."""
        documents = Document.objects.bulk_create(
            _document(benchmark, row, order) for order, row in enumerate(self.rows, start=first_order)
        )
        both = list(zip(documents, self.rows, strict=True))
        proposed = [(document, row) for document, row in both if row.sentences]
        if proposed:
            _write_suggestions(benchmark, proposed)
        return [document.pk for document, row in both if not row.sentences]


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
                # The file has no decontextualized texts, so annotators start from the sentence itself.
                decontext=text,
            )
            sentences.append(sentence)
            claims += [
                ClaimSuggestion(sentence=sentence, order=number, text=storable(claim))
                for number, claim in enumerate(each.claims, start=1)
            ]
    SentenceSuggestion.objects.bulk_create(sentences)
    ClaimSuggestion.objects.bulk_create(claims)


# --- declared fields ------------------------------------------------------------------------------


def _columns(record: str) -> tuple[str, ...]:
    return columns(exported_fields(record))


def _values_of(row: type[GoldRow], record: str) -> Callable[[GoldRow], list[Any]]:
    """Values for these columns: decided ones have the origin "imported". A text of the revise stage counts as decided
    even if blank."""
    declared = exported_fields(record)
    read = cells_of(row, declared)

    def values(gold: GoldRow) -> list[Any]:
        found: list[Any] = []
        for each, value in zip(declared, read(gold), strict=True):
            found.append(value)
            if each.has_origin:
                is_open = value == each.open_value and record != "sentence-revision"
                found.append("" if is_open else _IMPORTED)
        return found

    return values


_SENTENCE = _values_of(GoldSentence, "sentence")
_CLAIM = _values_of(GoldClaim, "claim")
_STANCE = _values_of(GoldEvidence, "stance")
_VERDICT = _values_of(GoldClaim, "verdict")
_SENTENCE_REVISION = _values_of(GoldSentence, "sentence-revision")
_CLAIM_REVISION = _values_of(GoldClaim, "claim-revision")

# --- rows -----------------------------------------------------------------------------------------

# The columns of each row, in this order; all others have their model's defaults. Parents come before children.
COLUMNS: dict[type[Model], tuple[str, ...]] = {
    Document: (
        "identity",
        "external_id",
        "content_hash",
        "prompt",
        "response",
        "source",
        "model",
        "metadata",
        "reference_date",
        "stage",
        "phase",
        "released",
    ),
    Annotation: ("document_id", "stage", "kind", "state", "submitted_at"),
    Sentence: ("annotation_id", "order", "text", "start", "end", "released", *_columns("sentence")),
    Claim: ("sentence_id", "order", "released", *_columns("claim")),
    Evidence: ("claim_id", "annotation_id", "order", "passage", "url", "title", "query", "released"),
    Stance: ("annotation_id", "evidence_id", *_columns("stance")),
    Verdict: ("annotation_id", "claim_id", *_columns("verdict")),
    EditOperation: ("verdict_id", "order", "kind", "start", "end", "replacement"),
    RestsOn: ("verdict_id", "evidence_id", "order"),
    ClaimRevision: ("annotation_id", "claim_id", *_columns("claim-revision")),
    SentenceRevision: ("annotation_id", "sentence_id", *_columns("sentence-revision")),
    ResponseRevision: ("annotation_id", "text", "text_origin", "follows_statements"),
}

# The table that each of these columns refers to.
MEANT: dict[str, type[Model]] = {
    "document_id": Document,
    "annotation_id": Annotation,
    "sentence_id": Sentence,
    "claim_id": Claim,
    "evidence_id": Evidence,
    "verdict_id": Verdict,
}


class GoldBatch:
    """New documents with an adjudicated version of all three stages, as columns for each table.

    Prepared without the database, so that one batch can be prepared while another is written. Instead of primary keys,
    rows hold indexes into the new rows of the other table, from 0; the keys are filled in on writing.
    """

    def __init__(self, documents: Sequence[GoldDocument]) -> None:
        rows = _BatchRows()
        for document in documents:
            rows.add(document)
        self.size = len(documents)
        self.columns: dict[type[Model], dict[str, Sequence[Any]]] = {
            model: dict(zip(COLUMNS[model], zip(*table, strict=True), strict=True))
            for model, table in rows.tables.items()
            if table
        }

    def __len__(self) -> int:
        return self.size

    def write(self, benchmark: Benchmark, first_order: int) -> list[int]:
        """Insert everything, parents first. Returns the keys of the documents."""
        keys = reserve_all({model: self._count(model) for model in MEANT.values()})
        for model, made in self.columns.items():
            columns = dict(made)
            if model in keys:
                columns["id"] = keys[model]
            if model is Document:
                columns["benchmark_id"] = [benchmark.pk] * self.size
                columns["order"] = range(first_order, first_order + self.size)
            for name in made.keys() & MEANT:
                known = keys[MEANT[name]]
                columns[name] = [None if number is None else known[number] for number in made[name]]
            insert_columns(model, columns)
        return keys[Document]

    def _count(self, model: type[Model]) -> int:
        return len(next(iter(self.columns[model].values()))) if model in self.columns else 0


class _BatchRows:
    """The rows of a batch as tuples, collected table by table."""

    def __init__(self) -> None:
        self.now = timezone.now()
        self.tables: dict[type[Model], list[tuple[Any, ...]]] = {model: [] for model in COLUMNS}

    def _new(self, model: type[Model]) -> int:
        """The number of this table's next row."""
        return len(self.tables[model])

    def add(self, row: GoldDocument) -> None:
        about = row.about
        document = self._new(Document)
        self.tables[Document].append(
            (
                row.identity,
                about["external_id"],
                row.content_hash,
                row.prompt,
                row.response,
                storable(about["source"]),
                storable(about["model"]),
                storable_json(about["metadata"]),
                about["reference_date"],
                Stage.REVISE.value,
                Phase.AGREED.value,
                dump(row.released),
            )
        )
        decompose, verify, revise = (self._annotation(document, stage) for stage in Stage)
        for number, each in enumerate(row.sentences, start=1):
            sentence = self._new(Sentence)
            self.tables[Sentence].append(
                (
                    decompose,
                    number,
                    each.text,
                    each.start,
                    each.end,
                    dump(each.released),
                    *_SENTENCE(each),
                )
            )
            for place, claim in enumerate(each.claims, start=1):
                self._add_claim(claim, sentence, place, verify, revise)
            if each.revised is not None:
                self.tables[SentenceRevision].append((revise, sentence, *_SENTENCE_REVISION(each)))
        # The text was decided, so it must not be merged again from its sentences.
        follows_statements = False
        self.tables[ResponseRevision].append((revise, row.revised_response, _IMPORTED, follows_statements))

    def _annotation(self, document: int, stage: Stage) -> int:
        key = self._new(Annotation)
        kind, state = AnnotationKind.CONSOLIDATED.value, AnnotationState.SUBMITTED.value
        self.tables[Annotation].append((document, stage.value, kind, state, self.now))
        return key

    def _add_claim(self, each: GoldClaim, sentence: int, order: int, verify: int, revise: int) -> None:
        claim = self._new(Claim)
        self.tables[Claim].append((sentence, order, dump(each.released), *_CLAIM(each)))
        keys: dict[int, int] = {}
        rows, stances = self.tables[Evidence], self.tables[Stance]
        for number, evidence in enumerate([*each.retrieved, *each.added], start=1):
            keys[id(evidence)] = key = self._new(Evidence)
            by_people = verify if number > len(each.retrieved) else None
            about = (evidence.passage, evidence.url, evidence.title, evidence.query)
            rows.append((claim, by_people, number, *about, dump(evidence.released)))
            if evidence.stance:
                stances.append((verify, key, *_STANCE(evidence)))
        if _has_verdict(each):
            self._add_verdict(each, claim, verify, keys)
        if each.handling != Handling.KEEP:
            self.tables[ClaimRevision].append((revise, claim, *_CLAIM_REVISION(each)))

    def _add_verdict(self, each: GoldClaim, claim: int, verify: int, evidence: dict[int, int]) -> None:
        verdict = self._new(Verdict)
        self.tables[Verdict].append((verify, claim, *_VERDICT(each)))
        self.tables[EditOperation] += [
            (verdict, number, operation.kind.value, operation.start, operation.end, operation.replacement)
            for number, operation in enumerate(each.operations, start=1)
        ]
        self.tables[RestsOn] += [
            (verdict, evidence[id(used)], number) for number, used in enumerate(each.rests_on, start=1)
        ]


def _has_verdict(claim: GoldClaim) -> bool:
    return bool(claim.factuality or claim.evidence_sufficient is not None or claim.rests_on)
