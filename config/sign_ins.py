"""Few sign-ins at the same time, so that a flood of them never occupies a process that people work in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.template.loader import render_to_string

AT_ONCE = 2  # sign-ins that one process handles at the same time; its other threads serve people at work
AGAIN = 5  # seconds after which people are asked to try again

_admitted = threading.BoundedSemaphore(AT_ONCE)


class SignInLimitMiddleware:
    """Refuses a sign-in at once if the process is busy with others.

    Stands before nearly all other middleware: a refusal takes a fraction of a millisecond, and nothing is parsed,
    hashed or queried for it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST" or request.path != resolve_url(settings.LOGIN_URL):
            return self.get_response(request)
        if not _admitted.acquire(blocking=False):
            return HttpResponse(_busy_page(), status=503, headers={"Retry-After": str(AGAIN)})
        try:
            return self.get_response(request)
        finally:
            _admitted.release()


@cache
def _busy_page() -> str:
    return render_to_string("account/busy.html")
