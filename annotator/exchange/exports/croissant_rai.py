"""Croissant's fields for responsible AI (RAI 1.0): how the data came about, who labeled it, how well they agreed, and
what it cannot tell. Every figure is from the database; what nobody recorded says so.

The vocabulary: https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotator.core.vocabulary import Stage
from annotator.exchange.formats.about import About
from annotator.exchange.queries.dataset_card import BY_IMPORT, CardFacts
from pipeline.metrics.agreement import Estimate

CONFORMS_TO = "http://mlcommons.org/croissant/RAI/1.0"
_NAMED = 20  # sources or models that are named


def rai_fields(facts: CardFacts, about: About) -> dict[str, Any]:
    """The fields by name, those that say nothing left out."""
    found: dict[str, Any] = {
        "rai:dataCollection": _collection(facts),
        "rai:dataCollectionType": ["Manual Human Curator", "Software Collection"],
        "rai:dataCollectionTimeframe": [day.isoformat() for day in facts.timeframe],
        "rai:dataCollectionMissingData": _missing(facts),
        "rai:dataAnnotationProtocol": list(_protocol(facts)),
        "rai:dataAnnotationPlatform": ["Touchstone"],
        "rai:dataAnnotationAnalysis": list(_analysis(facts)),
        "rai:annotationsPerItem": _per_item(facts),
        "rai:annotatorDemographics": [_annotators(facts)],
        "rai:machineAnnotationTools": list(_machines(facts)),
        "rai:dataBiases": list(_biases(facts)),
        "rai:dataUseCases": list(_use_cases(about)),
        "rai:dataLimitations": list(_limits(facts)),
        "rai:dataSocialImpact": (
            "Verdicts reflect the evidence available on the day they were given. A label of true does "
            "not make a claim safe to publish, and a label of false does not mean that anyone lied."
        ),
        "rai:personalSensitiveInformation": [
            "Responses and web passages are stored as they were imported and retrieved. They may name people; nothing "
            "was removed from them. Annotators are not named in the tables that this file describes."
        ],
    }
    if about.version:
        found["rai:dataReleaseMaintenancePlan"] = (
            "A release never changes. An error is corrected in a new release that names the one it corrects."
        )
    return {name: value for name, value in found.items() if value}


# --- collection -----------------------------------------------------------------------------------


def _collection(facts: CardFacts) -> str:
    responses = _count(facts.gold, "response")
    made = f"{responses} of language models to prompts, split into sentences and claims and fact-checked."
    return " ".join(
        [
            made,
            _listed("Prompts from", facts.sources) or "The documents do not record where their prompts are from.",
            _listed("Responses by", facts.models) or "The documents do not record which model wrote the responses.",
        ]
    )


def _listed(what: str, counted: Mapping[str, int]) -> str:
    named = [f"{name} ({number:,})" for name, number in list(counted.items())[:_NAMED]]
    rest = len(counted) - len(named)
    return f"{what} {', '.join(named)}{f' and {rest} more' if rest > 0 else ''}." if named else ""


def _missing(facts: CardFacts) -> str:
    found = {name.replace("_", " "): number for name, number in facts.irregularities.items()}
    if facts.discards:
        found["documents that were discarded and left out"] = sum(facts.discards.values())
    return "; ".join(f"{name}: {number:,}" for name, number in found.items())


# --- annotation -----------------------------------------------------------------------------------


def _protocol(facts: CardFacts) -> Iterator[str]:
    here = facts.gold - facts.imported
    if facts.imported:
        yield f"Labeled elsewhere and imported as adjudicated: {_count(facts.imported, 'document')}."
    if here and facts.overlap == 1:
        yield (
            f"Labeled by one annotator at each of three stages (decompose, verify, revise): {_count(here, 'document')}."
        )
    elif here:
        yield (
            f"Labeled by {facts.overlap} annotators independently, blind to each other, at each of three stages "
            "(decompose, verify, revise), who then adjudicated every difference and signed off: "
            f"{_count(here, 'document')}."
        )
    if here and facts.third_rater_at_verify:
        yield "An adjudicator signed off every verify stage."
    if facts.blind_first:
        yield f"On {_count(facts.blind_first, 'document')} annotators labeled first and saw suggestions afterward."
    for each in facts.guidelines:
        if each.annotations:
            yield (
                f"Guidelines version {each.number}, published {each.published:%Y-%m-%d}: "
                f"{_count(each.annotations, 'annotation')}."
            )


def _per_item(facts: CardFacts) -> str:
    if facts.gold == facts.imported:
        return "Not known: all documents were imported as adjudicated."
    people = "1 annotator" if facts.overlap == 1 else f"{facts.overlap} annotators, and their adjudicated label"
    third = "; an adjudicator at verify" if facts.third_rater_at_verify else ""
    imported = "; one adjudicated label for imported documents" if facts.imported else ""
    return people + third + imported


def _annotators(facts: CardFacts) -> str:
    if not facts.annotators:
        return "Nobody labeled these documents in Touchstone. Demographics were not recorded."
    adjudicators = f" and {_count(facts.third_raters, 'adjudicator')}" if facts.third_raters else ""
    return f"{_count(facts.annotators, 'annotator')}{adjudicators}. Demographics were not recorded."


def _analysis(facts: CardFacts) -> Iterator[str]:
    report = facts.agreement
    if not report.documents:
        yield "Not measured: no document was labeled independently by two annotators."
        return
    yield (
        f"Inter-annotator agreement before adjudication, over {_count(report.documents, 'document')} of the "
        "benchmark; 95% intervals from resampling documents. Every difference was adjudicated."
    )
    for stage in report.stages:
        for each in stage.labels:
            figures = each.figures
            yield (
                f"{each.field.label}: {figures.items:,} items, same label {_estimate(figures.percent)}, Krippendorff's "
                f"alpha {_estimate(figures.alpha)}, Gwet's AC1 {_estimate(figures.ac1)}."
            )
        if stage.claims is not None:
            yield f"Claims of two annotators: F1 {_estimate(stage.claims.f1)}."


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return "not defined"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _machines(facts: CardFacts) -> Iterator[str]:
    for each in facts.pipelines:
        if each.strategy == BY_IMPORT:
            continue
        model = f" with {each.model}" if each.model else ""
        yield (
            f"{Stage(each.stage).label}: strategy {each.strategy}{model} suggested for "
            f"{_count(each.documents, 'document')}; annotators decided."
        )


# --- what it cannot tell --------------------------------------------------------------------------


def _biases(facts: CardFacts) -> Iterator[str]:
    for what, counted in (("source", facts.sources), ("model", facts.models)):
        if counted and facts.gold:
            name, number = next(iter(counted.items()))
            yield f"{number / facts.gold:.0%} of the responses have the same {what}: {name}."
    if any(each.strategy != BY_IMPORT for each in facts.pipelines):
        seen = facts.gold - facts.imported - facts.blind_first
        if seen > 0:
            shown = _count(seen, "document")
            yield f"On {shown} annotators saw a suggestion before they labeled, which may have influenced their labels."


def _use_cases(about: About) -> Iterator[str]:
    yield (
        "Evaluating automatic fact-checkers at each step: decomposition, check-worthiness, evidence, stance, "
        "factuality, and revision."
    )
    if about.canary:
        yield f"Not for training: the release carries the canary string {about.canary}."


def _limits(facts: CardFacts) -> Iterator[str]:
    documents = _count(facts.gold, "document")
    yield f"{documents}: figures by group are based on fewer, so small differences mean little."
    if facts.undetermined:
        yield f"Without a verdict for lack of evidence: {_count(facts.undetermined, 'check-worthy claim')}."
    if not facts.agreement.documents:
        yield "The reliability of the labels is unknown: no second annotator labeled them."
    yield "Evidence is what was found at the time; pages change, and other evidence may exist."


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
