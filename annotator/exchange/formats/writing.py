"""Shared by the formats that are written from gold documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any

from annotator.core.released import storable_text
from annotator.core.vocabulary import StanceLabel
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence

# Restarts the documents each time it is called, so that several files can be written from them.
Documents = Callable[[], Iterator[GoldDocument]]
# File names, each with its content in pieces.
Files = Iterator[tuple[str, Iterator[bytes]]]

PIECE = 1 << 18  # bytes per read from a file

_SUPPORTS = (StanceLabel.COMPLETELY_SUPPORT, StanceLabel.PARTIALLY_SUPPORT)


@contextmanager
def temporary_files(names: Iterable[str]) -> Iterator[dict[str, IO[bytes]]]:
    """Temporary files by name, so that several files are written in one pass and the database is read once."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(TemporaryFile()) for name in names}


def contents(files: Mapping[str, IO[bytes]]) -> Files:
    """What was written to each temporary file."""
    for name, file in files.items():
        file.seek(0)
        yield name, pieces_of(file)


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """The rest of an open file."""
    return iter(partial(file.read, PIECE), b"")


def json_line(value: Any) -> str:
    """A value as one line of JSON, with its line break, formatted by ``storable_text``."""
    return storable_text(value) + "\n"


def document_key(document: GoldDocument) -> str:
    """The document's own id, or its public id if it has none, as in predictions (docs/formats/predictions.md)."""
    return document.external_id or str(document.about.get("external_id") or "") or document.public_id


def source_of(document: GoldDocument) -> str:
    return document.source or str(document.about.get("source") or "")


def model_of(document: GoldDocument) -> str:
    return document.model or str(document.about.get("model") or "")


def metadata_of(document: GoldDocument) -> dict[str, Any]:
    return document.metadata or dict(document.about.get("metadata") or {})


def numbered_claims(document: GoldDocument) -> Iterator[tuple[str, GoldSentence, GoldClaim]]:
    """Every claim with its position: "2.1" is the first claim of the second sentence."""
    for place, sentence in enumerate(document.sentences, start=1):
        for number, claim in enumerate(sentence.claims, start=1):
            yield f"{place}.{number}", sentence, claim


def evidence_of(claim: GoldClaim) -> list[GoldEvidence]:
    """Retrieved passages, then added ones."""
    return [*claim.retrieved, *claim.added]


def is_contested(claim: GoldClaim) -> bool:
    """Whether one passage supports the claim, fully or partially, and another refutes it."""
    stances = {each.stance for each in evidence_of(claim)}
    return StanceLabel.REFUTE in stances and any(each in stances for each in _SUPPORTS)
