"""FastFact's annotation file, written and read: a response with its claims, each with the verifier's label.

FastFact (section on evidence-based verification) has five labels; docs/formats/fastfact.md maps them to ours. Documents
of FastFact-Bench without labels are read by ``annotator.exchange.formats.documents``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from annotator.core.file_problems import BadRow, RowError
from annotator.core.lines import kind_of, read_objects
from annotator.core.released import ABSENT, remember, spelled, storable
from annotator.core.vocabulary import ClaimType, Factuality
from annotator.exchange.formats.claims_of_answers import answered_document, as_released, one_sentence
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence
from annotator.exchange.formats.writing import (
    document_key,
    evidence_of,
    is_contested,
    json_line,
    model_of,
    numbered_claims,
    source_of,
)

NAME = "fastfact"

SUPPORTED, REFUTED = "supported", "refuted"
CONFLICTING, NOT_ENOUGH = "conflicting evidence", "not enough evidence"
UNVERIFIABLE = "unverifiable"
# What each label means: a factuality, or "" if no fact is stated. The first five are the verifier's; the last two are
# those the extractor assigns without evidence when it is certain.
LABELS = {
    SUPPORTED: Factuality.TRUE.value,
    REFUTED: Factuality.FALSE.value,
    CONFLICTING: Factuality.NOT_ENOUGH_EVIDENCE.value,
    NOT_ENOUGH: Factuality.NOT_ENOUGH_EVIDENCE.value,
    UNVERIFIABLE: "",
    "unsupported": Factuality.FALSE.value,
    "irrelevant": "",
}
UNSURE = "unsure"
PRELABELS = (SUPPORTED, "unsupported", "irrelevant", UNSURE)

_PASSAGE = re.compile(r"(?:^|\n\n)Evidence (\d+)\nSource Title: ([^\n]*)\nContent: ")
_URL = re.compile(r"https?://\S+")
# What the file says about a response besides its claims; for documents that came from such a file.
_KNOWN = ("question", "prompt_source", "response", "model", "question_id")
_COUNTED = ("abstained", "prelabel_stats", "token_stats", "response_stats", "k_prime")
# No model was asked for gold.
_NO_TOKENS = {
    "extract": {"prompt_tok_cnt": 0, "response_tok_cnt": 0},
    "search": 0,
    "verify": {"prompt_tok_cnt": 0, "response_tok_cnt": 0},
}


# --- writing --------------------------------------------------------------------------------------


def lines(documents: Iterable[GoldDocument]) -> Iterator[str]:
    """One response per line."""
    for document in documents:
        yield json_line(render(document))


def render(document: GoldDocument) -> dict[str, Any]:
    """A response with all its claims. A claim without a verdict has no verification yet."""
    claims = [_item(claim, position) for position, _, claim in numbered_claims(document)]
    values: dict[str, Any] = {
        "question_id": document_key(document),
        "question": document.prompt,
        "prompt_source": source_of(document),
        "response": document.response,
        "model": model_of(document),
        "claims_lst": claims,
    }
    values |= _counts(document, claims)
    return as_released(document, NAME, values)


def _item(claim: GoldClaim, position: str) -> dict[str, Any]:
    """A claim as it was in the file, as long as nothing about it has changed; otherwise with an id of its own."""
    own = _claim(claim)
    item: dict[str, Any] = spelled(claim.released, _key("claim"), own)
    return item if item is not own else {"claim_id": claim.public_id or position} | own


def _claim(claim: GoldClaim) -> dict[str, Any]:
    item: dict[str, Any] = {"claim": claim.text, "pre-label": UNSURE}
    label = _label(claim)
    if label:
        item["verification_result"] = {
            "verification_context": "".join(
                f"Evidence {number}\nSource Title: {_title(each)}\nContent: {each.passage}\n\n"
                for number, each in enumerate(evidence_of(claim), start=1)
            ),
            "reasoning_for_verification_label": claim.reason,
            "verification_label": label,
        }
    return item


def _label(claim: GoldClaim) -> str:
    """The verifier's label; "" if the claim isn't decided yet."""
    if not claim.is_checked:
        return UNVERIFIABLE if claim.type else ""
    if claim.factuality == Factuality.NOT_ENOUGH_EVIDENCE:
        return CONFLICTING if is_contested(claim) else NOT_ENOUGH
    return {Factuality.TRUE.value: SUPPORTED, Factuality.FALSE.value: REFUTED}.get(claim.factuality, "")


def _title(evidence: GoldEvidence) -> str:
    return " ".join((evidence.title or evidence.url).split())


def _key(name: str) -> str:
    """The name under which a field's spelling is remembered."""
    return f"{NAME}.{name}"


def _counts(document: GoldDocument, claims: list[dict[str, Any]]) -> dict[str, Any]:
    """The file's own counts, plus ``k_prime``, which FastFact's file doesn't have: the claims people found valid, for
    scoring."""
    before = Counter(str(each.get("pre-label")) for each in claims)
    after = Counter(label for each in claims if (label := _verified(each)))
    labels = [_verified(each) or each.get("pre-label") for each in claims]
    supported = labels.count(SUPPORTED)
    no_fact = sum(label in (UNVERIFIABLE, "irrelevant") for label in labels)
    pending = labels.count(UNSURE)
    total = len(claims) - no_fact - pending
    return {
        "abstained": False,
        "prelabel_stats": {name: before[name] for name in PRELABELS},
        "token_stats": _NO_TOKENS,
        "response_stats": {
            "num_sentences": len(document.sentences),
            "length": len(document.response.split()),
            "verification": {
                "total_verified_claims": after.total(),
                "verified_supported_claims": after[SUPPORTED],
                "verified_contradicted_claims": after[REFUTED],
                "verified_controversial_claims": after[CONFLICTING],
                "verified_inconclusive_claims": after[NOT_ENOUGH],
                "verified_unverifiable_claims": after[UNVERIFIABLE],
            },
            "total": {
                "total_claims": total,
                "total_supported_claims": supported,
                "total_unsupported_claims": total - supported,
                "total_irrelevant_claims": no_fact,
            },
            "P": supported / total if total else 0.0,
        },
        "k_prime": total,
    }


def _verified(item: Mapping[str, Any]) -> str:
    result = item.get("verification_result")
    return str(result.get("verification_label") or "") if isinstance(result, dict) else ""


# --- reading --------------------------------------------------------------------------------------


def read(stream: BinaryIO) -> Iterator[GoldDocument | BadRow]:
    """Responses with labeled claims as gold. FastFact isn't organized by sentence, so the response counts as one.

    Raises ``FileError``. An unknown or open label makes a bad row.
    """
    return read_objects(stream, _document)


def _document(row: Mapping[str, Any], line: int) -> GoldDocument:
    items = row.get("claims_lst")
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise RowError(("claims_lst", "expected a list of objects: is this FastFact's annotation file?"))
    complaints: list[tuple[str, str]] = []
    claims = [_read_claim(each, f"claims_lst, claim {place}", complaints) for place, each in enumerate(items, start=1)]
    more = {name: value for name, value in row.items() if name not in (*_KNOWN, *_COUNTED, "claims_lst")}
    document = answered_document(row, more, line=line, complaints=complaints)
    document.sentences = [one_sentence(document.response, claims)]
    for item, claim in zip(items, claims, strict=True):
        remember(claim.released, _key("claim"), item, _claim(claim))
    own = render(document)
    for name in (*_KNOWN, *_COUNTED):
        remember(document.released, _key(name), row.get(name, ABSENT), own[name])
    return document


def _read_claim(item: Mapping[str, Any], where: str, complaints: list[tuple[str, str]]) -> GoldClaim:
    text, result = item.get("claim"), item.get("verification_result")
    if not isinstance(text, str) or not text.strip():
        complaints.append((where, "no text in “claim”."))
        text = ""
    if result is not None and not isinstance(result, dict):
        complaints.append((where, f"expected an object as verification_result, found {kind_of(result)}."))
        result = None
    label = (result or {}).get("verification_label") or item.get("pre-label")
    said = LABELS.get(label.strip().casefold()) if isinstance(label, str) else None
    if said is None:
        shown = f"“{label[:40]}” isn’t a valid label" if isinstance(label, str) else "no label"
        if label == UNSURE:
            shown = "it is “unsure” and was not verified"
        complaints.append((where, f"{shown}; labels are {', '.join(LABELS)}."))
    reason, context = (result or {}).get("reasoning_for_verification_label"), (result or {}).get("verification_context")
    return GoldClaim(
        text=storable(text),
        type=ClaimType.FACTUAL if said else ClaimType.OTHER,
        worth_checking=True if said else None,
        factuality=said or "",
        reason=storable(reason) if said and isinstance(reason, str) else "",
        retrieved=_passages(storable(context)) if isinstance(context, str) else [],
    )


def _passages(context: str) -> list[GoldEvidence]:
    """The passages of a verification context. A passage that contains the next one's heading is cut there."""
    heads: list[re.Match[str]] = []
    for match in _PASSAGE.finditer(context):
        if int(match[1]) == len(heads) + 1:
            heads.append(match)
    ends = [match.start() for match in heads[1:]] + [len(context)] * bool(heads)
    return [
        GoldEvidence(
            passage=context[match.end() : end].removesuffix("\n\n"),
            url=match[2] if _URL.fullmatch(match[2]) else "",
            title="" if _URL.fullmatch(match[2]) else match[2],
        )
        for match, end in zip(heads, ends, strict=True)
    ]
