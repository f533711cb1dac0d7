"""Fetching pages: what can be read, what is refused, and what a hostile server can do."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from pipeline.clients.addresses import Allowed
from pipeline.clients.base import FetchedPage, PageRequest
from pipeline.clients.http import Patience
from pipeline.clients.limiter import Limiter
from pipeline.clients.pages import Absence, PageLimits, open_pages
from tests.contract.variants import variants
from tests.fakes.server import Reply, broken, cut_off, slow, too_many
from tests.fakes.site import SENTENCES, FakeSite, article, html, redirect

LOOPBACK = Allowed.of(["127.0.0.0/8"])
QUICK = PageLimits(seconds=0.7, patience=Patience(tries=2, total=5, first_pause=0.01))


def read(*urls: str, allowed: Allowed = LOOPBACK, limits: PageLimits = QUICK, **options: Any) -> Any:
    """What came of each address; of the only one, if there is one."""

    async def main() -> list[FetchedPage | Absence]:
        async with open_pages(Limiter(8), allowed=allowed, limits=limits, **options) as pages:
            return await asyncio.gather(*(pages.read(PageRequest("test", url)) for url in urls))

    found = asyncio.run(main())
    return found[0] if len(urls) == 1 else found


def reason(found: object) -> str:
    assert isinstance(found, Absence), found
    return found.reason


@pytest.fixture
def site() -> Iterator[FakeSite]:
    with FakeSite() as server:
        yield server


@pytest.fixture(params=variants("TEST_PAGE_URL"))
def address(request: pytest.FixtureRequest, site: FakeSite) -> str:
    return os.environ["TEST_PAGE_URL"] if request.param == "real" else f"{site.url}/"


def test_a_page_is_kept_with_its_text_and_source(address: str) -> None:
    before = dt.datetime.now(dt.UTC)
    page = read(address, limits=PageLimits())
    assert isinstance(page, FetchedPage), page
    assert page.text
    assert page.content_hash == sha256(page.text.encode()).hexdigest()
    assert before <= page.retrieved_at <= dt.datetime.now(dt.UTC)
    assert page.retrieved_at.utcoffset() == dt.timedelta(0)
    assert page.title
    assert page.site


# --- what can be read -----------------------------------------------------------------------------


def test_a_page_is_archived_as_it_came(site: FakeSite) -> None:
    page = read(f"{site.url}/")
    records = iter(ArchiveIterator(BytesIO(page.warc), check_digests="raise"))
    record = next(records)
    assert record.rec_type == "response"
    assert record.rec_headers["WARC-Target-URI"] == page.url
    assert record.rec_headers["WARC-Date"] == f"{page.retrieved_at:%Y-%m-%dT%H:%M:%SZ}"
    assert record.rec_headers["WARC-Payload-Digest"].startswith("sha1:")
    assert record.http_headers.get_statuscode() == "200"
    assert "html" in record.http_headers["Content-Type"]
    body = record.content_stream().read()
    assert len(body) == int(record.http_headers["Content-Length"])
    assert SENTENCES[0].encode() in body
    assert next(records, None) is None


def test_an_article_without_the_furniture_around_it(site: FakeSite) -> None:
    page = read(f"{site.url}/")
    assert all(sentence in page.text for sentence in SENTENCES)
    assert "About us" not in page.text
    assert (page.title, page.site, page.published) == ("The fort of Ema", "The Ema Courier", dt.date(2020, 5, 1))


@pytest.mark.parametrize("path", ["/report.pdf", "/notes.txt", "/packed"])
def test_pdf_plain_text_and_packed_pages(site: FakeSite, path: str) -> None:
    page = read(site.url + path)
    assert all(sentence in page.text.replace("\n", " ") for sentence in SENTENCES)
    assert page.site in {"127.0.0.1", "The Ema Courier"}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/latin", "Le château fut bâti en 1820, détruit par le feu."),
        ("/wrong-charset", "Das Schloß wurde 1820 gebaut."),
        ("/shift-jis", "江間の砦は1820年に建てられた。"),
        ("/nul", "The fort of Ema ÿ was built in 1820."),
    ],
)
def test_whatever_the_charset(site: FakeSite, path: str, said: str) -> None:
    page = read(site.url + path)
    assert said in page.text
    assert "\x00" not in page.text


def test_redirects_are_followed_to_where_the_text_is(site: FakeSite) -> None:
    page = read(f"{site.url}/moved#part")
    assert SENTENCES[0] in page.text
    assert page.url == f"{site.url}/"
    assert site.by_path["/robots.txt"] == 1


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "said", "lasting"),
    [
        ("/gone", "410", True),
        ("/nowhere", "404", True),
        ("/broken", "500", False),
        ("/picture", r"not a text \(image/png\)", True),
        ("/empty", "no readable text", True),
        ("/loop", "circle", True),
        ("/secret/page", "robots", True),
        ("/said-huge", "larger than 10240 KiB", True),
        ("/huge", "larger than 10240 KiB", True),
        ("/bomb", "larger than 10240 KiB", True),
        ("/drip", "within 0.7 seconds", False),
    ],
)
def test_what_cannot_be_read_says_why(site: FakeSite, path: str, said: str, lasting: bool) -> None:
    found = read(site.url + path)
    assert isinstance(found, Absence), found
    assert found.lasting == lasting
    assert re.search(said, found.reason)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "example.org",
        "",
        "http://[::1",
        "http://a:99999/",
        "http://exa mple.org/",
        "http://name:word@127.0.0.1/",
        "http://name@127.0.0.1/",
        "http://127.0.0.1/" + "x" * 5000,
        "http://127.0.0.1/" + "ü" * 500,  # 3,000 characters as it is sent
    ],
)
def test_only_plain_web_addresses_are_asked(url: str) -> None:
    assert "address" in reason(read(url))


def test_too_many_redirects() -> None:
    with FakeSite(lambda path: redirect(f"/{int(path[1:] or 0) + 1}")) as site:
        assert "redirects more than 5 times" in reason(read(f"{site.url}/0"))
        assert sum(site.by_path.values()) == 7


@pytest.mark.parametrize("to", ["ftp://127.0.0.1/", "file:///etc/passwd", "http://user:word@127.0.0.1/", "http://[bad"])
def test_a_redirect_is_checked_like_the_first_address(to: str) -> None:
    with FakeSite({"/": redirect(to)}) as site:
        assert "address" in reason(read(f"{site.url}/"))


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"])
def test_this_machine_is_not_fetched_from(site: FakeSite, host: str) -> None:
    found = read(f"http://{host}:{site.port}/", allowed=Allowed())
    assert "not on the public internet" in reason(found) or "could not be looked up" in reason(found)
    assert site.calls == []


def test_a_host_may_be_allowed_by_name() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with FakeSite() as site:
        addresses = [f"http://{host}:{site.port}/" for host in ("wiki.example.org", "other.example.org")]
        ours, other = read(*addresses, allowed=Allowed.of(["Wiki.Example.org"]), resolver=resolver)
    assert SENTENCES[0] in ours.text
    assert "other.example.org is not on the public internet" in reason(other)


def test_a_redirect_to_a_private_address_is_refused() -> None:
    """The public host may be asked, where it points to may not."""

    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with FakeSite() as inner, FakeSite({"/": redirect(f"http://inner.example.org:{inner.port}/")}) as outer:
        found = read(
            f"http://outer.example.org:{outer.port}/", allowed=Allowed.of(["outer.example.org"]), resolver=resolver
        )
        assert "inner.example.org is not on the public internet" in reason(found)
        assert inner.calls == []


def test_a_name_that_changes_its_address_gains_nothing() -> None:
    """DNS rebinding: the first look-up is harmless, each later one gives this machine."""
    asked: list[str] = []

    async def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["::1"] if len(asked) == 1 else ["127.0.0.1"]

    with FakeSite() as site:  # listens on 127.0.0.1 alone
        url = f"http://rebinding.example.org:{site.port}/"
        allowed = Allowed.of(["::1"])
        # One look-up a connection: the second one is refused, the first went to the address that was checked.
        found = read(url, allowed=allowed, resolver=resolver, robots=False)
        assert "not on the public internet" in reason(found) or "could not be reached" in reason(found)
        assert asked == ["rebinding.example.org"] * 2
        assert site.calls == []


def test_of_several_addresses_only_the_permitted_are_tried() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["10.0.0.1", "169.254.169.254", "::1", "127.0.0.1", "not an address"]

    with FakeSite() as site:
        page = read(
            f"http://many.example.org:{site.port}/",
            allowed=Allowed.of(["127.0.0.1", "::1"]),
            resolver=resolver,
        )
    assert SENTENCES[0] in page.text  # nobody listens at ::1, 127.0.0.1 answers


# --- robots.txt -----------------------------------------------------------------------------------


def test_robots_is_asked_once_a_site(site: FakeSite) -> None:
    read(*[f"{site.url}/?page={number}" for number in range(10)])
    read(f"{site.url}/notes.txt")
    assert site.by_path["/robots.txt"] == 1


def test_robots_can_be_left_aside(site: FakeSite) -> None:
    assert SENTENCES[0] in read(f"{site.url}/secret/page", robots=False).text
    assert site.by_path["/robots.txt"] == 0


def test_a_rule_for_us_counts_more_than_that_for_all() -> None:
    with FakeSite(robots="User-agent: *\nDisallow: /\n\nUser-agent: Touchstone\nDisallow: /secret/\n") as site:
        assert SENTENCES[0] in read(f"{site.url}/").text


@pytest.mark.parametrize(
    ("robots", "may"),
    [
        (Reply(404, b""), True),
        (Reply(403, b""), True),
        (Reply(500, b""), False),
        (redirect("/rules"), False),
        (Reply(body=b"\xff\xfe\x00<html>" * 100), True),
        (Reply(body=b"User-agent: *\nDisallow: /\n" + b"# a long file\n" * 100_000), False),
    ],
)
def test_robots_that_is_missing_broken_or_odd(robots: Reply, may: bool) -> None:
    pages = {
        "/": html(article()),
        "/rules": Reply(body=b"User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"}),
    }
    with FakeSite(pages, robots=robots) as site:
        assert isinstance(read(f"{site.url}/"), FetchedPage) is may


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [too_many("0"), broken(), broken(503), cut_off()])
def test_a_passing_fault_is_tried_again(site: FakeSite, fault: Reply) -> None:
    site.first(fault)
    assert SENTENCES[0] in read(f"{site.url}/", robots=False).text


def test_a_server_that_is_slow_or_away(site: FakeSite) -> None:
    site.first(slow(5))
    assert "within 0.7 seconds" in reason(read(f"{site.url}/", robots=False))
    site.stop()
    found = read(f"{site.url}/", robots=False)
    assert "could not be reached" in reason(found)
    assert not found.lasting


def test_a_name_that_nobody_knows() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    found = read("http://no.example.org/", resolver=resolver, robots=False)
    assert "could not be looked up" in reason(found)
    assert not found.lasting


@pytest.mark.parametrize(
    "headers",
    [{"Content-Encoding": "br"}, {"Content-Encoding": "gzip, gzip"}, {"Content-Encoding": "gzip"}],
)
def test_packing_that_was_not_asked_for(headers: dict[str, str]) -> None:
    page = Reply(body=b"no gzip at all", headers={"Content-Type": "text/html", **headers})
    with FakeSite({"/": page}) as site:
        assert "compress" in reason(read(f"{site.url}/"))


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"%PDF-1.4\nbroken", headers={"Content-Type": "application/pdf"}),
        Reply(body=b"<html>" + b"<div>" * 100_000, headers={"Content-Type": "text/html"}),
        Reply(body=b"\x00\x01\x02\x03" * 1000, headers={"Content-Type": "application/octet-stream"}),
        Reply(302, headers={}),
        Reply(204),
        Reply(302, headers={"Location": "http://\udcff".encode("utf-8", "surrogateescape").decode("latin-1")}),
    ],
)
def test_broken_pages_are_absent_and_nothing_worse(reply: Reply) -> None:
    with FakeSite({"/": reply}) as site:
        assert reason(read(f"{site.url}/", limits=PageLimits(patience=QUICK.patience)))


def test_many_pages_at_once() -> None:
    with FakeSite(lambda path: html(article(text=f"Page {path} tells of the fort. " * 8)), latency=0.05) as site:
        found = read(*[f"{site.url}/{number}" for number in range(64)], limits=PageLimits())
        assert all(isinstance(each, FetchedPage) for each in found)
        assert 1 < site.most_under_way <= 8
