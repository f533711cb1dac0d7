"""The data of Touchstone that every area shares, one aggregate a file."""

from annotator.core.models.activity import Activity, AppendOnlyError
from annotator.core.models.batch import Batch
from annotator.core.models.batch_change import BatchChange, BatchChangeRows
from annotator.core.models.benchmark import Benchmark, Guidelines
from annotator.core.models.consolidation import (
    Comment,
    Decision,
    Question,
    SignOff,
    Tally,
)
from annotator.core.models.corpus import Corpus, CorpusPage
from annotator.core.models.crowd import CrowdLink, CrowdWorker
from annotator.core.models.decomposition import Claim, Sentence
from annotator.core.models.document import Annotation, Document, Flag, SentBack
from annotator.core.models.document_list import DocumentChange, DocumentChangeRows, DocumentView
from annotator.core.models.evidence import Evidence, PageArchive, PageSnapshot, Stance
from annotator.core.models.notice import Notice
from annotator.core.models.page_check import PageCheck, Recheck
from annotator.core.models.people import (
    Group,
    GroupMember,
    Invitation,
    Membership,
    User,
)
from annotator.core.models.protocol import ProtocolVersion
from annotator.core.models.revision import ClaimRevision, ResponseRevision, SentenceRevision
from annotator.core.models.search_entry import SearchEntry
from annotator.core.models.security_event import SecurityEvent
from annotator.core.models.suggestion import (
    CachedAnswer,
    ClaimSuggestion,
    ModelBatch,
    PendingCall,
    PipelineRun,
    PromptVersion,
    RevisionSuggestion,
    RunItem,
    SentenceSuggestion,
    StanceSuggestion,
    StepUse,
    VerdictSuggestion,
)
from annotator.core.models.verdict import EditOperation, RestsOn, Verdict
from annotator.core.models.webhook import Webhook, WebhookDelivery

__all__ = [
    "Activity",
    "Annotation",
    "AppendOnlyError",
    "Batch",
    "BatchChange",
    "BatchChangeRows",
    "Benchmark",
    "CachedAnswer",
    "Claim",
    "ClaimRevision",
    "ClaimSuggestion",
    "Comment",
    "Corpus",
    "CorpusPage",
    "CrowdLink",
    "CrowdWorker",
    "Decision",
    "Document",
    "DocumentChange",
    "DocumentChangeRows",
    "DocumentView",
    "EditOperation",
    "Evidence",
    "Flag",
    "Group",
    "GroupMember",
    "Guidelines",
    "Invitation",
    "Membership",
    "ModelBatch",
    "Notice",
    "PageArchive",
    "PageCheck",
    "PageSnapshot",
    "PendingCall",
    "PipelineRun",
    "PromptVersion",
    "ProtocolVersion",
    "Question",
    "Recheck",
    "ResponseRevision",
    "RestsOn",
    "RevisionSuggestion",
    "RunItem",
    "SearchEntry",
    "SecurityEvent",
    "SentBack",
    "Sentence",
    "SentenceRevision",
    "SentenceSuggestion",
    "SignOff",
    "Stance",
    "StanceSuggestion",
    "StepUse",
    "Tally",
    "User",
    "Verdict",
    "VerdictSuggestion",
    "Webhook",
    "WebhookDelivery",
]
