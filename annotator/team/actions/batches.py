"""Batches: documents are cut out of a benchmark and given to a group, moved, and given back.

A few documents change batch in the request, many in a worker and in small steps (``batch_changes``), so that nobody's
save waits. Each document's row is locked while it changes batch, so nobody takes a place on it under the old rule.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Activity, Annotation, Batch, Benchmark, Document, Group, GroupMember, User
from annotator.core.queries.documents import DocumentFilter
from annotator.core.vocabulary import AnnotationKind, AnnotationState, BatchStep, Seat
from annotator.stages.actions.places import take_back_each
from annotator.team.actions import batch_changes
from annotator.team.actions.batch_changes import AT_ONCE, OPEN_AT_ONCE, check_unchanging
from annotator.team.queries.batches import fitting, is_at_work

MAX_NAME = 120
MAX_EXTRA = 8  # people more than the protocol asks
CHUNK = 500  # documents a query: SQLite takes some hundred parameters everywhere


@dataclass(frozen=True, slots=True)
class How:
    """Which documents are cut: those that the filter leaves, the first ``number`` of them in the order of the
    benchmark, or so many drawn by lot. None: all that fit."""

    number: int | None = None
    at_random: bool = False
    narrowed: DocumentFilter = field(default_factory=DocumentFilter)

    def as_json(self) -> dict[str, object]:
        chosen = {name: getattr(self.narrowed, name) for name in DocumentFilter.__slots__}
        return {
            "number": self.number,
            "at_random": self.at_random,
            "filter": {name: value for name, value in chosen.items() if value},
        }


def share_of(number: int, share: float) -> int:
    """How many of ``number`` documents a share means: rounded to the nearest, halves up, and at least one where the
    share is above zero and there is a document."""
    if not number or not share:
        return 0
    return max(1, int(number * share + 0.5))


def cut_batch(
    benchmark: Benchmark,
    *,
    by: User,
    name: str,
    how: How,
    group: Group | None = None,
    cross_share: float = 0.0,
    cross_people: int = 1,
    blind_first_share: float = 0.0,
    seed: int = 0,
) -> Batch:
    """Cut documents out of the benchmark into a new batch, for a group or for everyone.

    A share of them goes to ``cross_people`` more people than the protocol asks (FastFact's cross-annotation, appendix
    F.2), another share is annotated before the suggestion is seen; see ``share_of``. One generator, begun with the
    seed, draws the documents, then the first share, then the second, always out of the sorted public ids: the
    same documents and seed give the same cut on every database.

    Raises NotAllowedError by the rules, BadValueError for numbers out of range, a name that is taken, or when no
    document fits.
    """
    _check_numbers(how, cross_share, cross_people, blind_first_share)
    rules.check_manage(by, benchmark)

    def draw(*, lock: bool) -> _Cut:
        generator = random.Random(seed)
        chosen = _choose(benchmark, how, generator)
        return _drawn(_locked(chosen) if lock else chosen, generator, cross_share, blind_first_share)

    # Drawn before the benchmark is locked: what somebody begins or cuts meanwhile is left out when it is added.
    drawn = draw(lock=False)
    with transaction.atomic():
        lock_benchmark(benchmark.pk)
        if drawn.number <= AT_ONCE:
            drawn = draw(lock=True)
        _check_group(benchmark, group)
        name = _name(benchmark, name) or _free_name(benchmark)
        batch = Batch.objects.create(
            benchmark=benchmark,
            name=name,
            group=group,
            created_by=by,
            cut=how.as_json()
            | {
                "seed": seed,
                "documents": drawn.number,
                "cross_share": cross_share,
                "cross_people": cross_people,
                "crossed": len(drawn.crossed),
                "blind_first_share": blind_first_share,
                "blind_first": len(drawn.blind),
            },
        )
        _note("cut-batch", batch, by, f"{name}: {_documents(drawn.number)}" + (f" for {group}" if group else ""))
        plan: dict[str, Any] = {"crossed": drawn.crossed, "blind": drawn.blind, "people": cross_people}
        if drawn.number > AT_ONCE:
            batch_changes.change_later(batch, BatchStep.FILL, drawn.keys, by=by, plan=plan)
            return batch
        batch_changes.add(batch, drawn.keys, plan=plan)
        batch_changes.tell_group(batch, drawn.number, by=by)
        return batch


@dataclass(frozen=True, slots=True)
class _Cut:
    """Primary keys of the documents of a batch, and of its two shares."""

    keys: list[int]
    crossed: list[int]
    blind: list[int]

    @property
    def number(self) -> int:
        return len(self.keys)


def _drawn(chosen: dict[str, int], generator: random.Random, cross_share: float, blind_first_share: float) -> _Cut:
    """Draw the shares out of the documents, in the order of their public ids. Raises BadValueError for none."""
    if not chosen:
        raise BadValueError("No documents match, so no batch was created.")
    ids = sorted(chosen)
    crossed = generator.sample(ids, share_of(len(ids), cross_share))
    blind = generator.sample(ids, share_of(len(ids), blind_first_share))
    return _Cut(*([chosen[each] for each in some] for some in (ids, crossed, blind)))


def _check_numbers(how: How, cross_share: float, cross_people: int, blind_first_share: float) -> None:
    if how.number is not None and how.number < 1:
        raise BadValueError("Enter the number of documents, one or more, or leave it blank for all.")
    for share, what in ((cross_share, "annotated by more people"), (blind_first_share, "annotated blind first")):
        if not 0 <= share <= 1:
            raise BadValueError(f"The share of documents {what} must be between 0 and 100 percent.")
    if not 1 <= cross_people <= MAX_EXTRA:
        raise BadValueError(f"One to {MAX_EXTRA} people more can label the share; {cross_people} is out of range.")


def _choose(benchmark: Benchmark, how: How, generator: random.Random) -> dict[str, int]:
    """Primary keys by public ids of the documents that are to be cut."""
    rows = fitting(benchmark, how.narrowed).order_by("order", "pk").values_list("public_id", "pk")
    if not how.at_random or how.number is None:
        return dict(rows[: how.number])
    found = dict(rows)
    return {each: found[each] for each in generator.sample(sorted(found), min(how.number, len(found)))}


def _locked(chosen: dict[str, int]) -> dict[str, int]:
    """Lock these documents, and leave out those that someone has begun or cut meanwhile."""
    still: dict[str, int] = {}
    for some in _chunks(sorted(chosen.values())):
        rows = Document.objects.filter(pk__in=some, batch__isnull=True)
        list(rows.select_for_update().order_by("pk").values_list("pk"))  # waits for who is taking a place just now
        still |= dict(rows.exclude(is_at_work()).values_list("public_id", "pk"))
    return still


def assign_batch(batch: Batch, group: Group | None, *, by: User) -> None:
    """Give the batch to a group, or to everyone. Open work of people who have no place in it any more is
    taken back; finished work stays and counts. The group's annotators are told.

    Raises NotAllowedError by the rules, BadValueError for a group of another benchmark.
    """
    with transaction.atomic():
        rules.check_manage(by, batch.benchmark)
        lock_benchmark(batch.benchmark_id)
        _check_group(batch.benchmark, group)
        check_unchanging(batch)
        batch.refresh_from_db()
        if batch.group_id == (group.pk if group else None):
            return
        batch.group = group
        batch.save(update_fields=["group"])
        _note("assign-batch", batch, by, f"{batch} to {group}" if group else f"{batch} to nobody in particular")
        misplaced = _misplaced(Q(document__batch=batch), group)
        reason = f"{batch} was assigned to {group}."
        keys = list(misplaced.order_by("person", "document").values_list("pk", flat=True))
        if len(keys) > OPEN_AT_ONCE:
            batch_changes.change_later(batch, BatchStep.TAKE_BACK, keys, by=by, plan={"reason": reason})
        else:
            take_back_each(misplaced, by=by, reason=reason)
        batch_changes.tell_group(batch, batch.documents.count(), by=by)


def move_documents(documents: Iterable[Document], batch: Batch | None, *, by: User) -> int:
    """Move documents into another batch, or out of any. Returns how many were moved.

    Open work of people who have no place there is taken back; finished work stays and counts. What the shares of the
    old batch decided stays with each document. Raises NotAllowedError by the rules, BadValueError for documents of
    several benchmarks.
    """
    wanted = {document.pk: document for document in documents}
    if not wanted:
        return 0
    benchmark = next(iter(wanted.values())).benchmark
    if any(each.benchmark_id != benchmark.pk for each in wanted.values()):
        raise BadValueError("Documents can only be moved within one benchmark.")
    with transaction.atomic():
        lock_benchmark(benchmark.pk)
        moved = sum(len(move_some(benchmark, some, batch, by=by)) for some in _chunks(sorted(wanted)))
        if batch and moved:
            batch_changes.tell_group(batch, moved, by=by)
        return moved


def move_some(benchmark: Benchmark, keys: Sequence[int], batch: Batch | None, *, by: User) -> list[int]:
    """Move up to some hundred documents of a benchmark (primary keys) in the caller's transaction, and tell nobody.
    Returns those that were moved. Raises as ``move_documents``."""
    rules.check_manage(by, benchmark)
    if batch and batch.benchmark_id != benchmark.pk:
        raise BadValueError("Documents can only be moved within one benchmark.")
    where = f"to {batch}" if batch else "out of its batch"
    rows = Document.objects.filter(pk__in=keys, benchmark=benchmark)
    rows = rows.exclude(batch=batch) if batch else rows.filter(batch__isnull=False)
    moved = list(rows.select_for_update().order_by("pk").values_list("pk", flat=True))
    Document.objects.filter(pk__in=moved).update(batch=batch, version=F("version") + 1)
    Activity.objects.bulk_create(
        Activity(by=by, action="move-document", benchmark=benchmark, document_id=pk, reason=where) for pk in moved
    )
    reason = f"The document was moved {where}."
    take_back_each(_misplaced(Q(document__in=moved), batch.group if batch else None), by=by, reason=reason)
    return moved


def _misplaced(where: Q, group: Group | None) -> QuerySet[Annotation]:
    """Open work of whoever could not take their place now (``rules.check_take_place``): the group's places are for its
    annotators, the extra ones for people from outside."""
    open_work = Annotation.objects.filter(
        where, kind=AnnotationKind.INDIVIDUAL, state=AnnotationState.OPEN, document__practice_for__isnull=True
    )
    if group is None:
        return open_work.none()
    members = GroupMember.objects.filter(group=group, active=True)
    annotators = members.filter(seat=Seat.ANNOTATOR)
    overlap = F("document__benchmark__overlap")
    in_place = Q(person__in=annotators.values("user"), seat__lte=overlap) | (
        ~Q(person__in=members.values("user")) & Q(seat__gt=overlap)
    )
    return open_work.exclude(in_place)


def rename(batch: Batch, name: str, *, by: User) -> None:
    """Give the batch another name. Raises BadValueError for one that is blank, taken or too long."""
    with transaction.atomic():
        rules.check_manage(by, batch.benchmark)
        lock_benchmark(batch.benchmark_id)
        before, after = batch.name, _name(batch.benchmark, name, of=batch)
        if not after:
            raise BadValueError("A batch needs a name, for example “Batch 1”.")
        if before == after:
            return
        batch.name = after
        batch.save(update_fields=["name"])
        _note("rename-batch", batch, by, f"{before} is now {after}")


def dissolve(batch: Batch, *, by: User) -> None:
    """Undo the cut: its documents are in no batch, free for everyone. Work goes on, finished work stays.

    Documents that nobody has begun are as they were before the cut; in the others the shares stand, since someone
    has worked by them.
    """
    with transaction.atomic():
        rules.check_manage(by, batch.benchmark)
        lock_benchmark(batch.benchmark_id)
        check_unchanging(batch)
        keys = list(batch.documents.order_by("pk").values_list("pk", flat=True))
        _note("dissolve-batch", batch, by, f"{batch}: {_documents(len(keys))}")
        if len(keys) > AT_ONCE:
            batch_changes.change_later(batch, BatchStep.EMPTY, keys, by=by)
            return
        batch_changes.release(keys)
        batch.delete()


# --- small things ---------------------------------------------------------------------------------


def _chunks(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(keys), CHUNK):
        yield keys[start : start + CHUNK]


def _documents(number: int) -> str:
    return "1 document" if number == 1 else f"{number:,} documents"


def _note(what: str, batch: Batch, by: User, reason: str) -> None:
    Action(name=what, by=by, benchmark=batch.benchmark, reason=reason).write()


def _check_group(benchmark: Benchmark, group: Group | None) -> None:
    if group is not None and group.benchmark_id != benchmark.pk:
        raise BadValueError("This group belongs to another benchmark.")


def _name(benchmark: Benchmark, raw: str, of: Batch | None = None) -> str:
    name = " ".join(raw.replace("\x00", "").split())
    if len(name) > MAX_NAME:
        raise BadValueError(f"The name of a batch has at most {MAX_NAME} characters; this one has {len(name)}.")
    others = benchmark.batches.exclude(pk=of.pk) if of else benchmark.batches.all()
    if name and others.filter(name__iexact=name).exists():
        raise BadValueError(f"A batch “{name}” already exists. Choose another name.")
    return name


def _free_name(benchmark: Benchmark) -> str:
    taken = {name.lower() for name in benchmark.batches.values_list("name", flat=True)}
    number = 1
    while f"batch {number}" in taken:
        number += 1
    return f"Batch {number}"
