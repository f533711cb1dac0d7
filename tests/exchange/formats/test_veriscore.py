"""VeriScore's files, without a database."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from annotator.core.file_problems import BadRow
from annotator.core.released import same
from annotator.core.vocabulary import Factuality, SentenceType
from annotator.exchange.formats import veriscore
from annotator.exchange.formats.answers import AnswerRow, answers
from annotator.exchange.formats.gold import GoldDocument
from tests.gold_documents import CONTESTED, FALSE, OPEN, RESPONSE, TRUE, gold_document


def files(*documents: GoldDocument) -> dict[str, str]:
    return {name: b"".join(text).decode() for name, text in veriscore.files(lambda: iter(documents))}


def written(name: str, document: GoldDocument) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(document)[f"{name}.jsonl"])
    return found


def row(**fields: Any) -> dict[str, Any]:
    """A row as VeriScore's own steps write it."""
    return {
        "question": "What did she build?",
        "prompt_source": "in-house",
        "response": "An engine. Or not.",
        "prompt_tok_cnt": 5,
        "response_tok_cnt": 6,
        "model": "m-1",
        "abstained": False,
        "claim_list": [["She built an engine.", "An engine exists."], ["No verifiable claim."]],
        "all_claim_lst": ["She built an engine.", "An engine exists."],
        "claim_search_results": {
            "She built an engine.": [{"title": "Engines", "snippet": "It stayed a plan.", "link": "https://e.org"}],
            "An engine exists.": [],
        },
        "claim_verification_result": [
            {"claim": "She built an engine.", "search_results": "…", "verification_result": "unsupported"},
            {"claim": "An engine exists.", "search_results": "…", "verification_result": "supported"},
        ],
    } | fields


def read(*rows: Any) -> list[GoldDocument | BadRow]:
    return list(veriscore.read(io.BytesIO("\n".join(map(json.dumps, rows)).encode())))


def gold(value: Any) -> GoldDocument:
    [document] = read(value)
    assert isinstance(document, GoldDocument), document
    return document


def test_the_sample_comes_out_as_it_was(data_dir: Any) -> None:
    given = json.loads((data_dir / "veriscore.claims.sample.jsonl").read_text(encoding="utf-8"))
    document = gold(given)
    assert same(written("verification", document), given)
    assert len(document.sentences[0].claims) == 25


def test_each_file_has_one_field_more() -> None:
    claims, evidence, labels = (written(name, gold_document()) for name in ("claims", "evidence", "verification"))
    assert labels.keys() - evidence.keys() == {"claim_verification_result"}
    assert evidence.keys() - claims.keys() == {"claim_search_results"}
    assert all(labels[name] == value for name, value in claims.items())


def test_claims_stand_by_sentence_and_only_those_that_are_checked() -> None:
    found = written("claims", gold_document())
    assert found["claim_list"] == [[TRUE, CONTESTED], [FALSE, OPEN], ["No verifiable claim."]]
    assert found["all_claim_lst"] == [TRUE, CONTESTED, FALSE, OPEN]
    assert (found["question"], found["model"], found["prompt_source"]) == (
        "What did Ada Lovelace do?",
        "m-1",
        "in-house",
    )
    assert [RESPONSE.index(text) for text in found["sentences"]] == [0, 59, 103]


def test_evidence_has_title_snippet_and_link() -> None:
    found = written("evidence", gold_document())["claim_search_results"]
    assert found[TRUE][0] == {"title": "Notes", "snippet": "She published notes.", "link": "https://example.org/ada"}
    assert [each["snippet"] for each in found[FALSE]] == ["No engine was built.", "It stayed a plan."]
    assert found[OPEN] == []


def test_labels_are_veriscores_three() -> None:
    found = written("verification", gold_document())["claim_verification_result"]
    assert [each["verification_result"] for each in found] == [
        "supported",
        "inconclusive",
        "contradicted",
        "inconclusive",
    ]
    assert found[0]["search_results"].startswith(
        "Search result 1\nTitle: Notes\nLink: https://example.org/ada\nContent: She published notes.\n\n"
        "Search result 2\nTitle: Boilers\n"
    )


def test_claims_that_are_alike_share_their_evidence_and_one_label() -> None:
    document = gold_document()
    first, second = document.sentences[0].claims
    second.text = first.text
    found = written("verification", document)
    assert found["claim_list"][0] == [TRUE, TRUE] and found["all_claim_lst"].count(TRUE) == 1
    assert len(found["claim_search_results"][TRUE]) == 4
    assert [each["claim"] for each in found["claim_verification_result"]] == [TRUE, FALSE, OPEN]


def test_a_claim_without_a_verdict_has_no_label() -> None:
    document = gold_document()
    document.sentences[0].claims[0].factuality = ""
    assert [each["claim"] for each in written("verification", document)["claim_verification_result"]] == [
        CONTESTED,
        FALSE,
        OPEN,
    ]


def test_what_is_written_can_be_scored() -> None:
    [found] = answers(io.BytesIO(files(gold_document())["verification.jsonl"].encode()))
    assert isinstance(found, AnswerRow)
    assert (found.supported, found.claims, found.model, found.domain) == (1, 4, "m-1", "in-house")


@pytest.mark.parametrize("name", ["claims", "evidence", "verification"])
def test_what_is_written_is_read_again(name: str) -> None:
    text = files(gold_document())[f"{name}.jsonl"]
    document = gold(json.loads(text))
    assert files(document)[f"{name}.jsonl"] == text
    assert [(each.start, each.end) for each in document.sentences] == [(0, 58), (59, 102), (103, 117)]
    assert [each.type for each in document.sentences][2] == SentenceType.OTHER
    verdicts = [claim.factuality for sentence in document.sentences for claim in sentence.claims]
    assert verdicts == (["true", "not_enough_evidence", "false", "not_enough_evidence"] if name[0] == "v" else [""] * 4)


def test_without_sentences_the_response_is_one() -> None:
    document = gold(row())
    [sentence] = document.sentences
    assert sentence.text == document.response
    first, second = sentence.claims
    assert (first.factuality, second.factuality) == (Factuality.NOT_ENOUGH_EVIDENCE, Factuality.TRUE)
    assert (first.retrieved[0].title, first.retrieved[0].url) == ("Engines", "https://e.org")
    assert same(written("verification", document), row())


def test_a_label_holds_until_it_changes() -> None:
    document = gold(row())
    document.sentences[0].claims[0].factuality = Factuality.FALSE
    found = written("verification", document)
    assert [each["verification_result"] for each in found["claim_verification_result"]] == ["contradicted", "supported"]
    assert found["prompt_tok_cnt"] == 5


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"claim_list": None}, "claim_list: expected a list with one list of texts per sentence"),
        ({"claim_list": ["A."]}, "claim_list: expected a list with one list"),
        ({"sentences": ["An engine."]}, "sentences: expected a list of 2 texts"),
        ({"claim_search_results": {"A.": "B."}}, "claim_search_results: expected an object"),
        ({"claim_verification_result": {}}, "claim_verification_result: expected a list, found an object"),
        (
            {"claim_verification_result": [{"claim": "A.", "verification_result": "maybe"}]},
            "number 1 needs a text as claim and one of supported, contradicted, inconclusive, unsupported",
        ),
        ({"response": ""}, "response: blank"),
    ],
)
def test_bad_rows_are_named_by_line(fields: dict[str, Any], said: str) -> None:
    good, bad = read(row(), row(**fields))
    assert isinstance(good, GoldDocument) and isinstance(bad, BadRow)
    assert str(bad.problems[0]).startswith("line 2, ") and said in "; ".join(map(str, bad.problems))


def test_nul_is_left_out() -> None:
    files = veriscore.files(lambda: iter([gold_document(prompt="What\x00 did she do?")]))
    for _, text in files:
        assert json.loads(b"".join(text))["question"] == "What did she do?"
