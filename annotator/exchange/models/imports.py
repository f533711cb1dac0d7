"""An import of a file through the page: run by the worker, with its progress and problems."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import RunState


class ImportJob(models.Model):
    """One uploaded file. ``problems`` lists the first bad rows as ``{"line": …, "field": …, "reason": …}``.

    ``bad_rows`` holds all bad rows as they stand in the file, if it is read line by line. ``mapping`` names fields'
    columns that have other names. ``share`` is the share of the file that is done, from 0 to 1. ``seen_at`` is the last
    heartbeat of its worker.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="imports")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="imports")
    file = models.FileField(upload_to="imports/")
    filename = models.CharField(max_length=255)
    format = models.CharField(max_length=40)
    mapping = models.JSONField(default=dict, blank=True)
    strict = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.QUEUED)
    read = models.PositiveIntegerField(default=0)
    imported = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    bad = models.PositiveIntegerField(default=0)
    problems = models.JSONField(default=list)
    bad_rows = models.FileField(upload_to="imports/", blank=True)
    share = models.FloatField(default=0.0)
    message = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [choice_constraint("state", RunState)]

    def __str__(self) -> str:
        return f"{self.filename}: {self.state}"
