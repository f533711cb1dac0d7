"""What annotators do together after both have submitted a stage: decisions, comments, questions, sign-offs.

It all belongs to the adjudicated version (``Annotation`` of kind consolidated), which is open until it is closed.
``key`` names one row of the comparison (see ``annotator.stages.comparison``). It consists of the public ids of the rows
compared, so it is stable as long as both annotations stay as submitted.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotator.core.models.base import LabelField, Record, choice_constraint, new_public_id, public_id_once
from annotator.core.vocabulary import DisagreementReason


class Decision(Record):
    """How one difference was resolved. ``choice`` is the index of the chosen annotation, by seat; null means the new
    ``value``. ``is_final``: an adjudicator decided, so annotators can't change it."""

    annotation = models.ForeignKey("annotator.Annotation", models.CASCADE, related_name="decisions")
    key = models.CharField(max_length=120)
    choice = models.PositiveSmallIntegerField(null=True, blank=True)
    value = models.JSONField(null=True, blank=True)
    reason = LabelField(DisagreementReason)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="decisions")
    is_settled = models.BooleanField(default=True)
    is_final = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["annotation", "key"], name="annotator_decision_once"),
            choice_constraint("reason", DisagreementReason, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.value if self.choice is None else self.choice}"


class Comment(models.Model):
    """One comment on a row; with a blank key, on the whole stage."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    annotation = models.ForeignKey("annotator.Annotation", models.CASCADE, related_name="comments")
    key = models.CharField(max_length=120, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="comments")
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.by}: {self.text[:60]}"


class Question(models.Model):
    """A request to the adjudicator about one row; with a blank key, about the whole stage."""

    annotation = models.ForeignKey("annotator.Annotation", models.CASCADE, related_name="questions")
    key = models.CharField(max_length=120, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="questions")
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="answered_questions"
    )

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["annotation", "key"],
                condition=Q(answered_at__isnull=True),
                name="annotator_question_once_open",
            ),
            models.CheckConstraint(
                condition=Q(answered_at__isnull=True, answered_by__isnull=True)
                | Q(answered_at__isnull=False, answered_by__isnull=False),
                name="annotator_question_answered_together",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.by} asks about {self.key or 'the stage'}"


class SignOff(models.Model):
    """A sign-off on the stage as it is. A later change of a decision removes all sign-offs."""

    annotation = models.ForeignKey("annotator.Annotation", models.CASCADE, related_name="sign_offs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="sign_offs")
    as_third_rater = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["annotation", "by"], name="annotator_signoff_once"),
        ]

    def __str__(self) -> str:
        return f"{self.by} signs {self.annotation}"


class Tally(models.Model):
    """What the independent annotations of one document at one stage have in common, counted when everyone had submitted
    and nobody had seen another's work. Inter-annotator agreement is computed from it. ``people``: keys of people in the
    order of seats. Missing if somebody's work was not independent. ``data``: see
    ``annotator.stages.comparison.tally``."""

    annotation = models.OneToOneField("annotator.Annotation", models.CASCADE, related_name="tally")
    people = models.JSONField(default=list)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"What {len(self.people)} people had in common, {self.annotation}"
