"""What strategies hold of a claim or an answer, as the screens show it: a hint beside the work, never a choice.

Blind first nothing of it shows before the person has decided (``may_see_verdicts``, ``may_see_revisions``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from annotator.core.models import (
    Annotation,
    ClaimSuggestion,
    Document,
    PipelineRun,
    RevisionSuggestion,
    Stance,
    Verdict,
    VerdictSuggestion,
)
from annotator.core.texts import edits
from annotator.core.vocabulary import Factuality
from annotator.stages.queries.verification import Card, ClaimWork

Row = TypeVar("Row", VerdictSuggestion, RevisionSuggestion)


@dataclass(frozen=True, slots=True)
class Link:
    """One question of a chain. ``card``: the passage that its answer rests on, None where the person has none such.
    ``query``: "" where it says no more than question and claim together."""

    question: str
    query: str
    answer: str
    card: Card | None


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one strategy holds of a claim. ``correction``: the claim as it would mend it, None where it offers none."""

    suggestion: VerdictSuggestion
    who: str
    model: str
    correction: list[edits.EditPiece] | None = None
    chain: list[Link] = field(default_factory=list)

    @property
    def meaning(self) -> Factuality | None:
        """Its verdict in Touchstone's words."""
        return Factuality(self.suggestion.factuality) if self.suggestion.factuality else None

    @property
    def says_it_otherwise(self) -> bool:
        """Its own word is another one than Touchstone's."""
        return self.meaning is not None and self.suggestion.label.casefold() != self.meaning.label.casefold()

    @property
    def confidence(self) -> str:
        """Its probability as a percentage; "" where it gives none."""
        return percent(self.suggestion.probability)


@dataclass(frozen=True, slots=True)
class Before:
    """What a model said of the claim before any search."""

    who: str
    label: str
    confidence: str
    settled: bool


@dataclass(frozen=True, slots=True)
class Held:
    """All that machines hold of one claim."""

    opinions: list[Opinion]
    before: Before | None


def may_see_verdicts(verdict: Verdict, document: Document) -> bool:
    """Whether machine opinions on a claim may show to the person of this verdict: blind first, once they have decided
    it and judged each of its passages, which an opinion speaks of too. One query, none where labels are not blind."""
    if not document.blind_first:
        return True
    if not verdict.factuality:
        return False
    of_claim = Stance.objects.filter(annotation=verdict.annotation_id, evidence__claim=verdict.claim_id)
    return not of_claim.filter(evidence__removed="", label="").exists()


def may_see_revisions(annotation: Annotation) -> bool:
    """Whether a machine's answer may show beside a person's: blind first, only when theirs is handed in."""
    return not annotation.document.blind_first or not annotation.is_open


def held_of(annotation: Annotation, work: ClaimWork) -> Held | None:
    """What machines hold of a claim, the newest of each strategy and model; None: nothing, or nothing to be seen yet.
    Two queries, blind first one more."""
    if not may_see_verdicts(work.verdict, annotation.document):
        return None
    rows = VerdictSuggestion.objects.filter(claim=work.claim).select_related("run").order_by("-run_id")
    opinions = [_opinion(row, work) for row in _newest(rows, annotation)]
    before = _before(work)
    return Held(opinions, before) if opinions or before else None


def answers_of(annotation: Annotation) -> list[RevisionSuggestion]:
    """The answers as machines would mend them, the newest of each strategy and model (one query, none where they may
    not be seen)."""
    if not may_see_revisions(annotation):
        return []
    rows = RevisionSuggestion.objects.filter(document=annotation.document_id).select_related("run").order_by("-run_id")
    return list(_newest(rows, annotation))


def made_by(run: PipelineRun) -> str:
    """The strategy of a run as people know it, with its model: "Papelo, gpt-x"."""
    return ", ".join(filter(None, (strategy_label(run.strategy), model_of(run))))


def model_of(run: PipelineRun) -> str:
    """The chat model that a run's plan names; "" for none."""
    return str(run.plan.get("model") or "")


@cache
def strategy_label(name: str) -> str:
    """A strategy's name as people know it; a strategy that is gone keeps its own."""
    from pipeline.catalogue import choice  # loads what strategies need: late

    known = choice(name)
    return known.label if known else name.replace("_", " ").capitalize()


def percent(probability: float | None) -> str:
    """0.873 as "87 %", 0.997 as "99.7 %": what is nearly certain keeps a decimal, and is never rounded to certainty."""
    if probability is None:
        return ""
    if 0.99 <= probability < 1:
        return f"{int(probability * 1000) / 10} %"
    return f"{probability:.0%}".replace("%", " %")


def _newest(rows: Iterable[Row], annotation: Annotation) -> list[Row]:
    """Of rows that come newest first the first one of each strategy and model. What a person's own search gave rise to
    is that person's alone."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.run.plan.get("annotation") in (None, annotation.pk):
            found.setdefault((row.run.strategy, model_of(row.run)), row)
    return list(found.values())


def _opinion(row: VerdictSuggestion, work: ClaimWork) -> Opinion:
    cards = {card.evidence.public_id: card for card in work.cards}
    correction = None
    if row.correction is not None and row.correction != work.claim.text:
        correction = edits.pieces(work.claim.text, edits.from_texts(work.claim.text, row.correction))
    return Opinion(
        suggestion=row,
        who=strategy_label(row.run.strategy),
        model=model_of(row.run),
        correction=correction,
        chain=[_link(link, work.claim.text, cards) for link in row.chain],
    )


def _link(link: dict[str, Any], claim: str, cards: dict[str, Card]) -> Link:
    question, query = str(link["question"]), str(link["query"])
    return Link(
        question=question,
        query="" if query == f"{question} {claim}" else query,
        answer=str(link["answer"]),
        card=cards.get(link["evidence"] or ""),
    )


def _before(work: ClaimWork) -> Before | None:
    """The prejudgement of the suggestion that a claim came from, as long as its words are the same."""
    if work.claim.suggestion_id is None:
        return None
    suggestion = (
        ClaimSuggestion.objects.filter(pk=work.claim.suggestion_id, text=work.claim.text, prejudgement__isnull=False)
        .select_related("sentence__run")
        .first()
    )
    if suggestion is None or not suggestion.prejudgement:
        return None
    said = suggestion.prejudgement
    return Before(
        who=made_by(suggestion.sentence.run),
        label=str(said.get("label", "")),
        confidence=percent(said.get("confidence")),
        settled=bool(said.get("settled")),
    )
