"""What a release says of itself, and how two are compared; without a database."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
import yaml

from annotator.exchange.exports.release_texts import (
    bibtex,
    changelog,
    changes_of,
    citation,
    citation_cff,
    licence_note,
)
from annotator.exchange.formats.gold import GoldClaim, GoldDocument, GoldEvidence, GoldSentence
from annotator.exchange.models import Release
from annotator.exchange.releases.differences import (
    Fingerprint,
    ReleaseDifference,
    compare,
    difference_from,
    fingerprint,
)


def release(**fields: Any) -> Release:
    """A release that is in no database."""
    given = {
        "version": "1.0",
        "title": "Landmarks",
        "licence": "CC-BY-4.0",
        "authors": ["Lovelace, Ada", "The Trial team"],
        "created_at": dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC),
    }
    return Release(**(given | fields))


# --- texts ----------------------------------------------------------------------------------------


def test_the_citation_file_is_yaml_whatever_the_title_is():
    found = yaml.safe_load(citation_cff(release(title='Say "yes": 50% # of {claims}', authors=["O'Neil, Ö.", "A: B"])))
    assert found["title"] == 'Say "yes": 50% # of {claims}'
    assert found["authors"] == [{"family-names": "O'Neil", "given-names": "Ö."}, {"name": "A: B"}]
    assert (found["type"], found["version"], found["license"]) == ("dataset", "1.0", "CC-BY-4.0")
    assert found["date-released"] == dt.date(2026, 3, 1)


def test_a_licence_that_spdx_does_not_know_is_no_spdx_name():
    assert "license" not in yaml.safe_load(citation_cff(release(licence="Ask us")))
    found = yaml.safe_load(citation_cff(release(licence="https://example.org/terms")))
    assert found["license-url"] == "https://example.org/terms"
    assert "spdx.org" in licence_note(release()) and "spdx.org" not in licence_note(release(licence="Ask us"))


def test_citations():
    assert citation(release()) == "Lovelace, Ada; The Trial team (2026). Landmarks, version 1.0 [Dataset]."
    found = bibtex(release(title="R&D: 50% of {it}", sha256="ab12"))
    assert found.startswith("@misc{lovelace2026,\n")
    assert "author = {Lovelace, Ada and {The Trial team}}" in found
    assert r"title = {{R\&D: 50\% of it}}" in found and "ab12" in found


def test_a_changelog_without_words_tells_what_the_data_says():
    first = release()
    second = release(version="1.1", difference=ReleaseDifference(added=2).as_json(), mends=first)
    assert changes_of(first) == "The first release."
    assert changes_of(second) == "- 2 documents added."
    told = changelog([second, first])
    assert told.index("## 1.1 (2026-03-01)") < told.index("Erratum: corrects 1.0.")
    assert told.endswith("The first release.\n")


# --- differences ----------------------------------------------------------------------------------


def document(**fields: Any) -> GoldDocument:
    """A document with one claim on one passage."""
    passage = GoldEvidence(passage="A passage.", stance="refute", public_id="e1")
    claim = GoldClaim("A claim.", type="factual", worth_checking=True, factuality="true", public_id="c1")
    claim.retrieved = [passage]
    given = {"prompt": "p", "response": "r", "revised_response": "r", "public_id": "d1"} | fields
    return GoldDocument(sentences=[GoldSentence("A sentence.", claims=[claim], public_id="s1")], **given)


def changed(**fields: Any) -> ReleaseDifference:
    """From the document to the same with these fields of its claim."""
    after = document()
    for name, value in fields.items():
        setattr(after.sentences[0].claims[0], name, value)
    return compare({"d1": fingerprint(document())}, {"d1": fingerprint(after)})


def test_the_same_document_has_the_same_fingerprint():
    assert fingerprint(document()) == fingerprint(document())
    assert compare({"d1": fingerprint(document())}, {"d1": fingerprint(document())}) == ReleaseDifference(same=1)


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({"factuality": "false"}, {"labels": {"true > false": 1}}),
        ({"factuality": ""}, {"labels": {"true > ": 1}}),
        ({"worth_checking": False}, {"labels": {"true > not_checked": 1}}),
        ({"type": "opinion"}, {"labels": {"true > opinion": 1}}),
        ({"text": "Another claim."}, {"claims_reworded": 1}),
        ({"public_id": "c2"}, {"claims_added": 1, "claims_removed": 1}),
        ({"retrieved": []}, {"passages_removed": 1}),
        ({"retrieved": [GoldEvidence("A passage.", stance="irrelevant", public_id="e1")]}, {"stances": 1}),
        ({"reason": "It is well known."}, {}),
    ],
)
def test_what_changed_in_a_claim_is_counted(fields, counted):
    assert changed(**fields) == ReleaseDifference(changed=1, **counted)


def test_texts_of_the_document_are_counted():
    after = document(prompt="q", revised_response="s")
    assert compare({"d1": fingerprint(document())}, {"d1": fingerprint(after)}) == ReleaseDifference(
        changed=1, answers=1, revised=1
    )


def test_documents_that_came_went_and_moved():
    def held(content: str, split: str) -> Fingerprint:
        return Fingerprint(content, "", split)

    before = {"a": held("1", "train"), "b": held("2", "dev"), "c": held("3", "test")}
    after = {"a": held("1", "test"), "b": held("2", ""), "d": held("4", "train")}
    assert compare(before, after) == ReleaseDifference(added=1, removed=1, same=2, moved=1)


def test_a_difference_is_told_in_sentences_and_survives_json():
    found = ReleaseDifference(added=1, changed=1200, labels={"true > false": 2, "false > ": 1, "true > opinion": 1})
    assert found.lines() == [
        "1 document added.",
        "1,200 documents changed.",
        "4 claims changed label: 2 from true to false, 1 from false to no label, 1 from true to opinion.",
    ]
    assert difference_from(json.loads(json.dumps(found.as_json()))) == found
    assert ReleaseDifference(same=3).lines() == ["The data did not change."]
