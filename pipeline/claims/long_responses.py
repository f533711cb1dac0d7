"""Long responses in parts: what a model says of a part fits into one answer, and no call carries the whole response.

The papers' responses are short, and read whole. Up to ``LONGEST_AT_ONCE`` characters it is the same here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.sentences.boundaries import SentenceSpan

# About 1,500 tokens of English, and with its claims about 5,000 tokens of an answer.
LONGEST_AT_ONCE = 6000  # characters
_BEFORE = 600  # characters of context shown before a part


def parts(spans: Sequence[SentenceSpan], longest: int = LONGEST_AT_ONCE) -> list[Sequence[SentenceSpan]]:
    """The sentences in runs of at most ``longest`` characters each, of about the same length; one sentence at least."""
    if not spans:
        return []
    whole = spans[-1].end - spans[0].start
    each = whole / -(-whole // longest)
    found: list[list[SentenceSpan]] = [[]]
    for span in spans:
        run = found[-1]
        if run and (span.end - run[0].start > longest or span.start - spans[0].start >= each * len(found)):
            found.append([])
        found[-1].append(span)
    return list(found)


def before(response: str, start: int) -> str:
    """The end of what stands before a part that begins at ``start``, from the beginning of a word; "" at the start."""
    shown = response[max(0, start - _BEFORE) : start].strip()
    return shown.partition(" ")[2] if start > _BEFORE else shown


def around(response: str, start: int, end: int, longest: int = LONGEST_AT_ONCE) -> str:
    """The part of a response that a place stands in: the whole response where that is not long. The cuts are marked."""
    if len(response) <= longest:
        return response
    margin = max(0, longest - (end - start)) // 2
    first, last = max(0, start - margin), min(len(response), end + margin)
    return f"{'… ' if first else ''}{response[first:last].strip()}{' …' if last < len(response) else ''}"
