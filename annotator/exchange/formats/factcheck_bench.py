"""Writes the released format of Factcheck-Bench: one document per line, fields in the published names and order.

The ``own_…`` functions return the values that a record exports by itself, in the release's most frequent spelling. If
the record remembers a released spelling, that one is used instead (``annotator.core.released``).

Some things have no place in this format: a factual claim that isn't check-worthy is written as a factual claim without
stances, with "NA" for sufficiency and edit, and stances on added evidence are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from annotator.core.released import ABSENT, spelled, spelled_all
from annotator.core.released_labels import (
    CHECKWORTHINESS,
    IMPORTANCE,
    NEEDS_EDIT,
    NO_EVIDENCE_USED,
    NOT_APPLICABLE,
    SELF_RETRIEVED,
    STANCE,
)
from annotator.core.vocabulary import Factuality
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence

NAME = "factcheck-bench"


# Verify-stage fields with one item per claim.
_VERIFY_FIELDS = frozenset(
    {
        "if_automatic_evidence_enough_to_verify",
        "human_evidence",
        "auto_evidence",
        "auto_evidence_url",
        "stance_claim_autoEvid",
        "if_claim_needs_edit",
        "claims_factuality_label",
        "revised_claims",
        "usedEvidence_index_in_revision",
    }
)
# The published order of a document's and a sentence's fields.
DOCUMENT_FIELDS = ("prompt", "response", "revised_response", "response_factuality", "sentences")
SENTENCE_FIELDS = (
    "text",
    "decontext",
    "sentence_factuality_label",
    "revised_decontext",
    "sentence_checkworthiness",
    "most_importance_sentence",
)
CLAIM_FIELDS = (
    "claims",
    "claim_checkworthiness",
    "if_automatic_evidence_enough_to_verify",
    "human_evidence",
    "auto_evidence",
    "auto_evidence_url",
    "stance_claim_autoEvid",
    "if_claim_needs_edit",
    "claims_factuality_label",
    "revised_claims",
    "usedEvidence_index_in_revision",
    "if_most_important_claim",
)


def lines(documents: Iterable[GoldDocument]) -> Iterator[str]:
    """The lines of the file, including line breaks."""
    for document in documents:
        yield line(document) + "\n"


def line(document: GoldDocument) -> str:
    """The document as one line of the released file, without the line break, byte for byte as released."""
    # The release is compact ASCII with every slash escaped, which is how pandas writes JSON.
    return json.dumps(render(document), ensure_ascii=True, separators=(",", ":")).replace("/", "\\/")


def render(document: GoldDocument) -> dict[str, Any]:
    """The document as its line's JSON object. Stages without an adjudicated version give empty lists and "NA"."""
    values = spelled_all(document.released, own_document(document))
    values["sentences"] = {
        spelled(sentence.released, "name", own_name(number)): _render_sentence(sentence, document)
        for number, sentence in enumerate(document.sentences, start=1)
    }
    return _present(values)


def _render_sentence(sentence: GoldSentence, document: GoldDocument) -> dict[str, Any]:
    values = spelled_all(sentence.released, own_sentence(sentence, document))
    for name, items in claim_lists(sentence).items():
        there = document.verified or name not in _VERIFY_FIELDS
        # A list as a whole has its own spelling only if it isn't aligned with the claims.
        values[name] = spelled(sentence.released, name, items) if there else []
    return _present(values)


def claim_lists(sentence: GoldSentence) -> dict[str, list[Any]]:
    """The fields with one item per claim, spelled as released if the claim remembers it."""
    claims = [spelled_all(claim.released, own_claim(claim)) for claim in sentence.claims]
    return {name: [claim[name] for claim in claims] for name in CLAIM_FIELDS}


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not ABSENT}


# --- own values -----------------------------------------------------------------------------------


def own_name(number: int) -> str:
    return f"sentence{number}"


def own_document(document: GoldDocument) -> dict[str, Any]:
    """The own values of a document's fields, without its sentences."""
    return {
        "prompt": document.prompt,
        "response": document.response,
        "revised_response": document.revised_response,
        "response_factuality": _truth(document.is_true if document.verified else None, NOT_APPLICABLE),
    }


def own_sentence(sentence: GoldSentence, document: GoldDocument) -> dict[str, Any]:
    """The own values of a sentence's fields, without those that have one item per claim."""
    return {
        "text": sentence.text,
        "decontext": sentence.decontext,
        "sentence_factuality_label": _truth(sentence.is_true if document.verified else None, NOT_APPLICABLE),
        "revised_decontext": _revised_sentence(sentence) if document.revised else [],
        "sentence_checkworthiness": CHECKWORTHINESS.get(sentence.type, ""),
        "most_importance_sentence": IMPORTANCE.get(sentence.importance, ""),
    }


def own_claim(claim: GoldClaim) -> dict[str, Any]:
    """A claim's own item in each of the lists."""
    checked = claim.is_checked
    return {
        "claims": claim.text,
        "claim_checkworthiness": claim.type,
        "if_automatic_evidence_enough_to_verify": _yes_no(claim.evidence_sufficient) if checked else NOT_APPLICABLE,
        "human_evidence": "\n\n".join(map(_added_evidence, claim.added)) or NOT_APPLICABLE,
        "auto_evidence": [
            spelled(each.released, "auto_evidence", each.passage) if each.released else each.passage
            for each in claim.retrieved
        ],
        "auto_evidence_url": [
            spelled(each.released, "auto_evidence_url", each.url) if each.released else each.url
            for each in claim.retrieved
        ],
        "stance_claim_autoEvid": [STANCE.get(each.stance, "") for each in claim.retrieved] if checked else [],
        "if_claim_needs_edit": NEEDS_EDIT.get(claim.factuality, NOT_APPLICABLE) if checked else NOT_APPLICABLE,
        "claims_factuality_label": _truth(claim.is_true, "unknown"),
        "revised_claims": claim.revised,
        "usedEvidence_index_in_revision": _used_evidence(claim) if checked else NOT_APPLICABLE,
        "if_most_important_claim": IMPORTANCE.get(claim.importance, ""),
    }


def _truth(value: bool | None, otherwise: str) -> bool | str:
    return otherwise if value is None else value


def _yes_no(value: bool | None) -> str:
    if value is None:
        return NOT_APPLICABLE
    return "yes" if value else "no"


def _revised_sentence(sentence: GoldSentence) -> str:
    if sentence.deleted:
        return ""
    return sentence.text if sentence.revised is None else sentence.revised


def _added_evidence(evidence: GoldEvidence) -> str:
    return "\n".join(part for part in (evidence.passage, evidence.url) if part)


def _used_evidence(claim: GoldClaim) -> str:
    """The positions (from 1) of the retrieved passages used for the edit, and whether added ones were used."""
    if claim.factuality != Factuality.FALSE:
        return NO_EVIDENCE_USED
    used: list[str] = []
    for evidence in claim.rests_on:
        place = next((n for n, each in enumerate(claim.retrieved, start=1) if each is evidence), None)
        name = SELF_RETRIEVED if place is None else str(place)
        if name not in used:
            used.append(name)
    return ",".join(used) or NO_EVIDENCE_USED
