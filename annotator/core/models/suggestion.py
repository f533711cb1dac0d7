"""What machines proposed: runs, their documents, and suggestions, which are shared and never change."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import choice_constraint, choices, label_of, new_public_id, words_of
from annotator.core.models.decomposition import ClaimLabelFields, SentenceLabelFields
from annotator.core.vocabulary import Factuality, RunState, Stage, StanceLabel


class PipelineRun(models.Model):
    """One run of a strategy over documents at a stage. The plan is frozen when the run is created. The database rows
    are authoritative, not the broker (ADR 0005)."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="runs")
    stage = models.CharField(max_length=16, choices=choices(Stage))
    strategy = models.CharField(max_length=40)
    plan = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.QUEUED)
    halted = models.TextField(blank=True, help_text="Why the run was paused automatically; blank if it was not.")
    halted_details = models.TextField(blank=True, help_text="The same, naming services, for owners; blank if none.")
    budget_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    budget_money = models.FloatField(null=True, blank=True)
    # Includes what pending calls may still cost (``PendingCall``), so one conditional update keeps several workers
    # within the budget. ``annotator.suggestions.queries.costs`` separates the two.
    spent_tokens = models.PositiveBigIntegerField(default=0)
    spent_money = models.FloatField(default=0)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [choice_constraint("stage", Stage), choice_constraint("state", RunState)]

    def __str__(self) -> str:
        return f"{self.strategy}, {self.stage}, {self.state}"


class RunItem(models.Model):
    """One document of a run. It is processed once, even if the broker delivers it twice."""

    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="items")
    document = models.ForeignKey("annotator.Document", models.CASCADE, related_name="run_items")
    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True, help_text="Why it failed. Names no service.")
    error_details = models.TextField(blank=True, help_text="The same, naming services, for owners; blank if none.")
    notes = models.JSONField(default=list, blank=True, help_text="[{step, text}]: what fell back to rules, and why.")
    counts = models.JSONField(default=dict, blank=True, help_text="Quantities of the strategy's cost formula.")
    started_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True, help_text="Last heartbeat of the worker that has it.")
    waits = models.BooleanField(default=False, help_text="Its next answers come with a batch; no worker takes it.")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [models.Index(fields=["run", "state"], name="annotator_runitem_progress")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "document"], name="annotator_runitem_once"),
            choice_constraint("state", RunState),
        ]

    def __str__(self) -> str:
        return f"{self.document}: {self.state}"


class StepUse(models.Model):
    """What one step of one document of a run has used so far. Written as each call ends, so a killed worker loses no
    costs. ``cached`` calls were answered from the store and cost nothing."""

    item = models.ForeignKey(RunItem, models.CASCADE, related_name="uses")
    step = models.CharField(max_length=40)
    chats = models.PositiveIntegerField(default=0)
    searches = models.PositiveIntegerField(default=0)
    pages = models.PositiveIntegerField(default=0)
    rankings = models.PositiveIntegerField(default=0)
    cached = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    answer_tokens = models.PositiveBigIntegerField(default=0)
    money = models.FloatField(default=0)
    seconds = models.FloatField(default=0, help_text="Spent waiting for services.")

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["item", "step"], name="annotator_stepuse_once"),
        ]

    def __str__(self) -> str:
        return f"{self.item}, {self.step}"


class ModelBatch(models.Model):
    """Requests of a run that were handed to the model's service together, to be answered within a day at half the
    price. Written before the service is asked: a batch that was handed over and has no name yet is looked for there."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="model_batches")
    name = models.CharField(max_length=200, blank=True, help_text="The service's own.")
    requests = models.PositiveIntegerField()
    unanswered = models.JSONField(default=list, blank=True, help_text="Keys of requests to be asked one by one.")
    created_at = models.DateTimeField(auto_now_add=True)
    handed_over_at = models.DateTimeField(null=True, blank=True, help_text="When the service was first asked.")
    cancelled_at = models.DateTimeField(null=True, blank=True)
    over_at = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(null=True, blank=True, help_text="No worker looks at it before.")

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.requests} requests of {self.run}"


class PendingCall(models.Model):
    """A call in progress. Its maximum cost is included in the run's ``spent_tokens`` and ``spent_money``. The row is
    deleted when the call ends. If its worker was lost, the row stays, because the service may have charged for the
    call. One row per key: no other process makes the same call at the same time."""

    item = models.ForeignKey(RunItem, models.CASCADE, related_name="pending_calls")
    key = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the request; blank: anybody may repeat it.")
    step = models.CharField(max_length=40)
    kind = models.CharField(max_length=16)
    tokens = models.PositiveBigIntegerField(default=0)
    money = models.FloatField(default=0)
    began_at = models.DateTimeField(auto_now_add=True)
    lost_at = models.DateTimeField(null=True, blank=True, help_text="When its worker was found to be lost.")
    service = models.ForeignKey(
        "annotator.Service",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="pending_calls",
        help_text="The limited service that is called.",
    )
    request = models.JSONField(null=True, blank=True, help_text="{service, request}: waits for a batch, or is in one.")
    batch = models.ForeignKey(ModelBatch, models.CASCADE, null=True, blank=True, related_name="calls")

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["key"],
                condition=models.Q(lost_at__isnull=True) & ~models.Q(key=""),
                name="annotator_pendingcall_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item}, {self.step}, pending"


class CachedAnswer(models.Model):
    """A service's response, stored under the request's content: a repeated run costs nothing and gives the same
    result."""

    key = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the request.")
    kind = models.CharField(max_length=16)
    answer = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.key[:12]}"


class PromptVersion(models.Model):
    """A benchmark's own version of one of the pipeline's prompts. The newest counts; a blank text restores
    Touchstone's."""

    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="prompts")
    name = models.CharField(max_length=80)
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["name", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "name", "number"], name="annotator_promptversion_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, wording {self.number}"


class SentenceSuggestion(SentenceLabelFields):
    """A sentence as the pipeline split and labeled it."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="sentences")
    document = models.ForeignKey("annotator.Document", models.CASCADE, related_name="sentence_suggestions")
    order = models.PositiveIntegerField()
    text = models.TextField()
    start = models.PositiveIntegerField(null=True, blank=True)
    end = models.PositiveIntegerField(null=True, blank=True)
    type_by = models.CharField(max_length=80, blank=True, help_text="Source of the type, if not the run's strategy.")

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "document", "order"], name="annotator_sentencesuggestion_once"),
            *words_of("sentence", suggested=True),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class ClaimSuggestion(ClaimLabelFields):
    """A claim as the pipeline decomposed and labeled it."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    sentence = models.ForeignKey(SentenceSuggestion, models.CASCADE, related_name="claims")
    order = models.PositiveIntegerField()
    text = models.TextField()
    type_by = models.CharField(max_length=80, blank=True, help_text="Source of the type, if not the run's strategy.")
    prejudgement = models.JSONField(
        null=True, blank=True, help_text="{label, confidence, settled}: the model's verdict before any search."
    )

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sentence", "order"], name="annotator_claimsuggestion_once"),
            *words_of("claim", suggested=True),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class StanceSuggestion(models.Model):
    """A stance judged by a strategy. People confirm each one individually."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="stances")
    evidence = models.ForeignKey("annotator.Evidence", models.CASCADE, related_name="stance_suggestions")
    label = label_of("stance", "label")
    reason = models.TextField(blank=True)
    by = models.CharField(max_length=80, blank=True, help_text="Source of the stance, if not the run's strategy.")
    probability = models.FloatField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "evidence"], name="annotator_stancesuggestion_once"),
            choice_constraint("label", StanceLabel),
        ]

    def __str__(self) -> str:
        return f"{self.evidence}: {self.label}"


class VerdictSuggestion(models.Model):
    """A strategy's verdict on a claim. It is shown as a hint and never preselected."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="verdicts")
    claim = models.ForeignKey("annotator.Claim", models.CASCADE, related_name="verdict_suggestions")
    label = models.CharField(max_length=40, help_text="The strategy's own label.")
    factuality = label_of("verdict", "factuality")
    reason = models.TextField(blank=True)
    correction = models.TextField(
        null=True, blank=True, help_text="The corrected claim. Blank means delete it; null means none."
    )
    probability = models.FloatField(null=True, blank=True)
    chain = models.JSONField(
        default=list, blank=True, help_text="[{question, query, answer, evidence}]: evidence by public id, or null."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "claim"], name="annotator_verdictsuggestion_once"),
            choice_constraint("factuality", Factuality, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return f"{self.claim}: {self.label}"


class RevisionSuggestion(models.Model):
    """A response revised by a strategy, with and without knowing the prompt (Factcheck-Bench section 4.4)."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(PipelineRun, models.CASCADE, related_name="revisions")
    document = models.ForeignKey("annotator.Document", models.CASCADE, related_name="revision_suggestions")
    with_prompt = models.TextField(blank=True)
    without_prompt = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "document"], name="annotator_revisionsuggestion_once"),
        ]

    def __str__(self) -> str:
        return f"{self.document}, revised"
