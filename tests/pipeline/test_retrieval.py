"""Passages, their ranking, and the strategy that puts the steps together."""

from __future__ import annotations

import asyncio
import datetime as dt
from hashlib import sha256

import pytest

from pipeline import strategies
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.retrieval.passages import is_boilerplate, passages, without_near_duplicates
from pipeline.retrieval.queries import query_for
from pipeline.suggestions import ClaimText, DocumentText, Page
from pipeline.tools import Tools

PAGE = Page(
    url="https://example.org/ema",
    title="The fort of Ema",
    text="The fort of Ema was built in 1820. It burnt down in 1901. Cats live there now.",
    site="example.org",
    published=dt.date(2020, 5, 1),
)
OTHER = Page(url="https://example.org/bees", title="Bees", text="Bees dance in the hive to show where flowers are.")


def test_windows_of_five_sentences_two_apart() -> None:
    text = " ".join(f"Sentence number {number} is here." for number in range(1, 11))
    found = passages(text)
    assert [(each.split()[2], each.split()[-3]) for each in found] == [("1", "5"), ("3", "7"), ("5", "9"), ("7", "10")]
    assert passages("One is here. Two is there.") == ["One is here. Two is there."]
    assert passages("") == []


def test_long_sentences_are_cut_and_nul_is_dropped() -> None:
    [passage] = passages("The wall \x00 is " + "very " * 100 + "long.")
    assert len(passage) <= 250
    assert "\x00" not in passage


@pytest.mark.parametrize(
    "text",
    [
        "We use cookies to improve your visit.",
        "Home | News | Sport | Weather | Travel | Future",
        "History [ edit ]",
        "Skip to main content",
        "© 2020 Example Inc. All rights reserved.",
        "***",
    ],
)
def test_furniture_of_a_page_is_no_evidence(text: str) -> None:
    assert is_boilerplate(text)
    assert passages(f"{text}\n\nThe fort of Ema was built in 1820.") == ["The fort of Ema was built in 1820."]


def test_short_sentences_and_names_are_evidence() -> None:
    assert not is_boilerplate("Ada Byron was born in 1815.")
    assert not is_boilerplate("1815: Ada Byron")


def test_near_duplicates_go_and_neighbouring_windows_stay() -> None:
    sentences = [f"Event {number} happened to person {number * 7} in the town {number * 13}." for number in range(12)]
    windows = passages(" ".join(sentences))
    copies = [*windows, windows[0].replace("Event 0", "Event zero"), windows[1]]
    assert list(without_near_duplicates(copies)) == list(range(len(windows)))


def test_search_gives_evidence_with_its_source() -> None:
    index = PassageIndex.build([OTHER, PAGE])
    [best] = index.search("When was the fort in Ema built?", k=1)
    assert (best.url, best.title, best.site, best.published) == (PAGE.url, PAGE.title, PAGE.site, PAGE.published)
    assert best.query == "When was the fort in Ema built?"
    assert best.content_hash == sha256(best.passage.encode()).hexdigest()
    assert best.score > 0
    assert index.search("building forts")[0].url == PAGE.url  # other forms of the words


def test_what_shares_no_word_is_not_found() -> None:
    index = PassageIndex.build([OTHER, PAGE])
    assert index.search("quantum chromodynamics") == index.search("") == index.search("the of and") == []
    assert PassageIndex.build([]).search("fort") == []
    assert PassageIndex.build([Page(url="u", title="", text="?!")]).search("fort") == []


def test_neighbouring_windows_of_a_page_are_given_once() -> None:
    text = " ".join(f"The fort has gate {number} of stone kind {number * 3}." for number in range(20))
    found = PassageIndex.build([Page(url="u", title="", text=text)]).search("fort gate stone")
    starts = sorted(int(each.passage.split()[4]) for each in found)
    assert len(found) > 1
    assert all(second - first > 2 for first, second in zip(starts, starts[1:], strict=False))


def test_a_bare_claim_is_searched_with_the_prompt() -> None:
    assert query_for("The fort of Ema was built in 1820.", "When?") == "The fort of Ema was built in 1820."
    assert query_for("It burnt.", "What became of the fort of Ema?") == "It burnt. What became of the fort of Ema?"


def test_the_offline_strategy_does_steps_one_to_four() -> None:
    strategy = strategies.get("offline")
    document = DocumentText("When was the fort built?", "The fort of Ema was built in 1820.")
    [sentence] = asyncio.run(strategy.decompose(document, Tools())).sentences
    claim = ClaimText(sentence.claims[0].text)
    [evidence] = asyncio.run(strategy.verify(claim, document, Tools(index=PassageIndex.build([PAGE])))).evidence
    assert evidence.url == PAGE.url
    assert asyncio.run(strategy.verify(claim, document, Tools())).evidence == ()


def test_an_unknown_strategy_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"“onlin”.*Known: .*offline"):
        strategies.get("onlin")
