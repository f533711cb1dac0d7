"""Suggesters that learn from gold: what they count, that they learn, that nothing leaks, and how they are stored."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotator.core.vocabulary import ClaimType, SentenceType, StanceLabel, SuggesterKind
from benchmarks import learned_quality
from pipeline.learned import evaluation
from pipeline.learned.evaluation import THREE_LABELS, cross_validate
from pipeline.learned.examples import ExampleClaim, ExampleDocument, ExamplePassage, ExampleSentence
from pipeline.learned.fitting import MissingLibraryError, evening_shift, fit, group_folds, macro_f1
from pipeline.learned.linear import chosen
from pipeline.learned.reading import Rarity, read
from pipeline.learned.stance_features import stance_rows
from pipeline.learned.suggester import FORMAT, OldFormatError, Suggester, examples_of, train

TOWNS = ["Tikal", "Petra", "Cusco", "Delft", "Fez", "Ghent", "Hue", "Izmir", "Jaipur", "Kyoto", "Lima", "Mali"]


def document(town: str) -> ExampleDocument:
    """A claim whose passages say it, say another year, or speak of something else; and a courtesy without a claim."""
    passages = (
        ExamplePassage(f"{town} was founded in 1250. It has markets.", stance=StanceLabel.COMPLETELY_SUPPORT),
        ExamplePassage(f"{town} was founded in 1420. It has markets.", stance=StanceLabel.REFUTE),
        ExamplePassage("Cookies help us. Subscribe to our newsletter.", stance=StanceLabel.IRRELEVANT),
    )
    claim = ExampleClaim(f"{town} was founded in 1250.", passages, ClaimType.FACTUAL)
    return ExampleDocument(
        key=town,
        prompt=f"When was {town} founded?",
        sentences=(
            ExampleSentence(f"{town} was founded in 1250.", "", (claim,), SentenceType.CHECKWORTHY),
            ExampleSentence("I hope that this helps you!", "", (), SentenceType.NOT_A_CLAIM),
        ),
    )


@pytest.fixture
def documents() -> list[ExampleDocument]:
    return [document(town) for town in TOWNS]


def rows(claim: str, *passages: str) -> list[dict[str, float]]:
    whole = ExampleClaim(claim, tuple(ExamplePassage(each) for each in passages))
    return stance_rows(ExampleDocument("1", "", (ExampleSentence(claim, "", (whole,)),)), Rarity.of(passages))


# --- what is counted ------------------------------------------------------------------------------


def test_a_passage_with_every_word_covers_the_claim() -> None:
    said, other = rows("Tikal was founded in 1250.", "In 1250 Tikal was founded.", "Bread is baked at night.")
    assert said["coverage"] == pytest.approx(1.0)
    assert other["coverage"] == 0.0
    assert said["coverage: below the best"] == 0.0
    assert other["coverage: below the best"] == pytest.approx(1.0)


def test_another_number_in_its_place_is_seen() -> None:
    same, other = rows("Tikal was found in 1848.", "Tikal was found in 1848.", "Tikal was found in 1910.")
    assert (same["numbers found"], same["other year instead"]) == (1.0, 0.0)
    assert (other["numbers found"], other["other year instead"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("claim", "passage", "feature"),
    [
        ("Copper reacts with iron salts.", "Copper does not react with iron salts.", "negation differs"),
        ("Summers are hot on the coast.", "Summers are cold on the coast.", "opposites in sentence"),
    ],
)
def test_what_contradicts_is_seen(claim: str, passage: str, feature: str) -> None:
    contradicted, same = rows(claim, passage, claim)
    assert contradicted[feature] == 1.0
    assert same[feature] == 0.0


def test_a_number_in_words_and_one_with_a_comma_are_read() -> None:
    assert read("It has three towers and 1,200 steps.").numbers == {"3", "1200"}


@pytest.mark.parametrize("url", ["", "http://[::1", "not an address", "https://example.org/a_b-c?d=e"])
def test_any_address_any_text_can_be_counted(url: str) -> None:
    passages = (ExamplePassage("", url), ExamplePassage("\x00 …", url), ExamplePassage("العربية", url, score=0.0))
    for text in ("", "?!", "Ω", "word"):
        claim = ExampleClaim(text, passages)
        found = stance_rows(ExampleDocument("1", "", (ExampleSentence(text, "", (claim,)),)), Rarity.of([]))
        assert all(np.isfinite(list(row.values())).all() for row in found)
        assert len({tuple(sorted(row)) for row in found}) == 1


# --- fitting --------------------------------------------------------------------------------------


def test_no_document_is_on_both_sides_and_each_is_held_out_once() -> None:
    groups = np.repeat(np.arange(7), 3)
    held: list[int] = []
    for training, rest in group_folds(groups, 4, seed=1):
        assert not set(groups[training]) & set(groups[rest])
        assert sorted([*training, *rest]) == list(range(21))
        held += [int(each) for each in rest]
    assert sorted(held) == list(range(21))


def test_evening_out_finds_the_rare_label() -> None:
    """Ninety of the one, ten of the other, which is a little likelier where it is right: it is never chosen until
    frequencies are evened out."""
    labels = np.array([0] * 90 + [1] * 10)
    probabilities = np.array([[0.95, 0.05]] * 90 + [[0.7, 0.3]] * 10)
    plain = macro_f1(labels, chosen(probabilities, np.zeros(2)), 2)
    evened = macro_f1(labels, chosen(probabilities, evening_shift(probabilities, labels)), 2)
    assert plain < 0.5
    assert evened == 1.0


def test_macro_f1_agrees_with_the_metrics_of_the_house() -> None:
    gold, predicted = [0, 0, 1, 2, 2, 1], [0, 1, 1, 2, 0, 1]
    report = evaluation.classify([str(each) for each in gold], [str(each) for each in predicted])
    assert macro_f1(np.array(gold), np.array(predicted), 3) == pytest.approx(report.f1)


def test_too_little_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="two labels and two documents"):
        fit(np.zeros((3, 2)), np.zeros(3, dtype=np.intp), np.arange(3))


def test_without_the_library_it_says_what_to_install(
    documents: list[ExampleDocument], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingLibraryError, match=r"requirements-science\.txt"):
        train(SuggesterKind.STANCE, documents)


# --- suggesting -----------------------------------------------------------------------------------


def test_it_learns_stances_and_says_how_sure_it_is(documents: list[ExampleDocument]) -> None:
    suggester, _ = train(SuggesterKind.STANCE, documents)
    found = suggester.suggest(document("Oslo"))
    assert [each.label for each in found] == ["completely_support", "refute", "irrelevant"]
    assert all(0 < each.probability <= 1 for each in found)
    assert np.allclose(suggester.probabilities(document("Oslo")).sum(axis=1), 1)


def test_it_learns_types(documents: list[ExampleDocument]) -> None:
    suggester, _ = train(SuggesterKind.SENTENCE_TYPE, documents)
    assert [each.label for each in suggester.suggest(document("Oslo"))] == ["checkworthy", "not_a_claim"]


def test_nothing_to_judge_is_no_error(documents: list[ExampleDocument]) -> None:
    suggester, _ = train(SuggesterKind.STANCE, documents)
    assert suggester.suggest(ExampleDocument("1", "Why?", (ExampleSentence("So.", ""),))) == []


def test_training_twice_gives_the_same(documents: list[ExampleDocument]) -> None:
    first, _ = train(SuggesterKind.STANCE, documents)
    second, _ = train(SuggesterKind.STANCE, documents)
    assert first.to_bytes() == second.to_bytes()


def test_a_label_that_is_not_asked_for_is_not_learned(documents: list[ExampleDocument]) -> None:
    suggester, _ = train(SuggesterKind.STANCE, documents, labels=["refute", "irrelevant"])
    assert suggester.labels == ("refute", "irrelevant")
    assert {each.label for each in suggester.suggest(document("Oslo"))} <= {"refute", "irrelevant"}


def test_own_words_weigh_alike_whether_learned_from_or_not(documents: list[ExampleDocument]) -> None:
    """A held-out document is read with its own passages counted, as the documents of the training were: else what is
    learned would not fit what is asked."""
    inside = examples_of(SuggesterKind.STANCE, documents)
    rest = Rarity.of(p.text for d in documents[1:] for c in d.claims for p in c.passages)
    outside = examples_of(SuggesterKind.STANCE, documents[:1], rarity=rest)
    assert np.allclose(inside.matrix[:3], outside.matrix, atol=0.05)


# --- stored ---------------------------------------------------------------------------------------


def test_stored_and_read_it_suggests_the_same(documents: list[ExampleDocument]) -> None:
    suggester, _ = train(SuggesterKind.STANCE, documents)
    again = Suggester.from_bytes(suggester.to_bytes())
    assert again.suggest(document("Oslo")) == suggester.suggest(document("Oslo"))
    with np.load(io.BytesIO(suggester.to_bytes()), allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored.files)


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x03\x04 broken"])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(OldFormatError):
        Suggester.from_bytes(data)


def test_another_format_is_refused(documents: list[ExampleDocument], monkeypatch: pytest.MonkeyPatch) -> None:
    suggester, _ = train(SuggesterKind.STANCE, documents)
    data = suggester.to_bytes()
    monkeypatch.setattr("pipeline.learned.suggester.FORMAT", FORMAT + 1)
    with pytest.raises(OldFormatError, match="again"):
        Suggester.from_bytes(data)


# --- how good -------------------------------------------------------------------------------------


def test_no_suggester_judges_what_it_learned_from(
    documents: list[ExampleDocument], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs: list[tuple[set[str], set[str]]] = []
    real = evaluation.examples_of

    def watched(kind: SuggesterKind, found: list[ExampleDocument], **fields: Any) -> Any:
        keys = {each.key for each in found}
        if fields:
            pairs[-1] = (pairs[-1][0], keys)
        else:
            pairs.append((keys, set()))
        return real(kind, found, **fields)

    monkeypatch.setattr(evaluation, "examples_of", watched)
    [quality] = cross_validate(SuggesterKind.STANCE, documents, folds=4)
    assert all(not learned & judged for learned, judged in pairs)
    assert sorted(key for _, judged in pairs for key in judged) == sorted(TOWNS)
    assert quality.examples == 3 * len(TOWNS)
    assert quality.f1.mean == 1.0


def test_labels_without_sense_are_not_learned(documents: list[ExampleDocument]) -> None:
    """Labels dealt out at random: whatever leaked would show as a score above chance."""
    generator = np.random.default_rng(3)

    def shuffled(one: ExampleDocument) -> ExampleDocument:
        labels = generator.choice(list(StanceLabel), size=3)
        passages = tuple(
            ExamplePassage(each.text, stance=StanceLabel(label))
            for each, label in zip(one.claims[0].passages, labels, strict=True)
        )
        return ExampleDocument(
            one.key, one.prompt, (ExampleSentence("", "", (ExampleClaim(one.claims[0].text, passages),)),)
        )

    many = [shuffled(document(f"{town}{number}")) for number in range(4) for town in TOWNS]
    [quality] = cross_validate(SuggesterKind.STANCE, many, folds=4)
    assert quality.accuracy.mean < 0.4


def test_merged_labels_are_scored_as_one(documents: list[ExampleDocument]) -> None:
    _, three = cross_validate(SuggesterKind.STANCE, documents, merges=({}, THREE_LABELS), folds=4)
    assert set(three.reports[0].labels) == {"support", "refute", "irrelevant"}


def test_a_label_of_one_document_alone_does_not_stop_it(documents: list[ExampleDocument]) -> None:
    """When that document is judged, nothing but the other label is left to learn from."""
    plain = [
        ExampleDocument(each.key, each.prompt, each.sentences if number == 0 else each.sentences[:1])
        for number, each in enumerate(documents[:5])
    ]
    [quality] = cross_validate(SuggesterKind.SENTENCE_TYPE, plain, folds=5)
    assert quality.examples == 6
    assert quality.reports[0].labels["not_a_claim"].recall == 0.0


def test_it_beats_the_language_models_of_the_paper_on_released_gold(data_dir: Path) -> None:
    """A quarter of the benchmark's work (one seed, five folds): figures of docs/learning.md are the benchmark's."""
    documents = learned_quality.read_documents(data_dir / "factcheck-bench.dev.jsonl")
    four, three = cross_validate(SuggesterKind.STANCE, documents, merges=({}, THREE_LABELS), folds=5)
    assert four.examples == 1660
    assert four.f1.mean > 0.365  # ChatGPT 0.332
    assert four.accuracy.mean > 0.57  # 0.365
    assert three.f1.mean > 0.483
    assert three.accuracy.mean > 0.64
    assert three.calibration_error.mean < 0.06
