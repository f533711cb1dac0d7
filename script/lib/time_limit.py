"""A plugin for pytest: after --seconds no further test begins, and the end says how many were left out."""

from __future__ import annotations

import time

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seconds", type=float, default=None, help="begin no further test after so many seconds")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--seconds") is not None:
        config.pluginmanager.register(TimeLimit(time.monotonic() + config.getoption("--seconds")))


class TimeLimit:
    def __init__(self, last_moment: float) -> None:
        self.last_moment = last_moment
        self.left_out: list[pytest.Item] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.monotonic() < self.last_moment:
            return None
        self.left_out.append(item)
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            files = {item.path.name for item in self.left_out}
            terminalreporter.write_line(
                f"Out of time: {len(self.left_out)} tests of {len(files)} files did not run; script/test runs all."
            )
