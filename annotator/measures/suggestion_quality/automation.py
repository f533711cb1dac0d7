"""What automation did for a benchmark: what happened to its suggestions, whether they changed labels, and where its
evidence was sufficient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from annotator.measures.suggestion_quality.handling import Handled, handled
from annotator.measures.suggestion_quality.influence import Fate, FirstLabel, Influence, fates, influences
from annotator.measures.suggestion_quality.report import handled_as_json
from annotator.measures.suggestion_quality.rows import ComparedDocument, Maker
from pipeline.metrics.agreement import Estimate, ratio_estimate


@dataclass(frozen=True, slots=True)
class Sufficed:
    """Of ``asked`` checked claims, the number for which retrieved evidence was ``enough``, with the share."""

    enough: int
    asked: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Automation:
    """``handled``: in the adjudicated versions, by maker; ``people``: in each person's work (primary key), all makers
    together; ``blind_first``: compared with what people did without suggestions. ``sufficed``: over all claims (None),
    then by whose passages they had."""

    gold: int
    documents: int
    blind_first_documents: int
    handled: dict[Maker, Handled]
    people: dict[int, Handled]
    blind_first: Handled
    influences: list[Influence]
    fates: dict[str, dict[Fate, int]]
    sufficed: dict[Maker | None, Sufficed]


def automation_of(
    documents: Sequence[ComparedDocument], first_labels: Iterable[FirstLabel], *, gold: int
) -> Automation:
    """All figures over these gold documents. ``gold``: the total number of gold documents."""
    labels = list(first_labels)
    agreed: dict[Maker, Handled] = {}
    people: dict[int, Handled] = {}
    blind = Handled()
    for maker, by in sorted(handled(documents).items()):
        if by.agreed.works:
            agreed[maker] = by.agreed
        blind.add(by.blind_first)
        for person, each in by.people.items():
            people.setdefault(person, Handled()).add(each)
    return Automation(
        gold=gold,
        documents=len(documents),
        blind_first_documents=sum(each.blind_first for each in documents),
        handled=agreed,
        people=people,
        blind_first=blind,
        influences=influences(documents, labels),
        fates=fates(labels),
        sufficed=_sufficed(documents),
    )


def as_json(found: Automation, people: Mapping[int, str]) -> dict[str, Any]:
    """All figures as JSON. ``people``: names by primary key; people not in it are left out."""
    return {
        "gold": found.gold,
        "documents": found.documents,
        "blind_first_documents": found.blind_first_documents,
        "handled": [
            {"made_by": _maker(maker), "counts": handled_as_json(each)} for maker, each in found.handled.items()
        ],
        "people": {people[pk]: handled_as_json(each) for pk, each in found.people.items() if pk in people},
        "blind_first": handled_as_json(found.blind_first),
        "influence": [
            {
                "made_by": _maker(each.maker),
                "thing": each.thing,
                "shown": asdict(each.shown),
                "blind_first": asdict(each.blind_first),
                "difference": None if each.difference is None else asdict(each.difference),
            }
            for each in found.influences
        ],
        "first_labels": {thing: {fate.value: n for fate, n in fates.items()} for thing, fates in found.fates.items()},
        "evidence_sufficed": [
            {"made_by": None if maker is None else _maker(maker), **asdict(each)}
            for maker, each in found.sufficed.items()
        ],
    }


def _maker(maker: Maker) -> dict[str, str]:
    return {"strategy": maker.strategy, "model": maker.model, "suggester": maker.by}


def _sufficed(documents: Iterable[ComparedDocument]) -> dict[Maker | None, Sufficed]:
    """Counted where the question was asked and answered (Factcheck-Bench, section 3.3: 439 of 661 claims)."""
    answers: dict[Maker | None, list[tuple[int, float, float]]] = {None: []}
    for document in documents:
        for claim, verdict in document.gold.verdicts.items():
            if verdict.sufficient is None:
                continue
            answer = (document.key, float(verdict.sufficient), 1.0)
            answers[None].append(answer)
            for maker, suggested in document.suggested.items():
                if claim in suggested.passages.values():
                    answers.setdefault(maker, []).append(answer)
    found: dict[Maker | None, Sufficed] = {}
    for whose, rows in answers.items():
        share = ratio_estimate(rows)
        if share is not None:
            found[whose] = Sufficed(int(sum(row[1] for row in rows)), len(rows), share)
    return found
