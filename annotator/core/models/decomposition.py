"""Steps 1 to 3: sentences and claims (Factcheck-Bench section 2)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from annotator.core import labels
from annotator.core.models.base import (
    AskedRecord,
    choice_constraint,
    choices,
    constraints_of,
    label_of,
    origin_field,
    public_id_once,
    where_given,
)
from annotator.core.vocabulary import Removal


class SentenceLabelFields(models.Model):
    """What the pipeline suggests of a sentence and a person decides."""

    decontext = models.TextField(blank=True)
    type = label_of("sentence", "type")
    importance = label_of("sentence", "importance")

    class Meta:
        abstract = True


class ClaimLabelFields(models.Model):
    """What the pipeline suggests of a claim, beside its text, and a person decides. Its type and whether it is worth
    checking are two questions (appendix C.3)."""

    type = label_of("claim", "type")
    worth_checking = models.BooleanField(null=True, blank=True)
    not_worth_reason = label_of("claim", "not_worth_reason")
    importance = label_of("claim", "importance")

    class Meta:
        abstract = True


class Sentence(SentenceLabelFields, AskedRecord):
    """A piece of the response within one annotation. Offsets count code points; null if it is no substring.

    ``suggestion`` is what was shown; ``sources`` are the rows that an adjudicated row was made from.
    ``removed`` keeps merged and undone rows: nothing is deleted.
    """

    annotation = models.ForeignKey("annotator.Annotation", models.CASCADE, related_name="sentences")
    order = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    start = models.PositiveIntegerField(null=True, blank=True)
    end = models.PositiveIntegerField(null=True, blank=True)
    decontext_origin = origin_field()
    type_origin = origin_field()
    importance_origin = origin_field()
    removed = models.CharField(max_length=16, blank=True, default="", choices=choices(Removal))
    suggestion = models.ForeignKey(
        "annotator.SentenceSuggestion", models.SET_NULL, null=True, blank=True, related_name="sentences", db_index=False
    )
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)
    released = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["order", "id"]
        indexes: ClassVar = [where_given("suggestion", name="annotator_sentence_suggestion")]
        constraints: ClassVar = [
            public_id_once(),
            models.CheckConstraint(
                condition=Q(start__isnull=True, end__isnull=True)
                | Q(start__isnull=False, end__isnull=False, start__lte=F("end")),
                name="annotator_sentence_offsets_together",
            ),
            *constraints_of("sentence"),
            choice_constraint("removed", Removal, may_be_blank=True),
        ]

    def __str__(self) -> str:
        return f"{self.order}. {self.text[:60]}"


class Claim(ClaimLabelFields, AskedRecord):
    """One atomic, context-independent statement."""

    sentence = models.ForeignKey(Sentence, models.CASCADE, related_name="claims")
    order = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    text_origin = origin_field()
    type_origin = origin_field()
    worth_checking_origin = origin_field()
    importance_origin = origin_field()
    removed = models.CharField(max_length=16, blank=True, default="", choices=choices(Removal))
    removed_note = models.TextField(blank=True)
    suggestion = models.ForeignKey(
        "annotator.ClaimSuggestion", models.SET_NULL, null=True, blank=True, related_name="claims", db_index=False
    )
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)
    released = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["order", "id"]
        indexes: ClassVar = [where_given("suggestion", name="annotator_claim_suggestion")]
        constraints: ClassVar = [
            public_id_once(),
            *constraints_of("claim"),
            choice_constraint("removed", Removal, may_be_blank=True),
            models.CheckConstraint(
                condition=Q(not_worth_reason="") | Q(worth_checking=False),
                name="annotator_claim_reason_only_if_not_worth",
            ),
        ]

    def __str__(self) -> str:
        return self.text[:80]

    @property
    def is_checked(self) -> bool:
        """Goes to the verify stage: factual, and not marked as not check-worthy."""
        return not self.removed and labels.claim_is_checked(self.type, self.worth_checking)
