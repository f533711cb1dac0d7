"""A suggester: what it looks at, what it learned, and how it is stored.

Stored as one numpy archive of plain arrays (nothing is pickled), with the version of its features: an archive of
another version is not read but trained anew.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self
from zipfile import BadZipFile

import numpy as np

from annotator.core.vocabulary import ClaimType, SentenceType, StanceLabel, SuggesterKind
from pipeline.learned.examples import ExampleDocument
from pipeline.learned.fitting import Fitted, fit
from pipeline.learned.linear import LinearModel, Numbers
from pipeline.learned.reading import Rarity, Row
from pipeline.learned.stance_features import stance_rows
from pipeline.learned.statement_features import claim_rows, sentence_rows

# Of features and arrays. Goes up whenever a feature changes its meaning.
FORMAT = 1


class OldFormatError(ValueError):
    """The archive was written with other features, or is none."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a kind of suggester looks at. ``rows`` and ``labels`` have one item for each thing in a document."""

    labels: tuple[str, ...]
    rows: Callable[[ExampleDocument, Rarity], list[Row]]
    given: Callable[[ExampleDocument], list[str | None]]


SUBJECTS: dict[SuggesterKind, Subject] = {
    SuggesterKind.STANCE: Subject(
        labels=tuple(StanceLabel),
        rows=stance_rows,
        given=lambda document: [passage.stance for claim in document.claims for passage in claim.passages],
    ),
    SuggesterKind.SENTENCE_TYPE: Subject(
        labels=tuple(SentenceType),
        rows=lambda document, rarity: sentence_rows(document),
        given=lambda document: [sentence.type for sentence in document.sentences],
    ),
    SuggesterKind.CLAIM_TYPE: Subject(
        labels=tuple(ClaimType),
        rows=lambda document, rarity: claim_rows(document),
        given=lambda document: [claim.type for claim in document.claims],
    ),
}


@dataclass(frozen=True, slots=True)
class LearnedLabel:
    """A label with its calibrated probability, 0 to 1."""

    label: str
    probability: float


@dataclass(frozen=True, slots=True)
class Suggester:
    """A trained suggester. ``labels``: those it knows, in the order of the model's rows."""

    kind: SuggesterKind
    labels: tuple[str, ...]
    names: tuple[str, ...]
    rarity: Rarity
    model: LinearModel

    def probabilities(self, document: ExampleDocument) -> Numbers:
        """Of each passage (sentence, claim) of the document in order: thing by label."""
        rows = SUBJECTS[self.kind].rows(document, self.rarity.including(_passages([document])))
        return self.model.probabilities(as_matrix(rows, self.names))

    def suggest(self, document: ExampleDocument) -> list[LearnedLabel]:
        """One label for each passage (sentence, claim) of the document, in order."""
        found = self.probabilities(document)
        if not len(found):
            return []
        return [
            LearnedLabel(self.labels[label], float(row[label]))
            for label, row in zip(self.model.choose(found), found, strict=True)
        ]

    def to_bytes(self) -> bytes:
        """The suggester as a numpy archive."""
        stems = sorted(self.rarity.frequency)
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            allow_pickle=False,
            format=np.array(FORMAT),
            kind=np.array(self.kind.value),
            labels=np.array(self.labels),
            names=np.array(self.names),
            passages=np.array(self.rarity.passages),
            stems=np.frombuffer("\n".join(stems).encode(), dtype=np.uint8),
            frequencies=np.array([self.rarity.frequency[stem] for stem in stems], dtype=np.int64),
            mean=self.model.mean,
            scale=self.model.scale,
            weights=self.model.weights,
            bias=self.model.bias,
            temperature=np.array(self.model.temperature),
            shift=self.model.shift,
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read an archive. Raises OldFormatError for one of another version."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as stored:
                if int(stored["format"]) != FORMAT:
                    raise OldFormatError(f"Format {int(stored['format'])}, wanted {FORMAT}: train the suggester again.")
                stems = stored["stems"].tobytes().decode().split("\n") if stored["stems"].size else []
                return cls(
                    kind=SuggesterKind(str(stored["kind"])),
                    labels=tuple(str(each) for each in stored["labels"]),
                    names=tuple(str(each) for each in stored["names"]),
                    rarity=Rarity(
                        int(stored["passages"]),
                        dict(zip(stems, (int(each) for each in stored["frequencies"]), strict=True)),
                    ),
                    model=LinearModel(
                        mean=stored["mean"],
                        scale=stored["scale"],
                        weights=stored["weights"],
                        bias=stored["bias"],
                        temperature=float(stored["temperature"]),
                        shift=stored["shift"],
                    ),
                )
        except OldFormatError:
            raise
        except (OSError, KeyError, EOFError, ValueError, BadZipFile) as error:
            raise OldFormatError(f"This isn't a stored suggester ({error}): train it again.") from None


@dataclass(frozen=True, slots=True)
class Examples:
    """Everything of one kind that has a label, as numbers. ``groups``: the position of each one's document."""

    matrix: Numbers
    labels: list[str]
    groups: np.ndarray
    names: tuple[str, ...]
    rarity: Rarity


def examples_of(kind: SuggesterKind, documents: Sequence[ExampleDocument], *, rarity: Rarity | None = None) -> Examples:
    """The labeled things of the documents. ``rarity``: of the training documents, where these are others."""
    subject = SUBJECTS[kind]
    known = rarity or Rarity.of(_passages(documents))
    rows: list[Row] = []
    labels: list[str] = []
    groups: list[int] = []
    for position, document in enumerate(documents):
        own = known.including(_passages([document])) if rarity else known
        for row, label in zip(subject.rows(document, own), subject.given(document), strict=True):
            if label is not None:
                rows.append(row)
                labels.append(str(label))
                groups.append(position)
    names = tuple(sorted(rows[0])) if rows else ()
    return Examples(as_matrix(rows, names), labels, np.array(groups, dtype=np.intp), names, known)


def _passages(documents: Iterable[ExampleDocument]) -> list[str]:
    return [passage.text for document in documents for claim in document.claims for passage in claim.passages]


def train(
    kind: SuggesterKind, documents: Sequence[ExampleDocument], *, labels: Iterable[str] | None = None, seed: int = 0
) -> tuple[Suggester, Fitted]:
    """A suggester trained on the documents, and how its model was fitted.

    ``labels``: those to learn (default: all that occur); examples with another one are left out. Raises ValueError
    where there is nothing to learn, MissingLibraryError without scikit-learn.
    """
    return train_on(kind, examples_of(kind, documents), labels=labels, seed=seed)


def train_on(
    kind: SuggesterKind, examples: Examples, *, labels: Iterable[str] | None = None, seed: int = 0
) -> tuple[Suggester, Fitted]:
    """As ``train``, from examples that have been counted already."""
    wanted = set(examples.labels if labels is None else labels)
    order = {str(label): place for place, label in enumerate(SUBJECTS[kind].labels)}
    known = tuple(sorted(wanted & set(examples.labels), key=lambda label: order.get(label, len(order))))
    kept = np.array([place for place, label in enumerate(examples.labels) if label in known], dtype=np.intp)
    indexes = np.array([known.index(examples.labels[place]) for place in kept], dtype=np.intp)
    fitted = fit(examples.matrix[kept], indexes, examples.groups[kept], seed=seed)
    return Suggester(kind, known, examples.names, examples.rarity, fitted.model), fitted


def as_matrix(rows: Sequence[Row], names: Sequence[str]) -> Numbers:
    """Rows as a matrix with the columns ``names``; a number that a row lacks is 0."""
    values = [[row.get(name, 0.0) for name in names] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(names))
