"""Factcheck-GPT over a made-up answer: what it suggests, what it falls back to, and what it calls."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from annotator.core.vocabulary import ClaimType, Factuality, Importance, NotWorthReason, SentenceType, StanceLabel
from pipeline import strategies
from pipeline.claims.decompose import decompose
from pipeline.clients.base import BudgetSpentError, ChatAnswer, ChatRequest, SearchResult, ServiceError
from pipeline.notes import StepNotes
from pipeline.prompts import check_wording, shipped
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.retrieval.evidence import SearchReach, _overlaps
from pipeline.retrieval.passages import passages
from pipeline.retrieval.queries_by_model import QueryReach, queries_by_model
from pipeline.strategies.factcheck_gpt import FactcheckGpt
from pipeline.suggestions import CheckedClaim, ClaimText, Decomposition, DocumentText, Page, Verification
from pipeline.tools import MissingServiceError, Tools
from pipeline.verdict.by_model import verdict_by_model
from tests.scripted import (
    UNREADABLE,
    ScriptedPages,
    ScriptedRanker,
    ScriptedSearch,
    calls,
    chat_of,
    run,
    tools_for,
    turns,
)

PROMPT = "Who was Ema Dahl?"
RESPONSE = (
    "Here is what I know:\n\n1. Ema Dahl built the fort in 1820. She was born in Lund and died in Turku."
    " I find her admirable."
)
LEAD, BUILT, BORN, OPINION = (
    "Here is what I know:",
    "1. Ema Dahl built the fort in 1820.",
    "She was born in Lund and died in Turku.",
    "I find her admirable.",
)
DOCUMENT = DocumentText(PROMPT, RESPONSE)
CLAIMS = {
    LEAD: [],
    BUILT: ["Ema Dahl built the fort in 1820."],
    BORN: ["Ema Dahl was born in Lund.", "Ema Dahl died in Turku."],
    OPINION: ["Ema Dahl is admirable."],
}


def said(*sentences: str) -> dict[str, Any]:
    return {"sentences": [{"sentence": each, "claims": CLAIMS[each]} for each in sentences]}


def numbered(request: ChatRequest) -> dict[int, str]:
    """The texts that a request shows with numbers, at its end."""
    lines = re.split(r"\n(?:Sentences|Claims|Texts):\n", request.messages[-1].content)[-1].splitlines()
    return {int(number): text for number, text in (line.split(". ", 1) for line in lines)}


def items(label: Any) -> Any:
    """An answer that says something of each numbered text."""

    def answer(request: ChatRequest) -> dict[str, Any]:
        return {"items": [{"number": number} | label(text) for number, text in numbered(request).items()]}

    return answer


def kind_of(text: str) -> dict[str, str]:
    return {"type": "Not a claim" if "Here is" in text else "opinion" if "admirable" in text else "checkworthy"}


ANSWERS: dict[str, Any] = {
    "decompose": said(LEAD, BUILT, BORN, OPINION),
    "decontextualise": items(lambda text: {"text": text.replace("She", "Ema Dahl").removeprefix("1. ")}),
    "checkworthy_sentences": items(kind_of),
    "checkworthy_claims": items(
        lambda text: {"type": "factual", "worth_checking": "not_public" if "died" in text else "yes"}
    ),
    "importance": items(lambda text: {"importance": "most" if "1820" in text else "less"}),
}


def decomposed(
    answers: Mapping[str, Any], document: DocumentText = DOCUMENT, **parameters: Any
) -> tuple[Decomposition, Tools]:
    """What comes of a document, once it is sure that nothing of it is lost and that calls equal the formula."""
    strategy, tools = strategies.get("factcheck_gpt", parameters), tools_for("factcheck_gpt", answers)
    found = run(strategy.decompose(document, tools))
    assert_formula(strategy, found.counts, tools)
    for sentence in found.sentences:
        assert sentence.start is not None
        assert document.response[sentence.start : sentence.end] == sentence.text
    words = re.findall(r"\w+", " ".join(sentence.text for sentence in found.sentences))
    assert words == re.findall(r"\w+", document.response)
    return found, tools


def assert_formula(strategy: strategies.Strategy, counts: Mapping[str, int], tools: Tools) -> None:
    expected = strategy.formula(counts)
    assert {step: number for step, number in expected.items() if number} == calls(tools)


def test_a_whole_answer_is_split_labelled_and_weighed() -> None:
    found, tools = decomposed(ANSWERS)
    assert [sentence.text for sentence in found.sentences] == [LEAD, BUILT, BORN, OPINION]
    assert [sentence.type for sentence in found.sentences] == [
        SentenceType.NOT_A_CLAIM,
        SentenceType.CHECKWORTHY,
        SentenceType.CHECKWORTHY,
        SentenceType.OPINION,
    ]
    built, born = found.sentences[1:3]
    assert built.decontext == "Ema Dahl built the fort in 1820."
    assert born.decontext == "Ema Dahl was born in Lund and died in Turku."
    assert (built.importance, born.importance) == (Importance.MOST, Importance.LESS)
    assert [claim.text for claim in born.claims] == CLAIMS[BORN]
    lund, turku = born.claims
    assert (lund.type, lund.worth_checking, lund.not_worth_reason) == (ClaimType.FACTUAL, True, None)
    assert (turku.worth_checking, turku.not_worth_reason) == (False, NotWorthReason.NOT_PUBLIC)
    assert (built.claims[0].importance, turku.importance) == (Importance.MOST, Importance.LESS)
    assert not found.sentences[0].claims
    assert not found.sentences[3].claims  # an opinion has none
    assert found.notes == ()
    assert found.counts == {"answers": 1, "sentences": 4, "left": 0, "statements": 3}
    assert calls(tools) == {
        "decompose": 1, "decontextualise": 1, "checkworthy_sentences": 1, "checkworthy_claims": 1, "importance": 1,
    }  # fmt: skip


def test_the_model_sees_the_whole_answer_and_its_first_sentence() -> None:
    _, tools = decomposed(ANSWERS)
    [asked] = chat_of(tools).asked("decompose")
    assert RESPONSE in asked
    assert asked.endswith(f"First sentence: {LEAD}")


def test_where_the_model_stops_early_it_is_asked_sentence_by_sentence() -> None:
    def alone(request: ChatRequest) -> dict[str, Any]:
        return {"claims": CLAIMS[request.messages[-1].content.rsplit("Sentence: ", 1)[1]]}

    found, tools = decomposed(ANSWERS | {"decompose": said(LEAD), "decompose_sentence": alone})
    assert [sentence.text for sentence in found.sentences] == [LEAD, BUILT, BORN, OPINION]
    assert [claim.text for claim in found.sentences[2].claims] == CLAIMS[BORN]
    assert calls(tools)["decompose_sentence"] == found.counts["left"] == 3
    [note] = found.notes
    assert (note.step, "left out 3 sentences" in note.text) == ("decompose", True)


def test_an_unreadable_decomposition_goes_on_sentence_by_sentence_and_then_by_rules() -> None:
    def alone(request: ChatRequest) -> Any:
        last = request.messages[-1].content
        return UNREADABLE if "could not be read" in last or BORN in last.rsplit("Sentence:", 1)[1] else {"claims": []}

    found, tools = decomposed(ANSWERS | {"decompose": UNREADABLE, "decompose_sentence": alone})
    by_rules = decompose(DOCUMENT.prompt, DOCUMENT.response).sentences[2]
    assert [claim.text for claim in found.sentences[2].claims] == [claim.text for claim in by_rules.claims]
    assert not found.sentences[1].claims
    assert [note.step for note in found.notes] == ["decompose", "decompose_sentence"]
    assert "by rules" in found.notes[1].text
    assert calls(tools)["decompose"] == 2
    assert calls(tools)["decompose_sentence"] == 4 + 1


def test_nothing_readable_at_all_is_the_offline_decomposition() -> None:
    found, _ = decomposed(dict.fromkeys([*ANSWERS, "decompose_sentence"], UNREADABLE))
    offline = run(strategies.get("offline").decompose(DOCUMENT, Tools()))
    assert [(each.text, each.type, each.decontext) for each in found.sentences] == [
        (each.text, each.type, each.decontext) for each in offline.sentences
    ]
    assert [each.claims for each in found.sentences] == [each.claims for each in offline.sentences]
    assert {note.step for note in found.notes} == {*ANSWERS, "decompose_sentence"}


def test_sentences_that_the_model_made_up_are_left_out_and_said_so() -> None:
    made_up = {"sentence": "Whales sing at night in the deep sea.", "claims": ["Whales sing."]}
    answer = {"sentences": [*said(LEAD, BUILT, BORN, OPINION)["sentences"], made_up]}
    found, _ = decomposed(ANSWERS | {"decompose": answer})
    assert "Whales" not in str(found.sentences)
    assert "1 of the model's 5 sentences are not in the response" in found.notes[0].text


def test_reworded_and_joined_sentences_find_their_place() -> None:
    sentences = [
        {"sentence": "Here  is what I know:", "claims": []},
        {"sentence": "Ema Dahl built the fort in 1820.", "claims": CLAIMS[BUILT]},
        {"sentence": "Ema Dahl was born in Lund and died in Turku.", "claims": CLAIMS[BORN]},
    ]
    found, tools = decomposed(ANSWERS | {"decompose": {"sentences": sentences}, "decompose_sentence": {"claims": []}})
    assert [sentence.text for sentence in found.sentences] == [LEAD, BUILT, BORN, OPINION]
    assert [claim.text for claim in found.sentences[2].claims] == CLAIMS[BORN]
    joined = f"{BUILT} {BORN}"
    whole = {"sentences": [{"sentence": joined, "claims": CLAIMS[BUILT]}]}
    found, tools = decomposed(ANSWERS | {"decompose": whole, "decompose_sentence": {"claims": []}})
    assert [sentence.text for sentence in found.sentences] == [LEAD, joined, OPINION]
    assert calls(tools)["decompose_sentence"] == 2


def test_what_the_model_does_not_label_the_rules_do() -> None:
    def but_the_third(request: ChatRequest) -> dict[str, Any]:
        return {"items": [{"number": number, "type": "opinion"} for number in numbered(request) if number != 3]}

    found, _ = decomposed(ANSWERS | {"checkworthy_sentences": but_the_third})
    assert [sentence.type for sentence in found.sentences] == ["opinion", "opinion", "checkworthy", "opinion"]
    [note] = found.notes
    assert note.text == "The model skipped 1 of 4 texts: labeled by rules."


def test_labels_are_asked_in_batches() -> None:
    found, tools = decomposed(ANSWERS, at_once=2)
    assert [sentence.type for sentence in found.sentences][1:3] == [SentenceType.CHECKWORTHY] * 2
    made = calls(tools)
    assert (made["decontextualise"], made["checkworthy_sentences"]) == (2, 2)  # four sentences
    assert (made["checkworthy_claims"], made["importance"]) == (2, 4)  # three claims; seven of both


def test_a_second_try_is_counted_apart() -> None:
    again = turns(UNREADABLE, {"items": [{"number": 1, "importance": "Most"}]})
    found, tools = decomposed(ANSWERS | {"importance": again})
    assert found.counts["importance_again"] == 1
    assert calls(tools)["importance"] == 2
    assert found.sentences[0].importance == Importance.MOST


@pytest.mark.parametrize(("response", "sentences"), [("", ""), (" \n ", ""), ("***", ""), ("!", "!")])
def test_an_answer_without_words_is_handed_back(response: str, sentences: str) -> None:
    """A rule of Markdown is no sentence."""
    found, _ = decomposed(
        ANSWERS
        | {"decompose": {"sentences": [{"sentence": response, "claims": []}]}, "decompose_sentence": {"claims": []}},
        DocumentText("", response),
    )
    assert "".join(sentence.text for sentence in found.sentences) == sentences


def test_errors_of_the_model_end_the_document() -> None:
    for error in (ServiceError("The model is down."), BudgetSpentError("Enough.")):
        with pytest.raises(type(error)):
            decomposed(ANSWERS | {"importance": error})
    with pytest.raises(MissingServiceError, match="Services"):
        run(FactcheckGpt().decompose(DOCUMENT, tools_for("factcheck_gpt")))


# Verify

CLAIM = ClaimText("Ema Dahl built the fort in 1820.", BUILT)
FORT, DAHL, GONE = "https://example.org/fort", "https://example.org/dahl", "https://example.org/gone"
HITS = {
    "Who built the fort?": [
        SearchResult(FORT, "The fort", "The fort was built by Dahl."),
        SearchResult(GONE, "Lost", "Ema Dahl drew the plans of the fort.", published=dt.date(2001, 2, 3)),
    ],
    "When was it built?": [
        SearchResult(DAHL, "Dahl", "Dahl lived in Lund."),
        SearchResult(FORT, "The fort", "The fort was built by Dahl."),
    ],
}
TEXTS = {
    FORT: "Ema Dahl built the fort. It was finished in 1822.",
    DAHL: "Dahl lived in Lund. When the fort was built she was forty.",
    GONE: None,
}
VERIFY: dict[str, Any] = {
    "queries": {"queries": ["Who built the fort?", "The fort was built by who?", "When was it built?"]},
    "stance": lambda request: {
        "reason": "It says so.",
        "stance": "refute" if "1822" in request.messages[-1].content else "partially support",
    },
    "verdict": {
        "reasoning": "Passage 1 says 1822.",
        "factuality": "False",
        "correction": "Ema Dahl built the fort in 1822.",
    },
}


def verified(
    answers: Mapping[str, Any] = VERIFY, document: DocumentText = DOCUMENT, parameters: Any = None, **services: Any
) -> tuple[Verification, Tools]:
    services = {"search": ScriptedSearch(HITS), "pages": ScriptedPages(TEXTS)} | services
    strategy, tools = strategies.get("factcheck_gpt", parameters), tools_for("factcheck_gpt", answers, **services)
    found = run(strategy.verify(CLAIM, document, tools))
    assert_formula(strategy, found.counts, tools)
    return found, tools


def test_a_claim_is_looked_up_judged_and_corrected() -> None:
    found, tools = verified()
    # The queries take turns; a page that two of them lead to is read and quoted once, one that is gone by its snippet.
    assert [(each.url, each.query) for each in found.evidence] == [
        (FORT, "Who built the fort?"),
        (DAHL, "When was it built?"),
        (GONE, "Who built the fort?"),
    ]
    fort, dahl, gone = found.evidence
    assert (fort.passage, fort.stance, fort.stance_reason) == (TEXTS[FORT], StanceLabel.REFUTE, "It says so.")
    assert fort.snapshot is not None
    assert fort.snapshot.text == TEXTS[FORT]
    assert len(fort.content_hash) == 64
    assert dahl.stance == StanceLabel.PARTIALLY_SUPPORT
    assert (gone.passage, gone.snapshot, gone.published) == (HITS[fort.query][1].snippet, None, dt.date(2001, 2, 3))
    assert found.verdict is not None
    assert (found.verdict.label, found.verdict.factuality) == ("False", Factuality.FALSE)
    assert found.verdict.correction == "Ema Dahl built the fort in 1822."
    assert found.verdict.reason == "Passage 1 says 1822."
    assert found.counts == {"claims": 1, "queries": 2, "pages": 3, "evidence": 3, "judged": 1}
    assert calls(tools) == {"queries": 2, "search": 2, "fetch": 3, "stance": 3, "verdict": 1}
    [note] = found.notes
    assert note.text == "1 of 3 pages could not be read: quoted by snippet."
    [shown] = chat_of(tools).asked("verdict")
    assert f"1. (The fort) {TEXTS[FORT]}" in shown


def test_a_ranker_is_asked_once_a_query_and_its_failure_is_noted() -> None:
    found, tools = verified(ranker=ScriptedRanker(lambda query, text: float("1822" in text)))
    assert found.counts["ranked"] == calls(tools)["rank"] == 2
    assert found.evidence[0].url == FORT
    found, _ = verified(ranker=ScriptedRanker(ServiceError("No embeddings today.")))
    assert len(found.evidence) == 3
    assert sum("words alone" in note.text for note in found.notes) == 2


def test_without_pages_the_snippets_are_the_passages() -> None:
    found, tools = verified(pages=None)
    assert [each.passage for each in found.evidence] == [
        "The fort was built by Dahl.", "Ema Dahl drew the plans of the fort.", "Dahl lived in Lund.",
    ]  # fmt: skip
    assert "fetch" not in calls(tools)
    assert found.notes == ()


def test_without_a_search_service_the_corpus_is_searched() -> None:
    page = Page(url=FORT, title="The fort", text=str(TEXTS[FORT]))
    found, tools = verified(search=None, index=PassageIndex.build([page]))
    assert [each.passage for each in found.evidence] == [TEXTS[FORT]]
    assert "search" not in calls(tools)
    assert "queries" not in found.counts
    with pytest.raises(MissingServiceError, match="Services"):
        verified(search=None)


def test_nothing_found_is_not_enough_evidence_without_a_call() -> None:
    found, tools = verified(search=ScriptedSearch([]))
    assert found.evidence == ()
    assert found.verdict is not None
    assert found.verdict.factuality == Factuality.NOT_ENOUGH_EVIDENCE
    assert calls(tools) == {"queries": 2, "search": 2}


def test_nothing_of_the_day_or_later_is_used() -> None:
    late = dt.date(2001, 2, 3)
    found, tools = verified(document=DocumentText(PROMPT, RESPONSE, reference_date=late))
    assert GONE not in [each.url for each in found.evidence]
    search = tools.search
    assert isinstance(search, ScriptedSearch)
    assert {request.before for request in search.requests} == {late}


def test_one_query_of_many_that_fails_is_a_note_and_all_are_an_error() -> None:
    def half(request: Any) -> Any:
        return ServiceError("Busy.") if request.query.startswith("Who") else HITS[request.query]

    found, _ = verified(search=ScriptedSearch(half))
    assert [each.url for each in found.evidence] == [DAHL, FORT]
    assert [note.text for note in found.notes] == ["The search for “Who built the fort?” failed: Busy."]
    with pytest.raises(ServiceError, match=r"Busy\."):
        verified(search=ScriptedSearch(ServiceError("Busy.")))
    with pytest.raises(BudgetSpentError):
        verified(pages=ScriptedPages({FORT: BudgetSpentError("Enough.")}))
    found, _ = verified(pages=ScriptedPages(TEXTS | {DAHL: ServiceError("Refused.")}))
    assert any(note.text == f"{DAHL} could not be read: Refused." for note in found.notes)
    assert "Dahl lived in Lund." in [each.passage for each in found.evidence]


def test_unreadable_answers_leave_stances_open_and_the_verdict_to_the_rule() -> None:
    found, _ = verified(
        VERIFY | {"queries": UNREADABLE, "verdict": UNREADABLE}, search=ScriptedSearch(HITS["When was it built?"])
    )
    assert {each.query for each in found.evidence} == {CLAIM.text}
    assert found.verdict is not None
    assert found.verdict.factuality == Factuality.NOT_ENOUGH_EVIDENCE  # one refutes, one supports a part
    assert "1 refute it" in found.verdict.reason
    assert [note.step for note in found.notes] == ["queries", "queries", "verdict"]
    found, _ = verified(VERIFY | {"stance": UNREADABLE})
    assert [each.stance for each in found.evidence] == [None] * 3
    assert found.verdict is not None
    assert found.verdict.factuality == Factuality.FALSE


def test_a_correction_belongs_to_a_false_claim_and_changes_it() -> None:
    for factuality, correction in (("true", "Another."), ("false", CLAIM.text), ("false", "  "), ("false", None)):
        answer = {"reasoning": "", "factuality": factuality, "correction": correction}
        found, _ = verified(VERIFY | {"verdict": answer})
        assert found.verdict is not None
        assert found.verdict.correction is None


def test_parameters_bound_what_is_looked_at() -> None:
    found, tools = verified(parameters={"queries": 1, "pages": 1, "passages": 1})
    assert calls(tools) == {"queries": 2, "search": 1, "fetch": 1, "stance": 1, "verdict": 1}
    assert len(found.evidence) == 1
    with pytest.raises(ValueError, match="query_similarity"):
        strategies.get("factcheck_gpt", {"query_similarity": 1.5})


# Revise


def revised(claims: list[CheckedClaim], answers: Mapping[str, Any]) -> tuple[Any, Tools]:
    strategy, tools = strategies.get("factcheck_gpt"), tools_for("factcheck_gpt", answers)
    found = run(strategy.revise(DOCUMENT, claims, tools))
    assert found is not None
    assert_formula(strategy, found.counts, tools)
    return found, tools


FALSE = CheckedClaim(CLAIM.text, Factuality.FALSE, "Ema Dahl built the fort in 1822.")
TRUE = CheckedClaim("Ema Dahl was born in Lund.", Factuality.TRUE, "Ema Dahl was born in Lund.")
GONE_CLAIM = CheckedClaim("Ema Dahl died in Turku.", Factuality.FALSE, "")
OPEN = CheckedClaim("Ema Dahl liked cats.", Factuality.NOT_ENOUGH_EVIDENCE, "Ema Dahl liked cats.")


def test_the_answer_is_revised_with_and_without_its_question() -> None:
    found, tools = revised(
        [FALSE, TRUE, GONE_CLAIM, OPEN],
        {"revise_with_question": {"text": "With."}, "revise_without_question": {"text": "Without\nit."}},
    )
    assert (found.with_prompt, found.without_prompt) == ("With.", "Without\nit.")
    [asked] = chat_of(tools).asked("revise_with_question")
    assert PROMPT in asked
    assert f"True statements:\n- {FALSE.revised}\n- {TRUE.text}\n\nTo be taken out:\n- {GONE_CLAIM.text}" in asked
    assert OPEN.text not in asked  # nobody knows whether it is true
    [asked] = chat_of(tools).asked("revise_without_question")
    assert PROMPT not in asked


def test_an_answer_in_which_nothing_is_wrong_stays_as_it_is() -> None:
    found, tools = revised([TRUE, OPEN], {})
    assert (found.with_prompt, found.without_prompt) == (RESPONSE, RESPONSE)
    assert calls(tools) == {}


def test_an_unreadable_revision_is_the_answer_as_it_was() -> None:
    found, _ = revised(
        [FALSE, TRUE], {"revise_with_question": UNREADABLE, "revise_without_question": {"text": "Without."}}
    )
    assert (found.with_prompt, found.without_prompt) == (RESPONSE, "Without.")
    assert [note.step for note in found.notes] == ["revise_with_question"]


# The catalogue


@pytest.mark.parametrize("name", FactcheckGpt.prompts)
def test_prompts_are_whole(name: str) -> None:
    prompt = shipped(name)
    assert prompt.head["version"].isdecimal()
    assert prompt.head["purpose"].endswith(".")
    assert check_wording(name, prompt.text).turns()[0][0] == "system"


def test_the_typical_document_has_a_price() -> None:
    steps = [
        {step for step, calls in FactcheckGpt().formula(typical).items() if calls}
        for typical in (FactcheckGpt.typical[stage] for stage in FactcheckGpt.stages)
    ]
    assert steps[1] >= {"search", "fetch", "rank"}
    assert set().union(*steps) == set(FactcheckGpt().formula({})), "each step belongs to a stage"
    assert sum(map(len, steps)) == len(set().union(*steps)), "and to one alone"


# --- answers that are cut, and long responses -----------------------------------------------------


def as_cut(*sentences: str) -> ChatAnswer:
    """An answer that ended at its limit in the middle of the sentence after these."""
    return ChatAnswer(json.dumps(said(*sentences)).removesuffix("]}") + ', {"sentence": "She was b', cut=True)


def test_a_cut_answer_is_kept_and_continued_behind_its_last_sentence() -> None:
    found, tools = decomposed(ANSWERS | {"decompose": turns(as_cut(LEAD, BUILT), said(BORN, OPINION))})
    assert [sentence.text for sentence in found.sentences] == [LEAD, BUILT, BORN, OPINION]
    first, second = chat_of(tools).asked("decompose")
    assert LEAD in first
    assert second.endswith(f"First sentence: {BORN}")
    text = second.rpartition("Answer:\n")[2]
    assert LEAD not in text, "what was said already is not sent again"
    assert "Ema Dahl built the fort in 1820." in second.rpartition("Answer:\n")[0], "but for what leads up to it"
    assert found.counts["left"] == 0


def test_labels_of_a_cut_answer_are_kept_and_the_others_asked_for() -> None:
    whole = items(kind_of)

    def first(request: ChatRequest) -> ChatAnswer:
        text = json.dumps({"items": whole(request)["items"][:3]}).removesuffix("]}")
        return ChatAnswer(text + ', {"number": 4, "ty', cut=True)

    found, tools = decomposed(ANSWERS | {"checkworthy_sentences": turns(first, whole)})
    assert found.sentences[3].type == SentenceType.OPINION
    assert numbered(chat_of(tools).requests[[r.step for r in chat_of(tools).requests].index("checkworthy_sentences")])
    again = [request for request in chat_of(tools).requests if request.step == "checkworthy_sentences"][1]
    assert list(numbered(again)) == [4]
    assert found.notes == ()


def test_a_long_response_is_read_in_parts_and_no_call_carries_it_whole() -> None:
    sentences = [f"Town {number} has a mill that was built in {1000 + number}." for number in range(300)]
    response = " ".join(sentences)

    def say(request: ChatRequest) -> dict[str, Any]:
        text = request.messages[-1].content.partition("Answer:\n")[2].partition("\n\nFirst sentence:")[0]
        return {"sentences": [{"sentence": each, "claims": [each]} for each in re.findall(r"Town .*?\.", text)]}

    answers = ANSWERS | {"decompose": say}
    answers["importance"] = items(lambda text: {"importance": "less"})
    found, tools = decomposed(answers, DocumentText(PROMPT, response))
    assert [sentence.text for sentence in found.sentences] == sentences
    assert all(len(sentence.claims) == 1 for sentence in found.sentences)
    assert found.counts["answers"] == -(-len(response) // 6000) == 3
    for request in chat_of(tools).requests:
        assert len(request.messages[-1].content) < 6000 + 2500, request.step


def test_a_verdict_names_the_error() -> None:
    said = {
        "reasoning": "Passage 1 says 1821.",
        "factuality": "false",
        "error": "the year",
        "correction": "Ema Dahl built the fort in 1821.",
    }
    tools = tools_for("factcheck_gpt", {"verdict": said})
    verdict = run(verdict_by_model("Ema Dahl built the fort in 1820.", [], tools, StepNotes()))
    assert verdict is not None
    assert verdict.reason == "Passage 1 says 1821. Error: the year"


def test_queries_are_the_union_of_two_rounds_with_seeds_of_their_own() -> None:
    rounds = turns({"queries": ["Who built it?", "When was it built?"]}, {"queries": ["When was it built?", "Why?"]})
    tools = tools_for("factcheck_gpt", {"queries": rounds})
    found = run(queries_by_model(ClaimText("A claim."), DOCUMENT, QueryReach(2, 0.7, 5, 0.6), tools, StepNotes()))
    assert found == ["Who built it?", "When was it built?", "Why?"]
    first, second = chat_of(tools).requests
    assert first.seed != second.seed
    assert (first.temperature, second.temperature) == (0.7, 0.7)
    assert first.messages == second.messages


def test_long_sentences_are_dropped_or_cut() -> None:
    text = f"It was built in 1820. {'The list of it is very long and so on ' * 12}. It was closed in 1902."
    assert passages(text, drops_long=True) == ["It was built in 1820. It was closed in 1902."]
    [cut] = passages(text)
    assert len(cut) > 250


@pytest.mark.parametrize(("window", "stride", "kept"), [(5, 2, [0, 3, 6]), (5, 5, [0, 1, 2]), (4, 2, [0, 2, 4])])
def test_passages_that_share_a_sentence_are_not_both_taken(window: int, stride: int, kept: list[int]) -> None:
    reach = SearchReach(window=window, stride=stride)
    taken: list[int] = []
    for position in range(kept[-1] + 1):
        if not _overlaps(position, taken, reach):
            taken.append(position)
    assert taken == kept
