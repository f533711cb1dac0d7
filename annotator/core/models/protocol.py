"""The versions of a benchmark's protocols."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import new_public_id, public_id_once
from annotator.core.protocol import Protocol
from annotator.core.protocol_file import parsed


class ProtocolVersion(models.Model):
    """One version of a protocol. It can be edited until the first person starts; then it is frozen, and a change is a
    new version. ``content`` is the canonical spelling, whose SHA-256 is ``sha256``."""

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="protocols", db_index=False)
    name = models.SlugField(max_length=60, db_index=False)
    number = models.PositiveIntegerField()
    content = models.TextField()
    sha256 = models.CharField(max_length=64)
    frozen_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["name", "-number"]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["benchmark", "name", "number"], name="annotator_protocolversion_once"),
        ]

    def __str__(self) -> str:
        return f"{self.protocol.title}, version {self.number}"

    @property
    def protocol(self) -> Protocol:
        """The declaration."""
        return parsed(self.content)
