#!/usr/bin/env python
"""Django's command line; script/manage runs it in the project's own environment."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # A migration or an export may take longer than a request may; whoever started it can stop it.
    os.environ.setdefault("DB_STATEMENT_TIMEOUT", "0")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            "manage.py: Django is not installed for this Python. "
            "Run script/manage instead, which sets up the environment first."
        ) from error
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
