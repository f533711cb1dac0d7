"""Papelo's pursuit against scripted services: the chain, its evidence, what falls back, and what it costs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from annotator.core.vocabulary import Factuality, Stage
from pipeline import strategies
from pipeline.clients.base import ChatRequest, FetchedPage, PageRequest, SearchRequest, SearchResult, ServiceError
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.retrieval.entities import named
from pipeline.retrieval.look_up import plain_query
from pipeline.retrieval.questions import about, one_question
from pipeline.retrieval.snippet_window import window_of
from pipeline.strategies.papelo import Papelo
from pipeline.suggestions import ClaimText, DocumentText, Page, Verification
from pipeline.tools import MissingServiceError, Tools
from tests.scripted import (
    UNREADABLE,
    ScriptedChat,
    ScriptedPages,
    ScriptedSearch,
    calls,
    prompts_of,
    run,
    turns,
)
from tests.scripted import page as a_page

A_PAGE, HIDDEN, EARLY = "https://a.example/pell", "https://hidden.example/", "https://early.example/"
CLAIM = "The observatory at Pell Ridge was opened in 1934."
FIRST = "When was the observatory at Pell Ridge opened?"
SECOND = "When did building of the observatory at Pell Ridge begin?"
PAGE = (
    "Pell Ridge is a hill. It lies in the north. Its observatory was begun in 1934. It was opened on 12 May 1938."
    " It closed in 1971. The building is a hotel. Guests like the roof. Breakfast is at eight."
)
ANSWERS: dict[str, Any] = {
    "first_question": {"question": FIRST},
    "choose_document": {"document": 1, "answer": "In 1938."},
    "answer": {"answer": "It was opened on 12 May 1938."},
    "next_question": {"settled": "false"},
    "paraphrase": {
        "questions": ["In which year did it open?", FIRST.lower(), "What day did it open?", "Opening year?", "Opened?"]
    },
    "verdict": {"reason": "Opened in 1938, by answer 1.", "verdict": "refuted"},
}


def a_hit(request: SearchRequest) -> list[SearchResult]:
    return [SearchResult(A_PAGE, "Pell Ridge", "observatory was opened on 12 May 1938", site="a.example")]


class World:
    """Scripted services: ``answers`` differ from those above, the last three arguments are what scripts are made of."""

    def __init__(
        self, answers: Mapping[str, Any] | None = None, hits: Any = a_hit, page: Any = PAGE, **services: Any
    ) -> None:
        self.chat = ScriptedChat(ANSWERS | dict(answers or {}))
        self.search = ScriptedSearch(hits)
        self.pages = ScriptedPages(dict.fromkeys((A_PAGE, HIDDEN, EARLY), page))
        given: dict[str, Any] = {"search": self.search, "pages": self.pages} | services
        self.tools = Tools(chat=self.chat, prompts=prompts_of("papelo"), **given)

    @property
    def calls(self) -> dict[str, int]:
        return calls(self.tools)

    @property
    def searches(self) -> list[SearchRequest]:
        return self.search.requests

    def asked(self, step: str) -> list[str]:
        return self.chat.asked(step)


def verify(world: World, *, document: DocumentText | None = None, **values: object) -> Verification:
    """One claim verified; what was called must be what the formula says."""
    strategy = strategies.get("papelo", values)
    result = run(strategy.verify(ClaimText(CLAIM), document or DocumentText("", CLAIM), world.tools))
    assert {step: number for step, number in strategy.formula(result.counts).items() if number} == world.calls
    return result


def test_questions_end_when_the_claim_is_settled_and_others_words_fill_the_chain_up() -> None:
    world = World()
    result = verify(world)
    assert result.verdict is not None
    chain = result.verdict.chain
    assert [link.question for link in chain] == [
        FIRST,
        "In which year did it open?",
        "What day did it open?",
        "Opening year?",
        "Opened?",
    ]
    assert chain[0].answer == "It was opened on 12 May 1938."
    assert (result.verdict.label, result.verdict.factuality) == ("Refuted", Factuality.FALSE)
    assert result.verdict.reason == "Opened in 1938, by answer 1."
    assert result.verdict.correction is None
    assert result.notes == ()
    # All five questions lead to one passage: it stands there once, and every link rests on it.
    (evidence,) = result.evidence
    assert {link.evidence for link in chain} == {0}
    assert evidence.snapshot is not None
    assert evidence.passage in PAGE
    assert world.searches[0].query == f"{CLAIM} {FIRST}".replace("?", "") == chain[0].query
    assert world.searches[0].count == 10
    assert (world.calls["next_question"], world.calls["paraphrase"], world.calls["verdict"]) == (1, 1, 1)


def test_the_next_question_is_asked_from_the_answers_so_far() -> None:
    world = World({"next_question": turns({"settled": "no", "question": SECOND}, {"settled": "true"})})
    result = verify(world, paraphrase=False)
    assert result.verdict is not None
    assert [link.question for link in result.verdict.chain] == [FIRST, SECOND]
    assert "It was opened on 12 May 1938." in world.asked("next_question")[0]
    assert SECOND not in world.asked("next_question")[0]
    assert SECOND in world.asked("next_question")[1]
    assert "paraphrase" not in world.calls


def test_a_full_chain_asks_for_no_further_question() -> None:
    more = [{"settled": "no", "question": f"And what of part {number} of it?"} for number in range(9)]
    world = World({"next_question": turns(*more)})
    result = verify(world, questions=3)
    assert result.verdict is not None
    assert len(result.verdict.chain) == 3
    assert world.calls["next_question"] == 2
    assert "paraphrase" not in world.calls


def test_a_question_that_comes_again_ends_the_pursuit() -> None:
    world = World({"next_question": {"settled": "no", "question": FIRST.upper()}})
    result = verify(world, paraphrase=False)
    assert result.verdict is not None
    assert len(result.verdict.chain) == 1


def test_evidence_stands_in_the_order_of_the_chain() -> None:
    def hits(request: SearchRequest) -> list[SearchResult]:
        name = "second" if SECOND.rstrip("?") in request.query else "first"
        return [SearchResult(f"https://{name}.example/", name, f"The {name} snippet.")]

    world = World(
        {"next_question": turns({"settled": "no", "question": SECOND}, {"settled": "true"})}, hits=hits, pages=None
    )
    result = verify(world, paraphrase=False)
    assert result.verdict is not None
    assert [each.title for each in result.evidence] == ["first", "second"]
    assert [link.evidence for link in result.verdict.chain] == [0, 1]
    assert [each.passage for each in result.evidence] == ["The first snippet.", "The second snippet."]
    assert all(each.snapshot is None for each in result.evidence)


def test_an_empty_search_is_repeated_with_the_names_alone() -> None:
    world = World(hits=[])
    result = verify(world, questions=1)
    assert [request.query for request in world.searches] == [f"{CLAIM} {FIRST}".replace("?", ""), "Pell Ridge"]
    assert result.verdict is not None
    (link,) = result.verdict.chain
    assert (link.query, link.answer, link.evidence) == ("Pell Ridge", "Nothing was found.", None)
    assert result.evidence == ()
    assert "choose_document" not in world.calls


def test_nothing_from_the_day_of_the_claim_or_later_is_used() -> None:
    limit = dt.date(2020, 10, 27)
    late, early = dt.date(2020, 10, 27), dt.date(2020, 10, 26)

    def hits(request: SearchRequest) -> list[SearchResult]:
        return [
            SearchResult("https://late.example/", "Late", "opened 1938", published=late),
            SearchResult(HIDDEN, "Hidden", "opened 1938"),
            SearchResult(EARLY, "Early", "opened 1938", published=early),
        ]

    def page(request: PageRequest) -> FetchedPage:
        return a_page(request.url, PAGE, published=late if request.url == HIDDEN else None)

    world = World(hits=hits, page=page)
    result = verify(world, document=DocumentText("", CLAIM, reference_date=limit), questions=1)
    assert {request.before for request in world.searches} == {limit}
    assert "Late" not in "".join(world.asked("choose_document"))
    # The model took the hit without a date; its page turned out to be too late, so it chose again from the rest.
    assert [each.title for each in result.evidence] == ["Early"]
    assert result.counts["too_late"] == 1
    assert "Hidden" not in world.asked("choose_document")[1]
    assert f"published {early.isoformat()}" in world.asked("choose_document")[1]


def test_where_no_document_is_best_the_answer_rests_on_the_list() -> None:
    for number in (None, 0, 7):
        world = World({"choose_document": {"document": number, "answer": "The hits speak of hikes."}})
        result = verify(world, questions=1)
        assert result.verdict is not None
        (link,) = result.verdict.chain
        assert (link.answer, link.evidence) == ("The hits speak of hikes.", None)
        assert "fetch" not in world.calls
        assert "answer" not in world.calls


def test_the_four_classes_keep_their_own_words() -> None:
    expected = {
        "supported": ("Supported", Factuality.TRUE),
        "refuted": ("Refuted", Factuality.FALSE),
        "not_enough_evidence": ("Not Enough Evidence", Factuality.NOT_ENOUGH_EVIDENCE),
        "conflicting": ("Conflicting Evidence/Cherrypicking", Factuality.NOT_ENOUGH_EVIDENCE),
    }
    for word, (label, factuality) in expected.items():
        result = verify(World({"verdict": {"reason": "So.", "verdict": word}}), questions=1, classes="four")
        assert result.verdict is not None
        assert (result.verdict.label, result.verdict.factuality) == (label, factuality)
    refused = verify(World({"verdict": {"reason": "So.", "verdict": "conflicting"}}), questions=1)
    assert refused.verdict is not None
    assert refused.verdict.factuality is None  # two classes know no third


def test_the_last_verdict_may_differ_from_the_one_that_ended_the_questions() -> None:
    result = verify(World({"verdict": {"reason": "", "verdict": "supported"}}))
    assert result.verdict is not None
    assert result.verdict.factuality == Factuality.TRUE


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("first_question", "asked as a question"),
        ("choose_document", "first hit was read"),
        ("answer", "passage itself is used"),
        ("next_question", "No further question"),
        ("paraphrase", "was not shortened"),
        ("verdict", "ended the questions"),
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again_then_replaced_and_said(step: str, text: str) -> None:
    result = verify(World({step: UNREADABLE}))
    assert step in {note.step for note in result.notes}
    assert any(text in note.text for note in result.notes)
    assert result.verdict is not None
    assert result.verdict.factuality == Factuality.FALSE
    assert result.verdict.chain
    assert result.evidence


def test_one_unreadable_answer_costs_one_call_and_no_note() -> None:
    result = verify(World({"first_question": turns("no", {"question": FIRST})}), questions=1)
    assert result.notes == ()
    assert result.counts["first_question_again"] == 1


def test_without_any_verdict_the_chain_is_still_handed_over() -> None:
    result = verify(World({"verdict": "?"}), questions=1)
    assert result.verdict is not None
    assert (result.verdict.label, result.verdict.factuality) == ("", None)
    assert len(result.verdict.chain) == 1


def test_a_page_that_cannot_be_read_leaves_its_snippet() -> None:
    for page, notes in ((ServiceError("a.example closed the line."), 1), (None, 0)):
        result = verify(World(page=page), questions=1)
        assert [each.passage for each in result.evidence] == ["observatory was opened on 12 May 1938"]
        assert result.evidence[0].snapshot is None
        assert len(result.notes) == notes


def test_a_hit_without_snippet_is_read_from_its_beginning() -> None:
    world = World(hits=[SearchResult(A_PAGE, "Pell Ridge", "")])
    (evidence,) = verify(world, questions=1).evidence
    assert evidence.passage == PAGE[: PAGE.index(" The building")]


def test_one_failed_search_is_noted_and_all_failed_ones_are_a_failure() -> None:
    failed: list[str] = []

    def hits(request: SearchRequest) -> list[SearchResult]:
        if not failed:
            failed.append(request.query)
            raise ServiceError("The search service is busy.")
        return [SearchResult(A_PAGE, "Pell Ridge", "opened on 12 May 1938")]

    result = verify(World(hits=hits))
    assert [note.step for note in result.notes] == ["search"]
    assert result.verdict is not None
    assert [link.evidence for link in result.verdict.chain] == [None, 0, 0, 0, 0]

    with pytest.raises(ServiceError, match="down"):
        verify(World(hits=ServiceError("The search service is down.")))


def test_a_corpus_serves_where_there_is_no_search() -> None:
    index = PassageIndex.build([Page("https://corpus.example/pell", "Pell Ridge", PAGE)])
    world = World(search=None, index=index)
    result = verify(world, questions=1)
    assert result.evidence[0].url == "https://corpus.example/pell"
    assert "search" not in world.calls
    with pytest.raises(MissingServiceError, match="Services"):
        verify(World(search=None))


def test_what_is_told_of_a_released_claim_is_who_when_and_where_and_never_its_label(data_dir: Path) -> None:
    rows = json.loads((data_dir / "averitec.sample.json").read_text(encoding="utf-8"))
    row = next(each for each in rows if each["speaker"] and each["location_ISO_code"])
    day = dt.date(*map(int, reversed(row["claim_date"].split("-"))))
    metadata = {key: value for key, value in row.items() if key != "claim" and isinstance(value, str)}
    world = World()
    document = DocumentText("", row["claim"], reference_date=day, metadata=metadata)
    assert set(metadata) >= {"label", "justification", "fact_checking_article"}
    verify(world, document=document)
    for step in ("first_question", "next_question", "verdict"):
        (text,) = world.asked(step)
        assert f"Said by: {row['speaker']}" in text
        assert f"Said on: {row['claim_date']}" in text
        assert f"Place: {row['location_ISO_code']}" in text
        assert row["justification"].strip() not in text
        assert row["fact_checking_article"] not in text
    assert all(request.before == day for request in world.searches)


def test_the_day_of_a_document_is_told_where_the_metadata_has_none() -> None:
    assert about(DocumentText("", "", reference_date=dt.date(2020, 1, 2))) == "Said on: 2020-01-02"
    assert about(DocumentText("", "", metadata={"label": "Refuted"})).startswith("Nothing is known")


def test_of_a_wordy_answer_the_first_question_is_asked() -> None:
    assert one_question("Let me think. Did the U.S. Senate vote in 1911? Or in 1912?") == (
        "Did the U.S. Senate vote in 1911?"
    )
    assert one_question("the year of the vote") == "the year of the vote"


def test_the_window_is_the_middle_one_of_those_that_hold_the_snippet() -> None:
    sentences = [f"Sentence {name} stands here." for name in ("one", "two", "three", "four", "five", "six", "seven")]
    text = " ".join([*sentences[:3], "The old mill burned down in 1911.", *sentences[3:]])
    # Windows 0 to 3 of 0 to 3 hold it: of four the third is the middle.
    assert window_of(text, "old mill burned 1911") == " ".join(
        [sentences[2], "The old mill burned down in 1911.", *sentences[3:6]]
    )
    assert window_of(text, "something else entirely") is None
    assert window_of(text, "") is None
    assert window_of("", "old mill") is None
    assert window_of("One mill. Two mills.", "mill") == "One mill. Two mills."


def test_a_window_must_hold_more_than_the_share() -> None:
    text = "Alpha bravo charlie delta echo foxtrot golf."
    ten = "alpha bravo charlie delta echo foxtrot golf x y z"
    assert window_of(text, ten, share=0.7) is None  # seven of ten are not more than 70 %
    assert window_of(text, ten.removesuffix(" z"), share=0.7) == text


def test_a_page_without_sentences_is_not_quoted_whole() -> None:
    assert window_of("mill " * 2000, "mill") is None


def test_names_are_what_is_left_of_a_query_without_hits() -> None:
    assert named("Did Taylor Zundel vote in Utah? Voters in Utah were turned away in 2020.") == "Taylor Zundel Utah"
    assert named("Was COVID-19 found in France's cheese? France says so.") == "COVID-19 France"
    assert named("What is the best way to cook rice?") == ""


def test_a_run_may_set_every_parameter_within_its_bounds() -> None:
    assert strategies.parameters_of("papelo", {}).model_dump() == {
        "questions": 5,
        "paraphrase": True,
        "classes": "two",
        "results": 10,
        "sentences": 5,
        "share": 0.7,
    }
    with pytest.raises(ValueError, match="questions"):
        strategies.parameters_of("papelo", {"questions": 11})


def test_claims_come_from_the_offline_rules() -> None:
    decomposition = run(Papelo().decompose(DocumentText("", CLAIM), Tools()))
    assert [claim.text for each in decomposition.sentences for claim in each.claims] == [CLAIM]


@pytest.mark.parametrize("count", [6, 10])
def test_up_to_ten_pairs_come_from_one_question(count: int) -> None:
    many = {"questions": [f"Wording number {number}?" for number in range(12)]}
    world = World({"paraphrase": many})
    result = verify(world, questions=count)
    assert result.verdict is not None
    assert len(result.verdict.chain) == count
    assert f"Give {count - 1} other wordings" in world.asked("paraphrase")[0]


@pytest.mark.parametrize(("hops", "asked"), [(1, 14), (2, 16), (3, 17), (4, 17), (5, 16)])
def test_what_a_claim_asks_of_the_model_at_most(hops: int, asked: int) -> None:
    def wordings(request: ChatRequest) -> dict[str, list[str]]:
        question = request.messages[-1].content
        return {"questions": [f"{question.rstrip('?')}, wording {number}?" for number in range(4)]}

    more = [{"settled": "no", "question": f"And what of part {number} of it?"} for number in range(1, hops)]
    world = World({"next_question": turns(*more, {"settled": "true"}), "paraphrase": wordings})
    result = verify(world)
    assert result.verdict is not None
    assert len(result.verdict.chain) == 5
    assert result.counts["hops"] == hops
    assert len(world.chat.requests) == asked


def test_the_forecast_is_the_most_that_the_defaults_allow() -> None:
    typical = Papelo.typical[Stage.VERIFY]
    calls_of = Papelo().formula(typical)
    services = {"search", "fetch"}
    assert sum(number for step, number in calls_of.items() if step not in services) == 17 * typical["claims"]
    assert {calls_of[step] for step in services} == {5 * typical["claims"]}


def test_a_query_is_the_claim_and_then_the_question_without_punctuation() -> None:
    assert plain_query("Pell’s mill (1934), built by J. Dahl? It cost $4.5 co-op") == (
        "Pell mill 1934 built by J. Dahl It cost $4.5 co-op"
    )
    assert plain_query("Où est l'école d'été?") == "Où est lécole dété"
