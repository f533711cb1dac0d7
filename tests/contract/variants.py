"""Contract tests run against a fake, and against the real service too when the environment names it.

    @pytest.fixture(params=variants("LLM_URL", "LLM_MODEL"))

gives "fake", and "real" if all these names are set; what is left out is said at the end of the run.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

LEFT_OUT: dict[str, str] = {}


def variants(*names: str, **values: str) -> list[Any]:
    """The parameters of a fixture. ``values``: what a name must be set to."""
    missing = [name for name in names if not os.environ.get(name)]
    missing += [f"{name}={value}" for name, value in values.items() if os.environ.get(name) != value]
    if missing:
        what = " ".join([*names, *(f"{name}={value}" for name, value in values.items())])
        LEFT_OUT[what] = f"set {' and '.join(missing)}"
        return ["fake"]
    return ["fake", pytest.param("real", marks=pytest.mark.enable_socket)]
