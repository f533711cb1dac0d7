"""Reads the rows of the revise screen in a constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Prefetch
from rapidfuzz.distance import LCSseq

from annotator.core.models import (
    Annotation,
    Claim,
    ClaimRevision,
    EditOperation,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Verdict,
)
from annotator.core.record_keys import key_of
from annotator.core.texts import edits
from annotator.core.vocabulary import EditKind, Factuality, Handling, Origin, SentenceType, Stage
from annotator.stages import revision_merge
from annotator.stages.queries.adjudicated import adjudicated
from pipeline.metrics.text import edit_distance, word_overlap


@dataclass(slots=True)
class StatementClaim:
    """A claim next to its sentence: its adjudicated verdict, and its handling if it couldn't be decided. ``number``
    reads "2.1", as on the verify screen."""

    claim: Claim
    verdict: Verdict | None
    revision: ClaimRevision | None
    number: str = ""

    @property
    def factuality(self) -> str:
        """The adjudicated factuality; "" for a claim that wasn't checked."""
        return self.verdict.factuality if self.verdict else ""

    @property
    def operations(self) -> list[edits.Operation]:
        """The adjudicated edit of a false claim; none for others."""
        if self.verdict is None or self.verdict.factuality != Factuality.FALSE:
            return []
        return self.verdict.edit()

    @property
    def pieces(self) -> list[edits.EditPiece]:
        """The claim after its edit; empty without one."""
        return edits.pieces(self.claim.text, self.operations) if self.operations else []

    @property
    def is_undecided(self) -> bool:
        """There was not enough evidence, so the person decides what happens to it."""
        return self.revision is not None and self.factuality == Factuality.NOT_ENOUGH_EVIDENCE

    @property
    def is_deleted(self) -> bool:
        """It is deleted, by the adjudicated edit or by the person's choice."""
        by_edit = any(each.kind == EditKind.DELETE_CLAIM for each in self.operations)
        return by_edit or (
            self.is_undecided and self.revision is not None and self.revision.handling == Handling.DELETE
        )

    @property
    def handled(self) -> list[edits.Operation]:
        """What the person's choice for an undecided claim does to its text; none if it is kept."""
        if not self.is_undecided or self.revision is None or self.revision.handling == Handling.KEEP:
            return []
        is_rewritten = self.revision.handling == Handling.REWRITE
        return edits.from_texts(self.claim.text, self.revision.text if is_rewritten else "")


@dataclass(slots=True)
class StatementRow:
    """One sentence of the revise screen with its claims. ``repeats`` is the number of the earlier statement that it
    mostly repeats, 0 for none; ``pronoun`` is its first word if that refers to a deleted sentence."""

    sentence: Sentence
    row: SentenceRevision
    claims: list[StatementClaim] = field(default_factory=list)
    number: int = 0
    repeats: int = 0
    pronoun: str = ""

    @property
    def carried(self) -> revision_merge.Carried:
        """The sentence with only the adjudicated edits applied."""
        false = [
            revision_merge.ClaimEdit(each.claim.text, tuple(each.operations)) for each in self.claims if each.operations
        ]
        return revision_merge.carry(self.sentence.text, false, claims_in_all=len(self.claims))

    @property
    def is_persons(self) -> bool:
        """A person wrote or deleted it, beyond the adjudicated edits."""
        carried = self.carried
        return self.row.text != carried.text or self.row.deleted != carried.deleted

    @property
    def open_edits(self) -> tuple[str, ...]:
        """Edits that couldn't be placed in the sentence, in words, until the person has corrected or confirmed it."""
        return self.carried.open_edits if not self.row.text_origin and not self.row.deleted else ()

    @property
    def is_asked_again(self) -> bool:
        """Someone wrote its text, or it was imported, and its claims were adjudicated again since."""
        return not self.row.text_origin and not self.row.deleted and not self.carried.open_edits

    @property
    def choices(self) -> list[StatementClaim]:
        """Undecided claims that the person rewrites or deletes while their sentence is unchanged. The choice concerns
        the claim; the sentence's text is up to the person."""
        if self.row.deleted or self.row.text != self.carried.text:
            return []
        return [each for each in self.claims if each.handled]

    @property
    def offer(self) -> str:
        """The sentence with these choices applied; "" if they can't be placed."""
        chosen = [revision_merge.ClaimEdit(each.claim.text, tuple(each.handled)) for each in self.choices]
        if not chosen:
            return ""
        carried = revision_merge.carry(self.row.text, chosen, claims_in_all=0)
        return "" if carried.open_edits else carried.text

    @property
    def is_emptied(self) -> bool:
        """Every claim of a sentence that is still present is deleted."""
        return not self.row.deleted and bool(self.claims) and all(each.is_deleted for each in self.claims)

    @property
    def is_changed(self) -> bool:
        return self.row.text != self.sentence.text

    @property
    def badge(self) -> str:
        """What happened to the sentence, in a few words."""
        if self.row.deleted:
            return "deleted"
        words: list[str] = []
        if self.open_edits:
            words.append(_counted(len(self.open_edits), "edit") + " to apply")
        elif self.is_asked_again:
            words.append("to review again")
        else:
            changed = sum(
                sum(1 for operation in each.operations if operation.kind != EditKind.DELETE_CLAIM)
                for each in self.claims
                if self.is_changed
            )
            words += [_counted(changed, "edit")] if changed else []
        gone = sum(1 for each in self.claims if each.is_deleted)
        words += [f"{_counted(gone, 'claim')} deleted"] if gone else []
        if self.is_changed and not words:
            words.append("changed")
        return ", ".join(words) or self._unchanged()

    def _unchanged(self) -> str:
        kept = {
            SentenceType.OPINION.value: "opinion, kept",
            SentenceType.NOT_A_CLAIM.value: "not a claim, kept",
            SentenceType.OTHER.value: "other, kept",
        }.get(self.sentence.type)
        if kept:
            return kept
        undecided = sum(1 for each in self.claims if each.is_undecided)
        return f"unchanged, {undecided} without enough evidence" if undecided else "unchanged"

    @property
    def badge_kind(self) -> str:
        """The badge's glyph: "human" if a person wrote the text, "edited" if adjudicated edits did."""
        if self.row.deleted or not self.is_changed:
            return ""
        return "human" if self.row.text_origin == Origin.HUMAN else "edited"

    @property
    def opens(self) -> bool:
        """Its claims have something to show: an edit, or a claim that couldn't be decided."""
        return any(each.operations or each.is_undecided for each in self.claims)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def statements_of(annotation: Annotation) -> list[StatementRow]:
    """The statements of a revise annotation in the order of the response (six queries)."""
    verification = adjudicated(annotation.document, Stage.VERIFY)
    verdicts: dict[int, Verdict] = {}
    if verification is not None:
        verdicts = {
            verdict.claim_id: verdict
            for verdict in verification.verdicts.select_related("claim").prefetch_related(
                Prefetch("operations", EditOperation.objects.order_by("order"))
            )
        }
    revisions = {each.claim_id: each for each in annotation.claim_revisions.select_related("claim")}
    claims = Claim.objects.filter(removed="").order_by("order", "id")
    rows = (
        annotation.sentence_revisions.filter(sentence__removed="")
        .select_related("sentence")
        .prefetch_related(Prefetch("sentence__claims", claims))
        .order_by("sentence__order", "sentence_id")
    )
    statements = [
        StatementRow(
            sentence=row.sentence,
            row=row,
            claims=[
                StatementClaim(claim, verdicts.get(claim.pk), revisions.get(claim.pk), f"{number}.{position}")
                for position, claim in enumerate(row.sentence.claims.all(), start=1)
            ],
            number=number,
        )
        for number, row in enumerate(rows, start=1)
    ]
    _mark_repeated(statements)
    return statements


def _mark_repeated(statements: list[StatementRow]) -> None:
    texts = ["" if each.row.deleted else each.row.text for each in statements]
    for earlier, later in revision_merge.repeated(texts):
        statements[later].repeats = statements[earlier].number
    for before, after in zip(statements, statements[1:], strict=False):
        if before.row.deleted and not after.row.deleted:
            after.pronoun = revision_merge.leading_pronoun(after.row.text)


# --- the revised answer -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Against:
    """A revised response compared with the original, each from 0 to 1. The first two are defined in
    ``pipeline.metrics.text``; ``kept`` is the share of the original's words that are still in the revised response, in
    order."""

    edit_distance: float
    word_overlap: float
    kept: float


def against(original: str, revised: str) -> Against:
    """Compare a revised response with the original."""
    words = original.split()
    kept = LCSseq.similarity(words, revised.split()) / len(words) if words else 1.0
    return Against(edit_distance(original, revised), word_overlap(original, revised), kept)


@dataclass(frozen=True, slots=True)
class RevisedResponse:
    """The revised response as the revise screen shows it. ``follows``: it is what the statements give. ``is_behind``:
    it was edited by hand, and the statements have changed since."""

    row: ResponseRevision
    text: str
    follows: bool
    would_replace: bool
    is_behind: bool
    against: Against


def answer_of(annotation: Annotation, statements: list[StatementRow]) -> RevisedResponse:
    """The revised response of a revise annotation (one query, two if it was edited by hand)."""
    row = ResponseRevision.objects.get(annotation=annotation)
    merged = _merged(annotation, statements)
    follows = row.follows_statements
    # Submitted work shows what was submitted.
    text = merged if follows and annotation.is_open else row.text
    return RevisedResponse(
        row=row,
        text=text,
        follows=follows,
        would_replace=text != merged,
        is_behind=not follows
        and text != merged
        and _merged(annotation, statements, _values_then(annotation, row)) != merged,
        against=against(annotation.document.response, text),
    )


def start_problem(row: ResponseRevision, statements: list[StatementRow]) -> str:
    """Why a model's response can't be used as a starting point: the person's text that it would replace; "" if there is
    none."""
    if not row.follows_statements:
        return "You have edited the response. Let it follow the statements again before you start from this one."
    changed = [str(each.number) for each in statements if each.is_persons]
    if changed:
        which = f"sentence {changed[0]}" if len(changed) == 1 else f"sentences {', '.join(changed)}"
        return (
            f"You have changed {which}, which this response doesn’t include. Copy the words you need from it by hand."
        )
    return ""


def _merged(
    annotation: Annotation, statements: list[StatementRow], then: dict[tuple[str, str], object] | None = None
) -> str:
    """The statements merged, with earlier values in place of those that have changed."""
    past = then or {}
    return revision_merge.merge(
        annotation.document.response,
        [
            revision_merge.Statement(
                start=each.sentence.start,
                end=each.sentence.end,
                original=each.sentence.text,
                revised=str(past.get((key_of(each.row), "text"), each.row.text)),
                deleted=bool(past.get((key_of(each.row), "deleted"), each.row.deleted)),
            )
            for each in statements
        ],
    )


def _values_then(annotation: Annotation, response: ResponseRevision) -> dict[tuple[str, str], object]:
    """The fields of statements that changed after the response got its current text (or after the person chose to keep
    it), with their values at that time. Undo restores a text together with its time."""
    key = key_of(response)
    values: dict[tuple[str, str], object] = {}
    newest_first = annotation.activities.order_by("-id").values_list("action", "changes")
    for action, changes in newest_first.iterator(chunk_size=100):
        if action == "keep-response":
            break
        if action not in ("undo", "redo") and any(
            each["record"] == key and each["field"] == "text" and each["after"] == response.text for each in changes
        ):
            break
        for each in changes:
            if each["record"].startswith("sentence-revision:"):
                values[each["record"], each["field"]] = each["before"]  # the oldest wins
    return values
