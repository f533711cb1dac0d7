"""The pipeline's prompts: the shipped ones, and a benchmark's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotator.core.models import Benchmark, PromptVersion

if TYPE_CHECKING:
    from pipeline.catalogue import Prompt


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt as a benchmark uses it: the current version, the shipped one, the strategies that use it, and the
    author if it is the benchmark's own."""

    name: str
    prompt: Prompt
    shipped: Prompt
    used_by: tuple[str, ...]
    version: PromptVersion | None

    @property
    def purpose(self) -> str:
        return self.shipped.head.get("purpose", "")

    @property
    def is_own(self) -> bool:
        return self.version is not None and bool(self.version.text)


def newest_wordings(benchmark: Benchmark, names: Iterable[str]) -> dict[str, PromptVersion]:
    """The newest version of each prompt that the benchmark has changed. One query."""
    rows = PromptVersion.objects.filter(benchmark=benchmark, name__in=list(names)).select_related("created_by")
    newest: dict[str, PromptVersion] = {}
    for row in rows.order_by("name", "number"):
        newest[row.name] = row
    return newest


def prompts_in_use(benchmark: Benchmark, names: Sequence[str]) -> dict[str, Prompt]:
    """The version of each prompt that a run started now would freeze."""
    from pipeline.catalogue import Prompt, shipped

    own = newest_wordings(benchmark, names) if names else {}
    found: dict[str, Prompt] = {}
    for name in names:
        version = own.get(name)
        if version is not None and version.text:
            found[name] = Prompt(name=name, text=version.text, label=f"wording {version.number}")
        else:
            found[name] = shipped(name)
    return found


def prompt_rows(benchmark: Benchmark) -> list[PromptRow]:
    """All prompts of all strategies, in order, as this benchmark uses them."""
    from pipeline.catalogue import choices, shipped

    users: dict[str, list[str]] = {}
    for choice in choices():
        for name in choice.prompts:
            users.setdefault(name, []).append(choice.label)
    own = newest_wordings(benchmark, users)
    in_use = prompts_in_use(benchmark, list(users))
    return [
        PromptRow(name, in_use[name], shipped(name), tuple(labels), own.get(name)) for name, labels in users.items()
    ]


def history_of(benchmark: Benchmark, name: str) -> list[PromptVersion]:
    """All versions of one prompt in the benchmark, newest first."""
    rows = PromptVersion.objects.filter(benchmark=benchmark, name=name).select_related("created_by")
    return list(rows.order_by("-number"))
