"""Back up the whole installation into one file while people work, or verify such a file."""

from __future__ import annotations

import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config import backup, object_storage


class Command(BaseCommand):
    help = "Write database, uploads and keys into one file, in a folder (best on another disk) or in object storage."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "place", nargs="?", help="where the file goes: a folder, or s3://bucket/prefix (default: var/backups)"
        )
        parser.add_argument("--verify", metavar="FILE", help="verify this backup instead of making one")
        parser.add_argument("--keep", type=int, metavar="N", help="delete all but the newest N backups there")

    def handle(self, *args: Any, place: str | None, verify: str | None, keep: int | None, **options: Any) -> None:
        began = time.monotonic()
        if keep is not None and keep < 1:
            raise CommandError("--keep needs a number of 1 or more.")
        where = place or str(Path(settings.VAR_DIR) / "backups")
        try:
            if verify is not None:
                self._verify(verify, began)
            elif object_storage.is_place(where):
                self._to_storage(object_storage.place_of(where), keep, began)
            else:
                self._to_folder(Path(where), keep, began)
        except backup.BackupError as error:
            raise CommandError(str(error)) from error

    def _verify(self, verify: str, began: float) -> None:
        with fetched(verify) as file:
            manifest = backup.verify(file)
        self.stdout.write(
            f"{verify} is complete: Touchstone {manifest['touchstone']}, {manifest['made_at']}, "
            f"{len(manifest['files']):,} files ({time.monotonic() - began:.0f} s)"
        )

    def _to_folder(self, where: Path, keep: int | None, began: float) -> None:
        made = backup.make(where)
        self._say(str(made), made.stat().st_size, began)
        for old in sorted(where.glob("touchstone-*.tar"))[: -keep if keep else 0]:
            old.unlink()
            self.stdout.write(f"Deleted {old}")

    def _to_storage(self, where: object_storage.Place, keep: int | None, began: float) -> None:
        with tempfile.TemporaryDirectory(prefix="touchstone-") as folder:
            made = backup.make(Path(folder))
            stored = object_storage.upload(made, where)
            self._say(str(stored), made.stat().st_size, began)
        if keep:
            for old in object_storage.delete_all_but(keep, where):
                self.stdout.write(f"Deleted {old}")

    def _say(self, where: str, size: int, began: float) -> None:
        self.stdout.write(f"{where}, {size / 1024**2:,.1f} MiB, verified ({time.monotonic() - began:.0f} s)")


@contextmanager
def fetched(name: str) -> Iterator[Path]:
    """The backup as a local file; fetched temporarily if it is in object storage. Raises BackupError."""
    if not object_storage.is_place(name):
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix="touchstone-") as folder:
        yield object_storage.download(object_storage.place_of(name), Path(folder))
