"""Predictions as Touchstone and other tools write them, row by row."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from annotator.core.file_problems import BadRow, FileError
from annotator.leaderboard.predictions import predictions
from annotator.leaderboard.predictions.predictions import PredictionRow
from annotator.leaderboard.predictions.predictions_other_tools import READERS


def read(format: str, content: str) -> list[tuple[Any, Any]]:
    """What each row is about and its label; the line and the first reason of a bad one."""
    found: list[tuple[Any, Any]] = []
    for row in READERS[format](io.BytesIO(content.encode())):
        if isinstance(row, BadRow):
            found.append((row.line, row.problems[0].reason))
        else:
            found.append((row.text or row.number, row.values["label"]))
    return found


def test_openfactcheck_is_read_by_the_order_of_rows() -> None:
    found = read("openfactcheck", "label,time,cost\nTrue,1.2,0.01\nFalse,1\nFalse,1,0\n")
    assert found == [(1, "True"), (3, "2 cells, but the header has 3."), (3, "False")]
    with pytest.raises(FileError, match="no column “label”; its columns are: claim, time"):
        read("openfactcheck", "claim,time\na,1\n")


def test_fire_answers_and_does_not_give_away_its_gold_label() -> None:
    rows = [
        {"claim": "It rained.", "label": "True", "result": {"answer": "False", "response": "…"}},
        {"claim": "It snowed.", "answer": "True"},
        {"claim": "It froze.", "label": "True"},
    ]
    found = read("fire", "\n".join(map(json.dumps, rows)))
    assert found[:2] == [("It rained.", "False"), ("It snowed.", "True")]
    assert found[2] == (3, "no prediction: FIRE writes True or False to result.answer.")


LOKI = {
    "raw_text": "It rained and snowed.",
    "claim_detail": [
        {"claim": "It rained.", "factuality": 1.0},
        {"claim": "It snowed.", "factuality": 0.5},
        {"claim": "It froze.", "factuality": "No evidence found."},
        {"claim": "Nice.", "factuality": "Nothing to check."},
        {"claim": "It thawed.", "factuality": 7},
    ],
}


@pytest.mark.parametrize("content", [json.dumps(LOKI), json.dumps(LOKI, indent=1)])
def test_loki_in_one_line_or_many(content: str) -> None:
    assert read("loki", content) == [
        ("It rained.", "true"),
        ("It snowed.", "false"),
        ("It froze.", "not_enough_evidence"),
        (1, "expected a number from 0 to 1 or a text, found a number."),
    ]


def test_loki_line_by_line() -> None:
    assert len(read("loki", json.dumps(LOKI) + "\n" + json.dumps(LOKI))) == 8


def test_factscore_decisions_of_one_answer_or_of_a_file() -> None:
    atoms = [{"atom": "It rained.", "is_supported": True}, {"atom": "It snowed.", "is_supported": False}]
    expected = [("It rained.", True), ("It snowed.", False)]
    assert read("factscore", json.dumps({"decisions": atoms})) == expected
    assert read("factscore", json.dumps({"decisions": [atoms, None, atoms], "score": 0.5})) == expected * 2
    assert read("factscore", '{"decisions": [{"is_supported": true}]}') == [
        (1, "required: the claim is matched by its text.")
    ]
    assert read("factscore", '{"decisions": [3]}')[0][1].startswith("expected an object with atom")
    assert read("factscore", '{"score": 1}')[0][1] == "expected a list, found null."


@pytest.mark.parametrize("format", ["fire", "loki", "factscore"])
def test_half_a_file_is_a_bad_line(format: str) -> None:
    assert read(format, '{"claim": "It ra')[-1][1].startswith("not JSON")


def test_own_rows() -> None:
    rows = list(
        predictions.read(
            io.BytesIO(b'{"id": 7}\n{"document": "a", "position": 2}\n{"id": ["x"]}\n{"id":"a","position":2.5}')
        )
    )
    assert isinstance(rows[0], PredictionRow) and rows[0].key == "7"
    assert isinstance(rows[1], PredictionRow) and (rows[1].document, rows[1].position) == ("a", "2")
    assert isinstance(rows[2], BadRow) and rows[2].problems[0].reason == "expected a text, found a list."
    assert isinstance(rows[3], BadRow) and rows[3].problems[0].field == "position"
