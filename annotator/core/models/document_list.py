"""What people keep of the document list: views they return to, and changes of many documents that a worker makes."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import DocumentStep


class DocumentView(models.Model):
    """A person's named filter, columns and order of a benchmark's documents. ``query`` is the end of the address."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="views")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="document_views", db_index=False)
    name = models.CharField(max_length=80)
    query = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["by", "benchmark", "name"], name="annotator_documentview_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class DocumentChange(models.Model):
    """The same change of many documents, one by one. ``refused`` of them could not be changed; ``problems`` are the
    reasons with how often each: ``[["Already discarded.", 3]]``."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="document_changes")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    what = models.CharField(max_length=16, choices=choices(DocumentStep))
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    problems = models.JSONField(default=list, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [choice_constraint("what", DocumentStep)]

    def __str__(self) -> str:
        return f"{DocumentStep(self.what).label}: {self.done:,} of {self.total:,}"


class DocumentChangeRows(models.Model):
    """Which documents (primary keys; those before ``done`` are over), and what the change needs beside them. Apart from
    the change, since SQLite writes a whole row anew for each step. Deleted when the change is complete."""

    change = models.OneToOneField(DocumentChange, models.CASCADE, related_name="rows")
    keys = models.JSONField(default=list)
    plan = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return f"Documents of {self.change}"
