"""The data of Touchstone, one aggregate a file."""

from annotator.models.activity import Activity, AppendOnlyError
from annotator.models.batch import Batch
from annotator.models.benchmark import Benchmark, Guidelines
from annotator.models.consolidation import Comment, Decision, Question, SignOff, Tally
from annotator.models.corpus import Corpus, CorpusPage
from annotator.models.decomposition import Claim, Sentence
from annotator.models.document import Annotation, Document, Flag, SentBack
from annotator.models.evidence import Evidence, Stance
from annotator.models.imports import ImportJob
from annotator.models.notice import Notice
from annotator.models.revision import ClaimRevision, ResponseRevision, SentenceRevision
from annotator.models.suggestion import (
    ClaimSuggestion,
    PipelineRun,
    RunItem,
    SentenceSuggestion,
    StanceSuggestion,
)
from annotator.models.team import Group, GroupMember, Invitation, Membership, User
from annotator.models.verdict import EditOperation, RestsOn, Verdict

__all__ = [
    "Activity",
    "Annotation",
    "AppendOnlyError",
    "Batch",
    "Benchmark",
    "Claim",
    "ClaimRevision",
    "ClaimSuggestion",
    "Comment",
    "Corpus",
    "CorpusPage",
    "Decision",
    "Document",
    "EditOperation",
    "Evidence",
    "Flag",
    "Group",
    "GroupMember",
    "Guidelines",
    "ImportJob",
    "Invitation",
    "Membership",
    "Notice",
    "PipelineRun",
    "Question",
    "ResponseRevision",
    "RestsOn",
    "RunItem",
    "SentBack",
    "Sentence",
    "SentenceRevision",
    "SentenceSuggestion",
    "SignOff",
    "Stance",
    "StanceSuggestion",
    "Tally",
    "User",
    "Verdict",
]
