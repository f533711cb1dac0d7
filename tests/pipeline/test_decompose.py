"""Decomposition by rules: what is split, what must not be, and what pronouns stand for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.vocabulary import ClaimType, Importance, NotWorthReason, SentenceType
from pipeline.claims.decompose import decompose
from pipeline.claims.splits import statements


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "Ada Byron was born on May 5, 1815, and served the court until 1852.",
            ["Ada Byron was born on May 5, 1815", "Ada Byron served the court until 1852"],
        ),
        (
            "In 1980, he was alive and would have been the oldest.",
            ["In 1980, he was alive", "In 1980, he would have been the oldest"],
        ),
        (
            "The town was founded in 1820 and named after its mayor.",
            ["The town was founded in 1820", "The town was named after its mayor"],
        ),
        (
            "She won two prizes, moved to Paris, and died in 1934.",
            ["She won two prizes", "She moved to Paris", "She died in 1934"],
        ),
        ("The fort is old, and it was sold in 1901.", ["The fort is old", "The fort was sold in 1901"]),
        ("Lynxes are shy, while wolves hunt in packs.", ["Lynxes are shy", "wolves hunt in packs"]),
        ("Because stars are hot, their gas is ionised.", ["stars are hot", "stars' gas is ionised"]),
        ("This is because the ice is thin.", ["the ice is thin"]),
        ("The merger releases energy, which travels as waves.", ["The merger releases energy, which travels as waves"]),
        (
            "The lake feeds the Ema River, which flows to the sea.",
            ["The lake feeds the Ema River", "the Ema River flows to the sea"],
        ),
        (
            "Marie Curie, a Polish physicist, moved to Paris.",
            ["Marie Curie was a Polish physicist", "Marie Curie moved to Paris"],
        ),
        ("Ema Bay, founded in 1820, is a port.", ["Ema Bay is founded in 1820", "Ema Bay is a port"]),
        (
            "The dam holds the water back, causing floods upstream.",
            ["The dam holds the water back", "The dam causes floods upstream"],
        ),
        ("A quark is a particle that carries colour.", ["A quark is a particle", "A quark carries colour"]),
        ("The firm makes rope, glass, and tar.", ["The firm makes rope", "The firm makes glass", "The firm makes tar"]),
        (
            "Trade can cut costs, raise wages, and create jobs.",
            ["Trade can cut costs", "Trade can raise wages", "Trade can create jobs"],
        ),
        (
            "Its size, mass, and age were measured in 1990.",
            ["Its size was measured in 1990", "Its mass was measured in 1990", "Its age was measured in 1990"],
        ),
        ("Tides: The moon pulls the sea.", ["The moon pulls the sea"]),
    ],
)
def test_splits(sentence: str, expected: list[str]) -> None:
    assert statements(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "Rope is a mixture of hemp, tar and wax",
        "The fort stands between Ema, Lund and Varga",
        "It deals with financial, human, and natural resources",
        "Fruits such as apples, pears, and plums are sweet",
        "The way people lived and worked changed",
        "The storm, the flood, and the fire are not related",
        "Lions, tigers, and bears are the three largest",
        "The two of them wrote and sang the song",
        "The law allows trade, which makes it popular",
        "Who built the fort, and why did it fall?",
        "On May 5, 1815, and not before",
        "He spoke on crime, unrest, and organized labour",
        "She moved between Rome and Paris",
        "1945: The war ended",
    ],
)
def test_what_holds_together_stays(sentence: str) -> None:
    assert statements(sentence) == [sentence]


def claims(prompt: str, response: str) -> list[str]:
    return [claim.text for sentence in decompose(prompt, response).sentences for claim in sentence.claims]


def test_pronouns_and_names_are_resolved() -> None:
    response = (
        "The first mayor of Ema was Justice Ada M. Byron. She was born in 1815, and died in 1890. "
        "However, Justice Byron was also a poet. Her poems are lost."
    )
    sentences = decompose("Who was the first mayor of Ema?", response).sentences
    assert [sentence.decontext for sentence in sentences] == [
        "The first mayor of Ema was Justice Ada M. Byron.",
        "Justice Ada M. Byron was born in 1815, and died in 1890.",
        "Justice Byron was a poet.",
        "Justice Ada M. Byron's poems are lost.",
    ]
    assert [claim.text for claim in sentences[1].claims] == [
        "Justice Ada M. Byron was born in 1815.",
        "Justice Ada M. Byron died in 1890.",
    ]
    assert sentences[2].claims[0].text == "Justice Ada M. Byron was a poet."


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Glass is made of sand. It is brittle.", "Glass is brittle."),
        ("Bees dance in the hive. They show the way.", "Bees show the way."),
        ("The use of modules is common. They save time.", "Modules save time."),
        ("The fastest bird is the falcon. It dives.", "The falcon dives."),
        ("Glass is made of sand. It is hard to say why it breaks.", "It is hard to say why it breaks."),
        ("Bees dance in the hive. It is old.", "It is old."),
    ],
)
def test_it_and_they_agree_in_number(response: str, expected: str) -> None:
    assert decompose("Tell me more.", response).sentences[-1].decontext.lower() == expected.lower()


def test_list_items_take_their_lead_in() -> None:
    response = "The first mayors of Ema were:\n1. Ada Byron (1901)\n2. Bo Lund (1907)\n\nThe causes:\n- drought\n"
    assert [sentence.decontext for sentence in decompose("?", response).sentences] == [
        "The first mayors of Ema were:",
        "The first mayors of Ema were Ada Byron (1901)",
        "The first mayors of Ema were Bo Lund (1907)",
        "The causes:",
        "The causes: Drought",
    ]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Is there anything else?", SentenceType.NOT_A_CLAIM),
        ("Here are some reasons:", SentenceType.NOT_A_CLAIM),
        ("Click on the button.", SentenceType.NOT_A_CLAIM),
        ("I hope this helps!", SentenceType.NOT_A_CLAIM),
        ("## Causes of the war", SentenceType.NOT_A_CLAIM),
        ("As an AI language model, I cannot browse.", SentenceType.OTHER),
        ("I think the film is beautiful.", SentenceType.OPINION),
        ("It is important to eat well.", SentenceType.OPINION),
        ("The fort was built in 1820.", SentenceType.CHECKWORTHY),
        ("The fort is old, making it a good choice for families.", SentenceType.CHECKWORTHY),
    ],
)
def test_sentence_types(sentence: str, kind: SentenceType) -> None:
    [found] = decompose("Tell me about the fort.", sentence).sentences
    assert found.type == kind
    assert bool(found.claims) == (kind == SentenceType.CHECKWORTHY)


def test_claim_labels() -> None:
    response = "The fort is old, making it a good choice for families. My mother lived in it."
    first, second = decompose("How old is the fort?", response).sentences
    fact, opinion = first.claims
    assert (fact.type, fact.worth_checking, fact.importance) == (ClaimType.FACTUAL, True, Importance.MOST)
    assert (opinion.type, opinion.worth_checking) == (ClaimType.OPINION, None)
    assert second.claims[0].not_worth_reason == NotWorthReason.NOT_PUBLIC
    assert second.claims[0].worth_checking is False


WORDS = (
    "It she they which , and is was , who the a fort Ema “ ” ( ) : ; . 1. - because while "
    "Ada M. Byron making red ' also lived moved in of , 1901 including"
).split()


@given(st.text(), st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map(" ".join)))
def test_any_text_gives_sentences_with_exact_offsets(prompt: str, response: str) -> None:
    for sentence in decompose(prompt, response).sentences:
        assert response[sentence.start : sentence.end] == sentence.text
        assert sentence.decontext.strip()
        assert all(claim.text.strip() for claim in sentence.claims)


@pytest.mark.parametrize(
    "unit", ["The fort is old, and it was sold. ", "A, B, and C, which is D, ", "He and she and ", "( “ "]
)
def test_long_answers_take_little_time(unit: str) -> None:
    began = time.process_time()
    decompose("Tell me.", unit * (50_000 // len(unit)))
    assert time.process_time() - began < 10
