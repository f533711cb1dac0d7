"""Arguments of commands: a benchmark by name, the message for an unknown name, and a share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from django.core.management.base import CommandError

from annotator.core.models import Benchmark

MAX_NAMED = 20


def benchmark_named(slug: str) -> Benchmark:
    """The benchmark of that slug. Raises CommandError listing the existing ones."""
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is None:
        raise CommandError(
            unknown("benchmark", slug, Benchmark.objects.order_by("slug").values_list("slug", flat=True))
        )
    return benchmark


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message that a name doesn't exist, with the existing ones."""
    there = ", ".join(list(known)[:MAX_NAMED])
    return f"There is no {what} “{name}”. " + (f"There are: {there}." if there else "There are none yet.")


def share(raw: str) -> float:
    """An option above 0 and up to 1."""
    try:
        value = float(raw)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"“{raw}” isn’t a share. Write a number above 0 and up to 1, like 0.8.")
    return value
