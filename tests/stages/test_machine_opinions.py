"""What strategies hold of a claim or an answer: shown on demand, taken over on purpose, blind first not before time."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import (
    Activity,
    Annotation,
    Claim,
    ClaimSuggestion,
    Document,
    PipelineRun,
    ResponseRevision,
    RevisionSuggestion,
    SentenceSuggestion,
    Stance,
    StanceSuggestion,
    User,
    Verdict,
    VerdictSuggestion,
)
from annotator.core.queries.history import lines_of
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import Factuality, Origin, Stage, StanceLabel
from annotator.stages.actions import revise, saving, verify
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.submit import submit
from annotator.stages.queries.machine_opinions import percent
from annotator.stages.queries.verification import ClaimWork, claims_to_verify
from pipeline.runs.store import store_verification
from pipeline.suggestions import QuestionAnswer, RetrievedEvidence, SuggestedVerdict, Verification
from tests.factories import (
    PAGE,
    BenchmarkFactory,
    DocumentFactory,
    decomposed,
    member,
    prefill,
    save,
    verified,
    with_corpus,
)
from tests.teams import get, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    benchmark = BenchmarkFactory()
    with_corpus(benchmark, PAGE, "Ada Lovelace was born in London in 1815, a mathematician.", "Ada Lovelace's notes.")
    return member(benchmark)


@pytest.fixture
def document(ada: User) -> Document:
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark))
    decomposed(document, ada)
    document.refresh_from_db()
    return document


@pytest.fixture
def annotation(document: Document, ada: User) -> Annotation:
    return open_annotation(document, Stage.VERIFY, by=ada)


def run_of(document: Document, strategy: str = "papelo", **fields: Any) -> PipelineRun:
    plan = {"model": "made-up-1"} | fields.pop("plan", {})
    return PipelineRun.objects.create(
        benchmark=document.benchmark, strategy=strategy, plan=plan, **{"stage": Stage.VERIFY} | fields
    )


def born(annotation: Annotation) -> ClaimWork:
    """The claim with the wrong year."""
    return next(work for work in claims_to_verify(annotation) if "1825" in work.claim.text)


def opinion(work: ClaimWork, run: PipelineRun, **fields: Any) -> VerdictSuggestion:
    first = work.cards[0].evidence
    chain = [
        {
            "question": "When was Ada <Lovelace> born?",
            "query": f"When was Ada <Lovelace> born? {work.claim.text}",
            "answer": "On 10 December 1815.",
            "evidence": first.public_id,
        },
        {"question": "Who says so?", "query": "Ada Lovelace", "answer": "Nothing was found.", "evidence": None},
    ]
    values = {
        "label": "Refuted",
        "factuality": Factuality.FALSE,
        "reason": "By answer 1 she was born in 1815.",
        "correction": work.claim.text.replace("1825", "1815"),
        "probability": 0.873,
        "chain": chain,
    }
    return VerdictSuggestion.objects.create(run=run, claim=work.claim, **values | fields)


def page(client: Client, document: Document, ada: User, claim: Claim) -> BeautifulSoup:
    return get(client, ada, f"{reverse('verify', args=[document.public_id])}?claim={claim.public_id}")


def held(soup: BeautifulSoup) -> Tag:
    found = soup.select_one("details.held")
    assert found is not None
    return found


def decide(work: ClaimWork, by: User) -> None:
    for card in work.cards:
        save(card.stance, "label", StanceLabel.REFUTE, by)
    save(work.verdict, "factuality", Factuality.FALSE, by)


# --- the hint ---------------------------------------------------------------------------------------


def test_an_opinion_is_folded_away_and_no_choice(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    assert not page(client, document, ada, work.claim).select(".held")
    opinion(work, run_of(document))
    soup = page(client, document, ada, work.claim)
    fold = held(soup)
    assert not fold.has_attr("open")
    summary = fold.select_one("summary")
    assert summary is not None
    assert (summary["data-key"], words(summary)) == ("m", "Model verdict M")
    text = words(fold.select_one(".opinion"))
    assert text.startswith("Papelo made-up-1 confidence 87 % ✕ Refuted here: false By answer 1 she was born in 1815.")
    factuality = soup.select('input[data-field="factuality"]')
    assert factuality
    assert not any(each.has_attr("checked") for each in factuality)
    assert not soup.select(".judgement [data-suggested]")
    revised = fold.select_one(".revised")
    assert revised is not None
    assert [each.get_text() for each in revised.select("del, ins")] == ["1825", "1815"]


def test_a_chain_is_an_ordered_list_that_leads_to_its_passages(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    opinion(work, run_of(document))
    soup = page(client, document, ada, work.claim)
    chain = held(soup).select_one("ol.chain")
    assert chain is not None
    first, second = chain.select("li")
    assert words(first) == (
        "Asked When was Ada <Lovelace> born? Searched question and claim Answer On 10 December 1815."
        " Evidence used evidence 1"
    )
    link = first.select_one("a")
    assert link is not None
    goal = soup.find(id=str(link["data-goto"]))
    assert isinstance(goal, Tag)
    assert goal["aria-label"] == "Evidence 1"
    said = "Searched Ada Lovelace Answer Nothing was found. Evidence used none of these passages"
    assert words(second).endswith(said)
    assert second.select_one("a") is None
    assert soup.find(id=str(chain["aria-labelledby"])) is not None


def test_a_chain_that_a_run_stored_leads_to_the_passages_that_it_stored(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    known = work.cards[0].evidence
    found = [
        RetrievedEvidence("She was born in 1815, says a new page.", "https://new.example/", "New", "born"),
        RetrievedEvidence(known.passage, known.url, known.title, "born"),
    ]
    chain = [QuestionAnswer("When?", "born", "In 1815.", 0), QuestionAnswer("Where?", "born", "In London.", 1)]
    verdict = SuggestedVerdict("Refuted", Factuality.FALSE, chain=tuple(chain))
    store_verification(run_of(document), work.claim, Verification(tuple(found), verdict))
    open_annotation(document, Stage.VERIFY, by=ada)  # the new passage gets its row
    cards = born(annotation).cards
    new = next(card for card in cards if card.evidence.title == "New")
    links = held(page(client, document, ada, work.claim)).select(".chain a")
    assert [words(link) for link in links] == [f"evidence {new.number}", "evidence 1"]


def test_the_newest_of_each_strategy_and_model_is_shown_and_no_partners_search(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    opinion(work, run_of(document), reason="The older one.")
    opinion(work, run_of(document), reason="The newer one.")
    opinion(work, run_of(document, plan={"model": "made-up-2"}), label="Supported", factuality=Factuality.TRUE)
    opinion(work, run_of(document, "gone_by"), label="", factuality="", correction=None, chain=[], probability=None)
    opinion(work, run_of(document, plan={"model": "x", "annotation": annotation.pk + 1}), reason="A partner's own.")
    opinions = held(page(client, document, ada, work.claim)).select(".opinion")
    assert [str(each["aria-label"]) for each in opinions] == [
        "Verdict of Gone by",
        "Verdict of Papelo",
        "Verdict of Papelo",
    ]
    text = " ".join(words(each) for each in opinions)
    assert "No verdict" in text
    assert "The newer one." in text
    assert "The older one." not in text
    assert "A partner's own." not in text


def test_what_a_model_said_before_any_search_is_told_while_the_words_are_the_same(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    said = {"label": "definitely false", "confidence": 0.9971, "settled": True}
    ClaimSuggestion.objects.filter(text=work.claim.text).update(prejudgement=said)
    text = words(held(page(client, document, ada, work.claim)))
    assert "before any search Definitely false , confidence 99.7 %: no evidence was retrieved. Offline rules" in text
    Claim.objects.filter(pk=work.claim.pk).update(text="Ada was born in 1825, they say.")
    assert not page(client, document, ada, work.claim).select(".held")


def test_percentages_keep_a_decimal_where_it_is_nearly_certain() -> None:
    assert [percent(value) for value in (None, 0.0, 0.873, 0.995, 0.9999, 1.0)] == [
        "",
        "0 %",
        "87 %",
        "99.5 %",
        "99.9 %",
        "100 %",
    ]


def test_queries_do_not_grow_with_opinions(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    opinion(work, run_of(document))
    StanceSuggestion.objects.create(
        run=run_of(document), evidence=work.cards[0].evidence, label=StanceLabel.REFUTE, by="Learned"
    )
    page(client, document, ada, work.claim)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(client, document, ada, work.claim)
        return len(captured)

    few = 0
    for number in range(5):
        run = run_of(document, plan={"model": f"model {number}"})
        for other in claims_to_verify(annotation):
            opinion(other, run)
        for card in work.cards:
            row = StanceSuggestion.objects.create(run=run, evidence=card.evidence, label=StanceLabel.REFUTE)
            Stance.objects.filter(pk=card.stance.pk).update(suggestion=row)
        few = few or queries()
    assert queries() == few


# --- taking a correction over -----------------------------------------------------------------------


def test_a_correction_becomes_typed_operations_and_stays_known_as_the_machines(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    row = opinion(work, run_of(document))
    client.force_login(ada)
    url = reverse("verify-claim", args=[document.public_id, work.claim.public_id, "take-correction"])
    answer = client.post(url, {"suggestion": row.public_id}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    verdict = Verdict.objects.get(pk=work.verdict.pk)
    (operation,) = verdict.operations.all()
    assert (operation.kind, operation.replacement) == ("replace", "1815")
    assert (verdict.factuality, verdict.revised_claim()) == (Factuality.FALSE, row.correction)
    assert (verdict.suggestion, verdict.correction_origin) == (row, Origin.ACCEPTED)
    edit = BeautifulSoup(answer.content, "html.parser").select_one(".judgement .edit")
    assert "suggestion, accepted" in words(edit)
    assert "accepted a correction" in lines_of([Activity.objects.latest("id")])[0].what

    refused = client.post(url, {"suggestion": row.public_id}, headers={"HX-Request": "true"})
    assert (refused.status_code, refused["HX-Retarget"]) == (422, "#machine-problem")
    assert "already has an edit" in refused.content.decode()

    verify.set_revised_claim(verdict, str(row.correction).replace("1815", "1816"), by=ada)
    verdict = Verdict.objects.get(pk=verdict.pk)
    assert verdict.correction_origin == Origin.EDITED
    verify.set_revised_claim(verdict, work.claim.text, by=ada)
    assert Verdict.objects.get(pk=verdict.pk).suggestion is None

    for _ in range(3):
        saving.undo(annotation, by=ada)
    verdict = Verdict.objects.get(pk=verdict.pk)
    assert (verdict.factuality, verdict.suggestion, verdict.operations.count()) == ("", None, 0)


def test_an_edit_begun_anew_is_a_persons_own(document: Document, annotation: Annotation, ada: User) -> None:
    work = born(annotation)
    row = opinion(work, run_of(document))
    verify.take_correction(work.verdict, row, by=ada)
    operation = work.verdict.operations.get()
    verify.remove_operation(work.verdict, operation.public_id, by=ada)
    assert Verdict.objects.get(pk=work.verdict.pk).suggestion is None
    verify.take_correction(work.verdict, row, by=ada)
    verify.add_operation(work.verdict, kind="delete_claim", by=ada)
    verdict = Verdict.objects.get(pk=work.verdict.pk)
    assert (verdict.suggestion, verdict.correction_origin, verdict.revised_claim()) == (None, "", "")


def test_a_claim_may_be_deleted_by_a_correction(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    row = opinion(work, run_of(document), correction="")
    assert "It deletes the claim." in words(held(page(client, document, ada, work.claim)))
    verify.take_correction(work.verdict, row, by=ada)
    verdict = Verdict.objects.get(pk=work.verdict.pk)
    assert (verdict.revised_claim(), verdict.correction_origin) == ("", Origin.ACCEPTED)


def test_what_is_no_correction_of_this_claim_is_refused(document: Document, annotation: Annotation, ada: User) -> None:
    work = born(annotation)
    other = next(each for each in claims_to_verify(annotation) if each.claim != work.claim)
    for claim, fields in (
        (other, {}),
        (work, {"correction": None}),
        (work, {"correction": work.claim.text}),
        (work, {"run": run_of(document, plan={"annotation": annotation.pk + 1})}),
    ):
        row = opinion(claim, **{"run": run_of(document)} | fields)
        with pytest.raises(BadValueError):
            verify.take_correction(work.verdict, row, by=ada)
    assert not work.verdict.operations.exists()


# --- reasons of stances -----------------------------------------------------------------------------


def test_a_suggested_stance_says_why_and_who_judged(client: Client, document: Document, ada: User) -> None:
    row = document.annotations.get(stage=Stage.DECOMPOSE, kind="consolidated")
    run = run_of(document, "factcheck_gpt_of_old")
    claims = Claim.objects.filter(sentence__annotation=row)
    for claim in claims:
        for number, evidence in enumerate(claim.evidence.all()):
            fields = {"by": "Learned 3", "probability": 0.82} if number else {"reason": "It gives another year."}
            StanceSuggestion.objects.create(run=run, evidence=evidence, label=StanceLabel.REFUTE, **fields)
    annotation = open_annotation(document, Stage.VERIFY, by=ada)
    work = next(each for each in claims_to_verify(annotation) if len(each.cards) > 1)
    soup = page(client, document, ada, work.claim)
    why = [words(each) for each in soup.select("details.why p")]
    assert why[0] == "It gives another year. Factcheck gpt of old, made-up-1"
    assert why[1] == "Learned 3, confidence 82 %, no reason given"
    save(work.cards[0].stance, "label", StanceLabel.REFUTE, ada)
    assert len(page(client, document, ada, work.claim).select("details.why")) == len(why) - 1


# --- blind first ------------------------------------------------------------------------------------


def test_blind_first_nothing_shows_before_claim_and_passages_are_decided(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    Document.objects.update(blind_first=True)
    annotation = Annotation.objects.get(pk=annotation.pk)
    work = born(annotation)
    row = opinion(work, run_of(document), reason="Secret reason.")
    ClaimSuggestion.objects.update(prejudgement={"label": "secret word", "confidence": 1.0, "settled": False})

    def shows() -> bool:
        html = str(page(client, document, ada, work.claim))
        seen = ["Secret reason." in html, "made-up-1" in html, "Model verdict" in html]
        assert len(set(seen)) == 1
        assert seen[0] == ("secret word" in html.lower())
        return seen[0]

    assert not shows()
    with pytest.raises(rules.NotAllowedError, match="first"):
        verify.take_correction(work.verdict, row, by=ada)
    save(work.verdict, "factuality", Factuality.FALSE, ada)
    assert not shows()
    *most, last = work.cards
    for card in most:
        save(card.stance, "label", StanceLabel.REFUTE, ada)
        assert not shows()
    # The last answer brings it to the page without a reload.
    stance = Stance.objects.get(pk=last.stance.pk)
    data = {"field": "label", "value": "refute", "version": stance.version}
    answer = client.post(reverse("save", args=[key_of(stance)]), data, headers={"HX-Request": "true"})
    fragment = BeautifulSoup(answer.content, "html.parser").find(id=f"machine-{work.claim.public_id}")
    assert isinstance(fragment, Tag)
    assert fragment["hx-swap-oob"] == "true"
    assert "Secret reason." in fragment.get_text()
    assert shows()
    verify.take_correction(work.verdict, row, by=ada)
    saving.undo(annotation, by=ada)  # the correction
    saving.undo(annotation, by=ada)  # the last stance
    assert not shows()


def test_where_labels_are_not_blind_an_open_hint_is_left_alone_by_a_save(
    client: Client, document: Document, annotation: Annotation, ada: User
) -> None:
    work = born(annotation)
    opinion(work, run_of(document))
    client.force_login(ada)
    data = {"field": "factuality", "value": "true", "version": work.verdict.version}
    answer = client.post(reverse("save", args=[key_of(work.verdict)]), data, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert b"Model verdict" not in answer.content


# --- the revised answer -----------------------------------------------------------------------------


@pytest.fixture
def revising(document: Document, annotation: Annotation, ada: User) -> Annotation:
    verified(document, ada, false_claim="1825")
    return open_annotation(document, Stage.REVISE, by=ada)


def mended(document: Document, **fields: Any) -> RevisionSuggestion:
    values = {"with_prompt": "Ada was born in 1815.", "without_prompt": "Ada Lovelace was born in 1815, in London."}
    run = run_of(document, "factcheck_gpt_of_old", stage=Stage.REVISE)
    return RevisionSuggestion.objects.create(run=run, document=document, **values | fields)


def revise_page(client: Client, document: Document, ada: User) -> BeautifulSoup:
    return get(client, ada, reverse("revise", args=[document.public_id]))


def take(client: Client, document: Document, row: RevisionSuggestion, which: str) -> Any:
    url = reverse("revise-response", args=[document.public_id, "take-answer"])
    return client.post(url, {"suggestion": f"{row.public_id}-{which}"}, headers={"HX-Request": "true"})


def test_a_machines_answer_is_looked_at_beside_ones_own_and_started_from(
    client: Client, document: Document, revising: Annotation, ada: User
) -> None:
    assert not revise_page(client, document, ada).select(".held")
    row = mended(document)
    fold = held(revise_page(client, document, ada))
    assert not fold.has_attr("open")
    assert [words(each) for each in fold.select("h3")] == [
        "With the prompt Factcheck gpt of old, made-up-1",
        "Without the prompt Factcheck gpt of old, made-up-1",
    ]
    diff = fold.select_one(".diff")
    assert diff is not None
    assert (diff["data-diff-of"], diff["data-diff-base"]) == ("#response-text", row.with_prompt)

    assert take(client, document, row, "without").status_code == 200
    response = ResponseRevision.objects.get(annotation=revising)
    assert (response.text, response.text_origin) == (row.without_prompt, Origin.ACCEPTED)
    assert (response.follows_statements, response.suggestion) == (False, row)
    assert "accepted a suggested response" in lines_of([Activity.objects.latest("id")])[0].what
    assert "Started from a model’s response" in words(revise_page(client, document, ada).select_one("#answer-state"))

    save(response, "text", "Ada was born in London.", ada)
    response.refresh_from_db()
    assert response.text_origin == Origin.EDITED
    save(response, "text", row.without_prompt, ada)
    response.refresh_from_db()
    assert response.text_origin == Origin.ACCEPTED
    for _ in range(3):
        saving.undo(revising, by=ada)
    response.refresh_from_db()
    assert (response.text, response.follows_statements, response.suggestion) == ("", True, None)
    revise.take_answer(revising, row, with_prompt=True, by=ada)
    revise.merge_again(revising, by=ada)
    response.refresh_from_db()
    assert (response.follows_statements, response.suggestion) == (True, None)


def test_typed_words_are_never_replaced(client: Client, document: Document, revising: Annotation, ada: User) -> None:
    row = mended(document)
    statement = revising.sentence_revisions.order_by("sentence__order").first()
    assert statement is not None
    before = statement.text
    save(statement, "text", "Ada wrote this herself.", ada)
    fold = held(revise_page(client, document, ada))
    assert not fold.select("button")
    assert "You have changed sentence 1" in words(fold)
    answer = take(client, document, row, "with")
    assert answer.status_code == 422
    save(statement, "text", before, ada)
    assert held(revise_page(client, document, ada)).select("button")
    response = ResponseRevision.objects.get(annotation=revising)
    save(response, "text", "My own answer.", ada)
    with pytest.raises(BadValueError, match="You have edited the response"):
        revise.take_answer(revising, row, with_prompt=True, by=ada)
    response.refresh_from_db()
    assert (response.text, response.text_origin) == ("My own answer.", Origin.HUMAN)


def test_a_saved_statement_takes_the_button_away_without_a_reload(
    client: Client, document: Document, revising: Annotation, ada: User
) -> None:
    row = mended(document, without_prompt="Ada was born in 1815.")
    assert [words(each) for each in held(revise_page(client, document, ada)).select("h3 > span:first-child")] == [
        "With or without the prompt"
    ]
    statement = revising.sentence_revisions.order_by("sentence__order").first()
    assert statement is not None
    data = {"field": "text", "value": "Ada wrote this herself.", "version": statement.version}
    answer = client.post(reverse("save", args=[key_of(statement)]), data, headers={"HX-Request": "true"})
    fragment = BeautifulSoup(answer.content, "html.parser").find(id=f"start-{row.public_id}-with")
    assert isinstance(fragment, Tag)
    assert not fragment.select("button")


def test_blind_first_a_machines_answer_shows_when_ones_own_is_handed_in(
    client: Client, document: Document, revising: Annotation, ada: User
) -> None:
    row = mended(document)
    Document.objects.update(blind_first=True)
    revising = Annotation.objects.get(pk=revising.pk)
    assert row.with_prompt not in str(revise_page(client, document, ada))
    with pytest.raises(rules.NotAllowedError):
        revise.take_answer(revising, row, with_prompt=True, by=ada)
    submit(revising, by=ada)
    fold = held(revise_page(client, document, ada))
    assert row.with_prompt in str(fold)
    assert not fold.select("button")


def test_another_documents_answer_is_not_found(
    client: Client, document: Document, revising: Annotation, ada: User
) -> None:
    other = DocumentFactory(benchmark=document.benchmark)
    row = mended(other)
    client.force_login(ada)
    assert take(client, document, row, "with").status_code == 404
    with pytest.raises(BadValueError, match="no response to start from"):
        revise.take_answer(revising, row, with_prompt=True, by=ada)
    blank = mended(document, with_prompt="  ", without_prompt="Ada.")
    with pytest.raises(BadValueError, match="no response to start from"):
        revise.take_answer(revising, blank, with_prompt=True, by=ada)


# --- decompose --------------------------------------------------------------------------------------


def test_a_type_by_a_suggester_of_its_own_says_so(client: Client, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark))
    SentenceSuggestion.objects.update(type_by="Learned 3")
    ClaimSuggestion.objects.update(type_by="Learned 4")
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    url = reverse("decompose", args=[document.public_id])
    sentence = annotation.sentences.order_by("order").first()
    assert sentence is not None

    def shown() -> list[str]:
        soup = get(client, ada, f"{url}?sentence={sentence.public_id}")
        return [words(each) for each in soup.select(".choices .origin.machine, .choices .revealed")]

    assert shown() == ["type suggested by Learned 3", "type suggested by Learned 4"]
    save(sentence, "type", "checkworthy", ada)
    assert shown() == ["type suggested by Learned 3", "type suggested by Learned 4"]
    ClaimSuggestion.objects.update(type_by="")
    assert shown() == ["type suggested by Learned 3"]


def test_blind_first_the_suggester_is_named_with_what_it_suggested(client: Client, ada: User) -> None:
    document = prefill(DocumentFactory(benchmark=ada.memberships.get().benchmark, blind_first=True))
    SentenceSuggestion.objects.update(type_by="Learned 3")
    annotation = open_annotation(document, Stage.DECOMPOSE, by=ada)
    url = reverse("decompose", args=[document.public_id])
    sentence = annotation.sentences.order_by("order").first()
    assert sentence is not None
    assert "Learned 3" not in words(get(client, ada, url).select_one("#workspace"))
    save(sentence, "type", "opinion", ada)
    save(sentence, "importance", "less", ada)
    soup = get(client, ada, f"{url}?sentence={sentence.public_id}")
    assert "(by Learned 3)" in words(soup.select_one(".revealed"))
