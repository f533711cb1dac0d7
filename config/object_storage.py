"""Backups in S3-compatible object storage: ``s3://bucket/prefix``. Needs boto3 (requirements-s3.txt).

boto3 itself reads the access key, region and endpoint: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_DEFAULT_REGION,
AWS_ENDPOINT_URL, or its files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from config.backup import BackupError

SCHEME = "s3://"


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket, and a prefix or the key of one object in it."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}"


def is_place(text: str) -> bool:
    """Whether this names object storage rather than a folder."""
    return text.startswith(SCHEME)


def place_of(text: str) -> Place:
    """``s3://bucket/prefix``. Raises BackupError."""
    parts = urlsplit(text)
    if parts.scheme != "s3" or not parts.netloc:
        raise BackupError(f"{text} names no object storage. Write s3://bucket/prefix.")
    return Place(parts.netloc, parts.path.strip("/"))


def upload(file: Path, to: Place) -> Place:
    """Store the file below the prefix, in parts if it is large, and verify that it arrived completely."""
    target = Place(to.bucket, f"{to.key}/{file.name}" if to.key else file.name)
    client = _client()
    with _said(target):
        client.upload_file(str(file), target.bucket, target.key, ExtraArgs={"ChecksumAlgorithm": "SHA256"})
        there = client.head_object(Bucket=target.bucket, Key=target.key)["ContentLength"]
    if there != file.stat().st_size:
        raise BackupError(f"{target} has {there:,} bytes, not {file.stat().st_size:,}. Try again.")
    return target


def download(source: Place, folder: Path) -> Path:
    """Fetch one backup into a folder that nobody else can read."""
    file = folder / source.key.rpartition("/")[2]
    file.touch(mode=0o600)
    with _said(source):
        _client().download_file(source.bucket, source.key, str(file))
    return file


def delete_all_but(keep: int, place: Place) -> list[Place]:
    """Delete all but the newest backups below the prefix. Returns the deleted ones."""
    client = _client()
    prefix = f"{place.key}/touchstone-" if place.key else "touchstone-"
    with _said(place):
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=prefix)
        keys = sorted(
            each["Key"] for page in pages for each in page.get("Contents", ()) if each["Key"].endswith(".tar")
        )
        old = [Place(place.bucket, key) for key in keys[:-keep]]
        for each in old:
            client.delete_object(Bucket=each.bucket, Key=each.key)
    return old


def _client() -> Any:
    try:
        import boto3
    except ImportError:
        raise BackupError("Object storage needs boto3: pip install -r requirements-s3.txt") from None
    return boto3.client("s3")


@contextmanager
def _said(place: Place) -> Iterator[None]:
    """Turns an error of the object storage into one sentence."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (Boto3Error, BotoCoreError, ClientError) as error:
        raise BackupError(f"{place}: {error}") from error
