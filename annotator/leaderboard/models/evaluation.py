"""A fact-checker's predictions scored against a benchmark's gold: one row of the leaderboard."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import OPEN_STATES, RunState, Task


class Evaluation(models.Model):
    """One uploaded file of predictions and its scores.

    ``options`` are those that the task listens to (``annotator.leaderboard.scoring.tasks.Options.said``). ``result``
    is what
    ``manage.py evaluate --json`` gives, null where the file has faults and nothing was scored. ``gold`` names the gold
    that it was scored against: another one means that documents became gold since, or stopped being it.

    A large file is scored by a worker: ``share`` of it is done, from 0 to 1, and ``seen_at`` is the worker's last sign
    of life. ``message`` says why a worker could not score it; what it scored before is still there then.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="evaluations")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="evaluations")
    created_at = models.DateTimeField(auto_now_add=True)
    scored_at = models.DateTimeField()
    task = models.CharField(max_length=40, choices=choices(Task))
    options = models.JSONField(default=dict, blank=True)
    system = models.CharField(max_length=120, help_text="The name of the fact-checker.")
    note = models.TextField(blank=True)
    file = models.FileField(upload_to="predictions/", help_text="The predictions; never served.")
    filename = models.CharField(max_length=255)
    format = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64)
    partial = models.BooleanField(default=False, help_text="Scored although the file has faults: what is right in it.")
    rows = models.PositiveIntegerField(default=0, help_text="Read from the file.")
    scored = models.PositiveIntegerField(default=0, help_text="Items of the gold with a good answer.")
    faults = models.PositiveIntegerField(default=0, help_text="All that is wrong with the file, counted.")
    problems = models.JSONField(default=list, blank=True, help_text="The first of them: [{line, field, reason}].")
    counts = models.JSONField(default=dict, blank=True, help_text="What became of the rows, as the result's “rows”.")
    result = models.JSONField(null=True, blank=True)
    errors = models.FileField(
        upload_to="predictions/", blank=True, help_text="Items that were answered wrongly, one object a line."
    )
    gold = models.CharField(max_length=64, help_text="The fingerprint of the gold that was scored against.")
    hidden = models.BooleanField(default=False, help_text="Not on the leaderboard.")
    state = models.CharField(max_length=16, choices=choices(RunState), default=RunState.FINISHED)
    share = models.FloatField(default=1.0)
    message = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [choice_constraint("task", Task), choice_constraint("state", RunState)]
        indexes: ClassVar = [models.Index(fields=["benchmark", "task"], name="annotator_evaluation_board")]

    def __str__(self) -> str:
        return f"{self.system}, {Task(self.task).label}"

    @property
    def is_open(self) -> bool:
        """It waits for a worker, or one is at it."""
        return self.state in OPEN_STATES

    @property
    def report(self) -> dict[str, Any]:
        """The result; empty if nothing was scored."""
        return self.result or {}
