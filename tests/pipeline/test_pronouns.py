"""Pronouns beyond the first word of a sentence: what they stand for, and when they are left alone."""

from __future__ import annotations

import pytest

from pipeline.claims.context import Context
from pipeline.claims.decompose import decompose


def claims(prompt: str, response: str) -> list[str]:
    return [claim.text for sentence in decompose(prompt, response).sentences for claim in sentence.claims]


def last(prompt: str, response: str) -> str:
    return decompose(prompt, response).sentences[-1].decontext


def test_an_object_pronoun_is_the_topic_in_every_claim_of_the_sentence() -> None:
    response = "Mount Ema is a volcano. Bo Carl Lund climbed it in 1841, named it after a ship and painted it often."
    assert claims("Tell me about Mount Ema.", response)[1:] == [
        "Bo Carl Lund climbed Mount Ema in 1841.",
        "Bo Carl Lund named Mount Ema after a ship.",
        "Bo Carl Lund painted Mount Ema often.",
    ]


@pytest.mark.parametrize(
    ("prompt", "response", "expected"),
    [
        # An object pronoun is never the subject of its own clause.
        ("Who invented rope?", "Rope is old. Sailors used it at sea.", "Sailors used rope at sea."),
        (
            "Give me a summary of the Ema 3 mission.",
            "Ema 3 was short. A rocket launched it.",
            "A rocket launched Ema 3.",
        ),
        # A plural subject owns nothing by "its".
        (
            "What is the Ema Stone?",
            "The Ema Stone is old. Soldiers sold its pieces.",
            "Soldiers sold the Ema Stone's pieces.",
        ),
        # What only a mountain has, though other nouns stand before.
        (
            "Tell me about Mount Ema.",
            "Mount Ema is high. In 1979 a flight of Lund Air crashed on its slopes.",
            "In 1979 a flight of Lund Air crashed on Mount Ema's slopes.",
        ),
        # The owner stays what is spoken of, and an event in between does not take its place.
        ("Tell me about Mount Ema.", "Its first ascent was made in 1908. It is cold.", "Mount Ema is cold."),
        ("Tell me about Mount Ema.", "Mount Ema is high. A plane crashed there. It is cold.", "Mount Ema is cold."),
        # The person whom the prompt asks about, not another capitalised phrase.
        ("Tell me a bio of Ada Lund.", "Ada Lund moved to Port Varga. He was poor.", "Ada Lund was poor."),
        ("Tell me a bio of Ada Lund.", "Ada Lund wrote. The Long March won. She sang.", "Ada Lund sang."),
    ],
)
def test_what_it_stands_for(prompt: str, response: str, expected: str) -> None:
    assert last(prompt, response) == expected


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("Tell me about Mount Ema.", "The owner of the ship sold it in 1901."),  # the ship, perhaps
        ("Tell me about Mount Ema.", "On the island, Bo Lund found it."),
        ("Tell me about Mount Ema.", "The company expanded its services."),
        ("Tell me about Mount Ema.", "A volcano nearby burnt its slopes."),
        ("Tell me more.", "Bo Lund bought it."),  # nothing has been spoken of
        ("Tell me about Mount Ema.", "It seems like rain."),
    ],
)
def test_a_pronoun_stays_when_more_than_one_thing_or_nothing_can_be_meant(prompt: str, sentence: str) -> None:
    assert last(prompt, f"Mount Ema is high. {sentence}" if "Ema" in prompt else sentence) == sentence


def test_two_things_spoken_of_leave_an_object_pronoun_alone() -> None:
    assert last("Tell me more.", "The fort is old. The mill is new. Bo Lund sold it.") == "Bo Lund sold it."


def test_two_people_leave_he_alone() -> None:
    assert last("Tell me more.", "Bo Lund and Jan Varga met Ema Holt. The night was cold. He left.") == "He left."


@pytest.mark.parametrize(
    ("prompt", "topic"),
    [
        ("Tell me about Mount Ema.", "Mount Ema"),
        ("What is the Ema Stone, and why is it famous?", "The Ema Stone"),
        ("Give me a short summary of the Ema 3 mission.", "The Ema 3 mission"),
        ("Who discovered glass, and who used it?", "Glass"),
        ("Where is Ema Bay located?", "Ema Bay"),
        ("What is the fastest animal?", ""),
        ("What is a fort?", ""),
        ("Write a poem", ""),
    ],
)
def test_topic_of_a_prompt(prompt: str, topic: str) -> None:
    assert Context.of(prompt, "").topic == topic


def test_headings_and_places_are_no_people() -> None:
    response = "Asylum Claims: she must file asylum claims. Ada Lund lived in Rosa Lima. She sang."
    assert last("Tell me more.", response) == "Ada Lund sang."
