"""Reads what the settings take from the environment. Plain functions, so that a test can call them.

By hand: django-environ reads a misspelled yes as a no; environs refuses blank values, which mean the default here.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"", "0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The value of an environment variable without outer white space; unset or blank gives the default."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool = False) -> bool:
    """A yes or no from the environment. Any other word is a ValueError that names the variable."""
    raw = text(name).lower()
    if not raw:
        return default
    if raw in TRUE_WORDS:
        return True
    if raw in FALSE_WORDS:
        return False
    raise ValueError(f"{name} is {raw!r}; write 1 or 0.")


def number(name: str, default: int) -> int:
    """A whole number from the environment. Anything else is a ValueError that names the variable."""
    raw = text(name)
    if not raw:
        return default
    try:
        return int(raw)
    except ValueError:
        raise ValueError(f"{name} is {raw!r}; write a whole number.") from None


def decimal(name: str, default: float) -> float:
    """A number from the environment, not below zero. Anything else is a ValueError that names the variable."""
    raw = text(name)
    if not raw:
        return default
    try:
        found = float(raw)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ValueError(f"{name} is {raw!r}; write a number such as 0.15.")
    return found


def words(name: str, default: list[str] | None = None) -> list[str]:
    """A list from the environment, separated by commas, without blanks."""
    found = [word.strip() for word in text(name).split(",") if word.strip()]
    return found or list(default or [])


def kept_secret(path: Path) -> str:
    """The secret in this file; made on the first call (64 random URL-safe bytes, readable by its owner only).

    Web, worker and commands may start at the same moment, so the file appears whole (hard link of a
    finished one) and the first to make it wins.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    secret = path.read_text().strip()
    if not secret:
        raise ValueError(f"{path} is empty. Delete it and a new one is made; people have to sign in again.")
    return secret
