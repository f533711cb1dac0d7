"""Requests missing suggestions from the pipeline: after an import, or on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, PipelineRun, User
from annotator.core.vocabulary import Stage
from annotator.suggestions.actions.plans import RunRequest, choice_of, obstacle
from annotator.suggestions.actions.runs import start_run
from annotator.suggestions.queries.run_scope import MISSING, scope_of
from annotator.suggestions.queries.services import can_search

# Documents of one run: few enough to be counted after each document, and to be named in one query.
RUN_SIZE = 5_000


def prefill_after_import(*, benchmark: Benchmark, ids: Sequence[int], by: User | None) -> list[PipelineRun]:
    """Request suggestions for newly imported documents (primary keys). Does nothing without a strategy."""
    runs = (start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=part, by=by) for part in _parts(ids))
    return [run for run in runs if run is not None]


def _parts(ids: Sequence[int]) -> Iterator[list[int]]:
    rest = iter(ids)
    while part := list(islice(rest, RUN_SIZE)):
        yield part


def get_suggestions(
    *,
    benchmark: Benchmark,
    stage: Stage,
    by: User | None,
    wish: RunRequest | None = None,
    among: Collection[int] | None = None,
) -> list[PipelineRun]:
    """Request whatever is missing: at decompose, suggestions for unstarted documents; at verify, evidence for claims
    without any; at revise, revised responses where a claim is false. ``by=None`` is the command line; ``wish``
    names another strategy, parameters or budget than the benchmark's own; ``among`` narrows the
    documents (primary keys).

    Raises NotAllowedError by the rules, BadValueError where the strategy lacks a service or a parameter is wrong.
    """
    if by is not None:
        rules.check_manage(by, benchmark)
    choice = choice_of(benchmark, wish.strategy if wish else None)
    if choice is None:
        raise rules.NotAllowedError("This benchmark has no suggestion strategy. Choose one on its Suggestions page.")
    if stage == Stage.VERIFY and not can_search(benchmark):
        raise rules.NotAllowedError(
            "This benchmark has no corpus to search for evidence, and no search. An owner adds one under Services. "
            f"Or import a corpus: script/manage import_corpus PAGES --corpus NAME --create --benchmark {benchmark.slug}"
        )
    if why := obstacle(benchmark, choice, stage):
        raise BadValueError(why)
    scope = scope_of(benchmark, stage, MISSING)
    runs = (
        start_run(
            benchmark=benchmark,
            stage=stage,
            documents=part,
            by=by,
            plan={"claims": [claim for document in part for claim in scope.claims[document]]} if scope.claims else None,
            wish=wish,
        )
        for part in _parts([pk for pk in scope.documents if among is None or pk in among])
    )
    return [run for run in runs if run is not None]
