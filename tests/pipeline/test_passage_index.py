"""The index of a large corpus: the same as the library's, in memory and in files, whole or not at all."""

from __future__ import annotations

import datetime as dt
import json
from array import array
from hashlib import sha256
from pathlib import Path
from random import Random

import bm25s
import numpy as np
import pytest

from pipeline.retrieval import passages as cutting
from pipeline.retrieval import postings
from pipeline.retrieval.corpus_ranking import INDEX_FORMAT, PassageIndex, stems
from pipeline.retrieval.found_passages import TEXTS
from pipeline.retrieval.passages import SeenTexts
from pipeline.retrieval.postings import Postings, TokenCorpus, Tokens
from pipeline.suggestions import Page

WORDS = ["fort", "gate", "river", "stone", "bee", "hive", "king", "war", "ship", "tower", "bell", "moat"]


def sentence(chance: Random) -> str:
    return " ".join(chance.choices(WORDS, weights=range(len(WORDS), 0, -1), k=9)).capitalize() + "."


def pages_of(count: int, seed: int = 1) -> list[Page]:
    chance = Random(seed)
    return [
        Page(
            url=f"https://example.org/{number}",
            title=f"Title {number}",
            text=" ".join(sentence(chance) for _ in range(chance.randrange(1, 30))),
            site="example.org",
            published=dt.date(2020, 1, 1) + dt.timedelta(days=number) if number % 2 else None,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("at_once", [1_000_000, 7])
def test_postings_score_as_the_library_does(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(postings, "_AT_ONCE", at_once)
    tokens = [stems(page.text) for page in pages_of(60)] + [[], ["fort"] * 20]
    theirs = bm25s.BM25()
    theirs.index(tokens, show_progress=False)
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(word for each in tokens for word in each))}
    ours = Postings.of(
        TokenCorpus(
            Tokens.of(
                array("i", [vocabulary[word] for each in tokens for word in each]),
                array("i", [len(each) for each in tokens]),
            ),
            vocabulary,
        )
    )
    for query in (["fort"], ["moat", "bell"], ["king", "king", "war", "dragon"], ["dragon"]):
        np.testing.assert_allclose(ours.get_scores(query), theirs.get_scores(query), rtol=1e-5)


def test_an_index_in_files_finds_what_one_in_memory_finds(tmp_path: Path) -> None:
    pages = [*pages_of(30), Page("https://example.org/odd", "Odd \ud800", "A dragon sat on the \ud800 façade. 龍。")]
    built = PassageIndex.build(pages)
    PassageIndex.write(pages, tmp_path)
    opened = PassageIndex.open(tmp_path)
    assert len(opened) == len(built) > 50
    for query in ("the king's tower", "stone bells of war", "dragon", "unicorn", ""):
        assert opened.search(query) == built.search(query)
    [odd] = opened.search("dragon")
    assert (odd.title, odd.passage) == ("Odd \ud800", "A dragon sat on the \ud800 façade. 龍。")


@pytest.mark.parametrize("texts", [[], [""], ["?!"], ["It was of the."]])
def test_a_corpus_without_a_word_is_written_and_opened(tmp_path: Path, texts: list[str]) -> None:
    PassageIndex.write([Page("u", "", text) for text in texts], tmp_path)
    opened = PassageIndex.open(tmp_path)
    assert len(opened) == 0
    assert opened.search("fort") == []


def test_what_was_not_written_to_its_end_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        PassageIndex.open(tmp_path)
    PassageIndex.write(pages_of(3), tmp_path)
    texts = tmp_path / TEXTS
    texts.write_bytes(texts.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"texts\.bin was not written completely"):
        PassageIndex.open(tmp_path)


def test_what_was_seen_long_ago_is_still_known(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [page.text for page in pages_of(40)] + [page.text for page in pages_of(80)] + ["", "Fort.", "Fort."]
    all_at_hand = SeenTexts()
    wanted = [all_at_hand.adds(text) for text in texts]
    monkeypatch.setattr(cutting, "_RECENT", 50)
    moved_over = SeenTexts()
    assert [moved_over.adds(text) for text in texts] == wanted
    assert 0 < sum(wanted) < len(wanted)


def test_another_way_of_cutting_or_stemming_needs_another_format() -> None:
    """Indexes that were written before would be searched with the stems of now."""
    text = (
        "Skip to main content\n\nHistory [ edit ]\n\n"
        "Dr. Ema Dahl's forts, e.g. the one of Pell Ridge, were rebuilt in 1820! "
        "Were they? Nobody knows... Histories of the U.S. differ; sieges lasted 3.5 years. "
        "Bees were dancing. Cats slept. © 2020 Example Inc. "
    ) + "Very long walls " * 30
    cut = cutting.passages(text)
    digest = sha256(json.dumps([cut, [stems(each) for each in cut]]).encode()).hexdigest()[:12]
    assert (INDEX_FORMAT, digest) == (1, "ba4c750ffe43")
