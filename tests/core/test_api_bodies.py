"""Bodies that no program sends by accident: refused with a sentence, never a failure."""

from __future__ import annotations

import pytest

from annotator.core.lines import MAX_DEPTH
from annotator.core.vocabulary import Role
from tests.api import ROOT, Api
from tests.factories import BenchmarkFactory, member

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 600, 100_000])
def test_a_body_nested_without_end_is_refused(depth: int) -> None:
    benchmark = BenchmarkFactory()
    api = Api(member(benchmark, Role.OWNER))
    body = '{"version": ' + "[" * depth + "]" * depth + "}"
    answer = api.client.post(f"{ROOT}/benchmarks/{benchmark.slug}/releases/", body, content_type="application/json")
    assert answer.status_code == 400
    assert "nested more than 100 levels deep" in answer.json()["detail"]


def test_a_mapping_nested_without_end_is_refused() -> None:
    benchmark = BenchmarkFactory()
    api = Api(member(benchmark, Role.OWNER))
    answer = api.client.post(f"{ROOT}/benchmarks/{benchmark.slug}/imports/", {"mapping": "[" * 100_000})
    assert answer.status_code == 400
