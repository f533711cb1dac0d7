"""The five subtask files of Factcheck-Bench, written and read (the tasks: Factcheck-Bench section 4).

File and field names are the ones the authors publish, so their scripts run on these files. ``id``, ``document`` and
``position`` come first and identify each row as in predictions. The published files, which don't have these keys, can
be read, too. docs/formats/subtasks.md lists the rows of each file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from annotator.core.file_problems import BadRow, complain
from annotator.core.lines import kind_of, read_objects
from annotator.core.released_labels import CHECKWORTHINESS, NOT_APPLICABLE, STANCE
from annotator.core.vocabulary import ClaimType, Factuality
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.writing import (
    Documents,
    Files,
    contents,
    document_key,
    json_line,
    numbered_claims,
    temporary_files,
)

NAME = "subtasks"

KEYS = ("id", "document", "position")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subtask:
    """One file: its fields besides the keys, by type, and how its rows are made from a document."""

    file: str
    texts: tuple[str, ...]
    label: str
    labels: tuple[str, ...]
    rows: Callable[[GoldDocument], Iterator[Row]]
    lists: tuple[str, ...] = ()  # lists of texts


def files(documents: Documents) -> Files:
    """The five files, in one pass over the documents."""
    with temporary_files(subtask.file for subtask in SUBTASKS) as found:
        for document in documents():
            for subtask in SUBTASKS:
                found[subtask.file].writelines(json_line(row).encode() for row in subtask.rows(document))
        yield from contents(found)


# --- rows -----------------------------------------------------------------------------------------


def _sentences(document: GoldDocument) -> Iterator[Row]:
    of = document_key(document)
    for number, sentence in enumerate(document.sentences, start=1):
        if sentence.type:
            yield {
                "id": sentence.public_id,
                "document": of,
                "position": str(number),
                "sentence": sentence.decontext or sentence.text,
                "checkworthy": CHECKWORTHINESS[sentence.type],
            }


def _claims(document: GoldDocument) -> Iterator[Row]:
    of = document_key(document)
    for position, _, claim in numbered_claims(document):
        if claim.type:
            yield {
                "id": claim.public_id,
                "document": of,
                "position": position,
                "claim": claim.text,
                "checkworthy": claim.type,
            }


def _stances(document: GoldDocument) -> Iterator[Row]:
    of = document_key(document)
    for position, _, claim in numbered_claims(document):
        if not claim.is_checked:
            continue
        for number, evidence in enumerate(claim.retrieved, start=1):
            if evidence.stance:
                yield {
                    "id": evidence.public_id,
                    "document": of,
                    "position": f"{position}.{number}",
                    "claim": claim.text,
                    "evidence": evidence.passage,
                    "stance": STANCE[evidence.stance],
                }


def _verdicts(document: GoldDocument) -> Iterator[Row]:
    of = document_key(document)
    for position, _, claim in numbered_claims(document):
        if claim.is_checked and claim.factuality:
            yield {
                "id": claim.public_id,
                "document": of,
                "position": position,
                "claim": claim.text,
                "label": claim.factuality,
                "revised_claim": claim.revised,
            }


def _revisions(document: GoldDocument) -> Iterator[Row]:
    if not document.revised:
        return
    is_true = document.is_true_by_claims
    yield {
        "id": document.public_id,
        "document": document_key(document),
        "position": "",
        "factual state": NOT_APPLICABLE if is_true is None else str(is_true).lower(),
        "claim list": list(_revised_claims(document)),
        "prompt": document.prompt,
        "response": document.response,
        "revised_response": document.revised_response,
    }


def _revised_claims(document: GoldDocument) -> Iterator[str]:
    """What the revised response should say: the claims after their edits, and the sentences without claims."""
    for sentence in document.sentences:
        for text in [claim.revised for claim in sentence.claims] if sentence.claims else [sentence.text]:
            if text.strip():
                yield text


SUBTASKS = (
    Subtask(
        "subtask1_sentence_checkworthiness.jsonl",
        texts=("sentence",),
        label="checkworthy",
        labels=tuple(CHECKWORTHINESS.values()),
        rows=_sentences,
    ),
    Subtask(
        "subtask2_claim_checkworthiness.jsonl",
        texts=("claim",),
        label="checkworthy",
        labels=tuple(word.value for word in ClaimType),
        rows=_claims,
    ),
    Subtask(
        "subtask3_claim_evidence_stance.jsonl",
        texts=("claim", "evidence"),
        label="stance",
        labels=tuple(STANCE.values()),
        rows=_stances,
    ),
    Subtask(
        "subtask4_claim_factuality.jsonl",
        texts=("claim", "revised_claim"),
        label="label",
        labels=tuple(word.value for word in Factuality),
        rows=_verdicts,
    ),
    Subtask(
        "subtask5_revision.jsonl",
        texts=("prompt", "response", "revised_response"),
        label="factual state",
        labels=("true", "false", NOT_APPLICABLE),
        rows=_revisions,
        lists=("claim list",),
    ),
)


# --- reading --------------------------------------------------------------------------------------


def read(subtask: Subtask, stream: BinaryIO) -> Iterator[Row | BadRow]:
    """The rows of one of the files. Raises ``FileError``. A row with an unknown label is a bad row."""
    return read_objects(stream, lambda row, _: _checked(subtask, row))


def _checked(subtask: Subtask, row: Mapping[str, Any]) -> Row:
    complaints: list[tuple[str, str]] = []
    for name in (*subtask.texts, subtask.label):
        if not isinstance(row.get(name), str):
            complaints.append((name, f"expected a text, found {kind_of(row[name])}." if name in row else _GONE))
    for name in subtask.lists:
        value = row.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            complaints.append((name, "expected a list of texts." if name in row else _GONE))
    for name in KEYS:
        if not isinstance(row.get(name, ""), str):
            complaints.append((name, f"expected a text, found {kind_of(row[name])}."))
    label = row.get(subtask.label)
    if isinstance(label, str) and label not in subtask.labels:
        complaints.append((subtask.label, f"“{label[:40]}” isn’t valid; choose one of {', '.join(subtask.labels)}."))
    complain(complaints)
    fields = (*KEYS, *(name for name in row if name in (*subtask.texts, *subtask.lists, subtask.label)))
    return {name: row[name] for name in fields if name in row}


_GONE = "required: is this the file for this subtask?"
