"""The native format: everything goes out, comes in again somewhere else, and goes out the same."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.file_problems import FileError, RowError
from annotator.core.models import (
    Activity,
    Annotation,
    Batch,
    Benchmark,
    Claim,
    Document,
    Evidence,
    Guidelines,
    Membership,
    PageSnapshot,
    PipelineRun,
    PromptVersion,
    Question,
    RevisionSuggestion,
    RunItem,
    SentBack,
    Stance,
    StanceSuggestion,
    StepUse,
    User,
    VerdictSuggestion,
)
from annotator.core.queries.pseudonyms import pseudonym
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import AnnotationKind, FlagReason, Handling, Phase, Role, RunState, Stage, StanceLabel
from annotator.exchange.actions import import_jobs, imports
from annotator.exchange.actions.import_native import import_native
from annotator.exchange.actions.imports import ImportReport, import_documents, import_gold
from annotator.exchange.exports.catalogue import FORMATS, Reading
from annotator.exchange.native import touchstone, touchstone_reader
from annotator.exchange.native.touchstone_schema import brought_up_to_date
from annotator.exchange.screens.imports import look_at
from annotator.stages.actions import adjudicate, documents
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.stages.actions.verify import add_evidence
from annotator.stages.queries.verification import claims_to_verify
from tests.agreeing import begun, label, settle
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, retrieve, save, verified
from tests.released import numbered
from tests.teams import group_with

pytestmark = pytest.mark.django_db

SCHEMA = Path(settings.BASE_DIR) / "docs" / "formats" / "touchstone.schema.json"

# What the format leaves out of a model, and why it can: it follows from the rest, or means something here alone.
LEFT_OUT: dict[str, set[str]] = {
    "documents": {"order", "discard_reason", "discard_code", "batch", "twin_of", "practice_for"},  # order: of the lines
    "runs": {"halted_details"},  # services are for the owners of this installation
    "run_items": {"seen_at", "waits", "error_details"},
    "annotations": {"guidelines", "note", "too_fast"},  # by its number; private; follows from the time it took
    **{
        name: {"created_at", *({"in_view_at"} if name == "stances" else ())}  # what was on whose screen when
        for name in (
            *("sentences", "claims", "evidence", "stances", "verdicts"),
            *("claim_revisions", "sentence_revisions", "response_revisions"),
        )
    },
}


def exported(benchmark: Benchmark, include: str = "all", *, named: bool = False) -> bytes:
    benchmark.refresh_from_db()
    return b"".join(FORMATS["touchstone"].write(Reading(benchmark, include, named)))


def lines_of(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def nameless(content: bytes) -> bytes:
    """The file without what names the benchmark in its header."""
    first, rest = content.split(b"\n", 1)
    header = json.loads(first)
    del header["benchmark"]
    return json.dumps(header).encode() + b"\n" + rest


def elsewhere(content: bytes, **asked: Any) -> tuple[Benchmark, ImportReport]:
    """The file imported into a benchmark of an installation that has nothing else, where keys count differently."""
    connection.check_constraints()  # what waits for the commit stands in the way of emptying PostgreSQL's tables
    call_command("flush", interactive=False, verbosity=0)
    for _ in range(3):
        DocumentFactory(benchmark=BenchmarkFactory())
        member(Benchmark.objects.latest("pk"))
    other = create_benchmark(slug="elsewhere", name="Elsewhere")
    return other, import_native(benchmark=other, source=io.BytesIO(content), **asked)


@pytest.fixture
def rich(benchmark: Benchmark, owner: User, ada: User, ben: User, cleo: User) -> Benchmark:
    """A benchmark with something in every table: one gold document, one at verify, one untouched."""
    group = group_with(benchmark, owner, ada, ben, third_rater=cleo)
    batch = Batch.objects.create(benchmark=benchmark, name="First", group=group, cut={"seed": 3}, created_by=owner)
    PromptVersion.objects.create(benchmark=benchmark, name="decompose", number=1, text="Split it.", created_by=owner)
    gold, half, _ = (prefill(DocumentFactory(benchmark=benchmark, batch=batch)) for _ in range(3))
    for document in (gold, half):
        _decompose(document, ada, ben, cleo)
    _verify(gold, ada, ben, owner, cleo)
    _revise(gold, ada, ben)
    documents.flag(half, FlagReason.NEEDS_EXPERTISE, by=ada, note="chemistry")
    _suggestions(gold)
    return benchmark


_FILE: list[bytes] = []


@pytest.fixture
def rich_file(request: pytest.FixtureRequest) -> bytes:
    """The export of ``rich``, made once: with the first test that asks for it, the benchmark is there too."""
    if not _FILE:
        _FILE.append(exported(request.getfixturevalue("rich")))
    return _FILE[0]


def _decompose(document: Document, ada: User, ben: User, cleo: User) -> None:
    """Ada and Ben differ in importance; they write about it, ask, and settle."""
    of_ada, of_ben = begun(document, ada), begun(document, ben)
    label(of_ben, "importance", ["less", "intermediate", "less"], ben)
    submit(of_ada, by=ada)
    submit(of_ben, by=ben)
    document.refresh_from_db()
    adjudicate.comment(document, Stage.DECOMPOSE, "", "Who wrote this?\nIt is “odd” – ünïcödé \u2028 too", by=ada)
    adjudicate.ask_third_rater(document, Stage.DECOMPOSE, "", "Please look.", by=ben)
    question = Question.objects.get(annotation__document=document)
    adjudicate.answer(document, Stage.DECOMPOSE, question, "Take Ben’s.", by=cleo)
    settle(document, [ada, ben, cleo], [{"choice": 1, "reason": "slip"}])
    retrieve(document)
    claim = Claim.objects.filter(
        sentence__annotation__document=document, sentence__annotation__kind=AnnotationKind.CONSOLIDATED
    ).first()
    assert claim is not None
    SentBack.objects.create(document=document, claim=claim, by=ada, reason="Two in one.", settled_at=timezone.now())


def _verify(document: Document, ada: User, ben: User, owner: User, cleo: User) -> None:
    """Both call the same claim false; Ada finds a page of her own, and searches once by herself."""
    of_ada = open_annotation(document, Stage.VERIFY, by=ada)
    claim = claims_to_verify(of_ada)[0].claim
    found = add_evidence(of_ada, claim, by=ada, url="https://example.org/a", passage="A page.", title="A")
    page = PageSnapshot.objects.create(
        url=found.url, text="A page.", content_hash=sha256(b"A page.").hexdigest(), retrieved_at=timezone.now()
    )
    Evidence.objects.filter(pk=found.pk).update(snapshot=page)
    save(Stance.objects.get(evidence=found), "rationale", "2-6 0-1", ada)
    for person in (ada, ben):
        verified(document, person, false_claim="1825")
    search = PipelineRun.objects.create(
        benchmark=document.benchmark,
        stage=Stage.VERIFY,
        strategy="offline",
        state=RunState.FINISHED,
        requested_by=ada,
        plan={"corpus": 1, "claims": [claim.pk], "query": "ada alone", "again": True, "annotation": of_ada.pk},
    )
    RunItem.objects.create(
        run=search, document=document, state=RunState.FINISHED, notes=[{"step": "search", "text": "x"}]
    )
    settle(document, [ada, ben, cleo], [])


def _revise(document: Document, ada: User, ben: User) -> None:
    for person in (ada, ben):
        annotation = open_annotation(document, Stage.REVISE, by=person)
        submit(annotation, by=person)
    document.refresh_from_db()
    if document.phase == Phase.CONSOLIDATING:
        settle(document, [ada, ben], [])
    adjudicated = document.annotations.get(stage=Stage.REVISE, kind=AnnotationKind.CONSOLIDATED)
    claim = Claim.objects.filter(verdicts__annotation__document=document).earliest("pk")
    adjudicated.claim_revisions.create(claim=claim, handling=Handling.REWRITE, text="Perhaps.")


def _suggestions(document: Document) -> None:
    """What strategies with a model leave behind."""
    run = PipelineRun.objects.filter(items__document=document, stage=Stage.VERIFY).earliest("pk")
    evidence = Evidence.objects.filter(claim__sentence__annotation__document=document, annotation=None).earliest("pk")
    stance = StanceSuggestion.objects.create(
        run=run, evidence=evidence, label=StanceLabel.REFUTE, probability=0.1 + 0.2, by="stance, version 1"
    )
    evidence.stances.update(suggestion=stance)
    VerdictSuggestion.objects.create(
        run=run, claim=evidence.claim, label="refuted", factuality="false", correction="", chain=[{"evidence": None}]
    )
    revising = PipelineRun.objects.create(
        benchmark=document.benchmark,
        stage=Stage.REVISE,
        strategy="offline",
        plan={"model": "m", "prompts": {name: {"text": "?", "label": "built-in", "digest": "d"} for name in "ba"}},
    )
    item = RunItem.objects.create(run=revising, document=document)  # still waiting
    StepUse.objects.create(item=item, step="revise", chats=2, money=0.001)
    RevisionSuggestion.objects.create(run=revising, document=document, with_prompt="Better.")


# --- there and back -------------------------------------------------------------------------------


def test_something_stands_in_every_table(rich: Benchmark) -> None:
    header, *rows = lines_of(exported(rich))
    assert {table.name for table in touchstone.TABLES if not any(row.get(table.name) for row in rows)} == set()
    assert {table.name for table in touchstone.HEADER_TABLES if not header[table.name]} == set()
    assert [(row["stage"], row["phase"]) for row in rows] == [
        ("revise", "agreed"),
        ("verify", "independent"),
        ("decompose", "independent"),
    ]


@pytest.mark.parametrize("table", [touchstone.DOCUMENT, *touchstone.TABLES], ids=lambda table: table.name)
def test_no_column_is_forgotten(table: touchstone.NativeTable) -> None:
    """A new column of a model has to go into the format, or be named as left out."""
    columns = {each.name for each in table.model._meta.fields} | {each.name for each in table.model._meta.many_to_many}
    written = {*table.fields, *table.links, *table.people, *table.lists}
    known = {"id", "public_id", "document", "benchmark"} | LEFT_OUT.get(table.name, set())
    # Evidence that a verdict rests on has a table of its own; who labelled is no column of the benchmark's rows.
    assert columns - written - known - ({"rests_on"} if table.name == "verdicts" else set()) == set()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("include", ["gold", "all"])
def test_it_comes_back_byte_for_byte(rich: Benchmark, include: str, named: bool) -> None:
    content = exported(rich, include, named=named)
    other, report = elsewhere(content)
    assert (report.problems, report.imported) == ([], 1 if include == "gold" else 3)
    assert nameless(exported(other, include, named=named)) == nameless(content)


def test_released_documents_come_back_byte_for_byte(data_dir: Path) -> None:
    released = create_benchmark(slug="dev", name="Dev")
    import_gold(benchmark=released, source=data_dir / "factcheck-bench.dev.jsonl")
    content = exported(released)
    written = b"".join(FORMATS["factcheck-bench"].write(Reading(released)))
    other, report = elsewhere(content)
    assert (report.imported, report.problems) == (47, [])
    assert nameless(exported(other)) == nameless(content)
    assert b"".join(FORMATS["factcheck-bench"].write(Reading(other))) == written
    assert written == (data_dir / "factcheck-bench.dev.jsonl").read_bytes()


def test_a_copy_beside_the_original_has_ids_of_its_own(rich: Benchmark) -> None:
    content = exported(rich)
    copies = []
    for slug in ("one", "two"):
        copy = create_benchmark(slug=slug, name=slug)
        report = import_native(benchmark=copy, source=io.BytesIO(content))
        assert (report.imported, report.problems) == (3, [])
        copies.append(copy)
    assert exported(rich) == content
    ids = [set(Document.objects.filter(benchmark=each).values_list("public_id", flat=True)) for each in (rich, *copies)]
    assert not ids[0] & ids[1] and not ids[1] & ids[2]
    # Decisions and the history name the rows of the copy, not those of the original.
    given = {row["id"] for line in lines_of(exported(copies[0]))[1:] for row in line.get("sentences", ())}
    changes = [
        change["record"].partition(":")[2]
        for each in Activity.objects.filter(document__benchmark=copies[0])
        for change in each.changes
        if change["record"].startswith("sentence:")
    ]
    assert changes and set(changes) <= given
    assert lines_of(content)[1]["response"] == lines_of(exported(copies[0]))[1]["response"]


def test_work_goes_on_where_it_came_in(rich: Benchmark) -> None:
    other, _ = elsewhere(exported(rich))
    half = Document.objects.filter(benchmark=other, stage=Stage.VERIFY).get()
    dan, eve = member(other), member(other)
    Document.objects.filter(benchmark=other).update(batch=None)
    half.refresh_from_db()
    for person in (dan, eve):
        verified(half, person)
    half.refresh_from_db()
    assert half.phase == Phase.CONSOLIDATING


def test_an_import_that_was_cut_off_goes_on(rich: Benchmark) -> None:
    content = exported(rich)
    part = b"\n".join(content.splitlines()[:2]) + b"\n"
    other, report = elsewhere(part)
    assert report.imported == 1
    report = import_native(benchmark=other, source=io.BytesIO(content))
    assert (report.imported, report.unchanged, report.problems) == (2, 1, [])
    assert nameless(exported(other)) == nameless(content)


# --- people ---------------------------------------------------------------------------------------


def test_pseudonyms_tell_nothing_and_stay_the_same(rich: Benchmark, ada: User) -> None:
    Activity.objects.create(
        benchmark=rich, document=rich.documents.first(), action="take-back", reason="Ada has left Group 1"
    )
    content = exported(rich).decode()
    for person in User.objects.all():
        assert person.username not in content
    assert "Ada has left" not in content
    assert f"{pseudonym(rich, ada.pk)} has left Group 1" in content
    assert pseudonym(rich, ada.pk) == pseudonym(rich, ada.pk) != pseudonym(BenchmarkFactory(), ada.pk)
    assert exported(rich, named=True).decode().count(f'"{ada.username}"') > 10


@pytest.mark.parametrize("reason", ["Ada has left the benchmark", "Ada is third rater now"])
def test_a_name_that_somebody_had_before_does_not_go_out(rich: Benchmark, ada: User, reason: str) -> None:
    annotation = Annotation.objects.filter(document__benchmark=rich, person=ada, stage=Stage.DECOMPOSE).first()
    assert annotation is not None
    Activity.objects.create(
        benchmark=rich, document=annotation.document, annotation=annotation, action="take-back", reason=reason
    )
    ada.display_name = "Augusta"
    ada.save()
    content = exported(rich).decode()
    assert reason not in content and reason.replace("Ada", pseudonym(rich, ada.pk)) in content
    assert reason in exported(rich, named=True).decode()


def test_people_come_in_as_placeholders_even_where_the_name_is_known(rich: Benchmark, ada: User) -> None:
    content = exported(rich, named=True)
    copy = create_benchmark(slug="copy", name="Copy")
    import_native(benchmark=copy, source=io.BytesIO(content))
    assert not Annotation.objects.filter(document__benchmark=copy, person=ada).exists()
    placeholder = User.objects.get(username=f"imported-{ada.username}")
    assert (placeholder.is_active, placeholder.has_usable_password(), str(placeholder)) == (False, False, "Ada")
    assert Membership.objects.get(benchmark=copy, user=placeholder).role == Role.ANNOTATOR


# --- blindness ------------------------------------------------------------------------------------


def test_nothing_of_a_stage_in_work_goes_out(rich: Benchmark, ada: User, ben: User) -> None:
    half = rich.documents.get(stage=Stage.VERIFY)
    before = exported(rich)
    half_line = next(line for line in lines_of(before) if line.get("id") == half.public_id)
    assert {row["stage"] for row in half_line["annotations"]} == {"decompose"}
    for person in (ada, ben):  # both submit; it is still to be agreed
        verified(half, person)
    PipelineRun.objects.create(
        benchmark=rich,
        stage=Stage.VERIFY,
        strategy="offline",
        plan={"annotation": half.annotations.get(stage=Stage.VERIFY, person=ada).pk, "query": "secret"},
    ).items.create(document=half)
    after = next(line for line in lines_of(exported(rich)) if line.get("id") == half.public_id)
    del half_line["version"], after["version"]
    # Where the document stands may be seen, and is on record; what anybody did may not.
    told = [row for row in after.pop("activities") if row not in half_line["activities"]]
    assert all("annotation" not in row for row in told)
    del half_line["activities"]
    assert after == half_line


def test_suggestions_wait_while_people_label_blind_first(rich: Benchmark) -> None:
    fresh = rich.documents.get(stage=Stage.DECOMPOSE)
    assert lines_of(exported(rich))[3]["sentence_suggestions"]
    Document.objects.filter(pk=fresh.pk).update(blind_first=True)
    assert "sentence_suggestions" not in lines_of(exported(rich))[3]


# --- bad files ------------------------------------------------------------------------------------


def changed(content: bytes, line: int, change: Callable[[dict[str, Any]], Any]) -> bytes:
    rows = lines_of(content)
    change(rows[line - 1])
    return b"\n".join(json.dumps(row).encode() for row in rows)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row["claims"][1].update(type="fakt"), "claims[2].type: “fakt” isn’t a valid value: factual"),
        (lambda row: row["claims"][0].update(text=7), "claims[1].text: expected a text, found a number"),
        (lambda row: row["claims"][0].update(colour="red"), "claims[1].colour: the format has no such field"),
        (
            lambda row: row["claims"][0].update(sentence="zzzz"),
            "claims[1].sentence: “sentences” on this line has no such id",
        ),
        (lambda row: row["claims"][0].pop("sentence"), "claims[1].sentence: it is missing"),
        (lambda row: row["claims"][0].pop("id"), "claims[1].id: expected a public id"),
        (lambda row: row["claims"].append(row["claims"][0]), "claims: duplicate id"),
        (lambda row: row["annotations"][0].update(submitted_at="soon"), "“soon” isn’t a time"),
        (lambda row: row["annotations"][0].update(guidelines=9), "the header has no guidelines with this number"),
        (lambda row: row.update(stage="decompose"), "stage: the adjudicated annotations put the document at revise"),
        (lambda row: row.update(batch="nope"), "batch: the header has no batch"),
        (lambda row: row.pop("response"), "response: it is missing"),
        (lambda row: row.update(sentences={}), "sentences: expected a list of rows"),
        (lambda row: row["sentences"][0].update(order=-1), "a whole number from 0"),
        (lambda row: row["sentences"][0].update(text="a\x00b"), "a character that cannot be stored"),
        (lambda row: row["sentences"][0].pop("type_origin"), "violates a data constraint"),
        (lambda row: row["activities"][0].update(by="x" * 200), "a person’s key must be at most 140"),
        (lambda row: row["pages"][0].update(text="Another."), "pages[1].content_hash: it is not the SHA-256"),
        (lambda row: row["evidence"][0].update(score=10**400), "score: expected a number"),
        (lambda row: row.update(created_at="0001-01-01T00:00:00+14:00"), "created_at: “0001-01-01"),
        (lambda row: row.update(created_at="9999-12-31T23:00:00-14:00"), "created_at: “9999-12-31"),
        (lambda row: row.update(metadata=json.loads('{"a":' * 400 + "1" + "}" * 400)), "more than 100 levels deep"),
        (
            lambda row: [each.update(start=9000, end=9010) for each in row["edits"]],
            "An edit covers the characters 9000",
        ),
        (
            lambda row: next(each for each in row["stances"] if each.get("rationale")).update(rationale=[[0, 900]]),
            "rationale: not start and end of words in its passage",
        ),
        (lambda row: row["tallies"][0].update(data={"labels": {"claim.type": 1}}), "tallies[1].data: not a count"),
        (lambda row: row["tallies"][0]["data"].update(claims=[[0, 7, 1, 1, 1, []]]), "tallies[1].data: not a count"),
        (lambda row: row["runs"][0].update(plan={"prompts": {"a": "b"}}), "runs[1].plan: “parameters” and “prompts”"),
        (lambda row: row["activities"][0].update(changes=[{"record": "a", "field": "b"}]), "“before” and “after”"),
    ],
)
def test_a_bad_line_is_named_and_the_others_come_in(
    rich_file: bytes, change: Callable[[dict[str, Any]], Any], said: str
) -> None:
    other = create_benchmark(slug="other", name="Other")
    report = import_native(benchmark=other, source=io.BytesIO(changed(rich_file, 2, change)))
    assert (report.read, report.imported, report.bad) == (3, 2, 1)
    assert report.problems[0].line == 2
    assert said in str(report.problems[0])


@pytest.mark.parametrize("field", ["text", "type_origin"])
def test_strict_writes_nothing_where_a_line_is_bad(rich_file: bytes, field: str) -> None:
    """Also where only the database can tell: a label without its origin."""
    content = changed(
        rich_file, 2, lambda row: row["sentences"][0].update({field: "" if field == "type_origin" else 7})
    )
    other = create_benchmark(slug="other", name="Other")
    people = User.objects.count()
    report = import_native(benchmark=other, source=io.BytesIO(content), strict=True)
    assert (report.written, report.imported, report.bad) == (False, 0, 1)
    assert not other.documents.exists() and not other.groups.exists()
    assert User.objects.count() == people


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.update(version=2), "version: 2 is not supported"),
        (lambda row: row.update(format="other"), "format: “touchstone” expected"),
        (lambda row: row["protocol"].update(overlap=0), "protocol.overlap"),
        (lambda row: row["protocol"].pop("overlap"), "protocol: required fields: description"),
        (lambda row: row["protocol"].update(overlap=99), "99 people per document"),
        (lambda row: row["members"].append({"person": "x"}), "members: each needs"),
        (lambda row: row["seats"][0].update(group="none"), "seats[1].group"),
    ],
)
def test_a_bad_header_is_refused(rich_file: bytes, change: Callable[[dict[str, Any]], Any], said: str) -> None:
    content = changed(rich_file, 1, change)
    other = create_benchmark(slug="other", name="Other")
    with pytest.raises(FileError) as refusal:
        import_native(benchmark=other, source=io.BytesIO(content))
    assert said in str(refusal.value)
    assert not other.documents.exists()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_stands_in_a_line_it_is_named_or_taken_in(rich_file: bytes, seed: int) -> None:
    """A hundred files with one value in them exchanged for junk: none is answered by anything but words."""
    generator = random.Random(seed)
    header_line, *lines = rich_file.splitlines()
    header = touchstone_reader.read_header(io.BytesIO(header_line))
    for _ in range(100):
        row = json.loads(header_line if generator.random() < 0.2 else lines[0])
        _spoil(row, generator)
        text = json.dumps(row)
        if "format" in row or "protocol" in row:
            with contextlib.suppress(FileError):
                touchstone_reader.read_header(io.BytesIO(text.encode()))
        else:
            with contextlib.suppress(RowError):
                touchstone_reader.parse(text, 2, header)
    # The last one all the way.
    other = create_benchmark(slug="other", name="Other")
    row = json.loads(lines[0])
    _spoil(row, generator)
    content = b"\n".join([header_line, json.dumps(row).encode(), *lines[1:]])
    report = import_native(benchmark=other, source=io.BytesIO(content))
    assert report.imported + report.bad == 3


def _spoil(row: dict[str, Any], generator: random.Random) -> None:
    """Exchange one value somewhere in the row."""
    here: Any = row
    while True:
        name = generator.choice(list(here)) if isinstance(here, dict) else generator.randrange(len(here))
        if not isinstance(here[name], dict | list) or not here[name] or generator.random() < 0.15:
            here[name] = generator.choice(
                [
                    None,
                    True,
                    -1,
                    2**70,
                    1.5,
                    float("1e308"),
                    "",
                    "x" * 300,
                    "\ud800",
                    "\x00",
                    [],
                    {},
                    [[]],
                    {"a": []},
                    [None],
                ]
            )
            return
        here = here[name]


def test_half_a_file_names_the_line_that_breaks_off(rich_file: bytes) -> None:
    other = create_benchmark(slug="other", name="Other")
    report = import_native(benchmark=other, source=io.BytesIO(rich_file[:-500]))
    assert (report.imported, report.bad) == (2, 1)
    assert "line 4: not JSON" in str(report.problems[0])


def test_only_an_empty_benchmark_takes_it_in(rich_file: bytes) -> None:
    content = rich_file
    other = create_benchmark(slug="other", name="Other")
    import_documents(benchmark=other, source=io.BytesIO(b'{"response": "Not yet."}'), filename="a.jsonl")
    with pytest.raises(FileError, match="Import it into a new, empty benchmark"):
        import_native(benchmark=other, source=io.BytesIO(content))


def test_bad_lines_at_the_beginning_do_not_close_the_benchmark_to_the_rest(
    rich_file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of which nothing comes in leaves no groups and batches behind: the benchmark would look used."""
    monkeypatch.setattr(imports, "BATCH_ROWS", 1)
    other = create_benchmark(slug="other", name="Other")
    bad = changed(rich_file, 2, lambda row: row["sentences"][0].pop("type_origin"))
    worse = changed(bad, 3, lambda row: row.update(response=7))
    report = import_native(benchmark=other, source=io.BytesIO(worse))
    assert (report.imported, report.bad, report.problems[1].line) == (1, 2, 3)
    report = import_native(benchmark=other, source=io.BytesIO(rich_file))
    assert (report.imported, report.unchanged, report.bad) == (2, 1, 0)


def test_a_file_without_a_good_line_can_be_mended_and_imported_again(rich_file: bytes) -> None:
    other = create_benchmark(slug="other", name="Other")
    header = rich_file.splitlines()[0]
    people = User.objects.count()
    assert import_native(benchmark=other, source=io.BytesIO(header + b"\n{}\n")).bad == 1
    assert not other.groups.exists() and User.objects.count() == people
    assert import_native(benchmark=other, source=io.BytesIO(rich_file)).imported == 3


def test_a_benchmark_that_has_documents_of_its_own_is_refused_even_under_the_same_guidelines(rich_file: bytes) -> None:
    other = create_benchmark(slug="other", name="Other")
    import_documents(benchmark=other, source=io.BytesIO(b'{"response": "Not yet."}'), filename="a.jsonl")
    other.guidelines.all().delete()
    for row in lines_of(rich_file)[0]["guidelines"]:
        Guidelines.objects.create(benchmark=other, number=row["number"], text=row["text"])
    with pytest.raises(FileError, match="lacks batches of the file"):
        import_native(benchmark=other, source=io.BytesIO(rich_file))
    assert other.documents.count() == 1


def test_only_an_owner_brings_a_protocol_along(rich_file: bytes) -> None:
    content = rich_file
    other = create_benchmark(slug="other", name="Other")
    with pytest.raises(NotAllowedError, match="Only an owner"):
        import_native(benchmark=other, source=io.BytesIO(content), by=member(other, Role.ADMIN))
    assert import_native(benchmark=other, source=io.BytesIO(content), by=member(other, Role.OWNER)).imported == 3


def test_the_worker_takes_it_in(rich_file: bytes, tmp_path: Path) -> None:
    other = create_benchmark(slug="other", name="Other")
    owner, admin = member(other, Role.OWNER), member(other, Role.ADMIN)
    upload = import_jobs.keep_upload(SimpleUploadedFile("pilot.jsonl", rich_file))
    asked: dict[str, Any] = {"benchmark": other, "file": upload, "filename": "pilot.jsonl", "format": "touchstone"}
    with pytest.raises(NotAllowedError, match="Only an owner"):
        import_jobs.start_import(**asked, by=admin)
    job = import_jobs.start_import(**asked, by=owner)
    import_jobs.run_import(job.pk)
    job.refresh_from_db()
    assert (job.state, job.imported, job.message) == (RunState.FINISHED, 3, "")
    assert not PipelineRun.objects.filter(benchmark=other, state=RunState.QUEUED).exists()  # nothing is asked for anew


def test_the_import_page_knows_it(rich_file: bytes) -> None:
    look = look_at(io.BytesIO(rich_file), filename="pilot.jsonl")
    assert (look.format, look.error, [row.line for row in look.rows]) == ("touchstone", "", [2, 3, 4])
    assert "annotations" in look.rows[0].about
    assert "isn’t a Touchstone header" in look_at(io.BytesIO(rich_file[:200]), filename="pilot.jsonl").error


# --- command, schema ------------------------------------------------------------------------------


def test_the_commands_know_it(rich: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "all.jsonl"
    asked = {"benchmark": rich.slug, "format": ["touchstone"], "output": str(target), "include": "all"}
    call_command("export", **asked)
    call_command("import_gold", str(target), "--benchmark", "other", "--create")
    assert "3 imported" in capsys.readouterr().out
    target.write_bytes(target.read_bytes()[:100])
    with pytest.raises(CommandError, match="The first line isn’t a Touchstone header"):
        call_command("import_gold", str(target), "--benchmark", "third", "--create", "--format", "touchstone")


def test_it_keeps_to_its_schema(rich: Benchmark) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for named in (False, True):
        for line in lines_of(exported(rich, named=named)):
            validator.validate(line)


def test_the_schema_knows_every_table_and_field() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    for table in (*touchstone.TABLES, *touchstone.HEADER_TABLES):
        described = set(schema["$defs"][table.name]["properties"])
        assert {*table.fields, *table.links, *table.people, *table.lists} <= described, table.name
    assert set(touchstone.DOCUMENT.fields) <= set(schema["$defs"]["document"]["properties"])


def test_the_schema_says_of_declared_fields_what_is_declared() -> None:
    content = SCHEMA.read_text("utf-8")
    assert json.dumps(brought_up_to_date(json.loads(content)), indent=2, ensure_ascii=False) + "\n" == content


def test_a_chunk_costs_the_same_however_many_documents_it_has(django_assert_num_queries: Any) -> None:
    benchmark = create_benchmark(slug="trial", name="Trial")

    def gold(count: int, first: int) -> None:
        content = "\n".join(json.dumps(numbered(first + number)) for number in range(count))
        import_gold(benchmark=benchmark, source=io.BytesIO(content.encode()))

    gold(2, 0)
    with CaptureQueriesContext(connection) as few:
        exported(benchmark)
    gold(20, 10)
    with django_assert_num_queries(len(few)):
        exported(benchmark)
