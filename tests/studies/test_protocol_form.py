"""The form on the page "Edit protocol": conditions of questions, refusals with their place, and a new manager's way."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.urls import reverse

from annotator.core.actions.protocols import store_protocol
from annotator.core.models import Benchmark, ProtocolVersion, User
from annotator.core.protocol_file import as_json, protocol_of
from annotator.studies.conditions import ConditionRow, condition_of, condition_rows
from annotator.studies.models import Study
from annotator.studies.queries.work import Sheet
from tests.studies_robots import form_fields, jsonl, play_on_screens, raters, shipped

pytestmark = pytest.mark.django_db


def copied(client: Client, benchmark: Benchmark, name: str) -> str:
    """Copy a protocol on its page; the address of the copy's form."""
    answer = client.post(reverse("protocol-copy", args=[benchmark.slug, name]), {"name": "ours", "title": "Ours"})
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def number_of(content: dict[str, Any], name: str) -> int:
    """The place of a question among the protocol's."""
    names = [f"{each.get('on', 'item')}.{each['key']}" for each in content["questions"]]
    return names.index(name)


def stored() -> dict[str, Any]:
    return as_json(ProtocolVersion.objects.get(name="ours").protocol)


@pytest.mark.parametrize("name", ["fastfact", "veriscore-verification", "felm", "expertqa", "rag-nuggets"])
def test_saving_the_form_unchanged_changes_nothing(
    client: Client, benchmark: Benchmark, owner: User, name: str
) -> None:
    client.force_login(owner)
    url = copied(client, benchmark, name)
    before = stored()
    saved = client.post(url, form_fields(client.get(url).content) | {"what": "save"})
    assert saved.status_code == 302, saved.content
    assert stored() == before


def test_a_condition_is_set_joined_and_taken_away_in_the_form(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    client.force_login(owner)
    url = copied(client, benchmark, "fastfact")
    content = stored()
    failures = number_of(content, "claim.failures")
    sent = form_fields(client.get(url).content)
    assert sent[f"when-{number_of(content, 'claim.removal')}-0"] == "operation"
    sent |= {f"when-{failures}-0": "operation", f"is-{failures}-0": "remove, revise", f"when-{failures}-1": ""}
    page = client.post(url, sent | {"what": "preview"})
    assert page.status_code == 200
    shown = BeautifulSoup(page.content, "html.parser").get_text(" ", strip=True)
    assert "Asked when “Operation” is Remove or Revise." in shown
    # The preview has a row for another condition.
    sent = form_fields(page.content) | {f"when-{failures}-1": "record=given", f"join-{failures}": "any", "what": "save"}
    assert client.post(url, sent).status_code == 302
    one = {"question": "operation", "is": ["remove", "revise"]}
    assert stored()["questions"][failures]["when"] == {"any": [one, {"record": "given"}]}
    sent = form_fields(client.get(url).content)
    sent |= {f"when-{failures}-0": "", f"when-{failures}-1": "", "what": "save"}
    assert client.post(url, sent).status_code == 302
    assert "when" not in stored()["questions"][failures]


def test_a_condition_can_look_at_the_records_below(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    url = copied(client, benchmark, "veriscore-verification")
    place = number_of(stored(), "item.inconclusive")
    page = client.get(url)
    sent = form_fields(page.content) | {f"when-{place}-0": "passage.stance", f"is-{place}-0": "contradicts"}
    assert client.post(url, sent | {"what": "save"}).status_code == 302
    assert stored()["questions"][place]["when"] == {"of": "passage", "question": "stance", "is": ["contradicts"]}
    read = BeautifulSoup(client.get(reverse("protocol", args=[benchmark.slug, "ours"])).content, "html.parser")
    assert "on any search result is" in read.get_text(" ", strip=True).lower()


def test_what_is_wrong_is_named_with_its_question(client: Client, benchmark: Benchmark, owner: User) -> None:
    """Conditions in a circle, answers that don't exist, none at all: nothing is saved and nothing typed is lost."""
    client.force_login(owner)
    url = copied(client, benchmark, "fastfact")
    before = stored()
    operation, agree = (number_of(before, f"claim.{key}") for key in ("operation", "agree"))
    form = form_fields(client.get(url).content)
    assert form[f"when-{agree}-1"] == "operation"
    wrong = {
        "The conditions go round in a circle: claim.agree → claim.operation → claim.agree": {
            f"when-{operation}-0": "agree", f"is-{operation}-0": "agree",
        },
        "claim.agree, when.all[1].is: “kept” isn’t an answer to “operation”; choose from keep, revise, remove": {
            f"is-{agree}-1": "kept",
        },
        "claim.agree, when.all[1]: “is” is missing": {f"is-{agree}-1": " , "},
    }  # fmt: skip
    for problem, fields in wrong.items():
        answer = client.post(url, form | fields | {"what": "save"})
        assert answer.status_code == 422
        said = BeautifulSoup(answer.content, "html.parser").select_one(".callout[role=alert]")
        assert said is not None
        assert problem in said.get_text(), said.get_text()
        again = form_fields(answer.content)
        assert {key: again[key].strip(" ,") for key in fields} == {k: v.strip(" ,") for k, v in fields.items()}
    assert stored() == before


def test_nested_conditions_stay_as_they_are(client: Client, benchmark: Benchmark, owner: User) -> None:
    content = as_json(shipped("felm")) | {"name": "ours"}
    place = number_of(content, "segment.reason")
    first = {"question": "right", "is": ["no"]}
    nested = {"any": [first, {"all": [first, {"record": "given"}]}]}
    content["questions"][place]["when"] = nested
    store_protocol(benchmark, protocol_of(content), by=owner)
    client.force_login(owner)
    url = reverse("protocol-edit", args=[benchmark.slug, "ours"])
    page = client.get(url)
    assert "a condition that only the file can change" in page.content.decode()
    assert client.post(url, form_fields(page.content) | {"what": "save", "title": "New"}).status_code == 302
    assert (stored()["title"], stored()["questions"][place]["when"]) == ("New", nested)


def test_the_stages_own_questions_are_shown_but_not_offered_for_change(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    """Their words are those of the screens; two of them can be left out."""
    client.force_login(owner)
    url = copied(client, benchmark, "factcheck-bench")
    before = stored()
    form = form_fields(client.get(url).content)
    left_out = {name for name in form if name.startswith("asked-")}
    assert len(left_out) == 2
    del form[f"asked-{number_of(before, 'stance.reliable')}"]
    assert client.post(url, form | {"what": "save"}).status_code == 302
    names = {f"{each['on']}.{each['key']}" for each in before["questions"]}
    assert {f"{each['on']}.{each['key']}" for each in stored()["questions"]} == names - {"stance.reliable"}
    form = form_fields(client.get(url).content)
    form |= {"new-key": "vital", "new-on": "claim", "new-kind": "label", "new-ask": "How vital?", "what": "save"}
    refused = client.post(url, form | {"new-labels": "high | High | t"})
    assert refused.status_code == 422
    assert "claim.vital, labels[0].key: the key “t” is used by the screens" in refused.content.decode()


def test_rows_become_the_condition_that_they_came_from() -> None:
    for when in (
        None,
        {"question": "a", "is": ["b", "c: d"]},
        {"of": "passage", "question": "a", "is": ["b"]},
        {"any": [{"record": "added"}, {"passages": "none"}]},
    ):
        shown = condition_rows(when)
        assert shown is not None
        assert condition_of(shown[0], [*shown[1], ConditionRow()]) == when


def test_a_new_manager_copies_a_study_protocol_adds_a_question_and_finds_its_answers(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    """A protocol copied, a question with a condition added, items imported, people chosen, work done, the long table
    downloaded: everything on pages."""
    slug, people = benchmark.slug, raters(benchmark, 3)
    client.force_login(owner)
    url = copied(client, benchmark, "veriscore-pairs")
    sent = form_fields(client.get(url).content)
    sent |= {"new-key": "what", "new-kind": "label", "new-ask": "What made it hard?", "new-required": "yes"}
    sent |= {"new-labels": "both good | Both are good | g\nboth bad | Both are bad | x"}
    sent |= {"when-new-0": "hard", "is-new-0": "yes", "what": "save"}
    assert client.post(url, sent).status_code == 302
    file = jsonl([{"id": str(n), "text": "T.", "candidates": {"one": ["A."], "two": ["B."]}} for n in range(2)])
    file.name = "pairs.jsonl"
    made = client.post(reverse("study-new", args=[slug]), {"protocol": "ours", "name": "Pairs", "file": file})
    assert made.status_code == 302, made.content
    study = Study.objects.get(name="Pairs")
    names = [each.username for each in people]
    began = client.post(reverse("study-change", args=[slug, study.public_id, "start"]), {"rater": names})
    assert began.status_code == 302

    def answers(sheet: Sheet) -> dict[str, str]:
        said = {"item.preferred": "A", "item.reason": "Shorter."}
        return said | ({"item.hard": "yes", "item.what": "both bad"} if sheet.item.external_id == "1" else {})

    play_on_screens(study, answers)
    table = client.get(reverse("study-download", args=[slug, study.public_id, "answers.csv"]))
    rows = list(csv.DictReader(io.StringIO(table.getvalue().decode())))
    told = [(each["item"], each["value"], each["value_label"]) for each in rows if each["question"] == "what"]
    assert told == [("1", "both bad", "Both are bad")] * 3
    assert ProtocolVersion.objects.get(name="ours").frozen_at is not None
