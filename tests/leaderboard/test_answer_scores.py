"""Model responses with labelled claims: how they are read, and their scores worked out by hand."""

from __future__ import annotations

import io
import json
from math import exp
from typing import Any

import pytest

from annotator.core.file_problems import BadRow, FileError
from annotator.exchange.formats.answers import AnswerRow, CheckedRow, answers, checked_claims
from annotator.leaderboard.scoring.answer_scores import Metric, ScoreError, score_answers
from pipeline.metrics.f1_at_k import ClaimCounts, f1_at_k
from pipeline.metrics.intervals import wilson


def read(*rows: Any) -> list[AnswerRow | BadRow]:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return list(answers(io.BytesIO("\n".join(lines).encode())))


def counts(row: Any) -> tuple[int, int, int]:
    [found] = read(row)
    assert isinstance(found, AnswerRow), found
    return found.supported, found.claims, found.no_fact


def answer(model: str, domain: str, supported: int, claims: int, **fields: Any) -> AnswerRow:
    return AnswerRow(1, model, domain, supported, claims, **fields)


# --- reading --------------------------------------------------------------------------------------


def test_every_form_of_an_answer() -> None:
    labels = ["Supported", "not_enough_evidence", "Irrelevant", True]
    assert counts({"claims": [{"text": "a", "label": label} for label in labels]}) == (2, 3, 1)
    assert counts({"claim_verification_result": [{"verification_result": "unsupported"}]}) == (0, 1, 0)
    fastfact = [
        {"pre-label": "unsure", "verification_result": {"verification_label": "refuted"}},
        {"pre-label": "supported"},
    ]
    assert counts({"claims_lst": fastfact}) == (1, 2, 0)
    assert counts({"decisions": [{"atom": "a", "is_supported": False}]}) == (0, 1, 0)
    assert counts({"decisions": None}) == (0, 0, 0)


def test_whose_answer_it_is() -> None:
    [one, other] = read(
        {"model": " m ", "prompt_source": "web", "abstained": "True", "claims": [], "k_prime": 3},
        {"domain": "books", "source": "web", "abstained": False, "claims": []},
    )
    assert one == AnswerRow(1, "m", "web", 0, 0, valid=3, abstained=True, source="web")
    assert other == AnswerRow(2, "", "books", 0, 0, source="web", topic="books")
    [told] = read({"claims": [], "topic": "law", "lang": "de", "response": "Ja, drei Wörter."})
    assert isinstance(told, AnswerRow)
    assert (told.topic, told.language, told.words) == ("law", "de", 3)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"model": "m"}, "claims: required"),
        ({"claims": {}}, "found an object"),
        ({"claims": ["a"]}, "expected an object as item 1, found a text."),
        ({"claims": [{"text": "a"}]}, "claim 1 has no label; found null."),
        ({"claims": [{"label": "so so"}]}, "claim 1: “so so” isn’t a valid label; use supported or unsupported"),
        ({"claims": [], "k_prime": -1}, "k_prime: expected a number of claims"),
        ({"claims": [], "model": 3}, "model: expected a text"),
        ('{"claims": [', "not JSON"),
    ],
)
def test_bad_rows_say_what_is_wrong(row: Any, said: str) -> None:
    [found] = read(row)
    assert isinstance(found, BadRow)
    assert said in str(found.problems[0])


def test_a_list_is_read_as_a_whole() -> None:
    rows = list(checked_claims(io.BytesIO(b' [{"claim": "a", "label": "Refuted"}, 3, {"claim": "b"}]')))
    assert rows[0] == CheckedRow(1, "", "a", "Refuted", ())
    assert all(isinstance(row, BadRow) for row in rows[1:])
    with pytest.raises(FileError, match="ends too early"):
        list(checked_claims(io.BytesIO(b'[{"claim": "a"')))


def test_questions_and_answers_gold_and_predicted() -> None:
    gold = {
        "claim": "a",
        "label": "Supported",
        "questions": [
            {"question": "Who?", "answers": [{"answer": "Ada"}, {"answer": "Yes", "boolean_explanation": "So it is."}]},
            {"question": "When?", "answers": []},
        ],
    }
    predicted = {"claim_id": 7, "pred_label": "Refuted", "evidence": [{"question": "Who?", "answer": "Ben"}]}
    rows = list(checked_claims(io.BytesIO((json.dumps(gold) + "\n" + json.dumps(predicted)).encode())))
    assert rows == [
        CheckedRow(1, "", "a", "Supported", ("Who? Ada", "Who? Yes So it is.", "When?")),
        CheckedRow(2, "7", "", "Refuted", ("Who? Ben",)),
    ]
    [bad] = checked_claims(io.BytesIO(b'{"claim": "a", "label": "x", "questions": [{"question": "Who?"}]}'))
    assert isinstance(bad, BadRow)


# --- scores ---------------------------------------------------------------------------------------


def test_factscore_is_precision_and_leaves_out_who_abstained() -> None:
    rows = [answer("m", "d", 1, 2), answer("m", "d", 4, 4), answer("m", "d", 0, 0, abstained=True)]
    found = score_answers(rows, Metric.FACTSCORE)
    [model] = found["models"]
    assert (model["score"], model["answers"], model["abstained"]) == (0.75, 2, 1)
    with pytest.raises(ScoreError, match="no responses to score"):
        score_answers(rows[2:], Metric.FACTSCORE)


def test_veriscore_with_the_median_of_each_domain_and_with_a_k() -> None:
    rows = [answer("a", "x", 4, 4), answer("b", "x", 1, 2), answer("a", "y", 3, 6), answer("b", "y", 6, 6)]
    found = score_answers(rows, Metric.VERISCORE)
    assert found["k"] == {"x": 3.0, "y": 6.0}
    scores = {model["model"]: model for model in found["models"]}
    assert scores["a"]["by_domain"]["x"]["score"] == 1.0
    assert scores["a"]["by_domain"]["y"]["score"] == 0.5
    assert scores["b"]["by_domain"]["x"]["score"] == pytest.approx(2 * 0.5 * (1 / 3) / (0.5 + 1 / 3))
    assert [model["model"] for model in found["models"]] == ["a", "b"]
    assert scores["a"]["score"] == 0.75 and scores["a"]["interval"] is None, "one answer a domain"
    assert found["kendall_tau"] == [{"domains": ["x", "y"], "models": 2, "tau": -1.0}]
    assert score_answers(rows, Metric.VERISCORE, k=2)["k"] == {"x": 2, "y": 2}
    assert score_answers([answer("a", "x", 0, 0)], Metric.VERISCORE)["k"] == {"x": 1.0}


def test_fastfact_needs_what_people_counted() -> None:
    found = score_answers([answer("m", "d", 8, 8, valid=10)], Metric.FASTFACT)
    recall = 2 / (1 + exp(0.2))
    assert found["models"][0]["score"] == pytest.approx(2 * recall / (1 + recall))
    assert found["gamma"] == 0.1
    with pytest.raises(ScoreError, match="Line 1 has no k_prime, the number of claims"):
        score_answers([answer("m", "d", 8, 8)], Metric.FASTFACT)


def test_a_domain_weighs_the_same_however_many_answers_it_has() -> None:
    rows = [answer("m", "x", 1, 1)] * 8 + [answer("m", "y", 0, 1)] * 2
    [model] = score_answers(rows, Metric.FACTSCORE)["models"]
    assert model["score"] == 0.5
    assert model["interval"] is None, "each domain's answers are all alike, which says nothing of other answers"
    mixed = [answer("m", "x", number % 2, 1) for number in range(20)]
    low, high = score_answers(mixed, Metric.FACTSCORE)["models"][0]["interval"]
    assert 0.2 < low < 0.5 < high < 0.8


def test_k_is_drawn_with_the_answers() -> None:
    """Answers that are alike have Wilson's interval with one K for all resamples; K of the others moves their score."""
    own = [AnswerRow(0, "own", "web", supported=5, claims=5) for _ in range(4)]
    others = [AnswerRow(0, "other", "web", supported=number, claims=number) for number in (2, 4, 5, 9, 12, 14, 18, 20)]
    [found] = [each for each in score_answers(own + others, Metric.VERISCORE)["models"] if each["model"] == "own"]
    low, high = found["interval"]
    assert low <= found["score"] <= high and high - low > 0.01
    given = score_answers(own + others, Metric.VERISCORE, k=6)["models"]
    assert next(each["interval"] for each in given if each["model"] == "own") == pytest.approx(
        wilson(4 * found_k(5, 6), 4)
    )


def found_k(supported: int, k: float) -> float:
    return f1_at_k(ClaimCounts(supported, supported), k)


def test_scores_are_broken_down_by_what_is_told_of_answers() -> None:
    web = [answer("m", "web", 1, 2, language="de", words=40) for _ in range(10)]
    books = [answer("m", "books", 2, 2, language="en", words=60) for _ in range(9)]
    found = score_answers([*web, *books], Metric.FACTSCORE)["breakdowns"]
    assert list(found) == ["language", "label", "length"]  # one model; no source or domain in words
    german, english = found["language"]
    assert german == {
        "group": "de", "items": 10, "documents": 10, "figures": {"score": 0.5},
        "intervals": {"score": pytest.approx(wilson(5, 10))},
    }  # fmt: skip
    assert english == {"group": "en", "items": 9, "documents": 9, "figures": None, "intervals": None}
    assert [each["group"] for each in found["length"]] == ["up to 50", "51 to 100"]
    assert [each["group"] for each in found["label"]] == ["false", "true"]
