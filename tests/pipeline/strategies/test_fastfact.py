"""FastFact against scripted services: chunks, labels and how sure they are, what is settled, pages, what it costs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotator.core.vocabulary import Factuality, Importance, SentenceType
from pipeline import strategies
from pipeline.claims.decompose import decompose as by_rules
from pipeline.claims.places import places_of
from pipeline.clients.base import ChatAnswer, ChatRequest, SearchResult, ServiceError
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.retrieval.page_chunks import page_chunks
from pipeline.sentences.boundaries import split_sentences
from pipeline.sentences.chunks import chunks, number_of_chunks
from pipeline.suggestions import ClaimText, Decomposition, DocumentText, Page, Prejudgement, Verification
from pipeline.tools import Tools
from pipeline.verdict.label_confidence import written_labels
from tests.scripted import UNREADABLE, ScriptedPages, ScriptedSearch, calls, page, run, tools_for, turns, with_tokens

QUESTION = "What happened on Pell Ridge?"
ANSWER = "Pell Ridge has an observatory. It opened in 1938. Water boils at 100 degrees. I hope this helps."
JUDGED = [
    ("Pell Ridge has an observatory.", "supported", 0.999),
    ("The observatory on Pell Ridge opened in 1938.", "unsure", 0.999),
    ("Water boils at 100 degrees.", "irrelevant", 0.9),
]
CLAIM = "The observatory on Pell Ridge opened in 1938."
HITS = [SearchResult(f"https://{name}.example/", f"Title {name}", f"Snippet of {name}.") for name in "abcde"]
TEXTS = {
    "https://a.example/": "The observatory on Pell Ridge was begun in 1934. It opened in 1938.",
    "https://b.example/": "Hikers like Pell Ridge.",
    "https://c.example/": None,
    "https://d.example/": "Nothing of it.",
    "https://e.example/": ServiceError("It did not answer."),
}


def answer(judged: Sequence[tuple[str, str, float]]) -> ChatAnswer:
    """An answer with log-probabilities: the label's tokens come to the third item, everything else is certain."""
    pieces: list[tuple[str, float]] = [('{"claims": [', 1.0)]
    for number, (claim, label, probability) in enumerate(judged):
        pieces += [(", " if number else "", 1.0), (f'{{"claim": {json.dumps(claim)}, "label": "', 1.0)]
        pieces += [(label[:4], probability), (label[4:], 1.0), ('"}', 1.0)]
    return with_tokens([*[piece for piece in pieces if piece[0]], ("]}", 1.0)])


def decompose(
    said: Any, document: DocumentText | None = None, **values: object
) -> tuple[Decomposition, dict[str, int], Tools]:
    """A response decomposed; what was called must be what the formula says."""
    tools = tools_for("fastfact", {"extract": said})
    strategy = strategies.get("fastfact", values)
    result = run(strategy.decompose(document or DocumentText(QUESTION, ANSWER), tools))
    assert {step: number for step, number in strategy.formula(result.counts).items() if number} == calls(tools)
    return result, calls(tools), tools


def verify(
    said: Any,
    *,
    prejudgement: Prejudgement | None = None,
    document: DocumentText | None = None,
    services: Mapping[str, Any] | None = None,
    **values: object,
) -> tuple[Verification, Tools]:
    given = {"search": ScriptedSearch(HITS), "pages": ScriptedPages(TEXTS)} if services is None else services
    tools = tools_for("fastfact", {"verify": said}, **given)
    strategy = strategies.get("fastfact", values)
    claim = ClaimText(CLAIM, prejudgement=prejudgement)
    result = run(strategy.verify(claim, document or DocumentText(QUESTION, ANSWER), tools))
    assert {step: number for step, number in strategy.formula(result.counts).items() if number} == calls(tools)
    return result, tools


def prejudgements(result: Decomposition) -> list[Prejudgement]:
    return [each.prejudgement for sentence in result.sentences for each in sentence.claims if each.prejudgement]


# chunks of the response


@pytest.mark.parametrize(
    ("sentences", "stride", "sizes"), [(5, 2, [2, 2, 1]), (5, 1, [1] * 5), (5, 5, [5]), (5, 9, [5])]
)
def test_chunks_cover_all_sentences_once(sentences: int, stride: int, sizes: list[int]) -> None:
    spans = split_sentences(" ".join(f"Town {number} has a mill." for number in range(sentences)))
    cut = chunks(spans, stride)
    assert [len(chunk) for chunk in cut] == sizes
    assert [span for chunk in cut for span in chunk] == spans
    assert number_of_chunks(sentences, stride) == len(sizes)


def test_stride_0_is_the_whole_response() -> None:
    spans = split_sentences("Ann ran. Bob sat.")
    assert chunks(spans, 0) == [spans]
    assert chunks([], 0) == chunks([], 3) == []
    assert (number_of_chunks(2, 0), number_of_chunks(0, 0), number_of_chunks(0, 3)) == (1, 0, 0)


@pytest.mark.parametrize("stride", [1, 7, 28, 0])
def test_long_released_answers_are_asked_for_in_n_over_w_calls(data_dir: Path, stride: int) -> None:
    path = data_dir / "fastfact-bench.responses.sample.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines()[:8]:
        row = json.loads(line)
        document = DocumentText(row["question"], row["response"])
        result, made, tools = decompose({"claims": []}, document, stride=stride)
        spans = split_sentences(row["response"])
        assert made["extract"] == (-(-len(spans) // stride) if stride else 1)
        assert [(each.start, each.end) for each in result.sentences] == [(span.start, span.end) for span in spans]
        # Everything of the answer was shown, in its order.
        shown = " ".join(turn.partition("<SOS>")[2] for turn in tools.chat.asked("extract"))  # type: ignore[union-attr]
        at = 0
        for span in spans:
            at = shown.index(span.text, at) + len(span.text)


# labels and their probability


@pytest.mark.parametrize(
    "pieces",
    [
        [('{"claims": [{"claim": "A.", "label": "', 1.0), ("supported", 0.9), ('"}]}', 1.0)],
        [('{"claims": [{"claim": "A.", "label": "', 1.0), ("sup", 0.95), ("port", 0.99), ("ed", 0.98), ('"}]}', 1.0)],
        [('{"claims": [{"claim": "A.", "label":', 1.0), (' "supported', 0.7), ('"}]}', 1.0)],  # the quote glued on
        [('{"claims": [{"claim": "A.", "label": "support', 0.8), ('ed"}]}', 0.9)],  # and more on both sides
        [(character, 0.99) for character in '{"claims": [{"claim": "A.", "label": "supported"}]}'],
    ],
)
def test_every_token_with_a_character_of_the_label_counts(pieces: list[tuple[str, float]]) -> None:
    made = with_tokens(pieces)
    (label,) = written_labels(made.tokens, "label")
    assert label.text == "supported"
    inside = made.text.index("supported")
    expected, at = 1.0, 0
    for text, probability in pieces:
        if at < inside + len("supported") and at + len(text) > inside:
            expected *= probability
        at += len(text)
    assert label.probability == pytest.approx(expected)
    assert label.probability < 1


def test_labels_come_in_order_and_claims_that_speak_of_labels_are_none() -> None:
    claim = 'A box says "label": "supported" on it.'
    made = answer([(claim, "unsure", 0.5), ("Bäume wachsen “label”.", "irrelevant", 0.25)])
    found = written_labels(made.tokens, "label")
    assert [each.text for each in found] == ["unsure", "irrelevant"]
    assert [each.probability for each in found] == pytest.approx([0.5, 0.25])


def test_a_draft_before_the_answer_does_not_count() -> None:
    draft = with_tokens(
        [('<think>{"label": "unsure"}</think>', 0.5), ('{"label": "', 1.0), ("supported", 0.9), ('"}', 1.0)]
    )
    (label,) = written_labels(draft.tokens, "label")
    assert label.text == "supported"
    assert label.probability == pytest.approx(0.9)


def test_without_tokens_there_are_no_labels() -> None:
    assert written_labels((), "label") == []


# decompose


def test_claims_and_what_the_model_holds_of_them_come_in_one_call() -> None:
    result, made, tools = decompose(answer(JUDGED))
    assert made == {"extract": 1}
    assert result.counts["sentences"] == 4
    assert result.notes == ()
    (request,) = tools.chat.requests  # type: ignore[union-attr]
    assert request.logprobs
    assert request.messages[-1].content == f"Question: {QUESTION}\n\n<SOS>{ANSWER}<EOS>"
    assert [[claim.text for claim in each.claims] for each in result.sentences] == [
        ["Pell Ridge has an observatory."],
        [CLAIM],
        ["Water boils at 100 degrees."],
        [],
    ]
    known, unsure, irrelevant = prejudgements(result)
    assert (known.label, known.settled) == ("supported", True)
    assert known.confidence == pytest.approx(0.999)
    assert (unsure.label, unsure.settled) == ("unsure", False)  # not definite, however sure of it
    assert (irrelevant.label, irrelevant.settled) == ("irrelevant", False)  # definite, and not sure enough
    assert result.sentences[2].claims[0].importance == Importance.LESS
    assert result.sentences[3].type == SentenceType.OTHER


@pytest.mark.parametrize(
    ("probability", "settled"), [(0.9951, True), (0.995, False), (0.9949, False), (1.0, True), (1e-9, False)]
)
def test_more_than_the_threshold_settles(probability: float, settled: bool) -> None:
    result, _, _ = decompose(answer([("Pell Ridge has an observatory.", "non-supported", probability)]))
    (found,) = prejudgements(result)
    assert found.settled is settled


def test_a_label_of_exactly_the_threshold_does_not_settle() -> None:
    result, _, _ = decompose(answer([("Pell Ridge has an observatory.", "supported", 1.0)]), threshold=1)
    assert [(found.confidence, found.settled) for found in prejudgements(result)] == [(1.0, False)]


@pytest.mark.parametrize("label", ["likely supported", "likely non-supported", "unsure"])
def test_only_definite_labels_settle(label: str) -> None:
    result, _, _ = decompose(answer([("Pell Ridge has an observatory.", label, 1.0)]), threshold=0)
    assert [(found.label, found.settled) for found in prejudgements(result)] == [(label, False)]


@pytest.mark.parametrize("word", ["NON-SUPPORTED", "Nonsupported", "non_supported", " non supported "])
def test_spellings_of_a_label_are_one(word: str) -> None:
    result, _, _ = decompose(answer([("Pell Ridge has an observatory.", word, 0.999)]))
    assert [(found.label, found.settled) for found in prejudgements(result)] == [("non-supported", True)]


def test_without_log_probabilities_nothing_is_settled_and_a_note_says_so() -> None:
    said = {"claims": [{"claim": claim, "label": label} for claim, label, _ in JUDGED]}
    result, _, _ = decompose(said)
    assert [(each.confidence, each.settled) for each in prejudgements(result)] == [(None, False)] * 3
    (note,) = result.notes
    assert "no log-probabilities" in note.text


def test_tokens_in_which_the_labels_cannot_be_found_settle_nothing() -> None:
    whole = answer(JUDGED)
    said = ChatAnswer(text=whole.text, tokens=whole.tokens[:-4])  # the last label is missing
    result, _, _ = decompose(said)
    assert [each.confidence for each in prejudgements(result)] == [None] * 3
    assert "not found" in result.notes[0].text


def test_the_claims_of_a_chunk_go_to_the_sentences_of_that_chunk() -> None:
    response = "Ann built a mill. It burned. Bob built a mill. It burned."
    said = turns(
        answer([("Ann built a mill.", "unsure", 1.0), ("The mill of Ann burned.", "unsure", 1.0)]),
        answer([("Bob built a mill.", "unsure", 1.0), ("The mill of Bob burned.", "unsure", 1.0)]),
    )
    result, made, _ = decompose(said, DocumentText(QUESTION, response), stride=2)
    assert made == {"extract": 2}
    assert [[claim.text for claim in each.claims] for each in result.sentences] == [
        ["Ann built a mill."],
        ["The mill of Ann burned."],
        ["Bob built a mill."],
        ["The mill of Bob burned."],
    ]


def test_a_chunk_whose_answer_cannot_be_read_is_left_to_the_rules() -> None:
    def said(request: ChatRequest) -> Any:
        hopeless = any("It opened" in message.content for message in request.messages)
        return UNREADABLE if hopeless else answer(JUDGED[2:])

    result, made, _ = decompose(said, stride=2)
    assert made == {"extract": 3}
    assert result.counts["extract_again"] == 1
    assert result.sentences[:2] == by_rules(QUESTION, ANSWER).sentences[:2]
    assert [each.label for each in prejudgements(result)] == ["irrelevant"]
    assert ["by rules" in note.text for note in result.notes] == [True]


def test_an_answer_that_is_read_at_the_second_try_is_counted() -> None:
    result, made, _ = decompose(turns(UNREADABLE, answer(JUDGED)))
    assert made == {"extract": 2}
    assert len(prejudgements(result)) == 3


def test_an_empty_response_asks_nobody() -> None:
    result, made, _ = decompose(UNREADABLE, DocumentText(QUESTION, "\n"))
    assert (result.sentences, made) == ((), {})


def test_without_a_question_the_model_is_told_so() -> None:
    _, _, tools = decompose(answer([]), DocumentText("", ANSWER))
    (asked,) = tools.chat.asked("extract")  # type: ignore[union-attr]
    assert asked.startswith("Question: (There is none")


def test_gold_claims_find_the_sentence_that_they_were_made_of(data_dir: Path) -> None:
    right = total = 0
    for line in (data_dir / "factcheck-bench.dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cut = by_rules(row["prompt"], row["response"]).sentences
        gold = list(row["sentences"].values())
        if len(gold) < 2 or [sentence.text for sentence in cut] != [sentence["text"].strip() for sentence in gold]:
            continue  # cut otherwise: no telling which sentence is meant
        claims = [claim for sentence in gold for claim in sentence["claims"]]
        wanted = [place for place, sentence in enumerate(gold) for _ in sentence["claims"]]
        found = places_of(claims, [sentence.decontext for sentence in cut])
        right += sum(one == other for one, other in zip(found, wanted, strict=True))
        total += len(claims)
    assert total > 200
    assert right / total > 0.96


def test_a_claim_without_a_known_word_stays_with_the_one_before() -> None:
    sentences = ["Coal burns.", "Iron rusts.", "Gold shines."]
    assert places_of(["Iron rusts.", "Quite so.", "Gold shines."], sentences) == [1, 1, 2]
    assert places_of(["Quite so."], sentences) == [0]


# chunks of pages


def test_chunks_of_a_page_overlap_by_whole_sentences() -> None:
    text = " ".join(f"This is sentence {number:03d} here." for number in range(20))  # five words each
    found = page_chunks(text, length=20, overlap=10)
    assert [chunk.split()[3] for chunk in found] == [f"{number:03d}" for number in range(0, 18, 2)]
    assert all(len(chunk.split()) == 20 for chunk in found)
    assert page_chunks(text, length=20, overlap=0)[1].startswith("This is sentence 004")
    assert page_chunks(text, length=20, overlap=4)[1].startswith("This is sentence 004")  # no sentence fits into it
    assert page_chunks("One short page.\n") == ["One short page."]
    assert page_chunks(" \x00\n") == []


def test_a_sentence_without_end_is_cut_and_nothing_is_lost() -> None:
    endless = " ".join(f"w{number}" for number in range(450))
    found = page_chunks(f"It begins. {endless}", length=200, overlap=50)
    assert max(len(chunk.split()) for chunk in found) <= 200
    assert set(" ".join(found).split()) == {"It", "begins.", *endless.split()}


@pytest.mark.parametrize(("length", "overlap"), [(200, 50), (30, 29), (20, 0), (60, 20)])
def test_chunks_of_released_answers_lose_nothing_and_keep_their_size(data_dir: Path, length: int, overlap: int) -> None:
    path = data_dir / "fastfact-bench.responses.sample.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines()[:10]:
        response = json.loads(line)["response"]
        found = [chunk.split() for chunk in page_chunks(response, length=length, overlap=overlap)]
        assert all(len(chunk) <= length for chunk in found)
        joined = found[0]
        for chunk in found[1:]:
            shared = max(n for n in range(min(overlap, len(chunk)) + 1) if joined[len(joined) - n :] == chunk[:n])
            joined = joined + chunk[shared:]
        assert joined == response.split()


# verify


@pytest.mark.parametrize(
    ("label", "factuality", "words"),
    [
        ("supported", Factuality.TRUE, "considered it true"),
        ("non-supported", Factuality.FALSE, "considered it false"),
        ("irrelevant", None, "irrelevant"),
    ],
)
def test_what_is_settled_is_not_searched_for(label: str, factuality: Factuality | None, words: str) -> None:
    result, tools = verify(UNREADABLE, prejudgement=Prejudgement(label, 0.99976, True))
    assert calls(tools) == {}
    assert result.counts == {"claims": 1, "settled": 1}
    assert result.evidence == ()
    assert result.verdict is not None
    assert (result.verdict.label, result.verdict.factuality) == (label, factuality)
    assert result.verdict.confidence == 0.99976
    assert words in result.verdict.reason
    assert "0.9998" in result.verdict.reason
    assert "nothing was searched for" in result.verdict.reason


def test_a_probability_is_never_shown_as_certainty() -> None:
    result, _ = verify(UNREADABLE, prejudgement=Prejudgement("supported", 0.9999999, True))
    assert result.verdict is not None
    assert "over 0.9999)" in result.verdict.reason


@pytest.mark.parametrize(
    "prejudgement", [None, Prejudgement("supported", 0.99, False), Prejudgement("unsure", None, False)]
)
def test_what_is_not_settled_is_searched_for_in_whole_pages(prejudgement: Prejudgement | None) -> None:
    result, tools = verify({"reason": "By passage 1.", "label": "supported"}, prejudgement=prejudgement)
    assert calls(tools) == {"search": 1, "fetch": 5, "verify": 1}
    (request,) = tools.search.requests  # type: ignore[union-attr]
    assert (request.query, request.count) == (CLAIM, 5)
    first, second = result.evidence  # what shares no word with the claim is left out
    assert first.passage == TEXTS["https://a.example/"]
    assert first.snapshot is not None
    assert first.snapshot.text == first.passage
    assert second.url == "https://b.example/"
    assert first.score > second.score > 0
    assert all(each.stance is None and each.query == CLAIM for each in result.evidence)
    (asked,) = tools.chat.asked("verify")  # type: ignore[union-attr]
    assert f"Passage 1\nTitle: Title a\nText: {first.passage}" in asked
    assert result.verdict is not None
    assert (result.verdict.label, result.verdict.reason) == ("supported", "By passage 1.")
    assert result.verdict.confidence is None
    (note,) = result.notes
    assert note.step == "fetch"
    assert "https://e.example/" in note.text


@pytest.mark.parametrize(
    ("said", "label", "factuality"),
    [
        ("supported", "supported", Factuality.TRUE),
        ("Refuted", "refuted", Factuality.FALSE),
        ("###conflicting evidence###", "conflicting evidence", Factuality.NOT_ENOUGH_EVIDENCE),
        ("not_enough_evidence", "not enough evidence", Factuality.NOT_ENOUGH_EVIDENCE),
        ("unverifiable", "unverifiable", None),
    ],
)
def test_five_labels(said: str, label: str, factuality: Factuality | None) -> None:
    result, _ = verify({"label": said})
    assert result.verdict is not None
    assert (result.verdict.label, result.verdict.factuality) == (label, factuality)


def test_the_ten_best_chunks_of_all_pages_are_kept() -> None:
    text = "\n\n".join(
        f"Pell Ridge, view {number}, has {'an observatory ' * (number % 2)}rock." for number in range(40)
    )

    def services() -> dict[str, Any]:
        pages = ScriptedPages({"https://a.example/": text, "https://b.example/": text})
        return {"search": ScriptedSearch(HITS[:2]), "pages": pages}

    result, _ = verify({"label": "supported"}, services=services(), length=20, overlap=0)
    assert len(result.evidence) == 10
    assert len({each.passage for each in result.evidence}) == 10  # the same text at two addresses is one
    assert [each.score for each in result.evidence] == sorted((each.score for each in result.evidence), reverse=True)
    result, _ = verify({"label": "supported"}, services=services(), length=20, overlap=0, passages=3)
    assert len(result.evidence) == 3


def test_a_page_that_cannot_be_had_is_stood_for_by_its_snippet() -> None:
    hits = [SearchResult("https://gone.example/", "Gone", "Pell Ridge opened  in 1938.")]
    result, _ = verify({"label": "supported"}, services={"search": ScriptedSearch(hits), "pages": ScriptedPages({})})
    assert [(each.passage, each.snapshot) for each in result.evidence] == [("Pell Ridge opened in 1938.", None)]
    assert result.notes == ()


def test_an_address_is_fetched_once() -> None:
    hits = [SearchResult("https://a.example/", "A", "Pell Ridge, first passage."), *HITS[:2]]
    result, tools = verify(
        {"label": "supported"}, services={"search": ScriptedSearch(hits), "pages": ScriptedPages(TEXTS)}
    )
    assert calls(tools)["fetch"] == 2
    assert result.counts["pages"] == 2


def test_without_evidence_there_is_not_enough_and_no_model_is_asked() -> None:
    for hits in ([], [SearchResult("https://d.example/", "D", "")]):
        services = {"search": ScriptedSearch(hits), "pages": ScriptedPages(TEXTS)}
        result, tools = verify(UNREADABLE, services=services)
        assert "verify" not in calls(tools)
        assert result.counts["unfound"] == 1
        assert result.verdict is not None
        assert result.verdict.label == "not enough evidence"


def test_a_page_that_proves_too_late_is_left_out() -> None:
    day = dt.date(2020, 5, 1)
    pages = ScriptedPages(
        {
            "https://a.example/": page("https://a.example/", CLAIM, published=day),
            "https://b.example/": page("https://b.example/", "Pell Ridge is old.", published=dt.date(2019, 1, 1)),
        }
    )
    document = DocumentText(QUESTION, ANSWER, reference_date=day)
    services = {"search": ScriptedSearch(HITS[:2]), "pages": pages}
    result, tools = verify({"label": "refuted"}, document=document, services=services)
    assert [each.passage for each in result.evidence] == ["Pell Ridge is old."]
    assert tools.search.requests[0].before == day  # type: ignore[union-attr]


def test_a_corpus_alone_will_do() -> None:
    index = PassageIndex.build([Page("https://c.example/", "Corpus", "The observatory on Pell Ridge opened early.")])
    result, tools = verify({"label": "supported"}, services={"index": index})
    assert calls(tools) == {"verify": 1}
    assert [each.title for each in result.evidence] == ["Corpus"]


def test_an_unreadable_verdict_leaves_the_evidence_and_says_so() -> None:
    result, _ = verify(UNREADABLE)
    assert result.verdict is None
    assert len(result.evidence) == 2
    assert {note.step for note in result.notes} == {"fetch", "verify"}


def test_failing_searches_and_models_are_not_hidden() -> None:
    with pytest.raises(ServiceError, match="no answer"):
        verify({}, services={"search": ScriptedSearch(ServiceError("no answer")), "pages": ScriptedPages({})})
    with pytest.raises(ServiceError, match="too busy"):
        verify(ServiceError("too busy"))


def test_a_whole_document_costs_n_over_w_and_pm() -> None:
    strategy = strategies.get("fastfact", {"stride": 2})
    tools = tools_for(
        "fastfact",
        {"extract": turns(answer(JUDGED[:2]), answer(JUDGED[2:])), "verify": {"label": "refuted"}},
        search=ScriptedSearch(HITS),
        pages=ScriptedPages(TEXTS | {"https://d.example/": "Water boils at 100 degrees at sea level."}),
    )
    document = DocumentText(QUESTION, ANSWER)

    async def whole() -> dict[str, int]:
        cut = await strategy.decompose(document, tools)
        totals: dict[str, int] = dict(cut.counts)
        for claim in (claim for sentence in cut.sentences for claim in sentence.claims):
            found = await strategy.verify(ClaimText(claim.text, "", claim.prejudgement), document, tools)
            for name, number in found.counts.items():
                totals[name] = totals.get(name, 0) + number
        return totals

    totals = run(whole())
    # N = 4, w = 2, M = 3, of which one is settled: p is two thirds.
    assert (totals["sentences"], totals["claims"], totals["settled"]) == (4, 3, 1)
    assert strategy.formula(totals) == {"extract": 2, "search": 2, "fetch": 10, "verify": 2} == calls(tools)


@pytest.mark.parametrize(
    "values", [{"stride": -1}, {"threshold": 1.1}, {"pages": 0}, {"overlap": 200}, {"length": 50, "overlap": 50}]
)
def test_parameters_have_bounds(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="fastfact"):
        strategies.get("fastfact", values)


def test_passages_that_would_never_move_on_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="“overlap” of “fastfact”: it must be less than the length"):
        strategies.get("fastfact", {"overlap": 200})


def test_the_defaults_are_the_released_configuration() -> None:
    found = strategies.get("fastfact").parameters.model_dump()
    assert (found["stride"], found["threshold"], found["pages"], found["passages"]) == (0, 0.995, 5, 10)


# answers that are cut, and responses that are long


def cut(judged: Sequence[tuple[str, str, float]]) -> ChatAnswer:
    """An answer that ended at its limit in the middle of the claim after these."""
    whole = answer([*judged, ("The next one is not", "unsure", 0.9)])
    tokens = whole.tokens[:-4]
    return ChatAnswer("".join(token.text for token in tokens), tokens, cut=True)


def test_a_cut_answer_is_kept_and_continued_where_it_ended() -> None:
    said = turns(cut(JUDGED[:2]), answer([JUDGED[1], JUDGED[2]]))
    result, made, tools = decompose(said)
    assert made == {"extract": 2}
    first, second = tools.chat.asked("extract")  # type: ignore[union-attr]
    assert "has an observatory" in first.rpartition("<SOS>")[2] or "has an observatory" in first
    assert "Pell Ridge has an observatory." not in second.rpartition("<SOS>")[2]
    assert [claim.text for sentence in result.sentences for claim in sentence.claims] == [text for text, _, _ in JUDGED]
    assert [each.label for each in prejudgements(result)] == [label for _, label, _ in JUDGED]


def test_an_answer_that_never_gets_further_ends() -> None:
    _, made, _ = decompose(lambda request: cut(JUDGED[:1]))
    assert made["extract"] <= 4, "at most once a sentence"


def test_a_very_long_response_is_read_in_parts() -> None:
    response = " ".join(f"Town {number} has a mill that was built in {1000 + number}." for number in range(600))
    result, made, tools = decompose({"claims": []}, DocumentText(QUESTION, response))
    assert made["extract"] == -(-len(response) // 12_000) == 3
    shown = [turn.partition("<SOS>")[2] for turn in tools.chat.asked("extract")]  # type: ignore[union-attr]
    assert all(len(text) <= 12_100 for text in shown)
    assert len(result.sentences) == 600


@pytest.mark.parametrize(("irrelevant", "settled"), [("sure", False), ("always", True)])
def test_irrelevant_settles_above_the_threshold_or_always(irrelevant: str, settled: bool) -> None:
    result, _, _ = decompose(answer(JUDGED), irrelevant=irrelevant)
    assert [each.settled for each in prejudgements(result)] == [True, False, settled]


def test_a_response_that_declines_is_not_asked_about() -> None:
    _, made, _ = decompose({}, DocumentText(QUESTION, "I'm sorry, but I cannot fulfill that request."))
    assert made == {}
