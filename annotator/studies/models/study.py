"""A study: its items with their parts, and its raters."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotator.core.models.base import choice_constraint, choices, new_public_id, public_id_once, where_given
from annotator.core.models.protocol import ProtocolVersion
from annotator.core.vocabulary import Labelled


class Dropped(Labelled):
    """Why an item isn't assigned to anyone."""

    IDENTICAL = "identical", "Identical candidates"


class Study(models.Model):
    """Work beside the stages. ``seed`` decides who gets which items and the order of candidates."""

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="studies", db_index=False)
    name = models.CharField(max_length=120)
    version = models.ForeignKey(ProtocolVersion, models.PROTECT, related_name="studies")
    seed = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        verbose_name_plural = "studies"
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["benchmark", "name"], name="annotator_study_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class StudyItem(models.Model):
    """What is compared or judged: a text with its parts. ``data`` keeps the file's other fields."""

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="items", db_index=False)
    order = models.PositiveIntegerField()
    external_id = models.CharField(max_length=200)
    stratum = models.CharField(max_length=120, blank=True)
    prompt = models.TextField(blank=True)
    text = models.TextField(blank=True)
    data = models.JSONField(default=dict, blank=True)
    dropped = models.CharField(max_length=16, blank=True, default="", choices=choices(Dropped))

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["study", "order"], name="annotator_studyitem_order_once"),
            models.UniqueConstraint(fields=["study", "external_id"], name="annotator_studyitem_external_once"),
            choice_constraint("dropped", Dropped, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return self.external_id


class StudyPart(models.Model):
    """A record below an item: a candidate, a claim, a passage. ``source`` says whose candidate it is, which raters
    don't see. A part with an ``assignment`` was added by that person; nobody else sees it until all have submitted."""

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    item = models.ForeignKey(StudyItem, models.CASCADE, related_name="parts", db_index=False)
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="parts", db_index=False)
    assignment = models.ForeignKey(
        "annotator.StudyAssignment", models.CASCADE, null=True, blank=True, related_name="added", db_index=False
    )
    kind = models.CharField(max_length=40)
    order = models.FloatField(help_text="Between two others for a part added in place.")
    source = models.CharField(max_length=200, blank=True)
    text = models.TextField(blank=True)
    data = models.JSONField(default=dict, blank=True)
    removed = models.BooleanField(default=False)

    class Meta:
        ordering: ClassVar = ["order", "id"]
        indexes: ClassVar = [
            models.Index(fields=["item", "order"], name="annotator_studypart_order"),
            where_given("parent", name="annotator_studypart_parent"),
            where_given("assignment", name="annotator_studypart_added"),
        ]
        constraints: ClassVar = [
            public_id_once(),
            models.CheckConstraint(
                condition=Q(removed=False) | Q(assignment__isnull=False), name="annotator_studypart_removes_own"
            ),
        ]

    def __str__(self) -> str:
        return self.text[:80]

    @property
    def lines(self) -> list[str]:
        """The claims of a candidate that is a list; empty for a text."""
        found: Any = self.data.get("lines")
        return list(found) if isinstance(found, list) else []


class StudyRater(models.Model):
    """A rater of a study. ``number`` counts from 1 in the order in which raters were chosen."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="raters", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="study_seats")
    number = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "person"], name="annotator_studyrater_once"),
            models.UniqueConstraint(fields=["study", "number"], name="annotator_studyrater_number_once"),
        ]

    def __str__(self) -> str:
        return str(self.person)
