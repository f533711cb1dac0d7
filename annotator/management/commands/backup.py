"""Back up the whole installation into one file while people work, or verify such a file."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config import backup


class Command(BaseCommand):
    help = "Write database, uploads and keys into one file. Give the folder, best on another disk."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, help="where the file goes (default: var/backups)")
        parser.add_argument("--verify", type=Path, metavar="FILE", help="verify this backup instead of making one")
        parser.add_argument("--keep", type=int, metavar="N", help="delete all but the newest N backups in the folder")

    def handle(self, *args: Any, folder: Path | None, verify: Path | None, keep: int | None, **options: Any) -> None:
        began = time.monotonic()
        if keep is not None and keep < 1:
            raise CommandError("--keep needs a number of 1 or more.")
        try:
            if verify is not None:
                manifest = backup.verify(verify)
                self.stdout.write(
                    f"{verify} is complete: Touchstone {manifest['touchstone']}, {manifest['made_at']}, "
                    f"{len(manifest['files']):,} files ({time.monotonic() - began:.0f} s)"
                )
                return
            where = folder or Path(settings.VAR_DIR) / "backups"
            made = backup.make(where)
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        size = made.stat().st_size / 1024**2
        self.stdout.write(f"{made}, {size:,.1f} MiB, verified ({time.monotonic() - began:.0f} s)")
        for old in sorted(where.glob("touchstone-*.tar"))[: -keep if keep else 0]:
            old.unlink()
            self.stdout.write(f"Deleted {old}")
