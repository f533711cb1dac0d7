"""How long 10,000 saved pages take to be checked again within the limits of politeness, with workers killed on the way.

A fake web of many hosts serves the pages, of which every hundredth has changed. Each slice of the check runs in a
process of its own, as in a worker; the first ones are killed with SIGKILL. Counted at the fake web: requests for each
address, and the shortest pause between two requests to one host. ``ideal`` is the time that the pauses alone take.

    python benchmarks/recheck.py [--addresses 10000] [--hosts 500] [--kills 2] [--json]

Exit code 1 if a host was asked too soon, an outcome is wrong or missing, or more pages were asked for twice than the
killed processes can have had on the wire.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CHANGED_EVERY = 100
PAUSE = 1.0  # seconds between two requests to one host: the product's default
SLICE = 60.0  # seconds


def text_of(number: int, year: int = 1820) -> str:
    return f"Page {number} says that the fort of Ema was built in {year} by masons from the coast."


def fill(addresses: int, hosts: int, port: int) -> int:
    """A benchmark with evidence from so many pages; returns the primary key of its recheck."""
    from django.utils import timezone

    from annotator.core.models import Evidence, PageSnapshot
    from annotator.stages.actions.rechecks import start_recheck
    from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, with_corpus

    benchmark = BenchmarkFactory()
    with_corpus(benchmark)
    claim = decomposed(prefill(DocumentFactory(benchmark=benchmark)), member(benchmark)).sentences.get(order=1).claims
    urls = [f"http://host{number % hosts}.example:{port}/{number}" for number in range(addresses)]
    now = timezone.now()
    pages = [
        PageSnapshot(url=url, text=text_of(number), content_hash=f"{number:064d}", retrieved_at=now)
        for number, url in enumerate(urls)
    ]
    PageSnapshot.objects.bulk_create(pages, batch_size=500)
    rows = (
        Evidence(claim=claim.first(), order=1000 + number, passage="x", snapshot=page, url=page.url)
        for number, page in enumerate(PageSnapshot.objects.filter(url__contains=".example"))
    )
    Evidence.objects.bulk_create(rows, batch_size=500)
    return start_recheck(benchmark, by=None, here=True).pk


def one_slice(recheck_id: int) -> None:
    """The work of one task, where every host is this machine."""
    from pipeline.runs.rechecks import check_slice

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    check_slice(recheck_id, seconds=SLICE, resolver=here)


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Check all pages, in processes that are killed at first; what the fake web and the rows say of it."""
    from annotator.core.models import PageCheck, Recheck
    from tests.fakes.server import Reply
    from tests.fakes.site import FakeSite

    def page(path: str) -> Reply:
        number = int(path.strip("/"))
        text = text_of(number, 1820 if number % CHANGED_EVERY else 1825)
        return Reply(body=text.encode(), headers={"Content-Type": "text/plain"})

    with FakeSite(page, robots="") as site:
        recheck = fill(asked.addresses, asked.hosts, site.port)
        command = [sys.executable, str(Path(__file__)), "--slice", str(recheck)]
        began = time.monotonic()
        for kill in range(asked.kills):
            process = subprocess.Popen(command)
            while len(site.calls) < (kill + 1) * asked.addresses // (asked.kills + 2) and process.poll() is None:
                time.sleep(0.05)
            process.kill()
            process.wait()
            time.sleep(PAUSE)
            Recheck.objects.update(seen_at=None)  # as if the time after which a worker counts as lost were over
        while Recheck.objects.filter(finished_at__isnull=True).exists():
            subprocess.run(command, check=True)
        seconds = time.monotonic() - began
        calls = list(site.calls)
    times: dict[str, list[float]] = defaultdict(list)
    for call in calls:
        times[call.headers["host"]].append(call.at)
    gaps = [later - earlier for each in times.values() for earlier, later in zip(each, each[1:], strict=False)]
    requests = Counter(call.path for call in calls)
    return {
        "addresses": asked.addresses,
        "hosts": asked.hosts,
        "killed": asked.kills,
        "seconds": round(seconds, 1),
        "ideal": round(PAUSE * -(-asked.addresses // asked.hosts - 1), 1),
        "requests": len(calls),
        "asked_twice": sum(number > 1 for number in requests.values()),
        "never_asked": asked.addresses - len(requests),
        "shortest_pause": round(min(gaps), 3),
        "outcomes": dict(Counter(PageCheck.objects.values_list("outcome", flat=True))),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--addresses", type=int, default=10_000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--slice", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    import django
    from django.core.management import call_command

    if asked.slice:
        django.setup()
        one_slice(asked.slice)
        return 0
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # the web is measured, not the disk
    with tempfile.TemporaryDirectory(prefix="touchstone-recheck-", dir=memory) as folder:
        os.environ |= {"TOUCHSTONE_VAR": folder, "DATABASE_URL": "", "REDIS_URL": "", "PAGES": "1"}
        os.environ |= {"PAGES_ROBOTS": "0", "PAGES_ALLOW": "127.0.0.0/8", "DJANGO_SETTINGS_MODULE": "config.settings"}
        os.environ["RECHECK_PAUSE"] = str(PAUSE)
        django.setup()
        call_command("migrate", verbosity=0)
        found = measure(asked)
    print(json.dumps(found, indent=1) if asked.json else "\n".join(f"{name}: {each}" for name, each in found.items()))
    changed = -(-asked.addresses // CHANGED_EVERY)
    is_right = found["outcomes"] == {"changed": changed, "same": asked.addresses - changed}
    is_polite = found["shortest_pause"] >= 0.98 * PAUSE  # a request takes a moment on its way
    return 0 if is_right and is_polite and found["asked_twice"] <= 32 * asked.kills else 1


if __name__ == "__main__":
    sys.exit(main())
