"""What the tests of studies share: shipped protocols, small files, and robots that answer through the actions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Benchmark, User
from annotator.core.protocol import Protocol
from annotator.core.protocol_file import read_protocol
from annotator.core.vocabulary import Origin, Role
from annotator.studies.actions.answering import read_value, save_answer, submit_item
from annotator.studies.actions.studies import create_study, import_items, start_study
from annotator.studies.models import Study, StudyAnswer, StudyAssignment, StudyPart
from annotator.studies.queries.work import Sheet, lay_out, sheet_of
from tests.factories import member

PROTOCOLS = Path(__file__).resolve().parent.parent / "fixtures" / "protocols"
# Large studies are answered on the screens only in part, unless this is set: the rest would take minutes.
EVERY_ITEM = bool(os.environ.get("EVERY_ITEM"))


def shipped(name: str) -> Protocol:
    """A protocol that comes with Touchstone."""
    return read_protocol((PROTOCOLS / f"{name}.json").read_bytes())


def jsonl(rows: Iterable[Any]) -> BytesIO:
    return BytesIO("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def new_study(benchmark: Benchmark, protocol: Protocol | str, rows: Iterable[Any], *, by: User) -> Study:
    """A study with these items, not started."""
    found = shipped(protocol) if isinstance(protocol, str) else protocol
    study = create_study(benchmark, found, name=found.title, by=by)
    report = import_items(study, jsonl(rows), by=by)
    assert not report.problems, report.problems
    return study


def raters(benchmark: Benchmark, count: int) -> list[User]:
    return [member(benchmark, Role.ANNOTATOR) for _ in range(count)]


def started(benchmark: Benchmark, protocol: Protocol | str, rows: Iterable[Any], people: list[User], by: User) -> Study:
    study = new_study(benchmark, protocol, rows, by=by)
    start_study(study, people, by=by)
    study.refresh_from_db()
    return study


def fill(assignment: StudyAssignment, answers: Callable[[Sheet], dict[str, str]]) -> None:
    """Answer an item through the actions and submit it. Answers that others depend on come first."""
    sheet = sheet_of(assignment)
    for field, value in answers(sheet).items():
        save_answer(assignment, field, value, by=assignment.person, version=0)
    submit_item(assignment, by=assignment.person)


def _open(study: Study, round_: str) -> QuerySet[StudyAssignment]:
    rows = study.assignments.filter(round=round_, submitted_at__isnull=True).order_by("position", "person")
    return rows.select_related("study__benchmark", "study__version", "item", "person")


def play(study: Study, answers: Callable[[Sheet], dict[str, str]], round_: str = "rate") -> None:
    """Everyone answers everything that they have."""
    for assignment in _open(study, round_):
        fill(assignment, answers)


def play_at_once(study: Study, answers: Callable[[Sheet], dict[str, str]], round_: str = "rate") -> None:
    """The same without history: all answers are read as the actions read them, and written in one statement. For
    studies of hundreds of items, where saving one by one takes a minute and the figures are what is checked."""
    questions = study.version.protocol.by_kind(round_)
    parts: dict[int, list[StudyPart]] = {}
    for part in StudyPart.objects.filter(item__study=study, assignment=None).order_by("item", "order", "id"):
        parts.setdefault(part.item_id, []).append(part)
    found = []
    for assignment in _open(study, round_):
        sheet = lay_out(assignment, questions, parts.get(assignment.item_id, []), {})
        for field, raw in answers(sheet).items():
            place = sheet.find(field)
            assert place is not None, field
            row, question = place
            value = read_value(sheet, question, raw, row.part)
            origin = Origin.ACCEPTED if row.machine.get(question.key) == value else Origin.HUMAN
            found.append(
                StudyAnswer(assignment=assignment, part=row.part, question=question.key, value=value, origin=origin)
            )
    StudyAnswer.objects.bulk_create(found, batch_size=2000)
    _open(study, round_).update(submitted_at=timezone.now())


def play_on_screens(
    study: Study, answers: Callable[[Sheet], dict[str, str]], round_: str = "rate", *, items: int = 0
) -> None:
    """The same in front of the screens: everyone goes from item to item, and sends what the page's scripts would.
    ``items``: how many each person answers there, the rest being answered at once; 0 for all. With EVERY_ITEM in the
    environment, all."""
    people = User.objects.filter(study_assignments__study=study, study_assignments__round=round_).distinct()
    for person in people.order_by("pk"):
        client, done_items = Client(), 0
        client.force_login(person)
        while EVERY_ITEM or not items or done_items < items:
            shown = client.get(reverse("study-next", args=[study.benchmark.slug, study.public_id]), follow=True)
            assert shown.status_code == 200, shown.content
            match = re.search(r"/study-item/(\w+)/$", shown.request["PATH_INFO"])
            if match is None:
                break
            rows = StudyAssignment.objects.select_related("study__benchmark", "study__version", "item", "person")
            mine = rows.get(public_id=match[1])
            assert mine.person_id == person.pk
            page = shown.content.decode()
            for field, value in answers(sheet_of(mine)).items():
                assert f'data-field="{field}"' in page, field
                sent = {"field": field, "value": value, "version": sheet_of(mine).version, "active_seconds": "1"}
                saved = client.post(reverse("study-save", args=[match[1]]), sent, headers={"hx-request": "true"})
                assert saved.status_code == 200, saved.content
                page += saved.content.decode()  # what comes up after an answer
            done = client.post(reverse("study-submit", args=[match[1]]), headers={"hx-request": "true"})
            assert done.status_code == 204, done.content
            done_items += 1
    play_at_once(study, answers, round_)


def letter_of_source(sheet: Sheet, source: str) -> str:
    """The letter under which this person sees the candidate of a source."""
    return next(row.address for row in sheet.candidates if row.part and row.part.source == source)


def pairs(count: int, strata: int = 8) -> list[dict[str, Any]]:
    """Items of two claim lists each, in so many strata."""
    return [
        {
            "id": f"pair-{number}",
            "stratum": f"source {number % strata + 1}",
            "text": f"Text number {number}. It has two sentences.",
            "candidates": {
                "veriscore": [f"Text {number} is a text."],
                "safe": [f"Text {number} is a text.", "It is nice."],
            },
        }
        for number in range(count)
    ]


def study_of_one(benchmark: Benchmark, by: User, *, prompt: str, work: str) -> Study:
    """A started study of one person with one answer, which nobody else may see."""
    rows = [{"id": "1", "text": "A text.", "parts": [{"kind": "fact", "text": prompt}]}]
    study = started(benchmark, "safe-readjudication", rows, [by], by)
    assignment = study.assignments.select_related("study__version", "item").get()
    save_answer(assignment, f"{assignment.item.parts.get().public_id}.source", work, by=by, version=0)
    return study


def form_fields(page: bytes) -> dict[str, str]:
    """What a browser would send of the form as it stands."""
    found: dict[str, str] = {}
    for each in BeautifulSoup(page, "html.parser").select("form.stack [name]"):
        name = str(each["name"])
        if each.name == "select":
            chosen = each.select_one("option[selected]") or each.select_one("option")
            found[name] = str(chosen.get("value", chosen.get_text())) if chosen else ""
        elif each.name == "textarea":
            found[name] = each.get_text().removeprefix("\n")
        elif each.name == "input" and (each.get("type") != "checkbox" or each.has_attr("checked")):
            found[name] = str(each.get("value", ""))
    return found
