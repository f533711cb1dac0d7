"""What every answer owes to htmx (a Vary header, and a sign-in redirect that leaves the page) and to slow lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import resolve_url
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode

SMALL = 4096  # bytes: what goes in a few packets is not worth the computing


class CompressPagesMiddleware(GZipMiddleware):
    """Compresses pages and fragments of some size; files, streams and small answers go as they are.

    Compression lets an attacker who can send requests in a person's name, choose a text that the answer repeats, and
    measure the answer's length guess a secret that stands in the same answer (BREACH). The secret in our pages is the
    CSRF token, and Django masks it anew in each answer, so that nothing repeated can match it; the session is in a
    cookie, which is not compressed. Django's middleware also adds a random number of bytes to the header of each
    compressed answer. Session cookies are SameSite=Lax: other sites cannot send a person's POST requests at all.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_page = response.get("Content-Type", "").startswith("text/html")
        if not is_page or response.streaming or len(response.content) < SMALL:  # type: ignore[attr-defined]
            return response
        return super().process_response(request, response)


class VaryOnHtmxMiddleware:
    """Marks every HTML answer, page or fragment, as depending on HX-Request.

    The same address answers with a page or with a fragment; without the mark the browser's cache shows a
    bare fragment after Back.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ["HX-Request"])
        return response


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Default deny: every view asks for a signed-in person unless it is marked @login_not_required.

    An htmx request would follow the redirect itself and put the sign-in page into a corner of the screen.
    So it gets a 401, which a saving field reads as "not saved", and HX-Redirect, by which the whole page
    goes to sign-in and afterwards comes back to where the person was.
    """

    def handle_no_permission(  # type: ignore[override]  # the stubs know redirects only
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseBase:
        htmx = getattr(request, "htmx", None)
        if not htmx:
            return super().handle_no_permission(request, view_func)
        back = htmx.current_url_abs_path or "/"
        login = resolve_url(self.get_login_url(view_func))
        query = urlencode({self.get_redirect_field_name(view_func): back})
        return HttpResponse(
            "Your session has ended. Sign in again; what you typed is kept in this browser.",
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"HX-Redirect": f"{login}?{query}"},
        )
