"""manage.py score: files as released, gold of a benchmark, AVeriTeC, and files with faults."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.core.models import Benchmark, Document
from annotator.core.vocabulary import Role
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.formats import averitec as averitec_format
from annotator.exchange.queries.export import gold_documents
from annotator.leaderboard.queries.answers import gold_answers
from annotator.stages.actions.documents import discard
from pipeline.metrics.intervals import wilson
from tests.factories import BenchmarkFactory, member
from tests.released import released_document, write_jsonl

pytestmark = pytest.mark.django_db


def command(metric: str, *files: Path, **options: Any) -> str:
    out = io.StringIO()
    call_command("score", *map(str, files), metric=metric, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def report(metric: str, *files: Path, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(metric, *files, json=True, **options))
    return found


@pytest.fixture
def pilot() -> Benchmark:
    pilot = BenchmarkFactory(slug="pilot")
    rows = [
        released_document(prompt=f"{model} {source}", model=model, source=source)
        for model in ("one", "two")
        for source in ("web", "books")
    ]
    import_gold(benchmark=pilot, source=io.BytesIO("\n".join(map(json.dumps, rows)).encode()))
    return pilot


def test_gold_labels_rank_the_models_that_wrote_the_answers(pilot: Benchmark, django_assert_num_queries: Any) -> None:
    # Of four checked claims one is true, two are false, one lacks evidence.
    with django_assert_num_queries(2):
        rows = list(gold_answers(pilot))
    assert {(row.model, row.domain) for row in rows} == {(m, s) for m in ("one", "two") for s in ("web", "books")}
    assert {(row.supported, row.claims, row.valid) for row in rows} == {(1, 4, 4)}
    found = report("factscore", benchmark="pilot")
    assert [(model["model"], model["score"]) for model in found["models"]] == [("one", 0.25), ("two", 0.25)]
    assert found["kendall_tau"] == [{"domains": ["books", "web"], "models": 2, "tau": None}]
    assert "Kendall's tau, books and web: –" in command("veriscore", benchmark="pilot")
    discard(Document.objects.get(prompt="one web"), reason="a riddle", by=member(pilot, Role.OWNER))
    assert report("fastfact", benchmark="pilot")["answers"] == 3


def test_released_files_are_read(data_dir: Path) -> None:
    veriscore, fastfact = (
        data_dir / name for name in ("veriscore.claims.sample.jsonl", "fastfact.annotation-input.example.jsonl")
    )
    found = report("veriscore", veriscore, fastfact)
    assert found["answers"] == sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (veriscore, fastfact))
    assert {model["model"] for model in found["models"]} >= {"gpt-4o"}
    assert found["faults"]["rows"] == 0
    with pytest.raises(CommandError, match="k_prime"):
        command("fastfact", fastfact)


def test_the_averitec_gold_against_itself_and_against_wrong_labels(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "averitec.sample.json"
    gold = json.loads(path.read_text(encoding="utf-8"))[:12]
    whole = tmp_path / "gold.json"
    whole.write_text(json.dumps(gold), encoding="utf-8")
    found = report("averitec", whole, gold=whole)
    assert found["claims"] == 12 and found["label_accuracy"] == 1.0
    assert found["evidence_mean"] > 0.99 and found["score"] == 1.0
    assert "matches" in found["meteor"]
    rows = [
        {
            "claim_id": number,
            "claim": row["claim"],
            "pred_label": row["label"] if number % 2 else "Nothing",
            "evidence": [
                {"question": each["question"], "answer": f"{reply['answer']} {reply.get('boolean_explanation') or ''}"}
                for each in row["questions"]
                for reply in each["answers"]
            ],
        }
        for number, row in enumerate(gold)
    ]
    predicted = write_jsonl(tmp_path / "predicted.jsonl", rows)
    assert report("averitec", predicted, gold=whole)["score"] == 0.5
    assert "AVeriTeC score 0.500 (" in command("averitec", predicted, gold=whole)
    write_jsonl(predicted, [rows[0], rows[0], {**rows[1], "claim_id": 99}, *rows[2:11]])
    with pytest.raises(CommandError) as refused:
        command("averitec", predicted, gold=whole)
    said = str(refused.value)
    assert "line 2, claim: was already answered, on line 1." in said
    assert "line 3, claim: claim “99” is not in the gold." in said and said.count("no row for") == 2
    assert report("averitec", predicted, gold=whole, partial=True)["claims"] == 9


def checked(text: str, label: str = "Refuted", **fields: Any) -> dict[str, Any]:
    reply = {"answer": f"{text} is said to be so."}
    return {"claim": text, "label": label, "questions": [{"question": "So?", "answers": [reply]}]} | fields


def averitec(tmp_path: Path, gold: list[Any], said: list[Any], **options: Any) -> dict[str, Any]:
    wanted = write_jsonl(tmp_path / "gold.jsonl", gold)
    return report("averitec", write_jsonl(tmp_path / "said.jsonl", said), gold=wanted, **options)


REPEATED = [checked("Ada"), checked("Ben", "Supported"), checked("Ada", "Supported")]


@pytest.mark.parametrize("without", [("claim_id",), ("claim",), ("claim_id", "claim")])
def test_predictions_name_claims_by_id_by_text_or_by_place(tmp_path: Path, without: tuple[str, ...]) -> None:
    said = [row | {"claim_id": number} for number, row in enumerate(REPEATED)]
    said = [{name: value for name, value in row.items() if name not in without} for row in said]
    found = averitec(tmp_path, REPEATED, said)
    assert (found["claims"], found["label_accuracy"], found["score"]) == (3, 1.0, 1.0)


def test_the_accuracy_of_labels_has_an_interval_and_a_constant_beside_it(tmp_path: Path) -> None:
    gold = [checked(f"Claim {number}", "Refuted" if number < 7 else "Supported") for number in range(10)]
    said = [row | {"label": "Refuted" if number < 4 else "Supported"} for number, row in enumerate(gold)]
    found = averitec(tmp_path, gold, said)
    trivial = found["baseline"]
    assert (found["label_accuracy"], trivial["label"], trivial["label_accuracy"]) == (0.7, "Refuted", 0.7)
    assert (found["score"], trivial["score"]) == (0.7, 0.7), "the evidence is the gold's for both"
    for each in (found, trivial):
        low, high = each["label_accuracy_interval"]
        assert low < 0.7 < high
    words = command("averitec", tmp_path / "said.jsonl", gold=tmp_path / "gold.jsonl")
    assert "label accuracy 0.700 (" in words and "always “Refuted” with the same evidence: 0.700 (" in words
    right = averitec(tmp_path, gold, gold)
    assert right["interval"] == right["label_accuracy_interval"] == pytest.approx(wilson(10, 10))


def test_ids_that_several_claims_share_are_told_apart_by_text(tmp_path: Path) -> None:
    gold = [checked("Ada", claim_id=1), checked("Ben", "Supported", claim_id="1")]
    assert averitec(tmp_path, gold, gold[::-1])["label_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ([*REPEATED, checked("Ada")], "line 4, claim: was already answered, on line 1."),
        ([*REPEATED, {"label": "Refuted"}], "line 4, claim: row 4 is not in the gold."),
        ([REPEATED[1] | {"claim_id": 0}, *REPEATED[1:]], "claim “0” is “Ada” in the gold, but “Ben” here."),
        (REPEATED[:2], "no row for “Ada” (number 2 of the gold)."),
    ],
)
def test_predictions_that_answer_no_claim_are_named(tmp_path: Path, said: list[Any], complaint: str) -> None:
    with pytest.raises(CommandError) as refused:
        averitec(tmp_path, REPEATED, said)
    assert complaint in str(refused.value)


def test_exported_claims_are_answered_by_the_ids_of_the_original_file(pilot: Benchmark, tmp_path: Path) -> None:
    given = [row | {"claim_id": f"dev-{number}"} for number, row in enumerate(REPEATED)]
    content = json.dumps(given).encode()
    other = BenchmarkFactory()
    assert import_gold(benchmark=other, source=io.BytesIO(content), format="averitec-gold").imported == 3
    exported = json.loads("".join(averitec_format.lines(gold_documents(other))))
    assert averitec(tmp_path, exported, given)["score"] == 1.0


def test_the_first_ten_predicted_pairs_count(tmp_path: Path) -> None:
    [right] = checked("Ada")["questions"]
    odd = {"question": "Why?", "answers": [{"answer": f"number {number}"} for number in range(10)]}
    said = [checked("Ada", questions=[odd, right])]
    found = averitec(tmp_path, [checked("Ada")], said)
    assert (found["score"], found["max_pairs"], found["pairs_beyond"]) == (0.0, 10, 1)
    found = averitec(tmp_path, [checked("Ada")], said, max_pairs=11)
    assert (found["score"], found["max_pairs"], found["pairs_beyond"]) == (1.0, 11, 0)
    with pytest.raises(CommandError, match="is not a whole number above 0"):
        call_command("score", "a", "--metric", "averitec", "--gold", "b", "--max-pairs", "0")


def test_faults_are_named_and_nothing_is_scored_unless_asked(tmp_path: Path) -> None:
    good = {"model": "m", "claims": [{"text": "a", "label": "supported"}]}
    path = write_jsonl(tmp_path / "a.jsonl", [good, {"model": "m", "claims": [{"label": "maybe"}]}, '{"model'])
    with pytest.raises(CommandError) as refused:
        command("factscore", path)
    assert "line 2, claims: claim 1: “maybe” isn’t a valid label" in str(refused.value)
    assert "line 3: not JSON" in str(refused.value) and "Nothing was scored" in str(refused.value)
    found = report("factscore", path, partial=True)
    assert found["answers"] == 1 and found["faults"]["rows"] == 2


@pytest.mark.parametrize(
    ("metric", "files", "options", "said"),
    [
        ("factscore", [], {}, "Give either files of responses or --benchmark"),
        ("factscore", ["a"], {"benchmark": "pilot"}, "Give either files of responses or --benchmark"),
        ("factscore", ["nowhere.jsonl"], {}, "cannot be read"),
        ("averitec", ["a"], {}, "name the gold with --gold FILE"),
        ("factscore", [], {"benchmark": "plot"}, "There is no benchmark “plot”. There are: pilot."),
    ],
)
def test_what_does_not_go_together(
    pilot: Benchmark, metric: str, files: list[str], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(CommandError) as error:
        command(metric, *map(Path, files), **options)
    assert said in str(error.value)


@pytest.mark.parametrize("k", ["0", "-1", "many", "inf"])
def test_a_k_must_be_above_0(tmp_path: Path, k: str) -> None:
    with pytest.raises(CommandError, match="is not above 0"):
        call_command("score", "a.jsonl", "--metric", "veriscore", "--k", k)


def test_averitec_scores_are_broken_down_by_label_and_source(tmp_path: Path) -> None:
    gold: list[dict[str, Any]] = [
        {"claim": f"Claim {number}", "claim_id": number, "label": label, "reporting_source": source,
         "questions": [{"question": "Is it?", "answers": [{"answer": "Yes, it is so."}]}]}
        for number, (label, source) in enumerate([("Refuted", "blog")] * 12 + [("Supported", "paper")] * 4)
    ]  # fmt: skip
    said = [each | {"label": "Supported" if number < 3 else each["label"]} for number, each in enumerate(gold)]
    found = averitec(tmp_path, gold, said)["breakdowns"]
    [refuted, supported] = found["label"]
    assert refuted["group"] == "Refuted" and refuted["figures"] == {"score": 0.75}
    low, high = refuted["intervals"]["score"]
    assert low < 0.75 < high
    assert supported == {"group": "Supported", "items": 4, "documents": 4, "figures": None, "intervals": None}
    assert [each["group"] for each in found["source"]] == ["blog", "paper"]
    assert found["source"][0]["baseline"] == {"score": 1.0}, "always “Refuted”, the most frequent label of this group"
