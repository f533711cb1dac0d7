"""Suggesters trained on a benchmark’s own gold, and services that owners add."""

from annotator.suggestions.models.learned import TrainedSuggester
from annotator.suggestions.models.service import Service, ServiceUse

__all__ = [
    "Service",
    "ServiceUse",
    "TrainedSuggester",
]
