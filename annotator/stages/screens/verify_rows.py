"""What the verify screen shows, row by row: claims in the list, cards, the edit in words. No request, no writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from annotator.core.missing import Missing
from annotator.core.models import Annotation, PageCheck, Sentence, Verdict
from annotator.core.texts import highlight, spans
from annotator.core.texts.markdown import Stretch, Tag, blocks_with, reading
from annotator.core.vocabulary import EditKind, SentenceType
from annotator.stages.queries.machine_opinions import made_by, percent
from annotator.stages.queries.missing import missing_in_claim
from annotator.stages.queries.verification import Card, ClaimWork

LEAD = 90  # characters of the surrounding sentences that are shown
UNCHECKED = {
    SentenceType.OPINION: "is an opinion",
    SentenceType.NOT_A_CLAIM: "is not a claim",
    SentenceType.OTHER: "is not check-worthy",
}


@dataclass(slots=True)
class ClaimRow:
    """A claim in the list."""

    work: ClaimWork
    missing: list[Missing]
    sentence: Sentence
    response: str = ""
    sentences: Sequence[Sentence] = ()  # all of the response
    at: int = 0  # position of its own among them

    @property
    def parts(self) -> list[Tag | Stretch]:
        """The response as its Markdown reads, cut at its sentences."""
        return reading(self.response, [(each.start, each.end, each.text) for each in self.sentences])

    @property
    def in_response(self) -> list[Tag | Stretch]:
        """The blocks of the response with its sentence and the two around."""
        return blocks_with(self.parts, (self.at - 1, self.at, self.at + 1))

    @property
    def before(self) -> str:
        """The sentence before its own, as written."""
        return self.sentences[self.at - 1].text if self.at else ""

    @property
    def after(self) -> str:
        return self.sentences[self.at + 1].text if self.at + 1 < len(self.sentences) else ""

    @property
    def context(self) -> tuple[str, str, str]:
        """Its sentence as it reads, between the end of the sentence before and the beginning of the one after."""
        words = {self.at - 1: "", self.at: "", self.at + 1: ""}
        for part in self.parts:
            if isinstance(part, Stretch) and part.sentence in words:
                words[part.sentence] += f" {part.text.strip()}"
        before, own, after = (each.strip() for each in words.values())
        return (
            f"…{before[-LEAD:]}" if len(before) > LEAD else before,
            own,
            f"{after[:LEAD]}…" if len(after) > LEAD else after,
        )

    @property
    def id(self) -> str:
        return self.work.claim.public_id

    @property
    def missing_here(self) -> list[Missing]:
        """What is missing, in words without the number of the current claim."""
        return [replace(each, text=each.text.removesuffix(f" of {self.work.number}")) for each in self.missing]

    @property
    def is_begun(self) -> bool:
        """Something is decided, but not everything."""
        return bool(self.missing) and (
            bool(self.work.verdict.factuality) or any(card.stance.label for card in self.work.cards)
        )


@dataclass(slots=True)
class SentenceGroup:
    """A sentence in the list: its claims, or why it has none to check."""

    number: int
    words: str
    rows: list[ClaimRow] = field(default_factory=list)


@dataclass(slots=True)
class CardRow:
    """A passage as its card shows it: marked, and as an excerpt if it is long."""

    card: Card
    pieces: list[highlight.HighlightPiece]
    excerpt: list[highlight.HighlightPiece] | None
    is_late: bool
    rests: bool
    page_now: str = ""  # what became of its page since it was saved, if it has changed

    @property
    def excerpt_from(self) -> int:
        """Where the excerpt starts in the passage, in code points."""
        place = highlight.excerpt_place(self.pieces)
        return place[0] if place else 0

    @property
    def rationale(self) -> str:
        """The selected words as a form sends them."""
        return spans.written(self.card.stance.rationale)

    @property
    def judged_by(self) -> str:
        """The source of the suggested stance: a suggester of its own, otherwise the strategy of the run."""
        suggestion = self.card.stance.suggestion
        return (suggestion.by or made_by(suggestion.run)) if suggestion else ""

    @property
    def judged_at(self) -> str:
        """The confidence of the suggestion, as a percentage; "" if there is none."""
        suggestion = self.card.stance.suggestion
        return percent(suggestion.probability) if suggestion else ""


@dataclass(slots=True)
class EditRow:
    """One operation of the edit in words."""

    id: str
    label: str
    old: str
    new: str


def groups_of(sentences: list[Sentence], works: list[ClaimWork], response: str) -> list[SentenceGroup]:
    """Every sentence of the response in order, so that nobody looks for what is not check-worthy."""
    by_sentence: dict[int, list[ClaimWork]] = {}
    for work in works:
        by_sentence.setdefault(work.claim.sentence_id, []).append(work)
    groups: list[SentenceGroup] = []
    for number, sentence in enumerate(sentences, start=1):
        own = by_sentence.get(sentence.pk, [])
        words = "" if own else UNCHECKED.get(SentenceType(sentence.type or "other"), "has no claim to check")
        rows = [ClaimRow(work, missing_in_claim(work), sentence, response, sentences, number - 1) for work in own]
        groups.append(SentenceGroup(number, words, rows))
    return groups


def card_rows(annotation: Annotation, work: ClaimWork, changed: Mapping[int, PageCheck] | None = None) -> list[CardRow]:
    """The cards of the open claim. ``changed``: the checks of saved pages that have changed, by primary key of the
    page."""
    reference = annotation.document.reference_date
    rests = {row.evidence_id for row in work.verdict.rests.all()}
    rows: list[CardRow] = []
    for card in work.cards:
        pieces = highlight.mark(work.claim.text, card.evidence.passage)
        published = card.evidence.published
        is_late = bool(reference and published and published > reference)
        check = (changed or {}).get(card.evidence.snapshot_id or 0)
        now = check.get_outcome_display().lower() if check else ""
        rows.append(CardRow(card, pieces, highlight.excerpt(pieces), is_late, card.evidence.pk in rests, now))
    return rows


def edit_rows(verdict: Verdict) -> list[EditRow]:
    """The operations in the list of edits."""
    text = verdict.claim.text
    return [
        EditRow(op.public_id, EditKind(op.kind).label, text[op.start : op.end], op.replacement)
        for op in verdict.operations.all()
    ]
