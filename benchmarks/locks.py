"""How long does anybody hold a lock of the database, with 100,000 documents?

Fills a private SQLite database, which has one writer at a time, and does what a manager's click begins, through the
actions, with the background work of a real worker beside it. Measured is every outermost transaction that writes: from
its begin, when it has the lock, to the end of its commit.

    .venv/bin/python benchmarks/locks.py [--documents 100000] [--json]

Exit code 1 when a lock was held for longer than 200 ms. Times depend on the machine's load, which is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

LIMIT = 0.2  # seconds

held: list[float] = []


@contextlib.contextmanager
def transactions_measured() -> Iterator[None]:
    """Note how long each outermost transaction lasts, in every thread."""
    from django.db import transaction

    enter, leave = transaction.Atomic.__enter__, transaction.Atomic.__exit__

    def entered(self: Any) -> None:
        connection = transaction.get_connection(self.using)
        outermost = not connection.in_atomic_block
        enter(self)
        if outermost:
            connection.began = time.perf_counter()

    def left(self: Any, *error: Any) -> None:
        connection = transaction.get_connection(self.using)
        leave(self, *error)
        if not connection.in_atomic_block:
            held.append(time.perf_counter() - connection.began)

    transaction.Atomic.__enter__, transaction.Atomic.__exit__ = entered, left  # type: ignore[method-assign]
    try:
        yield
    finally:
        transaction.Atomic.__enter__, transaction.Atomic.__exit__ = enter, leave  # type: ignore[method-assign]


def scenes(count: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """What is measured, one after the other, each beginning where the one before it ended."""
    from django.db.models import Q

    from annotator.core.actions.benchmarks import create_benchmark
    from annotator.core.models import Annotation, Batch, BatchChange, Document, Group, PipelineRun, User
    from annotator.core.vocabulary import AnnotationKind, AnnotationState, Phase, Stage
    from annotator.stages.actions.places import take_back_idle
    from annotator.suggestions.actions.get_suggestions import RUN_SIZE
    from annotator.suggestions.actions.runs import (
        cancel_run,
        cancelled_with_documents,
        open_documents_of,
        retry_failed,
        start_run,
    )
    from annotator.team.actions import batches
    from annotator.team.actions.batch_changes import unfinished, work_off

    owner = User.objects.create_user("owner", is_staff=True)
    benchmark = create_benchmark(slug="locks", name="Locks", by=owner, strategy="offline", overlap=2)
    Document.objects.bulk_create(
        (
            Document(
                benchmark=benchmark, order=number, identity=str(number), external_id=str(number),
                content_hash=f"{number:064}", prompt="Who was Ada Lovelace?", response="She was a mathematician. " * 20,
            )
            for number in range(count)
        ),
        batch_size=1000,
    )  # fmt: skip
    group = Group.objects.create(benchmark=benchmark, name="Group 1")
    keys = list(Document.objects.order_by("pk").values_list("pk", flat=True))

    def work() -> None:
        for change in unfinished():
            work_off(change)
        for run_id in cancelled_with_documents():
            open_documents_of(run_id)

    def batch() -> Batch:
        return Batch.objects.get(benchmark=benchmark)

    def run() -> PipelineRun:
        return PipelineRun.objects.get(benchmark=benchmark)

    def start() -> None:
        start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=keys[:RUN_SIZE], by=owner)

    def is_open(number: int) -> None:
        found = Document.objects.filter(~Q(phase=Phase.PREFILLING)).count()
        assert found == number, f"{found} documents are open, not {number}"

    yield f"start a run of {RUN_SIZE:,} documents", start
    yield "cancel it", lambda: cancel_run(run(), by=owner)
    yield "   and open its documents", work
    is_open(count)
    yield "try it again", lambda: (retry_failed(run(), by=owner), None)[1]
    yield "cancel it again", lambda: cancel_run(run(), by=owner)
    yield "   and open its documents", work
    yield f"cut a batch of {count:,} documents", lambda: (
        batches.cut_batch(benchmark, by=owner, name="All", how=batches.How(), cross_share=0.1, seed=1), None,
    )[1]  # fmt: skip
    yield "   and fill it", work
    assert batch().documents.count() == count
    people = [User.objects.create_user(f"person{number}") for number in range(20)]
    Annotation.objects.bulk_create(
        Annotation(
            document_id=keys[number], stage=Stage.DECOMPOSE, kind=AnnotationKind.INDIVIDUAL, seat=1,
            state=AnnotationState.OPEN, person=people[number % len(people)], guidelines=benchmark.guidelines.get(),
        )
        for number in range(min(2000, count))
    )  # fmt: skip
    yield "assign it to a group", lambda: batches.assign_batch(batch(), group, by=owner)
    yield "   and take open work back", work
    assert not Annotation.objects.filter(state=AnnotationState.OPEN).exists()
    Annotation.objects.update(state=AnnotationState.OPEN, seat=1, created_at="2020-01-01T00:00:00Z")
    Annotation.objects.filter(document__in=keys[200:]).update(state=AnnotationState.TAKEN_BACK, seat=None)
    yield "take back 200 idle pieces of work", lambda: (take_back_idle(benchmark, days=1, by=owner), None)[1]
    yield "dissolve the batch", lambda: batches.dissolve(batch(), by=owner)
    yield "   and release its documents", work
    assert not Batch.objects.exists() and not BatchChange.objects.exists()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="touchstone-locks-")
    os.environ |= {"TOUCHSTONE_VAR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    rows = []
    try:
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0, interactive=False)
        with transactions_measured():
            for name, scene in scenes(options.documents):
                held.clear()
                began = time.perf_counter()
                scene()
                ms = sorted(each * 1000 for each in held) or [0.0]
                rows.append(
                    {"scene": name.strip(), "seconds": round(time.perf_counter() - began, 2), "locks": len(held),
                     "p50_ms": round(ms[len(ms) // 2], 1), "longest_ms": round(ms[-1], 1)}
                )  # fmt: skip
                if not options.json:
                    row = rows[-1]
                    print(
                        f"{name:42} {row['seconds']:8} s {row['locks']:6} locks, p50 {row['p50_ms']:7} ms, "
                        f"longest {row['longest_ms']:7} ms",
                        flush=True,
                    )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    load = [round(each, 1) for each in os.getloadavg()]
    worst = max(row["longest_ms"] for row in rows)
    if options.json:
        print(json.dumps({"documents": options.documents, "load": load, "longest_ms": worst, "scenes": rows}, indent=2))
    else:
        print(f"Longest lock: {worst} ms; load of the machine: {load}")
    return 1 if worst > LIMIT * 1000 else 0


if __name__ == "__main__":
    raise SystemExit(main())
