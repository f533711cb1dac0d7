"""The figures of a study as tables of words and numbers, for templates/studies/show.html."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from annotator.core.charts import interval, number, percent
from annotator.core.protocol import Protocol
from annotator.studies.figures.comparisons import ComparisonFigures, Preference
from annotator.studies.figures.fastfact import OPERATIONS, AlignmentRow
from annotator.studies.figures.judgements import QuestionFigures
from annotator.studies.queries.figures import StudyFigures
from pipeline.metrics.agreement import Agreement

_NUMBER = re.compile(r"[\d.,]+%?|–")


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title. The first cell of each row is its header; ``note`` is a sentence below the title."""

    title: str
    heads: tuple[str, ...]
    rows: list[list[str]]
    note: str = ""

    @property
    def is_wide(self) -> bool:
        """Does it need the width of the page?"""
        return len(self.heads) > 4

    @property
    def numeric(self) -> set[int]:
        """The columns of numbers, which are set flush right."""
        cells = range(1, len(self.heads)) if self.rows else ()
        return {column for column in cells if all(_NUMBER.fullmatch(row[column]) for row in self.rows)}

    @property
    def labeled(self) -> list[list[tuple[str, str]]]:
        """The rows with the head of each cell, which narrow pages show beside it."""
        return [list(zip(self.heads, row, strict=True)) for row in self.rows]


def looks_of(figures: StudyFigures) -> dict[str, Any]:
    """The tables of a study, and the bars of preferences."""
    tables: list[Table] = []
    bars: list[dict[str, Any]] = []
    if figures.comparison is not None and figures.comparison.judgements:
        bars = _bars(figures.comparison)
        tables += _comparison(figures.comparison)
    if figures.judgement is not None and figures.judgement.items:
        tables += _judgement(figures)
    if figures.alignment and figures.complete:
        tables += _alignment(figures)
    for key, questions in figures.rounds.items():
        title = next(each.title for each in figures.protocol.rounds if each.key == key)
        tables.append(_questions(title, figures.protocol, questions))
    sources = {each["source"]: each["order"] for row in bars for each in row["parts"]}
    return {"tables": tables, "bars": bars, "sources": sorted(sources.items())}


def agreement_words(found: Agreement) -> str:
    """The coefficients in one sentence."""
    named = {"Fleiss’ κ": found.fleiss, "Cohen’s κ": found.cohen, "Krippendorff’s α": found.alpha, "AC1": found.ac1}
    return "; ".join(f"{name} {interval(each)}" for name, each in named.items() if each is not None)


def _bars(found: ComparisonFigures) -> list[dict[str, Any]]:
    """One bar per stratum with each source's strong and slight preferences."""
    strata: dict[str, list[Preference]] = {}
    for each in (*found.strata, *found.totals):
        strata.setdefault(each.stratum if each in found.strata else "", []).append(each)
    rows = []
    if len({each.stratum for each in found.strata}) < 2:
        strata = {"": list(found.totals)}
    for stratum, preferences in sorted(strata.items(), key=lambda each: (each[0] == "", each[0])):
        parts: list[dict[str, Any]] = []
        total = sum(each.preferred for each in preferences) or 1
        across = 0.0
        for order, each in enumerate(preferences):
            for words, count in (("strongly", each.strong), ("slightly", each.slight)):
                width = count / total * 100
                if count:
                    parts.append({"source": each.source, "words": words, "count": count, "order": order % 6})
                    parts[-1] |= {"x": round(across, 2), "width": round(width, 2)}
                across += width
        rows.append({"stratum": stratum or "All", "parts": parts, "judgements": preferences[0].judgements})
    return rows


def _comparison(found: ComparisonFigures) -> list[Table]:
    tables = [
        Table(
            "Preference",
            ("Stratum", "Source", "Preferred", "Share", "Strongly", "Slightly", "Judgments"),
            [
                [each.stratum or "All", each.source, str(each.preferred), percent(each.share), str(each.strong),
                 str(each.slight), str(each.judgements)]
                for each in (*found.totals, *(found.strata if len({e.stratum for e in found.strata}) > 1 else ()))
            ],
            f"{found.judgements} judgments, {found.ties} of them ties; {found.labels} choices of a candidate.",
        )
    ]  # fmt: skip
    if found.rated:
        note = f"All raters agree on {found.unanimous} of {found.rated} items. {agreement_words(found.agreement)}."
        heads = ("Choice", "Times")
        tables.append(Table("Agreement", heads, [[k, str(v)] for k, v in found.agreement.labels.items()], note))
    tables.append(
        Table(
            "Win rates",
            ("Source", "Win rate", "95% interval", "Bradley-Terry", "95% interval", "Contests"),
            [
                [each.source, percent(each.win_rate), f"{percent(each.win_low)} to {percent(each.win_high)}",
                 "–" if each.strength is None else number(each.strength),
                 "–" if each.low is None or each.high is None else f"{number(each.low)} to {number(each.high)}",
                 str(each.contests)]
                for each in found.ranking
            ],
            "A tie counts half. Strengths sum to 1. Intervals are from resampled items.",
        )
    )  # fmt: skip
    biased = [each for each in found.places if each.is_biased]
    note = "No influence of the order shown." if not biased else "The order shown influences choices."
    tables.append(
        Table(
            "Order",
            ("Place", "Chosen", "Share", "95% interval", "Expected"),
            [
                [str(each.place), str(each.chosen), percent(each.share), f"{percent(each.low)} to {percent(each.high)}",
                 percent(each.expected)]
                for each in found.places
            ],
            note,
        )
    )  # fmt: skip
    for name, counts in found.groups.items():
        tables.append(Table(name, (name, "Preferred"), [[key, str(count)] for key, count in counts.items()]))
    return tables


def _questions(title: str, protocol: Protocol, questions: tuple[QuestionFigures, ...]) -> Table:
    rows = []
    for each in questions:
        on, _, key = each.question.partition(".")
        question = protocol.question(key, on)
        words = question.words_of if question else str
        counts = ", ".join(f"{words(value)} {count}" for value, count in each.values.items())
        agreed = f"{each.full} of {each.shared}" if each.shared else "–"
        some = str(each.partly) if each.shared else "–"
        coefficients = agreement_words(each.agreement) if each.agreement else "–"
        rows.append([question.ask if question else each.question, counts or "–", agreed, some, coefficients])
    heads = ("Question", "Answers", "All agree", "Some agree", "Agreement")
    return Table(title, heads, rows)


def _judgement(figures: StudyFigures) -> list[Table]:
    found = figures.judgement
    assert found is not None
    tables = [_questions("Answers and agreement", figures.protocol, found.questions)]
    if found.majority:
        total = sum(found.majority.values())
        named = figures.protocol.figures.majority
        question = figures.protocol.question(named.question) if named else None
        words = question.words_of if question else str
        rows = [[words(value), str(count), percent(count / total)] for value, count in found.majority.items()]
        otherwise = f", else {words(named.otherwise).lower()}" if named else ""
        note = f"The value of more than half of the raters{otherwise}."
        tables.append(Table("Final labels", ("Label", "Items", "Share"), rows, note))
    if found.ranks:
        rows = [[str(each.rank), str(each.useful), str(each.answers), percent(each.share)] for each in found.ranks]
        tables.append(Table("Usefulness by rank", ("Rank", "Useful", "Judged", "Share"), rows))
    return tables


def _alignment(figures: StudyFigures) -> list[Table]:
    def words(row: AlignmentRow) -> list[str]:
        return [
            row.benchmark or "All", str(row.responses),
            *(number(row.per_response(name) or 0) for name in OPERATIONS),
            "–" if row.exact is None else percent(row.exact), "–" if row.scoring is None else percent(row.scoring),
            str(row.k_prime), str(row.supported), str(row.not_supported), str(row.irrelevant),
        ]  # fmt: skip

    heads = ("Sub-benchmark", "Responses", *(name.capitalize() for name in OPERATIONS), "Exact", "Scoring")
    note = "Operations per response; shares of machine labels that people confirmed, exactly and as classes in scores."
    tables = [Table("Alignment", (*heads, "K′", "S′", "N′", "I′"), [words(row) for row in figures.alignment], note)]
    for title, each in (("operations", figures.shared_operations), ("labels", figures.shared_labels)):
        if each is not None and each.shared and each.agreement is not None:
            text = f"All raters agree on {each.full} of {each.shared} claims. {agreement_words(each.agreement)}."
            rows = [[value.capitalize(), str(count)] for value, count in each.values.items()]
            tables.append(Table(f"Cross-annotated {title}", ("Label", "Times"), rows, text))
    return tables
