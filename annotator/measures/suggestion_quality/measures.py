"""What is measured at which step, with published figures. docs/prefill-quality.md defines each."""

from __future__ import annotations

from dataclasses import dataclass

# Claims with at least this word similarity (token F1) match; the benchmark of the offline rules uses it, too.
THRESHOLD = 0.8


@dataclass(frozen=True, slots=True)
class QualityMeasure:
    """``thing``: what its items are. ``paper``: a published figure. For a distance, smaller is better. A ``detail`` is
    in the JSON but not on the page; the ``main`` measure of a step is drawn."""

    name: str
    label: str
    thing: str
    paper: float | None = None
    is_distance: bool = False
    is_detail: bool = False
    is_main: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    label: str
    measures: tuple[QualityMeasure, ...]


def _labels(
    name: str, label: str, thing: str, paper: tuple[float, float, float, float] | None = None, *, is_main: bool = False
) -> tuple[QualityMeasure, ...]:
    """The four figures of a field with labels. ``paper``: accuracy, precision, recall and F1."""
    accuracy, precision, recall, f1 = paper or (None, None, None, None)
    return (
        QualityMeasure(f"{name}_accuracy", f"{label}: accuracy", thing, accuracy),
        QualityMeasure(f"{name}_precision", f"{label}: macro precision", thing, precision, is_detail=True),
        QualityMeasure(f"{name}_recall", f"{label}: macro recall", thing, recall, is_detail=True),
        QualityMeasure(f"{name}_f1", f"{label}: macro F1", thing, f1, is_main=is_main),
    )


# Factcheck-Bench, sections 4.1 to 4.3 (Tables 3 and 4): ChatGPT on all 94 documents. Another dataset is another task,
# so this is only a reference. The paper gives no precision and recall for stances.
STEPS: tuple[Step, ...] = (
    Step(
        "sentences",
        "Sentences",
        (
            QualityMeasure("cut_precision", "Sentence boundaries: precision", "suggested sentences", is_detail=True),
            QualityMeasure("cut_recall", "Sentence boundaries: recall", "gold sentences", is_detail=True),
            QualityMeasure("cut_f1", "Sentence boundaries: F1", "gold sentences", is_main=True),
        ),
    ),
    Step(
        "decompose",
        "Claims",
        (
            QualityMeasure("claim_precision", "Matching claims: precision", "suggested claims"),
            QualityMeasure("claim_recall", "Matching claims: recall", "gold claims"),
            QualityMeasure("claim_f1", "Matching claims: F1", "gold claims", is_main=True),
            QualityMeasure("same_number", "Same number of claims as the gold", "sentences", 211 / 277),
            QualityMeasure("more_claims", "More claims than the gold", "sentences", 48 / 277, is_distance=True),
            QualityMeasure("claim_edit_distance", "Edit distance", "claims", 0.11, is_distance=True),
            QualityMeasure("claim_word_overlap", "Word overlap", "claims", 0.88),
        ),
    ),
    Step(
        "decontextualise",
        "Decontextualized sentences",
        (
            QualityMeasure("decontext_edit_distance", "Edit distance", "sentences", is_distance=True),
            QualityMeasure("decontext_word_overlap", "Word overlap", "sentences", is_main=True),
        ),
    ),
    Step(
        "checkworthiness",
        "Check-worthiness",
        (
            *_labels(
                "sentence_checkworthy", "Sentence (yes/no)", "sentences", (0.814, 0.637, 0.740, 0.660), is_main=True
            ),
            *_labels("sentence_type", "Sentence (four types)", "sentences"),
            *_labels("claim_type", "Claim (four types)", "claims", (0.932, 0.314, 0.534, 0.319)),
            *_labels("claim_checked", "Claim (check-worthy or not)", "claims"),
        ),
    ),
    Step(
        "importance",
        "Importance",
        (
            *_labels("sentence_importance", "Sentence", "sentences", is_main=True),
            *_labels("claim_importance", "Claim", "claims"),
        ),
    ),
    Step(
        "evidence",
        "Evidence",
        (
            QualityMeasure("evidence_kept", "Relevant passages", "passages", is_main=True),
            QualityMeasure("evidence_helps", "Claims with a relevant passage", "claims"),
            QualityMeasure("evidence_sufficed", "Claims with sufficient automatic evidence", "claims"),
        ),
    ),
    Step(
        "stance",
        "Stance",
        (
            QualityMeasure("stance_4_accuracy", "Four labels: accuracy", "passages", 0.365),
            QualityMeasure("stance_4_precision", "Four labels: macro precision", "passages", is_detail=True),
            QualityMeasure("stance_4_recall", "Four labels: macro recall", "passages", is_detail=True),
            QualityMeasure("stance_4_f1", "Four labels: macro F1", "passages", 0.332, is_main=True),
            QualityMeasure("stance_3_accuracy", "Three labels: accuracy", "passages", 0.567),
            QualityMeasure("stance_3_precision", "Three labels: macro precision", "passages", is_detail=True),
            QualityMeasure("stance_3_recall", "Three labels: macro recall", "passages", is_detail=True),
            QualityMeasure("stance_3_f1", "Three labels: macro F1", "passages", 0.483),
        ),
    ),
    Step("verdict", "Verdict", _labels("factuality", "Factuality", "claims", is_main=True)),
    Step(
        "correction",
        "Correction",
        (
            QualityMeasure("correction_offered", "False claims with a correction", "false claims"),
            QualityMeasure("correction_edit_distance", "Edit distance", "corrections", is_distance=True),
            QualityMeasure("correction_word_overlap", "Word overlap", "corrections", is_main=True),
        ),
    ),
    Step(
        "revision",
        "Revised response",
        (
            QualityMeasure("revision_edit_distance", "Edit distance", "answers", is_distance=True),
            QualityMeasure("revision_word_overlap", "Word overlap", "answers", is_main=True),
            QualityMeasure(
                "blind_revision_edit_distance", "Without the prompt: edit distance", "answers", is_distance=True
            ),
            QualityMeasure("blind_revision_word_overlap", "Without the prompt: word overlap", "answers"),
            QualityMeasure("untouched_edit_distance", "Unchanged response: edit distance", "answers", is_distance=True),
            QualityMeasure("untouched_word_overlap", "Unchanged response: word overlap", "answers"),
        ),
    ),
)
MEASURES: dict[str, QualityMeasure] = {measure.name: measure for step in STEPS for measure in step.measures}


@dataclass(frozen=True, slots=True)
class Published:
    """A column of FastFact's Table 1: what annotators did with the claims of a response, on average."""

    name: str
    removed: float
    added: float
    revised: float
    unchanged: float


FASTFACT: tuple[Published, ...] = (
    Published("FastFact-Bench", 1.233, 2.171, 0.928, 14.829),
    Published("FastFact-Bench, Factcheck-Bench part", 0.872, 1.064, 0.167, 9.769),
)
