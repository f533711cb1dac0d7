"""The audit log: one append-only row per action. History, undo and conflict checks read it (ADR 0002)."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import new_public_id


class AppendOnlyError(RuntimeError):
    """Someone tried to change or delete an activity row."""


class Activity(models.Model):
    """Who did what and when, the values before and after, and the active seconds.

    ``changes`` is a list of ``{"record": "claim:ab12", "field": "text", "version": 3, "before": …, "after": …}``;
    ``version`` is the record's version after the change. ``undoes`` names the activity that this one takes back.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="activities")
    action = models.CharField(max_length=40)
    benchmark = models.ForeignKey(
        "annotator.Benchmark", models.SET_NULL, null=True, blank=True, related_name="activities"
    )
    document = models.ForeignKey(
        "annotator.Document", models.SET_NULL, null=True, blank=True, related_name="activities"
    )
    annotation = models.ForeignKey(
        "annotator.Annotation", models.SET_NULL, null=True, blank=True, related_name="activities"
    )
    changes = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    active_seconds = models.PositiveIntegerField(default=0)
    undoes = models.OneToOneField("self", models.PROTECT, null=True, blank=True, related_name="undone_by")

    class Meta:
        verbose_name_plural = "activities"
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["document", "-id"], name="annotator_activity_document"),
            models.Index(fields=["annotation", "by", "-id"], name="annotator_activity_undo"),
            models.Index(fields=["benchmark", "by", "-id"], name="annotator_activity_last_seen"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.by or 'Touchstone'}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None and not self._state.adding:
            raise AppendOnlyError("Activity rows are never changed: write a new one.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnlyError("Activity rows are never deleted.")
