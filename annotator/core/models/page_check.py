"""Saved pages asked for again: which have changed, vanished or been retracted since evidence was cut from them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotator.core.models.base import choice_constraint, choices, new_public_id, where_given
from annotator.core.models.benchmark import Benchmark
from annotator.core.models.evidence import PageSnapshot
from annotator.core.vocabulary import PageOutcome


class Recheck(models.Model):
    """One look at all saved pages of a benchmark. ``seen_at``: the last sign of life of the worker that is at it; null
    while none is. What is left to do are its checks without an outcome."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="rechecks")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["benchmark"], condition=Q(finished_at__isnull=True), name="annotator_recheck_one_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.benchmark}, pages checked {self.started_at:%Y-%m-%d}"


class PageCheck(models.Model):
    """One saved page in a recheck. ``found``: the page as it is now, where its text has changed."""

    recheck = models.ForeignKey(Recheck, models.CASCADE, related_name="checks", db_index=False)
    snapshot = models.ForeignKey(PageSnapshot, models.CASCADE, related_name="checks")
    outcome = models.CharField(max_length=16, blank=True, default="", choices=choices(PageOutcome))
    reason = models.CharField(max_length=200, blank=True)
    found = models.ForeignKey(
        PageSnapshot, models.SET_NULL, null=True, blank=True, related_name="found_by", db_index=False
    )
    checked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [where_given("found", name="annotator_pagecheck_found")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["recheck", "snapshot"], name="annotator_pagecheck_once"),
            choice_constraint("outcome", PageOutcome, may_be_blank=True),
            models.CheckConstraint(
                condition=Q(outcome="", checked_at__isnull=True) | (~Q(outcome="") & Q(checked_at__isnull=False)),
                name="annotator_pagecheck_outcome_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.snapshot}: {self.outcome or 'not checked yet'}"
