"""Stores suggestions: a strategy's, and imported ones, as finished runs of "import".

Imported suggestions are shown, accepted and traced like any other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import transaction
from django.utils import timezone

from annotator.core.fields import suggested_fields
from annotator.core.models import Claim, ClaimSuggestion, Document, Evidence, PipelineRun, RunItem, SentenceSuggestion
from annotator.core.vocabulary import RunState, Stage

STRATEGY = "import"


@dataclass(frozen=True, slots=True)
class ProposedClaim:
    """A claim with its labels: values of the vocabulary, "" or None if nothing is proposed."""

    text: str
    type: str = ""
    worth_checking: bool | None = None
    not_worth_reason: str = ""
    importance: str = ""
    prejudgement: None = None


@dataclass(frozen=True, slots=True)
class ProposedSentence:
    """A sentence of the response. ``start`` and ``end`` count code points, None if it isn't a substring."""

    text: str
    start: int | None
    end: int | None
    decontext: str
    type: str = ""
    importance: str = ""
    claims: Sequence[ProposedClaim] = ()


@dataclass(frozen=True, slots=True)
class ProposedPassage:
    """A passage for a claim, with its source."""

    passage: str
    url: str
    title: str = ""
    site: str = ""
    published: dt.date | None = None
    query: str = ""


def _finished_run(document: Document, stage: Stage) -> PipelineRun:
    now = timezone.now()
    run = PipelineRun.objects.create(
        benchmark=document.benchmark,
        stage=stage,
        strategy=STRATEGY,
        state=RunState.FINISHED,
        started_at=now,
        finished_at=now,
    )
    RunItem.objects.create(run=run, document=document, state=RunState.FINISHED, started_at=now, finished_at=now)
    return run


class PrejudgementLike(Protocol):
    """A model's judgment of a claim before any search, as its strategy's own label."""

    @property
    def label(self) -> str: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def settled(self) -> bool: ...


class ClaimLike(Protocol):
    """The input of a claim suggestion, with an attribute for each declared field it has a value for: a value of the
    vocabulary, None or ""."""

    @property
    def text(self) -> str: ...
    @property
    def prejudgement(self) -> PrejudgementLike | None: ...


class SentenceLike(Protocol):
    """The same for a sentence suggestion: a ``ProposedSentence``, or what a strategy returns."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int | None: ...
    @property
    def end(self) -> int | None: ...
    @property
    def claims(self) -> Sequence[ClaimLike]: ...


def store_sentences(run: PipelineRun, document: Document, sentences: Sequence[SentenceLike]) -> None:
    """Store the sentences and claims that a run suggests for a document, in order."""
    rows = SentenceSuggestion.objects.bulk_create(
        SentenceSuggestion(
            run=run,
            document=document,
            order=order,
            text=each.text,
            start=each.start,
            end=each.end,
            **_suggested("sentence", each),
        )
        for order, each in enumerate(sentences, start=1)
    )
    ClaimSuggestion.objects.bulk_create(
        ClaimSuggestion(
            sentence=row,
            order=order,
            **_suggested("claim", claim),
            prejudgement=_as_json(claim.prejudgement),
        )
        for row, each in zip(rows, sentences, strict=True)
        for order, claim in enumerate(each.claims, start=1)
    )


def _suggested(record: str, given: SentenceLike | ClaimLike) -> dict[str, Any]:
    said = ((each, getattr(given, each.name, None)) for each in suggested_fields(record))
    return {each.name: each.open_value if value is None else value for each, value in said}


def _as_json(said: PrejudgementLike | None) -> dict[str, object] | None:
    if said is None:
        return None
    return {"label": said.label, "confidence": said.confidence, "settled": said.settled}


def propose_sentences(document: Document, sentences: Sequence[ProposedSentence]) -> PipelineRun:
    """Store sentences and claims as the newest suggestions of a document. Whoever opens it next sees them."""
    with transaction.atomic():
        run = _finished_run(document, Stage.DECOMPOSE)
        store_sentences(run, document, sentences)
    return run


def propose_evidence(document: Document, passages: Mapping[int, Sequence[ProposedPassage]]) -> PipelineRun:
    """Store retrieved passages for adjudicated claims (primary keys) of a document, in the given order.

    Raises ValueError for a claim that isn't this document's or already has retrieved evidence.
    """
    with transaction.atomic():
        claims = Claim.objects.filter(pk__in=passages, sentence__annotation__document=document)
        if set(claims.values_list("pk", flat=True)) != set(passages):
            raise ValueError(f"Some claims do not belong to {document}.")
        if Evidence.objects.filter(claim__in=claims, annotation__isnull=True).exists():
            raise ValueError(f"Claims in {document} already have retrieved evidence.")
        run = _finished_run(document, Stage.VERIFY)
        Evidence.objects.bulk_create(
            Evidence(
                claim_id=claim,
                run=run,
                order=order,
                passage=each.passage.replace("\r\n", "\n").replace("\r", "\n"),
                url=each.url,
                title=each.title,
                site=each.site,
                published=each.published,
                query=each.query,
                retrieved_at=timezone.now(),
            )
            for claim, found in passages.items()
            for order, each in enumerate(found, start=1)
        )
    return run
