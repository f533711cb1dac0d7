"""Model verdicts on a claim or response, as the screens show them: a hint next to the work, never a choice.

Blind first, nothing is shown before the person has decided (``may_see_verdicts``, ``may_see_revisions``).
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
    """One question of a chain. ``card``: the passage its answer is based on, None if the person doesn't have it.
    ``query``: "" if it only repeats the question and claim."""

    question: str
    query: str
    answer: str
    card: Card | None


@dataclass(frozen=True, slots=True)
class Opinion:
    """One strategy's verdict on a claim. ``correction``: the claim as it would correct it, None if it offers none."""

    suggestion: VerdictSuggestion
    who: str
    model: str
    correction: list[edits.EditPiece] | None = None
    chain: list[Link] = field(default_factory=list)

    @property
    def meaning(self) -> Factuality | None:
        """Its verdict as our label."""
        return Factuality(self.suggestion.factuality) if self.suggestion.factuality else None

    @property
    def says_it_otherwise(self) -> bool:
        """Its own label differs from ours."""
        return self.meaning is not None and self.suggestion.label.casefold() != self.meaning.label.casefold()

    @property
    def confidence(self) -> str:
        """Its probability as a percentage; "" if it has none."""
        return percent(self.suggestion.probability)


@dataclass(frozen=True, slots=True)
class Before:
    """A model's judgment of the claim before any search."""

    who: str
    label: str
    confidence: str
    settled: bool


@dataclass(frozen=True, slots=True)
class Held:
    """All model verdicts on one claim."""

    opinions: list[Opinion]
    before: Before | None


def may_see_verdicts(verdict: Verdict, document: Document) -> bool:
    """Whether model verdicts on a claim may be shown to the person with this verdict. Blind first, only once they have
    decided the claim and judged each passage, because a model verdict mentions those, too. One query; none if labels
    aren't blind."""
    if not document.blind_first:
        return True
    if not verdict.factuality:
        return False
    of_claim = Stance.objects.filter(annotation=verdict.annotation_id, evidence__claim=verdict.claim_id)
    return not of_claim.filter(evidence__removed="", label="").exists()


def may_see_revisions(annotation: Annotation) -> bool:
    """Whether a model's response may be shown next to a person's. Blind first, only after they have submitted."""
    return not annotation.document.blind_first or not annotation.is_open


def held_of(annotation: Annotation, work: ClaimWork) -> Held | None:
    """Model verdicts on a claim, the newest of each strategy and model; None if there are none or they may not be seen
    yet. Two queries, blind first one more."""
    if not may_see_verdicts(work.verdict, annotation.document):
        return None
    rows = VerdictSuggestion.objects.filter(claim=work.claim).select_related("run").order_by("-run_id")
    opinions = [_opinion(row, work) for row in _newest(rows, annotation)]
    before = _before(work)
    return Held(opinions, before) if opinions or before else None


def answers_of(annotation: Annotation) -> list[RevisionSuggestion]:
    """Responses corrected by models, the newest of each strategy and model (one query; none if they may not be
    seen)."""
    if not may_see_revisions(annotation):
        return []
    rows = RevisionSuggestion.objects.filter(document=annotation.document_id).select_related("run").order_by("-run_id")
    return list(_newest(rows, annotation))


def made_by(run: PipelineRun) -> str:
    """A run's strategy by its display name, with its model: "Papelo, gpt-x"."""
    return ", ".join(filter(None, (strategy_label(run.strategy), model_of(run))))


def model_of(run: PipelineRun) -> str:
    """The chat model in a run's plan; "" for none."""
    return str(run.plan.get("model") or "")


@cache
def strategy_label(name: str) -> str:
    """A strategy's display name; one that no longer exists keeps its name."""
    from pipeline.catalogue import choice  # imported late because strategies load slowly

    known = choice(name)
    return known.label if known else name.replace("_", " ").capitalize()


def percent(probability: float | None) -> str:
    """0.873 as "87 %", 0.997 as "99.7 %": near-certain values keep a decimal and are never rounded to 100."""
    if probability is None:
        return ""
    if 0.99 <= probability < 1:
        return f"{int(probability * 1000) / 10} %"
    return f"{probability:.0%}".replace("%", " %")


def _newest(rows: Iterable[Row], annotation: Annotation) -> list[Row]:
    """The first row of each strategy and model, given newest first. Results of a person's own search are shown only to
    that person."""
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
    """The prejudgment from the suggestion that a claim came from, as long as its text is unchanged."""
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
