"""What became of a page since evidence was cut from it."""

from __future__ import annotations

import datetime as dt

import pytest

from annotator.core.vocabulary import PageOutcome
from pipeline.clients.base import FetchedPage
from pipeline.clients.pages import Absence
from pipeline.retrieval.page_outcomes import is_retracted, outcome_of

TEXT = "The fort of Ema was built in 1820.\nIt stands on rock."


def page(text: str, title: str = "The fort") -> FetchedPage:
    return FetchedPage("https://a.example/", text, "", dt.datetime.now(dt.UTC), title)


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        (page(TEXT), PageOutcome.SAME),
        (page(TEXT.replace("\n", "  ")), PageOutcome.SAME),
        (page(TEXT.replace("1820", "1825")), PageOutcome.CHANGED),
        (page(TEXT, "RETRACTED: The fort"), PageOutcome.RETRACTED),
        (page(f"This article has been retracted by its authors.\n{TEXT}"), PageOutcome.RETRACTED),
        (Absence("its server answered 410", gone=True), PageOutcome.VANISHED),
        (Absence("its server answered 403"), PageOutcome.UNREACHED),
        (Absence("its server answered 503", lasting=False), PageOutcome.UNREACHED),
    ],
)
def test_outcomes(now: FetchedPage | Absence, outcome: PageOutcome) -> None:
    assert outcome_of("The fort", TEXT, now) == outcome


def test_a_page_that_was_retracted_when_it_was_saved_has_not_been_retracted_since() -> None:
    assert outcome_of("Retracted: The fort", TEXT, page(f"{TEXT} More.", "Retracted: The fort")) == PageOutcome.CHANGED


@pytest.mark.parametrize(
    "text",
    [
        "The army retracted its claim that the paper was lost.",
        "The cat has retracted its claws.",
        "A report says that troops have withdrawn.",
        "He read the article. It has been withdrawn from sale.",
        TEXT + " " * 4000 + "The paper was retracted.",
    ],
)
def test_speaking_of_retractions_is_none(text: str) -> None:
    assert not is_retracted("The fort", text)


@pytest.mark.parametrize(
    "text",
    ["Retraction notice to “Masons of Ema”", "Withdrawn: Masons of Ema", "The study was officially withdrawn in 2024."],
)
def test_what_publishers_write(text: str) -> None:
    assert is_retracted("Masons", text)
