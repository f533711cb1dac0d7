"""A benchmark: one annotation campaign, with its protocol and the versions of its guidelines."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import TwoStep


class Benchmark(models.Model):
    """One campaign. Its protocol settings are columns, because the screens read each of them."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    overlap = models.PositiveSmallIntegerField(
        default=1, help_text="How many people annotate each document. With 1, submitting a stage completes it."
    )
    third_rater_at_verify = models.BooleanField(
        default=True,
        help_text="An adjudicator signs off every verify stage (the paper's rule); otherwise only on request.",
    )
    practice_documents = models.PositiveSmallIntegerField(
        default=0, help_text="How many gold documents a new annotator practices on before real work."
    )
    practice_from = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="+",
        help_text="The benchmark whose gold new annotators practice on; blank for its own.",
    )  # fmt: skip
    asks_reliable = models.BooleanField(default=True, help_text="Ask whether each source is reliable.")
    asks_sufficient = models.BooleanField(default=True, help_text="Ask whether each passage is sufficient on its own.")
    strategy = models.CharField(
        max_length=40,
        blank=True,
        default="offline",
        help_text="The strategy that generates suggestions. Blank means none.",
    )
    parameters = models.JSONField(default=dict, blank=True, help_text="Parameters of the strategy for automatic runs.")
    budget_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Token budget of each automatic run."
    )
    budget_money = models.FloatField(
        null=True, blank=True, help_text="Cost budget of each automatic run, in the currency of the prices."
    )
    learns = models.BooleanField(
        default=True, help_text="Suggest stances and types learned from this benchmark's gold, once there is enough."
    )
    two_step = models.CharField(
        max_length=12,
        choices=choices(TwoStep),
        default=TwoStep.NOBODY,
        help_text="Who must sign in with a second step (an authenticator app or a passkey) to see this benchmark.",
    )
    protocol_sha256 = models.CharField(
        max_length=64,
        blank=True,
        default="",
        editable=False,
        help_text="The version of the stages' protocol in use. Blank: the default one, before the first person starts.",
    )
    corpus = models.ForeignKey("annotator.Corpus", models.SET_NULL, null=True, blank=True, related_name="benchmarks")
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when nobody is given work here. Reading and exporting go on."
    )
    deleting_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since when a worker deletes it; nobody finds it any more."
    )

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(overlap__gte=1), name="annotator_benchmark_overlap_positive"),
            choice_constraint("two_step", TwoStep),
        ]

    def __str__(self) -> str:
        return self.name


class Guidelines(models.Model):
    """One version of a benchmark's guidelines, in Markdown. Every change makes a new version."""

    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="guidelines")
    number = models.PositiveIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        verbose_name_plural = "guidelines"
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "number"], name="annotator_guidelines_number_once"),
        ]

    def __str__(self) -> str:
        return f"{self.benchmark}, guidelines {self.number}"
