"""A person's API tokens: list, create, revoke."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, User
from annotator.core.models.base import choices
from annotator.core.queries.membership import benchmarks_of
from annotator.core.screens.common import person, render_domain_errors
from annotator.core.vocabulary import Scope
from annotator.integrations.actions import tokens as actions
from annotator.integrations.models import ApiToken
from annotator.integrations.queries.tokens import state_of, tokens_of

DAYS = (7, 30, actions.DAYS, 180, actions.MAX_DAYS)
STATES = {"in use": "In use", "ending": "Ends soon", "expired": "Expired", "revoked": "Revoked"}


class TokenForm(forms.Form):
    """Name, scopes, benchmark, and expiry."""

    name = forms.CharField(
        max_length=100,
        label="Name",
        help_text="The program that uses it, for example “Nightly import”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        choices=choices(Scope),
        initial=[Scope.READ],
        label="Scopes",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one scope."},
    )
    benchmark = forms.ModelChoiceField(
        Benchmark.objects.none(),
        required=False,
        empty_label="All my benchmarks",
        label="Benchmark",
        help_text="If set, the token can’t access any other benchmark.",
    )
    days = forms.TypedChoiceField(
        choices=[(days, f"{days} days") for days in DAYS], coerce=int, initial=actions.DAYS, label="Valid for"
    )

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data, auto_id="token_%s")
        field = cast("forms.ModelChoiceField[Benchmark]", self.fields["benchmark"])
        field.queryset = benchmarks_of(user).order_by("name")


@require_GET
@never_cache
def show(request: HttpRequest) -> HttpResponse:
    """The list, and the form for a new token."""
    return _page(request, TokenForm(person(request)))


@require_POST
@never_cache
@render_domain_errors
def create(request: HttpRequest) -> HttpResponse:
    """Create a token. Only this response shows it, so there is no redirect."""
    user = person(request)
    form = TokenForm(user, request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    data = form.cleaned_data
    try:
        new = actions.create_token(
            by=user, name=data["name"], scopes=data["scopes"], days=data["days"], benchmark=data["benchmark"]
        )
    except (BadValueError, rules.NotAllowedError) as refusal:
        form.add_error(None, str(refusal))
        return _page(request, form, status=422)
    return _page(request, TokenForm(user), new=new)


@require_POST
@render_domain_errors
def revoke(request: HttpRequest, token_id: str) -> HttpResponse:
    """Revoke the token."""
    user = person(request)
    token = get_object_or_404(ApiToken, user=user, public_id=token_id)
    actions.revoke_token(token, by=user)
    messages.success(request, f"“{token}” was revoked. Requests that use it are now rejected.")
    return redirect("tokens")


def _page(
    request: HttpRequest, form: TokenForm, *, new: actions.NewToken | None = None, status: int = 200
) -> HttpResponse:
    now = timezone.now()
    rows = [_row(token, state_of(token, now)) for token in tokens_of(person(request), now)]
    context = {
        "form": form,
        "new": new,
        "command": _command(request, new.whole) if new else "",
        "rows": [row for row in rows if not row["is_over"]],
        "over": [row for row in rows if row["is_over"]],
    }
    return render(request, "integrations/tokens.html", context, status=status)


def _command(request: HttpRequest, whole: str) -> str:
    """A command that shows that the token works."""
    return f'curl -H "Authorization: Bearer {whole}" {request.build_absolute_uri("/api/v1/me/")}'


def _row(token: ApiToken, state: str) -> dict[str, Any]:
    return {
        "token": token,
        "state": state.replace(" ", "-"),
        "label": STATES[state],
        "is_over": state in ("expired", "revoked"),
        "scopes": [Scope(scope).value for scope in token.scopes],
    }
