"""The figures of hand-made documents, counted by hand; and what stands in the tables and charts made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from annotator.core.charts import MAX_COLUMNS, NUMBERED_COLUMNS
from annotator.measures.screens.statistics import chart_of, stance_stacks, truth_stacks
from annotator.measures.statistics.figures import GoldFigures, Rule, count
from annotator.measures.statistics.gold_breakdowns import GoldBreakdowns
from annotator.measures.statistics.irregular import IRREGULARITIES
from annotator.measures.statistics.report import SourceCount, StatisticsReport, as_json
from annotator.measures.statistics.rows import GoldClaimRow, GoldDocumentRow, GoldSentenceRow
from annotator.measures.statistics.tables import TABLES, table_of
from pipeline.metrics.intervals import wilson

TRUE = GoldClaimRow(
    importance="most", sufficient=True, factuality="true", stances={"completely_support": 3, "irrelevant": 2}
)
FOUND_BY_HAND = GoldClaimRow(sufficient=False, factuality="true", stances={"irrelevant": 5}, added=2)
FALSE = GoldClaimRow(sufficient=False, factuality="false", stances={"refute": 1, "irrelevant": 3})
UNDETERMINED = GoldClaimRow(sufficient=False, factuality="not_enough_evidence")
OPINION = GoldClaimRow(type="opinion", worth_checking=None)
COMMONSENSE = GoldClaimRow(worth_checking=False)


def document(*sentences: GoldSentenceRow, **fields: Any) -> GoldDocumentRow:
    return GoldDocumentRow(sentences=sentences, **fields)


def sentence(*claims: GoldClaimRow, type: str = "checkworthy", **fields: Any) -> GoldSentenceRow:
    return GoldSentenceRow(type=type, claims=claims, **fields)


def report_of(*documents: GoldDocumentRow, **fields: Any) -> StatisticsReport:
    return StatisticsReport(figures=count(documents), **fields)


# --- what is true and false -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "paper", "released"),
    [
        ([TRUE], True, True),
        ([TRUE, FALSE], False, False),
        ([TRUE, UNDETERMINED], False, False),
        ([TRUE, OPINION], True, False),  # where the rules part: an opinion has no label, so its sentence is false
        ([TRUE, COMMONSENSE], True, False),
        ([OPINION], None, False),
        ([], None, None),
    ],
)
def test_the_two_rules_for_a_document(claims: list[GoldClaimRow], paper: bool | None, released: bool | None) -> None:
    figures = count([document(sentence(*claims))])
    assert figures.truth[Rule.PAPER] == {paper: 1}
    assert figures.truth[Rule.RELEASED] == {released: 1}


def test_false_and_undetermined_claims_are_counted_by_document() -> None:
    found = as_json(
        report_of(
            document(sentence(TRUE)),
            document(sentence(FALSE, FALSE), sentence(FALSE)),
            document(sentence(*[FALSE] * 6, UNDETERMINED)),
            document(sentence(UNDETERMINED, OPINION)),
        )
    )["documents"]
    assert found["with_false_claim"] == 2
    assert found["with_undetermined_claim"] == 2
    assert found["false_claims_per_doc"] == {"0": 2, "3": 1, "6": 1}
    assert found["over_5_false"] == 1


def test_a_verdict_on_a_claim_that_is_not_checked_does_not_count() -> None:
    stray = GoldClaimRow(type="opinion", factuality="false", sufficient=False, stances={"refute": 1})
    found = as_json(report_of(document(sentence(stray))))
    assert found["documents"]["with_false_claim"] == 0
    assert found["claims"]["needs_edit"] == {"NA": 1}
    assert found["claims"]["evidence_enough"] == {"NA": 1}
    assert found["stance"]["all"] == {}
    assert found["table1"] == {"document": 1, "sent": 1, "cw_sent": 1, "claim": 1, "cw_claim": 0, "evid": 0}


# --- sentences, claims, passages ------------------------------------------------------------------


def test_sentences_and_the_claims_in_them() -> None:
    found = as_json(
        report_of(
            document(sentence(TRUE, FALSE, importance="most"), sentence(type="opinion", importance="less")),
            document(sentence(TRUE)),
        )
    )["sentences"]
    assert found["type"] == {"yes": 2, "opinion": 1}
    assert found["importance"] == {"yes": 1, "no": 1, "NA": 1}
    assert found["factuality"] == {"na": 1, "false": 1, "true": 1}
    assert found["per_response"] == {"1": 1, "2": 1}
    assert found["claims_per_sentence"] == {"0": 1, "1": 1, "2": 1}
    assert found["claims_per_cw_sentence"] == {"1": 1, "2": 1}


@pytest.mark.parametrize(
    ("claims", "for_lack_of_evidence"),
    [([UNDETERMINED], 1), ([UNDETERMINED, TRUE], 1), ([UNDETERMINED, FALSE], 0), ([FALSE], 0), ([], 0)],
)
def test_a_deleted_sentence_lacked_evidence_unless_it_was_false(
    claims: list[GoldClaimRow], for_lack_of_evidence: int
) -> None:
    figures = count([document(sentence(*claims, deleted=True), sentence(UNDETERMINED))])
    assert (figures.deleted, figures.deleted_undetermined) == (1, for_lack_of_evidence)


def test_claims_by_whether_automatic_evidence_was_enough() -> None:
    found = as_json(report_of(document(sentence(TRUE, FOUND_BY_HAND, FALSE, UNDETERMINED, OPINION, COMMONSENSE))))
    claims, stance = found["claims"], found["stance"]
    assert claims["type"] == {"factual": 5, "opinion": 1}
    assert claims["evidence_enough"] == {"yes": 1, "no": 3, "NA": 2}
    assert claims["needs_edit"] == {"no": 2, "yes": 1, "not_enough_evidence": 1, "NA": 2}
    assert claims["not_enough_by_edit"] == {"no": 1, "yes": 1, "not_enough_evidence": 1}
    assert claims["factuality"] == {"unknown": 1, "false": 1, "true": 2}
    assert stance["all"] == {"completely-support": 3, "refute": 1, "irrelevant": 10}
    assert stance["evidence_enough_yes"] == {"completely-support": 3, "irrelevant": 2}
    assert stance["evidence_enough_no"] == {"refute": 1, "irrelevant": 8}
    assert found["evidence"] == {"retrieved": 0, "added": 2}


def test_what_is_odd_is_always_named() -> None:
    odd = as_json(report_of(document(sentence(TRUE, FOUND_BY_HAND, FALSE, OPINION)), odd={"blank_decontext": 4}))[
        "irregular"
    ]
    assert list(odd) == list(IRREGULARITIES)
    assert {name: number for name, number in odd.items() if number} == {
        "blank_decontext": 4,
        "stances_not_five": 2,  # the false claim has four, the opinion none
        "enough_no_but_no_human_text": 1,
    }


# --- original against revised ---------------------------------------------------------------------


def test_texts_are_compared_over_the_documents_that_a_rule_calls_false() -> None:
    documents = [
        document(sentence(FALSE), response="born in 1825", revised="born in 1815"),
        document(sentence(TRUE, OPINION), response="one two", revised="one two"),
        document(sentence(TRUE), response="one", revised="something else"),
    ]
    paper, released = (as_json(report_of(*documents), rule)["revision_false_docs"] for rule in Rule)
    assert paper == {"n": 1, "norm_edit": round(1 / 12, 3), "word_overlap": round(2 / 3, 3)}
    assert released == {"n": 2, "norm_edit": round(1 / 24, 3), "word_overlap": round(5 / 6, 3)}


# --- baselines ------------------------------------------------------------------------------------


def test_constant_answers() -> None:
    documents = [
        document(sentence(TRUE), sentence(type="other")),
        document(sentence(TRUE, FALSE), sentence(UNDETERMINED, OPINION), sentence(type="opinion")),
    ]
    found = as_json(report_of(*documents))
    # 3 of 5 sentences are checkworthy; 4 of 5 claims factual.
    assert found["table3_majority"]["sentence"] == {"acc": 0.6, "prec": 0.3, "recall": 0.5, "f1": 0.375}
    assert found["table3_majority"]["claim"] == {"acc": 0.8, "prec": 0.4, "recall": 0.5, "f1": 0.444}
    two, four = found["table5_constant"]["true_or_false_only"], found["table5_constant"]["undetermined_as_false"]
    assert (two["n"], four["n"]) == (3, 4)
    assert two["always_true"] == {"label_true": [0.667, 1.0, 0.8], "label_false": [0.0, 0.0, 0.0]}
    assert four["always_false"] == {"label_true": [0.0, 0.0, 0.0], "label_false": [0.5, 1.0, 0.667]}


# --- nothing, sources, tables ---------------------------------------------------------------------


def test_without_gold_there_is_nothing_and_no_division_by_it() -> None:
    report = StatisticsReport(figures=GoldFigures())
    found = as_json(report)
    assert found["documents"]["mean_response_words"] is None
    assert found["revision_false_docs"] == {"n": 0, "norm_edit": None, "word_overlap": None}
    assert found["table3_majority"] == {"sentence": None, "claim": None}
    assert found["table5_constant"]["undetermined_as_false"] == {"n": 0, "always_true": None, "always_false": None}
    assert {name: table_of(report, name)[1:] for name in TABLES} == {name: [] for name in TABLES}
    assert chart_of(report, "sentences").histogram is None and chart_of(report, "stances").bars == ()
    assert stance_stacks(report) == []


def test_sources_are_told_apart_where_documents_name_them() -> None:
    documents = [
        document(sentence(FALSE), source="web"),
        document(sentence(TRUE, OPINION), source="web"),
        document(sentence(TRUE)),
    ]
    sources = [SourceCount("web", 5, 2, 1), SourceCount("", 1, 1, 0), SourceCount("books", 2, 0, 0)]
    report = report_of(*documents, sources=sources)
    counted = as_json(report)["counted"]
    assert (counted["gold"], counted["in_work"], counted["discarded"]) == (3, 4, 1)
    assert table_of(report, "sources") == [
        ["source", "collected", "annotated", "false_paper", "false_released"],
        ["web", 5, 2, 1, 2],
        ["", 1, 1, 0, 0],
        ["books", 2, 0, 0, 0],
    ]
    assert as_json(report)["table2"][1]["source"] is None
    nameless = report_of(document(sentence(TRUE)), sources=[SourceCount("", 1, 1, 0)])
    assert as_json(nameless)["table2"] == [] and table_of(nameless, "sources")[1:] == []


def test_every_table_has_rows_as_wide_as_its_heads() -> None:
    breakdowns = GoldBreakdowns()
    documents = [document(sentence(TRUE, FALSE, OPINION), source=each) for each in ("web", *["books"] * 5)]
    report = report_of(*breakdowns.watch(documents), sources=[SourceCount("web", 6, 6, 0)], retrieved=9)
    report = replace(report, breakdowns=breakdowns.tables())
    for name in TABLES:
        heads, *rows = table_of(report, name)
        assert rows and {len(row) for row in rows} == {len(heads)}, name
    with pytest.raises(KeyError):
        table_of(report, "nonsense")


def test_a_table_shows_the_numbers_that_do_not_occur_between_those_that_do() -> None:
    rows = table_of(report_of(document(sentence(*[FALSE] * 3)), document(sentence(FALSE))), "false-claims")
    assert rows[1:] == [[1, 1, 0.5], [2, 0, 0.0], [3, 1, 0.5]]


# --- charts ---------------------------------------------------------------------------------------


def test_bars_say_how_many_and_which_share() -> None:
    chart = chart_of(report_of(document(sentence(TRUE), sentence(FALSE), sentence(type="other"))), "sentence-types")
    assert [(bar.look.words, bar.number, bar.percent, bar.width) for bar in chart.bars] == [
        ("Check-worthy", 2, "67%", 66.67),
        ("Other", 1, "33%", 33.33),
    ]
    assert chart.of == "3 sentences" and "appendix B.4" in chart.reference


def test_long_answers_are_gathered_into_steps() -> None:
    documents = [document(*[sentence()] * number) for number in (1, 2, 100)]
    histogram = chart_of(report_of(*documents), "sentences").histogram
    assert histogram is not None
    assert NUMBERED_COLUMNS < len(histogram.columns) <= MAX_COLUMNS and not histogram.is_numbered
    assert sum(column.value for column in histogram.columns) == 3
    assert histogram.words == "Number of responses with 1–5: 2, 96–100: 1"
    assert len(histogram.columns[:: histogram.step]) <= NUMBERED_COLUMNS


def test_stacks_say_in_words_what_they_draw() -> None:
    report = report_of(document(sentence(TRUE)), document(sentence(FALSE)), document(sentence(UNDETERMINED)))
    stack = truth_stacks(report)["paper"]
    assert stack.words == "The paper’s count: false 2 (67%), true 1 (33%), no label 0 (0%)"
    assert [(part["kind"], part["width"]) for part in stack.parts] == [("refute", 66.67), ("support", 33.33)]
    yes, no = stance_stacks(report)
    assert (yes.number, no.number) == (5, 4)


# --- breakdowns -----------------------------------------------------------------------------------


def test_groups_of_documents_have_their_shares_and_small_ones_none() -> None:
    kept = GoldBreakdowns()
    web = [document(sentence(TRUE, FALSE, UNDETERMINED, OPINION), source="web") for _ in range(5)]
    books = [document(sentence(TRUE, TRUE), source="books", metadata={"lang": "de"}) for _ in range(5)]
    letters = [document(sentence(*[FALSE] * 9), source="letters") for _ in range(4)]
    assert list(kept.watch([*web, *books, *letters])) == [*web, *books, *letters]
    found = kept.tables()
    assert list(found) == ["source", "language", "label", "claims"]  # all are as short, and none has a model
    by_source = {each["group"]: each for each in found["source"]}
    assert by_source["letters"] == {
        "group": "letters", "items": 36, "documents": 4, "figures": None, "intervals": None
    }  # fmt: skip
    assert by_source["web"]["figures"] == {
        "false_responses": 1.0,
        "false_responses_released": 1.0,
        "false_claims": pytest.approx(1 / 3),
        "undetermined_claims": pytest.approx(1 / 3),
        "sufficient": pytest.approx(1 / 3),
    }
    assert by_source["books"]["figures"] == dict.fromkeys(by_source["web"]["figures"], 0.0) | {"sufficient": 1.0}
    by_label = {each["group"]: each for each in found["label"]}
    assert {name: each["items"] for name, each in by_label.items()} == {
        "true": 15, "false": 41, "not_enough_evidence": 5
    }  # fmt: skip
    assert by_label["true"]["figures"] == {"sufficient": 1.0} and by_label["false"]["figures"] == {"sufficient": 0.0}
    assert by_label["not_enough_evidence"]["figures"] is None


def test_intervals_of_breakdowns_draw_documents() -> None:
    """Ten documents whose claims all share a verdict are ten observations, not a hundred."""
    kept = GoldBreakdowns()
    alike = [document(sentence(*[FALSE if number % 2 else TRUE] * 10), source="web") for number in range(10)]
    mixed = [document(sentence(*[FALSE] * 5, *[TRUE] * 5), source="books") for _ in range(10)]
    list(kept.watch([*alike, *mixed]))
    found = {each["group"]: each for each in kept.tables()["source"]}
    low, high = found["web"]["intervals"]["false_claims"]
    assert low <= 0.3 and high >= 0.7
    assert found["books"]["intervals"]["false_claims"] == pytest.approx(wilson(5, 10)), "all alike, not all certain"
    assert found["web"]["figures"]["false_claims"] == found["books"]["figures"]["false_claims"] == 0.5
