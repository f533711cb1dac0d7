"""Answers and costs in the database: the Store over kept answers, and the Meter of one document of a run.

What a run has spent and what its calls under way may still cost stand together in its row, so that one conditional
update keeps all workers together within the budget; each call under way has a row of its own (``PendingCall``). A
call's cost is written when the call ends, in the same transaction as its answer. What a killed worker had on the wire
stays counted at the most it can have cost. By hand: no library keeps a budget over processes.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, Q, Sum
from django.utils import timezone

from annotator.core.models import CachedAnswer, PageArchive, PageSnapshot, PendingCall, PipelineRun, RunItem, StepUse
from annotator.core.vocabulary import OPEN_STATES, RunState
from pipeline.clients import answers
from pipeline.clients.base import BudgetSpentError, FetchedPage, Usage
from pipeline.clients.cost_meter import CallKind, Hold, KeptAnswer
from pipeline.runs.bridge import Bridge
from pipeline.runs.db_retry import persistently

# Seconds between two tries of a call that waits for others to give back what they hold.
WAIT = 0.25
_COLUMN = {CallKind.CHAT: "chats", CallKind.SEARCH: "searches", CallKind.PAGE: "pages", CallKind.RANK: "rankings"}


class RunStoppedError(BudgetSpentError):
    """The run was paused or cancelled, or another worker has the document: no further call is made."""


class DatabaseStore:
    """Kept answers. The text of a page is kept once, as the snapshot that evidence names too."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    async def get(self, key: str) -> Mapping[str, Any] | None:
        """The value kept under that key, None if there is none."""
        return await self._bridge.do(partial(persistently, partial(kept_answer, key)))


def kept_answer(key: str) -> Mapping[str, Any] | None:
    """The value kept under that key, None if there is none (or its page's text is gone)."""
    value: Mapping[str, Any] | None = CachedAnswer.objects.filter(key=key).values_list("answer", flat=True).first()
    if value is None or "snapshot" not in value:
        return value
    text = PageSnapshot.objects.filter(public_id=value["snapshot"]).values_list("text", flat=True).first()
    return None if text is None else {name: each for name, each in value.items() if name != "snapshot"} | {"text": text}


def keep_answer(answer: KeptAnswer) -> None:
    """Keep an answer; one that is kept under its key stays, unless it cannot be used. Inside the caller's
    transaction."""
    value = dict(answer.value)
    if answer.kind == CallKind.PAGE and "text" in value:
        snapshot = snapshot_of(answers.page_from_json(value))
        del value["text"]
        value.pop("warc", None)
        value["snapshot"] = snapshot.public_id
    if answer.instead:
        CachedAnswer.objects.filter(key=answer.key).delete()
    CachedAnswer.objects.bulk_create(
        [CachedAnswer(key=answer.key, kind=answer.kind, answer=value)], ignore_conflicts=True
    )


def snapshot_of(page: FetchedPage) -> PageSnapshot:
    """The kept text of a page, with its archive where there is one; the same text of the same address is kept once."""
    row = PageSnapshot(
        url=page.url,
        title=page.title,
        site=page.site[:255],
        published=page.published,
        text=page.text,
        content_hash=page.content_hash,
        retrieved_at=page.retrieved_at,
    )
    PageSnapshot.objects.bulk_create([row], ignore_conflicts=True)
    kept = PageSnapshot.objects.get(url=page.url, content_hash=page.content_hash)
    if page.warc:
        PageArchive.objects.bulk_create([PageArchive(snapshot=kept, record=page.warc)], ignore_conflicts=True)
    return kept


class _Held(Enum):
    """Whether something could be held back of a budget."""

    YES = 1
    NO = 2  # others hold too much
    UNDER_WAY = 3  # somebody makes the same call


class _SameCallError(Exception):
    """The same call is under way in another process."""


class RunMeter:
    """Counts what one document uses, and never lets its run's budget be passed, whatever other workers do.

    ``item`` is in this worker's hands: ``started_at`` tells its turn from that of another worker.
    """

    def __init__(self, item: RunItem, bridge: Bridge) -> None:
        self._run = PipelineRun.objects.filter(pk=item.run_id)
        self._item = RunItem.objects.filter(pk=item.pk, state=RunState.RUNNING, started_at=item.started_at)
        self._item_id = item.pk
        self._bridge = bridge
        self._stopped = ""
        self._rows: dict[Hold, list[int]] = defaultdict(list)  # the rows of what is held
        self._cached: Counter[str] = Counter()

    def stop(self, reason: str) -> None:
        """Let no further call be made: those under way may end. From any thread."""
        self._stopped = self._stopped or reason

    async def reserve(self, hold: Hold) -> bool:
        """Hold that much of the budget back; waits while calls under way hold too much of it. False, after a moment,
        where another process is making the same call. Raises BudgetSpentError where even alone it might pass what is
        left, RunStoppedError where no call may be made any more."""
        while True:
            if self._stopped:
                raise RunStoppedError(self._stopped)
            held = await self._do(partial(self._try_to_hold, hold))
            if held == _Held.YES:
                return True
            await asyncio.sleep(WAIT)
            if held == _Held.UNDER_WAY:
                return False

    async def settle(self, hold: Hold, usage: Usage, seconds: float, answer: KeptAnswer | None) -> None:
        """The call ended well: count it, give back what was held, keep the answer, in one transaction."""
        await self._do(partial(self._settle, hold, usage, seconds, answer))

    async def release(self, hold: Hold, seconds: float) -> None:
        """The call failed: give back what was held."""
        await self._do(partial(self._settle, hold, None, seconds, None))

    async def count_cached(self, step: str, kind: CallKind) -> None:
        """A call was answered from the store; written by ``flush``, since it costs nothing."""
        if self._stopped:
            raise RunStoppedError(self._stopped)
        self._cached[step] += 1

    def flush(self) -> None:
        """Write how many calls were answered from the store. Inside the transaction of the document's result."""
        for step, number in self._cached.items():
            self._count(step, cached=number)
        self._cached.clear()

    async def _do(self, function: partial[Any]) -> Any:
        return await self._bridge.do(partial(persistently, function))

    def _try_to_hold(self, hold: Hold) -> _Held:
        """Whether it could be held. Raises like ``reserve``."""
        within = (Q(budget_tokens__isnull=True) | Q(budget_tokens__gte=F("spent_tokens") + hold.tokens)) & (
            Q(budget_money__isnull=True) | Q(budget_money__gte=F("spent_money") + hold.money)
        )
        try:
            with transaction.atomic():
                held = self._run.filter(within, state__in=OPEN_STATES).update(
                    spent_tokens=F("spent_tokens") + hold.tokens, spent_money=F("spent_money") + hold.money
                )
                if held:
                    self._add_row(hold)
                    return _Held.YES
        except (_SameCallError, IntegrityError):  # the latter where two begin at the same moment
            return _Held.UNDER_WAY
        run = self._run.defer("plan").first()  # asked again and again while others hold; a plan may be large
        if run is None or run.state not in OPEN_STATES:
            raise RunStoppedError("The run was paused or canceled.")
        self._check_budget(run, hold)
        return _Held.NO

    def _add_row(self, hold: Hold) -> None:
        """Write the call's row. What it raises rolls the hold back."""
        same = PendingCall.objects.filter(key=hold.key, lost_at__isnull=True).exclude(key="")
        is_under_way = self._item.annotate(same=Exists(same)).values_list("same", flat=True).first()
        if is_under_way is None:
            raise RunStoppedError("Another worker has the document now.")
        if is_under_way:
            raise _SameCallError
        row = PendingCall.objects.create(
            item_id=self._item_id, key=hold.key, step=hold.step, kind=hold.kind, tokens=hold.tokens, money=hold.money
        )
        self._rows[hold].append(row.pk)

    def _check_budget(self, run: Any, hold: Hold) -> None:
        held = PendingCall.objects.filter(item__run=run, lost_at__isnull=True).aggregate(
            tokens=Sum("tokens", default=0), money=Sum("money", default=0.0)
        )
        tokens, money = run.spent_tokens - held["tokens"], run.spent_money - held["money"]
        if run.budget_tokens is not None and tokens + hold.tokens > run.budget_tokens:
            raise BudgetSpentError(
                f"The next call might use {hold.tokens:,} tokens, and {tokens:,} of the budget of "
                f"{run.budget_tokens:,} are spent."
            )
        if run.budget_money is not None and money + hold.money > run.budget_money:
            raise BudgetSpentError(
                f"The next call might cost {hold.money:.4f}, and {money:.4f} of the budget of "
                f"{run.budget_money:.4f} are spent."
            )

    def _settle(self, hold: Hold, usage: Usage | None, seconds: float, answer: KeptAnswer | None) -> None:
        used = usage or Usage()
        tokens = used.prompt_tokens + used.answer_tokens
        with transaction.atomic():
            # The run first, then its document, as everywhere: so nobody waits for each other.
            self._run.update(
                spent_tokens=F("spent_tokens") + (tokens - hold.tokens),
                spent_money=F("spent_money") + (used.money - hold.money),
            )
            # Also where the worker was taken for lost meanwhile: what the call did cost is known after all.
            PendingCall.objects.filter(pk=self._rows[hold][-1]).delete()
            self._count(
                hold.step,
                prompt_tokens=used.prompt_tokens,
                answer_tokens=used.answer_tokens,
                money=used.money,
                seconds=seconds,
                **({_COLUMN[hold.kind]: 1} if usage is not None else {}),
            )
            if answer is not None:
                keep_answer(answer)
        self._rows[hold].pop()

    def _count(self, step: str, **numbers: float) -> None:
        change = {name: F(name) + number for name, number in numbers.items()}
        rows = StepUse.objects.filter(item_id=self._item_id, step=step)
        if not rows.update(**change):
            StepUse.objects.get_or_create(item_id=self._item_id, step=step)
            rows.update(**change)


def mark_lost(item: RunItem) -> None:
    """The worker of a document is gone, or could not write what its calls did cost: they stay counted at the most they
    can have cost, and others may make them again. Inside the caller's transaction."""
    PendingCall.objects.filter(item_id=item.pk, lost_at__isnull=True).update(lost_at=timezone.now())
