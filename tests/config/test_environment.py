"""Reading settings from the environment."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import pytest

from config import environment


@pytest.mark.parametrize(("raw", "meant"), [("1", True), (" Yes ", True), ("0", False), ("off", False)])
def test_a_flag_is_read(monkeypatch: pytest.MonkeyPatch, raw: str, meant: bool) -> None:
    monkeypatch.setenv("A_FLAG", raw)
    assert environment.flag("A_FLAG", default=not meant) is meant


@pytest.mark.parametrize("default", [True, False])
def test_a_blank_flag_is_the_default(monkeypatch: pytest.MonkeyPatch, default: bool) -> None:
    monkeypatch.setenv("A_FLAG", " ")
    assert environment.flag("A_FLAG", default) is default


def test_a_misspelt_flag_is_named_and_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS", "ture")
    with pytest.raises(ValueError, match="HTTPS is 'ture'"):
        environment.flag("HTTPS")


def test_a_number_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKER_CONCURRENCY", "many")
    with pytest.raises(ValueError, match="WORKER_CONCURRENCY is 'many'"):
        environment.number("WORKER_CONCURRENCY", 4)


def test_a_list_drops_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", " a.example, ,b.example,")
    assert environment.words("ALLOWED_HOSTS", ["localhost"]) == ["a.example", "b.example"]
    monkeypatch.delenv("ALLOWED_HOSTS")
    assert environment.words("ALLOWED_HOSTS", ["localhost"]) == ["localhost"]


def test_a_secret_is_made_once_and_kept_from_others(tmp_path: Path) -> None:
    file = tmp_path / "new folder" / "secret_key"
    secret = environment.kept_secret(file)
    assert len(secret) > 60
    assert environment.kept_secret(file) == secret
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["secret_key"]  # no draft left


def test_an_empty_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret_key").touch()
    with pytest.raises(ValueError, match="empty"):
        environment.kept_secret(tmp_path / "secret_key")


@pytest.mark.parametrize(("raw", "meant"), [("0.15", 0.15), (" 2 ", 2.0), ("", 7.0)])
def test_a_price_is_read(monkeypatch: pytest.MonkeyPatch, raw: str, meant: float) -> None:
    monkeypatch.setenv("A_PRICE", raw)
    assert environment.decimal("A_PRICE", 7.0) == meant


@pytest.mark.parametrize("raw", ["cheap", "-1", "nan", "inf"])
def test_a_price_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("A_PRICE", raw)
    with pytest.raises(ValueError, match="A_PRICE is"):
        environment.decimal("A_PRICE", 0.0)


def test_a_folder_and_what_is_in_it_are_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "var"
    folder.mkdir(mode=0o755)
    (folder / "old.sqlite3").touch(mode=0o644)
    environment.private_folder(folder)
    environment.private_folder(folder)
    made = environment.private_file(folder / "new.sqlite3")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}
    assert modes == {"var": 0o700, "old.sqlite3": 0o600, "new.sqlite3": 0o600}
    made.write_text("kept")
    assert environment.private_file(made).read_text() == "kept"


def test_the_timeouts_of_postgres_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    options = environment.postgres_timeouts()
    assert options["connect_timeout"] == 5
    assert "-c statement_timeout=60s -c lock_timeout=10s" in str(options["options"])
    assert options["tcp_user_timeout"] == 15_000
    monkeypatch.setenv("DB_TCP_TIMEOUT", "0")
    monkeypatch.setenv("DB_LOCK_TIMEOUT", "3")
    options = environment.postgres_timeouts()
    assert "tcp_user_timeout" not in options
    assert "lock_timeout=3s" in str(options["options"])


def test_a_secret_comes_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    monkeypatch.setenv("METRICS_TOKEN_FILE", str(file))
    assert environment.secret("METRICS_TOKEN") == "s3cret"
    monkeypatch.setenv("METRICS_TOKEN", "another")
    with pytest.raises(ValueError, match="METRICS_TOKEN or METRICS_TOKEN_FILE, not both"):
        environment.secret("METRICS_TOKEN")
    monkeypatch.delenv("METRICS_TOKEN")
    monkeypatch.setenv("METRICS_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"METRICS_TOKEN_FILE: .* can’t be read"):
        environment.secret("METRICS_TOKEN")


@pytest.mark.parametrize("key", ["changeme", "a" * 80, "0123456789" * 4 + "x" * 9])
def test_a_key_that_could_be_guessed_is_refused(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("SECRET_KEY", key)
    with pytest.raises(ValueError, match="openssl rand"):
        environment.secret_key()


def test_a_long_key_and_none_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    assert environment.secret_key() == ""
    monkeypatch.setenv("SECRET_KEY", "0123456789" * 5)
    assert len(environment.secret_key()) == 50


def test_the_password_of_redis_may_stand_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://redis:6379/0")
    assert environment.redis_url() == "redis://redis:6379/0"
    monkeypatch.setenv("REDIS_PASSWORD", "a/b@c")
    assert environment.redis_url() == "redis://:a%2Fb%40c@redis:6379/0"


def test_a_folder_that_is_read_only_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "chmod", refused)
    environment.private_folder(tmp_path)
    monkeypatch.setattr(Path, "chmod", lambda *_: (_ for _ in ()).throw(PermissionError(errno.EPERM, "no")))
    with pytest.raises(PermissionError):
        environment.private_folder(tmp_path)
