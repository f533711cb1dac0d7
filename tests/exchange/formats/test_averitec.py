"""Claims as AVeriTeC has them, without a database."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from annotator.core.file_problems import BadRow, FileError
from annotator.core.vocabulary import Factuality, StanceLabel
from annotator.exchange.formats import averitec
from annotator.exchange.formats.answers import CheckedRow, checked_claims
from annotator.exchange.formats.documents import detect
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.incoming import IncomingDocument, IncomingSentence
from tests.gold_documents import CONTESTED, FALSE, OPEN, TRUE, gold_document


def claim(**fields: Any) -> dict[str, Any]:
    """A claim as AVeriTeC has it."""
    return {
        "claim": "The mayor closed every library in 2019.",
        "required_reannotation": False,
        "label": "Refuted",
        "justification": "Two of nine were closed. ",
        "claim_date": "5-3-2020",
        "speaker": None,
        "original_claim_url": None,
        "fact_checking_article": "https://example.org/check",
        "reporting_source": "Radio",
        "location_ISO_code": "GB",
        "claim_types": ["Event/Property Claim"],
        "fact_checking_strategies": ["Written Evidence"],
        "questions": [
            {
                "question": "Were all libraries closed?",
                "answers": [
                    {
                        "answer": "No",
                        "answer_type": "Boolean",
                        "source_url": "https://example.org/libraries",
                        "source_medium": "Web text",
                        "boolean_explanation": "Two of nine were closed.",
                        "cached_source_url": "https://example.org/cache",
                    },
                    {"answer": "Two.", "answer_type": "Extractive", "source_url": "", "source_medium": "PDF"},
                ],
            }
        ],
        "cached_original_claim_url": None,
    } | fields


def written(*documents: GoldDocument) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads("".join(averitec.lines(documents)))
    return found


def read(*rows: Any) -> list[GoldDocument | BadRow]:
    return list(averitec.read(io.BytesIO(json.dumps(rows).encode())))


def gold(*rows: Any) -> list[GoldDocument]:
    return [each for each in read(*rows) if isinstance(each, GoldDocument)]


def exactly(row: dict[str, Any]) -> str:
    """A row as JSON, its keys in their order."""
    return json.dumps(row)


def test_the_sample_comes_out_as_it_was(data_dir: Any) -> None:
    content = (data_dir / "averitec.sample.json").read_bytes()
    documents = [each for each in averitec.read(io.BytesIO(content)) if isinstance(each, GoldDocument)]
    rows = json.loads(content)
    assert len(documents) == len(rows) == 100
    assert list(map(exactly, written(*documents))) == list(map(exactly, rows))


ODD_ROWS: list[dict[str, Any]] = [
    claim(),
    claim(questions=[], justification="Nobody found any."),  # the same claim again, with other evidence
    claim(),  # and once more, as it was
    {"claim": "Keys are few.", "label": "Supported"},
    {"split": {"name": "dev", "n": 1.0}, **claim(claim="Unknown keys.", claim_id=7), "note": None, "document": "d"},
    {"questions": [], "label": "Refuted", "claim": "Another order.", "claim_id": "x-1", "position": 3},
    claim(claim="The id is null.", claim_id=None, justification=None),
    claim(claim="No text\x00 of a database \ud800.", speaker="\x00", odd={"\x00": "\udfff"}),
    claim(claim=" White space. ", claim_types="none", questions=[{"question": "Who?", "answers": [], "rank": 1}]),
    claim(claim="One id twice.", claim_id=8),
    claim(claim="One id twice, of another claim.", claim_id="8"),
]


def test_all_rows_come_out_as_they_went_in_whatever_their_keys() -> None:
    documents = gold(*ODD_ROWS)
    assert list(map(exactly, written(*documents))) == list(map(exactly, ODD_ROWS))
    assert len({each.identity for each in documents}) == len(ODD_ROWS)


def test_repeated_claims_are_the_same_when_the_file_comes_again() -> None:
    once = [each.identity for each in gold(*ODD_ROWS)]
    assert [each.identity for each in gold(*ODD_ROWS)] == once
    assert (once[4], once[5], once[9]) == ("7", "x-1", "8")
    anew = averitec.read_documents(io.BytesIO(json.dumps(ODD_ROWS).encode()))
    assert [each.identity for each in anew if isinstance(each, IncomingDocument)] == once


def test_a_claim_labelled_anew_keeps_its_id_and_its_unknown_keys() -> None:
    document = gold_document(source="AVeriTeC", external_id="7", metadata={"split": "dev", "speaker": "Ada"})
    document.sentences = document.sentences[1:2]
    del document.sentences[0].claims[1:]
    rows = written(document)
    assert len(rows) == 1 and rows[0]["claim_id"] == "7"
    assert (rows[0]["split"], rows[0]["speaker"]) == ("dev", "Ada")
    several = written(gold_document(source="AVeriTeC", external_id="7"))
    assert several[0]["claim_id"] == "c-true"


def test_labels_are_those_of_averitec() -> None:
    found = {row["claim"]: row["label"] for row in written(gold_document())}
    assert found == {
        TRUE: "Supported",
        CONTESTED: "Conflicting Evidence/Cherrypicking",
        FALSE: "Refuted",
        OPEN: "Not Enough Evidence",
    }


def test_a_claim_says_where_it_is_from() -> None:
    first, _, third, _ = written(gold_document())
    assert (first["claim_id"], first["document"], first["position"]) == ("c-true", "ada-1", "1.1")
    assert (first["speaker"], first["reporting_source"], first["claim_date"]) == ("m-1", "in-house", "30-04-2023")
    assert first["justification"] == "Her notes are printed."
    assert third["position"] == "2.1"


def test_queries_are_the_questions_and_irrelevant_passages_are_left_out() -> None:
    first, second, third, fourth = written(gold_document())
    assert first["questions"] == [
        {
            "question": "lovelace notes",
            "answers": [
                {
                    "answer": "She published notes.",
                    "answer_type": "Extractive",
                    "source_url": "https://example.org/ada",
                    "source_medium": "Web text",
                }
            ],
        }
    ]
    assert [each["question"] for each in second["questions"]] == ["first programmer", "first program"]
    # Retrieved, then added by a person; nobody knows a query of either.
    assert [len(each["answers"]) for each in third["questions"]] == [2]
    assert fourth["questions"] == []


def test_what_is_written_can_be_scored() -> None:
    text = "".join(averitec.lines([gold_document()]))
    found = [row for row in checked_claims(io.BytesIO(text.encode())) if isinstance(row, CheckedRow)]
    assert [row.key for row in found] == ["c-true", "c-contested", "c-false", "c-open"]
    assert found[0].pairs == ("lovelace notes She published notes.",)


def test_a_gold_claim_is_a_document_with_its_evidence() -> None:
    [document] = gold(claim())
    [sentence] = document.sentences
    [found] = sentence.claims
    assert document.response == sentence.text == found.text == "The mayor closed every library in 2019."
    assert (found.factuality, found.is_checked, found.reason) == (Factuality.FALSE, True, "Two of nine were closed. ")
    first, second = found.retrieved
    assert (first.query, first.passage) == ("Were all libraries closed?", "No. Two of nine were closed.")
    assert (first.url, second.url, second.passage) == ("https://example.org/libraries", "", "Two.")
    assert document.about["reference_date"] == dt.date(2020, 3, 5)
    assert "label" not in document.about["metadata"] and document.about["metadata"]["location_ISO_code"] == "GB"


def test_a_spelling_holds_until_its_value_changes() -> None:
    [document] = gold(claim(label="Conflicting Evidence/Cherrypicking"))
    [found] = document.sentences[0].claims
    assert found.factuality == Factuality.NOT_ENOUGH_EVIDENCE
    assert written(document)[0]["label"] == "Conflicting Evidence/Cherrypicking"
    found.factuality = Factuality.TRUE
    found.retrieved[0].passage = "No."
    [row] = written(document)
    assert row["label"] == "Supported"
    assert [each["answer_type"] for each in row["questions"][0]["answers"]] == ["Extractive", "Extractive"]
    found.retrieved[1].stance = StanceLabel.IRRELEVANT
    assert len(written(document)[0]["questions"][0]["answers"]) == 1


def test_claims_to_label_anew_do_not_give_the_answer_away() -> None:
    [document] = averitec.read_documents(io.BytesIO(json.dumps([claim(claim_id=7)]).encode()))
    assert isinstance(document, IncomingDocument)
    assert (document.response, document.external_id) == ("The mayor closed every library in 2019.", "7")
    assert document.sentences == (IncomingSentence(document.response, (document.response,)),)
    assert not {"label", "justification", "questions", "fact_checking_article"} & document.metadata.keys()
    assert document.metadata["location_ISO_code"] == "GB"


@pytest.mark.parametrize("file", ["list", "lines"])
def test_the_format_is_told_from_the_first_lines(file: str) -> None:
    rows = [claim(), claim(claim="Another one.")]
    text = json.dumps(rows, indent=1) if file == "list" else "\n".join(map(json.dumps, rows))
    assert detect(io.BytesIO(text.encode()), "claims.json") == "averitec"
    assert len(list(averitec.read(io.BytesIO(text.encode())))) == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"label": "refuted"}, "label: “refuted” isn’t valid; choose one of Supported, Refuted"),
        ({"label": None}, "label: null isn’t valid; choose one of"),
        ({"claim": 3}, "claim: expected a text, found a number"),
        ({"claim": "  "}, "response: blank"),
        ({"questions": {}}, "questions: expected a list, found an object"),
        ({"questions": [{"question": "Who?"}]}, "questions: number 1 must be an object with “question” and a list"),
        ({"questions": [{"question": "Who?", "answers": ["Ada"]}]}, "each answer to number 1 must be an object"),
        ({"justification": []}, "justification: expected a text"),
    ],
)
def test_bad_claims_are_named_by_item(fields: dict[str, Any], said: str) -> None:
    good, bad = read(claim(), claim(**fields))
    assert isinstance(good, GoldDocument) and isinstance(bad, BadRow)
    assert str(bad.problems[0]).startswith("line 2, ") and said in "; ".join(map(str, bad.problems))


def test_half_a_file_is_told() -> None:
    with pytest.raises(FileError, match="ends too early"):
        list(averitec.read(io.BytesIO(json.dumps([claim()]).encode()[:-20])))


def test_an_odd_date_stays_as_it_is() -> None:
    [document] = gold(claim(claim_date="31-2-2020"))
    assert document.about["reference_date"] is None
    assert written(document)[0]["claim_date"] == "31-2-2020"


def test_without_a_checked_claim_the_list_is_empty() -> None:
    assert written() == written(gold_document(sentences=[])) == []


def test_one_document_is_in_memory_at_a_time() -> None:
    def documents() -> Iterator[GoldDocument]:
        while True:
            yield gold_document()

    pieces = averitec.lines(documents())
    assert [next(pieces)[:2] for _ in range(3)] == ["[\n", ",\n", ",\n"]
