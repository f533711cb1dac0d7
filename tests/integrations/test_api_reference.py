"""The reference of the API in the browser says what the description says, and asks no other host."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.urls import reverse

from annotator.integrations.queries.api_reference import api_reference, arranged, type_of
from tests.factories import UserFactory

SCHEMA = {
    "paths": {
        "/claims/{id}/": {
            "patch": {
                "operationId": "claim_change", "tags": ["work"], "summary": "Change a claim",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/ClaimInput"}, "example": {"label": "true"},
                }}},
                "responses": {"200": {"content": {"application/json": {
                    "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Claim"}},
                }}}, "404": {"description": "gone"}},
            }
        }
    },
    "components": {"schemas": {
        "Claim": {"type": "object", "properties": {"edits": {
            "type": "array", "items": {"$ref": "#/components/schemas/Claim"}}}},
        "ClaimInput": {"type": "object", "required": ["label"], "properties": {
            "label": {"oneOf": [{"enum": ["true", "false"]}, {"type": "null"}], "description": "The verdict."}}},
    }},
}  # fmt: skip


def test_an_operation_names_its_parameters_body_and_answer() -> None:
    (operation,) = arranged(SCHEMA)["work"]
    assert (operation.method, operation.path, operation.answer_status) == ("PATCH", "/claims/{id}/", "200")
    assert [(each.name, each.required) for each in operation.parameters] == [("id (path)", True)]
    (label,) = operation.body
    assert (label.type, label.required, label.description) == ("one of true, false or null", True, "The verdict.")
    assert [each.type for each in operation.answer] == ["list of Claim"]
    assert operation.body_example == '{\n  "label": "true"\n}'


def test_types_are_said_in_words() -> None:
    assert type_of(SCHEMA, {"type": ["string", "null"], "format": "date"}) == "string or null (date)"
    assert type_of(SCHEMA, {}) == "any"


@pytest.mark.django_db
def test_the_page_has_every_operation_and_no_other_host(client: Client) -> None:
    client.force_login(UserFactory())
    page = BeautifulSoup(client.get(reverse("api-reference")).content, "html.parser")
    ids = {each["id"] for each in page.select("details[id]")}
    described = {operation.id for operations in api_reference().values() for operation in operations}
    assert "invitations_create" in ids and ids == described
    save = page.select_one("details code:-soup-contains('/api/v1/records/')")
    assert save is not None
    assert not page.select("script[src^=http], link[href^=http], img[src^=http]")
