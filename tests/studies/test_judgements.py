"""Judgments: VeriScore's verification study, FastFact's protocol, and designs of other papers, played to figures."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from statsmodels.stats.inter_rater import fleiss_kappa

from annotator.core.actions.fields import BadValueError
from annotator.core.missing import IncompleteError
from annotator.core.models import Benchmark, User
from annotator.core.protocol import Sampling, chosen
from annotator.core.protocol_file import ProtocolError, as_json, protocol_of
from annotator.studies.actions.answering import add_part, remove_part, save_answer, submit_item
from annotator.studies.actions.studies import open_round
from annotator.studies.figures.fastfact import alignment_rows
from annotator.studies.models import StudyAssignment
from annotator.studies.queries.answers import given_answers, numbers_of, sheets_of
from annotator.studies.queries.figures import study_figures
from annotator.studies.queries.judged import judged_answers
from annotator.studies.queries.parquet import parquet_bytes
from annotator.studies.queries.table import fastfact_lines, long_rows
from annotator.studies.queries.work import Sheet, sheet_of
from tests.studies_robots import jsonl, play, play_on_screens, raters, shipped, started

pytestmark = pytest.mark.django_db
VERDICTS = ("supported", "contradicted", "inconclusive")


def claims(count: int) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "text": f"Claim {n}.", "passages": [{"text": f"Passage {r}."} for r in range(2)]}
        for n in range(count)
    ]


def test_veriscores_verification_study_from_a_file_to_its_figures(benchmark: Benchmark, owner: User) -> None:
    """50 items shared by three people, 90 for each alone; 41 of 50 unanimous, 7 with two in consensus, 2 with none."""
    people = raters(benchmark, 3)
    study = started(benchmark, "veriscore-verification", claims(320), people, owner)
    assert Counter(study.assignments.values_list("person", flat=True)) == {each.pk: 140 for each in people}
    shared: list[int] = []
    for item in study.items.order_by("order"):
        if item.assignments.count() == 3:
            shared.append(item.pk)
    assert len(shared) == 50
    triples = [(0, 0, 0)] * 25 + [(2, 2, 2)] * 15 + [(1, 1, 1)] + [(0, 0, 2)] * 5 + [(2, 2, 1)] * 2 + [(0, 1, 2)] * 2

    def answers(sheet: Sheet) -> dict[str, str]:
        place = people.index(sheet.assignment.person)
        verdict = VERDICTS[triples[shared.index(sheet.item.pk)][place] if sheet.item.pk in shared else 0]
        said = {"item.verdict": verdict} | ({"item.inconclusive": "a"} if verdict == "inconclusive" else {})
        ranked = zip(sheet.rows, ("supports", "inconclusive"), strict=True)
        return said | {f"{row.address}.stance": stance for row, stance in ranked}

    play_on_screens(study, answers, items=6)
    figures = study_figures(study)
    assert figures.judgement is not None
    verdict = next(each for each in figures.judgement.questions if each.question == "item.verdict")
    assert (verdict.shared, verdict.full, verdict.partly) == (50, 41, 7)
    table = np.array([[triple.count(label) for label in range(3)] for triple in triples])
    assert verdict.agreement is not None
    assert verdict.agreement.fleiss is not None
    assert round(verdict.agreement.fleiss.value, 4) == round(float(fleiss_kappa(table)), 4)
    assert figures.judgement.majority == {"supported": 270 + 30, "inconclusive": 15 + 2 + 2, "contradicted": 1}
    assert [(each.rank, each.share) for each in figures.judgement.ranks] == [(1, 1.0), (2, 0.0)]

    # Afterward: the causes of the nine disagreements, and the inconclusive ones with more evidence.
    # One round after the other: the next item is the next of any round that is open to the person.
    assert open_round(study, "causes", [owner], by=owner) == 9
    with pytest.raises(BadValueError, match="No item needs this round"):
        open_round(study, "causes", [owner], by=owner)
    play_on_screens(study, lambda sheet: {"item.cause": "indirect"}, "causes", items=3)
    assert open_round(study, "escalation", [owner], by=owner) == 17
    searched = {"item.page": "inconclusive", "item.search": "contradicted"}
    play_on_screens(study, lambda sheet: searched, "escalation", items=3)
    rounds = study_figures(study).rounds
    assert rounds["causes"][0].values == {"indirect": 9}
    levels = {each.question: each.values for each in rounds["escalation"]}
    assert levels["item.page"] == {"inconclusive": 17}
    assert levels["item.search"] == {"contradicted": 17}
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    rows = list(long_rows(study, named=True))
    written = parquet.read_table(pyarrow.BufferReader(parquet_bytes(iter(rows))))
    assert written.to_pylist() == rows


# --- FastFact -------------------------------------------------------------------------------------


def response(number: int, bench: str) -> dict[str, Any]:
    context = "Evidence 1\nSource Title: Page\nContent: A passage.\n\nEvidence 2\nSource Title: B\nContent: Another.\n"
    return {
        "question": f"Question {number}?",
        "prompt_source": bench,
        "response": "A response.",
        "model": "m",
        "claims_lst": [
            {"claim_id": f"{number}-0", "claim": "Checked.", "pre-label": "unsure",
             "verification_result": {"verification_context": context, "verification_label": "refuted"}},
            {"claim_id": f"{number}-1", "claim": "Known.", "pre-label": "supported"},
            {"claim_id": f"{number}-2", "claim": "Doubtful.", "pre-label": "unsupported"},
        ],
    }  # fmt: skip


def parts_of(sheet: Sheet) -> list[str]:
    return [row.address for row in sheet.parts]


def test_fastfacts_rows_equal_an_independent_count(benchmark: Benchmark, owner: User) -> None:
    people = raters(benchmark, 2)
    rows = [response(n, "longfact" if n % 2 else "expertqa") for n in range(10)]
    study = started(benchmark, "fastfact", rows, people, owner)
    assert study.assignments.count() == 11  # a tenth for both

    def answers(sheet: Sheet) -> dict[str, str]:
        first, second, third = parts_of(sheet)
        number = int(sheet.item.prompt.split()[1].rstrip("?"))
        said = {f"{first}.operation": "keep", f"{first}.agree": "agree"}
        said |= {f"{second}.operation": "remove", f"{second}.removal": "redundant"}
        said |= {f"{second}.failures": "redundant: intra,unverifiable: subjective"}
        said |= {f"{third}.operation": "revise", f"{third}.revision": "ambiguous", f"{third}.text": "Clear."}
        label = "not enough evidence" if number < 6 else "supported"
        return said | {f"{third}.agree": "disagree", f"{third}.label": label}

    play_on_screens(study, answers, items=2)
    every, expertqa, longfact = study_figures(study).alignment
    assert every.operations == {"unchanged": 10, "revised": 10, "removed": 10, "added": 0}
    assert (every.supported, every.not_supported, every.irrelevant, every.k_prime) == (4, 16, 0, 20)
    # Agreed: the first of each. The third was corrected; "unsupported" to "not enough evidence" is the same class.
    assert (every.checked, every.exact, every.scoring) == (20, 0.5, 0.8)
    assert (expertqa.responses, longfact.responses) == (5, 5)
    assert every.per_response("removed") == 1.0
    assert every.per_claim("removed") == pytest.approx(1 / 3)
    figures = study_figures(study)
    assert figures.shared_operations is not None
    assert (figures.shared_operations.shared, figures.shared_operations.full) == (3, 3)
    written = [json.loads(line) for line in fastfact_lines(study)]
    claim = written[0]["claims_lst"][1]
    assert claim["claim"] == "Known."
    assert (claim["operation"], claim["reason"], claim["annotator_label"]) == ("removed", "redundant", "redundant")
    assert claim["failures"] == ["unverifiable: subjective", "redundant: intra"]
    out = StringIO()
    call_command("study", benchmark=benchmark.slug, json=True, stdout=out)
    (told,) = json.loads(out.getvalue())["studies"]
    assert told["alignment"][0]["k_prime"] == 20


def test_what_fastfact_asks_of_each_claim(benchmark: Benchmark, owner: User, ada: User) -> None:
    protocol = shipped("fastfact")
    alone = protocol.model_copy(update={"sampling": protocol.sampling.model_copy(update={"design": "shares"})})
    study = started(benchmark, alone, [response(1, "longfact")], [ada], owner)
    mine = StudyAssignment.objects.select_related("study__version", "study__benchmark", "item").get()
    sheet = sheet_of(mine)
    # Given evidence alone where there is some, own search elsewhere.
    assert [row.evidence for row in sheet.parts] == ["given", "own_search", "own_search"]
    assert [row.machine["label"] for row in sheet.parts] == ["refuted", "supported", "unsupported"]
    first, second, third = parts_of(sheet)
    for each in (second, third):
        save_answer(mine, f"{each}.operation", "keep", by=ada, version=0)
        save_answer(mine, f"{each}.agree", "agree", by=ada, version=0)
    save_answer(mine, f"{first}.operation", "keep", by=ada, version=0)
    save_answer(mine, f"{first}.agree", "disagree", by=ada, version=0)
    with pytest.raises(IncompleteError) as refusal:  # the original tool lets a disagreement without a label pass
        submit_item(mine, by=ada)
    assert [each.text for each in refusal.value.missing] == ["Claim 1: The right label"]
    added = add_part(mine, "claim", after=first, by=ada)
    assert parts_of(sheet_of(mine)) == [first, added.public_id, second, third]
    # An added claim is labeled from scratch: no operation, nothing to agree with.
    row = sheet_of(mine).row(added.public_id)
    assert row is not None
    assert [each.key for each in row.asked] == ["text", "label", "failures"]
    with pytest.raises(BadValueError, match="added yourself"):
        remove_part(mine, first, by=ada)
    remove_part(mine, added.public_id, by=ada)
    assert parts_of(sheet_of(mine)) == [first, second, third]
    save_answer(mine, f"{first}.label", "conflicting evidence", by=ada, version=0)
    submit_item(mine, by=ada)
    assert study_figures(study).alignment[0].exact == pytest.approx(2 / 3)


def test_the_released_example_comes_in_and_out(benchmark: Benchmark, owner: User, ada: User, data_dir: Path) -> None:
    raw = (data_dir / "fastfact.annotation-input.example.jsonl").read_text(encoding="utf-8")
    given = [json.loads(line) for line in raw.splitlines()]
    protocol = shipped("fastfact")
    alone = protocol.model_copy(update={"sampling": protocol.sampling.model_copy(update={"design": "shares"})})
    study = started(benchmark, alone, given, [ada], owner)

    def answers(sheet: Sheet) -> dict[str, str]:
        keep = {f"{each}.operation": "keep" for each in parts_of(sheet)}
        return keep | {f"{each}.agree": "agree" for each in parts_of(sheet)}

    play(study, answers)
    written = [json.loads(line) for line in fastfact_lines(study)]
    ours = ("operation", "reason", "revised_claim", "agreement", "annotator_label", "failures")
    for row in written:
        row.pop("annotator"), row.pop("no_verifiable_claim")
        row["claims_lst"] = [
            {key: value for key, value in claim.items() if key not in ours} for claim in row["claims_lst"]
        ]
    assert written == given


def test_the_published_statistics_give_the_rows_of_the_paper(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "fastfact-bench.annotation-statistics.json"
    published = json.loads(path.read_text())
    rows = {row.benchmark: row for row in alignment_rows(published)}
    overall = published["overall"]
    assert rows[""].responses == 400
    assert rows[""].operations == overall["operations"]
    assert rows[""].exact == pytest.approx(5404 / (5404 + 573))
    assert rows[""].others == {"unverifiable": 43, "n/a": 5, "invalid_label": 5, "unsupported": 16}
    hello = published["grouped"]["by_prompt_source"]["hellobench"]
    # Table 7: 23.86 claims a response in HelloBench, 89.00% of them supported in the mean over responses.
    assert (rows["hellobench"].k_prime, rows["hellobench"].supported) == (1643 + 24 + 128 + 23, 1643)
    assert rows["hellobench"].per_response("removed") == pytest.approx(hello["operations"]["removed"] / 80)
    out = StringIO()
    call_command("study", statistics=path, stdout=out)
    assert json.loads(out.getvalue())[0]["responses"] == 400
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"overall": {"annotator_labels": {"supported": "many"}}}))
    with pytest.raises(CommandError, match=r"overall\.annotator_labels: expected an object of counts"):
        call_command("study", statistics=broken)


# --- designs of other papers ----------------------------------------------------------------------

DESIGNS: dict[str, tuple[dict[str, Any], dict[str, str], int]] = {
    "factscore": ({"parts": [{"kind": "fact", "text": "A fact."}]}, {"fact.label": "NS"}, 2),
    "safe-readjudication": ({"parts": [{"kind": "fact", "text": "A fact."}]}, {"fact.label": "supported"}, 1),
    "felm": (
        {"parts": [{"kind": "segment", "text": "Two and two are five."}]},
        {"segment.right": "no", "segment.error": "reasoning", "segment.where": "16-21", "segment.reason": "Four."},
        2,
    ),
    "expertqa": (
        {"parts": [{"kind": "claim", "text": "A claim.", "passages": [{"text": "Evidence."}]}]},
        {"claim.support": "complete", "claim.informative": "very", "claim.correct": "5", "claim.citeworthy": "yes",
         "passage.reliable": "reliable", "item.usefulness": "useful"},
        1,
    ),
    "rag-nuggets": (
        {"parts": [{"kind": "nugget", "text": "A nugget."}]},
        {"nugget.importance": "vital", "nugget.support": "partial"},
        2,
    ),
    "aggrefact": ({"text": "A claim.", "passages": [{"text": "A document."}]}, {"item.label": "1"}, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_of_other_papers_are_played_without_code(benchmark: Benchmark, owner: User, name: str) -> None:
    item, said, people = DESIGNS[name]
    study = started(benchmark, name, [{"id": "1"} | item], raters(benchmark, people), owner)

    def answers(sheet: Sheet) -> dict[str, str]:
        address = {row.kind: row.address for row in (sheet.top, *sheet.rows)}
        return {f"{address[field.split('.')[0]]}.{field.split('.')[1]}": value for field, value in said.items()}

    play_on_screens(study, answers)
    told = {(row["record"], row["question"]): row["value"] for row in long_rows(study, named=False)}
    assert told == {tuple(field.split(".")): value for field, value in said.items()}


def test_import_study_by_command(benchmark: Benchmark, owner: User, ada: User, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(jsonl([{"id": "1", "text": "A claim."}]).getvalue())
    out = StringIO()
    arguments = {"benchmark": benchmark.slug, "protocol": "safe-readjudication", "create": True, "stdout": out}
    call_command("import_study", path, study="Facts", rater=[ada.username], **arguments)
    assert "1 item imported into “Facts”" in out.getvalue()
    with pytest.raises(CommandError, match="There is no protocol “nothing”"):
        call_command("import_study", path, benchmark=benchmark.slug, protocol="nothing", create=True)
    path.write_text('{"id": "1", "prats": []}\n')
    with pytest.raises(CommandError, match="line 1, prats: unknown field"):
        call_command("import_study", path, study="Others", **arguments)
    assert not benchmark.studies.filter(name="Others").exists()
    path.write_bytes(jsonl([{"id": "1", "text": "A claim."}]).getvalue())
    with pytest.raises(CommandError, match="“nobody” isn’t a member"):
        call_command("import_study", path, study="Others", rater=["nobody"], **arguments)
    assert not benchmark.studies.filter(name="Others").exists()
    assert "Others" not in out.getvalue()


def test_disagreements_are_adjudicated_in_a_round_that_settles(benchmark: Benchmark, owner: User) -> None:
    content = as_json(shipped("veriscore-verification"))
    labels = next(each["labels"] for each in content["questions"] if each["key"] == "verdict")
    content["rounds"] = [{"key": "adjudicate", "title": "Adjudicate", "question": "verdict", "settles": "final"}]
    content["questions"] = [each for each in content["questions"] if each.get("round", "rate") == "rate"]
    content["questions"].append(
        {"key": "final", "kind": "label", "ask": "Final verdict", "labels": labels, "round": "adjudicate"}
    )
    content |= {"name": "settled", "sampling": {"design": "all", "people": 2}}
    people = raters(benchmark, 2)
    study = started(benchmark, protocol_of(content), claims(4), people, owner)

    def answers(sheet: Sheet) -> dict[str, str]:
        differs = sheet.item.external_id in ("0", "1") and sheet.assignment.person == people[1]
        said = {"item.verdict": "contradicted" if differs else "supported"}
        return said | {f"{row.address}.stance": "supports" for row in sheet.rows}

    play(study, answers)
    before = study_figures(study).judgement
    assert before is not None
    assert before.majority == {"supported": 2, "inconclusive": 2}
    assert open_round(study, "adjudicate", [owner], by=owner) == 2
    play(study, lambda sheet: {"item.final": "contradicted"}, "adjudicate")
    after = study_figures(study).judgement
    assert after is not None
    assert after.majority == {"supported": 2, "contradicted": 2}
    told = [(row["question"], row["value"]) for row in long_rows(study, named=False) if row["round"] == "adjudicate"]
    assert told == [("final", "contradicted")] * 2
    content["questions"][-1]["labels"] = [{"value": "else", "label": "Something else"}]
    with pytest.raises(ProtocolError, match=r"rounds\[0\]\.settles: “final” has other labels"):
        protocol_of(content)
    content["rounds"][0]["settles"] = "gone"
    with pytest.raises(ProtocolError, match=r"rounds\[0\]\.settles: There is no question “gone”"):
        protocol_of(content)


def test_columns_hold_the_answers_of_the_sheets(benchmark: Benchmark, owner: User) -> None:
    """Figures read columns instead of sheets: the same answers in the same order, also where questions depend on
    others, on records below, on passages and on who added the record, and where an answer no longer counts."""
    people = raters(benchmark, 2)
    protocol = shipped("fastfact")
    every = protocol.model_copy(update={"sampling": Sampling(people=2)})
    study = started(benchmark, every, [response(n, "longfact") for n in range(2)], people, owner)
    for mine in study.assignments.select_related("study__version", "study__benchmark", "item", "person"):
        first, second, third = parts_of(sheet_of(mine))
        save_answer(mine, f"{first}.operation", "keep", by=mine.person, version=0)
        save_answer(mine, f"{first}.agree", "disagree", by=mine.person, version=0)
        save_answer(mine, f"{first}.label", "supported", by=mine.person, version=0)
        save_answer(mine, f"{second}.operation", "keep", by=mine.person, version=0)
        save_answer(mine, f"{second}.agree", "agree", by=mine.person, version=0)
        save_answer(mine, f"{second}.operation", "remove", by=mine.person, version=99)  # agreeing no longer counts
        save_answer(mine, f"{second}.removal", "redundant", by=mine.person, version=0)
        save_answer(mine, f"{third}.operation", "revise", by=mine.person, version=0)
        added = add_part(mine, "claim", after=second, by=mine.person)
        save_answer(mine, f"{added.public_id}.label", "refuted", by=mine.person, version=0)
        gone = add_part(mine, "claim", after=second, by=mine.person)
        save_answer(mine, f"{gone.public_id}.label", "refuted", by=mine.person, version=0)
        remove_part(mine, gone.public_id, by=mine.person)
    study.assignments.update(submitted_at=timezone.now())
    numbers = numbers_of(study)
    by_sheets = [
        (each.question.name, (each.item.pk, each.part.pk if each.part else 0), numbers[each.person],
         " + ".join(sorted(chosen(each.answer.value))))
        for each in given_answers(sheets_of(study))
    ]  # fmt: skip
    found = judged_answers(study)
    assert [(each.question, each.record, each.person, each.value) for each in found] == by_sheets
    assert {each.rank for each in found} == {1, 2, 3}
    assert len([each for each in found if each.question == "claim.agree"]) == 2 * 2
