"""A fetched page as it came, in the archive format of the web (WARC 1.1, ISO 28500), by warcio: so that the source of
evidence can still be examined years later, and with other tools."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from io import BytesIO

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

# They speak of how the body went over the wire; it is kept unpacked and whole.
_OF_THE_WIRE = frozenset({"content-encoding", "transfer-encoding", "content-length", "connection", "keep-alive"})
# They could hold what one visitor was given.
_OF_THE_VISITOR = frozenset({"set-cookie", "set-cookie2"})


def response_record(
    url: str, status: str, headers: Sequence[tuple[str, str]], body: bytes, retrieved_at: dt.datetime
) -> bytes:
    """One response record, compressed: a WARC file by itself, and joined to others a longer one. ``status`` is that of
    the answer ("200 OK"); the digests of block and payload are written with it. Without cookies."""
    left_out = _OF_THE_WIRE | _OF_THE_VISITOR
    kept = [(name, value) for name, value in headers if name.lower() not in left_out]
    kept.append(("Content-Length", str(len(body))))
    output = BytesIO()
    writer = WARCWriter(output, gzip=True, warc_version="1.1")
    record = writer.create_warc_record(
        url,
        "response",
        payload=BytesIO(body),
        length=len(body),
        http_headers=StatusAndHeaders(status, kept, protocol="HTTP/1.1"),
        warc_headers_dict={"WARC-Date": f"{retrieved_at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"},
    )
    writer.write_record(record)
    return output.getvalue()
