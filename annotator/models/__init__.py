"""The data of Touchstone, one aggregate a file."""

from annotator.models.activity import Activity, AppendOnlyError
from annotator.models.benchmark import Benchmark, Guidelines
from annotator.models.corpus import Corpus, CorpusPage
from annotator.models.decomposition import Claim, Sentence
from annotator.models.document import Annotation, Document, Flag, SentBack
from annotator.models.evidence import Evidence, Stance
from annotator.models.imports import ImportJob
from annotator.models.revision import ClaimRevision, ResponseRevision, SentenceRevision
from annotator.models.suggestion import (
    ClaimSuggestion,
    PipelineRun,
    RunItem,
    SentenceSuggestion,
    StanceSuggestion,
)
from annotator.models.team import Membership, User
from annotator.models.verdict import EditOperation, RestsOn, Verdict

__all__ = [
    "Activity",
    "Annotation",
    "AppendOnlyError",
    "Benchmark",
    "Claim",
    "ClaimRevision",
    "ClaimSuggestion",
    "Corpus",
    "CorpusPage",
    "Document",
    "EditOperation",
    "Evidence",
    "Flag",
    "Guidelines",
    "ImportJob",
    "Membership",
    "PipelineRun",
    "ResponseRevision",
    "RestsOn",
    "RunItem",
    "SentBack",
    "Sentence",
    "SentenceRevision",
    "SentenceSuggestion",
    "Stance",
    "StanceSuggestion",
    "User",
    "Verdict",
]
