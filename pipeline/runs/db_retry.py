"""Writing to a database that goes away for a moment: tried again on a new connection."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds before each new try: a restarted PostgreSQL is back within them.
PAUSES = (0.0, 0.2, 1.0, 3.0, 6.0)
LOST = (OperationalError, InterfaceError)


def persistently(function: Callable[[], T]) -> T:
    """The result of ``function``, one transaction, called again when the connection was lost or a deadlock was broken.

    Within a transaction of the caller it is called once: only the whole could be done again. Raises the database's
    error when it does not come back.
    """
    for pause in PAUSES:
        try:
            return function()
        except LOST as error:
            if connection.in_atomic_block:
                raise
            logger.warning("The database did not answer (%s); trying again.", str(error).strip().split("\n")[0])
            close()
            time.sleep(pause)
    return function()


def close() -> None:
    """Give up this thread's connection; the next query opens a new one."""
    try:
        connection.close()
    except DatabaseError:
        connection.connection = None
