"""Benchmarks: the list, making one, the overview's figures, and the guidelines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotator.core.models import Activity, Benchmark, Document, Guidelines, Membership, User
from annotator.core.queries.standing import standing_of
from annotator.core.vocabulary import Phase, Role, Stage
from annotator.home.queries.overview import StageBar, bars_of, suggestion_shares
from annotator.measures.queries.pace import document_times, duration
from annotator.stages.actions import documents as actions
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence, remove_claim
from annotator.stages.actions.submit import submit
from annotator.stages.queries.decomposition import sentences_of
from annotator.suggestions.actions.runs import start_run
from annotator.team.screens.guidelines import rendered
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    UserFactory,
    decomposed,
    documents,
    member,
    prefill,
    save,
    verified,
    with_corpus,
)

pytestmark = pytest.mark.django_db
DEFAULT = Path(__file__).resolve().parents[2] / "fixtures" / "guidelines" / "default.md"


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory(slug="pilot", name="Pilot")
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER)


def get(client: Client, user: User, url: str, status: int = 200) -> BeautifulSoup:
    client.force_login(user)
    answer = client.get(url)
    assert answer.status_code == status
    return BeautifulSoup(answer.content, "html.parser")


def words(tag: Tag | None) -> str:
    assert tag is not None
    return " ".join(tag.get_text(" ").split())


def gold(document: Document, user: User, *seconds: int) -> None:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=user)
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=user)
    submit(annotation, by=user, active_seconds=seconds[0])
    document.run_items.update(state="finished")
    Document.objects.filter(pk=document.pk).update(phase=Phase.INDEPENDENT)
    document.refresh_from_db()
    verified(document, user)
    document.annotations.filter(stage=Stage.VERIFY, person=user).update(active_seconds=seconds[1])
    submit(open_annotation(document, Stage.REVISE, by=user), by=user, active_seconds=seconds[2])


# --- figures --------------------------------------------------------------------------------------


def test_bars_count_agreed_in_work_and_waiting_documents(benchmark: Benchmark, owner: User) -> None:
    DocumentFactory(benchmark=benchmark)
    DocumentFactory(benchmark=benchmark, phase=Phase.PREFILLING)
    open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=owner)
    DocumentFactory(benchmark=benchmark, stage=Stage.VERIFY, phase=Phase.CONSOLIDATING)
    DocumentFactory(benchmark=benchmark, stage=Stage.REVISE, phase=Phase.AGREED)
    DocumentFactory(benchmark=benchmark, stage=Stage.REVISE, phase=Phase.DISCARDED)
    DocumentFactory()  # of another benchmark
    standing = standing_of(benchmark)
    bars = bars_of(standing)
    assert bars == [
        StageBar(Stage.DECOMPOSE, adjudicated=2, to_agree=0, in_work=1, waiting=2, total=5),
        StageBar(Stage.VERIFY, adjudicated=1, to_agree=1, in_work=0, waiting=0, total=5),
        StageBar(Stage.REVISE, adjudicated=1, to_agree=0, in_work=0, waiting=0, total=5),
    ]
    assert (standing.total, standing.gold, standing.discarded) == (6, 1, 1)
    assert bars[1].words == "1 completed, 1 awaiting adjudication"
    assert bars[0].parts == [
        {"kind": "agreed", "x": 0.0, "width": 40.0},
        {"kind": "work", "x": 40.0, "width": 20.0},
        {"kind": "waiting", "x": 60.0, "width": 40.0},
    ]


def test_two_people_at_one_document_are_one_document_in_work(benchmark: Benchmark) -> None:
    benchmark.overlap = 2
    benchmark.save()
    document = DocumentFactory(benchmark=benchmark)
    for _ in range(2):
        open_annotation(document, Stage.DECOMPOSE, by=member(benchmark))
    assert bars_of(standing_of(benchmark))[0].in_work == 1


def test_active_time_is_the_mean_of_one_person_over_gold_documents_alone(benchmark: Benchmark, owner: User) -> None:
    assert document_times(benchmark) is None
    for seconds in ((60, 600, 60), (120, 1200, 120)):
        gold(prefill(DocumentFactory(benchmark=benchmark)), owner, *seconds)
    begun = open_annotation(DocumentFactory(benchmark=benchmark), Stage.DECOMPOSE, by=owner)
    type(begun).objects.filter(pk=begun.pk).update(active_seconds=9999)
    time = document_times(benchmark)
    assert time is not None
    assert (time.documents, sorted(time.wholes), time.mean) == (2, [720, 1440], 1080)
    assert time.split == "decompose 2 min, verify 15 min, revise 2 min"
    assert (time.shown, time.beside_paper) == ("18 min", "within the paper’s 15 to 30 min")


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0 s"), (89, "89 s"), (90, "2 min"), (7500, "2 h 5 min")])
def test_durations_read_as_people_say_them(seconds: int, shown: str) -> None:
    assert duration(seconds) == shown


def test_shares_count_suggested_claims_kept_edited_and_removed_once_agreed(benchmark: Benchmark, owner: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    annotation = open_annotation(document, Stage.DECOMPOSE, by=owner)
    first, second = sentences_of(annotation)[:2]
    for sentence in sentences_of(annotation):
        accept_sentence(sentence, by=owner)
    edited, removed = first.claims.first(), second.claims.first()
    assert edited is not None and removed is not None and second.claims.count() == 2
    save(edited, "text", "Ada Lovelace was a mathematician.", owner)
    remove_claim(removed, "redundant", by=owner)
    assert suggestion_shares(benchmark).decided == 0  # nothing is agreed: nothing is told
    submit(annotation, by=owner)
    shares = suggestion_shares(benchmark)
    assert (shares.kept, shares.edited, shares.removed) == (1, 1, 1)
    assert shares.kept_percent == 33


# --- the page -------------------------------------------------------------------------------------


def test_the_overview_says_how_far_it_is(client: Client, benchmark: Benchmark, owner: User) -> None:
    document = prefill(DocumentFactory(benchmark=benchmark))
    gold(document, owner, 60, 600, 60)
    actions.flag(DocumentFactory(benchmark=benchmark), "broken", by=owner)
    page = get(client, owner, "/b/pilot/")
    cards = [words(card) for card in page.select(".stat")]
    assert cards == [
        "Gold 1 of 2 documents; 1 flagged",
        "Active time per document 12 min decompose 60 s, verify 10 min, revise 60 s: one person, "
        "below the paper’s 15 to 30 min",
        "IAA, stance – available once two annotators submit verify",
        "Suggestions accepted unchanged 100% of claims; 0% edited, 0% removed",
    ]
    bars = page.select(".bars svg.phases")
    assert [bar["aria-label"] for bar in bars] == [
        "Decompose: 1 completed, 1 not started",
        "Verify: 1 completed",
        "Revise: 1 completed",
    ]
    assert bars[0].select_one("rect.agreed")["width"] == "50.0%"  # type: ignore[index]
    assert not page.select("[style]")
    links = {str(link.get("href")) for link in page.select("main a")}
    assert {"/b/pilot/import/", "/b/pilot/export/", "/b/pilot/runs/", "/b/pilot/guidelines/"} <= links


def test_the_latest_runs_show_their_progress(client: Client, benchmark: Benchmark, owner: User) -> None:
    made = documents(3, benchmark=benchmark)
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[each.pk for each in made], by=owner)
    assert run is not None
    run.items.filter(document=made[0]).update(state="finished")
    run.items.filter(document=made[1]).update(state="failed")
    section = words(get(client, owner, "/b/pilot/").select_one("[aria-labelledby=runs-title]"))
    assert "2 of 3" in section and "1 failed" in section


def test_people_see_the_buttons_that_work_for_them(client: Client, benchmark: Benchmark) -> None:
    DocumentFactory(benchmark=benchmark)

    def tabs(role: Role) -> list[str]:
        return [words(tab) for tab in get(client, member(benchmark, role), "/b/pilot/").select(".bar .steps a")]

    groups = ["Overview", "Documents", "Team", "Suggestions", "Quality", "Gold"]
    assert tabs(Role.ADMIN) == groups
    assert tabs(Role.ANNOTATOR) == ["Overview", "Documents", "Team"]
    assert tabs(Role.RESEARCHER) == groups


def test_the_pages_of_a_group_stand_below_the_bar(client: Client, benchmark: Benchmark) -> None:
    def pages(role: Role, url: str) -> list[str]:
        return [words(tab) for tab in get(client, member(benchmark, role), url).select(".subbar a")]

    assert pages(Role.ADMIN, "/b/pilot/batches/") == ["Team", "Batches", "Practice", "People", "Crowd", "Guidelines"]
    assert pages(Role.ANNOTATOR, "/b/pilot/team/") == ["Team", "Guidelines"]
    assert pages(Role.ANNOTATOR, "/b/pilot/documents/") == ["Documents", "Studies"]
    assert pages(Role.RESEARCHER, "/b/pilot/automation/") == ["Their quality", "Impact"]
    assert "Services" in pages(Role.OWNER, "/b/pilot/runs/") and "Services" not in pages(Role.ADMIN, "/b/pilot/runs/")
    assert pages(Role.RESEARCHER, "/b/pilot/export/") == ["Export", "Releases", "Scores"]
    current = get(client, member(benchmark, Role.ADMIN), "/b/pilot/batches/").select("[aria-current=page]")
    assert [words(tab) for tab in current] == ["Team", "Batches"]


def test_an_empty_benchmark_says_what_to_do(client: Client, benchmark: Benchmark, owner: User) -> None:
    button = get(client, owner, "/b/pilot/").select_one(".empty a")
    assert button is not None and button["href"] == "/b/pilot/import/"
    assert not get(client, member(benchmark), "/b/pilot/").select(".empty a")


def test_a_stranger_finds_no_benchmark(client: Client, benchmark: Benchmark) -> None:
    stranger = UserFactory(is_staff=True)
    for url in ("/b/pilot/", "/b/pilot/documents/", "/b/pilot/guidelines/"):
        get(client, stranger, url, status=404)
    assert "Pilot" not in words(get(client, stranger, "/benchmarks/").select_one("main"))


# --- the list and making one ----------------------------------------------------------------------


def test_the_list_shows_ones_own_benchmarks_with_their_gold(
    client: Client, benchmark: Benchmark, owner: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    DocumentFactory(benchmark=benchmark)
    DocumentFactory(benchmark=benchmark, stage=Stage.REVISE, phase=Phase.AGREED)
    BenchmarkFactory(name="Not mine")
    client.force_login(owner)
    with django_assert_num_queries(13):  # one for each kind of news, however many benchmarks
        page = BeautifulSoup(client.get("/benchmarks/").content, "html.parser")
    cells = ("[data-label=Benchmark]", "[data-label=Gold]")
    shown = [[words(row.select_one(cell)) for cell in cells] for row in page.select("tbody tr")]
    assert shown == [["Pilot", "1 of 2"]]
    for _ in range(2):
        Membership.objects.create(benchmark=BenchmarkFactory(), user=owner, role=Role.ANNOTATOR)
    with django_assert_num_queries(13):  # one for each kind of news, however many benchmarks
        client.get("/benchmarks/")


def test_staff_create_a_benchmark_and_own_it(client: Client) -> None:
    staff = UserFactory(is_staff=True)
    corpus = with_corpus(BenchmarkFactory())
    client.force_login(staff)
    data = {"name": "Städte & Berge", "overlap": "2", "strategy": "offline", "corpus": str(corpus.pk)}
    answer = client.post("/benchmarks/new/", data)
    assert answer["Location"] == "/b/stadte-berge/import/"
    made = Benchmark.objects.get(slug="stadte-berge")
    assert (made.name, made.strategy, made.corpus, made.overlap) == ("Städte & Berge", "offline", corpus, 2)
    assert made.memberships.get().user == staff
    assert made.guidelines.get().text == DEFAULT.read_text(encoding="utf-8")
    assert Activity.objects.get(action="create-benchmark").by == staff
    # The same name again gets an address of its own.
    assert client.post("/benchmarks/new/", data)["Location"] == "/b/stadte-berge-2/import/"


@pytest.mark.parametrize("name", ["", "   ", "山", "x" * 201])
def test_a_name_that_makes_no_address_is_refused_with_the_reason(client: Client, name: str) -> None:
    client.force_login(UserFactory(is_staff=True))
    answer = client.post("/benchmarks/new/", {"name": name, "overlap": "2", "strategy": "offline"})
    assert answer.status_code == 422
    assert BeautifulSoup(answer.content, "html.parser").select_one(".problem") is not None
    assert not Benchmark.objects.exists()


@pytest.mark.parametrize("method", ["get", "post"])
def test_others_cannot_create_one(client: Client, owner: User, method: str) -> None:
    client.force_login(owner)
    answer = getattr(client, method)("/benchmarks/new/", {"name": "Mine"})
    assert answer.status_code == 403
    assert "Only staff can create benchmarks." in answer.content.decode()
    assert Benchmark.objects.count() == 1


# --- guidelines -----------------------------------------------------------------------------------


def test_the_default_guidelines_have_an_anchor_for_every_heading() -> None:
    text = DEFAULT.read_text(encoding="utf-8")
    html, headings = rendered(text)
    expected = [re.sub(r"[^a-z]+", "-", each.lower()) for each in re.findall(r"^### (.+)$", text, flags=re.MULTILINE)]
    assert [heading.anchor for heading in headings if heading.level == 3] == expected
    assert 'id="stance-refute"' in html and "<h3" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        '<img src="https://elsewhere.example/x.png">',
        "![x](https://elsewhere.example/x.png)",
        '<a onclick="x()">x</a>',
        "<style>body{display:none}</style>",
    ],
)
def test_guidelines_bring_nothing_dangerous_into_the_page(text: str) -> None:
    page = BeautifulSoup(rendered(text)[0], "html.parser")
    assert not page.select("script, style, img, iframe, [onclick]")
    assert not [link for link in page.select("a[href]") if not str(link["href"]).startswith("http")]


def test_headings_that_come_twice_keep_different_anchors() -> None:
    assert [heading.anchor for heading in rendered("## Edit\n\n## Edit\n\n## 12")[1]] == ["edit", "edit-2", "heading"]


def test_the_newest_version_is_shown_with_number_and_date(client: Client, benchmark: Benchmark, owner: User) -> None:
    Guidelines.objects.create(benchmark=benchmark, number=2, text="## Newer\n\nRead *this*.", created_by=owner)
    page = get(client, owner, "/b/pilot/guidelines/")
    assert page.select_one("h2#newer") is not None
    assert "Version 2," in words(page.select_one(".foot"))
    assert page.select_one("a[href='#newer']") is not None
    assert "Guidelines" in words(get(client, owner, "/b/pilot/guidelines/?version=1").select_one(".prose"))
    get(client, owner, "/b/pilot/guidelines/?version=7", status=404)
    get(client, owner, "/b/pilot/guidelines/?version=x", status=404)


def test_guidelines_are_one_key_away_on_every_page_of_the_benchmark(
    client: Client, benchmark: Benchmark, owner: User
) -> None:
    document = DocumentFactory(benchmark=benchmark)
    for url in ("/", "/b/pilot/", "/b/pilot/documents/", "/b/pilot/guidelines/", f"/d/{document.public_id}/"):
        link = get(client, owner, url).select_one("[data-key='g g']")
        assert link is not None and link["href"] == "/b/pilot/guidelines/", url


def test_owners_publish_a_new_version_and_the_old_one_stays(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    assert "# Guidelines" in str(get(client, owner, "/b/pilot/guidelines/?edit").select_one("textarea"))
    answer = client.post("/b/pilot/guidelines/", {"text": "# Better\r\n\r\nRules.", "based_on": "1"})
    assert answer["Location"] == "/b/pilot/guidelines/"
    versions = list(benchmark.guidelines.order_by("number").values_list("number", "text", "created_by"))
    assert versions == [(1, "# Guidelines", None), (2, "# Better\n\nRules.\n", owner.pk)]
    client.post(
        "/b/pilot/guidelines/", {"text": "# Better\n\nRules.", "based_on": "2"}
    )  # nothing new: no third version
    assert benchmark.guidelines.count() == 2
    assert Activity.objects.get(action="publish-guidelines").reason == "version 2"


def test_blank_guidelines_are_refused_in_the_form(client: Client, benchmark: Benchmark, owner: User) -> None:
    client.force_login(owner)
    assert client.post("/b/pilot/guidelines/", {"text": " \n "}).status_code == 422
    assert benchmark.guidelines.count() == 1


def test_annotators_read_guidelines_and_do_not_write_them(client: Client, benchmark: Benchmark) -> None:
    ada = member(benchmark)
    assert not get(client, ada, "/b/pilot/guidelines/").select("a[href='?edit']")
    get(client, ada, "/b/pilot/guidelines/?edit", status=403)
    assert client.post("/b/pilot/guidelines/", {"text": "Mine"}).status_code == 403
    assert benchmark.guidelines.count() == 1


def test_decomposed_documents_count_as_agreed_there(benchmark: Benchmark, owner: User) -> None:
    """The bar follows the real life of a document, not only rows that a test has set."""
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, owner)
    bars = bars_of(standing_of(benchmark))
    assert [(bar.adjudicated, bar.in_work, bar.waiting) for bar in bars] == [(1, 0, 0), (0, 0, 1), (0, 0, 0)]
    open_annotation(document, Stage.VERIFY, by=owner)
    assert bars_of(standing_of(benchmark))[1].in_work == 1
