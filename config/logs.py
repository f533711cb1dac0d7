"""With LOG_REQUESTS, one log line per request: who, what, how long, with the request's id."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

logger = logging.getLogger("config.requests")


class RequestLogMiddleware:
    """Inside authentication, so that it knows the user. Query strings are left out, because they may contain what
    someone searched for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        ms = round((time.perf_counter() - began) * 1000, 1)
        user = getattr(request, "user", None)
        logger.info(
            "%s %s %s %s ms",
            request.method,
            request.path,
            response.status_code,
            ms,
            extra={
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "ms": ms,
                "person": getattr(user, "pk", None),
            },
        )
        return response
