"""Which answers are compressed, and what makes that safe."""

from __future__ import annotations

import re

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from config.middleware import CompressPagesMiddleware


def answer(content: bytes, content_type: str = "text/html; charset=utf-8") -> HttpResponse:
    request = RequestFactory().get("/", headers={"accept-encoding": "gzip"})
    answered = CompressPagesMiddleware(lambda _: HttpResponse(content, content_type=content_type))(request)
    assert isinstance(answered, HttpResponse)
    return answered


def test_pages_are_compressed_and_small_answers_and_files_are_not() -> None:
    page = answer(b"<p>text</p>" * 1000)
    assert page["Content-Encoding"] == "gzip"
    assert len(page.content) < 1000
    assert "Accept-Encoding" in page["Vary"]
    assert not answer(b"<p>text</p>" * 100).has_header("Content-Encoding")
    assert not answer(b"text " * 2000, "text/csv").has_header("Content-Encoding")


@pytest.mark.django_db
def test_the_csrf_token_differs_in_each_answer(client: Client) -> None:
    """Nothing that an attacker has a compressed page repeat can match it."""
    pages = [client.get(reverse("login")).content.decode() for _ in range(2)]
    tokens = [re.findall(r'X-CSRFToken": "([^"]+)"', page) for page in pages]
    assert all(tokens)
    assert tokens[0] != tokens[1]
