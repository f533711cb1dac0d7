"""A pytest plugin for script/mutants: the test database is migrated once and copied for every later session.

mutmut runs many pytest sessions in one process and its forks. tests/conftest.py removes the folder of the test
settings when a session ends, so it is made anew here; migrating takes longer than most of the tests.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    from django.conf import settings
    from django.db.backends.base.creation import BaseDatabaseCreation

    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    migrate = getattr(BaseDatabaseCreation, "migrating", BaseDatabaseCreation.create_test_db)
    template = Path(os.environ["MUTANTS_DATABASE"])

    def create(self: Any, *arguments: Any, **named: Any) -> str:
        if not template.exists():
            name = migrate(self, *arguments, **named)
            self.connection.close()  # SQLite moves the log into the file when the last connection closes
            shutil.copy(name, template)
            return str(name)
        name = self._get_test_db_name()
        shutil.copy(template, name)
        self.connection.close()
        settings.DATABASES[self.connection.alias]["NAME"] = name
        self.connection.settings_dict["NAME"] = name
        return str(name)

    BaseDatabaseCreation.migrating = migrate  # type: ignore[attr-defined]
    BaseDatabaseCreation.create_test_db = create  # type: ignore[method-assign]
