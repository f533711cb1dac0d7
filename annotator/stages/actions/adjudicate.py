"""What annotators do together at a stage that everyone has submitted: resolve differences, discuss, ask the
adjudicator, sign off. The last sign-off writes the adjudicated version and opens the next stage.

Every action holds the document's lock, so simultaneous actions are done one after the other.
"""

from __future__ import annotations

from textwrap import shorten
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError, clean_text
from annotator.core.actions.locking import lock_document
from annotator.core.actions.notices import tell
from annotator.core.actions.recorder import Action
from annotator.core.actions.status import update_status
from annotator.core.models import Annotation, Benchmark, Comment, Decision, Document, Question, SignOff, Tally, User
from annotator.core.vocabulary import DisagreementReason, DiscardReason, NoticeKind, Phase, Stage
from annotator.stages import rules as stages_rules
from annotator.stages.actions import changed_sentences
from annotator.stages.actions.adjudicated import adjudicate_together, open_version
from annotator.stages.actions.documents import discard_reason
from annotator.stages.actions.next_stage import open_next_stage
from annotator.stages.comparison.comparison import ABSENT, FieldRow, same_text
from annotator.stages.comparison.decomposition import Decompositions
from annotator.stages.comparison.tally import tally_of
from annotator.stages.queries.adjudication import AdjudicationBoard, board_of, compare

LONGEST_COMMENT = 4000


class ChangedMeanwhileError(Exception):
    """Someone else decided the row after the sender saw it; the board has the decision."""


def begin(document: Document, stage: Stage, *, by: User) -> Annotation:
    """Everyone has submitted: create the open adjudicated version, and count what the annotators had in common before
    anyone saw the others' work. ``by``: who submitted last. The caller holds the document's lock."""
    version = open_version(document, stage)
    SignOff.objects.filter(annotation=version).delete()  # of the previous round, if the stage is adjudicated again
    board = board_of(document, stage)
    _drop_fallen_decisions(board)
    _ask_about_ties(board, by)
    people = board.people
    if document.twin_of_id is not None:
        return version  # a gold copy compares each person with the gold; it isn't part of agreement
    # If the stage is adjudicated again, the first count stays: what came later wasn't independent.
    if all(row.independent for row in people) and not Tally.objects.filter(annotation=version).exists():
        comparison = compare(document, stage, people, {})
        Tally.objects.create(annotation=version, people=[row.person_id for row in people], data=tally_of(comparison))
    return version


def _drop_fallen_decisions(board: AdjudicationBoard) -> None:
    """Reopen, for everyone, decisions of the previous round whose rows have changed since."""
    for row in (row for item in board.comparison.items for row in item.fields):
        if row.decision is not None and row.decision.is_settled and not row.is_decided:
            row.decision.is_settled = row.decision.is_final = False
            row.decision.version += 1
            row.decision.save(update_fields=["is_settled", "is_final", "version"])


def _ask_about_ties(board: AdjudicationBoard, by: User) -> None:
    """Rows without a majority wait for the adjudicator without anyone asking."""
    asked = {question.key for question in board.questions if question.answered_at is None}
    tied = [row for row in board.comparison.rows if row.tied and row.is_open and row.key not in asked]
    if not tied:
        return
    board.questions += Question.objects.bulk_create(
        Question(annotation=board.version, key=row.key, by=by, text="No majority.") for row in tied
    )
    _tell_third_raters(
        board, f"No majority in {board.stage.label.lower()} of {board.document}: it is waiting for you.", by
    )


def _begin(document: Document, stage: Stage, by: User, name: str) -> tuple[AdjudicationBoard, Action]:
    """The board under the document's lock, and the action. Inside the caller's transaction."""
    document = lock_document(document.pk)
    stages_rules.check_consolidate(by, document, stage)
    board = board_of(document, stage)
    if board.version is None:
        board.version = begin(document, stage, by=by)
    action = Action(name=name, by=by, benchmark=document.benchmark, document=document, annotation=board.version)
    return board, action


def decide(
    document: Document,
    stage: Stage,
    key: str,
    *,
    by: User,
    choice: int | None = None,
    value: Any = ABSENT,
    reason: str = "",
    seen: int = 0,
) -> AdjudicationBoard:
    """Resolve one difference: choose the value of person ``choice``, or enter a new ``value``. ``seen`` is the version
    of the decision that the sender saw, 0 for none.

    The adjudicator's decisions are final. A change withdraws all sign-offs. Raises ChangedMeanwhileError if someone
    else has decided the row since, BadValueError if the field can't have this value.
    """
    with transaction.atomic():
        board, action = _begin(document, stage, by, "decide")
        row = _row(board, key)
        chosen, settled = _read(row, choice, value)
        item = board.comparison.item_of(key)
        if row.name == "edit" and item is not None and settled == same_text(item.heading):
            raise BadValueError("This leaves the claim unchanged, but the claim is false. Enter its correction.")
        why = _reason_word(reason)
        is_third = any(rater.pk == by.pk for rater in board.third_raters)
        decision = board.decisions.get(key)
        if decision is not None and decision.version != seen and decision.by_id != by.pk:
            raise ChangedMeanwhileError("This row was just decided differently. Review it and decide again.")
        if decision is not None and decision.is_final and row.is_decided and not is_third:
            raise rules.NotAllowedError("The adjudicator has decided this. If you think it is wrong, ask them.")
        if row.tied and not is_third:
            raise rules.NotAllowedError(
                "No majority: the adjudicator decides this one. Explain your view in a comment."
            )
        if decision is None:
            assert board.version is not None  # created by _begin
            decision = Decision.objects.create(annotation=board.version, key=key, by=by, is_settled=False)
        asked = [question for question in board.open_questions if question.key == key]
        is_final = is_third and bool(asked or row.tied or board.was_asked)
        if action.set(decision, choice=chosen, value=settled, is_settled=True, is_final=is_final):
            action.set(decision, by_id=by.pk)
            _take_signatures_away(board)
        # Why people differed is a remark on the decision: those who signed off still agree with the value.
        action.set(decision, reason=why)
        action.reason = row.label if action.changes else ""
        action.write()
        if is_third:
            _answer(board, asked, by)
        return _as_it_stands(board, by)


def _as_it_stands(board: AdjudicationBoard, by: User) -> AdjudicationBoard:
    """Read the board again after a change, which may have produced ties that nobody was asked about."""
    board = board_of(board.document, board.stage)
    _ask_about_ties(board, by)
    return board


def take_decision_back(document: Document, stage: Stage, key: str, *, by: User) -> AdjudicationBoard:
    """Reopen a resolved difference. Sign-offs are withdrawn."""
    with transaction.atomic():
        board, action = _begin(document, stage, by, "decide")
        decision = board.decisions.get(key)
        is_third = any(rater.pk == by.pk for rater in board.third_raters)
        if decision is not None and decision.is_final and not is_third:
            raise rules.NotAllowedError("The adjudicator has decided this. If you think it is wrong, ask them.")
        if decision is not None and action.set(decision, is_settled=False, is_final=False, by_id=by.pk):
            action.reason = "taken back"
            _take_signatures_away(board)
            action.write()
        return _as_it_stands(board, by)


def _row(board: AdjudicationBoard, key: str) -> FieldRow:
    row = board.comparison.find(key)
    if row is None:
        raise BadValueError("This row is no longer part of the comparison. Reload the page.")
    if not row.differs:
        raise BadValueError("There is nothing to adjudicate here: all annotators agree.")
    return row


def _read(row: FieldRow, choice: int | None, value: Any) -> tuple[int | None, Any]:
    """The choice and the value as stored."""
    if choice is not None:
        if not 0 <= choice < len(row.values) or row.values[choice] is ABSENT:
            raise BadValueError("There is no such version to choose.")
        return choice, row.values[choice]
    if value is ABSENT:
        raise BadValueError("Choose one of the versions, or enter a new one.")
    if row.kind in ("label", "take"):
        known = next((option for option in row.options if option.value == value), None)
        if known is None:
            raise BadValueError(
                f"“{value}” isn't a valid label; choose one of {', '.join(str(each.value) for each in row.options)}."
            )
        return known.choice, known.value
    if row.kind == "whole":
        lines = [same_text(line) for line in clean_text(str(value)).split("\n")]
        texts = [line for line in lines if line]
        if not texts or row.name != "split":
            raise BadValueError("Write one claim per line, or choose one of the versions.")
        return None, texts
    text = clean_text(str(value)).strip()
    known = next((option for option in row.options if option.value == text), None)
    if not text and known is None:
        raise BadValueError("Enter the adjudicated text.")
    return (known.choice, known.value) if known else (None, text)


def _reason_word(reason: str) -> str:
    if reason and reason not in {word.value for word in DisagreementReason}:
        known = ", ".join(word.label.lower() for word in DisagreementReason)
        raise BadValueError(f"Choose a reason for the disagreement: {known}.")
    return reason


def comment(document: Document, stage: Stage, key: str, text: str, *, by: User) -> AdjudicationBoard:
    """Add a comment to the thread of a row (or, with a blank key, of the stage). The others are notified."""
    text = clean_text(text, LONGEST_COMMENT).strip()
    if not text:
        raise BadValueError("Write a comment first.")
    with transaction.atomic():
        board, action = _begin(document, stage, by, "comment")
        if key and board.comparison.item_of(key) is None:
            raise BadValueError("This row is no longer part of the comparison. Reload the page.")
        assert board.version is not None
        row = Comment.objects.create(annotation=board.version, key=key, by=by, text=text)
        action.changes.append({"record": f"comment:{row.public_id}", "field": "text", "before": "", "after": text})
        action.write()
        _tell_others(board, NoticeKind.COMMENT, f"{by} commented on {stage.label.lower()} of {board.document}.", by)
        return board_of(board.document, stage)


def ask_third_rater(document: Document, stage: Stage, key: str, text: str, *, by: User) -> AdjudicationBoard:
    """Ask the adjudicator about one row or, with a blank key, to adjudicate the whole stage. Asking twice has no
    effect."""
    with transaction.atomic():
        board, action = _begin(document, stage, by, "ask")
        if not board.third_raters:
            raise BadValueError("There is nobody to ask: this benchmark has no adjudicator, owner or admin left.")
        if any(rater.pk == by.pk for rater in board.third_raters):
            raise BadValueError("You are the adjudicator: decide it yourself.")
        if key and board.comparison.find(key) is None:
            raise BadValueError("This row is no longer part of the comparison. Reload the page.")
        if any(question.key == key and question.answered_at is None for question in board.questions):
            return board
        assert board.version is not None
        Question.objects.create(
            annotation=board.version, key=key, by=by, text=clean_text(text, LONGEST_COMMENT).strip()
        )
        action.reason = text.strip() or "asked"
        action.write()
        tell(
            board.third_raters,
            NoticeKind.QUESTION,
            f"{by} asks you about {stage.label.lower()} of {board.document}.",
            benchmark=board.document.benchmark,
            document=board.document,
            stage=stage,
            by=by,
        )
        return board_of(board.document, stage)


def _answer(board: AdjudicationBoard, questions: list[Question], by: User) -> None:
    """The adjudicator has decided what was asked."""
    for question in questions:
        question.answered_at, question.answered_by = timezone.now(), by
        question.save(update_fields=["answered_at", "answered_by"])
        tell(
            [question.by],
            NoticeKind.ANSWERED,
            f"{by} has answered your question about {board.stage.label.lower()} of {board.document}.",
            benchmark=board.document.benchmark,
            document=board.document,
            stage=board.stage,
            by=by,
        )


def answer(document: Document, stage: Stage, question: Question, text: str, *, by: User) -> AdjudicationBoard:
    """The adjudicator answers a question with a comment, if no decision was needed: the comment and the answer, or
    neither."""
    with transaction.atomic():
        comment(document, stage, question.key, text, by=by)
        board, action = _begin(document, stage, by, "answer")
        if not any(rater.pk == by.pk for rater in board.third_raters):
            raise rules.NotAllowedError("Only the adjudicator answers questions.")
        _answer(board, [each for each in board.open_questions if each.pk == question.pk], by)
        action.reason = "answered"
        action.write()
        return board_of(board.document, stage)


def sign(document: Document, stage: Stage, *, by: User) -> Document:
    """Sign off the stage as it is. The last sign-off closes it. Signing twice has no effect.

    Raises BadValueError while differences or questions are open.
    """
    with transaction.atomic():
        board, action = _begin(document, stage, by, "sign")
        document = board.document
        is_third = any(rater.pk == by.pk for rater in board.third_raters)
        if is_third and board.comparison.open == 0:
            _answer(board, [each for each in board.open_questions if each.key == ""], by)
            board.questions = list(board.version.questions.all()) if board.version else []
        if board.comparison.open:
            number = board.comparison.open
            raise BadValueError(
                "One difference is open. Resolve it before you sign off."
                if number == 1
                else f"{number} differences are open. Resolve them first."
            )
        if board.open_questions:
            raise BadValueError("The adjudicator has been asked and has not answered yet.")
        _check_has_claims(board)
        assert board.version is not None
        if not board.signed(by.pk):
            board.sign_offs.append(SignOff.objects.create(annotation=board.version, by=by, as_third_rater=is_third))
            action.reason = stage.label
            _tell_third_rater_to_sign(board, by)
        if board.may_close:
            _close(board, action, by)
        action.write()
        return document


def _check_has_claims(board: AdjudicationBoard) -> None:
    empty = board.comparison.without_claims if isinstance(board.comparison, Decompositions) else []
    if empty:
        raise BadValueError(
            f"“{shorten(empty[0].base.text, 60, placeholder='…')}” is check-worthy, but all its claims are excluded. "
            "Include one, or ask an admin to reopen an annotator’s work if the sentence isn’t check-worthy."
        )


def _tell_third_rater_to_sign(board: AdjudicationBoard, by: User) -> None:
    """All annotators have signed off, and the protocol requires the adjudicator, too."""
    if not board.third_rater_signs or board.was_asked or board.waits_for != board.third_raters[:1]:
        return
    _tell_third_raters(board, f"{board.stage.label} of {board.document} is resolved and waiting for your sign-off.", by)


def close_what_waits_for_nobody(benchmark: Benchmark, *, by: User) -> None:
    """Someone has left: what all others had already signed off is adjudicated. Inside the caller's transaction."""
    signed = SignOff.objects.filter(annotation__document=OuterRef("pk"), annotation__stage=OuterRef("stage"))
    rows = Document.objects.filter(Exists(signed), benchmark=benchmark, phase=Phase.CONSOLIDATING)
    for pk in list(rows.order_by("pk").values_list("pk", flat=True)):
        document = lock_document(pk)
        if document.phase != Phase.CONSOLIDATING:
            continue
        board = board_of(document, Stage(document.stage))
        if board.may_close:
            action = Action(name="agree", by=by, document=document, annotation=board.version, reason=board.stage.label)
            _close(board, action, by)
            action.write()


def _close(board: AdjudicationBoard, action: Action, by: User) -> None:
    """Write the adjudicated version and open the next stage."""
    document, stage = board.document, board.stage
    before = changed_sentences.bases(document)
    changed = adjudicate_together(document, stage, board.comparison)
    changed_sentences.ask_again(document, before)
    update_status(document, action)
    action.flush()
    open_next_stage(document, by=by, changed_claims=changed)
    _tell_others(board, NoticeKind.AGREED, f"{stage.label} of {document} is adjudicated.", by)


def take_signature_back(document: Document, stage: Stage, *, by: User) -> AdjudicationBoard:
    """Withdraw a sign-off before the stage is closed."""
    with transaction.atomic():
        board, action = _begin(document, stage, by, "unsign")
        if SignOff.objects.filter(annotation=board.version, by=by).delete()[0]:
            action.reason = stage.label
            action.write()
        return board_of(board.document, stage)


def _take_signatures_away(board: AdjudicationBoard) -> None:
    """What was signed off has changed."""
    SignOff.objects.filter(annotation=board.version).delete()


def discard_together(
    document: Document, stage: Stage, reason: str = "", *, by: User, code: str = DiscardReason.OTHER
) -> None:
    """The adjudicator gives up on a document that even three people can't agree on (section 3.2), with the reason."""
    code, reason = discard_reason(code, reason)
    with transaction.atomic():
        board, action = _begin(document, stage, by, "discard")
        is_third = any(rater.pk == by.pk for rater in board.third_raters)
        if not is_third and not rules.can_manage(by, board.document.benchmark):
            raise rules.NotAllowedError(
                "Only the adjudicator, the owner or an admin can discard a document. Ask one of them."
            )
        action.annotation = None
        update_status(board.document, action, discarded=True)
        action.set(board.document, discard_reason=reason, discard_code=code)
        action.reason = board.document.discarded_because
        action.write()
        text = f"{board.document} was discarded: {board.document.discarded_because}"
        _tell_others(board, NoticeKind.DISCARDED, text, by)


def _tell_third_raters(board: AdjudicationBoard, text: str, by: User) -> None:
    tell(board.third_raters, NoticeKind.QUESTION, text, document=board.document, stage=board.stage, by=by)


def _tell_others(board: AdjudicationBoard, kind: NoticeKind, text: str, by: User) -> None:
    people = [row.person for row in board.people if row.person]
    if board.open_questions or board.third_rater_signs:
        people += board.third_raters
    tell(people, kind, text, benchmark=board.document.benchmark, document=board.document, stage=board.stage, by=by)
