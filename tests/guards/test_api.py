"""Walks every operation of the API: who is not signed in is told so, strangers find nothing, nobody sees or changes
anybody else's open work, a token does no more than its scopes; and the description is complete and current.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.apps import apps
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from annotator.core.models import Membership, User
from annotator.core.vocabulary import Role, Scope
from annotator.integrations.actions.tokens import create_token
from annotator.integrations.models import ApiToken
from tests.api import ROOT, SECRET_PROMPT, SECRET_WORK, Api, Scene, scene
from tests.factories import BenchmarkFactory, UserFactory, member

DESCRIPTION = Path(__file__).resolve().parents[2] / "docs" / "api" / "openapi.yaml"
# Each person's own, and what there is to choose: they name no row of a benchmark.
OWN = (
    "/me/", "/notices/", "/work/", "/work/next/", "/strategies/", "/corpora/", "/benchmarks/",
    "/invitations/{token}/accept/",
)  # fmt: skip
# POSTs that change nothing: a token that reads may send them.
READS = {"batch_preview", "run_forecast"}


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    """What the views say of themselves now."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path below the root, and what is said of it."""
    for path, item in description["paths"].items():
        for method, found in item.items():
            yield method.upper(), path.removeprefix(ROOT), found


def filled(path: str, here: Scene) -> str:
    """The path with rows that exist."""
    ids = dict(here.ids)
    if "/consolidation/" in path:
        ids |= {"public_id": here.shared.public_id, "stage": "decompose"}
    return re.sub(r"{(\w+)}", lambda name: ids[name[1]], path)


def body_of(found: dict[str, Any]) -> Any:
    """The example of an operation's body; None where it has none in JSON."""
    return found.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")


def said(answer: Any) -> str:
    return str((b"".join(answer.streaming_content) if answer.streaming else answer.content).decode())


def everything() -> dict[str, list[Any]]:
    """All rows of the app, to compare; signing in and a token's use leave a time behind."""
    models = apps.get_app_config("annotator").get_models()
    return {
        model.__name__: sorted(model._default_manager.values_list(), key=str)
        for model in models
        if model not in (User, ApiToken)
    }


# --- who is let in --------------------------------------------------------------------------------


@pytest.mark.django_db
def test_who_is_not_signed_in_is_told_so_everywhere(description: dict[str, Any]) -> None:
    here = scene()
    before = everything()
    for method, path, found in operations(description):
        answer = Api().ask(method, filled(path, here), body_of(found))
        assert answer.status_code == 401, (method, path)
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert answer["Content-Type"] == "application/problem+json"
    assert Api().ask("GET", "/schema/").status_code == 401
    assert everything() == before


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["stranger", "staff", "former member"])
def test_for_strangers_no_benchmark_and_no_document_exists(description: dict[str, Any], who: str) -> None:
    here = scene()
    person = member(here.benchmark) if who == "former member" else UserFactory(is_staff=who == "staff")
    person.memberships.update(active=False)
    api, before = Api(person), everything()
    for method, path, found in operations(description):
        if path in OWN:
            continue
        answer = api.ask(method, filled(path, here), body_of(found), If_Match='"1"')
        assert answer.status_code == 404 or (method != "GET" and answer.status_code in (400, 415)), (method, path)
        for secret in (SECRET_PROMPT, SECRET_WORK, "Tikal"):
            assert secret not in said(answer), (method, path)
    assert everything() == before


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.ADMIN, Role.RESEARCHER, Role.THIRD_RATER])
def test_nobody_sees_the_open_work_of_another_member(description: dict[str, Any], role: Role) -> None:
    here = scene()
    api = Api(member(here.benchmark, role))
    revision = here.document.annotations.get(stage="revise")
    for method, path, _ in operations(description):
        if method == "GET":
            for query in ("", f"?annotation={revision.public_id}", f"?search={SECRET_WORK[:20]}"):
                assert SECRET_WORK not in said(api.ask("GET", filled(path, here) + query)), path
    assert SECRET_PROMPT in said(api.ask("GET", f"/documents/{here.document.public_id}/"))  # that is the members'


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.ADMIN, Role.RESEARCHER])
def test_nobody_changes_the_open_work_of_another_member(description: dict[str, Any], role: Role) -> None:
    here = scene()
    api = Api(member(here.benchmark, role))
    for method, path, found in operations(description):
        if method != "GET" and re.match(r"/(records|sentences|claims|evidence|verdicts|sentence-revisions)/", path):
            answer = api.ask(method, filled(path, here), body_of(found), If_Match='"1"')
            assert answer.status_code == 404, (method, path, said(answer))


@pytest.mark.django_db
def test_annotators_and_researchers_manage_nothing(description: dict[str, Any]) -> None:
    here = scene()
    for role in (Role.ANNOTATOR, Role.RESEARCHER):
        api = Api(member(here.benchmark, role))
        for method, path, found in operations(description):
            managing = found["tags"][0] in ("team", "batches", "runs", "imports")
            if managing and (method != "GET" or found["tags"][0] != "team"):
                answer = api.ask(method, filled(path, here), body_of(found))
                assert answer.status_code == 403, (method, path)


@pytest.mark.database  # the queries behind every address
@pytest.mark.django_db
def test_the_same_addresses_are_there_for_whoever_owns_them(description: dict[str, Any]) -> None:
    """Without this the tests above could pass on wrong addresses."""
    here = scene()
    here.ada.is_staff = True
    here.ada.save()
    api = Api(here.ada)
    for method, path, _ in operations(description):
        if method == "GET":
            answer = api.ask("GET", filled(path, here))
            # The document is none for practice; the release was never made; a template asks for a task, a comparison
            # for another system; there is no gold, so no item of it.
            others = {
                "{public_id}/practice/": 404,
                "/download/": 409,
                "/template/": 400,
                "/comparison/": 400,
                "/crossed/": 400,
                "{item_id}/": 404,
            }
            expected = next((code for end, code in others.items() if path.endswith(end)), 200)
            assert answer.status_code == expected, (path, said(answer))


@pytest.mark.django_db
def test_a_token_that_reads_changes_nothing(description: dict[str, Any]) -> None:
    here = scene()
    token = create_token(by=here.ada, name="reads", scopes=[Scope.READ]).whole
    before = everything()
    for method, path, found in operations(description):
        if method != "GET" and found["operationId"] not in READS:
            answer = Api().ask(method, filled(path, here), body_of(found), Authorization=f"Bearer {token}")
            assert answer.status_code == 403, (method, path)
            assert "scope" in answer.json()["detail"], (method, path)
    assert everything() == before


@pytest.mark.django_db
def test_for_a_token_bound_to_a_benchmark_no_other_one_exists(description: dict[str, Any]) -> None:
    here = scene()
    here.ada.is_staff = True
    here.ada.save()
    other = BenchmarkFactory()
    Membership.objects.create(benchmark=other, user=here.ada, role=Role.OWNER)
    token = create_token(by=here.ada, name="bound", scopes=list(Scope), benchmark=other).whole
    before = everything()
    for method, path, found in operations(description):
        answer = Api().ask(method, filled(path, here), body_of(found), If_Match='"1"', Authorization=f"Bearer {token}")
        expected = (200, 400, 403, 415) if path in OWN else (404,) if method == "GET" else (400, 404, 415)
        assert answer.status_code in expected, (method, path, answer.status_code)
        for secret in (SECRET_PROMPT, SECRET_WORK, "Tikal", "tikal/"):
            assert secret not in said(answer).replace(filled(path, here), ""), (method, path)
    assert everything() == before
    assert Api().ask("GET", f"/benchmarks/{other.slug}/", Authorization=f"Bearer {token}").status_code == 200


# --- the description ------------------------------------------------------------------------------


def test_the_description_that_is_published_is_current(description: dict[str, Any]) -> None:
    assert yaml.safe_load(DESCRIPTION.read_text()) == description, (
        "Write it anew: manage.py spectacular --file docs/api/openapi.yaml"
    )


def test_every_operation_has_a_name_words_and_an_example(description: dict[str, Any]) -> None:
    names = []
    for method, path, found in operations(description):
        names.append(found["operationId"])
        assert found["summary"], (method, path)
        assert found["description"], (method, path)
        assert {"401", "403"} <= set(found["responses"]), (method, path)
        assert found["security"], (method, path)
        for code, answer in found["responses"].items():
            for form, media in answer.get("content", {}).items():
                assert "example" in media or not form.endswith("json") or media["schema"].get("format") == "binary", (
                    method,
                    path,
                    code,
                )
    assert len(names) == len(set(names))


def test_the_examples_are_what_they_are_examples_of(description: dict[str, Any]) -> None:
    for method, path, found in operations(description):
        media = [*found.get("requestBody", {}).get("content", {}).values()]
        media += [each for answer in found["responses"].values() for each in answer.get("content", {}).values()]
        for each in media:
            if "example" in each and each["schema"].get("format") != "binary":
                schema = {**each["schema"], "components": description["components"]}
                errors = [error.message for error in Draft202012Validator(schema).iter_errors(each["example"])]
                assert not errors, (method, path, errors)
