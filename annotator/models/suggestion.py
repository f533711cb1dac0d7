"""What the machines proposed: runs, their documents, and suggestions, which are shared and never changed."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.models.base import LabelField, choices, new_public_id, one_of
from annotator.vocabulary import (
    ClaimType,
    Importance,
    NotWorthReason,
    RunState,
    SentenceType,
    Stage,
    StanceLabel,
)


class PipelineRun(models.Model):
    """One run of a strategy over documents at a stage. The plan is frozen when the run is made; the rows, not
    the broker, are the truth (ADR 0005)."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="runs")
    stage = models.CharField(max_length=16, choices=choices(Stage))
    strategy = models.CharField(max_length=40)
    plan = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.QUEUED)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [one_of("stage", Stage), one_of("state", RunState)]

    def __str__(self) -> str:
        return f"{self.strategy}, {self.stage}, {self.state}"


class RunItem(models.Model):
    """One document of a run: done once, whatever the broker delivers twice."""

    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="items")
    document = models.ForeignKey("annotator.Document", models.CASCADE, related_name="run_items")
    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [models.Index(fields=["run", "state"], name="annotator_runitem_progress")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "document"], name="annotator_runitem_once"),
            one_of("state", RunState),
        ]

    def __str__(self) -> str:
        return f"{self.document}: {self.state}"


class SentenceSuggestion(models.Model):
    """A sentence as the pipeline split and labelled it."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="sentences")
    document = models.ForeignKey("annotator.Document", models.CASCADE, related_name="sentence_suggestions")
    order = models.PositiveIntegerField()
    text = models.TextField()
    start = models.PositiveIntegerField(null=True, blank=True)
    end = models.PositiveIntegerField(null=True, blank=True)
    decontext = models.TextField(blank=True)
    type = LabelField(SentenceType)
    importance = LabelField(Importance)

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "document", "order"], name="annotator_sentencesuggestion_once"),
            one_of("type", SentenceType, may_be_blank=True),
            one_of("importance", Importance, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class ClaimSuggestion(models.Model):
    """A claim as the pipeline decomposed and labelled it."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    sentence = models.ForeignKey(SentenceSuggestion, models.CASCADE, related_name="claims")
    order = models.PositiveIntegerField()
    text = models.TextField()
    type = LabelField(ClaimType)
    worth_checking = models.BooleanField(null=True, blank=True)
    not_worth_reason = LabelField(NotWorthReason)
    importance = LabelField(Importance)

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sentence", "order"], name="annotator_claimsuggestion_once"),
            one_of("type", ClaimType, may_be_blank=True),
            one_of("not_worth_reason", NotWorthReason, may_be_blank=True),
            one_of("importance", Importance, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class StanceSuggestion(models.Model):
    """A stance as a strategy judged it; a person confirms each one alone."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="stances")
    evidence = models.ForeignKey("annotator.Evidence", models.CASCADE, related_name="stance_suggestions")
    label = LabelField(StanceLabel)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "evidence"], name="annotator_stancesuggestion_once"),
            one_of("label", StanceLabel),
        ]

    def __str__(self) -> str:
        return f"{self.evidence}: {self.label}"
