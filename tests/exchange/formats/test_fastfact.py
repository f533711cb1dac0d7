"""FastFact's annotation file, without a database."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from annotator.core.file_problems import BadRow
from annotator.core.released import same
from annotator.core.vocabulary import ClaimType, Factuality, StanceLabel
from annotator.exchange.formats import fastfact
from annotator.exchange.formats.answers import AnswerRow, answers
from annotator.exchange.formats.documents import READERS
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.incoming import IncomingDocument
from tests.gold_documents import CONTESTED, FALSE, OPEN, OPINION, RESPONSE, TRUE, gold_document

CONTEXT = (
    "Evidence 1\nSource Title: On engines\nContent: It stayed a plan.\n\nEvidence 3 is no heading.\n\n"
    "Evidence 2\nSource Title: https://example.org/ada\nContent: Nobody built it.\n\n"
)


def item(label: str = "refuted", **fields: Any) -> dict[str, Any]:
    result = {
        "verification_context": CONTEXT,
        "reasoning_for_verification_label": "No engine was built.",
        "verification_label": label,
    }
    return {
        "claim_id": "ab12-0",
        "claim": "Ada Lovelace built an engine.",
        "prelabel_confidence": 0.9,
        "pre-label": "unsure",
        "verification_result": result,
    } | fields


def row(*items: Any, **fields: Any) -> dict[str, Any]:
    return {
        "question": "What did Ada Lovelace build?",
        "prompt_source": "in-house",
        "response": "An engine.",
        "model": "m-1",
        "abstained": False,
        "claims_lst": list(items),
        "topic": "engines",
    } | fields


def read(*rows: Any) -> list[GoldDocument | BadRow]:
    return list(fastfact.read(io.BytesIO("\n".join(map(json.dumps, rows)).encode())))


def gold(value: Any) -> GoldDocument:
    [document] = read(value)
    assert isinstance(document, GoldDocument), document
    return document


def labels(document: GoldDocument) -> dict[str, str]:
    return {
        each["claim"]: each.get("verification_result", {}).get("verification_label", "")
        for each in fastfact.render(document)["claims_lst"]
    }


def test_the_example_comes_out_as_it_was(data_dir: Any) -> None:
    text = (data_dir / "fastfact.annotation-input.example.jsonl").read_text(encoding="utf-8")
    given = [json.loads(line) for line in text.splitlines()]
    assert len(given) == 2
    assert all(same(fastfact.render(gold(each)), each) for each in given)


def test_labels_are_the_verifiers_five() -> None:
    assert labels(gold_document()) == {
        TRUE: "supported",
        CONTESTED: "conflicting evidence",
        FALSE: "refuted",
        OPEN: "not enough evidence",
        "1842 is a year.": "unverifiable",
        OPINION: "unverifiable",
    }


def test_a_claim_without_a_verdict_is_still_to_be_verified() -> None:
    document = gold_document()
    document.sentences[0].claims[0].factuality = ""
    found = fastfact.render(document)
    assert found["claims_lst"][0] == {"claim_id": "c-true", "claim": TRUE, "pre-label": "unsure"}
    assert found["response_stats"]["total"]["total_claims"] == found["k_prime"] == 3


def test_an_answer_is_counted() -> None:
    found = fastfact.render(gold_document())
    assert (found["question_id"], found["model"], found["prompt_source"]) == ("ada-1", "m-1", "in-house")
    assert found["topic"] == "engines"
    stats = found["response_stats"]
    assert (stats["num_sentences"], stats["length"], stats["P"]) == (3, len(RESPONSE.split()), 0.25)
    assert stats["total"] == {
        "total_claims": 4,
        "total_supported_claims": 1,
        "total_unsupported_claims": 3,
        "total_irrelevant_claims": 2,
    }
    assert stats["verification"]["verified_controversial_claims"] == 1
    assert found["prelabel_stats"] == {"supported": 0, "unsupported": 0, "irrelevant": 0, "unsure": 6}


def test_what_is_written_can_be_scored() -> None:
    text = "".join(fastfact.lines([gold_document()]))
    [found] = answers(io.BytesIO(text.encode()))
    assert isinstance(found, AnswerRow)
    assert (found.supported, found.claims, found.no_fact, found.valid) == (1, 4, 2, 4)
    assert (found.model, found.domain) == ("m-1", "in-house")


def test_what_is_written_is_read_again() -> None:
    text = "".join(fastfact.lines([gold_document()]))
    document = gold(json.loads(text))
    assert "".join(fastfact.lines([document])) == text
    assert labels(document) == labels(gold_document())
    assert (document.prompt, document.response) == ("What did Ada Lovelace do?", RESPONSE)
    [sentence] = document.sentences
    assert sentence.text == RESPONSE and (sentence.start, sentence.end) == (0, len(RESPONSE))
    assert [each.title for each in sentence.claims[0].retrieved] == ["Notes", "Boilers"]


@pytest.mark.parametrize(
    ("label", "factuality", "type"),
    [
        ("supported", Factuality.TRUE, ClaimType.FACTUAL),
        ("Refuted", Factuality.FALSE, ClaimType.FACTUAL),
        ("conflicting evidence", Factuality.NOT_ENOUGH_EVIDENCE, ClaimType.FACTUAL),
        ("not enough evidence", Factuality.NOT_ENOUGH_EVIDENCE, ClaimType.FACTUAL),
        ("unverifiable", "", ClaimType.OTHER),
    ],
)
def test_the_verifiers_labels_are_read(label: str, factuality: str, type: str) -> None:
    document = gold(row(item(label)))
    [found] = document.sentences[0].claims
    assert (found.factuality, found.type) == (factuality, type)
    assert fastfact.render(document)["claims_lst"] == [item(label)]


def test_where_the_extractor_was_sure_its_label_counts() -> None:
    sure = [{"claim": f"Claim {label}.", "pre-label": label} for label in ("supported", "unsupported", "irrelevant")]
    document = gold(row(*sure))
    assert [each.factuality for each in document.sentences[0].claims] == [Factuality.TRUE, Factuality.FALSE, ""]
    assert fastfact.render(document)["claims_lst"] == sure


def test_the_context_becomes_passages() -> None:
    [found] = gold(row(item())).sentences[0].claims
    first, second = found.retrieved
    assert (first.title, first.passage) == ("On engines", "It stayed a plan.\n\nEvidence 3 is no heading.")
    assert (second.url, second.title, second.passage) == ("https://example.org/ada", "", "Nobody built it.")
    assert found.reason == "No engine was built."


def test_a_changed_claim_is_spelled_anew() -> None:
    document = gold(row(item()))
    document.sentences[0].claims[0].public_id = "c-1"
    document.sentences[0].claims[0].retrieved[0].stance = StanceLabel.REFUTE
    document.sentences[0].claims[0].factuality = Factuality.TRUE
    [found] = fastfact.render(document)["claims_lst"]
    assert found["claim_id"] == "c-1" and "prelabel_confidence" not in found
    assert found["verification_result"]["verification_label"] == "supported"


def test_a_question_and_a_model_together_name_a_document() -> None:
    assert gold(row(item(), question_id=3)).about["external_id"] == "3/m-1"
    assert gold(row(item(), question_id="3/m-1")).about["external_id"] == "3/m-1"
    assert gold(row(item())).about["external_id"] == ""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (row(item("refutes")), "claims_lst, claim 1: “refutes” isn’t a valid label"),
        (row(item(), item(verification_result=None)), "claims_lst, claim 2: it is “unsure” and was not verified"),
        (row({"claim": "A."}), "claims_lst, claim 1: no label"),
        (row(item(claim=" ")), "claims_lst, claim 1: no text"),
        (row(item(verification_result="refuted")), "expected an object as verification_result, found a text"),
        (row("A."), "claims_lst: expected a list of objects"),
        ({"question": "Who?", "response": "Ada."}, "claims_lst: expected a list of objects: is this FastFact"),
        (row(item(), response=None), "response: blank"),
    ],
)
def test_bad_rows_are_named_by_line(value: Any, said: str) -> None:
    good, bad = read(row(item()), value)
    assert isinstance(good, GoldDocument) and isinstance(bad, BadRow)
    assert str(bad.problems[0]).startswith("line 2, ") and said in "; ".join(map(str, bad.problems))


def test_nul_is_left_out_and_documents_are_streamed() -> None:
    def documents() -> Iterator[GoldDocument]:
        while True:
            yield gold_document(prompt="What\x00 did \udfff she do?")

    assert json.loads(next(fastfact.lines(documents())))["question"] == "What did  she do?"


def test_answers_to_label_anew_do_not_give_the_labels_away() -> None:
    [document] = READERS["fastfact"](io.BytesIO(json.dumps(row(item(), question_id=3)).encode()), None)
    assert isinstance(document, IncomingDocument)
    assert (document.prompt, document.external_id) == ("What did Ada Lovelace build?", "3/m-1")
    assert document.metadata == {"abstained": False, "topic": "engines"}
