"""Practice documents with known gold for newcomers, and gold that is mixed in unannounced."""

from __future__ import annotations

import re
from typing import TypeVar

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.db.models import Model, QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.gold_copies import check_see_document
from annotator.core.models import Activity, Annotation, Batch, Benchmark, Claim, Document, Notice, Tally, User
from annotator.core.queries import standing as queries_standing
from annotator.core.queries.documents import DocumentFilter, counts_of, matching, page_of, shelf_for
from annotator.core.vocabulary import AnnotationKind, Phase, Role, Stage
from annotator.exchange.queries.export import count_documents
from annotator.home.queries import overview
from annotator.measures.queries import pace
from annotator.measures.queries.agreement import agreement_of
from annotator.measures.queries.annotator_accuracy import explained, scores_of
from annotator.measures.queries.practice import measured_in, mixed_documents, practice_of
from annotator.stages.actions import adjudicate
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.decompose import accept_sentence, remove_claim
from annotator.stages.actions.documents import discard, reopen
from annotator.stages.actions.documents import flag as pass_on
from annotator.stages.actions.submit import submit
from annotator.suggestions.queries.runs import claims_without_evidence, documents_to_prefill
from annotator.team.actions import gold_copies
from annotator.team.queries import waits
from annotator.team.queries.gold_copies import mixable
from annotator.team.queries.work import my_work, next_task
from tests.factories import (
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    member,
    prefill,
    retrieve,
    save,
    verified,
    with_corpus,
)
from tests.released import export_lines
from tests.teams import group_with

pytestmark = pytest.mark.django_db

Row = TypeVar("Row", bound=Model)

MARKS = re.compile(r"practice|practise|mixed|twin", re.IGNORECASE)


def revised(document: Document, person: User) -> Document:
    annotation = open_annotation(document, Stage.REVISE, by=person)
    for row in annotation.sentence_revisions.filter(text_origin=""):
        save(row, "text", row.text, person)
    submit(annotation, by=person)
    document.refresh_from_db()
    return document


def gold(benchmark: Benchmark, by: User, **fields: object) -> Document:
    """A document through all three stages; one claim is false."""
    document = prefill(DocumentFactory(benchmark=benchmark, **fields))
    decomposed(document, by)
    document.refresh_from_db()
    verified(document, by, false_claim="1825")
    return revised(document, by)


@pytest.fixture
def benchmark() -> Benchmark:
    benchmark = BenchmarkFactory()
    with_corpus(benchmark)
    return benchmark


@pytest.fixture
def golds(benchmark: Benchmark, owner: User) -> list[Document]:
    """Made while one person labels a document; the benchmark may ask two from then on."""
    return [gold(benchmark, owner) for _ in range(3)]


def wants_practice(benchmark: Benchmark, number: int) -> None:
    benchmark.practice_documents = number
    benchmark.save()


def practise(document: Document, person: User) -> Document:
    """All three stages of a practice document as well as its gold."""
    document.refresh_from_db()
    decomposed(document, person)
    document.refresh_from_db()
    verified(document, person, false_claim="1825")
    return revised(document, person)


def two_people(benchmark: Benchmark) -> None:
    Benchmark.objects.filter(pk=benchmark.pk).update(overlap=2)
    benchmark.refresh_from_db()


def batch_with(benchmark: Benchmark, owner: User, count: int, *people: User) -> Batch:
    group = group_with(benchmark, owner, *people) if people else None
    batch = Batch.objects.create(benchmark=benchmark, name=f"Batch {Batch.objects.count() + 1}", group=group)
    for _ in range(count):
        prefill(DocumentFactory(benchmark=benchmark, batch=batch))
    return batch


def page(client: Client, user: User, url: str, status: int = 200) -> BeautifulSoup:
    client.force_login(user)
    answer = client.get(url)
    assert answer.status_code == status, answer.content
    return BeautifulSoup(answer.content, "html.parser")


def words(soup: BeautifulSoup, selector: str) -> str:
    found = soup.select_one(selector)
    assert found is not None
    return found.text


def gold_of(copy: Document) -> Document:
    assert copy.twin_of is not None
    return copy.twin_of


def first(rows: QuerySet[Row]) -> Row:
    found = rows.first()
    assert found is not None
    return found


# --- practice -------------------------------------------------------------------------------------


def test_a_newcomer_practises_before_real_work(client, benchmark, golds, ada):
    prefill(DocumentFactory(benchmark=benchmark))
    wants_practice(benchmark, 2)
    task = next_task(ada)
    assert task is not None and (task.why, task.stage) == ("practice", Stage.DECOMPOSE)
    assert not Document.objects.filter(practice_for=ada).exists(), "looking makes nothing"
    assert "Practice: decompose" in page(client, ada, reverse("home")).text
    client.post(reverse("next"))
    copies = list(Document.objects.filter(practice_for=ada).order_by("pk"))
    assert [each.twin_of_id for each in copies] == [each.pk for each in golds[:2]]
    for copy in copies:
        assert (copy.prompt, copy.response) == (golds[0].prompt, golds[0].response)
        assert copy.identity.startswith(f"twin:{gold_of(copy).public_id}:")
        assert copy.people_needed == 1
        practise(copy, ada)
        assert copy.is_gold
    task = next_task(ada)
    assert task is not None and task.document.twin_of_id is None, "then real work"


def test_real_documents_are_not_offered_and_cannot_be_begun_meanwhile(client, benchmark, golds, ada):
    real = prefill(DocumentFactory(benchmark=benchmark))
    wants_practice(benchmark, 1)
    with pytest.raises(rules.NotAllowedError, match="Complete your practice documents first"):
        open_annotation(real, Stage.DECOMPOSE, by=ada)
    shown = page(client, ada, reverse("document", args=[real.public_id])).text
    assert "Complete your practice documents first" in shown
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    annotation = decomposed(copy, ada)
    assert annotation.seat == 1
    with pytest.raises(rules.NotAllowedError, match="Complete your practice documents first"):
        open_annotation(real, Stage.DECOMPOSE, by=ada)
    task = next_task(ada)
    assert task is not None and (task.why, task.stage, task.document) == ("practice", Stage.VERIFY, copy)


def test_practice_is_made_once(benchmark, golds, ada, owner):
    wants_practice(benchmark, 2)
    assert len(gold_copies.make_practice(benchmark, ada, by=ada)) == 2
    assert gold_copies.make_practice(benchmark, ada, by=ada) == []
    assert gold_copies.make_practice(benchmark, owner, by=owner) == [], "owners are no newcomers"
    gold_copies.begin_practice(by=ada)
    assert Document.objects.filter(practice_for=ada).count() == 2


def test_who_has_submitted_something_practises_no_more(benchmark, golds, ada):
    decomposed(prefill(DocumentFactory(benchmark=benchmark)), ada)
    wants_practice(benchmark, 2)
    gold_copies.begin_practice(by=ada)
    assert not Document.objects.filter(practice_for=ada).exists()


def test_a_copy_has_the_suggestions_of_its_gold_and_nothing_of_its_answers(benchmark, golds, ada):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    assert copy.phase == Phase.INDEPENDENT
    texts = [
        list(each.sentence_suggestions.values_list("text", "start", "type", "claims__text", "claims__type"))
        for each in (golds[0], copy)
    ]
    assert texts[0] == texts[1] and texts[0]
    assert not copy.annotations.exists()


def test_without_suggestions_to_copy_a_run_makes_them(benchmark, owner, ada, golds):
    golds[0].sentence_suggestions.all().delete()
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    assert copy.phase == Phase.PREFILLING
    assert retrieve(copy).phase == Phase.INDEPENDENT
    assert copy.sentence_suggestions.exists()


def test_a_benchmark_without_gold_has_no_practice_and_says_so(client, benchmark, owner, ada):
    real = prefill(DocumentFactory(benchmark=benchmark))
    wants_practice(benchmark, 2)
    task = next_task(ada)
    assert task is not None and (task.why, task.document) == ("new", real)
    said = page(client, owner, reverse("practice-list", args=[benchmark.slug])).text
    assert "this benchmark has no gold yet" in said and "they start real work immediately" in said
    with pytest.raises(BadValueError, match="no practice left"):
        gold_copies.excuse_from_practice(benchmark, ada, by=owner)


def test_an_admin_can_excuse_a_newcomer_on_record(client, benchmark, golds, ada, owner):
    real = prefill(DocumentFactory(benchmark=benchmark))
    wants_practice(benchmark, 2)
    client.force_login(owner)
    answer = client.post(reverse("practice-excuse", args=[benchmark.slug]), {"person": ada.username})
    assert answer.status_code == 302
    task = next_task(ada)
    assert task is not None and task.document == real
    assert Activity.objects.get(action="excuse-practice").reason == "Ada"
    open_annotation(real, Stage.DECOMPOSE, by=ada)
    [row] = practice_of(benchmark)
    assert (row.total, row.done, row.excused, row.is_open) == (2, 0, 2, False)


def test_only_those_who_manage_excuse_and_mix_in(client, benchmark, golds, ada, owner):
    wants_practice(benchmark, 1)
    batch = batch_with(benchmark, owner, 1)
    with pytest.raises(rules.NotAllowedError):
        gold_copies.excuse_from_practice(benchmark, ada, by=ada)
    with pytest.raises(rules.NotAllowedError):
        gold_copies.mix_in(batch, number=1, seed=1, by=ada)
    client.force_login(ada)
    for name in ("practice-excuse", "practice-mix-in"):
        assert client.post(reverse(name, args=[benchmark.slug]), {}).status_code == 403


def test_annotators_see_their_own_practice_and_nobody_else_s(client, benchmark, golds, ada, owner):
    url = reverse("practice-list", args=[benchmark.slug])
    assert "requires no practice" in page(client, ada, url).text
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    links = [link["href"] for link in page(client, ada, url).select(".entries a")]
    assert links == [reverse("practice", args=[copy.public_id])]
    assert page(client, member(benchmark), url).select(".entries a") == []


def test_nobody_else_sees_or_does_somebodys_practice(client, benchmark, golds, ada, owner):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    for role in (Role.ANNOTATOR, Role.THIRD_RATER, Role.RESEARCHER):
        other = member(benchmark, role)
        for name in ("document", "practice", "decompose"):
            page(client, other, reverse(name, args=[copy.public_id]), 404)
        assert copy not in shelf_for(other, benchmark).documents
    page(client, owner, reverse("practice", args=[copy.public_id]))
    with pytest.raises(rules.NotAllowedError, match="someone else's practice"):
        open_annotation(copy, Stage.DECOMPOSE, by=owner)


def test_the_gold_is_hidden_while_one_practises_on_its_copy(client, benchmark, golds, ada):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    page(client, ada, reverse("document", args=[golds[0].public_id]), 404)
    assert golds[0] not in shelf_for(ada, benchmark).documents
    page(client, ada, reverse("document", args=[golds[1].public_id]))
    practise(copy, ada)
    page(client, ada, reverse("document", args=[golds[0].public_id]))
    assert golds[0] in shelf_for(ada, benchmark).documents


# --- the score ------------------------------------------------------------------------------------


def test_whoever_labels_as_the_gold_does_is_right_throughout(benchmark, golds, ada):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    practise(copy, ada)
    scores = scores_of(copy.annotations.filter(person=ada).select_related("document"))
    assert len(scores) == 3
    for score in scores.values():
        assert score.right == score.total > 0, score
        assert not score.differences and not score.texts
    assert {score.stage: score.claims.f1 for score in scores.values() if score.claims} == {"decompose": 1, "verify": 1}


def test_a_difference_is_shown_with_the_golds_value_and_its_definition(benchmark, golds, ada):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    annotation = open_annotation(copy, Stage.DECOMPOSE, by=ada)
    for sentence in annotation.sentences.all():
        accept_sentence(sentence, by=ada)
    claims = Claim.objects.filter(sentence__annotation=annotation).order_by("sentence__order", "order")
    first, second = claims[:2]
    in_gold = Claim.objects.filter(
        sentence__annotation__document=golds[0], sentence__annotation__kind=AnnotationKind.CONSOLIDATED
    )
    wanted = in_gold.order_by("sentence__order", "order")[0]
    other = "less" if wanted.importance != "less" else "most"
    save(first, "importance", other, ada)
    remove_claim(second, "redundant", by=ada)
    submit(annotation, by=ada)
    annotation.refresh_from_db()
    [score] = scores_of([Annotation.objects.select_related("document").get(pk=annotation.pk)]).values()
    number = in_gold.filter(removed="").count()
    importance = score.fields["claim:importance"]
    assert (importance.right, importance.total) == (number - 2, number - 1)
    assert score.claims is not None and score.claims.f1 == pytest.approx(2 * (number - 1) / (2 * number - 1))
    label, missing = explained(score.differences, Stage.DECOMPOSE, annotation.guidelines)
    assert (label.about, label.gold) == (wanted.text, wanted.get_importance_display())
    assert label.definition is not None and label.definition.title == wanted.get_importance_display()
    assert (missing.theirs, missing.gold) == ("", second.text)
    assert missing.definition is not None and missing.definition.title == "Atomic claim"


def test_verdicts_are_compared_claim_by_claim_although_the_claims_are_others(benchmark, golds, ada):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    decomposed(copy, ada)
    copy.refresh_from_db()
    annotation = verified(copy, ada)  # all true: the false claim is missed
    [score] = scores_of(copy.annotations.filter(pk=annotation.pk).select_related("document")).values()
    factuality, stances = score.fields["verdict:factuality"], score.fields["stance:label"]
    assert factuality.total - factuality.right == 1 and factuality.total > 1
    assert stances.total > stances.right > 0
    wrong = next(each for each in score.differences if each.field == "verdict:factuality")
    assert (wrong.theirs, wrong.gold) == ("True", "False") and "1825" in wrong.about


def test_the_newcomer_sees_how_they_did_after_each_stage(client, benchmark, golds, ada):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    url = reverse("practice", args=[copy.public_id])
    assert "You have not submitted anything yet" in page(client, ada, url).text
    annotation = open_annotation(copy, Stage.DECOMPOSE, by=ada)
    for sentence in annotation.sentences.all():
        accept_sentence(sentence, by=ada)
    client.force_login(ada)
    answer = client.post(reverse("submit", args=[copy.public_id, "decompose"]))
    assert (answer.status_code, answer["Location"]) == (303, url)
    said = page(client, ada, url)
    assert said.select_one("#result-decompose") and "Everything matches the gold." in said.text
    assert not said.select_one("#result-verify")
    assert "practice" in words(page(client, ada, reverse("document", args=[copy.public_id])), "header")


def test_finished_practice_is_not_called_gold_by_the_pages_of_the_newcomer(client, benchmark, golds, ada):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    practise(copy, ada)
    said = words(page(client, ada, reverse("document", args=[copy.public_id])), "#standing")
    assert "Practice complete" in said and "export" not in said
    done = words(page(client, ada, reverse("home")), "section[aria-labelledby=done]")
    assert "practice" in done and "gold" not in done


def test_a_reopened_gold_has_nothing_to_compare_with(client, benchmark, golds, ada, owner):
    wants_practice(benchmark, 1)
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    decomposed(copy, ada)
    reopen(golds[0], Stage.DECOMPOSE, "A mistake", by=owner)
    said = page(client, ada, reverse("practice", args=[copy.public_id])).text
    assert "has been reopened" in said


# --- mixed in unannounced -------------------------------------------------------------------------


@pytest.fixture
def mixed(benchmark: Benchmark, golds: list[Document], owner: User, ada: User, ben: User) -> Document:
    """A copy among three documents of a batch of Ada and Ben."""
    two_people(benchmark)
    batch = batch_with(benchmark, owner, 3, ada, ben)
    [copy] = gold_copies.mix_in(batch, number=1, seed=1, by=owner)
    return copy


def ordinary(mixed: Document) -> Document:
    return first(Document.objects.filter(batch=mixed.batch_id, twin_of__isnull=True).order_by("order"))


def alike(soup: BeautifulSoup, document: Document) -> str:
    """A page with what belongs to its document alone taken out."""
    text = str(soup.body)
    for own in (document.public_id, str(document), document.external_id):
        text = text.replace(own, "…")
    text = re.sub(r"(?<=[:/=\"-])[a-km-z2-9]{12}(?=[\"'/?#&-])", "id", text)  # public ids of rows
    text = re.sub(r'value="[\w-]{64}"|[\w-]{64}', "token", text)
    return re.sub(r"\d{1,2} \w{3} \d{4}, \d\d:\d\d|\d{4}-\d\d-\d\dT[\d:+.]+", "time", text)


def test_an_annotator_cannot_tell_a_mixed_in_item_by_any_page(client, mixed, ada):
    plain = ordinary(mixed)
    Document.objects.filter(pk=plain.pk).update(created_at=mixed.created_at)
    for name in ("document", "decompose"):
        seen = [alike(page(client, ada, reverse(name, args=[each.public_id])), each) for each in (mixed, plain)]
        assert seen[0] == seen[1], name
        assert not MARKS.search(seen[0]), name
    for each in (mixed, plain):
        open_annotation(each, Stage.DECOMPOSE, by=ada)
    for name in ("document", "decompose"):
        seen = [alike(page(client, ada, reverse(name, args=[each.public_id])), each) for each in (mixed, plain)]
        assert seen[0] == seen[1], name
    page(client, ada, reverse("practice", args=[mixed.public_id]), 404)
    lists = page(client, ada, reverse("home")).text + page(client, ada, reverse("batches", args=["x"]), 404).text
    assert not MARKS.search(lists)


def test_the_copy_stands_in_the_place_of_its_gold_and_the_gold_is_not_to_be_found(client, mixed, ada, benchmark):
    was = gold_of(mixed)
    assert str(mixed) == str(was)
    url = reverse("documents", args=[benchmark.slug])
    real = [str(each) for each in Document.objects.filter(benchmark=benchmark, twin_of__isnull=True).order_by("pk")]
    for query in ("", "?q=Lovelace", f"?q={was.external_id}"):
        soup = page(client, ada, url + query)
        rows = soup.select("tbody th a")
        names = [row.text for row in rows]
        assert names == [each for each in real if "Lovelace" in query or not query or each == str(was)]
        links = {row["href"] for row in rows}
        assert reverse("document", args=[mixed.public_id]) in links
        assert reverse("document", args=[was.public_id]) not in links
    filters = BeautifulSoup(client.get(f"{url}?part=filters", headers={"hx-request": "true"}).content, "html.parser")
    for name in ("stage", "phase"):
        select = filters.select_one(f"select[name={name}]")
        assert select is not None
        counted = [int(each) for each in re.findall(r"\((\d+)\)", select.text)]
        assert sum(counted) == len(real)
    assert filters.select("input[name=twins]") == []
    assert f"Gold ({len(real) - 4})" in filters.text, "two of the three golds, as the list shows"
    for name in ("document", "decompose"):
        page(client, ada, reverse(name, args=[was.public_id]), 404)
    client.force_login(ada)
    assert client.post(reverse("document-change", args=[was.public_id, "flag"]), {}).status_code == 404


def test_pages_of_the_list_lead_on_where_a_copy_stands_among_them(benchmark, mixed, ada):
    shelf = shelf_for(ada, benchmark)
    seen: list[Document] = []
    after = 0
    while True:
        found = page_of(benchmark, DocumentFilter(), shelf, after=after, size=2)
        seen += found.rows
        if not found.after:
            break
        after = found.after
    assert mixed in seen and mixed.twin_of not in seen
    assert [each.pk for each in seen] == list(shelf.documents.order_by(shelf.key).values_list("pk", flat=True))
    back = page_of(benchmark, DocumentFilter(), shelf, before=getattr(seen[-1], "place"), size=2)  # noqa: B009
    assert [each.pk for each in back.rows] == [each.pk for each in seen[-3:-1]]


def test_without_ids_of_its_own_a_copy_is_called_by_the_number_of_its_gold(client, benchmark, owner, golds, ada, ben):
    Document.objects.update(external_id="")
    two_people(benchmark)
    batch = batch_with(benchmark, owner, 2, ada, ben)
    batch.documents.update(external_id="")
    [copy] = gold_copies.mix_in(batch, number=1, seed=1, by=owner)
    copy.refresh_from_db()
    assert str(copy) == f"Document {gold_of(copy).order}" and copy.order != gold_of(copy).order
    facts = page(client, ada, reverse("document", args=[copy.public_id])).select("dl.facts dt")
    assert "Id" not in [each.text for each in facts]
    assert (
        "No matching documents" in page(client, ada, reverse("documents", args=[benchmark.slug]) + "?q=Document").text
    )


def test_those_who_manage_see_copies_marked_under_a_filter(client, benchmark, mixed, owner):
    url = reverse("documents", args=[benchmark.slug])
    soup = page(client, owner, url)
    assert "hidden gold" not in words(soup, "tbody")
    assert reverse("document", args=[gold_of(mixed).public_id]) in str(soup)
    soup = page(client, owner, f"{url}?twins=yes")
    [row] = soup.select("tbody tr")
    assert "hidden gold" in row.text
    assert "hidden gold" in words(page(client, owner, reverse("document", args=[mixed.public_id])), "header")


def test_researchers_read_the_gold_and_no_copy(client, benchmark, mixed):
    reader = member(benchmark, Role.RESEARCHER)
    page(client, reader, reverse("document", args=[gold_of(mixed).public_id]))
    page(client, reader, reverse("document", args=[mixed.public_id]), 404)
    assert mixed not in shelf_for(reader, benchmark, twins=True).documents


def test_copies_stand_at_places_drawn_by_lot_among_documents_nobody_has_begun(benchmark, golds, owner, ada, ben):
    two_people(benchmark)
    batch = batch_with(benchmark, owner, 6, ada, ben)
    taken = first(batch.documents.order_by("order"))
    open_annotation(taken, Stage.DECOMPOSE, by=ada)
    copies = gold_copies.mix_in(batch, number=3, seed=7, by=owner)
    free = set(batch.documents.filter(twin_of__isnull=True).exclude(pk=taken.pk).values_list("order", flat=True))
    assert {each.order for each in copies} <= free
    drawn = [(each.twin_of_id, each.order) for each in copies]
    for each in copies:
        each.delete()
    assert [(each.twin_of_id, each.order) for each in gold_copies.mix_in(batch, number=3, seed=7, by=owner)] == drawn
    assert first(Activity.objects.filter(action="mix-in")).reason == f"3 into {batch}, seed 7"
    assert not Activity.objects.filter(action="mix-in", document__isnull=False).exists()
    assert not Notice.objects.filter(text__icontains="gold").exists()


def test_who_knows_the_gold_keeps_it_and_is_never_given_its_copy(benchmark, golds, owner, ada, ben):
    cleo = member(benchmark, display_name="Cleo")
    known = gold(benchmark, cleo)
    two_people(benchmark)
    batch = batch_with(benchmark, owner, 1)  # free for everybody
    copies = {each.twin_of_id: each for each in gold_copies.mix_in(batch, number=4, seed=1, by=owner)}
    check_see_document(cleo, known)
    with pytest.raises(rules.NotAllowedError, match="This document already has all its annotators"):
        open_annotation(copies[known.pk], Stage.DECOMPOSE, by=cleo)
    given = set()
    while (task := next_task(cleo)) is not None:
        given.add(task.document.pk)
        submit(begun(task.document, cleo), by=cleo)
    assert copies[known.pk].pk not in given and len(given) == 4
    listed = set(shelf_for(cleo, benchmark).documents)
    assert known in listed and copies[known.pk] not in listed


def begun(document: Document, person: User) -> Annotation:
    annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
    for sentence in annotation.sentences.all():
        accept_sentence(sentence, by=person)
    return annotation


def test_only_gold_that_enough_people_of_the_batch_do_not_know_can_be_mixed_in(benchmark, golds, owner, ada, ben):
    by_ada = gold(benchmark, ada)
    two_people(benchmark)
    wants_practice(benchmark, 1)
    batch = batch_with(benchmark, owner, 2, ada, ben)
    assert mixable(batch) == golds[1:], "not the one for practice, not the one that Ada has labelled"
    assert by_ada in mixable(batch_with(benchmark, owner, 1)), "in a batch for everybody two others are left"
    with pytest.raises(BadValueError, match="No more than 2 gold documents can be added to Batch 1"):
        gold_copies.mix_in(batch, number=3, seed=1, by=owner)
    gold_copies.mix_in(batch, number=2, seed=1, by=owner)
    with pytest.raises(BadValueError, match="No gold document can be added to Batch 1"):
        gold_copies.mix_in(batch, number=1, seed=1, by=owner)


def test_a_batch_that_is_begun_throughout_takes_no_copy(benchmark, golds, owner, ada, ben):
    two_people(benchmark)
    batch = batch_with(benchmark, owner, 1, ada, ben)
    open_annotation(batch.documents.get(), Stage.DECOMPOSE, by=ada)
    with pytest.raises(BadValueError, match="Every document of Batch 1 has been started"):
        gold_copies.mix_in(batch, number=1, seed=1, by=owner)


def test_a_discarded_copy_gives_its_gold_back(client, benchmark, mixed, owner, ada):
    discard(mixed, "Not needed", by=owner)
    page(client, ada, reverse("document", args=[gold_of(mixed).public_id]))
    assert mixed.twin_of in shelf_for(ada, benchmark).documents
    assert mixed not in shelf_for(ada, benchmark).documents


def settle(document: Document, *people: User) -> Document:
    for person in people:
        submit(begun(document, person), by=person)
    for person in people:
        adjudicate.sign(document, Stage.DECOMPOSE, by=person)
    return retrieve(document)


def test_a_copy_is_labelled_and_agreed_as_usual_and_scores_each_person(client, benchmark, mixed, ada, ben, owner):
    annotation = begun(mixed, ben)
    save(first(annotation.sentences.order_by("order")), "importance", "less", ben)
    submit(annotation, by=ben)
    submit(begun(mixed, ada), by=ada)
    mixed.refresh_from_db()
    assert mixed.phase == Phase.CONSOLIDATING
    assert not Tally.objects.filter(annotation__document=mixed).exists(), "no part of the agreement"
    rows = {str(row.person): row for row in measured_in(benchmark)}
    assert (rows["Ada"].percent, rows["Ada"].claims_percent) == (100, 100)
    assert rows["Ben"].right == rows["Ben"].labels - 1
    said = page(client, owner, reverse("practice-list", args=[benchmark.slug])).text
    assert "Ada" in said and f"{rows['Ben'].percent}%" in said
    assert "trivial baseline" in said
    pass_on(mixed, "broken", by=ada)
    [listed] = mixed_documents(benchmark)
    assert getattr(listed, "is_flagged")  # noqa: B009


# --- never part of the benchmark ------------------------------------------------------------------


def figures(benchmark: Benchmark) -> dict[str, object]:
    """Everything that is counted, exported or forecast of a benchmark."""
    standing = queries_standing.standing_of(benchmark)
    [listed] = overview.listed(Benchmark.objects.filter(pk=benchmark.pk))
    return {
        "gold": list(export_lines(benchmark)),
        "all": list(export_lines(benchmark, include="all")),
        "lines": (count_documents(benchmark), count_documents(benchmark, include="all")),
        "bars": overview.bars_of(standing),
        "counts": (standing, counts_of(benchmark).grouped),
        "burn-up": pace.burn_up(benchmark, standing.total),
        "time": pace.times_of(benchmark, pace.document_times(benchmark)),
        "waits": (waits.waits_of(benchmark, standing).pairs, waits.to_agree_of(benchmark)),
        "agreement": agreement_of(benchmark),
        "shares": overview.suggestion_shares(benchmark),
        "flags": overview.open_flags(benchmark),
        "listed": (getattr(listed, "documents_count"), getattr(listed, "gold_count")),  # noqa: B009
        "matching": matching(benchmark, DocumentFilter()).count(),
        "prefill": documents_to_prefill(benchmark).count(),
        "evidence": claims_without_evidence(benchmark),
        "tallies": list(Tally.objects.values_list("pk", flat=True)),
    }


def test_export_counts_statistics_and_agreement_are_the_same_with_copies_in_every_state(
    benchmark, golds, owner, ada, ben
):
    cleo = member(benchmark, display_name="Cleo")
    settle_one = batch_with(benchmark, owner, 2, ada, ben)
    two_people(benchmark)
    settle(first(settle_one.documents.order_by("order")), ada, ben)  # a tally of its own
    wants_practice(benchmark, 1)
    assert Tally.objects.count() == 1
    before = figures(benchmark)
    mixed = gold_copies.mix_in(settle_one, number=2, seed=3, by=owner)
    [copy] = gold_copies.make_practice(benchmark, cleo, by=cleo)
    assert figures(benchmark) == before
    Document.objects.filter(pk=mixed[1].pk).update(batch=None)
    mixed[1].sentence_suggestions.all().delete()
    pass_on(mixed[1], "broken", by=ada)
    decomposed(copy, cleo)
    settle(mixed[0], ada, ben)
    benchmark.corpus.pages.all().delete()
    assert figures(benchmark) == before
    copy.refresh_from_db()
    verified(copy, cleo, false_claim="1825")
    revised(copy, cleo)
    Annotation.objects.filter(document=copy).update(active_seconds=500)
    assert copy.is_gold and figures(benchmark) == before


# --- queries --------------------------------------------------------------------------------------


def asked(client: Client, user: User, url: str) -> int:
    client.force_login(user)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(url).status_code == 200
    return len(queries)


def test_the_admins_page_asks_as_often_for_one_person_as_for_several(client, benchmark, golds, owner, ada, ben):
    wants_practice(benchmark, 1)
    url = reverse("practice-list", args=[benchmark.slug])
    [copy] = gold_copies.make_practice(benchmark, ada, by=ada)
    practise(copy, ada)
    one = asked(client, owner, url)
    for person in (ben, member(benchmark)):
        [copy] = gold_copies.make_practice(benchmark, person, by=person)
        practise(copy, person)
    assert asked(client, owner, url) == one


def test_the_list_and_my_work_ask_as_often_for_one_copy_as_for_several(client, benchmark, golds, owner, ada, ben):
    two_people(benchmark)
    batch = batch_with(benchmark, owner, 3, ada, ben)
    gold_copies.mix_in(batch, number=1, seed=1, by=owner)
    urls = (reverse("documents", args=[benchmark.slug]), reverse("home"))
    one = [asked(client, ada, url) for url in urls]
    gold_copies.mix_in(batch, number=2, seed=1, by=owner)
    assert [asked(client, ada, url) for url in urls] == one
    assert my_work(ada).prefilling == 0
