"""What every answer carries, and who is asked to sign in."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


def private(request: HttpRequest) -> HttpResponse:
    return HttpResponse("<p>private</p>")


@login_not_required
def public(request: HttpRequest) -> HttpResponse:
    return HttpResponse("<p>public</p>")


@login_not_required
def data(request: HttpRequest) -> HttpResponse:
    return HttpResponse("{}", content_type="application/json")


urlpatterns = [
    path("sign-in/", public, name="login"),
    path("private/", private),
    path("public/", public),
    path("data/", data),
]


def test_a_view_without_a_word_about_it_asks_to_sign_in(client: Client) -> None:
    answer = client.get("/private/?page=2")
    assert answer.status_code == 302
    assert answer["Location"] == "/sign-in/?next=/private/%3Fpage%3D2"


def test_htmx_leaves_the_page_and_comes_back_to_it_not_to_the_fragment(client: Client) -> None:
    answer = client.post(
        "/private/",
        headers={"hx-request": "true", "hx-current-url": "http://testserver/documents/7/?claim=3"},
    )
    # Not 2xx: the saving mark must not say "Saved".
    assert answer.status_code == 401
    assert answer["HX-Redirect"] == "/sign-in/?next=%2Fdocuments%2F7%2F%3Fclaim%3D3"
    assert b"<" not in answer.content


def test_htmx_comes_back_to_no_other_host(client: Client) -> None:
    answer = client.get("/private/", headers={"hx-request": "true", "hx-current-url": "https://attacker.example/x"})
    assert answer["HX-Redirect"] == "/sign-in/?next=%2F"


def test_who_is_signed_in_passes(client: Client) -> None:
    client.force_login(get_user_model().objects.create_user(username="ada"))
    assert client.get("/private/").content == b"<p>private</p>"


def test_every_html_answer_varies_on_htmx_and_nothing_else_does(client: Client) -> None:
    assert "HX-Request" in client.get("/public/")["Vary"]
    assert "HX-Request" in client.get("/public/", headers={"hx-request": "true"})["Vary"]
    assert "HX-Request" not in client.get("/data/").get("Vary", "")


def test_the_policy_lets_nothing_in_from_elsewhere_and_nothing_inline(client: Client) -> None:
    answer = client.get("/public/")
    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
