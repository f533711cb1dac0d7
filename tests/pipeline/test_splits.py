"""Splits by what is attached to a noun and by what is said of several: sentences of our own, taken apart or left."""

from __future__ import annotations

import pytest

from pipeline.claims.decompose import decompose
from pipeline.claims.splits import statements


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # fronted phrases without a comma
        (
            "Ema is an old port on the Varga, and at 300 metres it is the highest town.",
            ["Ema is an old port on the Varga", "at 300 metres Ema is the highest town"],
        ),
        (
            "In 1979 a ship sank near Ema, and all its crew were lost.",
            ["In 1979 a ship sank near Ema", "all its crew were lost"],
        ),
        # appositions
        (
            "Glass was improved in 1928 by Ada Lund, an Irish chemist at Ema College.",
            ["Glass was improved in 1928 by Ada Lund", "Ada Lund was an Irish chemist at Ema College"],
        ),
        ("She moved to Varga, a town near Ema.", ["She moved to Varga", "Varga is a town near Ema"]),
        # relative clauses
        (
            "The firm was founded by Ada Lund, whose father owned a mill.",
            ["The firm was founded by Ada Lund", "Ada Lund's father owned a mill"],
        ),
        (
            "The firm moved to Varga, where the mayor owned a mill.",
            ["The firm moved to Varga", "In Varga, the mayor owned a mill"],
        ),
        # dates of a life
        (
            "Ada Lund (5 May 1815 – 2 June 1852) was a chemist.",
            ["Ada Lund was born on 5 May 1815", "Ada Lund died on 2 June 1852", "Ada Lund was a chemist"],
        ),
        ("Ada Lund (born May 5, 1815) sang.", ["Ada Lund was born on May 5, 1815", "Ada Lund sang"]),
        # "with ... -ing", known for, two participles
        ("The firm grew fast, with sales reaching 5 million.", ["The firm grew fast", "sales reached 5 million"]),
        (
            "Ada Lund is a singer best known for her songs.",
            ["Ada Lund is a singer", "Ada Lund is best known for her songs"],
        ),
        (
            "The law changed trade, cutting costs and raising wages.",
            ["The law changed trade", "The law cut costs", "The law raised wages"],
        ),
        ("She left on May 5, 1815, taking the ship.", ["She left on May 5, 1815", "She took the ship"]),
        ("The novel was praised and won the prize.", ["The novel was praised", "The novel won the prize"]),
        # several subjects, several predicates
        ("Ema and Varga are towns with old walls.", ["Ema is a town with old walls", "Varga is a town with old walls"]),
        ("Ada Lund and Bo Varga were born in Ema.", ["Ada Lund was born in Ema", "Bo Varga was born in Ema"]),
        (
            "The parts can be easily moved, cleaned and replaced.",
            ["The parts can be easily moved", "The parts can be easily cleaned", "The parts can be easily replaced"],
        ),
        ("The team can reduce costs and save time.", ["The team can reduce costs", "The team can save time"]),
        # lists
        (
            "The text is written in three scripts: Greek, Latin and Runic.",
            ["The text is written in Greek", "The text is written in Latin", "The text is written in Runic"],
        ),
        (
            "The firm added two languages to its browser: Rope and Tar.",
            ["The firm added Rope to its browser", "The firm added Tar to its browser"],
        ),
        ("Other ports include Ema Bay and Varga.", ["Other ports include Ema Bay", "Other ports include Varga"]),
        ("Ema has mild winters and hot summers.", ["Ema has mild winters", "Ema has hot summers"]),
        (
            "Ema is rich due to its port, size, and age.",
            ["Ema is rich due to its port", "Ema is rich due to its size", "Ema is rich due to its age"],
        ),
        # a verb that mostly is a noun
        (
            "Ema has snow, while New Varga experiences mild winters.",
            ["Ema has snow", "New Varga experiences mild winters"],
        ),
    ],
)
def test_splits(sentence: str, expected: list[str]) -> None:
    assert statements(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
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


def test_a_labelled_item_that_says_something_needs_no_lead_in() -> None:
    response = "Trees make oxygen in two steps:\n- Light: Leaves catch the light.\n- Water"
    assert [sentence.decontext for sentence in decompose("?", response).sentences][1:] == [
        "Light: Leaves catch the light.",
        "Trees make oxygen in two steps: Water",
    ]


def test_no_comma_is_left_inside_a_closing_quotation_mark() -> None:
    [first, _] = decompose("?", "She starred in “Ema,” and the town liked it.").sentences[0].claims
    assert first.text == "She starred in “Ema”."
