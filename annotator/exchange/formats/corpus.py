"""Pages for a local corpus: JSON lines, or a folder of text and HTML files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import trafilatura
from lxml import etree, html

from annotator.core import lines
from annotator.core.file_problems import BadRow, FileError, RowError, bad_row, complain
from annotator.core.released import storable
from annotator.exchange.formats.incoming import hash_of, parse_date

TEXT_SUFFIXES = (".txt",)
HTML_SUFFIXES = (".html", ".htm")
_SITE_WIDTH = 255  # characters: the column's length


@dataclass(frozen=True, slots=True)
class IncomingPage:
    """A page as it will be stored. ``line`` is the line, or the file's number in its folder, from 1."""

    line: int
    url: str
    title: str
    text: str
    site: str
    published: dt.date | None

    @property
    def content_hash(self) -> str:
        return hash_of([self.title, self.text, self.site, self.published.isoformat() if self.published else None])

    @property
    def size(self) -> int:
        return len(self.text)


def read_pages(path: Path | BinaryIO) -> Iterator[IncomingPage | BadRow]:
    """The pages of a JSON lines file (url, title, text, site, published), open or by its path, or of a folder. Raises
    ``FileError``."""
    if not isinstance(path, Path):
        yield from lines.read_objects(path, _from_object)
        return
    if path.is_dir():
        yield from _folder(path)
        return
    try:
        stream = path.open("rb")
    except OSError as error:
        raise FileError(f"{path} cannot be opened: {error.strerror}.") from None
    with stream:
        yield from lines.read_objects(stream, _from_object)


def _from_object(row: dict[str, Any], number: int) -> IncomingPage:
    complaints = [
        (name, f"expected a text, found {lines.kind_of(row[name])}.")
        for name in ("url", "title", "text", "site")
        if row.get(name) is not None and not isinstance(row[name], str)
    ]
    complain(complaints)
    published, complaints = parse_date(row.get("published"), "published")
    if not storable(row.get("url") or "").strip():
        complaints.append(("url", "required: passages are cited with their URL."))
    complain(complaints)
    return _page(
        number,
        url=row["url"],
        title=row.get("title") or "",
        text=row.get("text") or "",
        site=row.get("site") or "",
        published=published,
    )


def _page(number: int, *, url: str, title: str, text: str, site: str, published: dt.date | None) -> IncomingPage:
    text = storable(text).strip()
    if not text:
        raise RowError(("text", "blank: there is nothing to search."))
    return IncomingPage(
        line=number,
        url=storable(url).strip(),
        title=" ".join(storable(title).split()),
        text=text,
        site=(storable(site).strip() or (host_of(url)))[:_SITE_WIDTH],
        published=published,
    )


def host_of(url: str) -> str:
    """The host of a URL without "www."; "" if there is none."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


# --- folders --------------------------------------------------------------------------------------


def _folder(folder: Path) -> Iterator[IncomingPage | BadRow]:
    files = sorted(each for each in folder.rglob("*") if each.suffix.lower() in TEXT_SUFFIXES + HTML_SUFFIXES)
    if not files:
        raise FileError(f"The folder {folder} contains no .txt, .html or .htm files.")
    for number, path in enumerate(files, start=1):
        name = path.relative_to(folder).as_posix()
        try:
            if path.stat().st_size > lines.MAX_LINE_BYTES:
                raise RowError(("", "the file is larger than 16 MiB. Split it."))
            raw = path.read_bytes()
            read = _from_html if path.suffix.lower() in HTML_SUFFIXES else _from_text
            page = read(raw, name, number)
        except RowError as error:
            yield bad_row(number, "; ".join(reason for _, reason in error.complaints), name)
        except OSError as error:
            yield bad_row(number, f"it cannot be read: {error.strerror}.", name)
        else:
            yield page


def _from_text(raw: bytes, name: str, number: int) -> IncomingPage:
    text = lines.FileLine(1, 0, raw.removeprefix(b"\xef\xbb\xbf")).text()
    return _page(number, url=f"corpus:{name}", title=Path(name).stem, text=text, site="", published=None)


def _from_html(raw: bytes, name: str, number: int) -> IncomingPage:
    """The main text of a page, without menus and the like; all its text if no main part is found."""
    tree = trafilatura.load_html(raw) if raw.strip() else None
    if tree is None:
        raise RowError(("", "not valid HTML."))
    canonical = _first(tree, "//link[@rel='canonical']/@href")
    published, _ = parse_date(_first(tree, "//meta[@property='article:published_time']/@content") or None, "published")
    title = _first(tree, "//title//text()") or Path(name).stem
    site = _first(tree, "//meta[@property='og:site_name']/@content")
    text = trafilatura.extract(tree, include_comments=False, include_tables=True) or _all_text(tree)
    return _page(number, url=canonical or f"corpus:{name}", title=title, text=text, site=site, published=published)


def _first(tree: html.HtmlElement, path: str) -> str:
    found = tree.xpath(path)
    return str(found[0]).strip() if found else ""


def _all_text(tree: html.HtmlElement) -> str:
    etree.strip_elements(tree, "script", "style", "head", "noscript", with_tail=False)
    return "\n".join(" ".join(each.split()) for each in tree.itertext() if each.strip())
