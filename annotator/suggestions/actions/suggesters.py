"""Suggesters that learn from gold: enable, disable, and train."""

from __future__ import annotations

from importlib.util import find_spec

from django.db import transaction

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User
from annotator.suggestions.queries.suggesters import readiness_of

TRAIN = "pipeline.train_suggesters"
INSTALL = "pip install -r requirements-science.txt"


def can_train() -> bool:
    """Is the library for training installed? Using a trained suggester doesn't need it."""
    return find_spec("sklearn") is not None


def switch_learning(benchmark: Benchmark, *, on: bool, by: User) -> None:
    """Enable or disable the benchmark's suggesters; what they learned is kept. Raises NotAllowedError."""
    rules.check_manage(by, benchmark)
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark.pk)
        if benchmark.learns == on:
            return
        action = Action(name="switch-learning", by=by, benchmark=benchmark)
        record = f"benchmark:{benchmark.public_id}"
        action.changes.append({"record": record, "field": "learns", "before": benchmark.learns, "after": on})
        benchmark.learns = on
        benchmark.save(update_fields=["learns"])
        action.write()


def ask_for_training(benchmark: Benchmark, *, by: User) -> None:
    """Let a worker train every suggester with enough gold. Raises NotAllowedError; BadValueError if there is too little
    gold for any, or the library isn't installed."""
    rules.check_manage(by, benchmark)
    if not can_train():
        raise BadValueError(f"Training needs scikit-learn, which is not installed here. Install it: {INSTALL}")
    readiness = readiness_of(benchmark)
    if not any(each.is_ready for each in readiness.values()):
        raise BadValueError(" ".join(dict.fromkeys(each.lacking for each in readiness.values())))
    with transaction.atomic():
        ready = ", ".join(each.kind.label.lower() for each in readiness.values() if each.is_ready)
        Action(name="ask-for-training", by=by, benchmark=benchmark, reason=ready).write()
        after_commit(TRAIN, benchmark.pk)
