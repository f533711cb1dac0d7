"""Backup and restore of a whole installation in one file: a snapshot of the database, uploads and keys, with their
hashes.

The file is a tar archive: ``manifest.json`` (version, migrations, rows of each table, SHA-256 of each file), the
database (a copy of SQLite's file, or pg_dump's output), and under ``var/`` the contents of TOUCHSTONE_VAR, except what
is regenerated automatically. Backups can be made while people work. To restore one, nobody may work.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

FORMAT = 1
MANIFEST = "manifest.json"
SQLITE, POSTGRES = "database.sqlite3", "database.pgdump"
MADE_ANEW = frozenset({"static", "indexes", "mutants"})  # below TOUCHSTONE_VAR
CHUNK = 1024 * 1024


class BackupError(Exception):
    """What is wrong and what to do, for the person at the command line."""


# --- making one -------------------------------------------------------------------------------------


def make(folder: Path) -> Path:
    """Write a backup into the folder and verify it. Returns its path. Raises BackupError."""
    folder.mkdir(parents=True, exist_ok=True)
    now = dt.datetime.now(dt.UTC)
    target = folder / f"touchstone-{now:%Y%m%d-%H%M%S}.tar"
    part = target.with_suffix(".part")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".backup-") as name:
        database = _dump(Path(name))
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "touchstone": settings.VERSION,
            "made_at": now.isoformat(),
            "database": connection.vendor,
            "migrations": sorted(".".join(key) for key in MigrationRecorder(connection).applied_migrations()),
            "rows": _rows_in_sqlite(database) if connection.vendor == "sqlite" else {},
            "files": {},
        }
        descriptor = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)  # it holds everything, keys too
        with os.fdopen(descriptor, "wb") as out, tarfile.open(fileobj=out, mode="w") as archive:
            for path, arcname in [(database, database.name), *_kept_files()]:
                try:
                    _add(archive, path, arcname, manifest["files"])
                except FileNotFoundError:
                    continue  # an upload that was imported in the meantime
            listed = Path(name) / MANIFEST
            listed.write_text(json.dumps(manifest, indent=1))
            archive.add(listed, MANIFEST)
            out.flush()
            os.fsync(out.fileno())
    verify(part)
    part.replace(target)
    return target


def _add(archive: tarfile.TarFile, path: Path, arcname: str, hashes: dict[str, str]) -> None:
    with path.open("rb") as file:
        hashes[arcname] = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        archive.addfile(archive.gettarinfo(arcname=arcname, fileobj=file), file)


def _dump(folder: Path) -> Path:
    """A snapshot of the database, while others continue to write."""
    if connection.vendor == "sqlite":
        copy = folder / SQLITE
        name = settings.DATABASES["default"]["NAME"]
        with closing(sqlite3.connect(f"file:{name}?mode=ro", uri=True)) as source, closing(sqlite3.connect(copy)) as to:
            source.execute("BEGIN")  # one snapshot, however long copying takes
            source.backup(to, pages=-1)
            to.execute("PRAGMA journal_mode=DELETE")
        return copy
    copy = folder / POSTGRES
    _postgres("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={copy}")
    return copy


def _kept_files() -> Iterator[tuple[Path, str]]:
    """Keys and uploads, and whatever else in the folder isn't regenerated."""
    var = Path(settings.VAR_DIR)
    database = Path(str(settings.DATABASES["default"]["NAME"]))
    beside = {database, *(database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal"))}
    for path in sorted(var.rglob("*")):
        inside = path.relative_to(var)
        if inside.parts[0] in MADE_ANEW or path in beside or path.is_symlink() or not path.is_file():
            continue
        if inside.name.startswith("touchstone-") and inside.suffix in {".tar", ".part"}:
            continue  # earlier backups, and this one
        if any(part.startswith(".backup-") for part in inside.parts):
            continue
        yield path, f"var/{inside.as_posix()}"


# --- verifying one ----------------------------------------------------------------------------------


def verify(file: Path) -> dict[str, Any]:
    """Check a whole backup: every file against its hash, SQLite's database for its integrity, rows and references.
    Returns the manifest. Raises BackupError."""
    with _unpacked(file) as (folder, manifest):
        database = folder / SQLITE
        if database.exists():
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
                said = opened.execute("PRAGMA integrity_check").fetchone()[0]
                broken = opened.execute("PRAGMA foreign_key_check").fetchone()
            if said != "ok" or broken:
                raise BackupError(f"The database in {file} is damaged: {said if said != 'ok' else broken}.")
            if _rows_in_sqlite(database) != manifest["rows"]:
                raise BackupError(f"The database in {file} has other rows than its manifest says.")
        elif (folder / POSTGRES).exists():
            _run(["pg_restore", "--list", str(folder / POSTGRES)])
        else:
            raise BackupError(f"{file} holds no database.")
        return manifest


def _is_inside(member: tarfile.TarInfo) -> bool:
    """A plain file or folder that stays in the folder it is extracted into."""
    return (
        (member.isfile() or member.isdir()) and not member.name.startswith("/") and ".." not in Path(member.name).parts
    )


@contextmanager
def _unpacked(file: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files of a backup, extracted into a folder next to it and compared with their hashes, and the manifest."""
    if not file.is_file():
        raise BackupError(f"There is no file {file}.")
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".backup-") as name:
        folder = Path(name)
        try:
            with tarfile.open(file) as archive:
                if outside := [each.name for each in archive if not _is_inside(each)]:
                    raise BackupError(f"{file} is no backup of Touchstone: it contains {outside[0]}.")
                # Python before 3.11.4 has no filters.
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(folder)  # noqa: S202 (every member has been checked)
            manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
            hashes: dict[str, str] = manifest["files"]
        except (tarfile.TarError, OSError, ValueError, KeyError, EOFError) as error:
            raise BackupError(f"{file} is no complete backup of Touchstone: {error}") from error
        if manifest.get("format") != FORMAT:
            raise BackupError(f"{file} has format {manifest.get('format')}; this version reads {FORMAT}.")
        for arcname, expected in hashes.items():
            path = folder / arcname
            if not path.is_file():
                raise BackupError(f"{arcname} is missing in {file}.")
            with path.open("rb") as opened:
                if hashlib.file_digest(opened, "sha256").hexdigest() != expected:
                    raise BackupError(f"{arcname} in {file} was changed after the backup was made.")
        yield folder, manifest


# --- restoring one ----------------------------------------------------------------------------------


def restore(file: Path, *, replace: bool) -> dict[str, Any]:
    """Replace this installation's database and files with a backup. Returns the manifest.

    Raises BackupError for a damaged file, a newer version or another kind of database, and, without ``replace``, if
    there is data already. The server must be stopped.
    """
    manifest = verify(file)
    if manifest["database"] != connection.vendor:
        raise BackupError(f"The backup is of {manifest['database']}, and this server uses {connection.vendor}.")
    unknown = set(manifest["migrations"]) - _known_migrations()
    if unknown:
        raise BackupError(
            f"The backup was made by Touchstone {manifest['touchstone']}, which is newer than this one "
            f"({settings.VERSION}): install that version, then restore. Unknown here: {', '.join(sorted(unknown)[:3])}."
        )
    if not replace and _has_people():
        raise BackupError("There is data in this database already. To replace all of it: --replace")
    with _unpacked(file) as (folder, _):
        connection.close()
        if connection.vendor == "sqlite":
            _put_sqlite(folder / SQLITE)
        else:
            _empty_postgres()
            options = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
            _postgres("pg_restore", *options, str(folder / POSTGRES), dbname=True)
        var, kept = Path(settings.VAR_DIR), folder / "var"
        for path in sorted(kept.rglob("*")) if kept.exists() else []:
            if path.is_file():
                target = var / path.relative_to(kept)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                target.chmod(0o600)
    shutil.rmtree(Path(settings.VAR_DIR) / "indexes", ignore_errors=True)  # indexes of other corpora; regenerated
    return manifest


def _put_sqlite(copy: Path) -> None:
    """Write the copy into the database's own file, under its lock: anyone who still has it open sees either all of it
    or none."""
    name = settings.DATABASES["default"]["NAME"]
    with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(name, timeout=2)) as to:
        try:
            to.execute("BEGIN EXCLUSIVE")
            to.rollback()
            source.backup(to, pages=-1)
            to.execute("PRAGMA journal_mode=WAL")
            to.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            raise BackupError(f"The database is in use ({error}). Stop the server, then restore.") from error


def _empty_postgres() -> None:
    """Drop every table of the schema, so that nothing old remains."""
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")
    connection.close()


# --- small things -----------------------------------------------------------------------------------


def _known_migrations() -> set[str]:
    from django.db.migrations.loader import MigrationLoader

    loader = MigrationLoader(None)
    replaced = {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    return {".".join(key) for key in {*loader.disk_migrations, *replaced}}


def _has_people() -> bool:
    people = apps.get_model(settings.AUTH_USER_MODEL)
    return people._meta.db_table in connection.introspection.table_names() and people._default_manager.exists()


def _rows_in_sqlite(database: Path) -> dict[str, int]:
    """The number of rows of each table."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        names = [row[0] for row in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        # The names come from the tables themselves.
        return {name: opened.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608


def _postgres(program: str, *arguments: str, dbname: bool = False) -> None:
    """Run a PostgreSQL program on the configured database. The password is passed in the environment."""
    database = settings.DATABASES["default"]
    names = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD", "NAME": "PGDATABASE"}
    given = {variable: str(database[key]) for key, variable in names.items() if database.get(key)}
    _run([program, *([f"--dbname={database['NAME']}"] if dbname else []), *arguments], given)


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - PostgreSQL's own programs with our arguments
            command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise BackupError(
            f"There is no {command[0]} here. Install PostgreSQL's client, of the server's version or newer."
        ) from None
    if done.returncode:
        raise BackupError(f"{command[0]} failed: {done.stderr.strip()[-1000:]}")
