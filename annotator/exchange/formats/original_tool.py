"""The files of the original tool's three screens, written and read: the input and output of each screen.

A document has six files, ``0_screen1.json`` to ``0_screen3_output.json``, laid out as the tool and its scripts do.
Their fields are those of the released format under other names, so the values and their remembered spellings come from
``annotator.exchange.formats.factcheck_bench``. docs/formats/original-tool.md has the table.
"""

from __future__ import annotations

import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from annotator.core import released_labels
from annotator.core.file_problems import BadRow, FileError, RowError
from annotator.core.lines import MAX_LINE_BYTES, FileLine, json_object
from annotator.core.released import remember, spelled, storable_json, storable_text
from annotator.exchange.formats import factcheck_bench, factcheck_bench_reader
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.incoming import FIELDS, hash_of, picked
from annotator.exchange.formats.writing import Documents, document_key, metadata_of, source_of

NAME = "original-tool"
INDENT = 4  # of all but one of the tool's files

# The tool's names for the fields of the released format.
FIELD_NAMES = {
    "text": "text",
    "decontext": "decontext",
    "revised_decontext": "revised_sentence",
    "sentence_checkworthiness": "factCheck",
    "most_importance_sentence": "Most_importance_sentence",
    "claims": "Claims",
    "claim_checkworthiness": "boolClaim",
    "if_automatic_evidence_enough_to_verify": "if_evidence_enough",
    "human_evidence": "human_evidence",
    "auto_evidence": "evidence",
    "auto_evidence_url": "url",
    "stance_claim_autoEvid": "stances",
    "if_claim_needs_edit": "boolEdit",
    "revised_claims": "revised_Claims",
    "usedEvidence_index_in_revision": "usedEvidence",
    "if_most_important_claim": "Most_important_claim",
}
_TAKEN_FROM = {name: released for released, name in FIELD_NAMES.items()}

# A sentence's fields in each file, in the tool's order. Screen 2 drops the URLs, screen 3 what people found.
_SCREEN_1_OUTPUT = (
    "decontext",
    "Most_importance_sentence",
    "factCheck",
    "Claims",
    "boolClaim",
    "Most_important_claim",
)
_SCREEN_2 = (*_SCREEN_1_OUTPUT, "evidence", "url")
_JUDGED = ("evidence", "stances", "boolEdit", "revised_Claims", "usedEvidence", "Most_important_claim")
_SCREEN_2_OUTPUT = (
    *("decontext", "factCheck", "Most_importance_sentence", "Claims", "boolClaim"),
    *("if_evidence_enough", "human_evidence", *_JUDGED),
)
_SCREEN_3 = (*_SCREEN_2_OUTPUT, "text")
_SCREEN_3_OUTPUT = (
    *("text", "revised_sentence", "decontext", "factCheck", "Most_importance_sentence", "Claims", "boolClaim"),
    *_JUDGED,
)

_FILE = re.compile(r"(?:.*/)?(?P<document>[^/]+)_screen(?P<screen>[123])(?P<output>_output)?\.json")
_DERIVED = ("response_factuality", "sentence_factuality_label", "claims_factuality_label")


# --- writing --------------------------------------------------------------------------------------


def files(documents: Documents) -> Iterator[tuple[str, list[str]]]:
    """The files of all documents, numbered from 0. A stage that isn't adjudicated has no output."""
    for number, document in enumerate(documents()):
        for name, text in screens(document).items():
            yield f"{number}_{name}.json", [text]


def screens(document: GoldDocument) -> dict[str, str]:
    """A document's files by the part of their names after the number."""
    rendered = factcheck_bench.render(document)["sentences"]
    sentences = {name: _named(values) for name, values in rendered.items()}
    start = {"prompt": document.prompt, "response": document.response}
    found = {"screen1": _json(_screen_1(document))}
    if sentences:
        found["screen1_output"] = _json(_only(sentences, _SCREEN_1_OUTPUT), indent=2)
        found["screen2"] = json.dumps(storable_json(_only(sentences, _SCREEN_2)), indent=INDENT)
    if document.verified:
        found["screen2_output"] = _json(_only(sentences, _SCREEN_2_OUTPUT))
        found["screen3"] = _json(start | {"sentences": _only(sentences, _SCREEN_3)})
    if document.revised:
        start["revised_response"] = document.revised_response
        found["screen3_output"] = _json(start | {"sentences": _only(sentences, _SCREEN_3_OUTPUT)})
    return found


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    """A released sentence in the tool's names."""
    named = {FIELD_NAMES[name]: value for name, value in values.items() if name in FIELD_NAMES}
    if not named.get("Claims") and not named.get("revised_Claims"):
        # If there is no claim to correct, screen 3 gets the sentence itself.
        named["revised_Claims"] = [named.get("text", "")]
    return named


def _only(sentences: Mapping[str, Mapping[str, Any]], fields: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {key: {name: values[name] for name in fields if name in values} for key, values in sentences.items()}


def _screen_1(document: GoldDocument) -> dict[str, Any]:
    """The tool's input. Its claims are the adjudicated ones, unless the file recorded what a machine had proposed."""
    own = _own_screen_1(document)
    values = {name: spelled(document.released, _key(name), value) for name, value in own.items()}
    more = {name: value for name, value in metadata_of(document).items() if name not in values}
    return {"prompt": document.prompt, "response": document.response} | values | more


def _own_screen_1(document: GoldDocument) -> dict[str, Any]:
    return {
        "sentences": [sentence.text for sentence in document.sentences],
        "atomic claims": [[claim.text for claim in sentence.claims] for sentence in document.sentences],
        "source": source_of(document),
        "id": document_key(document),
    }


def _key(name: str) -> str:
    """The name under which the spelling of a field of screen 1 is remembered."""
    return f"{NAME}.{name}"


def _json(value: Any, *, indent: int = INDENT) -> str:
    return storable_text(value, indent=indent)


# --- reading --------------------------------------------------------------------------------------


def read(stream: BinaryIO) -> Iterator[GoldDocument | BadRow]:
    """The finished documents of a ZIP of such files, sorted by name; "line" counts documents.

    A document needs ``screen3_output``. ``screen2`` adds the URLs of its evidence, ``screen2_output`` what people
    found, ``screen1`` its source and id. Raises ``FileError``.
    """
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):  # the last: packed in a way zipfile cannot
        raise FileError(
            "This isn’t a ZIP file. Put the screen files (0_screen1.json … 0_screen3_output.json) into one ZIP."
        ) from None
    with archive:
        found = _grouped(archive)
        for number, (name, parts) in enumerate(found.items(), start=1):
            try:
                yield _read(_Opened(archive, name, parts), number)
            except RowError as error:
                yield RowError(*((_place(name, field), why) for field, why in error.complaints)).at(number)


def _grouped(archive: zipfile.ZipFile) -> dict[str, dict[str, zipfile.ZipInfo]]:
    """The files by document and screen, documents in the order of their numbers."""
    found: dict[str, dict[str, zipfile.ZipInfo]] = {}
    for info in archive.infolist():
        match = _FILE.fullmatch(info.filename)
        if match:
            screen = f"screen{match['screen']}{match['output'] or ''}"
            parts = found.setdefault(match["document"], {})
            if screen in parts:
                raise FileError(
                    f"The ZIP has {match['document']}_{screen}.json twice, as {parts[screen].filename} and "
                    f"{info.filename}. Give each document a unique name, even across folders."
                )
            parts[screen] = info
    if not found:
        raise FileError(
            "There is no file of the original tool in this ZIP: they are called 0_screen1.json, 0_screen1_output.json "
            "… 0_screen3_output.json, with any name before the “_screen”."
        )
    return dict(sorted(found.items(), key=lambda each: _in_order(each[0])))


def _in_order(name: str) -> tuple[int, str]:
    """Numbers sort by value, after all other names. What is too long to be a number is a name."""
    return (int(name) if name.isdecimal() and len(name) <= 18 else -1, name)


@dataclass(slots=True)
class _Opened:
    """One document's files in the archive."""

    archive: zipfile.ZipFile
    name: str
    parts: Mapping[str, zipfile.ZipInfo]
    contents: dict[str, dict[str, Any]] = field(default_factory=dict)

    def object(self, screen: str) -> dict[str, Any]:
        """A screen's JSON object; {} without such a file. Raises ``RowError``."""
        info = self.parts.get(screen)
        if info is None:
            return {}
        if info.file_size > MAX_LINE_BYTES:
            raise RowError((screen, "the file is larger than 16 MiB. Split the document."))
        try:
            raw = self.archive.read(info)
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError) as error:
            raise RowError((screen, f"the file cannot be extracted from the ZIP: {error}.")) from None
        try:
            value = json_object(FileLine(1, 0, raw.removeprefix(b"\xef\xbb\xbf")).text())
        except RowError as error:
            raise RowError((screen, error.complaints[0][1])) from None
        self.contents[screen] = value
        return value


def _read(opened: _Opened, number: int) -> GoldDocument:
    final = opened.object("screen3_output")
    if not final:
        raise RowError(
            (
                "screen3_output",
                "it is missing, so the document is not finished. Import its screen1 file as a document instead.",
            )
        )
    first = opened.object("screen1")
    row = _about(first) | {name: final[name] for name in ("prompt", "response", "revised_response") if name in final}
    # A derived label is in none of the files, so a blank one isn't remembered.
    row |= {"response_factuality": "", "sentences": _merged(final, opened)}
    try:
        document = factcheck_bench_reader.parse(row, number)
    except RowError as error:
        raise RowError(*((_in_words_of_the_tool(field), why) for field, why in error.complaints)) from None
    _forget_derived(document)
    own = _own_screen_1(document)
    for name, value in own.items():
        if first:
            remember(document.released, _key(name), first.get(name, value), value)
    document.content_hash = hash_of(opened.contents)
    return document


def _about(first: Mapping[str, Any]) -> dict[str, Any]:
    """What screen 1 says about the document. Fields that the tool doesn't know become metadata."""
    known = ("sentences", "atomic claims", "prompt", "response")
    values = picked({name: value for name, value in first.items() if name not in known}, None)
    return {name: value for name, value in values.items() if name in FIELDS}


def _merged(final: Mapping[str, Any], opened: _Opened) -> dict[str, Any]:
    """The sentences of screen 3 in the released names, completed from screens 1 and 2."""
    sentences = final.get("sentences")
    if not isinstance(sentences, dict):
        raise RowError(("screen3_output.sentences", "expected an object with sentence1, sentence2 …."))
    judged, retrieved = opened.object("screen2_output"), opened.object("screen2")
    merged: dict[str, Any] = {}
    for key, values in sentences.items():
        if not isinstance(values, dict):
            raise RowError((f"screen3_output.sentences.{key}", "an object is needed."))
        more = {name: _of(judged, key, name) for name in ("if_evidence_enough", "human_evidence")}
        more["url"] = _of(retrieved, key, "url")
        given = values | {name: value for name, value in more.items() if value is not None}
        merged[key] = _released(given)
    return merged


def _of(screen: Mapping[str, Any], key: str, name: str) -> Any:
    sentence = screen.get(key)
    return sentence.get(name) if isinstance(sentence, dict) else None


def _released(values: Mapping[str, Any]) -> dict[str, Any]:
    """A sentence in the released names. Missing values are filled in the way the release writes "none"."""
    row = {_TAKEN_FROM[name]: value for name, value in values.items() if name in _TAKEN_FROM}
    claims = row.get("claims")
    count = len(claims) if isinstance(claims, list) else 0
    evidence = row.get("auto_evidence")
    passages = evidence if isinstance(evidence, list) else []
    blanks = {
        "if_automatic_evidence_enough_to_verify": [released_labels.NOT_APPLICABLE] * count,
        "human_evidence": [released_labels.NOT_APPLICABLE] * count,
        "auto_evidence_url": [[""] * len(each) if isinstance(each, list) else [] for each in passages],
        "claims_factuality_label": ["unknown"] * count,
    }
    return {"sentence_factuality_label": ""} | blanks | row


def _forget_derived(document: GoldDocument) -> None:
    """Derives labels again that the files don't contain."""
    document.released.pop(_DERIVED[0], None)
    for sentence in document.sentences:
        sentence.released.pop(_DERIVED[1], None)
        for claim in sentence.claims:
            claim.released.pop(_DERIVED[2], None)


def _place(name: str, field: str) -> str:
    """Where a problem is: in one of the document's files, or in their combination."""
    return f"{name}_{field}" if field.startswith("screen") else f"{name}, {field}"


def _in_words_of_the_tool(field: str) -> str:
    """A complaint's field under the tool's name instead of the released one."""
    where, _, name = field.rpartition(".")
    return f"{where}.{FIELD_NAMES.get(name, name)}" if where else FIELD_NAMES.get(name, name)
