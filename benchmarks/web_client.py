"""One client that asks for scenes as a browser would, and the figures that come of it. Part of benchmarks/web.py."""

from __future__ import annotations

import gzip
import http.client
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

CSRF = "a" * 32
WARM_UP = 5  # rounds that are not counted


@dataclass
class Ask:
    """One request. ``forget``: what the server has kept in its cache is to be made anew. ``after`` puts back what the
    request changed; it is not measured."""

    path: str
    data: dict[str, str] | None = None  # None: GET
    is_fragment: bool = False
    forget: bool = False
    after: Callable[[], None] = lambda: None


@dataclass
class Scene:
    """What one person asks for again and again. ``ask`` gives the request of a round, None where there is no such
    address yet. ``target``: milliseconds of server time that p95 should stay below. ``most_rounds``: of what takes
    seconds, a few tell."""

    name: str
    who: Callable[[int], str]  # the user name, by the number of the round
    ask: Callable[[int], Ask | None]
    target: float | None = None
    most_rounds: int = 1_000_000


@dataclass
class Cold:
    """What a browser asks for at its first visit."""

    requests: int = 0
    bytes: int = 0


@dataclass
class Result:
    """The figures of a scene; times in milliseconds."""

    scene: str
    rounds: int = 0
    problem: str = ""  # why there are no figures
    target: float | None = None
    server_p50: float = 0.0
    server_p95: float = 0.0
    database_p50: float = 0.0
    processor_p50: float = 0.0
    client_p50: float = 0.0
    client_p95: float = 0.0
    queries_min: int = 0
    queries_max: int = 0
    bytes: int = 0
    bytes_compressed: int = 0
    cold: Cold = field(default_factory=Cold)

    @property
    def is_over(self) -> bool:
        return self.target is not None and self.server_p95 > self.target


@dataclass
class Answer:
    """``sent``: bytes of the body as they came, compressed where the server compresses."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    sent: int

    @property
    def text(self) -> str:
        return self.body.decode()


class Browser:
    """Signed-in people, each with their cookies, over one connection that stays open."""

    def __init__(self, address: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
        self.cookies: dict[str, str] = {}

    def get(self, username: str, path: str) -> Answer:
        return self.send(username, Ask(path))

    def send(self, username: str, ask: Ask) -> Answer:
        """GET, or POST where there are data."""
        headers = {"Cookie": self._cookie(username), "X-CSRFToken": CSRF, "Accept-Encoding": "gzip"}
        if ask.is_fragment:
            headers["HX-Request"] = "true"
        if ask.forget:
            headers["X-Forget"] = "yes"
        if ask.data is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = None if ask.data is None else urlencode(ask.data)
        method = "GET" if body is None else "POST"
        try:
            self.connection.request(method, ask.path, body, headers)
            response = self.connection.getresponse()
        except ConnectionError:  # the server closed it while it was idle: browsers send again on another
            self.connection.close()
            self.connection.request(method, ask.path, body, headers)
            response = self.connection.getresponse()
        sent = response.read()
        content = gzip.decompress(sent) if response.headers["Content-Encoding"] == "gzip" else sent
        return Answer(response.status, response.headers, content, len(sent))

    def _cookie(self, username: str) -> str:
        """A session as signing in gives one, made without hashing a password."""
        from django.conf import settings
        from django.test import Client

        from annotator.core.models import User

        if username not in self.cookies:
            signed_in = Client()
            signed_in.force_login(User.objects.get(username=username))
            session = signed_in.cookies[settings.SESSION_COOKIE_NAME].value
            names = settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME
            self.cookies[username] = f"{names[0]}={session}; {names[1]}={CSRF}"
        return self.cookies[username]


def measure(browser: Browser, scene: Scene, rounds: int) -> Result:
    """Ask so many times and count. A scene without a screen, or whose answer is an error, has a problem instead."""
    result = Result(scene.name, target=scene.target)
    server: list[float] = []
    database: list[float] = []
    processor: list[float] = []
    client: list[float] = []
    queries: list[int] = []
    sizes: list[tuple[int, int]] = []
    rounds = min(rounds, scene.most_rounds)
    for number in range(-min(WARM_UP, rounds), rounds):
        ask = scene.ask(number)
        if ask is None:
            return Result(scene.name, target=scene.target, problem="no such screen yet")
        username = scene.who(number)
        browser.get(username, "/healthz")  # signs in, and opens the connection
        began = time.perf_counter()
        answer = browser.send(username, ask)
        waited = 1000 * (time.perf_counter() - began)
        ask.after()
        if answer.status >= 400:
            return Result(scene.name, target=scene.target, problem=f"{answer.status} for {ask.path}")
        if number < 0:
            if ask.data is None and not ask.is_fragment and not result.cold.requests:
                result.cold = first_visit(browser, username, answer)
            continue
        server.append(float(answer.headers["X-Server-Milliseconds"]))
        database.append(float(answer.headers["X-Database-Milliseconds"]))
        processor.append(float(answer.headers["X-Processor-Milliseconds"]))
        queries.append(int(answer.headers["X-Queries"]))
        client.append(waited)
        sizes.append((len(answer.body), len(gzip.compress(answer.body, 6)) if answer.body else 0))
    result.rounds = rounds
    result.server_p50, result.server_p95 = percentile(server, 50), percentile(server, 95)
    result.database_p50, result.processor_p50 = percentile(database, 50), percentile(processor, 50)
    result.client_p50, result.client_p95 = percentile(client, 50), percentile(client, 95)
    result.queries_min, result.queries_max = min(queries), max(queries)
    result.bytes, result.bytes_compressed = (round(statistics.median(each)) for each in zip(*sizes, strict=True))
    return result


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that so many percent of the values do not exceed."""
    place = -(-len(values) * percent // 100)
    return round(sorted(values)[place - 1], 1)


FILES = re.compile(r'<(?:script|img)[^>]*\ssrc="([^"]+)"|<link[^>]*\shref="([^"]+)"')


def first_visit(browser: Browser, username: str, page: Answer) -> Cold:
    """The page and every file that it names. Bytes as they were sent."""
    cold = Cold(1, page.sent)
    for found in sorted({script or link for script, link in FILES.findall(page.text)}):
        answer = browser.get(username, found)
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} for {found}")
        cold.requests += 1
        cold.bytes += answer.sent
    return cold
