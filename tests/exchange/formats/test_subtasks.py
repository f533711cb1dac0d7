"""The five subtask files, without a database."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from annotator.core.file_problems import BadRow
from annotator.core.texts.edits import Operation
from annotator.core.vocabulary import EditKind
from annotator.exchange.formats import subtasks
from annotator.exchange.formats.gold import GoldDocument
from tests.gold_documents import CONTESTED, FALSE, OPEN, OPINION, REVISED, TRUE, gold_document

BY_NAME = {each.file.split("_")[0]: each for each in subtasks.SUBTASKS}


def written(*documents: GoldDocument) -> dict[str, str]:
    return {name: b"".join(text).decode() for name, text in subtasks.files(lambda: iter(documents))}


def rows(number: int, *documents: GoldDocument) -> list[dict[str, Any]]:
    subtask = BY_NAME[f"subtask{number}"]
    return [json.loads(line) for line in written(*documents)[subtask.file].splitlines()]


def test_the_files_have_the_published_names() -> None:
    assert sorted(written(gold_document())) == [
        "subtask1_sentence_checkworthiness.jsonl",
        "subtask2_claim_checkworthiness.jsonl",
        "subtask3_claim_evidence_stance.jsonl",
        "subtask4_claim_factuality.jsonl",
        "subtask5_revision.jsonl",
    ]


def test_sentences_stand_alone_and_keep_their_position() -> None:
    first, second, third = rows(1, gold_document())
    assert first["sentence"].startswith("She wrote")  # nobody wrote a form that stands alone
    assert second == {
        "id": "s-2",
        "document": "ada-1",
        "position": "2",
        "sentence": "Ada Lovelace built an engine in 1842, a joy to read about.",
        "checkworthy": "yes",
    }
    assert third["checkworthy"] == "not_a_claim"


def test_claims_are_counted_with_those_that_are_not_checked() -> None:
    found = {row["claim"]: (row["position"], row["checkworthy"]) for row in rows(2, gold_document())}
    assert found[CONTESTED] == ("1.2", "factual")
    assert found[OPINION] == ("2.4", "opinion")


def test_stances_are_those_on_retrieved_passages() -> None:
    found = [(row["position"], row["stance"]) for row in rows(3, gold_document())]
    assert found == [
        ("1.1.1", "completely-support"),
        ("1.1.2", "irrelevant"),
        ("1.2.1", "partially-support"),
        ("1.2.2", "refute"),
        ("2.1.1", "refute"),
    ]
    assert rows(3, gold_document())[4]["id"] == "e-false"


def test_verdicts_come_with_the_mended_claim() -> None:
    found = {row["claim"]: (row["label"], row["revised_claim"]) for row in rows(4, gold_document())}
    assert found == {
        TRUE: ("true", TRUE),
        CONTESTED: ("not_enough_evidence", CONTESTED),
        FALSE: ("false", REVISED),
        OPEN: ("not_enough_evidence", OPEN),
    }


def test_a_revision_has_what_the_mended_response_is_to_say() -> None:
    [row] = rows(5, gold_document())
    assert row["factual state"] == "false"
    assert row["claim list"] == [TRUE, CONTESTED, REVISED, OPEN, "1842 is a year.", OPINION, "Hope it helps!"]
    assert (row["id"], row["document"], row["position"]) == ("d-1", "ada-1", "")


def test_a_deleted_claim_is_not_to_be_said() -> None:
    document = gold_document()
    claim = document.sentences[1].claims[0]
    claim.operations = [Operation(EditKind.DELETE_CLAIM, 0, len(claim.text))]
    assert rows(4, document)[2]["revised_claim"] == ""
    assert FALSE not in rows(5, document)[0]["claim list"] and REVISED not in rows(5, document)[0]["claim list"]


def test_what_is_not_agreed_yet_has_no_row() -> None:
    document = gold_document(revised=False)
    document.sentences[2].type = ""
    document.sentences[0].claims[0].factuality = ""
    assert [row["position"] for row in rows(1, document)] == ["1", "2"]
    assert TRUE not in [row["claim"] for row in rows(4, document)]
    assert rows(5, document) == []


@pytest.mark.parametrize("subtask", subtasks.SUBTASKS, ids=lambda each: each.file)
def test_what_is_written_is_read_again(subtask: subtasks.Subtask) -> None:
    text = written(gold_document(), gold_document(external_id="", public_id="d-2"))[subtask.file]
    found = list(subtasks.read(subtask, io.BytesIO(text.encode())))
    assert "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found) == text
    assert {row["document"] for row in found if isinstance(row, dict)} == {"ada-1", "d-2"}


def test_the_published_files_have_no_keys_and_are_read() -> None:
    [row] = subtasks.read(BY_NAME["subtask2"], io.BytesIO(b'{"claim": "A.", "checkworthy": "factual"}'))
    assert row == {"claim": "A.", "checkworthy": "factual"}


@pytest.mark.parametrize(
    ("number", "line", "said"),
    [
        (
            1,
            '{"sentence": "A.", "checkworthy": "maybe"}',
            "checkworthy: “maybe” isn’t valid; choose one of yes, opinion",
        ),
        (2, '{"claim": "A."}', "checkworthy: required"),
        (3, '{"claim": "A.", "evidence": 3, "stance": "refute"}', "evidence: expected a text, found a number"),
        (4, '{"claim": "A.", "label": true, "revised_claim": "A."}', "label: expected a text, found true"),
        (5, '{"factual state": "true", "claim list": "A."}', "claim list: expected a list of texts"),
        (1, '{"sentence": "A.", "checkworthy": "yes", "position": 2}', "position: expected a text"),
        (1, '{"sentence": "A.", "checkworthy', "not JSON"),
    ],
)
def test_bad_rows_are_named_by_line(number: int, line: str, said: str) -> None:
    [bad] = subtasks.read(BY_NAME[f"subtask{number}"], io.BytesIO(b"\n" + line.encode()))
    assert isinstance(bad, BadRow)
    assert said in "; ".join(map(str, bad.problems)) and str(bad.problems[0]).startswith("line 2")


def test_nul_and_halves_of_surrogate_pairs_are_left_out() -> None:
    document = gold_document()
    document.sentences[0].claims[0].text = "Ada\x00 wrote \ud800notes."
    assert rows(2, document)[0]["claim"] == "Ada wrote notes."
