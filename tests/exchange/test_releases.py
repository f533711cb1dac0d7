"""Releases: frozen, whole, the same bytes for the same gold; nothing half shown, whatever happens in between."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator import tasks
from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Activity, Benchmark, Claim, Document, User, Verdict
from annotator.core.rules import NotAllowedError
from annotator.core.vocabulary import AnnotationKind, GroupedBy, ReleaseState, Role, Split, Stage
from annotator.exchange.actions import making_releases
from annotator.exchange.actions.imports import import_gold
from annotator.exchange.actions.making_releases import make_release, resume_releases
from annotator.exchange.actions.releases import (
    ReleaseDamagedError,
    ReleaseRequest,
    cancel_release,
    start_release,
    take_release,
)
from annotator.exchange.exports import release_files
from annotator.exchange.models import FrozenReleaseError, Release, ReleaseDocument
from annotator.exchange.queries.releases import changes_since
from annotator.exchange.releases.canary import canary_of
from annotator.exchange.releases.splits import Shares
from annotator.exchange.tables import tables_parquet
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.documents import discard, reopen
from annotator.stages.actions.submit import submit
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, save, verified, with_corpus
from tests.released import numbered
from tests.teams import at_once

pytestmark = pytest.mark.django_db

WISH = ReleaseRequest(
    version="1.0", title="Trial", licence="CC-BY-4.0", authors=["Lovelace, Ada", "The Trial team"],
    shares=Shares(50, 25, 25), seed=7,
)  # fmt: skip


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = create_benchmark(slug="trial", name="Trial")
    gold(benchmark, 8)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def gold(benchmark: Benchmark, count: int, first: int = 0, **fields: Any) -> None:
    """So many gold documents more."""
    rows = [numbered(first + number) | fields for number in range(count)]
    content = "\n".join(json.dumps(row) for row in rows)
    assert import_gold(benchmark=benchmark, source=io.BytesIO(content.encode())).imported == count


def gold_by_hand() -> tuple[Benchmark, User, Document]:
    """One gold document that one person, Wilhelmina, has worked on."""
    benchmark = BenchmarkFactory(slug="trial")
    with_corpus(benchmark)
    person = member(benchmark, Role.OWNER, username="wilhelmina", display_name="Wilhelmina")
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, person)
    document.refresh_from_db()
    verified(document, person)
    submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    document.refresh_from_db()
    return benchmark, person, document


def made(benchmark: Benchmark, by: User | None = None, **wish: Any) -> Release:
    """A release, asked for and made."""
    release = start_release(benchmark=benchmark, wish=replace(WISH, **wish), by=by, here=True)
    make_release(release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.READY, release.message
    return release


def archive(release: Release) -> zipfile.ZipFile:
    return zipfile.ZipFile(release.file.path)


def text(release: Release, path: str) -> str:
    return archive(release).read(f"trial-{release.version}/{path}").decode()


def left_behind() -> list[str]:
    return [path.name for path in Path(default_storage.path("releases")).glob("making-*")]


# --- what is in it --------------------------------------------------------------------------------


def test_every_document_is_in_one_split_and_every_file_has_its_hash(benchmark, owner):
    release = made(benchmark, owner)
    lines = {split: text(release, f"factcheck-bench/{split}.jsonl").splitlines() for split in Split}
    assert {split: len(each) for split, each in lines.items()} == {"train": 4, "dev": 2, "test": 2}
    prompts = [json.loads(line)["prompt"] for each in lines.values() for line in each]
    assert sorted(prompts) == sorted(numbered(number)["prompt"] for number in range(8))
    rows = list(csv.DictReader(io.StringIO(text(release, "splits.csv"))))
    assert {row["document"]: row["split"] for row in rows} == dict(release.documents.values_list("public_id", "split"))
    # The manifest names every file but itself, and the release is the hash of the manifest.
    names = {name.removeprefix("trial-1.0/") for name in archive(release).namelist()}
    listed = {line[66:]: line[:64] for line in text(release, release_files.MANIFEST).splitlines()}
    assert set(listed) == names - {release_files.MANIFEST}
    for name, expected in listed.items():
        assert hashlib.sha256(archive(release).read(f"trial-1.0/{name}")).hexdigest() == expected, name
    assert release.sha256 == hashlib.sha256(text(release, release_files.MANIFEST).encode()).hexdigest()
    assert {each["path"]: each["sha256"] for each in release.files[:-1]} == listed
    assert release.documents_count == 8 and release.since is None
    assert [release.splits[split]["documents"] for split in Split] == [4, 2, 2]
    assert release.splits["train"]["claims"] == 20, "five claims a document"
    assert sum(release.splits["train"]["labels"].values()) == 16, "four of them checked"
    assert left_behind() == []


def test_it_holds_each_format_whole(benchmark):
    release = made(benchmark)
    names = {name.removeprefix("trial-1.0/") for name in archive(release).namelist()}
    assert {"README.md", "croissant.json", "tables/claims.csv", "data/claims/dev.jsonl", "touchstone.jsonl"} <= names
    assert ("tables/claims.parquet" in names) == (not tables_parquet.missing())
    of_documents = dict(release.documents.values_list("public_id", "split"))
    for split in Split:
        rows = [json.loads(line) for line in text(release, f"data/documents/{split}.jsonl").splitlines()]
        assert {row["document_id"] for row in rows} == {key for key, name in of_documents.items() if name == split}
    assert len(text(release, "touchstone.jsonl").splitlines()) == 1 + 8
    assert len(text(release, "prov.jsonl").splitlines()) == 8
    distribution = json.loads(text(release, "croissant.json"))["distribution"]
    listed = {each["path"]: each["sha256"] for each in release.files}
    assert {each["contentUrl"]: each["sha256"] for each in distribution} == {
        path: sha256 for path, sha256 in listed.items() if path.endswith(".csv") and path != "splits.csv"
    }
    card = text(release, "README.md")
    assert canary_of(release.public_id) in card
    assert card.startswith("---\n") and "## Version 1.0" in card and "cc-by-4.0" in card.lower()


@pytest.mark.parametrize("is_named", [False, True])
def test_people_are_named_only_where_that_was_asked_for(is_named):
    benchmark, person, _ = gold_by_hand()
    release = made(benchmark, person, names_people=is_named)
    naming = {name for name in archive(release).namelist() if b"ilhelmina" in archive(release).read(name)}
    of_people = {f"trial-1.0/{name}.jsonl" for name in ("touchstone", "prov", "soft-labels")}
    assert naming == (of_people if is_named else set())
    assert release.guidelines == [1] and text(release, "guidelines/version-1.md") == "# Guidelines"


def test_it_says_who_made_it_and_what_it_may_be_used_for(benchmark):
    release = made(benchmark, changelog="Our first one.")
    citation = text(release, "CITATION.cff")
    assert 'family-names: "Lovelace"' in citation and '- name: "The Trial team"' in citation
    assert "license: CC-BY-4.0" in citation and 'version: "1.0"' in citation
    assert "Our first one." in text(release, "CHANGELOG.md")
    assert "CC-BY-4.0" in text(release, "LICENSE.txt")


def thaw(release: Release) -> None:
    """Back to the moment before it was made, which only SQL by hand can do."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM annotator_releasedocument WHERE release_id = %s", [release.pk])
        cursor.execute(
            "UPDATE annotator_release SET state = 'making', started_at = NULL, seen_at = NULL WHERE id = %s",
            [release.pk],
        )


def test_made_twice_it_is_the_same_byte_for_byte(benchmark):
    release = made(benchmark)
    first = Path(release.file.path).read_bytes()
    thaw(release)
    make_release(release.pk)
    again = Release.objects.get(pk=release.pk)
    assert again.state == ReleaseState.READY
    assert (again.sha256, again.file_sha256, again.size) == (release.sha256, release.file_sha256, release.size)
    assert Path(again.file.path).read_bytes() == first


def test_documents_of_one_group_stay_together(benchmark):
    Document.objects.filter(order__lte=5).update(source="bing")
    release = made(benchmark, grouped_by=GroupedBy.SOURCE)
    bing = set(Document.objects.filter(source="bing").values_list("public_id", flat=True))
    assert len(set(release.documents.filter(public_id__in=bing).values_list("split", flat=True))) == 1


def test_the_splits_of_an_earlier_release_can_be_kept(benchmark):
    first = made(benchmark)
    gold(benchmark, 12, first=100)
    before = dict(first.documents.values_list("public_id", "split"))
    second = made(benchmark, version="1.1", keeps_splits_of=first, seed=99)
    after = dict(second.documents.values_list("public_id", "split"))
    assert {key: after[key] for key in before} == before
    assert [second.splits[split]["documents"] for split in Split] == [10, 5, 5]
    assert second.difference and (second.difference["moved"], second.difference["added"]) == (0, 12)


# --- what changed ---------------------------------------------------------------------------------


def test_the_difference_is_counted_from_the_data(benchmark, owner):
    first = made(benchmark)
    changed, gone, *_ = Document.objects.filter(benchmark=benchmark)
    adjudicated = Verdict.objects.filter(annotation__document=changed, annotation__kind=AnnotationKind.CONSOLIDATED)
    adjudicated.filter(claim__text="Ada Lovelace wrote notes on an engine.").update(factuality="not_enough_evidence")
    Claim.objects.filter(sentence__annotation__document=changed, text="The notes are from 1842.").update(
        text="Her notes are from 1842."
    )
    changed.annotations.update(submitted_at=timezone.now())  # as agreeing on it anew does
    discard(gone, "broken", by=owner)
    gold(benchmark, 1, first=50)
    expected = ["1 document added.", "1 document removed.", "1 document changed."]
    assert changes_since(first).lines()[:3] == expected
    second = made(benchmark, version="1.1", keeps_splits_of=first)
    found = second.difference or {}
    assert (found["added"], found["removed"], found["changed"], found["same"]) == (1, 1, 1, 6)
    assert found["labels"] == {"true > not_enough_evidence": 1} and found["claims_reworded"] == 1
    assert second.since == first
    told = text(second, "CHANGELOG.md")
    assert "1 claim changed label: 1 from true to not enough evidence." in told
    assert told.index("## 1.1") < told.index("## 1.0"), "the newest first, and all of them"


def test_what_was_reopened_and_agreed_anew_is_found():
    benchmark, person, document = gold_by_hand()
    first = made(benchmark, person)
    assert changes_since(first).is_empty
    reopen(document, Stage.REVISE, "the year", by=person)
    assert changes_since(first).lines() == ["1 document removed."]
    revision = open_annotation(document, Stage.REVISE, by=person)
    save(revision.sentence_revisions.get(sentence__order=1), "text", "Ada Lovelace was a mathematician.", person)
    submit(revision, by=person)
    assert changes_since(first).lines()[0] == "1 document changed."


def test_the_draft_reads_what_is_new_and_no_more(benchmark, django_assert_num_queries):
    release = made(benchmark)
    with django_assert_num_queries(5):  # the benchmark, and none of the gold
        assert changes_since(release).is_empty


def test_nothing_changed_is_said_too(benchmark):
    made(benchmark)
    assert "The data did not change." in text(made(benchmark, version="1.1"), "CHANGELOG.md")


def test_an_erratum_names_what_it_mends(benchmark):
    first = made(benchmark)
    second = made(benchmark, version="1.0.1", is_erratum=True, mends=first, changelog="Document 3 had a wrong label.")
    assert second.is_erratum and list(first.mended_by.all()) == [second]
    assert "Erratum: corrects 1.0." in text(second, "CHANGELOG.md")


def test_the_archive_is_packed_alike_on_every_processor(benchmark):
    release = made(benchmark)
    for info in archive(release).infolist():
        packer = zlib.compressobj(2, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(archive(release).read(info)) + packer.flush()
        assert info.compress_size == len(packed), info.filename


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"version": "new one"}, "isn’t a valid version"),
        ({"version": "../1.0"}, "isn’t a valid version"),
        ({"title": " "}, "title"),
        ({"licence": ""}, "Enter a license"),
        ({"authors": [" "]}, "at least one author"),
        ({"seed": -1}, "seed"),
        ({"is_erratum": True}, "Choose the release that this erratum corrects"),
    ],
)
def test_what_is_missing_is_named(benchmark, wish, words):
    with pytest.raises(BadValueError, match=words):
        start_release(benchmark=benchmark, wish=replace(WISH, **wish), by=None)
    assert not Release.objects.exists()


def test_a_version_is_there_once(benchmark):
    made(benchmark)
    with pytest.raises(BadValueError, match="already exists"):
        start_release(benchmark=benchmark, wish=WISH, by=None)


def test_an_erratum_says_what_was_wrong_and_mends_a_release_of_this_benchmark(benchmark):
    first = made(benchmark)
    with pytest.raises(BadValueError, match=r"Describe what was wrong in 1\.0"):
        start_release(benchmark=benchmark, wish=replace(WISH, version="1.1", mends=first), by=None)
    other = create_benchmark(slug="other", name="Other")
    gold(other, 1)
    wish = replace(WISH, mends=first, changelog="Wrong.")
    with pytest.raises(BadValueError, match="is not a finished release of this benchmark"):
        start_release(benchmark=other, wish=wish, by=None)


def test_without_gold_there_is_nothing_to_release():
    empty = create_benchmark(slug="empty", name="Empty")
    with pytest.raises(BadValueError, match="no gold yet"):
        start_release(benchmark=empty, wish=WISH, by=None)


def test_kept_splits_that_tear_a_group_apart_are_refused(benchmark):
    first = made(benchmark)
    Document.objects.update(source="bing")
    wish = replace(WISH, version="1.1", keeps_splits_of=first, grouped_by=GroupedBy.SOURCE)
    with pytest.raises(BadValueError, match="Documents in the same group"):
        start_release(benchmark=benchmark, wish=wish, by=None)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.THIRD_RATER, Role.RESEARCHER])
def test_owners_and_admins_make_releases(benchmark, role):
    with pytest.raises(NotAllowedError):
        start_release(benchmark=benchmark, wish=WISH, by=member(benchmark, role))
    start_release(benchmark=benchmark, wish=WISH, by=member(benchmark, Role.ADMIN), here=True)


def test_one_release_is_made_at_a_time(benchmark):
    start_release(benchmark=benchmark, wish=WISH, by=None, here=True)
    with pytest.raises(BadValueError, match=r"1\.0 is being created"):
        start_release(benchmark=benchmark, wish=replace(WISH, version="1.1"), by=None)


@pytest.mark.django_db(transaction=True)
def test_of_two_that_are_started_at_once_one_wins(benchmark):
    def start() -> None:
        start_release(benchmark=benchmark, wish=WISH, by=None, here=True)

    found = at_once(start, start)
    assert sorted(type(each).__name__ for each in found) == ["BadValueError", "NoneType"]
    assert Release.objects.count() == 1


# --- frozen ---------------------------------------------------------------------------------------


def test_a_release_that_is_ready_never_changes(benchmark):
    release = made(benchmark)
    row = release.documents.get(public_id=Document.objects.earliest("pk").public_id)
    release.title = row.group = "Another"
    tries: list[Callable[[], Any]] = [
        release.save,
        release.delete,
        row.save,
        row.delete,
        lambda: Release.objects.filter(pk=release.pk).update(title="Another"),
        lambda: Release.objects.all().delete(),
        lambda: Release.objects.bulk_update([release], ["title"]),
        lambda: release.documents.update(split="dev"),
        lambda: ReleaseDocument.objects.all().delete(),
        lambda: ReleaseDocument.objects.bulk_create(
            [ReleaseDocument(release=release, public_id="x", split="dev", group="", content="", parts="{}")]
        ),
        lambda: ReleaseDocument.objects.create(
            release=release, public_id="x", split="dev", group="", content="", parts="{}"
        ),
    ]
    before = list(Release.objects.values()), list(ReleaseDocument.objects.values())
    for each in tries:
        with pytest.raises(FrozenReleaseError), transaction.atomic():
            each()
    assert (list(Release.objects.values()), list(ReleaseDocument.objects.values())) == before
    # Neither does making it, cancelling it, or picking it up.
    make_release(release.pk)
    cancel_release(release, by=member(benchmark, Role.OWNER))
    assert resume_releases(alone=True) == ([], [])
    assert (list(Release.objects.values()), list(ReleaseDocument.objects.values())) == before


def test_what_happens_to_the_gold_later_does_not_reach_it(benchmark, owner):
    release = made(benchmark)
    reopen(Document.objects.earliest("pk"), Stage.VERIFY, "doubts", by=owner)
    Claim.objects.update(text="Something else.")
    path = take_release(release, by=owner)
    with zipfile.ZipFile(path) as there:
        assert b"Something else." not in there.read("trial-1.0/factcheck-bench/train.jsonl")


def test_its_benchmark_cannot_be_deleted(benchmark):
    made(benchmark)
    with pytest.raises(ProtectedError):
        benchmark.delete()


def test_the_database_holds_it_together(benchmark):
    release = made(benchmark)
    with pytest.raises(IntegrityError), transaction.atomic():
        Release.objects.create(
            benchmark=benchmark, version="2.0", title="x", licence="x", share_train=50, share_dev=50, share_test=50
        )
    fields = {"benchmark": benchmark, "version": "1.0", "title": "x", "licence": "x"}
    shares = {"share_train": 100, "share_dev": 0, "share_test": 0}
    with pytest.raises(IntegrityError), transaction.atomic():
        Release.objects.create(**fields, **shares)
    with pytest.raises(IntegrityError), transaction.atomic():
        Release.objects.create(**(fields | {"version": "3.0", "state": "ready"}), **shares)
    assert Release.objects.get() == release


# --- killed, cancelled, failed --------------------------------------------------------------------


class KilledError(BaseException):
    """Ends a worker at once, past every handler."""


def test_a_worker_killed_halfway_leaves_nothing_half_and_the_next_one_finishes(benchmark, monkeypatch):
    release = start_release(benchmark=benchmark, wish=WISH, by=None, here=True)

    def die(*_: Any, **__: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(making_releases.release_files, "pack", die)
        patch.setattr(making_releases.shutil, "rmtree", lambda *_, **__: None)  # nobody tidies up after a kill
        with pytest.raises(KilledError):
            make_release(release.pk)
    assert len(left_behind()) == 1
    release.refresh_from_db()
    assert release.state == ReleaseState.MAKING and not release.documents.exists() and not release.file
    assert resume_releases() == ([], [release.pk]), "its worker may still live"
    Release.objects.update(seen_at=timezone.now() - making_releases.LOST_AFTER * 2)
    assert resume_releases() == ([release.pk], [])
    assert tasks.resume_releases() == 1
    release.refresh_from_db()
    assert release.state == ReleaseState.READY and release.documents.count() == 8
    assert left_behind() == []


def test_an_attempt_that_was_given_up_cannot_finish(benchmark, monkeypatch):
    """A worker that was only slow comes to its end after another one has taken the release over."""
    release = start_release(benchmark=benchmark, wish=WISH, by=None, here=True)
    pack = release_files.pack

    def slow(folder: Path, top: str) -> Any:
        monkeypatch.setattr(making_releases.release_files, "pack", pack)
        Release.objects.update(seen_at=timezone.now() - making_releases.LOST_AFTER * 2)
        make_release(release.pk)
        return pack(folder, top)

    monkeypatch.setattr(making_releases.release_files, "pack", slow)
    make_release(release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.READY and release.documents.count() == 8
    assert release_files.hash_of(Path(release.file.path)) == release.file_sha256


def test_cancelling_frees_the_version(benchmark, owner, monkeypatch):
    release = start_release(benchmark=benchmark, wish=WISH, by=owner, here=True)
    monkeypatch.setattr(making_releases, "SIGN_EVERY", 0.0)
    write = release_files.write_texts

    def cancelled(*arguments: Any) -> None:
        cancel_release(release, by=owner)
        write(*arguments)

    monkeypatch.setattr(making_releases.release_files, "write_texts", cancelled)
    make_release(release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.FAILED and "Canceled by" in release.message
    assert left_behind() == [] and not release.documents.exists()
    monkeypatch.setattr(making_releases.release_files, "write_texts", write)
    made(benchmark, owner)
    assert list(
        Activity.objects.filter(action__contains="release").order_by("pk").values_list("action", flat=True)
    ) == [
        "start-release",
        "cancel-release",
        "start-release",
        "release-ready",
    ]


def test_gold_that_changes_meanwhile_is_read_again(benchmark, monkeypatch):
    release = start_release(benchmark=benchmark, wish=WISH, by=None, here=True)
    write = release_files.write_texts

    def once(*arguments: Any) -> None:
        monkeypatch.setattr(making_releases.release_files, "write_texts", write)
        gold(benchmark, 1, first=70)

    monkeypatch.setattr(making_releases.release_files, "write_texts", once)
    make_release(release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.READY and release.documents_count == 9
    assert len([n for n in archive(release).namelist() if n.endswith("CHANGELOG.md")]) == 1


def test_gold_that_comes_while_the_splits_are_drawn_is_in_the_next_attempt(benchmark, monkeypatch):
    release = start_release(benchmark=benchmark, wish=WISH, by=None, here=True)
    draw = making_releases.splits_of

    def late(*arguments: Any) -> Any:
        monkeypatch.setattr(making_releases, "splits_of", draw)
        gold(benchmark, 1, first=70)
        return draw(*arguments)

    monkeypatch.setattr(making_releases, "splits_of", late)
    make_release(release.pk)
    release.refresh_from_db()
    assert (release.state, release.documents_count) == (ReleaseState.READY, 9)


def test_gold_that_never_rests_is_said(benchmark, monkeypatch):
    release = start_release(benchmark=benchmark, wish=WISH, by=None, here=True)
    stamps = iter(range(100))
    monkeypatch.setattr(making_releases, "stamp_of_gold", lambda _: next(stamps))
    make_release(release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.FAILED and "kept changing" in release.message
    assert left_behind() == []


@pytest.mark.parametrize(
    ("error", "words"),
    [(OSError(28, "No space left on device"), "No space left on device"), (RuntimeError("oops"), "server’s log")],
)
def test_what_goes_wrong_is_kept_with_it(benchmark, monkeypatch, error, words):
    release = start_release(benchmark=benchmark, wish=WISH, by=None, here=True)

    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(making_releases.release_files, "write_manifest", broken)
    make_release(release.pk)
    release.refresh_from_db()
    assert release.state == ReleaseState.FAILED and words in release.message
    assert left_behind() == [] and not release.file


# --- taking it away -------------------------------------------------------------------------------


def test_a_damaged_file_is_not_handed_out(benchmark, owner):
    release = made(benchmark)
    path = take_release(release, by=owner)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ReleaseDamagedError, match="has changed since"):
        take_release(release, by=owner)
    path.unlink()
    with pytest.raises(ReleaseDamagedError, match="no longer in storage"):
        take_release(release, by=owner)


def test_who_reads_gold_takes_releases_away_and_that_is_on_record(benchmark):
    release = made(benchmark)
    reader = member(benchmark, Role.RESEARCHER)
    take_release(release, by=reader)
    assert Activity.objects.get(action="take-release").by == reader
    with pytest.raises(NotAllowedError):
        take_release(release, by=member(benchmark, Role.ANNOTATOR))


# --- background -----------------------------------------------------------------------------------


def test_asking_enqueues_the_making(benchmark, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        release = start_release(benchmark=benchmark, wish=WISH, by=None)
    release.refresh_from_db()
    assert release.state == ReleaseState.READY


def test_the_number_of_queries_does_not_grow_with_the_documents(benchmark, monkeypatch):
    monkeypatch.setattr(making_releases, "SIGN_EVERY", float("inf"))  # signs of life count seconds, not documents
    few = _queries(benchmark, "1.0")
    gold(benchmark, 20, first=200)
    assert _queries(benchmark, "1.1") <= few + 4, "what changed since the release before, and its changelog"


def _queries(benchmark: Benchmark, version: str) -> int:
    release = start_release(benchmark=benchmark, wish=replace(WISH, version=version), by=None, here=True)
    with CaptureQueriesContext(connection) as found:
        make_release(release.pk)
    return len(found)
