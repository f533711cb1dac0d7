"""A linear classifier as plain arrays: what training leaves behind, and all that suggesting needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# Below this a probability is not told from nought.
LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Multinomial logistic regression over standardized numbers.

    ``weights``: label by column. ``temperature`` calibrates the probabilities; ``shift`` is added to their logarithms
    before the label is chosen, so that a rare label is chosen as readily as the training found best.
    """

    mean: Numbers
    scale: Numbers
    weights: Numbers
    bias: Numbers
    temperature: float
    shift: Numbers

    def probabilities(self, matrix: Numbers) -> Numbers:
        """Calibrated probabilities, row by label; each row sums to 1."""
        scores = ((matrix - self.mean) / self.scale) @ self.weights.T + self.bias
        return softmax(scores / self.temperature)

    def choose(self, probabilities: Numbers) -> NDArray[np.intp]:
        """The index of the chosen label for each row."""
        return chosen(probabilities, self.shift)


def softmax(scores: Numbers) -> Numbers:
    """Rows of scores as rows of probabilities."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Numbers = powers / powers.sum(axis=1, keepdims=True)
    return result


def chosen(probabilities: Numbers, shift: Numbers) -> NDArray[np.intp]:
    """The label with the greatest shifted log-probability, for each row."""
    labels: NDArray[np.intp] = (np.log(np.maximum(probabilities, LEAST)) + shift).argmax(axis=1)
    return labels
