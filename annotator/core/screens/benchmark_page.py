"""What every page of a benchmark shows around its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from annotator.core import rules
from annotator.core.models import Benchmark
from annotator.core.screens.common import person

EVERYONE, MANAGES, READS_GOLD, OWNS = "everyone", "manages", "reads gold", "owns"


@dataclass(frozen=True, slots=True)
class Page:
    """A page in the bar: the name of its URL, and who sees it."""

    label: str
    name: str
    shown_to: str = EVERYONE
    key: str = ""


# The bar shows the groups; below it are the pages of the current group.
GROUPS: dict[str, tuple[Page, ...]] = {
    "Overview": (
        Page("Overview", "benchmark", key="g o"),
        Page("Settings", "settings", MANAGES),
        Page("Webhooks", "webhooks", MANAGES),
        Page("Audit log", "audit", MANAGES),
    ),
    "Documents": (
        Page("Documents", "documents", key="g l"),
        Page("Import", "import", MANAGES, key="g i"),
        Page("Studies", "studies", key="g u"),
    ),
    "Team": (
        Page("Team", "team", key="g t"),
        Page("Batches", "batches", MANAGES, key="g b"),
        Page("Practice", "practice-list", MANAGES),
        Page("People", "people", MANAGES),
        Page("Crowd", "crowd-links", MANAGES),
        Page("Guidelines", "guidelines"),
    ),
    "Suggestions": (
        Page("Runs", "runs", MANAGES, key="g p"),
        Page("Costs", "run-costs", MANAGES),
        Page("Corpora", "corpora", MANAGES),
        Page("Prompts", "prompts", MANAGES),
        Page("Services", "services", OWNS),
        Page("Suggesters", "suggesters", MANAGES),
        Page("Their quality", "prefill-quality", READS_GOLD),
        Page("Impact", "automation", READS_GOLD),
    ),
    "Quality": (
        Page("IAA", "agreement", READS_GOLD, key="g a"),
        Page("Statistics", "statistics", READS_GOLD, key="g s"),
    ),
    "Gold": (
        Page("Export", "export", READS_GOLD, key="g e"),
        Page("Releases", "releases", READS_GOLD, key="g x"),
        Page("Scores", "scores", READS_GOLD, key="g c"),
    ),
}


def page_of_benchmark(request: HttpRequest, benchmark: Benchmark, current: str) -> dict[str, Any]:
    """Context shared by all pages of a benchmark: the bar, guidelines and the user's rights.

    ``current`` is the label of a page in GROUPS; "" for none.
    """
    rights = rules.rights_in(person(request), benchmark)
    shown_to = {EVERYONE: True, MANAGES: rights.manages, READS_GOLD: rights.reads_gold, OWNS: rights.owns}
    tabs: list[dict[str, Any]] = []
    subtabs: list[dict[str, Any]] = []
    for label, pages in GROUPS.items():
        links = [
            {
                "label": page.label,
                "url": reverse(page.name, args=[benchmark.slug]),
                "key": page.key,
                "current": page.label == current,
            }
            for page in pages
            if shown_to[page.shown_to]
        ]
        if links:
            is_here = any(link["current"] for link in links)
            tabs.append({**links[0], "label": label, "current": is_here})
            if is_here and len(links) > 1:
                # The group's key is in the bar.
                subtabs = [{**link, "key": "" if link is links[0] else link["key"]} for link in links]
    return {
        "benchmark": benchmark,
        "can_manage": rights.manages,
        "can_export": rights.reads_gold,
        "guidelines_url": reverse("guidelines", args=[benchmark.slug]),
        "tabs": tabs,
        "subtabs": subtabs,
    }
