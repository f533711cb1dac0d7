"""The settings under which benchmarks/web.py measures: those of the product, and a middleware that counts.

Each answer says how long the server took (``X-Server-Milliseconds``), how much of that it waited for the database
(``X-Database-Milliseconds``) and computed itself (``X-Processor-Milliseconds``, which other programs on the machine do
not lengthen), and with how many queries (``X-Queries``). A request with ``X-Forget`` finds an empty cache. Never part
of the product.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse

from config.settings import *  # noqa: F403
from config.settings import MIDDLEWARE as _PRODUCT

# The outermost one: sessions, security headers and the rest count too.
MIDDLEWARE = ["benchmarks.measured.MeasuringMiddleware", *_PRODUCT]


class MeasuringMiddleware:
    """Puts the three headers on every answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        queries: list[float] = []

        def timed(execute: Callable[..., Any], *arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return execute(*arguments)
            finally:
                queries.append(time.perf_counter() - began)

        if "X-Forget" in request.headers:
            cache.clear()
        began, computed = time.perf_counter(), time.thread_time()
        with connection.execute_wrapper(timed):
            response = self.get_response(request)
        response["X-Server-Milliseconds"] = f"{1000 * (time.perf_counter() - began):.2f}"
        response["X-Database-Milliseconds"] = f"{1000 * sum(queries):.2f}"
        response["X-Processor-Milliseconds"] = f"{1000 * (time.thread_time() - computed):.2f}"
        response["X-Queries"] = str(len(queries))
        return response
