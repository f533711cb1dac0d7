"""What became of a page since evidence was cut from it, from its text then and what its address gives now."""

from __future__ import annotations

import re

from annotator.core.vocabulary import PageOutcome
from pipeline.clients.base import FetchedPage
from pipeline.clients.pages import Absence

# How publishers mark it: "RETRACTED: Title", "Retraction notice", "This article has been withdrawn by the authors".
_MARK = re.compile(
    r"^\W*(?:retracted|withdrawn)\b|\bretraction (?:notice|note|statement)\b"
    r"|\b(?:article|paper|study|story|report|publication|manuscript|preprint|piece)\b[^.\n]{0,40}"
    r"\b(?:been|was|were|is|being) (?:now |since |officially |formally )?(?:retracted|withdrawn)\b",
    re.IGNORECASE | re.MULTILINE,
)
START = 3_000  # characters: a page says at its top that it was retracted; further down it speaks of others


def outcome_of(title: str, text: str, now: FetchedPage | Absence) -> PageOutcome:
    """What became of the page whose title and text were these. A page that could not be asked for is neither changed
    nor gone."""
    if isinstance(now, Absence):
        return PageOutcome.VANISHED if now.gone else PageOutcome.UNREACHED
    if is_retracted(now.title, now.text) and not is_retracted(title, text):
        return PageOutcome.RETRACTED
    return PageOutcome.SAME if _words(now.text) == _words(text) else PageOutcome.CHANGED


def is_retracted(title: str, text: str) -> bool:
    """Does the page say of itself that it was retracted or withdrawn?"""
    return bool(_MARK.search(f"{title}\n{text[:START]}"))


def _words(text: str) -> list[str]:
    return text.split()
