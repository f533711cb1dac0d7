"""What people are called in files that leave: a pseudonym of their benchmark, or by choice their user name."""

from __future__ import annotations

import re

from django.utils.crypto import salted_hmac

from annotator.core.models import Benchmark, Membership, User
from annotator.core.models.base import ALPHABET

# In the preferences of a person whom an import brought: what they were called in its file.
IMPORTED_AS = "imported_as"
PSEUDONYM = re.compile(rf"person-[{ALPHABET}]{{10}}")


def pseudonym(benchmark: Benchmark, person_pk: int) -> str:
    """The same for a person throughout one benchmark, another in every other, and not to be traced back without the
    installation's SECRET_KEY: a keyed hash of 50 bits."""
    digest = salted_hmac("annotator.pseudonym", f"{benchmark.public_id}:{person_pk}", algorithm="sha256").digest()
    return "person-" + "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:10])


class Keys:
    """The keys of people in one file. Whoever came in with an import keeps the key that they had in its file, so that
    an export of the imported benchmark equals the file."""

    def __init__(self, benchmark: Benchmark, *, named: bool) -> None:
        self.benchmark = benchmark
        self.named = named
        self._keys: dict[int, str] = {}
        self._names: dict[str, str] = {}
        people = User.objects.filter(pk__in=Membership.objects.filter(benchmark=benchmark).values("user"))
        for person in people:
            self._learn(person)

    def key(self, person_pk: int | None) -> str:
        """The key of a person; "" for nobody. One query for someone who never was a member (a superuser)."""
        if person_pk is None:
            return ""
        if person_pk not in self._keys:
            self._learn(User.objects.get(pk=person_pk))
        return self._keys[person_pk]

    def without_names(self, text: str) -> str:
        """A sentence of Touchstone's own with the members' names replaced by their keys."""
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
