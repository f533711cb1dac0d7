"""What every page of a benchmark shows around its content."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from annotator.core import rules
from annotator.core.models import Benchmark
from annotator.core.screens.common import person


def page_of_benchmark(request: HttpRequest, benchmark: Benchmark, current: str) -> dict[str, Any]:
    """Context shared by all pages of a benchmark: tabs, guidelines and the user's rights.

    ``current`` is the name of a tab: Overview, Documents, Import, Export, Releases, Studies, Team, Batches,
    IAA, Statistics, Scores, Guidelines; "" for none.
    """
    rights = rules.rights_in(person(request), benchmark)
    tabs = [
        ("Overview", "benchmark", "g o", True),
        ("Documents", "documents", "g l", True),
        ("Import", "import", "g i", rights.manages),
        ("Export", "export", "g e", rights.reads_gold),
        ("Releases", "releases", "g x", rights.reads_gold),
        ("Studies", "studies", "g u", True),
        ("Team", "team", "g t", True),
        ("Batches", "batches", "g b", rights.manages),
        ("IAA", "agreement", "g a", rights.reads_gold),
        ("Statistics", "statistics", "g s", rights.reads_gold),
        ("Scores", "scores", "g c", rights.reads_gold),
        ("Guidelines", "guidelines", "", True),
    ]
    return {
        "benchmark": benchmark,
        "can_manage": rights.manages,
        "can_export": rights.reads_gold,
        "guidelines_url": reverse("guidelines", args=[benchmark.slug]),
        "tabs": [
            {"label": label, "url": reverse(name, args=[benchmark.slug]), "key": key, "current": label == current}
            for label, name, key, shown in tabs
            if shown
        ],
    }
