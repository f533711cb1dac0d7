"""Fitting the linear classifier, with scikit-learn. Everything that is tuned is tuned inside the given examples.

The examples are split by group into parts; each part is predicted by a model that has not seen it. On these held-out
predictions two numbers are chosen: the temperature that makes probabilities most likely (calibration), and how far the
labels' frequencies are evened out when one is chosen (macro-F1 weighs a rare label like a frequent one). Then the model
is fitted to all examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learned.linear import LEAST, LinearModel, Numbers, chosen, softmax

# Inverse strength of the ridge penalty: few examples for about a hundred numbers want a strong one.
STRENGTH = 0.01
PARTS = 5
_TEMPERATURES = np.geomspace(0.5, 3.0, 37)
_EVENING = np.linspace(0.0, 1.2, 25)
_SMOOTHING = 7

Labels = NDArray[np.intp]


class MissingLibraryError(RuntimeError):
    """scikit-learn is not installed. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, the labels of its examples, and the probabilities that models which had not seen them gave to them."""

    model: LinearModel
    labels: Labels
    held_out: Numbers


def fit(matrix: Numbers, labels: Labels, groups: Labels, *, seed: int = 0) -> Fitted:
    """Fit to examples: ``matrix`` row by column, ``labels`` as 0 to k-1 (each occurs), ``groups`` that stay together.

    Deterministic for a seed. Raises ValueError for fewer than two labels or groups, MissingLibraryError without
    scikit-learn.
    """
    count = int(labels.max()) + 1 if len(labels) else 0
    if count < 2 or len(np.unique(groups)) < 2:
        raise ValueError("Nothing to learn: at least two labels and two documents are required.")
    held_out = np.full((len(labels), count), LEAST)
    parts = min(PARTS, len(np.unique(groups)))
    for training, rest in group_folds(groups, parts, seed):
        present = np.unique(labels[training])
        if len(present) < 2:
            held_out[np.ix_(rest, present)] = 1.0
            continue
        held_out[np.ix_(rest, present)] = _regression(matrix[training], labels[training]).probabilities(matrix[rest])
    held_out /= held_out.sum(axis=1, keepdims=True)
    plain = _regression(matrix, labels)
    temperature = _temperature(held_out, labels)
    model = LinearModel(
        mean=plain.mean,
        scale=plain.scale,
        weights=plain.weights,
        bias=plain.bias,
        temperature=temperature,
        shift=evening_shift(_cooled(held_out, temperature), labels),
    )
    return Fitted(model, labels, _cooled(held_out, temperature))


def group_folds(groups: Labels, folds: int, seed: int) -> list[tuple[Labels, Labels]]:
    """Training and test indexes; no group is on both sides. Groups are dealt out in an order drawn with the seed."""
    order = np.random.default_rng(seed).permutation(np.unique(groups))
    return [
        (np.flatnonzero(~np.isin(groups, held)), np.flatnonzero(np.isin(groups, held)))
        for held in (order[start::folds] for start in range(folds))
    ]


def evening_shift(probabilities: Numbers, labels: Labels) -> Numbers:
    """What to add to log-probabilities so that macro-F1 is greatest: a share of minus the log-frequency of each label.

    One number is tuned, and its curve is smoothed: more freedom fits the noise of a few hundred examples.
    """
    count = probabilities.shape[1]
    frequencies = np.bincount(labels, minlength=count) / len(labels)
    direction = -np.log(np.maximum(frequencies, 1 / len(labels)))
    curve = np.array([macro_f1(labels, chosen(probabilities, share * direction), count) for share in _EVENING])
    edge = _SMOOTHING // 2
    smooth = np.convolve(np.pad(curve, edge, mode="edge"), np.ones(_SMOOTHING) / _SMOOTHING, "valid")
    shift: Numbers = _EVENING[int(smooth.argmax())] * direction
    return shift


def macro_f1(gold: Labels, predicted: Labels, count: int) -> float:
    """The mean F1 of ``count`` labels; a label that neither occurs nor is predicted scores 0."""
    right = np.bincount(gold[gold == predicted], minlength=count)
    total = np.bincount(gold, minlength=count) + np.bincount(predicted, minlength=count)
    return float(np.mean(2 * right / np.maximum(total, 1)))


def _temperature(probabilities: Numbers, labels: Labels) -> float:
    rows = np.arange(len(labels))
    losses = [
        -np.log(np.maximum(_cooled(probabilities, float(each))[rows, labels], LEAST)).mean() for each in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def _cooled(probabilities: Numbers, temperature: float) -> Numbers:
    return softmax(np.log(np.maximum(probabilities, LEAST)) / temperature)


def _regression(matrix: Numbers, labels: Labels) -> LinearModel:
    """A plain fit: temperature 1, no shift; its labels are those present, in order."""
    mean = matrix.mean(axis=0)
    scale = matrix.std(axis=0)
    scale[scale < 1e-12] = 1.0
    found = _fitted((matrix - mean) / scale, labels)
    weights, bias = found.coef_, found.intercept_
    if len(bias) == 1:  # of two labels scikit-learn stores the difference
        weights, bias = np.vstack([-weights / 2, weights / 2]), np.concatenate([-bias / 2, bias / 2])
    return LinearModel(mean, scale, weights, bias, 1.0, np.zeros(len(bias)))


def _fitted(matrix: Numbers, labels: Labels) -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingLibraryError(
            "Learning from gold needs scikit-learn, which is not installed: pip install -r requirements-science.txt"
        ) from None
    # On matrices this small several threads only wait for each other: one is 50 times as fast on a busy machine.
    with _threads().limit(limits=1):
        return LogisticRegression(C=STRENGTH, max_iter=3000).fit(matrix, labels)


@cache
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return ThreadpoolController()
