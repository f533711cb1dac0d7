"""Decomposition by rules: what is split, what must not be, and what pronouns stand for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.vocabulary import ClaimType, Importance, SentenceType
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
        ("The fort is old, and it was sold in 1901.", ["The fort is old", "The fort was sold in 1901"]),
        ("Lynxes are shy, while wolves hunt in packs.", ["Lynxes are shy", "wolves hunt in packs"]),
        ("The merger releases energy, which travels as waves.", ["The merger releases energy, which travels as waves"]),
        (
            "The lake feeds the Ema River, which flows to the sea.",
            ["The lake feeds the Ema River", "the Ema River flows to the sea"],
        ),
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
        ("Tides: The moon pulls the sea.", ["The moon pulls the sea"]),
        ("She left on May 5, 1815, taking the ship.", ["She left on May 5, 1815", "She took the ship"]),
        ("The novel was praised and won the prize.", ["The novel was praised", "The novel won the prize"]),
        ("She ruled in Ema and in Varga.", ["She ruled in Ema", "She ruled in Varga"]),
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
        "This is because the ice is thin",
        "The law changed trade, cutting costs and raising wages",
        "She served on the court from 1939 until 1975",
        "The team won in Varga, a feat of skill",
        "Lund died in Varga, a rich man",
        "She was the mother of Ada Lund, a singer",
        "Ada Lund and Bo Varga were married in Ema",
        "Ema and Varga are rivals",
        "Ema and Varga are the two largest towns",
        "Ada Lund and Bo Varga founded the firm",
        "Ada Lund (1797–1801) ruled Ema",
        "The team cannot reduce costs and save time",
        "The team can help to reduce costs and save time",
        "The rope helped young sailors and merchants find land",
        "Ema has strong public and private schools",
        "The word has a broader and more subtle meaning",
        "The firm works to enhance health services and address complaints",
        "Models can help people explore ideas and predict prices",
        "The book covers four fields of study: rope, tar, glass, and wax",
        "Mars is a planet with plains that can be walked on",
        "She was elected and named the mayor",
        "Many people protested, leading to reforms",
    ],
)
def test_what_holds_together_stays(sentence: str) -> None:
    assert statements(sentence) == [sentence]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Glass is made of sand. It is brittle.", "Glass is brittle."),
        ("Bees dance in the hive. They show the way.", "Bees show the way."),
        ("The fastest bird is the falcon. It dives.", "The falcon dives."),
        ("Glass is made of sand. It is hard to say why it breaks.", "It is hard to say why it breaks."),
        ("Bees dance in the hive. It is old.", "It is old."),
    ],
)
def test_it_and_they_agree_in_number(response: str, expected: str) -> None:
    assert decompose("Tell me more.", response).sentences[-1].decontext.lower() == expected.lower()


def test_opening_markers_go_and_only_a_full_name_is_a_person() -> None:
    response = "Ada Byron was a poet. However, she was poor. The town is Ema. He left.\n1. **Ema** is old."
    sentences = decompose("Who was Ada Byron?", response).sentences
    assert [sentence.decontext for sentence in sentences[1:]] == [
        "Ada Byron was poor.",
        "The town is Ema.",
        "He left.",
        "Ema is old.",
    ]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Is there anything else?", SentenceType.NOT_A_CLAIM),
        ("Here are some reasons:", SentenceType.NOT_A_CLAIM),
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
    [sentence] = decompose("How old is the fort?", "The fort is old, making it a good choice for families.").sentences
    fact, opinion = sentence.claims
    assert (fact.type, fact.worth_checking, fact.importance) == (ClaimType.FACTUAL, True, Importance.MOST)
    assert (opinion.type, opinion.worth_checking) == (ClaimType.OPINION, None)


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


@pytest.mark.parametrize(
    ("written", "claim"),
    [
        ("The ship sank in *1912* after it hit an `iceberg`.", "The ship sank in 1912 after it hit an iceberg."),
        (
            "The *Titanic* sank ([Wikipedia](https://example.org/titanic)) in 1912.",
            "The Titanic sank (Wikipedia) in 1912.",
        ),
        ("| *Britannic* | sunk by a mine in 1916 |", "Britannic, sunk by a mine in 1916."),
        (r"The speed is \( v = 3 \) in 1912.", r"The speed is \( v = 3 \) in 1912."),
    ],
)
def test_a_claim_is_written_without_the_signs_of_markdown(written: str, claim: str) -> None:
    table = "| Ship | Fate |\n|---|---|\n" if written.startswith("|") else ""
    sentences = decompose("What happened?", table + written).sentences
    assert [each.text for sentence in sentences for each in sentence.claims] == [claim]
    assert sentences[0].text == written
