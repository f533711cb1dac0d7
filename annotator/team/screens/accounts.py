"""Sign-in and accounts: what Touchstone adds to django-allauth, which provides the pages."""

from __future__ import annotations

import logging
from typing import Any, cast

import qrcode
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import ChangePasswordForm, LoginForm, ResetPasswordKeyForm
from allauth.account.views import LoginView, PasswordResetView
from allauth.core import context as allauth_context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from qrcode.image.svg import SvgPathImage

from annotator.core.models import Membership, User
from annotator.core.vocabulary import Role, SecurityEventKind
from annotator.integrations.actions.tokens import revoke_tokens_of
from annotator.team.actions.security import note

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are created by invitation."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": "The username or the password is wrong.",
        "email_password_mismatch": "The email address or the password is wrong.",
        "too_many_login_attempts": "Too many failed attempts to sign in. Try again in five minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody creates an account without an invitation (or single sign-on, see below)."""
        return False

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """People who label or adjudicate land on their work; people who read gold or manage what others label, on their
        benchmarks."""
        theirs = Membership.objects.filter(user=cast(User, request.user), active=True)
        roles = set(theirs.values_list("role", flat=True))
        if not roles or roles & {Role.ANNOTATOR, Role.THIRD_RATER}:
            return reverse("home")
        of_others = Membership.objects.filter(benchmark__in=theirs.values("benchmark"), active=True)
        labels_alone = roles != {Role.RESEARCHER} and not of_others.filter(role=Role.ANNOTATOR).exists()
        return reverse("home" if labels_alone else "benchmarks")

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Sends the email if a mail server is set up. A failure is logged; it doesn't undo what the person did."""
        if not settings.MAIL_IS_ON:
            return
        try:
            super().send_mail(template_prefix, email, context)
        except OSError as error:  # which smtplib's errors are, too
            logger.error("An account email could not be sent: %s", error)
            if request := allauth_context.request:
                messages.warning(request, "We couldn’t send an email just now. Try again later.")

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *more: Any, **named: Any
    ) -> None:
        """Doesn't claim that an email was sent when the installation sends none."""
        if message_template == "account/messages/email_confirmation_sent.txt" and not settings.MAIL_IS_ON:
            messages.info(request, "This installation sends no email, so the address stays unverified.")
            return
        super().add_message(request, level, message_template, *more, **named)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Counts attempts by account and by address, before any password is hashed."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            typed = str(credentials.get("username") or credentials.get("email") or "")
            user = User.objects.filter(username=typed).first()
            if cache.add(f"throttled:{self.get_client_ip(request)}:{user.pk if user else ''}", 1, timeout=60):
                note(SecurityEventKind.THROTTLED, request=request, user=user, name="" if user else typed)
            raise


class SecondStepAdapter(DefaultMFAAdapter):
    """The QR code as an inline image."""

    def build_totp_svg(self, url: str) -> str:
        """Without an XML declaration, which isn't allowed inside HTML."""
        drawing: str = qrcode.make(url, image_factory=SvgPathImage).to_string(encoding="unicode")
        return drawing


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """People in the organization's directory get an account; they still see benchmarks by invitation only."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """The operator decides (``SSO_SIGNUP``)."""
        return bool(settings.SSO_SIGNUP)

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> User:
        """As allauth does, and the name that the team sees."""
        user: User = super().populate_user(request, sociallogin, data)
        name = data.get("name") or f"{data.get('first_name') or ''} {data.get('last_name') or ''}"
        user.display_name = str(name).strip()[:120]
        return user


class SignInForm(LoginForm):
    """User name or address, and the password."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["login"].label = "Username or email address"
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)
            field.help_text = ""  # the page says what to do about a forgotten password


class SignIn(LoginView):
    """The one place to sign in, for the pages and the admin."""

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        """Whether a forgotten password can be mailed."""
        context: dict[str, Any] = super().get_context_data(**options)
        return context | {"mail_is_on": settings.MAIL_IS_ON}


class ResetPassword(PasswordResetView):
    """Resets by email. Without a mail server, the page says whom to ask."""

    @method_decorator(login_not_required)
    def dispatch(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        """The form, or the page that says whom to ask."""
        if not settings.MAIL_IS_ON:
            return render(request, "account/no_mail.html")
        answer: HttpResponseBase = super().dispatch(request, *args, **options)
        return answer


class _EndsTokens(forms.Form):
    """Asks whether to revoke the API tokens along with the old password."""

    end_tokens = forms.BooleanField(
        required=False,
        label="Revoke my API tokens, too",
        help_text="If someone else may know your password, programs that use your tokens should stop as well.",
    )

    def save(self) -> None:
        """Set the password, then revoke the tokens if requested."""
        super().save()  # type: ignore[misc]
        if self.cleaned_data["end_tokens"]:
            revoke_tokens_of(self.user)  # type: ignore[attr-defined]


class ChangePassword(_EndsTokens, ChangePasswordForm):
    """The current password, the new one twice."""

    field_order = ("oldpassword", "password1", "password2", "end_tokens")


class NewPassword(_EndsTokens, ResetPasswordKeyForm):
    """The new password twice, by a mailed link."""

    field_order = ("password1", "password2", "end_tokens")
