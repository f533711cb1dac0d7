"""What is told of suggestions, over rows made by hand whose figures can be counted on fingers."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from typing import Any

import pytest

from annotator.measures.suggestion_quality.accuracy import observe
from annotator.measures.suggestion_quality.handling import HandledSuggestions, handled
from annotator.measures.suggestion_quality.measures import STEPS, THRESHOLD
from annotator.measures.suggestion_quality.report import as_json, report_of
from annotator.measures.suggestion_quality.rows import (
    ComparedClaim,
    ComparedDocument,
    ComparedSentence,
    ComparedVerdict,
    Maker,
    PersonsWork,
    StanceRow,
    SuggestedAnswer,
    SuggestedLabels,
    SuggestedStance,
    VerdictRow,
)

RULES = Maker("offline")
OTHER = Maker("papelo", "gpt")
LEARNED = Maker(by="Learned from this benchmark's gold, version 1")
BEFORE, SUBMITTED, AFTER = (dt.datetime(2026, 11, day, tzinfo=dt.UTC) for day in (1, 2, 3))
STAGES = dict.fromkeys(("decompose", "verify", "revise"), SUBMITTED)


def claim(key: int, text: str, **fields: Any) -> ComparedClaim:
    labels: dict[str, Any] = {"type": "factual", "worth_checking": True, "importance": "most"}
    return ComparedClaim(key, text, **labels | fields)


def sentence(key: int, text: str, *claims: ComparedClaim, start: int | None = 0, **fields: Any) -> ComparedSentence:
    end = None if start is None else start + len(text)
    labels = {"decontext": text, "type": "checkworthy", "importance": "most"} | fields
    return ComparedSentence(key, text, start, end, claims=claims, **labels)


def document(key: int, gold: PersonsWork, *people: PersonsWork, **suggested: Any) -> ComparedDocument:
    fields: dict[str, Any] = {"blind_first": False, "response": "The old answer.", "barred": frozenset()} | suggested
    makers = fields.pop("makers")
    return ComparedDocument(key=key, gold=gold, people=people, suggested=makers, **fields)


def value(found: dict[str, Any], name: str) -> float:
    estimate: float = found[name].estimate.value
    return estimate


SHOWN = [
    sentence(1, "Ada wrote notes.", claim(11, "Ada wrote notes."), claim(12, "Ada wrote many notes in London.")),
    sentence(2, "Nice!", claim(13, "Notes are nice."), start=20, type="opinion", importance="less"),
]


# --- against the gold -----------------------------------------------------------------------------


def test_a_decomposition_against_the_gold() -> None:
    gold = PersonsWork(
        sentences=(
            sentence(5, "Ada wrote notes.", claim(51, "Ada wrote notes."), claim(52, "They sell.", type="opinion")),
            sentence(6, "Nice! Bye.", start=20, type="not_a_claim", decontext=""),
        )
    )
    found = observe([document(1, gold, makers={RULES: SuggestedLabels({7: SHOWN})})], threshold=THRESHOLD)[
        RULES
    ].figures()
    assert value(found, "cut_f1") == pytest.approx(1 / 2)
    assert value(found, "claim_precision") == pytest.approx(1 / 3)
    assert value(found, "claim_recall") == pytest.approx(1 / 2)
    assert value(found, "claim_f1") == pytest.approx(2 / 5)
    assert value(found, "same_number") == 1
    assert value(found, "sentence_checkworthy_accuracy") == 1, "an opinion and no claim are both not checkworthy"
    assert value(found, "sentence_type_accuracy") == 0.5
    assert (found["decontext_edit_distance"].items, value(found, "decontext_word_overlap")) == (1, 1)
    assert found["claim_type_accuracy"].items == 1, "only claims that are the same have labels to compare"


def test_the_threshold_says_which_claims_are_the_same() -> None:
    gold = PersonsWork(sentences=(sentence(5, "x", claim(51, "Ada wrote many notes in Paris.")),))
    documents = [document(1, gold, makers={RULES: SuggestedLabels({7: [sentence(1, "x", SHOWN[0].claims[1])]})})]
    strict, lax = (observe(documents, threshold=each)[RULES].figures() for each in (0.9, 0.8))
    assert (value(strict, "claim_f1"), value(lax, "claim_f1")) == (0, 1)


def test_the_newest_run_of_a_strategy_counts() -> None:
    gold = PersonsWork(sentences=(sentence(5, "Ada wrote notes.", claim(51, "Ada wrote notes.")),))
    old, new = [sentence(1, "Bad.")], [sentence(2, "Ada wrote notes.", claim(21, "Ada wrote notes."))]
    found = observe([document(1, gold, makers={RULES: SuggestedLabels({3: old, 4: new})})], threshold=THRESHOLD)
    assert value(found[RULES].figures(), "claim_f1") == 1


def at_verify(**changed: Any) -> ComparedDocument:
    """Two claims: for the first both strategies found passages, for the second the rules alone."""
    gold = PersonsWork(
        stances={
            1: StanceRow("completely_support", 101),
            2: StanceRow("irrelevant", 102),
            3: StanceRow("refute", None),
            4: StanceRow("", None),
        },
        verdicts={
            51: VerdictRow("It is old.", "true", True, None, None),
            52: VerdictRow("It is red.", "false", False, "It is blue.", None),
        },
        submitted=STAGES,
        added={52: 2},
        response="The new answer.",
    )
    rules = SuggestedLabels(
        passages={1: 51, 2: 52, 4: 52},
        stances={1: SuggestedStance(101, "partially_support", ""), 2: SuggestedStance(102, "irrelevant", LEARNED.by)},
        verdicts={
            51: ComparedVerdict(201, "true", None, BEFORE),
            52: ComparedVerdict(202, "", "It is blue.", BEFORE),
        },
        answer=SuggestedAnswer(301, "The new answer.", "The answer.", BEFORE),
    )
    other = SuggestedLabels(passages={3: 51}, verdicts={52: ComparedVerdict(203, "true", None, AFTER)})
    return document(2, gold, **{"makers": {RULES: rules, OTHER: other}} | changed)


def test_evidence_stance_verdict_correction_and_answer_against_the_gold() -> None:
    found = {maker: seen.figures() for maker, seen in observe([at_verify()], threshold=THRESHOLD).items()}
    rules, other, learned = found[RULES], found[OTHER], found[LEARNED]
    assert (value(rules, "evidence_kept"), rules["evidence_kept"].items) == (0.5, 2), "passage 4 has no stance"
    assert (value(rules, "evidence_helps"), value(other, "evidence_helps")) == (0.5, 1)
    assert (value(rules, "evidence_sufficed"), rules["evidence_sufficed"].items) == (0, 1), (
        "only where it alone searched"
    )
    assert "evidence_sufficed" not in other
    assert (value(rules, "stance_4_accuracy"), value(rules, "stance_3_accuracy")) == (0, 1)
    assert (rules["stance_4_accuracy"].items, value(learned, "stance_4_accuracy")) == (1, 1)
    assert value(rules, "factuality_accuracy") == 1 and value(other, "factuality_accuracy") == 0
    assert (value(rules, "correction_offered"), value(other, "correction_offered")) == (1, 0)
    assert value(rules, "correction_edit_distance") == 0
    assert value(rules, "revision_edit_distance") == 0 < value(rules, "blind_revision_edit_distance")
    assert value(rules, "untouched_edit_distance") == pytest.approx(3 / 15)


def test_every_accuracy_has_what_a_constant_answer_scores() -> None:
    """Three documents with one passage each: two irrelevant, one refuted; always "irrelevant" is right in two of three,
    with an F1 of 0.8 for irrelevant and 0 for refute."""
    documents = [
        document(
            number,
            PersonsWork(stances={number: StanceRow(gold, None)}, submitted=STAGES),
            makers={RULES: SuggestedLabels(stances={number: SuggestedStance(number, said, "")})},
        )
        for number, (gold, said) in enumerate(
            [("irrelevant", "irrelevant"), ("irrelevant", "partially_support"), ("refute", "refute")]
        )
    ]
    found = observe(documents, threshold=THRESHOLD)[RULES].figures()
    accuracy, f1 = found["stance_4_accuracy"], found["stance_4_f1"]
    assert accuracy.baseline is not None and f1.baseline is not None
    assert accuracy.estimate.value == pytest.approx(2 / 3) == accuracy.baseline.value
    assert f1.baseline.value == pytest.approx(0.8 / 2)
    assert f1.estimate.value == pytest.approx((2 / 3 + 1) / 2), "a stray label is an error, not a third label"
    assert accuracy.baseline.low is not None and accuracy.baseline.low < accuracy.baseline.value
    told = as_json(report_of(documents, gold=3), {})["strategies"][0]["against_gold"]["stance"]["stance_4_accuracy"]
    assert told["baseline"] == {"value": pytest.approx(2 / 3), "low": pytest.approx(0.0), "high": 1.0}


def test_texts_are_compared_with_leaving_them_unchanged() -> None:
    gold = PersonsWork(
        sentences=(
            sentence(5, "She wrote.", claim(51, "Ada wrote."), claim(52, "Ada sang."), decontext="Ada wrote."),
            sentence(6, "Nice.", claim(53, "Nice."), start=20, decontext="Nice."),
        )
    )
    shown = [
        sentence(1, "She wrote.", claim(11, "Ada wrote."), decontext="Ada wrote."),
        sentence(2, "Nice.", claim(12, "Nice."), start=20),
    ]
    found = observe([document(1, gold, makers={RULES: SuggestedLabels({7: shown})})], threshold=0.9)[RULES].figures()
    baselines = {name: each.baseline.value for name, each in found.items() if each.baseline}
    assert value(found, "claim_f1") == pytest.approx(4 / 5)
    assert baselines["claim_f1"] == pytest.approx(2 / 5), "of the two sentences as claims, only the second is one"
    assert baselines["claim_precision"] == 0.5 and baselines["claim_recall"] == pytest.approx(1 / 3)
    assert baselines["same_number"] == 0.5, "one claim a sentence"
    assert (value(found, "decontext_word_overlap"), baselines["decontext_word_overlap"]) == (1, 0.75)
    rules = observe([at_verify()], threshold=THRESHOLD)[RULES].figures()
    for name in ("revision_edit_distance", "blind_revision_edit_distance"):
        trivial = rules[name].baseline
        assert trivial is not None and trivial.value == value(rules, "untouched_edit_distance")
    correction = rules["correction_word_overlap"].baseline
    assert correction is not None and correction.value == pytest.approx(2 / 3), "“It is red.” for “It is blue.”"


def test_a_learned_suggester_is_not_scored_on_what_it_learned_from() -> None:
    barred = frozenset({("stance", LEARNED.by)})
    assert LEARNED not in observe([at_verify(barred=barred)], threshold=THRESHOLD)
    other_kind = frozenset({("claim_type", LEARNED.by)})
    assert LEARNED in observe([at_verify(barred=other_kind)], threshold=THRESHOLD)


# --- what people did ------------------------------------------------------------------------------


def mine(**fields: Any) -> PersonsWork:
    return PersonsWork(
        sentences=(
            sentence(
                5,
                "Ada wrote notes.",
                claim(51, "Ada wrote notes.", suggestion=11),
                claim(52, "Ada wrote notes in London.", suggestion=12, type="opinion"),
                claim(53, "Ada lived in London."),
                suggestion=1,
            ),
            sentence(6, "Nice!", claim(54, "Notes are nice.", suggestion=13), suggestion=2, type="other", start=20),
        ),
        submitted=STAGES,
        **fields,
    )


def counts(found: Any, thing: str) -> dict[str, int]:
    return {done.value: found.counts[thing][done] for done in HandledSuggestions if found.counts[thing][done]}


def test_claims_are_removed_added_revised_and_unchanged() -> None:
    documents = [
        document(
            1, mine(), mine(person=9), makers={RULES: SuggestedLabels({7: SHOWN}), OTHER: SuggestedLabels({8: []})}
        )
    ]
    found = handled(documents)
    for each in (found[RULES].agreed, found[RULES].people[9]):
        # The third was folded away with its sentence.
        assert counts(each, "claims") == {"removed": 1, "added": 1, "revised": 1, "unchanged": 1}
        assert counts(each, "claim_type") == {"revised": 1, "unchanged": 1}
        assert counts(each, "sentences") == {"unchanged": 2}
        assert counts(each, "sentence_type") == {"revised": 1, "unchanged": 1}
        assert counts(each, "decontext") == {"unchanged": 1}
        assert each.works["claims"] == 1
    assert OTHER not in found, "nobody was shown its suggestions"


def test_what_nobody_was_shown_was_not_handled() -> None:
    unaided = PersonsWork(sentences=(sentence(5, "Ada wrote notes.", claim(51, "Ada wrote notes.")),), submitted=STAGES)
    assert handled([document(1, unaided, makers={RULES: SuggestedLabels({7: SHOWN})})]) == {}


def test_blind_first_is_counted_apart_by_what_is_alike() -> None:
    unaided = PersonsWork(
        sentences=(sentence(5, "Ada wrote notes.", claim(51, "Ada wrote notes."), claim(52, "London is big.")),),
        submitted=STAGES,
    )
    [found] = handled(
        [
            document(
                1, unaided, replace(unaided, person=9), makers={RULES: SuggestedLabels({7: SHOWN})}, blind_first=True
            )
        ]
    ).values()
    assert counts(found.blind_first, "claims") == {"removed": 2, "added": 1, "unchanged": 1}
    assert (found.agreed.works.total(), found.people) == (0, {})


def test_passages_stances_corrections_and_answers() -> None:
    found = handled([at_verify()])
    rules = found[RULES].agreed
    assert counts(rules, "evidence") == {"removed": 1, "added": 2, "unchanged": 1}
    assert counts(rules, "stance") == {"revised": 1}
    assert counts(found[LEARNED].agreed, "stance") == {"unchanged": 1}
    assert counts(rules, "correction") == {"unchanged": 1}
    assert counts(rules, "revision") == {"unchanged": 1}
    assert counts(found[OTHER].agreed, "correction") == {}, "its run came after the claim was decided"


@pytest.mark.parametrize(
    ("person", "became"),
    [
        ({"suggestion": 202, "revised": "It is teal."}, "revised"),
        ({"suggestion": None, "revised": "It is teal."}, "removed"),
        ({"suggestion": None, "revised": None, "factuality": "true"}, "removed"),
    ],
)
def test_the_agreed_version_has_the_link_of_whose_text_it_has(person: dict[str, Any], became: str) -> None:
    base = at_verify()
    text = {"text": "It is red.", "factuality": "false", "sufficient": None} | person
    agreed = VerdictRow(**text | {"suggestion": None})
    gold = PersonsWork(verdicts={52: agreed}, submitted=STAGES)
    whose = PersonsWork(person=9, verdicts={52: VerdictRow(**text)}, submitted=STAGES)
    found = handled([document(2, gold, whose, makers=base.suggested)])[RULES]
    assert counts(found.agreed, "correction") == counts(found.people[9], "correction") == {became: 1}


def test_an_edit_without_an_offer_is_added() -> None:
    base = at_verify()
    offered = SuggestedLabels(verdicts={52: ComparedVerdict(203, "false", None, BEFORE)})
    found = handled([document(2, base.gold, makers={OTHER: offered})])[OTHER]
    assert counts(found.agreed, "correction") == {"added": 1}


# --- the report -----------------------------------------------------------------------------------


def test_the_report_keeps_blind_first_and_learned_apart_and_names_only_whom_it_may() -> None:
    shown = document(1, mine(), mine(person=9), makers={RULES: SuggestedLabels({7: SHOWN})})
    blind = document(3, mine(), makers={RULES: SuggestedLabels({8: SHOWN})}, blind_first=True)
    report = report_of([shown, at_verify(), blind], gold=5)
    assert (report.documents, report.gold, report.blind_first) == (3, 5, 1)
    assert [each.maker for each in report.columns] == [RULES, OTHER]
    assert [each.maker for each in report.learned] == [LEARNED]
    rules = report.columns[0]
    assert (rules.figures["claim_f1"].documents, rules.blind_first["claim_f1"].documents) == (2, 1)
    told = json.loads(json.dumps(as_json(report, {9: "ada"})))
    [first, _] = told["strategies"]
    assert first["handled"]["people"]["ada"]["claims"] == {
        "removed": 1, "added": 1, "revised": 1, "unchanged": 1, "documents": 1
    }  # fmt: skip
    assert as_json(report, {})["strategies"][0]["handled"]["people"] == {}
    assert set(first["against_gold"]) <= {step.name for step in STEPS}
    assert told["published"]["fastfact"][0]["unchanged"] == 14.829
