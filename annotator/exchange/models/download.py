"""A download: what it contains, and its progress."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import RunState


class Download(models.Model):
    """One export through the page. ``done`` counts documents, up to ``total``; both count every pass that the format
    makes over the benchmark. ``seen_at`` is the last heartbeat while streaming. Canceled means that the client
    disconnected before the end. ``format`` names several formats with commas between them."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="downloads")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="downloads")
    format = models.CharField(max_length=200)
    include = models.CharField(max_length=16)
    named = models.BooleanField(default=False)
    documents = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.RUNNING)
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [choice_constraint("state", RunState)]

    def __str__(self) -> str:
        return f"{self.format}, {self.include}: {self.state}"
