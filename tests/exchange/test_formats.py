"""Every format of the catalogue: written in pieces, telling how far it is, asking no more of the database for many."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import Benchmark
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.exports.catalogue import FORMATS, ExportFormat, Reading, format_named
from annotator.exchange.formats.zipping import PIECE, zip_of
from annotator.exchange.queries import export, native
from tests.released import numbered

pytestmark = pytest.mark.django_db

EVERY = pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)


@pytest.fixture
def benchmark() -> Benchmark:
    return create_benchmark(slug="trial", name="Trial")


def gold(benchmark: Benchmark, count: int, first: int = 0) -> None:
    content = "\n".join(json.dumps(numbered(first + number)) for number in range(count))
    assert import_gold(benchmark=benchmark, source=io.BytesIO(content.encode())).imported == count


def written(format: ExportFormat, benchmark: Benchmark, **asked: Any) -> bytes:
    if why := format.missing():
        pytest.skip(why)
    return b"".join(format.write(Reading(benchmark, **asked)))


@EVERY
def test_a_format_is_written_and_counts_its_documents(format: ExportFormat, benchmark: Benchmark) -> None:
    gold(benchmark, 3)
    ticks: list[int] = []
    content = written(format, benchmark, on_document=lambda: ticks.append(1))
    assert len(ticks) == 3 * format.passes
    if format.suffix == ".zip":
        assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    elif format.suffix == ".json":
        json.loads(content)
    else:
        assert all(isinstance(json.loads(line), dict) for line in content.splitlines())


@EVERY
def test_the_same_gold_gives_the_same_bytes(format: ExportFormat, benchmark: Benchmark) -> None:
    gold(benchmark, 2)
    assert written(format, benchmark) == written(format, benchmark)


@EVERY
def test_nothing_gold_is_no_failure(format: ExportFormat, benchmark: Benchmark) -> None:
    assert isinstance(written(format, benchmark), bytes)


@EVERY
def test_a_chunk_costs_the_same_however_many_documents_it_has(
    format: ExportFormat, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (export, native):
        monkeypatch.setattr(module, "CHUNK", 20)
    gold(benchmark, 2)
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            written(format, benchmark)
        counts.append(len(queries))
        gold(benchmark, 10, first=50) if len(counts) == 1 else None
    assert counts[0] == counts[1]


def test_a_zip_is_reproducible_and_everybody_may_read_its_files() -> None:
    files: dict[str, list[str | bytes]] = {
        "plain.txt": ["one ", "", "two " * 40_000],
        "nothing": [],
        "ü/\N{OWL}.bin": [bytes(range(256)) * 600],
    }
    content = b"".join(zip_of(files.items()))
    assert content == b"".join(zip_of(files.items()))
    archive = zipfile.ZipFile(io.BytesIO(content))
    assert archive.testzip() is None
    assert {name: archive.read(name) for name in archive.namelist()} == {
        name: b"".join(part.encode() if isinstance(part, str) else part for part in parts)
        for name, parts in files.items()
    }
    for each in archive.infolist():
        assert each.date_time == (1980, 1, 1, 0, 0, 0)
        assert each.external_attr >> 16 == 0o644


def test_pieces_go_out_while_few_parts_have_been_asked_for() -> None:
    """Random content cannot be packed, so that what was written has to go out."""
    import random

    asked = []
    source = random.Random(1)

    def parts() -> Any:
        for number in range(20):
            asked.append(number)
            yield source.randbytes(PIECE * 2)

    pieces = zip_of([("a.bin", parts())])
    for number in range(1, 4):
        next(pieces)
        assert len(asked) <= number + 1
    pieces.close()  # type: ignore[attr-defined]  # a download that was given up
    assert len(asked) <= 4


def test_an_unknown_format_is_named(benchmark: Benchmark) -> None:
    with pytest.raises(LookupError, match=r"“xml” isn’t an export format\. Choose one of factcheck-bench, touchstone"):
        format_named("xml")
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("export", "--benchmark", "trial", "--format", "xml", "--output", "-")


@EVERY
def test_the_command_writes_it(format: ExportFormat, benchmark: Benchmark, tmp_path: Any) -> None:
    gold(benchmark, 1)
    target = tmp_path / f"out{format.suffix}"
    if why := format.missing():
        pytest.skip(why)
    call_command("export", "--benchmark", "trial", "--format", format.name, "--output", str(target))
    assert target.read_bytes() == written(format, benchmark)
