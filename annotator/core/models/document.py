"""A document and the work done on it: annotations, flags, claims sent back."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import (
    Q,
)

from annotator.core.models.base import LabelField, Record, choice_constraint, choices, public_id_once
from annotator.core.vocabulary import AnnotationKind, AnnotationState, DiscardReason, FlagReason, Phase, Stage


class Document(Record):
    """A (prompt, response) pair. ``stage`` and ``phase`` are derived by ``annotator.core.workflow`` under a row lock.

    ``identity`` is the external id, or a hash of prompt and response where there is none; ``content_hash``
    tells whether the same identity comes again with other content.
    """

    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="documents", db_index=False)
    order = models.PositiveIntegerField(default=0)
    identity = models.CharField(max_length=200)
    external_id = models.CharField(max_length=200, blank=True)
    content_hash = models.CharField(max_length=64)
    prompt = models.TextField(blank=True)
    response = models.TextField()
    source = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=200, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    reference_date = models.DateField(
        null=True,
        blank=True,
        help_text="The reference date: claims are judged as of this day, when the response was given.",
    )
    stage = models.CharField(max_length=16, choices=choices(Stage), default=Stage.DECOMPOSE)
    phase = models.CharField(max_length=16, choices=choices(Phase), default=Phase.INDEPENDENT)
    discard_reason = models.TextField(blank=True)
    discard_code = LabelField(DiscardReason)
    released = models.TextField(blank=True, help_text="Released spellings, see annotator.core.released.")
    batch = models.ForeignKey(
        "annotator.Batch", models.SET_NULL, null=True, blank=True, related_name="documents", db_index=False
    )
    extra_people = models.PositiveSmallIntegerField(
        default=0, help_text="Additional annotators from outside the group (cross-annotation)."
    )
    blind_first = models.BooleanField(
        default=False, help_text="Annotators label first and see the suggestion afterward, to measure its effect."
    )
    # Few documents are twins: the partial indexes below find them, a full one would mostly hold nulls.
    twin_of = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="twins", db_index=False,
        help_text="The gold document that this copies. A copy measures annotator accuracy and is not in the benchmark.",
    )  # fmt: skip
    practice_for = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="practice_documents",
        db_index=False,
        help_text="The new annotator who practices on this copy. A copy without it is a hidden gold item.",
    )  # fmt: skip

    class Meta:
        ordering: ClassVar = ["order", "id"]
        indexes: ClassVar = [
            models.Index(fields=["benchmark", "stage", "phase", "order"], name="annotator_document_queue"),
            models.Index(fields=["batch", "stage", "phase", "order"], name="annotator_document_batch"),
            models.Index(
                fields=["benchmark", "twin_of"], condition=Q(twin_of__isnull=False), name="annotator_document_twins"
            ),
            models.Index(
                fields=["practice_for"], condition=Q(practice_for__isnull=False), name="annotator_document_practice"
            ),
            models.Index(
                fields=["batch", "stage", "phase", "order"],
                condition=Q(extra_people__gt=0),
                name="annotator_document_extra",
            ),
            models.Index(
                fields=["benchmark", "phase", "stage", "batch"],
                condition=Q(twin_of__isnull=True),
                name="annotator_document_standing",
            ),
        ]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["benchmark", "identity"], name="annotator_document_identity_once"),
            choice_constraint("stage", Stage),
            choice_constraint("phase", Phase),
            models.CheckConstraint(
                condition=Q(phase=Phase.DISCARDED) | Q(discard_reason=""),
                name="annotator_document_reason_only_if_discarded",
            ),
            choice_constraint("discard_code", DiscardReason, may_be_blank=True),
            models.CheckConstraint(
                condition=Q(phase=Phase.DISCARDED) | Q(discard_code=""),
                name="annotator_document_code_only_if_discarded",
            ),
            models.CheckConstraint(
                condition=Q(practice_for__isnull=True) | Q(twin_of__isnull=False),
                name="annotator_document_practice_is_twin",
            ),
        ]

    def __str__(self) -> str:
        return self.external_id or f"Document {self.order}"

    @property
    def discarded_because(self) -> str:
        """The coded reason, and the text where there is one."""
        code = "" if self.discard_code in ("", DiscardReason.OTHER) else DiscardReason(self.discard_code).label
        return ": ".join(each for each in (code, self.discard_reason) if each)

    @property
    def is_gold(self) -> bool:
        """Agreed through all three stages."""
        return self.stage == Stage.REVISE and self.phase == Phase.AGREED

    @property
    def people_needed(self) -> int:
        """How many people annotate each stage. A new annotator practices alone."""
        return 1 if self.practice_for_id else self.benchmark.overlap + self.extra_people


class Annotation(Record):
    """One person's work on one document at one stage, or the adjudicated version of that stage.

    Both kinds own full rows (sentences, verdicts, revisions and so on), so that later stages and exports read only the
    adjudicated rows, and a person's own rows stay as they were submitted (ADR 0001). ``independent`` becomes false
    for good when work continues after a stage has been adjudicated. ``only_sent_back`` limits an open annotation to the
    sentences whose claims were sent back. ``seat`` is the person's place on the document at this stage, from 1; the
    database enforces the number of places. Withdrawn work keeps its rows and has no seat.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="annotations", db_index=False)
    stage = models.CharField(max_length=16, choices=choices(Stage))
    kind = models.CharField(max_length=16, choices=choices(AnnotationKind))
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="annotations", db_index=False
    )
    state = models.CharField(max_length=16, choices=choices(AnnotationState), default=AnnotationState.OPEN)
    seat = models.PositiveSmallIntegerField(null=True, blank=True)
    guidelines = models.ForeignKey("annotator.Guidelines", models.SET_NULL, null=True, blank=True)
    independent = models.BooleanField(default=True)
    only_sent_back = models.BooleanField(default=False)
    submitted_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.PositiveIntegerField(default=0)
    too_fast = models.BooleanField(default=False)  # submitted sooner than it can be read
    note = models.TextField(blank=True)  # private: for its person alone, never exported

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["document", "stage"],
                condition=Q(kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.OPEN),
                name="annotator_annotation_unagreed",
            ),
            models.Index(
                fields=["person"],
                condition=Q(kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.OPEN),
                name="annotator_annotation_open_of",
            ),
            # Finds someone's last activity without scanning everyone else's.
            models.Index(
                fields=["person", "id"], condition=Q(person__isnull=False), name="annotator_annotation_own_work"
            ),
        ]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(
                fields=["document", "stage", "person"],
                condition=Q(kind=AnnotationKind.INDIVIDUAL),
                name="annotator_annotation_once_a_person",
            ),
            models.UniqueConstraint(
                fields=["document", "stage"],
                condition=Q(kind=AnnotationKind.CONSOLIDATED),
                name="annotator_annotation_agreed_once",
            ),
            models.CheckConstraint(
                condition=Q(kind=AnnotationKind.INDIVIDUAL, person__isnull=False)
                | Q(kind=AnnotationKind.CONSOLIDATED, person__isnull=True),
                name="annotator_annotation_person_if_individual",
            ),
            models.UniqueConstraint(fields=["document", "stage", "seat"], name="annotator_annotation_seat_once"),
            models.CheckConstraint(
                condition=Q(kind=AnnotationKind.CONSOLIDATED, seat__isnull=True)
                | Q(kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.TAKEN_BACK, seat__isnull=True)
                | (
                    Q(kind=AnnotationKind.INDIVIDUAL, seat__isnull=False, seat__gte=1)
                    & ~Q(state=AnnotationState.TAKEN_BACK)
                ),
                name="annotator_annotation_seat_if_at_work",
            ),
            models.CheckConstraint(
                condition=(Q(state=AnnotationState.SUBMITTED, submitted_at__isnull=False))
                | (~Q(state=AnnotationState.SUBMITTED) & Q(submitted_at__isnull=True)),
                name="annotator_annotation_submitted_at",
            ),
            choice_constraint("stage", Stage),
            choice_constraint("kind", AnnotationKind),
            choice_constraint("state", AnnotationState),
        ]

    def __str__(self) -> str:
        return f"{self.document}, {self.stage}, {self.person or 'adjudicated'}"

    @property
    def is_open(self) -> bool:
        return self.state == AnnotationState.OPEN


class Flag(models.Model):
    """A document that an annotator flagged. It leaves their queue until an admin clears the flag."""

    document = models.ForeignKey(Document, models.CASCADE, related_name="flags")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=32, choices=choices(FlagReason))
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    cleared_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["document", "by"],
                condition=Q(cleared_at__isnull=True),
                name="annotator_flag_once_open",
            ),
            choice_constraint("reason", FlagReason),
        ]

    def __str__(self) -> str:
        return f"{self.document}: {FlagReason(self.reason).label}"


class SentBack(models.Model):
    """A claim sent back from verify to decompose, with the reason; resolved when decompose has been adjudicated
    again."""

    document = models.ForeignKey(Document, models.CASCADE, related_name="sent_back")
    claim = models.ForeignKey("annotator.Claim", models.CASCADE, related_name="sent_back")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="sent_back")
    reason = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["claim"], condition=Q(settled_at__isnull=True), name="annotator_sentback_once_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.claim}: {self.reason}"


# Texts can be long (whole books); lists need their first words alone.
LONG_TEXTS = ("response", "prompt", "metadata", "released", "discard_reason")
