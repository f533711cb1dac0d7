"""Who gets which items of a study, and in which order candidates stand: pure, decided by a seed."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from annotator.core.protocol import Sampling


def deal(items: int, raters: int, sampling: Sampling, *, seed: int) -> list[list[int]]:
    """For each rater the items (0 to ``items`` - 1) in ascending order. Raises ValueError, in a sentence for the person
    who starts the study, where the design asks for more people or items than there are."""
    needed = sampling.people if sampling.design != "shares" else 1
    if raters < needed:
        raise ValueError(f"This protocol needs {needed} raters; choose {needed - raters} more.")
    drawn = random.Random(f"items {seed}")
    order = list(range(items))
    hands: list[set[int]] = [set() for _ in range(raters)]
    if sampling.design == "all":
        for item in order:
            for step in range(sampling.people):
                hands[(item + step) % raters].add(item)
        return [sorted(hand) for hand in hands]
    drawn.shuffle(order)
    shared = 0
    if sampling.design == "core_and_shares":
        shared = sampling.core
        share = (items - shared) // raters if sampling.share is None else sampling.share
        if items < shared + share * raters:
            raise ValueError(
                f"{shared} shared items and {share} for each of {raters} raters make {shared + share * raters}; "
                f"the study has {items}."
            )
        order = order[: shared + share * raters] if sampling.share is not None else order
        for hand in hands:
            hand.update(order[:shared])
    elif sampling.design == "crossed":
        shared = math.ceil(items * sampling.crossed)
        for number, item in enumerate(order[:shared]):
            for step in range(sampling.people):
                hands[(number + step) % raters].add(item)
    for number, item in enumerate(order[shared:]):
        hands[number % raters].add(item)
    return [sorted(hand) for hand in hands]


def arranged(candidates: Sequence[int], rater: int, *, seed: int, item: int) -> list[int]:
    """The candidates in the order for the rater of that number: drawn once for the item and turned by one place for
    each further rater, so that over the raters of an item each candidate stands in each place about equally often."""
    order = list(candidates)
    random.Random(f"candidates {seed} {item}").shuffle(order)
    turn = rater % len(order) if order else 0
    return order[turn:] + order[:turn]
