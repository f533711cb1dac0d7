"""Which claims of two people say the same: a similarity that minds what tells one claim from its neighbor.

Words that most claims of a sentence share (its subject, the year it is about) say little about which claim is which;
numbers, names and negations say much. So words are weighed by how few of the claims at hand have them, and claims that
contradict each other in a number, a name or a negation are never the same. Nobody writes a claim twice, so two claims
are not the same either that are no more alike than one of them is to another claim of the same person.

By hand: sentence encoders need weights that cannot be shipped. ``benchmarks/matching.py`` measures the error on pairs
made from released gold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nltk.stem import PorterStemmer

from pipeline.metrics.alignment import Match, align_table
from pipeline.metrics.text import edit_distance

# Claims less alike than this are two claims. benchmarks/matching.py shows what other thresholds would do.
SAME_CLAIM = 0.6

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)?|%")
_STEMS = PorterStemmer()
_FUNCTION = frozenset(
    "a an the of in on at to for from by with and or as is was are were be been being has have had do does did that "
    "this these those it its his her their he she they who which there also into than then so such".split()
)
_NEGATIONS = frozenset("not no never none neither nor without cannot nobody nothing".split())
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
# "One" is a pronoun as often as a number.
del _NUMBERS["one"]
_SAME = {"percent": "%", "us": "unitedstates", "usa": "unitedstates", "uk": "unitedkingdom", "un": "unitednations"}
_ABBREVIATED = re.compile(r"\b(?:([A-Z])\.){2,}")
_LONG_NAMES = re.compile(r"\b(united)\s+(states(?: of america)?|kingdom|nations)\b", re.IGNORECASE)

# What a word weighs that is in every claim at hand, and one that carries no meaning of its own; other words weigh 1.
_SHARED, _EMPTY = 0.35, 0.2
# Up to this edit distance two names may be one, misspelled.
_MISSPELLED = 0.25
# Differences of similarities below this are rounding.
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class _Said:
    """A claim as it is compared: its stems, and which of them are numbers and names; whether it is negated."""

    stems: Mapping[str, int]
    numbers: frozenset[str]
    names: frozenset[str]
    negated: bool


@lru_cache(maxsize=4096)
def _said(text: str) -> _Said:
    text = _ABBREVIATED.sub(lambda found: found[0].replace(".", ""), text)
    text = _LONG_NAMES.sub(lambda found: f"{found[1]}{found[2].split()[0]}", text)
    stems: Counter[str] = Counter()
    numbers, names, negations = set(), set(), 0
    for place, token in enumerate(_TOKEN.findall(text)):
        word = token.casefold().replace("’", "'")
        if word in _NEGATIONS or word.endswith("n't"):
            negations += 1
            continue
        word = word.removesuffix("'s")
        word = _SAME.get(word, _NUMBERS.get(word, word))
        if word[:1].isdigit():
            stem = word.replace(",", "")
            numbers.add(stem)
        else:
            stem = str(_STEMS.stem(word))
            # The first word of a claim is capitalized whatever it is.
            if token[:1].isupper() and place and word not in _FUNCTION:
                names.add(stem)
        stems[stem] += 1
    return _Said(stems, frozenset(numbers), frozenset(names), negations % 2 == 1)


def _contradict(one: _Said, other: _Said) -> bool:
    """Whether both say something that the other does not say, in numbers or in names, or one says no.

    A claim with fewer numbers or names than the other may say the same in fewer words. Names that begin either claim
    are looked up among the other's words, since their capital says nothing there.
    """
    if one.negated != other.negated:
        return True
    if one.numbers - other.numbers and other.numbers - one.numbers:
        return True
    ours, theirs = one.names - other.stems.keys(), other.names - one.stems.keys()
    # A name that is spelled a little otherwise is the same name.
    return bool(theirs) and any(min(edit_distance(name, each) for each in theirs) > _MISSPELLED for name in ours)


def claim_table(first: Sequence[str], second: Sequence[str]) -> list[list[float]]:
    """How alike the claims of two people are, 0 to 1: a row for each claim of the first, a column for each of the
    second. 0 where two claims contradict each other, or where one of them is as much like another one of the same
    person's. The claims have to be those of one sentence, or one response: what
    most of them share weighs little."""
    ours, theirs = [_said(text) for text in first], [_said(text) for text in second]
    weights = _weights(ours, theirs)
    least, least_of_theirs = _to_others(ours, weights), _to_others(theirs, weights)
    return [
        [
            value if value > max(low, least_of_theirs[column]) + _TINY else 0.0
            for column, value in enumerate(_similarity(one, other, weights) for other in theirs)
        ]
        for one, low in zip(ours, least, strict=True)
    ]


def _to_others(claims: Sequence[_Said], weights: Mapping[str, float]) -> list[float]:
    """How alike each claim is to that of the same person's others which is most like it; a claim that repeats another
    one word by word has no others of that kind."""
    return [
        max((value for each in claims if (value := _similarity(one, each, weights)) < 1 - _TINY), default=0.0)
        for one in claims
    ]


def match_claims(first: Sequence[str], second: Sequence[str], *, threshold: float = SAME_CLAIM) -> list[Match]:
    """The claims of two people that say the same, one to one, in the order of ``first``."""
    return align_table(claim_table(first, second), threshold=threshold)


def _weights(ours: Sequence[_Said], theirs: Sequence[_Said]) -> dict[str, float]:
    """What each stem weighs: the less, the more claims of both people have it."""
    weights: dict[str, float] = {}
    for stem in {stem for each in (*ours, *theirs) for stem in each.stems}:
        shares = [sum(stem in each.stems for each in side) / len(side) for side in (ours, theirs) if side]
        share = sum(shares) / len(shares)
        weights[stem] = (1 - (1 - _SHARED) * share) * (_EMPTY if stem in _FUNCTION else 1.0)
    return weights


def _similarity(one: _Said, other: _Said, weights: Mapping[str, float]) -> float:
    """F1 of the weighed stems that both claims have."""
    if _contradict(one, other):
        return 0.0
    total = sum(weights[stem] * times for each in (one, other) for stem, times in each.stems.items())
    if not total:
        return float(one.stems == other.stems)
    shared = sum(weights[stem] * min(times, other.stems.get(stem, 0)) for stem, times in one.stems.items())
    return 2 * shared / total
