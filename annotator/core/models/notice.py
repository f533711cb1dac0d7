"""What a person is told: work assigned, partner finished, question asked, work returned."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import NoticeKind, Stage


class Notice(models.Model):
    """One line in a person's list. ``text`` is the whole sentence; document and stage are where it leads."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    to = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=24, choices=choices(NoticeKind))
    text = models.TextField()
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, null=True, blank=True, related_name="notices")
    document = models.ForeignKey("annotator.Document", models.CASCADE, null=True, blank=True, related_name="notices")
    stage = models.CharField(max_length=16, blank=True, default="", choices=choices(Stage))
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["to", "-id"], condition=Q(read_at__isnull=True), name="annotator_notice_unread"),
            models.Index(fields=["to", "-id"], name="annotator_notice_list"),
        ]
        constraints: ClassVar = [
            choice_constraint("kind", NoticeKind),
            choice_constraint("stage", Stage, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return self.text[:80]
