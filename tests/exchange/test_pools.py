"""Sourcing: a pool of candidates, its filters on record, their counts as a funnel, and coded reasons to discard."""

from __future__ import annotations

import io
import json
from io import StringIO
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, Document, User
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import Phase
from annotator.exchange.actions.pools import add_to_benchmark, create_pool, filter_pool, undo_filter
from annotator.exchange.models import Pool
from annotator.exchange.queries.dataset_card import card_facts
from annotator.exchange.queries.pools import funnel_as_json, funnel_of
from annotator.measures.queries.statistics import discards_of
from annotator.stages.actions.documents import bring_back, discard
from tests.factories import DocumentFactory

pytestmark = pytest.mark.django_db


def rows() -> list[dict[str, Any]]:
    """Four in-house questions, and six from a corpus with reference answers and scores."""
    house = [
        {"id": f"house-{n}", "source": "in-house", "prompt": f"House question {n}?", "response": "Yes. " * 4}
        for n in range(4)
    ]
    corpus = [
        {"id": f"dolly-{n}", "source": "dolly", "prompt": f"What is item number {n} about?",
         "response": "word " * (5 if n == 0 else 30) + f"fact {n}",
         "metadata": {"reference": "word " * 30 + f"fact {n}" if n == 1 else "another answer", "factscore": n / 10}}
        for n in range(6)
    ]  # fmt: skip
    corpus[5]["prompt"] = "what is  item number 4 about"
    return house + corpus


def pool_of(benchmark: Benchmark, by: User, given: list[dict[str, Any]] | None = None) -> Pool:
    content = "".join(json.dumps(row) + "\n" for row in (rows() if given is None else given))
    pool, report = create_pool(benchmark, io.BytesIO(content.encode()), name="First", by=by)
    assert pool is not None, report.problems
    return pool


def test_the_trail_of_filters_is_a_funnel(benchmark: Benchmark, owner: User) -> None:
    pool = pool_of(benchmark, owner)
    dolly = {"sources": ["dolly"]}
    filter_pool(pool, "length", {"at_least": "10", **dolly}, by=owner)  # dolly-0 is short
    filter_pool(pool, "similarity", {"at_most": "0.9", **dolly}, by=owner)  # dolly-1 repeats the reference
    filter_pool(pool, "score", {"field": "factscore", "at_most": "0.45", **dolly}, by=owner)  # dolly-5
    undo_filter(pool, by=owner)
    filter_pool(pool, "duplicates", {}, by=owner)  # dolly-5 asks what dolly-4 asks
    filter_pool(pool, "score", {"field": "factscore", "at_most": "0.3", **dolly}, by=owner)  # dolly-4
    filter_pool(pool, "by_hand", {"ids": ["house-1"], "reason": "riddle"}, by=owner)
    funnel = funnel_of(pool)
    assert [(row.name, row.left, row.taken) for row in funnel] == [
        ("Collected", 10, 0),
        ("Length of the response", 9, 1),
        ("Similarity to a reference answer", 8, 1),
        ("Duplicates", 7, 1),
        ("Machine score", 6, 1),
        ("By hand", 5, 1),
    ]
    assert funnel[0].by_source == {"dolly": 6, "in-house": 4}
    assert funnel[-1].by_source == {"dolly": 2, "in-house": 3}
    assert funnel[-1].reasons == {"Riddle": 1}
    assert funnel[1].words == "10 words or more; dolly only"
    gone = {each.external_id: each.reason for each in pool.candidates.exclude(step=None)}
    assert gone == {
        "dolly-0": "words: 7", "dolly-1": "similarity 1", "dolly-5": "same as dolly-4",
        "dolly-4": "factscore 0.400", "house-1": "Riddle",
    }  # fmt: skip
    assert Activity.objects.filter(action="filter-pool").count() == 6
    report = add_to_benchmark(pool, by=owner)
    assert report.imported == 5
    names = set(benchmark.documents.values_list("external_id", flat=True))
    assert names == {"house-0", "house-2", "house-3", "dolly-2", "dolly-3"}
    assert benchmark.documents.get(external_id="dolly-2").metadata["factscore"] == 0.2
    discard(benchmark.documents.get(external_id="dolly-3"), by=owner, code="procedure")
    pool.refresh_from_db()
    told = funnel_as_json(pool)["funnel"]
    assert (told[-2]["step"], told[-2]["left"], told[-2]["reasons"]) == (
        "Annotated", 4, {"A procedure, not a set of facts": 1},
    )  # fmt: skip
    assert (told[-1]["step"], told[-1]["left"]) == ("Gold", 0)
    with pytest.raises(BadValueError, match="documents now"):
        filter_pool(pool, "duplicates", {}, by=owner)
    with pytest.raises(BadValueError, match="documents already"):
        add_to_benchmark(pool, by=owner)


def test_near_duplicates_of_prompts(benchmark: Benchmark, owner: User) -> None:
    given = [
        {"id": "1", "prompt": "Who wrote the Iliad and the Odyssey?", "response": "Homer."},
        {"id": "2", "prompt": "Who wrote the Iliad and Odyssey?", "response": "Homer."},
        {"id": "3", "prompt": "How tall is Everest?", "response": "8,849 m."},
    ]
    pool = pool_of(benchmark, owner, given)
    assert filter_pool(pool, "duplicates", {}, by=owner).after == 3
    assert filter_pool(pool, "duplicates", {"alike": "85"}, by=owner).after == 2
    assert pool.candidates.get(external_id="2").reason.endswith("% like 1")


@pytest.mark.parametrize(
    ("kind", "values", "problem"),
    [
        ("length", {}, "Enter a minimum, a maximum or both"),
        ("length", {"at_least": "many"}, "“many” isn’t a number"),
        ("length", {"at_least": "1", "sources": ["web"]}, "has the source “web”"),
        ("similarity", {"at_most": "0.5"}, "4 candidates have no “reference”.*house-0"),
        ("score", {"at_most": "1"}, "Enter the metadata field"),
        ("score", {"at_most": "1", "field": "factscore"}, "house-0 has no number “factscore”"),
        ("duplicates", {"alike": "0"}, "above 0 and up to 100"),
        ("by_hand", {"ids": ["house-0"], "reason": "ugly"}, "Choose a reason"),
        ("by_hand", {"ids": ["house-0"], "reason": "other"}, "Say what the other reason is"),
        ("by_hand", {"ids": ["web-1"], "reason": "riddle"}, "“web-1” isn’t among the remaining candidates"),
        ("by_hand", {"reason": "riddle"}, "Choose candidates"),
        ("color", {}, "Choose a filter"),
    ],
)
def test_a_filter_that_cannot_be_applied_says_what_to_do(
    benchmark: Benchmark, owner: User, kind: str, values: dict[str, Any], problem: str
) -> None:
    pool = pool_of(benchmark, owner)
    with pytest.raises(BadValueError, match=problem):
        filter_pool(pool, kind, values, by=owner)
    assert not pool.steps.exists()


def test_a_bad_file_brings_nothing(benchmark: Benchmark, owner: User, ada: User) -> None:
    content = b'{"id": "1", "prompt": "p", "response": "r"}\n{"id": "2", "prompt": "p"}\n'
    pool, report = create_pool(benchmark, io.BytesIO(content), name="Bad", by=owner)
    assert pool is None
    assert "line 2" in str(report.problems[0])
    assert not benchmark.pools.exists()
    with pytest.raises(NotAllowedError):
        create_pool(benchmark, io.BytesIO(content), name="Bad", by=ada)


def test_the_pages_from_a_file_to_documents(client: Client, benchmark: Benchmark, owner: User, ada: User) -> None:
    content = "".join(json.dumps(row) + "\n" for row in rows()).encode()
    url = reverse("pools", args=[benchmark.slug])
    client.force_login(ada)
    assert client.get(url).status_code == 403
    client.force_login(owner)
    made = client.post(url, {"name": "First", "file": SimpleUploadedFile("pool.jsonl", content)})
    assert made.status_code == 302, made.content
    pool = benchmark.pools.get()

    def change(what: str, **sent: Any) -> BeautifulSoup:
        answer = client.post(reverse("pool-change", args=[benchmark.slug, pool.public_id, what]), sent, follow=True)
        assert answer.status_code == 200, answer.content
        return BeautifulSoup(answer.content, "html.parser")

    change("filter", kind="length", at_least="10", sources=["dolly"])
    page = change("filter", kind="by_hand", ids=["house-1", "house-2"], reason="broken")
    cells = [[cell.get_text(" ", strip=True) for cell in row.select("td")] for row in page.select(".funnel tbody tr")]
    assert [row[0] for row in cells] == ["10", "9", "7"]
    assert cells[2][2] == "2 Broken response: 2"
    page = change("undo")
    assert len(page.select(".funnel tbody tr")) == 2
    change("add")
    assert benchmark.documents.count() == 9
    bad = client.post(url, {"name": "Second", "file": SimpleUploadedFile("pool.jsonl", b'{"prompt": "p"}\n')})
    assert bad.status_code == 422
    assert "line 1" in bad.content.decode()


# --- coded reasons to discard ---------------------------------------------------------------------


def test_reasons_are_counted_in_statistics_and_on_the_card(client: Client, benchmark: Benchmark, owner: User) -> None:
    documents = [DocumentFactory(benchmark=benchmark) for _ in range(4)]
    discard(documents[0], by=owner, code="procedure")
    discard(documents[1], by=owner, code="procedure")
    discard(documents[2], "Nobody agrees", by=owner, code="disputed")
    discard(documents[3], "It is empty", by=owner)
    assert discards_of(benchmark) == {"procedure": 2, "disputed": 1, "other": 1}
    assert card_facts(benchmark).discards == {"procedure": 2, "disputed": 1, "other": 1}
    assert [Document.objects.get(pk=each.pk).discarded_because for each in documents[1:]] == [
        "A procedure, not a set of facts",
        "Highly disputed: Nobody agrees",
        "It is empty",
    ]
    bring_back(Document.objects.get(pk=documents[0].pk), by=owner)
    assert discards_of(benchmark)["procedure"] == 1
    out = StringIO()
    call_command("statistics", benchmark=benchmark.slug, json=True, stdout=out)
    assert json.loads(out.getvalue())["counted"]["discarded_because"] == {"procedure": 1, "disputed": 1, "other": 1}
    client.force_login(owner)
    page = client.get(reverse("statistics", args=[benchmark.slug])).content.decode()
    assert "Discarded: A procedure, not a set of facts 1; Highly disputed 1; Other 1." in page


def test_a_reason_is_chosen_and_other_is_said(client: Client, benchmark: Benchmark, owner: User) -> None:
    document = DocumentFactory(benchmark=benchmark)
    with pytest.raises(BadValueError, match="Choose a reason"):
        discard(document, "Why not", by=owner, code="ugly")
    with pytest.raises(BadValueError, match="Give a short reason"):
        discard(document, "", by=owner, code="other")
    client.force_login(owner)
    url = reverse("document-change", args=[document.public_id, "discard"])
    client.post(url, {"code": "riddle", "reason": ""})
    document.refresh_from_db()
    assert (document.phase, document.discard_code, document.discard_reason) == (Phase.DISCARDED, "riddle", "")
    answer = client.post(f"/api/v1/documents/{document.public_id}/bring-back/")
    answer = client.post(
        f"/api/v1/documents/{document.public_id}/discard/", {"code": "broken"}, content_type="application/json"
    )
    assert answer.json()["discard_code"] == "broken", answer.content
