"""What difference between systems can be told: against closed formulas, and against tests of simulated systems."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from pipeline.metrics.paired import randomisation
from pipeline.metrics.power import intraclass, power_of

LABELS = [["true", "true", "false", "true"]] * 15 + [["false", "false", "true", "false"]] * 15


def test_independent_items_are_as_by_the_formula() -> None:
    labels = [["true"], ["false"]] * 100
    found = power_of(labels, accuracy=0.7, simulations=2000)
    # Two independent shares of 200 items: 2.80 standard errors of their difference.
    assert found.accuracy == pytest.approx(2.8016 * sqrt(2 * 0.7 * 0.3 / 200), rel=0.06)
    assert found.accuracy is not None
    assert found.correlation is None and found.f1_macro == pytest.approx(found.accuracy, rel=0.1)
    assert found.documents_for(found.accuracy / 2) == pytest.approx(800, rel=0.01)
    assert found.with_documents(800) == pytest.approx(found.accuracy / 2)


def test_correlation_within_documents_widens_what_can_be_told() -> None:
    apart = [[label] for labels in LABELS for label in labels]
    clustered, loose = power_of(LABELS, simulations=1500), power_of(apart, simulations=1500)
    assert clustered.correlation is not None and clustered.accuracy is not None and loose.accuracy is not None
    # The design effect of four items with this correlation.
    effect = 1 + 3 * clustered.correlation
    assert clustered.accuracy / loose.accuracy == pytest.approx(sqrt(effect), rel=0.08)


def test_intraclass_by_hand_and_by_statsmodels() -> None:
    assert intraclass([[1.0, 1.0], [0.0, 0.0]]) == 1.0
    # Between 0.5 x 2 x ..., within: no more alike than across.
    assert intraclass([[1.0, 0.0], [1.0, 0.0]]) == 0.0
    assert intraclass([[1.0], [0.0]]) is None and intraclass([]) is None
    assert intraclass([[1.0, 1.0], [1.0, 1.0]]) is None
    random = np.random.default_rng(2)
    rows = [list(random.normal(random.normal(), 1, size=8)) for _ in range(60)]
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    values, groups = np.concatenate(rows), np.repeat(np.arange(60), 8)
    fit = mixed.MixedLM(values, np.ones((480, 1)), groups).fit()
    between = float(fit.cov_re[0][0] if hasattr(fit.cov_re, "shape") else fit.cov_re)
    assert intraclass(rows) == pytest.approx(between / (between + fit.scale), abs=0.02)


def test_the_difference_is_found_in_four_of_five_cases() -> None:
    found = power_of(LABELS, accuracy=0.7, simulations=1500)
    assert found.accuracy is not None and found.correlation is not None
    rho, random, hits, times = found.correlation, np.random.default_rng(5), 0, 120
    for _ in range(times):
        systems: list[dict[int, list[float]]] = []
        for mean in (0.7 + found.accuracy / 2, 0.7 - found.accuracy / 2):
            shares = random.beta(mean * (1 - rho) / rho, (1 - mean) * (1 - rho) / rho, size=len(LABELS))
            systems.append({n: [float(random.binomial(4, share)), 4.0] for n, share in enumerate(shares)})
        [tested] = randomisation(systems[0], systems[1], lambda sums: [sums[:, 0] / sums[:, 1]], shuffles=300)
        hits += tested is not None and tested.p < 0.05
    assert 0.68 <= hits / times <= 0.92


@pytest.mark.parametrize("labels", [[], [["true", "false"]], [["true"], ["true"]]])
def test_without_documents_or_labels_there_is_no_number(labels: list[list[str]]) -> None:
    found = power_of(labels)
    assert found.accuracy is found.f1_macro is found.documents_for(0.1) is found.with_documents(100) is None


def test_an_accuracy_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        power_of(LABELS, accuracy=1.0)
