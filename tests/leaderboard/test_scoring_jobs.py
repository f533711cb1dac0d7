"""Large files of predictions are scored by a worker: queued, with progress, safe against a killed worker."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, User
from annotator.core.vocabulary import RunState, Task
from annotator.leaderboard.actions import evaluations as actions
from annotator.leaderboard.actions import scoring_jobs
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.evaluations import wrong_answers
from annotator.tasks import resume_scoring
from tests.leaderboard.test_scores_pages import (
    always,
    file_of,
    media,
    owner,
    pilot,
    researcher,
    right,
    uploaded,
    url,
)
from tests.teams import get, words

__all__ = ["media", "owner", "pilot", "researcher"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "AT_ONCE_BYTES", 10)


def again(evaluation: Evaluation) -> Evaluation:
    return Evaluation.objects.get(pk=evaluation.pk)


def test_a_large_file_waits_and_a_worker_gives_the_same_scores(
    pilot: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as ordered:
        queued = uploaded(pilot, owner, always("true"))
    assert queued.is_open and queued.result is None and len(ordered) == 1
    assert not Activity.objects.filter(action="score").exists()
    scoring_jobs.score_evaluation(queued.pk)
    found = again(queued)
    assert (found.state, found.share, found.message) == (RunState.FINISHED, 1.0, "")
    monkeypatch.setattr(actions, "AT_ONCE_BYTES", 10**9)
    at_once = uploaded(pilot, owner, always("true"))
    assert found.report == at_once.report and found.sha256 == at_once.sha256 and found.gold == at_once.gold
    assert list(wrong_answers(found)) == list(wrong_answers(at_once))
    assert Activity.objects.filter(action="score").count() == 2
    scoring_jobs.score_evaluation(queued.pk)  # delivered twice
    assert Activity.objects.filter(action="score").count() == 2


def test_much_gold_is_for_a_worker_however_small_the_file(
    pilot: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "AT_ONCE_BYTES", 10**9)
    assert not actions.is_large(pilot, 10)
    monkeypatch.setattr(actions, "AT_ONCE_DOCUMENTS", 2)
    assert actions.is_large(pilot, 10)


def test_the_page_and_the_api_say_how_far_it_is(client: Client, pilot: Benchmark, owner: User) -> None:
    client.force_login(owner)
    form = {"task": Task.CLAIM_FACTUALITY.value, "system": "Checker 1", "file": file_of(pilot)}
    answer = client.post("/api/v1/benchmarks/pilot/evaluations/", form)
    assert answer.status_code == 202
    made = answer.json()
    assert (made["state"], made["share"], made["result"]) == ("queued", 0.0, {})
    page = get(client, owner, url("score", made["id"]))
    assert "Waiting for a worker" in words(page.select_one("#scoring"))
    assert "being scored" in words(get(client, owner, url("scores")).select_one("[aria-labelledby=faulty]"))
    Evaluation.objects.update(state=RunState.RUNNING, started_at=timezone.now(), seen_at=timezone.now(), share=0.25)
    part = client.get(url("score", made["id"]), headers={"hx-request": "true"}).content.decode()
    assert "Reading the predictions" in part and 'value="0.25"' in part and "<html" not in part
    again_address = f"/api/v1/benchmarks/pilot/evaluations/{made['id']}/again/"
    refused = client.post(again_address, {}, content_type="application/json")
    assert refused.status_code in (400, 422) and "being scored" in refused.text
    Evaluation.objects.update(state=RunState.QUEUED)
    scoring_jobs.score_evaluation(Evaluation.objects.get().pk)
    done = client.get(url("score", made["id"]), headers={"hx-request": "true"})
    assert done["HX-Refresh"] == "true"
    told = client.get(f"/api/v1/benchmarks/pilot/evaluations/{made['id']}/").json()
    assert told["state"] == "finished" and told["result"]["accuracy"] == 1.0
    assert client.post(again_address, {}, content_type="application/json").status_code == 202


def test_the_form_leads_to_the_page_with_the_progress(client: Client, pilot: Benchmark, owner: User) -> None:
    client.force_login(owner)
    form = {"task": "claim_factuality", "system": "Checker 1", "file": file_of(pilot)}
    answer = client.post(url("score-new"), form)
    assert answer.status_code == 302 and answer["Location"] == url("score", Evaluation.objects.get().public_id)


def test_progress_is_that_of_the_bytes_read(pilot: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring_jobs, "SIGN_EVERY", 0.0)
    shares: list[float] = []
    write = scoring_jobs._ScoringProgress.write

    def noted(self: Any, share: float) -> None:
        shares.append(share)
        write(self, share)

    monkeypatch.setattr(scoring_jobs._ScoringProgress, "write", noted)
    scoring_jobs.score_evaluation(uploaded(pilot, owner).pk)
    assert len(shares) == 13 and shares == sorted(shares) and shares[-1] == scoring_jobs.READING
    assert 0 < shares[0] < shares[5] < scoring_jobs.READING


def test_what_is_wrong_with_the_whole_file_is_kept_with_it(client: Client, pilot: Benchmark, owner: User) -> None:
    queued = uploaded(pilot, owner)
    Path(queued.file.path).write_bytes("é".encode("utf-16") * 20)
    scoring_jobs.score_evaluation(queued.pk)
    found = again(queued)
    assert found.state == RunState.FAILED and "UTF-16" in found.message and found.result is None
    assert "UTF-16" in words(
        get(client, owner, url("score", found.public_id)).select_one("[aria-labelledby=not-scored]")
    )
    Path(queued.file.path).unlink()
    with pytest.raises(BadValueError, match="no longer exists"):
        actions.score_again(found, by=owner)


def test_an_unexpected_error_leaves_a_word_and_what_was_scored_before(
    pilot: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = uploaded(pilot, owner, always("true"))
    scoring_jobs.score_evaluation(evaluation.pk)
    before = again(evaluation)
    actions.score_again(again(evaluation), by=owner)
    assert again(evaluation).is_open and again(evaluation).report == before.report

    def breaks(*arguments: Any, **more: Any) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(scoring_jobs, "score_file", breaks)
    scoring_jobs.score_evaluation(evaluation.pk)
    found = again(evaluation)
    assert found.state == RunState.FAILED and "server’s log" in found.message and found.report == before.report


def test_an_upload_that_is_deleted_while_it_is_scored_leaves_nothing(
    pilot: Benchmark, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = uploaded(pilot, owner, always("true"))
    score = scoring_jobs.score_file

    def then_deleted(evaluation: Evaluation, **more: Any) -> None:
        score(evaluation, **more)
        scoring_jobs._ScoringProgress.write = lambda self, share: None  # type: ignore[method-assign]
        actions.delete(again(evaluation), by=owner)

    monkeypatch.setattr(scoring_jobs._ScoringProgress, "write", scoring_jobs._ScoringProgress.write)
    monkeypatch.setattr(scoring_jobs, "score_file", then_deleted)
    scoring_jobs.score_evaluation(queued.pk)
    assert not Evaluation.objects.exists()
    assert default_storage.listdir("predictions")[1] == []


def test_what_a_killed_worker_left_begins_anew(pilot: Benchmark, owner: User) -> None:
    lost, waiting, alive = (uploaded(pilot, owner, right) for _ in range(3))
    now = timezone.now()
    long_ago = now - scoring_jobs.LOST_AFTER - dt.timedelta(seconds=1)
    Evaluation.objects.filter(pk=lost.pk).update(state=RunState.RUNNING, started_at=long_ago, seen_at=long_ago)
    Evaluation.objects.filter(pk=alive.pk).update(state=RunState.RUNNING, started_at=now, seen_at=now)
    begin, perhaps = scoring_jobs.resume_scoring()
    assert (sorted(begin), perhaps) == (sorted([lost.pk, waiting.pk]), [alive.pk])
    scoring_jobs.score_evaluation(alive.pk)  # another worker has it
    assert again(alive).result is None
    scoring_jobs.score_evaluation(lost.pk)
    assert again(lost).result is not None
    assert resume_scoring(alone=True) == 2
    assert not Evaluation.objects.filter(state__in=(RunState.QUEUED, RunState.RUNNING)).exists()
