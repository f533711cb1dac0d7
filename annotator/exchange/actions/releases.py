"""Releases: requested by owners or admins, downloaded by people who may read gold, and immutable once ready.

``annotator.exchange.actions.making_releases`` makes them in the background.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User
from annotator.core.vocabulary import GroupedBy, ReleaseState, Split
from annotator.exchange.exports import release_files
from annotator.exchange.models import Release
from annotator.exchange.queries.releases import gold_rows, kept_splits
from annotator.exchange.releases.splits import Shares, SplitError, groups_of, split_documents

MAKE_RELEASE = "annotator.make_release"
VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,3}(-[a-z0-9.]+)?")
MAX_SEED = 2**31 - 1


class ReleaseDamagedError(Exception):
    """The file of a release is missing or has changed. The message is for people."""


# --- asking for one -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A request for a release. ``mends``: the release whose error it corrects; an erratum (``is_erratum``) must name it
    and describe the error in ``changelog``. ``authors``: "Family, Given", or one name for a whole group."""

    version: str
    title: str
    licence: str
    authors: Sequence[str]
    shares: Shares
    changelog: str = ""
    is_erratum: bool = False
    mends: Release | None = None
    seed: int = 0
    grouped_by: GroupedBy = GroupedBy.NOTHING
    keeps_splits_of: Release | None = None
    names_people: bool = False
    with_pages: bool = False


def start_release(*, benchmark: Benchmark, wish: ReleaseRequest, by: User | None, here: bool = False) -> Release:
    """Record a request for a release, and enqueue it on commit. ``here``: the caller makes it itself.

    ``by=None`` is the command line. Raises NotAllowedError by the rules; BadValueError for an invalid or existing
    version, blank fields, an erratum that names no release, splits that can't be drawn, no gold, or a release in
    progress.
    """
    wish = _checked(wish)
    try:
        with transaction.atomic():
            if by is not None:
                rules.check_manage(by, benchmark)
            lock_benchmark(benchmark.pk)
            _check_place(benchmark, wish)
            draw_splits(benchmark, wish)
            release = Release.objects.create(
                benchmark=benchmark,
                version=wish.version,
                title=wish.title,
                licence=wish.licence,
                authors=list(wish.authors),
                changelog=wish.changelog,
                mends=wish.mends,
                seed=wish.seed,
                share_train=wish.shares.train,
                share_dev=wish.shares.dev,
                share_test=wish.shares.test,
                grouped_by=wish.grouped_by,
                keeps_splits_of=wish.keeps_splits_of,
                names_people=wish.names_people,
                with_pages=wish.with_pages,
                by=by,
            )
            Action(name="start-release", by=by, benchmark=benchmark, reason=f"version {wish.version}").write()
            if not here:
                after_commit(MAKE_RELEASE, release.pk)
    except IntegrityError:  # the constraints apply where no lock is held
        raise BadValueError("Someone else just started a release. Check that release before you start yours.") from None
    return release


def draw_splits(benchmark: Benchmark, wish: ReleaseRequest) -> dict[str, Split]:
    """The split of each current gold document. Raises BadValueError if the splits can't be drawn."""
    return splits_of(groups_of(gold_rows(benchmark), wish.grouped_by), wish)


def splits_of(groups: Mapping[str, str], wish: ReleaseRequest) -> dict[str, Split]:
    """Like ``draw_splits``, for documents with known groups."""
    kept = kept_splits(wish.keeps_splits_of) if wish.keeps_splits_of else {}
    if not groups:
        raise BadValueError(
            "There is no gold yet, so there is nothing to release. A document becomes gold when all three stages "
            "(decompose, verify and revise) are complete."
        )
    try:
        return split_documents(groups, wish.shares, seed=wish.seed, kept=kept)
    except SplitError as error:
        raise BadValueError(str(error)) from None


def _checked(wish: ReleaseRequest) -> ReleaseRequest:
    """The request with cleaned texts. Raises BadValueError."""

    def line(text: str) -> str:
        return " ".join(text.replace("\x00", "").split())

    version, title, licence = line(wish.version), line(wish.title), line(wish.licence)
    authors = [name for name in map(line, wish.authors) if name]
    changelog = wish.changelog.replace("\r\n", "\n").replace("\x00", "").strip()
    if not VERSION.fullmatch(version) or len(version) > 40:
        raise BadValueError(
            f"“{version}” isn’t a valid version. Use numbers and dots, such as 1.0, 2026.1, or 2.0-rc1."
        )
    if not title or len(title) > 200:
        raise BadValueError("Enter a title of up to 200 characters. Others will cite it.")
    if not licence or len(licence) > 100:
        raise BadValueError("Enter a license, for example CC-BY-4.0. Without a license, no one may use the data.")
    if not authors:
        raise BadValueError("Enter at least one author as “Family, Given”, or the name of a group. Authors are cited.")
    if not 0 <= wish.seed <= MAX_SEED:
        raise BadValueError(f"The seed must be a whole number from 0 to {MAX_SEED:,}.")
    if wish.is_erratum and wish.mends is None:
        raise BadValueError("Choose the release that this erratum corrects.")
    if wish.mends is not None and not changelog:
        raise BadValueError(f"Describe what was wrong in {wish.mends.version}, so that its users know what to check.")
    return ReleaseRequest(
        version, title, licence, authors, wish.shares, changelog, wish.is_erratum, wish.mends, wish.seed,
        wish.grouped_by, wish.keeps_splits_of, wish.names_people,
        wish.with_pages,
    )  # fmt: skip


def _check_place(benchmark: Benchmark, wish: ReleaseRequest) -> None:
    """Checks that the version is free, no release is in progress, and the releases it names are ready and belong to
    this benchmark."""
    for named in (wish.mends, wish.keeps_splits_of):
        if named is not None and (named.benchmark_id != benchmark.pk or not named.is_ready):
            raise BadValueError(f"{named.version} is not a finished release of this benchmark.")
    there = Release.objects.filter(benchmark=benchmark).exclude(state=ReleaseState.FAILED)
    if there.filter(version=wish.version).exists():
        raise BadValueError(
            f"Version {wish.version} already exists, and a release never changes. Use a new version; if it corrects an "
            "error, choose the release it corrects."
        )
    making = there.filter(state=ReleaseState.MAKING).first()
    if making is not None:
        raise BadValueError(
            f"Version {making.version} is being created. Wait until it is ready, or cancel it on its page, then "
            f"start this "
            "one."
        )


def cancel_release(release: Release, *, by: User) -> None:
    """Cancel the making of a release. Its version is free again."""
    with transaction.atomic():
        rules.check_manage(by, release.benchmark)
        stopped = Release.objects.filter(pk=release.pk, state=ReleaseState.MAKING).update(
            state=ReleaseState.FAILED, message=f"Canceled by {by}.", finished_at=timezone.now()
        )
        if stopped:
            reason = f"version {release.version}"
            Action(name="cancel-release", by=by, benchmark=release.benchmark, reason=reason).write()


# --- taking one away ------------------------------------------------------------------------------


def take_release(release: Release, *, by: User) -> Path:
    """A ready release's archive, checked against its hash; the download is recorded. Raises NotAllowedError by the
    rules, ReleaseDamagedError if the file has changed."""
    rules.check_export(by, release.benchmark)
    if not release.is_ready:
        raise BadValueError(f"Version {release.version} is not ready, so there is nothing to download.")
    path = Path(release.file.path)
    if not path.is_file():
        raise ReleaseDamagedError(
            f"The file of version {release.version} is no longer in storage. Ask the administrator of this "
            f"installation to "
            "restore it from a backup."
        )
    if release_files.hash_of(path) != release.file_sha256:
        raise ReleaseDamagedError(
            f"The file of version {release.version} has changed since it was created, so it cannot be downloaded. Ask "
            "the administrator of this installation to restore it from a backup."
        )
    with transaction.atomic():
        Action(name="take-release", by=by, benchmark=release.benchmark, reason=f"version {release.version}").write()
    return path
