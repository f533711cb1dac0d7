"""The API: a document's life through it, versions, blindness, refusals, pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core.models import Benchmark, Document, Membership, User
from annotator.core.vocabulary import Phase, Role, Stage
from annotator.exchange.models import ImportJob
from annotator.integrations.actions.tokens import create_token
from annotator.integrations.api.paging import MOST
from annotator.leaderboard.models import Evaluation
from annotator.stages.actions.submit import submit
from tests.api import ROOT, SECRET_WORK, Api, scene
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    decomposed,
    documents,
    member,
    prefill,
    retrieve,
    with_corpus,
)

pytestmark = pytest.mark.django_db

PROBLEM = "application/problem+json"


def etag(version: int) -> str:
    return f'"{version}"'


def save(api: Api, kind: str, record: dict[str, Any], field: str, value: Any, status: int = 200) -> Any:
    """Save one field of a record as it was read."""
    path = f"/records/{kind}/{record['id']}/"
    return api.send("PATCH", path, {"field": field, "value": value}, status=status, If_Match=etag(record["version"]))


# --- the life of a document -----------------------------------------------------------------------


def test_a_document_becomes_gold_through_the_api_alone() -> None:
    staff = Api(UserFactory(is_staff=True))
    made = staff.send("POST", "/benchmarks/", {"name": "Lovelace", "overlap": 1}, status=201)
    base = f"/benchmarks/{made['slug']}"
    with_corpus(Benchmark.objects.get(slug=made["slug"]))
    given = {"id": "ada-1", "prompt": "Who was Ada?", "response": "Ada Lovelace was a mathematician. She died in 1852."}
    report = staff.send("POST", f"{base}/documents/import/", {"documents": [given]})
    assert (report["read"], report["imported"], report["problems"]) == (1, 1, [])
    document = Document.objects.get(external_id="ada-1")
    retrieve(document)  # the suggestions that the import has asked for
    task = staff.send("POST", "/work/next/")["task"]
    assert (task["document"], task["stage"], task["why"]) == (document.public_id, "decompose", "new")
    path = f"/documents/{document.public_id}"

    work = staff.get(f"{path}/decompose/")
    assert work["missing"] and work["can_edit"]
    for sentence in work["sentences"]:
        work = staff.send("POST", f"/sentences/{sentence['id']}/take-over/", {})
    assert work["missing"] == []
    assert staff.send("POST", f"{path}/decompose/submit/", {})["stage"] == "verify"

    retrieve(document)
    staff.send("POST", f"{path}/verify/start/")
    for claim in staff.get(f"{path}/verify/")["claims"]:
        for passage in claim["evidence"]:
            save(staff, "stance", passage["stance"], "label", "completely_support")
        saved = save(staff, "verdict", claim["verdict"], "factuality", "true")
        assert saved["values"]["factuality"] == "true"
        assert saved["origins"]["factuality"] == "human"
    assert staff.send("POST", f"{path}/verify/submit/", {})["stage"] == "revise"

    retrieve(document)
    staff.send("POST", f"{path}/revise/start/")
    revision = staff.get(f"{path}/revise/")
    assert revision["answer"]["text"] == given["response"]
    gold = staff.send("POST", f"{path}/revise/submit/", {})
    assert gold["is_gold"]
    answer = staff.ask("POST", f"{base}/exports/download/", {"format": "factcheck-bench"})
    assert answer.status_code == 200
    line = json.loads(b"".join(answer.streaming_content))
    assert line["response"] == given["response"]


def test_two_people_settle_a_stage_through_the_api() -> None:
    here = scene()
    ada, ben = Api(here.ada), Api(here.ben)
    sentence = ada.get("/work/")["in_work"][0]
    assert sentence["stage"]
    path = f"/documents/{here.shared.public_id}/consolidation/decompose"
    board = ada.get(f"{path}/")
    assert board["is_open"] and board["open"] == 0
    assert [each["username"] for each in board["people"]] == ["ada", "ben"]
    said = ben.send("POST", f"{path}/comments/", {"text": "Fine with me."}, status=201)
    assert [each["text"] for each in said["comments"]] == ["Fine with me."]
    ada.send("POST", f"{path}/signature/")
    ada.send("DELETE", f"{path}/signature/", status=204)
    ada.send("POST", f"{path}/signature/")
    assert ben.send("POST", f"{path}/signature/")["stage"] == "verify"
    assert ben.get(f"{path}/")["is_open"] is False


def test_a_difference_is_settled_with_the_version_that_was_seen() -> None:
    benchmark = BenchmarkFactory(overlap=2)
    ada, ben = member(benchmark, Role.OWNER), member(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    first = Api(ben).send("POST", f"/documents/{document.public_id}/decompose/start/")
    assert first["state"] == "open"
    work = Api(ben).get(f"/documents/{document.public_id}/decompose/")
    for sentence in work["sentences"]:
        work = Api(ben).send("POST", f"/sentences/{sentence['id']}/take-over/", {})
    other = "less" if work["sentences"][0]["importance"] != "less" else "most"
    save(Api(ben), "sentence", work["sentences"][0], "importance", other)
    Api(ben).send("POST", f"/documents/{document.public_id}/decompose/submit/", {})
    path = f"/documents/{document.public_id}/consolidation/decompose"
    board = Api(ada).get(f"{path}/")
    rows = [row for item in board["items"] for row in item["fields_compared"] if row["is_open"]]
    assert [(row["name"], row["version"]) for row in rows] == [("importance", 0)]
    decide = f"{path}/decisions/{rows[0]['key']}/"
    assert Api(ada).ask("PUT", decide, {"choice": 0}).status_code == 428
    settled = Api(ada).send("PUT", decide, {"choice": 0, "reason": "slip"}, If_Match='"0"')
    assert settled["open"] == 0
    stale = Api(ben).send("PUT", decide, {"choice": 1}, If_Match='"0"', status=412)
    row = next(row for item in settled["items"] for row in item["fields_compared"] if row["key"] == rows[0]["key"])
    assert (stale["version"], stale["yours"]) == (row["version"], 1)
    assert stale["current"] == rows[0]["values"][0]
    assert Api(ada).ask("PUT", decide, {"choice": 0, "value": "most"}, If_Match=etag(row["version"])).status_code == 422
    Api(ben).send("DELETE", decide, status=204)
    assert Api(ada).get(f"{path}/")["open"] == 1


# --- versions -------------------------------------------------------------------------------------


def test_a_stale_save_is_refused_with_both_texts() -> None:
    here = scene()
    api = Api(here.ada)
    path = f"/records/sentence-revision/{here.ids['row_id']}/"
    answer = api.ask("GET", path)
    record, seen = answer.json(), answer["ETag"]
    assert record["values"]["text"] == SECRET_WORK
    assert seen == etag(record["version"])
    saved = api.ask("PATCH", path, {"field": "text", "value": "One."}, If_Match=seen)
    assert saved.status_code == 200
    assert saved["ETag"] == etag(record["version"] + 1)
    stale = api.ask("PATCH", path, {"field": "text", "value": "Two."}, If_Match=seen)
    assert (stale.status_code, stale["Content-Type"]) == (412, PROBLEM)
    told = stale.json()
    assert (told["current"], told["yours"], told["version"]) == ("One.", "Two.", record["version"] + 1)
    assert (
        api.ask("PATCH", path, {"field": "deleted", "value": True}, If_Match=seen).status_code == 200
    )  # another field
    assert api.ask("PATCH", path, {"field": "text", "value": "Two."}).status_code == 428
    assert api.ask("PATCH", path, {"field": "text", "value": "Two."}, If_Match="*").status_code == 428
    assert api.ask("PATCH", path, {"field": "text", "value": "Two."}, If_Match="W/now").status_code == 400


def test_undo_history_and_restore() -> None:
    here = scene()
    api = Api(here.ada)
    path = f"/records/sentence-revision/{here.ids['row_id']}"
    record = api.get(f"{path}/")
    save(api, "sentence-revision", record, "text", "Second.")
    versions = api.get(f"{path}/history/text/")
    assert [each["value"] for each in versions] == ["Second.", SECRET_WORK]
    undone = api.send("POST", f"/documents/{here.document.public_id}/revise/undo/")
    assert undone["action"] == "undo"
    assert api.get(f"{path}/")["values"]["text"] == SECRET_WORK
    api.send("POST", f"/documents/{here.document.public_id}/revise/redo/")
    api.send("POST", f"/documents/{here.document.public_id}/revise/redo/", status=409)
    restored = api.send("POST", f"{path}/restore/", {"field": "text", "activity": versions[1]["activity"]})
    assert restored["values"]["text"] == SECRET_WORK


def test_guidelines_and_prompts_carry_the_number_they_started_from() -> None:
    here = scene()
    api = Api(here.ada)
    for path, method in (("guidelines/", "POST"), ("prompts/papelo/answer/", "PUT")):
        path = f"/benchmarks/tikal/{path}"
        seen = api.ask("GET", path)["ETag"]
        body = {"text": api.get(path)["text"] + "\n\nA new line."}
        fresh = api.ask(method, path, body, If_Match=seen)
        assert fresh.status_code in (200, 201), fresh.content
        assert fresh["ETag"] != seen
        stale = api.ask(method, path, body | {"text": body["text"] + " Another."}, If_Match=seen)
        assert stale.status_code == 412
        assert stale.json()["current"].strip() == body["text"].strip()


def test_what_is_missing_is_listed_at_submit() -> None:
    here = scene()
    fresh = here.benchmark.documents.get(annotations__public_id=here.ids["annotation_id"])
    told = Api(here.ada).send("POST", f"/documents/{fresh.public_id}/decompose/submit/", {}, status=422)
    assert told["missing"]
    assert set(told["missing"][0]) == {"text", "row"}


# --- blindness ------------------------------------------------------------------------------------


def test_a_partners_work_is_invisible_until_both_have_submitted() -> None:
    benchmark = BenchmarkFactory(overlap=2)
    ada, ben = member(benchmark), member(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    annotation = decomposed(document, ada)
    Api(ben).send("POST", f"/documents/{document.public_id}/decompose/start/")
    path = f"/documents/{document.public_id}"
    seen = Api(ben).get(f"{path}/annotations/")
    assert [each["person"]["username"] for each in seen] == [ben.username]
    other = f"{path}/decompose/?annotation={annotation.public_id}"
    assert Api(ben).ask("GET", other).status_code == 404
    sentence = annotation.sentences.order_by("order")[0]
    for method, address in (
        ("GET", f"/records/sentence/{sentence.public_id}/"),
        ("GET", f"/records/sentence/{sentence.public_id}/history/type/"),
        ("POST", f"/sentences/{sentence.public_id}/take-over/"),
        ("GET", f"{path}/consolidation/decompose/"),
    ):
        assert Api(ben).ask(method, address, {} if method == "POST" else None).status_code in (403, 404), address
    assert all(line["who"] != str(ada) for line in Api(ben).get(f"{path}/history/")["results"])
    decomposed(document, ben)
    assert len(Api(ben).get(f"{path}/annotations/")) == 3  # theirs, and the agreed version in the making
    assert Api(ben).get(other)["can_edit"] is False


def test_who_is_bound_to_a_copy_is_not_told_by_the_batch() -> None:
    here = scene()
    fields = Api(here.ben).get(f"/documents/{here.shared.public_id}/")
    assert fields["batch"] is None
    assert Api(here.ben).ask("GET", "/benchmarks/tikal/documents/?batch=x").status_code == 403


# --- tokens and sessions --------------------------------------------------------------------------


def test_a_token_bound_to_a_benchmark_reaches_no_other() -> None:
    here = scene()
    other = BenchmarkFactory()
    Membership.objects.create(benchmark=other, user=here.ada, role=Role.OWNER)
    token = create_token(by=here.ada, name="bound", scopes=["read"], benchmark=other).whole
    headers = {"Authorization": f"Bearer {token}"}
    assert [row["slug"] for row in Api().ask("GET", "/benchmarks/", **headers).json()] == [other.slug]
    assert Api().ask("GET", "/benchmarks/tikal/", **headers).status_code == 404
    assert Api().ask("GET", "/work/", **headers).status_code == 403
    assert Api().ask("GET", "/notices/", **headers).json()["results"] == []
    assert Api().ask("GET", f"/documents/{here.document.public_id}/", **headers).status_code == 404
    assert Api().ask("POST", f"/benchmarks/{other.slug}/groups/", {"name": ""}, **headers).status_code == 403


def test_a_session_needs_the_csrf_token() -> None:
    user = UserFactory()
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    answer = client.patch(f"{ROOT}/me/", {"mail": False}, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (403, PROBLEM)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "given", "status"),
    [
        ("GET", "/nowhere/", {}, 404),
        ("GET", "/me", {}, 404),
        ("DELETE", "/me/", {}, 405),
        ("GET", "/me/", {"headers": {"Accept": "text/csv"}}, 406),
        ("PATCH", "/me/", {"data": "<mail/>", "content_type": "application/xml"}, 415),
        ("PATCH", "/me/", {"data": "{", "content_type": "application/json"}, 400),
        ("PATCH", "/me/", {"data": '{"mail": "yes"}', "content_type": "application/json"}, 400),
        ("PATCH", "/me/", {"data": '{"mail": NaN}', "content_type": "application/json"}, 400),
        ("POST", "/notices/", {"data": '{"up_to": "\\ud800"}', "content_type": "application/json"}, 400),
        ("GET", "/notices/?cursor=AAAA", {}, 404),
        ("GET", "/notices/?size=1000", {}, 400),
        ("GET", "/notices/?size=", {}, 400),
        ("GET", "/benchmarks/none/", {}, 404),
    ],
)
def test_every_refusal_is_a_problem(method: str, path: str, given: dict[str, Any], status: int) -> None:
    answer = Api(UserFactory()).client.generic(method, ROOT + path, **given)
    assert (answer.status_code, answer["Content-Type"]) == (status, PROBLEM)
    told = answer.json()
    assert told["status"] == status
    assert told["instance"] == ROOT + path.partition("?")[0]
    assert {"type", "title", "detail"} <= set(told)


def test_wrong_fields_are_named_with_their_place() -> None:
    here = scene()
    body = {"documents": [{"response": "Fine."}, {"prompt": "No response."}, {"response": 3}]}
    told = Api(here.ada).send("POST", "/benchmarks/tikal/documents/import/", body, status=400)
    assert set(told["errors"]) == {"documents[1].response", "documents[2].response"}
    told = Api(here.ada).send("POST", "/benchmarks/tikal/runs/", {"strategy": "nobody"}, status=422)
    assert "nobody" in told["detail"]


def test_too_many_requests_are_told_when_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from rest_framework.throttling import UserRateThrottle

    monkeypatch.setattr(UserRateThrottle, "THROTTLE_RATES", {"user": "1/minute"})
    cache.clear()
    api = Api(UserFactory())
    assert api.ask("GET", "/me/").status_code == 200
    answer = api.ask("GET", "/me/")
    assert (answer.status_code, answer["Content-Type"]) == (429, PROBLEM)
    assert int(answer["Retry-After"]) > 0


def test_what_goes_wrong_here_is_told_without_a_word_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> int:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr("annotator.team.api.me.unread_count", broken)
    api = Api(UserFactory())
    api.client.raise_request_exception = False
    answer = api.ask("GET", "/me/")
    assert (answer.status_code, answer["Content-Type"]) == (500, PROBLEM)
    assert b"secret" not in answer.content


# --- lists ----------------------------------------------------------------------------------------


def walked(api: Api, path: str) -> list[dict[str, Any]]:
    """All rows of a list, page by page."""
    rows: list[dict[str, Any]] = []
    while path:
        page = api.get(path)
        rows += page["results"]
        path = (page["next"] or "").removeprefix("http://testserver")
    return rows


def test_documents_are_paged_and_narrowed() -> None:
    benchmark = BenchmarkFactory()
    owner = member(benchmark, Role.OWNER)
    made = documents(7, benchmark=benchmark, source="books") + documents(3, benchmark=benchmark, model="m")
    api = Api(owner)
    path = f"/benchmarks/{benchmark.slug}/documents/"
    rows = walked(api, f"{path}?size=3")
    assert [row["id"] for row in rows] == [row.public_id for row in made]
    second = api.get(api.get(f"{path}?size=3")["next"].removeprefix("http://testserver"))
    back = api.get(second["previous"].removeprefix("http://testserver"))
    assert [row["id"] for row in back["results"]] == [row.public_id for row in made[:3]]
    assert len(walked(api, f"{path}?source=books&size=2")) == 7
    assert len(walked(api, f"{path}?model=m")) == 3
    assert len(walked(api, f"{path}?search={made[4].external_id}")) == 1
    assert walked(api, f"{path}?phase=discarded") == []
    assert api.ask("GET", f"{path}?stage=none").status_code == 400


def test_lists_take_as_many_queries_with_two_rows_as_with_twenty() -> None:
    here = scene()
    api = Api(here.ada)
    paths = [
        "/benchmarks/",
        "/notices/",
        "/benchmarks/tikal/documents/",
        "/benchmarks/tikal/runs/",
        "/benchmarks/tikal/imports/",
        "/benchmarks/tikal/batches/",
        "/benchmarks/tikal/invitations/",
        "/benchmarks/tikal/team/",
        f"/documents/{here.document.public_id}/history/",
    ]

    def counted() -> dict[str, int]:
        found = {}
        for path in paths:
            with CaptureQueriesContext(
                connection,
            ) as queries:
                api.get(path)
            found[path] = len(queries)
        return found

    counted()  # what is kept in caches
    before = counted()
    grow(here.benchmark, here.ada)
    assert counted() == before


def grow(benchmark: Benchmark, owner: User) -> None:
    """More of everything that lists show."""
    from annotator.team.actions.batches import How, cut_batch
    from annotator.team.actions.team import invite

    for number in range(5):
        documents(2, benchmark=benchmark)
        cut_batch(benchmark, by=owner, name=f"More {number}", how=How(number=1))
        invite(benchmark, by=owner)
        member(benchmark)
        ImportJob.objects.create(benchmark=benchmark, by=owner, file="", filename=f"{number}.csv", format="csv")
        prefill(DocumentFactory(benchmark=benchmark))


def test_the_longest_page_is_bounded() -> None:
    assert Api(UserFactory()).ask("GET", f"/notices/?size={MOST}").status_code == 200
    assert Api(UserFactory()).ask("GET", f"/notices/?size={MOST + 1}").status_code == 400


# --- a few things that managers do ----------------------------------------------------------------


def test_the_team_and_its_batches() -> None:
    here = scene()
    api = Api(here.ada)
    base = "/benchmarks/tikal"
    group = next(
        each
        for each in api.send("POST", f"{base}/groups/", {"name": "Quetzal"}, status=201)["groups"]
        if each["name"] == "Quetzal"
    )
    seat = f"{base}/groups/{group['id']}/members/ben/"
    card = next(each for each in api.send("PUT", seat, {"seat": "annotator"})["groups"] if each["id"] == group["id"])
    assert card["annotators"] == ["ben"]
    documents(4, benchmark=here.benchmark)
    assert api.send("POST", f"{base}/batches/preview/", {"number": 2})["documents"] >= 4
    batch = api.send("POST", f"{base}/batches/", {"name": "Dawn", "number": 2, "group": group["id"]}, status=201)
    assert (batch["documents"], batch["group"]) == (2, group["id"])
    path = f"{base}/batches/{batch['id']}/"
    assert api.send("PATCH", path, {"name": "Dusk", "group": None})["group"] is None
    row = api.get(f"{base}/documents/?batch={batch['id']}")["results"][0]
    assert api.send("PUT", f"/documents/{row['id']}/batch/", {"batch": None})["batch"] is None
    api.send("DELETE", path, status=204)
    assert api.ask("GET", path).status_code == 404
    people = api.send("PATCH", f"{base}/members/ben/", {"active": False})
    assert [each["username"] for each in people["former"]] == ["ben"]
    assert Api(here.ben).ask("GET", f"{base}/").status_code == 404
    assert (
        Api(here.ada).ask("PATCH", f"{base}/members/ada/", {"role": "annotator"}).status_code == 403
    )  # the only owner


def test_a_document_is_discarded_brought_back_and_passed_on() -> None:
    here = scene()
    api, path = Api(here.ada), f"/documents/{here.shared.public_id}"
    assert api.send("POST", f"{path}/discard/", {"reason": "Broken."})["phase"] == Phase.DISCARDED
    assert Api(here.ben).ask("POST", f"{path}/bring-back/").status_code == 403
    assert api.send("POST", f"{path}/bring-back/")["phase"] == Phase.CONSOLIDATING
    fresh = DocumentFactory(benchmark=here.benchmark)
    flagged = Api(here.ben).send("POST", f"/documents/{fresh.public_id}/flags/", {"reason": "distressing"})
    flag = flagged["flags"][0]
    assert flag["by"]["username"] == "ben"
    api.send("DELETE", f"/documents/{fresh.public_id}/flags/{flag['id']}/", status=204)
    assert api.get(f"/documents/{fresh.public_id}/")["flags"] == []


def test_a_file_is_imported_in_the_background(settings: Any, tmp_path: Any) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    settings.MEDIA_ROOT = tmp_path
    benchmark = BenchmarkFactory()
    owner = member(benchmark, Role.OWNER)
    api = Api(owner)
    file = SimpleUploadedFile("a.jsonl", b'{"answer": "Ada wrote notes.", "prompt": "Who wrote notes?"}\n')
    url = f"{ROOT}/benchmarks/{benchmark.slug}/imports/"
    answer = api.client.post(url, {"file": file, "format": "jsonl", "mapping": '{"response": "answer"}'})
    assert answer.status_code == 202, answer.content
    job = answer.json()
    assert (job["state"], job["filename"]) == ("queued", "a.jsonl")
    assert api.get(f"/benchmarks/{benchmark.slug}/imports/{job['id']}/")["id"] == job["id"]
    cancelled = api.send("POST", f"/benchmarks/{benchmark.slug}/imports/{job['id']}/cancel/")
    assert cancelled["state"] == "cancelled"
    wrong = api.client.post(url, {"file": SimpleUploadedFile("a.jsonl", b"{}"), "mapping": '{"answer": 1}'})
    assert wrong.status_code == 422


def test_a_run_is_started_and_cancelled() -> None:
    benchmark = BenchmarkFactory()
    owner = member(benchmark, Role.OWNER)
    DocumentFactory(benchmark=benchmark)
    api, base = Api(owner), f"/benchmarks/{benchmark.slug}/runs"
    told = api.send("POST", f"{base}/forecast/", {"strategy": "offline"})
    assert told["documents"] == 1
    run = api.send("POST", f"{base}/", {"strategy": "offline", "most": 1}, status=202)
    assert (run["state"], run["total"], run["stage"]) == ("queued", 1, Stage.DECOMPOSE)
    assert api.send("POST", f"{base}/{run['id']}/pause/")["state"] == "paused"
    resumed = api.send("POST", f"{base}/{run['id']}/resume/", {"budget_tokens": 10})
    assert resumed["budget_tokens"] == 10
    assert api.send("POST", f"{base}/{run['id']}/cancel/")["state"] == "cancelled"
    assert api.send("POST", f"{base}/{run['id']}/retry/")["state"] in ("queued", "running")


def test_predictions_are_scored_and_wrong_answers_listed(settings: Any, tmp_path: Any) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    settings.MEDIA_ROOT = tmp_path
    here = scene()
    submit(here.document.annotations.get(stage=Stage.REVISE, person=here.ada), by=here.ada)
    api, base = Api(here.ada), "/benchmarks/tikal/evaluations"
    template = api.ask("GET", f"{base}/template/?task=claim_factuality")
    rows = [json.loads(line) for line in b"".join(template.streaming_content).splitlines()]
    assert rows
    blank = next(name for name, value in rows[0].items() if value is None)
    lines = "".join(json.dumps(row | {blank: "true" if number else "false"}) + "\n" for number, row in enumerate(rows))
    form = {"file": SimpleUploadedFile("p.jsonl", lines.encode()), "task": "claim_factuality", "system": "Coin"}
    answer = api.client.post(f"{ROOT}{base}/", form)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["scored"], made["faults"]) == (len(rows), 0)
    assert made["result"]["accuracy"] == pytest.approx(1 - 1 / len(rows))
    wrong = api.get(f"{base}/{made['id']}/errors/")
    assert [(row["gold"], row["predicted"]) for row in wrong["results"]] == [("true", "false")]
    board = next(each for each in api.get("/benchmarks/tikal/leaderboard/") if each["task"] == "claim_factuality")
    assert made["id"] in [each["evaluation"] for each in board["places"]]
    assert Api(here.ben).ask("GET", f"{base}/").status_code == 403
    assert api.send("PATCH", f"{base}/{made['id']}/", {"hidden": True})["hidden"] is True
    api.send("DELETE", f"{base}/{made['id']}/", status=204)


def test_an_invitation_is_accepted() -> None:
    here = scene()
    made = Api(here.ada).send("POST", "/benchmarks/tikal/invitations/", {"role": "researcher"}, status=201)
    stranger = UserFactory()
    token = made["link"].rstrip("/").rsplit("/", 1)[-1]
    joined = Api(stranger).send("POST", f"/invitations/{token}/accept/")
    assert joined == {"benchmark": "tikal", "role": "researcher"}
    Api(here.ada).send("DELETE", f"/benchmarks/tikal/invitations/{made['id']}/", status=204)
    assert Api(UserFactory()).ask("POST", f"/invitations/{token}/accept/").status_code == 403


def test_many_are_invited_at_once_and_a_link_has_a_limit() -> None:
    here = scene()
    api = Api(here.ada)
    addresses = ["ben@example.org", "cleo@example.org"]
    made = api.send(
        "POST", "/benchmarks/tikal/invitations/many/", {"emails": addresses, "note": "Welcome!"}, status=201
    )
    assert [(each["email"], each["role"], each["note"]) for each in made] == [
        (address, "annotator", "Welcome!") for address in addresses
    ]
    link = api.send("POST", "/benchmarks/tikal/invitations/", {"max_uses": 1, "note": "Hello"}, status=201)
    assert (link["max_uses"], link["uses"], link["note"]) == (1, 0, "Hello")
    token = link["link"].rstrip("/").rsplit("/", 1)[-1]
    Api(UserFactory()).send("POST", f"/invitations/{token}/accept/")
    assert Api(UserFactory()).ask("POST", f"/invitations/{token}/accept/").status_code == 403
    few = api.ask("POST", "/benchmarks/tikal/invitations/many/", {"emails": ["a@example.org"], "role": None})
    assert few.status_code == 422 and "A whole group is" in few.json()["detail"]
    bad = api.ask("POST", "/benchmarks/tikal/invitations/many/", {"emails": ["ben@example.org", "nobody"]})
    assert bad.status_code == 400
    assert len(api.get("/benchmarks/tikal/invitations/")) == 3, "all or none"


@pytest.fixture
def scored(settings: Any, tmp_path: Any) -> Api:
    """The owner of a benchmark with one gold document."""
    settings.MEDIA_ROOT = tmp_path
    here = scene()
    submit(here.document.annotations.get(stage=Stage.REVISE, person=here.ada), by=here.ada)
    return Api(here.ada)


def test_models_are_ranked_by_the_gold_and_by_a_file(scored: Api) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    base = "/benchmarks/tikal/answers/"
    told = scored.get(f"{base}?metric=factscore")
    assert told["scores"]["models"] and told["faults"] == 0
    assert scored.ask("GET", f"{base}?run=nosuchrun").status_code == 404
    labels = [{"label": label} for label in ("supported", "supported", "supported", "refuted")]
    row = {"model": "one", "domain": "a", "claims": labels}

    def sent(**form: str) -> Any:
        file = SimpleUploadedFile("answers.jsonl", json.dumps(row).encode() + b"\nno line\n")
        return scored.client.post(f"{ROOT}{base}", {"metric": "factscore", "file": file, **form}).json()

    bad = sent()
    assert (bad["scores"], bad["faults"], bad["problems"][0]["line"]) == ({}, 1, 2)
    assert sent(partial="true")["scores"]["models"][0]["score"] == 0.75


def test_two_systems_are_compared_only_over_the_same_gold(scored: Api) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    base = "/benchmarks/tikal/evaluations"
    template = b"".join(scored.ask("GET", f"{base}/template/?task=claim_factuality").streaming_content)
    rows = [json.loads(line) for line in template.splitlines()]
    lines = "".join(json.dumps(row | {"label": "true"}) + "\n" for row in rows).encode()
    made = []
    for system in ("One", "Two"):
        form = {"file": SimpleUploadedFile("p.jsonl", lines), "task": "claim_factuality", "system": system}
        made.append(scored.client.post(f"{ROOT}{base}/", form).json()["id"])
    address = f"{base}/{made[0]}/comparison/?against={made[1]}"
    assert scored.get(address)["result"]["difference"]["accuracy"] == 0
    Evaluation.objects.filter(public_id=made[1]).update(gold="another gold")
    assert scored.ask("GET", address).status_code == 409
