"""Decides which addresses pages may be fetched from, at the moment of connecting.

A name that was resolved, found harmless and resolved again for the connection can give a different result the second
time (DNS rebinding). So there is one lookup: its addresses are checked, and the connection goes to a checked address,
for every hop of a redirect. Everything that isn't public is refused: private, loopback, link-local, shared, multicast,
reserved and documentation networks, including IPv6 addresses that contain such an IPv4 address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass

import httpcore
import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Awaitable[list[str]]]
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # everything routed
_IPV4_INSIDE = (ipaddress.IPv6Network("::ffff:0:0/96"), ipaddress.IPv6Network("64:ff9b::/96"))  # mapped, NAT64
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(each)
    for each in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # cloud metadata services, under a public address
        "2001::/23",  # protocol assignments, Teredo among them
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)


class AddressRefusedError(Exception):
    """The host has no address that pages may be fetched from. The message says so."""


def is_public(address: Address) -> bool:
    """True for an address of the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if any(address in network for network in _IPV4_INSIDE):
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _GLOBAL_UNICAST or address.scope_id:
            return False
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in _NOT_PUBLIC if network.version == address.version)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Hosts and networks that may be used although they aren't public."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Allowed:
        """Parses entries such as ``wiki.example.org``, ``10.1.0.0/16`` or ``::1``."""
        hosts: set[str] = set()
        networks: list[Network] = []
        for entry in filter(None, (each.strip() for each in entries)):
            try:
                networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                hosts.add(_plain(entry))
        return cls(frozenset(hosts), tuple(networks))

    def permits(self, host: str, address: Address) -> bool:
        """True if connections to that address are allowed for that host."""
        if is_public(address) or _plain(host) in self.hosts:
            return True
        # An IPv4 network also contains its addresses written as IPv6.
        inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return any(each in network for network in self.networks for each in (address, inner) if each is not None)


async def resolve(host: str, port: int) -> list[str]:
    """The host's addresses according to the system."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to checked addresses."""

    def __init__(self, allowed: Allowed, resolver: Resolver = resolve) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first checked address that responds. Raises AddressRefusedError,
        httpcore.ConnectError."""
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._resolver(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"{host} could not be looked up in time") from None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error  # without the number of the error
            raise httpcore.ConnectError(f"{host} could not be looked up: {reason}") from None
        permitted = [each for each in addresses if self._permits(host, each)]
        if not permitted:
            raise AddressRefusedError(
                f"{host} is not on the public internet, so it isn't fetched. PAGES_ALLOW can allow it."
            )
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in permitted:
            try:
                # Connects to the address rather than the name, so nothing is resolved twice. TLS still checks the name.
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[SocketOption] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Never."""
        raise AddressRefusedError("Pages are not fetched from sockets of this machine.")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    def _permits(self, host: str, address: str) -> bool:
        try:
            return self._allowed.permits(host, ipaddress.ip_address(address))
        except ValueError:
            return False


class CheckedTransport(httpx.AsyncBaseTransport):
    """httpx over connections of ``CheckedBackend``. No proxy: it would resolve names itself, unchecked."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, tls: ssl.SSLContext) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=None,
            max_keepalive_connections=32,
            keepalive_expiry=15,
            network_backend=backend,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One request without redirects. Raises AddressRefusedError and what httpcore raises."""
        assert isinstance(request.stream, httpx.AsyncByteStream)
        url = request.url
        answer = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        assert isinstance(answer.stream, AsyncIterable)
        return httpx.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer.stream),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, stream: AsyncIterable[bytes]) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


def _plain(host: str) -> str:
    return host.lower().rstrip(".")
