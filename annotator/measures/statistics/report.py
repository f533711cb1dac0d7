"""A benchmark's statistics as one report, and the report as JSON with the keys of docs/formats/statistics.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.released_labels import CHECKWORTHINESS, IMPORTANCE, NEEDS_EDIT, NOT_APPLICABLE, STANCE
from annotator.measures.statistics.baselines import claim_majority, constant_verdicts, sentence_majority
from annotator.measures.statistics.figures import GoldFigures, RevisionFigures, Rule, truths
from annotator.measures.statistics.irregular import IRREGULARITIES

SCORE_PLACES = 3


@dataclass(frozen=True, slots=True)
class SourceCount:
    """How many documents of a source there are (the practice copies aside), and how far they are."""

    source: str
    collected: int
    gold: int
    discarded: int

    @property
    def in_work(self) -> int:
        return self.collected - self.gold - self.discarded


@dataclass(frozen=True, slots=True)
class StatisticsReport:
    """Everything that is told. ``retrieved``: passages for checked claims that were found automatically; ``odd``: what
    the database counted of irregularities; ``confirmed``: documents where somebody confirmed, with a reason, verdicts
    that contradict their stances; ``discards``: discarded documents by coded reason;
    ``sources``: those that are counted; ``source``: the filter, "" for none."""

    figures: GoldFigures
    retrieved: int = 0
    odd: Mapping[str, int] = field(default_factory=dict)
    confirmed: int = 0
    sources: Sequence[SourceCount] = ()
    source: str = ""
    breakdowns: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    discards: Mapping[str, int] = field(default_factory=dict)

    @property
    def gold(self) -> int:
        return self.figures.documents

    @property
    def collected(self) -> int:
        return sum(each.collected for each in self.sources)

    @property
    def discarded(self) -> int:
        return sum(each.discarded for each in self.sources)

    @property
    def in_work(self) -> int:
        return sum(each.in_work for each in self.sources)

    @property
    def has_sources(self) -> bool:
        """Table 2 makes sense: a document says where it is from."""
        return any(each.source for each in self.sources)

    @property
    def irregular(self) -> dict[str, int]:
        """What whoever scores or trains on the gold stumbles over, and how often."""
        figures = self.figures
        counted = {
            **self.odd,
            "stances_not_five": figures.number_of_claims - figures.claims_with_five_stances,
            "enough_no_but_no_human_text": figures.insufficient_without_added,
            "enough_yes_with_human_text": figures.sufficient_with_added,
        }
        return {name: counted.get(name, 0) for name in IRREGULARITIES}

    def stances(self, *sufficient: bool | None) -> Counter[str]:
        """Stances on retrieved passages of checked claims, where automatic evidence was said to be ``sufficient``;
        all of them where nothing is asked for."""
        found: Counter[str] = Counter()
        for (answer, label), number in self.figures.stances.items():
            if not sufficient or answer in sufficient:
                found[label] += number
        return found


# --- JSON -----------------------------------------------------------------------------------------


def as_json(report: StatisticsReport, rule: Rule = Rule.PAPER) -> dict[str, Any]:
    """The report. Labels are spelled as the released file spells them; ``rule`` says which documents are false."""
    figures = report.figures
    return {
        "rule": rule.value,
        "counted": {
            "gold": report.gold,
            "in_work": report.in_work,
            "discarded": report.discarded,
            "contradictions_confirmed": report.confirmed,
            "discarded_because": dict(report.discards),
        },
        "table1": {
            "document": figures.documents,
            "sent": figures.number_of_sentences,
            "cw_sent": figures.checkworthy_sentences,
            "claim": figures.number_of_claims,
            "cw_claim": figures.checked,
            "evid": report.retrieved,
        },
        "table2": _table2(report),
        "table8": {
            "granularity": "claim",
            "factual_label": True,
            "revision": True,
            "length": _rounded(figures.mean_words, 1),
            "size": figures.documents,
        },
        "documents": _documents(figures),
        "sentences": _sentences(figures),
        "claims": _claims(figures),
        "stance": {
            "all": spelled(report.stances(), STANCE),
            "evidence_enough_yes": spelled(report.stances(True), STANCE),
            "evidence_enough_no": spelled(report.stances(False), STANCE),
        },
        "evidence": {"retrieved": report.retrieved, "added": figures.added},
        "revision_false_docs": _revision(figures.revision[rule]),
        "table3_majority": {"sentence": sentence_majority(figures), "claim": claim_majority(figures)},
        "table5_constant": {
            "true_or_false_only": constant_verdicts(figures, undetermined_as_false=False),
            "undetermined_as_false": constant_verdicts(figures, undetermined_as_false=True),
        },
        "breakdowns": dict(report.breakdowns),
        "irregular": report.irregular,
    }


def _documents(figures: GoldFigures) -> dict[str, Any]:
    return {
        "paper_rule": truth_words(figures.truth[Rule.PAPER], "NA"),
        "field_response_factuality": truth_words(figures.truth[Rule.RELEASED], "na"),
        "with_false_claim": figures.with_false_claim,
        "with_undetermined_claim": figures.with_undetermined_claim,
        "false_claims_per_doc": by_number(figures.false_claims),
        "over_5_false": figures.over_many_false,
        "mean_response_words": _rounded(figures.mean_words, 1),
    }


def _sentences(figures: GoldFigures) -> dict[str, Any]:
    return {
        "type": spelled(figures.sentence_type, CHECKWORTHINESS),
        "importance": spelled(figures.sentence_importance, IMPORTANCE),
        "factuality": truth_words(figures.sentence_truth, "na"),
        "per_response": by_number(figures.sentences),
        "claims_per_sentence": by_number(figures.claims),
        "claims_per_cw_sentence": by_number(figures.claims_of_checkworthy),
        "deleted": figures.deleted,
        "deleted_undetermined": figures.deleted_undetermined,
    }


def _claims(figures: GoldFigures) -> dict[str, Any]:
    return {
        "type": spelled(figures.claim_type, {}),
        "importance": spelled(figures.claim_importance, IMPORTANCE),
        "evidence_enough": enough(figures),
        "needs_edit": needs_edit(figures),
        "not_enough_by_edit": spelled(figures.factuality_unsettled, NEEDS_EDIT),
        "factuality": truth_words(truths(figures.factuality), "unknown"),
    }


def _table2(report: StatisticsReport) -> list[dict[str, Any]]:
    """A row a source; none where no document says where it is from."""
    found = []
    for each in report.sources if report.has_sources else ():
        counted = report.figures.sources.get(each.source)
        found.append(
            {
                "source": each.source or None,
                "collected": each.collected,
                "annotated": counted.annotated if counted else 0,
                "false": {rule.value: counted.false[rule] if counted else 0 for rule in Rule},
            }
        )
    return found


def _revision(found: RevisionFigures) -> dict[str, Any]:
    return {
        "n": found.documents,
        "norm_edit": _rounded(found.mean_edit_distance),
        "word_overlap": _rounded(found.mean_word_overlap),
    }


def enough(figures: GoldFigures) -> dict[str, int]:
    """Could automatic evidence decide the claim (Figure 2)? "NA": a claim that is not checked, or no answer."""
    return _without_zeros(
        {
            "yes": figures.sufficient[True],
            "no": figures.sufficient[False],
            NOT_APPLICABLE: figures.number_of_claims - figures.sufficient[True] - figures.sufficient[False],
        }
    )


def needs_edit(figures: GoldFigures) -> dict[str, int]:
    """Does the claim need to be corrected (Figure 2)? "NA": a claim that is not checked, or no verdict."""
    decided = {spelling: figures.factuality[word] for word, spelling in NEEDS_EDIT.items()}
    rest = figures.number_of_claims - sum(decided.values())
    return _without_zeros({**decided, NOT_APPLICABLE: rest})


def spelled(counted: Mapping[str, int], spelling: Mapping[str, str]) -> dict[str, int]:
    """Counts by the released spelling of their labels, in its order; what was not answered is "NA"."""
    order = [*spelling, *(word for word in counted if word not in spelling)]
    return _without_zeros({spelling.get(word, word) or NOT_APPLICABLE: counted.get(word, 0) for word in order})


def truth_words(counted: Mapping[bool | None, int], neither: str) -> dict[str, int]:
    return _without_zeros({neither: counted.get(None, 0), "false": counted.get(False, 0), "true": counted.get(True, 0)})


def by_number(counted: Mapping[int, int]) -> dict[str, int]:
    """JSON's keys are texts."""
    return {str(number): counted[number] for number in sorted(counted)}


def _without_zeros(counted: Mapping[str, int]) -> dict[str, int]:
    """As in the published figures, a label that does not occur is not named."""
    return {label: number for label, number in counted.items() if number}


def _rounded(value: float | None, places: int = SCORE_PLACES) -> float | None:
    return None if value is None else round(value, places)
