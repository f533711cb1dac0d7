"""Windows over the sentences of a response: each sentence marked, with its context (VeriScore, section 2.1).

In addition to the neighbors, a window has what a reader would remember: the question, which the prompt contains, or,
without a question, the first sentence of a long paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.sentences.boundaries import SentenceSpan

BEFORE, AFTER = 3, 1
# In paragraphs with more sentences than this, the first one comes before each window.
SHORT_PARAGRAPH = 5
_START, _END = "<SOS>", "<EOS>"
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def windows(
    response: str, spans: Sequence[SentenceSpan], *, before: int = BEFORE, after: int = AFTER, lead: bool = False
) -> list[str]:
    """One text per sentence, in order: up to ``before`` sentences, the marked sentence, up to ``after`` sentences.
    ``lead``: the first sentence of a paragraph of more than five comes first, unless it is included anyway."""
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
    """For each sentence in a long paragraph, the position of the paragraph's first sentence."""
    paragraphs: list[list[int]] = []
    for position, span in enumerate(spans):
        if not position or _BLANK_LINE.search(response[spans[position - 1].end : span.start]):
            paragraphs.append([])
        paragraphs[-1].append(position)
    return {
        position: paragraph[0] for paragraph in paragraphs if len(paragraph) > SHORT_PARAGRAPH for position in paragraph
    }
