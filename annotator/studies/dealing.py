"""Decides by a seed who gets which items of a study and in which order candidates are shown. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from annotator.core.protocol import Sampling


def deal(items: int, raters: int, sampling: Sampling, *, seed: int) -> list[list[int]]:
    """The items (0 to ``items`` - 1) of each rater, in ascending order. Raises ValueError if the design needs more
    people or items than there are; the message is for the person who starts the study."""
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
    """The candidates in the order for this rater (a number from 0). The order is drawn once for the item and rotated by
    one place per rater, so that over the raters of an item each candidate is in each place about equally often."""
    order = list(candidates)
    random.Random(f"candidates {seed} {item}").shuffle(order)
    turn = rater % len(order) if order else 0
    return order[turn:] + order[:turn]
