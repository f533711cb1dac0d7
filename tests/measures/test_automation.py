"""Impact of automation: counts by person, first labels from the history, differences, the page and its tables."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core.models import Benchmark, Document, Evidence, PipelineRun, Stance, StanceSuggestion, User
from annotator.core.vocabulary import Factuality, Role, Stage, StanceLabel
from annotator.measures.queries.automation import first_labels, kept_automation_of
from annotator.measures.screens.automation import TABLES
from annotator.measures.suggestion_quality.influence import Fate, FirstLabel, fates
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.revise import confirm_sentence
from annotator.stages.actions.submit import submit
from annotator.stages.queries.verification import claims_to_verify
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, save, with_corpus
from tests.teams import get, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def counted_anew() -> None:
    cache.clear()


@pytest.fixture
def benchmark() -> Benchmark:
    made = BenchmarkFactory(slug="pilot", overlap=1, third_rater_at_verify=False)
    with_corpus(made)
    return made


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, username="ada", display_name="Ada")


PAGE = "/b/pilot/automation/"


def gold(benchmark: Benchmark, by: User, *, blind_first: bool = False) -> Document:
    """A gold document. A strategy suggested that every passage supports; the person labels the first two otherwise,
    and in a blind-first document takes the suggestion over for one of them once it is shown."""
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, by)
    Document.objects.filter(pk=document.pk).update(blind_first=blind_first)
    document.refresh_from_db()
    run = PipelineRun.objects.create(benchmark=benchmark, stage=Stage.VERIFY, strategy="papelo", plan={"model": "gpt"})
    passages = Evidence.objects.filter(claim__sentence__annotation__document=document, annotation=None)
    for passage in passages:
        StanceSuggestion.objects.create(run=run, evidence=passage, label=StanceLabel.COMPLETELY_SUPPORT)
    annotation = open_annotation(document, Stage.VERIFY, by=by)
    works = claims_to_verify(annotation)
    for number, card in enumerate(card for work in works for card in work.cards):
        save(card.stance, "label", StanceLabel.REFUTE if number < 2 else StanceLabel.COMPLETELY_SUPPORT, by)
        if blind_first and number == 0:
            save(card.stance, "label", StanceLabel.COMPLETELY_SUPPORT, by)
    for number, work in enumerate(works):
        save(work.verdict, "evidence_sufficient", "yes" if number else "no", by)
        save(work.verdict, "factuality", Factuality.TRUE, by)
    submit(annotation, by=by)
    annotation = open_annotation(document, Stage.REVISE, by=by)
    for row in annotation.sentence_revisions.all():
        confirm_sentence(row, by=by)
    submit(annotation, by=by)
    document.refresh_from_db()
    assert document.is_gold
    return document


def stances_of(document: Document) -> int:
    return Stance.objects.filter(annotation__document=document, annotation__person=None).count()


def test_what_became_of_first_labels() -> None:
    labels = [
        FirstLabel("stance", "refute", "refute", "refute"),
        FirstLabel("stance", "refute", "irrelevant", "refute"),
        FirstLabel("stance", "refute", "irrelevant", "irrelevant"),
        FirstLabel("stance", "refute", "refute", "irrelevant"),
        FirstLabel("sentence_type", "opinion", "other", "checkworthy"),
    ]
    found = fates(labels)
    assert list(found) == ["sentence_type", "stance"]
    assert found["stance"] == {Fate.SAME: 1, Fate.KEPT: 1, Fate.ADOPTED: 1, Fate.OTHER: 1}
    assert found["sentence_type"][Fate.OTHER] == 1


def test_first_labels_come_from_the_history(benchmark: Benchmark, ada: User) -> None:
    document = gold(benchmark, ada, blind_first=True)
    number = stances_of(document)
    assert number > 2
    found = fates(first_labels([document.pk]))
    assert found["stance"] == {Fate.SAME: number - 2, Fate.KEPT: 1, Fate.ADOPTED: 1, Fate.OTHER: 0}
    assert list(first_labels([])) == []


def test_labels_after_seeing_beside_blind_first(benchmark: Benchmark, ada: User) -> None:
    seen, blind = gold(benchmark, ada), gold(benchmark, ada, blind_first=True)
    number = stances_of(seen)
    assert stances_of(blind) == number
    [stance] = [each for each in kept_automation_of(benchmark).influences if each.thing == "stance"]
    assert stance.shown.estimate is not None and stance.blind_first.estimate is not None and stance.difference
    assert stance.shown.estimate.value == pytest.approx((number - 2) / number)
    # The label that was taken over when the suggestion was shown counts as it was before.
    assert stance.blind_first.estimate.value == pytest.approx((number - 2) / number)
    assert stance.difference.value == pytest.approx(0)
    assert (stance.shown.labels, stance.shown.documents) == (number, 1)


def test_evidence_sufficed_over_all_claims_and_by_whose_passages(benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    found = kept_automation_of(benchmark).sufficed
    everything = found[None]
    assert everything.asked - everything.enough == 1
    assert [maker.strategy for maker in found if maker] == ["offline"]


def test_the_page_tells_it_all(client: Client, benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    number = stances_of(gold(benchmark, ada, blind_first=True))
    page = get(client, ada, PAGE)
    text = words(page.select_one("main"))
    for part in (
        "Accepted, edited, removed",
        "By person",
        "Ada",
        "Was automatic evidence sufficient?",
        "439 of 661",
    ):
        assert part in text
    assert f"{100 * (number - 2) / number:.0f}% of {number}" in text, "after seeing"
    assert "Differed, changed to the suggestion" in text


def test_each_table_is_a_file(client: Client, benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    gold(benchmark, ada, blind_first=True)
    client.force_login(ada)
    for table in TABLES:
        answer = client.get(f"{PAGE}?table={table}")
        rows = list(csv.reader(io.StringIO(answer.content.decode())))
        assert len(rows) > 1 and {len(row) for row in rows} == {len(rows[0])}, table
    assert client.get(f"{PAGE}?table=secrets").status_code == 404


def test_who_did_what_is_for_those_who_manage(client: Client, benchmark: Benchmark, ada: User) -> None:
    gold(benchmark, ada)
    researcher = member(benchmark, Role.RESEARCHER)
    text = words(get(client, researcher, PAGE).select_one("main"))
    assert "Accepted, edited, removed" in text and "By person" not in text
    assert client.get(f"{PAGE}?table=people").status_code == 404
    client.force_login(member(benchmark))
    assert client.get(PAGE).status_code == 403


def test_without_gold_and_without_blind_first_the_page_says_what_is_missing(
    client: Client, benchmark: Benchmark, ada: User
) -> None:
    assert "No gold yet" in words(get(client, ada, PAGE).select_one("main"))
    gold(benchmark, ada)
    assert "This comparison needs gold documents labeled" in words(get(client, ada, PAGE).select_one("main"))


def test_the_number_of_queries_does_not_grow(client: Client, benchmark: Benchmark, ada: User) -> None:
    client.force_login(ada)
    numbers = []
    for _ in range(2):
        gold(benchmark, ada, blind_first=True)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(PAGE).status_code == 200
        numbers.append(len(queries))
    assert numbers[0] == numbers[1]
