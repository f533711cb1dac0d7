"""What the clients work out without a network: waits, forms, bounds, dates, settings."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from pipeline.clients import local_models
from pipeline.clients.assemble import Services, ServiceSettings, described, open_services, problems
from pipeline.clients.base import ChatRequest, Message, RankRequest, SearchRequest, ServiceError
from pipeline.clients.http import RefusedError, endpoint, retry_after
from pipeline.clients.models.openai import strict_schema
from pipeline.clients.search.corpus import CorpusSearch
from pipeline.clients.search.results import day_of, listed, result, text_of
from pipeline.clients.tokens import about_messages, at_most
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.suggestions import Page
from tests.memory_ledger import MemoryMeter, MemoryStore

NOW = dt.datetime(2026, 11, 21, 12, 0, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 1.5 ", 1.5),
        ("-5", 0),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30),
        ("Saturday, 21-Nov-26 12:01:00 GMT", 60),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0),
        ("Sat, 21 Nov 2026 13:00:30 +0100", 30),
        ("", None),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("1e300", None),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(value: str, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
        ("http://localhost:11434/", "http://localhost:11434/v1/chat/completions"),
        ("https://api.example.org/v1", "https://api.example.org/v1/chat/completions"),
        ("https://api.example.org/api/paas/v4/", "https://api.example.org/api/paas/v4/chat/completions"),
        ("https://api.example.org/v1/chat/completions", "https://api.example.org/v1/chat/completions"),
    ],
)
def test_the_address_of_an_endpoint(given: str, meant: str) -> None:
    assert endpoint(given, "chat/completions") == meant


# --- chat -----------------------------------------------------------------------------------------


class Inner(BaseModel):
    title: str = "a field may be named like a keyword of the schema"
    default: int | None = None


class Form(BaseModel):
    items: list[Inner]
    label: str = "none"


class Free(BaseModel):
    values: dict[str, int]


def test_a_schema_as_strict_servers_want_it() -> None:
    schema, strict = strict_schema(Form.model_json_schema())
    assert strict
    assert schema["required"] == ["items", "label"]
    assert schema["additionalProperties"] is False
    inner = schema["$defs"]["Inner"]
    assert inner["required"] == list(inner["properties"]) == ["title", "default"]
    assert inner["additionalProperties"] is False
    assert "default" not in schema["properties"]["label"]
    assert Form.model_json_schema()["properties"]["label"]["default"] == "none"  # ours is left as it was


def test_a_schema_that_cannot_be_strict_is_sent_as_it_is() -> None:
    assert strict_schema(Free.model_json_schema()) == (Free.model_json_schema(), False)


@pytest.mark.parametrize(
    ("text", "least_per_token"),
    [
        ("The fort of Ema was built in 1820 by masons from the coast. " * 20, 3.5),
        ("3.14159 2.71828 1820-05-01 " * 20, 2.0),
        ("江間の砦は1820年に建てられた。" * 20, 0.9),
    ],
)
def test_the_bound_holds_for_prose_numbers_and_other_scripts(text: str, least_per_token: float) -> None:
    """Characters a token, as tokenizers of today have them at worst."""
    request = ChatRequest("s", (Message("system", "x"), Message("user", text)), "m")
    assert at_most(request) >= len(text) / least_per_token
    assert about_messages(request.messages) <= at_most(request)


# --- search ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2020-05-01", "2020-05-01"),
        ("2020-05-01T08:30:00", "2020-05-01"),
        ("2020-05-01T08:30:00+00:00", "2020-05-01"),
        ("May 1, 2020", "2020-05-01"),
        ("May  1,  2020", "2020-05-01"),
        ("1 May 2020", "2020-05-01"),
        ("September 9, 2020", "2020-09-09"),
        ("3 days ago", "2026-11-18"),
        ("2 hours ago", "2026-11-21"),
        ("1 week ago", "2026-11-14"),
        ("99999999999 years ago", None),
        ("yesterday", None),
        ("2020-02-31", None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_days_as_services_write_them(written: object, day: str | None) -> None:
    found = day_of(written, NOW.date())
    assert (found.isoformat() if found else None) == day


def test_texts_and_addresses_of_results() -> None:
    assert text_of("A <b>fort</b>  &amp; a\nmoat, 3 < 4\x00") == "A fort & a moat, 3 < 4"
    assert text_of(None) == text_of(["x"]) == ""
    assert result(url="javascript:alert(1)") is result(url="") is result(url=None) is result(url="http://[x") is None
    found = result(url="https://www.example.org/a", title="A")
    assert found
    assert found.site == "example.org"


def test_a_list_holds_each_address_once_and_nothing_known_to_be_late() -> None:
    day = dt.date(2020, 5, 1)
    found = [
        result(url="https://a.example/", published=day),
        result(url="https://b.example/"),
        result(url="https://b.example/", title="again"),
        None,
        result(url="https://c.example/", published=day - dt.timedelta(days=1)),
    ]
    request = SearchRequest("s", "q", count=2, before=day)
    assert [each.url for each in listed(found, request)] == ["https://b.example/", "https://c.example/"]


def test_a_corpus_is_searched_like_the_web() -> None:
    pages = [
        Page(
            f"https://example.org/{year}",
            f"Ema in {year}",
            f"In {year} the fort of Ema had {year % 100} soldiers.",
            "example.org",
            dt.date(year, 1, 1),
        )
        for year in range(1990, 2020)
    ]
    search = CorpusSearch(PassageIndex.build([*pages, Page("https://example.org/", "Ema", "The fort of Ema is old.")]))
    found = asyncio.run(search.search(SearchRequest("s", "fort of Ema soldiers", count=4)))
    assert len(found) == 4
    assert all("fort of Ema" in each.snippet and each.site in {"example.org", ""} for each in found)
    before = dt.date(1995, 1, 1)
    early = asyncio.run(search.search(SearchRequest("s", "fort of Ema in 1994", count=2, before=before)))
    assert early
    assert all(each.published is None or each.published < before for each in early)
    assert asyncio.run(search.search(SearchRequest("s", "quantum", count=4))) == []


# --- models on this machine -----------------------------------------------------------------------


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for sentence-transformers, which needs gigabytes: models that look at shared words."""
    made: dict[str, Any] = {}

    def words(text: str) -> set[str]:
        return set(text.lower().replace(".", "").replace("?", "").split())

    class SentenceTransformer:
        def __init__(self, folder: str, *, local_files_only: bool) -> None:
            made["kind"], made["local"] = "bi", local_files_only

        def encode(self, texts: list[str], *, normalize_embeddings: bool, show_progress_bar: bool) -> np.ndarray:
            known = sorted(set().union(*map(words, texts)))
            rows = np.array([[float(word in words(text)) for word in known] for text in texts])
            return rows / np.linalg.norm(rows, axis=1, keepdims=True) if normalize_embeddings else rows

    class CrossEncoder:
        def __init__(self, folder: str, *, local_files_only: bool) -> None:
            made["kind"], made["local"] = "cross", local_files_only

        def predict(self, pairs: list[tuple[str, str]], *, show_progress_bar: bool) -> np.ndarray:
            return np.array([len(words(first) & words(second)) for first, second in pairs], dtype=np.float32)

    module = types.ModuleType("sentence_transformers")
    module.__dict__.update(SentenceTransformer=SentenceTransformer, CrossEncoder=CrossEncoder)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    local_models._loaded.cache_clear()
    return made


def rank(folder: Path, *texts: str) -> list[float]:
    request = RankRequest("s", "When was the fort built?", texts)
    return list(asyncio.run(local_models.LocalRanker(str(folder)).scores(request)))


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"modules.json": "[]", "config.json": '{"architectures": ["BertModel"]}'}, "bi"),
        ({"config.json": '{"architectures": ["BertModel"]}'}, "bi"),
        ({"config.json": "{}"}, "bi"),
        ({"config.json": '{"architectures": ["BertForSequenceClassification"]}'}, "cross"),
    ],
)
def test_a_model_folder_ranks(tmp_path: Path, library: dict[str, Any], files: dict[str, str], kind: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    bees, fort = rank(tmp_path, "Bees dance.", "The fort was built in 1820.")
    assert fort > bees
    assert library == {"kind": kind, "local": True}
    assert rank(tmp_path) == []


def test_what_is_missing_for_a_model_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local_models._loaded.cache_clear()
    with pytest.raises(ServiceError, match=r"no sentence-transformers model.*SEMANTIC_MODEL"):
        rank(tmp_path, "a")
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ServiceError, match="pip install sentence-transformers"):
        rank(tmp_path, "a")


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"llm_url": "http://a"}, "LLM_MODEL"),
        ({"llm_url": "localhost:11434", "llm_model": "m"}, "LLM_URL is “localhost:11434”.*http://"),
        ({"embeddings_url": "http://a"}, "EMBEDDINGS_MODEL"),
        (
            {"search_provider": "google"},
            "google.*serper, brave, tavily, exa, jina, searxng, duckduckgo, mediawiki, corpus",
        ),
        ({"search_provider": "serper"}, "SEARCH_KEY"),
        ({"search_provider": "searxng"}, "SEARCH_URL"),
        ({"calls_at_once": 0}, "CALLS_AT_ONCE"),
    ],
)
def test_what_is_wrong_with_the_settings_is_said(settings: dict[str, Any], said: str) -> None:
    [problem] = problems(ServiceSettings(**settings))
    assert re.search(said, problem)

    async def main() -> None:
        async with open_services(ServiceSettings(**settings), MemoryStore(), MemoryMeter()):
            pass

    with pytest.raises(ValueError, match=said):
        asyncio.run(main())


def test_settings_without_a_service_give_none() -> None:
    async def main() -> None:
        async with open_services(ServiceSettings(search_provider="corpus"), MemoryStore(), MemoryMeter()) as services:
            assert services == Services()

    asyncio.run(main())
    assert problems(ServiceSettings()) == []
    assert described(ServiceSettings()) == {}


def test_keys_are_shown_nowhere() -> None:
    settings = ServiceSettings(
        llm_url="https://api.example.org/v1",
        llm_key="secret-1",
        llm_model="m-1",
        search_provider="serper",
        search_key="secret-2",
        rerank_url="http://localhost:8080",
        rerank_key="secret-3",
        embeddings_key="secret-4",
        pages=True,
    )
    assert described(settings) == {
        "chat": "m-1 at api.example.org",
        "search": "serper",
        "pages": "fetched, robots.txt respected",
        "ranker": "re-ranker at localhost",
    }
    assert "secret" not in repr(settings) + repr(described(settings))


def test_a_refusal_is_a_fault_of_the_service() -> None:
    error = RefusedError("It refused.", 400, "no")
    assert isinstance(error, ServiceError)
    assert (str(error), error.status, error.said) == ("It refused.", 400, "no")
