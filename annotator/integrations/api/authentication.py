"""Who asks: a program with a token in the Authorization header (RFC 6750).

``request.user`` is then the token's person and ``request.auth`` the token
(``annotator.integrations.models.ApiToken``); with a
session, or without anything, ``request.auth`` is None. Name ``TokenAuthentication`` first in
DEFAULT_AUTHENTICATION_CLASSES: the first one says in WWW-Authenticate how to sign in.
"""

from __future__ import annotations

from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from annotator.core.models import User
from annotator.integrations.actions.tokens import TokenRefusedError, token_for
from annotator.integrations.models import ApiToken

SCHEME = "Bearer"
REALM = 'Bearer realm="Touchstone"'


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer ts_…``. Another scheme, or none, is left to the next way of signing in."""

    @sensitive_variables("whole")  # left out of error reports
    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """The token's person and the token. Raises AuthenticationFailed with the reason, never with the token."""
        scheme, _, whole = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != SCHEME.lower():
            return None
        if not whole.strip():
            raise AuthenticationFailed("The Authorization header has no token. Use “Bearer ts_…”.")
        try:
            token = token_for(whole.strip())
        except TokenRefusedError as refusal:
            raise AuthenticationFailed(str(refusal)) from None
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """What WWW-Authenticate says with a 401; who sent a token is told that the token is the matter."""
        sent = request.headers.get("Authorization", "").strip().lower().startswith(SCHEME.lower())
        return f'{REALM}, error="invalid_token"' if sent else REALM
