"""Extracts readable text from HTML, PDF and plain text. Pure and CPU-bound."""

from __future__ import annotations

import codecs
import datetime as dt
import json
import logging
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pipeline.clients.answers import clean

# These libraries log every oddity of a page; the Absence says what matters to people.
for _name in ("trafilatura", "htmldate", "justext", "courlan"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

PDF_PAGES = 300
PDF_START = 5.0  # seconds that the process for a PDF has beyond its time, for starting
_PDF_PROCESS = Path(__file__).with_name("pdf_process.py")
HTML_LENGTH = 2_000_000  # characters that trafilatura is given; texts worth reading are far smaller
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_ROOT = re.compile(r"<(?:html|head|body|!doctype)\b", re.IGNORECASE)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Names that pages use for larger sets than they say (WHATWG encoding standard, section 4.2).
_MEANT = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}


class UnreadableError(Exception):
    """No text can be extracted. The message says why."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """What was read. ``published`` as far as the page says."""

    text: str
    title: str = ""
    site: str = ""
    published: dt.date | None = None


def kind_of(content_type: str, body: bytes) -> str:
    """``html``, ``pdf`` or ``text``; "" for what has no text. The content decides where the type says nothing."""
    named = content_type.partition(";")[0].strip().lower()
    start = body[:1024].lstrip()
    if start.startswith(b"%PDF-"):
        return "pdf"
    if named in {"text/html", "application/xhtml+xml"}:
        return "html"
    if named in {"", "application/octet-stream", "text/plain"} and start[:15].lower().startswith(
        (b"<!doctype html", b"<html")
    ):
        return "html"
    if (named and not named.startswith("text/")) or named in {"text/css", "text/javascript"}:
        return ""
    # A program that is called a text; a stray NUL in a page is none.
    is_binary = start.count(b"\x00") > 3 + len(start) // 20 and not start.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "" if is_binary else "text"


def decode(body: bytes, declared: str = "") -> str:
    """Bytes as text. A byte order mark counts most; then UTF-8 if nearly all of it is valid as such, whatever is
    declared (text of another kind hardly ever is); then the declared charset, that of the page's head, Windows-1252."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    inner = _META_CHARSET.search(body[:4096])
    names = [_codec(each) for each in (declared, inner[1].decode("ascii") if inner else "")]
    if not any(name.startswith(("iso2022", "utf-16", "utf-32", "hz")) for name in names):
        text = body.decode("utf-8", "replace")
        bad = text.count("�")
        other = len(text) - len(text.encode("ascii", "ignore"))
        if other >= 10 * bad:  # a damaged page has a few; in another charset nearly all are
            return text
    for name in filter(None, names):
        # A wrong declaration shows in marks of what could not be read; a few are a damaged page.
        text = body.decode(name, "replace")
        if text.count("�") <= len(text) // 100:
            return text
    return body.decode("cp1252", "replace")


def read(content_type: str, body: bytes, url: str, *, longest: int, seconds: float) -> ReadText:
    """The text of a page, at most ``longest`` characters of it. PDFs are given up after ``seconds``.

    Raises UnreadableError.
    """
    kind = kind_of(content_type, body)
    match = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", content_type, re.IGNORECASE)
    declared = match[1] if match else ""
    if kind == "html":
        found = _html(clean(decode(body, declared))[:HTML_LENGTH], url)
    elif kind == "pdf":
        found = _pdf(body, longest, seconds)
    elif kind == "text":
        found = ReadText(decode(body, declared))
    else:
        raise UnreadableError(f"not a text ({content_type.partition(';')[0] or 'of unknown kind'})")
    text = clean(found.text).replace("\r\n", "\n").replace("\r", "\n").strip()[:longest]
    if not text:
        raise UnreadableError("it contains no readable text")
    return ReadText(text, _line(found.title, 500), _line(found.site, 255), found.published)


def _html(page: str, url: str) -> ReadText:
    import trafilatura

    if not _ROOT.search(page):  # a piece of HTML, or text that is called so
        page = f"<html><body>{page}</body></html>"
    try:
        found = trafilatura.bare_extraction(
            page,
            url=url,
            with_metadata=True,
            include_comments=False,
            # Only dates that a page states; the others are guessed from its text.
            date_extraction_params={"original_date": True, "extensive_search": False, "max_date": _today()},
        )
        text = getattr(found, "text", "") or trafilatura.html2txt(page)
    except Exception as error:  # pages are broken in every possible way
        raise UnreadableError(f"its HTML could not be read ({type(error).__name__})") from None
    if found is None:
        return ReadText(text or "")
    assert not isinstance(found, dict)  # as_dict was not asked for
    return ReadText(text or "", found.title or "", found.sitename or "", _date(found.date))


def _pdf(body: bytes, longest: int, seconds: float) -> ReadText:
    """The text that a process of its own reads (``pdf_process.py``): a small file can take minutes and gigabytes."""
    command = [sys.executable, "-I", str(_PDF_PROCESS), str(PDF_PAGES), str(longest), str(seconds)]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, told three numbers
            command, input=body, capture_output=True, timeout=seconds + PDF_START, check=False
        )
        printed = done.stdout
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""
    said: dict[str, str] = {}
    texts: list[str] = []
    for line in printed.splitlines(keepends=True):
        if line.endswith(b"\n"):  # otherwise it was stopped within a line
            found = json.loads(line)
            said |= found
            texts += [found["page"]] if "page" in found else []
    if said.get("refused"):
        raise UnreadableError(said["refused"])
    if not any(texts):
        why = said.get("error") or "it needs more time or memory than a page may use"
        raise UnreadableError(f"its PDF could not be read ({why})")
    return ReadText("\n\n".join(texts), said.get("title", ""))


def _codec(name: str) -> str:
    try:
        known = codecs.lookup(name.strip()).name if name.strip() else ""
    except LookupError:
        return ""
    return "" if known in {"utf-7", "idna", "punycode"} else _MEANT.get(known, known)


def _line(text: str, longest: int) -> str:
    return " ".join(clean(text).split())[:longest]


def _today() -> str:
    return dt.datetime.now(dt.UTC).date().isoformat()


def _date(day: str | None) -> dt.date | None:
    try:
        return dt.date.fromisoformat(day) if day else None
    except ValueError:
        return None
