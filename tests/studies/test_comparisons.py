"""Comparisons: played by robots through the screens, from a file to figures that are known beforehand."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import NothingToUndoError
from annotator.core.missing import IncompleteError
from annotator.core.models import Activity, Benchmark, User
from annotator.core.protocol import Sampling
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import Role
from annotator.studies.actions.answering import StaleAnswerError, reopen_item, save_answer, submit_item, undo
from annotator.studies.actions.studies import import_items, open_round, start_study
from annotator.studies.dealing import arranged, deal
from annotator.studies.item_file import cut_at_sentence
from annotator.studies.models import Study, StudyAnswer, StudyAssignment
from annotator.studies.queries.figures import progress_of_raters, study_figures
from annotator.studies.queries.native import native_lines
from annotator.studies.queries.work import Sheet, next_assignment, sheet_of
from tests.factories import member
from tests.studies_robots import (
    EVERY_ITEM,
    fill,
    jsonl,
    letter_of_source,
    new_study,
    pairs,
    play,
    play_at_once,
    play_on_screens,
    raters,
    shipped,
    started,
)

pytestmark = pytest.mark.django_db

SOURCES = ("veriscore", "safe")


class Robot:
    """Somebody in front of the screens: sees a page, and sends what its scripts would send."""

    def __init__(self, person: User) -> None:
        self.client = Client()
        self.client.force_login(person)

    def open(self, url: str) -> BeautifulSoup:
        answer = self.client.get(url, follow=True)
        assert answer.status_code == 200, answer.content
        self.url = answer.request["PATH_INFO"]
        return BeautifulSoup(answer.content, "html.parser")

    def save(self, page: BeautifulSoup, question: str, value: str, row: str = "") -> None:
        """Answer the question of that key on the page, or on the row with that id."""
        place = page.select_one(f"#{row}") if row else page
        assert place is not None
        field = place.select_one(f"[data-field$='.{question}']")
        assert field is not None, question
        home = field.find_parent(attrs={"data-record": True})
        assert home is not None
        meta = page.find(id=str(home["data-record"]).replace(":", "-", 1) + "-meta")
        assert isinstance(meta, Tag)
        sent = {"field": field["data-field"], "value": value, "version": meta["data-version"], "active_seconds": "2"}
        answer = self.client.post(str(home["data-save"]), sent, headers={"hx-request": "true"})
        assert answer.status_code == 200, answer.content

    def submit(self) -> None:
        answer = self.client.post(f"{self.url}submit/", headers={"hx-request": "true"})
        assert answer.status_code == 204, answer.content


def mark(page: BeautifulSoup, letter: str) -> list[str]:
    """The claims in the list of a letter."""
    return [each.get_text() for each in page.select(f"[aria-label='List {letter}'] li")]


def test_veriscores_pairs_from_a_file_to_the_figures_of_the_paper(
    benchmark: Benchmark, owner: User, client: Client
) -> None:
    """120 pairs of 8 sources, three raters, 99 unanimous, 26 of 360 for the other method, 19 of those slightly."""
    study = new_study(benchmark, "veriscore-pairs", pairs(120), by=owner)
    people = raters(benchmark, 3)
    client.force_login(owner)
    answer = client.post(
        f"/b/{benchmark.slug}/studies/{study.public_id}/do/start/", {"rater": [each.username for each in people]}
    )
    assert answer.status_code == 302
    # Item n: how many raters (the first ones) prefer the other method.
    against = [3, 2, 2, *([1] * 19), *([0] * 98)]
    assert sum(against) == 26
    slight = 0
    labels = np.zeros((120, 2), dtype=int)

    def wants_other(item: int, person: User) -> bool:
        wanted = people.index(person) < against[item]
        labels[item, 1 if wanted else 0] += 1
        return wanted

    def is_slight() -> bool:
        nonlocal slight
        slight += 1
        return slight <= 19

    for person in people:
        robot, done = Robot(person), 0
        while EVERY_ITEM or done < 8:
            page = robot.open(f"/b/{benchmark.slug}/studies/{study.public_id}/next/")
            if "/study-item/" not in robot.url:
                break
            reading = page.select_one(".source-text .reading")
            assert reading is not None
            item = int(reading.get_text().split()[2].strip("."))
            text = page.get_text()
            assert "veriscore" not in text  # masked
            assert "safe" not in text
            other = next(letter for letter in "AB" if len(mark(page, letter)) == 2)
            against_it = wants_other(item, person)
            robot.save(page, "preferred", other if against_it else {"A": "B", "B": "A"}[other])
            robot.save(page, "reason", "It has an opinion.")
            if against_it and is_slight():
                robot.save(page, "hard", "yes")
            robot.submit()
            done += 1

    def rest(sheet: Sheet) -> dict[str, str]:
        against_it = wants_other(int(sheet.item.external_id[5:]), sheet.assignment.person)
        said = {"item.preferred": letter_of_source(sheet, "safe" if against_it else "veriscore")}
        said |= {"item.hard": "yes"} if against_it and is_slight() else {}
        return said | {"item.reason": "It has an opinion."}

    play_at_once(study, rest)
    figures = study_figures(study).comparison
    assert figures is not None
    assert (figures.items, figures.judgements, figures.rated) == (120, 360, 120)
    assert figures.unanimous == 99
    totals = {each.source: (each.strong, each.slight) for each in figures.totals}
    assert totals == {"veriscore": (334, 0), "safe": (7, 19)}
    assert figures.agreement.fleiss is not None
    assert figures.agreement.fleiss.value == pytest.approx(fleiss_kappa(labels), abs=1e-4)
    by_stratum = {(each.stratum, each.source): each.preferred for each in figures.strata}
    expected: Counter[tuple[str, str]] = Counter()
    for item in range(120):
        stratum = f"source {item % 8 + 1}"
        expected[stratum, "veriscore"] += int(labels[item, 0])
        expected[stratum, "safe"] += int(labels[item, 1])
    assert by_stratum == dict(expected)
    assert figures.ranking[0].source == "veriscore"
    assert figures.ranking[0].win_rate == pytest.approx(334 / 360)
    # Bradley-Terry of two is the win rate.
    assert figures.ranking[0].strength == pytest.approx(334 / 360, abs=1e-3)
    low, high = figures.ranking[0].low, figures.ranking[0].high
    assert low is not None
    assert high is not None
    assert low < 334 / 360 < high
    said = client.get(f"/b/{benchmark.slug}/studies/{study.public_id}/").content.decode()
    assert "All raters agree on 99 of 120 items" in said
    assert f"{fleiss_kappa(labels):.2f}" in said


def test_the_published_count_of_unanimous_triples_gives_the_published_kind_of_kappa() -> None:
    """99 of 120 triples unanimous: κ by our formula equals statsmodels to four digits."""
    from annotator.studies.figures.comparisons import Chosen, comparison_figures

    shares = [3] * 85 + [0] * 14 + [2] * 12 + [1] * 9
    table = np.array([[share, 3 - share] for share in shares])
    choices = [
        Chosen(item, "", person, ("a" if person < share else "b",), ("a", "b"))
        for item, share in enumerate(shares)
        for person in range(3)
    ]
    figures = comparison_figures(choices)
    assert figures.unanimous == 99
    assert figures.agreement.fleiss is not None
    assert round(figures.agreement.fleiss.value, 4) == round(float(fleiss_kappa(table)), 4)


def test_identical_pairs_are_dropped_and_counted_and_two_raters_have_cohens_kappa(
    benchmark: Benchmark, owner: User
) -> None:
    """VeriScore, appendix F: 300 pairs, 131 identical, 169 left, 106 on which the two agree."""
    rows = pairs(300, strata=3)
    for row in rows[:131]:
        row["candidates"] = {"gpt-4": ["A is  B."], "mistral": ["A is B. "]}
    for row in rows[131:]:
        row["candidates"] = {"gpt-4": ["A is B."], "mistral": ["A."]}
    people = raters(benchmark, 2)
    study = started(benchmark, "veriscore-extractors", rows, people, owner)
    assert study.items.filter(dropped="identical").count() == 131
    assert study.assignments.count() == 2 * 169
    order = ["gpt-4"] * 60 + ["mistral"] * 25 + ["tie"] * 21
    first = order + ["gpt-4"] * 30 + ["mistral"] * 20 + ["tie"] * 13
    second = order + ["mistral"] * 15 + ["tie"] * 15 + ["gpt-4"] * 20 + ["mistral"] * 13
    assert len(first) == len(second) == 169

    def answers(sheet: Any) -> dict[str, str]:
        said = (first if sheet.assignment.person == people[0] else second)[int(sheet.item.external_id[5:]) - 131]
        return {"item.preferred": "tie" if said == "tie" else letter_of_source(sheet, said)}

    play_at_once(study, answers)
    figures = study_figures(study)
    assert figures.dropped == {"source 1": 44, "source 2": 44, "source 3": 43}
    found = figures.comparison
    assert found is not None
    assert found.unanimous == 106
    assert found.ties == first.count("tie") + second.count("tie")
    names = ["gpt-4", "mistral", "tie"]
    table = np.zeros((3, 3))
    for one, other in zip(first, second, strict=True):
        table[names.index(one), names.index(other)] += 1
    assert found.agreement.cohen is not None
    assert round(found.agreement.cohen.value, 4) == round(float(cohens_kappa(table).kappa), 4)


def test_four_revisions_six_raters_and_ties_of_identical_texts(benchmark: Benchmark, owner: User) -> None:
    """Factcheck-Bench 4.4: 61 examples; 5 of them have two identical best revisions: 66 labels a rater."""
    sources = [f"{model}-{how}-question" for model in ("gpt-4", "chatgpt") for how in ("with", "without")]
    rows = []
    for number in range(61):
        texts = {source: f"Revision {number} by {source}." for source in sources}
        if number < 5:
            texts[sources[0]] = texts[sources[2]] = f"The same revision {number}."
        rows.append({"id": str(number), "prompt": "Why?", "text": "Because.", "candidates": texts})
    people = raters(benchmark, 6)
    study = started(benchmark, "factcheck-bench-revisions", rows, people, owner)

    def answers(sheet: Any) -> dict[str, str]:
        number = int(sheet.item.external_id)
        if number < 5:
            both = [letter_of_source(sheet, sources[0]), letter_of_source(sheet, sources[2])]
            return {"item.preferred": ",".join(both), "item.reason": "identical"}
        best = sources[0] if number < 43 else sources[3]
        return {"item.preferred": letter_of_source(sheet, best), "item.reason": "keeps the style"}

    one = study.assignments.filter(item__external_id="9").first()
    assert one is not None
    sheet = sheet_of(one)
    two = ",".join(row.address for row in sheet.candidates[:2])
    with pytest.raises(BadValueError, match="only where their texts are identical"):
        save_answer(one, "item.preferred", two, by=one.person, version=0)
    # On the screen identical ones are one answer.
    identical = study.assignments.filter(item__external_id="0", person=people[0]).get()
    page = Robot(people[0]).open(f"/study-item/{identical.public_id}/")
    values = [each["value"] for each in page.select("[data-field='item.preferred']")]
    assert len(values) == 3
    assert any("," in value for value in values)
    play_on_screens(study, answers, items=3)
    figures = study_figures(study).comparison
    assert figures is not None
    assert (figures.labels, figures.judgements) == (66 * 6, 61 * 6)
    assert figures.groups["Model"] == {"ChatGPT": (5 + 18) * 6, "GPT-4": 43 * 6}
    assert figures.unanimous == 61
    # Every candidate stands in every place about equally often.
    places = Counter(
        (place, row.part.source)
        for each in study.assignments.select_related("study__version", "item")[:120]
        for place, row in enumerate(sheet_of(each).candidates)
        if row.part is not None
    )
    assert min(places.values()) > 15


def test_responses_are_shown_as_their_markdown_reads(benchmark: Benchmark, owner: User) -> None:
    sources = [f"{model}-{how}-question" for model in ("gpt-4", "chatgpt") for how in ("with", "without")]
    candidates = dict(zip(sources, ("- **Paris** is.", "1. *Lyon* is.", "Lille.", "Nice."), strict=True))
    row = {"id": "1", "prompt": "Which?", "text": "# Cities", "candidates": candidates}
    people = raters(benchmark, 6)
    started(benchmark, "factcheck-bench-revisions", [row], people, owner)
    person = people[0]
    page = Robot(person).open(f"/study-item/{person.study_assignments.get().public_id}/")
    shown = page.select(".reading .md-h1, .reading li > :is(strong, em)")
    assert sorted(each.get_text() for each in shown) == ["Cities", "Lyon", "Paris"]


def test_order_bias_is_seen(benchmark: Benchmark, owner: User) -> None:
    study = started(benchmark, "veriscore-pairs", pairs(60), raters(benchmark, 3), owner)
    play_at_once(study, lambda sheet: {"item.preferred": "A", "item.reason": "the first"})
    figures = study_figures(study).comparison
    assert figures is not None
    assert [each.chosen for each in figures.places] == [180, 0]
    assert figures.places[0].is_biased
    assert figures.ranking[0].win_rate == pytest.approx(0.5, abs=0.1)


# --- blindness, saving, submitting ----------------------------------------------------------------


def test_nobody_sees_anothers_answers_until_everyone_has_submitted(
    benchmark: Benchmark, owner: User, ada: User, ben: User, client: Client
) -> None:
    study = started(benchmark, "veriscore-pairs", pairs(1), [ada, ben, owner], owner)
    rows = {each.person: each for each in study.assignments.select_related("person", "study__version", "item")}
    secret = "Ada alone has written this."
    fill(rows[ada], lambda sheet: {"item.preferred": "A", "item.reason": secret})
    home = f"/b/{benchmark.slug}/studies/{study.public_id}/"
    for person, expected in ((ben, 403), (owner, 200)):
        client.force_login(person)
        assert client.get(f"/study-item/{rows[ada].public_id}/").status_code == 404
        assert (
            client.post(f"/study-item/{rows[ada].public_id}/save/", {"field": "item.reason", "value": "x"}).status_code
            == 404
        )
        for what in ("answers.csv", "study.jsonl"):
            answer = client.get(f"{home}download/{what}/")
            assert answer.status_code == expected
            assert secret not in body(answer)
        assert secret not in client.get(home).content.decode()
    for person in (ben, owner):
        fill(rows[person], lambda sheet: {"item.preferred": "A", "item.reason": "same"})
    table = client.get(f"{home}download/answers.csv/").getvalue().decode()
    lines = list(csv.DictReader(io.StringIO(table)))
    said = {line["value"]: line for line in lines if line["question"] == "reason"}
    assert secret in said
    assert said[secret]["annotator"].startswith("person-")
    chosen = {line["value"] for line in lines if line["question"] == "preferred"}
    assert chosen <= set(SOURCES)
    assert {line["shown_order"] for line in lines} <= {"veriscore; safe", "safe; veriscore"}


def test_saving_is_checked_and_stale_saves_are_refused(benchmark: Benchmark, owner: User, ada: User, ben: User) -> None:
    study = started(benchmark, "veriscore-pairs", pairs(1), [ada, ben, owner], owner)
    mine = study.assignments.get(person=ada)
    for field, value in (("item.preferred", "C"), ("item.preferred", "tie"), ("item.hard", "maybe")):
        with pytest.raises(BadValueError):
            save_answer(mine, field, value, by=ada, version=0)
    with pytest.raises(BadValueError, match="no question “item"):
        save_answer(mine, "item.nothing", "A", by=ada, version=0)
    with pytest.raises(NotAllowedError):
        save_answer(mine, "item.preferred", "A", by=ben, version=0)
    save_answer(mine, "item.preferred", "A", by=ada, version=0)
    with pytest.raises(StaleAnswerError):
        save_answer(mine, "item.preferred", "B", by=ada, version=0)
    save_answer(mine, "item.preferred", "A", by=ada, version=0)  # the answer to the first attempt was lost
    save_answer(mine, "item.preferred", "B", by=ada, version=1)
    with pytest.raises(IncompleteError) as refusal:
        submit_item(mine, by=ada)
    assert [each.text for each in refusal.value.missing] == ["Why?"]
    undo(mine, by=ada)
    assert sheet_of(mine).as_sent(shipped("veriscore-pairs").questions[0], _value(mine)) == "A"
    undo(mine, by=ada, redo=True)
    undo(mine, by=ada)
    undo(mine, by=ada)
    assert _value(mine) is None
    with pytest.raises(NothingToUndoError):
        undo(mine, by=ada)
    changes = [change for each in Activity.objects.filter(action="answer") for change in each.changes]
    assert all(change["record"].startswith("answer:") for change in changes)


def body(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


def _value(assignment: StudyAssignment) -> Any:
    return StudyAnswer.objects.get(assignment=assignment, question="preferred").value


def test_a_submitted_item_can_be_reopened_until_everyone_has_submitted(
    benchmark: Benchmark, owner: User, ada: User, ben: User
) -> None:
    study = started(benchmark, "veriscore-extractors", pairs(1), [ada, ben], owner)
    one, other = study.assignments.get(person=ada), study.assignments.get(person=ben)
    fill(one, lambda sheet: {"item.preferred": "A"})
    with pytest.raises(NotAllowedError):
        save_answer(one, "item.preferred", "B", by=ada, version=1)
    reopen_item(one, by=ada)
    save_answer(one, "item.preferred", "B", by=ada, version=1)
    submit_item(one, by=ada)
    fill(other, lambda sheet: {"item.preferred": "A"})
    with pytest.raises(NotAllowedError, match="Everyone has submitted"):
        reopen_item(one, by=ada)


# --- items and sampling ---------------------------------------------------------------------------


def test_bad_lines_are_named_and_nothing_is_imported(benchmark: Benchmark, owner: User) -> None:
    study = new_study(benchmark, "veriscore-pairs", pairs(2), by=owner)
    rows = [
        {"id": "a", "candidates": {"x": "1"}},
        {"id": "b", "candidates": {"x": "1", "y": 2}},
        {"id": "c", "candidates": {"x": "1", "y": "2"}, "stratums": "d"},
        {"id": "d", "candidates": {"x": "1", "y": "2"}},
        {"id": "d", "candidates": {"x": "1", "y": "2"}},
    ]
    report = import_items(study, jsonl(rows), by=owner)
    assert [(each.line, each.field) for each in report.problems] == [
        (1, "candidates"), (2, "candidates[1].content"), (3, "stratums"), (5, "id"),
    ]  # fmt: skip
    assert study.items.count() == 2
    again = import_items(study, jsonl(pairs(1)), by=owner)
    assert [str(each) for each in again.problems] == ["line 1, id: An item with this id is in the study already."]


def test_texts_are_cut_at_the_end_of_a_sentence() -> None:
    text = "One two three. Four five six! Seven eight"
    assert cut_at_sentence(text, 8) == text
    assert cut_at_sentence(text, 7) == "One two three. Four five six!"
    assert cut_at_sentence(text, 5) == "One two three."
    assert cut_at_sentence("a b c d", 2) == "a b"
    assert cut_at_sentence('He said "no." Then more words', 4) == 'He said "no."'


def test_items_are_dealt_by_the_design() -> None:
    everyone = deal(10, 3, Sampling(design="all", people=3), seed=1)
    assert [len(hand) for hand in everyone] == [10, 10, 10]
    core = deal(320, 3, Sampling(design="core_and_shares", people=3, core=50, share=90), seed=1)
    assert [len(hand) for hand in core] == [140, 140, 140]
    assert len(set(core[0]) & set(core[1]) & set(core[2])) == 50
    assert len(set().union(*core)) == 320
    crossed = deal(400, 10, Sampling(design="crossed", people=2, crossed=0.1), seed=1)
    times = Counter(item for hand in crossed for item in hand)
    assert Counter(times.values()) == {1: 360, 2: 40}
    assert max(map(len, crossed)) - min(map(len, crossed)) <= 2
    with pytest.raises(ValueError, match="choose 1 more"):
        deal(10, 2, Sampling(design="all", people=3), seed=1)
    with pytest.raises(ValueError, match="make 320; the study has 300"):
        deal(300, 3, Sampling(design="core_and_shares", people=3, core=50, share=90), seed=1)
    assert sorted(arranged([1, 2, 3], 0, seed=1, item=5)) == [1, 2, 3]
    assert {arranged([1, 2, 3], rater, seed=1, item=5)[0] for rater in range(3)} == {1, 2, 3}


def test_a_study_starts_once_and_members_manage_nothing(benchmark: Benchmark, owner: User, ada: User) -> None:
    study = new_study(benchmark, "veriscore-pairs", pairs(1), by=owner)
    people = raters(benchmark, 3)
    with pytest.raises(NotAllowedError):
        start_study(study, people, by=ada)
    with pytest.raises(BadValueError, match="needs 3 raters"):
        start_study(study, people[:1], by=owner)
    start_study(study, people, by=owner)
    with pytest.raises(NotAllowedError, match="has started"):
        start_study(study, people, by=owner)
    with pytest.raises(NotAllowedError, match="has started"):
        import_items(Study.objects.get(pk=study.pk), jsonl(pairs(3)[2:]), by=owner)


# --- queries --------------------------------------------------------------------------------------


@pytest.mark.query_counts
def test_the_next_item_takes_the_same_queries_whatever_the_size(benchmark: Benchmark, owner: User) -> None:
    counts = []
    for number, size in enumerate((4, 40)):
        protocol = shipped("veriscore-extractors").model_copy(update={"name": f"pairs-{number}", "title": f"P {size}"})
        people = raters(benchmark, 2)
        study = started(benchmark, protocol, pairs(size), people, owner)
        first = next_assignment(study, people[0])
        assert first is not None
        client = Client()
        client.force_login(people[0])
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(f"/study-item/{first.public_id}/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 14


@pytest.mark.query_counts
def test_figures_take_the_same_queries_whatever_the_size(benchmark: Benchmark, owner: User) -> None:
    counts = []
    for number, size in enumerate((4, 40)):
        protocol = shipped("veriscore-extractors").model_copy(update={"name": f"pairs-{number}", "title": f"P {size}"})
        study = started(benchmark, protocol, pairs(size), raters(benchmark, 2), owner)
        play(study, lambda sheet: {"item.preferred": "A"})
        with CaptureQueriesContext(connection) as queries:
            study_figures(study)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 10


@pytest.mark.query_counts
def test_the_list_of_studies_says_what_is_left_for_whom(benchmark: Benchmark, owner: User) -> None:
    one, other = people = raters(benchmark, 2)
    protocol = shipped("veriscore-extractors")
    first = started(benchmark, protocol, pairs(3), people, owner)
    for assignment in first.assignments.select_related("study__benchmark", "study__version", "item", "person"):
        if assignment.person == one or assignment.position == 1:
            fill(assignment, lambda sheet: {"item.preferred": "A"})
    url = f"/b/{benchmark.slug}/studies/"
    counts = []
    for person, words in ((one, "you submitted all 3"), (other, "2 left for you"), (owner, "3 items")):
        client = Client()
        client.force_login(person)
        with CaptureQueriesContext(connection) as queries:
            page = BeautifulSoup(client.get(url).content, "html.parser")
        counts.append(len(queries))
        entry = page.select_one(".entry")
        assert entry is not None
        assert words in entry.get_text()
        assert bool(entry.select("a.btn")) == (person == other)
    for number in range(3):
        new_study(benchmark, protocol.model_copy(update={"title": f"P {number}"}), pairs(2), by=owner)
    with CaptureQueriesContext(connection) as queries:
        page = BeautifulSoup(client.get(url).content, "html.parser")
    assert len(page.select(".entry")) == 4
    assert len(queries) == counts[-1]


def test_progress_goes_by_rounds_and_by_the_order_in_which_raters_were_chosen(
    benchmark: Benchmark, owner: User, client: Client
) -> None:
    protocol = shipped("veriscore-verification")
    protocol = protocol.model_copy(update={"sampling": Sampling(people=2)})
    early, late = raters(benchmark, 2)
    rows = [{"id": "1", "text": "A claim.", "passages": [{"text": "A passage."}]}]
    study = started(benchmark, protocol, rows, [late, early], owner)

    def answers(sheet: Sheet) -> dict[str, str]:
        verdict = "supported" if sheet.assignment.person == late else "contradicted"
        return {"item.verdict": verdict, f"{sheet.rows[0].address}.stance": "supports"}

    play(study, answers)
    open_round(study, "causes", [owner], by=owner)
    told = [(each.person, each.round, each.done) for each in progress_of_raters(study)]
    assert told == [(late, "Rating", 1), (early, "Rating", 1), (owner, "Causes of disagreement", 0)]
    # The person of the round sees what the raters chose, by number, and no rule of the rating.
    mine = study.assignments.get(person=owner)
    page = Robot(owner).open(f"/study-item/{mine.public_id}/")
    said = page.select_one(".others")
    assert said is not None
    assert said.get_text(" ", strip=True) == "Rater 1 Supported Rater 2 Contradicted"
    assert "Decide by what is given here alone" not in page.get_text()
    assert page.select_one("#row-item[data-current]") is not None  # its keys work at once
    # On a narrow page each figure has its column's name beside it.
    client.force_login(owner)
    page = BeautifulSoup(client.get(f"/b/{benchmark.slug}/studies/{study.public_id}/").content, "html.parser")
    cells = page.select(".figure-tables td")
    assert cells
    assert all(each.get("data-label") for each in cells)


def test_researchers_read_figures_and_strangers_find_nothing(benchmark: Benchmark, owner: User, client: Client) -> None:
    study = started(benchmark, "veriscore-extractors", pairs(2), raters(benchmark, 2), owner)
    play(study, lambda sheet: {"item.preferred": "A"})
    url = f"/b/{benchmark.slug}/studies/{study.public_id}/"
    client.force_login(member(benchmark, Role.RESEARCHER))
    assert "Win rates" in client.get(url).content.decode()
    client.force_login(member(benchmark, Role.ANNOTATOR))
    assert "Win rates" not in client.get(url).content.decode()
    outsider = member(benchmark, Role.ANNOTATOR)
    outsider.memberships.update(active=False)
    client.force_login(outsider)
    assert client.get(url).status_code == 404


def test_the_native_file_of_a_study_is_read_in_again(benchmark: Benchmark, owner: User) -> None:
    study = started(benchmark, "veriscore-extractors", pairs(3), raters(benchmark, 2), owner)
    play(study, lambda sheet: {"item.preferred": "A"})
    lines = [json.loads(line) for line in native_lines(study, named=False)]
    assert lines[0]["sha256"] == study.version.sha256
    assert [len(each["answers"]) for each in lines[1]["work"]] == [1, 1]
    protocol = shipped("veriscore-extractors").model_copy(update={"title": "Again"})
    copy = new_study(benchmark, protocol, lines, by=owner)
    kept = ("external_id", "stratum", "text", "parts__source", "parts__text")
    assert list(copy.items.values_list(*kept).order_by("order", "parts__order")) == list(
        study.items.values_list(*kept).order_by("order", "parts__order")
    )
