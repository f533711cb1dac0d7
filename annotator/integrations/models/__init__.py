"""Tokens of the API."""

from annotator.integrations.models.token import ApiToken

__all__ = [
    "ApiToken",
]
