"""How people are named in exported files: by a pseudonym per benchmark or, if chosen, by user name."""

from __future__ import annotations

import re

from django.utils.crypto import salted_hmac

from annotator.core.models import Benchmark, Membership, User
from annotator.core.models.base import ALPHABET

# In the preferences of a person created by an import: their name in the imported file.
IMPORTED_AS = "imported_as"
PSEUDONYM = re.compile(rf"person-[{ALPHABET}]{{10}}")


def pseudonym(benchmark: Benchmark, person_pk: int) -> str:
    """The same for a person throughout one benchmark, different in every other, and untraceable without the
    installation's SECRET_KEY: a keyed hash of 50 bits."""
    digest = salted_hmac("annotator.pseudonym", f"{benchmark.public_id}:{person_pk}", algorithm="sha256").digest()
    return "person-" + "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:10])


class Keys:
    """The names of people in one file. People created by an import keep their name from that file, so that an export of
    the imported benchmark equals the file."""

    def __init__(self, benchmark: Benchmark, *, named: bool) -> None:
        self.benchmark = benchmark
        self.named = named
        self._keys: dict[int, str] = {}
        self._names: dict[str, str] = {}
        people = User.objects.filter(pk__in=Membership.objects.filter(benchmark=benchmark).values("user"))
        for person in people:
            self._learn(person)

    def key(self, person_pk: int | None) -> str:
        """A person's name in the file; "" for nobody. One query for someone who was never a member (a superuser)."""
        if person_pk is None:
            return ""
        if person_pk not in self._keys:
            self._learn(User.objects.get(pk=person_pk))
        return self._keys[person_pk]

    def without_names(self, text: str) -> str:
        """One of Touchstone's sentences with members' names replaced by their pseudonyms."""
        if self.named:
            return text
        for name in sorted(self._names, key=len, reverse=True):
            text = text.replace(name, self._names[name])
        return text

    def _learn(self, person: User) -> None:
        known = str(person.preferences.get(IMPORTED_AS, ""))
        if PSEUDONYM.fullmatch(known):
            key = known
        elif not self.named:
            key = pseudonym(self.benchmark, person.pk)
        elif known and not User.objects.filter(username=known).exists():
            key = known
        else:
            key = person.username
        self._keys[person.pk] = key
        self._names[str(person)] = key
