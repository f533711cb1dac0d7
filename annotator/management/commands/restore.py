"""Replace this installation's database, uploads and keys with a backup."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from annotator.management.commands.backup import fetched
from config import backup


class Command(BaseCommand):
    help = "Restore a file that `backup` has written. Stop the server first."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="a file, or s3://bucket/prefix/touchstone-….tar")
        parser.add_argument("--replace", action="store_true", help="replace the data that is there")

    def handle(self, *args: Any, file: str, replace: bool, **options: Any) -> None:
        began = time.monotonic()
        try:
            with fetched(file) as here:
                manifest = backup.restore(here, replace=replace)
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        call_command("migrate", verbosity=0, interactive=False)  # a backup of an older version
        self.stdout.write(
            f"Restored {file}: Touchstone {manifest['touchstone']} of {manifest['made_at']} "
            f"({time.monotonic() - began:.0f} s). Start the server."
        )
