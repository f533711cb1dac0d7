"""Imports, downloads and releases."""

from annotator.exchange.models.download import Download
from annotator.exchange.models.imports import ImportJob
from annotator.exchange.models.pool import Pool, PoolCandidate, PoolStep
from annotator.exchange.models.release import FrozenReleaseError, Release, ReleaseDocument

__all__ = [
    "Download",
    "FrozenReleaseError",
    "ImportJob",
    "Pool",
    "PoolCandidate",
    "PoolStep",
    "Release",
    "ReleaseDocument",
]
