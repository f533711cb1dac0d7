"""The words of a text and of a search, cut the same way whatever the database.

A text is stored as its words, in lower case and parted by spaces, so that the full-text indexes of SQLite and
PostgreSQL, whose own rules differ, see nothing but plain words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MAX_TERMS = 20
# Letters that are written without spaces between words (Chinese, Japanese, Thai, Lao, Khmer) are words of their own.
_ALONE = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_ALONE}]|(?:(?![{_ALONE}])[^\W_])+")
_PIECE = re.compile(r'"([^"]*)"?|(\S+)')
# Separates the texts of a document in the index, so that a phrase can't match across two of them.
TEXT_END = "endoftextqzq"
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))


@dataclass(frozen=True, slots=True)
class Term:
    """What a text must contain: one word or the beginning of it, or several words one after another."""

    words: tuple[str, ...]
    is_exact: bool = False


def words_of(text: str) -> list[str]:
    """The words of a text in order, in lower case; punctuation is left out."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def terms_of(search: str) -> list[Term]:
    """What a search asks for: each word, in any order, and each phrase in quotation marks. A word also finds longer
    words that begin with it; a phrase does not. "state-of-the-art" is a phrase. At most ``MAX_TERMS`` are looked at."""
    terms: list[Term] = []
    for phrase, word in _PIECE.findall(search.translate(_QUOTES)):
        words = tuple(words_of(phrase or word))
        if words:
            terms.append(Term(words, is_exact=bool(phrase)))
    return terms[:MAX_TERMS]


def sqlite_match(terms: list[Term]) -> str:
    """The terms as FTS5 reads them."""
    return " AND ".join(f'"{" ".join(each.words)}"' + ("" if _is_whole(each) else "*") for each in terms)


def postgresql_query(terms: list[Term]) -> str:
    """The terms as ``to_tsquery`` reads them."""
    return " & ".join(
        "(" + " <-> ".join(f"'{word}'" for word in each.words) + ")" if _is_whole(each) else f"'{each.words[0]}':*"
        for each in terms
    )


def _is_whole(term: Term) -> bool:
    return term.is_exact or len(term.words) > 1
