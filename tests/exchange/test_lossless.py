"""Lossless by the model, not by an echo of the file: a change through the app shows in the export, and only that."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import (
    Annotation,
    Benchmark,
    Claim,
    ClaimRevision,
    Document,
    Evidence,
    ResponseRevision,
    Sentence,
    SentenceRevision,
    Stance,
    User,
    Verdict,
)
from annotator.core.models.base import Record
from annotator.core.vocabulary import STAGES, Stage
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.formats.factcheck_bench import CLAIM_FIELDS
from annotator.stages.actions import decompose, documents, revise, saving, verify
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.revise import confirm_sentence, keep_response
from annotator.stages.actions.submit import submit
from tests.factories import UserFactory, save
from tests.released import export_lines, released_claim, released_document, released_sentence

pytestmark = pytest.mark.django_db

TRUE_CLAIM = "Ada Lovelace wrote notes on an engine."
FALSE_CLAIM = "The notes are from 1842."
UNDECIDED_CLAIM = "Ada Lovelace liked cogs."

Change = Callable[[Annotation, User], None]


@pytest.fixture
def owner() -> User:
    return UserFactory()


@pytest.fixture
def benchmark(owner: User) -> Benchmark:
    return create_benchmark(slug="gold", name="Gold", by=owner)


def bring(benchmark: Benchmark, *rows: dict[str, Any]) -> None:
    content = "\n".join(json.dumps(row) for row in rows)
    report = import_gold(benchmark=benchmark, source=io.BytesIO(content.encode()))
    assert (report.imported, report.bad) == (len(rows), 0), report.problems


def work_through(document: Document, stage: Stage, owner: User, *changes: Change) -> None:
    """Reopen a stage, change something in it, and submit it and all that come after it."""
    documents.reopen(document, stage, "a test", by=owner)
    for each in STAGES[STAGES.index(stage) :]:
        document.refresh_from_db()
        annotation = open_annotation(document, each, by=owner)
        for change in changes:
            change(annotation, owner)
        for row in annotation.sentence_revisions.filter(text_origin="", deleted=False):
            confirm_sentence(row, by=owner)  # its claims were agreed anew; the text is right as it stands
        submit(annotation, by=owner)
    document.refresh_from_db()
    assert document.is_gold


def at(stage: Stage, change: Change) -> Change:
    """A change that belongs to one stage, and leaves the annotations of the others alone."""

    def at_its_stage(annotation: Annotation, owner: User) -> None:
        if annotation.stage == stage:
            change(annotation, owner)

    return at_its_stage


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Every value of a JSON object by its path. An empty list or object is a value too."""
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {key: leaf for name, each in items for key, leaf in leaves(each, f"{path}/{name}").items()}
    return {path: json.dumps(value)}


def exported(benchmark: Benchmark) -> dict[str, Any]:
    [line] = export_lines(benchmark)
    return leaves(json.loads(line))


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What became of each value that changed: its new JSON value, None where it is gone."""
    return {
        path: json.loads(after[path]) if path in after else None
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }


# --- nothing is changed ---------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_work_taken_up_and_handed_in_again_changes_nothing(benchmark, owner, stage):
    bring(benchmark, released_document())
    before = exported(benchmark)
    work_through(Document.objects.get(), stage, owner, _answer_what_the_release_leaves_open)
    assert differences(before, exported(benchmark)) == {}


def _answer_what_the_release_leaves_open(annotation: Annotation, owner: User) -> None:
    """Stances on evidence that people added stand nowhere in the release, but are asked for at submit; so is whether a
    response stays that no longer fits its sentences."""
    if annotation.stage == Stage.REVISE:
        keep_response(annotation, by=owner)
    for stance in Stance.objects.filter(annotation=annotation, label="", evidence__annotation=annotation):
        save(stance, "label", "refute", owner)


# --- one value is changed -------------------------------------------------------------------------


def sentence_of(annotation: Annotation, number: int) -> Sentence:
    return annotation.sentences.filter(removed="").order_by("order")[number - 1]


def claim_of(annotation: Annotation, text: str) -> Claim:
    return Claim.objects.get(sentence__annotation=annotation, text=text)


def verdict_on(annotation: Annotation, text: str) -> Verdict:
    return Verdict.objects.get(annotation=annotation, claim__text=text)


def saves(find: Callable[[Annotation], Record], name: str, value: str) -> Change:
    return lambda annotation, owner: (save(find(annotation), name, value, owner), None)[1]


def _decide_again(annotation: Annotation, owner: User) -> None:
    """The claim's text was changed, so that stances and verdict are asked for again: the same as before."""
    open_stances = Stance.objects.filter(annotation=annotation, label="").order_by("evidence__order")
    for stance, label in zip(open_stances, ("completely_support", "irrelevant"), strict=True):
        save(stance, "label", label, owner)
    for name, value in (("factuality", "true"), ("evidence_sufficient", "yes")):
        save(verdict_on(annotation, "She wrote notes."), name, value, owner)


def _add_evidence(annotation: Annotation, owner: User) -> None:
    claim = verdict_on(annotation, TRUE_CLAIM).claim
    verify.add_evidence(annotation, claim, by=owner, url="https://example.org/new", passage="She wrote notes.")


def _rest_on_the_second_passage(annotation: Annotation, owner: User) -> None:
    verdict = verdict_on(annotation, FALSE_CLAIM)
    second = Evidence.objects.filter(claim=verdict.claim, annotation=None).order_by("order")[1]
    verify.set_rests_on(verdict, second, True, by=owner)


S1, S2, S3 = ("/sentences/sentence1", "/sentences/sentence2", "/sentences/sentence3")
UNCHECKED: dict[str, Any] = {
    f"{S1}/if_automatic_evidence_enough_to_verify/0": "NA",
    f"{S1}/stance_claim_autoEvid/0": [],
    f"{S1}/stance_claim_autoEvid/0/0": None,
    f"{S1}/stance_claim_autoEvid/0/1": None,
    f"{S1}/if_claim_needs_edit/0": "NA",
    f"{S1}/claims_factuality_label/0": "unknown",
    f"{S1}/usedEvidence_index_in_revision/0": "NA",
}


@pytest.mark.parametrize(
    ("stage", "changes", "expected"),
    [
        pytest.param(
            Stage.DECOMPOSE,
            [saves(lambda a: sentence_of(a, 1), "decontext", "Lovelace wrote notes.")],
            {f"{S1}/decontext": "Lovelace wrote notes."},
            id="decontext",
        ),
        pytest.param(
            Stage.DECOMPOSE,
            [saves(lambda a: sentence_of(a, 3), "type", "opinion")],
            {f"{S3}/sentence_checkworthiness": "opinion"},
            id="sentence_checkworthiness",
        ),
        pytest.param(
            Stage.DECOMPOSE,
            [saves(lambda a: sentence_of(a, 3), "importance", "most")],
            {f"{S3}/most_importance_sentence": "yes"},
            id="most_importance_sentence",
        ),
        pytest.param(
            Stage.DECOMPOSE,
            [
                at(Stage.DECOMPOSE, saves(lambda a: claim_of(a, TRUE_CLAIM), "text", "She wrote notes.")),
                at(Stage.VERIFY, _decide_again),
            ],
            {f"{S1}/claims/0": "She wrote notes.", f"{S1}/revised_claims/0": "She wrote notes."},
            id="claims",
        ),
        pytest.param(
            Stage.DECOMPOSE,
            [saves(lambda a: claim_of(a, TRUE_CLAIM), "type", "opinion")],
            {f"{S1}/claim_checkworthiness/0": "opinion"} | UNCHECKED,
            id="claim_checkworthiness",
        ),
        pytest.param(
            Stage.DECOMPOSE,
            [saves(lambda a: claim_of(a, TRUE_CLAIM), "worth_checking", "no")],
            UNCHECKED,
            id="worth_checking",
        ),
        pytest.param(
            Stage.DECOMPOSE,
            [saves(lambda a: claim_of(a, TRUE_CLAIM), "importance", "intermediate")],
            {f"{S1}/if_most_important_claim/0": "intermediate"},
            id="if_most_important_claim",
        ),
        pytest.param(
            Stage.VERIFY,
            [saves(lambda a: verdict_on(a, TRUE_CLAIM), "evidence_sufficient", "no")],
            {f"{S1}/if_automatic_evidence_enough_to_verify/0": "no"},
            id="if_automatic_evidence_enough_to_verify",
        ),
        pytest.param(
            Stage.VERIFY,
            [
                saves(
                    lambda a: a.stances.filter(evidence__claim__text=TRUE_CLAIM).order_by("evidence__order")[1],
                    "label",
                    "partially_support",
                )
            ],
            {f"{S1}/stance_claim_autoEvid/0/1": "partially-support"},
            id="stance_claim_autoEvid",
        ),
        pytest.param(
            Stage.VERIFY,
            [_add_evidence],
            {f"{S1}/human_evidence/0": "She wrote notes.\nhttps://example.org/new"},
            id="human_evidence added",
        ),
        pytest.param(
            Stage.VERIFY,
            [saves(lambda a: a.added_evidence.get(), "passage", "They are from 1843.")],
            {f"{S1}/human_evidence/1": "They are from 1843.\nhttps://example.org/notes"},
            id="human_evidence changed",
        ),
        pytest.param(
            Stage.VERIFY,
            [saves(lambda a: verdict_on(a, TRUE_CLAIM), "factuality", "not_enough_evidence")],
            {f"{S1}/if_claim_needs_edit/0": "not_enough_evidence", f"{S1}/claims_factuality_label/0": "unknown"},
            id="if_claim_needs_edit",
        ),
        pytest.param(
            Stage.VERIFY,
            [lambda a, owner: verify.set_revised_claim(verdict_on(a, FALSE_CLAIM), "They are late.", by=owner)],
            {f"{S1}/revised_claims/1": "They are late."},
            id="revised_claims of a false claim",
        ),
        pytest.param(
            Stage.VERIFY,
            [_rest_on_the_second_passage],
            {f"{S1}/usedEvidence_index_in_revision/1": "1,self-retrieved,2"},
            id="usedEvidence_index_in_revision",
        ),
        pytest.param(
            Stage.REVISE,
            [saves(lambda a: ClaimRevision.objects.get(annotation=a), "text", "Perhaps she did.")],
            {f"{S2}/revised_claims/2": "Perhaps she did."},
            id="revised_claims of an undecided claim",
        ),
        pytest.param(
            Stage.REVISE,
            [saves(lambda a: ClaimRevision.objects.get(annotation=a), "handling", "delete")],
            {f"{S2}/revised_claims/2": ""},
            id="revised_claims deleted",
        ),
        pytest.param(
            Stage.REVISE,
            [saves(lambda a: revision_of(a, 1), "text", "She wrote notes in 1843.")],
            {f"{S1}/revised_decontext": "She wrote notes in 1843."},
            id="revised_decontext",
        ),
        pytest.param(
            Stage.REVISE,
            [lambda a, owner: revise.set_deleted(revision_of(a, 1), True, by=owner)],
            {f"{S1}/revised_decontext": ""},
            id="revised_decontext deleted",
        ),
        pytest.param(
            Stage.REVISE,
            [lambda a, owner: revise.set_deleted(revision_of(a, 2), False, by=owner)],
            {f"{S2}/revised_decontext": "She built it herself."},
            id="revised_decontext brought back",
        ),
        pytest.param(
            Stage.REVISE,
            [saves(lambda a: revision_of(a, 3), "text", "I hope so.")],
            {f"{S3}/revised_decontext": "I hope so."},
            id="revised_decontext where there was none",
        ),
        pytest.param(
            Stage.REVISE,
            [saves(lambda a: ResponseRevision.objects.get(annotation=a), "text", "She wrote notes.")],
            {"/revised_response": "She wrote notes."},
            id="revised_response",
        ),
    ],
)
def test_exactly_the_changed_value_and_what_follows_from_it_changes(benchmark, owner, stage, changes, expected):
    bring(benchmark, released_document())
    before = exported(benchmark)
    one_stage = [change if len(changes) > 1 else at(stage, change) for change in changes]
    work_through(Document.objects.get(), stage, owner, *one_stage, _answer_what_the_release_leaves_open)
    assert differences(before, exported(benchmark)) == expected


def revision_of(annotation: Annotation, number: int) -> SentenceRevision:
    return annotation.sentence_revisions.order_by("sentence__order")[number - 1]


def test_the_factuality_of_sentence_and_document_follows_from_the_claim(benchmark, owner):
    false = released_claim(
        FALSE_CLAIM,
        if_claim_needs_edit="yes",
        claims_factuality_label=False,
        revised_claims="The notes are from 1843. ",
        usedEvidence_index_in_revision="1, 2",
    )
    sentence = released_sentence("She built it herself.", [false], truth=False)
    bring(benchmark, released_document(sentences={"sentence1": sentence}))
    before = exported(benchmark)
    change = saves(lambda a: verdict_on(a, FALSE_CLAIM), "factuality", "true")
    work_through(Document.objects.get(), Stage.VERIFY, owner, at(Stage.VERIFY, change))
    assert differences(before, exported(benchmark)) == {
        f"{S1}/if_claim_needs_edit/0": "no",
        f"{S1}/claims_factuality_label/0": True,
        f"{S1}/revised_claims/0": FALSE_CLAIM,
        f"{S1}/usedEvidence_index_in_revision/0": "-1",
        f"{S1}/sentence_factuality_label": True,
        "/response_factuality": True,
    }


def test_a_sentence_that_is_no_longer_checkworthy_gives_its_claims_up(benchmark, owner):
    bring(benchmark, released_document())
    before = exported(benchmark)
    change = saves(lambda a: sentence_of(a, 1), "type", "opinion")
    work_through(Document.objects.get(), Stage.DECOMPOSE, owner, at(Stage.DECOMPOSE, change))
    changed = differences(before, exported(benchmark))
    assert changed.pop(f"{S1}/sentence_checkworthiness") == "opinion"
    assert changed.pop(f"{S1}/sentence_factuality_label") == "NA"
    lists = {path: value for path, value in changed.items() if value is not None}
    assert lists == {f"{S1}/{name}": [] for name in CLAIM_FIELDS}
    assert {path.split("/")[3] for path in changed} == set(CLAIM_FIELDS)


def test_a_sentence_that_is_split_gives_two(benchmark, owner):
    bring(benchmark, released_document())
    before = exported(benchmark)

    def split(annotation: Annotation, person: User) -> None:
        decompose.split_sentence(sentence_of(annotation, 3), len("I hope "), by=person)

    def label(annotation: Annotation, person: User) -> None:
        save(sentence_of(annotation, 4), "type", "other", person)
        save(sentence_of(annotation, 4), "importance", "less", person)

    work_through(
        Document.objects.get(),
        Stage.DECOMPOSE,
        owner,
        at(Stage.DECOMPOSE, split),
        at(Stage.DECOMPOSE, label),
        _answer_what_the_release_leaves_open,
    )
    changed = differences(before, exported(benchmark))
    assert {path.rsplit("/", 1)[0] for path in changed} <= {S3, "/sentences/sentence4"}
    assert (changed[f"{S3}/text"], changed["/sentences/sentence4/text"]) == ("I hope", "that this helps.")


def test_a_change_that_is_taken_back_brings_the_released_spelling_back(benchmark, owner):
    bring(benchmark, released_document())
    before = exported(benchmark)

    def there_and_back(annotation: Annotation, person: User) -> None:
        _rest_on_the_second_passage(annotation, person)
        saving.undo(annotation, by=person)

    work_through(
        Document.objects.get(),
        Stage.VERIFY,
        owner,
        at(Stage.VERIFY, there_and_back),
        _answer_what_the_release_leaves_open,
    )
    assert differences(before, exported(benchmark)) == {}
