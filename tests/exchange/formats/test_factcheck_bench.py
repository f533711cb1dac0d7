"""The released format, read and written without a database."""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import pytest

from annotator.core.file_problems import BadRow, RowError
from annotator.core.texts.edits import apply
from annotator.core.vocabulary import ClaimType, Factuality, Handling, Importance, SentenceType, StanceLabel
from annotator.exchange.formats import factcheck_bench
from annotator.exchange.formats.factcheck_bench_reader import parse, read
from annotator.exchange.formats.gold import GoldDocument
from tests.released import released_claim, released_document, released_sentence


def one_claim(**fields: Any) -> dict[str, Any]:
    claim = released_claim("The notes are from 1842.", **fields)
    return released_document(sentences={"sentence1": released_sentence("She built it herself.", [claim], truth=True)})


def claim_of(row: dict[str, Any]) -> Any:
    return parse(row, 1).sentences[0].claims[0]


def same_json(one: Any, other: Any) -> bool:
    """Unlike ``==`` it tells true from 1, and it compares the order of fields."""
    return json.dumps(one) == json.dumps(other)


def test_what_is_read_is_written_again():
    row = released_document()
    assert same_json(factcheck_bench.render(parse(row, 1)), row)


def test_the_hash_is_that_of_the_content_whatever_the_order_of_its_fields():
    row = released_document()
    turned = dict(reversed(row.items()))
    assert parse(row, 1).content_hash == parse(turned, 2).content_hash
    assert parse(row, 1).content_hash != parse(row | {"revised_response": "Otherwise."}, 1).content_hash
    assert parse(row, 1).size == len(json.dumps(row))


def test_the_released_file_byte_for_byte(data_dir):
    content = (data_dir / "factcheck-bench.dev.jsonl").read_bytes()
    documents = list(read(io.BytesIO(content)))
    assert len(documents) == 47
    written = "".join(factcheck_bench.line(each) + "\n" for each in documents if isinstance(each, GoldDocument))
    assert written.encode() == content


def test_both_rules_for_documents_give_the_known_counts(data_dir):
    known = json.loads((data_dir / "factcheck-bench.dev.statistics.json").read_text())["documents"]
    content = (data_dir / "factcheck-bench.dev.jsonl").read_bytes()
    documents = [each for each in read(io.BytesIO(content)) if isinstance(each, GoldDocument)]
    by_claims = [each.is_true_by_claims for each in documents]
    by_field = [each.is_true for each in documents]
    for labels, counts in ((by_claims, known["paper_rule"]), (by_field, known["field_response_factuality"])):
        assert labels.count(True) == counts["true"]
        assert labels.count(False) == counts["false"]


def test_words_of_the_release_become_words_of_the_vocabulary():
    document = parse(released_document(), 1)
    first, second, third = document.sentences
    assert (first.type, first.importance) == (SentenceType.CHECKWORTHY, Importance.MOST)
    assert (third.type, third.importance) == (SentenceType.NOT_A_CLAIM, Importance.LESS)
    true, false = first.claims
    assert (true.type, true.importance, true.factuality) == (ClaimType.FACTUAL, Importance.LESS, Factuality.TRUE)
    assert [each.stance for each in true.retrieved] == [StanceLabel.COMPLETELY_SUPPORT, StanceLabel.IRRELEVANT]
    assert (true.evidence_sufficient, false.evidence_sufficient) == (True, False)
    opinion = second.claims[1]
    assert (opinion.type, opinion.factuality, opinion.evidence_sufficient) == (ClaimType.OPINION, "", None)
    assert opinion.worth_checking is None and true.worth_checking is True


def test_the_edit_gives_the_revised_claim_and_rests_on_evidence():
    false = parse(released_document(), 1).sentences[0].claims[1]
    assert apply(false.text, false.operations) == "The notes are from 1843. "
    assert false.rests_on == [false.retrieved[0], false.added[0]]
    assert (false.added[0].url, false.added[0].passage) == ("https://example.org/notes", "The notes came out in 1843.")


def test_a_blank_revised_claim_is_deleted_and_one_without_evidence_rewritten():
    deleted, _, undecided = parse(released_document(), 1).sentences[1].claims
    assert deleted.revised == ""
    assert (undecided.handling, undecided.revised) == (Handling.REWRITE, "Ada Lovelace may have liked cogs.")


def test_a_sentence_is_revised_deleted_or_neither():
    first, second, third = parse(released_document(), 1).sentences
    assert (first.revised, first.deleted) == ("Ada Lovelace wrote notes on an engine in 1843. ", False)
    assert second.deleted and second.revised == "She built it herself."  # kept, so that it can come back
    assert third.revised is None


def test_sentences_are_placed_in_the_response_where_they_stand_in_it():
    document = parse(released_document(), 1)
    first, second, third = document.sentences
    for each in (first, second):
        assert document.response[each.start : each.end] == each.text
    assert (third.start, third.end) == (None, None)


def test_nul_is_left_out_of_the_passage_and_kept_for_export():
    document = parse(released_document(), 1)
    evidence = document.sentences[1].claims[0].retrieved[0]
    assert evidence.passage == "The engine was never built."
    evidence.passage = "The engine was never finished."
    written = factcheck_bench.render(document)["sentences"]["sentence2"]["auto_evidence"][0]
    assert written == ["The engine was never finished.", "The engine\x00 was never built."]


@pytest.mark.parametrize(
    ("reference", "rests"),
    [
        ("-1", []),
        ("NA", []),
        ("2", [1]),
        ("2,1", [1, 0]),
        (" 1, 2,2", [0, 1]),
        ("6", []),
        ("0", []),
        ("self-retrieved", ["own"]),
        ("1,self-retrieved", [0, "own"]),
        ("no_enough_evidence", []),
        ("Nothing shows it.", []),
        ("", []),
        (None, []),
        (2, [1]),
        (True, []),
    ],
)
def test_evidence_references_say_what_they_can_and_come_back_as_they_were(reference, rests):
    row = one_claim(
        if_claim_needs_edit="yes",
        claims_factuality_label=False,
        revised_claims="x",
        human_evidence="https://example.org/own",
        usedEvidence_index_in_revision=reference,
    )
    claim = claim_of(row)
    known = {0: claim.retrieved[0], 1: claim.retrieved[1], "own": claim.added[0]}
    assert len(claim.rests_on) == len(rests)
    assert all(one is known[other] for one, other in zip(claim.rests_on, rests, strict=True))
    assert same_json(factcheck_bench.render(parse(row, 1)), row)


@pytest.mark.parametrize(
    ("text", "url", "passage"),
    [
        ("https://a.org/x\n\nShe wrote. ", "https://a.org/x", "She wrote."),
        ("She wrote.\nURL: https://a.org/x", "https://a.org/x", "She wrote."),
        ("She wrote. \nLink: https://a.org/x\n", "https://a.org/x", "She wrote."),
        ("See https://a.org/x (and https://b.org).", "https://a.org/x", "See  (and https://b.org)."),
        ("https://a.org/x_(y)", "https://a.org/x_(y)", ""),
        ("Common sense", "", "Common sense"),
    ],
)
def test_evidence_that_people_added_is_taken_out_of_its_free_text(text, url, passage):
    row = one_claim(human_evidence=text)
    [evidence] = claim_of(row).added
    assert (evidence.url, evidence.passage) == (url, passage)
    assert same_json(factcheck_bench.render(parse(row, 1)), row)


@pytest.mark.parametrize("text", ["NA", " ", "", "na", None])
def test_no_added_evidence(text):
    row = one_claim(human_evidence=text)
    assert claim_of(row).added == []
    assert same_json(factcheck_bench.render(parse(row, 1)), row)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decontext", ""),
        ("decontext", "  x\n"),
        ("decontext", None),
        ("revised_decontext", []),
        ("revised_decontext", ""),
        ("revised_decontext", "\t"),
        ("revised_decontext", None),
        ("revised_decontext", "She built it herself. "),
        ("sentence_factuality_label", "true"),
        ("sentence_factuality_label", None),
        ("sentence_factuality_label", 1),
        ("sentence_checkworthiness", "Yes "),
        ("sentence_checkworthiness", None),
        ("most_importance_sentence", "NA"),
        ("claims", [" The notes are from 1842.\n"]),
        ("claims", [None]),
        ("claim_checkworthiness", ["Factual"]),
        ("claim_checkworthiness", ["not-a-claim"]),
        ("if_claim_needs_edit", [False]),
        ("if_automatic_evidence_enough_to_verify", [""]),
        ("auto_evidence_url", [["", None]]),
        ("stance_claim_autoEvid", [[]]),
        ("if_claim_needs_edit", ["NA"]),
        ("claims_factuality_label", ["true"]),
        ("claims_factuality_label", [None]),
        ("revised_claims", ["Something else."]),
        ("if_most_important_claim", [""]),
    ],
)
def test_odd_values_of_a_sentence_come_back_as_they_were(name, value):
    row = one_claim()
    row["sentences"]["sentence1"][name] = value
    assert same_json(factcheck_bench.render(parse(row, 1)), row)


@pytest.mark.parametrize(
    "name", ["decontext", "revised_decontext", "sentence_factuality_label", "most_importance_sentence"]
)
def test_a_missing_field_of_a_sentence_stays_missing(name):
    row = one_claim()
    del row["sentences"]["sentence1"][name]
    assert same_json(factcheck_bench.render(parse(row, 1)), row)


def test_sentences_may_be_numbered_with_gaps():
    row = released_document()
    row["sentences"] = {f"sentence{10 * n}": each for n, each in enumerate(row["sentences"].values(), start=1)}
    assert same_json(factcheck_bench.render(parse(row, 1)), row)


def test_what_was_left_unchecked_is_read_as_not_worth_checking():
    """The format has no field for it; this is how it is exported, see ``factcheck_bench``."""
    claim = claim_of(
        one_claim(
            stance_claim_autoEvid=[],
            if_claim_needs_edit="NA",
            if_automatic_evidence_enough_to_verify="NA",
            claims_factuality_label="unknown",
        )
    )
    assert claim.worth_checking is False and not claim.is_checked


def changed(path: str, value: Any) -> dict[str, Any]:
    """The document with one value changed; numbers in the path count from 0."""
    row = copy.deepcopy(released_document())
    *way, last = [int(key) if key.isdecimal() else key for key in path.split("/")]
    place: Any = row
    for key in way:
        place = place[key]
    place[last] = value
    return row


S1, S3 = "sentences/sentence1/", "sentences/sentence3/"


@pytest.mark.parametrize(
    ("path", "value", "field", "words"),
    [
        ("response", "", "response", "blank"),
        ("response", 5, "response", "found a number"),
        ("prompt", ["x"], "prompt", "found a list"),
        ("revised_response", ["x"], "revised_response", "found a list"),
        ("response_factuality", {}, "response_factuality", "found an object"),
        ("score", 1, "score", "no such field"),
        ("reference_date", "soon", "reference_date", "a valid date"),
        ("sentences", [], "sentences", "found a list"),
        ("sentences", {}, "sentences", "sentence1"),
        ("sentences/first", {}, "sentences.first", "a number"),
        (S1 + "texts", "x", "sentence1.texts", "no such field"),
        (S1 + "text", 1, "sentence1.text", "found a number"),
        (S1 + "sentence_checkworthiness", "maybe", "sentence1.sentence_checkworthiness", "“maybe”"),
        (S1 + "claims", "x", "sentence1.claims", "expected a list"),
        (S1 + "claim_checkworthiness", ["factual"], "sentence1.claim_checkworthiness", "1 items"),
        (S1 + "revised_claims", [], "sentence1.revised_claims", "0 items"),
        (S3 + "human_evidence", ["NA", "NA"], "sentence3.human_evidence", "2 items"),
        (S1 + "auto_evidence/1", "x", "sentence1, claim 2.auto_evidence", "a list"),
        (S1 + "auto_evidence/1", ["x"], "sentence1, claim 2.auto_evidence_url", "2 addresses"),
        (S1 + "stance_claim_autoEvid/0", ["refute"], "sentence1, claim 1.stance_claim_autoEvid", "1 stances"),
        (S1 + "stance_claim_autoEvid/0/1", "against", "sentence1, claim 1.stance_claim_autoEvid", "refute"),
        (S1 + "if_claim_needs_edit/0", 5, "sentence1, claim 1.if_claim_needs_edit", "not_enough_evidence"),
    ],
)
def test_what_would_have_to_be_guessed_is_a_bad_row(path, value, field, words):
    row = changed(path, value)
    with pytest.raises(RowError) as error:
        parse(row, 7)
    problems = error.value.at(7).problems
    assert [(each.line, each.field) for each in problems] == [(7, field)] * len(problems)
    assert words in problems[0].reason


def test_bad_lines_are_named_and_the_others_read():
    content = "\n".join(json.dumps(each) for each in (released_document(), {"prompt": "x"}, released_document()))
    rows = list(read(io.BytesIO(content.encode())))
    assert [type(row) for row in rows] == [GoldDocument, BadRow, GoldDocument]
    [bad] = [row for row in rows if isinstance(row, BadRow)]
    assert {problem.field for problem in bad.problems} == {"sentences", "response"}


def test_stages_that_are_not_agreed_are_empty():
    document = parse(released_document(), 1)
    document.verified = document.revised = False
    row = factcheck_bench.render(document)
    sentence = row["sentences"]["sentence1"]
    assert row["response_factuality"] == sentence["sentence_factuality_label"] == "NA"
    assert sentence["claims"] == ["Ada Lovelace wrote notes on an engine.", "The notes are from 1842."]
    assert sentence["if_most_important_claim"] == ["no", "yes"]
    assert sentence["stance_claim_autoEvid"] == sentence["revised_claims"] == sentence["revised_decontext"] == []
