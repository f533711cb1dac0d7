"""Makes a release in the background: the files, their hashes, the archive.

The row is authoritative (ADR 0005). Files are written to a temporary folder until all are complete; then the archive is
moved into place and the release marked ready, in one transaction. If its worker is killed, a release starts over, and
nothing of the first attempt remains.
"""

from __future__ import annotations

import datetime as dt
import logging
import shutil
import tempfile
import time
from pathlib import Path

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotator.core.actions.announce import announce
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import Action
from annotator.core.vocabulary import GroupedBy, ReleaseState, WebhookEvent
from annotator.exchange.actions.releases import ReleaseRequest, splits_of
from annotator.exchange.exports import release_files
from annotator.exchange.exports.catalogue import Reading
from annotator.exchange.exports.release_files import Contents, GoldChangedError
from annotator.exchange.models import Release, ReleaseDocument
from annotator.exchange.queries.releases import (
    difference_to,
    figures_of,
    gold_rows,
    guidelines_of_gold,
    ready_releases,
    stamp_of_gold,
)
from annotator.exchange.releases.differences import Fingerprint
from annotator.exchange.releases.splits import Shares, groups_of

logger = logging.getLogger(__name__)

FOLDER = "releases"
# A worker writes a heartbeat about once a second while it reads documents. Counting over all of them in between
# (agreement, hashes) takes seconds, up to a minute on a busy machine. After this long, the worker is lost.
LOST_AFTER = dt.timedelta(minutes=3)
SIGN_EVERY = 1.0  # seconds
# After this many changes of the gold during reading, making the release fails.
ATTEMPTS = 3
ROWS_AT_ONCE = 500


class ReleaseCancelledError(Exception):
    """The release was canceled, or another worker claimed it."""


def make_release(release_pk: int) -> None:
    """Make a waiting release. Errors are stored with it, for the person who requested it."""
    release = _claim(release_pk)
    if release is None:
        return
    _sweep(release)
    folder = Path(tempfile.mkdtemp(prefix=_prefix(release), dir=_root()))
    try:
        _make(release, folder)
    except ReleaseCancelledError:
        pass
    except BadValueError as error:
        _fail(release, str(error))
    except GoldChangedError:
        _fail(release, "The gold kept changing while it was read. Wait until no one is adjudicating, then try again.")
    except OSError as error:
        logger.exception("Release %s could not be written", release.public_id)
        _fail(release, f"The files could not be written: {error.strerror or error}. Nothing was saved.")
    except Exception:
        logger.exception("Release %s failed", release.public_id)
        _fail(release, "An unexpected error stopped the release; the details are in the server’s log.")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _claim(release_pk: int) -> Release | None:
    """Claim a release for this worker with one conditional update; None if it is finished or another worker has it."""
    now = timezone.now()
    free = Q(started_at__isnull=True) | Q(seen_at__lt=now - LOST_AFTER)
    taken = Release.objects.filter(free, pk=release_pk, state=ReleaseState.MAKING).update(
        started_at=now, seen_at=now, done=0, total=0
    )
    if not taken:
        return None
    rows = Release.objects.select_related("benchmark", "by", "mends", "keeps_splits_of")
    release: Release = rows.get(pk=release_pk)
    return release


class _ReleaseProgress:
    """Counts documents and writes a heartbeat about once a second. Raises CancelledError if it was canceled."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.done = 0
        self.last = 0.0

    def document(self) -> None:
        self.done += 1
        self.alive()

    def alive(self) -> None:
        if time.monotonic() - self.last >= SIGN_EVERY:
            self.write(done=self.done)

    def write(self, **values: int) -> None:
        self.last = time.monotonic()
        if not _own(self.release).update(seen_at=timezone.now(), **values):
            raise ReleaseCancelledError


def _make(release: Release, folder: Path) -> None:
    progress = _ReleaseProgress(release)
    for _ in range(ATTEMPTS):
        before = stamp_of_gold(release.benchmark)
        shutil.rmtree(folder)
        content = folder / "content"
        content.mkdir(parents=True)
        try:
            fingerprints, groups = _write(release, content, progress)
        except GoldChangedError:
            continue
        if stamp_of_gold(release.benchmark) == before:
            break
    else:
        raise GoldChangedError
    release.files = release_files.write_manifest(content)
    release.sha256 = release.files[-1]["sha256"]
    archive = folder / "archive.zip"
    with archive.open("wb") as out:
        for piece in release_files.pack(content, f"{release.benchmark.slug}-{release.version}"):
            out.write(piece)
            progress.alive()
    release.size, release.file_sha256 = archive.stat().st_size, release_files.hash_of(archive)
    _finish(release, archive, fingerprints, groups)


def _write(release: Release, folder: Path, progress: _ReleaseProgress) -> tuple[dict[str, Fingerprint], dict[str, str]]:
    """Write every file except the manifest, and store the figures. Returns each document's content hash and its
    group."""
    benchmark = release.benchmark
    groups = groups_of(gold_rows(benchmark), GroupedBy(release.grouped_by))
    splits = splits_of(groups, wish_of(release))
    progress.done = 0
    formats = release_files.formats()
    progress.write(done=0, total=len(splits) * (1 + len(formats)))
    earlier = list(ready_releases(benchmark).filter(pk__lt=release.pk))
    release.guidelines = guidelines_of_gold(benchmark)
    contents = Contents(
        release=release,
        reading=Reading(benchmark, named=release.names_people, on_document=progress.document),
        splits=splits,
        groups=groups,
        earlier=earlier,
    )
    fingerprints = release_files.write_splits(folder, contents)
    release.documents_count = len(fingerprints)
    release.splits = {split.value: each.as_json() for split, each in figures_of(benchmark, splits).items()}
    release.since = earlier[0] if earlier else None
    release.difference = difference_to(earlier[0], fingerprints).as_json() if earlier else None
    for write in formats:
        write(folder, contents)
        progress.alive()
    release_files.write_soft_labels(folder, contents)
    progress.alive()
    if release.with_pages:
        release_files.write_pages(folder, contents, progress.alive)
    release_files.write_texts(folder, contents)
    return fingerprints, groups


def wish_of(release: Release) -> ReleaseRequest:
    """What was requested for a release."""
    return ReleaseRequest(
        version=release.version,
        title=release.title,
        licence=release.licence,
        authors=release.authors,
        shares=Shares(release.share_train, release.share_dev, release.share_test),
        changelog=release.changelog,
        is_erratum=release.is_erratum,
        mends=release.mends,
        seed=release.seed,
        grouped_by=GroupedBy(release.grouped_by),
        keeps_splits_of=release.keeps_splits_of,
        names_people=release.names_people,
        with_pages=release.with_pages,
    )


def _finish(release: Release, archive: Path, fingerprints: dict[str, Fingerprint], groups: dict[str, str]) -> None:
    """Move the archive into place and freeze the release, all or nothing."""
    name = f"{FOLDER}/{release.public_id}.zip"
    with transaction.atomic():
        if _own(release).select_for_update().first() is None:
            raise ReleaseCancelledError
        rows = (
            ReleaseDocument(
                release=release,
                public_id=public_id,
                split=each.split,
                group=groups[public_id],
                content=each.content,
                parts=each.parts,
            )
            for public_id, each in sorted(fingerprints.items())
        )
        ReleaseDocument.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)
        archive.replace(default_storage.path(name))
        _own(release).update(
            state=ReleaseState.READY,
            message="",
            file=name,
            file_sha256=release.file_sha256,
            size=release.size,
            sha256=release.sha256,
            files=release.files,
            documents_count=release.documents_count,
            splits=release.splits,
            guidelines=release.guidelines,
            since=release.since,
            difference=release.difference,
            finished_at=timezone.now(),
        )
        reason = f"version {release.version}, {release.documents_count:,} documents, {release.sha256}"
        Action(name="release-ready", by=release.by, benchmark=release.benchmark, reason=reason).write()
        about: dict[str, str | int] = {
            "release": release.public_id,
            "version": release.version,
            "sha256": release.sha256,
            "documents": release.documents_count,
        }
        announce(release.benchmark, WebhookEvent.RELEASE_READY, about)


def _own(release: Release) -> QuerySet[Release]:
    """The row, as long as it belongs to this attempt."""
    return Release.objects.filter(pk=release.pk, state=ReleaseState.MAKING, started_at=release.started_at)


def _fail(release: Release, message: str) -> None:
    _own(release).update(state=ReleaseState.FAILED, message=message, finished_at=timezone.now())


def _root() -> Path:
    root = Path(default_storage.path(FOLDER))
    root.mkdir(parents=True, exist_ok=True)
    return root


def _prefix(release: Release) -> str:
    return f"making-{release.public_id}-"


def _sweep(release: Release) -> None:
    """Remove what a killed worker left of this release."""
    for folder in _root().glob(f"{_prefix(release)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def resume_releases(*, alone: bool = False) -> tuple[list[int], list[int]]:
    """Unfinished releases: those to start or restart, and those that another worker may still have.

    ``alone``: there is no other worker, so whatever was being made was lost with the last one.
    """
    open_rows = Release.objects.filter(state=ReleaseState.MAKING)
    if alone:
        open_rows.update(started_at=None, seen_at=None)
    silent = timezone.now() - LOST_AFTER
    rows = list(open_rows.values_list("pk", "seen_at"))
    begin = [pk for pk, seen in rows if seen is None or seen < silent]
    return begin, [pk for pk, _ in rows if pk not in begin]
