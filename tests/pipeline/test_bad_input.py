"""What models, searches and sites send when they go wrong, over HTTP, to every strategy: what is taken of it is
bounded, the notes name it, and the document goes on."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable
from typing import Any

import pypdf
import pytest

from pipeline import strategies
from pipeline.clients.assemble import ServiceSettings, open_services
from pipeline.clients.base import PageRequest, SearchRequest
from pipeline.clients.http import Patience
from pipeline.clients.pages import Absence, PageLimits
from pipeline.clients.reading import PDF_PAGES, read
from pipeline.clients.robots import forget_rules
from pipeline.prompts import shipped
from pipeline.runs.end_to_end import Whole, check
from pipeline.strategies.base import Service
from pipeline.suggestions import DocumentText
from pipeline.tools import Tools
from tests.fakes.chat import FakeChat
from tests.fakes.model import hits_for, plausible
from tests.fakes.search import FakeSerper, Hit
from tests.fakes.server import Call, Reply, as_json, cut_off
from tests.fakes.site import FakeSite, article, html, pdf
from tests.memory_ledger import MemoryMeter, MemoryStore

DOCUMENT = DocumentText(
    "Who was Ada Lovelace?",
    "Ada Lovelace was an English mathematician. She was born in London in 1815. She wrote notes on the engine.",
)
# Other test files may have registered strategies of their own by now.
OURS = {name: kind for name, kind in strategies.STRATEGIES.items() if kind.__module__.startswith("pipeline.")}
ASKING = [name for name, kind in OURS.items() if Service.CHAT in kind.needs]
SEARCHING = [name for name in ASKING if Service.SEARCH in OURS[name].needs]
BAD_ANSWERS = {
    "nothing": "",
    "HTML": "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>",
    "400 KB": "word " * 80_000,
    "400 KB of brackets": "[{" * 200_000,
    "another language": "我不能回答这个问题，因为今天的天气很好。" * 20,
}


class FakeThousand(FakeSerper):
    """A search that gives a thousand results whatever was asked for."""

    def answer(self, call: Call) -> Reply:
        rows = [{"title": hit.title, "link": hit.url, "snippet": hit.snippet} for hit in self.finds(call.json()["q"])]
        return as_json({"organic": rows})


def checked(
    name: str, chat: FakeChat, search: FakeSerper, site: FakeSite, *, meter: MemoryMeter | None = None
) -> Whole:
    """The document, checked by a strategy with these services."""
    strategy = strategies.get(name)
    settings = ServiceSettings(
        llm_url=chat.url, llm_model="fake", search_provider="serper", search_url=f"{search.url}/search",
        search_key="a-key", pages=True, pages_allow=("127.0.0.1",), calls_at_once=16,
        patience=Patience(tries=2, total=5, first_pause=0.01),
        page_limits=PageLimits(patience=Patience(tries=1, total=5)),
    )  # fmt: skip

    async def main() -> Whole:
        store = MemoryStore()
        async with open_services(settings, store, meter or MemoryMeter(store)) as services:
            tools = Tools(
                model="fake",
                chat=services.chat,
                search=services.search,
                pages=services.pages,
                prompts={each: shipped(each) for each in strategy.prompts},
            )
            return await check(strategy, DOCUMENT, tools)

    forget_rules()
    return asyncio.run(main())


def notes_of(whole: Whole) -> list[str]:
    parts: list[Any] = [whole.decomposition, *(found for _, found in whole.verified)]
    return [note.text for part in parts for note in part.notes]


def usual_search(site: FakeSite) -> FakeSerper:
    return FakeSerper(hits_for(site.url, 3), key="a-key")


def usual_site() -> FakeSite:
    return FakeSite(lambda path: html(article("A page")), robots="")


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BAD_ANSWERS)
@pytest.mark.parametrize("name", ASKING)
def test_answers_that_are_none_are_named_and_the_document_goes_on(name: str, kind: str) -> None:
    with usual_site() as site, usual_search(site) as search, FakeChat(lambda _: BAD_ANSWERS[kind]) as chat:
        began = time.process_time()
        whole = checked(name, chat, search, site)
        assert time.process_time() - began < 20
    assert "".join(each.text for each in whole.decomposition.sentences)
    assert notes_of(whole), "what was wrong is said"
    assert all(len(note) < 2_000 for note in notes_of(whole)), "and not quoted at length"


@pytest.mark.parametrize("name", ASKING)
def test_an_answer_that_stops_in_the_middle_is_asked_for_again(name: str) -> None:
    with usual_site() as site, usual_search(site) as search, FakeChat(plausible) as chat:
        chat.first(cut_off())
        whole = checked(name, chat, search, site)
    assert whole.decomposition.sentences
    assert not [note for note in notes_of(whole) if "could not answer" in note]


# --- searches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEARCHING)
def test_a_search_without_results_leaves_claims_without_evidence(name: str) -> None:
    with usual_site() as site, FakeSerper(lambda _: (), key="a-key") as search, FakeChat(plausible) as chat:
        whole = checked(name, chat, search, site)
    assert whole.verified
    assert all(found.evidence == () for _, found in whole.verified)


@pytest.mark.parametrize("name", SEARCHING)
def test_a_search_with_a_thousand_results_is_cut_to_what_was_asked_for(name: str) -> None:
    def thousand(query: str) -> list[Hit]:
        return hits_for(site.url, 1000)(query)

    with usual_site() as site, FakeThousand(thousand, key="a-key") as search, FakeChat(plausible) as chat:
        whole = checked(name, chat, search, site)
        pages = len([call for call in site.calls if call.path != "/robots.txt"])
        assert pages <= 20 * len(search.calls)
    assert whole.verified


def test_a_search_client_gives_no_more_than_was_asked_for() -> None:
    async def main() -> int:
        store = MemoryStore()
        settings = ServiceSettings(search_provider="serper", search_url=f"{search.url}/search", search_key="a-key")
        async with open_services(settings, store, MemoryMeter(store)) as services:
            assert services.search is not None
            return len(await services.search.search(SearchRequest("test", "fort", 7)))

    with FakeThousand(hits_for("https://a.example", 1000), key="a-key") as search:
        assert asyncio.run(main()) == 7


# --- pages ----------------------------------------------------------------------------------------

HTML = {"Content-Type": "text/html"}
PAGES: dict[str, tuple[Callable[[], FakeSite], str]] = {
    "robots": (lambda: FakeSite(lambda path: html(article()), robots="User-agent: *\nDisallow: /\n"), "robots"),
    "paywall": (lambda: FakeSite(lambda path: Reply(402, b"<html>Subscribe</html>", HTML), robots=""), "402"),
    "refused": (lambda: FakeSite(lambda path: Reply(403, b"<html>No</html>", HTML), robots=""), "403"),
}


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("name", SEARCHING)
def test_pages_that_cannot_be_had_leave_their_snippets(name: str, kind: str) -> None:
    make, _ = PAGES[kind]
    with make() as site, usual_search(site) as search, FakeChat(plausible) as chat:
        whole = checked(name, chat, search, site)
    assert whole.verified
    assert all(each.snapshot is None for _, found in whole.verified for each in found.evidence)


@pytest.mark.parametrize("kind", PAGES)
def test_why_there_is_no_page_is_named(kind: str) -> None:
    make, word = PAGES[kind]

    async def main(url: str) -> Any:
        store = MemoryStore()
        settings = ServiceSettings(pages=True, pages_allow=("127.0.0.1",))
        async with open_services(settings, store, MemoryMeter(store)) as services:
            assert services.pages is not None
            return await services.pages.read(PageRequest("test", url))

    forget_rules()
    with make() as site:
        found = asyncio.run(main(f"{site.url}/page"))
    assert isinstance(found, Absence)
    assert word in found.reason


def long_pdf(pages: int) -> bytes:
    """A PDF of so many pages, each with its number."""
    writer = pypdf.PdfWriter()
    for number in range(1, pages + 1):
        writer.append(io.BytesIO(pdf(f"This is page {number} of the report on the fort.")))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_of_a_long_pdf_the_first_300_pages_are_read() -> None:
    found = read("application/pdf", long_pdf(PDF_PAGES + 5), "https://a.example/", longest=1_000_000, seconds=60)
    assert PDF_PAGES == 300
    assert "This is page 300 of" in found.text
    assert "This is page 301 of" not in found.text


def test_a_long_pdf_is_given_up_when_its_time_is_over() -> None:
    content = long_pdf(PDF_PAGES)
    found = read("application/pdf", content, "https://a.example/", longest=1_000_000, seconds=0.0)
    assert "This is page 1 of" in found.text
    assert "This is page 300 of" not in found.text
