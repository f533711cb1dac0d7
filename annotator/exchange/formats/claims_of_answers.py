"""What FastFact's and VeriScore's files share: a model's response to a prompt, with a list of claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from annotator.core.file_problems import RowError, complain
from annotator.core.released import ABSENT, spelled, storable
from annotator.core.vocabulary import SentenceType
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldSentence
from annotator.exchange.formats.incoming import document as checked_document
from annotator.exchange.formats.incoming import hash_of
from annotator.exchange.formats.writing import metadata_of


def answered_document(
    row: Mapping[str, Any], metadata: Mapping[str, Any], *, line: int, complaints: list[tuple[str, str]]
) -> GoldDocument:
    """The response of a row, without its claims. Raises ``RowError`` with ``complaints`` and any other problems.

    A prompt has one id for the responses of all models, so the two together identify a document, unless the id contains
    both.
    """
    key, model = row.get("question_id"), row.get("model")
    # A key of another type is reported below.
    is_key = isinstance(key, str | int) and not isinstance(key, bool) and key != ""
    if is_key and isinstance(model, str) and model and not str(key).endswith(f"/{model}"):
        key = f"{key}/{model}"
    values = {
        "prompt": row.get("question"),
        "source": row.get("prompt_source"),
        "model": model,
        "id": key,
        "metadata": dict(metadata),
    }
    if "response" in row:
        values["response"] = row["response"]
    try:
        about = checked_document(values, line=line)
    except RowError as error:
        raise RowError(*complaints, *error.complaints) from None
    complain(complaints)
    response = storable(about.response)
    return GoldDocument(
        prompt=storable(about.prompt),
        response=response,
        # Nobody revised it.
        revised_response=response,
        line=line,
        about={
            "external_id": about.external_id,
            "identity": about.identity,
            "source": about.source,
            "model": about.model,
            "metadata": about.metadata,
            "reference_date": None,
        },
        content_hash=hash_of(row),
        size=len(str(row)),
    )


def as_released(document: GoldDocument, format: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row as the file wrote them, if the document came from such a file; then its metadata."""
    row: dict[str, Any] = {}
    for name, own in values.items():
        value = spelled(document.released, f"{format}.{name}", own)
        if value is not ABSENT:
            row[name] = value
    return row | {name: value for name, value in metadata_of(document).items() if name not in values}


def sentence_with(text: str, claims: Iterable[GoldClaim]) -> GoldSentence:
    """A sentence, check-worthy if one of its claims is checked."""
    found = list(claims)
    checkworthy = any(claim.is_checked for claim in found)
    return GoldSentence(
        text=text,
        decontext=text,
        type=SentenceType.CHECKWORTHY if checkworthy else SentenceType.OTHER,
        claims=found,
        revised=text,
    )


def one_sentence(response: str, claims: Iterable[GoldClaim]) -> GoldSentence:
    """The whole response as its only sentence, for files that aren't organized by sentence."""
    sentence = sentence_with(response, claims)
    sentence.start, sentence.end = 0, len(response)
    return sentence
