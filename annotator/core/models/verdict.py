"""Steps 6 and 7: the verdict on a claim and the typed edit that corrects it (section 2, appendix C.6 and C.7)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from annotator.core.models.base import (
    AskedRecord,
    choice_constraint,
    choices,
    constraints_of,
    label_of,
    new_public_id,
    origin_field,
    public_id_once,
    where_given,
)
from annotator.core.texts import edits
from annotator.core.vocabulary import EditKind, Origin


class Verdict(AskedRecord):
    """One annotation's decision on one claim of the adjudicated decomposition. ``evidence_sufficient``: can the
    retrieved evidence decide the claim? The operations correct the claim's text; the revised claim is derived."""

    annotation = models.ForeignKey("annotator.Annotation", models.CASCADE, related_name="verdicts", db_index=False)
    claim = models.ForeignKey("annotator.Claim", models.CASCADE, related_name="verdicts")
    evidence_sufficient = models.BooleanField(null=True, blank=True)
    evidence_sufficient_origin = origin_field()
    factuality = label_of("verdict", "factuality")
    factuality_origin = origin_field()
    reason = models.TextField(blank=True)
    confidence = label_of("verdict", "confidence")
    suggestion = models.ForeignKey(
        "annotator.VerdictSuggestion",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="verdicts",
        db_index=False,
        help_text="The source of the correction the edit started from; blank if a person wrote it.",
    )
    rests_on = models.ManyToManyField("annotator.Evidence", through="annotator.RestsOn", related_name="verdicts")
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)

    class Meta:
        indexes: ClassVar = [where_given("suggestion", name="annotator_verdict_suggestion")]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["annotation", "claim"], name="annotator_verdict_once"),
            *constraints_of("verdict"),
        ]

    def __str__(self) -> str:
        return f"{self.claim}: {self.factuality or 'open'}"

    def edit(self) -> list[edits.Operation]:
        """The operations in order, as pure data."""
        return [
            edits.Operation(kind=EditKind(op.kind), start=op.start, end=op.end, replacement=op.replacement)
            for op in self.operations.all()
        ]

    def revised_claim(self) -> str:
        """The claim's text after the edit; "" when it is deleted."""
        return edits.apply(self.claim.text, self.edit())

    @property
    def correction_origin(self) -> str:
        """How an edit came from a strategy's correction: accepted unchanged, edited afterwards, or "" for the person's
        own edit."""
        if self.suggestion is None or not self.operations.all():
            return ""
        same = self.revised_claim() == self.suggestion.correction
        return (Origin.ACCEPTED if same else Origin.EDITED).value


class RestsOn(models.Model):
    """The evidence used for a verdict and its edit, in the order the person chose it."""

    verdict = models.ForeignKey(Verdict, models.CASCADE, related_name="rests", db_index=False)
    evidence = models.ForeignKey("annotator.Evidence", models.CASCADE, related_name="rests")
    order = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["order", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["verdict", "evidence"], name="annotator_restson_once"),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} uses {self.evidence}"


class EditOperation(models.Model):
    """One typed operation on the claim's text, by code point offsets, because X may occur twice."""

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    verdict = models.ForeignKey(Verdict, models.CASCADE, related_name="operations", db_index=False)
    order = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=choices(EditKind))
    start = models.PositiveIntegerField(default=0)
    end = models.PositiveIntegerField(default=0)
    replacement = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["order", "id"]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["verdict", "order"], name="annotator_editoperation_order_once"),
            choice_constraint("kind", EditKind),
            models.CheckConstraint(
                condition=Q(kind=EditKind.REPLACE) | Q(replacement=""),
                name="annotator_editoperation_text_only_if_replace",
            ),
            models.CheckConstraint(
                condition=Q(kind=EditKind.DELETE_CLAIM) | Q(start__lte=F("end")),
                name="annotator_editoperation_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.start}-{self.end}"
