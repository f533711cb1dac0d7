"""A pytest plugin for script/mutants, which runs many pytest sessions in one process and its forks: tests/conftest.py
removes the folder of the test settings when a session ends, so each session makes it anew."""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    from django.conf import settings

    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
