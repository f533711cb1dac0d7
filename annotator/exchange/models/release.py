"""A release: a frozen version of a benchmark's gold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import GroupedBy, ReleaseState, Split


class FrozenReleaseError(RuntimeError):
    """Someone tried to change or delete a release that is ready."""

    def __init__(self) -> None:
        super().__init__("A finished release never changes. Create a new one that corrects it.")


class _Frozen(models.QuerySet[Any]):
    """Refuses to change or delete rows of ready releases. ``to_state`` is the path from a row to its release's
    state."""

    to_state = ""

    def update(self, **values: Any) -> int:
        self._check()
        return super().update(**values)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._check()
        return super().delete()

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's own: no manager deletes everything

    def _check(self) -> None:
        if self.filter(**{self.to_state: ReleaseState.READY}).exists():
            raise FrozenReleaseError


class ReleaseRows(_Frozen):
    to_state = "state"


class ReleaseDocumentRows(_Frozen):
    to_state = "release__state"

    def bulk_create(self, objs: Iterable[Any], *args: Any, **kwargs: Any) -> list[Any]:
        rows = list(objs)
        for release_pk in {row.release_id for row in rows}:
            _check_changes(release_pk)
        return super().bulk_create(rows, *args, **kwargs)


class Release(models.Model):
    """One version of a benchmark's dataset. The requested fields come first, the results below.

    ``authors``: names for the citation, in order. ``mends``: the release whose error this one corrects, which makes
    this one an erratum. ``keeps_splits_of``: documents of that release keep their splits. The shares are percentages.
    ``done`` of ``total``: documents written, counted once for each format. ``seen_at`` is the last heartbeat of the
    worker making it; ``started_at`` tells one attempt from another.

    ``sha256`` is the hash of the file ``MANIFEST.sha256``, which contains the hash of every other file, so it covers
    them all. ``files`` lists them as ``{"path", "size", "sha256"}``. ``splits``: each split's figures, as counted by
    ``annotator.exchange.releases``. ``difference``: what changed since ``since``, the previous release, as
    ``annotator.exchange.releases.differences.Difference`` (null for the first).
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.PROTECT, related_name="releases")
    version = models.CharField(max_length=40)
    title = models.CharField(max_length=200)
    licence = models.CharField(max_length=100)
    authors = models.JSONField(default=list)
    changelog = models.TextField(blank=True)
    mends = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="mended_by")
    seed = models.PositiveIntegerField(default=0)
    share_train = models.PositiveSmallIntegerField()
    share_dev = models.PositiveSmallIntegerField()
    share_test = models.PositiveSmallIntegerField()
    grouped_by = models.CharField(max_length=16, choices=choices(GroupedBy), default=GroupedBy.NOTHING)
    keeps_splits_of = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="split_alike")
    names_people = models.BooleanField(default=False, help_text="People by name; else by pseudonyms.")
    with_pages = models.BooleanField(default=False, help_text="Holds the saved pages of its evidence, as WACZ.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="releases")
    created_at = models.DateTimeField(auto_now_add=True)

    state = models.CharField(max_length=16, choices=choices(ReleaseState), default=ReleaseState.MAKING)
    message = models.TextField(blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    file = models.FileField(upload_to="releases/", blank=True)
    file_sha256 = models.CharField(max_length=64, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    files = models.JSONField(default=list)
    documents_count = models.PositiveIntegerField(default=0)
    splits = models.JSONField(default=dict)
    guidelines = models.JSONField(default=list, help_text="Numbers of the versions that people worked by.")
    since = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="followed_by")
    difference = models.JSONField(null=True, blank=True)

    objects = ReleaseRows.as_manager()

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            # A failed release leaves nothing behind, so its version is free again.
            models.UniqueConstraint(
                fields=["benchmark", "version"],
                condition=~Q(state=ReleaseState.FAILED),
                name="annotator_release_version_once",
            ),
            # One at a time, because each changelog covers all releases before it.
            models.UniqueConstraint(
                fields=["benchmark"], condition=Q(state=ReleaseState.MAKING), name="annotator_release_one_in_the_making"
            ),
            models.CheckConstraint(
                condition=Q(share_test=100 - F("share_train") - F("share_dev")),
                name="annotator_release_shares_make_a_whole",
            ),
            models.CheckConstraint(
                condition=~Q(state=ReleaseState.READY)
                | (~Q(file="") & ~Q(sha256="") & ~Q(file_sha256="") & Q(documents_count__gt=0)),
                name="annotator_release_ready_is_whole",
            ),
            choice_constraint("state", ReleaseState),
            choice_constraint("grouped_by", GroupedBy),
        ]

    def __str__(self) -> str:
        return f"{self.title} {self.version}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None and not self._state.adding:
            _check_changes(self.pk)
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        _check_changes(self.pk)
        return super().delete(*args, **kwargs)

    @property
    def is_ready(self) -> bool:
        return self.state == ReleaseState.READY

    @property
    def is_erratum(self) -> bool:
        return self.mends_id is not None


class ReleaseDocument(models.Model):
    """A document as it is in a release, by its public id, whatever happens to it in the benchmark later.

    ``content`` is the hash of everything released; ``parts`` are its labels and the hashes of its texts, as JSON
    (``annotator.exchange.releases.differences.Fingerprint``), with which the next release is compared.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="documents")
    public_id = models.CharField(max_length=32)
    split = models.CharField(max_length=16, choices=choices(Split))
    group = models.TextField()
    content = models.CharField(max_length=64)
    parts = models.TextField()

    objects = ReleaseDocumentRows.as_manager()

    class Meta:
        ordering: ClassVar = ["release", "public_id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["release", "public_id"], name="annotator_releasedocument_once"),
            choice_constraint("split", Split),
        ]

    def __str__(self) -> str:
        return f"{self.public_id} in {self.release}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        _check_changes(self.release_id)
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        _check_changes(self.release_id)
        return super().delete(*args, **kwargs)


def _check_changes(release_pk: int) -> None:
    if Release.objects.filter(pk=release_pk, state=ReleaseState.READY).exists():
        raise FrozenReleaseError
