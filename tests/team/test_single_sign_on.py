"""Single sign-on by OpenID Connect and SAML, against providers on this machine that speak the real protocols."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from bs4 import BeautifulSoup
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotator.core.models import Membership, User
from annotator.core.vocabulary import Role
from annotator.team.actions.team import invite
from config import single_sign_on
from tests.factories import BenchmarkFactory, UserFactory, member
from tests.fakes.single_sign_on import FakeOpenIDConnect, FakeSAML

pytestmark = pytest.mark.django_db
ADA = {
    "sub": "a-1",
    "email": "ada@example.org",
    "email_verified": True,
    "name": "Ada Byron",
    "preferred_username": "ada",
}


@pytest.fixture(autouse=True)
def nobody_counted() -> None:
    cache.clear()


@pytest.fixture
def oidc(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenIDConnect]:
    fake = FakeOpenIDConnect()
    monkeypatch.setenv("OIDC_ISSUER", fake.issuer)
    monkeypatch.setenv("OIDC_NAME", "Example Lab")
    monkeypatch.setenv("OIDC_CLIENT_ID", "touchstone")
    monkeypatch.setenv("OIDC_CLIENT_SECRET", "its secret")
    settings.SOCIALACCOUNT_PROVIDERS = single_sign_on.providers()
    yield fake
    fake.close()


def by_oidc(client: Client, oidc: FakeOpenIDConnect, person: dict[str, Any], to: str = "") -> Any:
    """The whole way: our button, the provider's page, and back."""
    oidc.person = person
    page = BeautifulSoup(client.get(reverse("login"), {"next": to} if to else {}).content, "html.parser")
    forms = [each for each in page.select("form") if "Continue with Example Lab" in each.text]
    sent = client.post(str(forms[0]["action"]))
    assert sent.status_code == 302
    back = urlsplit(oidc.sign_in(sent["Location"]))
    assert oidc.asked["code_challenge_method"] == "S256"
    return client.get(f"{back.path}?{back.query}")


def test_a_person_of_the_organization_gets_an_account_and_no_benchmark(client: Client, oidc: FakeOpenIDConnect) -> None:
    BenchmarkFactory(name="Tikal")
    assert by_oidc(client, oidc, ADA)["Location"] == "/"
    ada = User.objects.get()
    assert (ada.username, ada.display_name, ada.email, ada.has_usable_password()) == (
        "ada", "Ada Byron", "ada@example.org", False,
    )  # fmt: skip
    assert "Tikal" not in client.get("/benchmarks/").content.decode()
    again = Client()
    by_oidc(again, oidc, ADA | {"email": "byron@example.org"})
    assert User.objects.count() == 1 and again.get(reverse("tokens")).status_code == 200


def test_who_has_an_account_here_keeps_it(client: Client, oidc: FakeOpenIDConnect) -> None:
    ada = UserFactory(username="lovelace", email="ada@example.org")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    by_oidc(client, oidc, ADA)
    assert User.objects.count() == 1
    assert client.session["_auth_user_id"] == str(ada.pk)


def test_an_address_that_the_provider_has_not_verified_opens_no_account(
    client: Client, oidc: FakeOpenIDConnect
) -> None:
    ada = UserFactory(username="lovelace", email="ada@example.org")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    by_oidc(client, oidc, ADA | {"email_verified": False})
    assert client.session.get("_auth_user_id") != str(ada.pk)


def test_an_account_whose_address_was_never_verified_loses_its_password(
    client: Client, oidc: FakeOpenIDConnect
) -> None:
    """Somebody else may have made it with Ada's address, to wait for her there."""
    ada = UserFactory(username="lovelace", email="ada@example.org")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=False, primary=True)
    ada.set_password("known to somebody else")
    ada.save()
    by_oidc(client, oidc, ADA)
    ada.refresh_from_db()
    assert client.session["_auth_user_id"] == str(ada.pk) and not ada.has_usable_password()


def test_the_operator_may_close_the_door_to_new_people(client: Client, oidc: FakeOpenIDConnect, settings: Any) -> None:
    settings.SSO_SIGNUP = False
    answer = by_oidc(client, oidc, ADA)
    assert answer.status_code == 200 and "You need an invitation" in answer.content.decode()
    assert not User.objects.exists()


def test_an_invitation_is_accepted_after_single_sign_on(client: Client, oidc: FakeOpenIDConnect) -> None:
    benchmark = BenchmarkFactory()
    link = reverse("invitation", args=[invite(benchmark, by=member(benchmark, Role.OWNER)).token])
    assert by_oidc(client, oidc, ADA, to=link)["Location"] == link
    assert client.post(link, {"join": "yes"}).status_code == 302
    assert Membership.objects.get(user__username="ada").role == Role.ANNOTATOR


def test_a_code_that_nobody_asked_for_signs_nobody_in(client: Client, oidc: FakeOpenIDConnect) -> None:
    answer = client.get(reverse("openid_connect_callback", args=["oidc"]), {"code": "x", "state": "y"})
    assert answer.status_code == 401 and "_auth_user_id" not in client.session


# --- SAML -----------------------------------------------------------------------------------------


@pytest.fixture
def saml(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> FakeSAML:
    fake = FakeSAML()
    certificate = tmp_path / "idp.pem"
    certificate.write_text(fake.certificate)
    monkeypatch.setenv("SAML_SSO_URL", fake.sso_url)
    monkeypatch.setenv("SAML_ENTITY_ID", fake.entity)
    monkeypatch.setenv("SAML_CERTIFICATE_FILE", str(certificate))
    monkeypatch.setenv("SAML_UID", "uid")
    settings.SOCIALACCOUNT_PROVIDERS = single_sign_on.providers()
    return fake


def browser() -> Client:
    """With a host name that SAML takes for one."""
    return Client(headers={"host": "localhost"})


BEN = {"uid": "b-1", "email": "ben@example.org", "firstName": "Ben", "lastName": "Moss"}


def by_saml(client: Client, saml: FakeSAML, **how: Any) -> Any:
    sent = client.post(reverse("saml_login", args=["saml"]))
    assert sent.status_code == 302 and sent["Location"].startswith(saml.sso_url)
    answer = saml.sign_in(sent["Location"], BEN, **how)
    posted = client.post(reverse("saml_acs", args=["saml"]), {"SAMLResponse": answer})
    return client.get(posted["Location"])


def test_a_person_signs_in_by_saml(saml: FakeSAML) -> None:
    client = browser()
    assert by_saml(client, saml)["Location"] == "/"
    ben = User.objects.get()
    assert (ben.display_name, ben.email) == ("Ben Moss", "ben@example.org")
    by_saml(browser(), saml)
    assert User.objects.count() == 1


@pytest.mark.parametrize("how", [{"signed": False}, {"valid": -60}])
def test_what_is_unsigned_or_too_old_signs_nobody_in(saml: FakeSAML, how: dict[str, Any]) -> None:
    client = browser()
    answer = by_saml(client, saml, **how)
    assert answer.status_code in (200, 401, 403) and "_auth_user_id" not in client.session
    assert not User.objects.exists()


def test_an_answer_of_another_provider_signs_nobody_in(saml: FakeSAML) -> None:
    client = browser()
    by_saml(client, FakeSAML())
    assert "_auth_user_id" not in client.session and not User.objects.exists()


def test_our_metadata_are_there_for_the_provider(saml: FakeSAML) -> None:
    client = browser()
    told = client.get(reverse("saml_metadata", args=["saml"])).content.decode()
    assert f"http://localhost{reverse('saml_acs', args=['saml'])}" in told


def test_a_provider_that_is_named_by_half_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OIDC_ISSUER", "https://idp.example")
    with pytest.raises(ValueError, match="OIDC_ISSUER is set, so OIDC_CLIENT_ID is needed too"):
        single_sign_on.providers()
