"""manage.py evaluate: gold rows of every task, baselines that come out as counted elsewhere, files with faults."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core.models import Benchmark, Claim, Document, Sentence
from annotator.core.vocabulary import Removal, Role
from annotator.exchange.actions.imports import import_gold
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.scoring.items import GoldPassage
from annotator.leaderboard.scoring.tasks import Level, Options, Task
from annotator.stages.actions.documents import discard
from tests.factories import BenchmarkFactory, member
from tests.released import numbered, released_document, write_jsonl

pytestmark = pytest.mark.django_db


@pytest.fixture
def pilot() -> Benchmark:
    return BenchmarkFactory(slug="pilot")


def bring(benchmark: Benchmark, *rows: dict[str, Any]) -> None:
    content = "\n".join(map(json.dumps, rows))
    assert import_gold(benchmark=benchmark, source=io.BytesIO(content.encode())).imported == len(rows)


def command(task: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("evaluate", stdout=out, stderr=io.StringIO(), **({"benchmark": "pilot", "task": task} | options))
    return out.getvalue()


def report(task: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(task, json=True, **options))
    return found


def items(benchmark: Benchmark, task: Task, **options: Any) -> list[tuple[str, Any]]:
    return [(item.position, item.gold) for item in gold_items(benchmark, task, Options(**options))]


def filled(path: Path, task: str, answers: Any, **options: Any) -> Path:
    """The task's template, every row filled in by ``answers(row)``."""
    command(task, template=path, **options)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return write_jsonl(path, [{**row, **answers(row)} for row in rows])


# --- against figures counted elsewhere ------------------------------------------------------------


def test_constant_baselines_come_out_as_counted_independently(pilot: Benchmark, data_dir: Path) -> None:
    import_gold(benchmark=pilot, source=data_dir / "factcheck-bench.dev.jsonl")
    independent = json.loads((data_dir / "factcheck-bench.dev.statistics.json").read_text())
    names = {"acc": "accuracy", "prec": "precision_macro", "recall": "recall_macro", "f1": "f1_macro"}
    for thing in ("sentence", "claim"):
        baselines = report(f"{thing}_checkworthiness")["baselines"]
        for name, value in independent["table3_majority"][thing].items():
            assert baselines["always_checkworthy"][names[name]] == baselines["majority"][names[name]] == value
    for key, undetermined in (("true_or_false_only", "left_out"), ("undetermined_as_false", "false")):
        expected = independent["table5_constant"][key]
        found = report("claim_factuality", undetermined=undetermined)
        assert found["gold"] == expected["n"]
        for constant in ("always_true", "always_false"):
            for label in ("true", "false"):
                each = found["baselines"][constant]["per_label"][label]
                assert [each["precision"], each["recall"], each["f1"]] == expected[constant][f"label_{label}"]
    assert report("claim_factuality", undetermined="own_label")["gold"] == 332
    stances = report("stance")["baselines"]["majority"]["per_label"]
    assert {label: each["gold"] for label, each in stances.items()} == independent["stance"]["all"]
    unchanged = report("revision")["baselines"]["unchanged"]
    revised = independent["revision_false_docs"]
    assert (unchanged["items"], unchanged["edit_distance"], unchanged["word_overlap"]) == (
        revised["n"],
        revised["norm_edit"],
        revised["word_overlap"],
    )
    responses = report("end_to_end")["baselines"]["majority"]["per_label"]
    assert {label: each["gold"] for label, each in responses.items()} == {"false": 30, "true": 16}


@pytest.mark.parametrize("task", list(Task))
def test_the_gold_itself_scores_full_marks(pilot: Benchmark, tmp_path: Path, task: Task) -> None:
    bring(pilot, *(numbered(number) for number in range(3)))
    gold = {item.key: item.gold for item in gold_items(pilot, task, Options())}

    def right(row: dict[str, Any]) -> dict[str, Any]:
        said = gold[row["id"]]
        if said is None:
            return {}
        if task == Task.REVISION:
            return {"revised": said}
        if task == Task.DECOMPOSITION:
            return {"claims": list(said)}
        if task == Task.EVIDENCE:
            return {
                "evidence": [
                    {"id": each.key}
                    for each in said
                    if each.added or "support" in each.stance or each.stance == "refute"
                ]
            }
        if task == Task.END_TO_END:
            return {"claims": [{"text": text, "label": label} for text, label in said.claims]}
        return {"label": said}

    found = report(task.value, predictions=filled(tmp_path / "t.jsonl", task.value, right), partial=True)
    assert found["rows"]["scored"] == found["gold"] == len([each for each in gold.values() if each is not None])
    assert found["rows"]["missing"] == found["rows"]["unknown"] == 0
    full = {"accuracy", "precision_macro", "precision", "recall", "f1", "word_overlap", "exact_match", "verdict_f1"}
    shown = {name: found[name] for name in full if found.get(name) is not None}
    assert shown and set(shown.values()) == {1.0}
    for name in ("accuracy", "precision_macro", "recall_macro", "f1_macro", "per_label", "baselines"):
        assert name in found
        assert all(name in each for each in found["baselines"].values()) or name == "baselines"


# --- gold rows ------------------------------------------------------------------------------------


def test_items_and_positions_of_one_document(pilot: Benchmark) -> None:
    bring(pilot, released_document())
    assert items(pilot, Task.SENTENCE_CHECKWORTHINESS) == [("1", "yes"), ("2", "yes"), ("3", "no")]
    assert items(pilot, Task.CLAIM_CHECKWORTHINESS) == [
        ("1.1", "factual"),
        ("1.2", "factual"),
        ("2.1", "factual"),
        ("2.2", "opinion"),
        ("2.3", "factual"),
    ]
    factuality = [("1.1", "true"), ("1.2", "false"), ("2.1", "false")]
    assert items(pilot, Task.CLAIM_FACTUALITY) == [*factuality, ("2.3", None)]
    stances = dict(items(pilot, Task.STANCE))
    assert list(stances) == ["1.1.1", "1.1.2", "1.2.1", "1.2.2", "2.1.1", "2.1.2", "2.3.1", "2.3.2"]
    assert stances["1.1.1"] == "completely-support" and stances["1.2.1"] == "refute"
    assert dict(items(pilot, Task.STANCE, stance_labels=3))["1.1.1"] == "support"
    assert [len(claims) for _, claims in items(pilot, Task.DECOMPOSITION)] == [2, 3, 0]
    [(position, claims)] = items(pilot, Task.DECOMPOSITION, level=Level.DOCUMENT)
    assert (position, len(claims)) == ("", 5)
    evidence = dict(items(pilot, Task.EVIDENCE))
    assert [(each.stance, each.added) for each in evidence["1.2"]] == [
        ("refute", False),
        ("irrelevant", False),
        ("", True),
    ]
    assert all(isinstance(each, GoldPassage) for each in evidence["1.2"])
    [(_, verdicts)] = items(pilot, Task.END_TO_END)
    assert (verdicts.label, len(verdicts.claims)) == ("false", 4)
    assert items(pilot, Task.REVISION) == [("", "Ada Lovelace wrote notes on an engine in 1843.\n")]


def test_only_gold_is_asked_about(pilot: Benchmark) -> None:
    bring(pilot, *(numbered(number) for number in range(4)))
    first, discarded, twin, unfinished = Document.objects.order_by("pk")
    discard(discarded, reason="a riddle", by=member(pilot, Role.OWNER))
    Document.objects.filter(pk=twin.pk).update(twin_of=first)
    Document.objects.filter(pk=unfinished.pk).update(stage="verify")
    sentence = Sentence.objects.get(annotation__document=first, order=2)
    Sentence.objects.filter(pk=sentence.pk).update(removed=Removal.MERGED)
    Claim.objects.filter(sentence__annotation__document=first, order=1).update(removed=Removal.REDUNDANT)
    for task in Task:
        assert {item.document for item in gold_items(pilot, task, Options())} == {first.public_id}
    assert items(pilot, Task.CLAIM_CHECKWORTHINESS) == [("1.1", "factual")]
    assert [position for position, _ in items(pilot, Task.STANCE)] == ["1.1.1", "1.1.2"]


@pytest.mark.parametrize("task", list(Task))
def test_the_number_of_queries_does_not_depend_on_sizes(pilot: Benchmark, task: Task) -> None:
    asked = []
    for number in (1, 4):
        bring(pilot, *(numbered(each) for each in range(number * 10, number * 11)))
        with CaptureQueriesContext(connection) as queries:
            list(gold_items(pilot, task, Options(), texts=True))
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 6


# --- files ----------------------------------------------------------------------------------------


def test_a_template_filled_in_by_a_newcomer(pilot: Benchmark, tmp_path: Path) -> None:
    bring(pilot, released_document(id="lovelace"))
    path = tmp_path / "stance.jsonl"
    assert "8 rows written" in command("stance", template=path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(rows[0]) == ["task", "id", "document", "position", "about", "text", "label"]
    assert (rows[0]["document"], rows[0]["position"], rows[0]["label"]) == ("lovelace", "1.1.1", None)
    write_jsonl(path, [{"document": "lovelace", "position": row["position"], "label": "Irrelevant"} for row in rows])
    found = report("stance", predictions=path, errors=tmp_path / "errors.jsonl")
    assert found["accuracy"] == 0.5
    assert found["rows"]["respelled"] == [{"written": "Irrelevant", "taken_as": "irrelevant", "rows": 8}]
    errors = [json.loads(line) for line in (tmp_path / "errors.jsonl").read_text().splitlines()]
    assert len(errors) == 4
    assert (errors[0]["gold"], errors[0]["predicted"], errors[0]["document"]) == (
        "completely-support",
        "irrelevant",
        "lovelace",
    )
    assert errors[0]["text"] == "Lovelace published notes on the engine."
    assert "predictions" in command("stance", predictions=path)


def test_a_file_with_faults_is_not_scored_unless_asked(pilot: Benchmark, tmp_path: Path) -> None:
    bring(pilot, released_document())
    keys = [item.key for item in gold_items(pilot, Task.CLAIM_FACTUALITY, Options())]
    sentence = Sentence.objects.order_by("order").first()
    assert sentence is not None
    path = write_jsonl(
        tmp_path / "half.jsonl",
        [
            {"id": keys[0], "label": "true"},
            {"id": sentence.public_id, "label": "true"},
            {"id": keys[1], "label": "fals"},
            '{"id": "' + keys[2],
        ],
    )
    with pytest.raises(CommandError) as refused:
        command("claim_factuality", predictions=path)
    said = str(refused.value)
    assert "it is the id of a sentence, so this file may be for another task." in said
    assert "line 3, label: “fals” isn’t a valid label; choose one of" in said and "Did you mean “false”?" in said
    assert "line 4: not JSON" in said and f"position 2.1 (id {keys[2]})" in said
    assert "Nothing was scored." in said
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("evaluate", benchmark="pilot", task="claim_factuality", predictions=path, json=True, stdout=out)
    told = json.loads(out.getvalue())
    assert "accuracy" not in told and told["rows"]["missing"] == 1 and len(told["problems"]) == 4
    found = report("claim_factuality", predictions=path, partial=True)
    assert (found["accuracy"], found["items"], found["gold"]) == (1.0, 1, 3)
    assert {kind: found["rows"][kind] for kind in ("bad", "unknown", "missing")} == {
        "bad": 2,
        "unknown": 1,
        "missing": 1,
    }


def test_nothing_to_score(pilot: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no gold for stance yet"):
        command("stance")
    bring(pilot, released_document())
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(CommandError, match="The file is empty"):
        command("stance", predictions=empty)
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        command("stance", predictions=tmp_path / "none.jsonl")
    path = write_jsonl(tmp_path / "p.jsonl", [{"id": "nobody", "label": "refute"}])
    with pytest.raises(CommandError, match="No row could be scored"):
        command("stance", predictions=path, partial=True)


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("stance", {"benchmark": "plot"}, "There is no benchmark “plot”. There are: pilot."),
        ("stance", {"against": Path("a")}, "with the file given by --predictions"),
        ("stance", {"format": "fire"}, "Use it with --task claim_factuality"),
        ("stance", {"semantic": True}, "use it with --task revision"),
        ("revision", {"errors": Path("a")}, "whose answer is one label"),
        ("stance", {"resamples": -1}, "write 0 or more"),
        ("stance", {"template": Path("/nowhere/t.jsonl")}, "cannot be written"),
    ],
)
def test_options_that_do_not_go_together(pilot: Benchmark, task: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(CommandError) as error:
        command(task, **options)
    assert said in str(error.value)


def test_two_files_are_compared(pilot: Benchmark, tmp_path: Path) -> None:
    bring(pilot, *(numbered(number) for number in range(8)))
    gold = {item.key: item.gold for item in gold_items(pilot, Task.CLAIM_FACTUALITY, Options())}
    good = filled(tmp_path / "good.jsonl", "claim_factuality", lambda row: {"label": gold[row["id"]] or "true"})
    bad = filled(tmp_path / "bad.jsonl", "claim_factuality", lambda row: {"label": "true"})
    found = report("claim_factuality", predictions=good, against=[bad])
    assert (found["accuracy"], found["against"]["accuracy"]) == (1.0, pytest.approx(1 / 3))
    assert found["paired"]["difference"]["accuracy"] == pytest.approx(2 / 3)
    assert found["paired"]["p"]["accuracy"] < 0.02
    assert found["paired"]["mcnemar"] == {"only_first_right": 16, "only_second_right": 0, "p": pytest.approx(2 / 2**16)}
    said = command("claim_factuality", predictions=good, against=[bad])
    assert "p = " in said and "over those in the gold or the predictions, F1 is 1.000." in said


def test_two_files_of_texts_are_compared_without_mcnemar(pilot: Benchmark, tmp_path: Path) -> None:
    bring(pilot, released_document())
    short = filled(tmp_path / "a.jsonl", "revision", lambda row: {"revised": "A text."})
    long = filled(tmp_path / "b.jsonl", "revision", lambda row: {"revised": row["text"]})
    paired = report("revision", predictions=short, against=[long])["paired"]
    assert paired["difference"]["edit_distance"] > 0 and "mcnemar" not in paired


def test_other_tools_are_read(pilot: Benchmark, tmp_path: Path) -> None:
    bring(pilot, released_document())
    claims = list(gold_items(pilot, Task.CLAIM_FACTUALITY, Options(), texts=True))
    fire = write_jsonl(
        tmp_path / "fire.jsonl",
        [{"claim": item.text.upper(), "label": "True", "result": {"answer": "False"}} for item in claims],
    )
    found = report("claim_factuality", predictions=fire, format="fire")
    assert found["accuracy"] == pytest.approx(2 / 3) and found["rows"]["without_gold"] == 1
    table = tmp_path / "ofc.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["label", "time", "cost"], *([True, 1, 0] for _ in claims)])
    assert report("claim_factuality", predictions=table, format="openfactcheck")["accuracy"] == pytest.approx(1 / 3)
    atoms = [{"atom": item.text, "is_supported": item.gold == "true"} for item in claims]
    factscore = write_jsonl(tmp_path / "factscore.json", [{"decisions": [atoms]}])
    assert report("claim_factuality", predictions=factscore, format="factscore")["accuracy"] == 1.0


def test_semantic_scores_say_what_to_install(pilot: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(pilot, released_document())
    path = filled(tmp_path / "revised.jsonl", "revision", lambda row: {"revised": "A text."})
    for module in ("bert_score", "simcse"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CommandError, match="pip install bert-score simcse"):
        command("revision", predictions=path, semantic=True)
    # The two packages' own interfaces, with scores that are made up.
    scored = SimpleNamespace(score=lambda found, gold, lang: (None, None, np.array([0.5] * len(found))))
    model = SimpleNamespace(similarity=lambda found, gold: np.eye(len(found)) * 0.25)
    monkeypatch.setitem(sys.modules, "bert_score", scored)
    monkeypatch.setitem(sys.modules, "simcse", SimpleNamespace(SimCSE=lambda name: model))
    found = report("revision", predictions=path, semantic=True)
    assert found["semantic"] == {"bertscore_f1": 0.5, "simcse": 0.25}


def test_several_systems_have_ranks_with_intervals_and_corrected_p_values(pilot: Benchmark, tmp_path: Path) -> None:
    bring(pilot, *(numbered(number) for number in range(4)))
    files = [
        filled(tmp_path / f"{name}.jsonl", "claim_factuality", lambda row, label=label: {"label": label})
        for name, label in (("true", "true"), ("false", "false"), ("again", "true"))
    ]
    standing = report("claim_factuality", predictions=files[0], against=files[1:])["standing"]
    assert standing["figure"] == "f1_macro"
    ranks = [standing["ranks"][str(path)] for path in files]
    assert ranks[0] == ranks[2], "equal systems share a rank"
    assert {each["rank"] for each in ranks} in ({1, 2}, {1, 3}, {1})
    assert all(each["interval"][0] <= each["rank"] <= each["interval"][1] for each in ranks)
    assert [each["systems"] for each in standing["pairs"]] == [
        [str(files[one]), str(files[other])] for one, other in ((0, 1), (0, 2), (1, 2))
    ]
    assert all(each["p_holm"] >= each["p"] for each in standing["pairs"])
    assert "with Holm's correction" in command("claim_factuality", predictions=files[0], against=files[1:])
