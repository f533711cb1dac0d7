"""Passwords are hashed in threads of their own that come last: people at work don't wait for a flood of sign-ins."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.contrib.auth.hashers import PBKDF2PasswordHasher

AT_ONCE = 2  # passwords that one process hashes at the same time; each takes a third of a second of processor time
NICE = 10  # about a tenth of the processor time where everybody wants it, all of it where nobody does


class PatientPasswordHasher(PBKDF2PasswordHasher):
    """Django's own hash, computed at a low priority. Hashes of either class are good for both."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """The hash as it is stored. Waits while others are hashed."""
        return _threads(os.getpid()).submit(super().encode, password, salt, iterations).result()


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """The hashing threads of a process. A fork has none of its parent's threads, so it gets its own."""
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password", initializer=_come_last)


def _come_last() -> None:
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
