"""The native file of a benchmark has its studies: they come back byte for byte, with ids, versions and history."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.conf import settings
from django.core.management import call_command

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.actions.protocols import store_protocol
from annotator.core.file_problems import FileError
from annotator.core.models import Activity, Benchmark, User
from annotator.exchange.actions.import_native import import_native
from annotator.exchange.actions.imports import ImportReport
from annotator.exchange.queries.native import lines
from annotator.studies.actions.answering import add_part, remove_part, save_answer, submit_item, undo
from annotator.studies.actions.protocols import migrate_study
from annotator.studies.actions.studies import open_round
from annotator.studies.models import StudyAnswer, StudyAssignment
from annotator.studies.queries.figures import figures_as_json, study_figures
from annotator.studies.queries.work import Sheet, sheet_of
from tests.exchange.test_native import elsewhere, nameless
from tests.studies_robots import letter_of_source, new_study, pairs, play, raters, shipped, started

pytestmark = pytest.mark.django_db
SCHEMA = Path(settings.BASE_DIR) / "docs" / "formats" / "touchstone.schema.json"


def exported(benchmark: Benchmark, *, named: bool = False) -> bytes:
    benchmark.refresh_from_db()
    return b"".join(lines(benchmark, include="all", named=named))


def brought(content: bytes, slug: str = "other") -> tuple[Benchmark, ImportReport]:
    other = create_benchmark(slug=slug, name="Other")
    return other, import_native(benchmark=other, source=io.BytesIO(content))


def same_but_for_ids(content: bytes) -> bytes:
    """The file with the number of its first occurrence in place of each id."""
    seen: dict[bytes, bytes] = {}
    return re.sub(
        rb'(?<=[":])[a-km-np-z2-9]{12}(?=")', lambda found: seen.setdefault(found[0], b"id-%d" % len(seen)),
        nameless(content),
    )  # fmt: skip


@pytest.fixture
def studied(benchmark: Benchmark, owner: User) -> Benchmark:
    """A benchmark with three studies: comparisons with a round's worth of versions, FastFact's with added and removed
    claims, changes taken back, and one that hasn't started."""
    people = raters(benchmark, 3)
    study = started(benchmark, "veriscore-pairs", pairs(3), people, owner)

    def chosen(sheet: Sheet) -> dict[str, str]:
        best = "safe" if sheet.item.external_id == "pair-0" else "veriscore"
        return {"item.preferred": letter_of_source(sheet, best), "item.reason": "Less opinion."}

    play(study, chosen)
    content = shipped("veriscore-pairs").model_copy(update={"description": "Newer words."})
    migrate_study(study, store_protocol(benchmark, content, by=owner), by=owner)

    sampling = shipped("fastfact").sampling.model_copy(update={"design": "shares"})
    row = {
        "question": "Q?", "response": "A.", "model": "m", "prompt_source": "longfact",
        "claims_lst": [{"claim_id": "1", "claim": "One.", "pre-label": "supported"}],
    }  # fmt: skip
    facts = started(benchmark, shipped("fastfact").model_copy(update={"sampling": sampling}), [row], people[:1], owner)
    mine = StudyAssignment.objects.select_related("study__benchmark", "study__version", "item", "person").get(
        study=facts
    )
    person = mine.person
    first = sheet_of(mine).parts[0].address
    save_answer(mine, f"{first}.operation", "remove", by=person, version=0, active_seconds=3)
    undo(mine, by=person)
    save_answer(mine, f"{first}.operation", "keep", by=person, version=2)
    save_answer(mine, f"{first}.agree", "agree", by=person, version=0)
    added, gone = add_part(mine, "claim", after=first, by=person), add_part(mine, "claim", after=first, by=person)
    save_answer(mine, f"{added.public_id}.text", "Two.", by=person, version=0)
    save_answer(mine, f"{added.public_id}.label", "refuted", by=person, version=0)
    remove_part(mine, gone.public_id, by=person)
    submit_item(mine, by=person, active_seconds=20)

    checks = shipped("veriscore-verification")
    two = checks.sampling.model_copy(update={"design": "all", "people": 2, "core": 0, "share": None})
    items = [
        {"id": str(n), "text": f"Claim {n}.", "data": {"z": 1, "a": [2]}, "passages": [{"text": "P."}]} for n in "ab"
    ]
    verified = started(benchmark, checks.model_copy(update={"sampling": two}), items, people[:2], owner)

    def judged(sheet: Sheet) -> dict[str, str]:
        verdict = "supported" if sheet.assignment.person == people[0] else "contradicted"
        return {"item.verdict": verdict} | {f"{row.address}.stance": "supports" for row in sheet.rows}

    play(verified, judged)
    open_round(verified, "causes", [owner], by=owner)
    play(verified, lambda sheet: {"item.cause": "mistake"}, "causes")
    new_study(benchmark, "rag-nuggets", [{"id": "1", "parts": [{"kind": "nugget", "text": "N."}]}], by=owner)
    return benchmark


def figures(benchmark: Benchmark) -> list[dict[str, Any]]:
    found = [figures_as_json(study_figures(study)) for study in benchmark.studies.order_by("pk")]
    return [{key: value for key, value in each.items() if key != "id"} for each in found]


@pytest.mark.parametrize("named", [False, True])
def test_studies_come_back_byte_for_byte(studied: Benchmark, named: bool) -> None:
    content, told = exported(studied, named=named), figures(studied)
    other, report = elsewhere(content)
    assert (report.problems, report.studies) == ([], 4)
    other.refresh_from_db()
    assert nameless(exported(other, named=named)) == nameless(content)
    assert figures(other) == told


def test_a_copy_beside_the_original_has_ids_of_its_own(studied: Benchmark) -> None:
    content = exported(studied)
    copy, report = brought(content)
    assert (report.problems, report.studies) == ([], 4)
    assert exported(studied) == content
    assert same_but_for_ids(exported(copy)) == same_but_for_ids(content)
    ids = [
        set(StudyAnswer.objects.filter(assignment__study__benchmark=each).values_list("public_id", flat=True))
        for each in (studied, copy)
    ]
    assert not ids[0] & ids[1]
    # The history names the answers of the copy.
    told = {
        change["record"].partition(":")[2]
        for each in Activity.objects.filter(study__assignment__study__benchmark=copy)
        for change in each.changes
    }
    assert told
    assert told <= ids[1]


def test_versions_history_and_times_are_kept(studied: Benchmark) -> None:
    copy, _ = brought(exported(studied))
    versions = [
        list(each.protocols.values_list("name", "number", "sha256", "frozen_at", "created_at"))
        for each in (studied, copy)
    ]
    assert versions[0] == versions[1]
    assert {number for name, number, *_ in versions[0] if name == "veriscore-pairs"} == {1, 2}
    columns = ("name", "version__number", "started_at", "created_at", "seed")
    assert list(copy.studies.values_list(*columns)) == list(studied.studies.values_list(*columns))
    past = [
        list(
            Activity.objects.filter(study__assignment__study__benchmark=each, action__in=("answer", "undo"))
            .order_by("pk")
            .values_list("action", "at", "active_seconds", "undoes__action")
        )
        for each in (studied, copy)
    ]
    assert sorted(past[0], key=str) == sorted(past[1], key=str)
    assert ("undo", "answer") in {(action, undone) for action, _, _, undone in past[1]}
    numbers = [
        list(StudyAnswer.objects.filter(assignment__study__benchmark=each).values_list("version", "created_at"))
        for each in (studied, copy)
    ]
    assert sorted(numbers[0]) == sorted(numbers[1])


def test_an_import_that_was_cut_off_goes_on(studied: Benchmark) -> None:
    content = exported(studied)
    heads = [n for n, line in enumerate(content.splitlines()) if line.startswith(b'{"touchstone_study"')]
    copy, report = brought(b"\n".join(content.splitlines()[: heads[2]]) + b"\n")
    assert report.studies == 2
    report = import_native(benchmark=copy, source=io.BytesIO(content))
    assert (report.studies, report.problems) == (2, [])
    assert same_but_for_ids(exported(copy)) == same_but_for_ids(content)


def test_a_bad_study_is_named_with_its_line_and_the_others_come_in(studied: Benchmark) -> None:
    rows = exported(studied).splitlines()
    broken = json.loads(rows[2])
    broken["work"][1]["answers"][0][0] = 77
    rows[2] = json.dumps(broken).encode()
    _, report = brought(b"\n".join(rows) + b"\n")
    assert report.studies == 3
    assert [str(each) for each in report.problems] == [
        "line 2, touchstone_study: line 3, work[1]: it doesn’t fit the item and the protocol."
    ]
    strict = create_benchmark(slug="strict", name="Strict")
    report = import_native(benchmark=strict, source=io.BytesIO(b"\n".join(rows) + b"\n"), strict=True)
    assert not report.written
    assert not strict.studies.exists()
    header = json.loads(rows[0])
    header["protocols"][0]["sha256"] = "0" * 64
    with pytest.raises(FileError, match=r"protocols\[1\]\.sha256: it is not the SHA-256 of the content"):
        brought(b"\n".join([json.dumps(header).encode(), *rows[1:]]) + b"\n", "third")


def test_only_the_whole_benchmark_has_them_and_the_schema_knows_them(studied: Benchmark, tmp_path: Path) -> None:
    gold = b"".join(lines(studied, include="gold"))
    assert b"touchstone_study" not in gold
    assert "protocols" not in json.loads(gold)
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    for line in exported(studied).splitlines():
        validator.validate(json.loads(line))
    path = tmp_path / "benchmark.jsonl"
    call_command("export", benchmark=studied.slug, format=["touchstone"], include="all", output=str(path))
    call_command("import_gold", str(path), benchmark="moved", create=True)
    assert Benchmark.objects.get(slug="moved").studies.count() == 4
