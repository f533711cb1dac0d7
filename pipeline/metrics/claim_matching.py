"""Which claims of two people say the same: a similarity that respects what distinguishes a claim from its neighbors.

Words that most claims of a sentence share (its subject, its year) don't tell claims apart; numbers, names and negations
do. So words are weighted by how few of the claims contain them, and claims that contradict each other in a number, a
name or a negation never match. Nobody writes the same claim twice, so two claims don't match either if one of them is
just as similar to another claim of the same person.

Our own implementation because sentence encoders need weights that can't be shipped. ``benchmarks/matching.py`` measures
the error on pairs made from released gold.
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

# Claims less similar than this are different. benchmarks/matching.py shows the effect of other thresholds.
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
# "One" is a pronoun as often as it is a number.
del _NUMBERS["one"]
_SAME = {"percent": "%", "us": "unitedstates", "usa": "unitedstates", "uk": "unitedkingdom", "un": "unitednations"}
_ABBREVIATED = re.compile(r"\b(?:([A-Z])\.){2,}")
_LONG_NAMES = re.compile(r"\b(united)\s+(states(?: of america)?|kingdom|nations)\b", re.IGNORECASE)

# The weight of a word that every claim contains, and of a function word; other words weigh 1.
_SHARED, _EMPTY = 0.35, 0.2
# Up to this edit distance, two names can be the same name misspelled.
_MISSPELLED = 0.25
# Smaller differences of similarities are rounding errors.
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class _Said:
    """A claim prepared for comparison: its stems, which of them are numbers and names, and whether it is negated."""

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
            # The first word of a claim is always capitalized.
            if token[:1].isupper() and place and word not in _FUNCTION:
                names.add(stem)
        stems[stem] += 1
    return _Said(stems, frozenset(numbers), frozenset(names), negations % 2 == 1)


def _contradict(one: _Said, other: _Said) -> bool:
    """Whether each claim has a number or name that the other lacks, or only one is negated.

    A claim with fewer numbers or names than the other may say the same in fewer words. Names at the start of a claim
    are compared with all words of the other, because their capital letter means nothing there.
    """
    if one.negated != other.negated:
        return True
    if one.numbers - other.numbers and other.numbers - one.numbers:
        return True
    ours, theirs = one.names - other.stems.keys(), other.names - one.stems.keys()
    # A name with a slightly different spelling is the same name.
    return bool(theirs) and any(min(edit_distance(name, each) for each in theirs) > _MISSPELLED for name in ours)


def claim_table(first: Sequence[str], second: Sequence[str]) -> list[list[float]]:
    """How similar the claims of two people are, 0 to 1: a row for each claim of the first, a column for each of the
    second. 0 if two claims contradict each other, or if one of them is just as similar to another claim of the same
    person. All claims must come from one sentence or one response, because words that most of them share get little
    weight."""
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
    """The similarity of each claim to the most similar other claim of the same person. Exact repetitions of a claim
    don't count."""
    return [
        max((value for each in claims if (value := _similarity(one, each, weights)) < 1 - _TINY), default=0.0)
        for one in claims
    ]


def match_claims(first: Sequence[str], second: Sequence[str], *, threshold: float = SAME_CLAIM) -> list[Match]:
    """The matching claims of two people, one to one, in the order of ``first``."""
    return align_table(claim_table(first, second), threshold=threshold)


def _weights(ours: Sequence[_Said], theirs: Sequence[_Said]) -> dict[str, float]:
    """The weight of each stem: the more claims of both people contain it, the less it weighs."""
    weights: dict[str, float] = {}
    for stem in {stem for each in (*ours, *theirs) for stem in each.stems}:
        shares = [sum(stem in each.stems for each in side) / len(side) for side in (ours, theirs) if side]
        share = sum(shares) / len(shares)
        weights[stem] = (1 - (1 - _SHARED) * share) * (_EMPTY if stem in _FUNCTION else 1.0)
    return weights


def _similarity(one: _Said, other: _Said, weights: Mapping[str, float]) -> float:
    """F1 of the weighted stems that two claims share."""
    if _contradict(one, other):
        return 0.0
    total = sum(weights[stem] * times for each in (one, other) for stem, times in each.stems.items())
    if not total:
        return float(one.stems == other.stems)
    shared = sum(weights[stem] * min(times, other.stems.get(stem, 0)) for stem, times in one.stems.items())
    return 2 * shared / total
