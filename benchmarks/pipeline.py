"""What strategies cost in time, calls and our own computing: 47 released documents from end to end, with a model, a
search and a web site that answer after a fixed time (1 s, 0.5 s, 1 s; --latency: each so many), 32 calls at once.

``wall_over_ideal``: wall time over that of the ideal schedule, which is the same calls with the same answers played
again in virtual time, where calls take their latency, wait for one of the 32 places, and nothing else takes time.
``calls`` are the requests that strategies made (those answered from the store among them), ``calls_by_formula`` what
the strategy's formula makes of the counts it reports. ``own_cpu_s_per_document`` is the processor time of this process:
the fakes run in another.

    python benchmarks/pipeline.py [--strategy NAME] [--documents N] [--latency SECONDS] [--json]
    python benchmarks/pipeline.py --worker          # through Celery, PostgreSQL and Redis (benchmarks/real_worker.py)
    python benchmarks/pipeline.py --offline 10000   # the offline strategy alone through the worker: seconds for so many
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import real_worker  # noqa: E402
from benchmarks.virtual_time import Replay, ReplayedChat, ReplayedPages, ReplayedSearch, seconds_of  # noqa: E402
from pipeline import strategies  # noqa: E402
from pipeline.clients.assemble import ServiceSettings, open_services  # noqa: E402
from pipeline.clients.http import endpoint  # noqa: E402
from pipeline.clients.limiter import Limiter  # noqa: E402
from pipeline.prompts import shipped  # noqa: E402
from pipeline.runs.end_to_end import Whole, check  # noqa: E402
from pipeline.suggestions import DocumentText  # noqa: E402
from pipeline.tools import Tools  # noqa: E402
from tests.memory_ledger import MemoryMeter, MemoryStore  # noqa: E402

MODEL, SEARCH, PAGE, AT_ONCE = 1.0, 0.5, 1.0, 32
WORKER_LATENCY = 0.2
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy's figures. Times in seconds."""

    documents: int
    claims: int
    wall: float
    ideal: float
    wall_over_ideal: float
    calls: int
    calls_by_formula: int
    answered_from_store: int
    own_cpu_s_per_document: float


@dataclass(frozen=True, slots=True)
class Latencies:
    """Seconds after which the services answer."""

    model: float = MODEL
    search: float = SEARCH
    page: float = PAGE


@contextmanager
def fakes(after: Latencies) -> Iterator[tuple[dict[str, str], int]]:
    """Addresses of the fake services, and the process of their own in which they run."""
    command = [sys.executable, str(ROOT / "benchmarks" / "fake_services.py")]
    command += ["--model", str(after.model), "--search", str(after.search), "--page", str(after.page)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield json.loads(process.stdout.readline()), process.pid
        process.stdin.close()


def documents_of(path: Path, number: int) -> list[DocumentText]:
    """The first documents of a released file."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [DocumentText(row["prompt"], row["response"]) for row in rows[:number]]


def measure(name: str, documents: Sequence[DocumentText], urls: dict[str, str], after: Latencies) -> Row:
    """Run one strategy for real, then once more in virtual time."""
    strategy = strategies.get(name)
    settings = ServiceSettings(
        llm_url=urls["chat"], llm_model="fake", search_provider="serper", search_url=urls["search"],
        search_key="a-key", pages=True, pages_robots=False, pages_allow=("127.0.0.1",), calls_at_once=AT_ONCE,
    )  # fmt: skip
    store = MemoryStore()
    meter = MemoryMeter(store)
    prompts = {each: shipped(each) for each in strategy.prompts}

    async def one(document: DocumentText) -> Whole:  # with connections of its own, as in a run
        async with open_services(settings, store, meter) as services:
            tools = Tools(
                model="fake", chat=services.chat, search=services.search, pages=services.pages, prompts=prompts
            )
            return await check(strategy, document, tools)

    async def real() -> list[Whole]:
        return list(await asyncio.gather(*map(one, documents)))

    cpu, began = time.process_time(), time.monotonic()
    found = asyncio.run(real())
    wall, cpu = time.monotonic() - began, time.process_time() - cpu

    replay = Replay(store.values, Limiter(AT_ONCE))
    chat = ReplayedChat(replay, f"chat {endpoint(urls['chat'], 'chat/completions')}", after.model)
    search = ReplayedSearch(replay, f"serper {urls['search']}", after.search)
    again = Tools(model="fake", chat=chat, search=search, pages=ReplayedPages(replay, after.page), prompts=prompts)

    async def ideally() -> None:
        await asyncio.gather(*(check(strategy, each, again) for each in documents))

    _, ideal = seconds_of(ideally())

    cached = sum(each.cached for each in meter.steps.values())
    calls = sum(sum(each.calls.values()) for each in meter.steps.values()) + cached
    return Row(
        documents=len(documents),
        claims=sum(len(each.verified) for each in found),
        wall=wall,
        ideal=ideal,
        wall_over_ideal=wall / ideal if ideal else 1.0,
        calls=calls,
        calls_by_formula=round(sum(sum(strategy.formula(each.counts).values()) for each in found)),
        answered_from_store=cached,
        own_cpu_s_per_document=cpu / len(documents),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategy", action="append", choices=sorted(strategies.STRATEGIES), help="all, if not given")
    parser.add_argument("--documents", type=int, default=47)
    parser.add_argument("--latency", type=float, metavar="SECONDS")
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--offline", type=int, metavar="DOCUMENTS")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    path = DATA / "factcheck-bench.dev.jsonl"
    documents = documents_of(path, asked.documents)
    names = asked.strategy or list(strategies.STRATEGIES)
    latency = asked.latency or (WORKER_LATENCY if asked.worker else None)
    after = Latencies(latency, latency, latency) if latency else Latencies()
    if asked.worker or asked.offline:
        with fakes(after) as (urls, process):
            if asked.offline:
                found = real_worker.offline(urls, process, documents, asked.offline)
            else:
                asking = [name for name in names if name != "offline"]
                found = real_worker.measure(urls, process, asking, path, asked.documents, after.model)
        print(json.dumps(found, indent=1))
        return
    rows: dict[str, Row] = {}
    with fakes(after) as (urls, _):
        for name in names:
            rows[name] = measure(name, documents, urls, after)
            if not asked.json:
                print(_line(name, rows[name]), flush=True)
    if asked.json:
        print(json.dumps({name: asdict(row) for name, row in rows.items()}, indent=1))


def _line(name: str, row: Row) -> str:
    return (
        f"{name:14} {row.documents} documents, {row.claims} claims: {row.wall:.1f} s, {row.wall_over_ideal:.3f} of the"
        f" ideal schedule ({row.ideal:.1f} s); {row.calls} calls, {row.calls_by_formula} by the formula"
        f" ({row.answered_from_store} from the store); {row.own_cpu_s_per_document:.2f} s own computing a document"
    )


if __name__ == "__main__":
    main()
