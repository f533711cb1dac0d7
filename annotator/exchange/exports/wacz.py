"""Saved pages as WACZ 1.1.1 (specs.webrecorder.net/wacz), which web archive viewers open without a server: the WARC
records, an index by address (CDXJ), a list of the pages, and the hash of each part.

Nothing in it depends on when or where it is written, so the same pages give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from warcio.archiveiterator import ArchiveIterator

from annotator.exchange.queries.warc import ArchivedPage

WARC = "data.warc.gz"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a ZIP can hold


@dataclass(slots=True)
class _Part:
    """One file of the WACZ."""

    path: str
    size: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        name = self.path.rpartition("/")[2]
        return {"name": name, "path": self.path, "hash": f"sha256:{self.sha256}", "bytes": self.size}


def write_wacz(path: Path, pages: Iterable[ArchivedPage], *, title: str, created: str) -> int:
    """Write the pages; ``created`` is the time of the data set (ISO 8601). Returns how many. One page is held in memory
    at a time, and a line for each."""
    index: list[str] = []
    listed = [json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "Pages"})]
    # Records are packed already, and viewers read them in place: nothing is packed again.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        sha, offset = hashlib.sha256(), 0
        with archive.open(_info(f"archive/{WARC}"), "w", force_zip64=True) as file:
            for page in pages:
                file.write(page.record)
                sha.update(page.record)
                index.append(_index_line(page, offset))
                offset += len(page.record)
                listed.append(_page_line(page))
        parts = [_Part(f"archive/{WARC}", offset, sha.hexdigest())]
        parts.append(_write(archive, "indexes/index.cdx", "".join(f"{line}\n" for line in sorted(index))))
        parts.append(_write(archive, "pages/pages.jsonl", "".join(f"{line}\n" for line in listed)))
        package = {
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "software": "Touchstone",
            "title": title,
            "created": created,
            "resources": [part.as_json() for part in parts],
        }
        described = _write(archive, "datapackage.json", json.dumps(package, indent=2, ensure_ascii=False) + "\n")
        digest = {"path": described.path, "hash": f"sha256:{described.sha256}"}
        _write(archive, "datapackage-digest.json", json.dumps(digest, indent=2) + "\n")
    return len(index)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EARLIEST)
    info.external_attr = 0o644 << 16
    return info


def _write(archive: zipfile.ZipFile, name: str, text: str) -> _Part:
    data = text.encode("utf-8")
    archive.writestr(_info(name), data)
    return _Part(name, len(data), hashlib.sha256(data).hexdigest())


def _index_line(page: ArchivedPage, offset: int) -> str:
    """One line of CDXJ: the address turned around, the time, and where its record is."""
    record = next(iter(ArchiveIterator(BytesIO(page.record))))
    headers = record.http_headers
    found = {
        "url": page.url,
        "mime": (headers.get_header("Content-Type") or "").partition(";")[0].strip() or "unk",
        "status": headers.get_statuscode(),
        "digest": record.rec_headers.get_header("WARC-Payload-Digest"),
        "length": str(len(page.record)),
        "offset": str(offset),
        "filename": WARC,
    }
    return f"{surt(page.url)} {page.retrieved_at:%Y%m%d%H%M%S} {json.dumps(found)}"


def surt(url: str) -> str:
    """The address as indexes sort it: ``https://www.a.example:8080/B?c`` is ``example,a:8080)/b?c``."""
    parts = urlsplit(url.lower())
    host = (parts.hostname or "").removeprefix("www.")
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port not in (None, usual) else ""
    turned = ",".join(reversed(host.split("."))) if not host.replace(".", "").isdecimal() else host
    return f"{turned}{port}){parts.path or '/'}{'?' + parts.query if parts.query else ''}"


def _page_line(page: ArchivedPage) -> str:
    line = {"id": page.public_id, "url": page.url, "ts": f"{page.retrieved_at:%Y-%m-%dT%H:%M:%SZ}", "title": page.title}
    return json.dumps(line, ensure_ascii=False)
