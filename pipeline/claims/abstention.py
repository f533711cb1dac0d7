"""Responses that decline to answer: nothing is extracted from them, and no model is asked (VeriScore, FastFact).

VeriScore's code knows six sentences and takes a response that is one of them; FastFact's looks for an apology anywhere.
Here a short response that declines counts, however it puts it: an apology within a real answer does not.
"""

from __future__ import annotations

import re

_LONGEST = 300  # characters
_DECLINES = re.compile(
    r"^(?:i(?:'m| am) (?:very |really )?(?:sorry|afraid)|sorry|i apologi[sz]e|my apologies)\b.{0,40}?"
    r"\b(?:can(?:no|'|\s?no)t|can not|could(?:n't| not)|unable|not able|do(?:n't| not)|wo(?:n't)|will not)\b"
    r"|^(?:unfortunately,? )?i(?:'m| am) (?:unable|not able) to\b|^i (?:cannot|can't|can not|won't) "
    r"(?:answer|help|assist|fulfill|comply|provide|do that)\b",
    re.IGNORECASE | re.DOTALL,
)


def declines(response: str) -> bool:
    """Whether a response does nothing but decline to answer; an empty one does."""
    text = " ".join(response.replace("’", "'").split())
    return not text or (len(text) <= _LONGEST and _DECLINES.search(text[:150]) is not None)
