"""What depends on the database runs on PostgreSQL, too: the kinds that tests/database.py finds, and the walks over
every address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.database import COUNTS, KINDS, kinds_of

TESTS = Path(__file__).resolve().parents[1]
LINES = {
    "locks and work at once": "threading.Thread(target=save).start()",
    "bulk writes": "insert(Document, COLUMNS, rows)",
    "constraints and indexes": "with pytest.raises(IntegrityError), transaction.atomic():",
    "query counts": "with CaptureQueriesContext(connection) as queries:",
    "texts that a database may refuse": 'save(claim, "text", "a\\x00b")',
    "migrations": 'call_command("migrate", "annotator", "0001")',
    "SQL and the database's name": 'if connection.vendor == "postgresql":',
}


def test_every_kind_is_tried() -> None:
    assert set(LINES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_in_a_test_in_its_helpers_and_in_its_fixtures(kind: str, tmp_path: Path) -> None:
    line = LINES[kind]
    assert [name for name, pattern in KINDS.items() if re.search(pattern, line)] == [kind]
    body = f"    {line}\n" + ("        pass\n" if line.endswith(":") else "")
    file = tmp_path / "test_some.py"
    file.write_text(
        f"def test_itself():\n{body}"
        f"def helper():\n{body}"
        "@pytest.fixture\ndef scene():\n    return helper()\n"
        "def test_by_helper():\n    helper()\n"
        "def test_by_fixture(scene):\n    pass\n"
        "def test_without():\n    pass\n"
    )
    assert kinds_of(file) == {name: {kind} for name in ("test_itself", "test_by_helper", "test_by_fixture")}


def test_the_suite_has_tests_of_each_kind() -> None:
    sources = [path.read_text() for path in TESTS.rglob("test_*.py") if kinds_of(path) and path != Path(__file__)]
    for kind in KINDS.keys() - {"migrations"}:  # the tables of the guards are those that the migrations make
        assert any(re.search(KINDS[kind], source) for source in sources), kind


def test_the_walks_over_every_address_are_marked() -> None:
    for name in ("test_urls.py", "test_api.py"):
        source = (TESTS / "guards" / name).read_text()
        assert re.search(r"@pytest\.mark\.database.*\n(@.*\n)*def test_the_same_addresses", source), name


def test_query_counts_run_on_one_database_and_everything_else_on_sqlite() -> None:
    suite = (TESTS.parent / "script" / "lib" / "suite.py").read_text()
    assert '("", "not browser") if all_on_postgres else ("not query_counts", "database")' in suite
    assert COUNTS.search("test_queries_do_not_grow") and not COUNTS.search("test_nobody_sees_what_a_person_does")
