"""Faults of runs with real processes: a Celery worker of its own, PostgreSQL, Redis, a model server. Whatever is
killed, restarted or doubled: no document twice, none half done, none forgotten, and nothing spent that is not written
down."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from celery import Celery
from psycopg import sql

from tests import services
from tests.fakes.chat import FakeChat

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS, CALLS = 6, 4
LATENCY = 0.12  # seconds a call, so that there is something to interrupt
LOST_AFTER = "1"  # seconds

SCENE = f"""
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import tests.counting_strategy
from annotator.suggestions.actions.plans import RunRequest
from annotator.suggestions.actions.runs import start_run
from annotator.models import Benchmark, Document
from annotator.core.vocabulary import Stage
benchmark = Benchmark.objects.create(slug="faults", name="Faults", strategy="counting")
documents = [
    Document.objects.create(
        benchmark=benchmark, order=n, identity=str(n), content_hash="0" * 64, response=f"This is number {{n}}."
    )
    for n in range({DOCUMENTS})
]
start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[each.pk for each in documents], by=None,
          wish=RunRequest(parameters={{"calls": {CALLS}}}, budget_tokens=1_000_000))
"""


def environment(var: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "TOUCHSTONE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings", **more}


@pytest.fixture(scope="module")
def scene(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database with a run that waits, to be copied for each test."""
    server = postgres_server
    name = f"scene_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = f"{server.rsplit('/', 1)[0]}/{name}"
    # Nobody listens for the order to begin: the worker finds the run by itself.
    given = environment(
        tmp_path_factory.mktemp("scene"), DATABASE_URL=url, LLM_URL="http://127.0.0.1:9/v1", LLM_MODEL="tiny"
    )
    subprocess.run([sys.executable, "-c", SCENE], cwd=ROOT, env=given, check=True)
    yield name
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def database(postgres_server: str, scene: str) -> Iterator[str]:
    """The URL of a copy of the scene."""
    server, name = postgres_server, f"faults_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(scene))
        )
    yield f"{server.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Redis:
    """A Redis of its own, to be killed: it keeps nothing."""

    def __init__(self, folder: Path) -> None:
        program = services._redis_binary()
        if program is None:  # TEST_REDIS_URL names one elsewhere
            pytest.skip("There is no redis-server here.")
        self.folder, self.port = folder, services._free_port()
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        log = self.folder / "redis.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*self._command, "--dir", str(self.folder)], stdout=output, stderr=output, start_new_session=True
            )
        services._wait(self.port, self.process, log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class House:
    """Everything that runs, and the means to do harm to it."""

    database: str
    redis: Redis
    chat: FakeChat
    var: Path
    workers: list[subprocess.Popen[bytes]]

    def start_worker(self, at_once: int = 2) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "--app", "config", "worker", "--include", "tests.counting_strategy"]
        command += ["--beat", "--scheduler", "celery.beat:Scheduler", "--loglevel", "WARNING"]
        command += ["--concurrency", str(at_once)]
        given = environment(
            self.var,
            DATABASE_URL=self.database,
            REDIS_URL=self.redis.url,
            LLM_URL=f"{self.chat.url}/v1",
            LLM_MODEL="tiny",
            RUN_LOST_AFTER=LOST_AFTER,
        )
        with (self.var / "worker.log").open("ab") as log:
            worker = subprocess.Popen(command, cwd=ROOT, env=given, stdout=log, stderr=log, start_new_session=True)
        self.workers.append(worker)
        return worker

    def ask(self, query: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()

    def wait_for(self, holds: Callable[[], bool], seconds: float = 90.0) -> None:
        last = time.monotonic() + seconds
        while not holds():
            log = (self.var / "worker.log").read_text()[-4000:]
            assert time.monotonic() < last, f"not within {seconds:g} s: {self.states()}\n{log}"
            time.sleep(0.03)

    def states(self) -> Counter[str]:
        return Counter(state for (state,) in self.ask("SELECT state FROM annotator_runitem"))

    def wait_for_calls(self, number: int) -> None:
        self.wait_for(lambda: len(self.chat.calls) >= number)

    def is_over(self) -> bool:
        return bool(self.ask("SELECT state FROM annotator_pipelinerun")[0][0] == "finished")


@pytest.fixture
def house(database: str, redis_url: str, tmp_path: Path) -> Iterator[House]:
    with FakeChat(latency=LATENCY) as chat:
        redis = Redis(tmp_path)
        house = House(database, redis, chat, tmp_path, [])
        yield house
        for worker in house.workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        redis.kill()


def kill_worker(house: House) -> None:
    """The worker with all its processes is gone, in the middle of two documents; another one starts."""
    house.wait_for(lambda: house.ask("SELECT count(*) FROM annotator_pendingcall")[0][0] == 2)
    os.killpg(house.workers[0].pid, signal.SIGKILL)
    house.workers[0].wait()
    house.start_worker()


def kill_process(house: House) -> None:
    """One of the worker's processes is gone with the document in its hands; the worker replaces it."""
    app = Celery("asking", broker=house.redis.url, set_as_current=False)
    (told,) = (app.control.inspect(timeout=5, limit=1).stats() or {}).values()
    app.close()
    os.kill(told["pool"]["processes"][0], signal.SIGKILL)
    house.wait_for(lambda: "SIGKILL" in (house.var / "worker.log").read_text())


def restart_broker(house: House) -> None:
    """Redis is killed and comes back without a queue."""
    house.redis.kill()
    time.sleep(0.3)
    house.redis.start()


def lose_database(house: House) -> None:
    """PostgreSQL closes every connection, several times while documents are worked on."""
    for number in (1, 5, 9):
        house.wait_for_calls(3 + number)
        house.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid != pg_backend_pid()"
        )


def double_messages(house: House) -> None:
    """Every message comes four times more, in any order."""
    app = Celery("doubles", broker=house.redis.url, set_as_current=False)
    app.conf.task_default_queue = "touchstone"
    items = [pk for (pk,) in house.ask("SELECT id FROM annotator_runitem")]
    run = house.ask("SELECT id FROM annotator_pipelinerun")[0][0]
    for _ in range(2):
        for item in items:
            app.send_task("pipeline.prefill_item", (item,), queue="touchstone")
            app.send_task("pipeline.prefill_item", (item,), queue="touchstone-bulk")
        app.send_task("pipeline.advance_run", (run,), queue="touchstone")
    app.close()


# How many calls under way a fault may make worthless, so that they are made again.
FAULTS = [(kill_worker, 2), (kill_process, 1), (restart_broker, 0), (lose_database, 0), (double_messages, 0)]


@pytest.mark.parametrize(("harm", "lost"), FAULTS, ids=[harm.__name__ for harm, _ in FAULTS])
def test_no_document_is_done_twice_half_or_not_at_all(house: House, harm: Callable[[House], None], lost: int) -> None:
    house.start_worker()
    house.wait_for_calls(3)
    harm(house)
    house.wait_for(house.is_over)
    assert house.states() == {"finished": DOCUMENTS}
    # Each document has the suggestions of one turn, whole.
    rows = house.ask(
        "SELECT document_id, count(*), count(DISTINCT run_id) FROM annotator_sentencesuggestion GROUP BY 1"
    )
    assert sorted(count for _, count, _ in rows) == [1] * DOCUMENTS
    assert house.ask("SELECT count(*) FROM annotator_claimsuggestion")[0][0] >= DOCUMENTS
    phases = house.ask("SELECT DISTINCT phase FROM annotator_document")
    assert phases == [("independent",)]
    activities = house.ask("SELECT document_id FROM annotator_activity WHERE action = 'prefilled'")
    assert len(activities) == DOCUMENTS
    # What was asked is kept and paid once; only what was on the wire at a kill may be asked again.
    assert house.ask("SELECT count(*) FROM annotator_cachedanswer")[0][0] == DOCUMENTS * CALLS
    assert len(house.chat.calls) <= DOCUMENTS * CALLS + lost
    chats, tokens, money = house.ask(
        "SELECT sum(chats), sum(prompt_tokens + answer_tokens), sum(money) FROM annotator_stepuse"
    )[0]
    assert chats == DOCUMENTS * CALLS
    spent = house.ask("SELECT spent_tokens, spent_money FROM annotator_pipelinerun")[0]
    on_the_wire, at_most = house.ask(
        "SELECT count(*), coalesce(sum(tokens), 0) FROM annotator_pendingcall WHERE lost_at IS NOT NULL"
    )[0]
    assert house.ask("SELECT count(*) FROM annotator_pendingcall WHERE lost_at IS NULL")[0][0] == 0
    assert on_the_wire <= lost
    assert spent == (tokens + at_most, pytest.approx(money)), "nothing stays reserved, nothing paid is forgotten"
    if harm is kill_worker:
        assert on_the_wire == lost, "what the service was asked for is in the books, though no answer came"
        assert at_most > 0


def test_the_same_request_of_several_processes_is_made_once(house: House) -> None:
    house.ask("UPDATE annotator_document SET response = 'The same for all.' RETURNING id")
    house.start_worker(at_once=DOCUMENTS)
    house.wait_for(house.is_over)
    assert house.states() == {"finished": DOCUMENTS}
    assert len(house.chat.calls) == CALLS
    chats, cached = house.ask("SELECT sum(chats), sum(cached) FROM annotator_stepuse")[0]
    assert (chats, cached) == (CALLS, (DOCUMENTS - 1) * CALLS)


def test_a_document_may_take_longer_than_a_lost_one_is_waited_for(house: House) -> None:
    house.chat.latency = 1.5 * float(LOST_AFTER)
    house.start_worker(at_once=DOCUMENTS + 1)  # somebody is free to look for lost ones
    house.wait_for(house.is_over)
    assert set(house.ask("SELECT attempts FROM annotator_runitem")) == {(1,)}
    assert house.states() == {"finished": DOCUMENTS}
    assert len(house.chat.calls) == DOCUMENTS * CALLS


SLOW_STORING = """
CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END $$;
CREATE TRIGGER slowly BEFORE INSERT ON annotator_sentencesuggestion FOR EACH ROW EXECUTE FUNCTION slowly();
"""


def test_storing_may_take_longer_than_a_lost_document_is_waited_for(house: House) -> None:
    with psycopg.connect(house.database) as connection:
        connection.execute(SLOW_STORING.format(seconds=4 * float(LOST_AFTER)))
    house.chat.latency = 0.0
    house.start_worker(at_once=DOCUMENTS + 1)  # somebody is free to look for lost ones
    house.wait_for(house.is_over)
    assert house.states() == {"finished": DOCUMENTS}
    assert set(house.ask("SELECT attempts FROM annotator_runitem")) == {(1,)}
    assert len(house.chat.calls) == DOCUMENTS * CALLS
    assert "deadlock" not in (house.var / "worker.log").read_text()
