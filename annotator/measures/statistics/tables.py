"""A report as tables: what stands behind each chart, for the page, the command and the CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from annotator.core.released_labels import CHECKWORTHINESS, IMPORTANCE, NEEDS_EDIT, STANCE
from annotator.measures.statistics.baselines import claim_majority, constant_verdicts, sentence_majority
from annotator.measures.statistics.figures import GoldFigures, Rule
from annotator.measures.statistics.references import OTHER_BENCHMARKS
from annotator.measures.statistics.report import StatisticsReport, as_json, enough, needs_edit, spelled, truth_words

Table = list[list[Any]]

# Each table with its title, in the order in which the paper tells its figures.
TABLES = {
    "sizes": "Sizes (Table 1)",
    "factuality": "Responses by factuality, under both rules",
    "false-claims": "False claims in a response (Figure 7)",
    "sources": "False responses by source (Table 2)",
    "lengths": "Compared with other benchmarks (Table 8)",
    "sentences": "Sentences in a response (Figure 4)",
    "sentence-importance": "Importance of sentences (Figure 4)",
    "sentence-types": "Types of sentences (Figure 4)",
    "claims": "Claims in a sentence (Figure 5)",
    "claim-types": "Claim types",
    "claim-importance": "Claim importance",
    "evidence-enough": "Is automatic evidence sufficient? (Figure 2)",
    "stances": "Does the evidence support the claim? (Figure 2)",
    "needs-edit": "Does the claim need to be corrected? (Figure 2)",
    "unsettled": "Claims with insufficient automatic evidence",
    "stances-by-evidence": "Stances by evidence sufficiency (Figure 6)",
    "revision": "Original vs. revised responses",
    "breakdowns": "Breakdowns with 95% intervals",
    "constants": "Constant baselines (Tables 3 and 5)",
    "irregular": "Irregularities",
}


def table_of(report: StatisticsReport, name: str, rule: Rule = Rule.PAPER) -> Table:
    """One of ``TABLES``: its heads, then its rows. Without rows where there is nothing to tell. Raises KeyError."""
    heads, rows = _MADE[name]
    return [heads, *rows(report, rule)]


def _counted(counted: Mapping[Any, int]) -> Table:
    """Labels, how often, and which share of all."""
    whole = sum(counted.values())
    return [[label, number, share(number, whole)] for label, number in counted.items()]


def share(number: int, whole: int) -> float:
    """Four places: a ten-thousandth."""
    return round(number / whole, 4) if whole else 0.0


def numbered(counted: Mapping[int, int]) -> dict[int, int]:
    """Every number from the lowest to the highest that occurs, so that a gap can be seen."""
    return {number: counted.get(number, 0) for number in range(min(counted), max(counted) + 1)} if counted else {}


def _sizes(report: StatisticsReport, rule: Rule) -> Table:
    return [list(pair) for pair in as_json(report, rule)["table1"].items()] if report.gold else []


def _factuality(report: StatisticsReport, rule: Rule) -> Table:
    found = [truth_words(report.figures.truth[each], "NA") for each in (Rule.PAPER, Rule.RELEASED)]
    return (
        [[label, *(each.get(label, 0) for each in found)] for label in ("false", "true", "NA")] if report.gold else []
    )


def _sources(report: StatisticsReport, rule: Rule) -> Table:
    rows = []
    for each in report.sources if report.has_sources else ():
        counted = report.figures.sources.get(each.source)
        false = [counted.false[one] if counted else 0 for one in Rule]
        rows.append([each.source, each.collected, each.gold, *false])
    return rows


def _lengths(report: StatisticsReport, rule: Rule) -> Table:
    figures = report.figures
    if figures.mean_words is None:
        return []
    others = [[each.name, each.granularity, each.revision, each.length, each.size] for each in OTHER_BENCHMARKS]
    return [["this benchmark", "claim", "yes", round(figures.mean_words, 1), figures.documents], *others]


def _stances_by_evidence(report: StatisticsReport, rule: Rule) -> Table:
    rows = []
    for answer, sufficient in (("yes", True), ("no", False)):
        rows += [[answer, *row] for row in _counted(spelled(report.stances(sufficient), STANCE))]
    return rows


def _revision(report: StatisticsReport, rule: Rule) -> Table:
    rows = []
    for each in Rule:
        found = report.figures.revision[each]
        if found.mean_edit_distance is not None and found.mean_word_overlap is not None:
            means = [round(found.mean_edit_distance, 3), round(found.mean_word_overlap, 3)]
            rows.append([each.value, found.documents, *means])
    return rows


def _constants(report: StatisticsReport, rule: Rule) -> Table:
    rows: Table = []
    for what, scores in (
        ("sentence: always check-worthy", sentence_majority(report.figures)),
        ("claim: always factual", claim_majority(report.figures)),
    ):
        if scores is not None:
            rows.append([what, "macro", *scores.values()])
    for undetermined_as_false, left in ((False, "undetermined left out"), (True, "undetermined as false")):
        found = constant_verdicts(report.figures, undetermined_as_false=undetermined_as_false)
        for answer in ("always_true", "always_false"):
            for label, scores in (found[answer] or {}).items():
                name = f"verdict, {left}: {answer.replace('_', ' ')}"
                rows.append([name, label.replace("_", " "), "", *scores])
    return rows


def _breakdowns(report: StatisticsReport, rule: Rule) -> Table:
    rows: Table = []
    for name, groups in report.breakdowns.items():
        for each in groups:
            about = [name, each["group"], each["documents"], each["items"]]
            if each["figures"] is None:
                rows.append([*about, "too few", "", "", ""])
            for figure, value in (each["figures"] or {}).items():
                bounds = each["intervals"][figure] or ("", "")
                rows.append([*about, figure, *("" if each is None else each for each in (value, *bounds))])
    return [[round(cell, 4) if isinstance(cell, float) else cell for cell in row] for row in rows]


def _irregular(report: StatisticsReport, rule: Rule) -> Table:
    return [list(pair) for pair in report.irregular.items()] if report.gold else []


def _of_figures(counted: Callable[[GoldFigures], Mapping[Any, int]]) -> Callable[[StatisticsReport, Rule], Table]:
    return lambda report, _: _counted(counted(report.figures))


_SHARES = ["number", "share"]
_by_importance = _of_figures(lambda each: spelled(each.claim_importance, IMPORTANCE))
_MADE: dict[str, tuple[list[Any], Callable[[StatisticsReport, Rule], Table]]] = {
    "sizes": (["what", "number"], _sizes),
    "factuality": (["response", *(rule.value for rule in Rule)], _factuality),
    "false-claims": (["false_claims", "responses", "share"], _of_figures(lambda each: numbered(each.false_claims))),
    "sources": (["source", "collected", "annotated", *(f"false_{rule.value}" for rule in Rule)], _sources),
    "lengths": (["benchmark", "granularity", "revision", "mean_words", "documents"], _lengths),
    "sentences": (["sentences", "responses", "share"], _of_figures(lambda each: numbered(each.sentences))),
    "sentence-importance": (
        ["importance", *_SHARES],
        _of_figures(lambda each: spelled(each.sentence_importance, IMPORTANCE)),
    ),
    "sentence-types": (["type", *_SHARES], _of_figures(lambda each: spelled(each.sentence_type, CHECKWORTHINESS))),
    "claims": (["claims", "sentences", "share"], _of_figures(lambda each: numbered(each.claims))),
    "claim-types": (["type", *_SHARES], _of_figures(lambda each: spelled(each.claim_type, {}))),
    "claim-importance": (
        ["importance", *_SHARES],
        _of_figures(lambda each: spelled(each.claim_importance, IMPORTANCE)),
    ),
    "evidence-enough": (["evidence_enough", *_SHARES], _of_figures(enough)),
    "stances": (["stance", *_SHARES], lambda report, _: _counted(spelled(report.stances(), STANCE))),
    "needs-edit": (["needs_edit", *_SHARES], _of_figures(needs_edit)),
    "unsettled": (["needs_edit", *_SHARES], _of_figures(lambda each: spelled(each.factuality_unsettled, NEEDS_EDIT))),
    "stances-by-evidence": (["evidence_enough", "stance", *_SHARES], _stances_by_evidence),
    "revision": (["rule", "responses", "edit_distance", "word_overlap"], _revision),
    "breakdowns": (["by", "group", "responses", "claims", "figure", "value", "low", "high"], _breakdowns),
    "constants": (["answer", "label", "accuracy", "precision", "recall", "f1"], _constants),
    "irregular": (["what", "number"], _irregular),
}
