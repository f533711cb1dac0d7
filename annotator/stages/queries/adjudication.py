"""Everything about the adjudication of one document and stage, read in a constant number of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from annotator.core.models import (
    Annotation,
    Comment,
    Decision,
    Document,
    Evidence,
    Question,
    ResponseRevision,
    SignOff,
    User,
)
from annotator.core.vocabulary import AnnotationKind, Stage
from annotator.stages import rules
from annotator.stages.comparison import decomposition, revision, verification
from annotator.stages.comparison.comparison import Comparison, Decisions
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import adjudicated_sentences, claims_to_verify


@dataclass(slots=True)
class AdjudicationBoard:
    """What annotators see. ``people``: the compared annotations, by seat; ``version``: the adjudicated version in
    progress, None before anyone has started."""

    document: Document
    stage: Stage
    people: list[Annotation]
    comparison: Comparison
    version: Annotation | None = None
    decisions: dict[str, Decision] = field(default_factory=dict)
    comments: dict[str, list[Comment]] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    sign_offs: list[SignOff] = field(default_factory=list)
    third_raters: list[User] = field(default_factory=list)
    third_rater_signs: bool = False
    present: set[int] = field(default_factory=set)

    @property
    def open_questions(self) -> list[Question]:
        """The adjudicator's unanswered requests. Requests about a row that no longer exists, or that nobody is left to
        answer, don't block anyone."""
        if not self.third_raters:
            return []
        return [row for row in self.questions if row.answered_at is None and (not row.key or self._is_there(row.key))]

    def _is_there(self, key: str) -> bool:
        row = self.comparison.find(key)
        return row is not None and row.is_active

    @property
    def was_asked(self) -> bool:
        """The adjudicator was asked about the whole stage since everyone submitted it, so their sign-off alone closes
        it."""
        since = max((row.submitted_at for row in self.people if row.submitted_at), default=None)
        asked = [each for each in self.questions if each.key == "" and (since is None or each.created_at >= since)]
        return bool(self.third_raters and asked)

    def signed(self, user_id: int | None) -> bool:
        return any(each.by_id == user_id for each in self.sign_offs)

    @property
    def waits_for(self) -> list[User]:
        """Whose sign-off is still missing, in order. Annotators who have left the benchmark aren't waited for."""
        third = [] if any(each.as_third_rater for each in self.sign_offs) else self.third_raters[:1]
        if self.was_asked:
            return third
        partners = [row.person for row in self.people if row.person and row.person_id in self.present]
        waiting = [person for person in partners if not self.signed(person.pk)]
        return waiting + (third if self.third_rater_signs or not partners else [])

    @property
    def may_close(self) -> bool:
        """Nothing is open, nobody is waited for, and someone has signed off."""
        return not self.comparison.open and not self.open_questions and bool(self.sign_offs) and not self.waits_for


def compare(document: Document, stage: Stage, people: Sequence[Annotation], decisions: Decisions) -> Comparison:
    """The annotations side by side. A constant number of queries per person."""
    for row in people:
        row.document = document
    if stage == Stage.DECOMPOSE:
        return decomposition.compare([sentences_of(row) for row in people], decisions)
    sentences = adjudicated_sentences(people[0]) if people else []
    if stage == Stage.VERIFY:
        works = [claims_to_verify(row, sentences) for row in people]
        return verification.compare(works, [_unjudged(row) for row in people], decisions)
    numbers = {row.pk: str(number) for number, row in enumerate(sentences, start=1)}
    return revision.compare([_revision_of(row) for row in people], numbers, decisions)


def _unjudged(annotation: Annotation) -> list[Evidence]:
    """The person's passages without a stance. One query."""
    rows = annotation.added_evidence.filter(stances__isnull=True, removed="")
    return list(rows.select_related("claim").order_by("order", "pk"))


def _revision_of(annotation: Annotation) -> revision.RevisionVersion:
    response = ResponseRevision.objects.filter(annotation=annotation).first()
    return revision.RevisionVersion(
        annotation,
        {row.sentence_id: row for row in annotation.sentence_revisions.select_related("sentence")},
        {row.claim_id: row for row in annotation.claim_revisions.select_related("claim")},
        response or ResponseRevision(annotation=annotation),
    )


def board_of(document: Document, stage: Stage) -> AdjudicationBoard:
    """The current adjudication of a stage. The caller checks whether the person may see it (rules)."""
    people = rules.partners_of(document, stage)
    version = document.annotations.filter(stage=stage, kind=AnnotationKind.CONSOLIDATED).first()
    decisions = {row.key: row for row in version.decisions.select_related("by")} if version else {}
    board = AdjudicationBoard(document, stage, people, compare(document, stage, people, decisions), version, decisions)
    if version is not None:
        for comment in version.comments.select_related("by"):
            board.comments.setdefault(comment.key, []).append(comment)
        board.questions = list(version.questions.select_related("by", "answered_by"))
        board.sign_offs = list(version.sign_offs.select_related("by"))
    board.third_raters = rules.third_raters_of(document, stage)
    if not board.third_raters:
        for row in board.comparison.rows:
            row.tied = False  # the annotators decide by themselves
    board.third_rater_signs = (
        stage == Stage.VERIFY and document.benchmark.third_rater_at_verify and bool(board.third_raters)
    )
    board.present = rules.still_members(document.benchmark, [row.person_id for row in people if row.person_id])
    return board
