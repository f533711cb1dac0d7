"""Step 8: the revised claim without enough evidence, the revised sentence, the revised response
(section 2, appendix C.7)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from annotator.core.models.base import AskedRecord, choices, constraints_of, origin_field, public_id_once
from annotator.core.vocabulary import Handling


class ClaimRevision(AskedRecord):
    """What one annotation does with a claim without enough evidence. No row means it is kept."""

    annotation = models.ForeignKey(
        "annotator.Annotation", models.CASCADE, related_name="claim_revisions", db_index=False
    )
    claim = models.ForeignKey("annotator.Claim", models.CASCADE, related_name="revisions")
    handling = models.CharField(max_length=16, choices=choices(Handling), default=Handling.KEEP)
    text = models.TextField(blank=True)
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)

    class Meta:
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["annotation", "claim"], name="annotator_claimrevision_once"),
            *constraints_of("claim-revision"),
        ]

    def __str__(self) -> str:
        return f"{self.claim}: {self.handling}"


class SentenceRevision(AskedRecord):
    """The revised sentence of one annotation. A deleted sentence keeps its text so that it can be restored."""

    annotation = models.ForeignKey(
        "annotator.Annotation", models.CASCADE, related_name="sentence_revisions", db_index=False
    )
    sentence = models.ForeignKey("annotator.Sentence", models.CASCADE, related_name="revisions")
    text = models.TextField(blank=True)
    text_origin = origin_field()
    deleted = models.BooleanField(default=False)
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)

    class Meta:
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["annotation", "sentence"], name="annotator_sentencerevision_once"),
            *constraints_of("sentence-revision"),
        ]

    def __str__(self) -> str:
        return f"{self.sentence} -> {self.text[:60]}"


class ResponseRevision(AskedRecord):
    """The revised response of one annotation. Until someone edits it, it follows the merged statements."""

    annotation = models.OneToOneField("annotator.Annotation", models.CASCADE, related_name="response_revision")
    text = models.TextField(blank=True)
    text_origin = origin_field()
    follows_statements = models.BooleanField(default=True)
    suggestion = models.ForeignKey(
        "annotator.RevisionSuggestion",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="responses",
        help_text="The original text, if a strategy's response was accepted.",
    )
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)

    class Meta:
        constraints: ClassVar = [public_id_once(), *constraints_of("response-revision")]

    def __str__(self) -> str:
        return self.text[:60]
