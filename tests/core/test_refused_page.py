"""The page that says why a form was refused."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from django.test import Client
from django.urls import reverse

from annotator.core.models import Benchmark
from annotator.core.vocabulary import Role
from tests.factories import BenchmarkFactory, member


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("came_from", "back"),
    [
        ("http://testserver/b/tikal/settings/", "http://testserver/b/tikal/settings/"),
        ("https://elsewhere.example/", None),
        ("", None),
    ],
)
def test_it_leads_back_to_the_form_on_this_site_alone(client: Client, came_from: str, back: str | None) -> None:
    benchmark: Benchmark = BenchmarkFactory(slug="tikal", name="Tikal")
    client.force_login(member(benchmark, Role.OWNER))
    url = reverse("settings-change", args=["tikal", "delete"])
    refused = client.post(url, {"name": "Petén"}, headers={"referer": came_from} if came_from else {})
    assert refused.status_code == 422
    page = BeautifulSoup(refused.content, "html.parser")
    assert "Type the name exactly as it is: Tikal" in page.get_text()
    found = [link["href"] for link in page.select(".empty a") if link.get_text() == "Back"]
    assert found == ([back] if back else [])
