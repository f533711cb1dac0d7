"""VeriFastScore's output and Claimify's data set as documents with suggested claims."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from annotator.core.file_problems import BadRow, FileError
from annotator.exchange.formats.documents import READERS, detect
from annotator.exchange.formats.incoming import IncomingDocument

FIRST, SECOND = "Ada Lovelace was born in London in 1815.", "She wrote notes on Babbage's engine."
ROW: dict[str, Any] = {
    "id": "a-1",
    "question": "Who was she?",
    "response": f"{FIRST} {SECOND}",
    "model": "m",
    "topic": "people",
    "claim_search_results": {FIRST: [{"title": "t", "snippet": "s", "link": "l"}], SECOND: []},
    "evidence": "s",
    "claim_verification_result": [
        {"claim": "Ada Lovelace was born in London.", "verification_result": "supported"},
        {"claim": "Ada Lovelace wrote notes on Babbage's engine.", "verification_result": "unsupported"},
        {"claim": "Ada Lovelace was born in 1815.", "verification_result": "supported"},
    ],
}
HEADER = ("answer_id", "question", "sentence_id", "sentence", "contains_factual_claim")


def read(name: str, content: bytes) -> list[IncomingDocument | BadRow]:
    return list(READERS[name](io.BytesIO(content), None))


def fast(*rows: Any) -> list[IncomingDocument | BadRow]:
    return read("verifastscore", "\n".join(map(json.dumps, rows)).encode())


def one(found: list[IncomingDocument | BadRow]) -> IncomingDocument:
    [document] = found
    assert isinstance(document, IncomingDocument), document
    return document


def problem(found: list[IncomingDocument | BadRow]) -> str:
    [row] = found
    assert isinstance(row, BadRow), row
    return "; ".join(map(str, row.problems))


def table(*rows: tuple[Any, ...], header: tuple[str, ...] = HEADER) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    return out.getvalue().encode()


# --- VeriFastScore --------------------------------------------------------------------------------


def test_claims_go_to_the_sentences_that_they_are_from() -> None:
    document = one(fast(ROW))
    assert [(each.text, each.claims) for each in document.sentences] == [
        (FIRST, ("Ada Lovelace was born in London.", "Ada Lovelace was born in 1815.")),
        (SECOND, ("Ada Lovelace wrote notes on Babbage's engine.",)),
    ]
    assert (document.prompt, document.external_id, document.model) == ("Who was she?", "a-1", "m")


def test_what_annotators_are_not_to_see_is_left_out() -> None:
    assert one(fast(ROW)).metadata == {"topic": "people"}


@pytest.mark.parametrize("results", [None, {}, {"Another sentence.": []}, {SECOND: [], FIRST: []}, ["x"]])
def test_without_its_sentences_the_response_is_one(results: Any) -> None:
    document = one(fast(ROW | {"claim_search_results": results}))
    assert [len(each.claims) for each in document.sentences] == [3]
    assert document.sentences[0].text == ROW["response"]


def test_an_abstained_response_has_no_claims() -> None:
    document = one(fast({"response": "I'm sorry, I can't fulfill that request.", "abstained": True}))
    assert [each.claims for each in document.sentences] == [()]


@pytest.mark.parametrize("found", [None, "x", [{"verification_result": "supported"}], [{"claim": " "}], [3]])
def test_another_file_is_told_so(found: Any) -> None:
    assert "Is this VeriFastScore’s output?" in problem(fast(ROW | {"claim_verification_result": found}))


def test_a_row_without_a_response_is_named() -> None:
    assert "response" in problem(fast({"claim_verification_result": []}))


# --- Claimify -------------------------------------------------------------------------------------

SENTENCES = (
    ("q1", "Who was she?", 0, FIRST, "True"),
    ("q1", "Who was she?", 1, "Nobody wrote better notes.", "False"),
    ("q2", "And he?", 0, SECOND, "True"),
)


def test_sentences_of_an_answer_become_a_document() -> None:
    first, second = read("claimify", table(*SENTENCES))
    assert isinstance(first, IncomingDocument) and isinstance(second, IncomingDocument)
    assert first.response == f"{FIRST} Nobody wrote better notes."
    assert [each.claims for each in first.sentences] == [(FIRST,), ()]
    assert (first.external_id, first.prompt, second.external_id) == ("q1", "Who was she?", "q2")


def test_extracted_claims_come_along() -> None:
    rows = [(*row, json.dumps(["She was born."] if row[4] == "True" else [])) for row in SENTENCES]
    first, _ = read("claimify", table(*rows, header=(*HEADER, "claims")))
    assert isinstance(first, IncomingDocument)
    assert [each.claims for each in first.sentences] == [("She was born.",), ()]
    lines = [
        dict(zip(HEADER, row, strict=True)) | {"contains_factual_claim": True, "claims": ["A."]} for row in SENTENCES
    ]
    documents = read("claimify", "\n".join(map(json.dumps, lines)).encode())
    assert [type(each) for each in documents] == [IncomingDocument, IncomingDocument]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("q1", "Q", 0, "", "True"), "sentence: expected a text"),
        (("q1", "Q", 0, "She was.", "perhaps"), "“perhaps” is neither true nor false (line 2)"),
    ],
)
def test_bad_rows_are_named(row: tuple[Any, ...], words: str) -> None:
    assert words in problem(read("claimify", table(row)))


def test_a_bad_cell_does_not_take_other_answers_with_it() -> None:
    bad, good = read("claimify", table(("q1", "Q", 0, "", "True"), SENTENCES[2]))
    assert isinstance(bad, BadRow)
    assert isinstance(good, IncomingDocument)


def test_bad_claims_are_named() -> None:
    found = read("claimify", table((*SENTENCES[0], "no list"), header=(*HEADER, "claims")))
    assert "expected a JSON list of texts" in problem(found)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"answer_id,question\nq,a\n", "sentence_id, sentence, contains_factual_claim are missing"),
        (table(SENTENCES[0]) + b'q2,"open', "stops being CSV"),
        (table(SENTENCES[0]).replace(b"London", b"L\xffndon"), "not UTF-8"),
        (b"", "empty"),
    ],
)
def test_files_that_cannot_be_read_say_what_to_do(content: bytes, words: str) -> None:
    with pytest.raises(FileError, match=words):
        read("claimify", content)


def test_rows_with_too_few_cells_are_named() -> None:
    assert "more or fewer cells" in problem(read("claimify", table(("q1", "Q", 0))))


def test_both_are_recognized() -> None:
    assert detect(io.BytesIO(json.dumps(ROW).encode()), "x.jsonl") == "verifastscore"
    assert detect(io.BytesIO(table(*SENTENCES)), "data.csv") == "claimify"
    assert detect(io.BytesIO(json.dumps(dict(zip(HEADER, SENTENCES[0], strict=True))).encode())) == "claimify"
    veriscore = ROW | {"claim_list": [["x"]]}
    assert detect(io.BytesIO(json.dumps(veriscore).encode()), "x.jsonl") == "fastfact"
