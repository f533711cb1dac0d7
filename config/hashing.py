"""Hashes passwords in low-priority threads, so that a flood of sign-ins doesn't slow down people at work."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.contrib.auth.hashers import PBKDF2PasswordHasher

AT_ONCE = 2  # passwords that one process hashes at the same time; each takes a third of a second of processor time
NICE = 10  # about a tenth of the processor time on a busy machine, all of it on an idle one


class PatientPasswordHasher(PBKDF2PasswordHasher):
    """Django's own hash, computed at a low priority. Either class can check the other's hashes."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """The hash as it is stored. Waits for its turn if other passwords are being hashed."""
        return _threads(os.getpid()).submit(super().encode, password, salt, iterations).result()


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """The hashing threads of a process. A forked process doesn't inherit threads, so it gets its own."""
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password", initializer=_lower_priority)


def _lower_priority() -> None:
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
