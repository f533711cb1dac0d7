"""Runs through the real worker (Celery, PostgreSQL, Redis, all private): ``benchmarks/pipeline.py --worker``.

The released documents are imported with their gold; each strategy decomposes all of them and verifies all their claims.
The worker has four processes, each with a document in hand and at most 32 calls at once to a host.

``wall_over_ideal``: wall time of both runs over that of our own calls with the same answers played again in virtual
time, four documents at once, where nothing but calls takes time. ``by_paper`` is the time of the same number of rounds
by the dependency graph of the strategy's paper: what depends on each other one after the other, all claims of a
document at once, or all its calls through 32 places where that takes longer. ``processor`` are seconds of processor
time of the worker, the database and the fake services, which do not depend on what else the machine does: where they
come near the number of processors times ``ideal``, the machine is the limit.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.virtual_time import Replay, ReplayedChat, ReplayedPages, ReplayedSearch, seconds_of  # noqa: E402
from pipeline.suggestions import DocumentText  # noqa: E402
from tests import services  # noqa: E402

AT_ONCE, PROCESSES = 32, 4
Counts = Mapping[str, float]

# Rounds of calls that depend on each other, by the papers: (model, search, page) of a document's decomposition, and of
# one claim with these counts. docs/strategies.md has the steps.
DECOMPOSE: dict[str, int] = {"factcheck_gpt": 4, "veriscore": 1, "fastfact": 1, "safe": 3, "claimify": 3}
VERIFY: dict[str, Callable[[Counts], tuple[float, float, float]]] = {
    "factcheck_gpt": lambda counts: (3, 1, 1),  # queries, search, pages, stances, verdict
    "veriscore": lambda counts: (1, 1, 0),
    "fastfact": lambda counts: (1, 1, 1) if counts.get("claims", 0) > counts.get("settled", 0) else (0, 0, 0),
    "papelo": lambda counts: (2 + 3 * counts.get("hops", 0), counts.get("hops", 0), counts.get("hops", 0)),
    "fire": lambda counts: (counts.get("decided", 0) + counts.get("forced", 0), counts.get("searched", 0), 0),
    "safe": lambda counts: (counts.get("asked", 0) + 1, counts.get("searched", 0), 0),
}


@dataclass(frozen=True, slots=True)
class House:
    """The addresses of the fakes, and the processes at work (ids of the first process of each part)."""

    urls: dict[str, str]
    roots: dict[str, int]

    def processor(self) -> dict[str, float]:
        """Seconds of processor time so far, by part."""
        return {part: _processor_seconds(root) for part, root in self.roots.items()}


@contextmanager
def house(urls: dict[str, str], fakes: int, processes: int) -> Iterator[House]:
    """Database, broker and a worker; the settings of this process are those of the worker. ``fakes``: the process of
    the fake services."""
    with (
        services.postgres(durable=True) as database,
        services.redis() as redis,
        tempfile.TemporaryDirectory(prefix="touchstone-worker-") as folder,
    ):
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "config.settings", "TOUCHSTONE_VAR": folder, "DATABASE_URL": database,
            "REDIS_URL": redis, "LLM_URL": urls["chat"], "LLM_MODEL": "fake", "SEARCH_PROVIDER": "serper",
            "SEARCH_URL": urls["search"], "SEARCH_KEY": "a-key", "PAGES": "1", "PAGES_ROBOTS": "0",
            "PAGES_ALLOW": "127.0.0.1", "CALLS_AT_ONCE": str(AT_ONCE), "WORKER_CONCURRENCY": str(processes),
        }  # fmt: skip
        import django
        from django.core.management import call_command
        from django.db import connection

        django.setup()
        call_command("migrate", verbosity=0)
        command = [sys.executable, "-m", "celery", "--app", "config", "worker", "--loglevel", "ERROR"]
        worker = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
        try:
            _wait_for_worker()
            with connection.cursor() as cursor:
                cursor.execute("SHOW data_directory")
                pid = int((Path(cursor.fetchone()[0]) / "postmaster.pid").read_text().split()[0])
            yield House(urls, {"worker": worker.pid, "database": pid, "fakes": fakes})
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def _processor_seconds(root: int) -> float:
    """Processor time of a process, of those it has started, and of those that have ended."""
    ticks: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            ticks[int(stat.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    found, more = 0.0, [root]
    while more:
        process = more.pop()
        found += ticks.get(process, (0, 0.0))[1]
        more += [child for child, (parent, _) in ticks.items() if parent == process]
    return found


def _wait_for_worker() -> None:
    from config.celery import app

    last_moment = time.monotonic() + 120
    while not app.control.ping(timeout=0.5):
        if time.monotonic() > last_moment:
            raise SystemExit("The worker did not come up within 120 seconds.")


def _worked_off(benchmark: Any, strategy: str, stage: Any, documents: Sequence[int], claims: Sequence[int]) -> Any:
    """The finished run of a strategy at a stage, and the seconds from the request to its end."""
    from annotator.core.vocabulary import RunState
    from annotator.suggestions.actions.plans import RunRequest
    from annotator.suggestions.actions.runs import start_run

    began = time.monotonic()
    run = start_run(
        benchmark=benchmark, stage=stage, documents=documents, by=None, plan={"claims": list(claims)},
        wish=RunRequest(strategy=strategy), refuse=True,
    )  # fmt: skip
    assert run is not None
    while run.state not in (RunState.FINISHED, RunState.FAILED, RunState.PAUSED):
        time.sleep(0.02)
        run.refresh_from_db(fields=["state", "halted"])
    wall = time.monotonic() - began
    states = set(run.items.values_list("state", flat=True))
    assert states == {RunState.FINISHED}, (states, run.halted, run.items.exclude(error="").first())
    return run, wall


def _measure(benchmark: Any, name: str, at: House, latency: float) -> dict[str, Any]:
    """Both stages of a strategy through the worker, and the two ideal schedules."""
    from annotator.core.models import CachedAnswer, Claim, StepUse
    from annotator.core.vocabulary import Stage
    from pipeline import strategies
    from pipeline.clients.http import endpoint
    from pipeline.clients.limiter import Limiter
    from pipeline.prompts import shipped
    from pipeline.runs import inputs
    from pipeline.runs.kept_answers import kept_answers
    from pipeline.together import together
    from pipeline.tools import Tools

    CachedAnswer.objects.all().delete()
    documents = list(benchmark.documents.order_by("order"))
    keys = [document.pk for document in documents]
    chosen = Claim.objects.filter(sentence__annotation__document__in=keys, sentence__annotation__kind="consolidated")
    claims = list(chosen.exclude(worth_checking=False).values_list("pk", flat=True))
    strategy, walls, runs, before = strategies.get(name), 0.0, [], at.processor()
    for stage in (Stage.DECOMPOSE, Stage.VERIFY):
        if stage in strategy.stages:
            run, wall = _worked_off(benchmark, name, stage, keys, claims if stage == Stage.VERIFY else [])
            walls += wall
            runs.append(run)
    processor = {part: round(seconds - before[part], 2) for part, seconds in at.processor().items()}
    kept_keys = list(CachedAnswer.objects.values_list("key", flat=True))
    kept = {key: value for key, value in zip(kept_keys, kept_answers(kept_keys), strict=True) if value is not None}
    prompts = {each: shipped(each) for each in strategy.prompts}
    chains: list[list[float]] = []  # seconds of each document, by stage and by the paper

    def tools() -> Tools:
        replay = Replay(kept, Limiter(AT_ONCE))
        chat = ReplayedChat(replay, f"chat {endpoint(at.urls['chat'], 'chat/completions')}", latency)
        search = ReplayedSearch(replay, f"serper {at.urls['search']}", latency)
        return Tools(
            model="fake", chat=chat, search=search, pages=ReplayedPages(replay, latency), prompts=prompts, seed=0
        )

    async def decompose(document: Any) -> float:
        await strategy.decompose(inputs.document_text(document), tools())
        return DECOMPOSE.get(name, 0) * latency

    async def verify(document: Any) -> float:
        mine = [inputs.claim_text(claim) for claim in inputs.claims_to_verify(runs[-1], document)]
        text, ours = inputs.document_text(document), tools()
        found = await together(strategy.verify(claim, text, ours) for claim in mine)
        return max((sum(VERIFY[name](each.counts)) * latency for each in found), default=0.0)

    async def schedule(work: Callable[[Any], Any]) -> list[float]:
        free = asyncio.Semaphore(PROCESSES)

        async def one(document: Any) -> float:
            async with free:
                seconds: float = await work(document)
                return seconds

        return list(await asyncio.gather(*map(one, documents)))

    ideal = 0.0
    for run in runs:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # the rows are read within the virtual time, which stands still
        chain, seconds = seconds_of(schedule(verify if run.stage == Stage.VERIFY else decompose))
        ideal += seconds
        least = _through_the_places(run, latency)
        chains.append([max(each, least.get(key, 0.0)) for key, each in zip(keys, chain, strict=True)])
    by_paper = sum(_makespan(each) for each in chains)
    uses = StepUse.objects.filter(item__run__in=runs)
    return {
        "documents": len(documents), "claims": len(claims), "wall": walls, "ideal": ideal,
        "wall_over_ideal": walls / ideal if ideal else None, "by_paper": by_paper,
        "wall_over_paper": walls / by_paper if by_paper else None,
        "calls": sum(sum(row) for row in uses.values_list(*_KINDS)), "processor": processor,
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


_KINDS = ("chats", "searches", "pages")


def _through_the_places(run: Any, latency: float) -> dict[int, float]:
    """Seconds that the calls of each document (primary key) take to the host that it calls most."""
    from django.db.models import Sum

    from annotator.core.models import StepUse

    rows = StepUse.objects.filter(item__run=run).order_by().values_list("item__document")
    sums = rows.annotate(chat=Sum("chats"), search=Sum("searches"), page=Sum("pages"))
    return {document: max(calls) * latency / AT_ONCE for document, *calls in sums}


def _makespan(seconds: Sequence[float]) -> float:
    """When the last of these documents is done, each taken by the first process that is free."""
    free = [0.0] * PROCESSES
    for each in seconds:
        heapq.heappush(free, heapq.heappop(free) + each)
    return max(free)


def measure(
    urls: dict[str, str], fakes: int, names: Sequence[str], path: Path, documents: int, latency: float
) -> dict[str, dict[str, Any]]:
    """The figures of each strategy over the first documents of a released file."""
    found: dict[str, dict[str, Any]] = {}
    with house(urls, fakes, PROCESSES) as at:
        from django.core.management import call_command

        from annotator.core.models import Benchmark
        from annotator.core.vocabulary import Stage

        call_command("import_gold", str(path), benchmark="b", create=True, verbosity=0)
        benchmark = Benchmark.objects.get(slug="b")
        benchmark.documents.filter(order__gt=documents).delete()
        # Each process of the worker opens its connections and loads what it needs.
        keys = list(benchmark.documents.values_list("pk", flat=True))
        for _ in range(2):
            _worked_off(benchmark, "offline", Stage.DECOMPOSE, keys, [])
        for name in names:
            found[name] = _measure(benchmark, name, at, latency)
    return found


def offline(urls: dict[str, str], fakes: int, texts: Sequence[DocumentText], number: int) -> dict[str, Any]:
    """Seconds of the offline strategy's decomposition for so many documents made of these texts, by two processes."""
    with house(urls, fakes, 2) as at:
        from annotator.core.models import Benchmark, Document
        from annotator.core.vocabulary import Stage

        benchmark = Benchmark.objects.create(slug="offline", name="Offline", strategy="offline")
        rows = (
            Document(
                benchmark=benchmark, order=place, identity=str(place), content_hash=f"{place:064d}",
                prompt=texts[place % len(texts)].prompt, response=texts[place % len(texts)].response,
            )
            for place in range(number)
        )  # fmt: skip
        Document.objects.bulk_create(rows, batch_size=500)
        keys = list(benchmark.documents.values_list("pk", flat=True))
        before = at.processor()
        _, wall = _worked_off(benchmark, "offline", Stage.DECOMPOSE, keys, [])
        processor = {part: round(seconds - before[part], 2) for part, seconds in at.processor().items()}
    return {"documents": number, "seconds": wall, "processor": processor, "load": round(os.getloadavg()[0], 1)}
