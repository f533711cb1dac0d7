"""A receiver of webhooks that takes everything with 204 and remembers it."""

from __future__ import annotations

from tests.fakes.server import Call, FakeServer, Reply


class FakeReceiver(FakeServer):
    """``calls`` holds what came; ``first`` lays other answers in wait."""

    def answer(self, call: Call) -> Reply:
        return Reply(204)
