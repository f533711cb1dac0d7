"""Tokens with which programs use the API on a person's behalf."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotator.core.models.base import new_public_id


class ApiToken(models.Model):
    """A token of one person. The secret itself isn't stored: ``digest`` is its SHA-256. ``prefix``, the public part of
    the token, identifies the row and is shown in lists.

    ``scopes`` holds values of ``vocabulary.Scope``. If ``benchmark`` is set, no other benchmark exists for the token.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=32, unique=True)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret, in hexadecimal.")
    scopes = models.JSONField()
    benchmark = models.ForeignKey(
        "annotator.Benchmark", models.CASCADE, null=True, blank=True, related_name="api_tokens"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="Exact to a minute.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="annotator_apitoken_expires_after_it_was_made"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def is_over(self, now: dt.datetime) -> bool:
        """Is it expired by then, or revoked?"""
        return self.revoked_at is not None or self.expires_at <= now
