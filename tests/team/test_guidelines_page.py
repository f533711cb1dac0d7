"""Guidelines in the tool: writing a version, two people at once, what is new, and the definitions beside the work."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.guidelines import StaleGuidelinesError, mark_read, publish_guidelines
from annotator.core.models import Activity, Annotation, Benchmark, Membership, User
from annotator.core.queries.guidelines import news_for, versions_of
from annotator.core.vocabulary import AnnotationState, Role, Stage
from annotator.stages.actions.annotate import open_annotation
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, verified, with_corpus

pytestmark = pytest.mark.django_db
URL = "/b/pilot/guidelines/"
HTMX = {"hx-request": "true"}


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot", name="Pilot")
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, display_name="Grace")


def get(
    client: Client, user: User, url: str, status: int = 200, headers: dict[str, str] | None = None
) -> BeautifulSoup:
    client.force_login(user)
    answer = client.get(url, headers=headers)
    assert answer.status_code == status, url
    return BeautifulSoup(answer.content, "html.parser")


def post(
    client: Client, user: User, url: str, data: dict[str, Any], status: int, headers: dict[str, str] | None = None
) -> BeautifulSoup:
    client.force_login(user)
    answer = client.post(url, data, headers=headers)
    assert answer.status_code == status, answer.content.decode()[-2000:]
    return BeautifulSoup(answer.content, "html.parser")


def words(tag: Tag | None) -> str:
    assert tag is not None
    return " ".join(tag.get_text("").split())


def publish(benchmark: Benchmark, text: str, by: User, **more: Any) -> int:
    return publish_guidelines(benchmark=benchmark, text=text, by=by, **more).number


# --- writing --------------------------------------------------------------------------------------


def test_the_form_publishes_a_version_with_a_note_of_what_changed(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    form = get(client, owner, f"{URL}?edit").select_one("#guidelines-form")
    assert form is not None
    sent = {str(field["name"]): str(field.get("value", "")) for field in form.select("input[name]")}
    assert sent["based_on"] == "1"
    post(client, owner, URL, sent | {"text": "# New\r\n\r\nRules.", "note": " Claims are \n shorter "}, 302)
    assert [(each.number, each.note) for each in versions_of(benchmark)] == [(2, "Claims are shorter"), (1, "")]
    assert Activity.objects.get(action="publish-guidelines").reason == "version 2: Claims are shorter"
    listed = get(client, owner, f"{URL}versions/").select(".entries li")
    assert "Version 2 current Claims are shorter Grace," in words(listed[0])


def test_a_preview_publishes_nothing_and_counts_what_is_typed(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    typed = {"text": "## Stance\r\n\r\nRead <b>it</b>.", "note": "x", "based_on": "1", "preview": "yes"}
    part = post(client, owner, URL, typed, 200, headers=HTMX)
    assert part.select_one("html") is None
    assert "4 words, 26 of 200,000 characters" in words(part.select_one("#preview"))
    assert part.select_one("#preview h2") is not None and part.select_one("#preview b") is None
    page = post(client, owner, URL, typed, 200)  # without JavaScript
    assert words(page.select_one("textarea[name=text]")) == "## Stance Read <b>it</b>."
    assert page.select_one("#preview h2") is not None
    assert benchmark.guidelines.count() == 1


def test_a_text_that_another_version_came_before_is_refused_with_both_texts(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    admin = member(benchmark, Role.ADMIN, display_name="Alan")
    publish(benchmark, "# Guidelines\n\nAlan wrote this.", admin, based_on=1)
    page = post(client, owner, URL, {"text": "# Mine\n\nGrace wrote that.", "note": "n", "based_on": "1"}, 409)
    assert benchmark.guidelines.count() == 2
    assert "Alan published it" in words(page.select_one("main [role=alert]"))
    assert words(page.select_one("#theirs")) == "# Guidelines Alan wrote this."
    assert words(page.select_one("textarea[name=text]")) == "# Mine Grace wrote that."
    assert words(page.select_one(".diff-text ins")) == "Alan wrote this."
    again = {str(field["name"]): str(field.get("value", "")) for field in page.select("#guidelines-form input[name]")}
    assert (again["based_on"], again["note"]) == ("2", "n")
    post(client, owner, URL, again | {"text": "# Mine\n\nBoth."}, 302)
    assert [each.number for each in versions_of(benchmark)] == [3, 2, 1]


def test_the_same_text_from_two_people_is_one_version(benchmark: Benchmark, owner: User) -> None:
    assert publish(benchmark, "Same", owner, based_on=1) == 2
    assert publish(benchmark, "Same\r\n", owner, based_on=1) == 2
    with pytest.raises(StaleGuidelinesError):
        publish(benchmark, "Other", owner, based_on=1)
    assert publish(benchmark, "Other", owner) == 3  # the Django admin names no version
    with pytest.raises(BadValueError):
        publish(benchmark, " \n\x00", owner)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.THIRD_RATER, Role.RESEARCHER])
def test_who_does_not_manage_reads_and_compares_and_cannot_write(
    client: Client, benchmark: Benchmark, owner: User, role: Role
) -> None:
    publish(benchmark, "# Second", owner)
    reader = member(benchmark, role)
    assert get(client, reader, URL).select_one("a[href='?edit']") is None
    assert get(client, reader, f"{URL}versions/").select(".diff-text ins")
    post(client, reader, URL, {"text": "x", "based_on": "2", "preview": "yes"}, 403)
    with pytest.raises(rules.NotAllowedError):
        publish(benchmark, "# Third", reader)


@pytest.mark.parametrize("based_on", ["", "x", "-1", "99999999999"])
def test_a_form_without_its_version_is_refused_and_keeps_the_text(
    client: Client, benchmark: Benchmark, owner: User, based_on: str
) -> None:
    page = post(client, owner, URL, {"text": "Kept", "based_on": based_on}, 409)
    assert words(page.select_one("textarea[name=text]")) == "Kept"
    assert words(page.select_one("#theirs")) == "# Guidelines"
    assert benchmark.guidelines.count() == 1


def test_a_text_that_is_too_long_comes_back_with_the_reason(client: Client, benchmark: Benchmark, owner: User) -> None:
    page = post(client, owner, URL, {"text": "word " * 50_000, "based_on": "1"}, 422)
    assert len(words(page.select_one("textarea[name=text]"))) == 249_999
    assert "at most 200000 characters" in words(page.select_one("#id_text_error"))


# --- what is new ----------------------------------------------------------------------------------


def test_any_two_versions_are_compared(client: Client, benchmark: Benchmark, owner: User) -> None:
    publish(benchmark, "# Guidelines\n\nClaims are short.", owner)
    publish(benchmark, "# Guidelines\n\nClaims are very short.", owner)

    def compared(query: str) -> tuple[str, list[str], list[str]]:
        page = get(client, owner, f"{URL}versions/{query}")
        new, gone = ([words(tag) for tag in page.select(f".diff-text {name}")] for name in ("ins", "del"))
        return words(page.select_one("h1")), new, gone

    assert compared("") == ("What's new: version 2 to 3", ["very"], [])
    assert compared("?from=1&to=3") == ("What's new: version 1 to 3", ["Claims are very short."], [])
    assert compared("?from=3&to=2") == ("What's new: version 3 to 2", [], ["very"])
    assert compared("?to=2") == ("What's new: version 1 to 2", ["Claims are short."], [])
    assert "same version" in words(get(client, owner, f"{URL}versions/?from=1&to=1").select_one(".diff-text"))
    for query in ("?from=9&to=1", "?to=x", "?from=-1"):
        get(client, owner, f"{URL}versions/{query}", status=404)


def test_with_one_version_or_none_there_is_nothing_to_compare(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    assert "Nothing to compare yet" in words(get(client, owner, f"{URL}versions/").select_one(".empty"))
    benchmark.guidelines.all().delete()
    assert "There are no guidelines yet." in words(get(client, owner, f"{URL}versions/").select_one(".empty"))
    get(client, owner, f"{URL}decompose/")


def test_who_has_begun_by_an_older_version_is_told_until_they_have_read_it(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    screen = f"/d/{document.public_id}/decompose/"
    assert not get(client, ada, screen).select("aside[aria-label='Changed guidelines']")
    publish(benchmark, "# Second", owner)
    publish(benchmark, "# Third", owner)
    for url, says in (("/", "The guidelines of Pilot changed"), (screen, "The guidelines changed")):
        note = get(client, ada, url).select_one("aside[aria-label='Changed guidelines']")
        assert f"{says} in version 3 (what's new)." in words(note)
        link = note.select_one("a") if note else None
        assert link is not None and link["href"] == f"{URL}versions/?from=1&to=3"
    assert get(client, ada, f"{URL}versions/?from=1&to=3").select_one("form[action$='/read/']") is not None
    assert post(client, ada, f"{URL}read/", {"number": "3"}, 200, headers=HTMX).get_text() == ""
    ada.refresh_from_db()
    for url in ("/", screen, f"{URL}versions/?from=1&to=3"):
        assert not get(client, ada, url).select("aside[aria-label='Changed guidelines'], form[action$='/read/']")
    annotation.refresh_from_db()
    assert annotation.guidelines is not None and annotation.guidelines.number == 1  # the stamp stays as it was
    publish(benchmark, "# Fourth", owner)
    assert [(news.number, news.since) for news in news_for(ada, benchmark)] == [(4, 3)]


def test_reading_is_recorded_with_the_open_work_that_goes_on(benchmark: Benchmark, owner: User, ada: User) -> None:
    begun = open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=ada)
    decomposed(prefill(DocumentFactory(benchmark=benchmark)), ada)  # submitted: nothing goes on there
    publish(benchmark, "# Second", owner)
    open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=ada)  # by the new version already
    mark_read(benchmark=benchmark, number=2, by=ada)
    mark_read(benchmark=benchmark, number=2, by=ada)  # pressed twice
    mark_read(benchmark=benchmark, number=1, by=ada)  # an older one read later takes nothing back
    activity = Activity.objects.get(action="read-guidelines", by=ada)
    assert activity.reason == "version 2"
    assert [(change["record"], change["before"], change["after"]) for change in activity.changes] == [
        (f"annotation:{begun.public_id}", 1, 2)
    ]
    ada.refresh_from_db()
    assert news_for(ada) == []


def test_submitted_work_is_told_too_and_taken_back_work_or_none_is_not(
    benchmark: Benchmark, owner: User, ada: User
) -> None:
    ben, cleo = member(benchmark), member(benchmark)
    decomposed(prefill(DocumentFactory(benchmark=benchmark)), ada)
    open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=ben)
    Annotation.objects.filter(person=ben).update(state=AnnotationState.TAKEN_BACK, seat=None)
    publish(benchmark, "# Second", owner)
    assert [bool(news_for(person)) for person in (ada, ben, cleo, owner)] == [True, False, False, False]
    Membership.objects.filter(user=ada).update(active=False)
    assert news_for(ada) == []


def test_who_published_a_version_is_not_told_about_it(benchmark: Benchmark, owner: User) -> None:
    open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=owner)
    publish(benchmark, "# Second", owner)
    owner.refresh_from_db()
    assert news_for(owner) == []
    publish(benchmark, "# Third", member(benchmark, Role.ADMIN))
    assert [(news.number, news.since) for news in news_for(owner)] == [(3, 2)]


def test_reading_what_does_not_exist_and_reading_by_strangers_is_refused(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    for number in ("7", "x", ""):
        post(client, ada, f"{URL}read/", {"number": number}, 422)
    with pytest.raises(rules.NotAllowedError):
        mark_read(benchmark=benchmark, number=1, by=member(BenchmarkFactory()))
    ada.refresh_from_db()
    assert ada.preferences == {}


def test_other_preferences_stay_when_a_version_is_read(benchmark: Benchmark, ada: User) -> None:
    other = BenchmarkFactory()
    User.objects.filter(pk=ada.pk).update(preferences={"keys": "off", "guidelines_read": {other.public_id: 5}})
    mark_read(benchmark=benchmark, number=1, by=ada)
    ada.refresh_from_db()
    assert ada.preferences == {"keys": "off", "guidelines_read": {other.public_id: 5, benchmark.public_id: 1}}


def test_one_and_three_benchmarks_and_versions_take_the_same_number_of_queries(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    def more(where: Benchmark, by: User) -> None:
        open_annotation(DocumentFactory(benchmark=where), Stage.DECOMPOSE, by=ada)
        publish(where, f"# Version of {where}", by, note="Better")

    def count() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as news:
            news_for(ada)
        with CaptureQueriesContext(connection) as page:
            assert client.get(f"{URL}versions/").status_code == 200
        return len(news), len(page)

    client.force_login(owner)
    more(benchmark, owner)
    few = count()
    for _ in range(2):
        other = BenchmarkFactory()
        Membership.objects.create(benchmark=other, user=ada, role=Role.ANNOTATOR)
        more(other, member(other, Role.OWNER))
        publish(benchmark, f"# Again {other}", owner, note="Again")
    assert len(news_for(ada)) == 3
    assert (count(), few[0]) == (few, 1)


def test_the_history_of_a_document_names_the_version_that_work_was_begun_by(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    publish(benchmark, "# Second", owner)
    document = DocumentFactory(benchmark=benchmark)
    open_annotation(document, Stage.DECOMPOSE, by=ada)
    history = get(client, ada, f"/d/{document.public_id}/").select_one("#history")
    assert "Ada started decompose with version 2 of the guidelines" in words(history)


# --- definitions beside the work ------------------------------------------------------------------


def test_the_sheet_holds_the_benchmarks_words_and_ours_where_it_has_none(
    client: Client, benchmark: Benchmark, owner: User, ada: User
) -> None:
    publish(benchmark, "## Stance\n\nRead *slowly*.\n\n### Refutes\n\n# Odd\n\n## Stance: refute\n\nAgainst it.", owner)
    sheet = get(client, ada, f"{URL}verify/", headers=HTMX)
    assert sheet.select_one("html") is None
    stance = sheet.select_one("[data-asks~='stance:label']")
    assert stance is not None and stance.select_one("em") is not None
    titles = {words(tag): words(tag.find_next_sibling("div")) for tag in stance.select("h3")}
    assert titles["Refutes"] == "Against it."
    assert titles["Partially supports default"] == "It supports part of the claim and is silent about the rest."
    assert sheet.select_one("[data-asks~='verdict:operations']") is not None
    assert not sheet.select(".prose [id]")  # no anchor that the page around it may have too
    page = get(client, ada, f"{URL}verify/")
    assert page.select_one("html") is not None and page.select_one("#guide-stance") is not None
    get(client, ada, f"{URL}elsewhere/", status=404)


def test_on_each_screen_the_guidelines_are_one_key_away_and_every_question_has_its_section(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))

    def look(stage: Stage) -> None:
        open_annotation(document, stage, by=owner)
        page = get(client, owner, f"/d/{document.public_id}/{stage}/")
        link = page.select_one("[data-key='h']")
        assert link is not None and link["href"] == f"{URL}{stage}/"
        assert page.select_one("dialog#guide-sheet") is not None
        sheet = get(client, owner, str(link["href"]), headers=HTMX)
        answered = {name for tag in sheet.select("[data-asks]") for name in str(tag["data-asks"]).split()}
        asked = set()
        for field in page.select("[data-field]"):
            record = field.find_parent(attrs={"data-record": True})
            assert record is not None
            asked.add(f"{str(record['data-record']).partition(':')[0]}:{field['data-field']}")
        # What nobody needs a definition for: free words, how sure one is, and marked words of a passage.
        free = {"verdict:reason", "verdict:confidence", "claim:removed_note", "stance:rationale"}
        assert asked - answered - free == set()

    look(Stage.DECOMPOSE)
    decomposed(document, owner)
    document.refresh_from_db()
    look(Stage.VERIFY)
    verified(document, owner, false_claim="1825")
    look(Stage.REVISE)
