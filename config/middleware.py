"""What every response needs for htmx (a Vary header, and a sign-in redirect of the whole page) and for slow
connections."""

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

SMALL = 4096  # bytes: smaller responses fit into a few packets and aren't worth compressing


class CompressPagesMiddleware(GZipMiddleware):
    """Compresses large pages and fragments. Files, streams and small responses are sent as they are.

    If an attacker can send requests in a person's name, choose a text that the response repeats, and measure the
    response's length, then compression lets them guess a secret in the same response (BREACH). The secret in our pages
    is the CSRF token, and Django masks it differently in each response, so no repeated text can match it. The session
    is in a cookie, which isn't compressed. Django's middleware also adds a random number of bytes to the header of each
    compressed response. And session cookies are SameSite=Lax, so other sites can't send a person's POST requests at
    all.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_page = response.get("Content-Type", "").startswith("text/html")
        if not is_page or response.streaming or len(response.content) < SMALL:  # type: ignore[attr-defined]
            return response
        return super().process_response(request, response)


class VaryOnHtmxMiddleware:
    """Marks every HTML response, page or fragment, as depending on HX-Request.

    The same URL returns a page or a fragment. Without the header, the browser's cache would show a bare fragment after
    Back.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ["HX-Request"])
        return response


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Denies by default: every view requires a signed-in person unless marked @login_not_required.

    An htmx request would follow a redirect and put the sign-in page into a part of the screen. So it gets a 401, which
    a saving field shows as "not saved", and HX-Redirect, which takes the whole page to sign-in and afterwards back to
    where the person was.
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
