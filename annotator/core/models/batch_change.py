"""A change to a large batch that a worker makes in small steps. The row is deleted when the change is complete."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import choice_constraint, choices
from annotator.core.vocabulary import BatchStep


class BatchChange(models.Model):
    """What a worker does to a batch, and its progress."""

    batch = models.OneToOneField("annotator.Batch", models.CASCADE, related_name="change")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    what = models.CharField(max_length=16, choices=choices(BatchStep))
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [choice_constraint("what", BatchStep)]

    def __str__(self) -> str:
        return f"{BatchStep(self.what).label}: {self.done:,} of {self.total:,}"


class BatchChangeRows(models.Model):
    """What is changed. ``keys`` are primary keys: documents to add or release, or open work to withdraw; the first
    ``done`` are finished. ``plan`` holds whatever else the step needs. Separate from the progress, because SQLite
    rewrites the whole row at every step."""

    change = models.OneToOneField(BatchChange, models.CASCADE, related_name="rows")
    keys = models.JSONField(default=list)
    plan = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return f"Rows of {self.change}"
