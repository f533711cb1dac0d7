"""Backup and restore of a whole installation, by the commands that an operator types."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

pytestmark = pytest.mark.django_db  # without it, no tables are made for ``var`` when these tests run alone

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = "from annotator.models import User; print(sorted(User.objects.values_list('username', flat=True)))"

Manage = Callable[..., "subprocess.CompletedProcess[str]"]


def commands(var: Path, **environment: str) -> Manage:
    """manage.py with this folder and nothing else of whoever runs the suite."""

    def manage(*arguments: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(var), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done

    return manage


def add(manage: Manage, name: str) -> None:
    manage("shell", "--no-imports", "-c", f"from annotator.models import User; User.objects.create_user('{name}')")


def people(manage: Manage) -> str:
    return manage("shell", "--no-imports", "-c", PEOPLE).stdout.strip()


@pytest.fixture
def var(tmp_path: Path, migrated_database: Path | None, django_db_setup: None) -> Path:
    if migrated_database is None:
        pytest.skip("The suite runs on PostgreSQL: the file of SQLite's tables is not there.")
    var = tmp_path / "var"
    var.mkdir()
    shutil.copy(migrated_database, var / "touchstone.sqlite3")
    return var


def test_sqlite_there_and_back(var: Path, tmp_path: Path) -> None:
    manage = commands(var)
    add(manage, "ada")
    upload = var / "media" / "imports" / "a.jsonl"
    upload.parent.mkdir(parents=True)
    upload.write_text("kept")
    (var / "static").mkdir()
    (var / "static" / "made-anew.css").touch()
    key = (var / "secret_key").read_text()

    said = manage("backup", str(tmp_path / "backups"), "--keep", "2").stdout
    (file,) = (tmp_path / "backups").iterdir()
    assert str(file) in said
    assert "verified" in said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as archive:
        names = set(archive.getnames())
    assert names == {"manifest.json", "database.sqlite3", "var/secret_key", "var/media/imports/a.jsonl"}
    assert "is complete" in manage("backup", "--verify", str(file)).stdout

    add(manage, "bea")
    upload.unlink()
    (var / "secret_key").write_text("another" * 10)
    assert "--replace" in manage("restore", str(file), fails=True).stderr
    assert people(manage) == "['ada', 'bea']"
    manage("restore", str(file), "--replace")
    assert people(manage) == "['ada']"
    assert upload.read_text() == "kept"
    assert (var / "secret_key").read_text() == key
    assert {stat.S_IMODE(path.stat().st_mode) for path in (upload, var / "touchstone.sqlite3")} == {0o600}

    # Onto a machine that has nothing yet.
    elsewhere = commands(tmp_path / "new")
    elsewhere("restore", str(file))
    assert people(elsewhere) == "['ada']"


def test_a_backup_that_was_changed_or_cut_short_is_refused(var: Path, tmp_path: Path) -> None:
    manage = commands(var)
    add(manage, "ada")
    manage("backup", str(tmp_path / "backups"))
    (file,) = (tmp_path / "backups").iterdir()
    whole = bytearray(file.read_bytes())
    at = whole.index(b"ada")
    whole[at : at + 3] = b"eve"
    file.write_bytes(whole)
    assert "database.sqlite3 in" in manage("backup", "--verify", str(file), fails=True).stderr
    assert "changed after" in manage("restore", str(file), "--replace", fails=True).stderr
    assert people(manage) == "['ada']"
    file.write_bytes(whole[: len(whole) // 2])
    assert "no complete backup" in manage("backup", "--verify", str(file), fails=True).stderr


def test_a_file_that_leaves_its_folder_is_no_backup(var: Path, tmp_path: Path) -> None:
    manage = commands(var)
    file, secret = tmp_path / "odd.tar", tmp_path / "manifest.json"
    secret.write_text("{}")
    for name in ("../manifest.json", "/manifest.json"):
        with tarfile.open(file, "w") as archive:
            member = archive.gettarinfo(secret)
            member.name = name
            with secret.open("rb") as opened:
                archive.addfile(member, opened)
        assert f"it contains {name}" in manage("backup", "--verify", str(file), fails=True).stderr


def test_a_backup_of_a_newer_version_is_refused(var: Path, tmp_path: Path) -> None:
    manage = commands(var)
    manage("backup", str(tmp_path / "backups"))
    (file,) = (tmp_path / "backups").iterdir()
    folder = tmp_path / "changed"
    with tarfile.open(file) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["migrations"].append("annotator.9999_from_the_future")
    manifest["touchstone"] = "99.0"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with tarfile.open(file, "w") as archive:
        archive.add(folder, "")
    said = manage("restore", str(file), fails=True).stderr
    assert "made by Touchstone 99.0, which is newer" in said
    assert "annotator.9999_from_the_future" in said


def test_a_server_that_writes_keeps_sqlite_from_being_replaced(var: Path, tmp_path: Path) -> None:
    import sqlite3

    manage = commands(var)
    manage("backup", str(tmp_path / "backups"))
    (file,) = (tmp_path / "backups").iterdir()
    holder = sqlite3.connect(var / "touchstone.sqlite3", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "Stop the server" in manage("restore", str(file), "--replace", fails=True).stderr
    holder.close()


def test_postgres_there_and_back(tmp_path: Path, postgres_url: str) -> None:
    if shutil.which("pg_dump") is None:
        pytest.skip("There is no pg_dump here: install PostgreSQL's client.")
    manage = commands(tmp_path / "var", DATABASE_URL=postgres_url)
    manage("migrate", "--verbosity", "0")
    add(manage, "ada")
    manage("backup", str(tmp_path / "backups"))
    (file,) = (tmp_path / "backups").iterdir()
    add(manage, "bea")
    assert "--replace" in manage("restore", str(file), fails=True).stderr
    manage("restore", str(file), "--replace")
    assert people(manage) == "['ada']"
    assert "of postgresql" in commands(tmp_path / "other")("restore", str(file), fails=True).stderr


@pytest.fixture
def storage() -> Iterator[dict[str, str]]:
    """Object storage on this machine with an empty bucket, as the environment that names it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    address, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{address}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    boto3.client(
        "s3",
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name="us-east-1",
    ).create_bucket(Bucket="lab")
    yield environment
    server.stop()


def test_to_object_storage_and_back(var: Path, storage: dict[str, str]) -> None:
    manage = commands(var, **storage)
    add(manage, "ada")
    names = []
    for _ in range(2):
        said = manage("backup", "s3://lab/nightly", "--keep", "1").stdout
        names.append(said.split(",")[0])
        time.sleep(1.1)  # names count seconds
    assert names[0].startswith("s3://lab/nightly/touchstone-") and f"Deleted {names[0]}" in said
    assert "is complete" in manage("backup", "--verify", names[1]).stdout
    add(manage, "ben")
    manage("restore", names[1], "--replace")
    assert people(manage) == "['ada']"
    missing = manage("restore", names[0], "--replace", fails=True).stderr
    assert names[0] in missing and "Traceback" not in missing
    refused = manage("backup", "s3://nobody/nightly", fails=True).stderr
    assert "s3://nobody/nightly" in refused and "Traceback" not in refused
