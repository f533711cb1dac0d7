"""A pool of candidates: prompts and responses from which a benchmark's documents are chosen, with the trail of filters
(Factcheck-Bench, sections 3.1 and B.1 to B.4)."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import choice_constraint, choices, new_public_id, public_id_once, where_given
from annotator.core.vocabulary import PoolFilter


class Pool(models.Model):
    """Candidates that were collected together. ``added_at``: when those that are left became documents."""

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="pools", db_index=False)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    added_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["benchmark", "name"], name="annotator_pool_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class PoolStep(models.Model):
    """One filter that was applied: what it was, and how many candidates it met and left."""

    pool = models.ForeignKey(Pool, models.CASCADE, related_name="steps", db_index=False)
    order = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=choices(PoolFilter))
    values = models.JSONField(default=dict, blank=True)
    before = models.PositiveIntegerField()
    after = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["pool", "order"], name="annotator_poolstep_order_once"),
            choice_constraint("kind", PoolFilter),
        ]

    def __str__(self) -> str:
        return PoolFilter(self.kind).label


class PoolCandidate(models.Model):
    """A prompt with its response. ``data``: the file's other fields, such as a reference answer and scores. ``step``
    is the filter that took it out; null means that it is left."""

    pool = models.ForeignKey(Pool, models.CASCADE, related_name="candidates", db_index=False)
    order = models.PositiveIntegerField()
    external_id = models.CharField(max_length=200)
    source = models.CharField(max_length=200, blank=True)
    prompt = models.TextField(blank=True)
    response = models.TextField()
    data = models.JSONField(default=dict, blank=True)
    step = models.ForeignKey(PoolStep, models.CASCADE, null=True, blank=True, related_name="dropped", db_index=False)
    reason = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering: ClassVar = ["order"]
        indexes: ClassVar = [where_given("step", name="annotator_poolcandidate_step")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["pool", "order"], name="annotator_poolcandidate_order_once"),
            models.UniqueConstraint(fields=["pool", "external_id"], name="annotator_poolcandidate_external_once"),
        ]

    def __str__(self) -> str:
        return self.external_id
