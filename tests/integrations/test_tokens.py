"""Tokens: made, used by a program, over; and that the secret is nowhere but with the person."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any, cast

import pytest
from bs4 import BeautifulSoup, Tag
from django.apps import apps
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.http import Http404
from django.test import Client
from django.utils import timezone
from django.views.debug import ExceptionReporter
from pytest_django import DjangoAssertNumQueries
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, Document, User
from annotator.core.vocabulary import Scope
from annotator.integrations.actions import tokens
from annotator.integrations.actions.tokens import NewToken, create_token, revoke_token, token_for
from annotator.integrations.api.authentication import TokenAuthentication
from annotator.integrations.api.scopes import HasScope, check_reaches, reached
from annotator.integrations.models import ApiToken
from annotator.integrations.queries.tokens import state_of, tokens_of
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, member
from tests.teams import get

pytestmark = pytest.mark.django_db

ALL = list(Scope)


class Views(APIView):
    """What a view of the API looks like to a token."""

    authentication_classes = (TokenAuthentication,)
    permission_classes = (HasScope,)
    scope: Any = None

    def get(self, request: Request) -> Response:
        return Response({"person": str(request.user)})

    post = delete = get


def ask(authorization: str | None, method: str = "get", scope: Any = None) -> Response:
    headers = {} if authorization is None else {"Authorization": authorization}
    request = getattr(APIRequestFactory(), method)("/", headers=headers)
    answer: Response = Views.as_view(scope=scope)(request)
    answer.render() if hasattr(answer, "accepted_renderer") else None
    return answer


def made(user: User, *scopes: Scope, **fields: Any) -> NewToken:
    return create_token(by=user, name="Nightly import", scopes=scopes or ALL, **fields)


@pytest.fixture
def ada() -> User:
    return UserFactory(display_name="Ada")


# --- making ---------------------------------------------------------------------------------------


def test_a_token_opens_the_api_in_its_persons_name(ada: User) -> None:
    whole = made(ada).whole
    assert whole.startswith("ts_")
    answer = ask(f"Bearer {whole}")
    assert (answer.status_code, answer.data) == (200, {"person": "Ada"})
    assert ask(f"bearer  {whole} ").status_code == 200


def test_the_secret_is_in_no_row_and_no_log(ada: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    benchmark = BenchmarkFactory()
    member_of = member(benchmark)
    new = made(member_of, benchmark=benchmark)
    ask(f"Bearer {new.whole}")
    ask(f"Bearer {new.whole}x")
    revoke_token(new.token, by=member_of)
    ask(f"Bearer {new.whole}")
    secret = new.whole.split("_", 2)[2]
    assert len(secret) >= 43  # 256 bits
    models: list[type[Model]] = [*apps.get_app_config("annotator").get_models(), Session]
    for model in models:
        for row in model._default_manager.values_list():
            assert secret not in str(row), model.__name__
    assert secret not in caplog.text + repr(new) + str(new.token)
    assert Activity.objects.filter(action="create-token", by=member_of, benchmark=benchmark).count() == 1
    assert Activity.objects.filter(action="revoke-token", by=member_of, benchmark=benchmark).count() == 1


def test_the_secret_is_in_no_error_report(ada: User, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.DEBUG = False
    new = made(ada)

    def fails(*_: object) -> None:
        raise RuntimeError("The disk is full.")

    monkeypatch.setattr(tokens, "_note_use", fails)
    request = APIRequestFactory().get("/", headers={"Authorization": f"Bearer {new.whole}"})
    with pytest.raises(RuntimeError) as failure:
        TokenAuthentication().authenticate(Request(request))
    report = ExceptionReporter(request, failure.type, failure.value, failure.tb)
    # This test's own frame knows the token; all that lies below it does not.
    frames = [frame for frame in report.get_traceback_frames() if frame["filename"] != __file__]
    assert any(frame["function"] == "token_for" for frame in frames)
    said = str([frame["vars"] for frame in frames]) + str(report.filter.get_safe_request_meta(request))
    assert new.whole.split("_", 2)[2] not in said


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 101}, "101 characters"),
        ({"scopes": []}, "at least one"),
        ({"scopes": ["read", "everything"]}, "“everything” isn’t a valid scope"),
        ({"days": 0}, "between 1 and 365"),
        ({"days": 366}, "between 1 and 365"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(ada: User, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadValueError, match=words):
        create_token(**cast(Any, {"by": ada, "name": "Import", "scopes": ALL} | fields))
    assert not ApiToken.objects.exists()


def test_nobody_binds_a_token_to_a_benchmark_that_they_are_not_in(ada: User) -> None:
    with pytest.raises(rules.NotAllowedError):
        made(ada, benchmark=BenchmarkFactory())


def test_a_token_holds_ninety_days_unless_said_otherwise(ada: User) -> None:
    held = made(ada).token.expires_at - timezone.now()
    assert dt.timedelta(days=89, hours=23) < held <= dt.timedelta(days=90)


def test_tokens_in_use_are_bounded(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    first, _ = made(ada), made(ada)
    with pytest.raises(BadValueError, match="You have 2 active tokens"):
        made(ada)
    revoke_token(first.token, by=ada)
    made(ada)


def test_the_database_wants_an_end(ada: User) -> None:
    new = made(ada)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.filter(pk=new.token.pk).update(expires_at=new.token.created_at)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.filter(pk=new.token.pk).update(expires_at=None)


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent", ["ts_abc_def", "abc", "ts_", "ts__", "ts_\x00_x", "Bearer ts_a_b", "é" * 50, "ts_" + "a" * 900]
)
def test_an_unknown_token_is_refused_without_repeating_it(sent: str) -> None:
    answer = ask(f"Bearer {sent}")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="Touchstone", error="invalid_token"'
    assert "Unknown token" in answer.data["detail"]
    assert sent == "ts_" or sent not in answer.data["detail"]


def test_a_wrong_secret_behind_a_right_prefix_is_as_unknown_as_any(ada: User) -> None:
    new = made(ada)
    revoke_token(new.token, by=ada)
    answer = ask(f"Bearer ts_{new.token.prefix}_wrong")
    assert "Unknown token" in answer.data["detail"]  # not: revoked
    assert ask(f"Bearer ts_{new.token.prefix}_{new.token.digest}").status_code == 401  # the digest is no key


def test_without_a_token_the_answer_says_how_to_sign_in() -> None:
    refused = Views.as_view(permission_classes=[_OnlySignedIn])(APIRequestFactory().get("/"))
    assert refused.status_code == 401
    assert refused["WWW-Authenticate"] == 'Bearer realm="Touchstone"'
    assert ask("Bearer").status_code == 401
    assert ask("Basic YTpi").status_code == 200  # left to the next way of signing in; this view asks for none


class _OnlySignedIn(HasScope):
    def has_permission(self, request: Request, view: Any) -> bool:
        return not isinstance(request.user, AnonymousUser) and super().has_permission(request, view)


def test_what_is_over_says_so_to_whoever_has_the_secret(ada: User) -> None:
    new = made(ada)
    revoke_token(new.token, by=ada)
    revoke_token(new.token, by=ada)  # twice changes nothing
    assert "was revoked on" in ask(f"Bearer {new.whole}").data["detail"]
    assert Activity.objects.filter(action="revoke-token").count() == 1
    old = made(ada)
    long_ago = timezone.now() - dt.timedelta(days=90)
    ApiToken.objects.filter(pk=old.token.pk).update(
        created_at=long_ago, expires_at=timezone.now() - dt.timedelta(seconds=1)
    )
    assert "expired on" in ask(f"Bearer {old.whole}").data["detail"]
    gone = made(ada)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    answer = ask(f"Bearer {gone.whole}")
    assert (answer.status_code, "no longer active" in answer.data["detail"]) == (401, True)


def test_only_its_person_revokes_a_token(ada: User) -> None:
    new = made(ada)
    with pytest.raises(rules.NotAllowedError):
        revoke_token(new.token, by=UserFactory(is_superuser=True))
    assert ask(f"Bearer {new.whole}").status_code == 200


# --- scopes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "method", "may", "may_not"),
    [
        (None, "get", {Scope.READ}, {Scope.ANNOTATE, Scope.MANAGE, Scope.EXPORT}),
        (None, "post", {Scope.ANNOTATE, Scope.MANAGE}, {Scope.READ, Scope.EXPORT}),
        (None, "delete", {Scope.ANNOTATE, Scope.MANAGE}, {Scope.READ, Scope.EXPORT}),
        (Scope.EXPORT, "get", {Scope.EXPORT}, {Scope.READ, Scope.MANAGE}),
        ("manage", "post", {Scope.MANAGE}, {Scope.ANNOTATE}),
        ({"POST": Scope.READ}, "post", {Scope.READ}, {Scope.MANAGE}),
        ({"POST": Scope.MANAGE}, "get", {Scope.READ}, {Scope.MANAGE}),
    ],
)
def test_a_token_does_what_its_scopes_allow(
    ada: User, scope: Any, method: str, may: set[Scope], may_not: set[Scope]
) -> None:
    for each in may:
        assert ask(f"Bearer {made(ada, each).whole}", method, scope).status_code == 200, each
    for each in may_not:
        refused = ask(f"Bearer {made(ada, each).whole}", method, scope)
        assert refused.status_code == 403, each
        assert "doesn’t have the required scope" in refused.data["detail"]
        assert 'error="insufficient_scope"' in refused["WWW-Authenticate"]


def test_a_session_has_all_scopes(ada: User) -> None:
    request = APIRequestFactory().delete("/")
    force_authenticate(request, user=ada)
    assert Views.as_view(scope=Scope.MANAGE)(request).status_code == 200


def test_for_a_bound_token_no_other_benchmark_exists(ada: User) -> None:
    mine, other = BenchmarkFactory(), BenchmarkFactory()
    for benchmark in (mine, other):
        DocumentFactory(benchmark=benchmark)
    person = member(mine)

    def seen_by(new: NewToken) -> list[set[str]]:
        request = Request(
            APIRequestFactory().get("/", headers={"Authorization": f"Bearer {new.whole}"}),
            authenticators=[TokenAuthentication()],
        )
        found = set()
        for benchmark in (mine, other):
            try:
                check_reaches(request, benchmark)
                found.add(benchmark.slug)
            except Http404:
                pass
        return [
            found,
            {row.slug for row in reached(request, Benchmark.objects.all(), "pk")},
            {row.benchmark.slug for row in reached(request, Document.objects.all())},
        ]

    assert seen_by(made(person, benchmark=mine)) == [{mine.slug}] * 3
    assert seen_by(made(person)) == [{mine.slug, other.slug}] * 3  # the rules hold it, not the token


# --- use ------------------------------------------------------------------------------------------


def test_its_use_is_noted_once_a_minute(ada: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    new = made(ada)
    with django_assert_num_queries(2):
        token_for(new.whole)
    with django_assert_num_queries(1):
        token_for(new.whole)
    noted = ApiToken.objects.get(pk=new.token.pk).last_used_at
    assert noted is not None
    ApiToken.objects.filter(pk=new.token.pk).update(last_used_at=noted - dt.timedelta(seconds=61))
    token_for(new.whole)
    again = ApiToken.objects.get(pk=new.token.pk).last_used_at
    assert again is not None and again >= noted


def test_the_list_begins_with_what_is_in_use(ada: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    names = ["in use", "revoked", "ending", "newest"]
    rows = [create_token(by=ada, name=name, scopes=ALL, days=3 if name == "ending" else 90).token for name in names]
    revoke_token(rows[1], by=ada)
    made(UserFactory())
    now = timezone.now()
    with django_assert_num_queries(1):
        found = tokens_of(ada, now)
    assert [(row.name, state_of(row, now)) for row in found] == [
        ("newest", "in use"),
        ("ending", "ending"),
        ("in use", "in use"),
        ("revoked", "revoked"),
    ]
    assert state_of(rows[0], now + dt.timedelta(days=91)) == "expired"


# --- the page -------------------------------------------------------------------------------------


def test_the_page_shows_a_new_token_once(client: Client, ada: User) -> None:
    client.force_login(ada)
    sent = {"name": "Nightly import", "scopes": ["read", "manage"], "days": "30", "benchmark": ""}
    answer = client.post("/account/tokens/new/", sent)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    field = BeautifulSoup(answer.content, "html.parser").find(id="new-token")
    assert isinstance(field, Tag)
    whole = str(field["value"])
    assert ask(f"Bearer {whole}").status_code == 200
    token = ada.api_tokens.get()
    assert (token.name, token.scopes, token.benchmark) == ("Nightly import", ["read", "manage"], None)
    assert token.expires_at - token.created_at <= dt.timedelta(days=30)
    page = client.get("/account/tokens/")
    assert whole not in page.content.decode() and token.prefix in page.content.decode()
    assert client.post(f"/account/tokens/{token.public_id}/revoke/").status_code == 302
    assert ask(f"Bearer {whole}").status_code == 401
    assert "1 expired or revoked" in get(client, ada, "/account/tokens/").get_text()


def test_the_form_keeps_what_was_typed_and_says_what_is_wrong(client: Client, ada: User) -> None:
    other = BenchmarkFactory(name="Somebody else’s")
    client.force_login(ada)
    for sent, words in (
        ({"name": "Kept", "days": "90"}, "Choose at least one scope."),
        ({"name": "Kept", "days": "9999", "scopes": ["read"]}, "9999"),
        ({"name": "Kept", "days": "90", "scopes": ["all"]}, "not one of the available"),
        ({"name": "Kept", "days": "90", "scopes": ["read"], "benchmark": str(other.pk)}, "not one of the available"),
    ):
        answer = client.post("/account/tokens/new/", sent)
        assert (answer.status_code, words in answer.content.decode()) == (422, True), words
        assert 'value="Kept"' in answer.content.decode()
    assert not ada.api_tokens.exists()


def test_the_page_does_not_open_for_who_has_only_a_token(client: Client, ada: User) -> None:
    """A token that has leaked cannot make itself a successor."""
    authorization = f"Bearer {made(ada).whole}"
    for url in ("/account/tokens/", "/account/tokens/new/"):
        answer = client.post(url, {"name": "x"}, headers={"Authorization": authorization})
        assert (answer.status_code, answer["Location"].startswith("/sign-in/")) == (302, True)


def test_the_list_costs_the_same_however_long(
    client: Client, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(ada)
    for number in (1, 5):
        for _ in range(number):
            made(ada)
        with django_assert_num_queries(5):
            client.get("/account/tokens/")
