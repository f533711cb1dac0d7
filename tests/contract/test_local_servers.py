"""The client of chat completions against vLLM, Ollama and llama.cpp, each with its own ways."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pipeline.clients.assemble import ServiceSettings
from pipeline.clients.base import ChatAnswer, ChatRequest, Message, PromptRefusedError, ServiceError
from pipeline.clients.http import Patience, open_client
from pipeline.clients.limiter import Limiter
from pipeline.clients.models.base import forget_manners
from pipeline.clients.models.openai import OpenAIChat
from pipeline.clients.probe import probe_chat
from tests.fakes.local_servers import MODEL, FakeLlamaCpp, FakeOllama, FakeVllm, _LocalServer

SERVERS: dict[str, type[_LocalServer]] = {"vllm": FakeVllm, "ollama": FakeOllama, "llama.cpp": FakeLlamaCpp}
SCHEMA = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
ANSWER = {"capital": "Paris"}


@pytest.fixture(autouse=True)
def _anew() -> None:
    forget_manners()


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def server(name: str, *, key: str = "", **ways: Any) -> _LocalServer:
    made = SERVERS[name](lambda _: ANSWER, key=key)
    for way, value in ways.items():
        setattr(made, way, value)
    return made


def ask(url: str, key: str = "", **options: Any) -> ChatAnswer:
    question = (Message("user", "Which city is the capital of France?"),)
    request = ChatRequest(**{"step": "test", "messages": question, "model": MODEL, "schema": SCHEMA, **options})

    async def main() -> ChatAnswer:
        async with open_client() as client:
            patience = Patience(tries=4, total=10, first_pause=0.01)
            return await OpenAIChat(client, Limiter(8), url=url, key=key, patience=patience).complete(request)

    return asyncio.run(main())


def test_an_answer_of_a_given_form(name: str) -> None:
    with server(name) as fake:
        answer = ask(fake.url)
        [sent] = fake.requests
    assert json.loads(answer.text) == ANSWER
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["capital"]
    assert not answer.cut


def test_an_answer_that_ran_into_its_limit_is_cut(name: str) -> None:
    with server(name) as fake:
        assert ask(fake.url, max_tokens=1).cut


@pytest.mark.parametrize(("name", "tells"), [("vllm", True), ("ollama", False), ("llama.cpp", True)])
def test_log_probabilities_where_the_server_gives_them(name: str, tells: bool) -> None:
    with server(name) as fake:
        answer = ask(fake.url, logprobs=True)
        assert len(fake.calls) == 1
    assert "".join(token.text for token in answer.tokens) == (answer.text if tells else "")


@pytest.mark.parametrize(("name", "way"), [("vllm", "old"), ("ollama", "old"), ("llama.cpp", "no_grammar")])
def test_a_server_without_schemas_still_answers(name: str, way: str) -> None:
    options: dict[str, Any] = {way: True}
    with server(name, **options) as fake:
        assert json.loads(ask(fake.url).text) == ANSWER
        known = len(fake.calls)
        assert json.loads(ask(fake.url).text) == ANSWER
        again = len(fake.calls) - known
        last = json.dumps(fake.requests[-1])
    if name == "ollama":
        assert known == 1, "it passes over the schema in silence"
    else:
        assert "follows this JSON schema" in last
        assert again == 1, "what it refused is remembered"


@pytest.mark.parametrize(("name", "said"), [("vllm", "does not exist"), ("ollama", "try pulling it first")])
def test_an_unknown_model_is_a_wrong_setting_and_no_fault_of_the_prompt(name: str, said: str) -> None:
    with server(name) as fake:
        with pytest.raises(ServiceError, match=said) as raised:
            ask(fake.url, model="unheard-of")
        assert len(fake.calls) == 1
    assert not isinstance(raised.value, PromptRefusedError)


@pytest.mark.parametrize(("name", "said"), [("vllm", "maximum context length"), ("llama.cpp", "context size")])
def test_a_prompt_that_is_too_long_is_the_fault_of_the_prompt(name: str, said: str) -> None:
    with server(name, context=5) as fake:
        with pytest.raises(PromptRefusedError, match=said):
            ask(fake.url)
        assert len(fake.calls) == 1, "nothing of the form is given up for it"


@pytest.mark.parametrize("name", ["vllm", "llama.cpp"])
def test_a_wrong_key_is_told(name: str) -> None:
    with server(name, key="right") as fake, pytest.raises(ServiceError, match="401"):
        ask(fake.url, key="wrong")


def test_a_server_that_still_loads_its_model_is_waited_for() -> None:
    with server("llama.cpp", loading=2) as fake:
        assert json.loads(ask(fake.url).text) == ANSWER
        assert len(fake.calls) == 3


@pytest.mark.parametrize(
    ("name", "ways", "works"),
    [
        ("vllm", {}, [True, True, True, False]),
        ("vllm", {"old": True}, [True, False, True, False]),
        ("ollama", {}, [True, True, False, False]),
        ("llama.cpp", {}, [True, True, True, False]),
        ("llama.cpp", {"no_grammar": True}, [True, False, True, False]),
    ],
)
def test_the_test_button_says_what_works(name: str, ways: dict[str, Any], works: list[bool]) -> None:
    with server(name, **ways) as fake:
        found = asyncio.run(probe_chat(ServiceSettings(llm_url=fake.url, llm_model=MODEL)))
    assert [each.works for each in found] == works, found
