"""Accounts: passwords, mailed links, second steps, sessions, and floods of sign-ins."""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from bs4 import BeautifulSoup
from django.contrib.auth import hashers
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core import rules
from annotator.core.models import Activity, Benchmark, Membership, SecurityEvent, User
from annotator.core.vocabulary import Role, TwoStep
from annotator.integrations.actions.tokens import TokenRefusedError, create_token, token_for
from annotator.team.actions.security import forget_old_events
from annotator.team.actions.team import invite
from config import hashing, sign_ins
from tests.factories import BenchmarkFactory, DocumentFactory, UserFactory, member

pytestmark = pytest.mark.django_db
PASSWORD = "quetzal over Tikal 7"


@pytest.fixture(autouse=True)
def nobody_counted() -> None:
    cache.clear()


@pytest.fixture
def mails(settings: Any) -> None:
    settings.MAIL_IS_ON = True


@pytest.fixture
def ada() -> User:
    person: User = UserFactory(username="ada", email="ada@example.org")
    person.set_password(PASSWORD)
    person.save()
    return person


def sign_in(client: Client, name: str = "ada", password: str = PASSWORD, **more: str) -> Any:
    return client.post(reverse("login"), {"login": name, "password": password, **more})


def is_in(client: Client) -> bool:
    return client.get(reverse("tokens")).status_code == 200


def text_of(answer: Any) -> str:
    return BeautifulSoup(answer.content, "html.parser").get_text(" ", strip=True)


def kinds() -> list[str]:
    return list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))


# --- passwords ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ada", "ADA", "ada@example.org"])
def test_people_sign_in_by_name_or_address(client: Client, ada: User, name: str) -> None:
    answer = sign_in(client, name, next="/notices/")
    assert answer.status_code == 302 and answer["Location"] == "/notices/"
    assert is_in(client)
    assert kinds() == ["sign-in"]


def test_the_page_after_sign_in_is_never_on_another_host(client: Client, ada: User) -> None:
    assert sign_in(client, next="https://elsewhere.example/")["Location"] == "/"


def test_a_wrong_password_is_refused_with_the_same_words_for_everybody(client: Client, ada: User) -> None:
    one, other = sign_in(client, password="wrong"), sign_in(client, name="nobody", password="wrong")
    assert "The username or the password is wrong." in text_of(one)
    assert "The username or the password is wrong." in text_of(other)
    events = list(SecurityEvent.objects.order_by("pk").values_list("kind", "user", "name", "address"))
    assert events == [("failed", ada.pk, "", "127.0.0.1"), ("failed", None, "nobody", "127.0.0.1")]


def test_nobody_makes_an_account_without_an_invitation(client: Client) -> None:
    data = {"username": "eve", "email": "eve@example.org", "password1": PASSWORD, "password2": PASSWORD}
    answer = client.post(reverse("account_signup"), data)
    assert answer.status_code == 200 and not User.objects.filter(username="eve").exists()


@pytest.mark.parametrize("ends", [True, False])
def test_a_changed_password_ends_other_sessions_and_tokens_if_wanted(client: Client, ada: User, ends: bool) -> None:
    elsewhere = Client()
    sign_in(client)
    sign_in(elsewhere)
    token = create_token(by=ada, name="Nightly", scopes=["read"]).whole
    data = {"oldpassword": PASSWORD, "password1": "another one 42", "password2": "another one 42"}
    answer = client.post(reverse("account_change_password"), data | ({"end_tokens": "on"} if ends else {}))
    assert answer.status_code == 302, text_of(answer)
    assert is_in(client) and not is_in(elsewhere)
    assert "password" in kinds()
    if ends:
        with pytest.raises(TokenRefusedError, match="was revoked"):
            token_for(token)
        assert Activity.objects.filter(action="revoke-token", by=ada).count() == 1
    else:
        assert token_for(token).user == ada


def test_a_wrong_current_password_changes_nothing(client: Client, ada: User) -> None:
    sign_in(client)
    data = {"oldpassword": "wrong", "password1": "another one 42", "password2": "another one 42", "end_tokens": "on"}
    token = create_token(by=ada, name="Nightly", scopes=["read"]).whole
    assert client.post(reverse("account_change_password"), data).status_code == 200
    assert sign_in(Client()).status_code == 302 and token_for(token).user == ada


@pytest.mark.parametrize(
    ("roles", "others_label", "name"),
    [
        ([], False, "home"),
        ([Role.ANNOTATOR], True, "home"),
        ([Role.OWNER, Role.THIRD_RATER], True, "home"),
        ([Role.OWNER], False, "home"),
        ([Role.OWNER, Role.RESEARCHER], True, "benchmarks"),
        ([Role.RESEARCHER], False, "benchmarks"),
    ],
)
def test_people_land_where_they_work(
    client: Client, ada: User, roles: list[Role], others_label: bool, name: str
) -> None:
    for role in roles:
        benchmark = BenchmarkFactory()
        Membership.objects.create(benchmark=benchmark, user=ada, role=role)
        if others_label:
            member(benchmark)
    assert sign_in(client).url == reverse(name)


def test_a_forgotten_password_is_set_anew_by_a_mailed_link(client: Client, ada: User, mails: None) -> None:
    assert "Forgot your password" in text_of(client.get(reverse("login")))
    token = create_token(by=ada, name="Nightly", scopes=["read"]).whole
    assert client.post(reverse("account_reset_password"), {"email": "ada@example.org"}).status_code == 302
    link = re.search(r"https?://\S+", str(mail.outbox[0].body))
    assert link is not None
    page = client.get(link[0], follow=True)
    where = page.redirect_chain[-1][0]
    data = {"password1": "another one 42", "password2": "another one 42", "end_tokens": "on"}
    assert client.post(where, data).status_code == 302
    assert sign_in(Client()).status_code == 200
    assert sign_in(Client(), password="another one 42").status_code == 302
    assert client.get(link[0], follow=True).status_code == 200  # used up
    assert "reset" in kinds()
    with pytest.raises(TokenRefusedError):
        token_for(token)


def test_a_reset_tells_nobody_who_has_an_account(client: Client, ada: User, mails: None) -> None:
    known = client.post(reverse("account_reset_password"), {"email": "ada@example.org"})
    unknown = client.post(reverse("account_reset_password"), {"email": "eve@example.org"})
    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])


def test_without_a_mail_server_the_page_says_whom_to_ask(client: Client) -> None:
    assert "Ask the administrator of this installation" in text_of(client.get(reverse("login")))


def test_what_would_be_mailed_goes_on_without_a_mail_server(client: Client, ada: User, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 2  # nothing listens there
    answer = client.post(reverse("account_reset_password"), {"email": "ada@example.org"})
    assert answer.status_code == 200 and "doesn’t send email" in text_of(answer)
    ben = register(client, BenchmarkFactory(), UserFactory(is_superuser=True), email="ben@example.org")
    assert is_in(client) and not EmailAddress.objects.get(user=ben).verified
    added = client.post(reverse("account_email"), {"email": "b@example.org", "action_add": ""}, follow=True)
    assert "This installation sends no email, so the address stays unverified." in text_of(added)
    assert "Confirmation email sent" not in text_of(added)
    assert "must be verified" not in text_of(client.get(reverse("mfa_activate_totp"), follow=True))


def test_a_dead_mail_server_stops_nothing(
    client: Client, ada: User, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.MAIL_IS_ON, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", 2
    sent = client.post(reverse("account_reset_password"), {"email": "ada@example.org"}, follow=True)
    assert sent.status_code == 200 and "couldn’t send an email just now" in text_of(sent)
    benchmark = BenchmarkFactory()
    ben = register(client, benchmark, member(benchmark, Role.OWNER), email="ben@example.org")
    assert is_in(client) and ben.memberships.exists()
    assert len([each for each in caplog.records if "could not be sent" in each.message]) == 2


def test_the_operator_gives_out_a_link_where_nothing_is_mailed(client: Client, ada: User) -> None:
    with_app(ada)
    printed = io.StringIO()
    call_command("reset_link", "ada", "--second-step", stdout=printed, stderr=io.StringIO())
    page = client.get(printed.getvalue().strip().removeprefix("http://localhost:8000"), follow=True)
    data = {"password1": "another one 42", "password2": "another one 42"}
    assert client.post(page.redirect_chain[-1][0], data).status_code == 302
    assert sign_in(Client(), password="another one 42")["Location"] == "/"
    with pytest.raises(CommandError, match="No active account"):
        call_command("reset_link", "nobody")


# --- addresses ------------------------------------------------------------------------------------


def register(client: Client, benchmark: Benchmark, by: User, *, email: str, invited: str = "") -> User:
    link = reverse("invitation", args=[invite(benchmark, by=by, email=invited).token])
    data = {"username": "ben", "display_name": "Ben", "email": email, "password1": PASSWORD, "password2": PASSWORD}
    answer = client.post(link, data)
    assert answer.status_code == 302, text_of(answer)
    return User.objects.get(username="ben")


def test_the_address_that_was_invited_needs_no_other_proof(client: Client, mails: None) -> None:
    benchmark = BenchmarkFactory()
    ben = register(client, benchmark, member(benchmark, Role.OWNER), email="Ben@example.org", invited="ben@example.org")
    assert EmailAddress.objects.get(user=ben).verified
    assert not mail.outbox and is_in(client)


def test_any_other_address_is_verified_by_mail(client: Client, mails: None) -> None:
    benchmark = BenchmarkFactory()
    ben = register(client, benchmark, member(benchmark, Role.OWNER), email="ben@example.org")
    assert not EmailAddress.objects.get(user=ben).verified and is_in(client)
    link = re.search(r"https?://\S+", str(mail.outbox[0].body))
    assert link is not None
    assert client.post(link[0]).status_code == 302
    assert EmailAddress.objects.get(user=ben).verified


def test_where_it_is_mandatory_nobody_signs_in_before(client: Client, ada: User, mails: None, settings: Any) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    assert sign_in(client)["Location"] == reverse("account_email_verification_sent")
    assert not is_in(client)
    EmailAddress.objects.filter(user=ada).update(verified=True)
    assert sign_in(client)["Location"] == "/" and is_in(client)


# --- second steps ---------------------------------------------------------------------------------


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, next(yield_hotp_counters_from_time()))))


def with_app(person: User) -> str:
    secret = str(generate_totp_secret())
    TOTP.activate(person, secret)
    return secret


def test_an_authenticator_app_is_added_and_asked_for(
    client: Client, ada: User, django_capture_on_commit_callbacks: Any
) -> None:
    sign_in(client)
    assert client.get(reverse("mfa_activate_totp"))["Location"].startswith(reverse("account_reauthenticate"))
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    page = client.get(reverse("mfa_activate_totp"))
    soup = BeautifulSoup(page.content, "html.parser")
    assert soup.select_one(".qr svg") is not None and "data:" not in page.content.decode()
    secret = soup.select_one("#secret")["value"]  # type: ignore[index]
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(reverse("mfa_activate_totp"), {"code": code_of(str(secret))})
    assert answer.status_code == 302, text_of(answer)
    cache.clear()  # the same code again, within its half minute
    other = Client()
    assert sign_in(other)["Location"] == reverse("mfa_authenticate")
    assert not is_in(other)
    assert other.post(reverse("mfa_authenticate"), {"code": "000000"}).status_code == 200 and not is_in(other)
    assert other.post(reverse("mfa_authenticate"), {"code": code_of(str(secret))}).status_code == 302
    assert is_in(other)
    assert {"step-added", "step-failed"} <= set(kinds())


def test_a_benchmark_asks_the_roles_that_its_owner_names(client: Client) -> None:
    benchmark = BenchmarkFactory(slug="tikal")
    owner, annotator = member(benchmark, Role.OWNER), member(benchmark)
    document = DocumentFactory(benchmark=benchmark)
    client.force_login(owner)
    address = reverse("team-two-step", args=["tikal"])
    refused = client.post(address, {"two_step": "managers"})
    assert refused.status_code == 422 and "for your own account first" in text_of(refused)
    with_app(owner)
    assert client.post(address, {"two_step": "managers"}).status_code == 302
    assert Activity.objects.get(action="change-two-step").changes[0]["after"] == "managers"
    assert client.get(reverse("benchmark", args=["tikal"])).status_code == 200
    client.force_login(annotator)
    assert client.get(reverse("benchmark", args=["tikal"])).status_code == 200
    assert client.post(address, {"two_step": "nobody"}).status_code == 403
    Benchmark.objects.update(two_step=TwoStep.EVERYONE)
    for name, argument in (("benchmark", "tikal"), ("document", document.public_id)):
        asked = client.get(reverse(name, args=[argument]), follow=True)
        assert asked.redirect_chain[-1][0] == reverse("mfa_index")
        assert "asks you to sign in with a second step" in text_of(asked)
    token = create_token(by=annotator, name="Script", scopes=["read"]).whole
    by_program = {"authorization": f"Bearer {token}"}
    assert client.get("/api/v1/benchmarks/tikal/", headers=by_program).status_code == 404
    with_app(annotator)
    assert client.get(reverse("benchmark", args=["tikal"])).status_code == 200
    assert client.get("/api/v1/benchmarks/tikal/", headers=by_program).status_code == 200


def test_recovery_codes_alone_are_no_second_step(ada: User) -> None:
    Authenticator.objects.create(user=ada, type=Authenticator.Type.RECOVERY_CODES, data={})
    assert not rules.has_second_step(ada)


# --- sessions -------------------------------------------------------------------------------------


def test_sessions_are_listed_and_the_others_ended(client: Client, ada: User) -> None:
    elsewhere = Client(headers={"user-agent": "Netscape 4"})
    sign_in(client)
    sign_in(elsewhere)
    page = text_of(client.get(reverse("usersessions_list")))
    assert "Netscape 4" in page and page.count("127.0.0.1") == 2
    assert client.post(reverse("usersessions_list")).status_code == 302
    assert is_in(client) and not is_in(elsewhere)


# --- floods ---------------------------------------------------------------------------------------


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were hashed."""
    found: list[str] = []
    real = hashers.verify_password

    def counted(password: str, *given: Any, **more: Any) -> Any:
        found.append(password)
        return real(password, *given, **more)

    monkeypatch.setattr(hashers, "verify_password", counted)
    return found


@pytest.mark.parametrize("where", ["/sign-in/", "/admin/login/"])
def test_guessing_at_one_account_ends_before_passwords_are_hashed(
    client: Client, ada: User, hashed: list[str], where: str
) -> None:
    for number in range(20):
        client.post(
            client.get(where, follow=True).request["PATH_INFO"], {"login": "ada", "password": f"wrong {number}"}
        )
    assert len(hashed) == 5
    refused = sign_in(client)
    assert "Too many failed attempts" in text_of(refused) and not is_in(client)
    assert kinds().count("failed") == 5 and kinds().count("throttled") == 1  # said once a minute
    other = Client(REMOTE_ADDR="192.0.2.7")
    assert "Too many failed attempts" in text_of(sign_in(other))  # by account, whatever the address


def test_guessing_at_many_accounts_from_one_address_ends_too(client: Client, ada: User) -> None:
    for number in range(31):
        sign_in(client, name=f"person{number}", password="wrong")
    assert "Too many failed attempts" in text_of(sign_in(client))
    assert sign_in(Client(REMOTE_ADDR="192.0.2.7")).status_code == 302


def test_signing_in_counts_for_nothing(client: Client, ada: User) -> None:
    for _ in range(4):
        sign_in(Client(), password="wrong")
    for _ in range(3):
        assert sign_in(Client()).status_code == 302
    sign_in(Client(), password="wrong")
    assert "Too many failed attempts" in text_of(sign_in(client))  # nor does it give new attempts


def test_no_more_than_a_few_sign_ins_are_worked_on_at_once(
    client: Client, ada: User, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    full = threading.BoundedSemaphore(sign_ins.AT_ONCE)
    monkeypatch.setattr(sign_ins, "_admitted", full)
    for _ in range(sign_ins.AT_ONCE):
        full.acquire()
    with django_assert_num_queries(0):
        answer = sign_in(client)
    assert (answer.status_code, answer["Retry-After"]) == (503, str(sign_ins.AGAIN))
    assert "Many people are signing in right now" in text_of(answer)
    assert client.get(reverse("login")).status_code == 200
    full.release()
    for password in ("wrong", "wrong", PASSWORD):  # whatever comes of one, its place is free again
        assert sign_in(client, password=password).status_code == (302 if password == PASSWORD else 200)


def test_passwords_are_hashed_as_django_does_by_a_few_threads_of_low_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    running = 0
    encode = PBKDF2PasswordHasher.encode

    def noted(self: PBKDF2PasswordHasher, *given: Any) -> str:
        nonlocal running
        running += 1
        seen.append((running, os.getpriority(os.PRIO_PROCESS, threading.get_native_id())))
        time.sleep(0.1)
        running -= 1
        return encode(self, *given)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", noted)
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    hasher = hashing.PatientPasswordHasher()
    hashing._threads.cache_clear()  # whoever has hashed before has done so at the priority of then
    with ThreadPoolExecutor(6) as sign_ins:
        hashes = list(sign_ins.map(lambda salt: hasher.encode("a password", salt, 10), "abcdef"))
    assert max(number for number, _ in seen) == hashing.AT_ONCE
    if sys.platform == "linux":
        assert {nice for _, nice in seen} == {hashing.NICE}
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before
    assert hashes == [encode(PBKDF2PasswordHasher(), "a password", salt, 10) for salt in "abcdef"]


# --- what is kept ---------------------------------------------------------------------------------


def test_events_are_forgotten_after_their_time(ada: User, settings: Any) -> None:
    old = SecurityEvent.objects.create(kind="sign-in", user=ada)
    SecurityEvent.objects.filter(pk=old.pk).update(at=timezone.now() - dt.timedelta(days=366))
    new = SecurityEvent.objects.create(kind="sign-in", user=ada)
    assert forget_old_events() == 1
    assert list(SecurityEvent.objects.all()) == [new]
    settings.SECURITY_EVENTS_DAYS = 0
    assert forget_old_events() == 0
