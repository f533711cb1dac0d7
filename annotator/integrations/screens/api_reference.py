"""The API reference in the browser, made from the API's own description without requests to other hosts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.integrations.queries.api_reference import api_reference


@require_GET
def show(request: HttpRequest) -> HttpResponse:
    """Every operation, by tag."""
    return render(request, "integrations/api_reference.html", {"tags": api_reference()})
