"""What the formats share that are written as JSON from gold documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from annotator.core.released import storable_json, storable_text
from annotator.core.vocabulary import StanceLabel
from annotator.exchange.formats import quick_json
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence

# Begins the documents anew each time it is called, so that several files can be written from them.
Documents = Callable[[], Iterator[GoldDocument]]

_SUPPORTS = (StanceLabel.COMPLETELY_SUPPORT, StanceLabel.PARTIALLY_SUPPORT)


def json_line(value: Any) -> str:
    """A value as one line of JSON, with its line break; without NUL and halves of surrogate pairs."""
    return json_bytes(value).decode() + "\n"


def json_lines(values: Iterable[Any]) -> bytes:
    """The lines of several values, in UTF-8."""
    return b"".join([json_bytes(value) + b"\n" for value in values])


def json_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """A value as JSON, as ``storable_text`` gives it, in UTF-8."""
    try:
        found = quick_json.dumps(value, indent=indent)
    except ValueError:  # a number beyond a double's range, or half of a surrogate pair
        found = b""
    # NUL is written as an escape; a text that merely looks like one is no harm.
    is_plain = found and b"\\u0000" not in found
    return found if is_plain else storable_text(value, indent=indent).encode()


def json_members(values: Mapping[str, Any], *, indent: int, depth: int = 1) -> dict[str, bytes]:
    """Each member of an object as ``json_bytes`` would write it so deep in a document, for ``quick_json.object_of``."""
    try:
        found = quick_json.members(values, indent=indent, depth=depth)
    except ValueError:
        found = {}
    is_plain = found and b"\\u0000" not in b"".join(found.values())
    return found if is_plain else quick_json.members(storable_json(values), indent=indent, depth=depth)


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
