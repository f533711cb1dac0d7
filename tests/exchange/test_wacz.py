"""Saved pages as WACZ: read back by warcio, by the index alone, and with every hash checked."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from warcio.archiveiterator import ArchiveIterator

from annotator.core.models import Benchmark, Evidence, PageArchive, PageSnapshot
from annotator.core.vocabulary import Role
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.actions.making_releases import make_release
from annotator.exchange.actions.releases import ReleaseRequest, start_release
from annotator.exchange.exports.wacz import surt, write_wacz
from annotator.exchange.queries.warc import ArchivedPage, archived_pages
from annotator.exchange.releases.splits import Shares
from pipeline.clients.warc import response_record
from tests.factories import BenchmarkFactory, member
from tests.released import numbered

AT = dt.datetime(2026, 3, 1, 12, 30, 15, tzinfo=dt.UTC)


def record_of(url: str, body: bytes) -> bytes:
    return response_record(url, "200 OK", [("Content-Type", "text/html; charset=utf-8")], body, AT)


def page(number: int) -> ArchivedPage:
    url = f"https://www.pages.example/{number}?q={number}"
    return ArchivedPage(f"page{number}", url, f"Page “{number}”", AT, record_of(url, b"<p>Page %d</p>" % number))


def test_each_page_is_found_by_the_index_and_every_hash_is_right(tmp_path: Path) -> None:
    pages = [page(number) for number in (2, 1, 3)]
    path = tmp_path / "pages.wacz"
    assert write_wacz(path, pages, title="Trial", created="2026-03-02T00:00:00Z") == 3
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}
        data = {name: archive.read(name) for name in archive.namelist()}
    assert set(data) == {
        "archive/data.warc.gz",
        "indexes/index.cdx",
        "pages/pages.jsonl",
        "datapackage.json",
        "datapackage-digest.json",
    }
    package = json.loads(data["datapackage.json"])
    assert (package["profile"], package["wacz_version"]) == ("data-package", "1.1.1")
    for each in package["resources"]:
        content = data[each["path"]]
        assert (each["bytes"], each["hash"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
    digest = json.loads(data["datapackage-digest.json"])
    assert digest["hash"] == f"sha256:{hashlib.sha256(data['datapackage.json']).hexdigest()}"
    lines = data["indexes/index.cdx"].decode().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        _, stamp, found = line.split(" ", 2)
        place = json.loads(found)
        part = data["archive/data.warc.gz"][int(place["offset"]) :][: int(place["length"])]
        record = next(iter(ArchiveIterator(BytesIO(part), check_digests="raise")))
        assert record.rec_headers["WARC-Target-URI"] == place["url"]
        assert (stamp, place["mime"], place["status"]) == ("20260301123015", "text/html", "200")
        assert place["url"].rpartition("=")[2].encode() in record.content_stream().read()
    listed = [json.loads(line) for line in data["pages/pages.jsonl"].decode().splitlines()]
    assert listed[0]["format"] == "json-pages-1.0"
    assert [(each["id"], each["url"]) for each in listed[1:]] == [(each.public_id, each.url) for each in pages]


def test_the_same_pages_give_the_same_bytes(tmp_path: Path) -> None:
    pages = [page(number) for number in range(3)]
    for name in ("a", "b"):
        write_wacz(tmp_path / name, pages, title="Trial", created="2026-03-02T00:00:00Z")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.a.example/B/C?D=e", "example,a)/b/c?d=e"),
        ("http://a.example", "example,a)/"),
        ("http://a.example:8080/x", "example,a:8080)/x"),
        ("https://a.example:443/x", "example,a)/x"),
        ("http://127.0.0.1:99/x", "127.0.0.1:99)/x"),
    ],
)
def test_addresses_as_indexes_sort_them(url: str, key: str) -> None:
    assert surt(url) == key


# --- of a benchmark -------------------------------------------------------------------------------


def archive(evidence: Evidence, name: str) -> None:
    """Say that the evidence was cut from a page with this name."""
    url = f"https://pages.example/{name}"
    kept = PageSnapshot.objects.create(
        url=url, title=name, text=name, content_hash=hashlib.sha256(name.encode()).hexdigest(),
        retrieved_at=timezone.now(),
    )  # fmt: skip
    PageArchive.objects.create(snapshot=kept, record=record_of(url, name.encode()))
    Evidence.objects.filter(pk=evidence.pk).update(snapshot=kept)


@pytest.fixture
def benchmark(settings: Any, tmp_path: Path) -> Benchmark:
    settings.MEDIA_ROOT = tmp_path / "media"
    made = BenchmarkFactory()
    content = "\n".join(json.dumps(numbered(number)) for number in range(3))
    import_gold(benchmark=made, source=BytesIO(content.encode()))
    return made


def released(benchmark: Benchmark, *, with_pages: bool) -> set[str]:
    """The names of the files in a release, and the addresses of the pages in it."""
    wish = ReleaseRequest("1.0", "Trial", "CC-BY-4.0", ["Ada"], Shares(100, 0, 0), with_pages=with_pages)
    release = start_release(benchmark=benchmark, wish=wish, by=member(benchmark, Role.OWNER), here=True)
    make_release(release.pk)
    release.refresh_from_db()
    assert release.is_ready, release.message
    found = {each["path"] for each in release.files}
    with zipfile.ZipFile(release.file.path) as packed:
        names = [name for name in packed.namelist() if name.endswith("pages.wacz")]
        for name in names:
            with zipfile.ZipFile(BytesIO(packed.read(name))) as wacz:
                lines = wacz.read("pages/pages.jsonl").decode().splitlines()[1:]
                found |= {json.loads(line)["url"] for line in lines}
    return found


@pytest.mark.django_db
def test_a_release_holds_the_pages_of_its_gold_and_no_others(benchmark: Benchmark) -> None:
    evidence = Evidence.objects.filter(claim__sentence__annotation__document__benchmark=benchmark).first()
    assert evidence is not None
    archive(evidence, "gold")
    claim = evidence.claim
    other = Evidence.objects.create(claim=claim, order=99, passage="x", removed="undone")
    archive(other, "removed")
    found = released(benchmark, with_pages=True)
    assert "pages.wacz" in found
    assert "https://pages.example/gold" in found
    assert "https://pages.example/removed" not in found
    assert {each.title for each in archived_pages(benchmark)} == {"gold", "removed"}


@pytest.mark.django_db
def test_pages_are_left_out_unless_asked_for(benchmark: Benchmark) -> None:
    evidence = Evidence.objects.filter(claim__sentence__annotation__document__benchmark=benchmark).first()
    assert evidence is not None
    archive(evidence, "gold")
    assert "pages.wacz" not in released(benchmark, with_pages=False)
