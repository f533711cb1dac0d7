"""VeriScore's three files, written and read: claims per sentence, evidence per claim, labels per claim.

Each file has the fields of the previous one and one more, as VeriScore's steps write them. They contain only checked
claims (VeriScore section 2.1: verifiable claims only). docs/formats/veriscore.md has the table of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from annotator.core.file_problems import BadRow
from annotator.core.lines import kind_of, read_objects
from annotator.core.released import ABSENT, remember, storable
from annotator.core.vocabulary import ClaimType, Factuality
from annotator.exchange.formats.claims_of_answers import answered_document, as_released, one_sentence, sentence_with
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence
from annotator.exchange.formats.incoming import place_of
from annotator.exchange.formats.writing import (
    Documents,
    Files,
    contents,
    document_key,
    evidence_of,
    json_line,
    model_of,
    source_of,
    temporary_files,
)

NAME = "veriscore"

CLAIMS_FILE, EVIDENCE_FILE, LABELS_FILE = "claims.jsonl", "evidence.jsonl", "verification.jsonl"
NO_CLAIM = "No verifiable claim."

SUPPORTED, CONTRADICTED, INCONCLUSIVE = "supported", "contradicted", "inconclusive"
UNSUPPORTED = "unsupported"  # the last two combined, as in most of VeriScore's files
LABELS = {
    SUPPORTED: Factuality.TRUE.value,
    CONTRADICTED: Factuality.FALSE.value,
    INCONCLUSIVE: Factuality.NOT_ENOUGH_EVIDENCE.value,
    UNSUPPORTED: Factuality.NOT_ENOUGH_EVIDENCE.value,
}
_WRITTEN = {Factuality.TRUE: SUPPORTED, Factuality.FALSE: CONTRADICTED, Factuality.NOT_ENOUGH_EVIDENCE: INCONCLUSIVE}

_ANSWER = ("question_id", "question", "prompt_source", "response", "prompt_tok_cnt", "response_tok_cnt", "model")
_CLAIMS = (*_ANSWER, "abstained", "sentences", "claim_list", "all_claim_lst")
_EVIDENCE = (*_CLAIMS, "claim_search_results")
_LABELS = (*_EVIDENCE, "claim_verification_result")
# The fields that a file doesn't have.
_LEFT_OUT = {
    file: frozenset(_LABELS).difference(fields)
    for file, fields in ((CLAIMS_FILE, _CLAIMS), (EVIDENCE_FILE, _EVIDENCE), (LABELS_FILE, _LABELS))
}


# --- writing --------------------------------------------------------------------------------------


def files(documents: Documents) -> Files:
    """The three files, in one pass over the documents."""
    with temporary_files(_LEFT_OUT) as found:
        for document in documents():
            fields = render(document)
            for name, left_out in _LEFT_OUT.items():
                row = {field: value for field, value in fields.items() if field not in left_out}
                found[name].write(json_line(row).encode())
        yield from contents(found)


def render(document: GoldDocument) -> dict[str, Any]:
    """A response with its checked claims, their evidence and labels. A claim without a verdict has no label."""
    claims = [claim for sentence in document.sentences for claim in sentence.claims if claim.is_checked]
    found = _search_results(claims)
    values: dict[str, Any] = {
        "question_id": document_key(document),
        "question": document.prompt,
        "prompt_source": source_of(document),
        "response": document.response,
        "prompt_tok_cnt": 0,
        "response_tok_cnt": 0,
        "model": model_of(document),
        "abstained": False,
        # VeriScore's files identify sentences only by their order.
        "sentences": [sentence.text for sentence in document.sentences],
        "claim_list": [_listed(sentence) for sentence in document.sentences],
        "all_claim_lst": list(found),
        "claim_search_results": found,
        "claim_verification_result": _labels(claims, found),
    }
    return as_released(document, NAME, values)


def _listed(sentence: GoldSentence) -> list[str]:
    return [claim.text for claim in sentence.claims if claim.is_checked] or [NO_CLAIM]


def _search_results(claims: list[GoldClaim]) -> dict[str, list[dict[str, str]]]:
    """Evidence by claim text, which is the key in these files. Claims with the same text share one list."""
    found: dict[str, list[dict[str, str]]] = {}
    for claim in claims:
        results = found.setdefault(claim.text, [])
        for each in evidence_of(claim):
            result = {"title": each.title, "snippet": each.passage, "link": each.url}
            if result not in results:
                results.append(result)
    return found


def _labels(claims: list[GoldClaim], found: Mapping[str, list[dict[str, str]]]) -> list[dict[str, str]]:
    """One label per distinct claim. If claims with the same text were judged differently, the first label counts."""
    judged: dict[str, str] = {}
    for claim in claims:
        if claim.factuality:
            judged.setdefault(claim.text, claim.factuality)
    return [
        {"claim": text, "search_results": _as_text(found[text]), "verification_result": _WRITTEN[Factuality(said)]}
        for text, said in judged.items()
    ]


def _as_text(results: list[dict[str, str]]) -> str:
    return "".join(
        f"Search result {number}\nTitle: {each['title']}\nLink: {each['link']}\nContent: {each['snippet']}\n\n"
        for number, each in enumerate(results, start=1)
    )


# --- reading --------------------------------------------------------------------------------------


def read(stream: BinaryIO) -> Iterator[GoldDocument | BadRow]:
    """Responses with claims as gold, from any of the three files. Raises ``FileError``.

    Without ``sentences`` (VeriScore's own files have none), the response counts as one sentence.
    """
    return read_objects(stream, _document)


def _document(row: Mapping[str, Any], line: int) -> GoldDocument:
    complaints: list[tuple[str, str]] = []
    claim_list = _texts_of_texts(row.get("claim_list"), complaints)
    results = _results(row.get("claim_search_results"), complaints)
    labels = _read_labels(row.get("claim_verification_result"), complaints)
    sentences = row.get("sentences")
    if sentences is not None and (
        not isinstance(sentences, list)
        or not all(isinstance(each, str) for each in sentences)
        or len(sentences) != len(claim_list)
    ):
        complaints.append(
            ("sentences", f"expected a list of {len(claim_list)} texts, one for each item of claim_list.")
        )
        sentences = None
    more = {name: value for name, value in row.items() if name not in _LABELS}
    document = answered_document(row, more, line=line, complaints=complaints)

    def claim(text: str) -> GoldClaim:
        return GoldClaim(
            text=storable(text),
            type=ClaimType.FACTUAL,
            worth_checking=True,
            factuality=labels.get(text, ""),
            retrieved=[_passage(each) for each in results.get(text, ())],
        )

    if sentences is None:
        different = dict.fromkeys(text for texts in claim_list for text in texts if text != NO_CLAIM)
        document.sentences = [one_sentence(document.response, map(claim, different))]
    else:
        document.sentences = list(_placed(document.response, sentences, claim_list, claim))
    own = render(document)
    for name in _LABELS:
        remember(document.released, f"{NAME}.{name}", row.get(name, ABSENT), own[name])
    return document


def _placed(
    response: str, sentences: list[str], claim_list: list[list[str]], claim: Callable[[str], GoldClaim]
) -> Iterator[GoldSentence]:
    """The sentences with their claims, each at its position in the response if it occurs there."""
    position = 0
    for text, texts in zip(sentences, claim_list, strict=True):
        sentence = sentence_with(storable(text), [claim(each) for each in texts if each != NO_CLAIM])
        place = place_of(sentence.text, response, position)
        if place:
            sentence.start, sentence.end = place
            position = place[1]
        yield sentence


def _passage(result: Mapping[str, Any]) -> GoldEvidence:
    title, snippet, link = (
        storable(value) if isinstance(value := result.get(name), str) else "" for name in ("title", "snippet", "link")
    )
    return GoldEvidence(passage=snippet, url=link, title=title)


def _texts_of_texts(value: Any, complaints: list[tuple[str, str]]) -> list[list[str]]:
    """The claims of each sentence."""
    if isinstance(value, list) and all(
        isinstance(each, list) and all(isinstance(text, str) and text.strip() for text in each) for each in value
    ):
        return value
    complaints.append(("claim_list", "expected a list with one list of texts per sentence. Is this a VeriScore file?"))
    return []


def _results(value: Any, complaints: list[tuple[str, str]]) -> dict[str, list[dict[str, Any]]]:
    """What was found for each claim, by its text. A file of claims has no evidence yet."""
    if value is None:
        return {}
    if isinstance(value, dict) and all(
        isinstance(each, list) and all(isinstance(one, dict) for one in each) for each in value.values()
    ):
        return value
    complaints.append(
        ("claim_search_results", "expected an object with a list of title, snippet and link for each claim.")
    )
    return {}


def _read_labels(value: Any, complaints: list[tuple[str, str]]) -> dict[str, str]:
    """Factuality by the claim's text."""
    said: dict[str, str] = {}
    if value is None:
        return said
    if not isinstance(value, list):
        complaints.append(("claim_verification_result", f"expected a list, found {kind_of(value)}."))
        return said
    for number, each in enumerate(value, start=1):
        text, label = (each.get("claim"), each.get("verification_result")) if isinstance(each, dict) else (None, None)
        meaning = LABELS.get(label.strip(" .").casefold()) if isinstance(label, str) else None
        if not isinstance(text, str) or meaning is None:
            shown = f"“{label[:40]}”" if isinstance(label, str) else kind_of(label)
            complaints.append(
                (
                    "claim_verification_result",
                    f"number {number} needs a text as claim and one of {', '.join(LABELS)} as verification_result; "
                    f"the label is {shown}.",
                )
            )
            continue
        said.setdefault(text, meaning)
    return said
