"""What Touchstone promises about accessibility, and how it is tested."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET


@login_not_required
@require_GET
def show(request: HttpRequest) -> HttpResponse:
    """The statement, for everyone: whoever decides on using Touchstone may not have an account yet."""
    return render(request, "home/accessibility.html")
