"""Items of a study taken from the benchmark: claims of two strategies, revisions of several models, adjudicated claims
with their passages."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.urls import reverse

from annotator.core.actions.fields import BadValueError
from annotator.core.models import (
    Benchmark,
    ClaimSuggestion,
    Document,
    PipelineRun,
    RevisionSuggestion,
    SentenceSuggestion,
    User,
)
from annotator.core.vocabulary import RunState, Stage
from annotator.studies.actions.from_benchmark import rows_from_benchmark
from annotator.studies.actions.studies import start_study
from annotator.studies.queries.figures import study_figures
from annotator.studies.queries.work import Sheet
from tests.factories import DocumentFactory
from tests.studies_robots import letter_of_source, play_on_screens, raters

pytestmark = pytest.mark.django_db


def run_of(benchmark: Benchmark, strategy: str, stage: Stage, model: str = "") -> PipelineRun:
    plan = {"parameters": {"model": model}} if model else {}
    return PipelineRun.objects.create(
        benchmark=benchmark, stage=stage, strategy=strategy, plan=plan, state=RunState.FINISHED
    )


def suggested(run: PipelineRun, document: Document, *claims: str) -> None:
    sentence = SentenceSuggestion.objects.create(run=run, document=document, order=1, text=document.response)
    for order, text in enumerate(claims, start=1):
        ClaimSuggestion.objects.create(sentence=sentence, order=order, text=text)


def candidates(row: Any) -> dict[str, list[str]]:
    return {part.source: part.data.get("lines") or [part.text] for part in row.parts}


def test_the_newest_claims_of_each_strategy_are_compared(benchmark: Benchmark, owner: User, client: Client) -> None:
    documents = [DocumentFactory(benchmark=benchmark, source="web", external_id=f"doc-{n}") for n in range(3)]
    old = run_of(benchmark, "veriscore", Stage.DECOMPOSE)
    new = run_of(benchmark, "veriscore", Stage.DECOMPOSE)
    safe = run_of(benchmark, "safe", Stage.DECOMPOSE)
    suggested(old, documents[0], "An old claim.")
    for document in documents[:2]:
        suggested(new, document, "One claim.", "Another claim.")
        suggested(safe, document, "One claim.")
    suggested(new, documents[2], "Nobody else has claims here.")
    rows = rows_from_benchmark(benchmark, "claims")
    assert [(row.external_id, row.stratum) for row in rows] == [("doc-0", "web"), ("doc-1", "web")]
    assert candidates(rows[0]) == {"veriscore": ["One claim.", "Another claim."], "safe": ["One claim."]}

    # From the page to its figures, masked on the way.
    client.force_login(owner)
    sent = {"protocol": "veriscore-pairs", "source": "claims", "name": "Two strategies"}
    made = client.post(reverse("study-new", args=[benchmark.slug]), sent, follow=True)
    assert made.status_code == 200, made.content
    study = benchmark.studies.get()
    people = raters(benchmark, 3)
    start_study(study, people, by=owner)

    def answers(sheet: Sheet) -> dict[str, str]:
        return {"item.preferred": letter_of_source(sheet, "veriscore"), "item.reason": "More facts."}

    client.force_login(people[0])
    page = client.get(reverse("study-next", args=[benchmark.slug, study.public_id]), follow=True)
    shown = BeautifulSoup(page.content, "html.parser").get_text()
    assert "veriscore" not in shown.lower()
    assert "Another claim." in shown
    play_on_screens(study, answers)
    figures = study_figures(study).comparison
    assert figures is not None
    assert {each.source: each.preferred for each in figures.totals} == {"veriscore": 6, "safe": 0}


def test_revisions_of_several_models_are_compared(benchmark: Benchmark) -> None:
    document = DocumentFactory(benchmark=benchmark, prompt="Why?")
    for model in ("gpt-4", "chatgpt"):
        run = run_of(benchmark, "factcheck_gpt", Stage.REVISE, model)
        RevisionSuggestion.objects.create(
            run=run, document=document, with_prompt=f"With, {model}.", without_prompt=f"Without, {model}."
        )
    alone = DocumentFactory(benchmark=benchmark)
    run = run_of(benchmark, "factcheck_gpt", Stage.REVISE, "gpt-4")
    RevisionSuggestion.objects.create(run=run, document=alone, with_prompt="Only one.", without_prompt="")
    (row,) = rows_from_benchmark(benchmark, "revisions")
    assert candidates(row) == {
        "gpt-4, with question": ["With, gpt-4."],
        "gpt-4, without question": ["Without, gpt-4."],
        "chatgpt, with question": ["With, chatgpt."],
        "chatgpt, without question": ["Without, chatgpt."],
    }
    assert (row.prompt, row.text) == ("Why?", document.response)


def test_adjudicated_claims_come_with_their_passages(at_verify: Document) -> None:
    rows = rows_from_benchmark(at_verify.benchmark, "claims-with-passages")
    assert rows
    assert all(row.text and row.data["document"] == at_verify.public_id for row in rows)
    passages = [part for row in rows for part in row.parts]
    assert passages
    assert {part.kind for part in passages} == {"passage"}
    assert all(part.text for part in passages)


def test_without_anything_to_compare_the_reason_is_said(benchmark: Benchmark) -> None:
    with pytest.raises(BadValueError, match="two runs must have suggested something"):
        rows_from_benchmark(benchmark, "revisions")
    with pytest.raises(BadValueError, match="no adjudicated claims yet"):
        rows_from_benchmark(benchmark, "claims-with-passages")
    with pytest.raises(BadValueError, match="Choose one of claims, revisions"):
        rows_from_benchmark(benchmark, "poems")
