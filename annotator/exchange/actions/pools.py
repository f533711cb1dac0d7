"""Sourcing: candidates are collected in a pool, recorded filters remove some, and the rest become documents."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.db import transaction
from django.utils import timezone
from rapidfuzz import fuzz, process

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import BadRow, Problem
from annotator.core.models import Benchmark, User
from annotator.core.released import storable, storable_json
from annotator.core.vocabulary import DiscardReason, PoolFilter
from annotator.exchange.actions.imports import ImportReport, import_documents
from annotator.exchange.formats.documents import READERS, detect
from annotator.exchange.models import Pool, PoolCandidate, PoolStep
from pipeline.metrics.text import token_f1, words

ROWS = 1000  # written at once
MAX_COMPARED = 20_000  # candidates among which near duplicates are searched for


@dataclass(slots=True)
class PoolReport:
    """What came into a pool. ``problems``: bad rows; then nothing was written."""

    candidates: int = 0
    problems: list[Problem] = field(default_factory=list)


def create_pool(
    benchmark: Benchmark, stream: BinaryIO, *, name: str, filename: str = "", by: User | None
) -> tuple[Pool | None, PoolReport]:
    """Create a pool from a file of documents (JSON Lines or CSV). Fields that a document doesn't have go to
    ``metadata``: ``reference`` for a reference answer, numbers for scores. If a row is bad, nothing is written.

    Raises BadValueError if the name is taken, FileError if the file can't be read.
    """
    if by is not None:
        rules.check_manage(by, benchmark)
    name = " ".join(name.split())[:120]
    if not name:
        raise BadValueError("Give the pool a name.")
    report = PoolReport()
    candidates: list[PoolCandidate] = []
    lines: dict[str, int] = {}
    for row in READERS[detect(stream, filename or "a file")](stream, None):
        if isinstance(row, BadRow):
            report.problems += row.problems
            continue
        external_id = (storable(row.external_id) or f"line {row.line}")[:200]
        if external_id in lines:
            reason = f"the id is taken by line {lines[external_id]}."
            report.problems.append(Problem(row.line, "id", reason))
            continue
        lines[external_id] = row.line
        candidates.append(
            PoolCandidate(
                order=len(candidates) + 1,
                external_id=external_id,
                source=storable(row.source)[:200],
                prompt=storable(row.prompt),
                response=storable(row.response),
                data=storable_json({"model": row.model, **row.metadata}),
            )
        )
    report.candidates = len(candidates)
    if report.problems:
        return None, report
    if not candidates:
        raise BadValueError("The file has no candidates.")
    with transaction.atomic():
        if Pool.objects.filter(benchmark=benchmark, name=name).exists():
            raise BadValueError(f"There is already a pool named “{name}”.")
        pool = Pool.objects.create(benchmark=benchmark, name=name, created_by=by)
        for each in candidates:
            each.pool = pool
        PoolCandidate.objects.bulk_create(candidates, batch_size=ROWS)
        reason = f"{name}: {len(candidates)} candidates"
        Action(name="create-pool", by=by, benchmark=benchmark, reason=reason).write()
    return pool, report


# --- filters --------------------------------------------------------------------------------------

Drops = dict[int, str]  # candidates (primary keys) that a filter removes, each with the reason


def filter_pool(pool: Pool, kind: str, values: Mapping[str, Any], *, by: User | None) -> PoolStep:
    """Apply a filter to the remaining candidates and record it. ``values`` by kind:

    length: ``at_least`` and ``at_most`` words of the response. similarity: the same, as shares from 0 to 1, for the
    response and the candidate's ``reference``. score: the same for the number called ``field``. duplicates: ``alike``,
    the similarity of prompts (0 to 100) from which the later one is removed. by_hand: ``ids``, a code ``reason`` and a
    ``text``. ``sources``: the sources the filter applies to; all if missing.

    Raises BadValueError that says what to do.
    """
    if by is not None:
        rules.check_manage(by, pool.benchmark)
    if kind not in {each.value for each in PoolFilter}:
        raise BadValueError(f"Choose a filter: {', '.join(each.value for each in PoolFilter)}.")
    with transaction.atomic():
        pool = Pool.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=pool.pk)
        if pool.added_at is not None:
            raise BadValueError("The candidates of this pool are documents now, so its filters can’t change.")
        left = list(pool.candidates.filter(step=None).order_by("order"))
        sources = _sources(values, left)
        met = [each for each in left if not sources or each.source in sources]
        dropped = _FILTERS[PoolFilter(kind)](met, values)
        last = pool.steps.order_by("-order").first()
        step = PoolStep.objects.create(
            pool=pool,
            order=last.order + 1 if last else 1,
            kind=kind,
            values={name: value for name, value in values.items() if value not in ("", None, [])},
            before=len(left),
            after=len(left) - len(dropped),
            by=by,
        )
        gone = [each for each in met if each.pk in dropped]
        for each in gone:
            each.step, each.reason = step, dropped[each.pk][:300]
        PoolCandidate.objects.bulk_update(gone, ["step", "reason"], batch_size=ROWS)
        reason = f"{pool.name}: {PoolFilter(kind).label}, {len(gone)} of {len(left)} taken out"
        Action(name="filter-pool", by=by, benchmark=pool.benchmark, reason=reason).write()
    return step


def undo_filter(pool: Pool, *, by: User | None) -> None:
    """Undo the last filter. Raises BadValueError if there is none, or if the candidates are documents already."""
    if by is not None:
        rules.check_manage(by, pool.benchmark)
    with transaction.atomic():
        pool = Pool.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=pool.pk)
        last = pool.steps.order_by("-order").first()
        if last is None or pool.added_at is not None:
            raise BadValueError("There is no filter to undo.")
        last.dropped.update(step=None, reason="")
        reason = f"{pool.name}: {PoolFilter(last.kind).label} taken back"
        last.delete()
        Action(name="undo-filter", by=by, benchmark=pool.benchmark, reason=reason).write()


def _sources(values: Mapping[str, Any], left: list[PoolCandidate]) -> set[str]:
    sources = {str(each) for each in values.get("sources") or ()}
    known = {each.source for each in left}
    if unknown := sorted(sources - known):
        raise BadValueError(f"No remaining candidate has the source “{unknown[0]}”.")
    return sources


def _number(values: Mapping[str, Any], name: str) -> float | None:
    value = values.get(name)
    if value in (None, ""):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadValueError(f"“{value}” isn’t a number.") from None


def _outside(
    met: list[PoolCandidate], values: Mapping[str, Any], measured: Callable[[PoolCandidate], float], what: str
) -> Drops:
    """Candidates below ``at_least`` or above ``at_most``."""
    low, high = _number(values, "at_least"), _number(values, "at_most")
    if low is None and high is None:
        raise BadValueError("Enter a minimum, a maximum or both.")
    found: Drops = {}
    for each in met:
        value = measured(each)
        if (low is not None and value < low) or (high is not None and value > high):
            found[each.pk] = f"{what} {value:g}" if value == int(value) else f"{what} {value:.3f}"
    return found


def _length(met: list[PoolCandidate], values: Mapping[str, Any]) -> Drops:
    return _outside(met, values, lambda each: len(words(each.response)), "words:")


def _similarity(met: list[PoolCandidate], values: Mapping[str, Any]) -> Drops:
    without = [each for each in met if not isinstance(each.data.get("reference"), str)]
    if without:
        raise BadValueError(
            f"{len(without):,} candidates have no “reference” in their metadata, such as {without[0].external_id}. "
            "Limit the filter to sources that have one."
        )
    return _outside(met, values, lambda each: token_f1(each.response, each.data["reference"]), "similarity")


def _score(met: list[PoolCandidate], values: Mapping[str, Any]) -> Drops:
    name = str(values.get("field") or "").strip()
    if not name:
        raise BadValueError("Enter the metadata field that contains the score.")

    def score(each: PoolCandidate) -> float:
        value = each.data.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadValueError(f"{each.external_id} has no number “{name}” in its metadata.")
        return float(value)

    return _outside(met, values, score, name)


def _duplicates(met: list[PoolCandidate], values: Mapping[str, Any]) -> Drops:
    """The later one of two equal or similar prompts; for candidates without prompts, of two responses."""
    alike = _number(values, "alike")
    least = 100.0 if alike is None else alike
    if not 0 < least <= 100:
        raise BadValueError("Enter a similarity above 0 and up to 100.")
    if least < 100 and len(met) > MAX_COMPARED:
        raise BadValueError(f"Near duplicates can be found among at most {MAX_COMPARED:,} candidates.")
    kept: dict[str, str] = {}
    found: Drops = {}
    for each in met:
        text = " ".join(words(each.prompt or each.response))
        if text in kept:
            found[each.pk] = f"same as {kept[text]}"
            continue
        match = process.extractOne(text, kept.keys(), scorer=fuzz.ratio, score_cutoff=least) if least < 100 else None
        if match is not None:
            found[each.pk] = f"{match[1]:.0f}% like {kept[match[0]]}"
            continue
        kept[text] = each.external_id
    return found


def _by_hand(met: list[PoolCandidate], values: Mapping[str, Any]) -> Drops:
    ids = {str(each) for each in values.get("ids") or ()}
    code, text = str(values.get("reason") or ""), " ".join(str(values.get("text") or "").split())
    if code not in {each.value for each in DiscardReason}:
        raise BadValueError(f"Choose a reason: {', '.join(each.label for each in DiscardReason)}.")
    if code == DiscardReason.OTHER and not text:
        raise BadValueError("Say what the other reason is.")
    if unknown := sorted(ids - {each.external_id for each in met}):
        raise BadValueError(f"“{unknown[0]}” isn’t among the remaining candidates.")
    if not ids:
        raise BadValueError("Choose candidates to remove.")
    reason = DiscardReason(code).label + (f": {text}" if text else "")
    return {each.pk: reason for each in met if each.external_id in ids}


_FILTERS: dict[PoolFilter, Callable[[list[PoolCandidate], Mapping[str, Any]], Drops]] = {
    PoolFilter.LENGTH: _length,
    PoolFilter.SIMILARITY: _similarity,
    PoolFilter.SCORE: _score,
    PoolFilter.DUPLICATES: _duplicates,
    PoolFilter.BY_HAND: _by_hand,
}


# --- into the benchmark ---------------------------------------------------------------------------


def add_to_benchmark(pool: Pool, *, by: User | None) -> ImportReport:
    """Turn the remaining candidates into documents of the benchmark. Raises BadValueError if none remain, or if they
    are documents already."""
    if by is not None:
        rules.check_manage(by, pool.benchmark)
    with transaction.atomic():
        pool = Pool.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=pool.pk)
        if pool.added_at is not None:
            raise BadValueError("The candidates of this pool are documents already.")
        rows = [_row(each) for each in pool.candidates.filter(step=None).order_by("order")]
        if not rows:
            raise BadValueError("No candidate is left.")
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        source = io.BytesIO(content.encode())
        report = import_documents(
            benchmark=pool.benchmark, source=source, format="jsonl", filename=pool.name, by=by, strict=True
        )
        if report.bad:
            raise BadValueError(f"Nothing was added: {report.problems[0]}")
        pool.added_at = timezone.now()
        pool.save(update_fields=["added_at"])
    return report


def _row(candidate: PoolCandidate) -> dict[str, Any]:
    data = {key: value for key, value in candidate.data.items() if key != "model"}
    row = {"prompt": candidate.prompt, "response": candidate.response, "source": candidate.source, "metadata": data}
    row |= {"model": candidate.data.get("model") or ""}
    return row | ({} if candidate.external_id.startswith("line ") else {"id": candidate.external_id})
