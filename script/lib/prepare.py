"""What must hold before the server starts: tables, static files, the demo. Run by script/lib/server.py.

    python script/lib/prepare.py [--demo]

Says nothing about what is already there, but for the demo's log-ins, which load_demo prints each time.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DB_STATEMENT_TIMEOUT", "0")  # as manage.py

import django  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import OperationalError, connection  # noqa: E402
from django.db.migrations.executor import MigrationExecutor  # noqa: E402


def migrate() -> None:
    """Bring the tables up to date; SystemExit with the address when the database cannot be reached."""
    try:
        executor = MigrationExecutor(connection)
    except OperationalError as error:
        where = connection.settings_dict
        raise SystemExit(
            f"The database {where['NAME']!r} at {where['HOST'] or 'this machine'} cannot be opened: {error}"
        ) from error
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        print("Updating the database", flush=True)
        call_command("migrate", verbosity=0, interactive=False)


def static_fingerprint() -> str:
    """Changes whenever a static file or a package that brings some may have changed."""
    known = hashlib.sha256((ROOT / "requirements.txt").read_bytes())
    for folder in settings.STATICFILES_DIRS:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                about = path.stat()
                known.update(f"{path.relative_to(folder)} {about.st_size} {about.st_mtime_ns}\n".encode())
    return known.hexdigest()


def collect_static() -> None:
    """Copy, name and compress the static files, if any changed since the last time."""
    if settings.DEBUG:
        return
    stamp = Path(settings.STATIC_ROOT).with_name("static.stamp")
    fingerprint = static_fingerprint()
    if stamp.exists() and stamp.read_text() == fingerprint and Path(settings.STATIC_ROOT).is_dir():
        return
    call_command("collectstatic", verbosity=0, interactive=False, clear=True)
    stamp.write_text(fingerprint)


def main() -> None:
    django.setup()
    migrate()
    collect_static()
    if "--demo" in sys.argv[1:]:
        call_command("load_demo")
    else:
        # Whoever leaves the demo out may be about to let others in.
        call_command("load_demo", close=True)


if __name__ == "__main__":
    main()
