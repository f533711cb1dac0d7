"""Doing several things at once, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar, cast

Result = TypeVar("Result")
Other = TypeVar("Other")


async def together(working: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """What each comes to, in their order. If one raises, the others are stopped before it is raised here: a call that
    nobody waits for any more would still be paid."""
    tasks = [asyncio.ensure_future(each) for each in working]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def both(first: Coroutine[Any, Any, Result], second: Coroutine[Any, Any, Other]) -> tuple[Result, Other]:
    """``together`` for two that come to different things."""
    working: list[Coroutine[Any, Any, object]] = [first, second]
    results = await together(working)
    return cast(Result, results[0]), cast(Other, results[1])
