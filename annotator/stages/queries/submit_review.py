"""What to check before submitting: verdicts that contradict their stances, and unseen passages.

Works on rows that have already been read. Nothing here is missing, so nothing here stops the API. The screen asks once,
and a contradiction is confirmed with a reason that is kept in the history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from annotator.core.models import Annotation
from annotator.core.texts.highlight import EXCERPT
from annotator.core.vocabulary import Factuality, Origin, Stage, StanceLabel
from annotator.stages.queries.verification import ClaimWork, claims_to_verify

SUPPORT = (StanceLabel.COMPLETELY_SUPPORT, StanceLabel.PARTIALLY_SUPPORT)
WORDS_A_MINUTE = 600  # nobody reads faster than this


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing to check: a description and where it is (``claim``: public id; ``anchor``: id on its page)."""

    text: str
    claim: str
    anchor: str
    is_contradiction: bool = False


@dataclass(frozen=True, slots=True)
class SubmitReview:
    """Verdicts by label, and what to check before submitting."""

    counts: tuple[tuple[str, int], ...]
    concerns: tuple[Concern, ...]

    @property
    def contradictions(self) -> tuple[Concern, ...]:
        return tuple(each for each in self.concerns if each.is_contradiction)


def review_of(works: Sequence[ClaimWork]) -> SubmitReview:
    """What to check in the claims of a verify annotation."""
    verdicts = Counter(work.verdict.factuality for work in works)
    counts = tuple((label.label, verdicts[label]) for label in Factuality if verdicts[label])
    return SubmitReview(counts, tuple(concern for work in works for concern in _concerns_of(work)))


def _concerns_of(work: ClaimWork) -> list[Concern]:
    found: list[Concern] = []
    claim = work.claim.public_id
    contradiction = _contradiction(work)
    if contradiction:
        anchor = f"verdict-{work.verdict.public_id}-factuality"
        found.append(Concern(f"Claim {work.number} is {contradiction}", claim, anchor, is_contradiction=True))
    # A repeated passage counts as seen with its first occurrence, and people have seen what they typed.
    unseen = [card for card in work.cards if not (card.stance.in_view_at or card.folded or card.is_typed)]
    for card in unseen:
        accepted = card.stance.label_origin == Origin.ACCEPTED
        what = f"Passage {card.number} of claim {work.number}"
        text = f"{what}: its suggested stance was accepted, but it hasn’t been in view" if accepted else ""
        found.append(Concern(text or f"{what} hasn’t been in view", claim, f"stance-{card.stance.public_id}"))
    return found


def _contradiction(work: ClaimWork) -> str:
    """How a verdict contradicts the stances on its claim, as the end of a sentence; "" where it doesn't."""
    labels = {card.stance.label for card in work.cards}
    factuality = work.verdict.factuality
    if factuality == Factuality.TRUE and not work.cards:
        return "true, but has no evidence"
    if factuality == Factuality.TRUE and not labels.intersection(SUPPORT):
        return "true, but no passage supports it"
    if factuality == Factuality.FALSE and StanceLabel.REFUTE not in labels:
        return "false, but no passage refutes it"
    if factuality == Factuality.NOT_ENOUGH_EVIDENCE and StanceLabel.COMPLETELY_SUPPORT in labels:
        return "labeled “not enough evidence”, but a passage supports all of it"
    return ""


def seconds_to_read(annotation: Annotation) -> int:
    """The minimum time to read what this stage shows, in seconds."""
    texts = [annotation.document.response]
    if annotation.stage == Stage.VERIFY:
        works = claims_to_verify(annotation)
        texts = [work.claim.text for work in works]
        texts += [card.evidence.passage[:EXCERPT] for work in works for card in work.cards if not card.folded]
    return round(60 * sum(len(text.split()) for text in texts) / WORDS_A_MINUTE)


def is_too_fast(annotation: Annotation, seconds: int) -> bool:
    """Was this submitted faster than it can be read? Unmeasured time (0, as through the API) doesn't count."""
    return 0 < seconds < seconds_to_read(annotation)
