"""Statistics of gold: equal to the independent figures for the released documents, and what is left out of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core.models import Benchmark, Document, Evidence, Sentence, User, Verdict
from annotator.core.vocabulary import Removal, Role, Stage
from annotator.exchange.actions.imports import import_gold
from annotator.measures.queries.statistics import sources_of, statistics_of
from annotator.measures.statistics.report import StatisticsReport
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.documents import discard
from annotator.stages.actions.submit import submit
from tests.agreeing import at_revise, settle
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, verified, with_corpus
from tests.released import released_claim, released_document, released_sentence

pytestmark = pytest.mark.django_db

# What the made-up document of tests/released.py holds, counted by hand from the file.
RELEASED = {
    "table1": {"document": 1, "sent": 3, "cw_sent": 2, "claim": 5, "cw_claim": 4, "evid": 8},
    "documents": {
        "paper_rule": {"false": 1},
        "field_response_factuality": {"false": 1},
        "with_false_claim": 1,
        "with_undetermined_claim": 1,
        "false_claims_per_doc": {"2": 1},
        "over_5_false": 0,
        "mean_response_words": 17.0,
    },
    "sentences": {
        "type": {"yes": 2, "not_a_claim": 1},
        "importance": {"yes": 1, "intermediate": 1, "no": 1},
        "factuality": {"na": 1, "false": 2},
        "per_response": {"3": 1},
        "claims_per_sentence": {"0": 1, "2": 1, "3": 1},
        "claims_per_cw_sentence": {"2": 1, "3": 1},
        "deleted": 1,
        "deleted_undetermined": 0,
    },
    "stance": {
        "all": {"completely-support": 3, "refute": 1, "irrelevant": 4},
        "evidence_enough_yes": {"completely-support": 2, "irrelevant": 2},
        "evidence_enough_no": {"completely-support": 1, "refute": 1, "irrelevant": 2},
    },
    "evidence": {"retrieved": 8, "added": 1},
    "irregular": {
        "revised_claims_longer_than_claims": 1,
        "revised_decontext_is_list": 1,
        "blank_decontext": 1,
        "blank_revised_claim": 1,
        "stances_not_five": 5,
        "claims_with_repeated_evidence": 1,
        "evidence_with_NUL": 2,
        "enough_no_but_no_human_text": 1,
        "enough_yes_with_human_text": 0,
        "edit_yes_text_unchanged": 0,
        "not_edit_text_changed": 0,
        "edit_yes_without_evidence_index": 0,
    },
}


@pytest.fixture(autouse=True)
def counted_anew() -> None:
    cache.clear()


@pytest.fixture
def pilot() -> Benchmark:
    return BenchmarkFactory(slug="pilot")


def bring(benchmark: Benchmark, *rows: dict[str, Any]) -> None:
    content = "\n".join(map(json.dumps, rows))
    assert import_gold(benchmark=benchmark, source=io.BytesIO(content.encode())).imported == len(rows)


def command(**options: Any) -> str:
    out = io.StringIO()
    call_command("statistics", stdout=out, **({"benchmark": "pilot"} | options))
    return out.getvalue()


def figures(**options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(json=True, **options))
    return found


def report(benchmark: Benchmark) -> StatisticsReport:
    return statistics_of(benchmark, sources_of(benchmark))


# --- against figures counted elsewhere ------------------------------------------------------------


def leaves(value: Any, *path: str) -> list[tuple[tuple[str, ...], Any]]:
    """Every figure of the file with the keys that lead to it."""
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves(each, *path, key)]
    return [(path, value)]


def test_the_released_documents_give_the_independent_figures(pilot: Benchmark, data_dir: Path) -> None:
    import_gold(benchmark=pilot, source=data_dir / "factcheck-bench.dev.jsonl")
    independent = json.loads((data_dir / "factcheck-bench.dev.statistics.json").read_text())
    found = figures()
    expected = leaves(independent)
    assert len(expected) > 100
    differing = {}
    for path, value in expected:
        here: Any = found
        for key in path:
            here = here.get(key, "missing") if isinstance(here, dict) else "missing"
        if here != value:
            differing[path] = (value, here)
    assert differing == {}
    # And nothing is counted there that the independent figures do not know: a label too many would be an error too.
    for group in ("table1", "documents", "sentences", "stance", "irregular"):
        assert found[group] == independent[group]


def test_every_figure_of_one_document_by_hand(pilot: Benchmark) -> None:
    bring(pilot, released_document())
    found = figures()
    for group, expected in RELEASED.items():
        assert found[group] == expected, group
    assert found["claims"] == {
        "type": {"factual": 4, "opinion": 1},
        "importance": {"yes": 4, "no": 1},
        "evidence_enough": {"yes": 2, "no": 2, "NA": 1},
        "needs_edit": {"no": 1, "yes": 2, "not_enough_evidence": 1, "NA": 1},
        "not_enough_by_edit": {"yes": 1, "not_enough_evidence": 1},
        "factuality": {"unknown": 1, "false": 2, "true": 1},
    }


@pytest.mark.parametrize(
    ("claim", "odd"),
    [
        ({"revised_claims": "Another text."}, "not_edit_text_changed"),
        ({"revised_claims": " "}, "blank_revised_claim"),
        ({"human_evidence": "https://example.org/"}, "enough_yes_with_human_text"),
        ({"if_claim_needs_edit": "yes", "usedEvidence_index_in_revision": "1"}, "edit_yes_text_unchanged"),
        (
            {"if_claim_needs_edit": "yes", "revised_claims": "So.", "usedEvidence_index_in_revision": "-1"},
            "edit_yes_without_evidence_index",
        ),
        (
            {"if_claim_needs_edit": "yes", "revised_claims": "So.", "usedEvidence_index_in_revision": "see 1842"},
            "edit_yes_without_evidence_index",
        ),
        (
            {"if_claim_needs_edit": "yes", "revised_claims": "So.", "usedEvidence_index_in_revision": "9"},
            "",  # it names a passage, though one that is not there
        ),
        ({"if_claim_needs_edit": "not_enough_evidence", "revised_claims": "It may be so."}, ""),
        ({"if_claim_needs_edit": "not_enough_evidence", "revised_claims": ""}, "blank_revised_claim"),
        (
            {"auto_evidence": ["\\u0000", "b"]},  # those six characters are no NUL
            "",
        ),
        ({"auto_evidence": ["\x00", "b"]}, "evidence_with_NUL"),
    ],
)
def test_one_irregularity_at_a_time(pilot: Benchmark, claim: dict[str, Any], odd: str) -> None:
    text = "Ada Lovelace wrote notes."
    bring(
        pilot,
        released_document(
            sentences={"sentence1": released_sentence(text, [released_claim(text, **claim)], truth=True)}
        ),
    )
    found = figures()["irregular"]
    assert found.pop("stances_not_five") == 1
    assert {name for name, number in found.items() if number} == ({odd} if odd else set())


def test_what_a_file_spelled_oddly_counts_until_it_is_changed(pilot: Benchmark) -> None:
    bring(pilot, released_document())
    assert report(pilot).irregular["evidence_with_NUL"] == 2
    Evidence.objects.filter(released__contains="u0000").update(passage="Another passage.")
    Sentence.objects.filter(order=3).update(decontext="This helps.", text="I do hope that this helps.")
    cache.clear()
    found = report(pilot).irregular
    assert (found["evidence_with_NUL"], found["revised_decontext_is_list"], found["blank_decontext"]) == (0, 0, 0)


# --- what is counted ------------------------------------------------------------------------------


def gold(benchmark: Benchmark, person: User, **fields: Any) -> Document:
    """A document that one person took through all stages; its year is mended."""
    document = prefill(DocumentFactory(benchmark=benchmark, **fields))
    decomposed(document, person)
    document.refresh_from_db()
    verified(document, person, false_claim="1825")
    submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    document.refresh_from_db()
    assert document.is_gold
    return document


def test_gold_made_here_is_counted_and_nothing_else(pilot: Benchmark) -> None:
    with_corpus(pilot)
    ada = member(pilot, Role.OWNER)
    first = gold(pilot, ada)
    alone = figures()
    assert alone["documents"]["with_false_claim"] == 1 and alone["claims"]["needs_edit"]["yes"] == 1
    assert alone["revision_false_docs"]["n"] == 1 and alone["revision_false_docs"]["norm_edit"] > 0
    more: dict[str, Any] = {"contradictions_confirmed": 0, "discarded_because": {}}
    assert alone["counted"] == {"gold": 1, "in_work": 0, "discarded": 0} | more
    discard(gold(pilot, ada), reason="a riddle", by=ada)
    Document.objects.filter(pk=gold(pilot, ada).pk).update(twin_of=first)
    unfinished = prefill(DocumentFactory(benchmark=pilot))
    decomposed(unfinished, ada)
    elsewhere = BenchmarkFactory()
    gold(elsewhere, member(elsewhere))
    found = figures()
    more["discarded_because"] = {"other": 1}
    assert found.pop("counted") == {"gold": 1, "in_work": 1, "discarded": 1} | more
    del alone["counted"]
    assert found == alone


def test_only_the_agreed_version_is_counted(pilot: Benchmark) -> None:
    pilot.overlap = 2
    pilot.save()
    with_corpus(pilot)
    owner, ada, ben = member(pilot, Role.OWNER), member(pilot), member(pilot)
    document = at_revise(prefill(DocumentFactory(benchmark=pilot)), owner, ada, ben)
    assert report(pilot).gold == 0
    for person in (ada, ben):
        submit(open_annotation(document, Stage.REVISE, by=person), by=person)
    document.refresh_from_db()
    assert settle(document, [ada, ben], []).is_gold
    adjudicated = document.annotations.get(stage=Stage.DECOMPOSE, kind="consolidated").sentences.filter(removed="")
    found = figures()
    assert found["table1"]["sent"] == adjudicated.count() < Sentence.objects.count()
    claims = sum(sentence.claims.filter(removed="").count() for sentence in adjudicated)
    assert found["table1"]["claim"] == claims
    assert found["claims"]["factuality"] == {"true": found["table1"]["cw_claim"]}
    assert sum(found["stance"]["all"].values()) == found["table1"]["evid"] > 0


def test_removed_rows_are_not_counted(pilot: Benchmark) -> None:
    bring(pilot, released_document())
    sentence = Sentence.objects.get(order=2)
    sentence.removed = Removal.MERGED
    sentence.save()
    claim = sentence.annotation.sentences.get(order=1).claims.get(order=1)
    claim.removed = Removal.REDUNDANT
    claim.save()
    found = figures()
    assert found["table1"] == {"document": 1, "sent": 2, "cw_sent": 1, "claim": 1, "cw_claim": 1, "evid": 2}
    assert found["stance"]["all"] == {"refute": 1, "irrelevant": 1}
    assert found["claims"]["needs_edit"] == {"yes": 1}


def test_figures_are_kept_until_the_gold_changes(pilot: Benchmark, django_assert_num_queries: Any) -> None:
    bring(pilot, released_document())
    sources = sources_of(pilot)
    before = statistics_of(pilot, sources)
    with django_assert_num_queries(1):
        assert statistics_of(pilot, sources) == before
    bring(pilot, released_document(prompt="Another?"))
    assert report(pilot).gold == 2
    owner = member(pilot, Role.OWNER)
    for document in Document.objects.all():
        discard(document, reason="a riddle", by=owner)
    assert report(pilot).gold == 0


def test_the_number_of_queries_does_not_depend_on_sizes(pilot: Benchmark) -> None:
    asked = []
    bring(pilot, released_document())
    for number in (1, 2):
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            report(pilot)
        asked.append(len(queries))
        bring(pilot, *(released_document(prompt=f"{number} {each}") for each in range(3)))
    assert asked[0] == asked[1] < 30
    assert report(pilot).gold == 7


# --- the command ----------------------------------------------------------------------------------


def test_a_source_and_a_rule_narrow_the_figures(pilot: Benchmark) -> None:
    opinion = released_claim(
        "It is nice.", claim_checkworthiness="opinion", stance_claim_autoEvid=[], if_claim_needs_edit="NA"
    )
    text = "Ada Lovelace wrote notes. It is nice."
    nice = {"sentence1": released_sentence(text, [released_claim(text), opinion], truth=False)}
    bring(
        pilot,
        released_document(source="web"),
        released_document(source="books", prompt="B", sentences=nice, response=text, revised_response=text),
    )
    found = figures()
    assert found["rule"] == "paper" and found["revision_false_docs"]["n"] == 1
    assert found["table2"] == [
        {"source": "books", "collected": 1, "annotated": 1, "false": {"paper": 0, "released": 1}},
        {"source": "web", "collected": 1, "annotated": 1, "false": {"paper": 1, "released": 1}},
    ]
    assert figures(rule="released")["revision_false_docs"]["n"] == 2
    books = figures(source="books")
    assert books["filter"] == {"source": "books"} and books["counted"]["gold"] == 1
    assert books["table1"]["sent"] == 1 and [row["source"] for row in books["table2"]] == ["books"]
    assert books["irregular"]["evidence_with_NUL"] == 0


def test_without_json_there_are_tables(pilot: Benchmark) -> None:
    assert command().startswith("No gold yet.")
    bring(pilot, released_document())
    found = command()
    assert "1 gold documents of 1; 0 in progress and 0 discarded are excluded." in found
    assert "Sizes (Table 1)" in found and "  completely-support  3       0.375" in found
    assert "Table 2" not in found, "no document says where it is from"


def test_names_that_are_not_there(pilot: Benchmark) -> None:
    bring(pilot, released_document(source="web"))
    with pytest.raises(CommandError, match=r"There is no benchmark “plot”\. There are: pilot\."):
        command(benchmark="plot")
    with pytest.raises(CommandError, match=r"There is no source “wbe”\. There are: web\."):
        command(source="wbe")


def test_a_verdict_that_was_taken_away_leaves_no_label(pilot: Benchmark) -> None:
    bring(pilot, released_document())
    Verdict.objects.all().delete()
    found = figures()
    assert found["claims"]["needs_edit"] == {"NA": 5}
    assert found["documents"]["paper_rule"] == {"false": 1}, "a claim without a verdict is not true"
