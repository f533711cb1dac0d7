"""Which test files lie nearest to what was changed.

A file of tests is as near as the shortest way from it to a changed module: itself, then by its name, then by what it
imports, step by step. Helpers such as tests/factories.py import most of the project, so a way through one counts only
when the helper itself was changed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("annotator", "pipeline", "config")
STEPS = 2  # of imports; beyond that nearly everything depends on nearly everything
# Words of a path that say nothing about what it is for.
COMMON = set(
    "annotator pipeline config templates tests screens actions queries models rules api base init page body index form "
    "list steps".split()
)


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files(base: str | None) -> list[str]:
    """Paths that differ from ``base``, with what is not committed; without a base from where this branch left main, and
    on main itself from the last commit but one if nothing else differs."""
    if base and not git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}"):
        raise SystemExit(f"There is no commit {base}.")
    if base is None:
        head = git("rev-parse", "HEAD")
        for main in ("origin/main", "main"):
            if found := git("merge-base", "HEAD", main):
                base = found[0]
                break
        clean = not git("status", "--porcelain")
        if base is None or ([base] == head and clean):
            base = "HEAD~1"
    found = [*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")]
    return sorted(set(found))


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports_of(file: Path) -> set[str]:
    """What a file imports, both as module and as a name inside one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found.update(f"{node.module}.{each.name}" for each in node.names)
    return found


def steps_to(modules: set[str]) -> dict[str, int]:
    """Each module that depends on one of these within STEPS imports, with the number of imports."""
    if str(ROOT) not in sys.path:  # where grimp looks for the packages
        sys.path.insert(0, str(ROOT))
    graph = grimp.build_graph(*PACKAGES, cache_dir=str(ROOT / ".import_linter_cache"))
    steps = dict.fromkeys(modules, 0)
    last = modules & graph.modules
    for step in range(1, STEPS + 1):
        last = {who for module in last for who in graph.find_modules_that_directly_import(module)} - steps.keys()
        steps |= dict.fromkeys(last, step)
    return steps


def words_of(path: str) -> set[str]:
    """What a path is about: {"statistics"} for annotator/measures/queries/statistics.py; without a plural's s."""
    words = re.split(r"[/._-]", path.rsplit(".", 1)[0])
    return {word.removesuffix("s") for word in words if word} - {word.removesuffix("s") for word in COMMON} - {"test"}


def nearest(changed: list[str], tests: list[Path]) -> list[Path]:
    """The test files that these changes concern, the nearest first."""
    steps = steps_to({module_of(path) for path in changed if path.endswith(".py")})
    about = [words_of(path) for path in changed if path.startswith((*(f"{name}/" for name in PACKAGES), "templates/"))]
    ways: list[tuple[float, str, Path]] = []
    for test in tests:
        path = str(test.relative_to(ROOT))
        if path in changed:
            ways.append((0, path, test))
            continue
        if "/browser/" in path:
            continue  # script/test has the time for these
        # The last word of the path names the module; one word in common is a match by name.
        shared = max((len(words_of(path) & words) for words in about), default=0)
        imported = min((steps[name] for name in imports_of(test) if name in steps), default=None)
        if imported is not None:
            ways.append((imported + 1 - 0.5 * min(shared, 1), path, test))
        elif shared:
            ways.append((1.5 + 1 / (1 + shared), path, test))
    return [test for _, _, test in sorted(ways)]
