"""Gold documents with strategies' suggestions and people's decisions on them, for
``annotator.measures.suggestion_quality``.

Reads documents that are adjudicated at all three stages, without gold copies and discarded documents, so nothing blind
is included. People's own searches are left out, because they are part of their work.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.cache import cache
from django.db.models import Count, Exists, Max, Model, OuterRef, Q, QuerySet, Sum

from annotator.core.models import (
    Annotation,
    Benchmark,
    Claim,
    ClaimSuggestion,
    EditOperation,
    Evidence,
    PipelineRun,
    ResponseRevision,
    RevisionSuggestion,
    RunItem,
    Sentence,
    SentenceSuggestion,
    Stance,
    StanceSuggestion,
    Verdict,
    VerdictSuggestion,
)
from annotator.core.queries.gold import GoldScope
from annotator.core.texts import edits
from annotator.core.vocabulary import AnnotationState, EditKind
from annotator.measures.suggestion_quality.measures import THRESHOLD
from annotator.measures.suggestion_quality.report import QualityReport, report_of
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
from annotator.suggestions.models import TrainedSuggester

Kept = TypeVar("Kept")

# The page uses the newest gold; the command uses all of it.
MAX_DOCUMENTS = 500
KEPT_FOR = 3600  # seconds
SENTENCE = ("pk", "text", "start", "end", "decontext", "type", "importance")
_VERSION = re.compile(r"version (\d+)$")


def quality_of(
    benchmark: Benchmark,
    *,
    runs: Collection[str] = (),
    strategy: str = "",
    threshold: float = THRESHOLD,
    most: int | None = None,
) -> QualityReport:
    """The quality of suggestions: of every strategy, of one, or of single runs (public ids) side by side. ``most``:
    limits it to the newest gold documents. Constant number of queries."""
    gold = GoldScope(benchmark).documents().count()
    return report_of(documents_of(benchmark, runs=runs, strategy=strategy, most=most), gold=gold, threshold=threshold)


def kept_quality_of(benchmark: Benchmark, *, runs: Collection[str] = ()) -> QualityReport:
    """For the page: over the newest gold, cached until gold or runs change."""
    return kept(benchmark, f"quality {sorted(runs)}", lambda: quality_of(benchmark, runs=runs, most=MAX_DOCUMENTS))


def kept(benchmark: Benchmark, what: str, made: Callable[[], Kept]) -> Kept:
    """The cached value, or a new one if gold or runs have changed since (two queries)."""
    gold = GoldScope(benchmark).documents()
    stamp = gold.aggregate(number=Count("pk"), which=Sum("pk"), newest=Max("annotations__submitted_at"))
    done = RunItem.objects.filter(run__benchmark=benchmark).aggregate(number=Count("pk"), newest=Max("finished_at"))
    named = f"{benchmark.public_id} {what} {stamp} {done} {MAX_DOCUMENTS}"
    key = f"suggestion-quality:{hashlib.blake2s(named.encode()).hexdigest()}"
    before: Kept | None = cache.get(key)
    if before is not None:
        return before
    found = made()
    cache.set(key, found, KEPT_FOR)
    return found


def shared_runs(benchmark: Benchmark) -> QuerySet[PipelineRun]:
    """The runs of a benchmark, newest first, without people's own searches."""
    return PipelineRun.objects.filter(benchmark=benchmark).exclude(plan__has_key="annotation").order_by("-pk")


def runs_over_gold(benchmark: Benchmark, most: int) -> list[PipelineRun]:
    """The newest runs with any gold document, without imported suggestions, which have a run per document."""
    over_gold = RunItem.objects.filter(GoldScope(benchmark).gold("document__"), run=OuterRef("pk"))
    return list(shared_runs(benchmark).exclude(strategy="import").filter(Exists(over_gold))[:most])


def documents_of(
    benchmark: Benchmark, *, runs: Collection[str] = (), strategy: str = "", most: int | None = None
) -> list[ComparedDocument]:
    """The newest ``most`` gold documents (or all), with the suggestions of only these runs or this strategy."""
    return _GoldReader(benchmark, frozenset(runs), strategy, most).read()


@dataclass(frozen=True, slots=True)
class _Run:
    maker: Maker
    began: Any


class _GoldReader:
    """Reads everything that belongs to some gold documents, table by table, and groups it by document. Uses joins for
    the reason given in ``annotator.core.queries.gold``."""

    def __init__(self, benchmark: Benchmark, runs: frozenset[str], strategy: str, most: int | None) -> None:
        self.scope = GoldScope(benchmark)
        documents = self.scope.documents().order_by("-pk").values_list("pk", "response", "blind_first")
        self.documents = list(documents[:most])
        self.newest = None if most is None else [pk for pk, _, _ in self.documents]
        self.narrowed = {"run__public_id__in": runs} if runs else {"run__strategy": strategy} if strategy else {}
        wanted = shared_runs(benchmark).filter(
            **{name.removeprefix("run__"): value for name, value in self.narrowed.items()}
        )
        self.runs = {
            pk: _Run(Maker(name, str(plan.get("model") or ""), public_id if runs else ""), began)
            for pk, public_id, name, plan, began in wanted.values_list(
                "pk", "public_id", "strategy", "plan", "created_at"
            )
        }
        self.suggested: dict[int, dict[Maker, SuggestedLabels]] = defaultdict(lambda: defaultdict(SuggestedLabels))

    def read(self) -> list[ComparedDocument]:
        works = self._works()
        self._decompositions()
        self._passages_and_stances()
        self._verdicts_and_answers()
        barred = self._barred()
        return [
            ComparedDocument(
                key=key,
                response=response,
                blind_first=blind_first,
                gold=works[key].get(None, PersonsWork()),
                people=tuple(work for person, work in works[key].items() if person is not None),
                suggested=dict(self.suggested.get(key, {})),
                barred=barred.get(key, frozenset()),
            )
            for key, response, blind_first in self.documents
        ]

    def here(self, path: str) -> Q:
        """Is the document at the end of the path ("annotation__document") among those read?"""
        return self.scope.gold(f"{path}__") if self.newest is None else Q(**{f"{path}__in": self.newest})

    def submitted(self, path: str = "annotation__") -> Q:
        """Is the annotation at the end of the path submitted work on one of those documents?"""
        return self.here(f"{path}document") & Q(**{f"{path}state": AnnotationState.SUBMITTED})

    def suggestions(self, model: type[Model], document: str, *fields: str) -> Iterator[tuple[Any, ...]]:
        """The requested runs' suggestions for these documents, oldest run first: document, run, then the fields."""
        rows = model._default_manager.filter(self.here(document), **self.narrowed).order_by("run", "pk")
        for key, run, *values in _rows(rows, document, "run", *fields):
            if run in self.runs:  # not a person's own search
                yield (self.suggested[key][self.runs[run].maker], run, *values)

    # --- what people decided ----------------------------------------------------------------------

    def _works(self) -> dict[int, dict[int | None, PersonsWork]]:
        """By document and person, with the adjudicated version under None (eight queries)."""
        made: dict[int, tuple[int, int | None]] = {}
        submitted: dict[tuple[int, int | None], dict[str, Any]] = defaultdict(dict)
        annotations = Annotation.objects.filter(self.submitted("")).order_by("pk")
        for pk, document, person, stage, at in annotations.values_list(
            "pk", "document", "person", "stage", "submitted_at"
        ):
            made[pk] = (document, person)
            submitted[document, person][stage] = at
        parts = {
            "sentences": self._sentences(),
            "stances": self._stances(),
            "added": self._added(),
            "verdicts": self._verdicts(),
        }
        answers = ResponseRevision.objects.filter(self.submitted()).order_by()
        texts = {pk: each for pk, *each in _rows(answers, "annotation", "text", "suggestion")}
        found: dict[tuple[int, int | None], dict[str, Any]] = defaultdict(dict)
        for pk, whose in made.items():
            found[whose] |= {name: rows[pk] for name, rows in parts.items() if pk in rows}
            if pk in texts:
                found[whose] |= zip(("response", "response_from"), texts[pk], strict=True)
        works: dict[int, dict[int | None, PersonsWork]] = defaultdict(dict)
        for (document, whom), stages in submitted.items():
            works[document][whom] = PersonsWork(person=whom, submitted=stages, **found[document, whom])
        return works

    def _sentences(self) -> Mapping[int, Any]:
        """By annotation, with their claims (two queries)."""
        claims: dict[int, list[ComparedClaim]] = defaultdict(list)
        of_sentences = Claim.objects.filter(
            self.submitted("sentence__annotation__"), removed="", sentence__removed=""
        ).order_by("order", "pk")
        for sentence, *values in _rows(
            of_sentences, "sentence", "pk", "text", "type", "worth_checking", "importance", "suggestion"
        ):
            claims[sentence].append(ComparedClaim(*values))
        found: dict[int, list[ComparedSentence]] = defaultdict(list)
        rows = Sentence.objects.filter(self.submitted(), removed="").order_by("order", "pk")
        for annotation, suggestion, *values in _rows(rows, "annotation", "suggestion", *SENTENCE):
            found[annotation].append(ComparedSentence(*(*values, tuple(claims[values[0]]), suggestion)))
        return found

    def _stances(self) -> Mapping[int, Any]:
        """By annotation and retrieved passage."""
        found: dict[int, dict[int, StanceRow]] = defaultdict(dict)
        rows = Stance.objects.filter(self.submitted(), evidence__annotation__isnull=True, evidence__removed="")
        for annotation, evidence, label, suggestion in rows.order_by().values_list(
            "annotation", "evidence", "label", "suggestion"
        ):
            found[annotation][evidence] = StanceRow(label, suggestion)
        return found

    def _added(self) -> Mapping[int, Any]:
        """By annotation and claim, the number of added passages."""
        found: dict[int, dict[int, int]] = defaultdict(dict)
        rows = Evidence.objects.filter(self.submitted(), removed="").order_by().values("annotation", "claim")
        for annotation, claim, number in _rows(rows.annotate(number=Count("pk")), "annotation", "claim", "number"):
            found[annotation][claim] = number
        return found

    def _verdicts(self) -> Mapping[int, Any]:
        """By annotation and claim (two queries)."""
        operations: dict[int, list[edits.Operation]] = defaultdict(list)
        made = EditOperation.objects.filter(self.submitted("verdict__annotation__")).order_by("order", "pk")
        for verdict, kind, start, end, replacement in made.values_list(
            "verdict", "kind", "start", "end", "replacement"
        ):
            operations[verdict].append(edits.Operation(EditKind(kind), start, end, replacement))
        found: dict[int, dict[int, VerdictRow]] = defaultdict(dict)
        rows = Verdict.objects.filter(self.submitted(), claim__removed="", claim__sentence__removed="").order_by()
        for annotation, pk, claim, text, factuality, sufficient, suggestion in rows.values_list(
            "annotation", "pk", "claim", "claim__text", "factuality", "evidence_sufficient", "suggestion"
        ):
            revised = edits.apply(text, operations[pk]) if pk in operations else None
            found[annotation][claim] = VerdictRow(text, factuality, sufficient, revised, suggestion)
        return found

    # --- what strategies suggested ----------------------------------------------------------------

    def _decompositions(self) -> None:
        claims: dict[int, list[ComparedClaim]] = defaultdict(list)
        narrowed = {f"sentence__{name}": value for name, value in self.narrowed.items()}
        rows = ClaimSuggestion.objects.filter(self.here("sentence__document"), **narrowed).order_by("order")
        for sentence, by, *values in _rows(
            rows, "sentence", "type_by", "pk", "text", "type", "worth_checking", "importance"
        ):
            claims[sentence].append(ComparedClaim(*(*values, None, by)))
        for suggested, run, by, *values in self.suggestions(SentenceSuggestion, "document", "type_by", *SENTENCE):
            row = ComparedSentence(*(*values, tuple(claims[values[0]]), None, by))
            suggested.decompositions.setdefault(run, []).append(row)

    def _passages_and_stances(self) -> None:
        document = "claim__sentence__annotation__document"
        for suggested, _, pk, claim, person, removed in self.suggestions(
            Evidence, document, "pk", "claim", "annotation", "removed"
        ):
            if person is None and not removed:
                suggested.passages[pk] = claim
        for suggested, _, evidence, *values in self.suggestions(
            StanceSuggestion, f"evidence__{document}", "evidence", "pk", "label", "by"
        ):
            suggested.stances[evidence] = SuggestedStance(*values)

    def _verdicts_and_answers(self) -> None:
        document = "claim__sentence__annotation__document"
        for suggested, run, claim, *values in self.suggestions(
            VerdictSuggestion, document, "claim", "pk", "factuality", "correction"
        ):
            suggested.verdicts[claim] = ComparedVerdict(*(*values, self.runs[run].began))
        for suggested, run, *values in self.suggestions(
            RevisionSuggestion, "document", "pk", "with_prompt", "without_prompt"
        ):
            suggested.answer = SuggestedAnswer(*(*values, self.runs[run].began))

    def _barred(self) -> dict[int, frozenset[tuple[str, str]]]:
        """The learned suggesters that each document trained, by their stored names, which end in a version number."""
        versions: dict[tuple[str, int], set[int]] = defaultdict(set)
        trained = TrainedSuggester.objects.filter(self.here("documents"), benchmark=self.scope.benchmark).order_by()
        for kind, number, document in trained.values_list("kind", "number", "documents"):
            versions[kind, number].add(document)
        barred: dict[int, set[tuple[str, str]]] = defaultdict(set)
        for kind, name in _names(self.suggested.values()):
            version = _VERSION.search(name)
            for document in versions.get((kind, int(version[1])), ()) if version else ():
                barred[document].add((kind, name))
        return {document: frozenset(each) for document, each in barred.items()}


def _rows(query: Any, *fields: str) -> Iterator[tuple[Any, ...]]:
    """Plain rows of a query set."""
    return iter(query.values_list(*fields))


def _names(suggested: Iterable[dict[Maker, SuggestedLabels]]) -> set[tuple[str, str]]:
    """The learned suggesters that made suggestions here, by the label they predict."""
    found = set()
    for makers in suggested:
        for each in makers.values():
            found |= {("stance", stance.by) for stance in each.stances.values()}
            for rows in each.decompositions.values():
                found |= {("sentence_type", row.by) for row in rows}
                found |= {("claim_type", claim.by) for row in rows for claim in row.claims}
    return {(kind, name) for kind, name in found if name}
