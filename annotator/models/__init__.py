"""The data of Touchstone, one aggregate a file."""

from annotator.models.activity import Activity, AppendOnlyError
from annotator.models.batch import Batch
from annotator.models.benchmark import Benchmark, Guidelines
from annotator.models.consolidation import Comment, Decision, Question, SignOff, Tally
from annotator.models.corpus import Corpus, CorpusPage
from annotator.models.decomposition import Claim, Sentence
from annotator.models.document import Annotation, Document, Flag, SentBack
from annotator.models.download import Download
from annotator.models.evaluation import Evaluation
from annotator.models.evidence import Evidence, PageSnapshot, Stance
from annotator.models.imports import ImportJob
from annotator.models.learned import TrainedSuggester
from annotator.models.notice import Notice
from annotator.models.release import FrozenReleaseError, Release, ReleaseDocument
from annotator.models.revision import ClaimRevision, ResponseRevision, SentenceRevision
from annotator.models.suggestion import (
    CachedAnswer,
    ClaimSuggestion,
    PipelineRun,
    PromptVersion,
    RevisionSuggestion,
    RunItem,
    SentenceSuggestion,
    StanceSuggestion,
    StepUse,
    VerdictSuggestion,
)
from annotator.models.team import Group, GroupMember, Invitation, Membership, User
from annotator.models.token import ApiToken
from annotator.models.verdict import EditOperation, RestsOn, Verdict
from annotator.models.webhook import Webhook, WebhookDelivery

__all__ = [
    "Activity",
    "Annotation",
    "ApiToken",
    "AppendOnlyError",
    "Batch",
    "Benchmark",
    "CachedAnswer",
    "Claim",
    "ClaimRevision",
    "ClaimSuggestion",
    "Comment",
    "Corpus",
    "CorpusPage",
    "Decision",
    "Document",
    "Download",
    "EditOperation",
    "Evaluation",
    "Evidence",
    "Flag",
    "FrozenReleaseError",
    "Group",
    "GroupMember",
    "Guidelines",
    "ImportJob",
    "Invitation",
    "Membership",
    "Notice",
    "PageSnapshot",
    "PipelineRun",
    "PromptVersion",
    "Question",
    "Release",
    "ReleaseDocument",
    "ResponseRevision",
    "RestsOn",
    "RevisionSuggestion",
    "RunItem",
    "SentBack",
    "Sentence",
    "SentenceRevision",
    "SentenceSuggestion",
    "SignOff",
    "Stance",
    "StanceSuggestion",
    "StepUse",
    "Tally",
    "TrainedSuggester",
    "User",
    "Verdict",
    "VerdictSuggestion",
    "Webhook",
    "WebhookDelivery",
]
