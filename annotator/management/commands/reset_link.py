"""A link with which a person can set a new password, for servers that send no email."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from annotator.core.models import User


class Command(BaseCommand):
    help = "Print a link with which a person can set a new password. It works once, for three days."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--second-step", action="store_true", help="also remove their second step at sign-in")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["username"], is_active=True).first()
        if person is None:
            raise CommandError(f"No active account has the user name {options['username']!r}.")
        if options["second_step"]:
            removed, _ = Authenticator.objects.filter(user=person).delete()
            self.stderr.write(f"Removed {removed} second step(s).")
        key = f"{user_pk_to_url_str(person)}-{default_token_generator.make_token(person)}"
        uid, _, token = key.partition("-")
        address = reverse("account_reset_password_from_key", kwargs={"uidb36": uid, "key": token})
        self.stdout.write(f"{settings.SITE_URL}{address}")
