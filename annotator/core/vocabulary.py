"""The vocabulary as plain enums: label sets, stages, phases, roles.

Nothing here imports Django, so the pipeline can use it too. The value is stored and exported; the label is shown to
people. Sources: Factcheck-Bench section 2 and appendix C.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class Labelled(StrEnum):
    """A string enum whose members carry the label that people see."""

    label: str

    def __new__(cls, value: str, label: str = "") -> Labelled:
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member


def spelled(raw: str, words: Collection[str]) -> str:
    """A value as the vocabulary spells it: "completely-support", as in released files, is "completely_support"."""
    with_underscores = raw.replace("-", "_")
    return with_underscores if raw not in words and with_underscores in words else raw


class Stage(Labelled):
    """The three screens of Factcheck-Bench (section 3.2), which gather its eight steps."""

    DECOMPOSE = "decompose", "Decompose"
    VERIFY = "verify", "Verify"
    REVISE = "revise", "Revise"


STAGES: tuple[Stage, ...] = tuple(Stage)


class Phase(Labelled):
    """A document's phase within its current stage. A document that is complete at the last stage is gold."""

    PREFILLING = "prefilling", "Generating suggestions"
    INDEPENDENT = "independent", "In progress"
    CONSOLIDATING = "consolidating", "Awaiting adjudication"
    AGREED = "agreed", "Complete"
    DISCARDED = "discarded", "Discarded"


class AnnotationKind(Labelled):
    """One annotator's work on a stage, or the adjudicated version of the stage."""

    INDIVIDUAL = "individual", "One annotator’s work"
    CONSOLIDATED = "consolidated", "Adjudicated version"


class AnnotationState(Labelled):
    OPEN = "open", "Open"
    SUBMITTED = "submitted", "Submitted"
    TAKEN_BACK = "taken_back", "Unassigned"


class SentenceType(Labelled):
    """Does the sentence contain a statement that needs fact-checking? (section 2, step 3)"""

    CHECKWORTHY = "checkworthy", "Check-worthy"
    OPINION = "opinion", "Opinion"
    NOT_A_CLAIM = "not_a_claim", "Not a claim"
    OTHER = "other", "Other"


class ClaimType(Labelled):
    """Which category a claim falls into (appendix C.3, first question)."""

    FACTUAL = "factual", "Factual"
    OPINION = "opinion", "Opinion"
    NOT_A_CLAIM = "not_a_claim", "Not a claim"
    OTHER = "other", "Other"


class NotWorthReason(Labelled):
    """Why a factual claim is not check-worthy (appendix C.3, second question)."""

    COMMONSENSE = "commonsense", "Commonsense"
    NOT_PUBLIC = "not_public", "Not publicly checkable"


class Importance(Labelled):
    """How important a sentence or claim is for the response (section 2, step 3)."""

    MOST = "most", "Most"
    INTERMEDIATE = "intermediate", "Intermediate"
    LESS = "less", "Less"


class StanceLabel(Labelled):
    """Evidence against claim (section 2, step 5)."""

    COMPLETELY_SUPPORT = "completely_support", "Supports"
    PARTIALLY_SUPPORT = "partially_support", "Partially supports"
    REFUTE = "refute", "Refutes"
    IRRELEVANT = "irrelevant", "Irrelevant"


class Factuality(Labelled):
    """The verdict on a claim (section 2, step 6)."""

    TRUE = "true", "True"
    FALSE = "false", "False"
    NOT_ENOUGH_EVIDENCE = "not_enough_evidence", "Not enough evidence"


class Confidence(Labelled):
    """How sure a person is of a verdict; optional."""

    HIGH = "high", "Sure"
    MEDIUM = "medium", "Fairly sure"
    LOW = "low", "Unsure"


class EditKind(Labelled):
    """The typed edit operations (section 2, step 7)."""

    DELETE_CLAIM = "delete_claim", "Delete claim"
    REPLACE = "replace", "Replace"
    DELETE = "delete", "Delete words"


class Handling(Labelled):
    """What the revise stage does with a claim without enough evidence. The default is to keep it."""

    KEEP = "keep", "Keep"
    REWRITE = "rewrite", "Rewrite"
    DELETE = "delete", "Delete"


class Removal(Labelled):
    """Why a row was removed from the work. The first three are an annotator's reasons."""

    REDUNDANT = "redundant", "Redundant"
    NOT_A_CLAIM = "not_a_claim", "Not a claim"
    OTHER = "other", "Other reason"
    MERGED = "merged", "Merged into another"
    FOLDED = "folded", "Its sentence is not check-worthy"
    UNDONE = "undone", "Undone"


REMOVAL_REASONS: tuple[Removal, ...] = (Removal.REDUNDANT, Removal.NOT_A_CLAIM, Removal.OTHER)


class Origin(Labelled):
    """How a decided field got its value. An empty origin means that it isn't decided yet."""

    ACCEPTED = "accepted", "suggestion, accepted"
    EDITED = "edited", "suggestion, edited"
    HUMAN = "human", "by a person"
    IMPORTED = "imported", "imported"
    CONSOLIDATED = "consolidated", "adjudicated"


class FlagReason(Labelled):
    """Why an annotator flags a document instead of labeling it."""

    NEEDS_EXPERTISE = "needs_expertise", "Needs expertise"
    CONFLICT_OF_INTEREST = "conflict_of_interest", "Conflict of interest"
    DISTRESSING = "distressing", "Distressing"
    BROKEN = "broken", "Broken"


class DiscardReason(Labelled):
    """Why a document leaves the benchmark (Factcheck-Bench, appendix B.4)."""

    PROCEDURE = "procedure", "A procedure, not a set of facts"
    NOT_FACTS = "not_facts", "Question isn’t about facts"
    RIDDLE = "riddle", "Riddle"
    BROKEN = "broken", "Broken response"
    DISPUTED = "disputed", "Highly disputed"
    OTHER = "other", "Other"


class PoolFilter(Labelled):
    """What takes candidates out of a pool (Factcheck-Bench, appendix B.1 and B.2)."""

    LENGTH = "length", "Length of the response"
    SIMILARITY = "similarity", "Similarity to a reference answer"
    SCORE = "score", "Machine score"
    DUPLICATES = "duplicates", "Duplicates"
    BY_HAND = "by_hand", "By hand"


class Role(Labelled):
    """What a person may do in one benchmark."""

    OWNER = "owner", "Owner"
    ADMIN = "admin", "Admin"
    ANNOTATOR = "annotator", "Annotator"
    THIRD_RATER = "third_rater", "Adjudicator"
    RESEARCHER = "researcher", "Researcher"


class Seat(Labelled):
    """What a person does in a group (section 3.2: two annotators; an adjudicator where they cannot agree)."""

    ANNOTATOR = "annotator", "Annotator"
    THIRD_RATER = "third_rater", "Adjudicator"


class DisagreementReason(Labelled):
    """Why two annotators labeled differently, in the view of those who adjudicated."""

    SLIP = "slip", "Slip"
    READING_OF_CLAIM = "reading_of_claim", "Interpretation of the claim"
    READING_OF_EVIDENCE = "reading_of_evidence", "Interpretation of the evidence"
    KNOWLEDGE = "knowledge", "Background knowledge"
    GUIDELINE_UNCLEAR = "guideline_unclear", "Unclear guidelines"


class NoticeKind(Labelled):
    """What a notice is about."""

    ASSIGNED = "assigned", "Work was assigned to you"
    PARTNER_FINISHED = "partner_finished", "Your partner has finished"
    QUESTION = "question", "A question for you"
    ANSWERED = "answered", "Your question was answered"
    COMMENT = "comment", "A comment"
    RETURNED = "returned", "Work was returned to you"
    TAKEN_BACK = "taken_back", "Work was unassigned"
    AGREED = "agreed", "A stage was adjudicated"
    DISCARDED = "discarded", "A document was discarded"
    WEBHOOK = "webhook", "A webhook can’t be reached"
    HALTED = "halted", "Suggestions paused automatically"


class Scope(Labelled):
    """The most that an API token can do. It can never do more than its owner."""

    READ = "read", "Read what you can see"
    ANNOTATE = "annotate", "Label, submit and adjudicate as you"
    MANAGE = "manage", "Import, assign and change settings"
    EXPORT = "export", "Download gold and releases"


class WebhookEvent(Labelled):
    """The events sent to a benchmark's webhooks. None of them carries annotations."""

    DOCUMENT_AGREED = "document.agreed", "A stage of a document was adjudicated"
    DOCUMENT_GOLD = "document.gold", "A document became gold"
    DOCUMENT_DISCARDED = "document.discarded", "A document was discarded"
    ANNOTATION_SUBMITTED = "annotation.submitted", "Someone submitted a stage"
    RUN_FINISHED = "run.finished", "A pipeline run finished"
    IMPORT_FINISHED = "import.finished", "An import finished"
    RELEASE_READY = "release.ready", "A release is ready"
    TEST = "test", "A test event sent from the page"


class DeliveryState(Labelled):
    """State of a webhook delivery."""

    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"


class RunState(Labelled):
    """State of a pipeline run and of each document in it."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    FINISHED = "finished", "Finished"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Canceled"


class CrowdPlatform(Labelled):
    """Where crowd workers come from."""

    PROLIFIC = "prolific", "Prolific"
    MTURK = "mturk", "Mechanical Turk"
    OTHER = "other", "Another platform"


class BatchStep(Labelled):
    """What a worker does to a large batch, document by document."""

    FILL = "fill", "Adding documents"
    EMPTY = "empty", "Releasing documents"
    TAKE_BACK = "take-back", "Unassigning open work"


class DocumentStep(Labelled):
    """What is done to many documents that someone has selected."""

    MOVE = "move", "Moving documents"
    DISCARD = "discard", "Discarding documents"
    RESTORE = "restore", "Restoring documents"
    REOPEN = "reopen", "Reopening documents"


class SuggesterKind(Labelled):
    """What a suggester learns from a benchmark's gold."""

    STANCE = "stance", "Stance of evidence"
    SENTENCE_TYPE = "sentence_type", "Check-worthiness of sentences"
    CLAIM_TYPE = "claim_type", "Type of claims"


class Split(Labelled):
    """The part of a release that a document is in."""

    TRAIN = "train", "Train"
    DEV = "dev", "Dev"
    TEST = "test", "Test"


class GroupedBy(Labelled):
    """Which documents must stay in the same split of a release."""

    NOTHING = "nothing", "None: each document on its own"
    SOURCE = "source", "Source"
    PROMPT = "prompt", "Prompt"
    MODEL = "model", "Model"
    BATCH = "batch", "Batch"


class ReleaseState(Labelled):
    """A release is created in the background. Once it is ready, it never changes."""

    MAKING = "making", "Being created"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"


class PageOutcome(Labelled):
    """What became of a saved page since evidence was cut from it."""

    SAME = "same", "Unchanged"
    CHANGED = "changed", "Changed"
    VANISHED = "vanished", "Gone"
    RETRACTED = "retracted", "Retracted"
    UNREACHED = "unreached", "Couldn’t be checked"


class Task(Labelled):
    """What a fact-checker can be scored on (Factcheck-Bench, sections 3.4 and 4)."""

    SENTENCE_CHECKWORTHINESS = "sentence_checkworthiness", "Check-worthiness of sentences"
    CLAIM_CHECKWORTHINESS = "claim_checkworthiness", "Type of claims"
    STANCE = "stance", "Stance of evidence"
    CLAIM_FACTUALITY = "claim_factuality", "Factuality of claims"
    REVISION = "revision", "Revised responses"
    DECOMPOSITION = "decomposition", "Decomposition into claims"
    EVIDENCE = "evidence", "Evidence for claims"
    END_TO_END = "end_to_end", "Responses, end to end"


class SecurityEventKind(Labelled):
    """What happens at the door."""

    SIGN_IN = "sign-in", "Signed in"
    SIGN_OUT = "sign-out", "Signed out"
    FAILED = "failed", "Failed sign-in"
    THROTTLED = "throttled", "Too many failed sign-ins"
    PASSWORD = "password", "Password changed"
    RESET = "reset", "Password reset by email"
    EMAIL = "email", "Email address changed"
    STEP_ADDED = "step-added", "Second step added"
    STEP_REMOVED = "step-removed", "Second step removed"
    STEP_FAILED = "step-failed", "Second step failed"


class TwoStep(Labelled):
    """Whom a benchmark asks for a second step at sign-in."""

    NOBODY = "nobody", "Nobody"
    MANAGERS = "managers", "Owners and admins"
    EVERYONE = "everyone", "Everyone"


OPEN_STATES = (RunState.QUEUED, RunState.RUNNING)
