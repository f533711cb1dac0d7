"""One line a request in the log, where LOG_REQUESTS asks for it: who, what, how long, by its request's id."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

logger = logging.getLogger("config.requests")


class RequestLogMiddleware:
    """Below sign-in, so that it knows who asked. The query is left out: it may hold what somebody searched for."""

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
