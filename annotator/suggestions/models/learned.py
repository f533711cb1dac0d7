"""Suggesters trained on a benchmark's own gold."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import SuggesterKind


class TrainedSuggester(models.Model):
    """One version of a suggester. It never judges a document it was trained on; those are recorded. ``arrays`` is a
    numpy archive without pickled objects; ``scores`` are cross-validated, grouped by document."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="suggesters")
    kind = models.CharField(max_length=16, choices=choices(SuggesterKind))
    number = models.PositiveIntegerField()
    documents = models.ManyToManyField("annotator.Document", related_name="trained_suggesters", blank=True)
    examples = models.PositiveIntegerField(default=0)
    format = models.PositiveSmallIntegerField(default=1, help_text="Version of features and arrays.")
    arrays = models.BinaryField(default=bytes)
    scores = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["kind", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "kind", "number"], name="annotator_trainedsuggester_once"),
            choice_constraint("kind", SuggesterKind),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, version {self.number}"
