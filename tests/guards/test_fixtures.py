"""The demo content holds together: passages stand in the corpus, labels are known words, edits apply.

Nothing here needs a database: the files of ``fixtures/demo`` are read as they are. The released documents are
checked against the same schema, so that the schema is not a wish.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import pytest

from annotator.core.texts import edits
from annotator.core.vocabulary import (
    ClaimType,
    Confidence,
    EditKind,
    Factuality,
    Importance,
    Labelled,
    NotWorthReason,
    SentenceType,
    Stage,
    StanceLabel,
)

Word = TypeVar("Word", bound=Labelled)

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "fixtures" / "demo"
SCHEMA = ROOT / "docs" / "formats" / "factcheck-bench.schema.json"
GUIDELINES = ROOT / "fixtures" / "guidelines" / "default.md"

#: Lists of a released sentence with one item a claim (revised_claims is one longer where there is no claim).
PARALLEL = (
    "claim_checkworthiness",
    "if_automatic_evidence_enough_to_verify",
    "human_evidence",
    "auto_evidence",
    "auto_evidence_url",
    "stance_claim_autoEvid",
    "if_claim_needs_edit",
    "claims_factuality_label",
    "usedEvidence_index_in_revision",
    "if_most_important_claim",
)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSONL file, in order."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def schema_errors(records: list[dict[str, Any]]) -> list[str]:
    """``line: place: message`` for everything in which the records differ from the published schema."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    return [
        f"{number}: {'/'.join(map(str, error.absolute_path))}: {error.message}"
        for number, record in enumerate(records, start=1)
        for error in validator.iter_errors(record)
    ]


def word(words: type[Word], value: str) -> Word:
    """The member with this value; KeyError when the vocabulary has no such word."""
    return {each.value: each for each in words}[value]


def occurrence_start(text: str, find: str, occurrence: int) -> int:
    """Offset of the nth (from 1) occurrence of ``find``; raises ValueError when there is none."""
    position = -1
    for _ in range(occurrence):
        position = text.index(find, position + 1)
    return position


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    return {record["id"]: record for record in read_lines(DEMO / "documents.jsonl")}


@pytest.fixture(scope="module")
def corpus() -> dict[str, dict[str, Any]]:
    return {record["url"]: record for record in read_lines(DEMO / "corpus.jsonl")}


@pytest.fixture(scope="module")
def gold() -> list[dict[str, Any]]:
    return read_lines(DEMO / "gold.jsonl")


@pytest.fixture(scope="module")
def labels() -> list[dict[str, Any]]:
    content = json.loads((DEMO / "labels.json").read_text(encoding="utf-8"))
    return list(content["documents"])


def test_documents_are_short_answers_with_all_fields(documents: dict[str, dict[str, Any]]) -> None:
    assert len(documents) == len(read_lines(DEMO / "documents.jsonl")) == 4
    for record in documents.values():
        assert set(record) == {"id", "prompt", "response", "source", "model", "reference_date", "metadata"}
        assert 60 <= len(record["response"].split()) <= 110, record["id"]
        dt.date.fromisoformat(record["reference_date"])
    assert sum("\n- " in record["response"] for record in documents.values()) == 1


def test_corpus_pages_are_dated_and_on_no_real_host(corpus: dict[str, dict[str, Any]]) -> None:
    assert len(corpus) == len(read_lines(DEMO / "corpus.jsonl"))
    for url, page in corpus.items():
        assert re.match(r"https://[a-z]+\.example/", url), url
        assert set(page) == {"url", "title", "text", "site", "published"}
        assert 140 <= len(page["text"].split()) <= 350, url
        dt.date.fromisoformat(page["published"])


def test_one_document_waits_at_each_stage_and_one_is_gold(
    documents: dict[str, dict[str, Any]], gold: list[dict[str, Any]], labels: list[dict[str, Any]]
) -> None:
    finished = [key for key, record in documents.items() if record["response"] == gold[0]["response"]]
    assert len(gold) == len(finished) == 1
    assert documents[finished[0]]["prompt"] == gold[0]["prompt"]
    assert [each["stage"] for each in labels] == [Stage.REVISE, Stage.VERIFY]
    started = {each["id"] for each in labels}
    assert started < set(documents)
    assert len(set(documents) - started - set(finished)) == 1  # the one at decompose has no labels


def test_gold_is_valid_by_the_published_schema(gold: list[dict[str, Any]]) -> None:
    assert schema_errors(gold) == []


def test_released_documents_are_valid_by_the_published_schema(data_dir: Path) -> None:
    records = read_lines(data_dir / "factcheck-bench.dev.jsonl")
    assert len(records) == 47
    assert schema_errors(records) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sentence_checkworthiness", "Yes"),
        ("most_importance_sentence", "most"),
        ("sentence_factuality_label", "true"),
        ("revised_decontext", ["text"]),
        ("if_claim_needs_edit", ["maybe"]),
        ("claims_factuality_label", ["NA"]),
        ("stance_claim_autoEvid", [["completely_support"]]),
    ],
)
def test_the_schema_refuses_other_spellings(gold: list[dict[str, Any]], field: str, value: object) -> None:
    changed = json.loads(json.dumps(gold[0]))
    changed["sentences"]["sentence1"][field] = value
    assert len(schema_errors([changed])) >= 1


def test_gold_lists_are_parallel_and_passages_stand_in_the_corpus(
    gold: list[dict[str, Any]], corpus: dict[str, dict[str, Any]]
) -> None:
    pairs = 0
    for sentence in gold[0]["sentences"].values():
        assert sentence["text"] in gold[0]["response"]
        count = len(sentence["claims"])
        assert {field: len(sentence[field]) for field in PARALLEL} == dict.fromkeys(PARALLEL, count)
        assert len(sentence["revised_claims"]) == max(count, 1)
        evidence = (sentence[f] for f in ("auto_evidence", "auto_evidence_url", "stance_claim_autoEvid"))
        for passages, urls, stances in zip(*evidence, strict=True):
            assert len(passages) == len(urls) == len(stances) == 5
            for passage, url in zip(passages, urls, strict=True):
                assert passage in corpus[url]["text"]
                pairs += 1
    assert pairs == 40


def test_gold_labels_follow_from_one_another(gold: list[dict[str, Any]]) -> None:
    derived: list[object] = []
    for sentence in gold[0]["sentences"].values():
        verdicts = [
            {"no": True, "yes": False, "not_enough_evidence": "unknown"}[need]
            for need in sentence["if_claim_needs_edit"]
        ]
        assert sentence["claims_factuality_label"] == verdicts
        checkworthy = sentence["sentence_checkworthiness"] == "yes"
        derived.append(all(verdict is True for verdict in verdicts) if checkworthy else "NA")
        assert sentence["sentence_factuality_label"] == derived[-1]
        if checkworthy:
            both = zip(sentence["claims"], sentence["revised_claims"], strict=True)
            changed = [old != new for old, new in both]
            assert changed == [verdict is False for verdict in verdicts]
    assert False in derived
    assert gold[0]["response_factuality"] is False
    revised = [sentence["revised_decontext"] for sentence in gold[0]["sentences"].values()]
    assert gold[0]["revised_response"] == " ".join(revised)


def test_decompose_labels_are_words_of_the_vocabulary(
    documents: dict[str, dict[str, Any]], labels: list[dict[str, Any]]
) -> None:
    for each in labels:
        response = documents[each["id"]]["response"]
        end = 0
        for number, sentence in enumerate(each["decompose"], start=1):
            assert sentence["sentence"] == number
            assert response[sentence["start"] : sentence["end"]] == sentence["text"]
            between = response[end : sentence["start"]]
            assert not between.strip(), "words of the answer belong to no sentence"
            end = sentence["end"]
            sentence_type = word(SentenceType, sentence["type"])
            word(Importance, sentence["importance"])
            assert sentence["decontext"].strip()
            assert bool(sentence["claims"]) == (sentence_type == SentenceType.CHECKWORTHY)
            for order, claim in enumerate(sentence["claims"], start=1):
                assert claim["claim"] == order
                assert claim["text"].endswith(".")
                word(ClaimType, claim["type"])
                word(Importance, claim["importance"])
                assert claim["worth_checking"] is (claim["not_worth_reason"] is None)
                if claim["not_worth_reason"] is not None:
                    word(NotWorthReason, claim["not_worth_reason"])
        assert end == len(response)


def test_verify_labels_rest_on_the_corpus_and_their_edits_apply(
    labels: list[dict[str, Any]], corpus: dict[str, dict[str, Any]]
) -> None:
    done, waiting = labels
    assert waiting["verify"] == []
    texts = {
        (sentence["sentence"], claim["claim"]): claim["text"]
        for sentence in done["decompose"]
        for claim in sentence["claims"]
    }
    assert [(verdict["sentence"], verdict["claim"]) for verdict in done["verify"]] == list(texts)
    factualities = []
    for verdict in done["verify"]:
        text = texts[verdict["sentence"], verdict["claim"]]
        factuality = word(Factuality, verdict["factuality"])
        factualities.append(factuality)
        word(Confidence, verdict["confidence"])
        assert [passage["order"] for passage in verdict["evidence"]] == [1, 2, 3, 4, 5]
        for passage in verdict["evidence"]:
            page = corpus[passage["url"]]
            assert passage["passage"] in page["text"]
            for field in ("title", "site", "published"):
                assert passage[field] == page[field]
            assert passage["query"]
            word(StanceLabel, passage["stance"])
        operations = []
        for edit in verdict["edits"]:
            start = occurrence_start(text, edit["find"], edit["occurrence"])
            operations.append(
                edits.Operation(word(EditKind, edit["kind"]), start, start + len(edit["find"]), edit["replacement"])
            )
        assert edits.apply(text, operations) == verdict["revised_claim"]
        assert bool(operations) == (factuality == Factuality.FALSE) == bool(verdict["rests_on"])
        refuting = [passage["order"] for passage in verdict["evidence"] if passage["stance"] == StanceLabel.REFUTE]
        assert verdict["rests_on"] == refuting
        assert verdict["evidence_sufficient"] is (factuality != Factuality.NOT_ENOUGH_EVIDENCE)
    assert set(factualities) == set(Factuality)


def test_default_guidelines_define_every_label_once() -> None:
    """A screen finds the definition of a label by its heading ("Stance: refute"); hyphens make no difference."""
    text = GUIDELINES.read_text(encoding="utf-8")
    assert 900 <= len(text.split()) <= 1300
    headings = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    anchors = [re.sub(r"[^a-z]+", "-", heading.lower()) for heading in headings]
    assert len(set(anchors)) == len(anchors)
    needed = {
        "sentence": SentenceType,
        "claim": ClaimType,
        "not-worth": NotWorthReason,
        "importance": Importance,
        "stance": StanceLabel,
        "factuality": Factuality,
        "edit": EditKind,
    }
    named = {anchor.replace("-", "") for anchor in anchors}
    missing = [
        f"{prefix}: {member.value}"
        for prefix, labels_of_kind in needed.items()
        for member in labels_of_kind
        if re.sub(r"[^a-z]", "", prefix + member.value) not in named
    ]
    assert missing == []
