"""The pages of releases, and the command: who may, what is shown when, and what is said when it cannot be."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from bs4 import Tag
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Benchmark, Document, User
from annotator.core.vocabulary import ReleaseState, Role
from annotator.exchange.actions.making_releases import LOST_AFTER
from annotator.exchange.actions.releases import start_release
from annotator.exchange.models import Release
from annotator.exchange.screens.release_form import next_version
from tests.exchange.test_releases import WISH, gold, made
from tests.factories import BenchmarkFactory, member
from tests.teams import get, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="trial", name="Trial")
    gold(benchmark, 8)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark, client: Client) -> User:
    person = member(benchmark, Role.OWNER, display_name="Olga")
    client.force_login(person)
    return person


def sent(**fields: Any) -> dict[str, Any]:
    """What the form sends."""
    return {
        "version": "1.0",
        "title": "Trial",
        "authors": "Lovelace, Ada\nThe Trial team",
        "licence": "CC-BY-4.0",
        "kind": "release",
        "train": 50,
        "dev": 25,
        "test": 25,
        "seed": 7,
        "grouped_by": "nothing",
        "keeps": "anew",
        "people": "pseudonyms",
    } | fields


def value(tag: Tag, selector: str, name: str = "value") -> str:
    """An attribute of the element that is found there."""
    found = tag.select_one(selector)
    assert found is not None
    return str(found[name])


# --- the list -------------------------------------------------------------------------------------


def test_without_gold_the_page_says_what_is_missing(client):
    empty = BenchmarkFactory()
    page = get(client, member(empty, Role.OWNER), reverse("releases", args=[empty.slug]))
    assert "No gold to release yet" in words(page.main) and not page.find("a", string="Create a release")


def test_the_first_release_is_offered_to_those_who_make_it(client, benchmark, owner):
    page = get(client, owner, reverse("releases", args=["trial"]))
    assert page.find("a", string="Create the first release")
    page = get(client, member(benchmark, Role.RESEARCHER), reverse("releases", args=["trial"]))
    assert not page.find("a", string="Create the first release")
    assert "Nothing released yet" in words(page.main)


def test_the_list_tells_of_each_release(client, benchmark, owner):
    first = made(benchmark, owner)
    made(benchmark, owner, version="1.0.1", is_erratum=True, mends=first, changelog="A wrong label.")
    page = get(client, owner, reverse("releases", args=["trial"]))
    newest, oldest = page.select(".release")
    assert "erratum: corrects 1.0" in words(newest) and "corrected by 1.0.1" in words(oldest)
    assert "4 train, 2 dev, 2 test" in words(oldest) and "8 documents" in words(oldest)
    assert value(oldest, "input.hash") == first.sha256
    assert value(oldest, "svg", "aria-label") == "4 train, 2 dev, 2 test"


def test_the_list_takes_the_same_queries_for_many(client, benchmark, owner):
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            get(client, owner, reverse("releases", args=["trial"]))
        return len(found)

    first = made(benchmark, owner)
    made(benchmark, owner, version="1.0.1", mends=first, changelog="Wrong.")
    few = queries()
    for number in range(3):
        made(benchmark, owner, version=f"2.{number}", mends=first, changelog="Wrong.")
    assert queries() == few


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.THIRD_RATER])
def test_who_does_not_read_gold_sees_no_release(client, benchmark, owner, role):
    release = made(benchmark, owner)
    person = member(benchmark, role)
    for name, args in (("releases", []), ("release", [release.public_id]), ("release-download", [release.public_id])):
        get(client, person, reverse(name, args=["trial", *args]), status=403)
    get(client, person, reverse("release-new", args=["trial"]), status=403)


def test_a_researcher_takes_a_release_away_and_makes_none(client, benchmark, owner):
    release = made(benchmark, owner)
    client.force_login(member(benchmark, Role.RESEARCHER))
    answer = client.get(reverse("release-download", args=["trial", release.public_id]))
    assert answer["Content-Disposition"] == 'attachment; filename="trial-1.0.zip"'
    content = b"".join(answer.streaming_content)
    assert len(content) == release.size
    assert "trial-1.0/MANIFEST.sha256" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert client.get(reverse("release-new", args=["trial"])).status_code == 403
    assert client.post(reverse("release", args=["trial", release.public_id]), {"what": "cancel"}).status_code == 403


def test_the_release_of_another_benchmark_is_not_found(client, benchmark, owner):
    release = made(benchmark, owner)
    other = BenchmarkFactory()
    get(client, member(other, Role.OWNER), reverse("release", args=[other.slug, release.public_id]), status=404)
    get(client, None, reverse("release-download", args=[other.slug, release.public_id]), status=404)


# --- the form -------------------------------------------------------------------------------------


def test_the_form_shows_the_splits_before_anything_is_made(client, benchmark, owner):
    page = get(client, owner, reverse("release-new", args=["trial"]))
    rows = [words(row) for row in page.select("#preview tbody tr")]
    assert [row.split()[:2] for row in rows] == [["Train", "6"], ["Dev", "1"], ["Test", "1"]]
    assert "True" in rows[0] and "False" in rows[0]
    preview = client.get(
        reverse("release-new", args=["trial"]),
        {"part": "preview", "train": 50, "dev": 0, "test": 50, "seed": 1, "grouped_by": "nothing"},
        headers={"hx-request": "true"},
    ).content.decode()
    assert preview.count("<tr>") == 4 and "<html" not in preview


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"train": 50, "dev": 0, "test": 0}, "add up to 50%"),
        ({"train": "many", "dev": 0, "test": 0}, "Enter whole numbers"),
        ({"train": 1, "dev": 0, "test": 99}, "Train is empty although its share is 1%"),
    ],
)
def test_the_preview_says_what_is_wrong_with_the_splits(client, benchmark, owner, asked, said):
    given = {"part": "preview", "seed": 1, "grouped_by": "nothing"} | asked
    assert said in client.get(reverse("release-new", args=["trial"]), given).content.decode()


def test_only_what_the_documents_have_can_keep_them_together(client, benchmark, owner):
    Document.objects.filter(order=1).update(source="bing")
    page = get(client, owner, reverse("release-new", args=["trial"]))
    assert [each["value"] for each in page.select("#id_grouped_by option")] == ["nothing", "source", "prompt"]


def test_making_one_leads_to_its_page(client, benchmark, owner, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(reverse("release-new", args=["trial"]), sent())
    release = Release.objects.get()
    assert answer["Location"] == reverse("release", args=["trial", release.public_id])
    assert (release.by, release.seed, release.authors) == (owner, 7, ["Lovelace, Ada", "The Trial team"])
    page = get(client, owner, answer["Location"])
    text = words(page.main)
    assert release.state == ReleaseState.READY and "The first release." in text and "CC-BY-4.0" in text
    assert value(page, "#hash") == release.sha256
    assert f"SHA-256 of its manifest: {release.sha256}" in words(page.select_one("#bibtex"))
    assert len(page.select("table.files tbody tr")) == len(release.files)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"version": "one"}, "a valid version"),
        ({"train": 60}, "add up to 110%"),
        ({"authors": "  "}, "This field is required"),
        ({"kind": "erratum"}, "Choose the release that this erratum corrects"),
        ({"grouped_by": "colour"}, "Select a valid choice"),
        ({"version": "1.0"}, "1.0 already exists"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_typed_is_lost(client, benchmark, owner, fields, said):
    made(benchmark, owner)
    page = client.post(
        reverse("release-new", args=["trial"]), sent(**({"version": "1.1", "changelog": "My own words."} | fields))
    )
    assert page.status_code == 422
    assert said in page.content.decode() and "My own words." in page.content.decode()
    assert Release.objects.count() == 1


def test_an_erratum_is_made_from_the_form(client, benchmark, owner, django_capture_on_commit_callbacks):
    first = made(benchmark, owner)
    fields = {"kind": "erratum", "mends": first.public_id, "changelog": "A wrong label.", "keeps": first.public_id}
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("release-new", args=["trial"]), sent(version="1.0.1", **fields))
    second = Release.objects.latest("pk")
    assert (second.mends, second.keeps_splits_of, second.state) == (first, first, ReleaseState.READY)
    page = get(client, owner, reverse("release", args=["trial", first.public_id]))
    assert "This release has an error that is corrected in 1.0.1 . Use that release instead." in words(page.main)
    page = get(client, owner, reverse("release", args=["trial", second.public_id]))
    assert "The data did not change." in words(page.main) and "erratum that corrects 1.0" in words(page.main)


def test_the_changelog_can_be_drafted_and_keeps_what_was_typed(client, benchmark, owner):
    made(benchmark, owner)
    gold(benchmark, 2, first=100)
    url = reverse("release-new", args=["trial"])
    page = get(client, owner, url)
    assert value(page, "#id_version") == "1.1"
    answer = client.post(url, {"part": "changes", "changelog": "My words."}, headers={"hx-request": "true"})
    drafted = answer.content.decode()
    assert "My words.\n\n- 2 documents added." in drafted
    again = client.post(url, {"part": "changes", "changelog": "My words.\n\n- 2 documents added."})
    assert again.content.decode().count("2 documents added") == 1


@pytest.mark.parametrize(
    ("version", "following"),
    [("1.0", "1.1"), ("1.9.3", "1.10"), ("2", "2.1"), ("2026.1", "2026.2"), ("2.0-rc1", "2.0")],
)
def test_the_next_version(version, following):
    assert next_version(version) == following


# --- while it is made -----------------------------------------------------------------------------


def test_progress_is_shown_until_it_is_ready(client, benchmark, owner):
    release = start_release(benchmark=benchmark, wish=WISH, by=owner, here=True)
    url = reverse("release", args=["trial", release.public_id])
    assert "Waiting for a worker" in words(get(client, owner, url).main)
    now = timezone.now()
    Release.objects.update(started_at=now, seen_at=now, done=3, total=16)
    fragment = client.get(url, headers={"hx-request": "true"}).content.decode()
    assert "3 of 16" in fragment and "<html" not in fragment
    assert client.get(reverse("release-download", args=["trial", release.public_id])).status_code == 422
    client.post(url, {"what": "cancel"})
    assert "Canceled by Olga." in words(get(client, owner, url).main)
    assert client.get(url, headers={"hx-request": "true"})["HX-Refresh"] == "true"
    assert "Canceled by Olga." in words(get(client, owner, reverse("releases", args=["trial"])).main)


def test_a_damaged_file_is_refused_with_a_sentence(client, benchmark, owner):
    release = made(benchmark, owner)
    Path(release.file.path).write_bytes(b"not it")
    answer = client.get(reverse("release-download", args=["trial", release.public_id]))
    assert answer.status_code == 500 and "has changed since it was created" in answer.content.decode()


# --- the command ----------------------------------------------------------------------------------


def test_the_command_makes_and_lists_releases(benchmark, capsys):
    call_command(
        "release", "--benchmark", "trial", "--version", "1.0", "--author", "Lovelace, Ada", "--shares", "50/0/50"
    )
    release = Release.objects.get()
    assert release.state == ReleaseState.READY and release.by is None
    assert release.sha256 in capsys.readouterr().out
    call_command(
        "release", "--benchmark", "trial", "--version", "1.1", "--mends", "1.0", "--changelog", "A wrong label."
    )
    capsys.readouterr()
    call_command("release", "--benchmark", "trial", "--list", "--json")
    newest, oldest = json.loads(capsys.readouterr().out)
    assert (newest["version"], newest["mends"], oldest["mended_by"]) == ("1.1", "1.0", "1.1")
    assert newest["authors"] == ["Lovelace, Ada"], "as before"
    assert Path(oldest["file"]).is_file() and oldest["splits"]["train"]["documents"] == 4
    call_command("release", "--benchmark", "trial", "--list")
    assert "1.1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Give the version to create"),
        (["--version", "1.0"], "at least one author"),
        (["--version", "1.0", "--author", "A", "--shares", "80/20"], "three numbers"),
        (["--version", "1.0", "--author", "A", "--shares", "80/20/10"], "add up to 110%"),
        (["--version", "1.0", "--author", "A", "--mends", "0.9"], "There is no release “0.9”"),
    ],
)
def test_the_command_says_what_is_wrong(benchmark, options, said):
    with pytest.raises(CommandError, match=said):
        call_command("release", "--benchmark", "trial", *options)
    assert not Release.objects.exists()


def test_a_command_that_was_killed_goes_on_where_it_is_called_again(benchmark, capsys):
    release = start_release(benchmark=benchmark, wish=WISH, by=None, here=True)
    Release.objects.update(started_at=timezone.now(), seen_at=timezone.now())
    with pytest.raises(CommandError, match="Another worker has version 1"):
        call_command("release", "--benchmark", "trial", "--version", "1.0")
    Release.objects.update(seen_at=timezone.now() - LOST_AFTER * 2)
    call_command("release", "--benchmark", "trial", "--version", "1.0")
    release.refresh_from_db()
    assert release.state == ReleaseState.READY and release.authors == ["Lovelace, Ada", "The Trial team"]


def test_a_list_without_releases(benchmark, capsys):
    call_command("release", "--benchmark", "trial", "--list")
    assert "No releases yet." in capsys.readouterr().out
    call_command("release", "--benchmark", "trial", "--list", "--json")
    assert json.loads(capsys.readouterr().out) == []
