"""Discourse markers: words that tie a sentence to the one before and mean nothing when it stands alone."""

from __future__ import annotations

import re

_MARKERS = re.compile(
    r"(?:however|therefore|thus|hence|moreover|furthermore|additionally|in addition|also|besides|overall"
    r"|finally|lastly"
    r"|in fact|indeed|in conclusion|in summary|to summarize|as a result|as such|consequently|accordingly|for example"
    r"|for instance|meanwhile|nevertheless|nonetheless|similarly|likewise|in contrast|by contrast|on the other hand"
    r"|on the contrary|in other words|that is|of course|yes|no|well|sure|certainly|instead|in general|in particular"
    r"|firstly|secondly|thirdly|first|second|third|next|then|interestingly|notably|whereas|and|but|so)\b"
    r"(?:\s*,\s*|(?<=whereas)\s+|(?<=\band)\s+|(?<=\bbut)\s+|(?<=\bso)\s+(?=(?:it|he|she|they|the|this)\b))",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"(?:it(?:['’]s| is) (?:worth (?:noting|mentioning|remembering)|important to (?:note|remember|mention))"
    r"|(?:please )?note|keep in mind"
    r"|it should be noted|this means)(?: here)? that,?\s+(?=\S)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r",\s*(?:however|therefore|on the other hand|in contrast|by contrast|of course|for example|for instance|in turn"
    r"|in fact|too|as well),\s*",
    re.IGNORECASE,
)


def without_markers(text: str) -> str:
    """The text without opening markers ("However,", "It is worth noting that") and without one aside (", in turn,")."""
    for _ in range(2):
        match = _MARKERS.match(text)
        if not match or not text[match.end() :].strip():
            break
        text = text[match.end() :]
    frame = _FRAME.match(text)
    return _ASIDE.sub(" ", text[frame.end() :] if frame else text, count=1)
