"""VeriScore against scripted services: its windows, what becomes of its claims, its labels, and what it costs."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from annotator.core.vocabulary import ClaimType, Factuality, SentenceType
from pipeline import strategies
from pipeline.claims.abstention import declines
from pipeline.clients.base import ChatRequest, SearchResult, ServiceError
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.sentences.boundaries import split_sentences
from pipeline.sentences.windows import windows
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, Page, Verification
from pipeline.tools import MissingServiceError, Tools
from tests.released import RESPONSE
from tests.scripted import UNREADABLE, ScriptedSearch, calls, run, tools_for, turns

QUESTION = "What happened on Pell Ridge?"
ANSWER = "Pell Ridge has an observatory. It opened in 1938. It is a lovely place! I hope this helps."
CLAIMS = {
    "Pell Ridge has an observatory.": ["Pell Ridge has an observatory."],
    "It opened in 1938.": ["The observatory on Pell Ridge opened in 1938.", "Pell Ridge has an observatory."],
    "It is a lovely place!": [],
    "I hope this helps.": [],
}
HITS = [
    SearchResult("https://a.example/", "Archive", "Opened  12 May 1938.\n", site="a.example"),
    SearchResult("https://b.example/", "A title alone", ""),
    SearchResult("https://c.example/", "", " "),
    SearchResult("https://d.example/", "Hikes", "The old observatory."),
]
MARKED = re.compile(r"<SOS>(.*)<EOS>", re.DOTALL)


def marked(request: ChatRequest) -> str:
    """The sentence in the marks of the question; an answer that is asked for again has further turns behind it."""
    return [match[1] for message in request.messages if (match := MARKED.search(message.content))][-1]


def by_sentence(claims: Mapping[str, Any]) -> Any:
    """A model that answers by the sentence in the marks."""

    def answer(request: ChatRequest) -> Any:
        said = claims[marked(request)]
        return {"claims": said} if isinstance(said, list) else said

    return answer


def decompose(
    document: DocumentText, claims: Mapping[str, Any], **values: object
) -> tuple[Decomposition, dict[str, int], Tools]:
    """A response decomposed; what was called must be what the formula says."""
    tools = tools_for("veriscore", {"extract": by_sentence(claims)})
    strategy = strategies.get("veriscore", values)
    result = run(strategy.decompose(document, tools))
    assert {step: number for step, number in strategy.formula(result.counts).items() if number} == calls(tools)
    return result, calls(tools), tools


def verify(
    answer: Any,
    hits: Any = HITS,
    *,
    claim: str = "Pell Ridge has an observatory.",
    document: DocumentText | None = None,
    services: Mapping[str, Any] | None = None,
    **values: object,
) -> tuple[Verification, Tools]:
    tools = tools_for("veriscore", {"verify": answer}, **(services or {"search": ScriptedSearch(hits)}))
    strategy = strategies.get("veriscore", values)
    result = run(strategy.verify(ClaimText(claim), document or DocumentText(QUESTION, ANSWER), tools))
    assert {step: number for step, number in strategy.formula(result.counts).items() if number} == calls(tools)
    return result, tools


# windows


def in_windows(text: str, **options: Any) -> list[str]:
    return windows(text, split_sentences(text), **options)


def test_a_window_has_three_sentences_before_and_one_after_as_far_as_there_are_any() -> None:
    found = in_windows("Ann ran. Bob sat. Cat ate. Dan won. Eve hid. Fay got up.")
    assert found == [
        "<SOS>Ann ran.<EOS> Bob sat.",
        "Ann ran. <SOS>Bob sat.<EOS> Cat ate.",
        "Ann ran. Bob sat. <SOS>Cat ate.<EOS> Dan won.",
        "Ann ran. Bob sat. Cat ate. <SOS>Dan won.<EOS> Eve hid.",
        "Bob sat. Cat ate. Dan won. <SOS>Eve hid.<EOS> Fay got up.",
        "Cat ate. Dan won. Eve hid. <SOS>Fay got up.<EOS>",
    ]


def test_windows_at_the_edges() -> None:
    assert in_windows("") == []
    assert in_windows("Ann ran.", lead=True) == ["<SOS>Ann ran.<EOS>"]
    assert in_windows("Ann ran. Bob sat.", before=0, after=0) == ["<SOS>Ann ran.<EOS>", "<SOS>Bob sat.<EOS>"]


def test_a_long_paragraph_has_its_first_sentence_before_every_window_that_lacks_it() -> None:
    long = "Ann ran. Bob sat. Cat ate. Dan won. Eve hid. Fay got up."
    found = in_windows(f"Nobody came.\n\n{long}\n\nGus left.", lead=True)
    # The window of the fifth sentence of the paragraph is the first that its first sentence is not in.
    assert found[4].startswith("Ann ran. Bob sat. Cat ate. <SOS>Dan won.")
    assert found[5] == "Ann ran. Bob sat. Cat ate. Dan won. <SOS>Eve hid.<EOS> Fay got up."
    assert found[6] == "Ann ran. Cat ate. Dan won. Eve hid. <SOS>Fay got up.<EOS> Gus left."
    assert found[7] == "Dan won. Eve hid. Fay got up. <SOS>Gus left.<EOS>"  # another paragraph, a short one


def test_a_paragraph_of_five_sentences_is_not_long() -> None:
    found = in_windows("Ann ran. Bob sat. Cat ate. Dan won. Eve hid.", lead=True, before=1)
    assert found[4] == "Dan won. <SOS>Eve hid.<EOS>"


def test_every_sentence_of_long_released_answers_is_marked_once(data_dir: Path) -> None:
    path = data_dir / "fastfact-bench.responses.sample.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines()[:40]:
        response = json.loads(line)["response"]
        spans = split_sentences(response)
        found = windows(response, spans, lead=True)
        assert [MARKED.findall(window) for window in found] == [[span.text] for span in spans]


# decompose


def test_each_sentence_is_asked_for_once_with_the_question() -> None:
    result, made, tools = decompose(DocumentText(QUESTION, ANSWER), CLAIMS)
    assert made == {"extract": 4}
    assert result.counts == {"sentences": 4}
    first = tools.chat.asked("extract")[0]  # type: ignore[union-attr]
    assert first.startswith(f"Question: {QUESTION}")
    assert [sentence.text for sentence in result.sentences] == list(CLAIMS)
    assert all(ANSWER[each.start : each.end] == each.text for each in result.sentences)


def test_verifiable_claims_are_factual_and_the_rest_is_what_the_rules_say() -> None:
    result, _, _ = decompose(DocumentText(QUESTION, ANSWER), CLAIMS)
    first, second, third, last = result.sentences
    assert [claim.text for claim in first.claims] == ["Pell Ridge has an observatory."]
    # What an earlier sentence has is not claimed twice.
    assert [claim.text for claim in second.claims] == ["The observatory on Pell Ridge opened in 1938."]
    assert {(claim.type, claim.worth_checking) for claim in first.claims + second.claims} == {(ClaimType.FACTUAL, True)}
    assert all(claim.prejudgement is None for claim in first.claims + second.claims)
    assert (first.type, second.type) == (SentenceType.CHECKWORTHY, SentenceType.CHECKWORTHY)
    assert last.type == SentenceType.OTHER  # the rules would check it, the model would not
    assert third.claims == last.claims == ()


def test_a_sentence_that_the_rules_would_check_and_the_model_would_not_is_other() -> None:
    response = "Ada Lovelace wrote notes on an engine in 1842."
    result, _, _ = decompose(DocumentText(QUESTION, response), {response: []})
    assert result.sentences[0].type == SentenceType.OTHER


def test_a_sentence_is_never_left_empty_because_another_says_the_same() -> None:
    response = "Coal burns. Coal burns!"
    result, _, _ = decompose(
        DocumentText(QUESTION, response), {"Coal burns.": ["Coal burns."], "Coal burns!": ["Coal burns.", " "]}
    )
    assert [[claim.text for claim in each.claims] for each in result.sentences] == [["Coal burns."], ["Coal burns."]]


def test_without_a_question_the_text_stands_alone() -> None:
    text = " ".join(f"Town {number} has a mill." for number in range(7))
    claims: dict[str, Any] = {f"Town {number} has a mill.": [] for number in range(7)}
    for document, values in ((DocumentText("  ", text), {}), (DocumentText(QUESTION, text), {"question": False})):
        _, _, tools = decompose(document, claims, **values)
        asked = tools.chat.asked("extract")  # type: ignore[union-attr]
        assert all(turn.startswith("Passage:") and QUESTION not in turn for turn in asked)
        assert asked[6].startswith("Passage: Town 0 has a mill. Town 3 has a mill.")


def test_an_unreadable_answer_leaves_the_sentence_to_the_rules_and_says_so() -> None:
    document = DocumentText(QUESTION, RESPONSE)
    spans = [span.text for span in split_sentences(RESPONSE)]
    result, made, _ = decompose(document, {spans[0]: UNREADABLE, spans[1]: ["Ada built it."], spans[2]: []})
    assert made == {"extract": 4}
    assert result.counts == {"sentences": 3, "extract_again": 1}
    offline = run(strategies.get("offline").decompose(document, Tools()))
    assert result.sentences[0] == offline.sentences[0]
    (note,) = result.notes
    assert note.step == "extract"
    assert "by rules" in note.text


def test_an_empty_response_asks_nobody() -> None:
    result, made, _ = decompose(DocumentText(QUESTION, " \n"), {})
    assert (result.sentences, made) == ((), {})


def test_a_released_answer_with_its_released_claims(data_dir: Path) -> None:
    row = json.loads((data_dir / "veriscore.claims.sample.jsonl").read_text(encoding="utf-8").splitlines()[0])
    response, released = row["response"], row["all_claim_lst"]
    spans = split_sentences(response)

    # Our sentences are not those of the release: each of its claims is said where its last words stand.
    def where(claim: str) -> int:
        return max(range(len(spans)), key=lambda at: len(set(claim.split()) & set(spans[at].text.split())))

    said: dict[str, Any] = {span.text: [] for span in spans}
    for claim in released:
        said[spans[where(claim)].text].append(claim)
    result, made, _ = decompose(DocumentText(row["question"], response), said)
    assert made == {"extract": len(spans)}
    kept = [claim.text for sentence in result.sentences for claim in sentence.claims]
    assert sorted(kept) == sorted({" ".join(claim.split()) for claim in released})
    assert len(kept) > 20
    assert all((sentence.type == SentenceType.CHECKWORTHY) == bool(sentence.claims) for sentence in result.sentences)


# verify


def test_the_claim_is_the_query_and_its_results_are_the_evidence() -> None:
    result, tools = verify({"reason": "By result 1.", "label": "supported"})
    (request,) = tools.search.requests  # type: ignore[union-attr]
    assert (request.query, request.count) == ("Pell Ridge has an observatory.", 10)
    # A hit without a snippet is judged by its title, one without either is nothing.
    assert [each.passage for each in result.evidence] == [
        "Opened 12 May 1938.",
        "A title alone",
        "The old observatory.",
    ]
    assert all(each.stance is None and each.query == request.query for each in result.evidence)
    (asked,) = tools.chat.asked("verify")  # type: ignore[union-attr]
    assert "Result 1\nTitle: Archive\nText: Opened 12 May 1938.\nLink: https://a.example/" in asked
    assert result.verdict is not None
    assert (result.verdict.label, result.verdict.factuality) == ("supported", Factuality.TRUE)
    assert result.verdict.reason == "By result 1."
    assert result.notes == ()


@pytest.mark.parametrize(
    ("labels", "said", "label", "factuality"),
    [
        ("two", "Supported", "supported", Factuality.TRUE),
        ("two", "unsupported", "unsupported", None),  # contradicted or inconclusive, it does not say which
        ("three", "###Contradicted###", "contradicted", Factuality.FALSE),
        ("three", "inconclusive.", "inconclusive", Factuality.NOT_ENOUGH_EVIDENCE),
        ("three", "supported", "supported", Factuality.TRUE),
    ],
)
def test_labels(labels: str, said: str, label: str, factuality: Factuality | None) -> None:
    result, _ = verify({"reason": "", "label": said}, labels=labels)
    assert result.verdict is not None
    assert (result.verdict.label, result.verdict.factuality) == (label, factuality)


def test_a_label_of_the_other_set_is_asked_for_again() -> None:
    result, tools = verify(turns({"label": "contradicted"}, {"label": "unsupported"}))
    assert calls(tools)["verify"] == 2
    assert result.counts["verify_again"] == 1
    assert result.verdict is not None
    assert result.verdict.label == "unsupported"


def test_without_a_result_the_verdict_follows_from_the_definitions() -> None:
    for labels, label, factuality in (
        ("two", "unsupported", None),
        ("three", "inconclusive", Factuality.NOT_ENOUGH_EVIDENCE),
    ):
        result, tools = verify(UNREADABLE, [], labels=labels)
        assert calls(tools) == {"search": 1}
        assert result.verdict is not None
        assert (result.verdict.label, result.verdict.factuality) == (label, factuality)


def test_an_unreadable_verdict_leaves_the_evidence_and_says_so() -> None:
    result, _ = verify(UNREADABLE)
    assert result.verdict is None
    assert len(result.evidence) == 3
    (note,) = result.notes
    assert note.step == "verify"


def test_nothing_from_the_reference_date_on_is_used() -> None:
    day = dt.date(2020, 5, 1)
    hits = [
        SearchResult("https://a.example/", "Late", "late", published=day),
        SearchResult("https://b.example/", "Early", "early", published=dt.date(2020, 4, 30)),
        SearchResult("https://c.example/", "Undated", "undated"),
    ]
    result, tools = verify({"label": "supported"}, hits, document=DocumentText(QUESTION, ANSWER, reference_date=day))
    assert [each.passage for each in result.evidence] == ["early", "undated"]
    assert tools.search.requests[0].before == day  # type: ignore[union-attr]


def test_a_corpus_alone_will_do_and_is_no_call() -> None:
    index = PassageIndex.build([Page("https://c.example/", "Corpus", "Pell Ridge has an observatory on its top.")])
    result, tools = verify({"label": "supported"}, services={"index": index})
    assert calls(tools) == {"verify": 1}
    assert [each.title for each in result.evidence] == ["Corpus"]


def test_failing_and_missing_services_are_not_hidden() -> None:
    with pytest.raises(ServiceError, match="no answer"):
        verify({"label": "supported"}, ServiceError("no answer"))
    with pytest.raises(ServiceError, match="too busy"):
        verify(ServiceError("too busy"))
    with pytest.raises(MissingServiceError):
        run(strategies.get("veriscore").verify(ClaimText("A."), DocumentText("", ""), tools_for("veriscore", {})))


def test_n_and_m_of_a_whole_document() -> None:
    strategy = strategies.get("veriscore")
    assert strategy.formula({"sentences": 40, "claims": 23}) == {"extract": 40, "search": 23, "verify": 23}


def test_parameters_have_bounds() -> None:
    for values in ({"before": -1}, {"results": 21}, {"labels": "four"}, {"window": 3}):
        with pytest.raises(ValueError, match="veriscore"):
            strategies.get("veriscore", values)


# what is read


def test_the_sentence_is_repeated_behind_its_window() -> None:
    _, _, tools = decompose(DocumentText(QUESTION, ANSWER), CLAIMS)
    for asked, sentence in zip(tools.chat.asked("extract"), CLAIMS, strict=True):  # type: ignore[union-attr]
        assert asked.endswith(f"Sentence: {sentence}")


@pytest.mark.parametrize(
    "response",
    [
        "I'm sorry, but I can't fulfill that request.",
        "Sorry, I can’t do that.",
        "I apologize, but I am not able to help with this. Please ask something else.",
        "I cannot answer that.",
        "",
    ],
)
def test_a_response_that_declines_is_not_asked_about(response: str) -> None:
    result, made, _ = decompose(DocumentText(QUESTION, response), {})
    assert made == {}
    assert not [claim for sentence in result.sentences for claim in sentence.claims]
    assert ["declines" in note.text for note in result.notes] == [True]


@pytest.mark.parametrize(
    "response",
    [
        "He was sorry that he could not come. The ferry had left.",
        "The court ruled that firms cannot fulfil such requests.",
        "Sorry for the delay! Pell Ridge opened in 1938.",
        "I'm sorry, I cannot name the day. " + "The observatory on Pell Ridge was opened in 1938 by the county. " * 6,
    ],
)
def test_an_apology_within_an_answer_is_no_refusal(response: str) -> None:
    assert not declines(response)
