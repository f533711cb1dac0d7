"""Suggesters trained on a benchmark’s own gold."""

from annotator.suggestions.models.learned import TrainedSuggester

__all__ = [
    "TrainedSuggester",
]
