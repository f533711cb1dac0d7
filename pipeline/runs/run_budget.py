"""Costs in the database: the Meter of one document of a run.

What a run has spent and what its calls under way may still cost stand together in its row, so that one conditional
update keeps all workers together within the budget; each call under way has a row of its own (``PendingCall``). A
call's cost is written when the call ends, in the same transaction as its answer; calls that end together share one.
What a killed worker had on the wire stays counted at the most it can have cost. By hand: no library keeps a budget over
processes.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from enum import Enum
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, Q, Sum
from django.utils import timezone

from annotator.core.models import CachedAnswer, PendingCall, PipelineRun, RunItem, StepUse
from annotator.core.vocabulary import OPEN_STATES, RunState
from annotator.suggestions.actions.plans import IN_BATCHES
from annotator.suggestions.models.service import Service, ServiceUse
from annotator.suggestions.queries.services import first_of_month, money_held, money_this_month, services_of
from pipeline.clients.base import BudgetSpentError, Usage
from pipeline.clients.cost_meter import CallKind, Hold, KeptAnswer
from pipeline.runs.bridge import Bridge
from pipeline.runs.db_retry import persistently
from pipeline.runs.gathered import Gathered, NotTogetherError
from pipeline.runs.kept_answers import keep_answers, kept_answers

# Seconds between two tries of a call that waits for others to give back what they hold.
WAIT = 0.25
# Seconds that a call waits for others, so that they begin or end in one transaction: short beside a call, and fewer
# transactions lock the run's row for less time.
LINGER = 0.008
_COLUMN = {CallKind.CHAT: "chats", CallKind.SEARCH: "searches", CallKind.PAGE: "pages", CallKind.RANK: "rankings"}


class LimitReachedError(BudgetSpentError):
    """The next call might pass what a service may cost in a month."""

    advice = "Raise the limit under Services, or wait for the next month, and resume."


class RunStoppedError(BudgetSpentError):
    """The run was paused or cancelled, or another worker has the document: no further call is made."""


class _Held(Enum):
    """Whether something could be held back of a budget."""

    YES = 1
    NO = 2  # others hold too much
    UNDER_WAY = 3  # somebody makes the same call, or has made it


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a hold. ``wait``: seconds until the service's limit allows the call; ``fault``: what to raise."""

    held: _Held
    wait: float = 0.0
    fault: BudgetSpentError | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that ended: the row of what was held for it, and what it used; None where it failed."""

    hold: Hold
    row: int
    usage: Usage | None
    seconds: float
    answer: KeptAnswer | None


class _SameCallError(Exception):
    """The same call is under way, or its answer is kept already."""


class RunMeter:
    """Counts what one document uses, and never lets its run's budget or a service's limits be passed, whatever other
    workers do. Calls that begin or end while the database is busy are written together, in one transaction.

    ``item`` is in this worker's hands: ``started_at`` tells its turn from that of another worker.
    """

    def __init__(self, item: RunItem, bridge: Bridge) -> None:
        self._run = PipelineRun.objects.filter(pk=item.run_id)
        self._item = RunItem.objects.filter(pk=item.pk, state=RunState.RUNNING, started_at=item.started_at)
        self._item_id = item.pk
        self._benchmark_id = item.run.benchmark_id
        self._services = services_of(item.run.benchmark)
        self.bridge = bridge
        self._stopped = ""
        self._rows: dict[Hold, list[int]] = defaultdict(list)  # the rows of what is held
        self._cached: Counter[str] = Counter()
        self._forgotten: set[str] = set()
        self._is_in_batches = bool(item.run.plan.get(IN_BATCHES))
        self.unanswered: frozenset[str] = frozenset()
        if self._is_in_batches:
            lists = item.run.model_batches.values_list("unanswered", flat=True)
            self.unanswered = frozenset(key for keys in lists for key in keys)
        self._begins = Gathered(bridge, self._hold_all, linger=LINGER)
        self._ends = Gathered(bridge, self._write_ended, linger=LINGER)

    def stop(self, reason: str) -> None:
        """Let no further call be made: those under way may end. From any thread."""
        self._stopped = self._stopped or reason

    async def reserve(self, hold: Hold) -> bool:
        """Hold that much of the budget back; waits while calls under way hold too much of it, and for the service's
        limit of calls. False, after a moment, where the same call is being made or its answer is kept. Raises
        BudgetSpentError where even alone it might pass what is left, RunStoppedError where no call may be made any
        more."""
        while True:
            if self._stopped:
                raise RunStoppedError(self._stopped)
            outcome = await self._begins.do(hold)
            if outcome.fault is not None:
                raise outcome.fault
            if outcome.held == _Held.YES:
                await self._wait(hold, outcome.wait)
                return True
            await asyncio.sleep(WAIT)
            if outcome.held == _Held.UNDER_WAY:
                return False

    async def _wait(self, hold: Hold, seconds: float) -> None:
        """Wait for the call's turn. Raises RunStoppedError, and gives back what was held, if the run is stopped."""
        until = time.monotonic() + seconds
        try:
            while (left := until - time.monotonic()) > 0:
                await asyncio.sleep(min(left, WAIT))
                if self._stopped:
                    raise RunStoppedError(self._stopped)
        except BaseException:
            await asyncio.shield(self.release(hold, 0.0))
            raise

    async def settle(self, hold: Hold, usage: Usage, seconds: float, answer: KeptAnswer | None) -> None:
        """The call ended well: count it, give back what was held, keep the answer, in one transaction."""
        await self._ends.do(Ended(hold, self._rows[hold].pop(), usage, seconds, answer))

    async def release(self, hold: Hold, seconds: float) -> None:
        """The call failed: give back what was held."""
        await self._ends.do(Ended(hold, self._rows[hold].pop(), None, seconds, None))

    async def count_cached(self, step: str, kind: CallKind) -> None:
        """A call was answered from the store; written by ``flush``, since it costs nothing."""
        if self._stopped:
            raise RunStoppedError(self._stopped)
        self._cached[step] += 1

    async def collect(self, hold: Hold, request: Mapping[str, Any]) -> None:
        """Have a request answered with the next batch, unless it already waits for one. What the budget cannot bear
        while others hold it is collected the next time. Raises BudgetSpentError, RunStoppedError."""
        if self._stopped:
            raise RunStoppedError(self._stopped)
        outcome = await self.bridge.do(partial(persistently, partial(self._try_to_hold, hold, request)))
        if outcome.fault is not None:
            raise outcome.fault

    def forget(self, key: str) -> None:
        """Keep that answer no longer than this document needs it: ``flush`` deletes it."""
        self._forgotten.add(key)

    def flush(self) -> None:
        """Write how many calls were answered from the store. Inside the transaction of the document's result."""
        made: dict[str, int] = {}
        if self._is_in_batches:  # what came with its own batches was paid, and counted when it came
            made = dict(StepUse.objects.filter(item_id=self._item_id).values_list("step", "chats"))
        for step, number in self._cached.items():
            self._count(step, cached=max(0, number - made.get(step, 0)))
        self._cached.clear()
        if self._forgotten:
            CachedAnswer.objects.filter(key__in=self._forgotten).delete()

    # --- calls that begin -------------------------------------------------------------------------

    def _hold_all(self, holds: Sequence[Hold]) -> list[_Outcome]:
        """Raises NotTogetherError, with nothing held, where each call has to be looked at alone."""
        if len(holds) == 1:
            return [self._try_to_hold(holds[0])]
        keys = [hold.key for hold in holds if hold.key]
        if len(set(keys)) < len(keys) or any(self._limited(hold) for hold in holds):
            raise NotTogetherError
        with transaction.atomic():
            rows = self._add_rows(holds)
            # The run last: all workers need its row, which stays locked until the commit is on disk.
            if not self._charged(sum(hold.tokens for hold in holds), sum(hold.money for hold in holds)):
                raise NotTogetherError
        self._remember(holds, rows)
        return [_Outcome(_Held.YES)] * len(holds)

    def _try_to_hold(self, hold: Hold, request: Mapping[str, Any] | None = None) -> _Outcome:
        limited = self._limited(hold)
        try:
            with transaction.atomic():
                # The service first, then the run, as everywhere: so nobody waits for each other.
                locked = Service.objects.select_for_update(no_key=True)
                service = locked.filter(pk=limited.pk).first() if limited else None  # None, too, if it was removed
                wait = self._turn(service, hold, is_paced=request is None) if service else 0.0
                if wait is None:
                    return _Outcome(_Held.NO)
                rows = self._add_rows([hold], service, request)
                if not (is_charged := self._charged(hold.tokens, hold.money)):
                    transaction.set_rollback(True)  # the turn is left to others
            if is_charged:
                self._remember([hold], rows)
                return _Outcome(_Held.YES, wait)
        except (_SameCallError, IntegrityError):  # the latter where two begin at the same moment
            return _Outcome(_Held.UNDER_WAY)
        except BudgetSpentError as fault:
            return _Outcome(_Held.NO, fault=fault)
        run = self._run.defer("plan").first()  # asked again and again while others hold; a plan may be large
        if run is None or run.state not in OPEN_STATES:
            return _Outcome(_Held.NO, fault=RunStoppedError("The run was paused or canceled."))
        return _Outcome(_Held.NO, fault=self._over_budget(run, hold))

    def _limited(self, hold: Hold) -> Service | None:
        service = self._services.get(hold.kind.value)
        return service if service is not None and service.is_limited else None

    def _turn(self, row: Service, hold: Hold, *, is_paced: bool) -> float | None:
        """Seconds until the limits of a service, whose row is locked, allow a call; its turn is taken. Calls that go
        out in a batch are not ``is_paced`` and take none. None while pending calls could still reach the limit of cost;
        raises LimitReachedError if it is reached."""
        if row.money_per_month is not None and hold.money:
            spent = money_this_month(row)
            if spent + hold.money > row.money_per_month:
                settled = spent - money_held(row, first_of_month(), lost=False)
                if settled + hold.money > row.money_per_month:
                    raise LimitReachedError(
                        f"The next call might cost {hold.money:.4f}, and {settled:.4f} of this month's limit of "
                        f"{row.money_per_month:.2f} for {row} are spent."
                    )
                return None
        if row.calls_per_minute is None or not is_paced:
            return 0.0
        now = timezone.now()
        turn = max(now, row.next_call_at or now)
        Service.objects.filter(pk=row.pk).update(next_call_at=turn + timedelta(minutes=1) / row.calls_per_minute)
        return (turn - now).total_seconds()

    def _charged(self, tokens: int, money: float) -> bool:
        """Count that much as spent by the run, if its budget allows it and it has not been stopped."""
        within = (Q(budget_tokens__isnull=True) | Q(budget_tokens__gte=F("spent_tokens") + tokens)) & (
            Q(budget_money__isnull=True) | Q(budget_money__gte=F("spent_money") + money)
        )
        charged = self._run.filter(within, state__in=OPEN_STATES).update(
            spent_tokens=F("spent_tokens") + tokens, spent_money=F("spent_money") + money
        )
        return bool(charged)

    def _add_rows(
        self, holds: Sequence[Hold], service: Service | None = None, request: Mapping[str, Any] | None = None
    ) -> list[int]:
        """Write the calls' rows; with a ``request``, of one that waits for a batch. Returns their primary keys. Raises
        _SameCallError, RunStoppedError; the caller rolls back."""
        keys = [hold.key for hold in holds if hold.key]
        same = PendingCall.objects.filter(key__in=keys, lost_at__isnull=True)
        is_under_way = self._item.annotate(same=Exists(same)).values_list("same", flat=True).first()
        if is_under_way is None:
            raise RunStoppedError("Another worker has the document now.")
        # Another process may have finished the same call since the store was asked for its answer.
        wanted = [hold.key for hold in holds if hold.key and not hold.instead]
        if is_under_way or any(value is not None for value in kept_answers(wanted)):
            raise _SameCallError
        rows = PendingCall.objects.bulk_create(
            PendingCall(
                item_id=self._item_id,
                key=hold.key,
                step=hold.step,
                kind=hold.kind,
                tokens=hold.tokens,
                money=hold.money,
                service=service,
                request=request,
            )
            for hold in holds
        )
        return [row.pk for row in rows]

    def _remember(self, holds: Sequence[Hold], rows: Sequence[int]) -> None:
        for hold, row in zip(holds, rows, strict=True):
            self._rows[hold].append(row)

    def _over_budget(self, run: Any, hold: Hold) -> BudgetSpentError | None:
        """What is wrong with a hold that the budget cannot bear even alone; None while others hold too much."""
        held = PendingCall.objects.filter(item__run=run, lost_at__isnull=True).aggregate(
            tokens=Sum("tokens", default=0), money=Sum("money", default=0.0)
        )
        tokens, money = run.spent_tokens - held["tokens"], run.spent_money - held["money"]
        if run.budget_tokens is not None and tokens + hold.tokens > run.budget_tokens:
            return BudgetSpentError(
                f"The next call might use {hold.tokens:,} tokens, and {tokens:,} of the budget of "
                f"{run.budget_tokens:,} are spent."
            )
        if run.budget_money is not None and money + hold.money > run.budget_money:
            return BudgetSpentError(
                f"The next call might cost {hold.money:.4f}, and {money:.4f} of the budget of "
                f"{run.budget_money:.4f} are spent."
            )
        return None

    # --- calls that end ---------------------------------------------------------------------------

    def settle_batch(self, ended: Sequence[Ended]) -> None:
        """Write calls of this document that ended with a batch. For whoever reads its results."""
        self._write_ended(ended)

    def _write_ended(self, ended: Sequence[Ended]) -> list[None]:
        tokens, money = 0, 0.0
        steps: dict[str, Counter[str]] = defaultdict(Counter)
        services: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        for each in ended:
            used = each.usage or Usage()
            tokens += used.prompt_tokens + used.answer_tokens - each.hold.tokens
            money += used.money - each.hold.money
            numbers: dict[str, Any] = {
                "prompt_tokens": used.prompt_tokens, "answer_tokens": used.answer_tokens, "money": used.money,
            }  # fmt: skip
            counted = {_COLUMN[each.hold.kind]: 1} if each.usage is not None else {}
            steps[each.hold.step].update(numbers | counted | {"seconds": each.seconds})
            if each.usage is not None and each.hold.service:
                services[self._service_of(each.hold)].update(numbers | {"calls": 1})
        with transaction.atomic():
            # The answers first, so that other workers don't wait for the run's row while they are written. Then the
            # run, then its document, as everywhere: so nobody waits for each other.
            keep_answers([each.answer for each in ended if each.answer is not None])
            self._run.update(spent_tokens=F("spent_tokens") + tokens, spent_money=F("spent_money") + money)
            # Also where the worker was taken for lost meanwhile: what the call did cost is known after all.
            PendingCall.objects.filter(pk__in=[each.row for each in ended]).delete()
            for step, sums in steps.items():
                self._count(step, **sums)
            for key in sorted(services):
                self._count_service(key, services[key])
        return [None] * len(ended)

    def _service_of(self, hold: Hold) -> tuple[str, str, str]:
        """The service's kind, its name, and its public id where it has a row."""
        row = self._services.get(hold.kind.value)
        return hold.kind.value, hold.service[:300], row.public_id if row else ""

    def _count(self, step: str, **numbers: float) -> None:
        rows = StepUse.objects.filter(item_id=self._item_id, step=step)
        if not rows.update(**_more(numbers)):
            StepUse.objects.get_or_create(item_id=self._item_id, step=step)
            rows.update(**_more(numbers))

    def _count_service(self, key: tuple[str, str, str], numbers: Mapping[str, float]) -> None:
        kind, name, service = key
        of_today = {
            "benchmark_id": self._benchmark_id, "service": service, "kind": kind, "name": name,
            "day": timezone.now().astimezone(UTC).date(),
        }  # fmt: skip
        rows = ServiceUse.objects.filter(**of_today)
        if not rows.update(**_more(numbers)):
            ServiceUse.objects.bulk_create([ServiceUse(**of_today)], ignore_conflicts=True)
            rows.update(**_more(numbers))


def _more(numbers: Mapping[str, float]) -> dict[str, Any]:
    return {name: F(name) + number for name, number in numbers.items()}


def mark_lost(item: RunItem) -> None:
    """The worker of a document is gone, or could not write what its calls did cost: they stay counted at the most they
    can have cost, and others may make them again. Calls of batches are not lost with a worker. Inside the caller's
    transaction."""
    lost = PendingCall.objects.filter(item_id=item.pk, lost_at__isnull=True, request__isnull=True)
    lost.update(lost_at=timezone.now())
