"""Texts of realistic length, and typical documents that people have brought to a certain state through the actions:
five sentences, fifteen claims, five passages a claim. Used by benchmarks/web.py and benchmarks/saves.py."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotator.core.models import Annotation, Batch, Claim, Document, Tally, User
from annotator.core.models.base import Record
from annotator.core.vocabulary import (
    AnnotationKind,
    ClaimType,
    Factuality,
    Importance,
    SentenceType,
    Stage,
    StanceLabel,
)
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence
from annotator.stages.actions.saving import save_field
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import present_claims, sentences_of
from annotator.stages.queries.verification import claims_to_verify
from annotator.suggestions.actions.proposals import (
    ProposedClaim,
    ProposedPassage,
    ProposedSentence,
    propose_evidence,
    propose_sentences,
)

ROOT = Path(__file__).resolve().parent.parent
SENTENCES, CLAIMS_A_SENTENCE, PASSAGES_A_CLAIM = 5, 3, 5
PASSAGE = 400  # characters
SOURCES = ("chat", "forum", "search log", "exam")
MODELS = ("model-a", "model-b", "model-c")


@dataclass
class Texts:
    """What documents are made of: the demo's, and the released ones where they lie beside the project."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    passages: list[ProposedPassage] = field(default_factory=list)

    def sentences_for(self, number: int) -> list[ProposedSentence]:
        """The suggestions of a typical document; every number gives others."""
        found: list[ProposedSentence] = []
        position = 0
        for each in range(SENTENCES):
            text = self.sentences[(number * SENTENCES + each) % len(self.sentences)]
            first = (number * SENTENCES + each) * CLAIMS_A_SENTENCE
            claims = [
                ProposedClaim(
                    f"{self.claims[place % len(self.claims)].rstrip('.')}, as of {1900 + place % 120}.",
                    type=ClaimType.FACTUAL,
                    worth_checking=True,
                    importance=Importance.INTERMEDIATE,
                )
                for place in range(first, first + CLAIMS_A_SENTENCE)
            ]
            end = position + len(text)
            found.append(
                ProposedSentence(
                    text, position, end, text, SentenceType.CHECKWORTHY, importance=Importance.MOST, claims=claims
                )
            )
            position = end + 1
        return found

    def passages_for(self, number: int) -> list[ProposedPassage]:
        first = number * PASSAGES_A_CLAIM
        return [self.passages[place % len(self.passages)] for place in range(first, first + PASSAGES_A_CLAIM)]


def read_texts() -> Texts:
    """The texts of fixtures/demo and of the released data (TOUCHSTONE_DATA), if that is there."""
    texts = Texts()
    demo = ROOT / "fixtures" / "demo"
    for row in _lines(demo / "documents.jsonl"):
        texts.pairs.append((row["prompt"], row["response"]))
    for document in json.loads((demo / "labels.json").read_text(encoding="utf-8"))["documents"]:
        for sentence in document["decompose"]:
            texts.sentences.append(sentence["text"])
            texts.claims += [claim["text"] for claim in sentence["claims"]]
    for page in _lines(demo / "corpus.jsonl"):
        for start in range(0, len(page["text"]), PASSAGE):
            passage = page["text"][start : start + PASSAGE]
            texts.passages.append(ProposedPassage(passage, page["url"], page["title"], page.get("site", "")))
    data = Path(os.environ.get("TOUCHSTONE_DATA") or ROOT.parent / "shared" / "data") / "factcheck-bench.dev.jsonl"
    for row in _lines(data) if data.is_file() else ():
        texts.pairs.append((row["prompt"], row["response"]))
        for sentence in row["sentences"].values():
            texts.sentences.append(" ".join(sentence["text"].split()) or "So it was.")
            texts.claims += [claim for claim in sentence["claims"] if claim.strip()]
    return texts


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


# --- documents made by people ---------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two partners with their adjudicator, and a generator by which they differ now and then, the same every time."""

    one: User
    other: User
    third: User
    chance: random.Random

    def __iter__(self) -> Iterator[User]:
        return iter((self.one, self.other))


def typical_document(batch: Batch, texts: Texts, order: int, name: str) -> Document:
    """A document of typical size with its suggestions. ``name`` becomes its external id."""
    sentences = texts.sentences_for(order)
    response = " ".join(each.text for each in sentences)
    document = Document.objects.create(
        benchmark=batch.benchmark,
        batch=batch,
        order=order,
        identity=name,
        external_id=name,
        content_hash=name,
        prompt=texts.pairs[order % len(texts.pairs)][0],
        response=response,
        source=SOURCES[0],
        model=MODELS[0],
    )
    propose_sentences(document, sentences)
    return document


def decompose_open(document: Document, person: User) -> Annotation:
    """Three sentences of five are done."""
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    for sentence in sentences_of(annotation)[:3]:
        accept_sentence(sentence, by=person)
    return annotation


def decompose_to_agree(document: Document, pair: Pair) -> None:
    """Both have submitted; on a fifth of the claims they differ."""
    for person in pair:
        annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
        for sentence in sentences_of(annotation):
            accept_sentence(sentence, by=person)
        for sentence in sentences_of(annotation):
            for claim in present_claims(sentence):
                if person == pair.other and pair.chance.random() < 0.2:
                    _save(claim, "importance", Importance.LESS, person)
                    _save(claim, "text", f"{claim.text.rstrip('.')}, it is said.", person)
        submit(annotation, by=person)
    document.refresh_from_db()


def verify_ready(document: Document, pair: Pair, texts: Texts) -> None:
    """Decompose is settled and signed, evidence has been found."""
    decompose_to_agree(document, pair)
    _settle(document, Stage.DECOMPOSE, pair)
    claims = Claim.objects.filter(
        sentence__annotation__document=document, sentence__annotation__kind=AnnotationKind.CONSOLIDATED
    ).order_by("sentence__order", "order")
    propose_evidence(document, {claim.pk: texts.passages_for(claim.pk) for claim in claims})
    document.refresh_from_db()


def verify_alone(document: Document, person: User, texts: Texts) -> Annotation:
    """One person's own document, in a benchmark with overlap 1: decompose is submitted and so adjudicated, evidence has
    been found, verify is open and nothing is answered."""
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=person)
    submit(annotation, by=person)
    claims = Claim.objects.filter(
        sentence__annotation__document=document, sentence__annotation__kind=AnnotationKind.CONSOLIDATED
    ).order_by("sentence__order", "order")
    propose_evidence(document, {claim.pk: texts.passages_for(claim.pk) for claim in claims})
    document.refresh_from_db()
    return open_annotation(document, Stage.VERIFY, by=person)


def verify_open(document: Document, pair: Pair) -> Annotation:
    """Half of the claims have all their answers."""
    annotation = open_annotation(document, Stage.VERIFY, by=pair.one)
    works = claims_to_verify(annotation)
    _judge(annotation, pair, pair.one, len(works) // 2)
    return annotation


def verify_to_agree(document: Document, pair: Pair) -> None:
    """Both have submitted; on a tenth of stances and verdicts they differ."""
    for person in pair:
        annotation = open_annotation(document, Stage.VERIFY, by=person)
        _judge(annotation, pair, person, SENTENCES * CLAIMS_A_SENTENCE)
        submit(annotation, by=person)
    document.refresh_from_db()


def revise_to_agree(document: Document, pair: Pair) -> None:
    """Verify is settled, both have submitted revise; they differ in one sentence."""
    _settle(document, Stage.VERIFY, pair)
    for person in pair:
        annotation = open_annotation(document, Stage.REVISE, by=person)
        if person == pair.other:
            row = annotation.sentence_revisions.select_related("sentence").earliest("pk")
            _save(row, "text", f"{row.text.rstrip('.')}, as far as is known.", person)
        submit(annotation, by=person)
    document.refresh_from_db()


def _judge(annotation: Annotation, pair: Pair, person: User, number: int) -> None:
    for work in claims_to_verify(annotation)[:number]:
        for card in work.cards:
            differs = person == pair.other and pair.chance.random() < 0.1
            label = StanceLabel.PARTIALLY_SUPPORT if differs else StanceLabel.COMPLETELY_SUPPORT
            _save(card.stance, "label", label, person)
        differs = person == pair.other and pair.chance.random() < 0.1
        _save(work.verdict, "factuality", Factuality.NOT_ENOUGH_EVIDENCE if differs else Factuality.TRUE, person)
        if differs:
            _save(work.verdict, "evidence_sufficient", "no", person)


def _save(record: Record, name: str, value: str, person: User) -> None:
    record.refresh_from_db()
    save_field(record, name, value, by=person, version=record.version)


def _settle(document: Document, stage: Stage, pair: Pair) -> None:
    """The first one's value stands wherever they differ; both sign, and the adjudicator where the protocol asks."""
    for item in board_of(document, stage).comparison.items:
        for row in item.fields:
            if row.is_open:
                adjudicate.decide(document, stage, row.key, by=pair.one, choice=0)
    for person in (*pair, pair.third) if stage == Stage.VERIFY else pair:
        adjudicate.sign(document, stage, by=person)
    document.refresh_from_db()


# --- tallies in bulk ------------------------------------------------------------------------------


def tally_variants(stage: Stage, count: int, chance: random.Random) -> list[dict[str, Any]]:
    """What two people had in common on a typical document, as the application counted it on one of those above, with
    other labels drawn for some items."""
    real = Tally.objects.filter(annotation__stage=stage).earliest("pk")
    return [_varied(real.data, chance) for _ in range(count)]


def _varied(data: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The same items; about one label in ten differs between the two."""
    labels: dict[str, list[list[Any]]] = {}
    for name, items in data["labels"].items():
        words = sorted({said for item in items for said in item if said is not None}, key=str)
        labels[name] = [
            [chance.choice(words), chance.choice(words)] if words and chance.random() < 0.1 else item for item in items
        ]
    return data | {"labels": labels}
