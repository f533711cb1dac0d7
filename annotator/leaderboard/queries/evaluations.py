"""Scored predictions as pages and the API read them: the leaderboard, one evaluation's errors, two compared."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.cache import cache
from django.db.models import Model, Q, QuerySet

from annotator.core import rules
from annotator.core.models import Annotation, Benchmark, Claim, Document, Evidence, Sentence, Stance, User
from annotator.core.queries.gold import adjudicated
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Stage, StanceLabel
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.scoring import gold_fingerprint, joined_of, scorer_of
from annotator.leaderboard.scoring.tasks import Options, Task, headline

# The comparison of two systems reads both files: it is kept, and counted anew after so many seconds.
KEPT_FOR = 24 * 3600
# Wrong answers looked up at a time.
CHUNK = 500


def evaluations_for(user: User, benchmark: Benchmark) -> QuerySet[Evaluation]:
    """Those that this person may look at, the newest first: what is hidden, and what could not be scored, is for who
    uploaded it and for those who manage. Whether they may read scores at all is ``rules.check_score``."""
    found = benchmark.evaluations.select_related("by", "benchmark").order_by("-pk")
    if rules.can_manage(user, benchmark):
        return found
    return found.filter(Q(by=user) | Q(hidden=False, result__isnull=False))


# --- the leaderboard ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the leaderboard. ``evaluation`` is None for a baseline, which has no ``rank``; nor has a file that was
    scored in part, since what it left out may be the hard part. Equal values share a rank. ``figures`` and their 95%
    ``intervals`` by name. ``is_old``: scored against another gold than today's."""

    name: str
    rank: int | None
    value: float | None
    figures: Mapping[str, float | None]
    intervals: Mapping[str, Sequence[float] | None]
    evaluation: Evaluation | None = None
    is_old: bool = False

    @property
    def is_partial(self) -> bool:
        return self.evaluation is not None and self.evaluation.partial and self.evaluation.faults > 0


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All systems scored on a task with the same options, the best first, the baselines among them; what was scored in
    part stands last."""

    task: Task
    options: Mapping[str, Any]
    figure: str
    names: Sequence[str]
    places: Sequence[Place]


def boards_of(user: User, benchmark: Benchmark) -> list[Leaderboard]:
    """A board for each task and its options, in the order of the tasks (four queries)."""
    today = gold_fingerprint(benchmark)
    groups: dict[tuple[str, str], list[Evaluation]] = defaultdict(list)
    scored = evaluations_for(user, benchmark).filter(result__isnull=False).defer("problems", "counts", "note")
    for each in scored:
        groups[each.task, json.dumps(each.options, sort_keys=True)].append(each)
    order = [task.value for task in Task]
    return [
        _board(Task(task), rows, today)
        for (task, _), rows in sorted(groups.items(), key=lambda group: (order.index(group[0][0]), group[0][1]))
    ]


def _board(task: Task, rows: Sequence[Evaluation], today: str) -> Leaderboard:
    figure = headline(task)
    # The baselines of today's gold, if anything was scored against it.
    newest = max(rows, key=lambda each: (each.gold == today, each.scored_at))
    found = [_place(each.system, each.report, figure, each, is_old=each.gold != today) for each in rows]
    found += [_place(name, scores, figure) for name, scores in newest.report["baselines"].items()]
    found.sort(key=lambda each: (each.is_partial, 1.0 if each.value is None else -each.value))
    systems = [each.value for each in found if each.evaluation is not None and not each.is_partial]
    ranked = [
        replace(each, rank=1 + systems.index(each.value)) if each.evaluation and not each.is_partial else each
        for each in found
    ]
    return Leaderboard(task, newest.options, figure, list(newest.report["intervals"]), ranked)


def _place(
    name: str, scores: Mapping[str, Any], figure: str, evaluation: Evaluation | None = None, *, is_old: bool = False
) -> Place:
    figures = {each: scores[each] for each in scores["intervals"]}
    return Place(name, None, figures[figure], figures, scores["intervals"], evaluation, is_old)


def unscored(user: User, benchmark: Benchmark) -> list[Evaluation]:
    """Uploads whose faults kept them from being scored, the newest first (two queries)."""
    return list(evaluations_for(user, benchmark).filter(result__isnull=True).defer("problems"))


# --- two systems ----------------------------------------------------------------------------------


def comparable(user: User, evaluation: Evaluation, today: str) -> list[Evaluation]:
    """Others that can be compared with this one: the same task and options, both scored against the gold of today (one
    or two queries)."""
    if evaluation.gold != today or evaluation.result is None:
        return []
    others = evaluations_for(user, evaluation.benchmark).filter(task=evaluation.task, result__isnull=False, gold=today)
    found = others.exclude(pk=evaluation.pk).defer("result", "problems", "counts")
    return [each for each in found if each.options == evaluation.options]


def paired_of(one: Evaluation, other: Evaluation) -> dict[str, Any]:
    """The first system against the second over what both answered, as ``Scorer.difference`` says; from the kept files,
    and kept in the cache. Raises FileNotFoundError where a file is gone."""
    named = repr(
        (one.task, sorted(one.options.items()), one.gold, *((each.sha256, each.format) for each in (one, other)))
    )
    key = f"crossed:{hashlib.blake2s(named.encode()).hexdigest()}"
    before: dict[str, Any] | None = cache.get(key)
    if before is not None:
        return before
    # The format with the most texts: two files may be from different tools.
    format = max(one.format, other.format, key=lambda each: each not in ("touchstone", "openfactcheck"))
    scorer = scorer_of(one.benchmark, Task(one.task), Options.of(one.options), format=format)
    systems = []
    for each in (one, other):
        with Path(each.file.path).open("rb") as stream:
            systems.append(joined_of(one.benchmark, scorer, stream, each.format))
    found = scorer.difference(*systems)
    cache.set(key, found, KEPT_FOR)
    return found


def standing_of(board: Leaderboard, today: str, *, compute: bool) -> dict[str, Any] | None:
    """The ranks of a board's systems with their intervals, and all pairs with Holm's correction
    (``Scorer.standing``), by public id; of those that were scored in full against today's gold. It reads every file, so
    it is kept, and counted only where ``compute`` says so: None before that. None also for fewer than two systems.

    Raises FileNotFoundError where a file is gone.
    """
    rows = [
        each.evaluation
        for each in board.places
        if each.evaluation and not each.is_partial and each.evaluation.gold == today
    ]
    if len(rows) < 2:
        return None
    named = repr((board.task.value, sorted(board.options.items()), today, *((row.pk, row.sha256) for row in rows)))
    key = f"standing:{hashlib.blake2s(named.encode()).hexdigest()}"
    before: dict[str, Any] | None = cache.get(key)
    if before is not None or not compute:
        return before
    format = max((row.format for row in rows), key=lambda each: each not in ("touchstone", "openfactcheck"))
    scorer = scorer_of(rows[0].benchmark, board.task, Options.of(board.options), format=format)
    systems = {}
    for row in rows:
        with Path(row.file.path).open("rb") as stream:
            systems[row.public_id] = joined_of(row.benchmark, scorer, stream, row.format)
    found = scorer.standing(systems)
    cache.set(key, found, KEPT_FOR)
    return found


# --- wrong answers --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wrong:
    """One wrong answer as it was kept when the file was scored."""

    key: str
    document: str
    position: str
    gold: str
    predicted: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Wrong:
        return cls(row["id"], row["document"], row["position"], row["gold"], row["predicted"] or "")


@dataclass(frozen=True, slots=True)
class WrongPassage:
    """Evidence of the gold beside a wrong answer; ``stance`` "" for what people added."""

    text: str
    url: str
    stance: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A wrong answer with what it is about. ``document`` is None where it is not gold any more, and then there is no
    text. ``claim`` is the public id of the claim that it is or belongs to, "" for none."""

    wrong: Wrong
    document: Document | None = None
    text: str = ""
    context: str = ""
    claim: str = ""
    evidence: Sequence[WrongPassage] = ()


@dataclass(frozen=True, slots=True)
class Errors:
    """One page of wrong answers: ``total`` fit the filter, ``pairs`` counts gold and predicted label of all."""

    rows: Sequence[Wrong]
    total: int
    pairs: Counter[tuple[str, str]]


def kept_rows(evaluation: Evaluation) -> Iterator[Mapping[str, Any]]:
    """All items that a file did not get right, in the order of the gold: "predicted" is null where it has no answer.
    One line of what was kept is in memory at a time. Raises FileNotFoundError."""
    if not evaluation.errors:
        return
    with Path(evaluation.errors.path).open("rb") as stream:
        for line in stream:
            yield json.loads(line)


def wrong_answers(evaluation: Evaluation) -> Iterator[Wrong]:
    """All wrong answers; none where what was kept is gone."""
    if not evaluation.errors or not Path(evaluation.errors.path).exists():
        return
    for row in kept_rows(evaluation):
        if row["predicted"] is not None:
            yield Wrong.of(row)


def errors_of(
    evaluation: Evaluation, *, gold: str = "", predicted: str = "", start: int = 0, count: int = 25
) -> Errors:
    """So many wrong answers from ``start`` on, of those with this gold and predicted label ("": any)."""
    rows: list[Wrong] = []
    total = 0
    pairs: Counter[tuple[str, str]] = Counter()
    for each in wrong_answers(evaluation):
        pairs[each.gold, each.predicted] += 1
        if gold not in ("", each.gold) or predicted not in ("", each.predicted):
            continue
        if start <= total < start + count:
            rows.append(each)
        total += 1
    return Errors(rows, total, pairs)


def shown(evaluation: Evaluation, rows: Sequence[Wrong], *, evidence: bool = True) -> list[Shown]:
    """The wrong answers with their texts, and for claims the gold's evidence (at most three queries).

    Rows are found by their public ids alone, which is quick on every database, and then shown only as long as they are
    the adjudicated version of a gold document.
    """
    task = Task(evaluation.task)
    wrong = {row.key: row for row in rows}
    found: dict[str, Shown] = {}
    if task == Task.SENTENCE_CHECKWORTHINESS:
        for sentence in _rows(Sentence, wrong, "annotation__document"):
            if _is_gold(sentence.annotation) and not sentence.removed:
                key = sentence.public_id
                found[key] = Shown(wrong[key], sentence.annotation.document, sentence.text)
    elif task in (Task.CLAIM_CHECKWORTHINESS, Task.CLAIM_FACTUALITY):
        claims = [
            claim
            for claim in _rows(Claim, wrong, "sentence__annotation__document")
            if _is_gold(claim.sentence.annotation) and not claim.removed
        ]
        passages = _passages(claims) if evidence and task == Task.CLAIM_FACTUALITY else {}
        for claim in claims:
            key, sentence = claim.public_id, claim.sentence
            gold_evidence = passages.get(claim.pk, ())
            found[key] = Shown(wrong[key], sentence.annotation.document, claim.text, sentence.text, key, gold_evidence)
    elif task == Task.STANCE:
        for passage in _rows(Evidence, wrong, "claim__sentence__annotation__document"):
            claim, annotation = passage.claim, passage.claim.sentence.annotation
            if _is_gold(annotation) and not passage.removed:
                key = passage.public_id
                found[key] = Shown(wrong[key], annotation.document, passage.passage, claim.text, claim.public_id)
    else:
        for document in Document.objects.filter(public_id__in=list(wrong)):
            if document.is_gold:
                key = document.public_id
                found[key] = Shown(wrong[key], document, document.response, document.prompt)
    return [found.get(row.key) or Shown(row) for row in rows]


def _rows(model: type[Model], keys: Iterable[str], path: str) -> QuerySet[Any]:
    """The rows of these public ids with their document, whose long texts are left where they are."""
    unread = [f"{path}__{name}" for name in ("response", "prompt", "metadata")]
    return model._default_manager.filter(public_id__in=list(keys)).select_related(path).defer(*unread)


def _is_gold(annotation: Annotation) -> bool:
    """Is it the adjudicated version of its stage, of a gold document?"""
    is_adjudicated = annotation.kind == AnnotationKind.CONSOLIDATED and annotation.state == AnnotationState.SUBMITTED
    return is_adjudicated and annotation.document.is_gold


def _passages(claims: Sequence[Claim]) -> dict[int, list[WrongPassage]]:
    """The passages that decide each claim (its primary key): those that people called supporting or refuting, and those
    that they added and agreed on (two queries)."""
    rows = Evidence.objects.filter(claim__in=claims, removed="").order_by("order", "pk")
    evidence = list(rows.select_related("annotation__document").defer("annotation__document__response"))
    stances = dict(
        Stance.objects.filter(adjudicated(Stage.VERIFY, "annotation__"), evidence__in=evidence)
        .exclude(label__in=("", StanceLabel.IRRELEVANT))
        .values_list("evidence", "label")
    )
    found: dict[int, list[WrongPassage]] = defaultdict(list)
    for row in evidence:
        is_added = row.annotation is not None and _is_gold(row.annotation)
        if is_added or (row.annotation is None and row.pk in stances):
            found[row.claim_id].append(WrongPassage(row.passage, row.url, "" if is_added else stances[row.pk]))
    return found


def error_table(evaluation: Evaluation) -> Iterator[Sequence[str]]:
    """All wrong answers as the rows of a table, the heads first; a few in memory at a time."""
    yield ("id", "document", "position", "gold", "predicted", "text", "about")
    answers = wrong_answers(evaluation)
    while rows := list(islice(answers, CHUNK)):
        for each in shown(evaluation, rows, evidence=False):
            wrong = each.wrong
            yield (wrong.key, wrong.document, wrong.position, wrong.gold, wrong.predicted, each.text, each.context)
