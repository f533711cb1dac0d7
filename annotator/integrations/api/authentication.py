"""Authenticates programs by a token in the Authorization header (RFC 6750).

``request.user`` is then the token's person and ``request.auth`` the token (``annotator.integrations.models.ApiToken``).
With a session or without credentials, ``request.auth`` is None. List ``TokenAuthentication`` first in
DEFAULT_AUTHENTICATION_CLASSES: the first class sets WWW-Authenticate.
"""

from __future__ import annotations

from django.core.cache import caches
from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.throttling import UserRateThrottle

from annotator.core.models import User
from annotator.integrations.actions.tokens import TokenRefusedError, token_for
from annotator.integrations.models import ApiToken

SCHEME = "Bearer"
REALM = 'Bearer realm="Touchstone"'


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer ts_…``. Other schemes are left to the next authentication class."""

    @sensitive_variables("whole")  # kept out of error reports
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
        """WWW-Authenticate for a 401. If a token was sent, it says that the token is the problem."""
        sent = request.headers.get("Authorization", "").strip().lower().startswith(SCHEME.lower())
        return f'{REALM}, error="invalid_token"' if sent else REALM


class PersonThrottle(UserRateThrottle):
    """Requests of a person's programs together, counted in this process: the API does not depend on Redis."""

    cache = caches["process"]
