"""Windows over the sentences of a response: each sentence marked, with what stands around it (VeriScore, section 2.1).

Beside the neighbors stands what a reader would carry in mind: the question, which the prompt gives, or for a text that
answers none the first sentence of a long paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.sentences.boundaries import SentenceSpan

BEFORE, AFTER = 3, 1
# A paragraph of more sentences than this has its first one put before its windows.
SHORT_PARAGRAPH = 5
_START, _END = "<SOS>", "<EOS>"
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def windows(
    response: str, spans: Sequence[SentenceSpan], *, before: int = BEFORE, after: int = AFTER, lead: bool = False
) -> list[str]:
    """One text for each sentence, in order: up to ``before`` sentences, the sentence in its marks, up to ``after``
    sentences. ``lead``: the first sentence of a paragraph of more than five comes first, unless it is there already."""
    leads = _leads(response, spans) if lead else {}
    found = []
    for position, span in enumerate(spans):
        first = max(0, position - before)
        opening = leads.get(position)
        parts = [spans[opening].text] if opening is not None and opening < first else []
        parts += [each.text for each in spans[first:position]]
        parts.append(f"{_START}{span.text}{_END}")
        parts += [each.text for each in spans[position + 1 : position + 1 + after]]
        found.append(" ".join(parts))
    return found


def _leads(response: str, spans: Sequence[SentenceSpan]) -> dict[int, int]:
    """The position of the first sentence of its paragraph, for each sentence in a long one."""
    paragraphs: list[list[int]] = []
    for position, span in enumerate(spans):
        if not position or _BLANK_LINE.search(response[spans[position - 1].end : span.start]):
            paragraphs.append([])
        paragraphs[-1].append(position)
    return {
        position: paragraph[0] for paragraph in paragraphs if len(paragraph) > SHORT_PARAGRAPH for position in paragraph
    }
