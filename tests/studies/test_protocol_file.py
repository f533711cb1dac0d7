"""Protocol files: the shipped ones are valid, every problem is named with its place, and versions freeze."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from jsonschema import Draft202012Validator

from annotator.core.actions.fields import BadValueError
from annotator.core.actions.protocols import store_protocol
from annotator.core.fields import Kind as FieldKind
from annotator.core.fields import fields_of
from annotator.core.models import Activity, Benchmark, ProtocolVersion, User
from annotator.core.protocol import Asked, Condition, Kind, Question, asked, holds
from annotator.core.protocol_file import ProtocolError, as_json, fingerprint, protocol_of, read_protocol, schema
from annotator.core.rules import NotAllowedError
from annotator.studies.actions.protocols import migrate_study
from annotator.studies.item_file import ItemRow, read_items
from tests.conftest import ROOT
from tests.studies_robots import PROTOCOLS, fill, new_study, raters, shipped, started

NAMES = sorted(path.stem for path in PROTOCOLS.glob("*.json"))


def file(**changes: Any) -> dict[str, Any]:
    """A small right protocol with changes."""
    return {
        "touchstone_protocol": 1,
        "name": "small",
        "title": "Small",
        "work": "judgement",
        "records": [{"kind": "claim", "name": "Claim", "plural": "Claims"}],
        "questions": [
            {
                "key": "label", "on": "claim", "kind": "label", "ask": "The claim is",
                "labels": [{"value": "yes", "label": "Yes", "key": "1"}, {"value": "no", "label": "No", "key": "2"}],
            },
            {"key": "why", "on": "claim", "kind": "text", "ask": "Why?", "when": {"question": "label", "is": ["no"]}},
        ],
    } | changes  # fmt: skip


def problems(content: Any) -> dict[str, str]:
    with pytest.raises(ProtocolError) as refusal:
        protocol_of(content)
    return dict(refusal.value.problems)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_protocol_is_valid_by_the_published_schema_and_keeps_its_name(name: str) -> None:
    content = json.loads((PROTOCOLS / f"{name}.json").read_text())
    published = json.loads((ROOT / "docs" / "formats" / "protocol.schema.json").read_text())
    assert not list(Draft202012Validator(published).iter_errors(content))
    protocol = shipped(name)
    assert protocol.name == name
    assert as_json(protocol) == content  # written as Touchstone writes it


def test_the_published_schema_is_current() -> None:
    assert json.loads((ROOT / "docs" / "formats" / "protocol.schema.json").read_text()) == schema()


def test_the_fingerprint_is_of_the_content_not_of_its_spelling() -> None:
    spelled = json.dumps(dict(reversed(file().items())), indent=4).encode()
    assert fingerprint(read_protocol(spelled)) == fingerprint(protocol_of(file()))
    assert fingerprint(protocol_of(file(title="Other"))) != fingerprint(protocol_of(file()))


def test_unknown_keys_are_named_with_their_place() -> None:
    questions = file()["questions"]
    questions[0]["labels"][1]["colour"] = "red"
    found = problems(file(questions=questions, samplings={}))
    assert set(found) == {"samplings", "questions[0].labels[1].colour"}
    assert "unknown key “colour”" in found["questions[0].labels[1].colour"]


def test_text_that_is_no_json_is_refused_with_the_place() -> None:
    with pytest.raises(ProtocolError, match="line 2, character 5"):
        read_protocol(b'{"name":\n    ]}')
    with pytest.raises(ProtocolError, match="Byte 2 isn’t UTF-8"):
        read_protocol(b"{\xff}")


def test_clashing_and_reserved_shortcuts_are_refused() -> None:
    questions = file()["questions"]
    questions[0]["labels"][1]["key"] = "1"
    assert problems(file(questions=questions)) == {
        "questions[0].labels[1].key": "The key “1” is taken by questions[0].labels[0].key. Choose another one."
    }
    questions[0]["labels"][1]["key"] = "j"
    assert "used by the screen" in problems(file(questions=questions))["questions[0].labels[1].key"]


def test_circles_in_when_are_refused_with_the_way() -> None:
    questions = file()["questions"]
    questions[0]["when"] = {"any": [{"question": "why", "is": ["x"]}]}
    found = problems(file(questions=questions))
    assert found == {"questions[0].when": "The conditions go round in a circle: claim.label → claim.why → claim.label."}


@pytest.mark.parametrize(
    ("when", "place", "words"),
    [
        ({"question": "lable", "is": ["no"]}, "questions[1].when.question", "no question “lable”"),
        ({"question": "label", "is": ["never"]}, "questions[1].when.is", "choose from yes, no"),
        ({"question": "label"}, "questions[1].when", "“is” is missing"),
        ({"record": "added", "passages": "none"}, "questions[1].when", "exactly one form"),
        ({"all": [{"question": "label", "is": ["ja"]}]}, "questions[1].when.all[0].is", "“ja” isn’t an answer"),
    ],
)
def test_a_condition_that_cannot_hold_is_refused(when: Any, place: str, words: str) -> None:
    questions = file()["questions"]
    questions[1]["when"] = when
    assert words in problems(file(questions=questions))[place]


def test_questions_on_undeclared_records_doubles_and_missing_figures_are_refused() -> None:
    questions = [*file()["questions"], {"key": "label", "on": "claim", "kind": "yes_no", "ask": "?"}]
    questions.append({"key": "x", "on": "passage", "kind": "label", "ask": "?"})
    found = problems(file(questions=questions, figures={"usefulness": {"question": "x", "on": "claim", "is": ["a"]}}))
    assert set(found) == {"questions[2].key", "questions[3].on", "questions[3].labels", "figures.usefulness.question"}


def test_a_comparison_needs_candidates_and_nothing_else_has_them() -> None:
    assert "questions" in problems(file(work="comparison"))
    assert "stages" in problems(file(work="stages"))
    candidate = [{"key": "best", "kind": "candidate", "ask": "?"}]
    assert "chooses candidates" in problems(file(questions=candidate))["questions"]


# --- conditions -----------------------------------------------------------------------------------


def test_an_answer_kept_from_before_counts_for_nothing() -> None:
    when = [None, {"question": "a", "is": ["yes"]}, {"question": "b", "is": ["yes"]}]
    questions = [
        Question(key=key, kind=Kind.YES_NO, ask="?", when=Condition.model_validate(each) if each else None)
        for key, each in zip("abc", when, strict=True)
    ]
    keys = [each.key for each in asked(questions, Asked({"a": True, "b": True}))]
    assert keys == ["a", "b", "c"]
    # b is still stored, but not asked any more: c isn't either.
    assert [each.key for each in asked(questions, Asked({"a": False, "b": True}))] == ["a"]


def test_conditions_see_the_item_the_records_below_and_where_a_record_came_from() -> None:
    def met(condition: dict[str, Any], record: Asked) -> bool:
        return holds(Condition.model_validate(condition), record)

    below: dict[str, list[dict[str, Any]]] = {"passage": [{"stance": "supports"}, {"stance": None}]}
    record = Asked({}, item={"verdict": "x"}, below=below, is_added=True, has_passages=False)
    assert met({"question": "verdict", "is": ["x"]}, record)
    assert met({"of": "passage", "question": "stance", "is": ["supports"]}, record)
    assert not met({"of": "passage", "question": "stance", "is": ["contradicts"]}, record)
    assert met({"all": [{"record": "added"}, {"passages": "none"}]}, record)
    assert not met({"any": [{"record": "given"}, {"passages": "given"}]}, record)


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_default_protocol_is_what_the_stages_ask(benchmark: Benchmark, owner: User) -> None:
    protocol = shipped("factcheck-bench")
    asked_for = {each.name for each in protocol.questions}
    kinds = (FieldKind.LABEL, FieldKind.YES_NO, FieldKind.TEXT)
    records = ("sentence", "claim", "stance", "verdict", "sentence-revision", "claim-revision", "response-revision")
    declared = {
        f"{record.replace('-', '_')}.{each.name}"
        for record in records
        for each in fields_of(record)
        if each.kind in kinds
    }
    assert asked_for == declared
    before = Benchmark.objects.filter(pk=benchmark.pk).values().get()
    version = store_protocol(benchmark, protocol, by=owner)
    assert Benchmark.objects.filter(pk=benchmark.pk).values().get() == before
    assert version.sha256 == fingerprint(protocol)
    # What the screens can't ask is refused with its place.
    content = as_json(protocol)
    content["questions"].append({"key": "where", "on": "claim", "kind": "span", "ask": "Where is it rude?"})
    with pytest.raises(BadValueError, match=rf"questions\[{len(declared)}\]\.kind: the stages’ screens ask"):
        store_protocol(benchmark, protocol_of(content), by=owner)


@pytest.mark.django_db
def test_a_protocol_can_be_edited_until_the_first_person_starts(benchmark: Benchmark, owner: User) -> None:
    first = store_protocol(benchmark, protocol_of(file()), by=owner)
    same = store_protocol(benchmark, protocol_of(file(title="Renamed")), by=owner)
    assert (same.pk, same.number) == (first.pk, 1)
    rows = [{"id": "1", "parts": [{"kind": "claim", "text": "Water is wet."}]}]
    study = started(benchmark, protocol_of(file(title="Renamed")), rows, raters(benchmark, 1), owner)
    assert study.version.frozen_at is not None
    newer = store_protocol(benchmark, protocol_of(file(title="Again")), by=owner)
    assert newer.number == 2
    study.version.refresh_from_db()
    assert study.version.protocol.title == "Renamed"
    assert store_protocol(benchmark, protocol_of(file(title="Again")), by=owner).pk == newer.pk
    assert ProtocolVersion.objects.filter(benchmark=benchmark).count() == 2


@pytest.mark.django_db
def test_a_study_moves_to_a_newer_version_on_record_but_never_loses_a_label_in_use(
    benchmark: Benchmark, owner: User, ada: User
) -> None:
    study = started(benchmark, "veriscore-verification", _claims(50 + 3 * 90), raters(benchmark, 3), owner)
    one = study.assignments.first()
    assert one is not None
    fill(one, lambda sheet: {f"{row.address}.stance": "supports" for row in sheet.rows} | {"item.verdict": "supported"})
    content = as_json(study.version.protocol) | {"hints": []}
    verdict = next(each for each in content["questions"] if each["key"] == "verdict")
    verdict["labels"] = [each for each in verdict["labels"] if each["value"] != "supported"]
    without = store_protocol(benchmark, protocol_of(content), by=owner)
    with pytest.raises(BadValueError, match=r"item\.verdict: “supported” \(1 answers\) can’t be removed"):
        migrate_study(study, without, by=owner)
    content = as_json(study.version.protocol) | {"hints": []}
    verdict = next(each for each in content["questions"] if each["key"] == "verdict")
    verdict["labels"] = [each for each in verdict["labels"] if each["value"] != "contradicted"]
    verdict["ask"] = "All in all, the claim is"
    newer = store_protocol(benchmark, protocol_of(content), by=owner)
    with pytest.raises(NotAllowedError):
        migrate_study(study, newer, by=ada)
    migrate_study(study, newer, by=owner)
    study.refresh_from_db()
    assert study.version == newer
    assert newer.frozen_at is None or newer.frozen_at
    told = Activity.objects.get(action="migrate-study").reason
    assert study.version.sha256[:12] in told


def _claims(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"claim-{n}", "text": f"Claim {n}.", "passages": [{"text": f"Passage {r}."} for r in range(3)]}
        for n in range(count)
    ]  # fmt: skip


def test_half_of_a_surrogate_pair_and_nul_in_an_item_are_left_out() -> None:
    line = rb'{"id": "a\ud800", "text": "A\u0000 claim\udfff.", "data": {"k\ud800": "\ud800"}, '
    line += rb'"passages": [{"text": "P\ud800."}]}'
    row = next(read_items(io.BytesIO(line), shipped("veriscore-verification")))
    assert isinstance(row, ItemRow)
    assert (row.external_id, row.text, row.data, row.parts[0].text) == ("a", "A claim.", {"k": ""}, "P.")


@pytest.mark.django_db
def test_what_a_study_refuses_is_shown_where_it_was_asked(benchmark: Benchmark, owner: User, client: Client) -> None:
    """Too few raters, a version without a label in use, a study without items: a message on the page itself."""
    client.force_login(owner)
    home = f"/b/{benchmark.slug}/studies/"
    answer = client.post(f"{home}new/", {"protocol": "aggrefact", "name": "Mine"})
    assert answer.status_code == 422
    page = BeautifulSoup(answer.content, "html.parser")
    assert "Choose a file with items" in page.get_text()
    assert page.select_one("input[name=name][value=Mine]") is not None
    assert page.select_one("input[value=aggrefact][checked]") is not None
    study = new_study(benchmark, "aggrefact", [{"id": "1", "text": "A claim."}], by=owner)
    where = f"{home}{study.public_id}/"
    people = raters(benchmark, 2)
    for what, sent, said in (
        ("start", {"rater": [people[0].username]}, "needs 2 raters"),
        ("migrate", {"version": "9"}, "Choose a version"),
        ("round", {"round": "no", "rater": [people[0].username]}, "has no round “no”"),
    ):
        answer = client.post(f"{where}do/{what}/", sent, follow=True)
        assert answer.request["PATH_INFO"] == where
        assert said in BeautifulSoup(answer.content, "html.parser").get_text(" ")
    assert client.post(f"{where}do/nothing/").status_code == 404
