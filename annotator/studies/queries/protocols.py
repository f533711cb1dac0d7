"""The protocols of a benchmark: its own versions, and the files that come with Touchstone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.conf import settings

from annotator.core.models import Benchmark
from annotator.studies.models import ProtocolVersion
from annotator.studies.protocol import Protocol
from annotator.studies.protocol_file import read_protocol

FOLDER = Path("fixtures") / "protocols"


@cache
def shipped_protocols() -> dict[str, Protocol]:
    """The protocols that come with Touchstone, by name."""
    files = sorted((Path(settings.BASE_DIR) / FOLDER).glob("*.json"))
    return {path.stem: read_protocol(path.read_bytes()) for path in files}


def versions_of(benchmark: Benchmark, name: str) -> list[ProtocolVersion]:
    """The benchmark's versions of a protocol, newest first."""
    return list(ProtocolVersion.objects.filter(benchmark=benchmark, name=name).order_by("-number"))


def newest_versions(benchmark: Benchmark) -> dict[str, ProtocolVersion]:
    """The newest version of each protocol of the benchmark, by name. One query."""
    found: dict[str, ProtocolVersion] = {}
    for version in ProtocolVersion.objects.filter(benchmark=benchmark).order_by("name", "number"):
        found[version.name] = version
    return found


def protocol_named(benchmark: Benchmark, name: str) -> Protocol | None:
    """The protocol that a new study of this name starts from: the benchmark's newest version, else the shipped one."""
    version = ProtocolVersion.objects.filter(benchmark=benchmark, name=name).order_by("-number").first()
    return version.protocol if version else shipped_protocols().get(name)


def known_names(benchmark: Benchmark) -> list[str]:
    """All names that ``protocol_named`` finds."""
    return sorted({*shipped_protocols(), *newest_versions(benchmark)})
