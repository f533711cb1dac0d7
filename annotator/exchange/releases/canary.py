"""A string contained in every copy of a release's card and nowhere else. If it turns up in a text, for example in
training data, that text contains the release."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator

_PREFIX = "touchstone-canary"
_FORM = re.compile(rf"{_PREFIX}:[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}")
# Longer than any canary: how much of the previous piece is kept.
OVERLAP = 80


def canary_of(public_id: str) -> str:
    """The canary of a release, always the same for the same one."""
    digest = hashlib.blake2b(f"{_PREFIX} {public_id}".encode(), digest_size=16).digest()
    return f"{_PREFIX}:{uuid.UUID(bytes=digest, version=4)}"


def canaries_in(pieces: Iterable[str]) -> Iterator[str]:
    """All canaries in a text that arrives in pieces, each once, ignoring case."""
    seen: set[str] = set()
    rest = ""
    for piece in pieces:
        text = (rest + piece).casefold()
        for found in _FORM.findall(text):
            if found not in seen:
                seen.add(found)
                yield found
        rest = text[-OVERLAP:]
