"""The seven human designs of the four papers, each from a file through the pages to its figures.

The robots post to the real addresses what the pages' scripts would post. Their labels are constructed, so that the
agreement is known: it is computed here by statsmodels from the same labels and must be equal to four digits.

1. Factcheck-Bench's three stages       test_factcheck_benchs_stages
2. Factcheck-Bench 4.4, revisions       test_a_study ... [factcheck-bench-revisions]
3. VeriScore 3.1, pairs of claim lists  test_a_study ... [veriscore-pairs]
4. VeriScore appendix F, extractors     test_a_study ... [veriscore-extractors]
5. VeriScore 3.3, verification          test_a_study ... [veriscore-verification]
6. FastFact, operations and labels      test_fastfact
7. Factcheck-Bench B.1 to B.4, sourcing test_sourcing_and_discarding
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from io import BytesIO, StringIO
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from annotator.core.models import Benchmark, Document, User
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import Stage
from annotator.measures.queries.agreement import agreement_of
from annotator.stages.queries.adjudication import board_of
from annotator.stages.queries.decomposition import sentences_of
from annotator.stages.queries.verification import claims_to_verify
from annotator.studies.models import Study
from annotator.studies.queries.work import Sheet
from tests.factories import retrieve
from tests.studies_robots import jsonl, letter_of_source, play_on_screens, raters

pytestmark = pytest.mark.django_db
HTMX = {"hx-request": "true"}


def fleiss_of(triples: Sequence[tuple[str, ...]]) -> float:
    """Fleiss' kappa of items by statsmodels, from each item's labels."""
    names = sorted({label for triple in triples for label in triple})
    return float(fleiss_kappa(np.array([[triple.count(name) for name in names] for triple in triples])))


def cohen_of(pairs: Sequence[tuple[str, ...]]) -> float:
    """Cohen's kappa of two people by statsmodels."""
    names = sorted({label for pair in pairs for label in pair})
    table = np.zeros((len(names), len(names)))
    for one, other in pairs:
        table[names.index(one), names.index(other)] += 1
    return float(cohens_kappa(table).kappa)


def made(client: Client, benchmark: Benchmark, protocol: str, rows: list[dict[str, Any]], people: list[User]) -> Study:
    """A study made on the page from a file of items, and started there with these raters."""
    file = SimpleUploadedFile("items.jsonl", jsonl(rows).getvalue())
    answer = client.post(reverse("study-new", args=[benchmark.slug]), {"protocol": protocol, "file": file})
    assert answer.status_code == 302, answer.content
    study = Study.objects.get(benchmark=benchmark)
    names = {"rater": [each.username for each in people]}
    answer = client.post(reverse("study-change", args=[benchmark.slug, study.public_id, "start"]), names)
    assert answer.status_code == 302, answer.content
    return Study.objects.select_related("benchmark", "version").get(pk=study.pk)


def told(benchmark: Benchmark) -> dict[str, Any]:
    """What `manage.py study --json` says of the benchmark's only study."""
    out = StringIO()
    call_command("study", benchmark=benchmark.slug, json=True, stdout=out)
    (found,) = json.loads(out.getvalue())["studies"]
    return dict(found)


def page_of(client: Client, study: Study) -> str:
    page = client.get(reverse("study", args=[study.benchmark.slug, study.public_id]))
    return BeautifulSoup(page.content, "html.parser").get_text(" ", strip=True)


# --- 2 to 5 ---------------------------------------------------------------------------------------

# For each item what its raters choose. Unanimous: 10, 10, 7 and 8 of 12.
REVISIONS = [("with",) * 6] * 8 + [("without",) * 6] * 2 + [("with",) * 4 + ("without",) * 2] * 2
LISTS = (
    [("veriscore",) * 3] * 8 + [("safe",) * 3] * 2 + [("veriscore", "veriscore", "safe"), ("safe", "veriscore", "safe")]
)
EXTRACTORS = [("gpt-4",) * 2] * 4 + [("mistral",) * 2] * 2 + [("tie", "tie")] + [("gpt-4", "mistral")] * 2
EXTRACTORS += [("mistral", "tie"), ("tie", "gpt-4"), ("gpt-4", "tie")]
VERDICTS = [("supported",) * 3] * 5 + [("inconclusive",) * 3] * 2 + [("contradicted",) * 3]
VERDICTS += [("supported", "supported", "inconclusive")] * 2 + [("inconclusive", "contradicted", "inconclusive")]
VERDICTS += [("supported", "contradicted", "inconclusive")]


def _compared(*sources: str) -> Callable[[int], dict[str, Any]]:
    return lambda n: {"candidates": {each: [f"Claim {n}.", f"By {number}."] for number, each in enumerate(sources)}}


def _choice(label: str, sheet: Sheet) -> dict[str, str]:
    return {"item.preferred": "tie" if label == "tie" else letter_of_source(sheet, label), "item.reason": "Clearer."}


def _verdict(label: str, sheet: Sheet) -> dict[str, str]:
    kind = {"item.inconclusive": "a"} if label == "inconclusive" else {}
    return {"item.verdict": label} | kind | {f"{row.address}.stance": "inconclusive" for row in sheet.rows}


Design = tuple[
    str, Sequence[tuple[str, ...]], Callable[[int], dict[str, Any]], Callable[[str, Sheet], dict[str, str]], str
]
DESIGNS: list[Design] = [
    ("factcheck-bench-revisions", REVISIONS, _compared("with", "without"), _choice, "fleiss"),
    ("veriscore-pairs", LISTS, _compared("veriscore", "safe"), _choice, "fleiss"),
    ("veriscore-extractors", EXTRACTORS, _compared("gpt-4", "mistral"), _choice, "cohen"),
    (
        "veriscore-verification", VERDICTS,
        lambda n: {"passages": [{"text": f"Passage {n}.{rank}"} for rank in range(2)]}, _verdict, "fleiss",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "labels", "content", "said", "coefficient"), DESIGNS, ids=[each[0] for each in DESIGNS]
)
def test_a_study_from_its_file_to_its_figures(
    client: Client,
    benchmark: Benchmark,
    owner: User,
    protocol: str,
    labels: Sequence[tuple[str, ...]],
    content: Callable[[int], dict[str, Any]],
    said: Callable[[str, Sheet], dict[str, str]],
    coefficient: str,
) -> None:
    people = raters(benchmark, len(labels[0]))
    rows = [{"id": str(n), "stratum": f"s{n % 2}", "text": f"Text {n}."} | content(n) for n in range(len(labels))]
    client.force_login(owner)
    if protocol == "veriscore-verification":  # its 50 shared items and 90 for each alone are another test's
        protocol = _with_sampling(client, benchmark, protocol, {"design": "all", "people": 3})
    study = made(client, benchmark, protocol, rows, people)

    def answers(sheet: Sheet) -> dict[str, str]:
        return said(labels[int(sheet.item.external_id)][people.index(sheet.assignment.person)], sheet)

    play_on_screens(study, answers)
    found = told(benchmark)
    assert (found["items"], found["complete"]) == (12, 12)
    unanimous = sum(len(set(each)) == 1 for each in labels)
    if "comparison" in found:
        figures = found["comparison"]
        assert (figures["rated"], figures["unanimous"]) == (12, unanimous)
        preferred = Counter(label for each in labels for label in each if label != "tie")
        assert {each["source"]: each["strong"] for each in figures["totals"]} == dict(preferred)
        strata = Counter((f"s{n % 2}", label) for n, each in enumerate(labels) for label in each if label != "tie")
        assert {(each["stratum"], each["source"]): each["strong"] for each in figures["strata"]} == dict(strata)
    else:
        figures = next(each for each in found["judgement"]["questions"] if each["question"] == "item.verdict")
        assert (figures["shared"], figures["full"]) == (12, unanimous)
    expected = cohen_of(labels) if coefficient == "cohen" else fleiss_of(labels)
    assert round(figures["agreement"][coefficient]["value"], 4) == round(expected, 4)
    name = {"cohen": "Cohen’s κ", "fleiss": "Fleiss’ κ"}[coefficient]
    assert f"{name} {expected:.2f}" in page_of(client, study)


def _with_sampling(client: Client, benchmark: Benchmark, name: str, sampling: dict[str, Any]) -> str:
    """The protocol with another sampling: exported, changed in its file and imported on the pages."""
    file = json.loads(client.get(reverse("protocol-file", args=[benchmark.slug, name])).content)
    changed = BytesIO(json.dumps(file | {"name": "ours", "sampling": sampling}).encode())
    changed.name = "ours.json"
    answer = client.post(reverse("protocol-import", args=[benchmark.slug]), {"file": changed})
    assert answer.status_code == 302, answer.content
    return "ours"


# --- 6 --------------------------------------------------------------------------------------------

# Operation and label of each claim by both people, and the label of the machine.
FACTS = [
    ("supported", ("keep", "supported"), ("keep", "supported")),
    ("supported", ("keep", "supported"), ("keep", "refuted")),
    ("unsupported", ("keep", "not enough evidence"), ("keep", "not enough evidence")),
    ("unsupported", ("revise", "refuted"), ("revise", "conflicting evidence")),
    ("supported", ("remove", ""), ("remove", "")),
    ("irrelevant", ("remove", ""), ("keep", "irrelevant")),
    ("refuted", ("revise", "refuted"), ("keep", "refuted")),
    ("supported", ("keep", "supported"), ("keep", "supported")),
]
OPERATIONS = {"keep": "unchanged", "revise": "revised", "remove": "removed"}


def test_fastfact_operations_labels_and_its_alignment_table(client: Client, benchmark: Benchmark, owner: User) -> None:
    people = raters(benchmark, 2)
    client.force_login(owner)
    rows = [
        {
            "question": f"Question {n}?", "prompt_source": bench, "response": "A response.", "model": "m",
            "claims_lst": [
                {"claim_id": f"{n}-{m}", "claim": f"Claim {m}.", "pre-label": machine}
                for m, (machine, *_) in enumerate(FACTS)
            ],
        }
        for n, bench in enumerate(("longfact", "expertqa"))
    ]  # fmt: skip
    protocol = _with_sampling(client, benchmark, "fastfact", {"design": "all", "people": 2})
    study = made(client, benchmark, protocol, rows, people)

    def answers(sheet: Sheet) -> dict[str, str]:
        said: dict[str, str] = {}
        person = people.index(sheet.assignment.person)
        for row, (machine, *both) in zip(sheet.parts, FACTS, strict=True):
            operation, label = both[person]
            said[f"{row.address}.operation"] = operation
            if operation == "remove":
                said |= {f"{row.address}.removal": "redundant", f"{row.address}.failures": "redundant: intra"}
                continue
            if operation == "revise":
                said |= {f"{row.address}.revision": "ambiguous", f"{row.address}.text": "Clear."}
            said[f"{row.address}.agree"] = "agree" if label == machine else "disagree"
            if label != machine:
                said[f"{row.address}.label"] = label
        return said

    play_on_screens(study, answers)
    found = told(benchmark)
    shared = found["cross_annotated"]
    operations = [tuple(OPERATIONS[each[0]] for each in both) for _, *both in FACTS] * 2
    labels = [tuple(each[1] for each in both) for _, *both in FACTS if all(each[1] for each in both)] * 2
    assert shared["operations"]["shared"] == len(operations)
    assert round(shared["operations"]["agreement"]["cohen"]["value"], 4) == round(cohen_of(operations), 4)
    assert shared["labels"]["shared"] == len(labels)
    assert round(shared["labels"]["agreement"]["cohen"]["value"], 4) == round(cohen_of(labels), 4)

    # The rows of the alignment table, counted here from the labels alone, for all and for each sub-benchmark.
    unsupported = ("refuted", "not enough evidence", "conflicting evidence", "unsupported")
    # Of a cross-annotated response the first rater's version counts.
    every = [(machine, *both[0]) for machine, *both in FACTS]
    kept = [(machine, label) for machine, operation, label in every if operation != "remove"]
    scored = [
        "unsupported" if one in unsupported else one for one, _ in kept
    ], ["unsupported" if other in unsupported else other for _, other in kept]  # fmt: skip
    for row in found["alignment"]:
        times = 2 if row["benchmark"] == "" else 1
        count = Counter(OPERATIONS[operation] for _, operation, _ in every)
        assert row["operations"] == {name: times * count[name] for name in ("unchanged", "revised", "removed", "added")}
        assert row["checked"] == times * len(kept)
        assert row["exact"] == pytest.approx(sum(one == other for one, other in kept) / len(kept))
        same = sum(one == other for one, other in zip(*scored, strict=True))
        assert row["scoring"] == pytest.approx(same / len(kept))
        label_counts = Counter(label for _, label in kept)
        assert row["s_prime"] == times * label_counts["supported"]
        assert row["n_prime"] == times * sum(label_counts[each] for each in unsupported)
        assert row["i_prime"] == times * label_counts["irrelevant"]
        assert row["k_prime"] == row["s_prime"] + row["n_prime"]
        assert row["per_response"]["removed"] == pytest.approx(count["removed"])
    assert {row["benchmark"] for row in found["alignment"]} == {"", "longfact", "expertqa"}
    text = page_of(client, study)
    assert f"Cohen’s κ {cohen_of(labels):.2f}" in text
    assert f"Cohen’s κ {cohen_of(operations):.2f}" in text


# --- 1 --------------------------------------------------------------------------------------------

TYPES = (
    [("checkworthy", "checkworthy")] * 5
    + [("opinion", "opinion")] * 2
    + [("checkworthy", "opinion"), ("opinion", "checkworthy")]
)
TYPES += [("checkworthy", "checkworthy")]
VERDICT_PAIRS = [("true", "true"), ("false", "false"), ("true", "false")]


def _saved(client: Client, record: Any, field: str, value: str) -> None:
    record.refresh_from_db()
    sent = {"field": field, "value": value, "version": record.version, "active_seconds": "1"}
    answer = client.post(reverse("save", args=[key_of(record)]), sent, headers=HTMX)
    assert answer.status_code == 200, answer.content


def _settled_on_screen(client: Client, document: Document, stage: Stage, people: list[User]) -> None:
    """The first person's version of every difference, signed off by all."""
    for person in people:
        client.force_login(person)
        while rows := [row for row in board_of(document, stage).comparison.rows if row.is_open]:
            sent = {"key": rows[0].key, "pick": "person 0", "version": 0}
            answer = client.post(
                reverse("agree-change", args=[document.public_id, stage, "decide"]), sent, headers=HTMX
            )
            assert answer.status_code == 200, answer.content
        answer = client.post(reverse("agree-change", args=[document.public_id, stage, "sign"]), headers=HTMX)
        assert answer.status_code in (200, 204), answer.content
    document.refresh_from_db()


def test_factcheck_benchs_stages_from_a_file_to_gold_and_agreement(
    client: Client, benchmark: Benchmark, owner: User, tmp_path: Any
) -> None:
    """Ten sentences by two people through decompose, verify and revise, adjudicated, with Cohen's kappa of the types
    of sentences and of the verdicts."""
    people = raters(benchmark, 2)
    names = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gwen", "Hal", "Ida", "Jon")
    response = " ".join(f"{name} was born in {1800 + number}." for number, name in enumerate(names))
    path = tmp_path / "documents.jsonl"
    path.write_text(json.dumps({"id": "1", "prompt": "Who was born when?", "response": response}) + "\n")
    call_command("import_documents", str(path), benchmark=benchmark.slug, stdout=StringIO())
    document = retrieve(benchmark.documents.get())  # the worker prepares suggestions

    def on(stage: Stage, person: User) -> Any:
        client.force_login(person)
        answer = client.post(reverse("start", args=[document.public_id, stage]), follow=True)
        assert answer.status_code == 200, BeautifulSoup(answer.content, "html.parser").get_text(" ", strip=True)
        return document.annotations.get(stage=stage, person=person)

    def handed_in(stage: Stage) -> None:
        sent = {"confirmed": "yes", "reason": "Known from elsewhere."}
        answer = client.post(reverse("submit", args=[document.public_id, stage]), sent, headers=HTMX)
        assert answer.status_code == 204, answer.content

    for number, person in enumerate(people):
        annotation = on(Stage.DECOMPOSE, person)
        rows = sentences_of(annotation)
        assert len(rows) == len(TYPES)
        for sentence, pair in zip(rows, TYPES, strict=True):
            where = [document.public_id, sentence.public_id, "take-over"]
            seen = " ".join(key_of(each) for each in (sentence, *sentence.claims.all()))
            answer = client.post(reverse("decompose-sentence", args=where), {"seen": seen}, headers=HTMX)
            assert answer.status_code == 200, answer.content
            sentence.refresh_from_db()
            if sentence.type != pair[number]:
                _saved(client, sentence, "type", pair[number])
        handed_in(Stage.DECOMPOSE)
    document.refresh_from_db()
    _settled_on_screen(client, document, Stage.DECOMPOSE, people)
    retrieve(document)

    verdicts: list[tuple[str, str]] = []
    for number, person in enumerate(people):
        annotation = on(Stage.VERIFY, person)
        works = claims_to_verify(annotation)
        verdicts = [VERDICT_PAIRS[place % 3] for place in range(len(works))]
        for work, pair in zip(works, verdicts, strict=True):
            for card in work.cards:
                _saved(client, card.stance, "label", "refute" if pair[number] == "false" else "completely_support")
            _saved(client, work.verdict, "factuality", pair[number])
            _saved(client, work.verdict, "reason", "From memory.")
            if pair[number] == "false":
                where = [document.public_id, work.claim.public_id, "delete-claim"]
                answer = client.post(reverse("verify-claim", args=where), headers=HTMX)
                assert answer.status_code == 200, answer.content
        handed_in(Stage.VERIFY)
    document.refresh_from_db()
    _settled_on_screen(client, document, Stage.VERIFY, [*people, owner])
    for person in people:
        on(Stage.REVISE, person)
        handed_in(Stage.REVISE)
    document.refresh_from_db()
    if document.phase != "agreed":
        _settled_on_screen(client, document, Stage.REVISE, people)
    assert (document.stage, document.phase) == ("revise", "agreed")

    fields = {each.field.name: each.figures for stage in agreement_of(benchmark).stages for each in stage.labels}
    for name, pairs in (("sentence.type", TYPES), ("verdict.factuality", verdicts)):
        found = fields[name]
        assert found.cohen is not None, name
        assert round(found.cohen.value, 4) == round(cohen_of(pairs), 4), name
    client.force_login(owner)
    page = client.get(reverse("agreement", args=[benchmark.slug])).content.decode()
    assert f"{cohen_of(TYPES):.2f}" in page
    out = StringIO()
    call_command("statistics", benchmark=benchmark.slug, stdout=out)
    assert out.getvalue()


# --- 7 --------------------------------------------------------------------------------------------


def test_sourcing_and_discarding_from_a_file_to_the_funnel(client: Client, benchmark: Benchmark, owner: User) -> None:
    """Twelve candidates: three too short, two duplicates, one taken out by hand, six documents, two of them discarded
    with a reason. The page, and the counts of statistics."""
    texts = ["Short."] * 3 + ["A response of at least ten words, one for each of these places."] * 9
    prompts = [f"Question {n}?" for n in range(12)]
    prompts[10] = prompts[11] = prompts[9]
    rows = [
        {"id": str(n), "prompt": prompts[n], "response": f"{text} {n}", "source": "own"} for n, text in enumerate(texts)
    ]
    client.force_login(owner)
    file = SimpleUploadedFile("pool.jsonl", jsonl(rows).getvalue())
    answer = client.post(reverse("pools", args=[benchmark.slug]), {"name": "First", "file": file})
    assert answer.status_code == 302, answer.content
    pool = benchmark.pools.get()

    def change(what: str, **sent: Any) -> list[list[str]]:
        answer = client.post(reverse("pool-change", args=[benchmark.slug, pool.public_id, what]), sent, follow=True)
        assert answer.status_code == 200, answer.content
        page = BeautifulSoup(answer.content, "html.parser")
        return [
            [cell.get_text(" ", strip=True) for cell in row.select("td")] for row in page.select(".funnel tbody tr")
        ]

    change("filter", kind="length", at_least="5")
    change("filter", kind="duplicates")
    found = change("filter", kind="by_hand", ids=["3"], reason="riddle")
    assert [row[0] for row in found] == ["12", "9", "7", "6"]
    assert "Riddle" in found[3][2]
    change("add")
    documents = list(benchmark.documents.order_by("order"))
    assert len(documents) == 6
    for document, code in zip(documents, ("procedure", "disputed"), strict=False):
        where = reverse("document-change", args=[document.public_id, "discard"])
        answer = client.post(where, {"code": code, "reason": ""}, follow=True)
        assert answer.status_code == 200, answer.content
    out = StringIO()
    call_command("statistics", benchmark=benchmark.slug, json=True, stdout=out)
    assert json.loads(out.getvalue())["counted"]["discarded_because"] == {"procedure": 1, "disputed": 1}
