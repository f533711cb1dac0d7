"""A person's work on an item of a study: the assignment and its answers."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotator.core.models.base import Record, choice_constraint, choices, new_public_id, public_id_once, where_given
from annotator.core.vocabulary import Origin
from annotator.studies.models.study import Study, StudyItem, StudyPart


class StudyAssignment(models.Model):
    """An item assigned to a person in a round. ``arrangement`` lists the primary keys of the candidates in the order in
    which this person sees them."""

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="assignments", db_index=False)
    item = models.ForeignKey(StudyItem, models.CASCADE, related_name="assignments", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="study_assignments")
    round = models.CharField(max_length=40, default="rate")
    position = models.PositiveIntegerField()
    arrangement = models.JSONField(default=list, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["position"]
        indexes: ClassVar = [
            models.Index(
                fields=["study", "person", "position"],
                condition=Q(submitted_at__isnull=True),
                name="annotator_assignment_next",
            ),
        ]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["item", "person", "round"], name="annotator_assignment_once"),
            models.UniqueConstraint(
                fields=["study", "person", "round", "position"], name="annotator_assignment_position_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item}, {self.person}"


class StudyAnswer(Record):
    """One answer: the value of a question on the item (``part`` is null) or on a part. ``value`` is a text, a number, a
    boolean or a list, depending on the question's kind; null means that it isn't answered."""

    assignment = models.ForeignKey(StudyAssignment, models.CASCADE, related_name="answers")
    part = models.ForeignKey(StudyPart, models.CASCADE, null=True, blank=True, related_name="answers", db_index=False)
    question = models.CharField(max_length=40)
    value = models.JSONField(null=True, blank=True)
    origin = models.CharField(max_length=16, blank=True, default="", choices=choices(Origin))
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [where_given("part", name="annotator_studyanswer_part")]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(
                fields=["assignment", "question"],
                condition=Q(part__isnull=True),
                name="annotator_studyanswer_item_once",
            ),
            models.UniqueConstraint(
                fields=["assignment", "part", "question"],
                condition=Q(part__isnull=False),
                name="annotator_studyanswer_part_once",
            ),
            choice_constraint("origin", Origin, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.value}"


class StudyActivity(models.Model):
    """Links an activity to its assignment, for history and undo. The link is here because core doesn't know studies."""

    assignment = models.ForeignKey(StudyAssignment, models.CASCADE, related_name="activities")
    activity = models.OneToOneField("annotator.Activity", models.PROTECT, related_name="study")

    class Meta:
        verbose_name_plural = "study activities"
        ordering: ClassVar = ["activity_id"]

    def __str__(self) -> str:
        return str(self.activity)
