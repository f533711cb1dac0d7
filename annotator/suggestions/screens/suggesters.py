"""Suggesters that learn from the benchmark's gold: training data, scores, enable and disable, train now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.charts import HeatCell
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.vocabulary import SuggesterKind
from annotator.suggestions.actions import suggesters as actions
from annotator.suggestions.models import TrainedSuggester
from annotator.suggestions.queries.suggesters import (
    GROWTH,
    LABELS,
    MIN_DOCUMENTS,
    Readiness,
    readiness_of,
    versions_of,
)

VERSIONS_SHOWN = 12
# Factcheck-Bench, Tables 3 and 4: accuracy and macro-F1 over the paper's own 94 documents, by models nobody trained
# on them.
PAPER: dict[tuple[SuggesterKind, str], tuple[tuple[str, float, float], ...]] = {
    (SuggesterKind.STANCE, "all"): (("ChatGPT", 0.365, 0.332), ("LLaMA2", 0.202, 0.155)),
    (SuggesterKind.STANCE, "three"): (
        ("RoBERTa-large-mnli", 0.607, 0.512),
        ("ChatGPT", 0.567, 0.483),
        ("LLaMA2", 0.401, 0.299),
    ),
    (SuggesterKind.CLAIM_TYPE, "all"): (("ChatGPT", 0.932, 0.319),),
}
SPACES = {"all": "All labels", "three": "Complete and partial support combined"}


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One line of the table of scores, each with its 95% interval: None for papers and for versions trained before
    intervals were kept."""

    name: str
    accuracy: float
    f1: float
    accuracy_interval: Sequence[float] | None = None
    f1_interval: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One kind of suggester as the page shows it. ``current``: the newest version; ``versions``: all, newest first."""

    readiness: Readiness
    versions: list[TrainedSuggester]
    learns: bool

    @property
    def kind(self) -> SuggesterKind:
        return self.readiness.kind

    @property
    def current(self) -> TrainedSuggester | None:
        return self.versions[0] if self.versions else None

    @property
    def scores(self) -> Mapping[str, Any]:
        return self.current.scores if self.current else {}

    @property
    def beats_constant(self) -> bool:
        return bool(self.scores) and self.scores["all"]["f1"] > self.scores["all"]["constant_f1"]

    @property
    def state(self) -> str:
        """The state in a few words: enabled, disabled or waiting."""
        if self.current is None:
            return "Ready to train" if self.readiness.is_ready else "Not enough gold yet"
        if not self.learns:
            return "Off"
        return "Active" if self.beats_constant else "Inactive: no better than the most frequent label"

    @property
    def tables(self) -> list[tuple[str, list[ScoreRow]]]:
        """Scores by label set, next to the paper's."""
        found = []
        for name, scores in self.scores.items():
            ours = ScoreRow(
                "This benchmark’s gold",
                scores["accuracy"],
                scores["f1"],
                scores.get("accuracy_interval"),
                scores["interval"],
            )
            constant = ScoreRow(
                "Trivial baseline: always the most frequent label",
                scores["constant_accuracy"],
                scores["constant_f1"],
                scores.get("constant_accuracy_interval"),
                scores.get("constant_f1_interval"),
            )
            paper = [ScoreRow(f"Paper: {who}", accuracy, f1) for who, accuracy, f1 in PAPER.get((self.kind, name), ())]
            found.append((SPACES[name] if len(self.scores) > 1 else "", [ours, constant, *paper]))
        return found

    @property
    def columns(self) -> list[str]:
        return [self._word(label) for label in self._labels]

    @property
    def confusion(self) -> list[tuple[str, float, list[HeatCell]]]:
        """A row for each label of the gold: its word, its F1, and how often each label was suggested for it, shaded by
        its share of the row."""
        if not self.scores:
            return []
        counts, f1 = self.scores["all"]["confusion"], self.scores["all"]["labels"]
        rows = []
        for gold in self._labels:
            total = sum(counts[gold].values()) or 1
            cells = [
                HeatCell(counts[gold][label], round(4 * counts[gold][label] / total), label == gold)
                for label in self._labels
            ]
            rows.append((self._word(gold), f1[gold], cells))
        return rows

    @property
    def _labels(self) -> list[str]:
        known = self.scores["all"]["confusion"] if self.scores else {}
        return [label.value for label in LABELS[self.kind] if label.value in known]

    def _word(self, label: str) -> str:
        return LABELS[self.kind](label).label


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """All kinds with their scores and actions."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    versions = list(versions_of(benchmark))
    panels = [
        Panel(readiness, [each for each in versions if each.kind == kind][:VERSIONS_SHOWN], benchmark.learns)
        for kind, readiness in readiness_of(benchmark).items()
    ]
    context = {
        "panels": panels,
        "gold": panels[0].readiness.documents,
        "wanted": MIN_DOCUMENTS,
        "growth": round(100 * GROWTH),
        "can_train": actions.can_train(),
        "install": actions.INSTALL,
        "is_ready": any(panel.readiness.is_ready for panel in panels),
    }
    return render(request, "suggestions/suggesters.html", page_of_benchmark(request, benchmark, "Suggesters") | context)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, what: str) -> HttpResponse:
    """Enable or disable suggesters, or train now."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    if what in ("on", "off"):
        actions.switch_learning(benchmark, on=what == "on", by=user)
    elif what == "train":
        actions.ask_for_training(benchmark, by=user)
        messages.success(request, "Training has started. With a few dozen documents it takes about a minute.")
    else:
        raise Http404
    return redirect("suggesters", slug)
