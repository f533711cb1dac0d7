"""The reference of the API in the browser, from its own description and without any other host."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.integrations.queries.api_reference import api_reference


@require_GET
def show(request: HttpRequest) -> HttpResponse:
    """Every operation, by subject."""
    return render(request, "integrations/api_reference.html", {"tags": api_reference()})
