"""What an invitation's link opens: joining with one button, signing in first, or making an account.

Open to everyone who has the link, so it tells nothing but the benchmark's name, the role and who invites.
"""

from __future__ import annotations

from typing import Any

from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import UserCreationForm
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.core.models import Invitation, Membership, User
from annotator.core.screens.common import person
from annotator.core.vocabulary import Role
from annotator.team import rules
from annotator.team.actions.team import accept, gains, register
from annotator.team.screens.team import ROLES_IN_WORDS

TEMPLATE = "team/invitation.html"
WRONG = "Invitation not found. Check that you copied the whole link."


class AccountForm(UserCreationForm):
    """User name, name to show, e-mail address, and a password by Django's rules."""

    class Meta:
        model = User
        fields = ("username", "display_name", "email")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["username"].label = "User name"
        self.fields["username"].help_text = "You sign in with it. Letters, digits and @ . + - _"
        self.fields["display_name"].label = "Your name"
        self.fields["display_name"].required = True
        self.fields["display_name"].help_text = "The name your team sees."
        self.fields["email"].label = "Email address"
        self.fields["password1"].help_text = "At least eight characters; not a common word and not only digits."
        self.fields["password2"].label = "Password again"
        self.fields["password2"].help_text = ""
        for name, hint in (("username", "username"), ("display_name", "name"), ("email", "email")):
            self.fields[name].widget.attrs["autocomplete"] = hint
        self.fields["username"].widget.attrs.pop("autofocus", None)


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def show(request: HttpRequest, token: str) -> HttpResponse:
    """The invitation. POST joins who is signed in; who is not makes an account, and is in."""
    invitation = Invitation.objects.select_related("benchmark", "created_by").filter(token=token).first()
    if invitation is None:
        return _page(request, {"refusal": WRONG}, status=404)
    try:
        if request.user.is_authenticated:
            return _join(request, invitation)
        rules.check_invitation(invitation)
        form = AccountForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            return _register(request, invitation, form)
        return _page(request, {"invitation": invitation, "form": form}, status=422 if form.errors else 200)
    except rules.InvitationOverError as refusal:
        return _page(request, {"refusal": str(refusal)}, status=410)


def _page(request: HttpRequest, context: dict[str, Any], *, status: int) -> HttpResponse:
    nothing = {"invitation": None, "form": None, "refusal": "", "role_words": ""}
    invitation = context.get("invitation")
    if invitation is not None:
        nothing["role_words"] = ROLES_IN_WORDS[Role(invitation.role)]
    return render(request, TEMPLATE, nothing | context, status=status)


def _join(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """One button for who is signed in; whom the invitation gives nothing is in already, and goes there."""
    benchmark, user = invitation.benchmark, person(request)
    membership = Membership.objects.filter(benchmark=benchmark, user=user, active=True).first()
    if membership is not None and not gains(membership, invitation):
        return redirect("benchmark", slug=benchmark.slug)
    rules.check_invitation(invitation)
    if request.method == "POST" and "join" in request.POST:
        accept(invitation, by=user)
        return _welcome(request, invitation)
    return _page(request, {"invitation": invitation}, status=200)


def _register(request: HttpRequest, invitation: Invitation, form: AccountForm) -> HttpResponse:
    data = form.cleaned_data
    try:
        user = register(
            invitation,
            username=data["username"],
            display_name=data["display_name"],
            email=data["email"],
            password=data["password1"],
        )
    except IntegrityError:
        form.add_error("username", "Someone just took this username. Choose another one.")
        return _page(request, {"invitation": invitation, "form": form}, status=422)
    next_page = _welcome(request, invitation).url
    response: HttpResponse = perform_login(
        request, user, email_verification=settings.ACCOUNT_EMAIL_VERIFICATION, redirect_url=next_page, signup=True
    )
    return response


def _welcome(request: HttpRequest, invitation: Invitation) -> HttpResponseRedirect:
    messages.success(request, f"You joined: {invitation.benchmark}, {Role(invitation.role).label.lower()}.")
    if invitation.role in (Role.ANNOTATOR, Role.THIRD_RATER):  # who is asked for work, or told that none waits
        return redirect("home")
    return redirect("benchmark", slug=invitation.benchmark.slug)
