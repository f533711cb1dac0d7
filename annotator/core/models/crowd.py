"""People from crowd platforms: the link that brings them here, and the workers themselves."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.models.people import new_token
from annotator.core.vocabulary import CrowdPlatform


class CrowdLink(models.Model):
    """A link that a crowd platform opens with the worker's id. A worker who agrees to ``consent`` becomes an annotator
    and gets ``completion_code`` after ``documents`` documents. A link never changes, so that it is clear what people
    agreed to; it can only be closed. ``max_workers``: null for any number; ``reward`` is for the payment report."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="crowd_links")
    name = models.CharField(max_length=120)
    platform = models.CharField(max_length=16, choices=choices(CrowdPlatform), default=CrowdPlatform.PROLIFIC)
    consent = models.TextField()
    documents = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    completion_code = models.CharField(max_length=64)
    reward = models.CharField(max_length=60, blank=True)
    max_workers = models.PositiveIntegerField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="crowd_links")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            choice_constraint("platform", CrowdPlatform),
            models.CheckConstraint(condition=models.Q(documents__gte=1), name="annotator_crowdlink_documents"),
        ]

    def __str__(self) -> str:
        return self.name


class CrowdWorker(models.Model):
    """A person who opened a link, as the platform identifies them. ``session_id`` is Prolific's session or MTurk's
    assignment, ``study_id`` Prolific's study or MTurk's HIT, both from the first visit."""

    link = models.ForeignKey(CrowdLink, models.CASCADE, related_name="workers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="crowd_work")
    worker_id = models.CharField(max_length=128)
    study_id = models.CharField(max_length=128, blank=True)
    session_id = models.CharField(max_length=128, blank=True)
    consented_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["link", "worker_id"], name="annotator_crowdworker_once"),
        ]

    def __str__(self) -> str:
        return self.worker_id
