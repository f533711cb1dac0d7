"""Queries, pages and passages become the few pieces of evidence that people read."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.vocabulary import Factuality, StanceLabel
from pipeline.clients.base import SearchResult
from pipeline.clients.search.corpus import CorpusSearch
from pipeline.notes import StepNotes
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.retrieval.evidence import SearchReach, evidence_for
from pipeline.retrieval.passages import passages
from pipeline.retrieval.queries_by_model import distinct, likeness
from pipeline.retrieval.ranking import MAX_BY_MEANING, Ranked, fused, lexical_scores, ranked
from pipeline.suggestions import Page, RetrievedEvidence
from pipeline.together import both, together
from pipeline.tools import Tools
from pipeline.verdict.by_model import verdict_by_stances
from tests.scripted import ScriptedPages, ScriptedRanker, ScriptedSearch, run


def looked_up(queries: list[str], reach: SearchReach, **services: object) -> list[RetrievedEvidence]:
    return run(evidence_for(queries, None, reach, Tools(**services), StepNotes()))  # type: ignore[arg-type]


def long_page(about: str, sentences: int = 40) -> str:
    return " ".join(
        f"The {about} {about[:2] * number}x has {about[0] * number}s and more." for number in range(sentences)
    )


def hits(*urls: str) -> list[SearchResult]:
    return [SearchResult(url, f"Title of {url}", f"Snippet of {url}") for url in urls]


def test_queries_take_turns_and_a_page_gives_at_most_so_many_passages() -> None:
    search = ScriptedSearch({"bridge": hits("u:1", "u:2"), "fort": hits("u:3")})
    pages = ScriptedPages({"u:1": long_page("bridge"), "u:2": "A bridge.", "u:3": long_page("fort")})
    found = looked_up(["bridge", "fort"], SearchReach(passages_a_claim=6), search=search, pages=pages)
    assert [each.query for each in found] == ["bridge", "fort", "bridge", "fort", "bridge", "fort"]
    assert max([each.url for each in found].count(url) for url in ("u:1", "u:3")) == 3
    found = looked_up(["bridge", "fort"], SearchReach(passages_a_page=1), search=search, pages=pages)
    assert sorted(each.url for each in found) == ["u:1", "u:2", "u:3"]
    assert len(pages.requests) == 6  # each page once a claim


def test_no_two_passages_of_a_page_are_neighbours() -> None:
    text = long_page("bridge")
    search, pages = ScriptedSearch(hits("u:1")), ScriptedPages({"u:1": text})
    found = looked_up(
        ["bridge", "more"], SearchReach(passages_a_page=20, passages_a_claim=20), search=search, pages=pages
    )
    windows = passages(text)
    positions = sorted(windows.index(each.passage) for each in found)
    assert len(positions) > 3
    assert all(later - earlier > 1 for earlier, later in zip(positions, positions[1:], strict=False))


def test_window_stride_and_length_can_be_set() -> None:
    search, pages = ScriptedSearch(hits("u:1")), ScriptedPages({"u:1": long_page("bridge", 60)})
    reach = SearchReach(window=2, stride=2, longest=50, passages_a_page=20, passages_a_claim=20)
    for each in looked_up(["bridge"], reach, search=search, pages=pages):
        assert each.passage.count("The bridge") <= 2
        assert len(each.passage) <= 101


def test_a_mirror_of_a_page_is_quoted_once() -> None:
    text = "Ema Dahl built the old stone fort at the mouth of the river in the year 1820."
    search, pages = ScriptedSearch(hits("u:1", "u:2")), ScriptedPages({"u:1": text, "u:2": text})
    assert [each.url for each in looked_up(["fort"], SearchReach(), search=search, pages=pages)] == ["u:1"]


def test_passages_of_a_corpus_come_as_they_are_and_a_page_of_it_is_cut_once() -> None:
    page = Page(url="u:1", title="Bridges", text=long_page("bridge"))
    index = PassageIndex.build([page])
    found = looked_up(["bridge"], SearchReach(), index=index)
    assert len(found) == 3  # of one page
    assert {each.passage for each in found} <= set(passages(page.text))
    pages = ScriptedPages({"u:1": page.text})
    found = looked_up(["bridge"], SearchReach(), search=CorpusSearch(index), pages=pages)
    assert len({each.passage for each in found}) == len(found) == 3
    assert len(pages.requests) == 1


# Ranking


def test_words_rank_by_rarity_and_length() -> None:
    texts = ["The fort stood.", "The bridge stood near the fort.", "The bridge of Ema Dahl stood.", "Cats sleep."]
    scores = lexical_scores("Ema's fort", texts)
    assert scores[2] > 0
    assert scores[0] > scores[1] > scores[3] == 0  # shorter is nearer
    assert lexical_scores("fort", []) == []
    assert lexical_scores("", texts) == [0, 0, 0, 0]
    assert lexical_scores("fort", ["", "!"]) == [0, 0]


def test_meaning_lifts_what_words_do_not_see() -> None:
    texts = ("A fortress of stone.", "The fort was built, and the fort stood.", "Cats sleep.", "Dogs bark.")
    by_words = run(ranked("Who built the fort?", texts, None, "rank"))
    assert [each.position for each in by_words] == [1, 0, 2, 3]
    ranker = ScriptedRanker(lambda query, text: float(text.startswith("A fortress")))
    both_orders = run(ranked("Who built the fort?", texts, ranker, "rank"))
    assert [each.position for each in both_orders[:2]] == [0, 1]  # first by meaning, second by words
    assert ranker.requests[0].step == "rank"
    assert ranker.requests[0].texts[0] == texts[1]
    assert run(ranked("fort", texts[:1], ranker, "rank"))[0].position == 0
    assert len(ranker.requests) == 1  # one passage needs no order


def test_only_the_best_by_words_are_compared_by_meaning() -> None:
    texts = [f"text {number}" for number in range(MAX_BY_MEANING + 50)]
    ranker = ScriptedRanker(lambda query, text: float(len(text)))
    found = run(ranked("fort", texts, ranker, "rank"))
    assert len(ranker.requests[0].texts) == MAX_BY_MEANING
    assert sorted(each.position for each in found) == list(range(len(texts)))


def test_words_and_meaning_count_alike_whatever_their_scales() -> None:
    by_words = [Ranked(0, 12.0), Ranked(1, 3.0), Ranked(2, 0.0), Ranked(3, 0.0)]
    by_meaning = [Ranked(2, -1.0), Ranked(1, -3.5), Ranked(0, -6.0)]
    found = fused(by_words, by_meaning)
    assert [each.position for each in found] == [0, 2, 1, 3]  # equals in the order given, what was not compared last
    assert [each.score for each in found] == pytest.approx([0.5, 0.5, 0.375, 0])
    assert fused(by_words, by_meaning, meaning=1)[0] == Ranked(2, 1.0)
    assert [each.position for each in fused(by_words, by_meaning, meaning=0.4)] == [0, 2, 1, 3]


def test_a_ranker_that_tells_nothing_apart_leaves_the_order_of_the_words() -> None:
    by_words = [Ranked(1, 2.0), Ranked(0, 1.0), Ranked(2, 0.0)]
    nothing = [Ranked(position, 0.7) for position in range(3)]
    assert [each.position for each in fused(by_words, nothing)] == [1, 0, 2]
    assert [each.position for each in fused(nothing, by_words)] == [1, 0, 2]


# Queries


def test_near_duplicates_of_a_query_are_dropped() -> None:
    queries = ["When was Ada born?", "when was Ada Born", "Where was Ada born?", " ", "Was Ada's birth in 1815?"]
    assert distinct(queries, 0.6) == ["When was Ada born?", "Where was Ada born?", "Was Ada's birth in 1815?"]
    assert likeness("When was Ada born?", "Where was Ada born?") == 0.5
    assert distinct(queries, 0.5) == ["When was Ada born?", "Was Ada's birth in 1815?"]


def test_a_query_at_the_threshold_is_dropped() -> None:
    one, other = "red fort stone river", "red fort stone bridge"
    assert likeness(one, other) == 0.6
    assert distinct([one, other], 0.6) == [one]
    assert distinct([one, other], 0.61) == [one, other]


@given(st.text(max_size=40), st.text(max_size=40))
def test_likeness_is_symmetric_and_a_share(one: str, other: str) -> None:
    assert likeness(one, other) == likeness(other, one)
    assert 0 <= likeness(one, other) <= 1
    assert likeness(one, one) == 1


# Verdict by rule


@pytest.mark.parametrize(
    ("stances", "factuality"),
    [
        ("CC", Factuality.TRUE),
        ("CIIII", Factuality.TRUE),
        ("RII", Factuality.FALSE),
        ("RRC", Factuality.FALSE),
        ("RPC", Factuality.TRUE),
        ("RC", Factuality.NOT_ENOUGH_EVIDENCE),
        ("PPP", Factuality.NOT_ENOUGH_EVIDENCE),
        ("II", Factuality.NOT_ENOUGH_EVIDENCE),
        ("?", Factuality.NOT_ENOUGH_EVIDENCE),
    ],
)
def test_stances_decide_by_the_criteria(stances: str, factuality: Factuality) -> None:
    stance = {
        "C": StanceLabel.COMPLETELY_SUPPORT,
        "P": StanceLabel.PARTIALLY_SUPPORT,
        "R": StanceLabel.REFUTE,
        "I": StanceLabel.IRRELEVANT,
        "?": None,
    }
    evidence = [RetrievedEvidence("p", "u", "t", "q", stance=stance[letter]) for letter in stances]
    assert verdict_by_stances(evidence).factuality == factuality


# Together


def test_if_one_fails_the_others_are_stopped_first() -> None:
    ended: list[str] = []

    async def slow() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("slow")
        return "never"

    async def failing() -> str:
        await asyncio.sleep(0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(together([slow(), failing()]))
    assert ended == ["slow"]


def test_results_come_in_their_order() -> None:
    async def later(value: int) -> int:
        await asyncio.sleep(0.001 * (3 - value))
        return value

    async def word() -> str:
        return "w"

    assert run(together(later(value) for value in range(3))) == [0, 1, 2]
    assert run(both(later(1), word())) == (1, "w")
    assert run(together([])) == []
