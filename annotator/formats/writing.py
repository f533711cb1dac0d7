"""What the formats share that are written as JSON from gold documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from annotator.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence
from annotator.formats.released import storable_text
from annotator.vocabulary import StanceLabel

# Begins the documents anew each time it is called, so that several files can be written from them.
Documents = Callable[[], Iterator[GoldDocument]]
# Names of files with their text in pieces. A file's pieces are to be taken before the next file is asked for.
Files = Iterator[tuple[str, Iterator[str]]]

_SUPPORTS = (StanceLabel.COMPLETELY_SUPPORT, StanceLabel.PARTIALLY_SUPPORT)


def json_line(value: Any) -> str:
    """A value as one line of JSON in UTF-8, with its line break; without NUL and halves of surrogate pairs."""
    return storable_text(value) + "\n"


def document_key(document: GoldDocument) -> str:
    """The document's own id, or its public one where it has none: as in predictions (docs/formats/predictions.md)."""
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
    """What was retrieved, then what people added."""
    return [*claim.retrieved, *claim.added]


def is_contested(claim: GoldClaim) -> bool:
    """Whether one passage supports the claim, wholly or in part, and another one refutes it."""
    stances = {each.stance for each in evidence_of(claim)}
    return StanceLabel.REFUTE in stances and any(each in stances for each in _SUPPORTS)
