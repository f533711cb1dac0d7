"""Becomes a program that ends when the one that started it does, however that ends.

    python bound.py PARENT COMMAND …

Linux tells a process by a signal that its parent is gone, also after exec. Elsewhere the program runs unbound.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before we asked
            raise SystemExit(1)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
