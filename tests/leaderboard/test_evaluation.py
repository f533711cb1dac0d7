"""Predictions against gold, worked out by hand: answers, figures, baselines, and how rows find their items."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.file_problems import RowError
from annotator.leaderboard.predictions import predictions
from annotator.leaderboard.predictions.predictions import PredictionRow
from annotator.leaderboard.scoring import label_sets
from annotator.leaderboard.scoring.items import Gold, GoldPassage, TaskItem, Verdicts, fingerprint
from annotator.leaderboard.scoring.joining import KEPT, Joined, join
from annotator.leaderboard.scoring.label_sets import Undetermined
from annotator.leaderboard.scoring.labels import Labels
from annotator.leaderboard.scoring.measure import MOST, Unanswered
from annotator.leaderboard.scoring.passages import EvidenceMeasure, address_of
from annotator.leaderboard.scoring.report import Scorer
from annotator.leaderboard.scoring.tasks import Options, Task, factuality, measure_of
from pipeline.metrics.intervals import wilson
from pipeline.metrics.text import word_overlap


def gold_of(*golds: Any, texts: tuple[str, ...] = ()) -> Gold:
    """Items k1, k2 … of documents d1, d2 … (external ids e1, e2 …), one each, at position 1."""
    words = texts or tuple(f"Text {number}." for number in range(1, len(golds) + 1))
    return Gold.of(
        TaskItem(f"k{number}", f"d{number}", f"e{number}", "1", gold, text)
        for number, (gold, text) in enumerate(zip(golds, words, strict=True), start=1)
    )


def rows_of(*rows: Any) -> Iterator[Any]:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return predictions.read(io.BytesIO("\n".join(lines).encode()))


def joined(gold: Gold, task: Task, *rows: Any, **options: Any) -> Joined:
    return join(gold, measure_of(task, Options(**options)), rows_of(*rows), task=task.value)


def said(found: Joined) -> dict[str, str | None]:
    """What was scored of each item."""
    return {key: found.answer_of(key) for key in found.scored}


def scores(gold: Gold, task: Task, *rows: Any, **options: Any) -> dict[str, Any]:
    scorer = Scorer(task, Options(**options), gold)
    return scorer.scores(join(gold, scorer.measure, rows_of(*rows)).scored)


# --- labels ---------------------------------------------------------------------------------------


def test_one_stray_label_costs_one_error_and_no_third_of_f1() -> None:
    golds = ["true"] * 160 + ["false"] * 156
    gold = gold_of(*golds)
    rows = [{"id": f"k{number}", "label": label} for number, label in enumerate(golds, start=1)]
    one_stray = scores(gold, Task.CLAIM_FACTUALITY, *rows[:-1], {"id": "k316", "label": "NEI"})
    wrong = [
        row | {"label": {"true": "false", "false": "true"}[row["label"]]} if number % 7 == 0 else row
        for number, row in enumerate(rows)
    ]
    assert one_stray["f1_macro"] > 0.99 > scores(gold, Task.CLAIM_FACTUALITY, *wrong)["f1_macro"]
    assert one_stray["f1_macro_with_predicted"] == pytest.approx(0.6656, abs=1e-3)
    pytest.importorskip("sklearn")
    from sklearn.metrics import f1_score

    said = [*golds[:-1], "nei"]
    assert one_stray["f1_macro"] == pytest.approx(f1_score(golds, said, labels=["true", "false"], average="macro"))


def test_breakdowns_are_the_figures_of_the_group_alone_as_scikit_learn_has_them() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = Random(3)
    golds = [random.choice(["true", "false"]) for _ in range(60)]
    answers = [gold if random.random() < 0.7 else random.choice(["true", "false"]) for gold in golds]
    gold = gold_of(*golds)
    scorer = Scorer(Task.CLAIM_FACTUALITY, Options(), gold)
    rows = ({"id": f"k{number}", "label": label} for number, label in enumerate(answers, start=1))
    groups = {f"d{number}": "web" if number <= 45 else "books" if number <= 56 else "few" for number in range(1, 61)}
    found = scorer.breakdowns(join(gold, scorer.measure, rows_of(*rows)).scored, {"source": groups})
    web, books, few = found["source"]
    for group, part in ((web, slice(0, 45)), (books, slice(45, 56))):
        assert group["figures"]["accuracy"] == pytest.approx(metrics.accuracy_score(golds[part], answers[part]))
        f1 = metrics.f1_score(golds[part], answers[part], labels=sorted(set(golds[part])), average="macro")
        assert group["figures"]["f1_macro"] == pytest.approx(f1)
        constant = [max(("true", "false"), key=golds[part].count)] * len(golds[part])
        assert group["baseline"]["accuracy"] == pytest.approx(metrics.accuracy_score(golds[part], constant))
        f1 = metrics.f1_score(golds[part], constant, labels=sorted(set(golds[part])), average="macro")
        assert group["baseline"]["f1_macro"] == pytest.approx(f1), "the most frequent label of the group, not of all"
    one, other = (max(("true", "false"), key=golds[part].count) for part in (slice(0, 45), slice(45, 56)))
    assert one != other, "the groups differ in their most frequent label"
    assert (few["items"], few["documents"]) == (4, 4)
    assert few["figures"] is few["intervals"] is few["baseline"] is None
    for group in found["label"]:
        recall = metrics.recall_score(golds, answers, labels=[group["group"]], average=None)
        assert group["figures"] == {"accuracy": pytest.approx(float(recall[0]))}


def test_a_group_without_errors_claims_no_certainty() -> None:
    golds = ["true", "false"] * 10
    gold = gold_of(*golds)
    scorer = Scorer(Task.CLAIM_FACTUALITY, Options(), gold, resamples=100)
    joined = join(gold, scorer.measure, rows_of(*({"id": key, "label": item.gold} for key, item in gold.items.items())))
    groups = {item.document: "web" if number < 12 else "books" for number, item in enumerate(gold.items.values())}
    whole, [web, _] = scorer.scores(joined.scored), scorer.breakdowns(joined.scored, {"source": groups})["source"]
    for found, documents in ((whole, 20), (web, 12)):
        assert found["intervals"]["accuracy"] == pytest.approx(wilson(documents, documents))
        assert found["intervals"]["f1_macro"] is None, "an average over labels is no share"


def test_a_group_of_texts_has_the_first_baseline_on_the_same_items() -> None:
    gold = Gold.of(
        TaskItem(f"k{number}", f"d{number}", "", "", f"a new text {number % 3}", text="an old text")
        for number in range(20)
    )
    scorer = Scorer(Task.REVISION, Options(), gold, resamples=100)
    rows = ({"id": f"k{number}", "revised": f"a new text {number}"} for number in range(15))
    joined = join(gold, scorer.measure, rows_of(*rows))
    groups = {f"d{number}": "web" if number < 10 else "books" for number in range(20)}
    web, books = scorer.breakdowns(joined.scored, {"source": groups})["source"]
    unchanged = [word_overlap("an old text", f"a new text {number % 3}") for number in range(10)]
    assert web["baseline"]["word_overlap"] == pytest.approx(sum(unchanged) / 10)
    assert (books["documents"], books["figures"]) == (5, None)


def test_the_interval_of_macro_f1_keeps_the_labels_of_the_whole() -> None:
    golds = ["true"] * 30 + ["false"]
    gold = gold_of(*golds)
    found = scores(gold, Task.CLAIM_FACTUALITY, *({"id": key, "label": "true"} for key in gold.items))
    low, high = found["intervals"]["f1_macro"]
    # Over two labels a constant answer has half of F1 at most; over one it had 1.
    assert low <= found["f1_macro"] <= high <= 0.5


def test_label_scores_by_hand() -> None:
    gold = gold_of("true", "true", "false", "false")
    found = scores(
        gold,
        Task.CLAIM_FACTUALITY,
        {"id": "k1", "label": "true"},
        {"id": "k2", "label": "false"},
        {"id": "k3", "label": "false"},
        {"id": "k4", "label": "not_enough_evidence"},
    )
    assert found["accuracy"] == 0.5
    # Labels of the gold: true (1, 1/2), false (1/2, 1/2). With those of the predictions: undecided, too (0, 0).
    assert found["averaged_over"] == ["true", "false"]
    assert found["precision_macro"] == pytest.approx((1 + 0.5) / 2)
    assert found["recall_macro"] == pytest.approx((0.5 + 0.5) / 2)
    assert found["f1_macro"] == pytest.approx((2 / 3 + 0.5) / 2)
    assert found["f1_macro_with_predicted"] == pytest.approx((2 / 3 + 0.5 + 0) / 3)
    assert list(found["per_label"]) == ["true", "false", "not_enough_evidence"]
    assert found["per_label"]["false"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "gold": 2, "predicted": 2}
    assert found["confusion"]["false"] == {"true": 0, "false": 1, "not_enough_evidence": 1}
    low, high = found["intervals"]["accuracy"]
    assert 0 <= low <= 0.5 <= high <= 1


@pytest.mark.parametrize(
    ("labels", "written", "taken"),
    [
        (label_sets.STANCE_4, "Completely Support", "completely-support"),
        (label_sets.STANCE_4, " partially_support ", "partially-support"),
        (label_sets.STANCE_3, "completely-support", "support"),
        (label_sets.SENTENCE, True, "yes"),
        (label_sets.SENTENCE, "not_a_claim", "no"),
        (label_sets.CLAIM, "Not a claim", "not_a_claim"),
        (label_sets.FACTUALITY, False, "false"),
        (label_sets.FACTUALITY, "SUPPORTED", "true"),
        (label_sets.FACTUALITY, "NEI", "not_enough_evidence"),
    ],
)
def test_safe_spellings_are_taken_and_told(labels: label_sets.LabelSet, written: Any, taken: str) -> None:
    answer = Labels(labels, {}).read({"label": written})
    assert answer.value == taken
    spelled = {True: "true", False: "false"}.get(written, written) if isinstance(written, bool) else written
    assert answer.respelled == (None if spelled == taken else (spelled, taken))


@pytest.mark.parametrize(
    ("labels", "written", "said"),
    [
        (label_sets.STANCE_4, "support", "Did you mean “completely-support” or “partially-support”?"),
        (label_sets.STANCE_3, "iirelevant", "Did you mean “irrelevant”?"),
        (label_sets.FACTUALITY, "flase", "Did you mean “false”?"),
        (label_sets.FACTUALITY, "blue", "“blue” isn’t a valid label; choose one of true, false, not_enough_evidence."),
        (label_sets.FACTUALITY, 1, "expected a label, found a number"),
        (label_sets.FACTUALITY, ["true"], "found a list"),
    ],
)
def test_other_spellings_are_refused_and_the_right_one_is_offered(
    labels: label_sets.LabelSet, written: Any, said: str
) -> None:
    with pytest.raises(RowError, match="label") as error:
        Labels(labels, {}).read({"label": written})
    assert said in str(error.value)


def test_a_blank_answer_is_none() -> None:
    for blank in (None, "", "  "):
        with pytest.raises(Unanswered):
            Labels(label_sets.CLAIM, {}).read({"label": blank})
    with pytest.raises(RowError, match="required"):
        Labels(label_sets.CLAIM, {}).read({"lable": "factual"})


def test_what_undetermined_counts_as() -> None:
    assert [factuality("not_enough_evidence", each) for each in Undetermined] == [None, "false", "not_enough_evidence"]
    assert [factuality("true", each) for each in Undetermined] == ["true"] * 3
    assert factuality("", Undetermined.FALSE) is None
    # Where the gold's undetermined claims are false, so are predicted ones.
    found = scores(
        gold_of("false"), Task.CLAIM_FACTUALITY, {"id": "k1", "label": "nei"}, undetermined=Undetermined.FALSE
    )
    assert found["accuracy"] == 1.0 and list(found["per_label"]) == ["false"]


def test_constant_and_random_baselines() -> None:
    scorer = Scorer(Task.SENTENCE_CHECKWORTHINESS, Options(), gold_of("yes", "yes", "yes", "no", None))
    found = scorer.baselines()
    assert list(found) == ["majority", "always_checkworthy", "always_not_checkworthy", "random"]
    assert found["majority"] == found["always_checkworthy"]
    assert found["majority"]["accuracy"] == 0.75 and found["majority"]["f1_macro"] == round((6 / 7) / 2, 3)
    assert found["random"]["items"] == 4
    assert scorer.baselines() == found, "seeded"
    many = Scorer(Task.STANCE, Options(), gold_of(*["refute", "irrelevant"] * 200), seed=1).baselines()
    assert "always_completely_support" not in many, "only labels that occur"
    assert many["random"]["accuracy"] == pytest.approx(0.5, abs=0.1)


# --- texts ----------------------------------------------------------------------------------------


def test_revision_by_hand() -> None:
    gold = gold_of("one two four", "same", texts=("one two three", "same"))
    rows = ({"id": "k1", "revised": "one two five"}, {"id": "k2", "revised": " same"})
    found = scores(gold, Task.REVISION, *rows)
    assert found["edit_distance"] == pytest.approx((3 / 12 + 1 / 5) / 2)  # "five" for "four": i, v, e
    assert found["word_overlap"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["exact_match"] == 0.5
    assert found["accuracy"] is None and found["per_label"] == {}
    baselines = Scorer(Task.REVISION, Options(), gold).baselines()
    assert list(baselines) == ["unchanged", "random"]
    assert baselines["unchanged"]["exact_match"] == 0.5


def test_decomposition_by_hand() -> None:
    gold = gold_of(
        ("ada was born in london", "ada wrote notes"), (), texts=("Ada, born in London, wrote notes.", "Hm.")
    )
    rows = ({"id": "k1", "claims": ["Ada was born in London.", "She sang."]}, {"id": "k2", "claims": ["Hm."]})
    found = scores(gold, Task.DECOMPOSITION, *rows)
    assert (found["precision"], found["recall"], found["f1"]) == (pytest.approx(1 / 3), 0.5, pytest.approx(2 / 5))
    assert found["claims"] == {"matched": 1, "predicted": 3, "gold": 2}
    assert found["same_number"] == 1.0
    baselines = Scorer(Task.DECOMPOSITION, Options(), gold).baselines()
    assert baselines["sentence_as_claim"]["claims"] == {"matched": 0, "predicted": 2, "gold": 2}


@given(st.lists(st.text(" ab", min_size=1).filter(str.strip), max_size=5), st.integers())
def test_random_cuts_keep_every_word(sentences: list[str], seed: int) -> None:
    gold = gold_of(("a",), texts=("\n".join(sentences),))
    *_, random = measure_of(Task.DECOMPOSITION, Options()).baselines(gold, Random(seed))
    answer = dict(random.answers)["k1"]
    assert " ".join(answer).split() == " ".join(sentences).split()
    assert all(claim.strip() for claim in answer)


@pytest.mark.parametrize(
    ("task", "row", "said"),
    [
        (Task.DECOMPOSITION, {"claims": "one"}, "expected a list of texts, found a text"),
        (Task.DECOMPOSITION, {"claims": ["one", " "]}, "as item 2, found a blank text"),
        (Task.DECOMPOSITION, {"claims": ["one"] * (MOST + 1)}, "501 claims in one row"),
        (Task.DECOMPOSITION, {}, "required"),
        (Task.REVISION, {"revised": 3}, "expected a text, found a number"),
        (Task.REVISION, {"label": "true"}, "required"),
        (Task.EVIDENCE, {"evidence": {}}, "a list of passages"),
        (Task.EVIDENCE, {"evidence": [3]}, "item 1, found a number"),
        (Task.EVIDENCE, {"evidence": [{}]}, "item 1 is empty"),
        (Task.EVIDENCE, {"evidence": [{"url": "https://a.example"}]}, "item 1 has no text"),
        (Task.EVIDENCE, {"evidence": [{"text": 3}]}, "must be texts"),
        (Task.END_TO_END, {}, "required"),
        (Task.END_TO_END, {"claims": []}, "there are no claims to derive it from"),
        (Task.END_TO_END, {"claims": [{"text": "a"}]}, "item 1 has no label"),
        (
            Task.END_TO_END,
            {"claims": [{"text": "a", "label": "maybe"}]},
            "item 1: “maybe” isn’t a valid label; choose one of",
        ),
        (Task.END_TO_END, {"claims": ["a"]}, "item 1 must be an object"),
    ],
)
def test_answers_that_cannot_be_scored(task: Task, row: dict[str, Any], said: str) -> None:
    with pytest.raises(RowError) as error:
        measure_of(task, Options()).read(row)
    assert said in str(error.value)


# --- passages and responses -----------------------------------------------------------------------


def passages() -> tuple[GoldPassage, ...]:
    def one(key: str, text: str, url: str, stance: str, added: bool = False) -> GoldPassage:
        return GoldPassage(key, fingerprint(text), address_of(url), stance, added)

    return (
        one("p1", "Ada was born in 1815.", "https://a.example/ada", "completely-support"),
        one("p2", "Ada was born in 1815.", "https://b.example/", "irrelevant"),
        one("p3", "Engines are large.", "https://a.example/engine", "irrelevant"),
        one("p4", "Born: 1815", "https://c.example", "", added=True),
    )


def test_evidence_by_hand() -> None:
    gold = gold_of(passages())
    answer = [
        {"text": "ada was born in 1815"},
        {"text": "Ada was born, in 1815!"},
        "Engines are large.",
        "Something new.",
    ]
    found = scores(gold, Task.EVIDENCE, {"id": "k1", "evidence": answer})
    # Of the two that help, p1 is found and p4 is not; the repeated passage is one, and takes its best stance.
    assert (found["recall"], found["precision"]) == (0.5, pytest.approx(1 / 3))
    assert found["passages"] == {"gold": 2, "gold_found": 1, "predicted": 3, "predicted_helpful": 1}
    counts = {kind: each["count"] for kind, each in found["by_stance"].items() if each["count"]}
    assert counts == {"completely-support": 1, "irrelevant": 1, "unjudged": 1}
    by_id = scores(gold, Task.EVIDENCE, {"id": "k1", "evidence": [{"id": "p4"}, {"id": "p2"}]})
    assert (by_id["recall"], by_id["by_stance"]["added_by_people"]["count"]) == (0.5, 1)


def test_evidence_by_address() -> None:
    urls = [{"url": "http://www.a.example/ada/#born"}, {"url": "https://c.example/"}, {"url": "https://d.example"}]
    found = scores(gold_of(passages()), Task.EVIDENCE, {"id": "k1", "evidence": urls}, by_address=True)
    assert (found["recall"], found["precision"]) == (1.0, pytest.approx(2 / 3))
    with pytest.raises(RowError, match="has no url"):
        EvidenceMeasure(by_address=True).read({"evidence": ["a text"]})


def test_nothing_found_is_a_recall_of_nothing() -> None:
    found = scores(gold_of(passages()), Task.EVIDENCE, {"id": "k1", "evidence": []})
    assert (found["recall"], found["precision"], found["f1"]) == (0.0, None, None)
    baselines = Scorer(Task.EVIDENCE, Options(), gold_of(passages())).baselines()
    assert baselines["all_retrieved"]["recall"] == 0.5 and baselines["first_retrieved"]["precision"] == 1.0


def test_end_to_end_by_hand() -> None:
    gold = gold_of(
        Verdicts("false", (("ada was born in 1825", "false"), ("ada wrote notes", "true"))),
        Verdicts("true", (("it rained", "true"),)),
    )
    claims = [{"text": "Ada was born in 1825.", "label": False}, {"text": "Ada wrote notes.", "label": "nei"}]
    found = scores(gold, Task.END_TO_END, {"id": "k1", "claims": claims}, {"id": "k2", "label": "false"})
    assert found["accuracy"] == 0.5, "the first label follows from its claims"
    # Only the first response has claims: two of two are found, one of them with the right label.
    assert (found["claim_f1"], found["verdict_f1"]) == (1.0, 0.5)
    assert found["claims"] == {"matched": 2, "right": 1, "predicted": 2, "gold": 2}


# --- rows and items -------------------------------------------------------------------------------


def test_rows_are_found_by_id_or_by_document_and_position() -> None:
    gold = gold_of("true", "false", "true")
    rows = ({"id": "k1", "label": "true"}, {"document": "d2", "position": "1", "label": "true"})
    found = joined(gold, Task.CLAIM_FACTUALITY, *rows, {"document": "e3", "position": 1, "label": "true"})
    assert said(found) == {"k1": "true", "k2": "true", "k3": "true"}
    assert found.problem_count == 0 and found.rows == 3


def test_every_fault_is_named_by_line_and_counted_and_never_scored() -> None:
    gold = gold_of("true", "true", "true", "true", "true", "true")
    found = joined(
        gold,
        Task.CLAIM_FACTUALITY,
        {"id": "k1", "label": "true"},
        {"id": "k1", "label": "true"},
        {"id": "nobody", "label": "true"},
        {"id": "k2", "label": "ture"},
        {"id": "k3", "label": None},
        {"id": "k4", "label": "true", "task": "stance"},
        {"label": "true"},
        {"id": "k5", "label": "TRUE"},
        {"document": "d5", "position": "1.1.1", "label": "true"},
        '{"id": "k6", "la',
    )
    assert said(found) == {"k5": "true"}
    assert dict(found.counts) == {
        "bad": 3,
        "duplicate": 1,
        "unknown": 2,
        "unanswered": 1,
        "wrong_task": 1,
        "missing": 2,  # k4 and k6
    }
    told = [str(each) for each in found.problems]
    assert told[0] == "line 2: id “k1” already has a prediction on line 1. Keep only one."
    assert told[1] == "line 3: id “nobody” is not in the gold for this task."
    assert told[2].startswith("line 4, label: “ture” isn’t a valid label; choose one of") and told[2].endswith(
        "Did you mean “true”?"
    )
    assert told[3] == "line 5: the prediction for id “k3” is blank. Fill it in."
    assert told[4].startswith("line 6, task: made for the task stance, but this is claim_factuality")
    assert told[5].startswith("line 7, id: required: identify the row")
    assert told[6].endswith("This position belongs to a passage; the task is about a sentence.")
    assert told[7].startswith("line 10: not JSON")
    assert told[8] == "the file: no row for document e4, position 1 (id k4)."
    assert dict(found.respelled) == {("TRUE", "true"): 1}


def test_a_blank_row_does_not_stand_in_the_way_of_an_answer() -> None:
    rows = ({"id": "k1", "label": ""}, {"id": "k1", "label": "true"}, {"id": "k2", "label": None})
    found = joined(gold_of("true", "true"), Task.CLAIM_FACTUALITY, *rows)
    assert said(found) == {"k1": "true"} and dict(found.counts) == {"unanswered": 2}


def test_items_without_gold_may_be_predicted_and_are_not_missed() -> None:
    found = joined(gold_of("true", None, None), Task.CLAIM_FACTUALITY, *(
        {"id": key, "label": "true"} for key in ("k1", "k2")
    ))  # fmt: skip
    assert (len(found.scored), found.without_gold, found.problem_count) == (1, 1, 0)


def test_the_same_words_twice_are_one_answer_unless_they_differ() -> None:
    gold = gold_of("true", "false", "true", texts=("It rained.", "it rained", "It snowed."))
    measure = measure_of(Task.CLAIM_FACTUALITY, Options())
    rows = [PredictionRow(line, {"label": label}, text=text) for line, (text, label) in enumerate(
        [("It rained!", "true"), ("It rained.", "true"), ("It snowed", "true"), ("It snowed.", "false")], start=1
    )]  # fmt: skip
    found = join(gold, measure, rows)
    assert said(found) == {"k1": "true", "k2": "true"}
    assert dict(found.counts) == {"duplicate": 1}


def test_memory_grows_with_the_gold_and_not_with_the_file(tmp_path: Path) -> None:
    gold = gold_of(*["true"] * 10)
    row = json.dumps({"id": "nobody", "label": "true", "note": "x" * 1000}).encode() + b"\n"
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        for _ in range(20):
            file.write(row * 1000)
    tracemalloc.start()
    with path.open("rb") as file:
        found = join(gold, measure_of(Task.CLAIM_FACTUALITY, Options()), predictions.read(file))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.counts["unknown"] == 20_000 and len(found.problems) == KEPT
    assert peak < 2_000_000 < path.stat().st_size


def test_two_systems_are_compared_over_what_both_answered() -> None:
    gold = gold_of(*["true"] * 10)
    scorer = Scorer(Task.CLAIM_FACTUALITY, Options(), gold)
    systems = [
        joined(gold, Task.CLAIM_FACTUALITY, *({"id": f"k{number}", "label": label} for number in range(1, last)))
        for label, last in (("true", 10), ("false", 11))
    ]
    found = scorer.difference(*systems)
    assert found["items"] == 9 and found["difference"]["accuracy"] == 1.0
    assert found["p"]["accuracy"] < 0.02
    assert found["mcnemar"] == {"only_first_right": 9, "only_second_right": 0, "p": pytest.approx(2 / 2**9)}
    assert scorer.difference(systems[0], Joined(scorer.measure))["items"] == 0


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1, max_size=20))
def test_scores_do_not_depend_on_the_order_of_rows(pairs: list[tuple[str, str]]) -> None:
    names = {"a": "true", "b": "false"}
    gold = gold_of(*(names[one] for one, _ in pairs))
    rows = [{"id": f"k{number}", "label": names[other]} for number, (_, other) in enumerate(pairs, start=1)]
    found = Scorer(Task.CLAIM_FACTUALITY, Options(), gold, resamples=20)
    forwards, backwards = (
        found.scores(join(gold, found.measure, rows_of(*each)).scored) for each in (rows, rows[::-1])
    )
    assert forwards == backwards
    assert forwards["accuracy"] == pytest.approx(sum(one == other for one, other in pairs) / len(pairs))
