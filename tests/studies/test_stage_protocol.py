"""What a benchmark's protocol asks at the stages beyond the declared fields: copied and extended by a manager in the
form, asked on the stages' own screens, and treated like every other field from there on."""

from __future__ import annotations

import csv
import io
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.protocols import store_protocol, use_stage_protocol
from annotator.core.missing import IncompleteError
from annotator.core.models import Activity, Annotation, Benchmark, Claim, Document, ProtocolVersion, User
from annotator.core.protocol_file import as_json, fingerprint, protocol_of
from annotator.core.queries.protocols import shipped_protocols
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import AnnotationKind, Stage
from annotator.exchange.actions.import_native import import_native
from annotator.exchange.queries.native import lines
from annotator.measures.queries.agreement import agreement_of
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.saving import redo, save_field, undo
from annotator.stages.actions.submit import submit
from annotator.stages.queries.missing import missing_in
from annotator.studies.queries.stage_table import stage_rows
from tests.agreeing import at_revise, begun, claims_of, settle, submitted
from tests.factories import save
from tests.studies_robots import form_fields

pytestmark = pytest.mark.django_db


def extended(*questions: dict[str, Any], name: str = "ours") -> Any:
    """The default protocol under another name, with more questions."""
    content = as_json(shipped_protocols()["factcheck-bench"])
    return content | {"name": name, "questions": [*content["questions"], *questions]}


VITAL = {
    "key": "vital",
    "on": "claim",
    "kind": "label",
    "ask": "How vital is it?",
    "labels": [{"value": "vital", "label": "Vital", "key": "b"}, {"value": "okay", "label": "Okay", "key": "c"}],
}
WHY = {
    "key": "why",
    "on": "claim",
    "kind": "text",
    "ask": "Why is it vital?",
    "when": {"question": "vital", "is": ["vital"]},
}


def ask(benchmark: Benchmark, *questions: dict[str, Any], by: User, name: str = "ours") -> ProtocolVersion:
    version = store_protocol(benchmark, protocol_of(extended(*questions, name=name)), by=by)
    use_stage_protocol(benchmark, version, by=by)
    benchmark.refresh_from_db()
    return version


def test_the_protocol_freezes_with_its_hash_when_the_first_person_starts(document: Document, ada: User) -> None:
    benchmark = document.benchmark
    assert (benchmark.protocol_sha256, ProtocolVersion.objects.count()) == ("", 0)
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    benchmark.refresh_from_db()
    default = shipped_protocols()["factcheck-bench"]
    assert benchmark.protocol_sha256 == fingerprint(default)
    version = ProtocolVersion.objects.get(benchmark=benchmark)
    assert version.frozen_at is not None
    told = Activity.objects.get(action="freeze-protocol")
    assert version.sha256 in told.reason
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    assert Activity.objects.filter(action="freeze-protocol").count() == 1


def test_a_newer_version_is_a_recorded_migration(document: Document, ada: User, owner: User) -> None:
    benchmark = document.benchmark
    first = ask(benchmark, VITAL, by=owner)
    annotation = begun(document, ada)
    first.refresh_from_db()
    assert first.frozen_at is not None
    renamed = VITAL | {"ask": "Is it vital?"}
    second = store_protocol(benchmark, protocol_of(extended(renamed)), by=owner)
    assert (second.number, second.frozen_at) == (2, None)
    benchmark.refresh_from_db()
    assert benchmark.protocol_sha256 == first.sha256  # nothing changes silently
    use_stage_protocol(benchmark, second, by=owner)
    second.refresh_from_db()
    assert second.frozen_at is not None
    told = Activity.objects.filter(action="migrate-protocol").first()
    assert told is not None
    assert (told.by, first.sha256[:12] in told.reason, second.sha256[:12] in told.reason) == (owner, True, True)
    save(claims_of(annotation)[0], "ask_vital", "okay", ada)
    fewer = store_protocol(benchmark, protocol_of(extended(VITAL | {"labels": VITAL["labels"][:1]})), by=owner)
    with pytest.raises(BadValueError, match=r"claim\.vital: “okay” \(1 answers\) can’t be removed"):
        use_stage_protocol(benchmark, fewer, by=owner)
    with pytest.raises(BadValueError, match="can’t be removed, because people have used it"):
        use_stage_protocol(benchmark, store_protocol(benchmark, protocol_of(extended()), by=owner), by=owner)


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (VITAL | {"on": "passage"}, r"questions\[\d+\]\.on: the stages have no record “passage”"),
        (VITAL | {"kind": "span", "labels": []}, r"questions\[\d+\]\.kind: the stages’ screens ask"),
        (VITAL | {"labels": [{"value": "a", "label": "A", "key": "t"}]}, r"labels\[0\]\.key: the key “t” is used"),
        (VITAL | {"suggestion": "before"}, r"questions\[\d+\]\.suggestion: no machine answers"),
        (VITAL | {"when": {"record": "added"}}, r"questions\[\d+\]\.when: a condition of the stages"),
    ],
)
def test_what_the_stages_cannot_ask_is_refused_with_its_place(
    benchmark: Benchmark, owner: User, question: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BadValueError, match=problem):
        store_protocol(benchmark, protocol_of(extended(question)), by=owner)


def test_the_declared_questions_cannot_be_left_out(benchmark: Benchmark, owner: User) -> None:
    content = extended()
    content["questions"] = [each for each in content["questions"] if each["key"] != "factuality"]
    with pytest.raises(BadValueError, match=r"questions: “verdict\.factuality” is missing"):
        store_protocol(benchmark, protocol_of(content), by=owner)
    content = extended()
    content["questions"] = [each for each in content["questions"] if each["key"] != "reliable"]
    use_stage_protocol(benchmark, store_protocol(benchmark, protocol_of(content), by=owner), by=owner)
    benchmark.refresh_from_db()
    assert (benchmark.asks_reliable, benchmark.asks_sufficient) == (False, True)


def test_a_new_manager_copies_the_protocol_and_adds_a_question(
    client: Client, document: Document, owner: User, ada: User, ben: User, tmp_path: Path
) -> None:
    """Through the pages alone, from the copy to the answers in the long table."""
    slug = document.benchmark.slug
    client.force_login(owner)
    page = client.get(reverse("protocol", args=[slug, "factcheck-bench"]))
    assert "The stages of this benchmark use this protocol." in page.content.decode()
    copied = client.post(reverse("protocol-copy", args=[slug, "factcheck-bench"]), {"name": "ours", "title": "Ours"})
    assert copied.status_code == 302, copied.content
    sent = form_fields(client.get(copied["Location"]).content)
    sent |= {"new-key": "vital", "new-on": "claim", "new-kind": "label", "new-required": "yes", "what": "save"}
    sent |= {"new-ask": "How vital is it?", "new-labels": "vital | Vital | b\nokay | Okay | c"}
    saved = client.post(copied["Location"], sent)
    assert saved.status_code == 302, saved.content
    used = client.post(reverse("protocol-use", args=[slug, "ours"]), follow=True)
    assert "The stages now use Ours, version 1." in used.content.decode()
    for person, answer in ((ada, "vital"), (ben, "okay")):
        begun(document, person)
        client.force_login(person)
        answer_on_the_screen(client, document, person, answer)
        answered = client.post(
            reverse("submit", args=[document.public_id, "decompose"]), headers={"hx-request": "true"}
        )
        assert answered.status_code == 204, answered.content
    document.refresh_from_db()
    settle(document, [ada, ben], [])
    client.force_login(owner)
    table = client.get(reverse("stage-answers", args=[slug, "csv"])).content.decode()
    rows = [row for row in csv.DictReader(io.StringIO(table)) if row["question"] == "vital"]
    count = claims_of(Annotation.objects.get(person=ada)).__len__()
    assert [row["value"] for row in rows] == ["vital"] * count + ["okay"] * count + ["vital"] * count
    assert {row["annotator"] for row in rows[-count:]} == {"adjudicated"}
    assert {row["value_label"] for row in rows[:count]} == {"Vital"}
    call_command("study", benchmark=slug, stages=True, out=tmp_path / "answers.csv", stdout=StringIO())
    assert (tmp_path / "answers.csv").read_text().count(",vital,") >= count
    with pytest.raises(CommandError, match="Name a file"):
        call_command("study", benchmark=slug, stages=True, stdout=StringIO())


def answer_on_the_screen(client: Client, document: Document, person: User, answer: str) -> None:
    """On each sentence's panel, every question of every claim, as the outbox sends it."""
    url = reverse("decompose", args=[document.public_id])
    for sentence in Annotation.objects.get(document=document, person=person).sentences.all():
        page = BeautifulSoup(client.get(f"{url}?sentence={sentence.public_id}").content, "html.parser")
        for home in page.select("article.claim[data-record]"):
            field = home.select_one("[data-field='ask_vital']")
            assert field is not None
            record = str(home["data-record"])
            meta = page.find(id=record.replace(":", "-", 1) + "-meta")
            assert isinstance(meta, Tag)
            sent = {"field": "ask_vital", "value": answer, "version": meta["data-version"]}
            saved = client.post(str(home["data-save"]), sent, headers={"hx-request": "true"})
            assert saved.status_code == 200, saved.content
            assert f'id="asked-{record.replace(":", "-")}"' in saved.content.decode()


def test_an_added_question_is_required_conditional_undone_and_in_the_history(
    client: Client, document: Document, owner: User, ada: User
) -> None:
    ask(document.benchmark, VITAL, WHY, by=owner)
    annotation = begun(document, ada)
    claims = claims_of(annotation)
    assert {each.text.split(" of ")[0] for each in missing_in(annotation)} == {"“How vital is it?”"}
    with pytest.raises(IncompleteError):
        submit(annotation, by=ada)
    first = claims[0]
    save(first, "ask_vital", "vital", ada)
    assert "“Why is it vital?”" in {each.text.split(" of ")[0] for each in missing_in(annotation)}
    save(first, "ask_why", "It answers the prompt.", ada)
    first.refresh_from_db()
    assert first.answers == {"vital": "vital", "why": "It answers the prompt."}
    client.force_login(ada)
    history = client.get(reverse("history", args=[key_of(first), "ask_why"]))
    assert "It answers the prompt." in history.content.decode()
    undo(annotation, by=ada)
    first.refresh_from_db()
    assert first.answers == {"vital": "vital"}
    redo(annotation, by=ada)
    save(first, "ask_vital", "okay", ada)
    assert "Why is it vital" not in str(missing_in(annotation))  # kept, and counts for nothing
    for each in claims[1:]:
        save(each, "ask_vital", "okay", ada)
    submit(annotation, by=ada)
    with pytest.raises(BadValueError, match="isn't a valid label"):
        save_field(first, "ask_vital", "huge", by=ada, version=first.version)


def test_a_stale_answer_shows_both(client: Client, document: Document, owner: User, ada: User) -> None:
    ask(document.benchmark, VITAL, by=owner)
    claim = claims_of(begun(document, ada))[0]
    version = claim.version
    save(claim, "ask_vital", "vital", ada)
    client.force_login(ada)
    sent = {"field": "ask_vital", "value": "okay", "version": version}
    answer = client.post(reverse("save", args=[key_of(claim)]), sent, headers={"hx-request": "true"})
    assert answer.status_code == 409
    assert all(words in answer.content.decode() for words in ("How vital is it?", "Vital", "Okay"))


def test_the_api_reads_and_writes_it(client: Client, document: Document, owner: User, ada: User) -> None:
    ask(document.benchmark, VITAL, by=owner)
    claim = claims_of(begun(document, ada))[0]
    client.force_login(ada)
    url = f"/api/v1/records/claim/{claim.public_id}/"
    seen = client.get(url)
    assert seen.status_code == 200, seen.content
    assert seen.json()["values"]["ask_vital"] is None
    body = {"field": "ask_vital", "value": "vital"}
    saved = client.patch(url, body, content_type="application/json", headers={"if-match": seen["ETag"]})
    assert saved.status_code == 200, saved.content
    assert saved.json()["values"]["ask_vital"] == "vital"
    tree = client.get(f"/api/v1/documents/{document.public_id}/decompose/").json()
    given = [each["answers"] for row in tree["sentences"] for each in row["claims"]]
    assert given[0] == {"vital": "vital"}


QUESTIONS: dict[str, dict[str, Any]] = {
    "sentence": {"key": "clear", "on": "sentence", "kind": "yes_no", "ask": "Is it clear?"},
    "stance": {"key": "old", "on": "stance", "kind": "yes_no", "ask": "Is it outdated?"},
    "verdict": {"key": "effort", "on": "verdict", "kind": "number", "ask": "Minutes of search"},
    "sentence-revision": {
        "key": "style",
        "on": "sentence_revision",
        "kind": "labels",
        "ask": "What changed?",
        "labels": [{"value": "tone", "label": "Tone"}, {"value": "length", "label": "Length"}],
    },
    "response-revision": {"key": "note", "on": "response_revision", "kind": "text", "ask": "What is left to say?"},
}


def test_every_record_of_the_three_screens_can_be_asked(
    client: Client, document: Document, owner: User, ada: User, ben: User
) -> None:
    optional = [each | {"required": False} for each in QUESTIONS.values()]
    ask(document.benchmark, *optional, by=owner)
    at_revise(document, owner, ada, ben)
    open_annotation(document, Stage.REVISE, by=ada)
    client.force_login(ada)
    shown = {
        stage: client.get(reverse(stage, args=[document.public_id])).content.decode()
        for stage in ("decompose", "verify", "revise")
    }
    assert 'data-field="ask_clear"' in shown["decompose"]
    assert all(f'data-field="ask_{key}"' in shown["verify"] for key in ("old", "effort"))
    assert all(f'data-field="ask_{key}"' in shown["revise"] for key in ("style", "note"))
    revision = Annotation.objects.get(document=document, stage=Stage.REVISE, person=ada).sentence_revisions.first()
    assert revision is not None
    sent = {"field": "ask_style", "value": "length,tone", "version": revision.version}
    answer = client.post(reverse("save", args=[key_of(revision)]), sent, headers={"hx-request": "true"})
    assert answer.status_code == 200, answer.content
    revision.refresh_from_db()
    assert revision.answers == {"style": ["tone", "length"]}


def test_differences_are_adjudicated_counted_and_come_in_and_out(
    document: Document, owner: User, ada: User, ben: User, client: Client
) -> None:
    benchmark = document.benchmark
    ask(benchmark, VITAL, WHY, by=owner)
    for person, answers in ((ada, ("vital", "okay")), (ben, ("okay", "okay"))):
        annotation = begun(document, person)
        for number, claim in enumerate(claims_of(annotation)):
            save(claim, "ask_vital", answers[min(number, 1)], person)
            if answers[min(number, 1)] == "vital":
                save(claim, "ask_why", "Because.", person)
        submit(annotation, by=person)
    document.refresh_from_db()
    client.force_login(ada)
    board = client.get(reverse("agree", args=[document.public_id, "decompose"])).content.decode()
    assert "How vital is it?" in board
    settle(document, [ada, ben], [{"choice": 0}])
    adjudicated = Annotation.objects.get(document=document, stage=Stage.DECOMPOSE, kind=AnnotationKind.CONSOLIDATED)
    assert claims_of(adjudicated)[0].answers == {"vital": "vital", "why": "Because."}
    assert {each.answers["vital"] for each in claims_of(adjudicated)[1:]} == {"okay"}
    fields = {each.field.name: each.figures for stage in agreement_of(benchmark).stages for each in stage.labels}
    count = len(claims_of(adjudicated))
    found = fields["claim.ask_vital"]
    assert found.percent is not None
    assert found.items == count
    assert found.percent.value == pytest.approx((count - 1) / count)
    client.force_login(owner)
    assert client.get(reverse("agreement", args=[benchmark.slug])).status_code == 200

    written = list(lines(benchmark, include="all"))
    header = json.loads(written[0])
    assert header["stage_protocol"]["sha256"] == benchmark.protocol_sha256
    other = create_benchmark(slug="other", name="Other", by=owner)
    report = import_native(benchmark=other, source=io.BytesIO(b"".join(written)), by=owner)
    assert (report.imported, report.bad) == (1, 0), report.problems
    other.refresh_from_db()
    assert other.protocol_sha256 == benchmark.protocol_sha256
    assert [(row["question"], row["value"]) for row in stage_rows(other, named=False)] == [
        (row["question"], row["value"]) for row in stage_rows(benchmark, named=False)
    ]
    again = list(lines(other, include="all"))
    assert json.loads(again[0])["stage_protocol"] == header["stage_protocol"]


def test_what_one_person_answers_is_blind_to_the_other(
    client: Client, document: Document, owner: User, ada: User, ben: User
) -> None:
    ask(document.benchmark, VITAL, by=owner)
    claim = claims_of(begun(document, ada))[0]
    save(claim, "ask_vital", "vital", ada)
    client.force_login(ben)
    assert client.get(reverse("history", args=[key_of(claim), "ask_vital"])).status_code == 404
    sent = {"field": "ask_vital", "value": "okay", "version": claim.version}
    assert client.post(reverse("save", args=[key_of(claim)]), sent).status_code == 404
    assert list(stage_rows(document.benchmark, named=True)) == []
    assert Claim.objects.get(pk=claim.pk).answers == {"vital": "vital"}


def test_without_added_questions_nothing_is_asked(client: Client, document: Document, ada: User, ben: User) -> None:
    submitted(document, ada, ben)
    client.force_login(ada)
    page = client.get(reverse("decompose", args=[document.public_id])).content.decode()
    assert "asked-claim" not in page
    written = list(lines(document.benchmark, include="all"))
    assert all(b'"answers"' not in line for line in written[1:])
