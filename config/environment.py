"""Reads the environment for the settings. Plain functions, so that tests can call them.

By hand: django-environ reads a misspelled yes as a no; environs refuses blank values, which mean the default here.
"""

from __future__ import annotations

import errno
import os
import secrets
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

SHORTEST_KEY = 50  # characters
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"", "0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The value of an environment variable without outer white space; unset or blank gives the default."""
    return os.environ.get(name, "").strip() or default


def secret(name: str) -> str:
    """A secret: the variable itself, or the content of the file that ``NAME_FILE`` names (as containers provide them).
    Raises ValueError if both are set or the file can't be read."""
    path = text(f"{name}_FILE")
    if not path:
        return text(name)
    if text(name):
        raise ValueError(f"Set {name} or {name}_FILE, not both.")
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError as error:
        raise ValueError(f"{name}_FILE: {path} can’t be read ({error.strerror}).") from None


def secret_key() -> str:
    """``SECRET_KEY``, or "" if none is given. Raises ValueError if it could be guessed."""
    key = secret("SECRET_KEY")
    if key and (len(key) < SHORTEST_KEY or len(set(key)) < 5):
        raise ValueError(
            f"SECRET_KEY has {len(key)} characters; at least {SHORTEST_KEY} random ones are needed, for example from: "
            "openssl rand -base64 48. To change a key that is in use, put the old one into SECRET_KEY_FALLBACKS."
        )
    return key


def redis_url() -> str:
    """``REDIS_URL``, with ``REDIS_PASSWORD`` if that is given separately."""
    url, password = text("REDIS_URL"), secret("REDIS_PASSWORD")
    if not url or not password:
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f":{quote(password, safe='')}@{host}"))


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
    """The secret in this file, created on the first call (64 random URL-safe bytes, readable by its owner only).

    Web, worker and commands may start at the same moment, so the file appears complete (as a hard link to a finished
    one), and the first process to create it wins.
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


def private_folder(folder: Path) -> None:
    """Create the folder if it doesn't exist, and make sure that only its owner can read its content.

    Files in it that others could read, from older versions, are restricted. A folder that belongs to someone else (a
    volume, for example) stays as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        return
    try:
        folder.chmod(0o700)
        for path in folder.iterdir():
            if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o077:
                path.chmod(0o600)
    except OSError as error:
        if error.errno != errno.EROFS:  # the root of a container, which nobody else reads
            raise


def private_file(path: Path) -> Path:
    """The path of a file that only its owner can read; it is created empty if it doesn't exist. SQLite gives the files
    beside its database the same permissions."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return path


def postgres_timeouts() -> dict[str, str | int]:
    """Options of libpq, so that no request waits forever for a stopped server or a lock.

    Seconds, each from its own variable: ``DB_CONNECT_TIMEOUT`` to connect, ``DB_STATEMENT_TIMEOUT`` for one statement,
    ``DB_LOCK_TIMEOUT`` for a lock, ``DB_TCP_TIMEOUT`` for an answer from the network; 0 means no limit.
    """
    statement, lock = number("DB_STATEMENT_TIMEOUT", 60), number("DB_LOCK_TIMEOUT", 10)
    network = number("DB_TCP_TIMEOUT", 15)
    options: dict[str, str | int] = {
        "connect_timeout": number("DB_CONNECT_TIMEOUT", 5),
        "options": f"-c statement_timeout={statement}s -c lock_timeout={lock}s "
        "-c idle_in_transaction_session_timeout=300s",
    }
    if network:
        # Three probes within the time on a quiet connection; the full time for data that isn't acknowledged.
        probe = max(1, network // 3)
        options |= {"keepalives": 1, "keepalives_idle": probe, "keepalives_interval": probe, "keepalives_count": 2}
        options["tcp_user_timeout"] = network * 1000
    return options


def tracing_is_on() -> bool:
    """Whether OpenTelemetry's own variables name a collector. Raises ValueError without the packages for it."""
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    given = [name for name in names if text(name)]
    if given and find_spec("opentelemetry") is None:
        raise ValueError(f"{given[0]} is set, but OpenTelemetry isn't installed: pip install -r requirements-otel.txt.")
    return bool(given)
