"""Scoring a fact-checker through the pages: who may, files with faults, figures, wrong answers, the leaderboard."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, Document, User
from annotator.core.vocabulary import Role
from annotator.exchange.actions.imports import import_gold
from annotator.leaderboard.actions import evaluations as actions
from annotator.leaderboard.actions.evaluations import Wanted, score_upload
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.evaluations import (
    boards_of,
    comparable,
    errors_of,
    paired_of,
    shown,
    wrong_answers,
)
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.queries.scoring import gold_fingerprint
from annotator.leaderboard.scoring.tasks import Options, Task
from annotator.stages.actions.documents import discard
from pipeline.metrics.intervals import wilson
from tests.factories import BenchmarkFactory, DocumentFactory, member
from tests.released import numbered
from tests.teams import get

pytestmark = pytest.mark.django_db

Answer = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def pilot() -> Benchmark:
    """Three gold documents: of four checked claims each, one is true, two are false, one lacks evidence."""
    pilot = BenchmarkFactory(slug="pilot")
    rows = "\n".join(json.dumps(numbered(number)) for number in range(3))
    import_gold(benchmark=pilot, source=io.BytesIO(rows.encode()))
    return pilot


@pytest.fixture
def owner(pilot: Benchmark) -> User:
    return member(pilot, Role.OWNER)


@pytest.fixture
def researcher(pilot: Benchmark) -> User:
    return member(pilot, Role.RESEARCHER)


def right(item: Any) -> dict[str, Any]:
    return {"label": item.gold or "true"}


def always(label: str) -> Answer:
    return lambda item: {"label": label}


def file_of(
    pilot: Benchmark, answer: Answer = right, task: Task = Task.CLAIM_FACTUALITY, *more: str, **options: Any
) -> SimpleUploadedFile:
    """Answers to every item of the task; ``more``: further lines."""
    lines = [json.dumps({"id": item.key, **answer(item)}) for item in gold_items(pilot, task, Options(**options))]
    return SimpleUploadedFile("done.jsonl", "\n".join([*lines, *more]).encode())


def uploaded(
    pilot: Benchmark, by: User, answer: Answer = right, task: Task = Task.CLAIM_FACTUALITY, **wanted: Any
) -> Evaluation:
    given = {"task": task, "system": "Checker 1"} | wanted
    return score_upload(benchmark=pilot, by=by, wanted=Wanted(**given), file=file_of(pilot, answer, task))


def url(name: str, *arguments: str) -> str:
    return reverse(name, args=["pilot", *arguments])


# --- who may --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "status"), [(Role.ADMIN, 200), (Role.RESEARCHER, 200), (Role.ANNOTATOR, 403), (Role.THIRD_RATER, 403)]
)
def test_only_those_who_read_gold_see_scores(
    client: Client, pilot: Benchmark, owner: User, role: Role, status: int
) -> None:
    evaluation = uploaded(pilot, owner)
    user = member(pilot, role)
    pages = ["scores", "score-new", "answers"]
    for address in (*(url(name) for name in pages), url("score", evaluation.public_id)):
        get(client, user, address, status)
    client.force_login(user)
    assert client.get(url("score-template"), {"task": "stance"}).status_code == status
    assert client.get(url("score-download", evaluation.public_id), {"part": "errors"}).status_code == status
    if status == 403:
        with pytest.raises(rules.NotAllowedError):
            uploaded(pilot, user)
        assert client.post(url("score-change", evaluation.public_id, "delete")).status_code == 403
        assert Evaluation.objects.count() == 1


def test_what_is_hidden_or_faulty_is_for_who_uploaded_it_and_those_who_manage(
    client: Client, pilot: Benchmark, owner: User, researcher: User
) -> None:
    hidden, faulty = uploaded(pilot, owner), uploaded(pilot, owner, always("perhaps"))
    actions.hide(hidden, by=owner, hidden=True)
    for each in (hidden, faulty):
        get(client, owner, url("score", each.public_id))
        get(client, researcher, url("score", each.public_id), 404)
    assert "Checker 1" not in str(get(client, researcher, url("scores")))
    own = uploaded(pilot, researcher, system="My checker")
    assert "My checker" in str(get(client, owner, url("scores")))
    with pytest.raises(rules.NotAllowedError):
        actions.delete(hidden, by=researcher)
    actions.delete(own, by=researcher)
    assert not default_storage.exists(str(own.file.name))


def test_the_file_itself_is_never_served(client: Client, pilot: Benchmark, owner: User) -> None:
    evaluation = uploaded(pilot, owner, always("true"))
    client.force_login(owner)
    for stored in (evaluation.file, evaluation.errors):
        assert default_storage.exists(str(stored.name))
        assert client.get(f"/media/{stored.name}").status_code == 404


# --- uploading ------------------------------------------------------------------------------------


def send(client: Client, user: User, file: SimpleUploadedFile | None, **fields: str) -> Any:
    client.force_login(user)
    given = {"task": "claim_factuality", "system": "Checker 1"} | fields
    return client.post(url("score-new"), {**given, **({"file": file} if file else {})})


def test_a_filled_in_template_is_scored_as_on_the_command_line(
    client: Client, pilot: Benchmark, researcher: User, tmp_path: Path
) -> None:
    client.force_login(researcher)
    template = client.get(url("score-template"), {"task": "claim_factuality"}).getvalue()
    rows = [json.loads(line) for line in template.decode().splitlines()]
    assert len(rows) == 12 and all(row["label"] is None and row["text"] for row in rows)
    content = "\n".join(json.dumps(row | {"label": "false"}) for row in rows).encode()
    answer = send(client, researcher, SimpleUploadedFile("done.jsonl", content), note="Without retrieval")
    evaluation = Evaluation.objects.get()
    assert answer.status_code == 302 and answer["Location"] == url("score", evaluation.public_id)
    path = tmp_path / "done.jsonl"
    path.write_bytes(content)
    out = io.StringIO()
    call_command("evaluate", benchmark="pilot", task="claim_factuality", predictions=path, json=True, stdout=out)
    assert evaluation.result == json.loads(out.getvalue())
    assert (evaluation.rows, evaluation.scored, evaluation.faults) == (12, 9, 0)
    downloaded = client.get(url("score-download", evaluation.public_id)).json()
    assert downloaded == {"system": "Checker 1", **(evaluation.result or {})}
    page = get(client, researcher, url("score", evaluation.public_id)).get_text(" ", strip=True)
    for words in (
        "Without retrieval",
        "0.667",
        "Always “true”",
        "Random",
        "Outlined: the same label",
        "3 incorrect predictions",
    ):
        assert words in page, words
    assert Activity.objects.filter(action="score", by=researcher, benchmark=pilot).count() == 1


def test_a_file_with_faults_is_not_scored_until_somebody_asks_for_what_is_right(
    client: Client, pilot: Benchmark, owner: User
) -> None:
    file = file_of(pilot, always("true"), Task.CLAIM_FACTUALITY, '{"id": "nobody", "label": "true"}', '{"id": "x", "la')
    assert send(client, owner, file).status_code == 302
    evaluation = Evaluation.objects.get()
    assert evaluation.result is None and (evaluation.rows, evaluation.faults) == (14, 2)
    page = get(client, owner, url("score", evaluation.public_id))
    text = page.get_text(" ", strip=True)
    assert "Nothing was scored" in text and "id “nobody” is not in the gold for this task." in text
    lines = [cell.get_text(strip=True) for cell in page.select("th.line-number")]
    assert lines == ["13", "14"]
    assert boards_of(owner, pilot) == []
    assert client.post(url("score-change", evaluation.public_id, "partial")).status_code == 302
    evaluation.refresh_from_db()
    assert evaluation.result is not None and evaluation.scored == 9
    assert "excluded from the scores" in get(client, owner, url("score", evaluation.public_id)).get_text()


@pytest.mark.parametrize(
    ("fields", "content", "words"),
    [
        ({}, b"", "The file is empty."),
        ({}, "é".encode("utf-16"), "UTF-16"),
        ({"system": " "}, b'{"id": "x", "label": "true"}', "Name the fact-checker"),
        ({"task": "stance", "format": "loki"}, b"{}", "contain verdicts on claims"),
        ({"task": "nothing"}, b"{}", "not one of the available choices"),
        ({"threshold": "2", "task": "end_to_end"}, b"{}", "less than or equal to 1"),
        ({"format": "openfactcheck"}, b"a,b\n1,2", "no column “label”"),
    ],
)
def test_what_cannot_be_read_at_all_is_refused_in_the_form(
    client: Client, pilot: Benchmark, owner: User, fields: dict[str, str], content: bytes, words: str
) -> None:
    answer = send(client, owner, SimpleUploadedFile("done.jsonl", content), **fields)
    assert answer.status_code == 422
    assert words in BeautifulSoup(answer.content, "html.parser").get_text()
    assert not Evaluation.objects.exists()
    folder = "predictions"
    assert not default_storage.exists(folder) or default_storage.listdir(folder)[1] == []


def test_a_file_that_is_too_large_is_refused_with_what_to_do(
    client: Client, pilot: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_BYTES", 100)
    answer = send(client, owner, file_of(pilot))
    assert answer.status_code == 422 and "leave out the texts" in answer.content.decode()


def test_without_gold_there_is_nothing_to_score_against(client: Client) -> None:
    empty = BenchmarkFactory(slug="pilot")
    owner = member(empty, Role.OWNER)
    assert "No gold to score against yet" in get(client, owner, url("scores")).get_text()
    assert "No gold to score against yet" in get(client, owner, url("score-new")).get_text()
    assert "No responses to rank" in get(client, owner, url("answers")).get_text()
    with pytest.raises(BadValueError, match="has no gold for claim_factuality yet"):
        score_upload(
            benchmark=empty,
            by=owner,
            wanted=Wanted(Task.CLAIM_FACTUALITY, "Checker"),
            file=SimpleUploadedFile("x.jsonl", b'{"id": "x", "label": "true"}'),
        )


def test_the_form_shows_the_options_of_the_task(client: Client, pilot: Benchmark, owner: User) -> None:
    client.force_login(owner)
    part = client.get(url("score-new"), {"task": "stance"}, headers={"hx-request": "true"}).content.decode()
    assert 'name="labels"' in part and 'name="undetermined"' not in part and "<html" not in part
    assert f"{url('score-template')}?task=stance" in part


def answer_of(task: Task) -> Answer:
    if task == Task.REVISION:
        return lambda item: {"revised": item.text}
    if task == Task.DECOMPOSITION:
        return lambda item: {"claims": list(item.gold)}
    if task == Task.EVIDENCE:
        return lambda item: {"evidence": [{"id": each.key} for each in item.gold]}
    if task == Task.END_TO_END:
        return always("true")
    return right


@pytest.mark.parametrize("task", list(Task))
def test_every_task_has_a_page(client: Client, pilot: Benchmark, owner: User, task: Task) -> None:
    evaluation = uploaded(pilot, owner, answer_of(task), task)
    assert evaluation.result is not None
    page = get(client, owner, url("score", evaluation.public_id)).get_text(" ", strip=True)
    assert task.label in page and "None" not in page
    get(client, owner, f"{url('score-new')}?task={task}")
    board = get(client, owner, url("scores"))
    assert task.label in board.get_text() and board.select("tr.baseline")


# --- the leaderboard ------------------------------------------------------------------------------


def test_systems_are_ranked_with_the_baselines_among_them(pilot: Benchmark, owner: User, client: Client) -> None:
    uploaded(pilot, owner, always("true"), system="Naive")
    uploaded(pilot, owner, right, system="Perfect")
    uploaded(pilot, owner, right, Task.STANCE)
    uploaded(pilot, owner, always("support"), Task.STANCE, options=Options(stance_labels=3))
    stance_three, stance_four, factuality = boards_of(owner, pilot)
    assert (stance_three.options, stance_four.options) == ({"stance_labels": 3}, {"stance_labels": 4})
    names = [(place.rank, place.name) for place in factuality.places if place.name != "random"]
    assert names[0] == (1, "Perfect") and (2, "Naive") in names and (None, "always_false") in names
    values = [place.value for place in factuality.places if place.value is not None]
    assert values == sorted(values, reverse=True)
    page = get(client, owner, url("scores"))
    assert [cell.get_text(strip=True) for cell in page.select("td.rank") if cell.get_text(strip=True)] == [*"1112"]
    assert page.select_one("svg.whisker[aria-label^='1.000']") is not None
    for head in ("Accuracy", "F1"):
        cells = page.select(f"section[aria-labelledby=board-3] tr.baseline td[data-label='{head}'] .bounds")
        assert cells and all(" to " in cell.text for cell in cells), "baselines have intervals, too"


def test_equal_scores_share_a_rank_and_what_was_scored_in_part_has_none(pilot: Benchmark, owner: User) -> None:
    uploaded(pilot, owner, right, system="One")
    uploaded(pilot, owner, right, system="Two")
    Evaluation.objects.filter(pk=uploaded(pilot, owner, right, system="Part").pk).update(partial=True, faults=3)
    uploaded(pilot, owner, always("true"), system="Naive")
    [board] = boards_of(owner, pilot)
    ranks = {place.name: place.rank for place in board.places if place.evaluation}
    assert ranks == {"One": 1, "Two": 1, "Naive": 3, "Part": None}
    assert board.places[-1].name == "Part"


def test_scores_of_an_older_gold_are_marked_and_scored_again(
    client: Client, pilot: Benchmark, owner: User, researcher: User
) -> None:
    evaluation = uploaded(pilot, owner, right)
    assert not boards_of(owner, pilot)[0].places[0].is_old
    document = Document.objects.filter(benchmark=pilot).first()
    assert document is not None
    discard(document, reason="a riddle", by=owner)
    assert gold_fingerprint(pilot) != evaluation.gold
    assert "Score again" in get(client, owner, url("scores")).get_text()
    assert "older gold" in (page := get(client, researcher, url("scores")).get_text()) and "Score again" not in page
    client.force_login(researcher)
    assert client.post(url("score-change", evaluation.public_id, "again")).status_code == 403
    client.force_login(owner)
    # The discarded document's rows are not in the gold any more: a fault now, so nothing is scored silently.
    client.post(url("score-change", evaluation.public_id, "again"))
    evaluation.refresh_from_db()
    assert evaluation.result is None and evaluation.counts["unknown"] == 4
    client.post(url("score-change", evaluation.public_id, "partial"))
    evaluation.refresh_from_db()
    assert evaluation.scored == 6 and evaluation.gold == gold_fingerprint(pilot)


def test_queries_do_not_grow_with_what_is_scored(client: Client, pilot: Benchmark, owner: User) -> None:
    def queries(address: str) -> int:
        client.get(address)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    client.force_login(owner)
    first = uploaded(pilot, owner, always("true"))
    before = [queries(url("scores")), queries(url("score", first.public_id)), queries(url("answers"))]
    for number in range(4):
        uploaded(pilot, owner, always("false"), system=f"Checker {number}")
        uploaded(pilot, owner, always("perhaps"), system=f"Faulty {number}")
    rows = "\n".join(json.dumps(numbered(number)) for number in range(10, 14))
    import_gold(benchmark=pilot, source=io.BytesIO(rows.encode()))
    more = uploaded(pilot, owner, always("true"))
    assert [queries(url("scores")), queries(url("score", more.public_id)), queries(url("answers"))] == before


# --- wrong answers --------------------------------------------------------------------------------


def test_wrong_answers_are_listed_with_the_evidence_and_where_to_look(
    client: Client, pilot: Benchmark, owner: User
) -> None:
    evaluation = uploaded(pilot, owner, always("true"))
    wrong = list(wrong_answers(evaluation))
    assert len(wrong) == 6 and {(each.gold, each.predicted) for each in wrong} == {("false", "true")}
    first = shown(evaluation, wrong[:1])[0]
    assert first.text == "The notes are from 1842."
    assert first.context == "Ada Lovelace wrote notes on an engine in 1842."
    assert [passage.stance for passage in first.evidence] == ["refute", ""]
    assert "1843" in first.evidence[1].text
    assert first.document is not None and first.claim == wrong[0].key
    page = get(client, owner, url("score", evaluation.public_id))
    link = page.select_one(".wrong-answers a")
    assert link is not None and link["href"] == f"/d/{first.document.public_id}/#claim-{first.claim}"
    assert page.select_one(".gold-evidence") is not None
    assert f'id="claim-{first.claim}"' in str(get(client, owner, str(link["href"])))


def test_wrong_answers_are_paged_and_filtered(client: Client, pilot: Benchmark, owner: User) -> None:
    labels = iter(["refute", "irrelevant", "completely-support"] * 20)
    evaluation = uploaded(pilot, owner, lambda item: {"label": next(labels)}, Task.STANCE)
    everything = list(wrong_answers(evaluation))
    chosen = [each for each in everything if (each.gold, each.predicted) == ("irrelevant", "refute")]
    assert 0 < len(chosen) < len(everything)
    found = errors_of(evaluation, gold="irrelevant", predicted="refute", start=1, count=2)
    assert (found.total, list(found.rows)) == (len(chosen), chosen[1:3])
    assert found.pairs.total() == len(everything)
    address = f"{url('score', evaluation.public_id)}?gold=irrelevant&predicted=refute"
    assert len(get(client, owner, address).select(".wrong-answers > li")) == len(chosen)
    for odd in ("page=99", "page=0", "page=x", "gold=nothing"):
        get(client, owner, f"{url('score', evaluation.public_id)}?{odd}")
    downloaded = client.get(url("score-download", evaluation.public_id), {"part": "errors"}).getvalue()
    table = list(csv.reader(io.StringIO(downloaded.decode())))
    assert table[0] == ["id", "document", "position", "gold", "predicted", "text", "about"]
    assert len(table) == len(everything) + 1 and table[1][5]


def test_a_wrong_answer_of_a_document_that_is_no_gold_any_more_shows_nothing_of_it(
    client: Client, pilot: Benchmark, owner: User
) -> None:
    evaluation = uploaded(pilot, owner, always("true"))
    for document in Document.objects.filter(benchmark=pilot):
        discard(document, reason="a riddle", by=owner)
    page = get(client, owner, url("score", evaluation.public_id)).get_text()
    assert "no longer gold" in page and "The notes are from 1842." not in page


# --- two systems ----------------------------------------------------------------------------------


def test_two_systems_are_compared_on_the_same_gold(client: Client, pilot: Benchmark, owner: User) -> None:
    perfect, naive = uploaded(pilot, owner, right), uploaded(pilot, owner, always("true"), system="Naive")
    other_task = uploaded(pilot, owner, right, Task.STANCE)
    other_options = uploaded(pilot, owner, always("false"), options=Options.of({"undetermined": "false"}))
    today = gold_fingerprint(pilot)
    assert comparable(owner, perfect, today) == [naive]
    assert comparable(owner, other_task, today) == [] == comparable(owner, other_options, today)
    found = paired_of(perfect, naive)
    assert found["items"] == 9 and found["mcnemar"]["only_first_right"] == 6
    assert found["difference"]["accuracy"] == pytest.approx(6 / 9)
    page = get(client, owner, f"{url('score', perfect.public_id)}?against={naive.public_id}").get_text(" ", strip=True)
    assert "+0.667" in page and "Naive" in page
    discard(Document.objects.filter(benchmark=pilot)[0], reason="a riddle", by=owner)
    assert comparable(owner, perfect, gold_fingerprint(pilot)) == []
    assert "Score this file again first" in get(client, owner, url("score", perfect.public_id)).get_text()


def test_documents_in_work_are_no_gold(pilot: Benchmark, owner: User) -> None:
    before = gold_fingerprint(pilot)
    DocumentFactory(benchmark=pilot, order=9)
    assert gold_fingerprint(pilot) == before


def test_ranks_are_shown_with_intervals_when_asked(client: Client, pilot: Benchmark, owner: User) -> None:
    for number, answer in enumerate((right, always("true"), always("false"))):
        uploaded(pilot, owner, answer, system=f"Checker {number}")
    assert "Show how certain the ranks are" in get(client, owner, url("scores")).text
    page = get(client, owner, url("scores") + "?ranks=1")
    tables = page.select(".tiles table")
    first, *_ = tables[0].select("tbody tr")
    assert first.th is not None and first.th.text == "Checker 0"
    assert len(tables[1].select("tbody tr")) == 3
    # Counted once, then kept.
    assert get(client, owner, url("scores")).select(".tiles table")


def test_a_systems_page_has_breakdowns(client: Client, owner: User, pilot: Benchmark) -> None:
    rows = "\n".join(json.dumps(numbered(number) | {"source": "books"}) for number in range(10, 16))
    import_gold(benchmark=pilot, source=io.BytesIO(rows.encode()))
    evaluation = uploaded(pilot, owner)
    by_source = {each["group"]: each for each in evaluation.report["breakdowns"]["source"]}
    books = by_source["books"]
    assert books["figures"]["accuracy"] == 1.0
    assert books["intervals"]["accuracy"] == pytest.approx(wilson(books["documents"], books["documents"]))
    few = next(each for name, each in by_source.items() if name != "books")
    assert few["figures"] is None and few["documents"] == 3
    page = get(client, owner, url("score", evaluation.public_id))
    section = page.select_one("section[aria-labelledby=breakdowns]")
    assert (
        section is not None and "books" in section.text and "too few" in section.text and "Gold label" in section.text
    )
    assert "always the group’s most frequent gold label" in section.text
    assert section.select("[data-label='Trivial']")


def test_half_of_a_surrogate_pair_in_a_prediction_is_left_out(client: Client, pilot: Benchmark, owner: User) -> None:
    odd = b'{"id": "x\\ud800", "label": "\\ud801"}\n{"id": "y", "label": "true", "task": "\\udfff"}\n'
    assert send(client, owner, SimpleUploadedFile("done.jsonl", odd)).status_code == 302
    page = get(client, owner, url("score", Evaluation.objects.get().public_id))
    assert "id “x” is not in the gold for this task." in page.get_text(" ", strip=True)
