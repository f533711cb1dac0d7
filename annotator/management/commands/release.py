"""Make a release of a benchmark's gold, or list its releases."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark
from annotator.core.vocabulary import GroupedBy, ReleaseState
from annotator.exchange.actions.making_releases import make_release
from annotator.exchange.actions.releases import ReleaseRequest, start_release
from annotator.exchange.exports.release_texts import LICENCES
from annotator.exchange.models import Release
from annotator.exchange.queries.releases import latest_release, mended_by, ready_releases, releases_of
from annotator.exchange.releases.splits import Shares, SplitError
from annotator.management.named import benchmark_named, unknown

SHARES = "80/10/10"


class Command(BaseCommand):
    help = (
        "Freeze the gold of a benchmark as a release, with splits and hashes, or list its releases (docs/releases.md)."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's --version prints Django's version; here it is the release's.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--list", action="store_true", help="list the releases without creating one")
        parser.add_argument("--json", action="store_true", help="tell as JSON")
        parser.add_argument("--version", dest="release_version", metavar="V", help="version to create, for example 1.0")
        parser.add_argument("--title", help="title to cite (default: as before, or the benchmark's name)")
        parser.add_argument("--licence", help=f"license of the annotations (default: as before, or {LICENCES[0]})")
        parser.add_argument(
            "--author",
            action="append",
            metavar="NAME",
            help="“Family, Given” or a group; repeat for each author (default: as before)",
        )
        parser.add_argument("--changelog", default="", help="what changed (default: generated from the data)")
        parser.add_argument("--mends", metavar="V", help="the release whose error this one corrects")
        parser.add_argument("--shares", default=SHARES, help=f"percent of train/dev/test (default {SHARES})")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--group-by",
            choices=[by.value for by in GroupedBy],
            default="nothing",
            help="keep documents with the same value in one split",
        )
        parser.add_argument("--keep-splits-of", metavar="V", help="keep the splits of this release")
        parser.add_argument("--pages", action="store_true", help="include the saved pages of the evidence (WACZ)")
        parser.add_argument("--named", action="store_true", help="use people's names instead of pseudonyms")

    def handle(self, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        if options["list"]:
            self._tell(list(releases_of(benchmark)), as_json=options["json"])
            return
        if not options["release_version"]:
            raise CommandError("Give the version to create (--version 1.0), or list the releases (--list).")
        release = self._left_behind(benchmark, options["release_version"])
        if release is None:
            try:
                release = start_release(benchmark=benchmark, wish=_wish(benchmark, options), by=None, here=True)
            except (BadValueError, SplitError) as refusal:
                raise CommandError(str(refusal)) from None
        make_release(release.pk)
        release = releases_of(benchmark).get(pk=release.pk)
        if release.state == ReleaseState.MAKING:
            raise CommandError(
                f"Another worker has version {release.version} in progress; --list shows when it is ready."
            )
        if not release.is_ready:
            raise CommandError(release.message)
        self._tell([release], as_json=options["json"])

    def _left_behind(self, benchmark: Benchmark, version: str) -> Release | None:
        """The unfinished release of that version, as when this command was killed."""
        rows = Release.objects.filter(benchmark=benchmark, version=version, state=ReleaseState.MAKING)
        release: Release | None = rows.first()
        if release is not None:
            self.stderr.write(f"Version {version} was already started, so it is created with the settings given then.")
        return release

    def _tell(self, releases: list[Release], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps([_as_json(each) for each in releases], indent=2, ensure_ascii=False))
        elif not releases:
            self.stdout.write("No releases yet. Create one with --version 1.0 --author NAME.")
        for release in [] if as_json else releases:
            mends = f", corrects {release.mends.version}" if release.mends else ""
            about = f"{release.documents_count:,} documents, {release.sha256}" if release.is_ready else release.message
            self.stdout.write(
                f"{release.version}  {release.created_at:%Y-%m-%d}  {release.state}{mends}  {about}".rstrip()
            )


def _wish(benchmark: Benchmark, options: dict[str, Any]) -> ReleaseRequest:
    """The options, with defaults from the previous release."""
    latest = latest_release(benchmark)
    try:
        train, dev, test = (int(part) for part in options["shares"].split("/"))
    except ValueError:
        raise CommandError(f"“{options['shares']}” aren’t valid shares. Write three numbers as {SHARES}.") from None
    return ReleaseRequest(
        version=options["release_version"],
        title=options["title"] or (latest.title if latest else benchmark.name),
        licence=options["licence"] or (latest.licence if latest else LICENCES[0]),
        authors=options["author"] or (latest.authors if latest else []),
        shares=Shares(train, dev, test),
        changelog=options["changelog"],
        is_erratum=bool(options["mends"]),
        mends=_named(benchmark, options["mends"]),
        seed=options["seed"],
        grouped_by=GroupedBy(options["group_by"]),
        keeps_splits_of=_named(benchmark, options["keep_splits_of"]),
        names_people=options["named"],
        with_pages=options["pages"],
    )


def _named(benchmark: Benchmark, version: str | None) -> Release | None:
    """The ready release of that version; None if none is given."""
    if not version:
        return None
    ready = {release.version: release for release in ready_releases(benchmark)}
    if version not in ready:
        raise CommandError(unknown("release", version, ready))
    return ready[version]


def _as_json(release: Release) -> dict[str, Any]:
    newer = mended_by(release)
    return {
        "version": release.version,
        "id": release.public_id,
        "state": release.state,
        "message": release.message,
        "title": release.title,
        "licence": release.licence,
        "authors": release.authors,
        "created_at": release.created_at.isoformat(),
        "mends": release.mends.version if release.mends else None,
        "mended_by": newer.version if newer else None,
        "documents": release.documents_count,
        "sha256": release.sha256,
        "size": release.size,
        "seed": release.seed,
        "shares": {"train": release.share_train, "dev": release.share_dev, "test": release.share_test},
        "grouped_by": release.grouped_by,
        "splits": release.splits,
        "difference": release.difference,
        "file": release.file.path if release.file else None,
    }
