"""The response beside an adjudication: each sentence links to its first row."""

from __future__ import annotations

from dataclasses import dataclass

from annotator.core.models import Document, Sentence
from annotator.core.texts.markdown import Stretch, Tag, reading
from annotator.core.vocabulary import AnnotationKind, Stage
from annotator.stages.queries.adjudication import AdjudicationBoard
from annotator.stages.screens.adjudicate_rows import RowGroup


@dataclass(frozen=True, slots=True)
class ResponsePart:
    """A stretch of the response, or the border of a block. ``number``: of its sentence; ``row``: the key of the row it
    links to, "" if the sentence has none."""

    part: Tag | Stretch
    number: str = ""
    row: str = ""


def response_of(board: AdjudicationBoard, groups: list[RowGroup], *, raw: bool) -> list[ResponsePart]:
    """The response split into its sentences. One query for what was adjudicated before; none at decompose."""
    response = board.document.response
    if board.stage == Stage.DECOMPOSE:
        sentences = _places(response, board)
    else:
        sentences = {str(at): place for at, place in enumerate(_adjudicated(board.document), start=1)}
    rows: dict[str, str] = {}
    for group in groups:
        for view in group.items:
            rows.setdefault(view.sentence, view.key)
    numbers = list(sentences)
    found = []
    for part in reading(response, sentences.values(), raw=raw):
        number = numbers[part.sentence] if isinstance(part, Stretch) and part.sentence is not None else ""
        found.append(ResponsePart(part, number, rows.get(number, "") if number else ""))
    return found


def _adjudicated(document: Document) -> list[tuple[int | None, int | None, str]]:
    rows = Sentence.objects.filter(
        annotation__document=document,
        annotation__stage=Stage.DECOMPOSE,
        annotation__kind=AnnotationKind.CONSOLIDATED,
        removed="",
    )
    return list(rows.order_by("order", "id").values_list("start", "end", "text"))


def _places(response: str, board: AdjudicationBoard) -> dict[str, tuple[int | None, int | None, str]]:
    """The positions of the compared sentences. If annotators segmented a stretch differently, it is one piece."""
    found: dict[str, tuple[int | None, int | None, str]] = {}
    position = 0
    for item in board.comparison.items:
        texts = next((each for each in item.texts if each), [])
        if item.kind not in ("sentence", "cut") or not texts or item.number in found:
            continue
        start = response.find(texts[0], position)
        last = response.find(texts[-1], max(start, position))
        if start < 0 or last < 0:
            found[item.number] = (None, None, " ".join(texts))
            continue
        position = last + len(texts[-1])
        found[item.number] = (start, position, response[start:position])
    return found
