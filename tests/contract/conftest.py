"""What all contract tests live under."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.clients import rerank, robots
from pipeline.clients.models import base as models
from tests.contract.variants import LEFT_OUT


@pytest.fixture(autouse=True)
def nothing_learnt(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What one test's server takes is no news of the next one's, which may get the same port. A proxy of this machine
    stands between nobody and a fake."""
    if "real" not in request.node.name:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.upper(), raising=False)
    yield
    models.forget_manners()
    rerank.forget_styles()
    robots.forget_rules()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for what, how in LEFT_OUT.items():
        terminalreporter.write_line(f"contract tests against the fake only, not by {what}: to run both, {how}")
