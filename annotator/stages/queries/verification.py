"""Reads the rows of the verify screen in a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.db.models import Prefetch

from annotator.core.models import (
    Annotation,
    Claim,
    EditOperation,
    Evidence,
    PipelineRun,
    RestsOn,
    Sentence,
    Stance,
    Verdict,
)
from annotator.core.queries.gold import adjudicated
from annotator.core.vocabulary import RunState, Stage


@dataclass(slots=True)
class Card:
    """A passage with the annotation's stance on it. ``number`` counts the claim's cards from 1 in the order shown.

    ``folded``: the number of the card above with the same passage (0: none). ``same_page``: it follows another passage
    of its page.
    """

    evidence: Evidence
    stance: Stance
    number: int = 0
    folded: int = 0
    same_page: bool = False

    @property
    def is_own(self) -> bool:
        """Added by this person, manually or by their own search."""
        return self.evidence.annotation_id is not None

    @property
    def is_typed(self) -> bool:
        """Typed by this person, who can therefore change it; what a search found stays as found."""
        return self.is_own and self.evidence.run_id is None

    @property
    def link(self) -> str:
        """The URL, if it is a web address: released data has all kinds of text here."""
        return self.evidence.url if self.evidence.url.lower().startswith(("http://", "https://")) else ""

    @property
    def site(self) -> str:
        """The name of the site, or the host of the URL."""
        if self.evidence.site or not self.link:
            return self.evidence.site
        try:
            return (urlsplit(self.link).hostname or "").removeprefix("www.")
        except ValueError:  # "http://[": no host in it
            return ""

    @property
    def suggested(self) -> str:
        """The suggested stance; "" for none."""
        return self.stance.suggestion.label if self.stance.suggestion else ""


@dataclass(slots=True)
class ClaimWork:
    """What the verify screen shows of one claim. ``number`` reads "2.1": second sentence, first claim."""

    number: str
    claim: Claim
    verdict: Verdict
    cards: list[Card] = field(default_factory=list)


def adjudicated_sentences(annotation: Annotation) -> list[Sentence]:
    """The adjudicated sentences with their present claims prefetched, in order."""
    sentences = Sentence.objects.filter(
        adjudicated(Stage.DECOMPOSE, "annotation__"), annotation__document=annotation.document_id, removed=""
    )
    claims = Claim.objects.filter(removed="").order_by("order", "id")
    return list(sentences.prefetch_related(Prefetch("claims", claims)).order_by("order", "id"))


def repeated_of(stance: Stance, among: Sequence[Stance] = ()) -> list[Stance]:
    """The stances on passages that repeat this one word for word and are folded under it. One query; none if the caller
    has read all stances of the claim (``among``, in the order of their evidence)."""
    rows = Stance.objects.filter(annotation=stance.annotation_id, evidence__claim=stance.evidence.claim_id)
    rows = rows.select_related("evidence", "suggestion").order_by("evidence__order", "evidence_id")
    cards = cards_of(among or rows)
    own = next((card.number for card in cards if card.stance.pk == stance.pk), 0)
    return [card.stance for card in cards if card.folded == own] if own else []


def cards_of(stances: Iterable[Stance]) -> list[Card]:
    """The cards of one claim in the order shown, from its stances in the order of their evidence."""
    return arranged([Card(each.evidence, each) for each in stances if not each.evidence.removed])


def claim_work(annotation: Annotation, stances: Sequence[Stance]) -> ClaimWork:
    """One claim with its verdict, from its stances (in the order of their evidence). One query, and one more for the
    edit of a false claim."""
    claim = stances[0].evidence.claim
    verdict = Verdict.objects.get(annotation=annotation.pk, claim=claim.pk)
    verdict.annotation = annotation  # already read
    return ClaimWork("", claim, verdict, cards_of(stances))


def claims_to_verify(annotation: Annotation, sentences: list[Sentence] | None = None) -> list[ClaimWork]:
    """The claims of a verify annotation in order, with verdict, edit, evidence and stances (seven queries; five if the
    caller has read the adjudicated ``sentences``)."""
    verdicts = {
        verdict.claim_id: verdict
        for verdict in annotation.verdicts.select_related("suggestion").prefetch_related(
            Prefetch("operations", EditOperation.objects.order_by("order")),
            Prefetch("rests", RestsOn.objects.select_related("evidence").order_by("order")),
        )
    }
    cards: dict[int, list[Card]] = {}
    rows = list(
        annotation.stances.filter(evidence__removed="")
        .select_related("evidence", "suggestion")
        .order_by("evidence__order", "evidence_id")
    )
    _with_runs(rows)
    for stance in rows:
        cards.setdefault(stance.evidence.claim_id, []).append(Card(stance.evidence, stance))
    works: list[ClaimWork] = []
    if sentences is None:
        sentences = adjudicated_sentences(annotation)
    for sentence_number, sentence in enumerate(sentences, start=1):
        for claim_number, claim in enumerate(sentence.claims.all(), start=1):
            verdict = verdicts.get(claim.pk)
            if verdict is not None and claim.is_checked:
                verdict.claim = claim  # as below
                shown = arranged(cards.get(claim.pk, []))
                for card in shown:
                    card.evidence.claim = claim  # already read, so that asking for it needs no query
                works.append(ClaimWork(f"{sentence_number}.{claim_number}", claim, verdict, shown))
    return works


def _with_runs(stances: list[Stance]) -> None:
    """Give each suggestion its run. A few runs made them all, and a run's plan is long, so each is read once."""
    suggestions = [stance.suggestion for stance in stances if stance.suggestion is not None]
    runs = PipelineRun.objects.in_bulk({suggestion.run_id for suggestion in suggestions})
    for suggestion in suggestions:
        suggestion.run = runs[suggestion.run_id]


def arranged(cards: list[Card]) -> list[Card]:
    """The cards, given in order of arrival, as they are shown and numbered: passages of one page together at the
    position of the first, repeated passages folded. What the person typed is at the end and stays as it is, because it
    changes while they type."""
    pages: dict[str, list[Card]] = {}
    for position, card in enumerate(cards):
        key = f"own {position}" if card.is_typed or not card.evidence.url else card.evidence.url
        pages.setdefault(key, []).append(card)
    shown = sorted((card for page in pages.values() for card in page), key=lambda card: card.is_typed)
    first_with: dict[str, int] = {}
    before: Card | None = None
    for number, card in enumerate(shown, start=1):
        card.number = number
        if not card.is_typed:
            passage = card.evidence.passage.strip()
            card.folded = first_with.get(passage, 0) if passage else 0
            first_with.setdefault(passage, card.number)
            card.same_page = bool(before and card.evidence.url and before.evidence.url == card.evidence.url)
        before = card
    return shown


@dataclass(slots=True)
class ClaimSearch:
    """A person's newest search for more passages of one claim, and how many it found."""

    run: PipelineRun
    query: str
    found: int

    @property
    def is_waiting(self) -> bool:
        return self.run.state in (RunState.QUEUED, RunState.RUNNING)

    @property
    def has_failed(self) -> bool:
        return self.run.state in (RunState.FAILED, RunState.CANCELLED)


def last_search(annotation: Annotation, work: ClaimWork) -> ClaimSearch | None:
    """The newest search of this annotation for the claim (one query)."""
    run = _newest_search(annotation, work.claim)
    if run is None:
        return None
    found = sum(1 for card in work.cards if card.evidence.run_id == run.pk)
    return ClaimSearch(run, str(run.plan.get("query", "")), found)


def has_searched(annotation: Annotation, claim: Claim) -> bool:
    """Has this person searched again for the claim, and is the search complete (one query)?"""
    run = _newest_search(annotation, claim, RunState.FINISHED)
    return run is not None


def _newest_search(annotation: Annotation, claim: Claim, *states: RunState) -> PipelineRun | None:
    runs = PipelineRun.objects.filter(
        items__document=annotation.document_id, stage=Stage.VERIFY, plan__again=True, plan__annotation=annotation.pk
    ).order_by("-id")
    return next(
        (run for run in runs if run.plan.get("claims") == [claim.pk] and (not states or run.state in states)), None
    )
