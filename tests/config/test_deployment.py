"""What an operator runs: the compose file, the units of systemd, and Django's own check of a deployment."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

KEY = "for-a-test-only-0123456789-abcdefghijklmnopqrstuvwxyz"


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return found


def limits(service: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = service.get("deploy", {}).get("resources", {}).get("limits", {})
    return found


def run(var: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(var), **more}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_each_service_is_fenced_in() -> None:
    services = compose()["services"]
    assert set(services) == {"migrate", "web", "worker", "beat", "caddy", "postgres", "redis"}
    for name, service in services.items():
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["logging"]["options"]["max-size"], name
        assert limits(service).get("memory") or name == "migrate", name
        assert "healthcheck" in service or name in ("migrate", "beat", "caddy"), name
    # Only the proxy is reached from outside.
    assert [name for name, service in services.items() if service.get("ports")] == ["caddy"]
    assert "beat" not in services["worker"]["command"]


def test_no_secret_stands_in_the_environment_of_a_container() -> None:
    found = compose()
    for name, service in found["services"].items():
        named = [
            each for each in service.get("environment", {}) if each.endswith(("PASSWORD", "KEY", "TOKEN", "SECRET"))
        ]
        assert not named, name
        assert set(service.get("secrets", [])) <= set(found["secrets"]), name


def test_the_compose_file_follows_composes_own_schema() -> None:
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_services_need_is_declared() -> None:
    found = compose()
    for name, service in found["services"].items():
        assert set(service.get("depends_on", {})) <= set(found["services"]), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in found["volumes"] or (source.startswith("./") and (ROOT / source).exists()), (name, volume)


def test_each_command_of_the_services_is_one_that_the_programs_know(tmp_path: Path) -> None:
    """As far as no container runs here: as plain processes that read their arguments."""
    services = compose()["services"].values()
    ours = [each["command"] for each in services if "python -m" in str(each.get("command"))]
    for unit in sorted((ROOT / "deploy" / "systemd").glob("*.service")):
        line = next(line for line in unit.read_text().splitlines() if line.startswith("ExecStart="))
        ours.append(line.partition("/.venv/bin/")[2])
    assert len(ours) == 5
    for command in ours:
        program, *words = shlex.split(command)
        assert program == "python"
        done = run(tmp_path, *words, "--check-config" if "gunicorn" in words else "--help")
        assert done.returncode == 0, (command, done.stderr[-500:])


def test_djangos_check_of_a_deployment_is_clean(tmp_path: Path) -> None:
    served = {"HTTPS": "1", "SECRET_KEY": KEY, "ALLOWED_HOSTS": "touchstone.example"}
    done = run(tmp_path, "manage.py", "check", "--deploy", "--fail-level", "INFO", **served)
    assert done.returncode == 0 and "no issues" in done.stdout, done.stdout + done.stderr


def test_a_short_key_starts_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "manage.py", "check", SECRET_KEY="changeme")
    assert done.returncode != 0 and "SECRET_KEY has 8 characters" in done.stderr


TIMES = """
import django
django.setup()
from django.db import connection
from config import celery

def now():
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return cursor.fetchone()[0]

print(now())
celery.begin_task()
print(now())
connection.close()
print(now())
celery.end_task()
connection.close()
print(now())
"""


def test_a_statement_of_a_task_has_a_time_of_its_own(tmp_path: Path, postgres_url: str) -> None:
    times = {"DB_STATEMENT_TIMEOUT": "60", "DB_WORKER_STATEMENT_TIMEOUT": "1800"}
    done = run(tmp_path, "-c", TIMES, DATABASE_URL=postgres_url, DJANGO_SETTINGS_MODULE="config.settings", **times)
    assert done.stdout.split() == ["1min", "30min", "30min", "1min"], done.stderr


@pytest.mark.parametrize("unit", ["web", "worker", "beat"])
def test_the_units_are_fenced_in(unit: str) -> None:
    text = (ROOT / "deploy" / "systemd" / f"touchstone-{unit}.service").read_text()
    for line in ("User=touchstone", "Restart=always", "ProtectSystem=strict", "NoNewPrivileges=true", "UMask=0077"):
        assert line in text.splitlines()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd isn't installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for unit in sorted((ROOT / "deploy" / "systemd").glob("*.service")):
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/touchstone/.venv/bin/python", sys.executable))
    units = [str(each) for each in sorted(tmp_path.glob("*.service"))]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
