"""A study's own file brings back its protocol, items and the answers of its people."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, User
from annotator.exchange.actions.native_rows import People
from annotator.studies.actions.answering import add_part, save_answer, submit_item
from annotator.studies.actions.restore import restore_study
from annotator.studies.actions.studies import open_round
from annotator.studies.models import Study
from annotator.studies.queries.figures import figures_as_json, study_figures
from annotator.studies.queries.native import native_lines
from annotator.studies.queries.table import long_rows
from annotator.studies.queries.work import Sheet, sheet_of
from tests.studies_robots import letter_of_source, pairs, play, raters, shipped, started

pytestmark = pytest.mark.django_db


def written(study: Study) -> bytes:
    return "".join(f"{line}\n" for line in native_lines(study, named=True)).encode()


def brought(benchmark: Benchmark, raw: bytes) -> Study:
    study, report = restore_study(benchmark, raw, People().sure_key, by=None)
    assert study is not None, report.problems
    return study


def told(study: Study) -> list[dict[str, Any]]:
    """The long table without what is new in each installation."""
    own = ("record_id", "annotator")
    return [{key: value for key, value in row.items() if key not in own} for row in long_rows(study, named=False)]


def same_figures(one: Study, other: Study) -> None:
    told = [figures_as_json(study_figures(study)) for study in (one, other)]
    for each in told:
        each.pop("id"), each.pop("protocol")
    assert told[0] == told[1]


def test_comparisons_come_back_with_their_answers(benchmark: Benchmark, owner: User) -> None:
    study = started(benchmark, "veriscore-pairs", pairs(6), raters(benchmark, 3), owner)

    def answers(sheet: Sheet) -> dict[str, str]:
        best = "safe" if int(sheet.item.external_id[5:]) % 3 == 0 else "veriscore"
        return {"item.preferred": letter_of_source(sheet, best), "item.reason": "Less opinion."}

    play(study, answers)
    other = create_benchmark(slug="other", name="Other", by=owner)
    copy = brought(other, written(study))
    assert told(copy) == told(study)
    same_figures(study, copy)
    assert copy.version.sha256 == study.version.sha256
    assert copy.version.frozen_at is not None
    people = {each.person.username for each in copy.raters.select_related("person")}
    assert all(name.startswith("imported-") for name in people)
    assert len(people) == 3
    again = [json.loads(line) for line in native_lines(copy, named=True)]
    assert [len(each["work"]) for each in again[1:]] == [3] * 6


def test_rounds_and_parts_that_people_added_come_back(benchmark: Benchmark, owner: User, ada: User) -> None:
    protocol = shipped("fastfact")
    alone = protocol.model_copy(update={"sampling": protocol.sampling.model_copy(update={"design": "shares"})})
    row = {
        "question": "Q?",
        "response": "A.",
        "claims_lst": [{"claim_id": "1", "claim": "One.", "pre-label": "supported"}],
    }
    study = started(benchmark, alone, [row], [ada], owner)
    mine = study.assignments.select_related("study__benchmark", "study__version", "item", "person").get()
    first = sheet_of(mine).parts[0].address
    save_answer(mine, f"{first}.operation", "keep", by=ada, version=0)
    save_answer(mine, f"{first}.agree", "agree", by=ada, version=0)
    added = add_part(mine, "claim", after=first, by=ada)
    save_answer(mine, f"{added.public_id}.text", "Two.", by=ada, version=0)
    save_answer(mine, f"{added.public_id}.label", "refuted", by=ada, version=0)
    submit_item(mine, by=ada)
    copy = brought(create_benchmark(slug="other", name="Other", by=owner), written(study))
    assert told(copy) == told(study)
    same_figures(study, copy)
    assert study_figures(copy).alignment[0].operations["added"] == 1


def test_rounds_come_back(benchmark: Benchmark, owner: User) -> None:
    protocol = shipped("veriscore-verification")
    sampling = protocol.sampling.model_copy(update={"design": "all", "people": 2, "core": 0, "share": None})
    people = raters(benchmark, 2)
    rows = [{"id": str(n), "text": f"Claim {n}.", "passages": [{"text": "P."}]} for n in range(3)]
    study = started(benchmark, protocol.model_copy(update={"sampling": sampling}), rows, people, owner)

    def answers(sheet: Sheet) -> dict[str, str]:
        verdict = "supported" if sheet.assignment.person == people[0] else "contradicted"
        return {"item.verdict": verdict} | {f"{row.address}.stance": "supports" for row in sheet.rows}

    play(study, answers)
    open_round(study, "causes", [owner], by=owner)
    play(study, lambda sheet: {"item.cause": "mistake"}, "causes")
    copy = brought(create_benchmark(slug="other", name="Other", by=owner), written(study))
    assert told(copy) == told(study)
    assert study_figures(copy).rounds["causes"][0].values == {"mistake": 3}


def test_the_command_restores_and_names_what_does_not_fit(benchmark: Benchmark, owner: User, tmp_path: Path) -> None:
    study = started(benchmark, "veriscore-extractors", pairs(2), raters(benchmark, 2), owner)
    play(study, lambda sheet: {"item.preferred": "A"})
    path = tmp_path / "study.jsonl"
    path.write_bytes(written(study))
    other = create_benchmark(slug="other", name="Other", by=owner)
    out = StringIO()
    call_command("import_study", path, benchmark=other.slug, create=True, stdout=out)
    assert "2 items and 4 judgments imported" in out.getvalue()
    with pytest.raises(CommandError, match="already"):
        call_command("import_study", path, benchmark=other.slug, create=True, stdout=out)
    lines = path.read_text().splitlines()
    broken = json.loads(lines[1])
    broken["work"][1]["answers"][0][0] = 77
    raw = "\n".join([lines[0], json.dumps(broken), lines[2]]).encode()
    with pytest.raises(BadValueError, match=r"line 2, work\[1\]: it doesn’t fit"):
        restore_study(other, raw, People().sure_key, name="Broken", by=None)
    assert not other.studies.filter(name="Broken").exists()
    head = json.loads(lines[0]) | {"sha256": "0" * 64}
    with pytest.raises(BadValueError, match="line 1, sha256"):
        restore_study(other, json.dumps(head).encode(), People().sure_key, by=None)
    with pytest.raises(BadValueError, match="line 1: this isn’t the head"):
        restore_study(other, b'{"id": "1"}\n', People().sure_key, by=None)
