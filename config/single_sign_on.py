"""Single sign-on from the environment: one OpenID Connect provider and one SAML provider, each optional.

docs/operating.md has the steps for Keycloak, Entra ID and Google.
"""

from __future__ import annotations

from typing import Any

from config import environment


def saml_is_on() -> bool:
    """Whether a SAML provider is configured; if so, requirements-saml.txt must be installed."""
    return bool(environment.text("SAML_METADATA_URL") or environment.text("SAML_SSO_URL"))


def providers() -> dict[str, Any]:
    """allauth's ``SOCIALACCOUNT_PROVIDERS``. Raises ValueError for an incomplete provider."""
    found: dict[str, Any] = {}
    issuer = environment.text("OIDC_ISSUER").rstrip("/")
    if issuer:
        found["openid_connect"] = {
            "APPS": [
                {
                    "provider_id": "oidc",
                    "name": environment.text("OIDC_NAME", "your organization"),
                    "client_id": _needed("OIDC_CLIENT_ID", "OIDC_ISSUER"),
                    "secret": environment.secret("OIDC_CLIENT_SECRET"),
                    "settings": {"server_url": issuer},
                }
            ],
            "OAUTH_PKCE_ENABLED": True,
        }
    if saml_is_on():
        found["saml"] = {
            "APPS": [
                {
                    "client_id": "saml",
                    "provider_id": _needed("SAML_ENTITY_ID", "SAML_METADATA_URL"),
                    "name": environment.text("SAML_NAME", "your organization"),
                    "settings": {
                        "attribute_mapping": _attributes(),
                        "idp": _identity_provider(),
                        "advanced": {"want_assertion_signed": True, "reject_idp_initiated_sso": True},
                    },
                }
            ]
        }
    return found


def _identity_provider() -> dict[str, str]:
    entity = _needed("SAML_ENTITY_ID", "SAML_METADATA_URL")
    if url := environment.text("SAML_METADATA_URL"):
        return {"entity_id": entity, "metadata_url": url}
    return {
        "entity_id": entity,
        "sso_url": environment.text("SAML_SSO_URL"),
        "x509cert": environment.secret("SAML_CERTIFICATE") or _needed("SAML_CERTIFICATE", "SAML_SSO_URL"),
    }


def _attributes() -> dict[str, str]:
    """The names under which the provider sends what an account needs. Its directory vouches for addresses."""
    return {
        "uid": environment.text("SAML_UID", "urn:oasis:names:tc:SAML:attribute:subject-id"),
        "email": environment.text("SAML_EMAIL", "email"),
        "first_name": environment.text("SAML_FIRST_NAME", "firstName"),
        "last_name": environment.text("SAML_LAST_NAME", "lastName"),
    }


def _needed(name: str, because: str) -> str:
    value = environment.text(name)
    if not value:
        raise ValueError(f"{because} is set, so {name} is needed too.")
    return value
