"""The clients of batches, each against a fake of its service."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from pipeline.clients.base import ChatRequest, Message, ServiceError
from pipeline.clients.http import Patience, open_client
from pipeline.clients.limiter import Limiter
from pipeline.clients.models.anthropic import AnthropicChat
from pipeline.clients.models.base import Prices
from pipeline.clients.models.batches import Batches, BatchResult, batches_of
from pipeline.clients.models.gemini import GeminiChat
from pipeline.clients.models.openai import OpenAIChat
from tests.fakes.batches import FakeAnthropicBatches, FakeGeminiBatches, FakeOpenAIBatches
from tests.fakes.chat import FakeChat, Refusal
from tests.fakes.server import as_json

T = TypeVar("T")
KINDS: dict[str, tuple[type[Any], type[Any]]] = {
    "openai": (OpenAIChat, FakeOpenAIBatches),
    "anthropic": (AnthropicChat, FakeAnthropicBatches),
    "gemini": (GeminiChat, FakeGeminiBatches),
}
SCHEMA = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def capital(request: Any) -> object:
    turns = request.get("messages") or [{"content": turn["parts"][0]["text"]} for turn in request["contents"]]
    country = turns[-1]["content"]
    if country == "Atlantis":
        return Refusal({"message": "This prompt was flagged."})
    return {"capital": f"capital of {country}"}


def requests(*countries: str) -> dict[str, ChatRequest]:
    return {
        f"{place:064d}": ChatRequest("test", (Message("user", country),), "fake-1", schema=SCHEMA)
        for place, country in enumerate(countries)
    }


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def at(name: str, url: str, work: Callable[[Batches], Awaitable[T]], key: str = "k") -> T:
    async def main() -> T:
        async with open_client() as client:
            patience = Patience(tries=2, total=10, first_pause=0.01)
            chat = KINDS[name][0](client, Limiter(8), url=url, key=key, prices=Prices(1e6, 2e6), patience=patience)
            return await work(batches_of(chat))

    return asyncio.run(main())


def test_a_batch_is_answered_line_by_line_at_half_the_price(name: str) -> None:
    asked = requests("France", "Spain", "Atlantis", "Chile")
    with KINDS[name][1](capital, key="k") as model:
        model.expires = frozenset({3})

        async def work(batches: Batches) -> tuple[BatchResult | None, BatchResult | None]:
            made = await batches.create(asked, "token")
            return await batches.look(made, asked), await batches.look(made, asked)

        early, found = at(name, model.url, work)
        assert model.direct == []
    assert early is None, "the service is still at work"
    assert found is not None
    keys = list(asked)
    assert {key: json.loads(answer.text) for key, answer in found.answers.items()} == {
        keys[0]: {"capital": "capital of France"},
        keys[1]: {"capital": "capital of Spain"},
    }
    used = found.answers[keys[0]].usage
    assert used.money > 0
    assert used.money == pytest.approx((used.prompt_tokens + 2 * used.answer_tokens) / 2)
    assert "flagged" in found.unanswered[keys[2]]
    assert set(found.unanswered) == {keys[2], keys[3]}


def test_a_batch_is_found_again_and_no_other_is_taken_for_it(name: str) -> None:
    mine, others = requests("France", "Spain"), requests("Chile")
    with KINDS[name][1](capital, key="k") as model:

        async def work(batches: Batches) -> tuple[str, str, str]:
            before = await batches.find("mine", list(mine), LONG_AGO)
            made = await batches.create(mine, "mine")
            await batches.create(others, "other")
            return before, made, await batches.find("mine", list(mine), LONG_AGO)

        before, made, found = at(name, model.url, work)
    assert before == ""
    assert made == found != ""


def test_what_is_canceled_is_unanswered(name: str) -> None:
    asked = requests("France")
    with KINDS[name][1](capital, key="k") as model:

        async def work(batches: Batches) -> BatchResult | None:
            made = await batches.create(asked, "t")
            await batches.cancel(made)
            return await batches.look(made, asked)

        found = at(name, model.url, work)
    assert found is not None
    assert list(found.unanswered) == list(asked)
    assert not found.answers


def test_a_wrong_key_and_another_service_are_told(name: str) -> None:
    with KINDS[name][1](capital, key="k") as model:
        with pytest.raises(ServiceError, match="401"):
            at(name, model.url, lambda batches: batches.create(requests("France"), "t"), key="wrong")
        assert at(name, model.url, lambda batches: batches.works())
        model.first(as_json({"odd": 1}))
        with pytest.raises(ServiceError, match="no service of batches"):
            at(name, model.url, lambda batches: batches.look("b", requests("France")))


def test_a_server_without_batches_says_so() -> None:
    with FakeChat(key="k") as chat:
        assert not at("openai", chat.url, lambda batches: batches.works())


def test_gemini_without_keys_in_its_answers_is_read_in_order() -> None:
    asked = requests("France", "Atlantis", "Chile")
    with FakeGeminiBatches(capital, key="k") as model:
        model.tells_keys, model.looks = False, 0

        async def work(batches: Batches) -> BatchResult | None:
            return await batches.look(await batches.create(asked, "t"), asked)

        found = at("gemini", model.url, work)
    assert found is not None
    first, second, third = asked
    assert {key: json.loads(answer.text)["capital"] for key, answer in found.answers.items()} == {
        first: "capital of France",
        third: "capital of Chile",
    }
    assert list(found.unanswered) == [second]
