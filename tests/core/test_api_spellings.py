"""The spellings that the API takes besides its own, and how it describes the fields of records."""

from __future__ import annotations

import pytest

from annotator.core.vocabulary import Role, Stage
from annotator.stages.actions.annotate import open_annotation
from tests.api import Api
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, with_corpus

pytestmark = pytest.mark.django_db


def test_a_whole_number_identifies_a_document_as_its_digits() -> None:
    benchmark = BenchmarkFactory()
    api = Api(member(benchmark, Role.OWNER))
    path = f"/benchmarks/{benchmark.slug}/documents/import/"
    for given, unchanged in ((5, 0), ("5", 1)):
        body = {"documents": [{"id": given, "prompt": "Who?", "response": "Ada."}]}
        answer = api.ask("POST", path, body)
        assert answer.status_code == 200, answer.content
        assert answer.json()["unchanged"] == unchanged
    assert benchmark.documents.get().external_id == "5"


@pytest.mark.parametrize("given", [True, 5.5, ["5"]])
def test_what_is_neither_text_nor_whole_number_is_no_id(given: object) -> None:
    benchmark = BenchmarkFactory()
    api = Api(member(benchmark, Role.OWNER))
    body = {"documents": [{"id": given, "response": "Ada."}]}
    answer = api.ask("POST", f"/benchmarks/{benchmark.slug}/documents/import/", body)
    assert answer.status_code == 400
    assert "Expected text in quotation marks, or a whole number." in answer.content.decode()


def test_a_wrong_type_is_refused_with_what_is_expected() -> None:
    api = Api(member(BenchmarkFactory(slug="b"), Role.OWNER))
    answer = api.ask("POST", "/benchmarks/b/documents/import/", {"documents": [{"response": 5}], "strict": "yes"})
    assert answer.status_code == 400
    errors = answer.json()["errors"]
    assert errors["strict"] == ["Expected true or false."]


@pytest.mark.parametrize("written", ["completely-support", "completely_support"])
def test_a_label_is_taken_with_hyphens_and_answered_with_underscores(written: str) -> None:
    benchmark = BenchmarkFactory(overlap=1)
    ada = member(benchmark)
    with_corpus(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    open_annotation(document, Stage.VERIFY, by=ada)
    api = Api(ada)
    tree = api.get(f"/documents/{document.public_id}/verify/")
    stance = tree["claims"][0]["evidence"][0]["stance"]
    answer = api.ask(
        "PATCH",
        f"/records/stance/{stance['id']}/",
        {"field": "label", "value": written},
        If_Match=f'"{stance["version"]}"',
    )
    assert answer.status_code == 200, answer.content
    assert answer.json()["values"]["label"] == "completely_support"


def test_the_description_names_every_field_of_a_stance_with_its_values() -> None:
    described = Api(member(BenchmarkFactory(), Role.OWNER)).ask("GET", "/schema/?format=json").json()
    properties = described["components"]["schemas"]["FieldInput"]["properties"]
    assert (
        "stance: `label` (completely_support | partially_support | refute | irrelevant)"
        in (properties["field"]["description"])
    )
    assert "rationale as [start, end]" in properties["value"]["description"]
