"""The fakes themselves: a stopped one leaves nothing behind, whoever was just knocking."""

from __future__ import annotations

import gc
import socket
import warnings

from tests.fakes.site import FakeSite

ROUNDS, KNOCKING = 60, 20


def test_a_fake_that_stops_while_clients_connect_leaks_no_socket() -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(ROUNDS):
            clients = [socket.socket() for _ in range(KNOCKING)]
            with FakeSite({}) as site:
                for client in clients:
                    client.setblocking(False)
                    client.connect_ex(("127.0.0.1", site.port))
            for client in clients:
                client.close()
        gc.collect()
    assert [str(each.message) for each in told if issubclass(each.category, ResourceWarning)] == []
