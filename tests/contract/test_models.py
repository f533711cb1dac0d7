"""The clients of other protocols than chat completions, each against its fake."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pipeline.clients.base import ChatAnswer, ChatRequest, Message, PromptRefusedError, ServiceError
from pipeline.clients.http import Patience, open_client
from pipeline.clients.limiter import Limiter
from pipeline.clients.models.anthropic import AnthropicChat
from pipeline.clients.models.base import Prices
from pipeline.clients.models.gemini import GeminiChat
from pipeline.clients.models.responses import ResponsesChat
from tests.fakes.chat import Refusal
from tests.fakes.models import FakeAnthropic, FakeGemini, FakeModel, FakeResponses
from tests.fakes.server import Reply, as_json, broken, too_many

KINDS: dict[str, tuple[type[Any], type[FakeModel]]] = {
    "responses": (ResponsesChat, FakeResponses),
    "anthropic": (AnthropicChat, FakeAnthropic),
    "gemini": (GeminiChat, FakeGemini),
}
SCHEMA = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
ANSWER = {"capital": "Paris"}
TURNS = (
    Message("system", "Answer as a JSON object."),
    Message("user", "Spain?"),
    Message("assistant", '{"capital": "Madrid"}'),
    Message("user", "France?"),
)


def request(**options: Any) -> ChatRequest:
    return ChatRequest(**{"step": "test", "messages": TURNS, "model": "fake-1", "schema": SCHEMA, **options})


def ask(name: str, url: str, question: ChatRequest | None = None, key: str = "k") -> ChatAnswer:
    async def main() -> ChatAnswer:
        async with open_client() as client:
            patience = Patience(tries=3, total=10, first_pause=0.01)
            chat = KINDS[name][0](client, Limiter(8), url=url, key=key, prices=Prices(1e6, 2e6), patience=patience)
            answer = await chat.complete(question or request())
            assert isinstance(answer, ChatAnswer)
            return answer

    return asyncio.run(main())


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_answer_of_a_given_form_with_its_usage(name: str) -> None:
    with KINDS[name][1](lambda _: ANSWER) as model:
        answer = ask(name, model.url)
    assert json.loads(answer.text) == ANSWER
    assert (answer.cut, answer.refused, answer.model) == (False, False, "fake-1")
    assert answer.usage.prompt_tokens == 11
    assert answer.usage.answer_tokens > 0
    assert answer.usage.money == 11 + 2 * answer.usage.answer_tokens


def test_all_turns_go_over_the_wire(name: str) -> None:
    with KINDS[name][1](lambda _: ANSWER) as model:
        ask(name, model.url, request(max_tokens=77, temperature=0.5, seed=3))
        [sent] = model.requests
    assert all(turn.content in json.dumps(sent, ensure_ascii=False).replace('\\"', '"') for turn in TURNS)
    assert "77" in json.dumps(sent)
    assert 0.5 in (sent.get("temperature"), sent.get("generationConfig", {}).get("temperature"))
    if name == "gemini":
        assert sent["generationConfig"]["seed"] == 3
    if name == "responses":
        assert sent["store"] is False


def test_words_without_a_form(name: str) -> None:
    with KINDS[name][1](lambda _: "Just words.") as model:
        assert ask(name, model.url, request(schema=None)).text == "Just words."


def test_an_answer_that_ran_into_its_limit_is_cut(name: str) -> None:
    with KINDS[name][1](lambda _: "word " * 100) as model:
        assert ask(name, model.url, request(schema=None, max_tokens=20)).cut


@pytest.mark.parametrize("name", ["responses", "gemini"])
def test_log_probabilities_belong_to_the_tokens(name: str) -> None:
    with KINDS[name][1](lambda _: ANSWER) as model:
        answer = ask(name, model.url, request(logprobs=True))
    assert "".join(token.text for token in answer.tokens) == answer.text
    assert {token.logprob for token in answer.tokens} == {-0.01}


FORM = {"responses": "schema", "anthropic": "tools", "gemini": "responseJsonSchema"}


def test_a_form_that_is_refused_is_told_in_words(name: str) -> None:
    with KINDS[name][1](lambda _: json.dumps(ANSWER), refuses=(FORM[name],)) as model:
        assert json.loads(ask(name, model.url).text) == ANSWER
        assert "follows this JSON schema" in json.dumps(model.requests[-1])


def test_a_temperature_that_is_refused_is_left_out(name: str) -> None:
    with KINDS[name][1](lambda _: ANSWER, refuses=("temperature",)) as model:
        ask(name, model.url)
        assert len(model.calls) == 2
        assert "temperature" not in json.dumps(model.requests[-1])


HELD_BACK = {
    "responses": {
        "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I would rather not."}]}],
        "status": "completed",
    },
    "anthropic": {"content": [{"type": "text", "text": "I would rather not."}], "stop_reason": "refusal"},
    "gemini": {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 11}},
}


def test_an_answer_that_is_held_back_is_refused(name: str) -> None:
    with KINDS[name][1](lambda _: ANSWER) as model:
        model.first(as_json(HELD_BACK[name]))
        assert ask(name, model.url).refused


def test_a_refused_prompt_is_the_fault_of_the_prompt(name: str) -> None:
    with KINDS[name][1](lambda _: Refusal({"message": "prompt is too long: 300000 tokens"})) as model:
        with pytest.raises(PromptRefusedError, match="too long"):
            ask(name, model.url)
        assert len(model.calls) == 1


def test_a_wrong_key_is_final_and_never_shown(name: str) -> None:
    with KINDS[name][1](lambda _: ANSWER) as model:
        with pytest.raises(ServiceError, match=r"401 invalid api key.*LLM_KEY") as raised:
            ask(name, model.url, key="my-own-key")
        assert len(model.calls) == 1
    assert "my-own-key" not in str(raised.value)


@pytest.mark.parametrize("fault", [too_many("0"), broken(529)])
def test_a_passing_fault_is_tried_again(name: str, fault: Reply) -> None:
    with KINDS[name][1](lambda _: ANSWER) as model:
        model.first(fault)
        assert json.loads(ask(name, model.url).text) == ANSWER


@pytest.mark.parametrize("odd", [[], {}, {"output": 3, "content": 3, "candidates": 3}, "words", None])
def test_an_answer_of_another_service_says_what_to_check(name: str, odd: object) -> None:
    with KINDS[name][1]() as model:
        model.first(as_json(odd))
        with pytest.raises(ServiceError, match="LLM_URL"):
            ask(name, model.url)
