"""Requests saved pages again, politely: one request at a time per host with a pause in between, many hosts in parallel.
Works in slices, so that no task runs for long, and writes each outcome as it comes, so that a killed worker loses at
most the pages it was requesting."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from annotator.core.models import PageCheck, Recheck
from annotator.core.vocabulary import PageOutcome
from annotator.stages.actions.rechecks import LOST_AFTER
from annotator.suggestions.queries.services import service_settings
from pipeline.clients.addresses import Resolver, resolve
from pipeline.clients.assemble import ServiceSettings, open_page_reader
from pipeline.clients.base import FetchedPage, PageRequest
from pipeline.clients.pages import Absence
from pipeline.retrieval.page_outcomes import outcome_of
from pipeline.runs.bridge import Bridge
from pipeline.runs.db_retry import persistently
from pipeline.runs.kept_answers import snapshot_of

SLICE = 60.0  # seconds; then the task ends and the next one continues
HOSTS_AT_ONCE = 16
LONGEST_DELAY = 60.0  # seconds; longer delays in robots.txt are capped


@dataclass(slots=True)
class _Address:
    """One address, and the checks (primary keys) of the saved pages that came from it."""

    url: str
    checks: list[int]


def check_slice(recheck_id: int, *, seconds: float = SLICE, resolver: Resolver = resolve) -> bool:
    """Check pages for a while. Returns whether some are left for a next slice. Nothing is done while another worker is
    at it."""
    now = timezone.now()
    free = Q(seen_at__isnull=True) | Q(seen_at__lt=now - LOST_AFTER)
    mine = Recheck.objects.filter(pk=recheck_id, finished_at__isnull=True)
    if not mine.filter(free).update(seen_at=now):
        return False
    recheck = Recheck.objects.select_related("benchmark").get(pk=recheck_id)
    hosts, waits = _left(recheck)
    services = service_settings(recheck.benchmark, has_corpus=False)
    bridge = Bridge()

    async def write(address: _Address, page: FetchedPage | Absence) -> bool:
        return await bridge.do(partial(persistently, partial(_write, recheck_id, address, page)))

    try:
        bridge.run(lambda: _check(services, hosts, waits, write, time.monotonic() + seconds, resolver))
    finally:
        mine.update(seen_at=None)
    if recheck.checks.filter(outcome="").exists():
        return mine.exists()
    mine.update(finished_at=timezone.now())
    return False


def _left(recheck: Recheck) -> tuple[dict[str, list[_Address]], dict[str, float]]:
    """By host: the addresses without an outcome, and the seconds to wait since its last request."""
    by_url: dict[str, _Address] = {}
    rows = recheck.checks.filter(outcome="").order_by("pk").values_list("pk", "snapshot__url")
    for key, url in rows.iterator():
        by_url.setdefault(url, _Address(url, [])).checks.append(key)
    hosts: dict[str, list[_Address]] = defaultdict(list)
    for address in by_url.values():
        hosts[_host(address.url)].append(address)
    now = timezone.now()
    last = recheck.checks.filter(checked_at__isnull=False).values_list("snapshot__url").annotate(at=Max("checked_at"))
    waits: dict[str, float] = {}
    for url, at in last.filter(checked_at__gt=now - LOST_AFTER):
        left = settings.RECHECK_PAUSE - (now - at).total_seconds()
        waits[_host(url)] = max(waits.get(_host(url), 0.0), left)
    return dict(hosts), waits


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower()


async def _check(
    services: ServiceSettings,
    hosts: Mapping[str, Sequence[_Address]],
    waits: Mapping[str, float],
    write: Callable[[_Address, FetchedPage | Absence], Awaitable[bool]],
    until: float,
    resolver: Resolver,
) -> None:
    at_once = asyncio.Semaphore(HOSTS_AT_ONCE)
    async with open_page_reader(services, resolver=resolver) as pages:

        async def of_host(name: str) -> None:
            await asyncio.sleep(max(0.0, waits.get(name, 0.0)))
            for number, address in enumerate(hosts[name]):
                if number:
                    await asyncio.sleep(max(settings.RECHECK_PAUSE, min(pages.delay(address.url), LONGEST_DELAY)))
                if time.monotonic() >= until:
                    return
                async with at_once:
                    page = await pages.read(PageRequest("recheck", address.url))
                    if not await write(address, page):
                        return

        async with asyncio.TaskGroup() as group:
            for name in hosts:
                group.create_task(of_host(name))


def _write(recheck_id: int, address: _Address, page: FetchedPage | Absence) -> bool:
    """Write what was found at one address, with a sign of life. False where the recheck was canceled."""
    with transaction.atomic():
        now = timezone.now()
        if not Recheck.objects.filter(pk=recheck_id, finished_at__isnull=True).update(seen_at=now):
            return False
        checks = PageCheck.objects.filter(pk__in=address.checks, outcome="").select_related("snapshot")
        for check in checks:
            check.outcome = outcome_of(check.snapshot.title, check.snapshot.text, page)
            check.checked_at = now
            if isinstance(page, Absence):
                check.reason = page.reason
            elif check.outcome != PageOutcome.SAME:
                check.found = snapshot_of(page)
            check.save(update_fields=["outcome", "checked_at", "reason", "found"])
        return True
