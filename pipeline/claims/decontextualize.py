"""Step 2: sentences that stand alone: pronouns replaced, discourse markers dropped, short names written out.

What a pronoun stands for is guessed from the subjects of earlier sentences and from the prompt, when number and kind
agree; otherwise the pronoun stays for a person to mend (Factcheck-Bench appendix C.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.claims.context import NAME, TITLES, Context
from pipeline.claims.lexicon import FUNCTION_WORDS
from pipeline.claims.markers import without_markers
from pipeline.claims.pronouns import resolved
from pipeline.sentences.boundaries import LIST_MARKER

_ALSO = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|may|might) also\b", re.IGNORECASE)
_LABEL = re.compile(r"([^:.,;!?]{2,60}):\s+(he|she|it|they)\s+(?=[a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decontextualised:
    """A sentence that stands alone, and what its pronouns stood for by kind ("thing", "person", "many")."""

    text: str
    stands_for: dict[str, str] = field(default_factory=dict)


def decontextualise(sentence: str, context: Context) -> Decontextualised:
    """The sentence as it can be understood alone, as far as the rules see. Does not change ``context``."""
    marker = LIST_MARKER.match(sentence)
    text = " ".join(sentence[marker.end() if marker else 0 :].replace("**", "").split())
    text = text.lstrip("#").lstrip()
    text = without_markers(text)
    label = _LABEL.match(text)  # "Haifeng Wang: He served"
    if label and (label[2].lower() in ("it", "they") or NAME.fullmatch(label[1])):
        text = f"{label[1]} {text[label.end() :]}"
    text = _ALSO.sub(r"\1", text)
    text, stands_for = resolved(text, context)
    return Decontextualised(_capitalised(text) or " ".join(sentence.split()), stands_for)


def with_full_names(claim: str, context: Context) -> str:
    """The claim with a person's last name, standing alone or after a title, written out as it was introduced."""
    for last, full in context.full_names.items():
        if full in claim or last not in claim:
            continue
        short = re.compile(rf"(?:(?P<before>[\w.]+)\s+)?(?<![\w.-]){re.escape(last)}(?![\w-]|\s+[A-Z])")
        match = short.search(claim)
        if match is None:
            continue
        before = match["before"] or ""
        if claim[match.end() - len(last) - 1 : match.end() - len(last)] in ("*", "_", '"', "“", "'"):
            continue  # a title of a work
        start = match.start() if before.lower().strip(".") in TITLES else match.end() - len(last)
        if start != match.start() and before[:1].isupper() and before.lower() not in FUNCTION_WORDS:
            continue  # another person of that name
        if start == match.start() and full.split()[0].lower().strip(".") not in TITLES:
            start = match.end() - len(last)  # the full name has no title: keep the one written here
        claim = claim[:start] + full + claim[match.end() :]
    return claim


def _capitalised(text: str) -> str:
    """The first letter large, unless the word is spelled with inner capitals (iPhone, andThen)."""
    first = text.split(" ", 1)[0]
    return text if first[1:] != first[1:].lower() else text[:1].upper() + text[1:]
