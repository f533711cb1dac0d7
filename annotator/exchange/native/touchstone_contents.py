"""Checks the contents of JSON values in a native line that Touchstone relies on: edits that fit their claims, plans of
runs, tallies, changes in the history. A JSON column would accept anything, and the first page to read it would fail."""

from __future__ import annotations

from typing import Any

from annotator.core.texts import edits, spans
from annotator.core.vocabulary import AnnotationState, EditKind

Row = dict[str, Any]
Complaints = list[tuple[str, str]]


def misfits(tables: dict[str, list[Row]]) -> Complaints:
    """The problems in the rows of one document, each with its place."""
    found = [*_edits(tables), *_rationales(tables)]
    found += [
        (f"{name}[{place}].answers", "an object is needed.")
        for name, rows in tables.items()
        for place, row in enumerate(rows, start=1)
        if not isinstance(row.get("answers", {}), dict)
    ]
    for place, row in enumerate(tables["tallies"], start=1):
        if not _is_tally(row["data"], len(row["people"])):
            found.append((f"tallies[{place}].data", "not a count of these people’s labels."))
    for place, row in enumerate(tables["runs"], start=1):
        if not is_plan(row["plan"]):
            found.append((f"runs[{place}].plan", NO_PLAN))
    for place, row in enumerate(tables["activities"], start=1):
        if not all(isinstance(each, dict) and {"before", "after"} <= each.keys() for each in row["changes"]):
            found.append((f"activities[{place}].changes", "each needs “before” and “after”."))
    return found


# --- edits ----------------------------------------------------------------------------------------


def _edits(tables: dict[str, list[Row]]) -> Complaints:
    """For adjudicated or submitted verdicts; before that, edits need not fit yet."""
    submitted = {row["id"] for row in tables["annotations"] if row["state"] == AnnotationState.SUBMITTED}
    removed = {row["id"] for row in tables["sentences"] if row["removed"]}
    claims = {row["id"]: row for row in tables["claims"] if not row["removed"] and row["sentence"] not in removed}
    operations: dict[str, list[Row]] = {}
    for row in tables["edits"]:
        operations.setdefault(row["verdict"], []).append(row)
    found: Complaints = []
    for place, verdict in enumerate(tables["verdicts"], start=1):
        claim = claims.get(verdict["claim"])
        if claim is None or verdict["annotation"] not in submitted:
            continue
        made = sorted(operations.get(verdict["id"], []), key=lambda row: int(row["order"]))
        try:
            edits.check(
                claim["text"],
                [edits.Operation(EditKind(row["kind"]), row["start"], row["end"], row["replacement"]) for row in made],
            )
        except edits.EditError as error:
            found.append((f"verdicts[{place}]", str(error)))
    return found


# --- rationales -----------------------------------------------------------------------------------


def _rationales(tables: dict[str, list[Row]]) -> Complaints:
    """Selected words that are not in their passage."""
    passages = {row["id"]: row["passage"] for row in tables["evidence"]}
    return [
        (f"stances[{place}].rationale", "not start and end of words in its passage, in order.")
        for place, row in enumerate(tables["stances"], start=1)
        if row["rationale"] and not spans.are_spans(row["rationale"], len(passages.get(row["evidence"], "")))
    ]


# --- plans ----------------------------------------------------------------------------------------

NO_PLAN = "“parameters” and “prompts” are objects, each prompt with “label” and “digest”; “model” is a text."


def is_plan(plan: Row) -> bool:
    """Is this what a run was planned to be, or a part of it?"""
    prompts = plan.get("prompts", {})
    return (
        isinstance(plan.get("model", ""), str)
        and isinstance(plan.get("parameters", {}), dict)
        and isinstance(prompts, dict)
        and all(
            isinstance(each, dict) and isinstance(each.get("label"), str) and isinstance(each.get("digest"), str)
            for each in prompts.values()
        )
    )


# --- tallies --------------------------------------------------------------------------------------


def _is_tally(data: Row, people: int) -> bool:
    """Is it shaped as ``annotator.stages.comparison.tally`` says, for so many people?"""
    labels, texts, claims = data.get("labels", {}), data.get("texts", {}), data.get("claims", [])
    counted = data.get("counted", {})
    if not (all(isinstance(each, dict) for each in (labels, texts, counted)) and isinstance(claims, list)):
        return False
    items, pairs = [*labels.values()], [*texts.values()]
    return (
        all(isinstance(each, list) and all(_is_said(said, people) for said in each) for each in items)
        and all(isinstance(each, list) and all(_are_distances(thing, people) for thing in each) for each in pairs)
        and all(isinstance(each, list) and all(_is_counted(one, people) for one in each) for each in counted.values())
        and all(_is_match(each, people) for each in claims)
    )


def _is_said(said: Any, people: int) -> bool:
    """A label of each person."""
    return (
        isinstance(said, list)
        and len(said) == people
        and all(each is None or isinstance(each, str | int | float) for each in said)
    )


def _is_counted(each: Any, people: int) -> bool:
    """A label of each person, and how many things they are of."""
    is_pair = isinstance(each, list) and len(each) == 2
    return is_pair and _is_said(each[0], people) and type(each[1]) is int and each[1] > 0


def _are_distances(thing: Any, people: int) -> bool:
    """Pairs of people with two numbers."""
    return isinstance(thing, list) and all(
        isinstance(each, list) and len(each) == 4 and _are_seats(each, people) and all(map(_is_number, each[2:]))
        for each in thing
    )


def _is_match(each: Any, people: int) -> bool:
    """Two people with three counts and a list of similarities."""
    return (
        isinstance(each, list)
        and len(each) == 6
        and _are_seats(each, people)
        and all(map(_is_number, each[2:5]))
        and isinstance(each[5], list)
        and all(map(_is_number, each[5]))
    )


def _are_seats(each: list[Any], people: int) -> bool:
    return all(type(seat) is int and 0 <= seat < people for seat in each[:2])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
