"""A study in its native format: one JSON object a line, first its head, then each item with its parts and with what
people did on it. `import_study` reads it back (annotator/studies/actions/restore.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from annotator.core.protocol import Kind
from annotator.core.queries.pseudonyms import Keys
from annotator.studies.item_file import CANDIDATE
from annotator.studies.models import Study, StudyPart
from annotator.studies.queries.answers import sheets_of
from annotator.studies.queries.work import PASSAGE, TIE, Sheet


def native_lines(study: Study, *, named: bool) -> Iterator[str]:
    """The whole study. Work goes out of items that everyone has submitted, as in all other formats."""
    version = study.version
    head = {
        "touchstone_study": 1,
        "study": study.name,
        "protocol": json.loads(version.content),
        "sha256": version.sha256,
        "seed": study.seed,
        "started_at": study.started_at.isoformat() if study.started_at else "",
    }
    yield json.dumps(head, ensure_ascii=False)
    work: dict[int, list[dict[str, Any]]] = {}
    keys = Keys(study.benchmark, named=named)
    for round_ in ("rate", *(each.key for each in version.protocol.rounds)):
        for sheet in sheets_of(study, round_):
            work.setdefault(sheet.item.pk, []).append(_work(sheet, keys))
    for item in study.items.prefetch_related("parts").order_by("order"):
        given = [part for part in item.parts.all() if part.assignment_id is None]
        line = {"id": item.external_id, "stratum": item.stratum, "prompt": item.prompt, "text": item.text}
        line |= {"data": item.data, "dropped": item.dropped, **_parts(below_of(given), None)}
        yield json.dumps(line | {"work": work.get(item.pk, [])}, ensure_ascii=False)


def below_of(parts: Sequence[StudyPart]) -> dict[int | None, list[StudyPart]]:
    """The parts by the one above them, in their order."""
    found: dict[int | None, list[StudyPart]] = {}
    for part in sorted(parts, key=lambda each: (each.order, each.pk)):
        found.setdefault(part.parent_id, []).append(part)
    return found


def in_reading_order(parts: Sequence[StudyPart]) -> list[StudyPart]:
    """Each part before those below it: in the file a part is named by its place here, from 0."""
    below = below_of(parts)

    def walk(parent: int | None) -> Iterator[StudyPart]:
        for part in below.get(parent, ()):
            yield part
            yield from walk(part.pk)

    return list(walk(None))


def _parts(below: dict[int | None, list[StudyPart]], parent: int | None) -> dict[str, Any]:
    """The parts as import reads them: candidates, passages and other parts, each with its own parts."""
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


def _work(sheet: Sheet, keys: Keys) -> dict[str, Any]:
    """One person's work on an item. Parts that they added come behind the given ones, in their order."""
    assignment = sheet.assignment
    everything = [row.part for row in sheet.rows if row.part is not None]
    added = sorted((part for part in everything if part.assignment_id), key=lambda part: (part.order, part.pk))
    places = in_reading_order([part for part in everything if part.assignment_id is None]) + added
    place_of = {part.pk: number for number, part in enumerate(places)}
    by_id = {part.public_id: number for number, part in enumerate(places)}
    answers = []
    for row in (sheet.top, *sheet.rows):
        kinds = {each.key: each.kind for each in row.questions}
        for question, answer in row.answers.items():
            value = answer.value
            if kinds.get(question) in (Kind.CANDIDATE, Kind.CANDIDATES) and value not in (None, TIE):
                value = [by_id[each] for each in value] if isinstance(value, list) else by_id[value]
            part = None if row.part is None else place_of[row.part.pk]
            answers.append([part, question, value, answer.origin, answer.changed_at.isoformat()])
    return {
        "annotator": keys.key(assignment.person_id),
        "round": assignment.round,
        "position": assignment.position,
        "arrangement": [place_of[pk] for pk in assignment.arrangement],
        "submitted_at": assignment.submitted_at.isoformat() if assignment.submitted_at else "",
        "seconds": assignment.active_seconds,
        "added": [{"kind": part.kind, "order": part.order} for part in added],
        "answers": answers,
    }
