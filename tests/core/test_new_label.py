"""A label that is declared is everywhere: ``new_label`` declares one, with settings and a database of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = "tests.core.new_label.settings"

# A package with the annotator's migrations, to which makemigrations adds one.
MIGRATIONS = """
from importlib.util import find_spec

__path__ += find_spec("annotator.migrations").submodule_search_locations
"""


def test_a_label_needs_its_declaration_columns_and_a_migration_and_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "new_label_migrations"
    package.mkdir()
    (package / "__init__.py").write_text(MIGRATIONS, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "TEST_DATABASE_URL"}
    environment |= {"PYTHONPATH": str(tmp_path), "DJANGO_SETTINGS_MODULE": SETTINGS}

    def run(*command: str) -> None:
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    run("manage.py", "makemigrations", "annotator")
    assert len(list(package.glob("0*.py"))) == 1
    own = (f"--ds={SETTINGS}", "-o", f"cache_dir={tmp_path / 'cache'}")  # the cache keeps tables without the columns
    run("-m", "pytest", "-q", *own, "tests/core/new_label/checks.py")
