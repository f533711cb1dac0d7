"""How factual the answers of models are, by domain, and whether domains rank the models alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np

from annotator.exchange.formats.answers import AnswerRow
from annotator.leaderboard.scoring.measure import Floats
from annotator.measures.statistics.breakdowns import DocumentTraits, groups_of, mean_scores, share
from pipeline.metrics.agreement import RESAMPLES, sums_estimates
from pipeline.metrics.f1_at_k import GAMMA, ClaimCounts, domain_k, f1_at_k, f1_at_k_prime, f1s_at_k, precision
from pipeline.metrics.intervals import expanded_tail
from pipeline.metrics.rank_correlation import kendall_tau

# Answers that do not say whose they are, or where they are from.
UNNAMED = "unnamed"


class Metric(StrEnum):
    FACTSCORE = "factscore"
    VERISCORE = "veriscore"
    FASTFACT = "fastfact"


class ScoreError(ValueError):
    """The answers cannot be scored so; the message says what is missing."""


def score_answers(
    rows: Iterable[AnswerRow],
    metric: Metric,
    *,
    k: float | None = None,
    gamma: float = GAMMA,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """The score of every model: the mean over its answers in each domain, then over the domains it answered in.

    ``k`` is for veriscore: given, or the median number of claims of each domain's answers. Answers that abstained are
    left out of factscore, which scores what was answered; elsewhere they count as they stand. Raises ``ScoreError``.
    """
    given = list(rows)
    kept = [row for row in given if not (row.abstained and metric == Metric.FACTSCORE)]
    if not kept:
        raise ScoreError("There are no responses to score.")
    by_domain: dict[str, list[AnswerRow]] = defaultdict(list)
    for row in kept:
        by_domain[row.domain or UNNAMED].append(row)
    ks = {domain: _k(each, k) for domain, each in by_domain.items()} if metric == Metric.VERISCORE else {}
    score = _score_of(metric, ks, gamma)
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in kept:
        values[row.model or UNNAMED][row.domain or UNNAMED].append(score(row))
    models = [_model(name, domains, given, resamples) for name, domains in values.items()]
    if ks and k is None and resamples:
        intervals = _with_k_drawn(by_domain, resamples)
        for each in models:
            each["interval"] = each["interval"] and (intervals[each["model"]] or each["interval"])
    models.sort(key=lambda each: (-each["score"], each["model"]))
    return {
        "metric": metric.value,
        "answers": len(kept),
        **({"k": ks} if ks else {}),
        **({"gamma": gamma} if metric == Metric.FASTFACT else {}),
        "models": models,
        "breakdowns": _breakdowns(kept, score),
        "kendall_tau": _taus(values),
    }


def _breakdowns(rows: Sequence[AnswerRow], score: Callable[[AnswerRow], float]) -> dict[str, list[dict[str, Any]]]:
    """The mean score of the answers in each group, all models together. A K that is the median stays the domain's."""
    told = groups_of({str(number): _traits(row) for number, row in enumerate(rows)})
    groups = {name: list(each.values()) for name, each in told.items()}
    labels = [_label(row) for row in rows]
    if len(set(labels)) > 1:
        groups["label"] = labels
    return mean_scores(groups, [score(row) for row in rows])


def _traits(row: AnswerRow) -> DocumentTraits:
    about = {"domain": row.topic, "language": row.language}
    return DocumentTraits(row.source, row.model, about, row.words, row.claims)


def _label(row: AnswerRow) -> str:
    """A response is true when all its claims are supported."""
    if not row.claims:
        return "no claims"
    return "true" if row.supported == row.claims else "false"


def _k(rows: Sequence[AnswerRow], given: float | None) -> float:
    # A domain whose median answer makes no claim asks for one fact.
    return given if given is not None else max(1.0, domain_k([_counts(row) for row in rows]))


def _counts(row: AnswerRow) -> ClaimCounts:
    return ClaimCounts(row.supported, row.claims)


def _score_of(metric: Metric, ks: Mapping[str, float], gamma: float) -> Callable[[AnswerRow], float]:
    if metric == Metric.FACTSCORE:
        return lambda row: precision(_counts(row))
    if metric == Metric.VERISCORE:
        return lambda row: f1_at_k(_counts(row), ks[row.domain or UNNAMED])

    def fastfact(row: AnswerRow) -> float:
        if row.valid is None:
            raise ScoreError(
                f"Line {row.line} has no k_prime, the number of claims people found in the response; fastfact requires "
                "it."
            )
        return f1_at_k_prime(_counts(row), row.valid, gamma)

    return fastfact


def _model(name: str, domains: Mapping[str, list[float]], given: Sequence[AnswerRow], resamples: int) -> dict[str, Any]:
    own = [row for row in given if (row.model or UNNAMED) == name]
    order = sorted(domains)
    # Two numbers a domain: the sum of its answers' scores, and how many they are.
    rows = []
    for place, domain in enumerate(order):
        for number, value in enumerate(domains[domain]):
            sums = [0.0] * (2 * len(order))
            sums[2 * place : 2 * place + 2] = [value, 1.0]
            rows.append(((domain, number), sums))

    def mean_of_means(sums: Floats) -> list[Floats]:
        means = share(sums[:, 0::2], sums[:, 1::2])
        # A resample without a domain says nothing of the mean over all of them.
        return [means.mean(axis=1)]

    # Where one answer stands for a domain, drawing answers anew cannot tell how far another one would be.
    alone = any(len(each) < 2 for each in domains.values())
    resamples = 0 if alone else resamples
    # The mean over several domains is no share of the answers.
    others = (0,) if len(order) > 1 else ()
    [estimate] = sums_estimates(rows, 2 * len(order), mean_of_means, resamples=resamples, others=others)
    assert estimate is not None
    return {
        "model": name,
        "score": estimate.value,
        "interval": None if estimate.low is None else [estimate.low, estimate.high],
        "answers": len(rows),
        "abstained": sum(row.abstained for row in own),
        "supported_mean": float(np.mean([row.supported for row in own])),
        "claims_mean": float(np.mean([row.claims for row in own])),
        "by_domain": {
            domain: {"score": float(np.mean(domains[domain])), "answers": len(domains[domain])} for domain in order
        },
    }


def _with_k_drawn(by_domain: Mapping[str, Sequence[AnswerRow]], resamples: int) -> dict[str, list[float] | None]:
    """The 95% interval of every model's mean F1@K where K is the median of the answers that were drawn: it is estimated
    from the same answers as the scores, and as unsure as they are. None for a model whose resamples are all alike."""
    random = np.random.default_rng(0)
    scores: dict[str, list[Floats]] = defaultdict(list)
    for domain in sorted(by_domain):
        by_model: dict[str, list[AnswerRow]] = defaultdict(list)
        for row in by_domain[domain]:
            by_model[row.model or UNNAMED].append(row)
        counts = [
            np.array([(row.supported, row.claims) for row in by_model[name]], dtype=np.float64)
            for name in sorted(by_model)
        ]
        drawn: list[list[float]] = []
        for _ in range(resamples):
            picked = [each[random.integers(len(each), size=len(each))] for each in counts]
            k = max(1.0, float(np.median(np.concatenate([each[:, 1] for each in picked]))))
            drawn.append([float(f1s_at_k(each[:, 0], each[:, 1], k).mean()) for each in picked])
        for name, column in zip(sorted(by_model), np.array(drawn).T, strict=True):
            scores[name].append(column)
    answers = Counter(row.model or UNNAMED for rows in by_domain.values() for row in rows)
    found: dict[str, list[float] | None] = {}
    for name, columns in scores.items():
        tail = expanded_tail(answers[name])
        low, high = (float(each) for each in np.percentile(np.mean(columns, axis=0), (tail, 100 - tail)))
        found[name] = [low, high] if low < high else None
    return found


def _taus(values: Mapping[str, Mapping[str, list[float]]]) -> list[dict[str, Any]]:
    """Kendall's tau-b of each pair of domains, over the models that answered in both; null where they rank nothing
    (VeriScore 4, Figure 3)."""
    domains = sorted({domain for each in values.values() for domain in each})
    found = []
    for one, other in combinations(domains, 2):
        both = [each for each in values.values() if one in each and other in each]
        firsts, seconds = ([float(np.mean(each[domain])) for each in both] for domain in (one, other))
        found.append({"domains": [one, other], "models": len(both), "tau": kendall_tau(firsts, seconds)})
    return found
