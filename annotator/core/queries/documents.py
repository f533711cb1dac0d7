"""Finding and reading documents: lists with counts and keyset pages, and a document's adjudicated results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Left, NullIf

from annotator.core.gold_copies import IS_GOLD, copies_for
from annotator.core.models import (
    Activity,
    Annotation,
    Benchmark,
    Claim,
    Document,
    EditOperation,
    Flag,
    ResponseRevision,
    RunItem,
    Sentence,
    User,
    Verdict,
)
from annotator.core.queries.search import found_by
from annotator.core.rules import ADMIN_ROLES, role_of
from annotator.core.vocabulary import (
    STAGES,
    AnnotationKind,
    AnnotationState,
    DiscardReason,
    Phase,
    Role,
    RunState,
    Stage,
)

PAGE = 50
NO_BATCH = "none"  # in a filter
WORDS = 160  # characters of the prompt that a row shows


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Filters of a document list. Blank means everything.

    ``batch`` is a public id, or "none"; ``person`` the username of somebody who works or has worked on the document;
    ``discarded`` words of the reason for discarding; ``false_claims`` at least so many; ``ids`` public ids.
    """

    stage: str = ""
    phase: str = ""
    flagged: bool = False
    search: str = ""
    source: str = ""
    model: str = ""
    twins: bool = False
    batch: str = ""
    person: str = ""
    language: str = ""
    flag: str = ""
    discarded: str = ""
    false_claims: int = 0
    ids: tuple[str, ...] = ()
    confirmed: bool = False  # somebody confirmed a verdict that contradicts its stances: for managers alone

    @property
    def is_on(self) -> bool:
        return self != DocumentFilter()


@dataclass(frozen=True, slots=True)
class Shelf:
    """The documents that a list shows a person, and its sort column (a key for pages)."""

    documents: QuerySet[Document]
    key: str = "pk"


def shelf_for(user: User, benchmark: Benchmark, *, twins: bool = False) -> Shelf:
    """What a person can find in a benchmark (at most five queries). Owners and admins see the documents, or with
    ``twins`` the gold copies. Annotators see hidden copies in place of their gold, unmarked."""
    role = role_of(user, benchmark)
    if role in ADMIN_ROLES or role == Role.RESEARCHER:
        is_real = not (twins and role in ADMIN_ROLES)
        return Shelf(Document.objects.filter(benchmark=benchmark, twin_of__isnull=is_real))
    copies = copies_for(user, [benchmark.pk])
    shown, hidden = copies.given, copies.hidden_gold
    documents = Document.objects.filter(Q(twin_of__isnull=True) | Q(pk__in=shown), benchmark=benchmark)
    documents = documents.exclude(IS_GOLD, pk__in=hidden)
    return Shelf(documents.annotate(place=Coalesce("twin_of", "pk")), "place") if shown else Shelf(documents)


@dataclass(slots=True)
class DocumentPage:
    """One page of a list: its rows and the keys of the previous and next pages (0: there is none)."""

    rows: Sequence[Document] = ()
    before: int = 0
    after: int = 0


@dataclass(slots=True)
class DocumentCounts:
    """Counts of documents: ``grouped`` by stage and phase; everything else is summed from it."""

    grouped: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.grouped.values())

    def at_stage(self, stage: str) -> int:
        """Documents at a stage, without discarded ones."""
        return sum(n for (each, phase), n in self.grouped.items() if each == stage and phase != Phase.DISCARDED)

    def in_phase(self, phase: str) -> int:
        return sum(n for (_, each), n in self.grouped.items() if each == phase)

    def at(self, stage: str, phase: str) -> int:
        return self.grouped.get((stage, phase), 0)

    @property
    def gold(self) -> int:
        return self.at(Stage.REVISE, Phase.AGREED)

    @property
    def discarded(self) -> int:
        return self.in_phase(Phase.DISCARDED)


def counts_of(benchmark: Benchmark, shelf: Shelf | None = None) -> DocumentCounts:
    """Documents by stage and phase: all of the benchmark's, or those that a person can find (one query)."""
    documents = shelf.documents if shelf else benchmark.documents.filter(twin_of__isnull=True)
    rows = documents.order_by().values_list("stage", "phase").annotate(number=Count("*"))
    return DocumentCounts({(stage, phase): number for stage, phase, number in rows})


def _flagged(reason: str = "") -> Exists:
    flags = Flag.objects.filter(document=OuterRef("pk"), cleared_at__isnull=True)
    return Exists(flags.filter(reason=reason) if reason else flags)


def with_confirmed() -> Exists:
    """Did somebody confirm, with a reason, verdicts that contradict their stances?"""
    return Exists(Activity.objects.filter(document=OuterRef("pk"), action="confirm-contradictions"))


def _begun() -> Exists:
    """Has anyone started the document's current stage? That may be shown; their work may not."""
    return Exists(
        Annotation.objects.filter(document=OuterRef("pk"), stage=OuterRef("stage"), kind=AnnotationKind.INDIVIDUAL)
    )


def matching(benchmark: Benchmark, narrowed: DocumentFilter, shelf: Shelf | None = None) -> QuerySet[Document]:
    """The documents that a filter leaves: of the benchmark, or of those that a person finds in it. The search reads
    prompt, response, id and what is adjudicated, never anyone's own work."""
    documents = shelf.documents if shelf else Document.objects.filter(benchmark=benchmark, twin_of__isnull=True)
    if narrowed.stage:
        documents = documents.filter(stage=narrowed.stage).exclude(phase=Phase.DISCARDED)
    if narrowed.phase:
        documents = documents.filter(phase=narrowed.phase)
    if narrowed.flagged:
        documents = documents.filter(_flagged())
    if narrowed.confirmed:
        documents = documents.filter(with_confirmed(), stage=Stage.REVISE)  # nothing is told of a stage in work
    if narrowed.source:
        documents = documents.filter(source=narrowed.source)
    if narrowed.model:
        documents = documents.filter(model=narrowed.model)
    if narrowed.ids:
        documents = documents.filter(public_id__in=narrowed.ids)
    if narrowed.batch:
        is_in = Q(batch__isnull=True) if narrowed.batch == NO_BATCH else Q(batch__public_id=narrowed.batch)
        documents = documents.filter(is_in)
    if narrowed.person:
        work = Annotation.objects.filter(document=OuterRef("pk"), kind=AnnotationKind.INDIVIDUAL, seat__isnull=False)
        documents = documents.filter(Exists(work.filter(person__username=narrowed.person)))
    if narrowed.language:
        documents = documents.filter(Q(metadata__language=narrowed.language) | Q(metadata__lang=narrowed.language))
    if narrowed.flag:
        documents = documents.filter(_flagged(narrowed.flag))
    if narrowed.discarded:
        asked = narrowed.discarded.casefold()
        codes = [each for each in DiscardReason if asked in each.label.casefold()]
        said = Q(discard_reason__icontains=narrowed.discarded) | Q(discard_code__in=codes)
        documents = documents.filter(said, phase=Phase.DISCARDED)
    if narrowed.false_claims:
        documents = documents.filter(search_entry__false_claims__gte=narrowed.false_claims)
    if narrowed.search:
        documents = documents.filter(found_by(narrowed.search))
    return documents


_SEATED = (
    Annotation.objects.filter(document=OuterRef("pk"), kind=AnnotationKind.INDIVIDUAL, seat__isnull=False)
    .order_by("seat", "pk")
    .annotate(name=Coalesce(NullIf("person__display_name", Value("")), "person__username"))
)

# What a list can be sorted by, never null. Equal documents stand in the order of their import.
SORTS: dict[str, Any] = {
    "document": Coalesce(NullIf("external_id", Value("")), Cast("order", CharField())),
    "prompt": Left("prompt", WORDS),
    "batch": Coalesce("batch__name", Value("")),
    "people": Coalesce(Subquery(_SEATED.values("name")[:1]), Value("")),  # the first name in the column
    "source": F("source"),
    "model": F("model"),
    "stage": Case(
        *(When(stage=stage, then=Value(number)) for number, stage in enumerate(STAGES)),
        output_field=IntegerField(),
    ),
    "state": F("phase"),
    # Plain integers: Django takes it that no positive one equals -1, and would ask nothing.
    "claims": Coalesce("search_entry__claims", Value(-1), output_field=IntegerField()),
    "false": Coalesce("search_entry__false_claims", Value(-1), output_field=IntegerField()),
    "changed": Coalesce(
        Subquery(Activity.objects.filter(document=OuterRef("pk")).order_by("-pk").values("pk")[:1]), Value(0)
    ),
}


def page_of(
    benchmark: Benchmark,
    narrowed: DocumentFilter,
    shelf: Shelf | None = None,
    *,
    after: int = 0,
    before: int = 0,
    size: int = PAGE,
    sort: str = "",
) -> DocumentPage:
    """One page of documents. ``after`` and ``before`` are keys from another page; ``sort`` is a name of SORTS, with "-"
    before it from the largest down. Without, they stand in the order of their import.

    By key, not by number: page 2,000 of 100,000 documents costs what page 1 costs (one query; a further one where it is
    sorted and not the first page).
    """
    key = shelf.key if shelf else "pk"
    rows = (
        matching(benchmark, narrowed, shelf)
        .annotate(
            first_words=Left("prompt", WORDS),
            answer_words=Left("response", WORDS),
            is_flagged=_flagged(),
            is_begun=_begun(),
        )
        .select_related("batch", "search_entry")
        .defer("prompt", "response", "metadata", "released", "discard_reason", "search_entry__body")
    )
    columns, down, sort_key = [key], sort.startswith("-"), SORTS.get(sort.removeprefix("-"))
    if sort_key is not None:
        rows = rows.annotate(sort_key=sort_key)
        columns = ["sort_key", key]
    backwards = bool(before)
    start = before or after
    if start:
        rows = rows.filter(_beyond(key, sort_key, start, down != backwards))
    found = list(rows.order_by(*(f"-{each}" if down != backwards else each for each in columns))[: size + 1])
    more = len(found) > size
    found = found[:size][:: -1 if backwards else 1]
    keys = [getattr(row, key) for row in found]
    if backwards:
        return DocumentPage(found, before=keys[0] if found and more else 0, after=keys[-1] if found else 0)
    return DocumentPage(found, before=keys[0] if found and after else 0, after=keys[-1] if more else 0)


def _beyond(key: str, sort_key: Any, start: int, down: bool) -> Q:
    """What stands beyond the document with this key, on the side where values fall (``down``) or rise."""
    way = "lt" if down else "gt"
    beyond = Q(**{f"{key}__{way}": start})
    if sort_key is None:
        return beyond
    # Without the filter: the document at which the last page ended may have left it meanwhile.
    found = Document.objects.filter(pk=start).annotate(sort_key=sort_key).values_list("sort_key", flat=True).first()
    if found is None:
        return beyond
    return Q(**{f"sort_key__{way}": found}) | (Q(sort_key=found) & beyond)


# --- one document -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A claim of the adjudicated decomposition and, once verify is adjudicated, its verdict."""

    number: str
    claim: Claim
    verdict: Verdict | None

    @property
    def factuality(self) -> str:
        """The verdict's label; "" if there is none yet."""
        return self.verdict.factuality if self.verdict else ""

    @property
    def revised(self) -> str | None:
        """The corrected claim; None without a correction."""
        if self.verdict is None or not self.verdict.edit():
            return None
        return self.verdict.revised_claim()


@dataclass(slots=True)
class ShownSentence:
    number: int
    sentence: Sentence
    claims: list[ShownClaim] = field(default_factory=list)


@dataclass(slots=True)
class Agreed:
    """The adjudicated results of a document so far."""

    stages: frozenset[Stage] = frozenset()
    sentences: list[ShownSentence] = field(default_factory=list)
    revised_response: str | None = None

    def count(self, factuality: str) -> int:
        """Claims with this verdict."""
        return sum(1 for row in self.sentences for each in row.claims if each.factuality == factuality)

    @property
    def claims(self) -> int:
        return sum(len(row.claims) for row in self.sentences)


def adjudicated_of(annotations: Iterable[Annotation]) -> Agreed:
    """The adjudicated version among a document's annotations (five queries at most)."""
    standing = {
        Stage(row.stage): row
        for row in annotations
        if row.kind == AnnotationKind.CONSOLIDATED and row.state == AnnotationState.SUBMITTED
    }
    found = Agreed(stages=frozenset(standing))
    decomposition, verification = standing.get(Stage.DECOMPOSE), standing.get(Stage.VERIFY)
    revision = standing.get(Stage.REVISE)
    verdicts: dict[int, Verdict] = {}
    if verification is not None:
        rows = verification.verdicts.select_related("claim").prefetch_related(
            Prefetch("operations", EditOperation.objects.order_by("order"))
        )
        verdicts = {verdict.claim_id: verdict for verdict in rows}
    if decomposition is not None:
        present = Prefetch("claims", Claim.objects.filter(removed="").order_by("order", "pk"))
        sentences = decomposition.sentences.filter(removed="").prefetch_related(present).order_by("order", "pk")
        found.sentences = [
            ShownSentence(
                number,
                sentence,
                [
                    ShownClaim(f"{number}.{position}", claim, verdicts.get(claim.pk))
                    for position, claim in enumerate(sentence.claims.all(), start=1)
                ],
            )
            for number, sentence in enumerate(sentences, start=1)
        ]
    if revision is not None:
        response = ResponseRevision.objects.filter(annotation=revision).first()
        found.revised_response = response.text if response else None
    return found


@dataclass(frozen=True, slots=True)
class Prefilling:
    """The progress of the run a document is waiting for. ``problem``: why the last run failed for this document."""

    done: int = 0
    total: int = 0
    running: bool = False
    paused: bool = False
    problem: str = ""


def prefilling_of(document: Document) -> Prefilling:
    """The progress of the newest run for the document's stage (two queries)."""
    item = (
        RunItem.objects.filter(document=document, run__stage=document.stage)
        .exclude(run__plan__has_key="again")  # a person's own search is part of their blind work
        .select_related("run")
        .order_by("-pk")
        .first()
    )
    if item is None:
        return Prefilling()
    if document.phase != Phase.PREFILLING:
        return Prefilling(problem=item.error if item.state == RunState.FAILED else "")
    states = RunItem.objects.filter(run=item.run_id).aggregate(
        total=Count("pk"), waiting=Count("pk", filter=Q(state__in=(RunState.QUEUED, RunState.RUNNING)))
    )
    return Prefilling(
        done=states["total"] - states["waiting"],
        total=states["total"],
        running=item.state == RunState.RUNNING,
        paused=item.run.state == RunState.PAUSED,
    )
