"""Which addresses are public, and what an allowlist permits."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import httpcore
import pytest

from pipeline.clients.addresses import AddressRefusedError, Allowed, CheckedBackend, is_public


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.255", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1"),
        *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
        "168.63.129.16",
        *(
            "::",
            "::1",
            "fe80::1",
            "fe80::1%1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
        ),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::", "2001:0:7f00:1::"),
        *("100::1", "5f00::1", "4000::1", "2606:4700::1%eth0"),
    ],
)
def test_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


def test_an_allowlist_of_hosts_and_networks() -> None:
    allowed = Allowed.of(["wiki.example.org", " 10.1.0.0/16", "::1", "", "fd00::/8"])
    permitted = [
        ("wiki.example.org", "192.168.0.1"),
        ("WIKI.example.org.", "127.0.0.1"),
        ("any", "10.1.2.3"),
        ("any", "::ffff:10.1.2.3"),
        ("any", "::1"),
        ("any", "fd12::1"),
        ("any", "8.8.8.8"),
    ]
    refused = [
        ("sub.wiki.example.org", "192.168.0.1"),
        ("any", "10.2.0.1"),
        ("any", "127.0.0.1"),
        ("10.1.0.1", "10.2.0.1"),
    ]
    assert all(allowed.permits(host, ip_address(address)) for host, address in permitted)
    assert not any(allowed.permits(host, ip_address(address)) for host, address in refused)


class Connected(Exception):
    """Where a connection would have gone."""


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> type[CheckedBackend]:
    async def connect(self: object, host: str, *rest: object) -> None:
        raise Connected(host)

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect)
    return CheckedBackend


def connected_to(backend: CheckedBackend) -> str:
    try:
        asyncio.run(backend.connect_tcp("some.example.org", 443, 5))
    except Connected as where:
        return str(where)
    raise AssertionError("no connection")


def test_the_connection_goes_to_the_address_that_was_checked(backend: type[CheckedBackend]) -> None:
    answers = [["192.168.0.1", "93.184.216.34"], ["127.0.0.1"]]

    async def resolver(host: str, port: int) -> list[str]:
        assert (host, port) == ("some.example.org", 443)
        return answers.pop(0)

    checked = backend(Allowed(), resolver)
    assert connected_to(checked) == "93.184.216.34"
    with pytest.raises(AddressRefusedError, match=r"some\.example\.org is not on the public internet"):
        connected_to(checked)


def test_a_look_up_that_fails_or_hangs(backend: type[CheckedBackend]) -> None:
    async def fails(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    async def hangs(host: str, port: int) -> list[str]:
        await asyncio.sleep(60)
        return []

    with pytest.raises(httpcore.ConnectError, match="could not be looked up"):
        connected_to(backend(Allowed(), fails))
    with pytest.raises(httpcore.ConnectTimeout, match="in time"):
        asyncio.run(backend(Allowed(), hangs).connect_tcp("some.example.org", 443, 0.02))


def test_no_sockets_of_this_machine() -> None:
    with pytest.raises(AddressRefusedError):
        asyncio.run(CheckedBackend(Allowed()).connect_unix_socket("/run/docker.sock"))
