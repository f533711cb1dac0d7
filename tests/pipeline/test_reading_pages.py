"""Text out of bytes: charsets, kinds of content, PDF, and what is left out."""

from __future__ import annotations

import codecs
import resource
import subprocess
import time
import zlib
from collections.abc import Callable

import pytest

from pipeline.clients.reading import PDF_START, ReadText, UnreadableError, decode, kind_of, read
from tests.fakes.site import SENTENCES, article, pdf


def text(content_type: str, body: bytes, **limits: float) -> ReadText:
    return read(content_type, body, "https://example.org/", **{"longest": 1_000_000, "seconds": 20, **limits})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        ("Schloß".encode(), ""),
        ("Schloß".encode(), "iso-8859-1"),  # declared wrongly
        ("Schloß".encode(), "no-such-charset"),
        ("Schloß".encode("latin-1"), "iso-8859-1"),
        ("Schloß".encode("latin-1"), ""),
        ("Schloß".encode("latin-1"), "utf-8"),  # declared wrongly
        (codecs.BOM_UTF8 + "Schloß".encode(), "latin-1"),
        (codecs.BOM_UTF16_LE + "Schloß".encode("utf-16-le"), ""),
        (codecs.BOM_UTF16_BE + "Schloß".encode("utf-16-be"), "utf-8"),
        ("Schloß".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_charsets(body: bytes, declared: str) -> None:
    assert decode(body, declared) == "Schloß"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shift_jis", "江間の砦"),
        ("euc-jp", "江間の砦"),
        ("iso-2022-jp", "江間の砦"),
        ("gb2312", "北京的城墙"),
        ("koi8-r", "крепость"),
        ("windows-1251", "крепость"),
    ],
)
def test_charsets_named_in_the_page(name: str, said: str) -> None:
    page = f'<html><head><meta charset="{name}"></head><body>{said}</body></html>'
    assert said in decode(page.encode(name))
    page = f'<meta http-equiv="Content-Type" content="text/html; charset={name}">{said}'
    assert said in decode(page.encode(name), "")


def test_the_word_of_windows_is_not_lost_where_a_page_says_latin() -> None:
    assert decode("“fort”".encode("cp1252"), "iso-8859-1") == "“fort”"


def test_a_damaged_page_keeps_its_charset() -> None:
    words = "Schloß für König " * 20
    assert decode(words.encode() + b"\xff") == words + "�"


def test_no_charset_that_could_smuggle() -> None:
    assert decode(b"+ADw-script+AD4-", "utf-7") == "+ADw-script+AD4-"


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("text/html; charset=utf-8", b"hello", "html"),
        ("application/xhtml+xml", b"<?xml", "html"),
        ("", b"  <!DOCTYPE html><p>", "html"),
        ("text/plain", b"<html><p>", "html"),
        ("text/plain", b"hello", "text"),
        ("text/markdown", b"# hello", "text"),
        ("text/csv", b"a,b", "text"),
        ("", b"hello", "text"),
        ("application/pdf", b"%PDF-1.7", "pdf"),
        ("application/octet-stream", b"%PDF-1.7", "pdf"),
        ("text/html", b"%PDF-1.7", "pdf"),
        ("application/pdf", b"<p>Please sign in", ""),
        ("application/octet-stream", b"MZ\x90", ""),
        ("text/plain", b"MZ\x90" + b"\x00" * 50, ""),
        ("text/css", b"p {}", ""),
        ("image/png", b"\x89PNG", ""),
        ("video/mp4", b"", ""),
    ],
)
def test_kinds_of_content(content_type: str, body: bytes, kind: str) -> None:
    assert kind_of(content_type, body) == kind


def test_a_pdf_gives_its_text_and_title() -> None:
    found = text("application/pdf", pdf(*SENTENCES, title="The fort"))
    assert found.text.split("\n") == list(SENTENCES)
    assert found.title == "The fort"


@pytest.mark.parametrize("spoil", [lambda file: file[: len(file) // 2], lambda file: file.replace(b"obj", b"jbo")])
def test_a_broken_pdf_is_read_or_refused_and_nothing_worse(spoil: Callable[[bytes], bytes]) -> None:
    try:
        assert text("application/pdf", spoil(pdf(*SENTENCES))).text
    except UnreadableError as error:
        assert "PDF" in str(error) or "no readable text" in str(error)


def test_a_pdf_is_given_up_when_its_time_is_over() -> None:
    # After the first page, so that what was read is not lost.
    assert SENTENCES[0] in text("application/pdf", pdf(*SENTENCES), seconds=0).text


def packed_pdf(drawn: bytes) -> bytes:
    """A PDF of one page whose content is packed."""
    packed = zlib.compress(drawn, 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    file = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in enumerate(objects, start=1))
    return file + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n0\n%%EOF"


def test_a_small_pdf_takes_neither_much_time_nor_memory_of_this_process() -> None:
    hostile = packed_pdf(b"BT /F1 12 Tf " + b"(a) Tj 0 -1 Td " * 600_000 + b"ET")
    assert len(hostile) < 40_000
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    with pytest.raises(UnreadableError, match="PDF could not be read"):
        text("application/pdf", hostile, seconds=1)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert time.monotonic() - began < 1 + PDF_START + 2
    assert after.ru_utime - before.ru_utime < 1
    assert after.ru_maxrss - before.ru_maxrss < 50 * 1024  # KiB


def test_the_pages_that_were_read_before_the_time_was_over_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    said = b'{"title": "A"}\n{"page": "first"}\n{"page": "sec'

    def late(*args: object, **options: object) -> None:
        raise subprocess.TimeoutExpired("python", 1, output=said)

    monkeypatch.setattr(subprocess, "run", late)
    assert text("application/pdf", pdf(*SENTENCES)) == ReadText("first", "A")


def test_nothing_that_a_database_refuses_comes_out() -> None:
    found = text("text/plain", "fort\x00 \r\nof\rEma \ud83d".encode("utf-8", "surrogatepass"))
    assert found.text.startswith("fort \nof\nEma")
    found.text.encode()
    assert "\x00" not in found.text


def test_a_page_with_a_false_date_has_none() -> None:
    assert text("text/html", article(published="2020-13-45").encode()).published is None
    assert text("text/html", article(published="2999-01-01").encode()).published is None


def test_a_long_text_is_cut() -> None:
    assert len(text("text/plain", b"word " * 10_000, longest=1000).text) <= 1000


@pytest.mark.parametrize(
    ("content_type", "body"), [("text/plain", b" \n "), ("text/html", b"<p></p>"), ("image/png", b"x")]
)
def test_what_has_no_text_says_so(content_type: str, body: bytes) -> None:
    with pytest.raises(UnreadableError, match=r"no readable text|not a text"):
        text(content_type, body)
