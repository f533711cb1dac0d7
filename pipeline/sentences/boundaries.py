"""Step 1a: the sentences of a response, with exact offsets.

Layout first (blank lines, headings, list items, code), then NLTK's Punkt within each block of running text. Headings,
rules, table headers and list markers on their own are layout rather than sentences, because they can't be true or
false. Only layout and white space lie between two sentences. Punkt's parameters ship with the project
(script/train_punkt.py), so nothing is downloaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

from nltk.tokenize.punkt import PunktLanguageVars, PunktParameters, PunktSentenceTokenizer

DATA = Path(__file__).resolve().parent.parent / "data"

# "- ", "* ", "• ", "1. ", "1) ", "(a) ", "1.Name": what starts a list item.
LIST_MARKER = re.compile(
    r"[ \t]*(?:[-*+•‣▪◦–—]+[ \t]+|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)](?:[ \t]+|(?=[^\W\d_]{2})))"
)
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-=*_]{3,}[ \t]*$|\|)")
# Markdown layout: a heading ("## Life"), a rule ("---"), the line below a table header ("|---|:--:|").
_LAYOUT = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t].*)?|(?:[-=*_][ \t]*){3,})\Z")
_TABLE_LINE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*\Z")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_LINE = re.compile(r"[^\n\r\v\f\x85\u2028\u2029]*(?:\r\n|[\n\r\v\f\x85\u2028\u2029]|$)")
# A shorter line was ended on purpose; a longer one may have been wrapped.
_WRAP_WIDTH = 60
# Sentence ends that Punkt doesn't know: full-width ones, and Arabic, Urdu and Devanagari ones before a space.
_OTHER_END = re.compile(r"[。！？]+[”’」』》）)\"']*|[؟۔।]+[”’»)\"']*(?=\s)")
# "a decree of Ptolemy V. French soldiers", "World War I. The": a numeral, where Punkt sees a name's initial. After
# words that only numerals follow, any capital letter will do; otherwise the next word must not be a family name.
_NUMERAL_END = re.compile(
    r"\b(?:(?:War|Act|Type|Part|Tier|Phase|Class|Title|Stage|Group|Chapter|Volume|Article|Saturn|Pius|Henri|Haakon"
    r"|Xerxes|Darius|Ptolemy|Ramses|Thutmose) [IVX]\.(?=\s+[A-Z])"
    r"|[A-Za-z]?[a-z]+ [IVX]\.(?=\s+(?:The|This|These|That|He|She|It|They|In|On|At|After|During|Its|His|Her|Their|As"
    r"|When|While|However)\b))"
)
_INLINE_NUMBER = re.compile(r"(?<=[:;])\s+(\d{1,2}[.)])\Z")
_CLOSING = re.compile(r"[*_]+(?=\s)")
_SOFT_END = re.compile(r"(?:[?!][\"”’'»)]+|…|\.\.\.)$")
_SMALL_WORD = re.compile(r"\s*[a-z][a-z'’]*\b")
_AFTERTHOUGHT = re.compile(r"[(\[][^()\[\]]{1,20}[)\]][.,]?")
_NUMBER = re.compile(r"\(?\d{1,2}[.)]")
_HAS_CONTENT = re.compile(r"\w")
# A longer run without spaces isn't natural language (base64, a data dump), and Punkt is slow on it.
_LONGEST_WORD = 2000


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """A piece of a text: ``text == response[start:end]``, without leading or trailing white space."""

    start: int
    end: int
    text: str


def split_sentences(text: str) -> list[SentenceSpan]:
    """The sentences of ``text`` in order, not overlapping. A list item keeps its marker. Blank text has no sentences,
    nor has a text of only headings, rules and table headers."""
    spans: list[SentenceSpan] = []
    for block_start, block_end, is_code in _blocks(text):
        pieces = [(block_start, block_end)] if is_code else _sentences(text, block_start, block_end)
        for raw_start, raw_end in pieces:
            piece = text[raw_start:raw_end].strip()
            if not piece:
                continue
            start = text.index(piece, raw_start)
            end = start + len(piece)
            if spans and _is_one(text, spans[-1], start, piece):
                start = spans.pop().start
            spans.append(SentenceSpan(start, end, text[start:end]))
    return [span for span in spans if not _NUMBER.fullmatch(span.text)]


def sentences_of_page(text: str) -> list[str]:
    """The sentences of a page as text, with its headings and other layout between them: every word is in exactly one
    piece."""
    found: list[str] = []
    position = 0
    for span in split_sentences(text):
        found += [text[position : span.start], span.text]
        position = span.end
    return [piece for piece in (*found, text[position:]) if piece.strip()]


def _is_one(text: str, before: SentenceSpan, start: int, piece: str) -> bool:
    """Whether a piece belongs to the previous one: closing quotes, "(1969).", or what follows a number within a
    line."""
    if text[before.end : start].strip(" \t"):
        return False
    return not _HAS_CONTENT.search(piece) or bool(_AFTERTHOUGHT.fullmatch(piece) or _NUMBER.fullmatch(before.text))


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Runs of lines that may share sentences, as (start, end, is code)."""
    start: int | None = None
    end = 0
    previous = ""
    in_code = False
    lines = [match for match in _LINE.finditer(text) if match.start() < match.end()]
    for match, following in zip_longest(lines, lines[1:]):
        line = match[0].rstrip()
        if _FENCE.match(line):
            if start is not None and not in_code:
                yield start, end, False
                start = None
            if in_code and start is not None:
                yield start, match.end(), True
                start, in_code = None, False
                continue
            start, end, in_code = match.start(), match.end(), True
            continue
        if in_code:
            end = match.end()
            continue
        is_layout = _is_layout(line, following[0].rstrip() if following else "")
        if start is not None and (is_layout or not _continues(previous, line)):
            yield start, end, False
            start = None
        if line.strip() and not is_layout:
            start = match.start() if start is None else start
            end = match.end()
        previous = line
    if start is not None:
        yield start, end, in_code


def _is_layout(line: str, following: str) -> bool:
    """Is this line a heading, a rule, or a table header (which the next line decides)?"""
    if _LAYOUT.match(line) or ("|" in line and _TABLE_LINE.match(line)):
        return True
    return "|" in line and "|" in following and bool(_TABLE_LINE.match(following))


def _continues(previous: str, line: str) -> bool:
    """Whether a line may continue the previous line's sentence."""
    if not line.strip() or LIST_MARKER.match(line) or _HEADING.match(line) or _HEADING.match(previous):
        return False
    if previous.rstrip().endswith((".", "!", "?", ":", "。", "؟")) and len(previous) < _WRAP_WIDTH:
        return False
    first = line.lstrip()[0]
    return first.islower() or previous.endswith((",", ";")) or len(previous) >= _WRAP_WIDTH


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    marker = LIST_MARKER.match(text, start, end)
    body = marker.end() if marker else start
    if any(len(word) > _LONGEST_WORD for word in text[body:end].split()):
        yield start, end
        return
    ends = [body + piece_end for _, piece_end in _punkt().span_tokenize(text[body:end])]
    ends += [other.end() for other in _OTHER_END.finditer(text, body, end)]
    ends += [numeral.end() for numeral in _NUMERAL_END.finditer(text, body, end)]
    # "Here is a list: 1. First": a number within a line belongs to what follows.
    ends = [
        stop - len(number[1]) if (number := _INLINE_NUMBER.search(text[max(0, stop - 8) : stop])) else stop
        for stop in ends
    ]
    first = start  # the marker stays with the first sentence
    for raw_stop in sorted(ends):
        # Closing emphasis after the period belongs to the sentence: "**Bold.** Next".
        closing = _CLOSING.match(text, raw_stop, end)
        stop = closing.end() if closing else raw_stop
        if stop > first and not (stop < end and _goes_on(text[first:stop], text[stop : stop + 80])):
            yield first, stop
            first = stop
    if first < end:
        yield first, end


def _goes_on(piece: str, rest: str) -> bool:
    """A lowercase letter after a quoted question ("Is it?" she asked) or after a URL's period (a.b/c. for)."""
    return bool(_SMALL_WORD.match(rest) and (_SOFT_END.search(piece) or "://" in piece.rsplit(None, 1)[-1]))


class _LanguageVars(PunktLanguageVars):
    """Punkt's English defaults, with the ellipsis as a sentence end, too."""

    sent_end_chars = (".", "?", "!", "…")


@cache
def _punkt() -> PunktSentenceTokenizer:
    learnt = json.loads((DATA / "punkt.json").read_text(encoding="utf-8"))
    by_hand = (DATA / "abbreviations.txt").read_text(encoding="utf-8").splitlines()
    parameters = PunktParameters()
    parameters.abbrev_types = {line for line in by_hand if not line.startswith("#")}
    parameters.collocations = {(first, second) for first, second in learnt["collocations"]}
    parameters.sent_starters = set(learnt["sent_starters"])
    parameters.ortho_context.update(learnt["ortho_context"])
    return PunktSentenceTokenizer(parameters, lang_vars=_LanguageVars())
