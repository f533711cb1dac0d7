"""Steps 4 and 5: evidence and its stance (Factcheck-Bench section 2, appendix C.4 and C.5)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from annotator.core.models.base import (
    AskedRecord,
    Record,
    choice_constraint,
    choices,
    constraints_of,
    label_of,
    new_public_id,
    origin_field,
    public_id_once,
    where_given,
)
from annotator.core.vocabulary import Removal


class PageSnapshot(models.Model):
    """The readable text of a page as it was fetched; kept as long as some evidence comes from it."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    url = models.TextField()
    title = models.TextField(blank=True)
    site = models.CharField(max_length=255, blank=True)
    published = models.DateField(null=True, blank=True)
    text = models.TextField()
    content_hash = models.CharField(max_length=64, help_text="SHA-256 of the text.")
    retrieved_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["url", "content_hash"], name="annotator_pagesnapshot_once"),
        ]

    def __str__(self) -> str:
        return self.title or self.url


class PageArchive(models.Model):
    """A page as it came, beside its text: the server's answer as a compressed WARC record. In a table of its own, since
    it is large and seldom read. Texts of a corpus have none, nor have pages that were fetched by version 0.2.0."""

    snapshot = models.OneToOneField(PageSnapshot, models.CASCADE, related_name="archive")
    record = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.snapshot}, archived"


class Evidence(Record):
    """A passage for an adjudicated claim. Without an annotation it was retrieved and is shared by everyone; with one it
    was added by that person (or, in the adjudicated version, adopted from a person). The text is not a key: the same
    passage may occur twice."""

    claim = models.ForeignKey("annotator.Claim", models.CASCADE, related_name="evidence")
    annotation = models.ForeignKey(
        "annotator.Annotation", models.CASCADE, null=True, blank=True, related_name="added_evidence", db_index=False
    )
    run = models.ForeignKey("annotator.PipelineRun", models.SET_NULL, null=True, blank=True, db_index=False)
    order = models.PositiveIntegerField()
    passage = models.TextField(blank=True)
    url = models.TextField(blank=True)
    title = models.TextField(blank=True)
    site = models.CharField(max_length=255, blank=True)
    published = models.DateField(null=True, blank=True)
    query = models.TextField(blank=True)
    retrieved_at = models.DateTimeField(null=True, blank=True)
    content_hash = models.CharField(max_length=64, blank=True)
    score = models.FloatField(null=True, blank=True)
    snapshot = models.ForeignKey(
        PageSnapshot, models.PROTECT, null=True, blank=True, related_name="evidence", db_index=False
    )
    page_problem = models.CharField(
        max_length=200, blank=True, help_text="Why the page that an annotator added could not be saved."
    )
    removed = models.CharField(max_length=16, blank=True, default="", choices=choices(Removal))
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)
    released = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "evidence"
        ordering: ClassVar = ["order", "id"]
        indexes: ClassVar = [
            where_given("annotation", name="annotator_evidence_added"),
            where_given("run", name="annotator_evidence_run"),
            where_given("snapshot", name="annotator_evidence_snapshot"),
        ]
        constraints: ClassVar = [public_id_once(), choice_constraint("removed", Removal, may_be_blank=True)]

    def __str__(self) -> str:
        return self.title or self.url or self.passage[:60]


class Stance(AskedRecord):
    """One annotation's stance on one passage. ``reliable`` and ``sufficient`` are asked if the protocol says so and are
    never required (null: not answered), like the rationale."""

    annotation = models.ForeignKey("annotator.Annotation", models.CASCADE, related_name="stances", db_index=False)
    evidence = models.ForeignKey(Evidence, models.CASCADE, related_name="stances")
    label = label_of("stance", "label")
    label_origin = origin_field()
    reliable = models.BooleanField(null=True, blank=True)
    sufficient = models.BooleanField(null=True, blank=True)
    rationale = models.JSONField(
        default=list, blank=True, help_text="Words of the passage that decide: [start, end] in code points."
    )
    in_view_at = models.DateTimeField(null=True, blank=True, editable=False)  # when its person first had it in view
    suggestion = models.ForeignKey(
        "annotator.StanceSuggestion", models.SET_NULL, null=True, blank=True, related_name="stances", db_index=False
    )
    sources = models.ManyToManyField("self", symmetrical=False, related_name="agreed_rows", blank=True)

    class Meta:
        indexes: ClassVar = [where_given("suggestion", name="annotator_stance_suggestion")]
        constraints: ClassVar = [
            public_id_once(),
            models.UniqueConstraint(fields=["annotation", "evidence"], name="annotator_stance_once"),
            *constraints_of("stance"),
        ]

    def __str__(self) -> str:
        return f"{self.evidence}: {self.label}"
