"""The chat client against a server that speaks the protocol of OpenAI."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from pipeline.clients.base import ChatAnswer, ChatRequest, Message, PromptRefusedError, ServiceError
from pipeline.clients.http import Patience, open_client
from pipeline.clients.limiter import Limiter
from pipeline.clients.models import base as models
from pipeline.clients.models.base import Prices
from pipeline.clients.models.openai import OpenAIChat
from tests.contract.variants import variants
from tests.fakes.chat import FakeChat
from tests.fakes.server import Reply, as_json, broken, cut_off, malformed, slow, too_many

SCHEMA = {
    "type": "object",
    "title": "Answer",
    "properties": {"capital": {"type": "string", "default": ""}, "sure": {"type": "boolean"}},
    "required": ["capital"],
}
QUICK = Patience(tries=4, total=20, first_pause=0.01)


def request(text: str = "Which city is the capital of France?", **options: Any) -> ChatRequest:
    system = Message("system", "Answer as a JSON object with the fields “capital” and “sure”.")
    return ChatRequest(
        step="test", messages=(system, Message("user", text)), model=os.environ.get("LLM_MODEL", "fake-1"), **options
    )


def with_chat(url: str, work: Callable[[OpenAIChat], Awaitable[Any]], **options: Any) -> Any:
    async def main() -> Any:
        async with open_client() as client:
            return await work(OpenAIChat(client, Limiter(8), url=url, **{"patience": QUICK, **options}))

    return asyncio.run(main())


def ask(url: str, question: ChatRequest | None = None, **options: Any) -> ChatAnswer:
    answer = with_chat(url, lambda chat: chat.complete(question or request()), **options)
    assert isinstance(answer, ChatAnswer)
    return answer


@pytest.fixture(params=variants("LLM_URL", "LLM_MODEL"))
def server(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    if request.param == "real":
        yield {"url": os.environ["LLM_URL"], "key": os.environ.get("LLM_KEY", "")}
        return
    with FakeChat(lambda _: {"capital": "Paris", "sure": True}, key="a key") as chat:
        yield {"url": chat.url, "key": "a key"}


def test_an_answer_of_a_given_form(server: dict[str, str]) -> None:
    answer = ask(server["url"], request(schema=SCHEMA, seed=7, max_tokens=200), key=server["key"])
    assert json.loads(answer.text)["capital"] == "Paris"
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.answer_tokens > 0
    assert answer.model
    assert not answer.cut


def test_log_probabilities_belong_to_the_tokens(server: dict[str, str]) -> None:
    answer = ask(server["url"], request(logprobs=True, max_tokens=200), key=server["key"])
    if answer.tokens:  # not every server has them
        assert "".join(token.text for token in answer.tokens).strip() == answer.text.strip()
        assert all(token.logprob <= 0 for token in answer.tokens)
    else:
        assert server["url"] == os.environ.get("LLM_URL")


def test_an_answer_that_ran_into_its_limit_is_cut(server: dict[str, str]) -> None:
    assert ask(server["url"], request(max_tokens=2), key=server["key"]).cut


# --- what is sent ---------------------------------------------------------------------------------


def test_the_request_as_it_goes_over_the_wire() -> None:
    with FakeChat(key="a key") as chat:
        ask(
            chat.url,
            request(temperature=0.3, seed=7, max_tokens=20, schema=SCHEMA, logprobs=True),
            key="a key",
        )
        [body] = chat.requests
        assert chat.calls[0].headers["user-agent"].startswith("Touchstone/")
    assert body["temperature"] == 0.3
    assert (body["seed"], body["max_tokens"], body["logprobs"]) == (7, 20, True)
    assert [each["role"] for each in body["messages"]] == ["system", "user"]
    form = body["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["required"] == ["capital", "sure"]
    assert form["schema"]["additionalProperties"] is False
    assert "default" not in form["schema"]["properties"]["capital"]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_people_write_the_address_in_several_ways(path: str) -> None:
    with FakeChat() as chat:
        assert ask(chat.url + path).text == "Yes."


# --- what servers do not take ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refuses", "form"),
    [
        ((), "json_schema"),
        (("json_schema",), "json_object"),
        (("json_schema", "json_object"), None),
        (("response_format",), None),
    ],
)
def test_the_form_falls_back_and_is_remembered(refuses: tuple[str, ...], form: str | None) -> None:
    async def twice(chat: OpenAIChat) -> None:
        await chat.complete(request(schema=SCHEMA))
        await chat.complete(request(schema=SCHEMA))

    with FakeChat(lambda _: {"capital": "Paris"}, refuses=refuses) as chat:
        with_chat(chat.url, twice)
        *refused, _, last = chat.requests
    assert len(refused) == {"json_schema": 0, "json_object": 1, None: 2}[form]
    assert last.get("response_format", {}).get("type") == form
    if form != "json_schema":  # then the model is told what the server cannot hold it to
        assert '"capital"' in last["messages"][0]["content"]


@pytest.mark.parametrize("name", ["max_tokens", "logprobs", "seed", "temperature"])
def test_a_parameter_that_is_refused_is_left_out_and_the_form_kept(name: str) -> None:
    with FakeChat(refuses=(name,)) as chat:
        ask(chat.url, request(schema=SCHEMA, seed=1, logprobs=True, max_tokens=9))
        first, last = chat.requests
    assert name in first
    assert name not in last
    assert last["response_format"]["type"] == "json_schema"
    assert last.get("max_completion_tokens" if name == "max_tokens" else "max_tokens") == 9


def test_several_refusals_are_met_one_by_one() -> None:
    with FakeChat(refuses=("max_tokens", "temperature", "logprobs", "json_schema")) as chat:
        assert ask(chat.url, request(schema=SCHEMA, logprobs=True)).text == "Yes."
        assert len(chat.calls) == 5


def test_a_prompt_that_is_too_long_is_no_matter_of_form() -> None:
    said = "This model's maximum context length is 4096 tokens. Reduce the length of the messages or max_tokens."
    with FakeChat() as chat:
        chat.first(as_json({"error": {"message": said, "code": "context_length_exceeded"}}, 400))
        with pytest.raises(PromptRefusedError, match="maximum context length"):
            ask(chat.url, request(schema=SCHEMA))
        assert len(chat.calls) == 1


REFUSALS = [
    ({"message": "The response was filtered: content management policy.", "code": "content_filter"}, 400, "filter"),
    ({"message": "This model's maximum context length is 4096 tokens."}, 400, "too long"),
    ({"message": "Something about it displeases us."}, 400, "displeases"),
]


@pytest.mark.parametrize(("error", "status", "words"), REFUSALS, ids=["filter", "length", "unnamed"])
def test_a_refused_prompt_is_the_fault_of_the_prompt(error: dict[str, str], status: int, words: str) -> None:
    """Neither key nor address are named, since every other prompt goes through."""
    with FakeChat(lambda _: {"capital": "Paris"}) as chat:
        chat.first(*[as_json({"error": error}, status)] * 3)
        with pytest.raises(PromptRefusedError, match=words) as raised:
            ask(chat.url, request(schema=SCHEMA))
        assert "LLM_KEY" not in str(raised.value)
        if words != "displeases":
            assert len(chat.calls) == 1


@pytest.mark.parametrize(
    ("said", "status"), [("Incorrect API key provided", 400), ("The model `m` does not exist", 400), ("No.", 403)]
)
def test_a_refusal_of_key_or_model_is_no_fault_of_the_prompt(said: str, status: int) -> None:
    with FakeChat() as chat:
        chat.first(*[as_json({"error": {"message": said}}, status)] * 3)
        with pytest.raises(ServiceError, match="LLM_URL") as raised:
            ask(chat.url, request(schema=SCHEMA))
        assert not isinstance(raised.value, PromptRefusedError)


def forms(chat: FakeChat) -> list[str]:
    return [each.get("response_format", {}).get("type", "words") for each in chat.requests]


def test_one_stray_refusal_lowers_the_form_of_one_request_alone() -> None:
    async def twice(chat: OpenAIChat) -> None:
        await chat.complete(request(schema=SCHEMA))
        await chat.complete(request("And of Spain?", schema=SCHEMA))

    with FakeChat(lambda _: {"capital": "Paris"}) as chat:
        chat.first(as_json({"error": {"message": "Bad request"}}, 400))
        with_chat(chat.url, twice)
        assert forms(chat) == ["json_schema", "json_object", "json_schema"]


def test_a_server_is_asked_again_for_what_it_once_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeChat(lambda _: {"capital": "Paris"}, refuses=("json_schema",)) as chat:
        ask(chat.url, request(schema=SCHEMA))
        ask(chat.url, request("And of Spain?", schema=SCHEMA))
        chat.refuses = ()
        monkeypatch.setattr(models, "PROBE_AFTER", -1.0)
        ask(chat.url, request("And of Italy?", schema=SCHEMA))
        assert forms(chat) == ["json_schema", "json_object", "json_object", "json_schema"]


# --- what answers look like -----------------------------------------------------------------------


def choice(**values: Any) -> Reply:
    return as_json({"choices": [{"index": 0, "finish_reason": "stop", **values}]})


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (choice(message={"content": None, "refusal": "I would rather not."}), "I would rather not."),
        (choice(message={"content": [{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}]}), "Paris"),
        (choice(message={"content": "Pa\x00ris\ud83d"}), "Paris"),
        (choice(message={"content": None}), ""),
        (choice(text="Paris"), "Paris"),
    ],
)
def test_answers_of_all_kinds_are_read(reply: Reply, text: str) -> None:
    with FakeChat() as chat:
        chat.first(reply)
        assert ask(chat.url).text == text


@pytest.mark.parametrize(
    "reply",
    [
        choice(message={"content": None, "refusal": "I would rather not."}),
        as_json({"choices": [{"index": 0, "finish_reason": "content_filter", "message": {"content": ""}}]}),
    ],
)
def test_an_answer_that_is_held_back_is_refused(reply: Reply) -> None:
    with FakeChat() as chat:
        chat.first(reply)
        assert ask(chat.url).refused
        assert not ask(chat.url).refused


def test_the_older_form_of_log_probabilities_is_read() -> None:
    with FakeChat() as chat:
        chat.first(choice(message={"content": "Yes"}, logprobs={"tokens": ["Y", "es"], "token_logprobs": [None, -0.5]}))
        [token] = ask(chat.url, request(logprobs=True)).tokens
    assert (token.text, token.logprob) == ("es", -0.5)


def test_tokens_are_estimated_where_the_server_does_not_tell_them() -> None:
    prices = Prices(prompt=2.0, answer=8.0)
    with FakeChat(lambda _: "word " * 40, usage=False) as chat:
        usage = ask(chat.url, request("x" * 400), prices=prices).usage
    assert 100 < usage.prompt_tokens < 150
    assert 40 <= usage.answer_tokens <= 60
    assert usage.money == pytest.approx((2 * usage.prompt_tokens + 8 * usage.answer_tokens) / 1e6)


@pytest.mark.parametrize("value", [{"choices": []}, {"hello": 1}, [1], {"choices": [{"message": "x"}]}])
def test_an_answer_of_another_service_says_what_to_check(value: object) -> None:
    with FakeChat() as chat:
        chat.first(as_json(value))
        with pytest.raises(ServiceError, match=r"language model \(127\.0\.0\.1\).*LLM_URL"):
            ask(chat.url)


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [too_many(), too_many("0"), broken(), broken(503), malformed(), cut_off()])
def test_a_passing_fault_is_tried_again(fault: Reply) -> None:
    with FakeChat() as chat:
        chat.first(fault, fault)
        assert ask(chat.url).text == "Yes."
        assert len(chat.calls) == 3


def test_retry_after_is_waited_for() -> None:
    async def timed(chat: OpenAIChat) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await chat.complete(request())
        return loop.time() - began

    with FakeChat() as chat:
        chat.first(too_many("1"))
        assert 1.0 <= with_chat(chat.url, timed) < 3


def test_a_wait_longer_than_our_patience_is_not_begun() -> None:
    with FakeChat() as chat:
        chat.first(too_many("3600"))
        with pytest.raises(ServiceError, match=r"asked once: 429 Too many.*wait 3600 seconds.*CALLS_AT_ONCE"):
            ask(chat.url)


def test_a_late_answer_is_given_up() -> None:
    with FakeChat() as chat:
        chat.first(slow(5), slow(5))
        with pytest.raises(ServiceError, match=r"no answer within 0\.2 seconds"):
            ask(chat.url, seconds=0.2, patience=Patience(tries=2, first_pause=0.01))


def test_a_service_that_stays_broken_is_named_with_what_to_do() -> None:
    with FakeChat() as chat:
        chat.first(*[broken()] * 4)
        with pytest.raises(ServiceError, match=r"model \(127\.0\.0\.1\).*4 times: 500 Something went wrong\..*LLM_URL"):
            ask(chat.url)
        assert len(chat.calls) == 4


def test_nobody_at_the_address() -> None:
    with FakeChat() as chat:
        url = chat.url
    with pytest.raises(ServiceError, match="could not answer"):
        ask(url)


def test_a_wrong_key_is_final_and_never_shown() -> None:
    with FakeChat(key="right") as chat:
        with pytest.raises(ServiceError, match="401 Incorrect API key provided: Bearer …") as caught:
            ask(chat.url, key="sk-very-secret")
        assert len(chat.calls) == 1
    assert "sk-very-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("key", ["sk-very\nsecret", "sk-very“secret"])
def test_a_key_that_cannot_be_sent_is_not_shown_either(key: str) -> None:
    with FakeChat() as chat:
        with pytest.raises(ServiceError, match="cannot be called") as caught:
            ask(chat.url, key=key)
        assert chat.calls == []
    assert "very" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_empty_account_is_final() -> None:
    with FakeChat() as chat:
        chat.first(as_json({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, 429))
        with pytest.raises(ServiceError, match="quota"):
            ask(chat.url)
        assert len(chat.calls) == 1


def test_a_fault_within_an_answer_of_200_is_a_fault() -> None:
    with FakeChat() as chat:
        chat.first(as_json({"error": {"code": 503, "message": "The model is overloaded"}}))
        assert ask(chat.url).text == "Yes."


def test_no_more_calls_at_once_than_the_limiter_gives() -> None:
    async def many(chat: OpenAIChat) -> None:
        await asyncio.gather(*(chat.complete(request(str(number))) for number in range(40)))

    with FakeChat(latency=0.02) as chat:
        with_chat(chat.url, many)
        assert len(chat.calls) == 40
        assert 1 < chat.most_under_way <= 8


def test_a_fake_copes_with_many_calls_at_once() -> None:
    """benchmarks/pipeline.py measures against it."""

    async def main() -> None:
        async with open_client() as client:
            model = OpenAIChat(client, Limiter(64), url=chat.url)
            await asyncio.gather(*(model.complete(request(str(number))) for number in range(128)))

    with FakeChat(latency=1.0) as chat:
        asyncio.run(main())
        assert len(chat.calls) == 128  # none was tried again
        assert 8 < chat.most_under_way <= 64  # how many depends on how busy the machine is
