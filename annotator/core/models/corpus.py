"""A local corpus: pages that evidence is retrieved from without any search service."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.base import new_public_id


class Corpus(models.Model):
    """A named collection of pages. ``revision`` grows with each import, so that a built index knows its age."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    revision = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="corpora"
    )

    class Meta:
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.name


class CorpusPage(models.Model):
    """One page: its text as retrieved, its address, its hash."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="pages")
    url = models.TextField()
    title = models.TextField(blank=True)
    site = models.CharField(max_length=255, blank=True)
    published = models.DateField(null=True, blank=True)
    text = models.TextField()
    content_hash = models.CharField(max_length=64)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["corpus", "url", "content_hash"], name="annotator_corpuspage_once"),
        ]

    def __str__(self) -> str:
        return self.title or self.url
