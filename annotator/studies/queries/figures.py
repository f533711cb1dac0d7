"""The figures of a study: answers from the database, counted by annotator/studies/figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Count, Q, Sum

from annotator.core.models import User
from annotator.core.protocol import ITEM, Kind, Protocol
from annotator.studies.figures.comparisons import ComparisonFigures, comparison_figures
from annotator.studies.figures.fastfact import (
    ADDED,
    REMOVED,
    REVISED,
    UNCHANGED,
    AlignmentRow,
    LabeledClaim,
    LabeledResponse,
    alignment_rows,
    statistics_of,
)
from annotator.studies.figures.judgements import (
    Judged,
    JudgementFigures,
    QuestionFigures,
    Rank,
    final_labels,
    question_figures,
    usefulness,
)
from annotator.studies.models import Study
from annotator.studies.queries.answers import (
    choices_of,
    complete_items,
    is_comparison,
    names_of,
    numbers_of,
    sheets_of,
)
from annotator.studies.queries.judged import judged_answers
from annotator.studies.queries.work import Row, Sheet

COUNTED = (Kind.LABEL, Kind.LABELS, Kind.YES_NO)
OPERATIONS = {"keep": UNCHANGED, "revise": REVISED, "remove": REMOVED}


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """A rater in a round (its title): how many items they have, how many they have submitted, and their active
    seconds."""

    person: User
    round: str
    total: int
    done: int
    seconds: int


@dataclass(frozen=True, slots=True)
class StudyFigures:
    """Everything that is counted. ``dropped``: items that aren't assigned because their candidates are identical, by
    stratum. ``complete``: items that everyone has submitted; only these are counted."""

    study: Study
    protocol: Protocol
    items: int
    complete: int
    dropped: dict[str, int]
    comparison: ComparisonFigures | None = None
    judgement: JudgementFigures | None = None
    rounds: dict[str, tuple[QuestionFigures, ...]] = field(default_factory=dict)
    alignment: tuple[AlignmentRow, ...] = ()
    shared_operations: QuestionFigures | None = None
    shared_labels: QuestionFigures | None = None

    @property
    def dropped_total(self) -> int:
        return sum(self.dropped.values())


def progress_of_raters(study: Study) -> list[RaterProgress]:
    """Everyone in the study, round by round, in the order in which they were chosen. Four queries."""
    people, numbers = names_of(study), numbers_of(study)
    done = Count("id", filter=Q(submitted_at__isnull=False))
    rows = study.assignments.order_by().values_list("person", "round")
    counted = rows.annotate(total=Count("id"), done=done, seconds=Sum("active_seconds"))
    rounds = {"rate": ("Rating", 0)}
    for place, each in enumerate(study.version.protocol.rounds, start=1):
        rounds[each.key] = (each.title, place)
    found = sorted(counted, key=lambda row: (rounds[row[1]][1], numbers[row[0]]))
    return [
        RaterProgress(people[person], rounds[round_][0], total, finished, seconds)
        for person, round_, total, finished, seconds in found
    ]


def study_figures(study: Study, *, resamples: int = 500) -> StudyFigures:
    """All figures of a study."""
    protocol = study.version.protocol
    dropped = dict(study.items.exclude(dropped="").values_list("stratum").annotate(Count("id")).order_by("stratum"))
    complete = complete_items(study)
    figures: dict[str, Any] = {
        "study": study,
        "protocol": protocol,
        "items": study.items.count(),
        "complete": len(complete),
        "dropped": dropped,
    }
    if is_comparison(protocol):
        choices = choices_of(study, complete)
        figures["comparison"] = comparison_figures(choices, protocol.figures.groups, resamples=resamples)
        return StudyFigures(**figures)
    answers = judged_answers(study)
    after = {each.key: judged_answers(study, each.key) for each in protocol.rounds}
    settled = {
        answer.item: answer.value
        for each in protocol.rounds
        for answer in after[each.key]
        if answer.question == f"{ITEM}.{each.settles}"
    }
    figures["judgement"] = _judgement(protocol, answers, settled, resamples)
    rounds = {key: _questions(protocol, given, key, resamples) for key, given in after.items()}
    figures["rounds"] = {key: found for key, found in rounds.items() if any(each.answers for each in found)}
    if protocol.figures.alignment:
        sheets = list(sheets_of(study))
        figures["alignment"] = tuple(alignment_rows(statistics_of(responses_of(sheets))))
        figures["shared_operations"], figures["shared_labels"] = _shared(sheets, numbers_of(study), resamples)
    return StudyFigures(**figures)


def _judgement(protocol: Protocol, answers: list[Judged], settled: dict[int, str], resamples: int) -> JudgementFigures:
    """``settled``: the labels of items that were adjudicated in a round."""
    questions = _questions(protocol, answers, "rate", resamples)
    named = protocol.figures
    final: Counter[str] = Counter()
    if named.majority:
        votes = [each for each in answers if each.question == f"{ITEM}.{named.majority.question}"]
        final = Counter((final_labels(votes, named.majority.otherwise) | settled).values())
    ranks: tuple[Rank, ...] = ()
    if named.usefulness:
        name = f"{named.usefulness.on}.{named.usefulness.question}"
        ranks = usefulness([each for each in answers if each.question == name], named.usefulness.is_)
    return JudgementFigures(len({each.item for each in answers}), questions, dict(final.most_common()), ranks)


def _questions(protocol: Protocol, answers: list[Judged], round_: str, resamples: int) -> tuple[QuestionFigures, ...]:
    by_name: dict[str, list[Judged]] = {}
    for each in answers:
        by_name.setdefault(each.question, []).append(each)
    return tuple(
        question_figures(
            question.name,
            by_name.get(question.name, []),
            scale=question.values if question.kind != Kind.LABELS else (),
            resamples=resamples,
        )
        for question in protocol.questions
        if question.kind in COUNTED and question.round == round_
    )


# --- FastFact -------------------------------------------------------------------------------------


def responses_of(sheets: Iterable[Sheet]) -> list[LabeledResponse]:
    """The responses after people's work, each once: for a cross-annotated response, the first rater's version."""
    seen: set[int] = set()
    found = []
    for sheet in sheets:
        if sheet.item.pk not in seen:
            seen.add(sheet.item.pk)
            model = str(sheet.item.data.get("model") or "")
            claims = [labeled_claim(row) for row in sheet.rows if row.kind == "claim"]
            found.append(LabeledResponse(sheet.item.stratum, model, claims))
    return found


def labeled_claim(row: Row) -> LabeledClaim:
    """A claim with the answers to the questions that were asked about it."""
    values = {each.key: row.values.get(each.key) for each in row.asked}
    machine = str(row.machine.get("label") or "")
    operation = ADDED if row.is_added else OPERATIONS.get(str(values.get("operation")), UNCHANGED)
    agrees = values.get("agree")
    label = machine if agrees == "agree" else str(values.get("label") or "")
    return LabeledClaim(
        operation=operation,
        reason=str(values.get("removal") or ""),
        machine=machine,
        label="" if operation == REMOVED else label,
        agrees={"agree": True, "disagree": False}.get(str(agrees)),
        failures=tuple(values.get("failures") or ()),
    )


def _shared(
    sheets: Iterable[Sheet], numbers: Mapping[int, int], resamples: int
) -> tuple[QuestionFigures, QuestionFigures]:
    """Agreement on the cross-annotated share: operations on the given claims, and their final labels (F.2).
    ``numbers``: the number of each rater."""
    operations, labels = [], []
    for sheet in sheets:
        for row in sheet.rows:
            if row.kind != "claim" or row.is_added or row.part is None:
                continue
            claim = labeled_claim(row)
            record, person = (sheet.item.pk, row.part.pk), numbers[sheet.assignment.person_id]
            operations.append(Judged("operation", record, sheet.item.pk, 0, person, claim.operation))
            if claim.label:
                labels.append(Judged("label", record, sheet.item.pk, 0, person, claim.label))
    return (
        question_figures("operation", operations, resamples=resamples),
        question_figures("label", labels, resamples=resamples),
    )


# --- as JSON --------------------------------------------------------------------------------------


def figures_as_json(figures: StudyFigures) -> dict[str, Any]:
    """All figures, for the command and the API, without the raters' names."""
    version = figures.study.version
    found: dict[str, Any] = {
        "study": figures.study.name,
        "id": figures.study.public_id,
        "protocol": {"name": version.name, "version": version.number, "sha256": version.sha256},
        "items": figures.items,
        "complete": figures.complete,
        "dropped": figures.dropped,
    }
    if figures.comparison is not None:
        found["comparison"] = asdict(figures.comparison) | {
            "places": [_place(each) for each in figures.comparison.places]
        }
    if figures.judgement is not None:
        found["judgement"] = asdict(figures.judgement) | {
            "ranks": [asdict(each) | {"share": each.share} for each in figures.judgement.ranks]
        }
    if figures.rounds:
        found["rounds"] = {key: [asdict(each) for each in questions] for key, questions in figures.rounds.items()}
    if figures.alignment:
        found["alignment"] = [alignment_as_json(each) for each in figures.alignment]
        found["cross_annotated"] = {
            "operations": asdict(figures.shared_operations) if figures.shared_operations else None,
            "labels": asdict(figures.shared_labels) if figures.shared_labels else None,
        }
    told: dict[str, Any] = _without_raters(found)
    return told


def _place(place: Any) -> dict[str, Any]:
    return asdict(place) | {"share": place.share, "is_biased": place.is_biased}


def alignment_as_json(row: AlignmentRow) -> dict[str, Any]:
    """A row of the alignment table with the figures that follow from its counts."""
    return asdict(row) | {
        "k_prime": row.k_prime,
        "s_prime": row.supported,
        "n_prime": row.not_supported,
        "i_prime": row.irrelevant,
        "per_response": {name: row.per_response(name) for name in row.operations},
        "per_claim": {name: row.per_claim(name) for name in row.operations},
    }


def _without_raters(value: Any) -> Any:
    """Replaces the list of raters by their number."""
    if isinstance(value, dict):
        return {
            key: len(each) if key == "raters" and isinstance(each, tuple) else _without_raters(each)
            for key, each in value.items()
        }
    return [_without_raters(each) for each in value] if isinstance(value, list | tuple) else value
