"""A batch: documents that one group is responsible for."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import new_public_id


class Batch(models.Model):
    """Documents of a benchmark assigned to a group. Without a group, everyone can label them.

    ``cut`` records how the documents were chosen (number, source, seed, filter, shares), so that the choice can be
    explained and repeated. The result of the shares is stored on each document: ``extra_people``, ``blind_first``.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="batches")
    name = models.CharField(max_length=120)
    group = models.ForeignKey("annotator.Group", models.SET_NULL, null=True, blank=True, related_name="batches")
    cut = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "batches"
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "name"], name="annotator_batch_name_once"),
        ]

    def __str__(self) -> str:
        return self.name
