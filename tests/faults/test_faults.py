"""Whatever is killed, stopped, flushed or filled: no acknowledged save is lost or counted twice, and nothing is stuck.

Not part of the suite: pytest tests/faults --faults 3, with the number of rounds of each fault. Real processes on a
small file system of their own (tmpfs, mounted where the user may; elsewhere the disk is not filled).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import redis

from tests import services
from tests.faults.clients import Annotator, import_documents
from tests.faults.house import ROOT, SECONDS, House, house

PEOPLE, DOCUMENTS = 4, 6
BEFORE, AFTER = 5, 5  # saves that each annotator has acknowledged before a fault and after it


def kill_a_web_process(house: House) -> None:
    os.kill(house.web.children()[0], signal.SIGKILL)


def kill_the_web_server(house: House) -> None:
    """With all its processes, in the middle of requests."""
    house.web.end()
    house.web.start()


def kill_a_worker_process(house: House) -> None:
    os.kill(house.worker.children()[0], signal.SIGKILL)


def kill_the_worker(house: House) -> None:
    """With all its processes, in the middle of its work."""
    house.worker.end()
    house.worker.start()


def kill_beat(house: House) -> None:
    house.beat.kill()
    house.beat.start()


def kill_everything(house: House) -> None:
    """As when the machine loses power: all at once, and all come back."""
    for each in (house.web, house.worker, house.beat, house.redis, house.postgres):
        each.end()
    house.start_postgres()
    for each in (house.redis, house.web, house.worker, house.beat):
        each.start()


def kill_a_connection_of_the_database(house: House) -> None:
    """PostgreSQL then ends every connection and recovers by itself."""
    os.kill(house.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")[0][0], signal.SIGKILL)


def kill_the_database(house: House) -> None:
    house.postgres.kill()
    time.sleep(1)
    house.start_postgres()


def stop_the_database(house: House) -> None:
    """In order, and it stays away for a while."""
    house.postgres.kill(signal.SIGINT)
    time.sleep(3)
    house.start_postgres()


def freeze_the_database(house: House) -> None:
    """It still takes connections, but nobody answers."""
    assert house.postgres.running is not None
    frozen = [house.postgres.pid, *house.postgres.children()]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(8)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)


def flush_redis(house: House) -> None:
    redis.Redis(port=house.redis_port).flushall()


def kill_redis(house: House) -> None:
    house.redis.kill()
    time.sleep(1)
    house.redis.start()


def fill_the_disk(house: House) -> None:
    """Nothing can be written for a while, the database's log included."""
    if not house.can_be_filled:
        pytest.skip("No file system of its own could be mounted.")
    filler = house.disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * (1 << 16))
        except OSError:
            pass
    time.sleep(5)
    filler.unlink()
    if house.postgres.running is not None and house.postgres.running.poll() is not None:
        house.start_postgres()  # it gives up when its log cannot be written


FAULTS: list[Callable[[House], None]] = [
    kill_a_web_process, kill_the_web_server, kill_a_worker_process, kill_the_worker, kill_beat, kill_everything,
    kill_a_connection_of_the_database, kill_the_database, stop_the_database, freeze_the_database, flush_redis,
    kill_redis, fill_the_disk,
]  # fmt: skip


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[House, str, list[Annotator]]]:
    """The installation with its data, the owner's cookie, and the people who work in it."""
    try:
        with house() as built:
            built.redis.start()
            made = subprocess.run(
                [sys.executable, "-m", "tests.faults.scene", str(PEOPLE)],
                cwd=ROOT, env=built.web.environment, stdout=subprocess.PIPE, check=True,
            )  # fmt: skip
            scene = json.loads(made.stdout)
            for each in (built.web, built.worker, built.beat):
                each.start()
            built.wait_for("the server answers", built.is_healthy)
            people = [
                Annotator(f"Annotator {number}", built.address, row["cookie"], row["claim"], row["version"])
                for number, row in enumerate(scene["workers"])
            ]
            yield built, scene["owner"], people
    except services.MissingService as missing:
        pytest.skip(str(missing))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each fault as many times as --faults says; round by round, so that faults follow each other."""
    rounds = range(metafunc.config.getoption("faults"))
    cases = [(number, harm) for number in rounds for harm in FAULTS]
    metafunc.parametrize(("number", "harm"), cases, ids=[f"{harm.__name__}-{number}" for number, harm in cases])


def test_nothing_is_lost_doubled_or_stuck(
    running: tuple[House, str, list[Annotator]], number: int, harm: Callable[[House], None]
) -> None:
    here, owner, people = running
    documents = [f"{harm.__name__}-{number}-{each}" for each in range(DOCUMENTS)]
    before = {each.name: len(each.acknowledged) for each in people}
    over = threading.Event()
    threads = [threading.Thread(target=each.work, args=[over]) for each in people]
    for thread in threads:
        thread.start()

    def all_saved(more: int) -> Callable[[], bool]:
        reached = {each.name: len(each.acknowledged) + more for each in people}
        return lambda: all(len(each.acknowledged) >= reached[each.name] for each in people)

    try:
        here.wait_for("people save", all_saved(BEFORE))
        import_documents(here.address, owner, documents, SECONDS)  # a run begins with it
        harm(here)
        here.wait_for("people save again", all_saved(AFTER))
        here.wait_for("the run is over", lambda: is_over(here, documents))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert [fault for each in people for fault in each.faults] == []
    for each in people:
        assert len(each.acknowledged) > before[each.name]
        check_saves(here, each)
    check_suggestions(here, documents)


def is_over(here: House, documents: list[str]) -> bool:
    """Whether each of the documents can be worked at and no run is open."""
    waiting = here.ask(
        "SELECT count(*) FROM annotator_document WHERE external_id = ANY(%s) AND phase = 'independent'", documents
    )[0][0]
    left = here.ask("SELECT count(*) FROM annotator_pipelinerun WHERE finished_at IS NULL")[0][0]
    return bool(waiting == len(documents) and left == 0)


def check_saves(here: House, person: Annotator) -> None:
    """The history has every acknowledged text once and in order, and of the others those at most that were sent."""
    rows = here.ask(
        "SELECT change->>'after' FROM annotator_activity, jsonb_array_elements(changes) AS change"
        " WHERE change->>'record' = %s AND change->>'field' = 'text' AND change->>'after' LIKE %s"
        " ORDER BY annotator_activity.id",
        f"claim:{person.claim}", f"{person.name} saves number %",
    )  # fmt: skip
    kept = [text for (text,) in rows]
    assert [text for text, count in Counter(kept).items() if count > 1] == [], "saved twice"
    assert [text for text in kept if text in set(person.acknowledged)] == person.acknowledged, "lost, or out of order"
    ((text,),) = here.ask("SELECT text FROM annotator_claim WHERE public_id = %s", person.claim)
    assert text == kept[-1], "the claim is as it was saved last"


def check_suggestions(here: House, documents: list[str]) -> None:
    """Each document was prepared once, as a whole."""
    rows = here.ask(
        "SELECT d.external_id, count(s.id) FROM annotator_document d"
        " LEFT JOIN annotator_sentencesuggestion s ON s.document_id = d.id"
        " WHERE d.external_id = ANY(%s) GROUP BY 1",
        documents,
    )
    assert dict(rows) == dict.fromkeys(documents, 1)
