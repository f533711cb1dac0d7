"""A model is asked for an answer of a form, and what it says is read, whatever it is."""

from __future__ import annotations

import json
import string
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel

from pipeline.asking import NoAnswerError, ask, read
from pipeline.clients.base import ChatAnswer, PromptRefusedError, ServiceError
from pipeline.prompts import Prompt
from pipeline.tools import MissingServiceError, Tools
from tests.scripted import UNREADABLE, ScriptedChat, chat_of, run, turns


class Kind(StrEnum):
    FACT = "fact"
    OPINION = "opinion"


class Item(BaseModel):
    text: str
    kind: Kind


class Items(BaseModel):
    items: list[Item]


class Anything(BaseModel):
    any: Any


class Claims(BaseModel):
    claims: list[str]


class Verdict(BaseModel):
    label: Literal["true", "false"]
    reason: str | None = None


PROMPT = Prompt(name="test/step", text="=== user ===\nWhat of {{ text }}?")


def tools(*answers: Any) -> Tools:
    return Tools(model="m", chat=ScriptedChat({"step": turns(*answers)}), prompts={"test/step": PROMPT}, seed=7)


def asked(given: Tools, form: type[BaseModel] = Claims, **fields: Any) -> Any:
    return run(ask(given, step="step", prompt="test/step", fields={"text": "it"}, form=form, **fields))


def test_the_request_carries_the_schema_and_what_the_run_set() -> None:
    given = tools({"claims": ["One."]})
    answer = asked(given)
    assert answer.value == Claims(claims=["One."])
    assert answer.calls == 1
    [request] = chat_of(given).requests
    assert (request.step, request.model, request.seed, request.temperature) == ("step", "m", 7, 0.0)
    assert request.schema == Claims.model_json_schema()
    assert request.messages[-1].content == "What of it?"


def test_an_unreadable_answer_is_asked_again_with_the_error() -> None:
    given = tools({"label": "perhaps"}, {"label": "true"})
    answer = asked(given, Verdict)
    assert (answer.value.label, answer.calls) == ("true", 2)
    again = chat_of(given).requests[1].messages
    assert [message.role for message in again] == ["user", "assistant", "user"]
    assert again[1].content == '{"label": "perhaps"}'
    assert "label" in again[2].content
    assert "'true' or 'false'" in again[2].content


def test_after_the_last_try_the_step_is_told() -> None:
    given = tools(UNREADABLE, UNREADABLE)
    with pytest.raises(NoAnswerError, match=r"after 2 tries: there is no JSON object") as raised:
        asked(given)
    assert raised.value.calls == 2


@pytest.mark.parametrize(
    "refusal", [PromptRefusedError("The filter refused it."), ChatAnswer("I would rather not.", refused=True)]
)
def test_a_refused_prompt_is_not_asked_again(refusal: Any) -> None:
    with pytest.raises(NoAnswerError, match="refused") as raised:
        asked(tools(refusal))
    assert raised.value.calls == 1


def test_a_cut_answer_says_so_and_an_empty_turn_is_not_sent_back() -> None:
    given = tools(ChatAnswer(text='{"claims": ["On', cut=True), "", {"claims": []})
    assert asked(given, attempts=3).calls == 3
    assert "cut off at its length limit" in chat_of(given).requests[1].messages[-1].content
    assert chat_of(given).requests[2].messages[-2].content


@pytest.mark.parametrize("start", ['{"items": ', "```json\n{'items': ".replace("'", '"'), ""])
def test_of_a_cut_list_the_complete_items_are_kept(start: str) -> None:
    said = start + '[{"text": "One.", "kind": "fact"}, {"text": "Two.", "kind": "opinion"}, {"text": "Thr'
    answer = asked(tools(ChatAnswer(said, cut=True)), Items)
    assert [item.text for item in answer.value.items] == ["One.", "Two."]
    assert (answer.calls, answer.cut) == (1, True)


def test_of_a_list_that_ends_too_early_without_being_cut_nothing_is_kept() -> None:
    said = '{"items": [{"text": "One.", "kind": "fact"}, {"text": "Thr'
    with pytest.raises(NoAnswerError):
        asked(tools(said, said), Items)


def test_what_the_service_raises_goes_through() -> None:
    with pytest.raises(ServiceError, match="down"):
        asked(tools(ServiceError("The model is down.")))
    with pytest.raises(MissingServiceError, match="Services"):
        asked(Tools(prompts={"test/step": PROMPT}))


@pytest.mark.parametrize(
    "text",
    [
        '{"claims": ["One.", "Two."]}',
        'Sure, here it is:\n```json\n{"claims": ["One.", "Two."]}\n```\nI hope that helps {or not}.',
        '{"claims": ["One.", "Two.",],}',
        "{'claims': ['One.', 'Two.']}",
        "{claims: ['One.', \"Two.\"]}",
        "{“claims”: [“One.”, “Two.”]}",
        '["One.", "Two."]',
        '[\n"One."\n"Two."\n]',
        '<think>Maybe {"claims": ["Wrong."]}?</think>{"claims": ["One.", "Two."]}',
        'Of the set {a, b} I take {"claims": ["One.", "Two."]}',
        '{"answer": {"claims": ["One.", "Two."]}}',
        '{"claims": ["One.", "Two\\u0000."]}',
    ],
)
def test_what_models_write_around_json_is_read(text: str) -> None:
    assert read(text, Claims).claims == ["One.", "Two."]


def test_quotation_marks_within_a_text_stay() -> None:
    assert read("{'claims': ['The dogs' home is Ada's.', 'She said \"no\".']}", Claims).claims == [
        "The dogs' home is Ada's.",
        'She said "no".',
    ]
    assert read('{"claims": ["He sang "Hey Jude" in 1968."]}', Claims).claims == ['He sang "Hey Jude" in 1968.']
    assert read(r"""{'claims': ['It\'s \u00e9\n\"so\"']}""", Claims).claims == ['It\'s é\n"so"']


def test_pythons_constants_are_read_and_never_run() -> None:
    assert read("{'label': 'true', 'reason': None}", Verdict).reason is None
    [claim] = read("{'claims': [__import__('os').getcwd()]}", Claims).claims
    assert "getcwd()" in claim


@pytest.mark.parametrize(
    "text",
    [
        '{"claims": ["One.", "Tw',
        '{"claims": ["One.", "Two."',
        '```json\n{"claims": ["One."], "reason": "It is',
        '{"claims": ["He sang "Hey Jude" in 1968.", "He',
    ],
)
def test_a_truncated_answer_is_not_passed_off_as_complete(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        read(text, Claims)


def test_a_list_within_another_object_is_not_taken_for_the_answer() -> None:
    with pytest.raises(ValueError, match="claims: Field required"):
        read('{"words": ["One", "Two"]}', Claims)
    with pytest.raises(ValueError, match="no JSON"):
        read("I cannot [sorry] do that.", Claims)


def test_the_error_names_the_place() -> None:
    with pytest.raises(ValueError, match=r"items\.1\.kind: Input should be 'fact' or 'opinion'"):
        read('{"items": [{"text": "a", "kind": "fact"}, {"text": "b", "kind": "lie"}]}', Items)
    with pytest.raises(ValueError, match=r"claims: Input should be a valid list"):
        read('{"claims": "One."}', Claims)


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 100_000 + "}" * 100_000, '{"a":["x' * 2000 + "]}" * 2000])
def test_nesting_has_a_bound(text: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON|Field required"):
        read(text, Claims)


# Pieces of which answers are made, put together without sense.
_pieces = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', "'", "“", "”", "\\", "\\u", "\\ud83d", "\n", " ", "claims", "items", "kind",
     "fact", "text", "None", "true", "-1e999", "1" * 5000, "</think>", "```json", "NaN", "\x00", "\ud800", "é", "9"]
)  # fmt: skip
_NO_NUL = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(_NO_NUL),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(_NO_NUL), inner),
    max_leaves=20,
)


@given(st.one_of(st.text(alphabet=st.characters(codec=None)), st.lists(_pieces).map("".join)))
def test_reading_raises_nothing_but_its_own_error(text: str) -> None:
    for form in (Claims, Items, Verdict):
        try:
            value = read(text, form)
        except ValueError as error:
            assert type(error) is ValueError
            assert str(error)
        else:
            value.model_dump_json().encode()  # can be stored
            assert "\x00" not in str(value)


@given(st.dictionaries(st.text(_NO_NUL), _values), st.booleans())
def test_what_is_json_is_read_as_json(value: dict[str, Any], ascii_only: bool) -> None:
    text = f"Here you are:\n{json.dumps({'any': value}, ensure_ascii=ascii_only)}\nDone."
    assume("</think>" not in text)
    assert read(text, Anything).any == value


@given(st.lists(st.text(alphabet=string.ascii_letters + string.digits + "é .,;!?-()")))
def test_pythons_own_spelling_is_read(texts: list[str]) -> None:
    spelled = "{'claims': [" + ", ".join(f"'{text}'" for text in texts) + ",]}"
    assert read(spelled, Claims).claims == texts
