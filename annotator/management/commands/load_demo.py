"""Load the demo and its log-ins."""

from __future__ import annotations

import argparse
import hashlib
import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotator.core.actions.search_entries import index_outdated
from annotator.core.models import Benchmark, Membership, User
from annotator.core.vocabulary import OPEN_STATES, Role
from annotator.home import demo, demo_pair
from annotator.management.working import work_off

# Log-in, name, role in the demo.
PEOPLE = (
    ("admin", "Admin", "owns the benchmark, and the Django admin at /admin/"),
    ("anna", "Anna", "annotator, has begun"),
    ("ben", "Ben", "annotator, starts fresh"),
    ("dana", "Dana", "annotates with Eli; they have a document to adjudicate"),
    ("eli", "Eli", "labels with Dana"),
    ("finn", "Finn", "adjudicator of Dana and Eli"),
    ("rosa", "Rosa", "researcher: gold, statistics, export"),
)
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without look-alikes
MARK = "demo"  # in a person's preferences: created by this command


class Command(BaseCommand):
    help = (
        "Load the demo with seven people, whose random passwords are printed and kept in the local data folder. "
        "Loading it again changes nothing and prints them again. For local use only: refused if DATABASE_URL is set."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--force", action="store_true", help="load it even if DATABASE_URL is set")
        parser.add_argument(
            "--close", action="store_true", help="lock the demo log-ins, for a server that others can reach"
        )

    def handle(self, **options: Any) -> None:
        if options["close"]:
            self._close()
            return
        if settings.DATABASE_URL and not options["force"]:
            raise CommandError(
                "The demo’s log-ins belong on one’s own machine, and DATABASE_URL names another database. "
                "--force loads it all the same."
            )
        taken = self._taken()
        if taken:
            self.stdout.write(f"The demo wasn’t loaded: {taken} already exists and isn’t the demo’s.")
            return
        kept = read_logins()
        with transaction.atomic():
            people = [_person(name, display_name, kept) for name, display_name, _ in PEOPLE]
            new: list[Benchmark] = []
            if demo.demo_benchmark() is None:
                admin, anna, ben, dana, eli, finn, rosa = people
                new.append(demo.load(owner=admin, busy=anna, fresh=ben))
                corpus = new[0].corpus
                assert corpus is not None  # the demo was just given one
                new.append(demo_pair.load(owner=admin, first=dana, second=eli, third=finn, corpus=corpus))
                for benchmark in new:
                    Membership.objects.create(benchmark=benchmark, user=rosa, role=Role.RESEARCHER)
            # Before the commit: a password that nobody knows must never be the valid one.
            write_logins(kept)
        for benchmark in new:
            # Suggestions and evidence now, so that the demo is complete when the page opens.
            work_off(list(benchmark.runs.filter(state__in=OPEN_STATES)))
        index_outdated()
        self._tell(people, kept)

    def _taken(self) -> str:
        """What is in the way: someone else's user name or benchmark; "" if nothing."""
        for person in User.objects.filter(username__in=[name for name, _, _ in PEOPLE]).order_by("username"):
            if MARK not in person.preferences:
                return f"a log-in “{person.username}”"
        taken = Benchmark.objects.filter(slug__in=(demo.SLUG, demo_pair.SLUG)).order_by("slug").first()
        if demo.demo_benchmark() is None and taken is not None:
            return f"a benchmark “{taken.slug}”"
        return ""

    def _tell(self, people: list[User], kept: dict[str, str]) -> None:
        self.stdout.write("\nDemo log-ins, for this machine only:")
        for person, (name, _, words) in zip(people, PEOPLE, strict=True):
            changed = person.preferences[MARK].get("password") != _fingerprint(person)
            password = "(changed since)" if changed else kept[name]
            self.stdout.write(f"  {name:<6}  {password:<15}  {words}")
        self.stdout.write(f"They are kept in {logins_file()}\n")

    def _close(self) -> None:
        closed = 0
        for person in User.objects.filter(username__in=[name for name, _, _ in PEOPLE], is_active=True):
            if MARK in person.preferences:
                person.is_active = False
                person.preferences[MARK]["closed"] = True
                person.save(update_fields=["is_active", "preferences"])
                closed += 1
        if closed:
            self.stdout.write(f"{closed} demo log-ins are locked. load_demo unlocks them.")


def _person(name: str, display_name: str, kept: dict[str, str]) -> User:
    """The demo's person, created if necessary. A new password is added to ``kept``."""
    person = User.objects.filter(username=name).first()
    if person is not None and name in kept:
        if person.preferences[MARK].pop("closed", False):
            person.is_active = True
            person.save(update_fields=["is_active", "preferences"])
        return person
    if person is None:
        is_admin = name == "admin"
        person = User(username=name, display_name=display_name, is_staff=is_admin, is_superuser=is_admin)
    kept[name] = _new_password()
    person.set_password(kept[name])
    person.is_active = True
    person.preferences[MARK] = {"password": _fingerprint(person)}
    person.save()
    return person


def _new_password() -> str:
    """Three groups of four characters: about 59 bits and easy to type."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(3))


def _fingerprint(person: User) -> str:
    """Checks without slow hashing whether the password is still the one set here."""
    return hashlib.sha256(person.password.encode()).hexdigest()[:16]


def logins_file() -> Path:
    """Where the passwords are stored, readable only by their owner."""
    return Path(settings.VAR_DIR) / "demo-logins.txt"


def read_logins() -> dict[str, str]:
    """Passwords by log-in; empty if none are stored."""
    try:
        lines = logins_file().read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {words[0]: words[1] for line in lines if len(words := line.split()) == 2}


def write_logins(logins: dict[str, str]) -> None:
    text = "".join(f"{name} {password}\n" for name, password in logins.items())
    part = logins_file().with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(logins_file())
