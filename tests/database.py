"""Which tests depend on the database that they run on: those carry the marker `database`.

The whole suite runs on SQLite; PostgreSQL runs what is marked, and everything with script/test --all-on-postgres.
A test marks itself by what it does (KINDS), directly or through a helper or fixture of its own file. A test that
belongs here for another reason carries the marker by hand.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

KINDS = {
    "locks and work at once": r"\bthreading\.(Thread|Barrier)\b|\bat_once\(|\breal_worker\b|\bselect_for_update\b",
    "bulk writes": r"\binsert(_columns)?\(|\breserve(_all)?\(",
    "constraints and indexes": r"\bIntegrityError\b|\bDatabaseError\b|\.introspection\b|\bcheck_constraints\b",
    "query counts": r"\bCaptureQueriesContext\b|\bdjango_assert_(max_)?num_queries\b",
    "texts that a database may refuse": r"\\x00|\\u0000|\bchr\(0\)",
    "migrations": r"\bMigrationExecutor\b|\bcall_command\(\s*[\"']migrate[\"']",
    "SQL and the database's name": r"\bconnection\.(vendor|cursor)\b|\bexplain\(",
}
ANY_KIND = re.compile("|".join(KINDS.values()))
COUNTS = re.compile(r"quer(y|ies)|as_often|costs_the_same")  # names of tests that only count queries


def mark(items: list[pytest.Item]) -> None:
    """Add the marker to every test with a database that does something of KINDS; browser tests run on SQLite alone.

    A test that does nothing but count queries, as its name says, is marked ``query_counts``, too: script/test counts
    them on one database, PostgreSQL.
    """
    for item in items:
        if item.get_closest_marker("browser") or not item.get_closest_marker("django_db"):
            continue
        name = getattr(item, "originalname", None) or item.name
        kinds = kinds_of(item.path).get(name)
        if kinds == frozenset({"query counts"}) and COUNTS.search(name) and not item.get_closest_marker("database"):
            item.add_marker(pytest.mark.query_counts)
        if kinds:
            item.add_marker(pytest.mark.database)


@cache
def kinds_of(path: Path) -> dict[str, frozenset[str]]:
    """Which of KINDS each of the file's tests does, directly or through a helper or fixture of the file."""
    source = path.read_text()
    found: dict[str, set[str]] = {}
    if not ANY_KIND.search(source):
        return {}
    functions = _functions(source)
    for kind, pattern in KINDS.items():
        names = {name for name, text in functions.items() if re.search(pattern, text)}
        while True:
            helpers = "|".join(name for name in names if not name.startswith("test_"))
            more = {name for name, text in functions.items() if helpers and re.search(rf"\b({helpers})\b", text)}
            if more <= names:
                break
            names |= more
        for name in names:
            found.setdefault(name, set()).add(kind)
    return {name: frozenset(kinds) for name, kinds in found.items() if name.startswith("test_")}


def _functions(source: str) -> dict[str, str]:
    """The functions and classes at the top of a file with their decorators, by name."""
    lines = source.splitlines()
    texts = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            texts[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return texts
