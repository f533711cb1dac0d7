"""What differences a benchmark's gold tells: the command and the statistics page."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.core.models import Benchmark
from annotator.core.vocabulary import Role
from annotator.exchange.actions.imports import import_gold
from tests.factories import BenchmarkFactory, member
from tests.released import numbered

pytestmark = pytest.mark.django_db


@pytest.fixture
def pilot() -> Benchmark:
    return BenchmarkFactory(slug="pilot")


@pytest.fixture
def gold(pilot: Benchmark) -> Benchmark:
    content = "\n".join(json.dumps(numbered(number)) for number in range(6))
    assert import_gold(benchmark=pilot, source=io.BytesIO(content.encode())).imported == 6
    return pilot


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("power", "--benchmark", "pilot", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_says_what_can_be_told(gold: Benchmark) -> None:
    found = json.loads(command("--json"))
    claims = found["tasks"]["claim_factuality"]
    # Of four checked claims one is true, two are false; one lacks evidence and is left out.
    assert (claims["items"], claims["documents"]) == (18, 6)
    assert 0.1 < claims["detectable"]["accuracy"] < 0.7
    needed = claims["documents_for"]["accuracy"]
    assert needed["0.05"] == pytest.approx(4 * needed["0.10"], abs=4)
    more = json.loads(command("--json", "--documents", "24"))["tasks"]["claim_factuality"]
    assert more["detectable"]["accuracy"] == pytest.approx(claims["detectable"]["accuracy"] / 2)
    assert "claim_factuality" in command() and "macro F1" in command()


def test_without_gold_the_command_says_so(pilot: Benchmark) -> None:
    with pytest.raises(CommandError, match="no gold yet"):
        command()


@pytest.mark.parametrize("arguments", [("--accuracy", "1"), ("--documents", "1"), ("--accuracy", "many")])
def test_odd_numbers_are_refused(gold: Benchmark, arguments: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match="is not"):
        command(*arguments)


def test_the_page_has_a_table(gold: Benchmark, client: Client, django_assert_max_num_queries: Any) -> None:
    client.force_login(member(gold, Role.OWNER))
    address = reverse("statistics", args=["pilot"])
    page = BeautifulSoup(client.get(address).content, "html.parser")
    rows = page.select("section[aria-labelledby=power] tbody tr")
    assert [row.th.text for row in rows][:1] == ["Check-worthiness of sentences"]  # type: ignore[union-attr]
    assert len(rows) == 5 and "18" in rows[3].text
    assert "too few" in rows[4].text  # all responses are false: nothing can be told by them
