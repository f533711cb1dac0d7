"""A study in its native format, as JSON Lines: first the head, then each item with its parts and with people's work.

`import_study` and the import of a benchmark's native file read it back (annotator/studies/actions/restore.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from annotator.core.protocol import Kind
from annotator.core.queries.pseudonyms import Keys
from annotator.studies.item_file import CANDIDATE
from annotator.studies.models import Study, StudyActivity, StudyAnswer, StudyPart
from annotator.studies.queries.answers import sheets_of
from annotator.studies.queries.work import PASSAGE, TIE, Sheet


def native_lines(study: Study, *, named: bool) -> Iterator[str]:
    """The whole study, without line breaks. As in all formats, work is exported only from items that everyone has
    submitted. ``named``: user names instead of pseudonyms."""
    version = study.version
    keys = Keys(study.benchmark, named=named)
    head = {
        "touchstone_study": 1,
        "id": study.public_id,
        "study": study.name,
        "protocol": json.loads(version.content),
        "version": version.number,
        "sha256": version.sha256,
        "seed": study.seed,
        "created_at": study.created_at.isoformat(),
        "started_at": study.started_at.isoformat() if study.started_at else "",
        "raters": [keys.key(each.person_id) for each in study.raters.order_by("number")],
    }
    yield json.dumps(head, ensure_ascii=False)
    work = _work_by_item(study, keys)
    for item in study.items.prefetch_related("parts").order_by("order"):
        given = [part for part in item.parts.all() if part.assignment_id is None]
        line: dict[str, Any] = {"id": item.external_id, "stratum": item.stratum, "prompt": item.prompt}
        line |= {"text": item.text, "data": item.data, "dropped": item.dropped, **_parts(below_of(given), None)}
        line["ids"] = [item.public_id, *(part.public_id for part in in_reading_order(given))]
        # Sorted keys, because databases keep those of "data" in an order of their own.
        yield json.dumps(line | {"work": work.get(item.pk, [])}, ensure_ascii=False, sort_keys=True)


def below_of(parts: Sequence[StudyPart]) -> dict[int | None, list[StudyPart]]:
    """The parts by the one above them, in their order."""
    found: dict[int | None, list[StudyPart]] = {}
    for part in sorted(parts, key=lambda each: (each.order, each.pk)):
        found.setdefault(part.parent_id, []).append(part)
    return found


def in_reading_order(parts: Sequence[StudyPart]) -> list[StudyPart]:
    """Each part before those below it. The file identifies a part by its place here, counted from 0."""
    below = below_of(parts)

    def walk(parent: int | None) -> Iterator[StudyPart]:
        for part in below.get(parent, ()):
            yield part
            yield from walk(part.pk)

    return list(walk(None))


def _parts(below: dict[int | None, list[StudyPart]], parent: int | None) -> dict[str, Any]:
    """The parts as the import reads them: candidates, passages and other parts, each with its own parts."""
    found: dict[str, list[dict[str, Any]]] = {}
    for part in below.get(parent, []):
        if part.kind == CANDIDATE:
            found.setdefault("candidates", []).append({"source": part.source, "content": part.lines or part.text})
        elif part.kind == PASSAGE:
            found.setdefault("passages", []).append({"text": part.text} | part.data)
        else:
            line = {"kind": part.kind, "id": part.source, "text": part.text, "data": part.data}
            found.setdefault("parts", []).append(line | _parts(below, part.pk))
    return found


# --- people's work --------------------------------------------------------------------------------


def _work_by_item(study: Study, keys: Keys) -> dict[int, list[dict[str, Any]]]:
    """The finished work by item: round by round, and in each by the annotators' keys, an order that an import keeps."""
    stored: dict[tuple[int, int | None, str], list[Any]] = {}
    rows = StudyAnswer.objects.filter(assignment__study=study)
    columns = ("assignment", "part", "question", "public_id", "version", "created_at")
    for assignment, part, question, public_id, version, created_at in rows.values_list(*columns):
        stored[assignment, part, question] = [public_id, version, created_at.isoformat()]
    history = _history(study)
    found: dict[int, list[dict[str, Any]]] = {}
    for round_ in ("rate", *(each.key for each in study.version.protocol.rounds)):
        of_round: dict[int, list[dict[str, Any]]] = {}
        for sheet in sheets_of(study, round_):
            work = _work(sheet, keys, stored) | {"history": history.get(sheet.assignment.pk, [])}
            of_round.setdefault(sheet.item.pk, []).append(work)
        for item, works in of_round.items():
            found.setdefault(item, []).extend(sorted(works, key=lambda each: str(each["annotator"])))
    return found


def _work(sheet: Sheet, keys: Keys, stored: dict[tuple[int, int | None, str], list[Any]]) -> dict[str, Any]:
    """One person's work on an item. Parts that they added follow the given ones, in their order."""
    assignment = sheet.assignment
    everything = [row.part for row in sheet.rows if row.part is not None]
    added = sorted((part for part in everything if part.assignment_id), key=lambda part: (part.order, part.pk))
    places = in_reading_order([part for part in everything if part.assignment_id is None]) + added
    place_of = {part.pk: number for number, part in enumerate(places)}
    by_id = {part.public_id: number for number, part in enumerate(places)}
    answers = []
    for row in (sheet.top, *sheet.rows):
        kinds = {each.key: each.kind for each in row.questions}
        part_pk = row.part.pk if row.part else None
        for question, answer in sorted(row.answers.items()):
            value = answer.value
            if kinds.get(question) in (Kind.CANDIDATE, Kind.CANDIDATES) and value not in (None, TIE):
                value = [by_id[each] for each in value] if isinstance(value, list) else by_id[value]
            part = None if part_pk is None else place_of[part_pk]
            more = stored[assignment.pk, part_pk, question]
            answers.append([part, question, value, answer.origin, answer.changed_at.isoformat(), *more])
    return {
        "id": assignment.public_id,
        "annotator": keys.key(assignment.person_id),
        "round": assignment.round,
        "position": assignment.position,
        "arrangement": [place_of[pk] for pk in assignment.arrangement],
        "submitted_at": assignment.submitted_at.isoformat() if assignment.submitted_at else "",
        "seconds": assignment.active_seconds,
        "added": [{"kind": part.kind, "order": part.order, "id": part.public_id} for part in added],
        "answers": answers,
    }


def _history(study: Study) -> dict[int, list[dict[str, Any]]]:
    """What each person did on an item, by assignment, in order."""
    rows = StudyActivity.objects.filter(assignment__study=study).order_by("activity_id")
    columns = ("public_id", "at", "action", "changes", "reason", "active_seconds", "undoes__public_id")
    found: dict[int, list[dict[str, Any]]] = {}
    for assignment, public_id, at, action, changes, reason, seconds, undoes in rows.values_list(
        "assignment", *(f"activity__{name}" for name in columns)
    ):
        row = {"id": public_id, "at": at.isoformat(), "action": action, "changes": changes, "seconds": seconds}
        row |= ({"reason": reason} if reason else {}) | ({"undoes": undoes} if undoes else {})
        found.setdefault(assignment, []).append(row)
    return found
