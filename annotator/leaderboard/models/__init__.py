"""Evaluations."""

from annotator.leaderboard.models.evaluation import Evaluation

__all__ = [
    "Evaluation",
]
