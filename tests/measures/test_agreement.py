"""Agreement: figures computed by hand against the command's, and what the filters, the settled differences and the
reports are made of. The pages: test_agreement_page.py."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.models import Annotation, Batch, Benchmark, Claim, Document, Tally, User
from annotator.core.vocabulary import Role, Stage
from annotator.measures.queries import agreement as queries
from annotator.measures.queries.agreement import (
    AgreementFilter,
    Kept,
    agreement_of,
    newest_settled,
    own_agreement,
    own_settled,
    settled_of,
)
from annotator.stages.actions import adjudicate
from annotator.stages.actions.decompose import remove_claim
from annotator.stages.actions.documents import discard
from annotator.stages.actions.submit import submit
from annotator.stages.queries.adjudication import board_of
from tests.agreeing import at_revise, begun, label, settle
from tests.factories import BenchmarkFactory, DocumentFactory, member, prefill, save

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    return BenchmarkFactory(slug="pilot", name="Pilot", overlap=2)


@pytest.fixture
def owner(benchmark: Benchmark) -> User:
    return member(benchmark, Role.OWNER, username="olga")


@pytest.fixture
def ada(benchmark: Benchmark) -> User:
    return member(benchmark, username="ada")


@pytest.fixture
def ben(benchmark: Benchmark) -> User:
    return member(benchmark, username="ben")


def answer(*options: str, slug: str = "pilot") -> dict[str, Any]:
    out = StringIO()
    call_command("agreement", "--benchmark", slug, "--json", *options, stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def four(estimate: dict[str, float] | None) -> float | None:
    return None if estimate is None else round(estimate["value"], 4)


# --- by hand --------------------------------------------------------------------------------------

# Importance of the three sentences of four documents, as Ada and Ben say it: m(ost), l(ess).
#   both most 6, Ada most and Ben less 2, Ada less and Ben most 1, both less 3.
ADA = ("mmm", "mmm", "mml", "lll")
BEN = ("mmm", "mmm", "llm", "lll")
WORDS = {"m": "most", "i": "intermediate", "l": "less"}


def constructed(benchmark: Benchmark, ada: User, ben: User) -> list[Document]:
    """The four documents; each answer has three claims. In the first Ben takes the last claim out, in the second he
    writes "the" for "an" in the first one."""
    made = []
    for number, (one, other) in enumerate(zip(ADA, BEN, strict=True)):
        document = prefill(DocumentFactory(benchmark=benchmark))
        mine, theirs = begun(document, ada), begun(document, ben)
        label(mine, "importance", [WORDS[each] for each in one], ada)
        label(theirs, "importance", [WORDS[each] for each in other], ben)
        claims = list(
            Claim.objects.filter(sentence__annotation=theirs, removed="").order_by("sentence__order", "order")
        )
        if number == 0:
            remove_claim(claims[-1], "redundant", by=ben)
        if number == 1:
            save(claims[0], "text", claims[0].text.replace(" an ", " the "), ben)
        submit(mine, by=ada)
        submit(theirs, by=ben)
        document.refresh_from_db()
        made.append(document)
    return made


def test_the_command_says_what_is_computed_by_hand(benchmark, ada, ben):
    constructed(benchmark, ada, ben)
    found = answer()
    assert (found["benchmark"], found["documents"]) == ("pilot", 4)
    importance = found["stages"]["decompose"]["labels"]["sentence.importance"]
    assert (importance["items"], importance["documents"], importance["left_out"]) == (12, 4, 0)
    assert importance["raters"] == ["ada", "ben"]
    assert importance["confusion"] == {
        "most": {"most": 6, "intermediate": 0, "less": 2},
        "intermediate": {"most": 0, "intermediate": 0, "less": 0},
        "less": {"most": 1, "intermediate": 0, "less": 3},
    }
    assert importance["labels"] == {"most": 15, "intermediate": 0, "less": 9}
    # Observed: (6 + 3) / 12.
    assert four(importance["percent"]) == 0.75
    # Cohen: Ada says most 8 times and less 4 times, Ben 7 and 5: by chance (8 x 7 + 4 x 5) / 144 = 76 / 144.
    # (108 - 76) / (144 - 76) = 32 / 68
    assert four(importance["cohen"]) == 0.4706
    # Fleiss: most is 15 / 24 = 0.625 of all labels, less 0.375: by chance 0.390625 + 0.140625 = 0.53125.
    # (0.75 - 0.53125) / 0.46875
    assert four(importance["fleiss"]) == 0.4667
    # Alpha: three items differ, two ordered pairs each; 24 labels: 1 - 23 x 6 / (24² - 15² - 9²) = 1 - 138 / 270.
    assert four(importance["alpha"]) == 0.4889
    # AC1, three labels to choose from: by chance (0.625 x 0.375 + 0.375 x 0.625 + 0) / 2 = 0.234375.
    # (0.75 - 0.234375) / (1 - 0.234375) = 0.515625 / 0.765625
    assert four(importance["ac1"]) == 0.6735
    for name in ("percent", "cohen", "fleiss", "alpha", "ac1"):
        assert importance[name]["low"] <= importance[name]["value"] <= importance[name]["high"], name
    # All twelve sentences have the same type from both, in two kinds.
    types = found["stages"]["decompose"]["labels"]["sentence.type"]
    assert (four(types["percent"]), four(types["alpha"]), four(types["ac1"])) == (1, 1, 1)


def test_claims_and_texts_are_what_is_computed_by_hand(benchmark, ada, ben):
    constructed(benchmark, ada, ben)
    decompose = answer()["stages"]["decompose"]
    claims, text = decompose["claims"], decompose["texts"]["claim.text"]
    # Ada has 12 claims, Ben 11; all of Ben's have their match: F1 = 2 x 11 / 23.
    assert (claims["matched"], claims["claims"], claims["documents"]) == (11, 23, 4)
    assert four(claims["f1"]) == 0.9565
    # Ten matches are equal. "Ada Lovelace was an (the) English mathematician." share five of six words each:
    # 2 x 5 / 12; the mean is (10 + 5 / 6) / 11.
    assert four(claims["similarity"]) == 0.9848
    # "an" and "the" differ in three of the 43 characters: 3 / 43 / 11; the words overlap as above.
    assert (text["pairs"], text["documents"]) == (11, 4)
    assert four(text["edit_distance"]) == 0.0063
    assert four(text["word_overlap"]) == 0.9848


def test_what_only_one_person_labelled_is_counted_and_serves_gwets_frequencies(benchmark, ada, ben):
    constructed(benchmark, ada, ben)
    labels = answer()["stages"]["decompose"]["labels"]
    # Ben took one of Ada's twelve claims out: its type was labelled by her alone.
    types = labels["claim.type"]
    assert (types["items"], types["left_out"]) == (11, 1)
    assert four(types["ac1"]) == four(types["ac1_gwet"]) == 1.0


def test_where_sentences_are_cut_and_how_many_claims_are_in_them(benchmark, ada, ben):
    constructed(benchmark, ada, ben)
    labels = answer()["stages"]["decompose"]["labels"]
    # Four answers of three sentences, cut alike: two places of four are inside.
    cuts = labels["sentence.cut"]
    assert (cuts["labels"]["yes"], four(cuts["alpha"])) == (16, 1.0)
    # Two sentences of each answer are checked; Ben took a claim out of one of them.
    counts = labels["claim.count"]
    assert counts["items"] == 8
    assert sum(number for one, row in counts["confusion"].items() for other, number in row.items() if one != other) == 1


# Importance of nine sentences in three documents, from three people (m, i, l).
THREE = (("mmm", "mmm", "mmi"), ("mml", "iii", "mil"), ("iil", "lll", "mll"))


def test_three_people_give_the_fleiss_kappa_that_is_computed_by_hand():
    benchmark = BenchmarkFactory(slug="three", overlap=3)
    people = [member(benchmark) for _ in range(3)]
    for sentences in THREE:
        document = prefill(DocumentFactory(benchmark=benchmark))
        annotations = [begun(document, person) for person in people]
        for seat, (annotation, person) in enumerate(zip(annotations, people, strict=True)):
            label(annotation, "importance", [WORDS[said[seat]] for said in sentences], person)
        for annotation, person in zip(annotations, people, strict=True):
            submit(annotation, by=person)
    found = answer(slug="three")["stages"]["decompose"]["labels"]["sentence.importance"]
    assert (found["items"], len(found["raters"])) == (9, 3)
    assert found["cohen"] is None, "it is about two raters"
    # Share of agreeing pairs: 1 for four sentences, 1/3 for four, 0 for one: (4 + 4/3) / 9 = 16 / 27 = 432 / 729.
    assert four(found["percent"]) == 0.5926
    # Of 27 labels 12 are most, 7 intermediate, 8 less: by chance (144 + 49 + 64) / 729 = 257 / 729.
    # (432 - 257) / (729 - 257) = 175 / 472
    assert four(found["fleiss"]) == 0.3708
    # Alpha: ordered pairs that differ, halved, are 2 for four sentences and 3 for one: 1 - 26 x 11 / (729 - 257).
    assert four(found["alpha"]) == 0.3941
    # AC1: by chance (1 - 257 / 729) / 2 = 236 / 729; (432 - 236) / (729 - 236) = 196 / 493
    assert four(found["ac1"]) == 0.3976
    # Pairs that differ stand in two places. Most and intermediate met in sentence 3 (two pairs) and 6 (one).
    assert found["confusion"]["most"]["intermediate"] == found["confusion"]["intermediate"]["most"] == 3


def test_with_three_people_a_pair_and_one_persons_pairs_are_compared():
    benchmark = BenchmarkFactory(slug="three", overlap=3)
    people = [member(benchmark, username=name) for name in ("ann", "bob", "cem")]
    document = prefill(DocumentFactory(benchmark=benchmark))
    annotations = [begun(document, person) for person in people]
    for annotation, person, said in zip(annotations, people, ("most", "less", "less"), strict=True):
        label(annotation, "importance", [said] * 3, person)
        submit(annotation, by=person)

    def importance(*options: str) -> dict[str, Any]:
        found: dict[str, Any] = answer(*options, slug="three")["stages"]["decompose"]["labels"]["sentence.importance"]
        return found

    assert four(importance()["percent"]) == 0.3333
    assert four(importance("--person", "bob", "--partner", "cem")["percent"]) == 1
    bob = importance("--person", "bob")  # three sentences with Ann, three with Cem
    assert (bob["items"], four(bob["percent"]), bob["documents"]) == (6, 0.5, 1)


# --- what is counted ------------------------------------------------------------------------------


def test_nothing_is_counted_before_everybody_has_submitted(benchmark, ada, ben):
    document = prefill(DocumentFactory(benchmark=benchmark))
    submit(begun(document, ada), by=ada)
    assert not Tally.objects.exists() and answer()["documents"] == 0
    theirs = begun(document, ben)
    assert answer()["documents"] == 0
    submit(theirs, by=ben)
    assert answer()["documents"] == 1


def test_discarded_documents_and_copies_of_gold_are_left_out(benchmark, owner, ada, ben):
    first, second, *_ = constructed(benchmark, ada, ben)
    discard(first, "broken", by=owner)
    Document.objects.filter(pk=second.pk).update(twin_of=first)
    found = answer()
    assert found["documents"] == 2
    assert found["stages"]["decompose"]["labels"]["sentence.importance"]["items"] == 6


def test_filters_narrow_what_is_counted(benchmark, ada, ben):
    first, second, third, fourth = constructed(benchmark, ada, ben)
    batch = Batch.objects.create(benchmark=benchmark, name="First", group=benchmark.groups.create(name="Group 1"))
    Document.objects.filter(pk=first.pk).update(batch=batch)
    Document.objects.filter(pk=second.pk).update(blind_first=True)
    Document.objects.filter(pk=third.pk).update(extra_people=1)
    cleo = member(benchmark, username="cleo")
    Tally.objects.filter(annotation__document=fourth).update(created_at=timezone.now() - dt.timedelta(days=30))
    day = (timezone.localdate() - dt.timedelta(days=30)).isoformat()

    def counted(*options: str) -> int:
        number: int = answer(*options)["documents"]
        return number

    assert counted("--batch", "First") == counted("--group", "Group 1") == 1
    assert (counted("--blind-first", "yes"), counted("--blind-first", "no")) == (1, 3)
    assert (counted("--cross-annotated", "yes"), counted("--cross-annotated", "no")) == (1, 3)
    assert (counted("--to", day), counted("--from", day), counted("--from", day, "--to", day)) == (1, 4, 1)
    assert (counted("--stage", "decompose"), counted("--stage", "verify")) == (4, 0)
    assert (counted("--person", "ada"), counted("--person", "ada", "--partner", "ben")) == (4, 4)
    assert counted("--person", cleo.username) == 0


def test_names_that_are_not_there_are_refused_with_what_there_is(benchmark, ada, ben):
    for options, message in (
        (["--benchmark", "polit"], "There is no benchmark “polit”. There are: pilot."),
        (["--benchmark", "pilot", "--batch", "x"], "There is no batch “x”. There are none yet."),
        (["--benchmark", "pilot", "--person", "eve"], "There is no person “eve”. There are: ada, ben."),
        (["--benchmark", "pilot", "--partner", "ada"], "--partner requires --person"),
        (["--benchmark", "pilot", "--person", "ada", "--partner", "ada"], "Name two different people"),
        (["--benchmark", "pilot", "--from", "yesterday"], "“yesterday” isn’t a date"),
    ):
        with pytest.raises(CommandError, match=message.replace(".", "\\.")):
            call_command("agreement", *options)


def test_the_table_without_json_is_for_reading(benchmark, ada, ben):
    out = StringIO()
    call_command("agreement", "--benchmark", "pilot", stdout=out)
    assert out.getvalue().startswith("No figures yet")
    constructed(benchmark, ada, ben)
    out = StringIO()
    call_command("agreement", "--benchmark", "pilot", stdout=out)
    [line] = [line for line in out.getvalue().splitlines() if "Importance of sentence" in line]
    assert line.split()[3:8] == ["12", "4", "75.0%", "0.471", "0.467"]
    assert "Matching claims: F1 0.957" in out.getvalue()


def test_the_same_tallies_give_the_same_intervals(benchmark, ada, ben):
    constructed(benchmark, ada, ben)
    first = answer()
    cache.clear()
    assert answer() == first


def test_blind_first_stands_beside_what_showed_suggestions(benchmark, ada, ben):
    first, *_ = constructed(benchmark, ada, ben)
    assert answer()["blind_first"] == {"without_suggestions": {}, "with_suggestions": {}}, "there is nothing to compare"
    Document.objects.filter(pk=first.pk).update(blind_first=True)
    cache.clear()  # no tally has come since, so the figures are kept for a while
    found = answer()["blind_first"]
    without = found["without_suggestions"]["sentence.importance"]
    assert (without["items"], four(without["percent"])) == (3, 1)
    with_them = found["with_suggestions"]["sentence.importance"]
    assert (with_them["items"], four(with_them["percent"])) == (9, 0.6667)


def test_periods_pairs_and_batches_have_figures_where_there_is_enough(benchmark, ada, ben):
    made = constructed(benchmark, ada, ben)
    Batch.objects.create(benchmark=benchmark, name="Small")
    found = answer("--by", "month")
    today = timezone.localdate().replace(day=1).isoformat()
    point = found["over_time"][today]["sentence.importance"]
    assert (point["items"], round(point["percent"], 4), round(point["alpha"], 4)) == (12, 0.75, 0.4889)
    [pair] = found["pairs"]
    assert pair["people"] == ["ada", "ben"]
    assert pair["fields"]["sentence.importance"] == point
    assert [row["batch"] for row in found["batches"]] == [None]
    # Nine sentences are too few for a point.
    Document.objects.filter(pk=made[0].pk).update(batch=Batch.objects.get(name="Small"))
    cache.clear()
    assert all("sentence.importance" not in row["fields"] for row in answer()["batches"])


def test_a_new_tally_is_counted_at_once_although_figures_are_kept(benchmark, ada, ben):
    constructed(benchmark, ada, ben)
    before = agreement_of(benchmark)
    with CaptureQueriesContext(connection) as kept:
        assert agreement_of(benchmark) == before
    assert len(kept) == 1
    document = prefill(DocumentFactory(benchmark=benchmark))
    for person in (ada, ben):
        submit(begun(document, person), by=person)
    assert agreement_of(benchmark).documents == before.documents + 1


def test_what_takes_long_is_not_counted_anew_for_every_tally(benchmark, ada, ben, monkeypatch):
    constructed(benchmark, ada, ben)
    monkeypatch.setattr(queries, "SLOW", -1.0)
    monkeypatch.setattr(queries, "PATIENCE", 1_000_000)
    before = agreement_of(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    for person in (ada, ben):
        submit(begun(document, person), by=person)
    assert agreement_of(benchmark) == before
    monkeypatch.setattr(queries, "PATIENCE", 0)
    assert agreement_of(benchmark).documents == before.documents + 1


def test_queries_do_not_depend_on_how_much_there_is(benchmark, owner, ada, ben):
    def asked() -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as queries_made:
            agreement_of(benchmark)
            settled_of(benchmark, AgreementFilter())
            own_agreement(ada, benchmark)
            own_settled(ada, benchmark)
            newest_settled(ada, benchmark)
        return len(queries_made)

    documents = constructed(benchmark, ada, ben)
    settle(documents[0], [ada, ben], [])
    before = asked()
    for document in documents[1:]:
        settle(document, [ada, ben], [])
    assert asked() == before


# --- what was settled -----------------------------------------------------------------------------


def settled_documents(benchmark: Benchmark, ada: User, ben: User) -> Sequence[Document]:
    """The third document has three differences of importance: Ada's value stands twice (a slip, the guideline was
    unclear), a new one once (no reason). In the first one Ben's claim that he took out stays out."""
    documents = constructed(benchmark, ada, ben)
    settle(documents[0], [ada, ben], [{"value": False, "reason": "knowledge"}])
    third = board_of(documents[2], Stage.DECOMPOSE)
    assert third.comparison.open == 3
    settle(
        documents[2],
        [ada, ben],
        [{"choice": 0, "reason": "slip"}, {"choice": 0, "reason": "guideline_unclear"}, {"value": "intermediate"}],
    )
    return documents


def test_reasons_and_whose_value_stood_are_counted(benchmark, ada, ben):
    settled_documents(benchmark, ada, ben)
    found = answer()["settled"]
    assert found["differences"] == 4
    assert found["reasons"] == {"slip": 1, "knowledge": 1, "guideline_unclear": 1, "not_said": 1}
    assert found["people"] == {
        "ada": {"own": 2, "partners": 1, "new": 1},
        "ben": {"own": 1, "partners": 2, "new": 1},
    }


def test_what_is_not_agreed_yet_is_not_counted_as_settled(benchmark, ada, ben):
    third = constructed(benchmark, ada, ben)[2]
    row = next(row for row in board_of(third, Stage.DECOMPOSE).comparison.rows if row.is_open)
    adjudicate.decide(third, Stage.DECOMPOSE, row.key, by=ada, choice=0, reason="slip")
    assert settled_of(benchmark, AgreementFilter()).total == 0


def test_each_sees_how_their_own_work_fared_by_field_and_reason(benchmark, ada, ben):
    settled_documents(benchmark, ada, ben)
    mine, theirs = own_settled(ada, benchmark), own_settled(ben, benchmark)
    assert mine.fields == {"sentence.importance": Kept(2, 0, 1), "claim.take": Kept(0, 1, 0)}
    assert theirs.fields == {"sentence.importance": Kept(0, 2, 1), "claim.take": Kept(1, 0, 0)}
    assert (mine.kept.percent, theirs.kept.percent) == (50, 25)
    assert mine.reasons == {"knowledge": 1, "": 1}
    assert theirs.reasons == {"slip": 1, "guideline_unclear": 1, "": 1}


def test_the_newest_settled_stages_come_first_with_their_differences(benchmark, ada, ben):
    documents = settled_documents(benchmark, ada, ben)
    found = newest_settled(ada, benchmark)
    assert [(row.document.pk, row.stage, row.differences) for row in found] == [
        (documents[2].pk, Stage.DECOMPOSE, 3),
        (documents[0].pk, Stage.DECOMPOSE, 1),
    ]
    assert newest_settled(member(benchmark), benchmark) == []


def test_what_was_done_again_is_no_part_of_it(benchmark, ada, ben):
    constructed(benchmark, ada, ben)
    document = prefill(DocumentFactory(benchmark=benchmark))
    for person in (ada, ben):
        annotation = begun(document, person)
        Annotation.objects.filter(pk=annotation.pk).update(independent=False)
        annotation.refresh_from_db()
        submit(annotation, by=person)
    assert answer()["documents"] == 4


def test_answers_are_compared_as_they_were_submitted_although_nobody_wrote_one(benchmark, owner, ada, ben):
    """The comparison of the revise stage says "merged from the sentences" of both; the merged texts differ."""
    document = prefill(DocumentFactory(benchmark=benchmark, response="Water is wet. Fire is hot."))
    at_revise(document, owner, ada, ben)
    mine, theirs = (begun(document, person, Stage.REVISE) for person in (ada, ben))
    row = theirs.sentence_revisions.order_by("sentence__order").first()
    assert row is not None
    save(row, "text", "Water is dry.", ben)
    submit(mine, by=ada)
    submit(theirs, by=ben)
    # "Water is wet. Fire is hot." and "Water is dry. Fire is hot.": three of 26 characters, one of six words.
    texts = answer("--stage", "revise")["stages"]["revise"]["texts"]
    assert four(texts["answer.text"]["edit_distance"]) == round(3 / 26, 4)
    assert four(texts["answer.text"]["word_overlap"]) == round(5 / 6, 4)
