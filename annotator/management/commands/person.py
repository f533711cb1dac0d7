"""Export everything that is stored about a person, or erase the person."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from annotator.core.models import User
from annotator.core.rules import NotAllowedError
from annotator.team.actions.erase import erase
from annotator.team.queries.personal_data import personal_data


class Command(BaseCommand):
    help = "Export what is kept about a person, or erase the person (their labels stay under a pseudonym)."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_subparsers(dest="what", required=True)
        export = what.add_parser("export", help="write everything that is kept about the person, as JSON")
        export.add_argument("username")
        export.add_argument("--output", help="a file; default: standard output")
        gone = what.add_parser("erase", help="delete everything that identifies the person")
        gone.add_argument("username")
        gone.add_argument("--by", required=True, help="the superuser who does this, for the history")
        gone.add_argument("--yes", action="store_true", help="don't ask: it can't be undone")

    def handle(self, *args: Any, **options: Any) -> None:
        person = self._user(options["username"])
        if options["what"] == "export":
            self._export(person, options["output"])
            return
        by = self._user(options["by"])
        if not options["yes"]:
            sys.stderr.write(f"Erase {person} ({person.username})? This can't be undone. Type the user name: ")
            sys.stderr.flush()
            if sys.stdin.readline().strip() != person.username:
                raise CommandError("Nothing was erased.")
        try:
            new = erase(person, by=by)
        except NotAllowedError as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"Erased. The account is now called {new}. Backups made before still hold the old name.")

    def _user(self, username: str) -> User:
        person = User.objects.filter(username=username).first()
        if person is None:
            raise CommandError(f"Nobody has the user name {username!r}.")
        return person

    def _export(self, person: User, output: str | None) -> None:
        text = json.dumps(dict(personal_data(person)), cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
        if output is None:
            self.stdout.write(text)
            return
        Path(output).touch(mode=0o600)
        Path(output).write_text(text + "\n", encoding="utf-8")
