"""The words of the field, as plain enums: label sets, stages, phases, roles.

Nothing here knows Django, so the pipeline may use it too. The value is what is stored and exported,
the label is what a person reads. Sources: Factcheck-Bench section 2 and appendix C.
"""

from __future__ import annotations

from enum import StrEnum


class Labelled(StrEnum):
    """A string enum whose members carry the words that a person reads."""

    label: str

    def __new__(cls, value: str, label: str = "") -> Labelled:
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member


class Stage(Labelled):
    """The three screens of Factcheck-Bench (section 3.2), which gather its eight steps."""

    DECOMPOSE = "decompose", "Decompose"
    VERIFY = "verify", "Verify"
    REVISE = "revise", "Revise"


STAGES: tuple[Stage, ...] = tuple(Stage)


class Phase(Labelled):
    """Where a document stands within its current stage. Agreed at the last stage is gold."""

    PREFILLING = "prefilling", "Suggestions on the way"
    INDEPENDENT = "independent", "In work"
    CONSOLIDATING = "consolidating", "To be agreed"
    AGREED = "agreed", "Agreed"
    DISCARDED = "discarded", "Discarded"


class AnnotationKind(Labelled):
    """One person's work on a stage, or the agreed version of it."""

    INDIVIDUAL = "individual", "One person's work"
    CONSOLIDATED = "consolidated", "Agreed version"


class AnnotationState(Labelled):
    OPEN = "open", "Open"
    SUBMITTED = "submitted", "Submitted"
    TAKEN_BACK = "taken_back", "Taken back"


class SentenceType(Labelled):
    """Does the sentence contain a statement that needs fact-checking? (section 2, step 3)"""

    CHECKWORTHY = "checkworthy", "Checkworthy"
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
    """Why a factual claim is not worth checking (appendix C.3, second question)."""

    COMMONSENSE = "commonsense", "Commonsense"
    NOT_PUBLIC = "not_public", "Not publicly checkable"


class Importance(Labelled):
    """Role of a sentence or claim for the answer (section 2, step 3)."""

    MOST = "most", "Most"
    INTERMEDIATE = "intermediate", "Intermediate"
    LESS = "less", "Less"


class StanceLabel(Labelled):
    """Evidence against claim (section 2, step 5)."""

    COMPLETELY_SUPPORT = "completely_support", "Supports"
    PARTIALLY_SUPPORT = "partially_support", "Partly"
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
    """What the revise stage does with a claim that could not be decided; kept by default."""

    KEEP = "keep", "Keep"
    REWRITE = "rewrite", "Rewrite"
    DELETE = "delete", "Delete"


class Removal(Labelled):
    """Why a row is no longer part of the work. The first three are a person's reasons."""

    REDUNDANT = "redundant", "Redundant"
    NOT_A_CLAIM = "not_a_claim", "Not a claim"
    OTHER = "other", "Other reason"
    MERGED = "merged", "Merged into another"
    FOLDED = "folded", "Its sentence is not checkworthy"
    UNDONE = "undone", "Undone"


REMOVAL_REASONS: tuple[Removal, ...] = (Removal.REDUNDANT, Removal.NOT_A_CLAIM, Removal.OTHER)


class Origin(Labelled):
    """How a decided field came to its value. An empty origin means: not decided yet."""

    ACCEPTED = "accepted", "suggestion, taken over"
    EDITED = "edited", "suggestion, edited"
    HUMAN = "human", "by a person"
    IMPORTED = "imported", "imported"
    CONSOLIDATED = "consolidated", "agreed"


class FlagReason(Labelled):
    """Why an annotator passes a document on instead of labelling it."""

    NEEDS_EXPERTISE = "needs_expertise", "Needs expertise"
    CONFLICT_OF_INTEREST = "conflict_of_interest", "Conflict of interest"
    DISTRESSING = "distressing", "Distressing"
    BROKEN = "broken", "Broken"


class Role(Labelled):
    """What a person may do in one benchmark."""

    OWNER = "owner", "Owner"
    ADMIN = "admin", "Admin"
    ANNOTATOR = "annotator", "Annotator"
    THIRD_RATER = "third_rater", "Third rater"
    RESEARCHER = "researcher", "Researcher"


class Seat(Labelled):
    """What a person does in a group (section 3.2: two annotators; a third rater where they cannot agree)."""

    ANNOTATOR = "annotator", "Annotator"
    THIRD_RATER = "third_rater", "Third rater"


class DisagreementReason(Labelled):
    """Why two people had labelled differently, as those who settled it see it."""

    SLIP = "slip", "A slip"
    READING_OF_CLAIM = "reading_of_claim", "Reading of the claim"
    READING_OF_EVIDENCE = "reading_of_evidence", "Reading of the evidence"
    KNOWLEDGE = "knowledge", "Knowledge"
    GUIDELINE_UNCLEAR = "guideline_unclear", "Guideline unclear"


class NoticeKind(Labelled):
    """What a person is told about."""

    ASSIGNED = "assigned", "Work was assigned to you"
    PARTNER_FINISHED = "partner_finished", "Your partner has finished"
    QUESTION = "question", "A question for you"
    ANSWERED = "answered", "Your question was answered"
    COMMENT = "comment", "A comment"
    RETURNED = "returned", "Work came back"
    TAKEN_BACK = "taken_back", "Work was taken back"
    AGREED = "agreed", "A stage was agreed"
    DISCARDED = "discarded", "A document was discarded"
    WEBHOOK = "webhook", "A webhook cannot be reached"
    HALTED = "halted", "Suggestions have paused by themselves"


class Scope(Labelled):
    """What a token for the API may do, at most: never more than the person whose token it is."""

    READ = "read", "Read what you can see"
    ANNOTATE = "annotate", "Label, submit and settle as you"
    MANAGE = "manage", "Import, assign and change settings"
    EXPORT = "export", "Take gold and releases away"


class WebhookEvent(Labelled):
    """What a benchmark's webhooks are told about. None carries anything of anybody's work."""

    DOCUMENT_AGREED = "document.agreed", "A stage of a document is agreed"
    DOCUMENT_GOLD = "document.gold", "A document is gold"
    DOCUMENT_DISCARDED = "document.discarded", "A document is discarded"
    ANNOTATION_SUBMITTED = "annotation.submitted", "Somebody has submitted a stage"
    RUN_FINISHED = "run.finished", "A run of the pipeline is over"
    IMPORT_FINISHED = "import.finished", "An import is over"
    RELEASE_READY = "release.ready", "A release is ready"
    TEST = "test", "A test, sent from the page"


class DeliveryState(Labelled):
    """Where a delivery to a webhook stands."""

    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"


class RunState(Labelled):
    """State of a pipeline run and of each document in it."""

    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    FINISHED = "finished", "Finished"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class BatchStep(Labelled):
    """What a worker does to a large batch, document by document."""

    FILL = "fill", "Adding documents"
    EMPTY = "empty", "Releasing documents"
    TAKE_BACK = "take-back", "Unassigning open work"


class SuggesterKind(Labelled):
    """What a suggester learns from a benchmark's own gold."""

    STANCE = "stance", "Stance of evidence"
    SENTENCE_TYPE = "sentence_type", "Checkworthiness of sentences"
    CLAIM_TYPE = "claim_type", "Type of claims"


class Split(Labelled):
    """The part of a release that a document is in."""

    TRAIN = "train", "Train"
    DEV = "dev", "Dev"
    TEST = "test", "Test"


class GroupedBy(Labelled):
    """What documents have in common that must not be spread over two splits of a release."""

    NOTHING = "nothing", "Nothing: each document by itself"
    SOURCE = "source", "Source"
    PROMPT = "prompt", "Prompt"
    MODEL = "model", "Model"
    BATCH = "batch", "Batch"


class ReleaseState(Labelled):
    """A release is made in the background; once it is ready it never changes."""

    MAKING = "making", "Being made"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"


class Task(Labelled):
    """What a fact-checker can be scored on (Factcheck-Bench, sections 3.4 and 4)."""

    SENTENCE_CHECKWORTHINESS = "sentence_checkworthiness", "Checkworthiness of sentences"
    CLAIM_CHECKWORTHINESS = "claim_checkworthiness", "Type of claims"
    STANCE = "stance", "Stance of evidence"
    CLAIM_FACTUALITY = "claim_factuality", "Factuality of claims"
    REVISION = "revision", "Revised responses"
    DECOMPOSITION = "decomposition", "Decomposition into claims"
    EVIDENCE = "evidence", "Evidence for claims"
    END_TO_END = "end_to_end", "Responses, end to end"


OPEN_STATES = (RunState.QUEUED, RunState.RUNNING)
